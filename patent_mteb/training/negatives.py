"""Hard negatives: texts that the base (BM25 for late interaction) finds near an anchor and that are no prior art of it.

Left out for an anchor are its own patent family, that of its positive, and every family that is linked to either of the two by a citation,
in both directions: what is near and cited is a positive that nobody labelled (PatenTEB §3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from patent_mteb.patents.views import VIEWS
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.pairs import Pair, read_pairs, write_pairs
from patent_mteb.training.recipes import Settings

__all__ = ["Nearness", "by_vectors", "by_words", "mined", "with_negatives"]

Matrix = NDArray[np.float32]
Nearness = Callable[[Sequence[str]], Matrix]
"""Anchors -> [anchors, documents]: how near each document is."""

_AT_ONCE = 64


def by_vectors(model: SentenceTransformer, texts: Sequence[str]) -> Nearness:
    """Nearness to some texts as the cosine of a model's vectors.

    Example:
        >>> from sentence_transformers import SentenceTransformer
        >>> from sentence_transformers.sentence_transformer.modules import BoW
        >>> from patent_mteb.training.negatives import by_vectors
        >>> by_vectors(SentenceTransformer(modules=[BoW(["pump", "lens"])], device="cpu"), ["pump", "lens"])(["lens"]).tolist()
        [[0.0, 1.0]]
    """
    matrix = _encoded(model, texts)
    return lambda anchors: _encoded(model, anchors) @ matrix.T


def by_words(texts: Sequence[str]) -> Nearness:
    """Nearness to some texts by BM25 (bm25s, its defaults, English stop words).

    Example:
        >>> from patent_mteb.training.negatives import by_words
        >>> int(by_words(["a pump", "a lens"])(["the lens"])[0].argmax())
        1
    """
    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(texts), stopwords="en", show_progress=False), show_progress=False)

    def nearness(anchors: Sequence[str]) -> Matrix:
        tokens = bm25s.tokenize(list(anchors), stopwords="en", return_ids=False, show_progress=False)
        return np.stack([index.get_scores(words) if words else np.zeros(len(texts), np.float32) for words in tokens])

    return nearness


def mined(
    pairs: Iterator[Pair],
    nearness: Nearness,
    documents: list[tuple[str, str, str]],
    graph: FamilyGraph,
    settings: Settings,
    left_out: dict[str, int],
) -> Iterator[Pair]:
    """The pairs with ``hard_negatives`` negatives each, a row for each negative; a pair that has none is counted.

    Args:
        documents: id, family and text of whatever may be a negative.
        graph: citations between families.

    Example:
        >>> from patent_mteb.recipes.graph import family_graph
        >>> from patent_mteb.training.negatives import by_words, mined
        >>> from patent_mteb.training.pairs import Pair
        >>> from patent_mteb.training.recipes import Settings
        >>> documents = [("US2A", "F2", "rotor pump"), ("US3A", "F3", "pump lens"), ("US4A", "F4", "lens")]
        >>> pair = Pair("pump rotor", "pump", "US1A", "US1A", "F1", "F1", "mine")
        >>> settings = Settings(hard_negatives=1, negatives_from=0)
        >>> nearness = by_words([text for _, _, text in documents])
        >>> [one.negative_id for one in mined(iter([pair]), nearness, documents, family_graph([], {}), settings, {})]
        ['US2A']
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, (_, family, _) in enumerate(documents):
        places[family].append(place)
    while some := list(islice(pairs, _AT_ONCE)):
        for pair, near in zip(some, nearness([pair.anchor for pair in some]), strict=True):
            own = {pair.anchor_family, pair.positive_family}
            excluded = own | graph.linked(pair.anchor_family) | graph.linked(pair.positive_family)
            near[[place for family in excluded for place in places.get(family, ())]] = -np.inf
            chosen = _first(near, settings.negatives_from + settings.hard_negatives)[settings.negatives_from :]
            if not len(chosen):
                left_out["pairs without a hard negative"] = left_out.get("pairs without a hard negative", 0) + 1
            for place in chosen:
                key, family, text = documents[place]
                yield replace(pair, negative=text, negative_id=key, negative_family=family)


def _first(near: NDArray[np.floating[Any]], number: int) -> NDArray[np.intp]:
    """Places of the ``number`` nearest, equal ones in their order; without those that are excluded."""
    least = np.partition(near, -number)[-number] if number < len(near) else -np.inf
    found = np.flatnonzero((near >= least) & (near > -np.inf))
    return found[np.argsort(-near[found], kind="stable")[:number]]


def _encoded(model: SentenceTransformer, texts: Sequence[str]) -> Matrix:
    return np.asarray(model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True), np.float32)


def with_negatives(
    path: Path, corpus: Corpus, split: str, base: str, settings: Settings, device: str | None, lexical: bool
) -> dict[str, int]:
    """Mine negatives for a table of pairs among the publications that it holds, and write it anew; what was left out is returned."""
    held = {key for pair in read_pairs(path) for key in (pair.anchor_id, pair.positive_id)}
    if not held:
        return {}
    members = [patent for patent in corpus.members(split) if patent.publication_number in held]
    documents = [(patent.publication_number, patent.family_id, VIEWS["TAC"](patent)) for patent in members]
    graph = family_graph(corpus.citations, {patent.publication_number: patent.family_id for patent in corpus.patents})
    left_out: dict[str, int] = {}
    texts = [text for _, _, text in documents]
    nearness = by_words(texts) if lexical else by_vectors(SentenceTransformer(base, device=device), texts)
    write_pairs(path, mined(read_pairs(path), nearness, documents, graph, settings, left_out))
    return left_out
