"""Parameters of a test by class: one of each class in every run, the others with ``-m long``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest


def one_of_each(cases: Iterable[Any], kind: Callable[[Any], Hashable]) -> list[Any]:
    """All cases; those whose ``kind`` an earlier one has are marked ``long``."""
    seen: set[Hashable] = set()
    return [_long(case) if (found := kind(case)) in seen or seen.add(found) else case for case in cases]


def these_first(cases: Iterable[Any], *few: Any) -> list[Any]:
    """All cases; those that are not among ``few`` are marked ``long``."""
    return [case if case in few else _long(case) for case in cases]


def _long(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
