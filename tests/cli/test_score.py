"""``patent-mteb score``: the ranking of a system that is no model."""

import json

import ir_measures
import pytest
from ir_measures import AP, RR, Qrel, R, nDCG

import patent_mteb
from patent_mteb.cli import main
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.models import bm25

TASK = "PatentDAPFAMTitleToTARetrieval.sample"


@pytest.fixture(scope="module")
def ranking():
    return patent_mteb.rank(bm25("dapfam"), TASK).to_dict()


@pytest.fixture(scope="module")
def task():
    found = retrieval_task(TASK)
    found.load_data()
    return found


def trec(path, ranking):
    rows = ((q, d, rank, s) for q, found in ranking.items() for rank, (d, s) in enumerate(found.items(), 1))
    path.write_text("".join(f"{q} Q0 {d} {rank} {s!r} vendor\n" for q, d, rank, s in rows))
    return path


def filed(folder):
    (path,) = (folder / "results").rglob(f"{TASK}.json")
    ((scores,),) = json.loads(path.read_text())["scores"].values()
    return path, scores


def said(capsys):
    """What was printed, logged lines joined again."""
    found = capsys.readouterr()
    return " ".join(f"{found.out} {found.err}".split())


def test_scores_are_those_of_the_model_and_of_ir_measures(tmp_path, ranking, task, capsys, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", "")
    path = trec(tmp_path / "vendor.run", ranking)
    assert main(["score", str(path), "-t", TASK, "--name", "Vendor 3.1", "--out", str(tmp_path / "results")]) == 0
    place, scores = filed(tmp_path / "results")
    assert place.parents[1].name == "run__Vendor-3.1"
    assert "run/Vendor-3.1" in said(capsys)
    (queries,) = (tmp_path / "results").rglob("*.queries.parquet")
    assert queries.stat().st_size

    own = patent_mteb.evaluate(bm25("dapfam"), TASK, measures=("ndcg_at_10", "recall_at_100"))
    for row in own.filter(own["slice"] == "").iter_rows(named=True):
        assert scores[row["measure"]] == pytest.approx(row["value"], abs=6e-6)

    qrels = [Qrel(q, d, gain) for q, judged in task.tables.qrels.items() for d, gain in judged.items()]
    run = list(ir_measures.read_trec_run(str(path)))
    theirs = ir_measures.calc_aggregate([nDCG @ 10, nDCG @ 100, R @ 100, AP @ 1000, RR], qrels, run)
    names = {nDCG @ 10: "ndcg_at_10", nDCG @ 100: "ndcg_at_100", R @ 100: "recall_at_100", AP @ 1000: "map_at_1000", RR: "mrr_at_1000"}
    assert {measure: scores[name] for measure, name in names.items()} == pytest.approx(theirs, abs=1e-5)


def test_own_family_unknown_documents_and_missing_queries_are_answered(tmp_path, ranking, task, capsys):
    out = ["--out", str(tmp_path / "results")]
    hidden = {q: next(d for d in task.tables.hidden[q] if d in task.tables.corpus) for q in list(ranking)[:7]}
    seen = {q: ({hidden[q]: 1e6} if q in hidden else {}) | found for q, found in ranking.items()}
    assert main(["score", str(trec(tmp_path / "family.run", seen)), "-t", TASK, *out]) == 0
    assert "7 documents that their query must not see" in said(capsys)
    _, scores = filed(tmp_path / "results")
    own = patent_mteb.evaluate(bm25("dapfam"), TASK)
    assert scores["main_score"] == pytest.approx(own.filter(own["slice"] == "")["value"][0], abs=6e-6)

    strange = {q: found | {"EP0000000A1": 1e-9} for q, found in ranking.items()}
    path = trec(tmp_path / "strange.run", strange)
    assert main(["score", str(path), "-t", TASK, *out]) == 1
    assert f"found document 'EP0000000A1', which is not in the corpus of the task ({len(ranking)} such places)" in said(capsys)
    assert main(["score", str(path), "-t", TASK, "--drop-unknown", *out]) == 0
    assert f"{len(ranking)} places with documents that are not in the corpus are left out" in said(capsys)

    half = trec(tmp_path / "half.run", dict(list(ranking.items())[:100]))
    assert main(["score", str(half), "-t", TASK, *out]) == 1
    assert "--allow-missing" in said(capsys)
    assert main(["score", str(half), "-t", TASK, "--allow-missing", *out]) == 0
    assert len(list((tmp_path / "results").rglob(f"{TASK}.json"))) == 3, "each file and each leniency is an identity of its own"


def test_what_is_no_run_ends_with_one_message(tmp_path, capsys):
    bad = tmp_path / "bad.run"
    bad.write_text("a b\n")
    assert main(["score", str(bad), "-t", TASK, "--out", str(tmp_path)]) == 2
    assert "row 1: 2 columns instead of 6" in said(capsys)
