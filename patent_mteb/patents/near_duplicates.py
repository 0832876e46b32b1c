"""Publications of different families with the same title and abstract, and sketches of patents.

Near-duplicates are texts that are equal but for case and white space. Most of them are US continuations.

A sketch is a patent without its texts: it only says which texts exist. Recipes decide on sketches which publications
qualify, who cites whom and which are sampled. They read the full record from a temporary file when they write its row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import age
from patent_mteb.patents.on_disk import DiskList, only, publications, with_family
from patent_mteb.patents.records import (
    Citation,
    Claim,
    Description,
    ExpertSummary,
    MachineSummaries,
    Patent,
    TextLanguages,
)
from patent_mteb.patents.text import text_key
from patent_mteb.patents.text_columns import (
    Digests,
    Keyed,
    TextIndex,
    TextMap,
    coded,
    codes_of,
    first_of_connected,
    renamed,
)

_Texts = TypeVar("_Texts", Description, ExpertSummary, MachineSummaries)


def sketch(patent: Patent) -> Patent:
    """Return the record without its texts and long lists.

    Title and abstract are cut to their first character and claims to one. Every other text becomes a mark.
    """
    emptied: dict[str, Any] = dict.fromkeys(
        ("cpc", "inventors", "applicants", "labels", "keywords", "translations", "paragraphs"), ()
    )
    return replace(
        patent,
        title=_first_letter(patent.title),
        abstract=_first_letter(patent.abstract),
        claims=_claims(patent.claims),
        description=_marks(patent.description),
        expert=_marks(patent.expert),
        summaries=_marks(patent.summaries),
        languages=TextLanguages(),
        application_number="",
        source="",
        **emptied,
    )


def _first_letter(text: str) -> str:
    """The first character that is not white space, if there is one."""
    return text.lstrip()[:1] or text[:1]


def _mark(text: str) -> str:
    """A mark for a text, a space for white space."""
    return "x" if text.strip() else text and " "


def _claims(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """One claim, with a text if any claim has one; its number is 0 if the claims could not be split."""
    first = next((claim for claim in claims if claim.text.strip()), next(iter(claims), None))
    return () if first is None else (Claim(min(first.number, 1), _mark(first.text)),)


def _marks(texts: _Texts) -> _Texts:
    return replace(texts, **{one.name: _mark(getattr(texts, one.name)) for one in fields(texts)})


class Sketched(Keyed[Patent]):
    """Sketches of patents by publication number, in the order of the patents. Both are in temporary files."""

    def __init__(self, patents: Sequence[Patent], prepare: Callable[[Patent], Patent] | None = None) -> None:
        known = publications(patents)
        self.families = known.families
        self.records: DiskList[Patent] = DiskList(map(prepare, patents) if prepare else patents)
        super().__init__(known.numbers, DiskList(map(sketch, self.records)))

    def record(self, number: str) -> Patent:
        """Return the full record."""
        return self.records[self.row_of(number)]


NEAR_DUPLICATES = {"keep": "stay", "merge": "become one patent family", "drop": "are left out but for the earliest"}
"""Values of the setting ``twins`` -> what happens to near-duplicates, in the words of the log of a build."""


def near_duplicate_groups(patents: Sequence[Patent]) -> list[list[Patent]]:
    """Return the groups of publications of different families with the same title and abstract, as outlines.

    Records without abstract are in no group.
    """
    known = publications(patents)
    return _of_several_families(known, Digests(map(near_duplicate_key, patents)).equal())


def near_duplicate_key(patent: Patent) -> bytes:
    """Return a key that near-duplicates share, empty for a record without abstract."""
    title, abstract = (" ".join(text.casefold().split()) for text in (patent.title, patent.abstract))
    return text_key(title, abstract) if abstract else b""


def _of_several_families(patents: Sequence[Patent], groups_of_rows: Iterable[Sequence[int]]) -> list[list[Patent]]:
    groups = ([patents[row] for row in rows] for rows in groups_of_rows)
    return [group for group in groups if len({patent.family_id for patent in group}) > 1]


def with_near_duplicates(collection: Collection, setting: str, groups: Sequence[Sequence[Patent]]) -> Collection:
    """Apply a value of the setting ``twins`` (:data:`NEAR_DUPLICATES`) to the groups of near-duplicates.

    Merging joins the families of a group. Dropping keeps the family of its earliest publication (by date, then number).
    """
    if setting not in NEAR_DUPLICATES:
        raise DataError(f"twins cannot be '{setting}'", remedy=f"choose among {', '.join(NEAR_DUPLICATES)}")
    if setting == "keep":
        return collection
    if setting == "merge":
        first = first_of_connected([patent.family_id for patent in group] for group in groups)
        families = TextMap.of(collection.families)
        return replace(
            collection,
            patents=with_family(collection.patents, renamed(publications(collection.patents).families, first)),
            families=TextMap(families.column, renamed(families.coded, first)),
            family_definition=f"{collection.family_definition}, twins merged",
        )
    dropped: set[str] = set()
    for group in groups:
        earliest = min(group, key=age)
        dropped |= {patent.publication_number for patent in group if patent.family_id != earliest.family_id}
    return replace(
        collection,
        patents=only(collection.patents, lambda patent: patent.publication_number not in dropped),
        family_definition=f"{collection.family_definition}, twins left out",
    )


def citing_near_duplicates(
    groups: Sequence[Sequence[Patent]], links: Iterable[Citation], patents: Sequence[Patent]
) -> tuple[int, int]:
    """Count the citing families with a near-duplicate in another family, and all citing families.

    The nearest neighbour of such a query is its near-duplicate, which is hardly ever relevant.
    """
    known = publications(patents)
    rows = TextIndex(known.numbers).rows_of(coded(link.citing for link in links).dictionary)
    citing = known.families.dictionary.take(pa.array(np.unique(codes_of(known.families)[rows])))
    alike = pa.array(sorted({patent.family_id for group in groups for patent in group}), citing.type)
    return int(pc.sum(pc.is_in(citing, alike)).as_py() or 0), len(citing)


def leaking_near_duplicates(documents: pl.DataFrame) -> int:
    """Count the documents outside ``train`` with a near-duplicate of another family in ``train``.

    A model can look up their labels there. ``documents`` have ``family``, ``split`` and ``near_duplicate_key`` (null if
    they have no abstract).
    """
    alike = documents.drop_nulls("near_duplicate_key").group_by("near_duplicate_key").agg("family", "split")
    leaking = alike.filter(pl.col("family").list.n_unique() > 1, pl.col("split").list.contains("train"))
    return int(leaking["split"].explode().ne("train").sum())
