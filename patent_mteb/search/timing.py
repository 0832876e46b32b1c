"""Time of a search by phase: indexing, splitting, encoding, scoring (DAPFAM §5.7).

The time of an inner phase does not count for the outer one. Nothing is measured outside of :func:`timed`.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar


class _Clock:
    """Seconds by phase; time counts for the innermost open phase."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._open: list[str] = []
        self._since = 0.0

    def _pass(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add the seconds of another clock, and take them from the open phase."""
        self._pass()
        for name, value in seconds.items():
            self.seconds[name] += value
            if self._open:
                self.seconds[self._open[-1]] -= value

    @contextmanager
    def open(self, name: str) -> Iterator[None]:
        self._pass()
        self._open.append(name)
        try:
            yield
        finally:
            self._pass()
            self._open.pop()


_CLOCK: ContextVar[_Clock | None] = ContextVar("patent_mteb_phases", default=None)


def phase(name: str) -> AbstractContextManager[None]:
    """Count the time of the block for a phase."""
    clock = _CLOCK.get()
    return nullcontext() if clock is None else clock.open(name)


@contextmanager
def timed() -> Iterator[Mapping[str, float]]:
    """Yield the seconds of the block by phase, of this thread; an outer block counts them too."""
    around, clock = _CLOCK.get(), _Clock()
    token = _CLOCK.set(clock)
    try:
        yield clock.seconds
    finally:
        _CLOCK.reset(token)
        if around is not None:
            around.add(clock.seconds)
