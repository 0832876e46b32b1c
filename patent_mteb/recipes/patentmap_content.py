"""The content files of PatentMap's data: the sections of a patent, as they are published and as a model reads them.

Every section is cut to its first 500 words (split at white space); a text is ``title [SEP] abstract``, the claims, or the
description. Models that were made for them read section tags (``title [SEP] [abstract] ...``, ``[claim] ...``, ``[invention] ...``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError
from patent_mteb.files import json_lines, unique
from patent_mteb.patents.views import SEPARATOR, join_sections

__all__ = ["SECTION_TAGS", "WORDS", "Content", "cut", "read_content", "title_and_abstract"]

SECTION_TAGS = {"abstract": "[abstract]", "claim": "[claim]", "invention": "[invention]"}
"""Tag of each section: abstract, claims, description."""

WORDS = 500
"""Words that are kept of each section."""


@dataclass(frozen=True)
class Content:
    """The sections of one patent, each cut to :data:`WORDS` words."""

    title: str
    abstract: str
    claims: str
    description: str

    def section(self, name: str, tags: bool) -> str:
        """Text of the section ``abstract`` (with the title), ``claim`` or ``invention``, empty if the patent lacks it."""
        tag = SECTION_TAGS[name] if tags else ""
        if name == "abstract":
            return title_and_abstract(self.title, self.abstract, tags)
        text = self.claims if name == "claim" else self.description
        return f"{tag} {text}".strip() if text else ""


def title_and_abstract(title: str, abstract: str, tags: bool) -> str:
    """``title [SEP] [abstract] abstract``, without the tag if ``tags`` is False; what is missing leaves no separator.

    Example:
        >>> from patent_mteb.recipes.patentmap_content import title_and_abstract
        >>> title_and_abstract("Pump", "It pumps.", tags=True), title_and_abstract("Pump", "", tags=True)
        ('Pump [SEP] [abstract] It pumps.', 'Pump')
    """
    tagged = f"{SECTION_TAGS['abstract']} {abstract}" if tags and abstract else abstract
    return join_sections((title, tagged), SEPARATOR)


_CLAIM = re.compile(r"c-en-(\d+)")
_PARAGRAPH = re.compile(r"p(\d+)")


def cut(text: str) -> str:
    """The first :data:`WORDS` words, split at white space.

    Example:
        >>> from patent_mteb.recipes.patentmap_content import cut
        >>> len(cut("word " * 600).split())
        500
    """
    return " ".join(text.split()[:WORDS])


def _numbered(content: Mapping[str, str], pattern: re.Pattern[str], separator: str) -> str:
    numbered = sorted((int(match[1]), text) for name, text in content.items() if (match := pattern.fullmatch(name)))
    return separator.join(text for _, text in numbered)


def _patent(record: Mapping[str, Any]) -> tuple[str, Content]:
    """Number and sections of one record; KeyError, TypeError or AttributeError if it is none."""
    key, content = record["dnum"], record["Content"]
    if not isinstance(key, str) or not key:
        raise TypeError("dnum is no text")
    texts = {name: text for name, text in content.items() if text is not None}
    if wrong := [name for name, text in texts.items() if not isinstance(text, str)]:
        raise TypeError(f"'{wrong[0]}' is no text")
    claims, description = _numbered(texts, _CLAIM, "\n"), _numbered(texts, _PARAGRAPH, " ")
    return key, Content(cut(texts.get("title", "")), cut(texts.get("pa01", "")), cut(claims), cut(description))


def _patents(path: Path) -> Iterator[tuple[int, tuple[str, Content]]]:
    for row, record in json_lines(path):
        try:
            yield row, _patent(record)
        except (KeyError, TypeError, AttributeError) as error:
            reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise DataError(f"no patent of the form {{dnum, Content}} ({reason})", path=path, row=row, remedy="mend the line") from error


def read_content(path: Path) -> dict[str, Content]:
    """Read a file of ``content/``.

    Raises:
        DataError: malformed line, missing or empty ``dnum``, a section that is no text, or a number that occurs twice.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.files import write_jsonl
        >>> from patent_mteb.recipes.patentmap_content import read_content
        >>> write_jsonl(Path("content.jsonl"), [{"dnum": "EP1", "Content": {"title": "Pump", "pa01": "It pumps.", "c-en-0001": "A pump."}}])
        >>> read_content(Path("content.jsonl"))["EP1"].section("claim", tags=True)
        '[claim] A pump.'
    """
    rows = unique(_patents(path), itemgetter(0), path=path, what="", remedy="keep one of the two rows")
    patents = dict(patent for _, patent in rows)
    if not patents:
        raise DataError("the file is empty", path=path, remedy="write at least one patent")
    return patents
