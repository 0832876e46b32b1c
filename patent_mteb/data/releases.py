"""Known facts of the released data sets.

``releases.csv`` has one row a fact: of a file, or (``file`` is empty) of a data set. A fact without a value, or without
a row, is not certified. ``patent-mteb data validate ROOT --certify FILE.csv`` writes the rows of a downloaded copy:
counts and digests, and no text.

=====================  ==========================================================================================
fact                   value
=====================  ==========================================================================================
commit                 a known commit; a result on another one is stored under its own data revision
rows                   rows of the file (patents, where it repeats lines): with fewer, it is not scored as the release
about rows             the same, derived from shares: with less than 98% of them, it is not scored as the release
ids of COLUMN          digest of the sorted distinct ids
empty values           null and blank values in other columns (PatentMap: titles and abstracts)
queries in the corpus  ids that are both
self-judgements        relevant pairs of a patent with itself
queries of an export   queries of a known part of the data
=====================  ==========================================================================================
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from patent_mteb.files import load_json, read_rows, write_text
from patent_mteb.identity import digest

_QUERIES, _DOCUMENTS, _OTHERS = ("q", "query_id"), ("pos", "neg", "relevant_id"), ("t",)
_PAIRS = (("q", "pos"), ("q", "t"), ("query_id", "relevant_id"))


@dataclass(frozen=True)
class Fact:
    """One row of ``releases.csv``."""

    data: str
    file: str
    fact: str
    value: str
    source: str = ""


_LINES = Path(__file__).with_name("releases.csv").read_text("utf-8").splitlines()
FACTS = tuple(Fact(**row) for row in csv.DictReader(_LINES))
_LEAST = {"rows": 1.0, "about rows": 0.98}
ROWS = {(one.data, one.file): one for one in FACTS if one.fact in _LEAST and one.value}
"""(data set, file) -> the rows of the release."""


def rows_of(key: str, file: str) -> int | None:
    """Return the rows of a released file, None if unknown."""
    return int(ROWS[key, file].value) if (key, file) in ROWS else None


def is_truncated(key: str, file: str, rows: int) -> bool:
    """Whether a copy of a released file lacks rows."""
    return (key, file) in ROWS and rows < _LEAST[ROWS[key, file].fact] * int(ROWS[key, file].value)


def said_of(key: str, fact: str, value: object) -> str:
    """Return the source of a fact of a data set with this value, empty if it is not known."""
    return next((one.source for one in FACTS if (one.data, one.fact, one.value) == (key, fact, str(value))), "")


def write(facts: Iterable[Fact], path: Path) -> None:
    """Write facts in the form of ``releases.csv``."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([[field.name for field in fields(Fact)], *map(astuple, facts)])
    write_text(path, out.getvalue())


def certify(key: str, folder: Path, commit: str) -> Iterator[Fact]:
    """Yield the facts of a copy of a released data set; files that are missing have none."""
    queries, documents = set[str](), set[str]()
    judged, own = False, 0
    for file in dict.fromkeys(one.file for one in FACTS if one.data == key and one.file):
        if not (folder / file).is_file():
            continue
        rows, empty, ids = 0, 0, dict[str, set[str]]()
        for number, row in enumerate(_rows(folder / file), start=1):
            rows = number
            for column, value in row.items():
                if column in (*_QUERIES, *_DOCUMENTS, *_OTHERS):
                    ids.setdefault(column, set()).update(() if value is None else (str(value),))
                else:
                    empty += value is None or (isinstance(value, str) and not value.strip())
            same = any(row.get(one, "") == row.get(other) for one, other in _PAIRS)
            own += same and row.get("relevance_score", 1) > 0
        if Path(file).parent.name == "content":  # lines are repeated
            rows = len(next(iter(ids.values())))
        yield Fact(key, file, "rows", str(rows))
        yield from (Fact(key, file, f"ids of {name}", digest(sorted(found), 32)) for name, found in ids.items())
        yield Fact(key, file, "empty values", str(empty))
        pair = any(set(pair) <= ids.keys() for pair in _PAIRS)
        judged |= pair
        if not (pair and "query_id" in ids):  # judgements may name patents that no table holds
            queries |= set().union(*(ids.get(column, ()) for column in _QUERIES))
            documents |= set().union(*(ids.get(column, ()) for column in _DOCUMENTS))
    yield Fact(key, "", "commit", commit)
    if queries and documents:
        yield Fact(key, "", "queries in the corpus", str(len(queries & documents)))
    if judged:
        yield Fact(key, "", "self-judgements", str(own))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a released file, with the same names for the ids of all layouts."""
    if path.suffix == ".csv":
        from patent_mteb.recipes.patentmap import csv_rows

        yield from (row for _, row in csv_rows(path))
    elif path.name == "gold.json":
        for query, cited in load_json(path).items():
            for one in cited:
                yield {"query_id": query, "relevant_id": str(one["cited_id"]), "relevance_score": 1}
    else:
        for _, row in read_rows(path):
            if "dnum" in row:
                sections = row["Content"] or {}
                name = "query_id" if path.stem == "queries" else "relevant_id"
                row = {name: str(row["dnum"]), "title": sections.get("title"), "abstract": sections.get("pa01")}
            yield row
