"""Reproducible random choices.

Only :meth:`random.Random.random` is used: Python guarantees its sequence in all versions, but not those of the other
methods.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class RandomGenerator:
    """A random generator with a text as seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def number(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return low + int(self._random() * (high - low + 1))

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self._random() * len(items))]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        mark = self._random() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            mark -= weight
            if mark < 0:
                return item
        return items[-1]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return a new list in random order (Fisher-Yates)."""
        shuffled = list(items)
        for last in range(len(shuffled) - 1, 0, -1):
            other = int(self._random() * (last + 1))
            shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
        return shuffled

    def distinct(self, items: Sequence[T], weights: Sequence[float], count: int) -> list[T]:
        """Draw up to ``count`` different items by weight, without replacement. Items of weight 0 are never drawn."""
        pool = [(item, weight) for item, weight in zip(items, weights, strict=True) if weight > 0]
        drawn: list[T] = []
        while pool and len(drawn) < count:
            chosen = self.weighted(range(len(pool)), [weight for _, weight in pool])
            drawn.append(pool.pop(chosen)[0])
        return drawn
