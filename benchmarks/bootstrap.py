"""Time of the paired bootstrap of all pairs of models: this package against loops, on random scores.

    python benchmarks/bootstrap.py [--queries 46069] [--models 21] [--resamples 10000]

The loops run for a part of the resamples and their time is scaled up (it is linear in them). The ratio counts, not the
seconds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from patent_mteb.metrics.significance import bootstrap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=46_069)
    parser.add_argument("--models", type=int, default=21)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--loop-resamples", type=int, default=20)
    args = parser.parse_args()

    rng = np.random.default_rng(0)
    scores = np.clip(rng.random((args.queries, 1)) ** 2 + rng.normal(0, 0.1, (args.queries, args.models)), 0, 1)
    pairs = args.models * (args.models - 1) // 2

    start = time.perf_counter()
    for _ in range(args.loop_resamples):
        rows = rng.integers(0, args.queries, args.queries)
        scores[rows, 0].mean() - scores[rows, 1].mean()
    by_pair = (time.perf_counter() - start) / args.loop_resamples * args.resamples * pairs

    columns = np.ascontiguousarray(scores.T)
    start = time.perf_counter()
    for _ in range(args.loop_resamples):
        columns[:, rng.integers(0, args.queries, args.queries)].mean(axis=1)
    shared = (time.perf_counter() - start) / args.loop_resamples * args.resamples

    start = time.perf_counter()
    result = bootstrap(scores, resamples=args.resamples)
    result.p_values()
    result.intervals()
    ours = time.perf_counter() - start

    print(f"{args.queries} queries, {args.models} models, {args.resamples} resamples, {pairs} pairs")
    print(f"loop over pairs and resamples        {by_pair:9.1f} s   {by_pair / ours:7.0f} x")
    print(f"loop over resamples, all models      {shared:9.1f} s   {shared / ours:7.0f} x")
    print(f"patent_mteb.metrics.significance     {ours:9.1f} s         1 x")


if __name__ == "__main__":
    main()
