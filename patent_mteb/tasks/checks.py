"""What the tables of a task are checked for before a number is computed on them.

Fatal is what would make a score wrong: labels that do not vary, a clustering that has one answer, ids that were lost.
The rest is counted and logged (:func:`say`); a published file cannot be mended by its user.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from patent_mteb import files
from patent_mteb.data.hub import STATED, rows_of
from patent_mteb.data.loading import Source
from patent_mteb.data.roots import switched_on
from patent_mteb.errors import LAYOUT, DataError, NotThereError

logger = logging.getLogger(__name__)


_Value = TypeVar("_Value")

TRUNCATED_VARIABLE = "PATENT_MTEB_TRUNCATED"


def refuse_truncated(source: Source, name: str, rows: int) -> None:
    """Stop at a released file that has fewer rows than its release; more are said. Local copies and samples may have
    any number.

    ``PATENT_MTEB_TRUNCATED=1`` says it only, for a release that has shrunk since.
    """
    released = rows_of(source.data.key, name)
    if released is None or source.kind == "sample" or source.revision.startswith("local-") or rows == released:
        return
    problem = f"the file has {rows} rows, its release {released}"
    if rows > released or switched_on(TRUNCATED_VARIABLE):
        logger.warning("%s: %s", source.path(name), problem)
        return
    remedy = f"download it again, or set {TRUNCATED_VARIABLE}=1 if the release itself has changed"
    raise DataError(problem, path=source.path(name), remedy=remedy)


def say_size(source: Source, name: str, number: int) -> None:
    """Log that a released file holds another number of patents than its paper says; local copies and samples may have
    any number.
    """
    stated = STATED.get((source.data.key, name))
    if stated not in (None, number) and source.kind != "sample" and not source.revision.startswith("local-"):
        logger.warning("%s: %d patents, the paper says %d", source.path(name), number, stated)


def refuse_contradictions(keys: Sequence[tuple[str, ...]], values: Sequence[str], path: Path, what: str) -> None:
    """Stop at a key that has two values; one that is given twice alike is counted."""
    first: dict[tuple[str, ...], int] = {}
    for row, (key, value) in enumerate(zip(keys, values, strict=True)):
        known = first.setdefault(key, row)
        if values[known] != value:
            problem = f"the {what} '{', '.join(key)}' is '{value}' here and '{values[known]}' in row {known + 1}"
            raise DataError(
                problem, path=path, row=row + 1, remedy="correct one of the two rows, or download the file again"
            )
    say(path, {f"rows give a {what} again, alike": len(values) - len(first)})


def once(rows: Iterable[tuple[str, _Value]]) -> Iterator[tuple[str, _Value]]:
    """The first of the rows of each key."""
    seen: set[str] = set()
    for key, value in rows:
        if key not in seen:
            seen.add(key)
            yield key, value


def read_once(
    path: Path, columns: Mapping[str, pa.DataType], key: str, without: Container[str] = ()
) -> tuple[pa.Table, int]:
    """Read a parquet file with one row a key, whatever type the key is written in; a row that is there twice is taken
    once.
    """
    table = files.read_parquet(path, {key: None, **columns}, without)
    names = ids_of(table, key, path)
    table = table.set_column(table.column_names.index(key), key, pa.array(names, pa.string()))
    first: dict[str, int] = {}
    again = {row: known for row, name in enumerate(names) if (known := first.setdefault(name, row)) != row}
    content = _rows(path, {*again, *again.values()})
    for row, known in again.items():
        if content[known] != content[row]:
            name = names[row]
            problem = f"{key} '{name}' occurs twice (first in row {known + 1}), with other content"
            raise DataError(problem, path=path, row=row + 1, remedy="keep one row an id")
    if len(first) == len(names):
        return table, 0
    return table.filter(pa.array([first[name] == row for row, name in enumerate(names)])), len(names) - len(first)


def _rows(path: Path, wanted: Set[int]) -> dict[int, dict[str, Any]]:
    """Some rows of a parquet file, by number from 0."""
    found: dict[int, dict[str, Any]] = {}
    before = 0
    for batch in files.read_batches(path) if wanted else ():
        inside = range(before, before + batch.num_rows)
        found |= {row: batch.slice(row - before, 1).to_pylist()[0] for row in wanted if row in inside}
        before += batch.num_rows
    return found


def need_part(source: Source, part: str) -> None:
    """Stop where a local directory lacks a part of its data set as a whole."""
    if source.folder is not None and not (source.folder / part).is_dir():
        raise NotThereError(f"{part} is not there", path=source.folder / part, remedy=LAYOUT)


def say(place: Path, counts: Mapping[str, int]) -> None:
    """Log what is odd but usable, with its count; nothing for a count of 0."""
    for what, number in counts.items():
        if number:
            logger.warning("%s: %d %s", place, number, what)


def ids_of(table: pa.Table, name: str, path: Path, optional: bool = False) -> list[str]:
    """A column of ids as strings: strings and integers are ids, numbers with a fraction are what is left of them."""
    kind = table.schema.field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_integer,
        pa.types.is_null,
    )
    if not any(is_kind(kind) for is_kind in known):
        raise DataError(
            f"the ids of column '{name}' have type {kind}",
            path=path,
            remedy="write strings, or download the file again",
        )
    values = ["" if value is None else str(value) for value in table[name].to_pylist()]
    if not optional and "" in values:
        raise DataError(
            f"column '{name}' is empty", path=path, row=values.index("") + 1, remedy="give the row an id or delete it"
        )
    return values


def texts_of(table: pa.Table, name: str, path: Path) -> list[str]:
    """A column of texts; a missing one is empty, and counted."""
    values = table[name].to_pylist()
    for row, value in enumerate(values, start=1):
        if value is not None and not isinstance(value, str):
            raise DataError(
                f"column '{name}' does not hold strings", path=path, row=row, remedy="write the column as strings"
            )
    texts = [value or "" for value in values]
    empty = sum(not text.strip() for text in texts)
    if empty == len(texts):
        raise DataError(
            f"column '{name}' is empty", path=path, row=1, remedy="complete the rows or download the file again"
        )
    say(path, {f"of {len(texts)} rows have an empty '{name}'": empty})
    return texts


def label_names(values: Sequence[Any], name: str, path: Path) -> list[str]:
    """Labels as words, so that 1, 1.0, True and "1" are one label in whatever type a split was written."""
    names = []
    for row, value in enumerate(values, start=1):
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            raise DataError(
                f"column '{name}' is empty", path=path, row=row, remedy="complete the row or download the file again"
            )
        if not isinstance(value, (str, int, float)):
            problem = f"column '{name}' holds a {type(value).__name__} where a label is expected"
            raise DataError(problem, path=path, row=row, remedy="write one word or number a row")
        whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer())
        names.append(str(int(value)) if whole else str(value))
    return names


def refuse_constant(labels: Sequence[str], path: Path, what: str) -> None:
    """Stop at labels that do not vary: whatever is computed on them says nothing of a model."""
    if len(set(labels)) < 2:
        problem = f"all {len(labels)} {what} have the same label ('{labels[0]}')" if labels else f"there are no {what}"
        raise DataError(problem, path=path, remedy="the task needs rows of at least two labels")


def refuse_trivial_clusters(labels: Sequence[str], path: Path) -> None:
    """Stop at clusters that any model finds: all rows in one, or each row in its own."""
    refuse_constant(labels, path, "rows")
    if len(set(labels)) == len(labels):
        raise DataError(
            f"each of the {len(labels)} rows is a cluster of its own", path=path, remedy="a cluster needs several rows"
        )


def say_unseen(tested: Set[str], trained: Set[str], path: Path) -> None:
    """Log the labels of the test split that the training split lacks: no classifier can predict them."""
    unseen = sorted(tested - trained)
    if unseen and len(unseen) == len(tested):
        problem = f"no label of the test split occurs in the training split ('{unseen[0]}' is one)"
        raise DataError(problem, path=path, remedy="write the labels of both splits alike")
    if unseen:
        some = ", ".join(unseen[:5])
        logger.warning(
            "%s: %d of %d labels of the test split occur in no training row: %s", path, len(unseen), len(tested), some
        )


def say_leakage(keys: Mapping[str, tuple[Sequence[Any], Sequence[Any]]], path: Path) -> None:
    """Log test rows that stand in the training split too: a classifier knows them, and the score is too high by
    them.
    """
    for word, (trained, tested) in keys.items():
        known = {key for key in trained if any(key)}
        shared = sum(key in known for key in tested)
        if tested and shared == len(tested):
            problem = f"every test row stands in the training split (compared by {word})"
            raise DataError(problem, path=path, remedy="split the rows again, disjointly")
        if shared:
            told = (
                "%s: leakage: %d of %d test rows stand in the training split too (compared by %s); the score is too"
                " high by them"
            )
            logger.warning(told, path, shared, len(tested), word)


def refuse_unscorable(
    qrels: Mapping[str, Mapping[str, int]], path: Path, why: str = "no judgement is positive"
) -> None:
    """Stop at judgements without a relevant document for any query."""
    if not any(gain > 0 for judged in qrels.values() for gain in judged.values()):
        raise DataError(why, path=path, remedy="a query needs a relevant document other than itself")
