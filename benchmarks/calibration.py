"""How often the statements of a report are right: simulated from populations of queries whose truth is known.

    python benchmarks/calibration.py [--sets 1000] [--seed 1]     # the tables of docs/numbers.md, under 15 minutes
    python benchmarks/calibration.py --scores FILE.csv            # the first from real scores: a column a model

A column "group" of real scores numbers the application or family of a query; sets then have n groups.

A population has 120,000 queries and 22 models that share the difficulty of a query. Sets of n queries are drawn from it
and judged by the functions of the report. For the statements on equal models, the scores of a query are dealt to the
models at random, so that all are exactly equal. The standard error of 95% in 1,000 sets is 0.7 points.

Populations of labelled documents have 40,000 of them, with predictions, clusters or similarities that a given share of
the documents follows. The truth is the mean score of 4,000 sets of as many documents, of clusterings that of the sets
themselves. Only intervals that a report shows without a mark are counted. The limits of the mark are from the last
table: populations of random frequencies, and how often intervals of their sets are wrong by what decides the score.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import v_measure_score

from patent_mteb.metrics.significance import Bootstrap, bootstrap, by_group, gap_intervals, needed_queries, too_small
from patent_mteb.protocols import (
    effective_rows,
    f1_per_label,
    macro_f1_interval,
    pearson_interval,
    share_interval,
    v_measure_interval,
)
from patent_mteb.protocols.clustering import SEEDS, cluster, minibatch_cluster
from patent_mteb.report.tables import rank_runs

Floats = NDArray[np.float64]
QUERIES, MODELS = 120_000, 22
SIZES = (50, 120, 500)
COUNTS = (2, 5, 22)  # of models
POPULATIONS = {  # the threshold of a hit, from which the share of zeros follows, and the parameters of a hit's gain
    "nDCG@10, mean .38, 31% zeros": (0.5, (1.2, 1.0)),
    "nDCG@10 OUT of domain, mean .08, 86% zeros": (-1.08, (1.2, 1.0)),
    "nDCG@10, mean .02, 96% zeros": (-1.75, (1.2, 1.0)),
    "one relevant document, mean .90": (1.4, (30.0, 0.6)),
}
GAP = 0.02  # true difference whose detection is counted
BETTER = 5  # models that have it, among the 22; 1 among five or fewer
PLANNED = 120, 4  # queries from which the number of needed ones is computed, and every how many sets it is
DOCUMENTS = 40_000
DOCUMENT_SIZES = (30, 120, 1200)
CLUSTERED = 4  # of so many sets one is clustered, in five starts
RANDOM = 60, 150, 1500  # random populations, sets of each, and sets of the truth
RANDOM_SIZES = (30, 50, 80, 150, 400)
BINS = {"n_effective": (0, 5, 8, 12, 20), "n_rarer_label": (0, 2, 3, 5, 8)}  # the lowest value of each
TRUTH = 4000  # sets whose mean score is the truth


def population(name: str, seed: int) -> Floats:
    """[queries, models] scores between 0 and 1: a query is a hit if its ease, half shared by the models, is enough."""
    if name not in POPULATIONS:
        return np.loadtxt(name, delimiter=",", skiprows=1, usecols=_columns(name)[1])
    threshold, gain = POPULATIONS[name]
    rng = np.random.default_rng(seed)
    ease = 0.8 * rng.standard_normal((QUERIES, 1)) + 0.6 * rng.standard_normal((QUERIES, MODELS))
    return np.where(ease + threshold > 0, rng.beta(*gain, size=ease.shape), 0.0)


def _columns(name: str) -> tuple[Floats | None, list[int]]:
    """The group of each real score, if the file has them, and the columns of the models."""
    columns = Path(name).read_text("utf-8").partition("\n")[0].split(",")
    models = [number for number, column in enumerate(columns) if column != "group"]
    if len(models) == len(columns):
        return None, models
    return np.loadtxt(name, delimiter=",", skiprows=1, usecols=columns.index("group")), models


def _drawing(name: str, scores: Floats) -> Callable[[int, np.random.Generator], Floats]:
    """Return a draw of n queries, or of n groups with all of theirs, whose scores are dealt to the models."""
    groups = None if name in POPULATIONS else _columns(name)[0]
    if groups is None:
        return lambda n, rng: rng.permuted(scores[rng.integers(len(scores), size=n)], axis=1)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]

    def drawn(n: int, rng: np.random.Generator) -> Floats:
        chosen = [members[group] for group in rng.integers(len(members), size=n)]
        dealt = [scores[np.ix_(rows, rng.permutation(scores.shape[1]))] for rows in chosen]  # a group to one model
        return by_group(np.concatenate(dealt), np.repeat(np.arange(n), [len(rows) for rows in chosen]))

    return drawn


def _one_set(scores: Floats, truth: float) -> dict[str, float]:
    """What the report says of a set of queries, 1 where it is wrong (of intervals: the share of models)."""
    every = bootstrap(scores)
    low, high = every.intervals().T
    gaps = gap_intervals(scores[:, :-1] - scores[:, 1:])
    found = {
        "interval misses the mean": float(((truth < low) | (truth > high)).mean()),
        "interval misses the gap": float(((gaps[:, 0] > 0) | (gaps[:, 1] < 0)).mean()),
        "queries above zero": float((scores > 0).sum(axis=0).mean()),
        "a pair differs": float(every.p_values()[0, 1] < 0.05),
        "a pair differs, paper's p": float(every.paper_p(np.array([0]), np.array([1]))[0] < 0.05),
    }
    for models in (count for count in COUNTS if count <= scores.shape[1]):
        part = Bootstrap(scores[:, :models], every.resampled[:, :models])
        # The first pair that differs has the best model, so this is also how often an equally good one is left out.
        found[f"some of {models} differ"] = float((part.joint() < 0.05).any())
    runs = [f"m{model}" for model in range(5)]
    task = SimpleNamespace(metadata=SimpleNamespace(name="t"))
    benchmark = SimpleNamespace(groups={"all": [task]}, macro=False)
    by_query = SimpleNamespace(
        runs=runs, resampled=every.resampled[:1000, :5], means=every.means[:5], independent=len(scores), queries=0
    )
    own = {run: {"t": float(every.means[model])} for model, run in enumerate(runs)}
    ranked = rank_runs(benchmark, own, {}, {"t": by_query})
    found["a rank of 5 equal is missed"] = float(any(ends[0] > 1 for ends in ranked.intervals.values()))
    better, shifted = (BETTER if scores.shape[1] > BETTER else 1), scores.copy()
    shifted[:, :better] += GAP
    moved = bootstrap(shifted)
    others = np.arange(better, scores.shape[1])
    paper = np.stack([moved.paper_p(np.full(len(others), one), others) for one in range(better)])
    found |= {
        "found, a pair": float((moved.p_values()[:better, better:] < 0.05).mean()),
        "found, jointly": float((moved.joint()[:better, better:] < 0.05).mean()),
        "found, paper's p": float((paper < 0.05).mean()),
    }
    return found


def _sets(name: str, n: int, seed: int, sets: int) -> Counter[str]:
    scores, rng = population(name, 7), np.random.default_rng(seed)
    total: Counter[str] = Counter()
    draw = _drawing(name, scores)
    for number in range(sets):
        drawn = draw(n, rng)
        total.update(_one_set(drawn, float(scores.mean())))
        if n == PLANNED[0] and number % PLANNED[1] == 0:
            total["found with the needed queries"] += PLANNED[1] * _found_as_planned(draw, drawn, rng)
    return total


def _found_as_planned(
    draw: Callable[[int, np.random.Generator], Floats], first: Floats, rng: np.random.Generator
) -> bool:
    """Whether a pair is found on as many queries as a first set says that its difference needs."""
    size = needed_queries(first[:, :2], GAP) or 2
    pair = draw(size, rng)[:, :2]
    return bool(bootstrap(pair + np.array([GAP, 0.0]), resamples=1000).p_values()[0, 1] < 0.05)


@dataclass(frozen=True)
class Labelled:
    """A population of documents: what is true of them and what a model says, two arrays with a row a document."""

    true: NDArray[Any]
    said: NDArray[Any]
    score: Callable[[NDArray[Any], NDArray[Any]], float]
    interval: Callable[[NDArray[Any], NDArray[Any]], tuple[float, float]]
    counts: Callable[[NDArray[Any]], Mapping[str, float]] = lambda true: {}  # that decide the mark
    clustered: bool = False


def _frequencies(classes: int, exponent: float) -> Floats:
    frequencies = np.arange(1.0, classes + 1) ** -exponent
    return np.asarray(frequencies / frequencies.sum())


def _macro_f1(frequent: Floats, one_each: bool, seed: int) -> Labelled:
    """Labels of these frequencies; rarer ones are recognised less often. ``one_each``: a document has one class."""
    rng, classes = np.random.default_rng(seed), len(frequent)
    right = np.clip(0.8 * (frequent / frequent.max()) ** 0.15 + rng.normal(0, 0.1, classes), 0.02, 0.98)
    if one_each:
        true, wrong = (rng.choice(classes, DOCUMENTS, p=frequent) for _ in range(2))
        said = np.where(rng.random(DOCUMENTS) < right[true], true, wrong)
        matrices = [np.arange(classes) == column[:, None] for column in (true, said)]
    else:
        labels = rng.random((DOCUMENTS, classes)) < frequent
        drawn = rng.random(labels.shape)
        matrices = [labels, np.where(labels, drawn < right, drawn < 0.2 * frequent)]
    return Labelled(
        *matrices,
        lambda a, b: float(f1_per_label(a, b).mean()),
        macro_f1_interval,
        lambda a: {"n_effective": effective_rows(a.sum(axis=0))},
    )


def _v_measure(classes: int, right: float, exponent: float, seed: int) -> Labelled:
    """Each class has a cluster of its own with the given share of its documents; others go to four more or to any."""
    rng = np.random.default_rng(seed)
    true = rng.choice(classes, DOCUMENTS, p=_frequencies(classes, exponent))
    near, drawn = rng.integers(classes, size=(classes, 4)), rng.random(DOCUMENTS)
    apart = np.where(
        drawn < 1 - 0.3 * (1 - right),
        near[true, rng.integers(4, size=DOCUMENTS)],
        rng.integers(classes, size=DOCUMENTS),
    )
    said = np.where(drawn < right, true, apart)
    return Labelled(true, said, lambda a, b: float(v_measure_score(a, b)), v_measure_interval)


def _pearson(similar: float, apart: float, seed: int) -> Labelled:
    """Pairs, a share of them similar, whose cosines are normal and differ by so many standard deviations."""
    rng = np.random.default_rng(seed)
    true = (rng.random(DOCUMENTS) < similar).astype(float)
    said = apart * true + rng.standard_normal(DOCUMENTS)
    return Labelled(
        true,
        said,
        lambda a, b: float(np.corrcoef(a, b)[0, 1]) if a.std() else 0.0,
        pearson_interval,
        lambda a: {"n_rarer_label": min(a.sum(), len(a) - a.sum())},
    )


def _k_means(method: Callable[..., Any], classes: int, spread: float, seed: int) -> Labelled:
    """Points of 32 normal dimensions round the centre of their class, clustered anew in each set."""
    rng = np.random.default_rng(seed)
    true = rng.choice(classes, DOCUMENTS, p=_frequencies(classes, 0.5))
    points = rng.standard_normal((classes, 32))[true] + spread * rng.standard_normal((DOCUMENTS, 32))

    def starts(a: NDArray[Any], b: NDArray[Any], seeds: tuple[int, ...] = SEEDS) -> list[Any]:
        clusters = {"clusters": classes} if method is cluster else {}
        return [method(b, a.tolist(), seed=one, **clusters) for one in seeds]

    def interval(a: NDArray[Any], b: NDArray[Any]) -> tuple[float, float]:
        of_seeds = starts(a, b)
        return v_measure_interval(a.tolist(), of_seeds[0].assigned, [one.v_measure for one in of_seeds])

    return Labelled(true, points, lambda a, b: float(starts(a, b, SEEDS[:1])[0].v_measure), interval, clustered=True)


def _precision(share: float, seed: int) -> Labelled:
    hits = np.random.default_rng(seed).random(DOCUMENTS) < share
    return Labelled(hits, hits, lambda a, b: float(a.mean()), lambda a, b: share_interval(a))


LABELLED: dict[str, Callable[[], Labelled]] = {
    "macro F1, 6 labels": lambda: _macro_f1(0.5 * 0.6 ** np.arange(6), False, 1),
    "macro F1, 15 labels, the rarest 1 in 200": lambda: _macro_f1(
        np.maximum(0.5 * 0.7 ** np.arange(15), 0.005), False, 2
    ),
    "macro F1, 40 labels": lambda: _macro_f1(np.maximum(0.5 * 0.93 ** np.arange(40), 0.01), False, 3),
    "macro F1, 2 classes": lambda: _macro_f1(_frequencies(2, 0.5), True, 4),
    "macro F1, 30 classes": lambda: _macro_f1(_frequencies(30, 0.8), True, 5),
    "macro F1, 109 classes": lambda: _macro_f1(_frequencies(109, 1), True, 6),
    "V-measure, 6 classes, half right": lambda: _v_measure(6, 0.5, 0.5, 7),
    "V-measure, 30 classes, a third right": lambda: _v_measure(30, 0.3, 0.5, 8),
    "V-measure, 30 classes, 70% right": lambda: _v_measure(30, 0.7, 0.5, 9),
    "V-measure, 100 classes, 70% right": lambda: _v_measure(100, 0.7, 0.8, 10),
    "Pearson .45, half of the pairs similar": lambda: _pearson(0.5, 1, 11),
    "Pearson .90, half of the pairs similar": lambda: _pearson(0.5, 4, 12),
    "Pearson .77, a tenth of the pairs similar": lambda: _pearson(0.1, 4, 13),
    "V-measure of k-means, 15 overlapping clusters": lambda: _k_means(cluster, 15, 2.0, 16),
    "V-measure of mini-batch k-means, 6 clusters": lambda: _k_means(minibatch_cluster, 6, 1.5, 17),
    "V-measure of mini-batch k-means, 15 clusters": lambda: _k_means(minibatch_cluster, 15, 2.0, 18),
    "P@1 .5": lambda: _precision(0.5, 14),
    "P@1 .9": lambda: _precision(0.9, 15),
}


def labelled_sets(name: str, n: int, seed: int, sets: int) -> tuple[float, float, float]:
    """Return the share of wrong intervals, that of marked ones, and the mean width of the others."""
    population, rng = LABELLED[name](), np.random.default_rng(seed)

    def drawn() -> tuple[NDArray[Any], NDArray[Any]]:
        rows = rng.integers(DOCUMENTS, size=n)
        return population.true[rows], population.said[rows]

    sets = max(1, sets // CLUSTERED) if population.clustered else sets
    truth = float(np.mean([population.score(*drawn()) for _ in range(sets if population.clustered else TRUTH)]))
    wrong, widths = [], []
    for _ in range(sets):
        true, said = drawn()
        if not too_small({"n_test": n, **population.counts(true)}):
            low, high = population.interval(true, said)
            wrong.append(not low <= truth <= high)
            widths.append(high - low)
    return (float(np.mean(wrong)) if wrong else np.nan), 1 - len(wrong) / sets, float(np.mean(widths or np.nan))


def random_sets(seed: int) -> dict[str, NDArray[np.int64]]:
    """[bins, 2] for each count that decides the mark: sets of a random population, and how many intervals are wrong."""
    rng, (_, sets, of_truth) = np.random.default_rng(seed), RANDOM
    one_each, classes = rng.random() < 0.5, rng.integers(2, 41)
    frequent = (
        _frequencies(classes, rng.uniform(0, 1.2))
        if one_each
        else np.maximum(rng.uniform(0.2, 0.6) * rng.uniform(0.5, 0.95) ** np.arange(classes), rng.uniform(0.005, 0.03))
    )
    similar = float(np.exp(rng.uniform(np.log(0.02), np.log(0.5))))
    found = {name: np.zeros((len(limits), 2), dtype=np.int64) for name, limits in BINS.items()}
    for one in (_macro_f1(frequent, one_each, seed), _pearson(similar, rng.uniform(0.5, 4), seed)):
        for n in RANDOM_SIZES:
            drawn = rng.integers(DOCUMENTS, size=(of_truth, n))
            truth = np.mean([one.score(one.true[rows], one.said[rows]) for rows in drawn])
            for rows in rng.integers(DOCUMENTS, size=(sets, n)):
                (name, count), *_ = one.counts(one.true[rows]).items()
                low, high = one.interval(one.true[rows], one.said[rows])
                found[name][np.searchsorted(BINS[name], count, side="right") - 1] += 1, not low <= truth <= high
    return found


def _labelled(cell: tuple[str, int], seed: int, sets: int) -> tuple[float, float, float]:
    return labelled_sets(*cell, seed, sets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--scores", metavar="FILE.csv")
    arguments = parser.parse_args()
    print(f"{arguments.sets} sets, seed {arguments.seed}; all figures but the queries above zero are percentages")
    names = [arguments.scores] if arguments.scores else list(POPULATIONS)
    with ProcessPoolExecutor(arguments.processes) as pool:
        cells = zip(*((name, n, 1000 * arguments.seed, arguments.sets) for name in names for n in SIZES), strict=True)
        counted = pool.map(_sets, *cells)
        for name in names:
            print(f"\n{name}\n{'':40}" + "".join(f"{f'n {n}':>8}" for n in SIZES))
            of_sizes = [next(counted) for _ in SIZES]
            for what in dict.fromkeys(what for counts in of_sizes for what in counts):
                percent = 1 if what.startswith("queries") else 100
                values = [percent * counts[what] / arguments.sets if what in counts else np.nan for counts in of_sizes]
                print(f"{what:40}" + "".join(f"{value:8.1f}" for value in values), flush=True)
        if not arguments.scores:
            cells = [(name, n) for name in LABELLED for n in DOCUMENT_SIZES]
            found = pool.map(_labelled, cells, [arguments.seed] * len(cells), [arguments.sets] * len(cells))
            print(
                f"\n{'intervals over documents: wrong, marked, width':50}"
                + "".join(f"{f'n {n}':>16}" for n in DOCUMENT_SIZES)
            )
            for name in LABELLED:
                each = [next(found) for _ in DOCUMENT_SIZES]
                text = (f"{100 * wrong:.1f} {100 * marked:.0f} {width:.3f}" for wrong, marked, width in each)
                print(f"{name:50}" + "".join(f"{one:>16}" for one in text), flush=True)
            of_populations = list(
                pool.map(random_sets, range(1000 * arguments.seed, 1000 * arguments.seed + RANDOM[0]))
            )
            for name, limits in BINS.items():
                print(f"\n{RANDOM[0]} random populations, by {name}: wrong, sets")
                for limit, (count, wrong) in zip(limits, sum(one[name] for one in of_populations), strict=True):
                    print(f"from {limit:3} {100 * wrong / max(count, 1):6.1f} {count:8,}", flush=True)


if __name__ == "__main__":
    main()
