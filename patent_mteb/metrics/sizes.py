"""When a score stands on too little: on fewer than 50 queries, 30 test rows or 2 classes.

Such a score is shown with a mark and its interval, is never best or second, and is left out of means. Every table asks here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["LEAST", "MARK", "Least", "explained", "too_small"]

MARK = "†"
"""Follows a score on too little, and a mean that such scores were left out of."""


@dataclass(frozen=True)
class Least:
    """How many of something a score needs: ``counts`` are their names in a result, those of a slice behind its name and ``_``."""

    one: str
    many: str
    least: int
    counts: tuple[str, ...]

    def said(self, number: int) -> str:
        """A number of them, in words."""
        return f"{number} {self.one if number == 1 else self.many}"


LEAST = (
    Least("query", "queries", 50, ("n_queries",)),
    Least("test row", "test rows", 30, ("n_test", "n_pairs")),
    Least("class", "classes", 2, ("n_classes",)),
)
"""The one place that says what is too little."""


def explained() -> str:
    """What the mark means, for those who read a table.

    Example:
        >>> from patent_mteb.metrics.sizes import explained
        >>> explained().split(":")[0]
        '† stands on fewer than 50 queries, 30 test rows or 2 classes'
    """
    *first, last = (f"{kind.least} {kind.many}" for kind in LEAST)
    return (
        f"{MARK} stands on fewer than {', '.join(first)} or {last}: never best or second, and left out of means (a mean with {MARK} is "
        "over the others). In brackets the 95% interval, where one can be computed."
    )


def too_small(scores: Mapping[str, Any], part: str = "") -> str:
    """What a score has too little of, empty if of nothing; what a result does not count is not too little.

    Args:
        scores: the numbers of a result.
        part: a slice, empty for the whole task.

    Example:
        >>> from patent_mteb.metrics.sizes import too_small
        >>> too_small({"n_queries": 60, "in_n_queries": 3}), too_small({"n_queries": 60, "in_n_queries": 3}, "in")
        ('', '3 queries')
        >>> too_small({"n_test": 2, "n_classes": 1})
        '2 test rows, 1 class'
    """
    counts = {name: scores.get(f"{part}_{name}" if part else name) for kind in LEAST for name in kind.counts}
    lacking = [
        kind.said(int(count)) for kind in LEAST for name in kind.counts if (count := counts[name]) is not None and count < kind.least
    ]
    return ", ".join(lacking)
