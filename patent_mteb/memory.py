"""The memory that a process may take, as its user says (``--memory``): what holds blocks asks how large they may be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from patent_mteb.errors import DataError

__all__ = ["allowing", "portion", "refuse_beyond"]

_ALLOWED: ContextVar[float | None] = ContextVar("_ALLOWED", default=None)


@contextmanager
def allowing(budget: float | None) -> Iterator[None]:
    """Within the block this much may be taken.

    Args:
        budget: gigabytes; None: any.

    Example:
        >>> from patent_mteb.memory import allowing, portion
        >>> with allowing(2):
        ...     portion(0.25, usual=1 << 30)
        500000000
    """
    token = _ALLOWED.set(budget)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def portion(part: float, usual: int) -> int:
    """Bytes that may be held: the usual ones, or a part of what is allowed where that is less.

    Example:
        >>> from patent_mteb.memory import portion
        >>> portion(0.25, usual=1 << 30) == 1 << 30
        True
    """
    allowed = _ALLOWED.get()
    return usual if allowed is None else min(usual, int(part * allowed * 1e9))


def refuse_beyond(budget: float, needed: float, what: str, purpose: str = "") -> None:
    """Stop before what takes more memory than may be taken.

    Args:
        budget: gigabytes.
        needed: gigabytes, about.
        what: who takes them, with its verb; ``purpose`` stands behind the amount.

    Raises:
        DataError: it takes more.

    Example:
        >>> from patent_mteb.memory import refuse_beyond
        >>> refuse_beyond(4, 4.5, "a build of 1,000 publications takes")
        Traceback (most recent call last):
        patent_mteb.errors.DataError: a build of 1,000 publications takes about 4.5 GB of memory, and 4 GB are allowed. Remedy: allow ...
    """
    if needed > budget:
        problem = f"{what} about {needed:.1f} GB of memory{purpose}, and {budget:g} GB are allowed"
        raise DataError(problem, remedy=f"allow --memory {needed + 0.1:.1f}, or cut the records by years or offices")
