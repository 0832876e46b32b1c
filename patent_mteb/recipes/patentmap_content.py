"""The content files of PatentMap's data: the sections of a patent, as published and as a model reads them.

A text is ``title [SEP] abstract``, the claims, or the description. The authors' models read section tags (``title [SEP]
[abstract] ...``, ``[claim] ...``, ``[invention] ...``).

Sections are prepared as in the authors' evaluation. Backslash escapes of claims and description are resolved, and the
mark-up remnant `` -->`` is removed. A section is split at single blanks, not at line breaks, and cut to 500 pieces. The
authors embed the result (:meth:`Content.paper_section`); the suite reads its first 500 words, separated by blanks. A
title is not cut.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError, refuse_repeat
from patent_mteb.files import json_lines, load_json
from patent_mteb.patents.categories import CATEGORIES, UNGRADED, strongest
from patent_mteb.patents.views import SEPARATOR, join_sections

logger = logging.getLogger(__name__)
SECTION_TAGS = {"abstract": "[abstract]", "claim": "[claim]", "invention": "[invention]"}
"""Tags of abstract, claims and description."""

WORDS = 500
"""Length of a section in pieces."""

CITED = "cited"
"""Type of a citation without a category, where the recipe does not require one."""

GAINS = {category: row.gain for category, row in CATEGORIES.items()} | {CITED: UNGRADED.gain}
"""Gains of the graded nDCG by type of citation."""


@dataclass(frozen=True)
class Content:
    """The sections of a patent, cut to :data:`WORDS` pieces."""

    title: str
    abstract: str
    claims: str
    description: str

    def section(self, name: str, tags: bool) -> str:
        """Return the section ``abstract`` (with the title), ``claim`` or ``invention``."""
        if name == "abstract":
            return title_and_abstract(_words(self.title), _words(self.abstract), tags)
        text = _words(self.claims if name == "claim" else self.description)
        return f"{SECTION_TAGS[name]} {text}" if tags and text else text

    def paper_section(self, name: str, tags: bool) -> str:
        """Return the text that the authors embed, with marks of missing sections."""
        tag = f"{SECTION_TAGS[name]} " if tags else ""
        if name == "abstract":
            return f"{self.title}{SEPARATOR}{tag}{self.abstract}".strip()
        return f"{tag}{self.claims if name == 'claim' else self.description}".strip()


def _words(text: str) -> str:
    return " ".join(text.split()[:WORDS])


def title_and_abstract(title: str, abstract: str, tags: bool) -> str:
    """Return ``title [SEP] [abstract] abstract``, without marks of a missing part."""
    tagged = f"{SECTION_TAGS['abstract']} {abstract}" if tags and abstract else abstract
    return join_sections((title, tagged), SEPARATOR)


_CLAIM = re.compile(r"c-en-(\d{1,18})")
_PARAGRAPH = re.compile(r"p(\d{1,18})")
_BROKEN_BYTE = re.compile(r"\\x[0-9a-fA-F]?(?![0-9a-fA-F])")
_NO_ESCAPE = re.compile(r"\\[^nrtbfav\"'\\]")


def cut(text: str) -> str:
    """Return the first :data:`WORDS` pieces between single blanks, without ``-->``."""
    return " ".join(text.replace(" -->", "").split(" ")[:WORDS]).strip()


def unescaped(text: str) -> str:
    r"""Resolve backslash escapes; if that fails, remove those that escape nothing."""
    if "\\" not in text:
        return text
    plain = text.replace("\\/", "/").replace('\\"', '"')
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a backslash that does not begin an escape stays
            return plain.encode().decode("unicode_escape").encode("latin-1").decode()
    except UnicodeError:
        return _NO_ESCAPE.sub("", _BROKEN_BYTE.sub("", plain))


def strongest_type(category: str) -> str:
    """Return the type of a citation: its strongest category, or :data:`CITED`."""
    return CITED if category == CITED else strongest(category)


def _numbered(content: Mapping[str, str], pattern: re.Pattern[str], separator: str) -> str:
    numbered = sorted((int(match[1]), text) for name, text in content.items() if (match := pattern.fullmatch(name)))
    return separator.join(text for _, text in numbered)


def _patent(record: Mapping[str, Any]) -> tuple[str, Content]:
    """Parse a record; raise KeyError, TypeError or AttributeError if it is invalid."""
    key, content = record["dnum"], record["Content"]
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    if not isinstance(key, str) or not key:
        raise TypeError("dnum is neither a text nor a number")
    texts = {name: text for name, text in content.items() if text is not None}
    if wrong := [name for name, text in texts.items() if not isinstance(text, str)]:
        raise TypeError(f"'{wrong[0]}' is not a text")
    claims = cut(unescaped(_numbered(texts, _CLAIM, "\n")))
    description = cut(unescaped(_numbered(texts, _PARAGRAPH, " ")))
    return key, Content(texts.get("title", "").strip(), cut(texts.get("pa01", "")), claims, description)


def _patents(path: Path) -> Iterator[tuple[int, tuple[str, Content]]]:
    for row, record in json_lines(path):
        try:
            yield row, _patent(record)
        except (KeyError, TypeError, AttributeError) as error:
            reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            problem = f"not a patent of the form {{dnum, Content}} ({reason})"
            raise DataError(problem, path=path, row=row, remedy="correct the line") from error


def read_content(path: Path) -> dict[str, Content]:
    """Read a file of ``content/`` and count repeated lines, which published ones have."""
    patents: dict[str, Content] = {}
    rows: dict[str, int] = {}
    again = 0
    for row, (key, content) in _patents(path):
        if patents.setdefault(key, content) != content:
            refuse_repeat(rows, key, row, path=path, what="", remedy="keep one of the two rows, which differ")
        again += rows.setdefault(key, row) != row
    if again:
        logger.warning("%s: %d lines repeat an earlier one", path, again)
    if not patents:
        raise DataError("the file is empty", path=path, remedy="write at least one patent")
    return patents


def read_gold(path: Path) -> list[tuple[str, str, str]]:
    """Read ``gold.json``: citing number, cited number, category (empty if null)."""

    def refused(problem: str) -> DataError:
        form = "not of the form {citing: [{cited_id, type}]}"
        return DataError(f"{form} ({problem})", path=path, remedy="correct the file or download it again")

    gold = load_json(path)
    if not isinstance(gold, dict):
        raise refused(f"a JSON {type(gold).__name__}")
    listed = []
    for query, entries in gold.items():
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise refused(f"'{query}' has no list of objects")
        for entry in entries:
            document, category = entry.get("cited_id"), entry.get("type")
            if isinstance(document, int) and not isinstance(document, bool):
                document = str(document)
            if not isinstance(document, str):
                raise refused(f"cited_id of '{query}' is {document!r}")
            if "type" not in entry or not isinstance(category, (str, type(None))):
                raise refused(f"type of '{query}' and '{document}' is {category!r}")
            listed.append((query, document, category or ""))
    return listed
