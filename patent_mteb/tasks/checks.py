"""Checks of the tables of a task.

What makes a score wrong is an error: labels that do not vary, a clustering with one answer, lost ids. Anything else is
counted and logged (:func:`log_counts`), because a user cannot correct a published file.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Container, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import pyarrow as pa

from patent_mteb import files
from patent_mteb.data.loading import TRUNCATED_VARIABLE, Source, switched_on
from patent_mteb.data.releases import is_truncated, rows_of
from patent_mteb.errors import LAYOUT, DataError, NotThereError

logger = logging.getLogger(__name__)


def refuse_truncated(source: Source, name: str, rows: int) -> None:
    """Reject a released file with fewer rows than its release; log other differences, or all if the variable is set."""
    released = rows_of(source.data.key, name)
    if released in (None, rows) or source.kind == "sample" or source.revision.startswith("local-"):
        return
    problem = f"the file has {rows} rows, its release {released}"
    if not is_truncated(source.data.key, name, rows) or switched_on(TRUNCATED_VARIABLE):
        logger.warning("%s: %s", source.path(name), problem)
        return
    remedy = f"download it again, or set {TRUNCATED_VARIABLE}=1 to score it as local data"
    raise DataError(problem, path=source.path(name), remedy=remedy)


def refuse_contradictions(keys: Sequence[tuple[str, ...]], values: Sequence[str], path: Path, what: str) -> None:
    """Reject a key with two values, and count equal rows."""
    first: dict[tuple[str, ...], int] = {}
    for row, (key, value) in enumerate(zip(keys, values, strict=True)):
        known = first.setdefault(key, row)
        if values[known] != value:
            problem = f"the {what} '{', '.join(key)}' is '{value}' here and '{values[known]}' in row {known + 1}"
            remedy = "correct one of the two rows, or download the file again"
            raise DataError(problem, path=path, row=row + 1, remedy=remedy)
    log_counts(path, {f"rows repeat a {what}": len(values) - len(first)})


def read_unique(
    path: Path, columns: Mapping[str, pa.DataType], key: str, without: Container[str] = ()
) -> tuple[pa.Table, int]:
    """Read a table with one row per key; return it with the number of dropped repeats."""
    table = files.read_parquet(path, {key: None, **columns}, without)
    names = ids_of(table, key, path)
    table = table.set_column(table.column_names.index(key), key, pa.array(names, pa.string()))
    first: dict[str, int] = {}
    again = {row: known for row, name in enumerate(names) if (known := first.setdefault(name, row)) != row}
    content = _rows(path, {*again, *again.values()})
    for row, known in again.items():
        if content[known] != content[row]:
            problem = f"{key} '{names[row]}' occurs twice (first in row {known + 1}), with other content"
            raise DataError(problem, path=path, row=row + 1, remedy="keep one row per id")
    return (table.take(list(first.values())) if again else table), len(again)


def _rows(path: Path, wanted: Set[int]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    before = 0
    for batch in files.read_batches(path) if wanted else ():
        inside = range(before, before + batch.num_rows)
        found |= {row: batch.slice(row - before, 1).to_pylist()[0] for row in wanted if row in inside}
        before += batch.num_rows
    return found


def need_part(source: Source, part: str) -> None:
    if source.folder is not None and not (source.folder / part).is_dir():
        raise NotThereError(f"{part} is missing", path=source.folder / part, remedy=LAYOUT)


def log_counts(place: Path, counts: Mapping[str, int]) -> None:
    """Log every count above 0 of unusual but usable data."""
    for what, number in counts.items():
        if number:
            logger.warning("%s: %d %s", place, number, what)


def is_text(kind: pa.DataType) -> bool:
    """Whether the values of a column are strings, or all null."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(test(kind) for test in tests)


def ids_of(table: pa.Table, name: str, path: Path, optional: bool = False) -> list[str]:
    """Return a column of ids, strings or integers, as strings."""
    kind = table.schema.field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (is_text(kind) or pa.types.is_integer(kind)):
        problem = f"the ids of column '{name}' have type {kind}"
        raise DataError(problem, path=path, remedy="write strings, or download the file again")
    values = ["" if value is None else str(value) for value in table[name].to_pylist()]
    if not optional and "" in values:
        row = values.index("") + 1
        raise DataError(f"column '{name}' is empty", path=path, row=row, remedy="give the row an id or delete it")
    return values


def texts_of(table: pa.Table, name: str, path: Path) -> list[str]:
    """Return a column of texts; missing ones are empty, and counted."""
    values = table[name].to_pylist()
    for row, value in enumerate(values, start=1):
        if value is not None and not isinstance(value, str):
            problem = f"column '{name}' does not hold strings"
            raise DataError(problem, path=path, row=row, remedy="write the column as strings")
    texts = [value or "" for value in values]
    empty = sum(not text.strip() for text in texts)
    if empty == len(texts):
        remedy = "complete the rows or download the file again"
        raise DataError(f"column '{name}' is empty", path=path, row=1, remedy=remedy)
    log_counts(path, {f"of {len(texts)} rows have an empty '{name}'": empty})
    return texts


def label_names(values: Sequence[Any], name: str, path: Path) -> list[str]:
    """Return labels as strings, so that 1, 1.0, True and "1" are equal in the files of all splits."""
    names = []
    for row, value in enumerate(values, start=1):
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            remedy = "complete the row or download the file again"
            raise DataError(f"column '{name}' is empty", path=path, row=row, remedy=remedy)
        if not isinstance(value, (str, int, float)):
            problem = f"column '{name}' holds a {type(value).__name__} where a label is expected"
            raise DataError(problem, path=path, row=row, remedy="write one word or number a row")
        integer = isinstance(value, bool) or (isinstance(value, float) and value.is_integer())
        names.append(str(int(value)) if integer else str(value))
    return names


def refuse_constant(labels: Sequence[str], path: Path, what: str) -> None:
    """Reject labels that do not vary: no score on them describes a model."""
    if len(set(labels)) < 2:
        problem = f"all {len(labels)} {what} have the same label ('{labels[0]}')" if labels else f"there are no {what}"
        raise DataError(problem, path=path, remedy="the task needs rows of at least two labels")


def refuse_trivial_clusters(labels: Sequence[str], path: Path) -> None:
    """Reject clusters that any model finds: all rows in one, or each row in its own."""
    refuse_constant(labels, path, "rows")
    if len(set(labels)) == len(labels):
        problem = f"each of the {len(labels)} rows is its own cluster"
        raise DataError(problem, path=path, remedy="a cluster needs several rows")


def check_unseen_labels(tested: Set[str], trained: Set[str], path: Path) -> None:
    """Log labels of the test split without a training row, which no classifier predicts; reject it if all are."""
    unseen = sorted(tested - trained)
    if unseen and len(unseen) == len(tested):
        problem = f"no label of the test split occurs in the training split ('{unseen[0]}' is one)"
        raise DataError(problem, path=path, remedy="write the labels of both splits in the same form")
    if unseen:
        message = "%s: %d of %d labels of the test split occur in no training row: %s"
        logger.warning(message, path, len(unseen), len(tested), ", ".join(unseen[:5]))


def check_leakage(trained: Sequence[Any], tested: Sequence[Any], word: str, path: Path) -> None:
    """Log test rows that are training rows too, by their ids or texts; reject a split of only such rows."""
    known = {key for key in trained if any(key)}
    shared = sum(key in known for key in tested)
    if tested and shared == len(tested):
        problem = f"every test row is also in the training split (compared by {word})"
        raise DataError(problem, path=path, remedy="split the rows again, disjointly")
    if shared:
        message = "%s: leakage: %d of %d test rows are also in the training split (compared by %s)"
        logger.warning(f"{message}; they make the score too high", path, shared, len(tested), word)


def refuse_unscorable(qrels: Mapping[str, Mapping[str, int]], path: Path, why: str) -> None:
    if not any(gain > 0 for judged in qrels.values() for gain in judged.values()):
        raise DataError(why, path=path, remedy="a query needs a relevant document other than itself")
