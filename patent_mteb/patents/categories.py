"""Citation categories of search reports (WIPO Standard ST.14, EPO Guidelines B-X 9.2) and their relevance.

A citation can have several categories (``XP``, ``A,D``, ``Y; A``). A document may be cited against several claims, and
categories such as ``P`` or ``D`` only add a circumstance. The strongest category counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

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

# Some offices split X into N (novelty) and I (inventive step alone). The others are circumstances.
_READ_AS = {"X": "X", "I": "X", "N": "X", "Y": "Y", "A": "A", **dict.fromkeys("DELOPRT&", "")}
"""Letter -> the category that it counts as."""
_SEPARATORS = str.maketrans("", "", " ,;/|+-")


def strongest(category: str) -> str:
    """Return the strongest of X, Y and A in a category, empty if it has none of them.

    I and N count as X. A letter that search reports do not use raises ValueError.
    """
    letters = set(category.upper().translate(_SEPARATORS))
    if unknown := letters - _READ_AS.keys():
        raise ValueError(f"{category!r} is not a search-report category: unknown letter {', '.join(sorted(unknown))}")
    found = {_READ_AS[letter] for letter in letters}
    return next((name for name in CATEGORIES if name in found), "")


def degree(category: str) -> Degree:
    """Return the degree of relevance, ``xy`` or ``a``, empty as for :func:`strongest`."""
    return CATEGORIES.get(strongest(category), UNGRADED).degree
