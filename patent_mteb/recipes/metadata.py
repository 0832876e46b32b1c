"""What ``metadata.parquet`` of a BEIR folder says of each document and query, held as columns and not as objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from patent_mteb.errors import check_columns
from patent_mteb.recipes.beir import BeirFolder

__all__ = ["MetadataRows", "metadata_rows"]

_METADATA = {
    "family_id": pa.string(),
    "jurisdiction": pa.string(),
    "publication_year": pa.int64(),
    "ipc": pa.list_(pa.string()),
    "coarse": pa.list_(pa.string()),
    "split": pa.string(),
}
"""Columns of ``metadata.parquet`` that mean something to the suite, each optional."""


class MetadataRows(Mapping[str, Mapping[str, Any]]):
    """Rows by id, each made when it is asked for; null items of lists are left out.

    Example:
        >>> import pyarrow as pa
        >>> from patent_mteb.recipes.metadata import MetadataRows
        >>> rows = MetadataRows(pa.table({"_id": ["d1", "d2"], "ipc": [["A61H 3/00", None], []]}))
        >>> rows["d1"], dict(rows.column("ipc"))
        ({'ipc': ['A61H 3/00']}, {'d1': ['A61H 3/00'], 'd2': []})
    """

    def __init__(self, table: pa.Table) -> None:
        self._place = {key: place for place, key in enumerate(table["_id"].to_pylist())}
        self._columns = {name: table[name].combine_chunks() for name in table.column_names if name != "_id"}

    def column(self, name: str) -> Iterator[tuple[str, Any]]:
        """The values of one column with their ids; None where there is no such column."""
        if name not in self._columns:
            return ((key, None) for key in self)
        return ((key, _without_nulls(value.as_py())) for key, value in zip(self, self._columns[name], strict=True))

    def __getitem__(self, key: str) -> Mapping[str, Any]:
        place = self._place[key]
        return {name: _without_nulls(column[place].as_py()) for name, column in self._columns.items()}

    def __contains__(self, key: object) -> bool:
        return key in self._place

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)


def _without_nulls(value: Any) -> Any:
    return [item for item in value if item is not None] if isinstance(value, list) else value


def metadata_rows(folder: Path, tables: BeirFolder) -> tuple[MetadataRows, dict[str, int]]:
    """The rows of ``metadata.parquet`` by id, checked against its columns, and what was found odd in them, with counts.

    Raises:
        DataError: a column of another type: a word where a list is expected would be read letter by letter.

    Example:
        >>> from pathlib import Path
        >>> import pyarrow as pa
        >>> from patent_mteb.recipes.beir import read_beir, write_beir
        >>> from patent_mteb.recipes.metadata import metadata_rows
        >>> metadata = pa.table({"_id": ["d1", "q1"], "family_id": ["F1", "F2"], "ipc": [["A61H 3/00", None], []]})
        >>> files = write_beir(Path("mine"), {"d1": ("Pump", "It pumps.")}, {"q1": "a pump"}, {"q1": {"d1": 1}}, metadata)
        >>> rows, counts = metadata_rows(Path("mine"), read_beir(Path("mine")))
        >>> rows["d1"], counts
        ({'family_id': 'F1', 'ipc': ['A61H 3/00']}, {'null items in lists of metadata.parquet (left out)': 1})
    """
    counts: dict[str, int] = {}
    table = tables.metadata
    if table is None:
        table = pa.table({"_id": pa.array([], pa.string())})
    check_columns(table, {name: kind for name, kind in _METADATA.items() if name in table.column_names}, folder / "metadata.parquet")
    if nulls := sum(pc.list_flatten(column).null_count for column in table.columns if _is_list(column.type)):
        counts["null items in lists of metadata.parquet (left out)"] = nulls
    rows = MetadataRows(table)
    keys = tables.corpus.keys() | tables.queries.keys()
    if "family_id" not in table.column_names:
        counts[f"queries whose own family is not removed: no family_id in {folder.name}/metadata.parquet"] = len(tables.queries)
    elif without := len(keys) - sum(bool(family) and key in keys for key, family in rows.column("family_id")):
        counts["documents and queries without family_id (their own family is not removed)"] = without
    return rows, counts


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))
