"""A collection: records, citations, relations and families of one source, as one thing.

A *records directory* is what ``patent-mteb import`` writes, and what a user may lay out alike::

    ROOT/patents/*.parquet       ROOT/citations/*.parquet       ROOT/relations/*.parquet (optional)
    ROOT/families.parquet (optional; publication_number, family_id, publications without a record too)

Each table may be one file instead (``patents.parquet``, ``patents.jsonl``, ``patents.jsonl.gz``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.patents.applications import of_publications
from patent_mteb.patents.families import read_families, with_families
from patent_mteb.patents.records import Citation, Patent, Relation, records_in
from patent_mteb.patents.spool import Spool
from patent_mteb.patents.stored import stored

__all__ = ["Collection", "read_collection", "table_of"]

_FORMS = ("", ".parquet", ".jsonl", ".jsonl.gz")


@dataclass(frozen=True)
class Collection:
    """What is known of some patents.

    Attributes:
        families: family by publication number, publications without a record among them.
        family_definition: what a patent family is in this collection (see :data:`patent_mteb.patents.families.DEFINITIONS`), and what
            was done to twins.
    """

    patents: Sequence[Patent]
    citations: Sequence[Citation] = ()
    relations: Sequence[Relation] = ()
    families: Mapping[str, str] = field(default_factory=dict)
    family_definition: str = "given"


def table_of(root: Path, name: str) -> Path | None:
    """The file or the folder of a table in a records directory, None if there is none.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.collection import table_of
        >>> from patent_mteb.patents.records import write_citations
        >>> write_citations("records/citations.parquet", [])
        >>> table_of(Path("records"), "citations").name, table_of(Path("records"), "relations")
        ('citations.parquet', None)
    """
    return next((place for form in _FORMS if (place := root / f"{name}{form}").exists()), None)


def read_collection(records: Path | str, citations: Path | str | None = None, definition: str = "given") -> Collection:
    """Read a records directory, or a table of patents and one of citations.

    A citation that goes out from an application is put on its publication (:mod:`patent_mteb.patents.applications`). Of the records
    only names stay in memory (:mod:`patent_mteb.patents.stored`).

    Args:
        records: the directory, or ``patents.parquet`` and the like.
        citations: the citations of a single table of patents; not for a directory, which holds its own. A ``families.parquet`` and
            ``relations`` beside that table of patents are read too.
        definition: what a patent family is (:data:`patent_mteb.patents.families.DEFINITIONS`).

    Raises:
        DataError: a table is missing or cannot be read, or an unknown definition.

    Example:
        >>> from patent_mteb.patents.collection import read_collection
        >>> from patent_mteb.patents.records import Citation, Patent, write_citations, write_patents
        >>> write_patents("records/patents/one.parquet", [Patent("US1A1", "F1")])
        >>> write_citations("records/citations/one.parquet", [Citation("US1A1", "EP2A1")])
        >>> collection = read_collection("records")
        >>> len(collection.patents), len(collection.citations), collection.family_definition
        (1, 1, 'given')
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
    related = Spool(records_in(relations, Relation)) if relations else []
    collection = Collection(
        published,
        of_publications(Spool(records_in(edges, Citation)), published.publications, related) if edges else [],
        related,
        read_families(families) if families.exists() else {},
    )
    return with_families(collection, definition)
