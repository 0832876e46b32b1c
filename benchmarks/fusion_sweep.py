"""Time of a sweep over fusion settings: this package against a loop over dictionaries, on random rankings.

    python benchmarks/fusion_sweep.py [--queries 10000] [--depth 1000] [--documents 113148] [--judged 3]

Two ways here: all rankings under every setting (``sweep``), and the ranks of the judged documents alone
(``sweep_ranks``), which is all that a measure needs. A loop that numba compiles shows what the same ranks cost in
machine code; numba is a package of the tests, not of an installation. Processor time on one thread. The dictionaries
are fused for a part of the queries and the time is scaled up (it is linear in the queries); converting the rankings to
arrays, once for all settings, is not included. The ratio counts, not the seconds.
"""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from patent_mteb.metrics.measures import Judgements, ranks_of
from patent_mteb.search.fusion import RRF, Fusion, Linear, sweep, sweep_ranks
from patent_mteb.search.run import Run, ranked_ids

SETTINGS: list[Fusion] = [*(Linear(alpha) for alpha in (0.1, 0.3, 0.5, 0.7, 0.9)), *(RRF(k) for k in (10, 60, 100))]
Ranking = dict[str, float]


def rankings(queries: int, depth: int, documents: int, seed: int) -> Run:
    """Rankings drawn from a shared pool of twice the depth for each query, so that two of them overlap by about a
    half.
    """
    pool_of = np.random.default_rng(0)
    rng = np.random.default_rng(seed)
    docs = np.empty((queries, depth), np.int32)
    for row in range(queries):
        pool = pool_of.integers(0, documents - 2 * depth) + np.arange(2 * depth)
        docs[row] = rng.permutation(pool)[:depth]
    scores = -np.sort(-rng.random((queries, depth), np.float32), axis=1)
    return Run(
        [f"q{number}" for number in range(queries)],
        ranked_ids(f"d{number}" for number in range(documents)),
        docs,
        scores,
    ).ordered()


def judged(run: Run, each: int) -> Judgements:
    """So many documents of each ranking, drawn at random, as judgements."""
    query = np.repeat(np.arange(len(run.query_ids)), each)
    drawn = np.random.default_rng(3).integers(0, run.depth, len(query))
    return Judgements(len(run.query_ids), query, run.docs[query, drawn].astype(np.int64), np.ones(len(query), np.int64))


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


def compiled(first: Run, second: Run, settings: list[Fusion], pairs: Judgements, top_k: int) -> tuple[float, Any]:
    """Seconds and ranks of one pass in machine code, for full rankings and equally many judged documents a query."""
    import numba

    @numba.njit  # type: ignore[untyped-decorator]
    def ranks(
        docs: Any, scores: Any, others: Any, their: Any, alphas: Any, ks: Any, judged: Any, documents: int
    ) -> Any:
        queries, depth = docs.shape
        place, found = np.full(documents, -1, np.int32), np.zeros((len(ks), queries, judged.shape[1]), np.int64)
        one, two, fused = np.empty(2 * depth), np.empty(2 * depth), np.empty(2 * depth, np.float32)
        at_one, at_two, names = np.empty((3, 2 * depth), np.int32)
        for query in range(queries):
            low, span = scores[query, -1], scores[query, 0] - scores[query, -1]
            their_low, their_span = their[query, -1], their[query, 0] - their[query, -1]
            for rank in range(depth):
                place[others[query, rank]] = rank
            n = depth
            for rank in range(depth):
                document = docs[query, rank]
                names[rank], at_one[rank], at_two[rank] = document, rank, place[document]
                one[rank], two[rank] = (np.float64(scores[query, rank]) - low) / span, 0.0
                if place[document] >= 0:
                    two[rank] = (np.float64(their[query, place[document]]) - their_low) / their_span
                    place[document] = -1
            for rank in range(depth):
                document = others[query, rank]
                if place[document] >= 0:
                    names[n], at_one[n], at_two[n], one[n] = document, -1, rank, 0.0
                    two[n] = (np.float64(their[query, rank]) - their_low) / their_span
                    place[document], n = -1, n + 1
            for setting in range(len(ks)):
                for row in range(n):
                    if ks[setting] < 0:
                        fused[row] = one[row] * (1 - alphas[setting]) + two[row] * alphas[setting]
                    else:
                        value = 1 / (ks[setting] + 1 + at_one[row]) if at_one[row] >= 0 else 0.0
                        fused[row] = value + (1 / (ks[setting] + 1 + at_two[row]) if at_two[row] >= 0 else 0.0)
                for column in range(judged.shape[1]):
                    above, own = 0, np.argmax(names[:n] == judged[query, column])
                    for row in range(n):
                        tied = (fused[row] == fused[own]) & (names[row] < names[own])
                        above += (fused[row] > fused[own]) | tied
                    found[setting, query, column] = above + 1 if above < top_k else 0
        return found

    alphas = np.array([getattr(setting, "alpha", 0.0) for setting in settings])
    ks = np.array([getattr(setting, "k", -1.0) for setting in settings], np.float64)
    judged = pairs.document.reshape(pairs.n_queries, -1)
    asked = (alphas, ks, judged, len(first.doc_ids))
    ranks(first.docs[:1], first.scores[:1], second.docs[:1], second.scores[:1], *asked)
    start = time.process_time()
    found = ranks(first.docs, first.scores, second.docs, second.scores, *asked)
    return time.process_time() - start, found.reshape(len(settings), -1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--depth", type=int, default=1_000)
    parser.add_argument("--documents", type=int, default=113_148)
    parser.add_argument("--judged", type=int, default=3, help="judged documents of a query")
    arguments = parser.parse_args()
    first, second = (rankings(arguments.queries, arguments.depth, arguments.documents, seed) for seed in (1, 2))

    pairs = judged(first, arguments.judged)
    start = time.process_time()
    sorted_ranks = [ranks_of(run.docs, pairs) for run in sweep(first, second, SETTINGS, arguments.depth, threads=1)]
    ours = time.process_time() - start
    start = time.process_time()
    counted = sweep_ranks(first, second, SETTINGS, pairs, arguments.depth)
    counting = time.process_time() - start
    assert all((found == expected).all() for found, expected in zip(counted, sorted_ranks, strict=True))

    fastest, limit = compiled(first, second, SETTINGS, pairs, arguments.depth) if find_spec("numba") else (0.0, counted)
    assert (limit == counted).all()

    part = min(100, arguments.queries)
    few = [Run(run.query_ids[:part], run.doc_ids, run.docs[:part], run.scores[:part]) for run in (first, second)]
    dictionaries = [run.to_dict() for run in few]
    start = time.process_time()
    loops = [
        {
            query: naive(dictionaries[0][query], dictionaries[1][query], setting, arguments.depth)
            for query in few[0].query_ids
        }
        for setting in SETTINGS
    ]
    theirs = (time.process_time() - start) * arguments.queries / part

    difference = max(
        abs(
            ranking[document] - loop[query].get(document, min(loop[query].values()))
        )  # of equal ones at the end another may stand there
        for loop, run in zip(loops, sweep(*few, SETTINGS, arguments.depth), strict=True)
        for query, ranking in run.to_dict().items()
        for document in ranking
    )
    print(
        f"{len(SETTINGS)} settings, {arguments.queries:,} queries, depth {arguments.depth:,}; scores differ by"
        f" {difference:.1e} at most"
    )
    print(f"{'dictionaries':<16}{theirs:8.1f} s (from {part} queries)")
    print(f"{'rankings':<16}{ours:8.1f} s, ratio {theirs / ours:.1f}")
    print(f"{'ranks alone':<16}{counting:8.1f} s, ratio {theirs / counting:.1f}")
    print(f"{'numba, ranks':<16}{fastest:8.1f} s" if fastest else "numba is not installed")


if __name__ == "__main__":
    main()
