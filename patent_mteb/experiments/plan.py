"""What a run would do, before it does it: texts, what the store has of them, time, disk, memory, and the data that are
missing.

Nothing is written. The data of every task are read, since what is not counted cannot be known; a set that has to be
fetched is fetched.

The memory that a validation or a run takes, as far as it is known before it starts: what does not fit a budget is
refused.

What was measured stands in ``benchmarks/README.md``: a fixed amount, and more for each document. What is left over goes
to blocks, which are the smaller the less there is (:mod:`patent_mteb.memory`). Not counted are a model's own weights,
and data on the hub.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Dataset
from mteb.abstasks import AbsTask
from mteb.models.model_meta import ModelMeta
from mteb.types import PromptType

from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.experiments.results_folder import ResultsFolder
from patent_mteb.experiments.run import unable
from patent_mteb.files import text_lines
from patent_mteb.memory import refuse_beyond
from patent_mteb.store import StoredEncoder
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.evidence import model_record

__all__ = ["Plan", "TaskPlan", "plan"]

logger = logging.getLogger(__name__)


_LIBRARIES = {"validate": 600_000_000, "run": 900_000_000}


_A_DOCUMENT = 1_700


_LEAST = 200_000_000
"""Bytes of blocks without which nothing goes on."""


def documents_in(folder: Path) -> int:
    """Rows of the largest table below a folder; a file that cannot be read has none."""
    return max((_rows(path) for path in folder.rglob("*") if path.suffix in (".parquet", ".jsonl")), default=0)


def _rows(path: Path) -> int:
    with contextlib.suppress(OSError, pa.ArrowException, DataError):
        return int(pq.read_metadata(path).num_rows) if path.suffix == ".parquet" else sum(1 for _ in text_lines(path))
    return 0


def folders_of(tasks: Iterable[AbsTask]) -> list[Path]:
    """The folders of the local data that tasks read."""
    found = (task.source.folder for task in tasks if isinstance(task, PatentTask))
    return list(dict.fromkeys(folder for folder in found if folder is not None))


def left_for_blocks(budget: float | None, what: Literal["validate", "run"], folders: Iterable[Path]) -> float | None:
    """Gigabytes of a budget that the documents leave, None if it is any."""
    if budget is None:
        return None
    documents = max(map(documents_in, folders), default=0)
    needed = (_LIBRARIES[what] + _A_DOCUMENT * documents + _LEAST) / 1e9
    refuse_beyond(budget, needed, f"{documents:,} documents take", f" to {what}")
    return budget - needed + _LEAST / 1e9


PROBE = 64
"""Texts that are encoded to see how long one takes."""


@dataclass(frozen=True)
class TaskPlan:
    """One task of a run: ``texts`` in all, ``new`` ones that neither the store has nor a task before it brings."""

    task: str
    status: Literal["to do", "done", "unable", "missing", "unknown"]
    texts: int = 0
    new: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Plan:
    """A run as it would be.

    Attributes:
        distinct: texts of all tasks to do, each with its prompt counted once; of these ``stored`` are in the store.
        seconds: that encoding the others would take, by a probe; None where nothing is encoded or no model was probed.
        disk: bytes that the store would grow by; ``disk_free`` those that are free there.
        memory: bytes of the largest task: its texts, and its vectors in single precision.
    """

    model: str
    tasks: tuple[TaskPlan, ...]
    distinct: int
    stored: int
    seconds: float | None
    disk: int
    disk_free: int | None
    memory: int


def plan(
    model: Any, tasks: Sequence[AbsTask], results: Path, *, encode_kwargs: Mapping[str, Any] | None = None
) -> Plan:
    """Look at what a run would do.

    Args:
        model: of ``-m``; with a store in front of it (:func:`patent_mteb.store.stored`) its texts are looked up there.
        results: folder whose results are done.

    Example:
        >>> from pathlib import Path
        >>> import patent_mteb
        >>> from patent_mteb.experiments.plan import plan
        >>> from patent_mteb.models import bm25
        >>> found = plan(bm25("dapfam"), patent_mteb.get_tasks("PatentMap", sample=True), Path("results"))
        >>> [task.status for task in found.tasks], found.seconds
        (['to do', 'to do', 'unable'], None)
    """
    meta, options = model.mteb_model_meta, {"batch_size": 32, **(encode_kwargs or {})}
    seen: dict[bytes, bool] = {}
    waiting: list[tuple[AbsTask, PromptType | None, str]] = []
    rows: list[TaskPlan] = []
    memory, done = 0, ResultsFolder(results) if results.is_dir() else None  # mteb makes the folder
    live = None if isinstance(model, ModelMeta) else partial(model_record, model)
    for position, task in enumerate(tasks, start=1):
        name = task.metadata.name
        logger.info("[%d/%d] %s", position, len(tasks), name)
        if reason := unable(model, task):
            rows.append(TaskPlan(name, "unable", reason=reason))
        elif done is not None and done.has(meta, task, live):
            rows.append(TaskPlan(name, "done"))
        elif not isinstance(task, PatentTask):
            rows.append(TaskPlan(name, "unknown", reason="the texts of tasks of other packages are not counted"))
        else:
            try:
                task.load_data()
                texts, new, characters = 0, 0, 0
                for role, of_role in _roles(task, model):
                    for key, text, there in _looked_up(model, task, role, of_role, options):
                        texts, characters = texts + 1, characters + len(text)
                        if key not in seen:
                            seen[key] = there
                            new += not there
                            if not there:
                                waiting.append((task, role, text))
                memory = max(memory, characters + texts * 4 * (meta.embed_dim or 0))
                rows.append(TaskPlan(name, "to do", texts, new))
            except PatentMTEBError as error:
                rows.append(TaskPlan(name, "missing", reason=str(error)))
            finally:
                if task.data_loaded:
                    task.unload_data()
    seconds, width = _probe(model, waiting, options)
    folder = model.store.path if isinstance(model, StoredEncoder) else None
    free = (
        None
        if folder is None
        else shutil.disk_usage(next(one for one in (folder, *folder.resolve().parents) if one.exists())).free
    )
    new_texts = len(waiting)
    disk = 0 if folder is None else new_texts * 4 * width
    return Plan(str(meta.name), tuple(rows), len(seen), len(seen) - new_texts, seconds, disk, free, memory)


def _roles(task: PatentTask, model: Any) -> Iterator[tuple[PromptType | None, list[str]]]:
    for part in task.texts_to_encode(model):
        for role, texts in part.items():
            yield PromptType(role) if role in ("query", "document") else None, list(texts)


def _looked_up(
    model: Any, task: PatentTask, role: PromptType | None, texts: list[str], options: Mapping[str, Any]
) -> Iterator[tuple[bytes, str, bool]]:
    """The key of each distinct text, the text, and whether the store has its vector."""
    distinct = list(dict.fromkeys(texts))
    if not isinstance(model, StoredEncoder):
        yield from ((text.encode("utf-8", "surrogatepass"), text, False) for text in distinct)
        return
    keys, there = model.lookup(_loader(distinct, options), **_where(task, role), **options)
    yield from zip((key.tobytes() for key in keys), distinct, there.tolist(), strict=True)


def _loader(texts: list[str], options: Mapping[str, Any]) -> Any:
    from torch.utils.data import DataLoader

    rows: Any = Dataset.from_dict({"text": texts})
    return DataLoader(rows, batch_size=options["batch_size"])


def _where(task: AbsTask, role: PromptType | None) -> dict[str, Any]:
    subset, *_ = task.metadata.hf_subsets
    return {
        "task_metadata": task.metadata,
        "hf_split": task.metadata.eval_splits[0],
        "hf_subset": subset,
        "prompt_type": role,
    }


def _probe(
    model: Any, waiting: Sequence[tuple[AbsTask, PromptType | None, str]], options: Mapping[str, Any]
) -> tuple[float | None, int]:
    """Seconds that all waiting texts would take, by some of them drawn evenly, and the width of a vector."""
    width = int(model.mteb_model_meta.embed_dim or 0)
    if not waiting or not isinstance(model, StoredEncoder):
        return None, width
    drawn = [waiting[place] for place in np.linspace(0, len(waiting) - 1, min(PROBE, len(waiting))).astype(int)]
    groups: dict[tuple[str, PromptType | None], list[tuple[AbsTask, str]]] = {}
    for task, role, text in drawn:
        groups.setdefault((task.metadata.name, role), []).append((task, text))
    encoder = model.model
    for warm in (True, False):
        started = time.monotonic()
        for (_, role), members in list(groups.items())[: 1 if warm else None]:
            loader = _loader([text for _, text in members], options)
            width = encoder.encode(
                loader, **_where(members[0][0], role), **{**options, "show_progress_bar": False}
            ).shape[1]
    return (time.monotonic() - started) / len(drawn) * len(waiting), width
