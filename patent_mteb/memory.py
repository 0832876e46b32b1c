"""The memory that a process may take, as its user says (``--memory``): what holds blocks asks how large they may be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["allowing", "portion"]

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
