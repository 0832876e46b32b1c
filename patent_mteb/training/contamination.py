"""Leak indexes: small files of hashes, against which training data are checked without the test sets.

An index is one Parquet file per test set, with a row for each item: hashes of its number, application and families, and
a sketch of its rare shingles (:meth:`ShingleIndex.sketched`). It contains no text and no number. The metadata hold the
name of the test set, and the shingles that many of its families share.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.files import parquet_schema, read_parquet, read_rows, write_parquet
from patent_mteb.patents.collection import read_collection, table_of
from patent_mteb.training.leaks import Item, LeakIndex, MeasuredSet, ShingleIndex

_FORMAT = 1
_META, _COMMON = b"patent_mteb_leak_index", b"common"
_COLUMNS = ("number", "application", "families", "keys", "fields", "sizes", "halvings")
_SHORTEST_TEXT = 40
"""Characters of a column of texts at least, on average, in a table without publication numbers."""


@dataclass(frozen=True)
class StoredSet(MeasuredSet):
    """A test set of which only the index is known. Its items are named by the hash of their number."""

    path: Path = Path()

    def index(self, families: Mapping[str, str], common: NDArray[np.uint32] | None = None) -> LeakIndex:
        table = read_parquet(self.path, _COLUMNS)
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
        schema = parquet_schema(path)
        about = json.loads((schema.metadata or {}).get(_META, b"{}"))
        if about.get("format") != _FORMAT or not set(_COLUMNS) <= set(schema.names):
            problem = f"not a leak index of format {_FORMAT}"
            raise DataError(problem, path=path, remedy="write it again: patent-mteb contamination --write DIR")
        found.append(StoredSet(str(about["name"]), lambda: iter(()), path))
    return found


def training_items(data: Path) -> Iterator[Item]:
    """Yield the publications of records, or the texts of any other table, one item for each text of a row.

    A table of texts is parquet or JSON lines. Its texts are the columns of strings with at least 40 characters on
    average in the first rows; columns whose names end in ``id`` or ``number`` are read as publication numbers.
    """
    if data.is_dir() and table_of(data, "patents") is None:
        for path in sorted(path for path in data.rglob("*") if path.name.endswith((".parquet", ".jsonl", ".jsonl.gz"))):
            yield from training_items(path)
        return
    if data.is_dir() or "publication_number" in _columns(data):
        yield from map(Item.of, read_collection(data, definition="joined").patents)
        return
    texts, numbers = _text_columns(data)
    for row, line in read_rows(data):
        for column in texts:
            if text := line.get(column):
                yield Item(f"{data.name}, row {row}, {column}", "", str(text))
        for column in numbers:
            if number := str(line.get(column) or ""):
                yield Item(number, "", "")


def _columns(path: Path) -> Sequence[str]:
    if path.suffix == ".parquet":
        return list(parquet_schema(path).names)
    return list(dict.fromkeys(name for line in _first(path) for name in line))


def _first(path: Path) -> list[dict[str, Any]]:
    return [line for _, line in islice(read_rows(path), 100)]


def _text_columns(path: Path) -> tuple[list[str], list[str]]:
    rows = _first(path)
    values = {name: [one for row in rows if isinstance(one := row.get(name), str)] for name in _columns(path)}
    texts = [name for name, found in values.items() if found and sum(map(len, found)) >= _SHORTEST_TEXT * len(found)]
    numbers = [name for name in values if name not in texts and re.search(r"(?:id|number)$", name, re.IGNORECASE)]
    if not texts and not numbers:
        remedy = "give records with publication_number, or a table with a column of texts"
        raise DataError(
            f"none of the columns has texts ({', '.join(values) or 'there are none'})", path=path, remedy=remedy
        )
    return texts, numbers
