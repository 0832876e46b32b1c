"""Publications of different families with the same title and abstract.

Near-duplicates are texts that are equal but for case and white space. Most of them are US continuations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.on_disk import only, publications, with_family
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.tables import by_age, first_of_connected, links_of
from patent_mteb.patents.text import text_key

NEAR_DUPLICATES = {"keep": "stay", "merge": "become one patent family", "drop": "are left out but for the earliest"}
"""Values of the setting ``twins`` -> what happens to near-duplicates, in the words of the log of a build."""


def near_duplicates(patents: Sequence[Patent]) -> pl.DataFrame:
    """Return the publications with the title and abstract of one of another family, with the key of their ``group``.

    Records without abstract are in no group.
    """
    keys = (near_duplicate_key(patent) or None for patent in patents)
    table = publications(patents).with_columns(group=pl.Series(keys, dtype=pl.Binary))
    return table.drop_nulls("group").filter(pl.col("family").n_unique().over("group") > 1)


def near_duplicate_key(patent: Patent) -> bytes:
    """Return a key that near-duplicates share, empty for a record without abstract."""
    title, abstract = (" ".join(text.casefold().split()) for text in (patent.title, patent.abstract))
    return text_key(title, abstract) if abstract else b""


def with_near_duplicates(collection: Collection, setting: str, alike: pl.DataFrame) -> Collection:
    """Apply a value of the setting ``twins`` (:data:`NEAR_DUPLICATES`) to near-duplicates (:func:`near_duplicates`).

    Merging joins the families of a group. Dropping keeps the family of its earliest publication (by date, then number).
    """
    if setting not in NEAR_DUPLICATES:
        raise DataError(f"twins cannot be '{setting}'", remedy=f"choose among {', '.join(NEAR_DUPLICATES)}")
    if setting == "keep":
        return collection
    if setting == "merge":
        first = dict(first_of_connected(alike.select("group", member="family")).iter_rows())
        return replace(
            collection,
            patents=with_family(collection.patents, publications(collection.patents)["family"].replace(first)),
            families=collection.families.with_columns(pl.col("family").replace(first)),
            family_definition=f"{collection.family_definition}, twins merged",
        )
    earliest = pl.col("family").first().over("group")
    dropped = by_age(alike).filter(pl.col("family") != earliest)["number"]
    return replace(
        collection,
        patents=only(collection.patents, ~pl.col("number").is_in(dropped.implode())),
        family_definition=f"{collection.family_definition}, twins left out",
    )


def citing_near_duplicates(
    alike: pl.DataFrame, links: Iterable[Citation], patents: Sequence[Patent]
) -> tuple[int, int]:
    """Count the citing families with a near-duplicate in another family, and all citing families.

    The nearest neighbour of such a query is its near-duplicate, which is hardly ever relevant.
    """
    citing = publications(patents).join(links_of(links), left_on="number", right_on="citing", how="semi")
    families = citing.select(pl.col("family").unique())
    return len(families.join(alike, on="family", how="semi")), len(families)


def leaking_near_duplicates(documents: pl.DataFrame) -> int:
    """Count the documents outside ``train`` with a near-duplicate of another family in ``train``.

    A model can look up their labels there. ``documents`` have ``family``, ``split`` and ``near_duplicate_key`` (null if
    they have no abstract).
    """
    alike = documents.drop_nulls("near_duplicate_key").group_by("near_duplicate_key").agg("family", "split")
    leaking = alike.filter(pl.col("family").list.n_unique() > 1, pl.col("split").list.contains("train"))
    return int(leaking["split"].explode().ne("train").sum())
