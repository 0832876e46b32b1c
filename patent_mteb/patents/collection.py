"""A collection: records, citations, relations and families of one source, as one thing.

A *records directory* is what ``patent-mteb import`` writes, and what a user may lay out alike::

    ROOT/patents/*.parquet       ROOT/citations/*.parquet       ROOT/relations/*.parquet (optional)
    ROOT/families.parquet (optional; publication_number, family_id, publications without a record too)

Each table may be one file instead (``patents.parquet``, ``patents.jsonl``, ``patents.jsonl.gz``).

Citations that go out from an application, where their source names no publication (USPTO enriched citations).

An application number may look like the number of another publication (``US12000001`` is an application of 2008 and a
grant of 2024), so it stands in a citation with a word before it until the publication is known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.patents.families import read_families, with_families
from patent_mteb.patents.on_disk import DiskList, stored, stored_like
from patent_mteb.patents.records import Citation, Patent, Relation, records_in

_WORD = "application "


def citing_application(number: str) -> str:
    """What stands as ``Citation.citing`` for an application."""
    return _WORD + number


def of_publications(
    citations: Sequence[Citation], patents: Iterable[Patent], relations: Iterable[Relation] = ()
) -> Sequence[Citation]:
    """Citations with the publication of each citing application in its place: the one before grant if there is one,
    else the first.

    Others pass unchanged, and so do applications of which no record or relation names a publication.
    """
    if not any(one.citing.startswith(_WORD) for one in citations):
        return citations
    published: dict[str, list[str]] = {}
    for patent in patents:
        published.setdefault(citing_application(patent.application_number), []).append(patent.publication_number)
    for relation in relations:
        if relation.kind == "application":
            published.setdefault(citing_application(relation.related), []).append(relation.number)
    first = {application: min(numbers, key=_before_grant) for application, numbers in published.items()}
    named = (dataclasses.replace(one, citing=first[one.citing]) if one.citing in first else one for one in citations)
    return stored_like(named, like=citations)


def _before_grant(number: str) -> tuple[bool, str]:
    """Publications of applications (kinds A, A1, A2, A9) first, then by number."""
    return not number.rstrip("0123456789").endswith("A"), number


_FORMS = ("", ".parquet", ".jsonl", ".jsonl.gz")


@dataclass(frozen=True)
class Collection:
    """What is known of some patents.

    Attributes:
        families: family by publication number, publications without a record among them.
        family_definition: what a patent family is in this collection (see
            :data:`patent_mteb.patents.families.DEFINITIONS`), and what was done to twins.
    """

    patents: Sequence[Patent]
    citations: Sequence[Citation] = ()
    relations: Sequence[Relation] = ()
    families: Mapping[str, str] = field(default_factory=dict)
    family_definition: str = "given"


def table_of(root: Path, name: str) -> Path | None:
    """The file or the folder of a table in a records directory, None if there is none."""
    return next((place for form in _FORMS if (place := root / f"{name}{form}").exists()), None)


def read_collection(records: Path | str, citations: Path | str | None = None, definition: str = "given") -> Collection:
    """Read a records directory, or a table of patents and one of citations.

    A citation that goes out from an application is put on its publication (:mod:`patent_mteb.patents.collection`). Of
    the records only names stay in memory (:mod:`patent_mteb.patents.on_disk`).
    """
    place = Path(records)
    patents = table_of(place, "patents") if place.is_dir() else None
    if patents and citations:
        raise DataError("the directory holds its own citations", path=place, remedy="give the directory alone")
    if patents is None:
        patents, beside = place, place.parent
        edges = Path(citations) if citations else None
    else:
        beside = place
        edges = table_of(place, "citations")
    relations, families = table_of(beside, "relations"), beside / "families.parquet"
    published = stored(records_in(patents, Patent))
    related = DiskList(records_in(relations, Relation)) if relations else []
    collection = Collection(
        published,
        of_publications(DiskList(records_in(edges, Citation)), published.publications, related) if edges else [],
        related,
        read_families(families) if families.exists() else {},
    )
    return with_families(collection, definition)
