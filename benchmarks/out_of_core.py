"""Memory and time of exact dense search over vectors on disk that are read in blocks.

    python benchmarks/out_of_core.py [--documents 1000000] [--queries 500] [--width 256] [--vectors-mb 256]

The vectors are random, in one memory-mapped file; the search holds at most ``--held-mb`` of them at a time. Memory
is the highest resident memory of the process above that before the search, pages of mapped files not counted. The
ranking of three queries is compared with the one that NumPy makes, block by block. Figures: ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from mteb.mocks.mock_tasks import MockRetrievalTask
from retrieval import Memory, model

from patent_mteb.patents.corpus import text_dataset
from patent_mteb.search.base import SearchContext
from patent_mteb.search.dense import DenseSearch

_BLOCK = 50_000
_DEPTH = 100
_COMPARED = 3


def make(folder: Path, documents: int, queries: int, width: int) -> None:
    """Random vectors, written block by block; a query lies near a document."""
    draw = np.random.default_rng(0)
    vectors = np.lib.format.open_memmap(folder / "documents.npy", "w+", np.float32, (documents, width))
    for start in range(0, documents, _BLOCK):
        vectors[start : start + _BLOCK] = draw.standard_normal((min(_BLOCK, documents - start), width), np.float32)
    near = vectors[draw.integers(0, documents, queries)]
    np.save(folder / "queries.npy", near + draw.standard_normal(near.shape, np.float32))


def by_numpy(folder: Path, query: int) -> list[int]:
    """The nearest documents of one query by cosine."""
    vectors, asked = np.load(folder / "documents.npy", mmap_mode="r"), np.load(folder / "queries.npy")[query]
    scores = [
        block @ asked / np.linalg.norm(block, axis=1)
        for block in np.array_split(vectors, max(1, len(vectors) // _BLOCK))
    ]
    return np.argsort(-np.concatenate(scores))[:_DEPTH].tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description="Exact dense search over vectors on the disk.")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--vectors-mb", type=float, default=256)
    args = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make(folder, args.documents, args.queries, args.width)
        search = DenseSearch(model(folder), vectors_mb=args.vectors_mb)
        names = [str(number) for number in range(args.documents)]
        queries = text_dataset({"id": names[: args.queries], "text": names[: args.queries]})
        context = SearchContext(MockRetrievalTask.metadata, "test", "default", {"show_progress_bar": False})
        search.ensure_indexed(text_dataset({"id": names, "text": names}), context)
        started = time.process_time()
        with Memory() as memory:
            run = search.rank(queries, _DEPTH, context)
        seconds = time.process_time() - started
        for query in range(_COMPARED):
            assert [int(run.doc_ids[number]) for number in run.docs[query]] == by_numpy(folder, query)
        size = args.documents * args.width * 4 / 1e9
        print(
            f"{args.documents:,} documents x {args.width} ({size:.2f} GB), {args.queries} queries,"
            f" {args.vectors_mb:.0f} MB of vectors in memory:"
        )
        print(f"{memory.gained:.2f} GB more than before, {seconds:.1f} s of processor time")


if __name__ == "__main__":
    main()
