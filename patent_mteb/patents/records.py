"""Records of patent publications, of citations between them, and of their relations.

Every recipe in :mod:`patent_mteb.recipes` starts from these types. They come from the built-in sample
(:mod:`patent_mteb.sample`) or from the user's files: parquet with the Arrow schemas :data:`SCHEMAS`, or
JSON lines (``.jsonl``, ``.jsonl.gz``) with the same fields. A folder of such files is read as one table.

Units and formats:

* dates are calendar days, ISO 8601 in JSON;
* publication numbers have the two-letter office and the kind code, without spaces (``US2019012345A1``);
* IPC and CPC codes are in the normal form of :mod:`patent_mteb.patents.ipc`;
* texts are plain, UTF-8; languages are ISO 639-1 (``en``).

Parquet files that the suite writes carry the version of the schema (``SCHEMA_VERSION``).

Schemas and readers are derived from the annotations of the dataclasses:

===========================  ====================  ============================================================
annotation                   Arrow                 read from
===========================  ====================  ============================================================
``str``                      string                a string; a null is ``""``
``int``                      int32                 an integer of 32 bits
``datetime.date | None``     date32                a date, ISO 8601 text, a null or ``""``
``tuple[X, ...]``            list of X             a list without nulls; a null is ``()``
a dataclass                  struct of its fields  an object without further fields; a null is the defaults
===========================  ====================  ============================================================
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import read_rows, write_rows

__all__ = [
    "RELATED_PUBLICATIONS",
    "RELATIONS",
    "SCHEMAS",
    "SCHEMA_VERSION",
    "Citation",
    "Claim",
    "Description",
    "ExpertSummary",
    "Label",
    "MachineSummaries",
    "Patent",
    "Relation",
    "TextLanguages",
    "Translation",
    "read_records",
    "write_records",
]

_DATE = dt.date | None
_INT32 = range(-(2**31), 2**31)
_Reader = Callable[[Any, str], Any]


def arrow_schema(record: type, version: int) -> pa.Schema:
    """Return the Arrow schema of a record type; fields without a default are not nullable."""
    hints = get_type_hints(record)
    fields = [
        pa.field(one.name, _arrow(hints[one.name]), nullable=not _required(one)) for one in dataclasses.fields(record)
    ]
    return pa.schema(fields, {"patent_mteb.records": str(version)})


def _arrow(annotation: Any) -> pa.DataType:
    if get_origin(annotation) is tuple:
        return pa.list_(_arrow(get_args(annotation)[0]))
    if dataclasses.is_dataclass(annotation):
        hints = get_type_hints(annotation)
        return pa.struct([(one.name, _arrow(hints[one.name])) for one in dataclasses.fields(annotation)])
    return {str: pa.string(), int: pa.int32(), _DATE: pa.date32()}[annotation]


def _required(one: dataclasses.Field[Any]) -> bool:
    return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING


def record_reader(record: type) -> Callable[[dict[str, Any]], Any]:
    """Return a function from a row to a record, which raises ValueError and names the field that does not fit."""
    read = _reader(record)
    return lambda row: read(row, "")


@cache
def _reader(annotation: Any) -> _Reader:
    if get_origin(annotation) is tuple:
        return _list(get_args(annotation)[0])
    if dataclasses.is_dataclass(annotation):
        return _object(annotation)
    return {str: _string, int: _integer, _DATE: _date}[annotation]


def _wrong(name: str, value: Any, expected: str) -> ValueError:
    return ValueError(f"field '{name}' holds a {type(value).__name__} where {expected} is expected")


def _string(value: Any, name: str) -> str:
    if value is not None and not isinstance(value, str):
        raise _wrong(name, value, "a string")
    return value or ""


def _integer(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, value, "an integer")
    if value not in _INT32:
        raise ValueError(f"field '{name}' holds the integer {value}, which needs more than 32 bits")
    return value


def _date(value: Any, name: str) -> dt.date | None:
    if value is None or value == "":
        return None
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    if not isinstance(value, str):
        raise _wrong(name, value, "a date")
    try:
        return dt.date.fromisoformat(value)
    except ValueError as error:
        raise ValueError(f"field '{name}': {error}") from error


def _list(annotation: Any) -> _Reader:
    read = _reader(annotation)
    members = {str: "strings", int: "integers"}.get(annotation, "objects")

    def items(value: Any, name: str) -> tuple[Any, ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            raise _wrong(name, value, f"a list of {members}")
        if None in value:
            raise ValueError(f"field '{name}' holds a null in its list")
        return tuple(read(item, name) for item in value)

    return items


def _object(record: Any) -> _Reader:
    hints = get_type_hints(record)
    fields = dataclasses.fields(record)
    readers = {one.name: _reader(hints[one.name]) for one in fields}
    required = [one.name for one in fields if _required(one)]

    def build(value: Any, name: str) -> Any:
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise _wrong(name, value, "an object")
        path = f"{name}." if name else ""
        if unknown := next((key for key in value if key not in readers), None):
            raise ValueError(f"unknown field '{path}{unknown}'")
        if missing := next((key for key in required if value.get(key) is None), None):
            raise ValueError(f"field '{path}{missing}' is missing")
        return record(**{key: readers[key](item, f"{path}{key}") for key, item in value.items() if item is not None})

    return build


SCHEMA_VERSION = 4
"""Version of the schemas. A field of a later version is unknown, and refused with its name."""


class _Base:
    """Pickled as type and values; what dataclasses do for frozen slots makes a build a quarter slower."""

    __slots__: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), _getter(self.__slots__)(self)


@cache
def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*names)


def row_of(record: Any) -> Any:
    """Return a record as a row; several times faster than :func:`dataclasses.asdict`, which copies every value."""
    if isinstance(record, tuple):
        return [row_of(one) for one in record] if record else []
    return {name: row_of(getattr(record, name)) for name in record.__slots__} if isinstance(record, _Base) else record


@dataclass(frozen=True, slots=True)
class Claim(_Base):
    """One numbered claim. ``depends_on`` holds the numbers of the claims that it refers to.

    Number 0 is the text of several claims that could not be split.
    """

    number: int
    text: str
    depends_on: tuple[int, ...] = ()

    @property
    def independent(self) -> bool:
        return self.number != 0 and not self.depends_on


@dataclass(frozen=True, slots=True)
class Description(_Base):
    """The description by section, in the order of an application."""

    background: str = ""
    summary: str = ""
    drawings: str = ""
    detailed: str = ""

    def lines(self) -> list[str]:
        """Return the non-empty lines of all sections."""
        sections = (self.background, self.summary, self.drawings, self.detailed)
        return [line for section in sections for line in section.split("\n") if line.strip()]


@dataclass(frozen=True, slots=True)
class ExpertSummary(_Base):
    """The six expert-written fields that the Derwent World Patents Index adds to a family (WIPO-AT §3.1.4, §3.6)."""

    title: str = ""
    detailed_description: str = ""
    novelty: str = ""
    use: str = ""
    advantage: str = ""
    technology_focus: str = ""


@dataclass(frozen=True, slots=True)
class MachineSummaries(_Base):
    """The five machine-written query representations of Sophia-Bench (§3)."""

    abstract: str = ""
    features: str = ""
    claims: str = ""
    advantages: str = ""
    objectives: str = ""


@dataclass(frozen=True, slots=True)
class Label(_Base):
    """One taxonomy label: a coarse category of a landscape and, if known, a fine category below it."""

    landscape: str
    coarse: str
    fine: str = ""


@dataclass(frozen=True, slots=True)
class TextLanguages(_Base):
    """The languages of the texts of a record (ISO 639-1), empty if unknown."""

    title: str = ""
    abstract: str = ""
    claims: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Translation(_Base):
    """Published texts of a publication in one further language. The description is not split into sections."""

    language: str
    title: str = ""
    abstract: str = ""
    claims: tuple[Claim, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Patent(_Base):
    """One patent publication.

    ``family_id`` names the simple family (publications that share their priorities). ``filing_jurisdiction`` is the
    office of first filing if it is known and differs from the publishing office. ``jurisdiction`` is derived from the
    publication number (WIPO-AT §3.1.2). ``application_number`` (``US16123456``) and ``source`` (the name of the reader)
    may be empty. ``paragraphs`` holds the printed number of each line of the description (:meth:`Description.lines`),
    0 for a heading; it is empty if the source does not number paragraphs.
    """

    publication_number: str
    family_id: str
    title: str = ""
    abstract: str = ""
    claims: tuple[Claim, ...] = ()
    description: Description = field(default_factory=Description)
    kind: str = ""
    filing_jurisdiction: str = ""
    application_date: dt.date | None = None
    publication_date: dt.date | None = None
    priority_date: dt.date | None = None
    ipc: tuple[str, ...] = ()
    cpc: tuple[str, ...] = ()
    inventors: tuple[str, ...] = ()
    applicants: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    keywords: tuple[str, ...] = ()
    expert: ExpertSummary = field(default_factory=ExpertSummary)
    summaries: MachineSummaries = field(default_factory=MachineSummaries)
    application_number: str = ""
    languages: TextLanguages = field(default_factory=TextLanguages)
    translations: tuple[Translation, ...] = ()
    source: str = ""
    paragraphs: tuple[int, ...] = ()

    @property
    def jurisdiction(self) -> str:
        """Two-letter code of the publishing office."""
        return self.publication_number[:2].upper()


@dataclass(frozen=True, slots=True)
class Citation(_Base):
    """A citation of one publication by another.

    ``category`` is the citation category of the search report (``X``, ``Y``, ``A``, ...) and ``origin`` is
    ``examiner`` or ``applicant``; both are empty if unknown. ``claims`` are the claims of the citing document that the
    citation was raised against. ``passages`` are the passages of the cited document, in the words of the source.
    ``phase`` (``search``, ``examination``, ``opposition``, or the source's code), ``office`` (two letters), ``unit``
    (of the office, such as the technology centre of the USPTO) and ``date`` say when and by whom it was cited.
    ``statutes`` are the sections of 35 U.S.C. that claims were rejected under (``102``, ``103``).
    """

    citing: str
    cited: str
    category: str = ""
    origin: str = ""
    claims: tuple[int, ...] = ()
    passages: tuple[str, ...] = ()
    phase: str = ""
    office: str = ""
    date: dt.date | None = None
    unit: str = ""
    statutes: tuple[str, ...] = ()


RELATIONS = {
    "member": "a publication of the same patent family",
    "pre-grant": "the publication of the same application before its grant",
    "application": "the application that it publishes",
    "priority": "an application whose priority it claims",
    "provisional": "a provisional application that it claims the benefit of",
    "continuation": "the application that its own continues",
    "continuation-in-part": "the application that its own continues in part",
    "division": "the application that its own was divided from",
    "reissue": "the application of the patent that it reissues",
    "parent": "an earlier application of another or unknown kind",
}
"""Kind of a relation -> the related document."""

RELATED_PUBLICATIONS = ("member", "pre-grant")
"""Kinds of relations to publications; all others are to applications."""


@dataclass(frozen=True, slots=True)
class Relation(_Base):
    """A relation of a publication to another publication or an application (see :data:`RELATIONS`)."""

    number: str
    related: str
    kind: str


SCHEMAS: dict[type, pa.Schema] = {kind: arrow_schema(kind, SCHEMA_VERSION) for kind in (Patent, Citation, Relation)}
"""Arrow schema by type of record. Only the fields without a default are required."""

logger = logging.getLogger(__name__)
_FORMS = (".parquet", ".jsonl", ".jsonl.gz")
_IMPORTED = (".csv", ".tsv", ".txt", ".xls", ".xlsx", ".json", ".xml", ".sgml", ".zip")
_Record = TypeVar("_Record", Patent, Citation, Relation)


def _parts(path: Path) -> list[Path]:
    """Return the files of a table: the path itself, or the files in the folder, sorted by name."""
    if path.suffix.lower() in _IMPORTED and path.is_file():
        problem = f"records are read from {', '.join(_FORMS)}, not from {path.suffix}"
        raise DataError(problem, path=path, remedy=f"make records of it: patent-mteb data import {path} --out records")
    if not path.is_dir():
        return [path]
    files = sorted(part for part in path.iterdir() if part.is_file() and not part.name.startswith("."))
    parts = [part for part in files if part.name.lower().endswith(_FORMS)]
    if others := [part.name for part in files if part not in parts]:
        logger.warning("%s: %d files are not read: %s", path, len(others), ", ".join(others[:5]))
    if not parts:
        remedy = f"expected files that end with {', '.join(_FORMS)}"
        raise DataError("the folder contains no table of records", path=path, remedy=remedy)
    return parts


def _read(path: Path | str, kind: type[_Record]) -> Iterator[tuple[Path, int, _Record]]:
    """Yield the records of a file or a folder with their files and rows."""
    make = record_reader(kind)
    for part in _parts(Path(path)):
        for number, row in read_rows(part):
            try:
                record = make(row)
            except ValueError as error:
                problem = f"the record does not fit the schema ({error})"
                remedy = "see patent_mteb.patents.records"
                raise DataError(problem, path=part, row=number, remedy=remedy) from error
            yield part, number, record


def read_records(path: Path | str, kind: type[_Record]) -> Iterator[_Record]:
    """Yield the records of one type in a table (``patents.parquet``, ``patents.jsonl``), or in a folder of such files.

    Args:
        path: the file or the folder.
        kind: :class:`Patent`, :class:`Citation` or :class:`Relation`.

    Raises:
        DataError: the file is missing or unreadable, a record does not fit the schema, or a publication number occurs
            twice. The message names the row.

    Example:
        >>> from patent_mteb.patents.records import Citation, read_records, write_records
        >>> write_records("citations.jsonl", Citation, [Citation("US1A", "EP2B", "X", claims=(1, 2))])
        >>> [(one.cited, one.category, one.claims) for one in read_records("citations.jsonl", Citation)]
        [('EP2B', 'X', (1, 2))]
    """
    required = [one.name for one in dataclasses.fields(kind)][:2]  # the first two must not be empty
    seen: set[str] = set()
    for part, row, record in _read(path, kind):
        if not all(getattr(record, name) for name in required):
            raise DataError(f"{' or '.join(required)} is empty", path=part, row=row, remedy="fill both")
        if isinstance(record, Patent):
            if (number := record.publication_number) in seen:
                again = _read(path, kind)
                first, its = next((part, row) for part, row, other in again if other.publication_number == number)
                where = f"row {its}" if first == part else f"row {its} of {first.name}"
                problem = f"publication number '{number}' occurs twice (first in {where})"
                raise DataError(problem, path=part, row=row, remedy="keep one record per publication")
            seen.add(number)
        if isinstance(record, Relation) and record.kind not in RELATIONS:
            problem = f"unknown relation '{record.kind}'"
            raise DataError(problem, path=part, row=row, remedy=f"choose among {', '.join(RELATIONS)}")
        yield record


def write_records(path: Path | str, kind: type[_Record], records: Iterable[_Record]) -> None:
    """Write records of one type as parquet or JSON lines, by the suffix of the path.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.records import Relation, write_records
        >>> write_records("relations.jsonl", Relation, [Relation("EP1A1", "US16000001", "priority")])
        >>> print(Path("relations.jsonl").read_text(), end="")
        {"number": "EP1A1", "related": "US16000001", "kind": "priority"}
    """
    write_rows(Path(path), map(row_of, records), SCHEMAS[kind])
