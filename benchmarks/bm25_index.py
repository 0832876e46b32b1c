"""Time to index BM25: this package against the bm25s library, on synthetic text with Zipf-distributed words.

    python benchmarks/bm25_index.py [--documents 10000] [--words 1000]

Both index the same texts in one run, each on one core; seconds are of processor time, which other work on the machine
disturbs little, and the ratio is what counts. The weights of both are compared. Seconds for 113,148 documents are
extrapolated from the sample (linear in the number of documents).

Reference (AMD EPYC, Python 3.11, NumPy 2.4, bm25s 0.3.16; 10,000 documents of 1,000 words, a tenth with a non-ASCII
character): bm25s 11.1 s (125 s extrapolated), patent-mteb 4.7 s (53 s), ratio 2.4, on a busy machine; ratio 2.8 on a
quieter one.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from patent_mteb.search.bm25 import SETTINGS, BM25Index


def texts(documents: int, words: int, vocabulary: int = 60_000) -> list[str]:
    """Documents of ``words`` words each, drawn with probability 1 / rank; every tenth holds a degree sign."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    drawn = zip(letters[rng.integers(0, len(letters), (vocabulary, 10))], rng.integers(2, 11, vocabulary), strict=True)
    spelled = np.array(["".join(row[:size]) for row, size in drawn])
    weight = 1 / np.arange(1, vocabulary + 1)
    chosen = rng.choice(vocabulary, (documents, words), p=weight / weight.sum())
    return [
        " ".join(spelled[row]).capitalize() + (" 20 °C." if number % 10 == 0 else ".")
        for number, row in enumerate(chosen)
    ]


def weights(index: BM25Index) -> np.ndarray:
    """All weights of an index, sorted."""
    return np.sort(np.concatenate([matrix.data for _, matrix in index.weights]))


def library(corpus: list[str]) -> object:
    import bm25s
    import Stemmer

    retriever = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    tokens = bm25s.tokenize(corpus, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
    retriever.index(tokens, show_progress=False)
    return retriever


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=1_000)
    arguments = parser.parse_args()
    corpus = texts(arguments.documents, arguments.words)
    scale = 113_148 / len(corpus)

    start = time.process_time()
    ours = BM25Index(corpus, SETTINGS["dapfam"])
    middle = time.process_time()
    theirs = library(corpus)
    end = time.process_time()

    same = np.array_equal(weights(ours), np.sort(theirs.scores["data"]))  # type: ignore[attr-defined]
    print(f"{len(corpus):,} documents of {arguments.words:,} words; weights bit for bit the same: {same}")
    print(f"{'bm25s library':<16}{end - middle:8.1f} s  {(end - middle) * scale:8.1f} s for 113,148 documents")
    print(f"{'patent-mteb':<16}{middle - start:8.1f} s  {(middle - start) * scale:8.1f} s for 113,148 documents")
    print(f"{'ratio':<16}{(end - middle) / (middle - start):8.1f} x")


if __name__ == "__main__":
    main()
