"""Time to index and search BM25: this package against bm25s, tantivy and rank_bm25, on synthetic text.

    python benchmarks/bm25_index.py [--documents 10000] [--words 1000] [--queries 1000]

All index the same texts, whose words follow Zipf's law, in one run; seconds are of processor time, which other work on
the machine disturbs little, and the ratio is what counts. A query is the first 60 words of another text, and 100
documents are found. The weights and scores of bm25s are compared with ours, and have to be equal; tantivy and rank_bm25
split words, weigh and rank in their own ways, so only their times are compared. rank_bm25 scores every document for
every query and therefore gets a twentieth of both; its times are multiplied by 20 and 400. A package that is not
installed has no row.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import mteb
import numpy as np
from datasets import Dataset

from patent_mteb.search.base import SearchContext
from patent_mteb.search.bm25 import BM25, SETTINGS, BM25Index

CONTEXT = SearchContext(mteb.get_task("SciFact").metadata, "test", "default", {})
DEPTH = 100
QUERY_WORDS = 60
SHARE = 20  # rank_bm25 gets one text of so many


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


def library(corpus: Sequence[str], backend: str = "numpy") -> Any:
    import bm25s
    import Stemmer

    retriever = bm25s.BM25(k1=1.2, b=0.75, method="lucene", backend=backend)
    tokens = bm25s.tokenize(corpus, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
    retriever.index(tokens, show_progress=False)
    return retriever


def found(retriever: Any, queries: Sequence[str]) -> np.ndarray:
    """The best scores of bm25s, [queries, DEPTH]."""
    import bm25s
    import Stemmer

    tokens = bm25s.tokenize(queries, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
    scores: np.ndarray = retriever.retrieve(tokens, k=DEPTH, show_progress=False).scores
    return scores


def our_index(corpus: Sequence[str]) -> BM25:
    system = BM25(SETTINGS["dapfam"], threads=1)
    numbers = list(map(str, range(len(corpus))))
    documents = Dataset.from_dict({"id": numbers, "title": [""] * len(corpus), "text": list(corpus)})
    system.index(documents, **CONTEXT.encoding(), encode_kwargs={})
    return system


def our_scores(system: BM25, queries: Sequence[str]) -> np.ndarray:
    asked = Dataset.from_dict({"id": list(map(str, range(len(queries)))), "text": list(queries)})
    return system.search_run(asked, DEPTH, CONTEXT).scores.reshape(len(queries), DEPTH)


def tantivy_index(corpus: Sequence[str]) -> Any:
    import tantivy

    schema = tantivy.SchemaBuilder().add_text_field("text", stored=False, tokenizer_name="en_stem").build()
    index = tantivy.Index(schema)
    writer = index.writer(num_threads=1)
    for text in corpus:
        writer.add_document(tantivy.Document(text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def tantivy_search(index: Any, queries: Sequence[str]) -> list[Any]:
    searcher = index.searcher()
    words = (" ".join(word.strip(".,°") for word in query.split()) for query in queries)
    return [searcher.search(index.parse_query(one, ["text"]), DEPTH) for one in words]


def okapi(corpus: Sequence[str]) -> Any:
    from rank_bm25 import BM25Okapi

    return BM25Okapi([text.lower().split() for text in corpus])


def okapi_search(index: Any, queries: Sequence[str]) -> list[Any]:
    return [np.argsort(-index.get_scores(one.lower().split()))[:DEPTH] for one in queries]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=1_000)
    parser.add_argument("--queries", type=int, default=1_000)
    arguments = parser.parse_args()
    corpus = texts(arguments.documents, arguments.words)
    asked = [" ".join(text.split()[-QUERY_WORDS:]) for text in texts(arguments.queries, arguments.words)]
    print(f"{len(corpus):,} documents of {arguments.words:,} words, {len(asked):,} queries")
    print(f"{'':<24}{'index, s':>10}{'ratio':>7}{'search, s':>11}{'ratio':>7}")
    first: tuple[float, float] | None = None

    def row(name: str, build: Callable[..., Any], search: Callable[..., Any], share: int = 1) -> tuple[Any, Any]:
        nonlocal first
        start = time.process_time()
        index = build(corpus[::share])
        middle = time.process_time()
        result = search(index, asked[::share])
        seconds = (middle - start) * share, (time.process_time() - middle) * share * share
        first = first or seconds
        ratios = [one / ours for one, ours in zip(seconds, first, strict=True)]
        print(f"{name:<24}{seconds[0]:>10.1f}{ratios[0]:>7.1f}{seconds[1]:>11.1f}{ratios[1]:>7.1f}", flush=True)
        return index, result

    _, our_found = row("patent-mteb", our_index, our_scores)
    theirs, their_found = row("bm25s", library, found)
    same = np.array_equal(weights(BM25Index(corpus, SETTINGS["dapfam"])), np.sort(theirs.scores["data"]))
    if find_spec("numba"):
        compiled = library(corpus[:200], "numba")
        found(compiled, asked[:2])  # compiles
        row("bm25s, numba", lambda them: library(them, "numba"), found)
    if find_spec("tantivy"):
        row("tantivy", tantivy_index, tantivy_search)
    if find_spec("rank_bm25"):
        row("rank_bm25, extrapolated", okapi, okapi_search, SHARE)
    print(f"weights of bm25s equal bit for bit: {same}; scores differ by {np.abs(our_found - their_found).max():.1e}")


if __name__ == "__main__":
    main()
