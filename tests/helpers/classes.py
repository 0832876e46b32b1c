"""Parameters of a test by class: one of each class in every run, the others with ``-m long``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest


def one_of_each(
    cases: Iterable[Any], kind: Callable[[Any], Hashable], mark: pytest.MarkDecorator = pytest.mark.long
) -> list[Any]:
    """All cases; those whose ``kind`` an earlier one has are marked."""
    seen: set[Hashable] = set()
    return [_marked(case, mark) if (found := kind(case)) in seen or seen.add(found) else case for case in cases]


def these_first(cases: Iterable[Any], *few: Any) -> list[Any]:
    """All cases; those that are not among ``few`` are marked ``long``."""
    return [case if case in few else _marked(case, pytest.mark.long) for case in cases]


def _marked(case: Any, mark: pytest.MarkDecorator) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
