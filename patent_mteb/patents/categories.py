"""Categories, phases and origins of citations (``categories.toml``), and the relevance of categories.

A citation can have several categories (``XP``, ``A,D``, ``Y; A``). A document may be cited against several claims, and
categories such as ``P`` or ``D`` only add a circumstance. The strongest category counts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from patent_mteb.patents.numbers import OFFICES

_TABLES: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("categories.toml").read_text("utf-8"))

Degree = Literal["xy", "a", ""]
DEGREES: tuple[Degree, ...] = ("", "a", "xy")  # degrees of relevance, weakest first


class Relevance(NamedTuple):
    """Relevance of a category.

    The category of the greatest ``strength`` of a citation or pair counts. ``gain`` is the linear gain of the graded
    nDCG. The degree ``xy`` prejudices novelty or inventive step; ``a`` is technological background.
    """

    strength: int
    gain: int
    degree: Degree


CATEGORIES: Mapping[str, Relevance] = {
    "X": Relevance(3, 3, "xy"),
    "Y": Relevance(2, 2, "xy"),
    "A": Relevance(1, 1, "a"),
}
"""The categories of relevance, strongest first."""

UNGRADED = Relevance(0, 1, "")
"""Relevance of a citation without a category where such citations count: gain 1, in no slice."""

_COUNTS_AS, _PHASES, _ORIGINS = (_TABLES[name] for name in ("counts_as", "phases", "origins"))
_SEPARATORS = str.maketrans("", "", " ,;/|+-")


def is_category(category: str) -> bool:
    """Whether search reports use all letters of a category; an empty one is a category."""
    return set(category.upper().translate(_SEPARATORS)) <= _COUNTS_AS.keys()


def strongest(category: str) -> str:
    """Return the strongest of X, Y and A in a category, empty if it has none of them.

    I and N count as X. A category with a letter that search reports do not use counts as none (:func:`is_category`).
    """
    letters = category.upper().translate(_SEPARATORS) if is_category(category) else ""
    counted = {_COUNTS_AS[letter] for letter in letters}
    return next((name for name in CATEGORIES if name in counted), "")


def degree(category: str) -> Degree:
    """Return the degree of relevance, ``xy`` or ``a``, empty as for :func:`strongest`."""
    return CATEGORIES.get(strongest(category), UNGRADED).degree


_LETTER = f"[{''.join(_COUNTS_AS)}]"
_MARK = rf"{_LETTER}(?:\s?[,;/+]?\s?{_LETTER}){{0,4}}"
_WORD = r"(?i:cat(?:[ée]gor(?:y|ie))?|kat(?:egorie)?)\b\.?\s*:?\s*"
_OF_CLAIMS = r"\s*[;:,]?\s*(?i:claims?|anspr[uü]che?|cl|rev)\b\.?:?\s*\d[\d,;\s–-]*"
_BEFORE = re.compile(rf"(?:({_MARK})(?:\s*:\s*|\s+)|[\[({{](?:{_WORD})?({_MARK})[\])}}]\s*)(?=[A-Z]{{2}}[ \d])")
_CERTAIN = re.compile(
    rf"\s*(?:\[(?:{_WORD})?({_MARK})(?:{_OF_CLAIMS})?\]|{{(?:{_WORD})?({_MARK})(?:{_OF_CLAIMS})?}}"
    rf"|\((?:{_WORD})({_MARK})(?:{_OF_CLAIMS})?\)|\(({_MARK})(?:{_OF_CLAIMS})\))$"
)
_LIKELY = re.compile(rf"(?:\s*\(({_MARK})\)|\s*/\s?({_MARK})|\s*[-–,:]?\s+({_MARK}))$")
_WITH_KIND = re.compile(
    r"^(?!SG.*\d[P-Y]$).*\d ?[A-Z]\d?$", re.DOTALL
)  # the last letter of Singapore is a check letter
# Single letters that are kind codes too. Behind a number without kind code they are a category only in square brackets,
# because Espacenet writes GB1234567 (A). Y is a utility model in CN, JP, KR and others, but not in these offices.
_KIND_CODES = frozenset("AEILPRTY")
_WITHOUT_Y = ("US", "EP", "WO")


def split_category(text: str) -> tuple[str, str]:
    """Return a cited number and the category before or behind it, empty if there is none.

    ``X US1234567``, ``US20120088689 [Y]``, ``EP1000000A1 (Cat. A)``, ``EP1000000A1/X`` and ``EP1000000 XP`` have one.
    """
    if (before := _BEFORE.match(text)) and (category := before[1] or before[2]) not in OFFICES:  # PT EP1234567
        return text[before.end() :], category
    certain = _CERTAIN.search(text)
    if not (behind := certain or _LIKELY.search(text)):
        return text, ""
    number, category = text[: behind.start()], next(filter(None, behind.groups()))
    is_kind = category in _KIND_CODES and not (category == "Y" and text.startswith(_WITHOUT_Y))
    if certain or _WITH_KIND.search(number) or not is_kind:
        return number, category
    return text, ""


def phase_and_origin(code: str, cited_by: str = "") -> tuple[str, str]:
    """Return the phase of a code of an office or database, and who cited: ``examiner``, ``applicant`` or empty.

    ``cited_by`` counts before the phase. A code that the table does not have stays as written.
    """
    phase = _PHASES.get(code.strip().upper(), code.strip())
    named = cited_by.strip().lower()
    origin = {"examiner": "examiner", "applicant": "applicant"}.get(named, "") if named else _ORIGINS.get(phase, "")
    return phase or ("application" if origin == "applicant" else ""), origin
