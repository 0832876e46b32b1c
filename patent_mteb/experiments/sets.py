"""Boolean hit lists, which have no order, next to rankings on the same judgements.

A set is compared with a ranking twice. At equal effort: the ranking is cut for each query at the size of its set. At
equal recall: the depth is the smallest number of documents a query, the same for all, at which the mean recall of the
ranking reaches that of the sets. Means are over the queries with a relevant document. An empty set has precision,
recall and F1 of 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.experiments.run import unloading
from patent_mteb.metrics.measures import Judged, JudgedRanks
from patent_mteb.metrics.significance import bootstrap, by_group, gap_intervals, too_small
from patent_mteb.search.run import Run
from patent_mteb.search.stored import StoredRun
from patent_mteb.tasks.perquery import query_groups
from patent_mteb.tasks.retrieval import PatentRetrieval

Floats = NDArray[np.float64]
_LEVEL = 0.95  # of intervals, as in the reports
_ROUNDING = 1e-9  # recalls that are equal may differ in the last bits


@dataclass(frozen=True)
class Score:
    """A mean over queries with the limits of its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Sets:
    """Sets by query: mean size, number of empty ones, and set precision, recall and F1."""

    name: str
    queries: int
    size: float
    empty: int
    precision: Score
    recall: Score
    f1: Score
    small: str  # why the queries are too few for a comparison, or empty


@dataclass(frozen=True)
class Ranked:
    """A ranking cut at the sizes of the sets, and the depth at which it reaches their recall.

    ``difference`` is the recall of the ranking minus that of the sets, ``p`` its two-sided paired bootstrap. ``depth``
    and its limits are infinite if the ranking ends before. For ``fewer`` and ``more`` queries, the ranking needs fewer
    or more documents than the set has until it has found as many relevant ones. The rankings of ``short`` queries end
    before the size of the set.
    """

    name: str
    precision: Score
    recall: Score
    f1: Score
    difference: Score
    p: float
    depth: Score
    longest: int
    fewer: int
    more: int
    short: int


def compare_sets(
    sets: StoredRun, rankings: Mapping[str, StoredRun], task: PatentRetrieval
) -> tuple[Sets, list[Ranked]]:
    """Score a set of documents a query, and rankings of the same task at its size and its recall.

    Raises:
        DataError: a file has queries or documents that are not the task's.
    """
    with unloading(task):
        _, queries, context = task.searching(sets)
        qrels, families = task.loaded_split["relevant_docs"], task.tables.query_families

        def found_by(system: StoredRun) -> Run:
            system.ensure_indexed(sets.corpus, context)
            return system.found(queries, context)

        own = _Found.of(found_by(sets), qrels)
        if not own.queries:
            raise DataError("no query of the task has a relevant document", remedy="name another task")
        groups = query_groups(families, own.queries) or range(len(own.queries))
        precision, recall, f1 = _scores(own.measures(own.sizes), groups)
        name = str(sets.mteb_model_meta.name)
        size, empty = float(own.sizes.mean()), int((own.sizes == 0).sum())
        counts = {"n_queries": len(own.queries), "n_query_groups": len(set(groups))}
        scored = Sets(name, len(own.queries), size, empty, precision, recall, f1, too_small(counts))
        found = ((name, _Found.of(found_by(one), qrels)) for name, one in rankings.items())
        return scored, [_ranked(name, one, own, groups) for name, one in found]


@dataclass(frozen=True)
class _Found:
    """What a system found for the queries that have a relevant document."""

    queries: tuple[str, ...]
    sizes: NDArray[np.int64]  # [queries] documents
    relevant: Floats  # [queries] relevant documents, found or not
    owner: NDArray[np.int64]  # query of each relevant document that was found, by query, then rank
    rank: NDArray[np.int64]

    @classmethod
    def of(cls, run: Run, qrels: Any) -> _Found:
        judged: JudgedRanks = Judged(run.docs, qrels, run.query_ids, run.doc_ids).all
        rows = np.flatnonzero(judged.relevant > 0)
        number = np.full(len(run.query_ids), -1)
        number[rows] = np.arange(len(rows))
        queries = tuple(run.query_ids[row] for row in rows)
        sizes = (run.docs[rows] >= 0).sum(axis=1)
        return cls(queries, sizes, judged.relevant[rows], number[judged.owner], judged.rank)

    def within(self, depths: NDArray[np.int64]) -> Floats:
        """[queries] relevant documents within a depth of each query."""
        inside = self.rank <= depths[self.owner]
        return np.bincount(self.owner[inside], minlength=len(self.queries)).astype(np.float64)

    def measures(self, sizes: NDArray[np.int64]) -> Floats:
        """[queries, 3] set precision, recall and F1 of the first documents of each query."""
        found = self.within(sizes)
        precision = np.divide(found, sizes, out=np.zeros_like(found), where=sizes > 0)
        return np.column_stack([precision, found / self.relevant, 2 * found / (sizes + self.relevant)])

    def recalls(self) -> tuple[NDArray[np.int64], Floats]:
        """The ranks at which a recall grows, and the recall of each query there [queries, ranks]."""
        ranks, place = np.unique(self.rank, return_inverse=True)
        grown = np.zeros((len(self.queries), len(ranks)))
        np.add.at(grown, (self.owner, place), 1 / self.relevant[self.owner])
        return ranks, np.cumsum(grown, axis=1)

    def depths(self, wanted: Floats) -> Floats:
        """[queries] smallest depth with as many relevant documents as wanted; infinite if there is none."""
        ends = np.cumsum(np.bincount(self.owner, minlength=len(self.queries)))
        starts = np.append(0, ends[:-1])
        place = starts + wanted.astype(np.int64) - 1
        reached = place < ends
        depths = np.where(reached, np.append(self.rank, 0)[np.minimum(place, len(self.rank))], np.inf)
        return np.where(wanted > 0, depths, 0.0)


def _scores(values: Floats, groups: Sequence[int], gaps: bool = False) -> tuple[Score, ...]:
    """Means and intervals of the columns of [queries, columns], scores from 0 to 1 or differences of such scores."""
    rows = by_group(values, groups)
    limits = gap_intervals(rows).clip(-1.0, 1.0) if gaps else bootstrap(rows).intervals(_LEVEL).clip(0.0, 1.0)
    return tuple(Score(float(mean), *map(float, pair)) for mean, pair in zip(values.mean(axis=0), limits, strict=True))


def _ranked(name: str, found: _Found, sets: _Found, groups: Sequence[int]) -> Ranked:
    measures, theirs = found.measures(sets.sizes), sets.measures(sets.sizes)
    both = np.column_stack([theirs[:, 1], measures[:, 1]])
    (difference,) = _scores((both[:, 1] - both[:, 0])[:, None], groups, gaps=True)
    depths, sizes = found.depths(sets.within(sets.sizes)), sets.sizes
    precision, recall, f1 = _scores(measures, groups)
    return Ranked(
        name,
        precision,
        recall,
        f1,
        difference=difference,
        p=float(bootstrap(by_group(both, groups)).p_values()[0, 1]),
        depth=_depth(found, theirs[:, 1], groups),
        longest=int(found.sizes.max(initial=0)),
        fewer=int((depths < sizes).sum()),
        more=int((depths > sizes).sum()),
        short=int((found.sizes < sizes).sum()),
    )


def _depth(found: _Found, recall: Floats, groups: Sequence[int]) -> Score:
    ranks, recalls = found.recalls()
    table = np.column_stack([np.zeros(len(recall)), recalls, recall])
    depths = np.append(np.append(0, ranks), np.inf)

    def first(means: Floats) -> Floats:
        """[rows] the first depth whose mean is at least that of the sets."""
        reached = means[:, :-1] >= means[:, -1:] - _ROUNDING
        return depths[np.where(reached.any(axis=1), reached.argmax(axis=1), len(depths) - 1)]

    drawn = first(bootstrap(by_group(table, groups)).resampled)
    low, high = np.quantile(drawn, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], method="inverted_cdf")
    return Score(float(first(table.mean(axis=0)[None])[0]), float(low), float(high))


def saved_runs(paths: Iterable[Path], task: str) -> dict[str, Path]:
    """Files of runs by name; of a folder those that ``run --save-runs`` wrote for a task, by their models."""
    found: list[tuple[str, ...]] = []
    files: list[Path] = []
    for path in paths:
        runs = sorted(path.rglob(f"{task}.run")) if path.is_dir() else [path]
        if not runs:
            remedy = f"name a run, or a folder of 'run -t {task} --save-runs'"
            raise DataError(f"the folder has no run of {task}", path=path, remedy=remedy)
        files += runs
        steps = (run.relative_to(path).parts if path.is_dir() else (run.stem,) for run in runs)
        found += [(parts[0].replace("__", "/"), *parts[1:-1]) for parts in steps]
    names = Counter(model for model, *_ in found)  # revision and settings only where a model is there twice
    return {
        model if names[model] == 1 else " ".join((model, *more)) or str(run): run
        for (model, *more), run in zip(found, files, strict=True)
    }
