"""Leak indexes: small files of hashes, against which training data are checked without the test sets.

An index is one Parquet file per test set, with a row for each item: hashes of its number, application and families, and
a sketch of its rare shingles (:meth:`ShingleIndex.sketched`). It contains no text and no number. The metadata hold the
name of the test set, and the shingles that many of its families share.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from patent_mteb.errors import DataError, PatentMTEBError, check_columns, check_shape, parsed_json
from patent_mteb.files import parquet_schema, read_parquet, write_parquet
from patent_mteb.training.leaks import FIELDS, LeakIndex, MeasuredSet, ShingleIndex

_FORMAT = 1  # of saved indexes
_META, _COMMON = b"patent_mteb_leak_index", b"common"
_COLUMNS: Mapping[str, pa.DataType] = {
    "number": pa.uint64(),
    "application": pa.uint64(),
    "families": pa.list_(pa.uint64()),
    "keys": pa.list_(pa.uint32()),
    "fields": pa.list_(pa.uint8()),
    "sizes": pa.list_(pa.int64()),
    "halvings": pa.list_(pa.uint8()),
}
_KEY_BITS = 32  # of a shingle's hash
_REMEDY = "write it again: patent-mteb contamination --write DIR"


@dataclass(frozen=True)
class StoredSet(MeasuredSet):
    """A test set of which only the index is known. Its items are named by the hash of their number."""

    path: Path = Path()
    n_items: int = 0

    def index(self, families: Mapping[str, str], common: NDArray[np.uint32] | None = None) -> LeakIndex:
        table = _checked(read_parquet(self.path, _COLUMNS), self)
        columns = {name: table[name].to_pylist() for name in ("number", "application", "families")}
        ids = [f"{number:016x}" for number in columns["number"]]
        stored = np.frombuffer((table.schema.metadata or {})[_COMMON], np.uint32)
        texts = ShingleIndex.of_sketches(table, ids, stored if common is None else np.union1d(stored, common))
        return LeakIndex(
            dict(zip(columns["number"], ids, strict=True)),
            {one: key for one, key in zip(columns["application"], ids, strict=True) if one},
            {one: key for several, key in zip(columns["families"], ids, strict=True) for one in several},
            texts,
        )


def write_indexes(folder: Path, test_sets: Iterable[MeasuredSet]) -> tuple[dict[Path, int], dict[str, str]]:
    """Write the index of each test set. Returns the items by file, and the reasons for test sets without one."""
    written: dict[Path, int] = {}
    unreadable: dict[str, str] = {}
    for test_set in test_sets:
        try:
            index = test_set.index({})
        except PatentMTEBError as error:
            unreadable[test_set.name] = str(error)
            continue
        path = folder / f"{re.sub(r'[^A-Za-z0-9.-]+', '_', test_set.name)}.parquet"
        if path in written:
            path = path.with_stem(f"{path.stem}-{len(written)}")
        write_parquet(path, _table(test_set.name, index))
        written[path] = len(index.texts)
    return written, unreadable


def _table(name: str, index: LeakIndex) -> pa.Table:
    ids = index.texts.ids
    rows: dict[str, dict[str, Any]] = {key: {"number": 0, "application": 0, "families": []} for key in ids}
    for number, key in index.numbers.items():
        rows[key]["number"] = number
    for application, key in index.applications.items():
        rows[key]["application"] = application
    for family, key in index.families.items():
        rows[key]["families"].append(family)
    table = index.texts.sketched()
    for column, kind in (("families", pa.list_(pa.uint64())), ("application", pa.uint64()), ("number", pa.uint64())):
        table = table.add_column(0, column, pa.array([rows[key][column] for key in ids], kind))
    about = json.dumps({"format": _FORMAT, "name": name, "items": len(ids)})
    return table.replace_schema_metadata({_META: about, _COMMON: index.texts.common.astype(np.uint32).tobytes()})


def read_indexes(folder: Path) -> list[StoredSet]:
    """Return the test sets of a folder of indexes, or of one index."""
    paths = sorted(folder.glob("*.parquet")) if folder.is_dir() else [folder]
    if not paths or not paths[0].is_file():
        raise DataError(
            "there is no leak index", path=folder, remedy="write one: patent-mteb contamination --write DIR"
        )
    found = []
    for path in paths:
        metadata = parquet_schema(path).metadata or {}
        about = parsed_json(metadata.get(_META, b"{}").decode("utf-8", "replace"), path, None, _REMEDY)
        if not isinstance(about, dict) or about.get("format") != _FORMAT:
            raise DataError(f"not a leak index of format {_FORMAT}", path=path, remedy=_REMEDY)
        check_shape(about, {"name": str, "items": int}, path, _REMEDY)
        if len(metadata.get(_COMMON, b"?")) % np.dtype(np.uint32).itemsize:
            raise DataError("the list of common shingles is missing or incomplete", path=path, remedy=_REMEDY)
        check_columns(parquet_schema(path).empty_table(), _COLUMNS, path)
        found.append(StoredSet(about["name"], lambda: iter(()), path, about["items"]))
    return found


def _checked(table: pa.Table, stored: StoredSet) -> pa.Table:
    """Refuse an index whose rows are not as :func:`_table` writes them."""
    try:
        columns = {name: table[name].cast(column).combine_chunks() for name, column in _COLUMNS.items()}
    except pa.ArrowException as error:
        raise DataError(f"a value is out of range ({error})", path=stored.path, remedy=_REMEDY) from error
    flat = [one.flatten() if pa.types.is_list(one.type) else one for one in columns.values()]
    lengths = {name: columns[name].value_lengths() for name in ("keys", "fields", "sizes", "halvings")}
    problem = ""
    if len(table) != stored.n_items:
        problem = f"{len(table)} of {stored.n_items} rows are there"
    elif any(one.null_count for one in (*columns.values(), *flat)):
        problem = "a value is null"
    elif lengths["keys"] != lengths["fields"] or any(
        set(lengths[name].to_pylist()) - {len(FIELDS)} for name in ("sizes", "halvings")
    ):
        problem = "lists that belong together have other lengths"
    elif (pc.max(columns["halvings"].flatten()).as_py() or 0) > _KEY_BITS:
        problem = f"a bound of shingles is halved more than {_KEY_BITS} times"
    if problem:
        raise DataError(problem, path=stored.path, remedy=_REMEDY)
    return table
