"""What a plan says of a run is what the run then does."""

from dataclasses import replace

import mteb
import numpy as np
import pytest
from small_patents import Words

import patent_mteb
from patent_mteb.experiments.plan import plan
from patent_mteb.experiments.run import Outcome, _remaining_time, run
from patent_mteb.models.behaviour import TEXTS
from patent_mteb.store import EmbeddingStore, stored
from patent_mteb.tasks.selection import choose

TASKS = ["PatentMapAbsToAbsRetrieval.sample", "PatenTEBBloom.sample", "PatentMapClmToAllRetrieval.sample"]


def tasks():
    return choose(names=TASKS)


@pytest.mark.slow
def test_the_plan_is_what_the_run_does(tmp_path):
    model = stored(Words(), EmbeddingStore(tmp_path / "store"))
    before = plan(model, tasks(), tmp_path / "results")
    assert model.stats.encoded == 0 and not (tmp_path / "results").exists()
    assert [row.status for row in before.tasks] == ["to do"] * 3
    assert before.stored == 0 and before.distinct == sum(row.new for row in before.tasks)
    assert before.seconds > 0 and before.disk_free > before.disk
    first = run(model, tasks()[:1], tmp_path / "results", show_progress=False)
    assert first.exit_status == 0 and model.stats.encoded == before.tasks[0].new + len(TEXTS), (
        "a run encodes the canary texts too"
    )
    after = plan(model, tasks(), tmp_path / "results")
    assert [row.status for row in after.tasks] == ["done", "to do", "to do"]
    encoded = model.stats.encoded
    assert run(model, tasks(), tmp_path / "results", show_progress=False).exit_status == 0
    assert model.stats.encoded - encoded == after.distinct - after.stored
    width = len(np.asarray(Words().vector("a pump")))
    assert after.disk == 4 * width * (after.distinct - after.stored)


@pytest.mark.slow
def test_a_result_counts_as_done_where_the_run_would_take_it(tmp_path, monkeypatch):
    model, chosen = Words(), tasks()[:1]

    def planned():
        return [row.status for row in plan(model, chosen, tmp_path).tasks]

    run(model, chosen, tmp_path, show_progress=False)
    (path,) = tmp_path.rglob("PatentMapAbsToAbsRetrieval.sample.json")
    whole = path.read_text()
    assert planned() == ["done"]
    path.write_text(whole.replace('"dataset_revision": "sample-', '"dataset_revision": "sample-0'))
    assert planned() == ["to do"]
    (again,) = run(model, chosen, tmp_path, show_progress=False).outcomes
    assert not again.cached
    path.write_text(whole)
    monkeypatch.setattr(type(chosen[0]), "lacks_scores", lambda task, entry: True)
    assert planned() == ["to do"]


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("PATENT_MTEB_DATA", raising=False)
    wanted = [mteb.get_task("PatenTEBTitle2Full"), *tasks()[:1]]
    found = plan(mteb.get_model("mteb/baseline-bm25s"), wanted, tmp_path)
    assert [row.status for row in found.tasks] == ["missing", "to do"]
    assert "datalyes/title2full" in found.tasks[0].reason and found.seconds is None and found.stored == 0


def test_the_remaining_time_counts_texts_once():
    """Tasks with texts of their own take as long as those before, tasks on texts that are known as long as such tasks."""
    tasks = patent_mteb.get_tasks("Sophia", sample=True)[:1] * 3 + patent_mteb.get_tasks("PatentMap", sample=True)[:2]
    new, known = Outcome("a", "scored", seconds=600.0), Outcome("b", "scored", seconds=60.0)
    assert _remaining_time(tasks, []) == ""
    assert _remaining_time(tasks, [new, known]) == " (about 21 min left)"  # 1 + 2 x 10
    assert _remaining_time(tasks, [new]) == " (about 40 min left)"  # no known task is done: the mean of all
    assert _remaining_time(tasks, [replace(new, cached="2026-01-01"), known]) == " (about 3 min left)"
    assert _remaining_time(tasks, [new, known, known, new]) == " (about 10 min left)"
    assert _remaining_time(tasks[:3], [new, known]) == " (about 1 min left)"
