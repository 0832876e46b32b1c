"""Results that are written whole, whatever ends the process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mteb.cache import ResultCache
from mteb.models.model_meta import ModelMeta
from mteb.results import TaskResult

from patent_mteb.files import replacing

__all__ = ["WholeResults"]

_SETTINGS = "run_settings.jsonl"


class WholeResults(ResultCache):
    """mteb's folder of results, in which a result is there with all that belongs to it, or not at all.

    mteb writes the result in place, then the model's description, then the settings of the run, and does all of it again after the last
    split: a process that ends in between leaves torn files, or a result that is taken for done and whose settings are missing for ever.
    Here each file is written beside its place and renamed, and the result, which stands for all of them, comes last; what lies beside a
    result is written once (mteb reads the versions of five packages for it each time).

    Args:
        folder: the results folder.
        encode_kwargs: what the run encodes with; mteb tells it after the last split only.

    Example:
        >>> from pathlib import Path
        >>> import mteb
        >>> from patent_mteb.experiments.whole import WholeResults
        >>> from patent_mteb.models import bm25
        >>> task, cache = mteb.get_task("PatentMapAbsToAbsRetrieval.sample"), WholeResults(Path("results"), {"batch_size": 8})
        >>> found = mteb.evaluate(bm25("dapfam"), task, cache=cache, encode_kwargs={"batch_size": 8}, co2_tracker=False)
        >>> sorted(path.name for path in Path("results").rglob("*.json*"))
        ['PatentMapAbsToAbsRetrieval.sample.json', 'model_meta.json', 'run_settings.jsonl']
    """

    def __init__(self, folder: Path, encode_kwargs: Mapping[str, Any]) -> None:
        super().__init__(folder)
        self.encode_kwargs = dict(encode_kwargs)
        self._beside: tuple[Any, ...] = ()

    def save_to_cache(
        self,
        task_result: TaskResult,
        model_name: str | ModelMeta,
        model_revision: str | None = None,
        *,
        encode_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        place = self.get_task_result_path(task_result.task_name, model_name, model_revision)
        settings = self.encode_kwargs if encode_kwargs is None else dict(encode_kwargs)
        parts = {split: sorted(entry["hf_subset"] for entry in entries) for split, entries in task_result.scores.items()}
        beside = (place, model_name, settings, parts)
        with tempfile.TemporaryDirectory() as elsewhere:
            aside = ResultCache(elsewhere)
            made = aside.get_task_result_path(task_result.task_name, model_name, model_revision)
            made.parent.mkdir(parents=True)
            if beside == self._beside:
                task_result.to_disk(made)
            else:
                if (known := place.with_name(_SETTINGS)).exists():
                    shutil.copy(known, made.with_name(_SETTINGS))
                aside.save_to_cache(task_result, model_name, model_revision, encode_kwargs=settings)
            for path in sorted(made.parent.iterdir(), key=lambda path: path == made):
                with replacing(place.with_name(path.name)) as partial:
                    shutil.copyfile(path, partial)
        self._beside = beside
