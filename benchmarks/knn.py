"""Time of multi-label kNN for five k on random embeddings: one table of neighbours here, scikit-learn once per k.

    python benchmarks/knn.py [--rows 80000] [--queries 10000] [--dim 1024] [--labels 43]

scikit-learn runs for a part of the queries and its time is scaled up; the ratio counts, not the seconds. The product of
all embeddings alone, in single precision, is the floor.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from patent_mteb.protocols.knn import WIPO_AT_KS, majority_vote, neighbours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=80_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=1024)
    parser.add_argument("--labels", type=int, default=43)
    parser.add_argument("--reference-queries", type=int, default=500)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((args.rows, args.dim), dtype=np.float32)
    held = rng.standard_normal((args.queries, args.dim), dtype=np.float32)
    labels = rng.random((args.rows, args.labels)) < 0.3

    start = time.perf_counter()
    part = held[: args.reference_queries]
    reference = {}
    for k in WIPO_AT_KS:
        model = KNeighborsClassifier(n_neighbors=k, metric="cosine", algorithm="brute").fit(x, labels.astype(int))
        reference[k] = model.predict(part)
    stock = (time.perf_counter() - start) / len(part) * args.queries

    start = time.perf_counter()
    for first in range(0, args.queries, 200):
        held[first : first + 200] @ x.T
    product = time.perf_counter() - start

    start = time.perf_counter()
    votes = majority_vote(neighbours(x, held, max(WIPO_AT_KS)), labels, WIPO_AT_KS)
    ours = time.perf_counter() - start
    same = all(np.array_equal(votes[k][: len(part)], reference[k].astype(bool)) for k in WIPO_AT_KS)

    print(f"{args.rows} rows, {args.queries} queries, {args.dim} dimensions, k = {', '.join(map(str, WIPO_AT_KS))}")
    print(f"scikit-learn, fit and predict per k  {stock:8.1f} s  {stock / ours:6.1f} x")
    print(f"matrix product alone                 {product:8.1f} s  {product / ours:6.2f} x")
    print(f"patent_mteb.protocols.knn            {ours:8.1f} s     1.0 x   same labels: {same}")


if __name__ == "__main__":
    main()
