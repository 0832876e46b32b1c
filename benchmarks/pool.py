"""PatentMap's search for negatives against the plain one, which sorts all publications for each query and compares all
their codes.

    python benchmarks/pool.py [--patents 20000] [--queries 20]

Publications are 100 words drawn by Zipf's law and one or two of 600 subclasses. Both must find the same. Seconds of
processor time of the search alone; the vectors of tf-idf, which both need, are made once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from patent_mteb.recipes.patentmap import BySubclass, MoreLikeThis

_WORDS = 30_000
_CLASSES = 600
_WANTED = 553


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--patents", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=20)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    weight = 1 / np.arange(1, _WORDS + 1)
    drawn = rng.choice(_WORDS, (arguments.patents, 100), p=weight / weight.sum())
    texts = [" ".join(f"w{word}" for word in row) for row in drawn.tolist()]
    classes = [
        tuple(dict.fromkeys(row))
        for row in np.char.mod("C%d", rng.integers(_CLASSES, size=(arguments.patents, 2))).tolist()
    ]
    keys = [f"US{number:08}" for number in range(arguments.patents)]
    queries = [keys[number] for number in rng.choice(arguments.patents, arguments.queries, replace=False).tolist()]
    similar, alike = MoreLikeThis(keys, texts, queries), BySubclass(keys, classes)
    plain = _plain(keys, texts, classes)
    ours, our_seconds = _timed(lambda query: (similar(query, {query}, _WANTED), alike(query, {query})), queries)
    theirs, their_seconds = _timed(plain, queries)
    assert ours == theirs
    print(
        f"{arguments.patents:,} publications, {arguments.queries} queries: {our_seconds:.3f} s, plain"
        f" {their_seconds:.3f} s",
        end="",
    )
    print(f", {their_seconds / our_seconds:.1f} times")


_Search = Callable[[str], tuple[list[str], list[str]]]


def _timed(search: _Search, queries: list[str]) -> tuple[list[tuple[list[str], list[str]]], float]:
    start = time.process_time()
    found = [search(query) for query in queries]
    return found, time.process_time() - start


def _plain(keys: list[str], texts: list[str], classes: list[tuple[str, ...]]) -> _Search:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit_transform(texts)
    rows = {key: row for row, key in enumerate(keys)}

    def search(query: str) -> tuple[list[str], list[str]]:
        row = rows[query]
        likeness = (vectors @ vectors[row].T).toarray().ravel().tolist()
        order = sorted(range(len(keys)), key=lambda other: (-likeness[other], other))
        own = set(classes[row])
        similar = [keys[other] for other in order if other != row][:_WANTED]
        return similar, [key for key, its in zip(keys, classes, strict=True) if key != query and own & set(its)]

    return search


if __name__ == "__main__":
    main()
