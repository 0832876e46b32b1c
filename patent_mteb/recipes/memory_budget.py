"""The memory that a recipe takes, as far as it is known before it starts: what does not fit a budget is refused, not
killed on its way.

What was measured stands in ``benchmarks/README.md``: each recipe takes a fixed amount, and more for each publication.
"""

from __future__ import annotations

from patent_mteb import memory

_FIXED = 500_000_000

NEEDED = {"wipo_at": 2_800, "dapfam": 1_900}
"""Bytes that a recipe takes for each publication, by recipe."""


_OTHERS = 10_000
"""The same of a recipe that was not measured, ample: PatentMap holds tf-idf of all texts, PatenTEB one table at a
time."""


def memory_of(recipe: str, publications: int) -> int:
    """Bytes that a build of so many publications takes, about."""
    return _FIXED + NEEDED.get(recipe, _OTHERS) * publications


def refuse_beyond(budget: float | None, recipe: str, publications: int) -> None:
    """Stop before a build that takes more than a budget."""
    if budget is not None:
        memory.refuse_beyond(
            budget, memory_of(recipe, publications) / 1e9, f"a build of {publications:,} publications takes"
        )
