"""An export copies only what it has read and checked: no links, no other model's description, nothing that contradicts
its evidence.
"""

import json
import shutil

import numpy as np
import pytest
from report_folders import add, attest, model_folder, write_queries

from patent_mteb.cli import main
from patent_mteb.report.export import prepare
from patent_mteb.tasks.catalogue import suite_tasks

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
        pytest.param("{", id="cut"),
        pytest.param("null", id="nothing"),
        pytest.param('{"name": "acme/other", "revision": "r1"}', id="another model"),
        pytest.param(json.dumps({"name": MINILM, "revision": "other"}), id="another revision"),
        pytest.param(json.dumps({"name": MINILM, "revision": REVISION, "experiment_kwargs": 3}), id="settings"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param(None, id="missing"),
    ],
)
def test_a_description_that_is_missing_damaged_or_of_another_model(tmp_path, content):
    folder, _ = measured(tmp_path)
    path = folder / "model_meta.json"
    path.unlink() if content is None else path.write_text(content)
    refused(tmp_path, str(path))


@pytest.mark.parametrize("up", ["meta", 0, 1, 5])
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


def board_of(tmp_path, value=0.5):
    """A board with one right submission, and the folder of its results."""
    folder = model_folder(tmp_path / "in", MINILM, REVISION)
    add(folder, DAPFAM, kind="real", queries=np.linspace(value - 0.3, value + 0.3, 31))
    assert prepare(tmp_path / "in", tmp_path / "board", upstream=False).exported == 1
    return tmp_path / "board", next((tmp_path / "board").rglob(f"{DAPFAM}.json"))


def test_a_right_submission_is_accepted(tmp_path, capsys):
    board, _ = board_of(tmp_path)
    assert main(["publish", "check", str(board)]) == 0
    assert "1 results of 1 models hold: 1 are the means of their queries" in capsys.readouterr().out


def thin(board, path):
    path.with_name(f"{DAPFAM}.queries.parquet").unlink()


def edited(board, path):
    path.write_text(path.read_text().replace("0.5", "0.75"))


def sealed_again(board, path):
    attest(path, scores={"main_score": 0.99, "ndcg_at_100": 0.99})


def invented(board, path):
    path.with_name("PatenTEBTitle2Full.json").write_text('{"anything": 7.5}')


def without_evidence(board, path):
    content = json.loads(path.read_text())
    for entry in next(iter(content["scores"].values())):
        entry.pop("evidence", None)
    path.write_text(json.dumps(content))


def on_the_sample(board, path):
    add(path.parent, TITLE, 0.9)


def of_a_local_checkpoint(board, path):
    add(model_folder(board, "local/ours", "0" * 16), DAPFAM, kind="real", queries=np.full(31, 0.9))


def of_an_unknown_model(board, path):
    add(model_folder(board, "acme/unheard-of", "abc"), DAPFAM, kind="real", queries=np.full(31, 0.9))


def of_a_task_that_there_is_not(board, path):
    content = path.read_text().replace(DAPFAM, "PatentAnything")
    path.with_name("PatentAnything.json").write_text(content)


def beside(board, path):
    (board / "results" / "scores.json").write_text('{"anything": 7.5}')


def linked(board, path):
    other = board.parent / "elsewhere.json"
    path.rename(other)
    path.symlink_to(other)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (thin, "it has no per-query scores"),
        (edited, "the scores are not those that were measured"),
        (sealed_again, "0.990000"),
        (invented, "no result file of mteb"),
        (without_evidence, "the evidence is missing"),
        (on_the_sample, "measured on the built-in sample"),
        (of_a_local_checkpoint, "a local checkpoint"),
        (of_an_unknown_model, "mteb does not know the model"),
        (of_a_task_that_there_is_not, "the suite has no task of this name"),
        (beside, "scores.json: belongs to no result"),
        (linked, "a symbolic link"),
    ],
)
def test_a_submission_that_does_not_hold_is_refused(tmp_path, capsys, change, reason):
    board, path = board_of(tmp_path)
    change(board, path)
    assert main(["publish", "check", str(board)]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "refused: " in told and reason in told
    # whoever publishes next lists what holds, and says what does not
    folder = model_folder(tmp_path / "other", "intfloat/multilingual-e5-large", "abc")
    add(folder, DAPFAM, kind="real", queries=np.linspace(0.1, 0.3, 31))
    outcome = prepare(tmp_path / "other", board, upstream=False)
    assert outcome.exported == 1 and any("not in the leaderboard" in message for message in outcome.messages)
    text = (board / "leaderboard.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert "multilingual-e5-large" in text and not any("0.99" in row or "0.9000" in row for row in rows)
    assert "Left out" in text


def test_hostile_settings_make_a_front_matter_that_can_be_read(tmp_path):
    import yaml

    folder = model_folder(tmp_path / "in", MINILM, REVISION)
    hostile = folder / "experiments" / 'a: "b"\n---\n\x7f\u202e\U000e0041=x|y'
    hostile.mkdir(parents=True)
    described = json.loads((folder / "model_meta.json").read_text()) | {"experiment_kwargs": {"a": 1}}
    (hostile / "model_meta.json").write_text(json.dumps(described))
    add(hostile, DAPFAM, 0.5, kind="real")
    assert prepare(tmp_path / "in", tmp_path / "out").exported == 1
    (card,) = (tmp_path / "out" / "model_cards").iterdir()
    _, front, body = card.read_text().split("---\n", 2)
    (entry,) = yaml.safe_load(front)["model-index"][0]["results"]
    assert entry["dataset"]["name"] == f"{DAPFAM} ({hostile.name})"
    (row,) = [line for line in body.splitlines() if line.startswith("| DAPFAM")]
    assert row.isprintable()
