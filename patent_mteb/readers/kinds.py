"""Recognise the values of a column: publication numbers, dates, classes, counts, claims, texts, or words."""

from __future__ import annotations

import datetime as dt
import enum
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from patent_mteb.patents.numbers import OFFICES, read_number
from patent_mteb.readers.values import cleaned, read_date, text_of, unpacked


class Kind(enum.Enum):
    """What the values of a column are."""

    EMPTY = "no values"
    NUMBERS = "publication numbers"
    DATE = "dates"
    CLASSES = "classes"
    COUNT = "small whole numbers"
    YEARS = "years"
    OFFICES = "codes of offices"
    CLAIMS = "claims"
    TEXT = "texts"
    URL = "web addresses"
    NESTED = "lists or objects"
    WORDS = "words"


@dataclass(frozen=True)
class Typed:
    """The kind of the values of a column, what they are in words, and the separators of lists."""

    kind: Kind
    what: str
    separators: tuple[str, ...] = ()


_MOST = 0.8  # the share of the values that must be of a kind
_SEPARATORS = (";;", " | ", "|", ";", "；", "、", "\n")
_WIDE = (*_SEPARATORS, ", ", ",", " ")  # separators of lists whose members are known by their form
_LONG = 120
_START = 3000  # characters of a text that are typed
_NUMBER = re.compile(r"[A-Z]{2}[ -]?[\dA-Z]")
_CLASS = re.compile(r"[A-HY]\d\d[A-Z](?:[ -]*\d{1,4}(?:/\d{2,6})?)?\s*(?:\([^)]*\))?")
_CPC = re.compile(r"Y\d\d[A-Z]|[A-H]\d\d[A-Z] *2\d\d\d/")
_CLAIMS = re.compile(
    r"\W*(?:\([A-Z]{2}\d+\)\s*)?"
    r"(?:what is claimed|(?:we|i) claim|claims?\b.{0,20}1|1\s*[.)．、]\s|【請求項|청구항\s*1|权利要求\s*1|\[?1\]\s)",
    re.IGNORECASE,
)


def _is_number(text: str) -> bool:
    return bool(_NUMBER.match(text)) and read_number(text) is not None


def _is_date(value: Any) -> bool:
    if isinstance(value, dt.date):
        return True
    text = text_of(value)
    if re.fullmatch(r"\d+", text) and not re.fullmatch(r"(?:1[789]|20)\d\d[01]\d[0-3]\d", text):
        return False
    if re.fullmatch(r"\d{1,2}[/-]\d{1,2}[/-](?:\d{4}|\d\d)", text):
        return True
    try:
        return read_date(value) is not None
    except ValueError:
        return False


def kind_of(values: Sequence[Any]) -> Typed:
    """Return the kind of the values of a column; ``values`` are those that are not empty."""
    lengths = [len(text_of(value)) for value in values]
    texts = [text for value in values if (text := cleaned(text_of(value)[:_START])[0])]
    if not texts:
        return Typed(Kind.EMPTY, "no values")
    different = len(set(texts))
    each = "each different" if different == len(texts) else f"{different} different"
    if _most(values, _is_date):
        return Typed(Kind.DATE, "dates")
    if _most(texts, lambda text: bool(re.fullmatch(r"1[89]\d\d|20\d\d", text))):
        return Typed(Kind.YEARS, f"years, {each}")
    if _most(texts, lambda text: text in OFFICES):
        return Typed(Kind.OFFICES, f"codes of offices, {each}")
    if _most(texts, lambda text: bool(re.fullmatch(r"\d{1,4}", text))):
        return Typed(Kind.COUNT, f"small whole numbers, {each}")
    if _most(texts, lambda text: text.startswith(("http://", "https://", "www."))):
        return Typed(Kind.URL, "web addresses")
    if any(not isinstance(unpacked(value), str | int | float) for value in values):
        return Typed(Kind.NESTED, "nested values")
    for is_one, kind, what in (
        (_is_number, Kind.NUMBERS, "publication numbers"),
        (lambda text: bool(_CLASS.fullmatch(text)), Kind.CLASSES, "IPC or CPC codes"),
    ):
        if (found := _separators(texts, is_one)) is not None:
            if kind is Kind.CLASSES and any(map(_CPC.search, texts)):
                what = "CPC codes"
            return Typed(kind, f"lists of {what}" if found else f"{what}, {each}", found)
    if _most(texts, lambda text: bool(_CLAIMS.match(text))) and sum(lengths) > _LONG / 4 * len(texts):
        return Typed(Kind.CLAIMS, "texts that begin like claims")
    counts = {mark: sum(mark in text for text in texts) for mark in _SEPARATORS}
    best = max(counts, key=lambda mark: counts[mark])
    separators = (best,) if counts[best] else ()
    if (length := sum(lengths) // len(texts)) > _LONG:
        return Typed(Kind.TEXT, f"texts of {length} characters", separators)
    return Typed(Kind.WORDS, f"words, {each}", separators)


def _most(values: Sequence[Any], is_one: Callable[[Any], bool]) -> bool:
    return sum(map(is_one, values)) >= _MOST * len(values)


def _separators(texts: Sequence[str], is_one: Callable[[str], bool]) -> tuple[str, ...] | None:
    """Return the separators that split most texts into what ``is_one`` accepts, empty if none is needed, or None."""
    there = [mark for mark in _WIDE if any(mark in text for text in texts)]
    several = tuple(mark for mark in there if mark in _SEPARATORS)
    best, most = None, 0.0
    for marks in ((), *((mark,) for mark in there), *([several] if len(several) > 1 else [])):
        split = re.compile("|".join(map(re.escape, marks))).split if marks else lambda text: [text]
        members = [member.strip() for text in texts for member in split(text) if member.strip()]
        share = sum(map(is_one, members)) / len(members)
        if share > most:
            best, most = marks, share
    return best if most >= _MOST else None
