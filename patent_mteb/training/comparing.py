"""Compare scores before and after training, with confidence interval and p-value.

With several seeds, the score is the mean over seeds with its standard deviation (n - 1), as in WIPO-AT's Tables 13 and
14. The difference compares each query's mean over seeds with its score before: p by resamples of the queries (10,000,
seed 42), the interval by :func:`~patent_mteb.metrics.significance.gap_intervals`. A distilled student is evaluated by
its error and its neighbours (:mod:`patent_mteb.training.distilling`), other models by known-item search over held-out
pairs (:func:`known_item`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray

from patent_mteb import published
from patent_mteb.errors import DataError
from patent_mteb.metrics.significance import bootstrap, gap_intervals
from patent_mteb.tasks.perquery import path_of
from patent_mteb.training.bases import unit, vectors_of, warn_of_collapse
from patent_mteb.training.pairs import Pair

Floats = NDArray[np.float64]
_DEPTH = 10  # of nDCG@10
_SEED_TABLES = (13, 14, 20)


@dataclass(frozen=True)
class HeldOutScores:
    """The scores of one model on held-out data, one for each pair or text."""

    what: str
    measure: str
    scores: Floats
    mean: float | None = None  # score of a model that returns the mean of the training targets for every text


@dataclass(frozen=True)
class Change:
    """One measure before and after training."""

    what: str
    measure: str
    n_queries: int
    before: float
    after: float  # mean over seeds
    spread: float | None  # standard deviation over seeds, None for one seed
    difference: float  # after - before
    low: float  # 95 % interval of the difference
    high: float
    p: float  # two-sided, of the paired bootstrap
    seeds: tuple[float, ...]
    mean: float | None = None  # as in HeldOutScores


def change(what: str, measure: str, before: Floats, after: Sequence[Floats], mean: float | None = None) -> Change:
    average = np.mean(after, axis=0)
    low, high = gap_intervals((average - before)[:, None])[0]
    seeds = tuple(float(values.mean()) for values in after)
    return Change(
        what=what,
        measure=measure,
        n_queries=len(before),
        before=float(before.mean()),
        after=float(average.mean()),
        spread=float(np.std(seeds, ddof=1)) if len(seeds) > 1 else None,
        difference=float(average.mean() - before.mean()),
        low=float(low),
        high=float(high),
        p=float(bootstrap(np.column_stack([before, average])).p_values()[0, 1]),
        seeds=seeds,
        mean=mean,
    )


def changes_of(before: Sequence[HeldOutScores], after: Sequence[Sequence[HeldOutScores]]) -> tuple[Change, ...]:
    """Compare the same measures of the base and of the checkpoint of each seed."""
    return tuple(
        change(base.what, base.measure, base.scores, [one.scores for one in seeds], base.mean)
        for base, *seeds in zip(before, *after, strict=True)
    )


def known_item(
    model: Any, pairs: Sequence[Pair], who: str, where: str, prompts: Mapping[str, str]
) -> dict[str, Floats]:
    """Return nDCG@10 and P@1 of each pair: the anchor searches the positives of all pairs for its own.

    Other publications of the pair's families are excluded. This needs no citations and works for any data.
    """
    vectors = []
    for side in ("anchor", "positive"):
        texts = [prompts.get(side, "") + getattr(pair, side) for pair in pairs]
        vectors.append(vectors_of(model, texts, f"{who} ({side}s of {where})"))
    warn_of_collapse(np.concatenate(vectors), who)
    anchors, positives = (unit(one).astype(np.float64) for one in vectors)
    return scores_of((anchor @ positives.T for anchor in anchors), pairs)


def scores_of(rows: Iterable[NDArray[Any]], pairs: Sequence[Pair]) -> dict[str, Floats]:
    """Return nDCG@10 and P@1 of each pair, from the scores of all positives. Ties count against the pair."""
    families = np.array([pair.positive_family for pair in pairs])
    anchor_families = np.array([pair.anchor_family for pair in pairs])
    ranks = np.empty(len(pairs))
    for row, scores in enumerate(rows):
        others = (families != families[row]) & (families != anchor_families[row])
        ranks[row] = 1 + np.sum(scores[others] >= scores[row])
    return {"ndcg@10": np.where(ranks <= _DEPTH, 1 / np.log2(1 + ranks), 0.0), "p@1": (ranks == 1).astype(np.float64)}


@dataclass(frozen=True)
class _Scores:
    """The scores by query of one model on one task."""

    path: Path
    measure: str
    data: tuple[str, str]
    scores: dict[str, float]


def compare_tasks(
    results: Path, before: ModelMeta, after: Sequence[ModelMeta], only: Mapping[str, frozenset[str] | None]
) -> list[Change]:
    """Compute the change of each task's main score. ``only`` names the tasks, with the queries that count or None."""
    changes = []
    for task, members in sorted(only.items()):
        paths = [(path_of(results, meta, task, ".queries.parquet"), meta) for meta in (before, *after)]
        if not all(path.exists() for path, _ in paths):
            continue
        base, *others = (_by_query(path, task, meta) for path, meta in paths)
        for one in others:
            if one.data != base.data or one.scores.keys() != base.scores.keys():
                problem = f"scores and base use different data or queries ({one.data[0]} and {base.data[0]})"
                remedy = "delete the older result and train again: finished checkpoints are used again"
                raise DataError(problem, path=one.path, remedy=remedy)
        chosen = [query for query in base.scores if members is None or query in members]
        if chosen:
            what = task if members is None else f"{task}, test families"
            first, *seeds = (np.array([one.scores[query] for query in chosen]) for one in (base, *others))
            changes.append(change(what, base.measure, first, seeds))
    return changes


def _by_query(path: Path, task: str, meta: ModelMeta) -> _Scores:
    table = pq.read_table(path)
    header = json.loads((table.schema.metadata or {}).get(b"patent_mteb", b"{}"))
    expected = {"task": task, "model": meta.name, "model_revision": meta.revision, "experiment": meta.experiment_name}
    differing = ((key, header.get(key), value) for key, value in expected.items() if header.get(key) != value)
    if shown := ", ".join(f"{key} {found!r} instead of {value!r}" for key, found, value in differing):
        remedy = "delete result and per-query scores and train again: finished checkpoints are used again"
        raise DataError(f"per-query scores of another run ({shown})", path=path, remedy=remedy)
    main = str(header["main_score"]).replace("_at_", "@")
    measure = main if main in table.column_names else "ndcg@10"
    scores = dict(zip(table["query"].to_pylist(), table[measure].to_pylist(), strict=True))
    return _Scores(path, measure, (header["dataset_revision"], header["subset"]), scores)


@dataclass(frozen=True)
class Printed:
    """A mean over seeds from a paper, with its standard deviation. The latter is None for a single run."""

    table: int
    model: str
    measure: str
    slice: str
    mean: float
    spread: float | None


def printed_of(recipe: str) -> list[Printed]:
    """Return the paper's means for a recipe, by table and model; empty for recipes of other papers."""
    label = recipe.removeprefix("wipo-").replace("r", "R", 1)
    found = []
    for number in _SEED_TABLES:
        rows = published.table("wipo_at", number).filter(pl.col("recipe") == label).to_dicts()
        spreads = {(row["model"], row["column"]): row["value"] for row in rows if row["kind"] == "spread"}
        for row in rows:
            if row["kind"] != "spread":
                measure = row["metric"].replace("_at_", "@")
                spread = spreads.get((row["model"], f"{row['column']}_std"))
                found.append(Printed(number, row["model"], measure, row["slice"], row["value"], spread))
    return found
