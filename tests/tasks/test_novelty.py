"""PatSnap's novelty search over records of one's own: the published file from a hub of this machine, every measure
counted again.
"""

from __future__ import annotations

import datetime as dt
import json

import pytest
from hub_server import Repository
from huggingface_hub import hf_hub_download
from small_patents import Words

from patent_mteb import recipes
from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.on_disk import stored
from patent_mteb.patents.records import Claim, Description, Patent, TextLanguages
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.perquery import receiving

REPO = "PatSnap/novelty-search-bench"


def published(number, pn, apdt, lang, x, x_family, family_x=(), family_x_family=(), **more):
    """A row with every published field."""
    return {
        "id": number,
        "pn": pn,
        "apdt": apdt,
        "ipc": ["A61B5"],
        "ipc_main": "A",
        "lang": lang,
        "jurisdiction": pn[:2],
        "type": "family" if family_x else "public",
        "pn_x": list(x),
        "pn_x_family": list(x_family),
        "pn_family_x": list(family_x),
        "pn_family_x_family": list(family_x_family),
    } | more


TRUTH = [
    published(
        1, "CN105877698A", 20160203, "CN",
        ["US20100274144A1", "TW201038253A"], ["US20100274144A1", "EP2000001A1", "TW201038253A"], ["WO2013103353A1"], ["WO2013103353A1"],
    ),
    published(
        2, "EP3067081A1", 20150312, "EN",
        ["CN104203091A", "CN108000001A"], ["CN104203091A", "US9999999B2", "CN108000001A"], description="a rotor blade",
    ),
    published(3, "CN107280072A", 20170619, "CN", ["CN106579567A"], ["CN106579567A"]),  # no record
    published(4, "US2018000004A1", 20160601, "EN", ["CN108000001A"], ["CN108000001A"]),  # what it cites came later
]  # fmt: skip


def record(number, family, words, public, lang="en"):
    return Patent(
        number,
        family,
        title=words.split()[0],
        abstract=words,
        claims=(Claim(1, f"A {words}."),),
        description=Description(detailed=f"The {words} turns."),
        publication_date=dt.date.fromisoformat(public),
        ipc=("A61B 5/00",),
        languages=TextLanguages(lang, lang, lang, lang),
    )


PATENTS = [
    record("CN105877698A", "Q1", "rotor hub", "2017-01-01", "zh"),
    record("EP3067081A1", "Q2", "rotor blade", "2016-09-01"),
    record("US2018000004A1", "Q4", "lens mount", "2018-01-01"),
    record("US2010274144A1", "F1", "rotor hub valve", "2010-10-28"),
    record("EP2000001A1", "F1", "rotor hub", "2008-12-01"),
    record("WO2013103353A1", "F2", "hub of a tower", "2013-07-11"),
    record("CN104203091A", "F3", "blade of a rotor", "2014-12-10", "zh"),
    record("US9999999B2", "F3", "rotor blade", "2018-05-01"),  # later than the query
    record("CN108000001A", "F4", "lens mount", "2018-05-04", "zh"),
    record("US5000001A", "F5", "tower crane", "1991-03-19"),
    record("US5000002A", "F6", "blade rotor", "1991-03-19"),
    record("US5000003A", "F7", "hub cap rotor", "1991-03-19"),
]
QRELS = {"CN105877698A": {"US2010274144A1", "WO2013103353A1"}, "EP3067081A1": {"CN104203091A"}}
FAMILIES = {"CN105877698A": {"F1", "F2"}, "EP3067081A1": {"F3"}}


@pytest.fixture
def truth(hub):
    """The published file, as the hub serves it."""
    lines = "".join(json.dumps(row) + "\n" for row in TRUTH).encode()
    hub.repositories[REPO] = Repository()
    hub.repositories[REPO].commit({"README.md": b"# bench", "data/test.jsonl": lines})
    return hf_hub_download(REPO, "data/test.jsonl", repo_type="dataset")


@pytest.fixture
def tasks(truth, tmp_path, monkeypatch):
    recipes.run("novelty", Collection(PATENTS, []), tmp_path / "Mine", [f"truth={truth}"])
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "Mine"))
    (benchmark,) = catalogue.own_benchmarks()
    return {kind.metadata.name.partition(".")[0]: kind() for kind in benchmark.task_classes}


def test_tasks_are_called_after_the_data_set(tasks):
    assert list(tasks) == ["MineNoveltyTACToTACRetrieval", "MineNoveltyDescriptionToTACRetrieval"]


def test_every_published_field_has_its_place(tasks):
    tables, description = (task for task in tasks.values())
    for task in (tables, description):
        task.load_data()
    found = tables.tables
    assert {query: set(judged) for query, judged in found.qrels.items() if judged} == QRELS
    assert tables.n_gated_judgements == 2, "CN108000001A was public after the application dates of queries 2 and 4"
    assert found.gate.queries["EP3067081A1"] == dt.date(2015, 3, 12)
    assert found.hidden["CN105877698A"] == {"CN105877698A"}
    assert {name: set(part) for name, part in found.slices.items()} == {
        **{name: {"CN105877698A"} for name in ("lang_zh", "type_family", "jurisdiction_cn", "zh_en")},
        **{name: {"EP3067081A1"} for name in ("lang_en", "type_public", "jurisdiction_ep", "en_zh")},
        "ipc_a": set(QRELS),
    }
    assert found.published == (4, {"CN105877698A": 3, "EP3067081A1": 2, "CN107280072A": 1, "US2018000004A1": 1})
    assert description.tables.queries["EP3067081A1"] == "a rotor blade", "the text that the file brings"
    assert description.tables.queries["CN105877698A"] == "The rotor hub turns."


def test_measures_are_those_of_a_second_computation(tasks):
    task, evaluations = tasks["MineNoveltyTACToTACRetrieval"], []
    model = Words()
    with receiving(evaluations.append):
        scores = next(iter(task.evaluate(model, "test", encode_kwargs={}).values()))
    by_query = evaluations[0].table()["hit_rate@10"]
    assert sum(by_query.to_pylist()) / 2 == scores["main_score"], "a report asks for those of the main score"
    run = task.rank(model).to_dict()
    family = {one.publication_number: one.family_id for one in PATENTS}
    public = {one.publication_number: one.publication_date.year for one in PATENTS}
    assert set(run) == set(QRELS)
    for query, year in (("CN105877698A", 2016), ("EP3067081A1", 2015)):
        assert all(public[document] < year for document in run[query])
        assert query not in run[query]
    for k in (1, 3, 10):
        hits = {query: len(QRELS[query].intersection(list(run[query])[:k])) for query in QRELS}
        assert scores[f"hit_rate_at_{k}"] == pytest.approx(sum(map(bool, hits.values())) / 2)
        assert scores[f"recall_at_{k}"] == pytest.approx(sum(hits[query] / len(QRELS[query]) for query in QRELS) / 2)
        assert scores[f"strict_hit_rate_at_{k}"] == pytest.approx(sum(map(bool, hits.values())) / 4)
        assert scores[f"strict_recall_at_{k}"] == pytest.approx(
            (hits["CN105877698A"] / 3 + hits["EP3067081A1"] / 2) / 4
        )
        groups = {}
        for query, ranking in run.items():
            order = []
            for document in ranking:
                order += [family[document]] if family[document] not in order else []
            groups[query] = FAMILIES[query].intersection(order[:k])
        assert scores[f"collapsed_hit_rate_at_{k}"] == pytest.approx(sum(map(bool, groups.values())) / 2)
        assert scores[f"collapsed_recall_at_{k}"] == pytest.approx(
            sum(len(groups[one]) / len(FAMILIES[one]) for one in groups) / 2
        )
    assert scores["main_score"] == scores["hit_rate_at_10"]
    assert scores["n_gated_judgements"] == 2


def test_gated_judgements_are_those_of_the_queries_that_are_kept(tasks):
    task, _ = tasks.values()
    counts = []
    for number in (1, 2, 3):
        limited = task.limit_to(number)
        limited.load_data()
        counts.append(limited.n_gated_judgements)
        assert counts[-1] == ("EP3067081A1" in limited.tables.qrels)
    assert counts == [0, 1, 1], "query 4, with nothing left, is in no limited task"


def test_what_is_lost_is_counted_and_files_make_the_same_tables(truth, tmp_path):
    settings = [f"truth={truth}", "documents=8"]
    log = recipes.run("novelty", Collection(PATENTS, []), tmp_path / "One", settings)
    notes = {step.name: step.note for step in log.steps}
    assert "1 whose publication has no record" in notes["samples"]
    assert "1 X citations of documents without a record" in notes["X documents"]
    assert [step.rows_out for step in log.steps if step.name == "corpus"] == [8]
    recipes.run("novelty", Collection(stored(iter(PATENTS[::-1]))), tmp_path / "Two", settings)
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / name / "PatSnapNovelty").rglob("*.*")}
        for name in ("One", "Two")
    )
    assert first == second


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pn_x": "US1A"}, r"row 2.*'pn_x' is not a list of texts"),
        ({"lang": "DE"}, r"row 2.*'lang' is 'DE', not CN or EN"),
        ({"apdt": 2015}, r"row 2.*'apdt' is '2015', not a date"),
        ({"pn": "CN 105877698 A"}, r"row 2.*is already the query of row 1"),
        ({"ipc_main": None}, r"row 2.*'ipc_main' is missing"),
        ({"pn": 3067081}, r"row 2.*'pn' is not a text"),
        ({"jurisdiction": ["EP"]}, r"row 2.*'jurisdiction' is not a text"),
    ],
)
def test_surprises_are_refused_with_their_row(tmp_path, change, said):
    path = tmp_path / "test.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [TRUTH[0], {**TRUTH[1], **change}]))
    with pytest.raises(DataError, match=said):
        recipes.run("novelty", Collection(PATENTS, []), tmp_path / "Mine", [f"truth={path}"])
