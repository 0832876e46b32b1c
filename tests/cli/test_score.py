"""``patent-mteb runs score``: the ranking of a system that is not a model."""

import csv
import json
import random

import ir_measures
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ir_measures import AP, RR, Qrel, R, nDCG

import patent_mteb
from patent_mteb.cli import main
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.models import bm25
from patent_mteb.search.stored import StoredRun

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
    """The printed text in one line."""
    found = capsys.readouterr()
    return " ".join(f"{found.out} {found.err}".split())


@pytest.mark.slow
def test_a_run_of_ir_measures_scores_query_by_query_as_ir_measures_does(tmp_path, ranking, task, capsys, monkeypatch):
    """Written from ir-measures' own records of a run, documents of a query in any order; both read the same file."""
    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", "")
    scored = [
        ir_measures.ScoredDoc(query, document, score)
        for query, found in ranking.items()
        for document, score in found.items()
    ]
    random.Random(7).shuffle(scored)
    scored.sort(key=lambda one: one.query_id)
    path = tmp_path / "theirs.run"
    path.write_text("".join(f"{one.query_id} Q0 {one.doc_id} 0 {one.score} ir\n" for one in scored))
    words = ["--name", "Vendor 3.1", "--seconds", "30", "--cost", "1.5", "--out", str(tmp_path / "results")]
    assert main(["runs", "score", str(path), "-t", TASK, *words]) == 0
    assert "run/Vendor-3.1" in said(capsys)
    place, scores = filed(tmp_path / "results")
    assert place.parents[1].name == "run__Vendor-3.1"
    assert scores["evidence"]["effort"] == {"seconds": 30.0, "cost": 1.5}
    assert patent_mteb.rank(StoredRun(path), TASK).to_dict() == ranking, "the model's own ranking"
    qrels = [Qrel(q, d, gain) for q, judged in task.tables.qrels.items() for d, gain in judged.items()]
    run = list(ir_measures.read_trec_run(str(path)))
    (file,) = (tmp_path / "results").rglob("*.queries.parquet")
    own = {row["query"]: row for row in pq.read_table(file).to_pylist()}
    for measure, name in {nDCG @ 10: "ndcg@10", R @ 100: "recall@100", AP @ 1000: "map@1000", RR: "mrr@1000"}.items():
        theirs = {one.query_id: one.value for one in ir_measures.iter_calc([measure], qrels, run)}
        assert {query: own[query][name] for query in theirs} == pytest.approx(theirs, abs=1e-6)
        assert scores[name.replace("@", "_at_")] == pytest.approx(sum(theirs.values()) / len(theirs), abs=1e-5)
        assert len(theirs) == len(own)


@pytest.mark.slow
def test_what_each_query_took_is_in_the_result_and_the_report(tmp_path, ranking, capsys, monkeypatch):
    """The table against sums and quantiles of the lines; an edited file of per-query amounts is not believed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", "")
    trec(tmp_path / "agent.run", ranking)
    dice = random.Random(5)
    most = {"calls": 9, "input_tokens": 9999, "output_tokens": 99}
    lines = [
        {"query": query, "trace": [{"tool": "search", "text": "confidential"}]}
        | {name: dice.randint(0, value) for name, value in most.items()}
        | {"seconds": round(dice.random() * 20, 3), "cost": round(dice.random(), 4)}
        for query in ranking
    ]
    side = tmp_path / "agent.effort.jsonl"
    side.write_text("".join(json.dumps(line) + "\n" for line in lines))
    score = ["runs", "score", "agent.run", "-t", TASK]
    assert main(score) == 0
    _, scores = filed(tmp_path)
    (file,) = (tmp_path / "results").rglob("*.queries.parquet")
    sums = {name: sum(line[name] for line in lines) for name in lines[0] if name not in ("query", "trace")}
    assert scores["evidence"]["effort"] == pytest.approx(sums, abs=1e-5)
    table = pq.read_table(file).to_pylist()
    by_query = {line["query"]: line for line in lines}
    assert all(row[f"effort:{name}"] == by_query[row["query"]][name] for row in table for name in sums)
    assert not any(b"confidential" in one.read_bytes() for one in (tmp_path / "results").rglob("*") if one.is_file())

    def costs():
        capsys.readouterr()
        assert main(["report", "results", "--format", "csv", "--out", "tables", "--every-table"]) == 0
        (row,) = csv.DictReader(next((tmp_path / "tables").rglob("*dapfam-costs.csv")).open())
        return row

    n, row = len(lines), costs()
    tokens = [line["input_tokens"] + line["output_tokens"] for line in lines]
    wanted = {"calls": sums["calls"] / n, "seconds": sums["seconds"] / n, "cost": sums["cost"] / n}
    wanted |= {"tokens": sum(tokens) / n, "cost_all": sums["cost"]}
    amounts = {name: [line[name] for line in lines] for name in ("seconds", "cost")} | {"tokens": tokens}
    wanted |= {f"{name}_95": np.quantile(values, 0.95) for name, values in amounts.items()}
    assert {name: float(row[name]) for name in wanted} == pytest.approx(wanted, rel=1e-4, abs=1e-5)

    edited = pq.read_table(file)
    column = edited.schema.get_field_index("effort:cost")
    edited = edited.set_column(column, "effort:cost", pa.array([0.0] * n))
    pq.write_table(edited, file)
    assert float(row["seconds_95"]) > 0 and main(["report", "results"]) == 2
    assert "nothing in results can be reported" in capsys.readouterr().err
    assert main([*score, "--seconds", "3"]) == 2
    assert "leave out --seconds and --cost, or rename the file" in said(capsys)


@pytest.mark.slow
def test_own_family_unknown_documents_and_missing_queries_are_answered(tmp_path, ranking, task, capsys):
    out = ["--out", str(tmp_path / "results")]
    hidden = {q: next(d for d in task.tables.hidden[q] if d in task.tables.corpus) for q in list(ranking)[:7]}
    seen = {q: ({hidden[q]: 1e6} if q in hidden else {}) | found for q, found in ranking.items()}
    assert main(["runs", "score", str(trec(tmp_path / "family.run", seen)), "-t", TASK, *out]) == 0
    assert "7 documents hidden from their query" in said(capsys)
    _, scores = filed(tmp_path / "results")
    own = patent_mteb.evaluate(bm25("dapfam"), TASK)
    assert scores["main_score"] == pytest.approx(own.filter(own["slice"] == "")["value"][0], abs=6e-6)

    strange = {q: found | {"EP0000000A1": 1e-9} for q, found in ranking.items()}
    path = trec(tmp_path / "strange.run", strange)
    assert main(["runs", "score", str(path), "-t", TASK, *out]) == 1
    assert f"found document 'EP0000000A1', which is not in the corpus of the task ({len(ranking)} such places)" in said(
        capsys
    )
    assert main(["runs", "score", str(path), "-t", TASK, "--drop-unknown", *out]) == 0
    assert f"{len(ranking)} places with documents that are not in the corpus are dropped" in said(capsys)

    half = trec(tmp_path / "half.run", dict(list(ranking.items())[:100]))
    assert main(["runs", "score", str(half), "-t", TASK, *out]) == 1
    assert "--allow-missing" in said(capsys)
    assert main(["runs", "score", str(half), "-t", TASK, "--allow-missing", *out]) == 0
    assert len(list((tmp_path / "results").rglob(f"{TASK}.json"))) == 3, (
        "each file and each leniency is an identity of its own"
    )


def test_what_is_no_run_ends_with_one_message(tmp_path, capsys):
    bad = tmp_path / "bad.run"
    bad.write_text("a b\n")
    assert main(["runs", "score", str(bad), "-t", TASK, "--out", str(tmp_path)]) == 2
    assert "row 1: 2 columns instead of 6" in said(capsys)
