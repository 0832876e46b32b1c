"""The built-in patent world: sound records, real drafting styles, a graph that every recipe can live on, and the right
difficulty.
"""

import dataclasses
import datetime as dt
import hashlib
import json
import re
from collections import Counter, defaultdict

import mteb
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from small_data import scores_of

from patent_mteb.data.loading import resolve
from patent_mteb.metrics.slices import JURISDICTION_GROUPS
from patent_mteb.models import bm25
from patent_mteb.patents import ipc
from patent_mteb.patents.claims import split_claims
from patent_mteb.patents.records import Citation, Description, MachineSummaries, Patent
from patent_mteb.sample import SAMPLE_VERSION, load, load_examined
from patent_mteb.tasks.wipo_at import DATA, labelled_texts
from sample_generator import vocabulary
from sample_generator.generate import generate, with_office_actions
from sample_generator.prose import eligible, expand, finish
from sample_generator.random_choice import RandomGenerator

DIGESTS = {"2": "537bd14dd26a24b8591244e6150869b1cb611d08b14511bda9a59e1ca88b27da"}
"""What a version of the sample contains: a changed record needs a new version."""


def digest(patents: list[Patent], citations: list[Citation]) -> str:
    rows = [
        {name: value for name, value in dataclasses.asdict(record).items() if value}
        for record in (*patents, *citations)
    ]
    text = json.dumps(rows, ensure_ascii=False, default=dt.date.isoformat)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(scope="module")
def world() -> tuple[list[Patent], list[Citation]]:
    return load()


@pytest.fixture(scope="module")
def patents(world) -> list[Patent]:
    return world[0]


@pytest.fixture(scope="module")
def citations(world) -> list[Citation]:
    return world[1]


@pytest.fixture(scope="module")
def by_number(patents) -> dict[str, Patent]:
    return {patent.publication_number: patent for patent in patents}


@pytest.fixture(scope="module")
def families(patents) -> dict[str, list[Patent]]:
    grouped = defaultdict(list)
    for patent in patents:
        grouped[patent.family_id].append(patent)
    return dict(grouped)


@pytest.fixture(scope="module")
def family_edges(citations, by_number) -> set[tuple[str, str]]:
    return {(by_number[c.citing].family_id, by_number[c.cited].family_id) for c in citations}


def classes(family: list[Patent]) -> frozenset[str]:
    return frozenset(ipc.at(code, "ipc3") for patent in family for code in patent.ipc)


# ---- reproducible


@pytest.mark.slow
def test_a_changed_record_needs_a_new_version(world):
    assert digest(*world) == DIGESTS[SAMPLE_VERSION]


@pytest.mark.slow
def test_the_generator_writes_the_records_of_the_package(world):
    patents, citations = generate()
    assert (patents, citations) == world
    assert with_office_actions(patents, citations) == load_examined()[1]


def test_only_texts_are_left_out_on_request(world):
    long, short = world[0], load(long_texts=False)[0]
    empty = {"description": Description(), "summaries": MachineSummaries()}
    assert [dataclasses.replace(patent, **empty) for patent in long] == short


def test_callers_cannot_spoil_the_sample_for_each_other():
    first, citations = load()
    first.clear(), citations.clear()
    assert all(load())


# ---- grammar


def test_patterns_expand_to_grammatical_text():
    dice = RandomGenerator("test")
    slots = {"device": "[oven]", "part": "unit", "other": "S-shaped {part}"}
    assert (
        finish(expand("a {device} with a {part}, a {other}. a user. an hour", slots, dice))
        == "An oven with a unit, an S-shaped unit. A user. An hour"
    )
    assert {expand("[a|b[c|d]]", {}, dice) for _ in range(60)} == {"a", "bc", "bd"}
    assert expand("[problem] {Device}", slots, dice) == "[problem] Oven"
    assert eligible(["x {device}", "y {Missing}"], slots) == ("x {device}",)
    with pytest.raises(ValueError, match="unbalanced"):
        expand("[a|b", {}, dice)


@pytest.mark.slow
def test_every_pattern_can_be_parsed_and_every_vocabulary_entry_is_used(patents):
    words = vocabulary.load()
    text = "\n".join(
        f"{p.title} {p.abstract} {p.description} {p.expert} {p.summaries} {p.claims}" for p in patents
    ).lower()
    unused = [
        d
        for f in words.fields
        for problem in f.problems
        for d in (*problem.device, *problem.part)
        if d.lower() not in text
    ]
    unused += [
        e for p in words.principles.values() for voice in p.voices for e in voice.element if e.lower() not in text
    ]
    assert unused == []


@pytest.mark.slow
def test_texts_are_clean(patents):
    for patent in patents:
        texts = [patent.title, *dataclasses.astuple(patent.description), *dataclasses.astuple(patent.expert)]
        texts += [patent.abstract, *dataclasses.astuple(patent.summaries), *(claim.text for claim in patent.claims)]
        for text in texts:
            assert not re.search(r"[{}|<>]|  |\.\.|\b(\w+) \1\b(?<!that that)", text), text
            assert not re.search(
                r"\b[Aa] (?!uni|use|usu|one|eu)[aeiou]|\b[Aa]n (?![aeiouAEIOUFHLMNRSX]|hour|honest)", text
            ), text
            assert text == text.strip()
        assert not re.search(r"[\[\]]", re.sub(r"\[([Pp]roblem|[Ss]olution)\]", "", patent.abstract))


# ---- records


def test_records_are_complete_and_consistent(patents, families):
    assert len({patent.publication_number for patent in patents}) == len(patents)
    assert [p.publication_number for p in patents] == sorted(p.publication_number for p in patents)
    for patent in patents:
        assert re.fullmatch(r"[A-Z]{2}\d{6,13}[A-Z]\d?", patent.publication_number)
        assert patent.publication_number.endswith(patent.kind)
        assert patent.priority_date <= patent.application_date < patent.publication_date
        assert patent.title and patent.abstract and patent.keywords and patent.inventors and patent.applicants
        assert 5 <= len(patent.keywords) == len(set(patent.keywords)) <= 8
        assert all(dataclasses.astuple(patent.description))
        assert 150 <= sum(len(text.split()) for text in dataclasses.astuple(patent.description)) <= 500
        assert 30 <= len(patent.abstract.split()) <= 160
        for code in (*patent.ipc, *patent.cpc):
            assert ipc.at(code, "subgroup")
    for members in families.values():
        for name in ("priority_date", "labels", "inventors", "filing_jurisdiction"):
            assert len({getattr(patent, name) for patent in members}) == 1
        assert len({tuple(ipc.at(code, "subgroup") for code in patent.ipc) for patent in members}) == 1
        assert members[0].filing_jurisdiction in {patent.jurisdiction for patent in members}


@pytest.mark.slow
def test_claims_are_numbered_and_their_references_are_real(patents):
    phrases = Counter()
    for patent in patents:
        assert 6 <= len(patent.claims) <= 15
        assert [claim.number for claim in patent.claims] == list(range(1, len(patent.claims) + 1))
        assert 2 <= sum(claim.independent for claim in patent.claims) <= 3
        assert patent.claims[0].independent
        numbered = "\n".join(f"{claim.number}. {claim.text}" for claim in patent.claims)
        assert split_claims(numbered) == patent.claims
        phrases.update(len(claim.depends_on) for claim in patent.claims)
    assert phrases[2] > 100 and sum(n for size, n in phrases.items() if size > 2) > 100


# ---- jurisdictions and drafting styles


def test_jurisdictions_have_roughly_the_shares_of_the_paper(patents, citations):
    assert len({patent.jurisdiction for patent in patents}) >= 12
    office = Counter(patent.jurisdiction for patent in patents)
    shares = {group: sum(office[name] for name in names) / len(patents) for group, names in JURISDICTION_GROUPS.items()}
    expected = {"cn": 0.41, "en": 0.35, "jp": 0.14, "de": 0.06, "fr": 0.02}
    assert all(abs(shares[group] - share) <= 0.04 for group, share in expected.items()), shares
    citing = {citation.citing for citation in citations}
    group_of = {name: group for group, names in JURISDICTION_GROUPS.items() for name in names}
    for jurisdiction in ("jurisdiction", "filing_jurisdiction"):
        queries = Counter(group_of.get(getattr(p, jurisdiction)) for p in patents if p.publication_number in citing)
        assert all(queries[group] >= 12 for group in JURISDICTION_GROUPS), queries


PATTERNS = {
    "problem to be solved": r"PROBLEM TO BE SOLVED: (.+?) SOLUTION: ",
    "problem": r"(?<!\w )PROBLEM: (.+?) SOLUTION: ",
    "purpose": r"PURPOSE: (.+?) CONSTITUTION: ",
    "bracket": r"(?i)\[problem\] (.+?) \[solution\] ",
    "field": r"FIELD: .+? SUBSTANCE: .+? EFFECT: ",
    "solution effect": r"^SOLUTION: .+? EFFECT: ",
    "solution": r"^(?!PROBLEM)(?:(?!PROBLEM|EFFECT).)+ SOLUTION: (?!.*EFFECT)",
}


def test_all_seven_abstract_patterns_and_plain_ones_occur(families):
    found = Counter()
    for members in families.values():
        abstract = members[0].abstract
        hits = [name for name, pattern in PATTERNS.items() if re.search(pattern, abstract)]
        assert len(hits) <= 1, abstract
        found[hits[0] if hits else "plain"] += 1
    assert all(found[name] >= 25 for name in PATTERNS), found
    problems = sum(found[name] for name in ("problem to be solved", "problem", "purpose", "bracket", "solution"))
    assert problems >= 250 and found["field"] >= 60 and found["solution effect"] >= 60 and found["plain"] >= 400
    abstracts = [patent.abstract for members in families.values() for patent in members]
    assert sum("SELECTED DRAWING" in text for text in abstracts) >= 30
    assert sum("COPYRIGHT" in text for text in abstracts) >= 10


# ---- labels


def test_landscapes_overlap_and_have_fine_labels(patents):
    coarse = defaultdict(Counter)
    for patent in patents:
        for label in {(label.landscape, label.coarse) for label in patent.labels}:
            coarse[label[0]][label[1]] += 1
    assert set(coarse["Conventional"]) == {
        "Mobility",
        "Environment",
        "Self-Care",
        "Hearing",
        "Communication",
        "Cognition",
        "Vision",
    }
    assert set(coarse["Emerging"]) == {"Hearing", "Vision", "Mobility", "Communication", "Environment", "Self-Care"}
    assert all(count >= 40 for landscape in coarse.values() for count in landscape.values()), coarse
    both = sum(len({label.landscape for label in patent.labels}) == 2 for patent in patents)
    assert 150 <= both <= 450 and 100 <= sum(not patent.labels for patent in patents) <= 250
    for wanted in (("Conventional", "Environment"), ("Emerging", "Mobility"), ("Emerging", "Vision")):
        fine = [[x.fine for x in p.labels if (x.landscape, x.coarse) == wanted] for p in patents]
        fine = [labels for labels in fine if labels]
        assert len(fine) >= 120 and sum(len(labels) > 1 for labels in fine) >= 60
        counts = Counter(label for labels in fine for label in labels)
        assert sum(count >= 10 for count in counts.values()) >= 6, counts


# ---- citation graph


def test_citations_point_to_earlier_publications_of_other_families(citations, by_number):
    assert len({(c.citing, c.cited) for c in citations}) == len(citations)
    for citation in citations:
        citing, cited = by_number[citation.citing], by_number[citation.cited]
        assert citing.family_id != cited.family_id
        assert cited.publication_date < citing.publication_date and cited.priority_date < citing.priority_date


def test_graph_is_dense_enough_for_every_recipe(patents, citations, families, family_edges):
    citing = {citation.citing for citation in citations}
    assert 0.55 <= len(citing) / len(patents) <= 0.68
    assert 2 <= len(family_edges) / len({a for a, _ in family_edges}) <= 4
    neighbours = defaultdict(set)
    for a, b in family_edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    per_class = Counter(ipc.at(families[f][0].ipc[0], "ipc3") for f, others in neighbours.items() if len(others) >= 4)
    assert sum(count >= 10 for count in per_class.values()) >= 14
    assert sum(len(others) >= 10 for others in neighbours.values()) >= 50
    relation = Counter()
    for a, b in family_edges:
        mine, theirs = classes(families[a]), classes(families[b])
        relation["in" if mine == theirs else "mixed" if mine & theirs else "out"] += 1
    assert relation["in"] >= 500 and relation["mixed"] >= 500 and relation["out"] >= 400, relation


# ---- difficulty


@pytest.mark.slow
def test_bm25_is_neither_at_ceiling_nor_lost_and_cross_domain_is_much_harder():
    scores = scores_of(mteb.get_task("PatentCitationRetrieval.sample"), bm25())
    assert 0.15 < scores["ndcg_at_10"] < 0.75 and 0.02 < scores["out_ndcg_at_10"] <= 0.5 * scores["in_ndcg_at_10"]


@pytest.mark.parametrize("label_set", ["Emerging", "Conventional"])
def test_classification_is_neither_at_ceiling_nor_lost(label_set):
    """Words of title and abstract, weighted by scikit-learn, and one logistic regression a label."""
    data = labelled_texts(resolve(DATA, sample=True), label_set, ("title", "abstract"))
    words, labels = TfidfVectorizer(stop_words="english", sublinear_tf=True), MultiLabelBinarizer()
    model = OneVsRestClassifier(LogisticRegression(C=100)).fit(
        words.fit_transform(data.texts["train"]), labels.fit_transform(data.labels["train"])
    )
    score = f1_score(
        labels.transform(data.labels["test"]),
        model.predict(words.transform(data.texts["test"])),
        average="macro",
        zero_division=0,
    )
    assert 0.4 < score < 0.9, score
