"""Draws that many recipes share: numbers that depend on a seed and words only, shares of strata, and a stratified
sample of queries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import overload

from patent_mteb.patents import ipc
from patent_mteb.patents.records import Patent
from patent_mteb.recipes.log import BuildLog


def random_key(seed: int, *words: str) -> int:
    """A number of 64 bits that depends on the seed and the words only."""
    digest = hashlib.blake2b("\0".join((str(seed), *words)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


class AllBut(Sequence[str]):
    """Keys without some of them, to draw from; no list is made."""

    def __init__(self, keys: Sequence[str], left_out: Sequence[int]) -> None:
        self._keys, self._left_out = keys, left_out

    def __len__(self) -> int:
        return len(self._keys) - len(self._left_out)

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[one] for one in range(len(self))[number]]
        place = range(len(self))[number]
        for gap in self._left_out:
            if gap > place:
                break
            place += 1
        return self._keys[place]


def shares(sizes: Mapping[tuple[str, ...], int], total: int) -> dict[tuple[str, ...], int]:
    """Divide ``total`` draws among groups: one each as far as they go (the largest first), the rest in proportion to
    what is left of each group, by largest remainders; no group gets more than it has.
    """
    order = sorted(sizes, key=lambda group: (-sizes[group], group))
    total = min(total, sum(sizes.values()))
    given = {group: int(rank < total) for rank, group in enumerate(order)}
    rest = total - sum(given.values())
    left = {group: sizes[group] - given[group] for group in order}
    everything = sum(left.values())
    if rest > 0:
        exact = {group: rest * left[group] / everything for group in order}
        for group in order:
            given[group] += int(exact[group])
        by_remainder = sorted(order, key=lambda group: (int(exact[group]) - exact[group], -sizes[group], group))
        for group in by_remainder[: total - sum(given.values())]:
            given[group] += 1
    return given


def stratified(strata: Mapping[str, tuple[str, ...]], total: int, seed: int) -> list[str]:
    """Some keys, each stratum by its :func:`shares`; within a stratum the order is that of the hash of the key, so that
    neither the order of the input nor what other strata hold matters. Sorted.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for key, group in strata.items():
        groups.setdefault(group, []).append(key)
    given = shares({group: len(keys) for group, keys in groups.items()}, total)
    ordered = {
        group: sorted(keys, key=lambda key: (random_key(seed, "queries", key), key)) for group, keys in groups.items()
    }
    return sorted(key for group, keys in ordered.items() for key in keys[: given[group]])


def stratum(patent: Patent) -> tuple[str, str]:
    """Year (of publication, else of filing) and IPC section of a patent, each empty where it is unknown."""
    day = patent.publication_date or patent.application_date or patent.priority_date
    section = next(iter(ipc.codes_at(patent.ipc, "section", errors="skip").codes), "")
    return str(day.year) if day else "", section


def some_queries(strata: Mapping[str, tuple[str, ...]], queries: int | None, seed: int, log: BuildLog) -> list[str]:
    """The keys of the queries that are kept, all where ``queries`` is None; a draw is a step of the log. Sorted."""
    if queries is None:
        return sorted(strata)
    chosen = stratified(strata, queries, seed)
    log.step(
        "queries, stratified by year and IPC section",
        len(strata),
        len(chosen),
        f"{len(set(strata.values()))} strata, by hash",
    )
    return chosen
