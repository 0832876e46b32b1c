"""Problem, solution, field, substance and effect of a segmented abstract (PatenTEB §3.2), and their removal from a
text.

Japanese and Russian abstracts name their parts in capitals: ``PROBLEM TO BE SOLVED: ... SOLUTION: ...``, ``FIELD: ...
SUBSTANCE: ... EFFECT: ...``. :func:`extract` tries the paper's seven patterns in their order; the first whose parts are
all there and not empty is taken:

1. ``PROBLEM TO BE SOLVED:`` then ``SOLUTION:``
2. ``PROBLEM:`` then ``SOLUTION:``
3. ``PURPOSE:`` then ``CONSTITUTION:``
4. ``[problem]`` then ``[solution]``
5. ``FIELD:``, ``SUBSTANCE:``, ``EFFECT:``
6. ``SOLUTION:`` then ``EFFECT:``
7. ``SOLUTION:`` alone: all before it is the problem, all after it the solution

Special cases of the paper: everything from a ``SELECTED DRAWING`` marker on is dropped, an effect ends with its first
sentence, of several comma-separated fields the last is kept.

Readings, where the paper is silent:

* A marker counts if it is written in capitals, or stands, in any case, at the start of the abstract or of a sentence.
  "They found a solution: water" has none. Markers in square brackets count anywhere.
* A part ends at the next marker of any kind; a marker that is repeated continues its part.
* An ``EFFECT:`` after the solution of patterns 1, 2 and 4 is taken as the effect.
* An effect loses its final full stop, a problem its leading "To": both are so in the published previews.
* An abstract without a pattern is left whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
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
"""The seven patterns, in the paper's order: markers and the roles of what follows them."""

_SOLUTION_ALONE = 7
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
    """The first sentence without its final full stop. Common abbreviations and decimal points end none."""
    text = _clean(text)
    for end in _SENTENCE_END.finditer(text):
        words = text[: end.start()].split()
        if words and words[-1].lower().lstrip("(") not in _ABBREVIATIONS:
            return text[: end.end()].rstrip(".").rstrip()
    return text


@dataclass(frozen=True)
class Fragments:
    """The parts of an abstract.

    ``pattern`` is the number of the pattern (1 to 7), 0 where none fits. ``parts`` holds the whole abstract in its
    order, without markers, as (role, text); text outside of every role has the role None.
    """

    pattern: int
    parts: tuple[tuple[Role | None, str], ...]

    def get(self, role: Role) -> str:
        """The text of a role, empty where the abstract has none."""
        return next((text for name, text in self.parts if name == role), "")

    def text(self, without: Collection[Role] = ()) -> str:
        """The abstract as running text without markers and without the named roles."""
        kept = [text for role, text in self.parts if text and (role is None or role not in without)]
        return " ".join(
            text if text[-1] in ".!?;:" or number == len(kept) else f"{text}."
            for number, text in enumerate(kept, start=1)
        )


def _segments(abstract: str) -> list[tuple[str, str]]:
    """The abstract cut at its markers: (marker, text), the marker ``""`` for what comes before the first."""
    segments: list[tuple[str, str]] = []
    name, start = "", 0
    for marker in _MARKER.finditer(abstract):
        word = marker["name"]
        if word and not word.isupper() and not _SENTENCE_START.search(abstract[: marker.start()]):
            continue
        segments.append((name, abstract[start : marker.start()]))
        name, start = _clean(word or "".join(marker["bracketed"].split())).lower(), marker.end()
    segments.append((name, abstract[start:]))
    merged: list[tuple[str, str]] = []
    for name, text in ((name, _clean(text)) for name, text in segments):
        if not text:
            continue
        if merged and merged[-1][0] == name:
            merged[-1] = (name, f"{merged[-1][1]} {text}")
        else:
            merged.append((name, text))
    return merged


def _match(names: list[str], pattern: tuple[tuple[str, Role], ...]) -> dict[int, Role] | None:
    """Positions of the pattern's markers, each after the one before, or None."""
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
    """Find the parts of an abstract; see the module for patterns and special cases."""
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


def _occurrence(words: list[str], wanted: list[str]) -> int | None:
    width = len(wanted)
    return next((start for start in range(len(words) - width + 1) if words[start : start + width] == wanted), None)


def contains_fragment(text: str, fragment: str) -> bool:
    """Whether the fragment's words occur in the text one after the other; case, punctuation and spacing do not
    matter.
    """
    wanted = _WORD.findall(fragment.casefold())
    return bool(wanted) and _occurrence(_WORD.findall(text.casefold()), wanted) is not None


def remove_fragment(text: str, fragment: str) -> str:
    """The text without any occurrence of the fragment, compared word by word as in :func:`contains_fragment`.

    Punctuation right after an occurrence goes with it. An occurrence that only arises from a removal is removed too.
    """
    wanted = _WORD.findall(fragment.casefold())
    text = _clean(text)
    while wanted:
        spans = [word.span() for word in _WORD.finditer(text)]
        first = _occurrence([text[start:end].casefold() for start, end in spans], wanted)
        if first is None:
            break
        start, end = spans[first][0], spans[first + len(wanted) - 1][1]
        text = _clean(f"{text[:start]} {text[end:].lstrip('.,;:!?')}")
    return text
