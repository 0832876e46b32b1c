"""What the tables of a task are checked for before a number is computed on them.

Fatal is what would make a score wrong: labels that do not vary, a clustering that has one answer, ids that were lost. The rest is
counted and logged (:func:`say`); a published file cannot be mended by its user.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from patent_mteb import files
from patent_mteb.data.releases import STATED, rows_of
from patent_mteb.data.sources import Source
from patent_mteb.errors import LAYOUT, DataError, NotThereError

logger = logging.getLogger(__name__)

__all__ = [
    "TRUNCATED_VARIABLE",
    "ids_of",
    "label_names",
    "need_part",
    "once",
    "read_once",
    "refuse_constant",
    "refuse_contradictions",
    "refuse_trivial_clusters",
    "refuse_truncated",
    "refuse_unscorable",
    "say",
    "say_leakage",
    "say_size",
    "say_unseen",
    "texts_of",
]

_Value = TypeVar("_Value")

TRUNCATED_VARIABLE = "PATENT_MTEB_TRUNCATED"


def refuse_truncated(source: Source, name: str, rows: int) -> None:
    """Stop at a released file that has fewer rows than its release; more are said. Local copies and samples may have any number.

    ``PATENT_MTEB_TRUNCATED=1`` says it only, for a release that has shrunk since.

    Raises:
        DataError: rows are missing.

    Example:
        >>> import os
        >>> from patent_mteb.data.sources import DataSet, Source
        >>> from patent_mteb.tasks.checks import refuse_truncated
        >>> _ = os.environ.pop("PATENT_MTEB_TRUNCATED", None)
        >>> data = DataSet("datalyes/class_bloom", "patenteb", "62c95f3")
        >>> refuse_truncated(Source(data, "local", "local-0123456789ab", Path("mine")), "test/data.parquet", 40)
        >>> refuse_truncated(Source(data, "hub", "62c95f3", Path("copy")), "test/data.parquet", 40)
        Traceback (most recent call last):
        patent_mteb.errors.DataError: copy/test/data.parquet: the file has 40 rows, its release 7347. Remedy: ...
    """
    released = rows_of(source.data.key, name)
    if released is None or source.kind == "sample" or source.revision.startswith("local-") or rows == released:
        return
    problem = f"the file has {rows} rows, its release {released}"
    if rows > released or os.environ.get(TRUNCATED_VARIABLE) == "1":
        logger.warning("%s: %s", source.path(name), problem)
        return
    remedy = f"download it again, or set {TRUNCATED_VARIABLE}=1 if the release itself has changed"
    raise DataError(problem, path=source.path(name), remedy=remedy)


def say_size(source: Source, name: str, number: int) -> None:
    """Log that a released file holds another number of patents than its paper says; local copies and samples may have any number.

    Example:
        >>> from patent_mteb.data.sources import DataSet, Source
        >>> from patent_mteb.tasks.checks import say_size
        >>> say_size(Source(DataSet("ZoeYou/downstream", "patentmap", "main"), "hub", "main"), "perf200/content/queries.json", 200)
    """
    stated = STATED.get((source.data.key, name))
    if stated not in (None, number) and source.kind != "sample" and not source.revision.startswith("local-"):
        logger.warning("%s: %d patents, the paper says %d", source.path(name), number, stated)


def refuse_contradictions(keys: Sequence[tuple[str, ...]], values: Sequence[str], path: Path, what: str) -> None:
    """Stop at a key that has two values; one that is given twice alike is counted.

    Raises:
        DataError: such a key; names both rows.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.tasks.checks import refuse_contradictions
        >>> refuse_contradictions([("a", "b"), ("a", "c")], ["1", "0"], Path("data.parquet"), "pair")
    """
    first: dict[tuple[str, ...], int] = {}
    for row, (key, value) in enumerate(zip(keys, values, strict=True)):
        known = first.setdefault(key, row)
        if values[known] != value:
            problem = f"the {what} '{', '.join(key)}' is '{value}' here and '{values[known]}' in row {known + 1}"
            raise DataError(problem, path=path, row=row + 1, remedy="correct one of the two rows, or download the file again")
    say(path, {f"rows give a {what} again, alike": len(values) - len(first)})


def once(rows: Iterable[tuple[str, _Value]]) -> Iterator[tuple[str, _Value]]:
    """The first of the rows of each key.

    Example:
        >>> from patent_mteb.tasks.checks import once
        >>> list(once([("a", 1), ("b", 2), ("a", 1)]))
        [('a', 1), ('b', 2)]
    """
    seen: set[str] = set()
    for key, value in rows:
        if key not in seen:
            seen.add(key)
            yield key, value


def read_once(path: Path, columns: Mapping[str, pa.DataType], key: str, without: Container[str] = ()) -> tuple[pa.Table, int]:
    """Read a parquet file with one row a key, whatever type the key is written in; a row that is there twice is taken once.

    Args:
        without: columns that are checked and compared, and not kept.

    Returns:
        the table, its keys as strings, and how many rows were there again.

    Raises:
        DataError: what :func:`patent_mteb.files.read_parquet` and :func:`ids_of` say, or two different rows with one key.

    Example:
        >>> from pathlib import Path
        >>> import pyarrow as pa
        >>> from patent_mteb.files import write_parquet
        >>> from patent_mteb.tasks.checks import read_once
        >>> write_parquet(Path("corpus.parquet"), pa.table({"id": [7, 8, 7], "text": ["a", "b", "a"]}))
        >>> table, again = read_once(Path("corpus.parquet"), {"text": pa.string()}, "id")
        >>> table["id"].to_pylist(), again
        (['7', '8'], 1)
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
    """Stop where a local directory lacks a part of its data set as a whole.

    Raises:
        NotThereError: it does.

    Example:
        >>> from patent_mteb.data.sources import DataSet, resolve
        >>> from patent_mteb.tasks.checks import need_part
        >>> need_part(resolve(DataSet("ZoeYou/downstream", "patentmap"), sample=True), "perf200")  # the sample has it
    """
    if source.folder is not None and not (source.folder / part).is_dir():
        raise NotThereError(f"{part} is not there", path=source.folder / part, remedy=LAYOUT)


def say(place: Path, counts: Mapping[str, int]) -> None:
    """Log what is odd but usable, with its count; nothing for a count of 0.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.tasks.checks import say
        >>> say(Path("corpus.parquet"), {"documents without a title": 0})
    """
    for what, number in counts.items():
        if number:
            logger.warning("%s: %d %s", place, number, what)


def ids_of(table: pa.Table, name: str, path: Path, optional: bool = False) -> list[str]:
    """A column of ids as strings: strings and integers are ids, numbers with a fraction are what is left of them.

    Args:
        optional: a missing id is an empty string.

    Raises:
        DataError: another type, or an id that is missing.

    Example:
        >>> from pathlib import Path
        >>> import pyarrow as pa
        >>> from patent_mteb.tasks.checks import ids_of
        >>> ids_of(pa.table({"q": [7, 8]}), "q", Path("data.parquet"))
        ['7', '8']
    """
    kind = table.schema.field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer, pa.types.is_null)
    if not any(is_kind(kind) for is_kind in known):
        raise DataError(f"the ids of column '{name}' have type {kind}", path=path, remedy="write strings, or download the file again")
    values = ["" if value is None else str(value) for value in table[name].to_pylist()]
    if not optional and "" in values:
        raise DataError(f"column '{name}' is empty", path=path, row=values.index("") + 1, remedy="give the row an id or delete it")
    return values


def texts_of(table: pa.Table, name: str, path: Path) -> list[str]:
    """A column of texts; a missing one is empty, and counted.

    Raises:
        DataError: a value that is no string, or no text at all.

    Example:
        >>> from pathlib import Path
        >>> import pyarrow as pa
        >>> from patent_mteb.tasks.checks import texts_of
        >>> texts_of(pa.table({"text": ["A pump.", None]}), "text", Path("data.parquet"))
        ['A pump.', '']
    """
    values = table[name].to_pylist()
    for row, value in enumerate(values, start=1):
        if value is not None and not isinstance(value, str):
            raise DataError(f"column '{name}' does not hold strings", path=path, row=row, remedy="write the column as strings")
    texts = [value or "" for value in values]
    empty = sum(not text.strip() for text in texts)
    if empty == len(texts):
        raise DataError(f"column '{name}' is empty", path=path, row=1, remedy="complete the rows or download the file again")
    say(path, {f"of {len(texts)} rows have an empty '{name}'": empty})
    return texts


def label_names(values: Sequence[Any], name: str, path: Path) -> list[str]:
    """Labels as words, so that 1, 1.0, True and "1" are one label in whatever type a split was written.

    Raises:
        DataError: a missing label, a NaN, or a label that is no word and no number.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.tasks.checks import label_names
        >>> label_names([1.0, True, "A21"], "label", Path("data.parquet"))
        ['1', '1', 'A21']
    """
    names = []
    for row, value in enumerate(values, start=1):
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            raise DataError(f"column '{name}' is empty", path=path, row=row, remedy="complete the row or download the file again")
        if not isinstance(value, (str, int, float)):
            problem = f"column '{name}' holds a {type(value).__name__} where a label is expected"
            raise DataError(problem, path=path, row=row, remedy="write one word or number a row")
        whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer())
        names.append(str(int(value)) if whole else str(value))
    return names


def refuse_constant(labels: Sequence[str], path: Path, what: str) -> None:
    """Stop at labels that do not vary: whatever is computed on them says nothing of a model.

    Raises:
        DataError: there are fewer than two different labels.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.tasks.checks import refuse_constant
        >>> refuse_constant(["early", "late"], Path("data.parquet"), "rows")
    """
    if len(set(labels)) < 2:
        problem = f"all {len(labels)} {what} have the same label ('{labels[0]}')" if labels else f"there are no {what}"
        raise DataError(problem, path=path, remedy="the task needs rows of at least two labels")


def refuse_trivial_clusters(labels: Sequence[str], path: Path) -> None:
    """Stop at clusters that any model finds: all rows in one, or each row in its own.

    Raises:
        DataError: they are such.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.tasks.checks import refuse_trivial_clusters
        >>> refuse_trivial_clusters(["G", "G", "H"], Path("data.parquet"))
    """
    refuse_constant(labels, path, "rows")
    if len(set(labels)) == len(labels):
        raise DataError(f"each of the {len(labels)} rows is a cluster of its own", path=path, remedy="a cluster needs several rows")


def say_unseen(tested: Set[str], trained: Set[str], path: Path) -> None:
    """Log the labels of the test split that the training split lacks: no classifier can predict them.

    Raises:
        DataError: that is all of them.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.tasks.checks import say_unseen
        >>> say_unseen({"G", "H"}, {"G", "H", "B"}, Path("data.parquet"))
    """
    unseen = sorted(tested - trained)
    if unseen and len(unseen) == len(tested):
        problem = f"no label of the test split occurs in the training split ('{unseen[0]}' is one)"
        raise DataError(problem, path=path, remedy="write the labels of both splits alike")
    if unseen:
        some = ", ".join(unseen[:5])
        logger.warning("%s: %d of %d labels of the test split occur in no training row: %s", path, len(unseen), len(tested), some)


def say_leakage(keys: Mapping[str, tuple[Sequence[Any], Sequence[Any]]], path: Path) -> None:
    """Log test rows that stand in the training split too: a classifier knows them, and the score is too high by them.

    Args:
        keys: for each word by which rows are compared (``id``, ``text``) what the training and the test rows have there.

    Raises:
        DataError: every test row stands in the training split.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.tasks.checks import say_leakage
        >>> say_leakage({"text": (["a pump", "a lens"], ["a loom"])}, Path("test/data.parquet"))
    """
    for word, (trained, tested) in keys.items():
        known = {key for key in trained if any(key)}
        shared = sum(key in known for key in tested)
        if tested and shared == len(tested):
            problem = f"every test row stands in the training split (compared by {word})"
            raise DataError(problem, path=path, remedy="split the rows again, disjointly")
        if shared:
            told = "%s: leakage: %d of %d test rows stand in the training split too (compared by %s); the score is too high by them"
            logger.warning(told, path, shared, len(tested), word)


def refuse_unscorable(qrels: Mapping[str, Mapping[str, int]], path: Path, why: str = "no judgement is positive") -> None:
    """Stop at judgements without a relevant document for any query.

    Raises:
        DataError: there is none.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.tasks.checks import refuse_unscorable
        >>> refuse_unscorable({"q": {"d": 1}}, Path("qrels_all.parquet"))
    """
    if not any(gain > 0 for judged in qrels.values() for gain in judged.values()):
        raise DataError(why, path=path, remedy="a query needs a relevant document other than itself")
