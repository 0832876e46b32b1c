"""TF-IDF by scikit-learn, in every script and from counts of a first pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from patent_mteb.patents.scripts import HAS_UNSPACED, UNSPACED, words_and_pieces

_RUN_OR_WORD = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")


def tfidf_words() -> Callable[[str], list[str]]:
    """Return scikit-learn's analyser for English; words of unspaced scripts become overlapping pairs of letters."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    analyse = TfidfVectorizer(stop_words="english").build_analyzer()

    def words_of(text: str) -> list[str]:
        words = analyse(text)
        return words_and_pieces(" ".join(words), 2, _RUN_OR_WORD) if HAS_UNSPACED.search(text) else words

    return words_of


def tfidf_vectorizer(frequency: Mapping[str, int], n_texts: int, **options: Any) -> Any:
    """Return a fitted ``TfidfVectorizer``, given the number of texts with each word."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=tfidf_words(), vocabulary=list(frequency), **options)
    vectorizer.idf_ = np.log((1 + n_texts) / (1 + np.array(list(frequency.values()), np.float64))) + 1
    return vectorizer
