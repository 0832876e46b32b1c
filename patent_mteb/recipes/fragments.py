"""Problem, solution, field, substance and effect of a segmented abstract (PatenTEB §3.2).

Japanese and Russian abstracts mark their parts in capitals: ``PROBLEM TO BE SOLVED: ... SOLUTION: ...``, ``FIELD: ...
SUBSTANCE: ... EFFECT: ...``. :func:`extract` applies the first of the paper's seven patterns whose parts are all
present and not empty:

1. ``PROBLEM TO BE SOLVED:`` then ``SOLUTION:``
2. ``PROBLEM:`` then ``SOLUTION:``
3. ``PURPOSE:`` then ``CONSTITUTION:``
4. ``[problem]`` then ``[solution]``
5. ``FIELD:``, ``SUBSTANCE:``, ``EFFECT:``
6. ``SOLUTION:`` then ``EFFECT:``
7. ``SOLUTION:`` alone: the text before it is the problem, the text after it the solution

Special cases of the paper: the text from a ``SELECTED DRAWING`` marker on is dropped, an effect ends with its first
sentence, and of several comma-separated fields the last counts.

Interpretations, where the paper gives no rule:

* A marker counts if it is in capitals, or, in any case, at the start of the abstract or of a sentence. "They found a
  solution: water" has none. Markers in square brackets count anywhere.
* A part ends at the next marker of any kind; a repeated marker continues its part.
* An ``EFFECT:`` after the solution of patterns 1, 2 and 4 is taken as the effect.
* An effect loses its final full stop, a problem its leading "To", as in the published previews.
* An abstract without a pattern stays unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

Role = Literal["problem", "solution", "field", "substance", "effect"]

PATTERNS: tuple[tuple[tuple[str, Role], ...], ...] = (
    (("problem to be solved", "problem"), ("solution", "solution")),
    (("problem", "problem"), ("solution", "solution")),
    (("purpose", "problem"), ("constitution", "solution")),
    (("[problem]", "problem"), ("[solution]", "solution")),
    (("field", "field"), ("substance", "substance"), ("effect", "effect")),
    (("solution", "solution"), ("effect", "effect")),
    (("solution", "solution"),),
)
"""The seven patterns in the paper's order: markers, and the roles of the texts after them."""

_SOLUTION_ALONE = 7  # the pattern whose parts are cut at the solution
_MARKER = re.compile(
    r"(?<![\w-])(?P<name>problem to be solved|problem|solution|purpose|constitution|field|substance|effect)\s*[:：]"
    r"|(?P<bracketed>\[\s*(?:problem|solution)\s*\])\s*[:：]?",
    re.IGNORECASE,
)
_SELECTED_DRAWING = re.compile(r"[\s(\[]*\bselected drawing\b.*", re.IGNORECASE | re.DOTALL)
_SENTENCE_START = re.compile(r"(?:^|[.;:!?\])])\s*$")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_ABBREVIATIONS = frozenset(
    ["al", "approx", "ca", "cf", "e.g", "eq", "etc", "fig", "figs", "i.e", "no", "nos", "resp", "vs", "wt"]
)
_WORD = re.compile(r"\w+")


def _clean(text: str) -> str:
    return " ".join(text.split())


def first_sentence(text: str) -> str:
    """Return the first sentence without its full stop; abbreviations do not end it."""
    text = _clean(text)
    for end in _SENTENCE_END.finditer(text):
        words = text[: end.start()].split()
        if words and words[-1].lower().lstrip("(") not in _ABBREVIATIONS:
            return text[: end.end()].rstrip(".").rstrip()
    return text


@dataclass(frozen=True)
class Fragments:
    """The parts of an abstract.

    ``pattern`` is the number of the pattern (1 to 7), 0 if none fits. ``parts`` is the abstract in its order, without
    markers, as (role, text); text without a role has the role None.
    """

    pattern: int
    parts: tuple[tuple[Role | None, str], ...]

    def get(self, role: Role) -> str:
        """Return the text of a role, empty if the abstract has none."""
        return next((text for name, text in self.parts if name == role), "")

    def text(self, without: Collection[Role] = ()) -> str:
        """Return the abstract as running text without markers and without some roles."""
        parts = [text for role, text in self.parts if text and (role is None or role not in without)]
        return " ".join(
            text if text[-1] in ".!?;:" or number == len(parts) else f"{text}."
            for number, text in enumerate(parts, start=1)
        )


def _segments(abstract: str) -> list[tuple[str, str]]:
    """Split the abstract at its markers into (marker, text); the first may be empty."""
    segments: list[tuple[str, str]] = []
    name, start = "", 0
    for marker in _MARKER.finditer(abstract):
        word = marker["name"]
        if word and not word.isupper() and not _SENTENCE_START.search(abstract[: marker.start()]):
            continue
        segments.append((name, abstract[start : marker.start()]))
        name, start = _clean(word or "".join(marker["bracketed"].split())).lower(), marker.end()
    segments.append((name, abstract[start:]))
    cleaned = ((name, _clean(text)) for name, text in segments)
    groups = groupby(((name, text) for name, text in cleaned if text), key=itemgetter(0))
    return [(name, " ".join(text for _, text in group)) for name, group in groups]


def _match(names: list[str], pattern: tuple[tuple[str, Role], ...]) -> dict[int, Role] | None:
    """Return the roles by position of the pattern's markers, None if one is missing."""
    roles: dict[int, Role] = {}
    start = 0
    for marker, role in pattern:
        if marker not in names[start:]:
            return None
        start = names.index(marker, start) + 1
        roles[start - 1] = role
    return roles


def _edited(role: Role | None, text: str) -> str:
    if role == "effect":
        return first_sentence(text)
    if role == "field":
        return text.rsplit(",", 1)[-1].strip()
    if role == "problem":
        return re.sub(r"^to\s+", "", text, flags=re.IGNORECASE)
    return text


def extract(abstract: str) -> Fragments:
    """Find the parts of an abstract (the module describes patterns and special cases)."""
    abstract = _clean(_SELECTED_DRAWING.sub("", abstract))
    segments = _segments(abstract)
    names = [name for name, _ in segments]
    for number, pattern in enumerate(PATTERNS, start=1):
        roles = _match(names, pattern)
        if roles is None:
            continue
        if number == _SOLUTION_ALONE:
            solution = names.index("solution")
            sides: tuple[tuple[Role, list[tuple[str, str]]], ...] = (
                ("problem", segments[:solution]),
                ("solution", segments[solution:]),
            )
            joined = ((role, _edited(role, " ".join(text for _, text in side))) for role, side in sides)
            return Fragments(number, tuple((role, text) for role, text in joined if text))
        last = max(roles)
        if "effect" not in roles.values() and "effect" in names[last + 1 :]:
            roles[names.index("effect", last + 1)] = "effect"
        return Fragments(
            number,
            tuple((roles.get(number), _edited(roles.get(number), text)) for number, (_, text) in enumerate(segments)),
        )
    return Fragments(0, ((None, abstract),) if abstract else ())


def remove_fragment(text: str, fragment: str) -> str:
    """Remove every occurrence of the fragment: its words in a row, ignoring case.

    The punctuation after an occurrence and any occurrence that a removal creates are removed too.
    """
    wanted = _WORD.findall(fragment.casefold())
    text = _clean(text)
    while wanted:
        spans = [word.span() for word in _WORD.finditer(text)]
        words = [text[start:end].casefold() for start, end in spans]
        starts = range(len(words) - len(wanted) + 1)
        first = next((start for start in starts if words[start : start + len(wanted)] == wanted), None)
        if first is None:
            break
        start, end = spans[first][0], spans[first + len(wanted) - 1][1]
        text = _clean(f"{text[:start]} {text[end:].lstrip('.,;:!?')}")
    return text
