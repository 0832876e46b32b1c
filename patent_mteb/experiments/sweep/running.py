"""Running what is not yet in the table of a sweep."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import mteb
import polars as pl
from mteb.types import EncodeKwargs

from patent_mteb.errors import ModelError
from patent_mteb.experiments.sweep.matrix import Matrix, Setting
from patent_mteb.experiments.sweep.systems import Corpora, System, Timed, hybrids, label_of
from patent_mteb.experiments.sweep.table import SweepTable, row_of
from patent_mteb.search.bm25 import BM25
from patent_mteb.search.cache import RunCache
from patent_mteb.search.fusion import Fusion
from patent_mteb.search.phases import timed
from patent_mteb.store.settings import settled

if TYPE_CHECKING:
    from mteb.models import EncoderProtocol

logger = logging.getLogger(__name__)

__all__ = ["sweep"]


def sweep(
    matrix: Matrix | Sequence[Matrix],
    dense: EncoderProtocol | Sequence[EncoderProtocol] | None,
    lexical: BM25,
    out: Path,
    *,
    encode_kwargs: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Run what is not yet in the table ``out`` (csv) and return the whole table.

    Args:
        matrix: the runs, of several parts if need be (:data:`~patent_mteb.experiments.sweep.PAPER`).
        dense: encoders, stored or not, each of which makes all dense and hybrid runs (precisions of one model are such); None if
            there are no such runs.
        lexical: the BM25 of the backends ``bm25`` and ``hybrid``.

    Raises:
        DataError: ``out`` exists and is not a table of a sweep on these data.
        ModelError: the matrix needs an encoder and there is none.

    Example:
        >>> import os
        >>> from pathlib import Path
        >>> from patent_mteb.experiments.sweep import Matrix, sweep
        >>> from patent_mteb.models import bm25
        >>> os.environ["PATENT_MTEB_SAMPLE"] = "1"
        >>> matrix = Matrix(backends=["bm25"], queries=["TA"], corpora=["TAC", "FullText"])
        >>> sweep(matrix, None, bm25("dapfam"), Path("sweep.csv"))["corpus"].to_list()
        ['FullText', 'TAC']
    """
    parts = [matrix] if isinstance(matrix, Matrix) else list(matrix)
    encoders: list[Any] = [] if dense is None else list(dense) if isinstance(dense, Sequence) else [dense]
    groups = [group for part in parts for group in part.groups()]
    if not encoders and (lacking := [group[0].backend for group in groups if group[0].backend != "bm25"]):
        raise ModelError(f"backend {lacking[0]} needs an encoder. Remedy: name one with -m")
    data = mteb.get_task(groups[0][0].task).source.revision  # type: ignore[attr-defined]
    table = SweepTable(out, data)
    systems = _Systems(parts, [settled(encoder, encode_kwargs) for encoder in encoders], lexical, RunCache(out.with_suffix(".runs")))
    for number, group in enumerate(groups, start=1):
        for label, models in systems.of(group):
            if all(table.has(label, setting) for setting in group):
                continue
            logger.info("[%d/%d] %s", number, len(groups), ", ".join(str(value) for value in asdict(group[0]).values() if value))
            table.add(_run(group, models(), systems.corpora, {"model": label, "data": data}, dict(encode_kwargs or {})))
    return table.frame


class _Systems:
    """What makes the models of a group, for BM25 or for each encoder."""

    def __init__(self, parts: Sequence[Matrix], encoders: Sequence[Any], lexical: BM25, cache: RunCache) -> None:
        aggregates = tuple(dict.fromkeys(name for part in parts for name in part.aggregates))
        self.corpora = Corpora()
        self.fusions: dict[str, Fusion] = {tag: fusion for part in parts for tag, fusion in part.fusions.items()}
        self.lexical = System(lexical, cache, aggregates)
        self.dense = [System(encoder, cache, aggregates) for encoder in encoders]

    def of(self, group: Sequence[Setting]) -> list[tuple[str, Callable[[], list[Any]]]]:
        """The name of each model in the table, and what makes the models of the group's settings with it."""
        backend = group[0].backend
        if backend == "hybrid":
            return [(label_of(self.lexical.meta, one.meta), partial(hybrids, self.lexical, one, group, self.fusions)) for one in self.dense]
        return [(label_of(one.meta), partial(one.models, group)) for one in ([self.lexical] if backend == "bm25" else self.dense)]


def _run(
    group: Sequence[Setting], models: Sequence[Any], corpora: Corpora, identity: Mapping[str, str], encode_kwargs: dict[str, Any]
) -> list[dict[str, Any]]:
    """The rows of a group: its runs share their rankings, and with them the times."""
    task = mteb.get_task(group[0].task)
    found: list[Mapping[str, Any]] = []
    with timed() as seconds:
        for model in models:
            result = mteb.evaluate(
                settled(Timed(model, corpora), encode_kwargs),
                task,
                cache=None,
                encode_kwargs=cast("EncodeKwargs", dict(encode_kwargs)),
                show_progress_bar=False,
            )
            ((scores,),) = result.task_results[0].scores.values()
            found.append(scores)
    return [row_of(setting, identity, task.metadata.name, scores, seconds) for setting, scores in zip(group, found, strict=True)]
