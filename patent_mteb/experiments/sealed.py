"""Rows of a table that can be told from edited ones: each carries a digest of its values."""

from __future__ import annotations

from typing import Any

import polars as pl

from patent_mteb.identity import digest

__all__ = ["sealed", "unbroken"]

_SEAL = "digest"


def _seal(row: dict[str, Any]) -> str:
    """Digest of what is not empty, times aside."""
    return digest(
        {name: str(value) for name, value in row.items() if name != _SEAL and not name.endswith("seconds") and value not in (None, "")}
    )


def sealed(table: pl.DataFrame) -> pl.DataFrame:
    """The table with the digest of each row in its last column.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.experiments.sealed import sealed
        >>> sealed(pl.DataFrame({"task": ["a"], "score": [0.5]})).columns
        ['task', 'score', 'digest']
    """
    rows = table.drop(_SEAL, strict=False)
    return rows.with_columns(pl.Series(_SEAL, [_seal(row) for row in rows.iter_rows(named=True)], pl.String))


def unbroken(table: pl.DataFrame) -> pl.DataFrame:
    """The rows that are as they were sealed, without the digest; those that have none are not.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.experiments.sealed import sealed, unbroken
        >>> table = sealed(pl.DataFrame({"task": ["a", "b"], "score": [0.5, 0.25]}))
        >>> edited = table.with_columns(pl.Series("score", [0.5, 0.99]))
        >>> unbroken(edited)["task"].to_list()
        ['a']
    """
    if _SEAL not in table.columns:
        return table.clear()
    return table.filter([row[_SEAL] == _seal(row) for row in table.iter_rows(named=True)]).drop(_SEAL)
