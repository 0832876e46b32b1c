"""Preparation of records before a recipe reads them: patent families, near-duplicates, citations matched to records.

Its settings (:class:`Common`) are settings of every recipe. Every step is logged with its counts in and out. A recipe
whose source states all families has other defaults (``COMMON`` in :mod:`patent_mteb.recipes`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import DEFINITIONS, RULES, with_families, with_joined_families
from patent_mteb.patents.matching import STEPS, MatchReport, match
from patent_mteb.patents.near_duplicates import (
    NEAR_DUPLICATES,
    citing_near_duplicates,
    near_duplicate_groups,
    with_near_duplicates,
)
from patent_mteb.patents.on_disk import publications
from patent_mteb.recipes.log import BuildLog, counts_note

MANY = 0.05
"""Share of the queries with a near-duplicate in another family from which a build warns."""


@dataclass(frozen=True)
class Common:
    """Settings of every recipe.

    Attributes:
        match: how a cited number finds its record: by number, also without kind code, or also through members of its
            patent family.
        families: definition of a patent family: as given, as given and joined by applications, priorities and lists of
            members, the publications of one application, the simple or the extended family.
        twins: treatment of publications of different families with one title and abstract: keep them, merge their
            families, or drop all but the earliest.
    """

    match: Literal["number", "kind", "family"] = "kind"
    families: Literal["given", "joined", "application", "simple", "extended"] = "joined"
    twins: Literal["keep", "merge", "drop"] = "keep"


AS_GIVEN = Common(match="number", families="given")
"""Defaults of recipes whose source states the families of its publications."""


def prepare(
    collection: Collection, common: Common, log: BuildLog, joined: bool = True, default: Common = Common()
) -> tuple[Collection, MatchReport]:
    """Return the collection as a recipe with these default settings reads it, and the match report."""
    n_families = _n_families(collection)
    note = DEFINITIONS[common.families]
    if common.families == "joined" != collection.family_definition:
        collection, joined_by = with_joined_families(collection)
        note = counts_note({f"joined to another by {RULES[rule]}": count for rule, count in joined_by.items()}) or note
    elif common.families != collection.family_definition:
        collection = with_families(collection, common.families)
        if common.families != default.families:
            log.deviate(f"patent families are {note}")
    log.step(f"families: {common.families}", n_families, _n_families(collection), note)

    twins = near_duplicate_groups(collection.patents)
    n_alike = sum(map(len, twins))
    before = len(collection.patents)
    collection = with_near_duplicates(collection, common.twins, twins)
    treatment = NEAR_DUPLICATES[common.twins]
    note = f"{n_alike} publications share title and abstract with one of another family and {treatment}"
    log.step(f"twins: {common.twins}", before, len(collection.patents), note if n_alike else "")
    if common.twins != "keep":
        log.deviate(note)

    citations, report = match(collection.citations, collection, common.match, joined=joined)
    found = f"{report}; {', '.join(report.examples)} have no record" if report.examples else str(report)
    found = found if report.citations else "there are no citations"
    log.step(f"citations matched by {common.match}", report.citations, report.links, found)
    if (common.match != "number" and report.through_kind) or (common.match == "family" and report.through_family):
        log.deviate(f"citations find {STEPS[common.match]}: {report.links} links of {report.citations} citations")
    if twins and common.twins == "keep":
        alike, queries = citing_near_duplicates(twins, citations, collection.patents)
        if alike and alike >= MANY * queries:
            note = (
                f"{alike} of {queries} citing families have the title and abstract of another family, which is their"
                " nearest neighbour: --set twins=merge makes one family of them, twins=drop keeps the earliest"
            )
            log.warn("queries with twins", queries, queries - alike, note)
    return replace(collection, citations=citations), report


def _n_families(collection: Collection) -> int:
    return len({patent.family_id for patent in publications(collection.patents)})
