"""Text views of a patent: which sections a model reads, in which order and how joined.

A view is a tuple of section names (:data:`VIEW_SECTIONS`). Its non-empty sections are joined by one space. mteb and
BEIR give ``title + " " + text`` to a model, so a BEIR row with a separate title gives the same text. Benchmarks that
mark their sections use :func:`join_sections` with a separator.

The views come from WIPO-AT Table 1 (``TA TAC Abstract Claim1 DWPIFull DWPITA``), DAPFAM §5 (``Title Keywords
Description FullText``; full text is title + abstract + claims + description) and Sophia-Bench §3.1 and §3.3
(``Claims``, and ``Tacd``, which equals ``FullText``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import partial

from patent_mteb.patents.claims import claims_text, first_independent_claim
from patent_mteb.patents.records import Description, ExpertSummary, Patent

SEPARATOR = " [SEP] "  # separator of sections in benchmarks that mark them (PatenTEB, PatentMap)


def join_sections(sections: Iterable[str], separator: str = " ") -> str:
    """Strip the sections and join those that are not empty."""
    return separator.join(section for section in map(str.strip, sections) if section)


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
    "dwpi_summaries": lambda patent: join_sections(
        getattr(patent.expert, field.name) for field in fields(ExpertSummary) if field.name != "title"
    ),
}
"""Section name -> its text. Claims are numbered and keywords separated by commas. ``dwpi_summaries`` are the five
expert-written fields after the title, in the order of WIPO-AT §3.1.4."""

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

``DWPIFull`` follows WIPO-AT Table 1. Its "topics" are read as the topic keywords of §3.6: the taxonomy labels are the
answers of the classification tasks. ``DWPITA`` is "DWPI title + DWPI abstract summaries", read as the same five
fields."""


def _joined(patent: Patent, sections: Iterable[str]) -> str:
    return join_sections(SECTIONS[name](patent) for name in sections)


VIEWS: Mapping[str, Callable[[Patent], str]] = {
    view: partial(_joined, sections=sections) for view, sections in VIEW_SECTIONS.items()
}
"""View name -> function from a patent to its text, sections joined by one space."""
