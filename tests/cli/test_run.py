"""What ``patent-mteb run`` and ``report`` show of scores with too few queries: mark and interval, in no mean."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from patent_mteb import cli
from patent_mteb.recipes.beir import write_beir

TASK = "PatentCitationRetrieval"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """60 queries of which each finds its document or not; 3 of them are out of domain, and one is the whole of a
    jurisdiction.
    """
    corpus = {f"d{n}": ("", f"topic{n} device" if n % 4 else "something else") for n in range(60)}
    queries = {f"q{n}": f"topic{n} device" for n in range(60)}
    qrels = {f"q{n}": {f"d{n}": 1} for n in range(60)}
    known = {
        key: {"_id": key, "family_id": key, "ipc": ["A61F 2/06"], "jurisdiction": "US"} for key in corpus | queries
    }
    for n in range(3):
        known[f"q{n}"]["ipc"] = ["H01M 1/00"]
    known["q7"]["jurisdiction"] = "JP"
    write_beir(
        tmp_path / "data" / "WIPO-AT", corpus, queries, qrels, metadata=pa.Table.from_pylist(list(known.values()))
    )
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("PATENT_MTEB_QUERY_SCORES")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def naive_interval(values, resamples=4_000):
    rng = np.random.default_rng(5)
    return np.percentile([rng.choice(values, len(values)).mean() for _ in range(resamples)], [2.5, 97.5])


def test_a_slice_of_three_queries_is_marked_and_shown_with_its_interval(small, capsys):
    assert cli.main(["run", "-v", "1", "-t", TASK, "-m", "patent-mteb/bm25-dapfam"]) == 0
    printed = capsys.readouterr().out
    (path,) = (small / "results").rglob(f"{TASK}.local-*[0-9a-f].json")
    scores = json.loads(path.read_text())["scores"]["test"][0]
    assert (scores["n_queries"], scores["in_n_queries"], scores["out_n_queries"]) == (60, 57, 3)
    table = pq.read_table(path.with_suffix(".queries.parquet")).to_pandas()
    values = table.loc[table["slice:out"], "ndcg@10"].to_numpy()
    low, high = naive_interval(values)
    assert (scores["out_ndcg_at_10_low"], scores["out_ndcg_at_10_high"]) == pytest.approx((low, high), abs=0.02)
    assert (
        not {"ndcg_at_10_low", "in_ndcg_at_10_low", "jurisdiction_jp_ndcg_at_10_low"} & scores.keys()
    )  # enough queries, or only one
    (line,) = [line for line in printed.splitlines() if line.startswith(TASK)]
    assert f"{scores['out_ndcg_at_10']:.4f}†\N{NO-BREAK SPACE}[{low:.2f},\N{NO-BREAK SPACE}{high:.2f}]" in line
    assert f"{scores['ndcg_at_10']:.4f} " in line and line.count("†") == 1
    assert "†: too few queries (< 50)" in printed


@pytest.mark.slow
def test_a_limited_run_is_filed_apart_and_in_no_report(tmp_path, capsys):
    words = ["run", "-b", "PatentMap.sample", "-m", "bm25", "--out", str(tmp_path / "results")]
    assert cli.main([*words, "--limit", "5", "-v", "1"]) == 0
    streams = capsys.readouterr()
    assert "for trying things out only" in streams.out and "1 of 3 tasks are skipped" in streams.err
    names = {path.stem for path in (tmp_path / "results").rglob("PatentMap*.json")}
    assert names == {"PatentMapAbsToAbsRetrieval.sample.limit5", "PatentMapClmToAllRetrieval.sample.limit5"}
    scores = [
        json.loads(path.read_text())["scores"]["test"][0] for path in (tmp_path / "results").rglob("PatentMap*.json")
    ]
    assert {score["n_queries"] for score in scores} == {5}
    assert cli.main([*words, "-v", "1", "-t", "PatentMapAbsToAbsRetrieval"]) == 0, (
        "the whole task is not taken for done"
    )
    assert "were there already" not in capsys.readouterr().out
    assert cli.main(["report", str(tmp_path / "results"), "--format", "csv", "--out", str(tmp_path / "out")]) == 0
    assert "2 results of 2 tasks named <Task>.limit5 left out: --limit ran them on" in capsys.readouterr().err
    assert not [path for path in (tmp_path / "out").rglob("*.csv") if "limit5" in path.read_text()]
    with pytest.raises(SystemExit):
        cli.main([*words, "--limit", "0"])


@pytest.mark.slow
def test_a_dry_run_says_what_would_be_done_and_does_nothing(tmp_path, monkeypatch, capsys):
    from tiny_checkpoints import checkpoint

    monkeypatch.delenv("PATENT_MTEB_DATA", raising=False)
    checkpoint(tmp_path / "model", 8, "mean")
    tasks = ["PatentMapAbsToAbsRetrieval.sample", "PatenTEBTitle2Full"]
    words = ["run", "-v", "1", "-t", *tasks, "-m", str(tmp_path / "model"), "--dry-run"]
    folders = ["--out", str(tmp_path / "results"), "--store", str(tmp_path / "store")]
    assert cli.main([*words, *folders, "--dims", "4"]) == 1, "data are missing"
    streams = capsys.readouterr()
    for part in (
        "distinct texts, 0 of them in the store",
        "min of encoding, by a probe",
        "MB on disk",
        "MB of memory",
        "without --dims",
    ):
        assert part in streams.out, part
    assert "PatenTEBTitle2Full: " in streams.err
    assert not (tmp_path / "results").exists()
    assert cli.main([*words, *folders, "--json", "--task-types", "Retrieval"]) == 1
    tasks = json.loads(capsys.readouterr().out)["result"]["tasks"]
    assert [(task["status"], task["texts"] > 0) for task in tasks] == [("to do", True), ("missing", False)]


@pytest.mark.slow
def test_rankings_that_are_not_written_again_are_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["run", "-t", "PatentMapAbsToAbsRetrieval.sample", "-m", "bm25", "--quiet", "--save-runs"]
    assert cli.main([*words, "first"]) == 0 and list(Path("first").rglob("*.run"))
    assert "rankings are not written" not in capsys.readouterr().out
    assert cli.main([*words, "second"]) == 0 and not Path("second").exists()
    assert "Their rankings are not written: that takes --overwrite-strategy always." in capsys.readouterr().out
    assert cli.main([*words[:-1], "--overwrite-strategy", "always"]) == 0 and not Path("second").exists(), (
        "it has ended"
    )


def test_a_run_without_data_says_one_line_a_data_set(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("PATENT_MTEB_SAMPLE", raising=False)
    monkeypatch.chdir(tmp_path)
    for further in (["--dry-run"], []):
        assert cli.main(["run", "-b", "PatentMTEB", "-m", "bm25", "--out", "results", "-v", "1", *further]) == 1
        said, warned = capsys.readouterr()
        reasons = [line for line in warned.splitlines() if "Remedy" in line or "does not embed" in line]
        assert len(reasons) <= 8 and len((said + warned).splitlines()) <= 14
        for name in ("WIPO-AT", "datalyes/DAPFAM_patent", "datalyes/retrieval_IN", "Sophia", "ZoeYou/downstream"):
            assert sum(name in line for line in reasons) == 1, name
        assert any("PatenTEBRetrievalIN" in line and "and 5 more" in line for line in reasons)


@pytest.mark.slow
def test_mteb_itself_logs_the_score_in_one_line(caplog):
    import logging

    import mteb

    from patent_mteb.models import bm25

    with caplog.at_level(logging.INFO, logger="mteb"):
        found = mteb.evaluate(bm25("dapfam"), mteb.get_task("PatentMapAbsToAbsRetrieval.sample"), cache=None)
    score = found.task_results[0].get_score()
    (line,) = [record.getMessage() for record in caplog.records if record.name == "mteb.patent_mteb"]
    assert line.startswith("PatentMapAbsToAbsRetrieval.sample: ") and line.endswith(
        f"{score:.4f} on the built-in sample"
    )
