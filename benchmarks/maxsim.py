"""Speed of exact MaxSim: query-document pairs a second, 64 query tokens x 300 document tokens x 128 dimensions.

    python benchmarks/maxsim.py [--queries 256] [--documents 1000] [--threads 2] [--device cpu] [--ragged]

Every row scores the same vectors in the same run; "product alone" makes the same matrix products in the same blocks,
without maximum and sum: the limit. It and what it is compared with take turns, and the best of each counts. "of a first
stage" scores half of the pairs, chosen at random; its limit is the product of a document with as many query tokens.
``--ragged`` draws document lengths between 30 and 300 and query lengths between 8 and 64, and counts pairs all the
same. Figures: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np
import scipy.sparse
import torch

from patent_mteb.search.late_interaction import add_pairs
from patent_mteb.search.maxsim import MEMORY_BUDGET, Bag, Queries, ScoreDtype, Scorer, maxsim
from patent_mteb.search.run import TopK


def unit(rng: np.random.Generator, lengths: np.ndarray) -> list[np.ndarray]:
    """Random token vectors of length one for texts of the given token counts."""
    found = [rng.standard_normal((length, 128), dtype=np.float32) for length in lengths]
    return [vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in found]


def best_times(runs: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Shortest processor time of each of several runs that take turns, in seconds, after one to warm up."""
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(repeats + 1):
        for run, found in zip(runs, times, strict=True):
            start = time.process_time()
            run()
            if turn:
                found.append(time.process_time() - start)
    return [min(found) for found in times]


def products(scorer: Scorer, queries: Sequence[Queries], bags: Sequence[Bag]) -> None:
    """The matrix products of all bags with all queries, in the blocks of the scorer, and nothing else."""
    for bag in bags:
        documents = bag.vectors.reshape(-1, bag.vectors.shape[-1])
        width = scorer.width(len(documents))
        out = torch.empty(len(documents) * width, dtype=documents.dtype, device=documents.device)
        for part in queries:
            for start in range(0, len(part.vectors), width):
                asked = part.vectors[start : start + width]
                torch.mm(documents, asked.T, out=out[: len(documents) * len(asked)].view(len(documents), -1))
    if documents.device.type != "cpu":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of exact MaxSim.")
    parser.add_argument("--queries", type=int, default=256)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--ragged", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    rng = np.random.default_rng(0)
    ends = ((8, 65), (30, 301)) if args.ragged else ((64, 65), (300, 301))
    queries = unit(rng, rng.integers(*ends[0], size=args.queries))
    documents = unit(rng, rng.integers(*ends[1], size=args.documents))
    few = [torch.from_numpy(v) for v in queries[:32]], [torch.from_numpy(v) for v in documents[:50]]

    def report(name: str, seconds: float, count: int, limit: float | None = None) -> None:
        share = "" if limit is None else f"{limit / seconds:>8.0%} of the product"
        print(f"{name:<36}{count / seconds:>12,.0f} pairs a processor second{share}", flush=True)

    try:
        from sentence_transformers.util.similarity import maxsim as stock

        report("sentence-transformers maxsim", *best_times([lambda: stock(*few)], args.repeats), 32 * 50)
    except ImportError:
        print("sentence-transformers >= 6 is not installed: its row is missing")
    from mteb.similarity_functions import max_sim

    report("mteb max_sim", *best_times([lambda: max_sim(*few)], args.repeats), 32 * 50)
    pairs = args.queries * args.documents
    numbers = np.arange(args.documents)
    names = [str(number) for number in numbers[::-1]]
    chosen = scipy.sparse.csc_matrix(rng.random((args.queries, args.documents)) < 0.5)
    for dtype in get_args(ScoreDtype):
        scorer = Scorer(dtype, args.device, MEMORY_BUDGET)
        parts, bags, joined = scorer.queries(queries), scorer.bags(documents), scorer.joined(queries)
        single = [scorer.bags([document])[0] for document in documents]
        half = [scorer.joined(queries[: len(queries) // 2])]
        best = TopK([str(number) for number in range(args.queries)], names, 100)
        alone, kernel, whole, fewer, first_stage = best_times(
            [
                functools.partial(products, scorer, parts, bags),
                lambda: [scorer(part, bags, len(documents)) for part in parts],  # noqa: B023
                functools.partial(maxsim, queries, documents, dtype=dtype, device=args.device),
                functools.partial(products, scorer, half, single),
                functools.partial(add_pairs, best, scorer, joined, documents, numbers, chosen),
            ],
            args.repeats,
        )
        report(f"{dtype}: product alone", alone, pairs)
        report(f"{dtype}: scores", kernel, pairs, alone)
        report(f"{dtype}: scores, vectors packed too", whole, pairs, alone)
        report(f"{dtype}: of a first stage, ranked", first_stage, chosen.nnz, fewer)


if __name__ == "__main__":
    main()
