"""An export copies only what it has read and checked: no links, no other model's description, nothing that contradicts
its evidence.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from report_folders import add, attest, model_folder, write_queries

from patent_mteb.cli import main
from patent_mteb.report.export import prepare
from patent_mteb.report.leaderboard import leaderboard
from patent_mteb.tasks.suite import suite_tasks

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "8b3219a92973c328a8e22fadcfa821b5dc75636a"
DAPFAM = "PatentDAPFAMTACToTACRetrieval"
TITLE = "PatenTEBTitle2Full"


def measured(root, model=MINILM, revision=REVISION, settings=None, value=0.5):
    folder = model_folder(root / "in", model, revision, settings)
    return folder, add(folder, DAPFAM, value, kind="real")


def refused(root, *words, exported=0):
    outcome = prepare(root / "in", root / "out")
    assert (outcome.exported, len(outcome.refused)) == (exported, 1)
    reason = str(outcome.refused[0])
    assert all(word in reason for word in words), reason
    assert "Remedy" in reason
    if not exported:
        assert not (root / "out").exists()
    return reason


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "",
        "null",
        '{"secret": "x"}',
        '{"name": "acme/other", "revision": "r1"}',
        json.dumps({"name": MINILM, "revision": "other"}),
        json.dumps({"name": MINILM, "revision": REVISION, "experiment_kwargs": 3}),
        "\x00",
        "[" * 100_000,
    ],
    ids=range(10),
)
def test_a_description_that_is_damaged_or_of_another_model(tmp_path, content):
    folder, _ = measured(tmp_path)
    (folder / "model_meta.json").write_text(content)
    refused(tmp_path, str(folder / "model_meta.json"))


def test_a_missing_description(tmp_path):
    folder, _ = measured(tmp_path, settings={"dims": 64})
    (folder / "model_meta.json").unlink()
    refused(tmp_path, str(folder / "model_meta.json"), "missing")


@pytest.mark.parametrize("up", ["meta", 0, 1, 2, 3, 4, 5])
def test_links_are_not_followed(tmp_path, up):
    folder, result = measured(tmp_path / "x" / "y", settings={"dims": 64})
    path = folder / "model_meta.json" if up == "meta" else [result, *result.parents][up]
    away = tmp_path / "private"
    shutil.move(path, away)
    path.symlink_to(away)
    refused(tmp_path / "x" / "y", f"{path}: a symbolic link")


def test_the_folder_that_was_named_may_be_a_link(tmp_path):
    measured(tmp_path / "there")
    (tmp_path / "in").symlink_to(tmp_path / "there" / "in")
    assert prepare(tmp_path / "in", tmp_path / "out").exported == 1


def test_a_private_file_never_comes_out(tmp_path):
    folder, _ = measured(tmp_path)
    add(folder, TITLE, 0.5, kind="real")
    secret = tmp_path / "secret"
    secret.write_text(json.dumps({"name": MINILM, "revision": REVISION, "password": "hunter2"}))
    (folder / "model_meta.json").unlink()
    (folder / "model_meta.json").symlink_to(secret)
    outcome = prepare(tmp_path / "in", tmp_path / "out")
    assert (outcome.exported, len(outcome.refused)) == (0, 2)
    assert not any("hunter2" in path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file())


def test_a_score_that_contradicts_its_per_query_scores(tmp_path, capsys):
    folder = model_folder(tmp_path / "in", MINILM, REVISION)
    path = add(folder, DAPFAM, kind="real", queries=np.linspace(0.2, 0.8, 31))
    add(folder, TITLE, kind="real", queries=np.linspace(0.2, 0.8, 31))
    assert prepare(tmp_path / "in", tmp_path / "whole").exported == 2
    attest(path, scores={"main_score": 0.99, "ndcg_at_100": 0.99})
    refused(tmp_path, "0.500000", "0.990000", exported=1)
    assert main(["publish", "results", str(tmp_path / "in"), str(tmp_path / "again")]) == 1
    assert "0.990000" in capsys.readouterr().err


def test_rounding_is_no_contradiction(tmp_path):
    folder = model_folder(tmp_path / "in", MINILM, REVISION)
    add(folder, DAPFAM, kind="real", queries=np.random.default_rng(0).random(997))
    assert prepare(tmp_path / "in", tmp_path / "out").exported == 1


def test_incomplete_per_query_scores_contradict(tmp_path):
    folder = model_folder(tmp_path / "in", MINILM, REVISION)
    add(folder, DAPFAM, kind="real", queries=np.full(31, 0.5))
    data = suite_tasks()[DAPFAM].data.revision
    write_queries(
        folder, DAPFAM, np.full(30, 0.5), data, "default", json.loads((folder / "model_meta.json").read_text())
    )
    refused(tmp_path, "1 of 31 queries are missing")


def test_a_result_that_changes_while_it_is_exported(tmp_path, monkeypatch):
    from patent_mteb.report import export

    _, path = measured(tmp_path)
    collect = export.collect

    def then_changed(folder):
        collected = collect(folder)
        path.write_text(path.read_text().replace("0.5", "0.75"))
        return collected

    monkeypatch.setattr(export, "collect", then_changed)
    refused(tmp_path, str(path), "another result")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"model": 1}',
        '{"model": "a", "revision": "b", "settings": {}, "scores": {"DAPFAM": {"T": {"a": "high"}}}}',
        '{"model": "a", "revision": "b", "settings": {}, "scores": {"DAPFAM": {"T": {"a": NaN}}}}',
        '{"model": "a", "revision": 3, "settings": {}, "scores": {}}',
        "[" * 100_000,
    ],
    ids=range(8),
)
def test_a_damaged_summary_of_another_model_is_named_and_left_out(tmp_path, content):
    measured(tmp_path)
    damaged = tmp_path / "out" / "summaries" / "acme__other" / "r1" / "summary.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text(content)
    outcome = prepare(tmp_path / "in", tmp_path / "out")
    assert (outcome.exported, outcome.refused) == (1, ())
    (message,) = [message for message in outcome.messages if str(damaged) in message]
    assert "not in the leaderboard" in message
    board = (tmp_path / "out" / "leaderboard.md").read_text()
    assert MINILM in board
    assert "Left out: acme" in board


def test_a_linked_summary_is_left_out(tmp_path):
    measured(tmp_path)
    prepare(tmp_path / "in", tmp_path / "out")
    link = tmp_path / "out" / "summaries" / "acme__other" / "summary.json"
    link.parent.mkdir()
    (summary,) = (tmp_path / "out" / "summaries").rglob("summary.json")
    link.symlink_to(summary)
    board = leaderboard(tmp_path / "out" / "summaries")
    assert board.count(f"| {MINILM}") == 2  # in the table over all and in that of its benchmark, not twice in each
    assert "a symbolic link" in board


def test_an_export_killed_at_any_write_leaves_the_old_files_whole(tmp_path, monkeypatch):
    folder, _ = measured(tmp_path, value=0.25)
    out = tmp_path / "out"
    prepare(tmp_path / "in", out)

    def state():
        return {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}

    old = state()
    add(folder, DAPFAM, 0.75, kind="real")
    replace = Path.replace
    for stop in range(len(old)):
        calls = iter(range(len(old)))

        def killed(self, target, calls=calls, stop=stop):
            if next(calls) == stop:
                raise KeyboardInterrupt
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            prepare(tmp_path / "in", out)
        now = state()
        assert now.keys() == old.keys()
        for path, content in now.items():
            if path.suffix == ".json":
                json.loads(content)
    monkeypatch.setattr(Path, "replace", replace)
    prepare(tmp_path / "in", out)
    (card,) = (out / "model_cards").iterdir()
    assert "| 0.7500 |" in card.read_text()


def test_hostile_settings_make_a_front_matter_that_can_be_read(tmp_path):
    import yaml

    folder = model_folder(tmp_path / "in", MINILM, REVISION)
    hostile = folder / "experiments" / 'a: "b"\n---\n\x7f\u202e\U000e0041=x|y'
    hostile.mkdir(parents=True)
    shutil.move(folder / "model_meta.json", hostile / "model_meta.json")
    add(hostile, DAPFAM, 0.5, kind="real")
    assert prepare(tmp_path / "in", tmp_path / "out").exported == 1
    (card,) = (tmp_path / "out" / "model_cards").iterdir()
    _, front, body = card.read_text().split("---\n", 2)
    (entry,) = yaml.safe_load(front)["model-index"][0]["results"]
    assert entry["dataset"]["name"] == f"{DAPFAM} ({hostile.name})"
    (row,) = [line for line in body.splitlines() if line.startswith("| DAPFAM")]
    assert row.isprintable()
