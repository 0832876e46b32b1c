"""Facts about the patent models of the papers that mteb does not know, one row of ``checkpoints.csv`` per model."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from patent_mteb.models.prompts import TABLE_11

Prompts = Literal["table11", "none"]


@dataclass(frozen=True)
class Checkpoint:
    """A published model. None means that no source states the value."""

    name: str  # hub id
    dim: int
    max_tokens: int
    pooling: Literal["mean", "cls"]
    licence: str  # as mteb spells it
    parameters: float | None  # total, in millions
    revision: str | None  # commit at which the facts were read
    modules: bool  # ships sentence-transformers modules; otherwise a bare transformer with this pooling
    head: bool  # a Dense layer after the pooling
    prompts: Prompts  # that the model was trained for
    trained_on: frozenset[str] | None  # rows of Table 11 whose training data the model has seen
    adapted_from: str | None  # the model that it was initialised with
    tagged: bool  # texts carry section tags (patent_mteb.models.variants.section_tags)
    tagged_in_paper: bool  # the PatentMap paper, and only that paper, evaluates it with section tags
    released: str | None  # ISO date
    source: str | None  # key in published/references.bib


_TRAINED = frozenset(row for row in TABLE_11 if not row.startswith("clusters_"))
_NO_CLASSES = frozenset(row for row in _TRAINED if not row.startswith("class_"))
_RETRIEVAL = frozenset(row for row in _NO_CLASSES if not row.startswith("para_"))
_TRAINED_ON = {None: frozenset(), "unknown": None, "all": _TRAINED, "no classes": _NO_CLASSES, "retrieval": _RETRIEVAL}


_FLAGS = dict.fromkeys(("modules", "head", "tagged", "tagged_in_paper"), "true".__eq__)
_TYPES: dict[str, Callable[[str], Any]] = {"dim": int, "max_tokens": int, "parameters": float, **_FLAGS}


def _read() -> Iterator[Checkpoint]:
    # not by polars, whose threads a process that imports mteb could then no longer fork
    for row in csv.DictReader(Path(__file__).with_suffix(".csv").read_text("utf-8").splitlines()):
        values: dict[str, Any] = {name: _TYPES.get(name, str)(text) if text else None for name, text in row.items()}
        yield Checkpoint(**values | {"trained_on": _TRAINED_ON[values["trained_on"]]})


CHECKPOINTS: dict[str, Checkpoint] = {checkpoint.name: checkpoint for checkpoint in _read()}
