"""Before and after: what training changed, with interval and p.

Two measurements:

* **held-out pairs** (:func:`known_item`): for each pair of the test split, is the positive found among the positives of
  all families of the split? Other publications of the pair's own families are left out. Needs no citations, so that any
  data can be measured. Late interaction searches by MaxSim; a distilled student is measured by its error and its
  neighbours instead (:mod:`patent_mteb.training.distilling`).
* **tasks** (:func:`compare_tasks`): the results of ``--evaluate`` by query. Where the task is of the very data that
  were trained on, only queries of test families count; the corpus stays whole.

Several seeds: the score is the mean over seeds with its standard deviation (n - 1), as in WIPO-AT's Tables 13 and 14;
the difference is that of each query's mean over seeds from its score before, resampled by query (WIPO-AT §3.7: paired
bootstrap, 10,000 resamples, seed 42).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.metrics.significance import bootstrap
from patent_mteb.tasks.perquery import path_of
from patent_mteb.training.bases import say_collapse, unit, vectors_of
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.pairs import Pair

Floats = NDArray[np.float64]
_DEPTH = 10


@dataclass(frozen=True)
class Held:
    """The scores of one model on held-out data, one for each pair or text.

    Attributes:
        mean: score of a model that gives every text the mean of the training targets; None without targets.
    """

    what: str
    measure: str
    scores: Floats
    mean: float | None = None


@dataclass(frozen=True)
class Change:
    """One measure before and after.

    Attributes:
        before: R0. after: mean over seeds. spread: standard deviation over seeds, None for one seed.
        difference, low, high: after - before and its 95 % interval.
        p: one-sided, of the paired bootstrap (:meth:`patent_mteb.metrics.significance.Bootstrap.p_values`).
        mean: see :class:`Held`.
    """

    what: str
    measure: str
    n_queries: int
    before: float
    after: float
    spread: float | None
    difference: float
    low: float
    high: float
    p: float
    seeds: tuple[float, ...]
    mean: float | None = None


def change(what: str, measure: str, before: Floats, after: Sequence[Floats], mean: float | None = None) -> Change:
    """The change of one measure."""
    average = np.mean(after, axis=0)
    both = bootstrap(np.column_stack([before, average]))
    gained = both.resampled[:, 1] - both.resampled[:, 0]
    low, high = np.percentile(gained, [2.5, 97.5])
    scores = tuple(float(values.mean()) for values in after)
    return Change(
        what,
        measure,
        len(before),
        float(before.mean()),
        float(average.mean()),
        float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
        float(average.mean() - before.mean()),
        float(low),
        float(high),
        float(both.p_values()[0, 1]),
        scores,
        mean,
    )


def changes_of(before: Sequence[Held], after: Sequence[Sequence[Held]]) -> tuple[Change, ...]:
    """Compare the same measures of the base and of the checkpoint of each seed."""
    found = []
    for base, *seeds in zip(before, *after, strict=True):
        found.append(change(base.what, base.measure, base.scores, [one.scores for one in seeds], base.mean))
    return tuple(found)


def known_item(
    model: Any,
    pairs: Sequence[Pair],
    who: str = "the model",
    where: str = "the pairs",
    prompts: Mapping[str, str] | None = None,
) -> dict[str, Floats]:
    """nDCG@10 and P@1 of each pair: the anchor searches the positives of all pairs for its own."""
    sides = (("anchor", [pair.anchor for pair in pairs]), ("positive", [pair.positive for pair in pairs]))
    vectors = []
    for side, texts in sides:
        prompt = (prompts or {}).get(side, "")
        vectors.append(vectors_of(model, [prompt + text for text in texts], f"{who} ({side}s of {where})"))
    say_collapse(np.concatenate(vectors), who)
    anchors, positives = (unit(one).astype(np.float64) for one in vectors)
    return scores_of((anchor @ positives.T for anchor in anchors), pairs)


def scores_of(rows: Iterable[NDArray[Any]], pairs: Sequence[Pair]) -> dict[str, Floats]:
    """nDCG@10 and P@1 of each pair by the scores of all positives; equal scores count against the pair."""
    families = np.array([pair.positive_family for pair in pairs])
    asking = np.array([pair.anchor_family for pair in pairs])
    ranks = np.empty(len(pairs))
    for place, scores in enumerate(rows):
        rivals = (families != families[place]) & (families != asking[place])
        ranks[place] = 1 + np.sum(scores[rivals] >= scores[place])
    return {"ndcg@10": np.where(ranks <= _DEPTH, 1 / np.log2(1 + ranks), 0.0), "p@1": (ranks == 1).astype(np.float64)}


def test_queries(corpus: Corpus) -> frozenset[str]:
    """The publications of the test families."""
    return frozenset(patent.publication_number for patent in corpus.members("test"))


test_queries.__test__ = False  # type: ignore[attr-defined]


def compare_tasks(
    results: Path, before: ModelMeta, after: Sequence[ModelMeta], only: Mapping[str, frozenset[str] | None]
) -> list[Change]:
    """The change of each task's main score, from the scores by query in a results folder."""
    changes = []
    for task, members in sorted(only.items()):
        found = [_by_query(path_of(results, meta, task, ".queries.parquet"), task, meta) for meta in (before, *after)]
        tables = [one for one in found if one]
        if len(tables) < len(found):
            continue
        _check_same_data(tables)
        chosen = [query for query in tables[0].scores if members is None or query in members]
        if chosen:
            what = task if members is None else f"{task}, test families"
            base, *others = (np.array([one.scores[query] for query in chosen]) for one in tables)
            changes.append(change(what, tables[0].measure, base, others))
    return changes


@dataclass(frozen=True)
class _Scores:
    """The scores by query of one model on one task."""

    path: Path
    measure: str
    data: tuple[str, str]
    scores: dict[str, float]


def _by_query(path: Path, task: str, meta: ModelMeta) -> _Scores | None:
    """The scores of a file, None where the task has none by query."""
    if not path.exists():
        return None
    table = pq.read_table(path)
    known = json.loads((table.schema.metadata or {}).get(b"patent_mteb", b"{}"))
    wanted = {"task": task, "model": meta.name, "model_revision": meta.revision, "experiment": meta.experiment_name}
    if differing := [
        f"{key} {known.get(key)!r} instead of {value!r}" for key, value in wanted.items() if known.get(key) != value
    ]:
        remedy = "delete result and per-query scores and train again: what is trained is kept"
        raise DataError(f"per-query scores of another run ({', '.join(differing)})", path=path, remedy=remedy)
    main = str(known["main_score"]).replace("_at_", "@")
    measure = main if main in table.column_names else "ndcg@10"
    scores = dict(zip(table["query"].to_pylist(), table[measure].to_pylist(), strict=True))
    return _Scores(path, measure, (known["dataset_revision"], known["subset"]), scores)


def _check_same_data(tables: Sequence[_Scores]) -> None:
    base = tables[0]
    for one in tables[1:]:
        if one.data != base.data or one.scores.keys() != base.scores.keys():
            problem = f"the scores are of other data or queries ({one.data[0]}) than the base's ({base.data[0]})"
            raise DataError(
                problem, path=one.path, remedy="delete the older result and train again: what is trained is kept"
            )
