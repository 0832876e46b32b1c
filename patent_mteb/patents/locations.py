"""Locations of cited passages, as examiners write them in English, German and French.

A location names paragraphs, columns or pages; lines of the last two are skipped. :func:`locations_in` reads prose and
the passage fields of office actions and search reports:

* paragraphs: ``paragraph 36``, ``para. [0036]-[0043]``, ``[0036-0043]``, ``[0093-94]``, ``¶¶ 12 and 14``,
  ``* paragraph [0010] - paragraph [0018] *``, ``Absätze 3 bis 5``, ``alinéas [0010] à [0012]``;
* columns and pages: ``col. 3, lines 10-45``, ``column 3, line 36 - column 4, line 12``, ``C3:L10-45``,
  ``Spalte 3, Zeilen 1-9``, ``page 4, ligne 2 - ligne 8``.

A number needs the word of its unit. Only a number in square brackets, or a zero-padded one in round brackets or at the
start, is a paragraph without it. In ``page 2, paragraph 3`` and ``112, paragraph 2`` a small plain number counts the
paragraphs of a page or of the law, so it is not read.

A chain of dashes (``[0002] - [0005] - [0013]``) is not a range: answers of OPS have it where the search report has
other separators. Its numbers are read as written, and marked as ``chained``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

LONGEST_RANGE = 200  # of a longer range, or a reversed one, only the first number is certain

_COUNTED = range(1, 10)
_INITIALS = re.compile(r"\bC(\d{1,3})\s?[:,/]?\s?L(\d{1,3})(?:\s?-\s?L?(\d{1,3}))?(?!\w)")
_TOKEN = re.compile(r"[^\W_]+|[^\s\w]")
_SINGULAR = {
    "paragraph": "paragraph paragraphe para par alinéa alinea absatz abs ¶ párrafo",
    "column": "column col colonne spalte sp",
    "page": "page pg p seite",
    "line": "line ln l ligne zeile z",
    "": "figure fig figur abbildung abb claim anspruch revendication",
}
_PLURAL = {
    "paragraph": "paragraphs paragraphes paras pars alinéas alineas absätze absätzen párrafos",
    "column": "columns cols colonnes spalten",
    "page": "pages pgs pp seiten",
    "line": "lines lns ll lignes zeilen",
    "": "figures figs figuren abbildungen claims ansprüche ansprüchen revendications",
}
_UNITS = {word: (unit, False) for unit, words in _SINGULAR.items() for word in words.split()} | {
    word: (unit, True) for unit, words in _PLURAL.items() for word in words.split()
}
_SHORT = frozenset(["par", "para", "abs", "sp", "p", "pp", "l", "ll", "z"])
"""Words that are a unit only in front of a number."""
_KINDS = (
    dict.fromkeys(("-", "–", "—", "‐", "to", "through", "thru", "bis", "à"), "range")
    | dict.fromkeys((",", ";", "&", "and", "or", "und", "oder", "et", "ou"), "list")
    | dict.fromkeys(("[", "(", "]", ")", "*", "no", "nos", "number", "numbers", "nr", "n", "°", "#"), "skip")
    | {":": "colon", ".": "dot"}
)


@dataclass(frozen=True, slots=True)
class Location:
    """A range of paragraphs, columns or pages (``unit``); ``chained`` if it is one number of a chain of dashes."""

    unit: str
    first: int
    last: int
    chained: bool = False


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # unit, number, range, list, skip, colon, dot, word
    text: str
    unit: str = ""
    plural: bool = False

    @property
    def marked(self) -> bool:
        """Whether a number is zero-padded, as numbers of paragraphs are."""
        return len(self.text) >= 4 and self.text.startswith("0")


def _is_number(text: str, match: re.Match[str]) -> bool:
    """Whether digits are a number of their own, not a piece of ``2014/0278125``, ``8,638,175`` or ``3.5``."""
    before, after = text[max(0, match.start() - 2) : match.start()], text[match.end() : match.end() + 5]
    if len(match[0]) > 5 or before.endswith("/") or re.search(r"\d\.$", before) or re.match(r"/|\.\d", after):
        return False
    thousands = re.match(r",\d{3}(?!\d)", after) and not match[0].startswith("0") and len(match[0]) <= 3
    return not thousands


def _tokens(text: str) -> list[_Token]:
    found = []
    matches = list(_TOKEN.finditer(text))
    for place, match in enumerate(matches):
        word = match[0].lower()
        if word.isascii() and word.isdigit():
            found.append(_Token("number" if _is_number(text, match) else "word", word))
        elif word in _UNITS and not (word in _SHORT and not _before_number(matches[place + 1 : place + 4])):
            found.append(_Token("unit", word, *_UNITS[word]))
        else:
            found.append(_Token(_KINDS.get(word, "word"), word))
    return found


def _before_number(matches: Iterable[re.Match[str]]) -> bool:
    rest = (match[0] for match in matches if match[0] not in "[(.")
    return next(rest, "").isdigit()


class _Reader:
    """Reads the tokens of one text; ``expected`` says why the next number is a location, empty if it is not."""

    def __init__(self, tokens: list[_Token]):
        self.tokens = tokens
        self.found: list[Location] = []
        self.chain: list[int] = []  # the numbers joined by dashes up to here
        self.forget()

    def forget(self) -> None:
        self.unit, self.expected, self.last, self.plural = "", "", _Token("word", ""), False
        self.counted = False
        self.may_have_lines = False  # whether a line belongs to the last location

    def read(self) -> list[Location]:
        nothing = _Token("list", "")
        for place, token in enumerate(self.tokens):
            before = self.tokens[place - 1] if place else nothing
            after = self.tokens[place + 1] if place + 1 < len(self.tokens) else nothing
            if token.kind == "number":
                self.number(token, before, after)
            elif token.kind == "unit":
                self.keyword(token)
            elif token.kind in ("range", "list"):
                if not self.expected and self.last.kind == "number":
                    self.expected = token.kind
            elif token.kind == "colon":
                self.colon()
            elif (token.kind == "dot" and before.kind != "unit" and before.text not in ("no", "nos", "nr")) or (
                token.kind == "word" and not (self.counted and len(token.text) == 1)
            ):
                self.forget()
        return self.found

    def keyword(self, token: _Token) -> None:
        if token.unit == "line" and not self.may_have_lines:
            self.forget()
            return
        if token.unit == "paragraph" and self.unit in ("page", "column", "line"):
            self.counted = True
        known = {"line", self.found[-1].unit} if self.may_have_lines else {self.unit}
        if not (self.expected == "range" and token.unit in known):
            self.expected = "start"
        self.unit, self.plural = token.unit, token.plural
        if not token.unit:
            self.may_have_lines = False

    def colon(self) -> None:
        if self.unit == "column" and not self.expected:
            self.unit, self.expected = "line", "start"
        elif self.expected != "start":
            self.forget()

    def number(self, token: _Token, before: _Token, after: _Token) -> None:
        bracketed = before.text == "["
        if bracketed or (not self.unit and token.marked and before.text in ("(", "")):
            if self.unit != "paragraph":
                self.forget()
                self.unit, self.expected = "paragraph", "start"
            elif not self.expected:
                self.expected = "list"
        if not self.unit or not self.expected:
            statute = token.text == "112"
            self.forget()
            self.counted = statute
            return
        value, marked = int(token.text), token.marked or bracketed
        skipped = self.unit == "paragraph" and self.counted and not marked and value in _COUNTED
        loose = self.expected == "list" and not (marked or self.plural or self.unit == "line") and after.kind == "word"
        if skipped or loose:
            self.forget()
            return
        if self.unit != "line" and self.expected == "range" and self.found:
            self.chain.append(value)
            self.end_range(value, token.text)
        elif self.unit != "line":
            self.chain = [value]
            self.found.append(Location(self.unit, value, value))
            self.may_have_lines = True
        self.expected, self.last = "", token

    def end_range(self, value: int, text: str) -> None:
        """End the range that the last location starts, or take a third number and its chain as single numbers."""
        one = self.found[-1]
        if len(self.chain) == 2:
            self.found[-1] = replace(one, last=_last(one.first, value, text))
            return
        alone = self.chain if len(self.chain) == 3 else self.chain[-1:]
        self.found = self.found[: -1 if len(self.chain) == 3 else None]
        self.found += (Location(one.unit, number, number, chained=True) for number in alone)


def _last(first: int, last: int, last_text: str) -> int:
    """Return the end of a range; ``0093-94`` ends at 94, ``0136-40`` at 140, and an uncertain one where it starts."""
    start = str(first)
    if last < first and len(last_text) < len(start):
        last = int(start[: -len(last_text)] + last_text)
    return last if first <= last < first + LONGEST_RANGE else first


@lru_cache(maxsize=4096)  # an action cites one passage against many claims
def locations_in(text: str) -> tuple[Location, ...]:
    """Return the locations that a text names, in its order."""
    in_full = _INITIALS.sub(lambda one: f"column {one[1]} line {one[2]}" + (f"-{one[3]}" if one[3] else ""), text)
    return tuple(_Reader(_tokens(in_full)).read())


def paragraphs_in(passages: Iterable[str]) -> tuple[int, ...]:
    """Return the paragraph numbers that cited passages name, in ascending order."""

    def numbers() -> Iterator[int]:
        for passage in passages:
            for one in locations_in(passage):
                if one.unit == "paragraph":
                    yield from range(one.first, one.last + 1)

    return tuple(sorted(set(numbers())))
