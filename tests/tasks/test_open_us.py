"""The open benchmark's tasks on the twelve publications: gate, claims and paragraphs, both ways of searching, scored a
second time.
"""

import logging
import math

import open_us_patents as world
import pytest
from open_us_patents import D4, D5, Q1, Q2
from small_patents import Words

from patent_mteb.experiments import editions
from patent_mteb.metrics.significance import too_small
from patent_mteb.models import bm25
from patent_mteb.recipes.open_layout import document_of
from patent_mteb.search.engine import FAST_VARIABLE
from patent_mteb.search.stored import StoredRun
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.perquery import receiving

TASKS = ("TACToTAC", "AbstractToTAC", "ClaimsToTAC", "ClaimToTAC", "ClaimToPassage")
QRELS = {"ClaimToTAC": world.CLAIMS, "ClaimToPassage": world.PASSAGES}


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    editions.build(world.collection(), tmp_path / "edition", world.WINDOW)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "edition"))
    (benchmark,) = catalogue.own_benchmarks()
    return {kind.metadata.name: kind() for kind in benchmark.task_classes}


def ndcg(found, judged, depth=10):
    """The measure once more: linear gains."""
    gains = [judged.get(document, 0) for document in found][:depth]
    ideal = sorted(judged.values(), reverse=True)[:depth]
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains)) / sum(
        g / math.log2(place + 2) for place, g in enumerate(ideal)
    )


def test_names_and_revisions_carry_the_edition(tasks):
    assert list(tasks) == [f"PatentOpenUS2021010120231231{name}Retrieval" for name in TASKS]
    for name, task in tasks.items():
        assert task.metadata.name == f"{name}.{task.metadata.revision}"
        assert task.own.version == world.WINDOW


@pytest.mark.slow
@pytest.mark.parametrize("model", [bm25(), Words()], ids=["bm25", "dense"])
def test_scores_are_those_of_rankings_behind_the_gate_both_ways(tasks, model, monkeypatch):
    for short, task in zip(TASKS, tasks.values(), strict=True):
        found = {}
        for way in ("1", "0"):
            monkeypatch.setenv(FAST_VARIABLE, way)
            found[way] = next(iter(task.evaluate(model, "test", encode_kwargs={}).values()))
        run = task.rank(model).to_dict()
        qrels = QRELS.get(short, world.QRELS)
        assert set(run) == set(qrels)
        for query, documents in run.items():
            assert {document_of(key) for key in documents} <= world.SEEN[document_of(query)]
        expected = sum(ndcg(run[query], qrels[query]) for query in qrels) / len(qrels)
        for scores in found.values():
            assert scores["ndcg_at_10"] == pytest.approx(expected, abs=1e-5)
            assert scores["n_gated_judgements"] == 0
        same = {name: value for name, value in found["1"].items() if isinstance(value, (int, float))}
        assert same == pytest.approx({name: found["0"][name] for name in same}, abs=1e-5, nan_ok=True)


def test_the_result_says_how_much_is_gated_and_judged(tasks):
    task = next(iter(tasks.values()))
    (scores,) = task.evaluate(bm25(), "test", encode_kwargs={}).values()
    assert scores["gated_documents"] == 1.0  # Q1 may not see D4 and D5, Q2 sees all
    run = task.rank(bm25()).to_dict()
    judged = [sum(document in world.QRELS[query] for document in run[query]) / len(run[query]) for query in world.QRELS]
    assert scores["judged_at_10"] == pytest.approx(sum(judged) / 2)
    assert {
        "x_n_queries",
        "xy_n_queries",
        "a_n_queries",
        "examiner_n_queries",
        "applicant_n_queries",
        "phase_ctnf_n_queries",
        "tc_3700_n_queries",
    } <= scores.keys()
    assert {
        "in_n_queries",
        "out_n_queries",
        "cpc_in_n_queries",
        "cpc_out_n_queries",
        "year_2021_n_queries",
    } <= scores.keys()
    assert 0 <= scores["xy_bpref"] <= 1


def test_claims_and_paragraphs_are_judged_as_worked_out(tasks):
    for short, qrels in QRELS.items():
        task = tasks[f"PatentOpenUS2021010120231231{short}Retrieval"]
        task.load_data()
        assert task.tables.qrels == qrels
        assert dict(task.tables.gate.queries)[f"{Q1}#1"].isoformat() == "2019-07-01"
    passages = task.tables
    assert {key for key in passages.corpus if not passages.gate.admits(f"{Q1}#1", key)} == {f"{D4}#1", f"{D4}#2"}
    assert passages.categories[f"{Q2}#1"] == {f"{D4}#1": "X"}


def test_claims_of_one_application_are_one_group(tasks):
    received = []
    with receiving(received.append):
        (scores,) = (
            tasks["PatentOpenUS2021010120231231ClaimToTACRetrieval"].evaluate(bm25(), "test", encode_kwargs={}).values()
        )
        (whole,) = (
            tasks["PatentOpenUS2021010120231231TACToTACRetrieval"].evaluate(bm25(), "test", encode_kwargs={}).values()
        )
    table, apart = (evaluation.table() for evaluation in received)
    of_query = dict(zip(table["query"].to_pylist(), table["group"].to_pylist(), strict=True))
    assert {
        (of_query[one] == of_query[other]) == (one[:-2] == other[:-2]) for one in of_query for other in of_query
    } == {True}
    assert (scores["n_queries"], scores["n_query_groups"]) == (4, 2)
    assert "group" not in apart.column_names and "n_query_groups" not in whole
    assert too_small(scores).endswith("2 families of queries")


def test_a_run_that_shows_later_documents_is_cut(tasks, tmp_path, caplog):
    task = next(iter(tasks.values()))
    path = tmp_path / "vendor.run"
    found = {query: dict.fromkeys((D5, D4, *judged)) for query, judged in world.QRELS.items()}
    lines = [
        f"{query} Q0 {document} {place} {9 - place} vendor"
        for query, own in found.items()
        for place, document in enumerate(own, 1)
    ]
    path.write_text("\n".join(lines))
    with caplog.at_level(logging.WARNING):
        run = task.rank(StoredRun(path)).to_dict()
    assert "2 documents that were not public before the priority date of their query are removed" in caplog.text
    assert not {D4, D5} & set(run[Q1])
    assert {D4, D5} <= set(run[Q2])
