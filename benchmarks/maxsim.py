"""Speed of exact MaxSim: query-document pairs a second, 64 query tokens x 300 document tokens x 128 dimensions.

    python benchmarks/maxsim.py [--queries 256] [--documents 1000] [--threads 2] [--device cpu] [--ragged]

Every row scores the same vectors in the same run; "GEMM alone" is the matrix product without maximum and sum, the limit.
``--ragged`` draws document lengths between 30 and 300 and query lengths between 8 and 64, and counts pairs all the same.

Reference figures, pairs a second on 2 cores of an AMD EPYC with AVX-512 BF16 (L2 1 MiB a core), torch 2.13:

| | 2 threads, idle, blocks of 8 queries x 8 documents only | 1 thread, busy machine, a CPU second, 64 x 500 |
|---|---|---|
| sentence-transformers 6.2 maxsim | | 7,300 |
| mteb 2.26 max_sim | | 6,900 |
| float32: GEMM alone | 39,200 - 41,300 | 17,800 |
| float32: product, maximum, sum | 39,300 | 14,100 |
| bfloat16: GEMM alone | 87,300 | 40,900 |
| bfloat16: product, maximum, sum | 71,000 - 73,000 | 25,300 |

The targets are 30,000 in float32 and 60,000 in bfloat16. Larger blocks are slower, because the similarities leave the cache before
the maximum is taken: 64 queries x 32 documents made 31,600 and 46,000. Several threads on a machine with other work wait
for each other; measure there with ``--threads 1``.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import torch

from patent_mteb.search.maxsim import ScoreDtype, maxsim


def unit(rng: np.random.Generator, lengths: np.ndarray) -> list[np.ndarray]:
    """Random token vectors of length one for texts of the given token counts."""
    found = [rng.standard_normal((length, 128), dtype=np.float32) for length in lengths]
    return [vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in found]


def best_time(run: Callable[[], Any], repeats: int) -> float:
    """Shortest of several runs in seconds, after one to warm up."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def gemm(dtype: torch.dtype, device: str) -> float:
    """Seconds a pair of the matrix product alone, in blocks of 8 queries x 8 documents."""
    documents, queries = (torch.randn(8 * length, 128, device=device).to(dtype) for length in (300, 64))
    out = torch.empty(len(documents), len(queries), dtype=dtype, device=device)

    def run() -> None:
        for _ in range(50):
            torch.mm(documents, queries.T, out=out)
        if device != "cpu":
            torch.cuda.synchronize()

    return best_time(run, 3) / (50 * 64)


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
    few = [torch.from_numpy(v) for v in queries[:64]], [torch.from_numpy(v) for v in documents[:250]]

    def report(name: str, seconds: float, count: int) -> None:
        print(f"{name:<32}{count / seconds:>12,.0f} pairs/s", flush=True)

    try:
        from sentence_transformers.util.similarity import maxsim as stock

        report("sentence-transformers maxsim", best_time(lambda: stock(*few), args.repeats), 64 * 250)
    except ImportError:
        print("sentence-transformers >= 6 is not installed: its row is missing")
    from mteb.similarity_functions import max_sim

    report("mteb max_sim", best_time(lambda: max_sim(*few), args.repeats), 64 * 250)
    pairs = args.queries * args.documents
    for dtype in get_args(ScoreDtype):
        report(f"{dtype}: GEMM alone", gemm(getattr(torch, dtype), args.device), 1)
        seconds = best_time(functools.partial(maxsim, queries, documents, dtype=dtype, device=args.device), args.repeats)
        report(f"{dtype}: patent-mteb maxsim", seconds, pairs)


if __name__ == "__main__":
    main()
