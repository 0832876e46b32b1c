"""Search-report categories of citations (WIPO Standard ST.14, EPO Guidelines B-X 9.2), and what each counts.

A citation can carry several letters (``XP``, ``A,D``, ``Y; A``), because a document may be cited against several claims
and letters such as ``P`` or ``D`` only add a circumstance. The strongest category counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

__all__ = ["CATEGORIES", "DEGREES", "UNGRADED", "Degree", "Relevance", "degree", "strongest"]

Degree = Literal["xy", "a", ""]
DEGREES: tuple[Degree, ...] = ("", "a", "xy")
"""Degrees of relevance, weakest first."""


class Relevance(NamedTuple):
    """What a category counts.

    Attributes:
        strength: of two categories of one citation or pair, that of the greater strength counts.
        gain: of the graded nDCG, linear.
        degree: ``xy`` prejudices novelty or inventive step, ``a`` is technological background.
    """

    strength: int
    gain: int
    degree: Degree


CATEGORIES: Mapping[str, Relevance] = {
    "X": Relevance(3, 3, "xy"),
    "Y": Relevance(2, 2, "xy"),
    "A": Relevance(1, 1, "a"),
}
"""The categories that say how relevant a document is, strongest first."""

UNGRADED = Relevance(0, 1, "")
"""A citation without a category, where such citations count too: one grade, in no slice."""

# Some offices split X into N (novelty) and I (inventive step alone).
_READ_AS = {"X": "X", "I": "X", "N": "X", "Y": "Y", "A": "A"}
_CIRCUMSTANCES = frozenset("DELOPRT&")
_SEPARATORS = str.maketrans("", "", " ,;/|+-")


def strongest(category: str) -> str:
    """The strongest of X, Y and A in a category; I and N count as X."""
    letters = set(category.upper().translate(_SEPARATORS))
    if unknown := letters - _READ_AS.keys() - _CIRCUMSTANCES:
        raise ValueError(f"{category!r} is not a search-report category: unknown letter {', '.join(sorted(unknown))}")
    found = {_READ_AS[letter] for letter in letters & _READ_AS.keys()}
    return next((name for name in CATEGORIES if name in found), "")


def degree(category: str) -> Degree:
    """Degree of relevance of a citation, ``xy`` or ``a``; empty as for :func:`strongest`."""
    return CATEGORIES.get(strongest(category), UNGRADED).degree
