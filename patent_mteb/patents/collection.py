"""Collections: the records, citations, relations and families of one source.

``patent-mteb data import`` writes a collection as a *records directory*. Users may provide one in the same layout::

    ROOT/patents/*.parquet       ROOT/citations/*.parquet       ROOT/relations/*.parquet (optional)
    ROOT/families.parquet (optional; publication_number, family_id, publications without a record too)

Each table may be one file instead (``patents.parquet``, ``patents.jsonl``, ``patents.jsonl.gz``).

Some sources name the citing application instead of the citing publication (USPTO enriched citations). An application
number can equal the number of another publication: ``US12000001`` is an application of 2008 and a grant of 2024. Such a
citation therefore has a prefix before the number until the publication is known (:func:`citing_application`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.patents.families import DEFINITIONS, Publications, families_of, read_families
from patent_mteb.patents.on_disk import DiskList, publications, stored, stored_like, with_family
from patent_mteb.patents.records import Citation, Patent, Relation, read_records

_PREFIX = "application "


def citing_application(number: str) -> str:
    return _PREFIX + number


def of_publications(
    citations: Sequence[Citation], patents: Sequence[Patent], relations: Iterable[Relation] = ()
) -> Sequence[Citation]:
    """Replace each citing application by its publication before grant, or else by its first publication.

    Applications without a known publication stay as they are.
    """
    if not any(one.citing.startswith(_PREFIX) for one in citations):
        return citations
    published: dict[str, list[str]] = {}
    for application, number in publications(patents).select("application", "number").iter_rows():
        published.setdefault(citing_application(application), []).append(number)
    for relation in relations:
        if relation.kind == "application":
            published.setdefault(citing_application(relation.related), []).append(relation.number)
    # of publications of applications (kinds A, A1, A2, A9), else of all, the lowest number
    first = {
        application: min(numbers, key=lambda number: (not number.rstrip("0123456789").endswith("A"), number))
        for application, numbers in published.items()
    }
    named = (replace(one, citing=first[one.citing]) if one.citing in first else one for one in citations)
    return stored_like(named, like=citations)


@dataclass(frozen=True)
class Collection:
    """Patents with their citations, relations and families.

    ``families`` is a table with ``number`` and ``family`` that includes publications without a record.
    ``family_definition`` is a key of :data:`patent_mteb.patents.families.DEFINITIONS`, and says if near-duplicates were
    merged or dropped.
    """

    patents: Sequence[Patent]
    citations: Sequence[Citation] = ()
    relations: Sequence[Relation] = ()
    families: pl.DataFrame = field(default_factory=lambda: families_of({}))
    family_definition: str = "given"


def with_families(collection: Collection, definition: str) -> tuple[Collection, dict[str, int]]:
    """Apply a definition of families to the records, the table of families and ``family_definition``.

    For ``joined``, return also how many families each of :data:`~patent_mteb.patents.families.RULES` joins to another.
    A joined family keeps the alphabetically first id of its families.
    """
    if definition not in DEFINITIONS:
        problem = f"unknown definition of a patent family '{definition}'"
        raise DataError(problem, remedy=f"choose among {', '.join(DEFINITIONS)}")
    known = Publications(collection.patents, collection.relations, collection.families)
    families, of_records, counts = known.families(definition)
    patents = with_family(collection.patents, of_records)
    return replace(collection, patents=patents, families=families, family_definition=definition), counts


_OTHERS = ("citations", "relations", "families")  # tables of a records directory


def table_of(root: Path, name: str) -> Path | None:
    """Return the file or the folder of a table in a records directory, None if it is missing."""
    paths = (root / f"{name}{form}" for form in ("", ".parquet", ".jsonl", ".jsonl.gz"))
    return next((path for path in paths if path.exists()), None)


def read_collection(records: Path | str, citations: Path | str | None = None, definition: str = "given") -> Collection:
    """Read a records directory, or a table of patents and a table of citations.

    The records are stored on disk with outlines in memory (:mod:`patent_mteb.patents.on_disk`).
    """
    path = Path(records)
    patents = table_of(path, "patents") if path.is_dir() else None
    if patents and citations:
        raise DataError("the directory has its own citations", path=path, remedy="give the directory alone")
    if path.is_dir() and not patents and (others := [name for name in _OTHERS if table_of(path, name)]):
        problem = f"the directory has {' and '.join(others)}, but no patents"
        raise DataError(problem, path=path, remedy="restore patents.parquet (or the folder 'patents'), or import again")
    folder = path if patents else path.parent
    edges = table_of(path, "citations") if patents else Path(citations) if citations else None
    relations, families = table_of(folder, "relations"), folder / "families.parquet"
    published = stored(read_records(patents or path, Patent))
    related = DiskList(read_records(relations, Relation)) if relations else []
    collection = Collection(
        published,
        of_publications(DiskList(read_records(edges, Citation)), published, related) if edges else [],
        related,
        read_families(families) if families.exists() else families_of({}),
    )
    return with_families(collection, definition)[0]
