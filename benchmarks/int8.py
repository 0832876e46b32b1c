"""Whether a matrix product in int8 would find candidates of dense search faster than the one in bfloat16 does.

    python benchmarks/int8.py [--documents 4096] [--queries 2048] [--repeats 5]

Prints, for several widths, the processor time of one product of a block of documents with a block of queries in
float32, bfloat16 and int8 (``torch._int_mm``, sums in int32), on one thread. The three take turns, and the best of each
counts. The further work of int8 (the rounding of vectors, a floor of int32) is excluded, so its time
is a lower bound. Figures: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch

_WIDTHS = (256, 384, 768, 1024)


def products(documents: int, queries: int, width: int) -> dict[str, Callable[[], Any]]:
    """One product at each precision, written to memory that is there already."""
    first, second = torch.randn(documents, width), torch.randn(queries, width)
    half = first.bfloat16(), second.bfloat16()
    small = tuple((vectors * 30).round().clamp(-127, 127).to(torch.int8) for vectors in (first, second))
    single, rounded, whole = (
        torch.empty(documents, queries, dtype=kind) for kind in (torch.float32, torch.bfloat16, torch.int32)
    )
    return {
        "float32": lambda: torch.mm(first, second.T, out=single),
        "bfloat16": lambda: torch.mm(half[0], half[1].T, out=rounded),
        "int8": lambda: torch._int_mm(small[0], small[1].T, out=whole),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Matrix products in float32, bfloat16 and int8.")
    parser.add_argument("--documents", type=int, default=4096)
    parser.add_argument("--queries", type=int, default=2048)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'width':>6}{'float32':>12}{'bfloat16':>12}{'int8':>12}   milliseconds of a processor")
    for width in _WIDTHS:
        best: dict[str, float] = {}
        for _ in range(args.repeats + 1):
            for name, product in products(args.documents, args.queries, width).items():
                product()
                start = time.process_time()
                product()
                best[name] = min(best.get(name, float("inf")), time.process_time() - start)
        print(f"{width:>6}" + "".join(f"{1e3 * seconds:>12.1f}" for seconds in best.values()), flush=True)


if __name__ == "__main__":
    main()
