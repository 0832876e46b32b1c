"""The files of ``publish mteb``, run as mteb's own tasks, against our tasks and their ``paper_`` scores."""

from __future__ import annotations

import io
import types

import mteb
import pandas as pd
import pytest
import released_layouts
from datasets import Dataset, DatasetDict
from small_data import HashEncoder

from patent_mteb.report import upstream


def scores_of(tasks):
    report = mteb.evaluate(HashEncoder(), tasks, cache=None, co2_tracker=False, show_progress_bar=False)
    return {one.task_name: next(iter(one.scores.values()))[0] for one in report.task_results}


@pytest.mark.slow
@pytest.mark.parametrize("path", upstream.TASK_FILES)
def test_the_classes_for_mteb_give_the_papers_scores(published, monkeypatch, path):
    module = types.ModuleType("upstream_task")
    exec(compile(upstream.task_file(path), path, "exec"), module.__dict__)

    def load_dataset(path, revision, split=None, **_):
        rows = Dataset.from_pandas(pd.read_parquet(io.BytesIO(released_layouts.files_of(path)["test/data.parquet"])))
        return rows if split else DatasetDict(test=rows)

    for holder in (module, mteb.abstasks.abstask):
        monkeypatch.setattr(holder, "load_dataset", load_dataset, raising=False)
    names = [kind.metadata.name for kind in upstream.TASK_FILES[path][1]]
    here = scores_of(mteb.get_tasks(tasks=names))
    tasks = [getattr(module, name)() for name in names]
    assert all(task.metadata.is_filled() for task in tasks)
    there = scores_of(tasks)
    assert there.keys() == here.keys()
    for name, own in here.items():
        main = mteb.get_task(name).metadata.main_score
        found = there[name]["main_score"]
        assert 0 < abs(found) < 1 and found == pytest.approx(own.get(f"paper_{main}", own[main]), abs=1e-5)
