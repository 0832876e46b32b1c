"""How often the statements of a report are right: simulated from populations of queries whose truth is known.

    python benchmarks/calibration.py [--sets 1000] [--seed 1]     # the table of docs/numbers.md, about 15 minutes
    python benchmarks/calibration.py --scores FILE.csv            # the same from real scores: a column a model

A population has 120,000 queries and 22 models that share the difficulty of a query. Sets of n queries are drawn from it
and judged by the functions of the report. For the statements on equal models, the scores of a query are dealt to the
models at random, so that all are exactly equal. The standard error of 95% in 1,000 sets is 0.7 points.
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from patent_mteb.metrics.significance import Bootstrap, bootstrap
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


def population(name: str, seed: int) -> Floats:
    """[queries, models] scores between 0 and 1: a query is a hit if its ease, half shared by the models, is enough."""
    if name not in POPULATIONS:
        return np.loadtxt(name, delimiter=",", skiprows=1)
    threshold, gain = POPULATIONS[name]
    rng = np.random.default_rng(seed)
    ease = 0.8 * rng.standard_normal((QUERIES, 1)) + 0.6 * rng.standard_normal((QUERIES, MODELS))
    return np.where(ease + threshold > 0, rng.beta(*gain, size=ease.shape), 0.0)


def _one_set(scores: Floats, truth: float) -> dict[str, float]:
    """What the report says of a set of queries, 1 where it is wrong (of intervals: the share of models)."""
    every = bootstrap(scores)
    low, high = every.intervals().T
    found = {
        "interval misses the mean": float(((truth < low) | (truth > high)).mean()),
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
    for _ in range(sets):
        drawn = rng.permuted(scores[rng.integers(len(scores), size=n)], axis=1)
        total.update(_one_set(drawn, float(scores.mean())))
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--scores", metavar="FILE.csv")
    arguments = parser.parse_args()
    print(f"{arguments.sets} sets, seed {arguments.seed}; all figures but the queries above zero are percentages")
    with ProcessPoolExecutor(arguments.processes) as pool:
        for name in [arguments.scores] if arguments.scores else POPULATIONS:
            print(f"\n{name}")
            rows: dict[str, list[float]] = {}
            for n in SIZES:
                share = -(-arguments.sets // arguments.processes)
                seeds = [arguments.seed * 1000 + part for part in range(arguments.processes)]
                parts = list(pool.map(_sets, *zip(*((name, n, seed, share) for seed in seeds), strict=True)))
                for what in parts[0]:
                    mean = sum(part[what] for part in parts) / (share * arguments.processes)
                    rows.setdefault(what, []).append(mean if what.startswith("queries") else 100 * mean)
            print(f"{'':40}" + "".join(f"{f'n {n}':>8}" for n in SIZES))
            for what, values in rows.items():
                print(f"{what:40}" + "".join(f"{value:8.1f}" for value in values), flush=True)


if __name__ == "__main__":
    main()
