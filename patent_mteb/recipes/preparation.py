"""Preparation of records before a recipe reads them: patent families, near-duplicates, citations matched to records.

Its settings (:class:`Common`) are settings of every recipe. Every step is logged with its counts in and out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import DEFINITIONS, with_families
from patent_mteb.patents.matching import STEPS, MatchReport, match
from patent_mteb.patents.near_duplicates import NEAR_DUPLICATES, near_duplicate_groups, with_near_duplicates
from patent_mteb.patents.on_disk import publications
from patent_mteb.recipes.log import BuildLog


@dataclass(frozen=True)
class Common:
    """Settings of every recipe.

    Attributes:
        match: how a cited number finds its record: by number, also without kind code, or also through members of its
            patent family.
        families: definition of a patent family: as given, the publications of one application, the simple or the
            extended family.
        twins: treatment of publications of different families with one title and abstract: keep them, merge their
            families, or drop all but the earliest.
    """

    match: Literal["number", "kind", "family"] = "number"
    families: Literal["given", "application", "simple", "extended"] = "given"
    twins: Literal["keep", "merge", "drop"] = "keep"


def prepare(
    collection: Collection, common: Common, log: BuildLog, joined: bool = True
) -> tuple[Collection, MatchReport]:
    """Return the collection as a recipe reads it, and the match report."""
    n_families = _n_families(collection)
    if common.families != collection.family_definition:
        collection = with_families(collection, common.families)
        log.deviate(f"patent families are {DEFINITIONS[common.families]}")
    log.step(f"families: {common.families}", n_families, _n_families(collection), DEFINITIONS[common.families])

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
    if common.match != "number":
        log.deviate(f"citations find {STEPS[common.match]}: {report.links} links of {report.citations} citations")
    return replace(collection, citations=citations), report


def _n_families(collection: Collection) -> int:
    return len({patent.family_id for patent in publications(collection.patents)})
