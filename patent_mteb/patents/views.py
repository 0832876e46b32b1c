"""Text views of a patent: which sections a model reads, in which order and how joined.

A view is a tuple of section names (:data:`VIEW_SECTIONS`) joined by ONE space; empty sections leave no trace. With one
space, a BEIR row that keeps the title apart gives the very same text, because mteb and BEIR put ``title + " " + text``
before a model. A benchmark that marks its sections asks for ``view_text(patent, "TA", SEPARATOR)`` or calls
:func:`join_sections` itself.

Sources of the views: WIPO-AT Table 1 (``TA TAC Abstract Claim1 DWPIFull DWPITA``), DAPFAM §5 (``Title Keywords
Description FullText``; full text is title + abstract + claims + description) and Sophia-Bench §3.1 and §3.3
(``Claims``, and ``Tacd``, which is composed as ``FullText`` is).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import partial

from patent_mteb.patents.claims import claims_text, first_independent_claim
from patent_mteb.patents.records import Description, Patent

__all__ = ["SECTIONS", "SEPARATOR", "VIEWS", "VIEW_SECTIONS", "join_sections", "view_text"]

SEPARATOR = " [SEP] "
"""Between the sections of a text where a benchmark marks them (PatenTEB, PatentMap)."""


def join_sections(sections: Iterable[str], separator: str = " ") -> str:
    """Join the sections that are not empty; each is stripped of white space at its ends."""
    return separator.join(section for section in map(str.strip, sections) if section)


def _expert_summaries(patent: Patent) -> str:
    expert = patent.expert
    return join_sections(
        (expert.detailed_description, expert.novelty, expert.use, expert.advantage, expert.technology_focus)
    )


SECTIONS: Mapping[str, Callable[[Patent], str]] = {
    "title": lambda patent: patent.title,
    "abstract": lambda patent: patent.abstract,
    "claims": lambda patent: claims_text(patent.claims),
    "claim1": lambda patent: first_independent_claim(patent.claims),
    "description": lambda patent: join_sections(
        getattr(patent.description, field.name) for field in fields(Description)
    ),
    "keywords": lambda patent: ", ".join(patent.keywords),
    "dwpi_title": lambda patent: patent.expert.title,
    "dwpi_summaries": _expert_summaries,
}
"""Section name -> its text. Numbered claims; the description in the order of its sections; keywords separated by
commas; ``dwpi_summaries`` are the five expert-written fields besides the title in the order of WIPO-AT §3.1.4."""

VIEW_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Title": ("title",),
    "Abstract": ("abstract",),
    "TA": ("title", "abstract"),
    "TAC": ("title", "abstract", "claims"),
    "Claim1": ("claim1",),
    "Claims": ("claims",),
    "Keywords": ("keywords",),
    "Description": ("description",),
    "FullText": ("title", "abstract", "claims", "description"),
    "Tacd": ("title", "abstract", "claims", "description"),
    "DWPIFull": ("dwpi_title", "dwpi_summaries", "claims", "abstract", "title", "keywords"),
    "DWPITA": ("dwpi_title", "dwpi_summaries"),
}
"""View name -> its sections in order.

``DWPIFull`` follows WIPO-AT Table 1; its "topics" are the topic keywords that §3.6 names, not the taxonomy labels,
which would give the answer to the classification tasks away. ``DWPITA`` is "DWPI title + DWPI abstract summaries", read
as the same five fields. """


def view_text(patent: Patent, view: str, separator: str = " ") -> str:
    """Text of one view of a patent."""
    if view not in VIEW_SECTIONS:
        raise KeyError(f"unknown view {view!r}; known are {', '.join(VIEW_SECTIONS)}")
    return join_sections((SECTIONS[name](patent) for name in VIEW_SECTIONS[view]), separator)


VIEWS: Mapping[str, Callable[[Patent], str]] = {name: partial(view_text, view=name) for name in VIEW_SECTIONS}
"""View name -> function of a patent, sections joined by one space."""
