"""Recipes: canonical records in, exactly the tables that a family publishes out.

Every recipe module offers ``build(patents, citations, root, params=Params()) -> BuildLog``. It writes below ``root`` in the
layout that :mod:`patent_mteb.sources` resolves (``root/<hub repository id or family name>/...``), so that a finished ``root``
can be used as ``PATENT_MTEB_DATA`` as it is. The sample is built by the same recipes as a user's own patents.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

logger = logging.getLogger(__name__)

__all__ = ["BuildLog", "Step", "write_jsonl", "write_parquet"]


@dataclass(frozen=True)
class Step:
    """One step of a recipe: how many rows went in, how many came out, and why they differ."""

    name: str
    rows_in: int
    rows_out: int
    note: str = ""


@dataclass
class BuildLog:
    """What a recipe did, step by step, and the files it wrote (relative to the root, sorted)."""

    family: str
    steps: list[Step] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def step(self, name: str, rows_in: int, rows_out: int, note: str = "") -> None:
        """Record a step and log it."""
        self.steps.append(Step(name, rows_in, rows_out, note))
        logger.info("%s: %s: %d -> %d%s", self.family, name, rows_in, rows_out, f" ({note})" if note else "")


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write one parquet file; the same table gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line, UTF-8, keys in the order given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
