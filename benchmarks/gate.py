"""What the priority gate costs a dense search: the same search without and with a gate, in one process, one after the
other.

    python benchmarks/gate.py [--documents 50000] [--queries 2000] [--width 512] [--repeat 3]

Vectors are random, days even over twenty years, and each query may see the documents that were public before its own
day, in the last five years, as for applications of one edition. Encoding is left out. The ratio of processor time
counts, not the seconds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from patent_mteb.search.nearest import add_nearest
from patent_mteb.search.run import TopK

DAYS, LAST = 7300, 1825


def search(
    queries: torch.Tensor, documents: torch.Tensor, days: np.ndarray | None, limits: np.ndarray, k: int
) -> float:
    """Processor time of one search, the sorting by date included."""
    ids = [f"{number:07}" for number in range(len(documents))]
    best = TopK([str(number) for number in range(len(queries))], ids[::-1], k)
    numbers, seen = np.arange(len(documents)), None
    started = time.process_time()
    if days is not None:
        order = np.argsort(days, kind="stable")
        seen = np.searchsorted(days[order], limits)
        documents, numbers = documents[torch.as_tensor(order)], numbers[order]
    add_nearest(best, queries, documents, numbers, None, None, seen)
    best.run()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, value in (("documents", 50_000), ("queries", 2_000), ("width", 512), ("repeat", 3), ("depth", 1_000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    draw = np.random.default_rng(0)
    documents, queries = (
        torch.nn.functional.normalize(torch.tensor(draw.standard_normal((size, args.width), np.float32)), dim=1)
        for size in (args.documents, args.queries)
    )
    days, limits = draw.integers(0, DAYS, args.documents), draw.integers(DAYS - LAST, DAYS, args.queries)
    plain = min(search(queries, documents, None, limits, args.depth) for _ in range(args.repeat))
    behind = min(search(queries, documents, days, limits, args.depth) for _ in range(args.repeat))
    print(
        f"without a gate {plain:.2f} s, behind it {behind:.2f} s of processor time: {100 * (behind / plain - 1):+.1f}%"
    )


if __name__ == "__main__":
    main()
