"""The PatenTEB recipe on a random world, judged by rules written out naively here, and on hand-made cases."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import random
import re
from collections import Counter, defaultdict

import polars as pl
import pytest
from released_layouts import PATENTEB

from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation, Claim, Patent
from patent_mteb.recipes.patenteb import COLUMNS, SAMPLE, Params, build, domain_relation

CLASSES = ("A21", "A61", "B60", "F16", "G06", "H04")
WORDS = ("rotor", "seal", "lamp", "valve", "wheel", "frame", "sensor", "cable", "pump", "lever", "spring", "blade")
PARAMS = dataclasses.replace(
    SAMPLE, min_class_families=12, split=(0.3, 0.1, 0.6), ipc_clusters=(4, 40), inventor_clusters=(4, 95)
)


def sentence(rng: random.Random, length: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(length))


def abstract(rng: random.Random) -> str:
    parts = [sentence(rng, rng.randint(4, 8)).capitalize() for _ in range(4)]
    return rng.choice(
        [
            (
                f"PROBLEM TO BE SOLVED: To make {parts[0]}. SOLUTION: The {parts[1]}. {parts[2]}. SELECTED DRAWING:"
                " Figure 1"
            ),
            f"PURPOSE: To get {parts[0]}. CONSTITUTION: With {parts[1]}.",
            f"FIELD: machines, tools. SUBSTANCE: The {parts[0]}. EFFECT: Better {parts[1]}. 2 cl, 1 dwg",
            f"The {parts[0]}. SOLUTION: The {parts[1]}. EFFECT: {parts[2]}.",
            f"A {parts[0]}. It has {parts[1]}.",
        ]
    )


def world(families: int = 420, seed: int = 0) -> tuple[list[Patent], list[Citation]]:
    rng = random.Random(seed)
    patents, citations, members = [], [], []
    for number in range(families):
        main = CLASSES[number % len(CLASSES)]
        others = rng.sample([code for code in CLASSES if code != main], rng.choice([0, 0, 1, 2]))
        codes = [
            f"{main}F{rng.randint(1, 2)}/{rng.choice(['02', '04'])}",
            f"{main}F1/02",
            *(f"{code}B1/00" for code in others),
        ]
        filed = dt.date(1990, 1, 1) + dt.timedelta(days=number * 25)
        title = f"{sentence(rng, 2)} {number}"
        numbers = []
        for at, office in enumerate(rng.sample(["US", "EP", "JP"], rng.choice([1, 1, 2]))):
            patents.append(
                Patent(
                    publication_number=f"{office}{number:05d}A1",
                    family_id=f"{number:03d}-fam",
                    title=title.title(),
                    abstract=abstract(rng),
                    claims=(Claim(2, "2. More.", (1,)), Claim(1, f"1. A {title} with a {sentence(rng, 6)}.")),
                    application_date=filed,
                    publication_date=filed + dt.timedelta(days=400 + 30 * at),
                    ipc=tuple(codes),
                    inventors=tuple(rng.sample(["Ada", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal", "Ida", "Jo"], 2)),
                )
            )
            numbers.append(patents[-1].publication_number)
        members.append(numbers)
    popular = set(rng.sample(range(families), families // 3))
    sleepers = set(range(0, families, 9))  # not cited for six years, then often
    for number in range(1, families):
        older = [one for one in range(number) if one in popular and one not in sleepers]
        older += [one for one in range(number - 90) if one in sleepers] * 3
        older += [number - 1, *(number - 6 * step for step in range(1, 15))]  # the latter share the class
        older = [one for one in older if one >= 0 and (one not in sleepers or number - one > 90)] or [0]
        for target in set(rng.choices(older, k=rng.randint(2, 6))):
            citations.append(Citation(rng.choice(members[number]), rng.choice(members[target])))
    citations += [Citation("US00001A1", "XX99999A1"), Citation(members[7][0], members[7][-1])]
    rng.shuffle(patents)
    rng.shuffle(citations)
    return patents, citations


@pytest.fixture(scope="module")
def records():
    return world()


@pytest.fixture(scope="module")
def built(records, tmp_path_factory):
    root = tmp_path_factory.mktemp("patenteb")
    return root, build(*records, root, PARAMS)


@pytest.fixture(scope="module")
def table(built):
    def read(task: str, split: str = "test") -> pl.DataFrame:
        return pl.read_parquet(built[0] / "datalyes" / task / split / "data.parquet")

    return read


@pytest.fixture(scope="module")
def truth(records):
    """Facts of the world, worked out from the records directly: IPC3 sets, dominant class, links, texts."""
    patents, citations = records
    family = {patent.publication_number: patent.family_id for patent in patents}
    ipc3, count, members = defaultdict(set), defaultdict(Counter), defaultdict(list)
    for patent in patents:
        members[patent.family_id].append(patent)
        ipc3[patent.family_id] |= {code[:3] for code in patent.ipc}
    for name, publications in members.items():
        count[name] = Counter(code[:3] for code in {code for patent in publications for code in patent.ipc})
    cites = defaultdict(set)
    for edge in citations:
        if edge.citing in family and edge.cited in family and family[edge.citing] != family[edge.cited]:
            cites[family[edge.citing]].add(family[edge.cited])
    linked = defaultdict(set)
    for source, targets in cites.items():
        for target in targets:
            linked[source].add(target)
            linked[target].add(source)
    latest = {name: max(group, key=lambda patent: patent.publication_date) for name, group in members.items()}
    return {"ipc3": ipc3, "count": count, "cites": cites, "linked": linked, "latest": latest, "members": members}


@pytest.mark.slow
def test_every_table_has_exactly_the_published_columns(built, table):
    published = {task: columns.split() for task, columns in PATENTEB.items()}
    for task, columns in published.items():
        frame = table(task)
        assert frame.columns == columns == list(COLUMNS[task])
        assert frame.height > 0
        assert frame.null_count().sum_horizontal().item() == 0
        texts = [name for name in columns if frame[name].dtype == pl.String]
        assert all((frame[name].str.len_chars() > 0).all() for name in texts)
        if task.startswith("class_"):
            assert table(task, "train").columns == columns
    expected = [f"datalyes/{task}/test/data.parquet" for task in published]
    expected += [f"datalyes/{task}/train/data.parquet" for task in published if task.startswith("class_")]
    assert built[1].files == sorted(expected)
    assert sorted(path.relative_to(built[0]).as_posix() for path in built[0].rglob("*.parquet")) == sorted(expected)


@pytest.mark.slow
def test_same_bytes_whatever_the_order(records, built, tmp_path):
    patents, citations = records
    build(patents[::-1], citations[::-1], tmp_path, PARAMS)
    for name in built[1].files:
        assert (tmp_path / name).read_bytes() == (built[0] / name).read_bytes(), name


def test_texts(table, truth):
    frame = table("class_text2ipc3")
    for row in frame.iter_rows(named=True):
        patent = truth["latest"][row["q"]]
        assert row["text"] == row["text"].replace("[SEP]", "").lower().replace("  ", " [SEP] ")
        title, body, claim = row["text"].split(" [SEP] ")
        assert title == patent.title.lower()
        assert claim == next(claim.text for claim in patent.claims if claim.number == 1).lower()
        assert not any(
            marker in body for marker in ("solved:", "solution:", "purpose:", "field:", "effect:", "figure 1")
        )


class TestSplits:
    def test_dominant_class_and_its_size(self, table, truth):
        frame = table("class_text2ipc3")
        sizes = Counter()
        for count in truth["count"].values():
            sizes[max(sorted(count), key=lambda code: count[code])] += 1
        for row in frame.iter_rows(named=True):
            count = truth["count"][row["q"]]
            assert count[row["label"]] == max(count.values())
            assert row["first_ipcr3"] == row["label"]
        assert sum(frame.group_by("label").agg(pl.col("first_ipcr3_count").first())["first_ipcr3_count"]) == 420

    def test_shares_by_class(self, table):
        """Of each class a tenth is kept for validation, six for the test; a share of the others is released."""
        train, test = (table("class_text2ipc3", split) for split in ("train", "test"))
        for label in CLASSES:
            size = test.filter(pl.col("label") == label)["first_ipcr3_count"][0]
            n_test, n_validation = round(size * 0.6), round(size * 0.1)
            assert test.filter(pl.col("label") == label).height == n_test
            released = round(PARAMS.released_train * (size - n_test - n_validation))
            assert train.filter(pl.col("label") == label).height == released

    def test_no_family_straddles(self, table):
        test, train = (set(table("class_text2ipc3", split)["q"]) for split in ("test", "train"))
        assert not test & train
        for task, columns in COLUMNS.items():
            if not task.startswith("clusters"):
                for name in {"q", "t", "pos", "neg"} & set(columns):
                    assert set(table(task)[name]) <= test, (task, name)
        assert set(table("class_nli_oldnew", "train")["q"]).isdisjoint(test)


class TestRetrieval:
    @pytest.mark.parametrize(
        ("objective", "positives", "negatives"),
        [
            ("IN", {"IN"}, {"FULL_MIX", "PART_MIX"}),
            ("MIXED", {"FULL_MIX", "PART_MIX"}, {"FULL_MIX", "PART_MIX"}),
            ("OUT", {"OUT"}, {"OUT"}),
        ],
    )
    def test_rows(self, table, truth, objective, positives, negatives):
        frame = table(f"retrieval_{objective}")
        ipc3, linked = truth["ipc3"], truth["linked"]
        assert frame.height > 20
        assert set(frame["objective"]) == {objective}
        for row in frame.iter_rows(named=True):
            query, positive, negative = row["q"], row["pos"], row["neg"]
            assert positive in linked[query]
            assert row["pos_link_type"] == ("CITES" if positive in truth["cites"][query] else "CITED_BY")
            assert domain_relation(frozenset(ipc3[query]), frozenset(ipc3[positive])) in positives
            assert row["neg_computed_domain"] == domain_relation(frozenset(ipc3[query]), frozenset(ipc3[negative]))
            assert row["neg_computed_domain"] in negatives
            if objective == "MIXED":
                assert (row["neg_computed_domain"] == "PART_MIX") == (len(ipc3[query]) > 1)
            assert negative not in linked[query] | linked[positive] | {query, positive}
            assert len({row["q_text"], row["pos_text"], row["neg_text"]}) == 3

    def test_all_links_within_the_split_are_there(self, table, truth):
        test = set(table("class_text2ipc3")["q"])
        pairs = {(query, other) for query in test for other in truth["linked"][query] & test}
        found = {
            pair
            for objective in ("IN", "MIXED", "OUT")
            for pair in table(f"retrieval_{objective}").select("q", "pos").iter_rows()
        }
        assert found == pairs

    def test_caps(self, records, tmp_path):
        params = dataclasses.replace(PARAMS, max_positives=2, max_retrieval_rows=30)
        build(*records, tmp_path, params)
        frame = pl.read_parquet(tmp_path / "datalyes/retrieval_OUT/test/data.parquet")
        assert frame.height == 30
        assert max(Counter(frame["q"]).values()) == 2

    @pytest.mark.parametrize(
        ("first", "second", "relation"),
        [
            ("A", "A", "IN"),
            ("AB", "BA", "IN"),
            ("A", "B", "OUT"),
            ("A", "AB", "FULL_MIX"),
            ("ABC", "B", "FULL_MIX"),
            ("AB", "BC", "PART_MIX"),
        ],
    )
    def test_domain_relation(self, first, second, relation):
        assert domain_relation(frozenset(first), frozenset(second)) == relation


class TestFragments:
    @pytest.mark.parametrize(
        ("task", "query", "target"),
        [
            ("title2full", "title", "full_text"),
            ("problem2full", "problem", "full_text"),
            ("problem2solution", "problem", "solution"),
            ("effect2full", "effect", "full_text"),
            ("effect2substance", "effect", "substance"),
        ],
    )
    def test_no_trace_of_the_query_in_its_own_target(self, table, task, query, target):
        frame = table(task)
        assert frame.height > 20
        assert frame["q"].is_unique().all()
        for row in frame.iter_rows(named=True):
            text, wanted = (" ".join(re.findall(r"\w+", row[name].casefold())) for name in (target, query))
            assert f" {wanted} " not in f" {text} "
            assert row[query] not in row[target]

    def test_which_families(self, table, truth):
        marked = {
            "problem2solution": ("SOLVED", "PURPOSE", "SOLUTION: The"),
            "effect2full": ("EFFECT",),
            "effect2substance": ("FIELD",),
        }
        test = set(table("class_text2ipc3")["q"])
        for task, markers in marked.items():
            expected = {name for name in test if any(marker in truth["latest"][name].abstract for marker in markers)}
            if task == "problem2solution":
                expected -= {name for name in test if "EFFECT" in truth["latest"][name].abstract}
            assert set(table(task)["q"]) == expected
        assert set(table("title2full")["q"]) == test

    @pytest.mark.slow
    def test_one_family_by_hand(self, records, tmp_path):
        patents, citations = records
        patents = [
            dataclasses.replace(
                patent,
                title="Rotor Pump",
                abstract=(
                    "FIELD: Tools, Pumps. SUBSTANCE: Rotor pump has a seal. It stops leaks. EFFECT: It stops leaks."
                    " 3 cl"
                ),
                claims=(Claim(1, "1. A rotor  pump, in which it stops leaks, and a lid."),),
            )
            for patent in patents
        ]
        build(patents, citations, tmp_path, PARAMS)
        read = {
            task: pl.read_parquet(tmp_path / f"datalyes/{task}/test/data.parquet")
            for task in ("title2full", "effect2full", "effect2substance")
        }
        assert (
            read["title2full"]["full_text"][0]
            == "pumps. has a seal. it stops leaks. it stops leaks [SEP] 1. a in which it stops leaks, and a lid."
        )
        assert read["effect2full"].row(0)[1:] == (
            "it stops leaks",
            "rotor pump [SEP] pumps. rotor pump has a seal. [SEP] 1. a rotor pump, in which and a lid.",
        )
        assert read["effect2substance"].row(0)[1:] == ("it stops leaks", "rotor pump has a seal.")


class TestBloom:
    def test_against_a_naive_count(self, table, truth, records):
        """Labels of the rows, by counting citations day by day in the definition's words."""
        filed = {name: group[0].application_date for name, group in truth["members"].items()}
        shown = {name: min(patent.publication_date for patent in group) for name, group in truth["members"].items()}
        dominant = {}
        for row in table("class_text2ipc3").iter_rows(named=True):
            dominant[row["q"]] = row["label"]
        counts = {}
        for name in filed:
            citing = [other for other in filed if name in truth["cites"][other]]
            limit = (
                filed[name].replace(year=filed[name].year + 5)
                if (filed[name].month, filed[name].day) != (2, 29)
                else None
            )
            counts[name] = (
                sum(shown[other] <= (limit or filed[name] + dt.timedelta(days=1826)) for other in citing),
                sum(shown[other] <= dt.date(2023, 6, 20) for other in citing),
            )
        classes = defaultdict(list)
        for name, count in truth["count"].items():
            codes = list(dict.fromkeys(code[:3] for code in truth["members"][name][0].ipc))
            classes[max(codes, key=lambda code: (count[code], -codes.index(code)))].append(name)
        labels = {}
        for members in classes.values():
            tenth = -(-len(members) // 10)
            fives = sorted(counts[name][0] for name in members)
            totals = sorted(counts[name][1] for name in members)
            for name in members:
                five, total = counts[name]
                early = five > 0 and five >= fives[-tenth]
                late = total > 0 and total >= totals[-tenth] and five <= fives[tenth - 1]
                labels[name] = "early" if early else "late" if late else "normal"
        rows = dict(table("class_bloom").select("q", "label").iter_rows())
        assert {name: labels[name] for name in rows} == rows
        test = set(dominant)
        sizes = Counter(labels[name] for name in test)
        assert sizes["early"] > 0
        assert sizes["late"] > 0
        assert Counter(rows.values()) == {
            "early": sizes["early"],
            "late": sizes["late"],
            "normal": min(sizes["normal"], max(sizes["early"], sizes["late"])),
        }

    def test_families_after_the_cutoff_have_no_label(self, records, tmp_path):
        build(*records, tmp_path, dataclasses.replace(PARAMS, cutoff=dt.date(2000, 1, 1)))
        frame = pl.read_parquet(tmp_path / "datalyes/class_bloom/test/data.parquet")
        last = max(int(name[:3]) for name in frame["q"])
        assert dt.date(1990, 1, 1) + dt.timedelta(days=last * 25) < dt.date(2000, 1, 1)


def test_old_and_new(table, truth):
    frame = table("class_nli_oldnew")
    test = set(table("class_text2ipc3")["q"])
    links = {(citing, cited) for citing in test for cited in truth["cites"][citing] & test}
    turned = {
        (row["q"], row["t"]) if row["label"] == "newer" else (row["t"], row["q"]) for row in frame.iter_rows(named=True)
    }
    assert turned == links
    assert frame.height == len(links)
    shares = Counter(frame["label"])
    assert set(shares) == {"newer", "older"}
    assert 0.35 < shares["newer"] / frame.height < 0.65
    texts = dict(table("class_text2ipc3").select("q", "text").iter_rows())
    assert all(
        row["q_text"] == texts[row["q"]] and row["t_text"] == texts[row["t"]] for row in frame.iter_rows(named=True)
    )


@pytest.mark.parametrize(
    ("task", "fragment"), [("para_problem", "problem2full"), ("para_solution", "problem2solution")]
)
def test_paraphrase(table, truth, task, fragment):
    frame = table(task)
    ipc3, linked = truth["ipc3"], truth["linked"]
    positives = frame.filter(pl.col("label") == 1)
    assert positives.height / frame.height == pytest.approx(0.14, abs=0.01)
    assert positives.height >= 3
    for row in frame.iter_rows(named=True):
        relation = domain_relation(frozenset(ipc3[row["q"]]), frozenset(ipc3[row["t"]]))
        assert relation == ("IN" if row["label"] else "OUT")
        assert (row["t"] in linked[row["q"]]) == bool(row["label"])
    pairs = [frozenset(pair) for pair in frame.select("q", "t").iter_rows()]
    assert len(set(pairs)) == len(pairs)
    role = "problem" if task == "para_problem" else "solution"
    texts = dict(table(fragment).select("q", role).iter_rows())
    known = [(row["text1"], texts[row["q"]]) for row in frame.iter_rows(named=True) if row["q"] in texts]
    assert len(known) > 20
    assert all(ours == theirs for ours, theirs in known)


class TestClusters:
    def test_ipc_list(self, table, truth):
        frame = table("clusters_ext_full_ipc")
        lists = {
            name: frozenset(code for patent in group for code in patent.ipc) for name, group in truth["members"].items()
        }
        sizes = Counter(lists.values())
        assert set(frame["q"]) == {name for name, codes in lists.items() if 4 <= sizes[codes] <= 40}
        by_cluster = defaultdict(set)
        for name, _, cluster in frame.iter_rows():
            by_cluster[cluster].add(lists[name])
        assert all(len(codes) == 1 for codes in by_cluster.values())
        assert len({next(iter(codes)) for codes in by_cluster.values()}) == len(by_cluster) > 5
        assert sorted(by_cluster) == list(range(len(by_cluster)))

    @pytest.mark.slow
    def test_inventor(self, truth, records, tmp_path):
        params = dataclasses.replace(PARAMS, inventor_clusters=(50, 115))
        build(*records, tmp_path, params)
        frame = pl.read_parquet(tmp_path / "datalyes/clusters_inventor/test/data.parquet")
        names = {
            name: list(
                dict.fromkeys(
                    person
                    for patent in sorted(group, key=lambda patent: (patent.publication_date, patent.publication_number))
                    for person in patent.inventors
                )
            )
            for name, group in truth["members"].items()
        }
        sizes = Counter(person for people in names.values() for person in people)
        admitted = {person for person, size in sizes.items() if 50 <= size <= 115}
        expected = defaultdict(set)
        for name, people in names.items():
            if chosen := [person for person in people if person in admitted]:
                expected[chosen[0]].add(name)
        found = defaultdict(set)
        for name, _, cluster in frame.iter_rows():
            found[cluster].add(name)
        assert sorted(map(sorted, found.values())) == sorted(
            sorted(group) for group in expected.values() if len(group) >= 50
        )
        assert 0 < len(found) < len(expected)  # some fall below the minimum once every family has its one cluster
        assert all(50 <= len(group) <= 115 for group in found.values())


class TestFilters:
    def test_each_filter_counts(self, records, tmp_path):
        patents, citations = records
        broken = {"000-fam": {"claims": ()}, "001-fam": {"ipc": ("nonsense",)}, "002-fam": {"application_date": None}}
        patents = [dataclasses.replace(patent, **broken.get(patent.family_id, {})) for patent in patents]
        params = dataclasses.replace(PARAMS, min_year=1995, min_cited_by=1, max_family_size=1, max_words=36)
        log = build(patents, citations, tmp_path, params)
        steps = {step.name: step for step in log.steps}
        assert steps["publications into families"].rows_out == 420
        fields = [steps[f"with {name}"] for name in ("claims", "ipc", "filing_date")]
        assert [(step.rows_in, step.rows_out) for step in fields] == [(420, 419), (419, 418), (418, 417)]
        early = sum(dt.date(1990, 1, 1) + dt.timedelta(days=25 * number) < dt.date(1995, 1, 1) for number in range(420))
        assert steps["filed in 1995 or later"].rows_out == 420 - early
        chain = [step for step in log.steps if step.name.startswith(("filed", "of at most", "cited by", "in an IPC3"))]
        assert len(chain) == 5
        for before, after in itertools.pairwise(chain):
            assert after.rows_in == before.rows_out > after.rows_out
        citing = steps["citations between families"]
        assert citing.rows_in == len(citations)
        assert "1 name an unknown publication" in citing.note

    @pytest.mark.slow
    def test_what_is_missing_can_be_waived(self, records, built, tmp_path):
        """Review §2: bibliographic data alone. Titles, abstracts, codes and links stay the same; so do the pairs that
        are drawn.
        """
        patents, citations = records
        bare = [dataclasses.replace(one, claims=(), application_date=None) for one in patents]
        with pytest.raises(
            DataError, match=r"0 have claims, 420 have ipc, 0 have filing_date.*--set require=title,abstract\."
        ):
            build(bare, citations, tmp_path, PARAMS)
        log = build(bare, citations, tmp_path / "bare", dataclasses.replace(PARAMS, require=("title", "abstract")))
        assert not any("class_bloom" in name for name in log.files)
        for name in ("retrieval_IN", "retrieval_MIXED", "retrieval_OUT"):
            one, other = (
                pl.read_parquet(root / f"datalyes/{name}/test/data.parquet").select("q", "pos")
                for root in (tmp_path / "bare", built[0])
            )
            assert one.equals(other) and one.height > 50

    @pytest.mark.slow
    def test_few_links_in_the_test_split_are_said_with_the_setting_that_keeps_more(self, records, tmp_path):
        """Review §2: 370 links became 2 + 0 + 2 pairs."""
        patents, citations = records
        cited = [one for number, one in enumerate(citations) if number % 4 == 0]
        few = build(patents, cited, tmp_path / "few", dataclasses.replace(PARAMS, split=(0.8, 0.1, 0.1)))
        (step,) = [step for step in few.steps if step.name == "links within one split"]
        assert step.note.endswith("split=0.3,0.1,0.6 leaves more")
        links = {
            (a[2:7], b[2:7])
            for a, b in ((one.citing, one.cited) for one in cited)
            if a[2:7] != b[2:7] and b != "XX99999A1"
        }
        assert step.rows_in == len(links)

    @pytest.mark.slow
    def test_the_latest_complete_member_speaks_for_the_family(self, records, tmp_path):
        patents, citations = records
        last = max(
            (patent for patent in patents if patent.family_id == "100-fam"), key=lambda patent: patent.publication_date
        )
        newer = dataclasses.replace(last, publication_number="CN100A1", title="", publication_date=dt.date(2020, 1, 1))
        second = dataclasses.replace(
            last, publication_number="CN100B2", title="Newest title", publication_date=dt.date(2019, 1, 1)
        )
        build([*patents, newer, second], citations, tmp_path, dataclasses.replace(PARAMS, split=(0.0, 0.0, 1.0)))
        frame = pl.read_parquet(tmp_path / "datalyes/class_text2ipc3/test/data.parquet")
        assert frame.filter(pl.col("q") == "100-fam")["text"][0].startswith("newest title [SEP] ")

    def test_a_table_without_rows_is_not_written(self, records, tmp_path):
        patents, citations = records
        patents = [dataclasses.replace(patent, abstract="Just a rotor.") for patent in patents]
        log = build(patents, citations, tmp_path, PARAMS)
        assert not (tmp_path / "datalyes/effect2full").exists()
        assert any(step.name == "effect2full test" and "not written" in step.note for step in log.steps)
        assert (tmp_path / "datalyes/title2full/test/data.parquet").is_file()

    def test_no_family_is_left(self, records, tmp_path):
        with pytest.raises(
            DataError,
            match=r"cited by 1 families: 420 -> 251; .* Remedy: lower min_class_families \(the largest class has 46\)",
        ):
            build(*records, tmp_path, Params())


def test_the_defaults_are_the_papers():
    params = Params()
    got = (params.min_year, params.min_cited_by, params.min_class_families, params.split)
    assert got == (1980, 1, 100, (0.8, 0.1, 0.1))
    assert (params.max_positives, params.max_train_rows, params.released_train) == (100, 150_000, 0.2)
    assert (params.cutoff, params.early_years, params.decile) == (dt.date(2023, 6, 20), 5, 0.1)
    assert (params.positive_share, params.ipc_clusters, params.inventor_clusters) == (0.14, (200, 1000), (100, 1000))
