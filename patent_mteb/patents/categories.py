"""Search-report categories of citations (WIPO Standard ST.14): which letters stand for which degree of relevance.

A citation can carry several letters (``XP``, ``A,D``, ``Y; A``), because a document may be cited against several claims and
letters such as ``P`` or ``D`` only add a circumstance. The strongest degree counts.
"""

from __future__ import annotations

from typing import Literal

__all__ = ["Degree", "degree"]

Degree = Literal["xy", "a", ""]

_PARTICULAR = frozenset("XYIN")
_BACKGROUND = frozenset("A")
_CIRCUMSTANCES = frozenset("DELOPRT&")
_SEPARATORS = str.maketrans("", "", " ,;/|+-")


def degree(category: str) -> Degree:
    """Degree of relevance of a citation.

    Returns:
        ``xy``: prejudices novelty or inventive step (X, Y, and I and N, into which some offices split X); ``a``: technological
        background (A); ``""``: no letter, or only letters that say nothing of relevance (D, E, L, O, P, R, T, &).

    Raises:
        ValueError: a letter that no search report uses.

    Example:
        >>> from patent_mteb.patents.categories import degree
        >>> degree("X"), degree("A,D"), degree("P")
        ('xy', 'a', '')
    """
    letters = set(category.upper().translate(_SEPARATORS))
    if unknown := letters - _PARTICULAR - _BACKGROUND - _CIRCUMSTANCES:
        raise ValueError(f"{category!r} is no search-report category: unknown letter {', '.join(sorted(unknown))}")
    if letters & _PARTICULAR:
        return "xy"
    return "a" if letters & _BACKGROUND else ""
