"""The memory limit of a process (``--memory``), which bounds its buffers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from patent_mteb.errors import DataError

ROWS_AT_ONCE = 10_000
"""Rows of numbers, days and codes that are Python objects at a time: about 1 kB each, so 10 MB."""

TEXTS_AT_ONCE = 1000
"""Rows with a text that are Python objects at a time: at most about 100 kB each (a description), so 100 MB."""

_ALLOWED: ContextVar[float | None] = ContextVar("_ALLOWED", default=None)


@contextmanager
def allowing(budget: float | None) -> Iterator[None]:
    """Set the memory limit in GB while the block runs."""
    token = _ALLOWED.set(budget)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def portion(part: float, usual: int) -> int:
    """Bytes of a buffer: the usual size, or a fraction of the limit if less."""
    allowed = _ALLOWED.get()
    return usual if allowed is None else min(usual, int(part * allowed * 1e9))


def refuse_beyond(budget: float, needed: float, what: str, purpose: str = "") -> None:
    """Refuse a step that needs more memory than the limit."""
    if needed > budget:
        problem = f"{what} about {needed:.1f} GB of memory{purpose}, and {budget:g} GB are allowed"
        raise DataError(problem, remedy=f"allow --memory {needed + 0.1:.1f}, or cut the records by years or offices")
