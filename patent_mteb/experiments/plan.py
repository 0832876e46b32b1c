"""Plans of runs: number of texts, stored texts, time, disk, memory, and missing data.

A plan writes nothing. It reads the data of every task to count the texts, and downloads missing data sets.
:func:`left_for_blocks` estimates memory by measurements (``benchmarks/README.md``), without the weights of a model and
data on the hub.
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
from mteb.abstasks import AbsTask
from mteb.types import PromptType

from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.experiments.results_folder import ResultsFolder
from patent_mteb.experiments.run import unable, unloading
from patent_mteb.files import text_lines
from patent_mteb.memory import refuse_beyond
from patent_mteb.models.served import Served
from patent_mteb.store import StoredEncoder
from patent_mteb.store.batches import text_loader
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.evidence import model_record

__all__ = ["Plan", "TaskPlan", "plan"]
logger = logging.getLogger(__name__)
_FIXED_BYTES = {"validate": 600_000_000, "run": 900_000_000}
_BYTES_PER_DOCUMENT = 1_700  # of ids, rows and the index of texts (docs/scale.md)
_MIN_BLOCK_BYTES = 200_000_000  # the smallest block of vectors that is planned, a choice


def documents_in(folder: Path) -> int:
    """Return the number of rows of the largest table below a folder; an unreadable file has none."""
    rows = [0]
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError, pa.ArrowException, DataError):
            if path.suffix == ".parquet":
                rows.append(pq.read_metadata(path).num_rows)
            elif path.suffix == ".jsonl":
                rows.append(sum(1 for _ in text_lines(path)))
    return max(rows)


def folders_of(tasks: Iterable[AbsTask]) -> list[Path]:
    """Return the folders of local data that tasks read."""
    found = (task.source.folder for task in tasks if isinstance(task, PatentTask))
    return list(dict.fromkeys(folder for folder in found if folder is not None))


def left_for_blocks(budget: float | None, what: Literal["validate", "run"], folders: Iterable[Path]) -> float | None:
    """Return the gigabytes of a budget that remain for blocks; None without a budget."""
    if budget is None:
        return None
    documents = max(map(documents_in, folders), default=0)
    needed = (_FIXED_BYTES[what] + _BYTES_PER_DOCUMENT * documents + _MIN_BLOCK_BYTES) / 1e9
    refuse_beyond(budget, needed, f"{documents:,} documents take", f" to {what}")
    return budget - needed + _MIN_BLOCK_BYTES / 1e9


PROBE = 64
"""Number of texts that are encoded to estimate the time of one."""


@dataclass(frozen=True)
class TaskPlan:
    """A task of a run: the number of its texts, and of ``new`` ones, not in the store or in an earlier task."""

    task: str
    status: Literal["to do", "done", "unable", "missing", "unknown"]
    texts: int = 0
    new: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Plan:
    """The plan of a run.

    Attributes:
        distinct: number of distinct texts with prompts in all tasks to do; ``stored`` of them are in the store.
        seconds: estimated time to encode the others; None if there are none, or no model was probed.
        tokens: estimated tokens of the others, from those that an embedding server counts; None for other models.
        disk: bytes to add to the store; ``disk_free`` are free there.
        memory: bytes of the largest task: its texts, and its vectors in single precision.
    """

    model: str
    tasks: tuple[TaskPlan, ...]
    distinct: int
    stored: int
    seconds: float | None
    tokens: int | None
    disk: int
    disk_free: int | None
    memory: int


def plan(
    model: Any, tasks: Sequence[AbsTask], results: Path, *, encode_kwargs: Mapping[str, Any] | None = None
) -> Plan:
    """Plan a run.

    Args:
        model: a model; if it is wrapped by a store (:func:`patent_mteb.store.stored`), its texts are looked up there.
        results: results folder; tasks with a result are done.

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
    seen: set[bytes] = set()
    waiting: list[tuple[AbsTask, PromptType | None, str]] = []
    rows: list[TaskPlan] = []
    memory, done = 0, ResultsFolder(results) if results.is_dir() else None  # mteb would create the folder
    for position, task in enumerate(tasks, start=1):
        name = task.metadata.name
        logger.debug("[%d/%d] %s", position, len(tasks), name)
        if reason := unable(model, task):
            rows.append(TaskPlan(name, "unable", reason=reason))
        elif done is not None and done.has(meta, task, partial(model_record, model)):
            rows.append(TaskPlan(name, "done"))
        elif not isinstance(task, PatentTask):
            rows.append(TaskPlan(name, "unknown", reason="the texts of tasks of other packages are not counted"))
        else:
            try:
                with unloading(task):
                    task.load_data()
                    texts, new, characters = 0, len(waiting), 0
                    for role, of_role in _roles(task, model):
                        for key, text, stored in _looked_up(model, task, role, of_role, options):
                            texts, characters = texts + 1, characters + len(text)
                            if key not in seen and not stored:
                                waiting.append((task, role, text))
                            seen.add(key)
                memory = max(memory, characters + texts * 4 * (meta.embed_dim or 0))
                rows.append(TaskPlan(name, "to do", texts, len(waiting) - new))
            except PatentMTEBError as error:
                rows.append(TaskPlan(name, "missing", reason=str(error)))
    seconds, tokens, width = _probe(model, waiting, options)
    disk, free = 0, None
    if isinstance(model, StoredEncoder):
        folder, disk = model.store.path, len(waiting) * 4 * width
        free = shutil.disk_usage(next(one for one in (folder, *folder.resolve().parents) if one.exists())).free
    return Plan(str(meta.name), tuple(rows), len(seen), len(seen) - len(waiting), seconds, tokens, disk, free, memory)


def _roles(task: PatentTask, model: Any) -> Iterator[tuple[PromptType | None, list[str]]]:
    for part in task.texts_to_encode(model):
        for role, texts in part.items():
            yield PromptType(role) if role in ("query", "document") else None, list(texts)


def _looked_up(
    model: Any, task: PatentTask, role: PromptType | None, texts: list[str], options: Mapping[str, Any]
) -> Iterator[tuple[bytes, str, bool]]:
    """Yield for each distinct text its key, the text, and whether its vector is in the store."""
    distinct = list(dict.fromkeys(texts))
    if not isinstance(model, StoredEncoder):
        yield from ((text.encode("utf-8", "surrogatepass"), text, False) for text in distinct)
        return
    keys, stored = model.lookup(text_loader(distinct, options["batch_size"]), **_where(task, role), **options)
    yield from zip((key.tobytes() for key in keys), distinct, stored.tolist(), strict=True)


def _where(task: AbsTask, role: PromptType | None) -> dict[str, Any]:
    subset, *_ = task.metadata.hf_subsets
    split = task.metadata.eval_splits[0]
    return {"task_metadata": task.metadata, "hf_split": split, "hf_subset": subset, "prompt_type": role}


def _probe(
    model: Any, waiting: Sequence[tuple[AbsTask, PromptType | None, str]], options: Mapping[str, Any]
) -> tuple[float | None, int | None, int]:
    """Return the estimated seconds and tokens of all waiting texts, and the vector width.

    A server is asked once for each drawn text, without a warm-up, because its tokens may cost money.
    """
    width = int(model.mteb_model_meta.embed_dim or 0)
    if not waiting or not isinstance(model, StoredEncoder):
        return None, None, width
    drawn = [waiting[place] for place in np.linspace(0, len(waiting) - 1, min(PROBE, len(waiting))).astype(int)]
    groups: dict[tuple[AbsTask, PromptType | None], list[str]] = {}
    for task, role, text in drawn:
        groups.setdefault((task, role), []).append(text)
    encoder, silent = model.model, {**options, "show_progress_bar": False}
    served = isinstance(encoder, Served)
    for warm in (False,) if served else (True, False):
        started = time.monotonic()
        for (task, role), texts in list(groups.items())[: 1 if warm else None]:
            loader = text_loader(texts, options["batch_size"])
            width = encoder.encode(loader, **_where(task, role), **silent).shape[1]
    seconds, tokens = (time.monotonic() - started) / len(drawn) * len(waiting), None
    if served and None in encoder.tokens:
        message = "the server of %s gives no possible number of tokens for each request: their price is not estimated"
        logger.warning(message, encoder.served_model)
    elif served:
        characters = sum(len(text) for _, _, text in waiting) / sum(len(text) for _, _, text in drawn)
        tokens = round(sum(encoder.tokens) * characters)
    return seconds, tokens, width
