"""The memory limit of a process (``--memory``), which bounds its buffers and caches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

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
    return usual if allowed is None else int(min(usual, part * allowed * 1e9))


def refuse_beyond(budget: float, needed: float, what: str, purpose: str = "") -> None:
    """Refuse a step that needs more memory than the limit."""
    if needed > budget:
        problem = f"{what} about {needed:.1f} GB of memory{purpose}, and {budget:g} GB are allowed"
        raise DataError(problem, remedy=f"allow --memory {needed + 0.1:.1f}, or cut the records by years or offices")


_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class LRUCache(Generic[_Key, _Value]):
    """Values within a memory limit; the least recently used ones are dropped."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._values: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()

    def put(self, key: _Key, value: _Value, size: int) -> None:
        """Store a value of ``size`` bytes, unless it exceeds the limit."""
        self._values.pop(key, None)
        if size > self.most_bytes:
            return
        self._values[key] = value, size
        while sum(n_bytes for _, n_bytes in self._values.values()) > self.most_bytes:
            self._values.popitem(last=False)

    def get(self, key: _Key) -> _Value | None:
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def __iter__(self) -> Iterator[_Key]:
        return iter(list(reversed(self._values)))
