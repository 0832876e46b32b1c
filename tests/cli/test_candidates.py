"""The way of a user: candidates, a cross-encoder and a language model over them, and what a report says of their
costs.
"""

import csv
import json
import re

import pytest
from chat_server import KEY, chat_server
from tiny_checkpoints import write_cross_encoder

from patent_mteb.cli import main
from patent_mteb.models.behaviour import TEXTS

TASK = "PatentMapAbsToAbsRetrieval.sample"


def said(capsys):
    found = capsys.readouterr()
    return " ".join(f"{found.out} {found.err}".split())


@pytest.fixture
def candidates(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = f"runs candidates -t {TASK} -m bm25-dapfam --top 20 --out candidates --no-store"
    assert main(words.split()) == 0
    return ["-t", TASK, "--candidates", "candidates", "--out", "results", "--no-store"]


def entry(folder, model):
    (path,) = folder.glob(f"results/**/*{model}*/**/{TASK}.json")
    ((scores,),) = json.loads(path.read_text())["scores"].values()
    return scores


def questions(server):
    """The questions about pairs of the task."""
    said = [body["messages"][1]["content"] for body in server.bodies]
    return [text for text in said if not any(fixed[:200] in text for fixed in TEXTS[1:5])]


@pytest.mark.slow
def test_candidates_rerankers_and_report(candidates, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert f"{TASK} 25" in said(capsys)
    folder = write_cross_encoder(tmp_path / "tiny")
    assert main(["run", "-m", str(folder), "--rerank-depth", "10", *candidates]) == 0
    crossed = entry(tmp_path, "tiny")
    assert crossed["evidence"]["effort"]["pairs"] >= 250
    assert {"first_stage_recall_at_10"} <= crossed.keys()

    chat = ["run", "-m", "org/llm", "--rerank-depth", "5", *candidates, "--answers", "answers.sqlite"]
    with chat_server(lambda body: str(len(body["messages"][1]["content"]) % 5)) as (url, server):
        chat += ["--chat-endpoint", url, "--price-input", "1", "--price-output", "2"]
        assert main([*chat, "--budget-calls", "9"]) == 1
        assert "skipped: the budget of 9 calls is spent" in said(capsys)
        assert len(server.bodies) == 9 and not list(tmp_path.glob(f"results/**/*llm*/**/{TASK}.json"))
        assert main(chat) == 0
        asked = questions(server)
        assert len(asked) == len(set(asked)), "nothing is asked twice"
        assert len(server.bodies) == len(asked) + 4, "but for the fixed pairs of its evidence, which are asked now"
        first = entry(tmp_path, "llm")
        for path in tmp_path.glob("results/**/*llm*/**/*"):
            path.unlink(missing_ok=True) if path.is_file() else None
        assert main(chat) == 0
        assert questions(server) == asked, "all of it is kept"
    again = entry(tmp_path, "llm")
    assert again["evidence"]["ranking"] == first["evidence"]["ranking"]
    effort = again["evidence"]["effort"]
    assert effort == first["evidence"]["effort"] and effort["pairs"] == 125
    assert effort["calls"] == len(asked) < 125, "some documents have one text, which is asked for once"
    assert effort["cost"] == pytest.approx((effort["input_tokens"] + 2 * effort["output_tokens"]) / 1e6, abs=1e-6)
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

    assert main(["report", "results", "--html", "page", "--format", "csv", "--out", "tables"]) == 0
    assert list((tmp_path / "page").rglob("*.html"))
    (row,) = [
        row for row in csv.DictReader((tmp_path / "tables" / "csv" / "results.csv").open()) if "llm" in row["run"]
    ]
    assert (int(row["calls"]), int(row["tokens"])) == (
        effort["calls"],
        effort["input_tokens"] + effort["output_tokens"],
    )
    assert float(row["cost"]) == effort["cost"] and float(row["seconds_per_query"]) == pytest.approx(
        effort["seconds"] / 25
    )


@pytest.mark.slow
def test_a_saved_run_of_a_list_ranker_is_scored_with_its_efforts_and_its_depths_are_a_curve(
    candidates, tmp_path, capsys, monkeypatch
):
    """Scored as a run of another system, the saved ranking has the same score and effort as its reranker."""
    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", "")
    with chat_server(lambda body: " > ".join(f"[{n}]" for n in (3, 1, 2, 4))) as (url, server):
        chat = ["run", "-m", "llm", "--chat-endpoint", url, *candidates, "--answers", "a.sqlite", "--save-runs", "runs"]
        chat += ["--chat-method", "listwise", "--window", "4", "--characters", "100", "--price-input", "1"]
        for depth in ("4", "12"):
            assert main([*chat, "--rerank-depth", depth]) == 0
    assert all(text.count("DOCUMENT [") == 4 for text in questions(server))
    whole, small = entry(tmp_path, "12-cand"), entry(tmp_path, "4-cand")
    assert whole["evidence"]["effort"]["calls"] >= 5 * 25 - 9 > small["evidence"]["effort"]["calls"] >= 16
    (run,) = (tmp_path / "runs").rglob(f"*12-cand*/**/{TASK}.run")
    assert main(["runs", "score", str(run), "-t", TASK, "--name", "again"]) == 0
    scored = entry(tmp_path, "again")
    assert scored["main_score"] == whole["main_score"] and scored["ndcg_at_10"] == whole["ndcg_at_10"]
    amounts = {"calls", "input_tokens", "output_tokens", "seconds", "cost"}
    assert scored["evidence"]["effort"].keys() == amounts
    for name in amounts:
        assert scored["evidence"]["effort"][name] == pytest.approx(whole["evidence"]["effort"][name], abs=1e-4)
    capsys.readouterr()
    assert main(["report", "results", "--plots", "--every-table", "--out", "tables"]) == 0
    shown = said(capsys)
    assert "what the queries took" in shown and "llm-listwise" in shown
    assert list((tmp_path / "tables").rglob("*budget-cost-of-the-queries.png"))


@pytest.mark.slow
def test_options_that_do_not_go_together(candidates, capsys):
    chat = ["--chat-endpoint", "http://localhost/v1"]
    for words, message in (
        (["run", "-t", TASK, "-m", "bm25-dapfam", *chat], "--chat-endpoint is the address of a reranker"),
        (["run", "-m", "llm", *chat, "--dry-run", *candidates], "--dry-run counts texts to encode"),
        (["run", "-m", "llm", *chat, "--fuse", "bm25", *candidates], "--fuse and --candidates exclude each other"),
        (["run", "-m", ".", "--chat-method", "setwise", *candidates], "--chat-method: only for a language model"),
        (["run", "-m", "llm", *chat, "--window", "4", *candidates], "--window is for --chat-method listwise and"),
        (
            ["run", "-m", "llm", *chat, "--chat-method", "setwise", "--window", "2", *candidates],
            "a setwise question compares 3 documents or more, not 2",
        ),
        (["run", "-m", "llm", *chat, "--request", "[]", *candidates], "--request is not a JSON object"),
        (["run", "-m", "llm", "--chat-endpoint", "localhost", *candidates], "'localhost' is not a server address"),
        (["run", "-m", "llm", *chat, *candidates, "--candidates", "nothing"], "there are no candidates"),
        (["run", "-m", "bm25-dapfam", *candidates], "is not a cross-encoder"),
        (
            ["run", "-m", "llm", "--section-tags", "--alpha", "0.5", *candidates],
            "--section-tags, --alpha and --candidates exclude",
        ),
        (
            ["run", "-m", "llm", *chat, "--model-revision", "v1", *candidates],
            "--model-revision cannot change the model of --chat-endpoint. Remedy: leave out --model-revision",
        ),
        (["run", "-m", ".", "--model-revision", "v1", *candidates], "the directory . has no revision v1"),
        (
            ["run", "-m", "bm25-dapfam", "--precision", "bfloat16", *candidates],
            "is not an encoder, so it has no precision",
        ),
    ):
        assert main(words) == 2, message
        assert re.search(re.escape(message), said(capsys)), message
