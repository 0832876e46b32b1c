"""The canonical records: one patent publication, one citation between two of them.

Every recipe in :mod:`patent_mteb.recipes` starts from these two record types, whether they come from the built-in sample
(:mod:`patent_mteb.sample`) or from a user's own files. ``PATENT_SCHEMA`` and ``CITATION_SCHEMA`` are the Arrow schemas of
the files ``patents.parquet`` and ``citations.parquet``; the same fields in the same nesting are read from
``patents.jsonl`` and ``citations.jsonl``.

Units and formats: dates are calendar days (ISO 8601 in JSON); publication numbers carry the two-letter office prefix and
the kind code without blanks (``US2019012345A1``); IPC and CPC codes are kept as their source wrote them and are normalised
by :mod:`patent_mteb.patents.ipc`; all texts are English, plain, UTF-8.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import read_rows, unique, write_rows

__all__ = [
    "CITATION_SCHEMA",
    "PATENT_SCHEMA",
    "Citation",
    "Claim",
    "Description",
    "ExpertSummary",
    "Label",
    "MachineSummaries",
    "Patent",
    "read_citations",
    "read_patents",
    "write_citations",
    "write_patents",
]


@dataclass(frozen=True, slots=True)
class Claim:
    """One numbered claim. ``depends_on`` holds the numbers of the claims it refers to; an independent claim has none."""

    number: int
    text: str
    depends_on: tuple[int, ...] = ()

    @property
    def independent(self) -> bool:
        return not self.depends_on


@dataclass(frozen=True, slots=True)
class Description:
    """The description by section, in the order in which an application carries them."""

    background: str = ""
    summary: str = ""
    drawings: str = ""
    detailed: str = ""


@dataclass(frozen=True, slots=True)
class ExpertSummary:
    """The six expert-written fields that the Derwent World Patents Index adds to a family (WIPO-AT §3.1.4, §3.6)."""

    title: str = ""
    detailed_description: str = ""
    novelty: str = ""
    use: str = ""
    advantage: str = ""
    technology_focus: str = ""


@dataclass(frozen=True, slots=True)
class MachineSummaries:
    """The five machine-written query representations of Sophia-Bench (§3): abstract, features, claims, advantages, objectives."""

    abstract: str = ""
    features: str = ""
    claims: str = ""
    advantages: str = ""
    objectives: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """One taxonomy label: a coarse category of a landscape and, where it is known, a fine one under it."""

    landscape: str
    coarse: str
    fine: str = ""


@dataclass(frozen=True, slots=True)
class Patent:
    """One patent publication.

    ``family_id`` names the simple family (publications that share their priorities). ``filing_jurisdiction`` is the office of
    first filing where it is known and differs from the publishing office; ``jurisdiction`` is read off the publication number
    (WIPO-AT §3.1.2).
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

    @property
    def jurisdiction(self) -> str:
        """Two-letter code of the publishing office."""
        return self.publication_number[:2].upper()


@dataclass(frozen=True, slots=True)
class Citation:
    """A directed edge between two publications.

    ``category`` is the search report's letter (``X``, ``Y``, ``A``, ...; empty where none is known), ``origin`` is ``examiner``
    or ``applicant`` (empty where unknown).
    """

    citing: str
    cited: str
    category: str = ""
    origin: str = ""


_strings = pa.list_(pa.string())


def _struct_of(record: type) -> pa.DataType:
    return pa.struct([(f.name, pa.string()) for f in dataclasses.fields(record)])


PATENT_SCHEMA: pa.Schema = pa.schema(
    [
        pa.field("publication_number", pa.string(), nullable=False),
        pa.field("family_id", pa.string(), nullable=False),
        ("title", pa.string()),
        ("abstract", pa.string()),
        ("claims", pa.list_(pa.struct([("number", pa.int32()), ("text", pa.string()), ("depends_on", pa.list_(pa.int32()))]))),
        ("description", _struct_of(Description)),
        ("kind", pa.string()),
        ("filing_jurisdiction", pa.string()),
        ("application_date", pa.date32()),
        ("publication_date", pa.date32()),
        ("priority_date", pa.date32()),
        ("ipc", _strings),
        ("cpc", _strings),
        ("inventors", _strings),
        ("applicants", _strings),
        ("labels", pa.list_(_struct_of(Label))),
        ("keywords", _strings),
        ("expert", _struct_of(ExpertSummary)),
        ("summaries", _struct_of(MachineSummaries)),
    ]
)
"""Arrow schema of ``patents.parquet``: one row a publication. Only the two identifiers are required."""

CITATION_SCHEMA: pa.Schema = pa.schema(
    [
        pa.field("citing", pa.string(), nullable=False),
        pa.field("cited", pa.string(), nullable=False),
        ("category", pa.string()),
        ("origin", pa.string()),
    ]
)
"""Arrow schema of ``citations.parquet``: one row a directed edge between two publication numbers."""

_SECTIONS: dict[str, type] = {"description": Description, "expert": ExpertSummary, "summaries": MachineSummaries}
_DATES = ("application_date", "publication_date", "priority_date")

_Record = TypeVar("_Record", Patent, Citation)


def _texts(kind: type, value: Mapping[str, Any] | None) -> Any:
    return kind(**{name: text or "" for name, text in (value or {}).items()})


def _patent(row: Mapping[str, Any]) -> Patent:
    values: dict[str, Any] = {}
    for name, value in row.items():
        if name in _SECTIONS:
            values[name] = _texts(_SECTIONS[name], value)
        elif name == "claims":
            values[name] = tuple(Claim(claim["number"], claim["text"], tuple(claim.get("depends_on") or ())) for claim in value or ())
        elif name == "labels":
            values[name] = tuple(_texts(Label, label) for label in value or ())
        elif name in _DATES:
            values[name] = value or None
        elif isinstance(value, list):
            values[name] = tuple(value)
        elif value is not None:
            values[name] = value
    return Patent(**values)


def _citation(row: Mapping[str, Any]) -> Citation:
    return Citation(**{name: value or "" for name, value in row.items()})


def _words(kind: pa.DataType) -> str:
    return "a string" if pa.types.is_string(kind) else "a list of strings" if kind == _strings else str(kind)


def _checked(row: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """A row whose values have the types of the schema, dates given as text among them; nothing is converted otherwise."""
    for name in row:
        if name not in schema.names:
            raise ValueError(f"there is no field '{name}'")
    for field_ in schema:
        value = row.get(field_.name)
        if value is None:
            if not field_.nullable:
                raise ValueError(f"field '{field_.name}' is missing")
            continue
        if field_.type == pa.date32():
            if isinstance(value, dt.datetime):
                value = value.date()
            elif isinstance(value, str):
                value = dt.date.fromisoformat(value) if value else None
            if value is not None and not isinstance(value, dt.date):
                raise ValueError(f"field '{field_.name}' holds a {type(value).__name__} where a date is expected")
            row = {**row, field_.name: value}
        elif isinstance(value, str) != pa.types.is_string(field_.type):
            raise ValueError(f"field '{field_.name}' holds a {type(value).__name__} where {_words(field_.type)} is expected")
        try:
            pa.scalar(value, field_.type)
        except (pa.ArrowException, TypeError, OverflowError, UnicodeError) as error:
            raise ValueError(f"field '{field_.name}': {error}") from error
        if isinstance(value, list) and None in value:
            raise ValueError(f"field '{field_.name}' holds a null in its list")
    for claim in row.get("claims") or ():
        if not isinstance(claim, dict) or claim.get("text") is None or claim.get("number") is None:
            raise ValueError("a claim lacks its number or its text")
        if isinstance(claim.get("depends_on"), str):
            raise ValueError("depends_on of a claim is a text where a list of claim numbers is expected")
    return row


def _read(path: Path, schema: pa.Schema, make: Callable[[Mapping[str, Any]], _Record]) -> Iterator[tuple[int, _Record]]:
    for number, row in read_rows(path):
        try:
            yield number, make(_checked(row, schema))
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise DataError(
                f"the record does not fit the schema ({error})", path=path, row=number, remedy="see patent_mteb.patents.records"
            ) from error


def read_patents(path: Path | str) -> list[Patent]:
    """Read ``patents.parquet`` or ``patents.jsonl``.

    Raises:
        DataError: the file is missing or unreadable, a record does not fit the schema, or a publication has two; names the row.

    Example:
        >>> from patent_mteb.patents.records import Patent, read_patents, write_patents
        >>> write_patents("patents.parquet", [Patent("US1A", "F1", title="Pump")])
        >>> [patent.title for patent in read_patents("patents.parquet")]
        ['Pump']
    """
    path = Path(path)
    rows = _read(path, PATENT_SCHEMA, _patent)
    patents = []
    for row, patent in unique(
        rows,
        lambda patent: patent.publication_number,
        path=path,
        what="publication number",
        remedy="keep one record a publication",
    ):
        if not patent.publication_number or not patent.family_id:
            raise DataError("publication_number or family_id is empty", path=path, row=row, remedy="fill both")
        patents.append(patent)
    return patents


def read_citations(path: Path | str) -> list[Citation]:
    """Read ``citations.parquet`` or ``citations.jsonl``.

    Raises:
        DataError: the file is missing or unreadable, or a record does not fit the schema; names the row.

    Example:
        >>> from patent_mteb.patents.records import Citation, read_citations, write_citations
        >>> write_citations("citations.jsonl", [Citation("US1A", "EP2B", "X")])
        >>> read_citations("citations.jsonl")
        [Citation(citing='US1A', cited='EP2B', category='X', origin='')]
    """
    path = Path(path)
    citations = []
    for row, citation in _read(path, CITATION_SCHEMA, _citation):
        if not citation.citing or not citation.cited:
            raise DataError("citing or cited is empty", path=path, row=row, remedy="fill both")
        citations.append(citation)
    return citations


def write_patents(path: Path | str, patents: Iterable[Patent]) -> None:
    """Write ``patents.parquet`` or ``patents.jsonl`` (by suffix); :func:`read_patents` gives the same records back.

    Example:
        >>> from patent_mteb.patents.records import read_patents, write_patents
        >>> from patent_mteb.sample import generate
        >>> patents = generate()[0][:3]
        >>> write_patents("patents.jsonl", patents)
        >>> read_patents("patents.jsonl") == patents
        True
    """
    write_rows(Path(path), map(dataclasses.asdict, patents), PATENT_SCHEMA)


def write_citations(path: Path | str, citations: Iterable[Citation]) -> None:
    """Write ``citations.parquet`` or ``citations.jsonl`` (by suffix); :func:`read_citations` gives the same records back.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.records import Citation, write_citations
        >>> write_citations("citations.jsonl", [Citation("US1A", "EP2B", "X", "examiner")])
        >>> print(Path("citations.jsonl").read_text(), end="")
        {"citing": "US1A", "cited": "EP2B", "category": "X", "origin": "examiner"}
    """
    write_rows(Path(path), map(dataclasses.asdict, citations), CITATION_SCHEMA)
