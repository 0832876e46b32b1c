"""The content files of PatentMap's data: the sections of a patent, as they are published and as a model reads them.

A text is ``title [SEP] abstract``, the claims, or the description. Models that were made for them read section tags
(``title [SEP] [abstract] ...``, ``[claim] ...``, ``[invention] ...``). Sections are prepared as in the authors' evaluation: backslash
escapes of claims and description are resolved, the mark-up remnant `` -->`` goes, and of what single blanks separate the first 500
pieces stay, so that a line break between two claims parts no piece. Of these the suite reads the first 500 words, a blank between
two; the authors embed them as they are (:meth:`Content.paper_section`). Titles stay whole.
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
from patent_mteb.patents.categories import degree
from patent_mteb.patents.views import SEPARATOR, join_sections

logger = logging.getLogger(__name__)

__all__ = [
    "CITED",
    "GAINS",
    "SECTION_TAGS",
    "WORDS",
    "Content",
    "cut",
    "letter",
    "read_content",
    "read_gold",
    "title_and_abstract",
    "unescaped",
]

SECTION_TAGS = {"abstract": "[abstract]", "claim": "[claim]", "invention": "[invention]"}
"""Tag of each section: abstract, claims, description."""

WORDS = 500
"""Pieces that are kept of each section."""

CITED = "cited"
"""Type of a citation without a letter, where a recipe was told to take every citation."""

GAINS = {"X": 3, "Y": 2, "A": 1, CITED: 1}
"""Gains of the graded nDCG, linear: what prejudices novelty alone, in combination, and background; of no letter, one grade."""


@dataclass(frozen=True)
class Content:
    """The sections of one patent, each cut to :data:`WORDS` pieces."""

    title: str
    abstract: str
    claims: str
    description: str

    def section(self, name: str, tags: bool) -> str:
        """Text of the section ``abstract`` (with the title), ``claim`` or ``invention``, empty if the patent lacks it."""
        if name == "abstract":
            return title_and_abstract(_words(self.title), _words(self.abstract), tags)
        text = _words(self.claims if name == "claim" else self.description)
        return f"{SECTION_TAGS[name]} {text}" if tags and text else text

    def paper_section(self, name: str, tags: bool) -> str:
        """The text that the authors embed: a section that the patent lacks leaves its separator or its tag, or nothing at all."""
        tag = f"{SECTION_TAGS[name]} " if tags else ""
        if name == "abstract":
            return f"{self.title}{SEPARATOR}{tag}{self.abstract}".strip()
        return f"{tag}{self.claims if name == 'claim' else self.description}".strip()


def _words(text: str) -> str:
    return " ".join(text.split()[:WORDS])


def title_and_abstract(title: str, abstract: str, tags: bool) -> str:
    """``title [SEP] [abstract] abstract``, without the tag if ``tags`` is False; what is missing leaves no separator.

    Example:
        >>> from patent_mteb.recipes.patentmap_content import title_and_abstract
        >>> title_and_abstract("Pump", "It pumps.", tags=True), title_and_abstract("Pump", "", tags=True)
        ('Pump [SEP] [abstract] It pumps.', 'Pump')
    """
    tagged = f"{SECTION_TAGS['abstract']} {abstract}" if tags and abstract else abstract
    return join_sections((title, tagged), SEPARATOR)


_CLAIM = re.compile(r"c-en-(\d{1,18})")
_PARAGRAPH = re.compile(r"p(\d{1,18})")
_BROKEN_BYTE = re.compile(r"\\x[0-9a-fA-F]?(?![0-9a-fA-F])")
_NO_ESCAPE = re.compile(r"\\[^nrtbfav\"'\\]")


def cut(text: str) -> str:
    """The first :data:`WORDS` pieces that single blanks separate, without ``-->``.

    Example:
        >>> from patent_mteb.recipes.patentmap_content import cut
        >>> len(cut("word " * 600).split()), cut("a pump --> b")
        (500, 'a pump b')
    """
    return " ".join(text.replace(" -->", "").split(" ")[:WORDS]).strip()


def unescaped(text: str) -> str:
    r"""A text whose backslash escapes are resolved; in one that cannot be read so, those that escape nothing go instead.

    Example:
        >>> from patent_mteb.recipes.patentmap_content import unescaped
        >>> unescaped(r"and\/or a \u0022pump\u0022"), unescaped(r"an angle \alpha \u2264 \x4")
        ('and/or a "pump"', 'an angle \\alpha 2264 ')
    """
    if "\\" not in text:
        return text
    plain = text.replace("\\/", "/").replace('\\"', '"')
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a backslash that begins no escape stays
            return plain.encode().decode("unicode_escape").encode("latin-1").decode()
    except UnicodeError:
        return _NO_ESCAPE.sub("", _BROKEN_BYTE.sub("", plain))


def letter(category: str) -> str:
    """The strongest of X, Y and A in a category of a search report, empty if it is none of them; :data:`CITED` stays what it is.

    Raises:
        ValueError: a letter that no search report uses.

    Example:
        >>> from patent_mteb.recipes.patentmap_content import letter
        >>> letter("PX"), letter("A,Y"), letter("A"), letter("D")
        ('X', 'Y', 'A', '')
    """
    if category == CITED:
        return CITED
    if degree(category) == "xy":
        return "Y" if "Y" in category.upper() and not set(category.upper()) & set("XIN") else "X"
    return "A" if degree(category) == "a" else ""


def _numbered(content: Mapping[str, str], pattern: re.Pattern[str], separator: str) -> str:
    numbered = sorted((int(match[1]), text) for name, text in content.items() if (match := pattern.fullmatch(name)))
    return separator.join(text for _, text in numbered)


def _patent(record: Mapping[str, Any]) -> tuple[str, Content]:
    """Number and sections of one record; KeyError, TypeError or AttributeError if it is none."""
    key, content = record["dnum"], record["Content"]
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    if not isinstance(key, str) or not key:
        raise TypeError("dnum is no text and no number")
    texts = {name: text for name, text in content.items() if text is not None}
    if wrong := [name for name, text in texts.items() if not isinstance(text, str)]:
        raise TypeError(f"'{wrong[0]}' is no text")
    claims, description = (cut(unescaped(text)) for text in (_numbered(texts, _CLAIM, "\n"), _numbered(texts, _PARAGRAPH, " ")))
    return key, Content(texts.get("title", "").strip(), cut(texts.get("pa01", "")), claims, description)


def _patents(path: Path) -> Iterator[tuple[int, tuple[str, Content]]]:
    for row, record in json_lines(path):
        try:
            yield row, _patent(record)
        except (KeyError, TypeError, AttributeError) as error:
            reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise DataError(f"no patent of the form {{dnum, Content}} ({reason})", path=path, row=row, remedy="mend the line") from error


def read_content(path: Path) -> dict[str, Content]:
    """Read a file of ``content/``.

    A line that occurs twice, as some of the published ones do, is one patent and counted.

    Raises:
        DataError: malformed line, missing or empty ``dnum``, a section that is no text, or a number of two patents.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.files import write_jsonl
        >>> from patent_mteb.recipes.patentmap_content import read_content
        >>> write_jsonl(Path("content.jsonl"), [{"dnum": "EP1", "Content": {"title": "Pump", "pa01": "It pumps.", "c-en-0001": "A pump."}}])
        >>> read_content(Path("content.jsonl"))["EP1"].section("claim", tags=True)
        '[claim] A pump.'
    """
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
    """The citations of ``mapping/gold.json``: citing number, cited number and category (empty where it is null), in file order.

    Raises:
        DataError: the file is not of the form ``{citing: [{cited_id, type}]}``; names the citing number.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.files import write_json
        >>> from patent_mteb.recipes.patentmap_content import read_gold
        >>> write_json(Path("gold.json"), {"EP1": [{"cited_id": "US2", "type": "X"}]})
        >>> read_gold(Path("gold.json"))
        [('EP1', 'US2', 'X')]
    """

    def refused(problem: str) -> DataError:
        form = "not of the form {citing: [{cited_id, type}]}"
        return DataError(f"{form} ({problem})", path=path, remedy="mend the file or download it again")

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
