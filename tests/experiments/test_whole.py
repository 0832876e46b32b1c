"""Results that are written whole: the same files as mteb's own, and the result last."""

import json

import mteb
import pytest
from mteb.cache import ResultCache
from worlds import unmeasured

from patent_mteb.experiments.whole import WholeResults
from patent_mteb.models import bm25

TASK = "PatentMapAbsToAbsRetrieval.sample"
WHEN = ("evaluation_time", "evaluation_phases", "date")


def evaluated(cache):
    model, task, options = bm25("dapfam"), mteb.get_task(TASK), {"batch_size": 8}
    mteb.evaluate(model, task, cache=cache, encode_kwargs=options, co2_tracker=False, show_progress_bar=False)


def content(path):
    document = [json.loads(line) for line in path.read_text().splitlines()] if path.suffix == ".jsonl" else json.loads(path.read_text())
    return {name: unmeasured(value) for name, value in document.items() if name not in WHEN} if isinstance(document, dict) else document


def files(folder):
    return {path.relative_to(folder).as_posix(): content(path) for path in folder.rglob("*.json*")}


def test_the_files_are_those_of_mteb(tmp_path):
    evaluated(ResultCache(tmp_path / "mteb"))
    evaluated(WholeResults(tmp_path / "whole", {"batch_size": 8}))
    assert files(tmp_path / "whole") == files(tmp_path / "mteb")
    assert len(files(tmp_path / "whole")) == 3


@pytest.mark.parametrize("stop", range(4))
def test_a_result_is_there_with_all_that_belongs_to_it_or_not_at_all(tmp_path, monkeypatch, stop):
    """mteb saves twice, three files and then the result alone: interrupted before each of them."""
    from patent_mteb.experiments import whole

    calls, copy = iter(range(4)), whole.shutil.copyfile

    def interrupted(*arguments, **named):
        if not named and next(calls) == stop:  # those with names are of shutil.copy
            raise KeyboardInterrupt
        return copy(*arguments, **named)

    monkeypatch.setattr(whole.shutil, "copyfile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluated(WholeResults(tmp_path, {"batch_size": 8}))
    names = {path.name for path in tmp_path.rglob("*.json*")}
    assert (f"{TASK}.json" in names) == (stop >= 3)
    if stop >= 3:
        assert names == {f"{TASK}.json", "model_meta.json", "run_settings.jsonl"}
        assert [row["encode_kwargs"] for row in content(next(tmp_path.rglob("run_settings.jsonl")))] == [{"batch_size": 8}]
