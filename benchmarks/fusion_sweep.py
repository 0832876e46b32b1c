"""Time of a sweep over fusion settings: this package beside a loop over dictionaries, on random rankings.

    python benchmarks/fusion_sweep.py [--queries 10000] [--depth 1000] [--documents 113148]

The dictionaries are fused for a part of the queries and the time is scaled up (it is linear in the queries); converting the
rankings to arrays, once for all settings, is not included and printed apart. The ratio counts, not the seconds.

Reference (2 cores of an AMD EPYC, busy otherwise): depth 100, 41 s against 1.2 s, ratio 34; depth 1,000 and 4,000 queries, 34 s
against 3.3 s. Processor time of patent-mteb at depth 1,000 is 0.5 s a setting for 10,000 queries, two thirds of it sorting.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from patent_mteb.search.fusion import RRF, Fusion, Linear, sweep
from patent_mteb.search.run import Run, ranked_ids

SETTINGS: list[Fusion] = [*(Linear(alpha) for alpha in (0.1, 0.3, 0.5, 0.7, 0.9)), *(RRF(k) for k in (10, 60, 100))]
Ranking = dict[str, float]


def rankings(queries: int, depth: int, documents: int, seed: int) -> Run:
    """Rankings drawn from a shared pool of twice the depth for each query, so that two of them overlap by about a half."""
    pool_of = np.random.default_rng(0)
    rng = np.random.default_rng(seed)
    docs = np.empty((queries, depth), np.int32)
    for row in range(queries):
        pool = pool_of.integers(0, documents - 2 * depth) + np.arange(2 * depth)
        docs[row] = rng.permutation(pool)[:depth]
    scores = -np.sort(-rng.random((queries, depth), np.float32), axis=1)
    return Run([f"q{number}" for number in range(queries)], ranked_ids(f"d{number}" for number in range(documents)), docs, scores).ordered()


def normalised(ranking: Ranking) -> Ranking:
    low, high = min(ranking.values()), max(ranking.values())
    return {document: (score - low) / (high - low) for document, score in ranking.items()}


def by_rank(ranking: Ranking, k: float) -> Ranking:
    ordered = sorted(ranking, key=lambda document: (ranking[document], document), reverse=True)
    return {document: 1 / (k + rank) for rank, document in enumerate(ordered, 1)}


def naive(first: Ranking, second: Ranking, setting: Fusion, top_k: int) -> Ranking:
    """What the papers' equations say, document by document."""
    if isinstance(setting, RRF):
        parts = [by_rank(first, setting.k), by_rank(second, setting.k)]
        weights = [1.0, 1.0]
    else:
        parts = [normalised(first), normalised(second)]
        weights = [1 - setting.alpha, setting.alpha]
    fused: Ranking = {}
    for part, weight in zip(parts, weights, strict=True):
        for document, score in part.items():
            fused[document] = fused.get(document, 0.0) + weight * score
    return dict(sorted(fused.items(), key=lambda item: (item[1], item[0]), reverse=True)[:top_k])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--depth", type=int, default=1_000)
    parser.add_argument("--documents", type=int, default=113_148)
    arguments = parser.parse_args()
    first, second = (rankings(arguments.queries, arguments.depth, arguments.documents, seed) for seed in (1, 2))

    start = time.perf_counter()
    sample = 0
    for run in sweep(first, second, SETTINGS, arguments.depth):
        sample += run.docs.size
    ours = time.perf_counter() - start

    part = min(100, arguments.queries)
    few = [Run(run.query_ids[:part], run.doc_ids, run.docs[:part], run.scores[:part]) for run in (first, second)]
    dictionaries = [run.to_dict() for run in few]
    start = time.perf_counter()
    loops = [
        {query: naive(dictionaries[0][query], dictionaries[1][query], setting, arguments.depth) for query in few[0].query_ids}
        for setting in SETTINGS
    ]
    theirs = (time.perf_counter() - start) * arguments.queries / part

    difference = max(
        abs(ranking[document] - loop[query].get(document, min(loop[query].values())))  # of equal ones at the end another may stand there
        for loop, run in zip(loops, sweep(*few, SETTINGS, arguments.depth), strict=True)
        for query, ranking in run.to_dict().items()
        for document in ranking
    )
    print(f"{len(SETTINGS)} settings, {arguments.queries:,} queries, depth {arguments.depth:,}; scores differ by {difference:.1e} at most")
    print(f"{'dictionaries':<16}{theirs:8.1f} s (from {part} queries)")
    print(f"{'patent-mteb':<16}{ours:8.1f} s")
    print(f"{'ratio':<16}{theirs / ours:8.1f} x")


if __name__ == "__main__":
    main()
