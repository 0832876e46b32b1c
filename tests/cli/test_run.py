"""What ``patent-mteb run`` and ``report`` show of scores with too few queries: mark and interval, in no mean."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from report_folders import payload_of

from patent_mteb import cli
from patent_mteb.recipes.beir import write_beir

TASK = "PatentCitationRetrieval"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """60 queries of which each finds its document or not; 3 of them are out of domain, and one is the whole of a
    jurisdiction.
    """
    topics = [f"topic{number}" for number in range(60)]
    corpus = {
        f"d{number}": ("", f"{topic} device" if number % 4 else "something else") for number, topic in enumerate(topics)
    }
    queries = {f"q{number}": f"{topic} device" for number, topic in enumerate(topics)}
    metadata = [
        *(
            {"_id": f"d{number}", "family_id": f"d{number}", "ipc": ["A61F 2/06"], "jurisdiction": "US"}
            for number in range(60)
        ),
        *(
            {
                "_id": f"q{number}",
                "family_id": f"q{number}",
                "ipc": ["A61F 2/06" if number > 2 else "H01M 1/00"],
                "jurisdiction": "JP" if number == 7 else "US",
            }
            for number in range(60)
        ),
    ]
    write_beir(
        tmp_path / "data" / "WIPO-AT",
        corpus,
        queries,
        {f"q{number}": {f"d{number}": 1} for number in range(60)},
        metadata=pa.Table.from_pylist(metadata),
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
def test_a_task_of_few_queries_is_in_no_mean_and_marked_in_every_form(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("PATENT_MTEB_QUERY_SCORES")
    monkeypatch.setenv("PATENT_MTEB_SAMPLE", "1")
    out = tmp_path / "out"
    tasks = ["PatentMapAbsToAbsRetrieval", "PatenTEBEffect2Full"]  # 25 and 87 queries
    for model in ("patent-mteb/bm25-dapfam", "patent-mteb/bm25-bm25s"):
        assert cli.main(["run", "-v", "1", "-t", *tasks, "-m", model, "--out", str(tmp_path / "results")]) == 0
    assert capsys.readouterr().out.count("†") >= 2
    assert cli.main(f"report {tmp_path / 'results'} --format csv markdown latex --out {out} --html {out}".split()) == 0
    (result,) = (tmp_path / "results").rglob("patent-mteb__bm25-dapfam/**/PatentMapAbsToAbsRetrieval.sample.json")
    scores = json.loads(result.read_text())["scores"]["test"][0]
    (row,) = csv.DictReader((out / "csv" / "sample-patentmap-tasks.csv").open())
    (model,) = [key for key in row if key.startswith("patent-mteb/bm25-dapfam") and key.endswith("_too_small")]
    model = model.removesuffix("_too_small")
    assert row[f"{model}_too_small"] == "25 queries"
    assert float(row[f"{model}_low"]) == pytest.approx(scores["recall_at_100_low"], abs=1e-6)
    shown = f"{scores['recall_at_100']:.4f}†\N{NO-BREAK SPACE}\\[{scores['recall_at_100_low']:.2f},"
    markdown = (out / "report.md").read_text()
    assert f"| {shown}" in markdown and f"**{scores['recall_at_100']:.4f}**" not in markdown
    assert f"{scores['recall_at_100']:.4f}\\textdagger{{}}~{{[}}" in (out / "tables.tex").read_text()
    page = payload_of((out / "index.html").read_text())
    (tab,) = [tab for tab in page["tabs"] if tab["label"].startswith("PatentMap")]
    assert [cell for run in tab["small"][""] for cell in run] == ["25 queries", "25 queries"]
    (patenteb,) = [tab for tab in page["tabs"] if tab["label"].startswith("PatenTEB")]
    assert "" not in patenteb["small"]


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
    assert (
        "PatentMapClmToAllRetrieval.sample.limit5 left out: the suite has no task of this name"
        in capsys.readouterr().err
    )
    assert not [path for path in (tmp_path / "out").rglob("*.csv") if "limit5" in path.read_text()]
    with pytest.raises(SystemExit):
        cli.main([*words, "--limit", "0"])


@pytest.mark.slow
def test_a_dry_run_says_what_would_be_done_and_does_nothing(tmp_path, monkeypatch, capsys):
    from tiny_checkpoints import checkpoint

    monkeypatch.delenv("PATENT_MTEB_DATA", raising=False)
    checkpoint(tmp_path / "model", 8, "mean")
    words = [
        "run",
        "-v",
        "1",
        "-t",
        "PatentMapAbsToAbsRetrieval.sample",
        "PatenTEBTitle2Full",
        "-m",
        str(tmp_path / "model"),
        "--dry-run",
    ]
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
