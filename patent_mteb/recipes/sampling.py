"""Random sampling that recipes share: keys from a seed, allocation to strata, and a stratified sample of queries."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from random import Random
from typing import TypeVar

from patent_mteb.patents import ipc
from patent_mteb.patents.records import Patent
from patent_mteb.recipes.steps import BuildLog

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)
_Stratum = TypeVar("_Stratum", bound=str | tuple[str, ...])
_SPARE = 1000  # draws before the list is cut to the best, a choice


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Group items by key, both in the order of the items."""
    groups: dict[_Key, list[_Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


def random_key(seed: int, *words: str) -> int:
    """Return a number of 64 bits that depends only on the seed and the words."""
    digest = hashlib.blake2b("\0".join((str(seed), *words)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def fill_up(keys: Iterable[str], chosen: Collection[str], total: int | None, seed: int) -> list[str]:
    """Return keys that are not chosen: as many as are missing to the total, by hash; all if it is None."""
    others = [key for key in keys if key not in chosen]
    if total is None:
        return others
    return sorted(others, key=lambda key: (random_key(seed, "documents", key), key))[: max(total - len(chosen), 0)]


def sample_others(draw: Random, total: int, excluded: Sequence[int], number: int) -> list[int]:
    """Draw numbers below the total that are not excluded (sorted), without a list of them all."""
    gaps = [position - rank for rank, position in enumerate(excluded)]
    drawn = draw.sample(range(total - len(excluded)), number)
    return [position + bisect_right(gaps, position) for position in drawn]


def shares(sizes: Mapping[_Stratum, int], total: int) -> dict[_Stratum, int]:
    """Allocate ``total`` draws to groups, of which none gets more than its size.

    Each group gets one draw, the largest first. The rest is allocated in proportion to the remaining sizes, by largest
    remainders.
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


def stratified(strata: Mapping[str, _Stratum], total: int, seed: int) -> list[str]:
    """Draw keys, as many of each stratum as :func:`shares` allocates, and sort them.

    Within a stratum the hash of the key decides, so that neither the order of the input nor other strata matter.
    """
    given = shares(Counter(strata.values()), total)
    best: dict[_Stratum, list[tuple[int, str]]] = {group: [] for group in given}
    for key, group in strata.items():
        drawn = best[group]
        drawn.append((random_key(seed, "queries", key), key))
        if len(drawn) > 2 * given[group] + _SPARE:
            drawn.sort()
            del drawn[given[group] :]
    return sorted(key for group, drawn in best.items() for _, key in sorted(drawn)[: given[group]])


def ipc_section(codes: Iterable[str]) -> str:
    """Return the section of the first valid IPC code, empty if there is none."""
    return next(iter(ipc.codes_at(codes, "section").codes), "")


def stratum(patent: Patent) -> tuple[str, str]:
    """Return year (of publication, else filing) and IPC section, empty if unknown."""
    day = patent.publication_date or patent.application_date or patent.priority_date
    return str(day.year) if day else "", ipc_section(patent.ipc)


def sample_queries(strata: Mapping[str, _Stratum], queries: int | None, seed: int, log: BuildLog) -> list[str]:
    """Draw and log a stratified sample of queries, sorted; None: all queries."""
    if queries is None:
        return sorted(strata)
    chosen = stratified(strata, queries, seed)
    note = f"{len(set(strata.values()))} strata, by hash"
    log.step("queries, stratified by year and IPC section", len(strata), len(chosen), note)
    return chosen
