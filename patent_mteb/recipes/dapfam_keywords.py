"""Keywords of DAPFAM's queries: the records' own, else the words of the abstract with the highest tf-idf over all families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import numpy as np

__all__ = ["HasKeywords", "keywords_of"]


class HasKeywords(Protocol):
    """A family."""

    @property
    def keywords(self) -> tuple[str, ...]: ...
    @property
    def abstract(self) -> str: ...


def keywords_of(queries: Mapping[str, HasKeywords], abstracts: Callable[[], Iterable[str]], number: int) -> dict[str, str]:
    """The keywords of each query, separated by commas.

    Args:
        abstracts: those of all families, read only if a query has no keywords of its own; an empty one is none.
        number: words of an abstract.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.recipes.dapfam_keywords import keywords_of
        >>> keywords_of({"F1": Patent("US1A", "F1", abstract="A pump with a valve.")}, lambda: ["A pump.", "A pump with a valve."], 1)
        {'F1': 'valve'}
    """
    words = {key: ", ".join(family.keywords) for key, family in queries.items()}
    missing = {key: family.abstract for key, family in queries.items() if not family.keywords}
    if not any(missing.values()):
        return words
    from sklearn.feature_extraction.text import TfidfVectorizer

    analyse = TfidfVectorizer(stop_words="english").build_analyzer()
    frequency: Counter[str] = Counter({term: 0 for abstract in missing.values() for term in analyse(abstract)})
    if not frequency:  # no abstract holds a word
        return words
    n_abstracts = 0
    for abstract in filter(None, abstracts()):
        n_abstracts += 1
        frequency.update(frequency.keys() & analyse(abstract))
    terms = sorted(frequency)
    vectorizer = TfidfVectorizer(stop_words="english", vocabulary=terms)
    vectorizer.idf_ = np.log((1 + n_abstracts) / (1 + np.array([frequency[term] for term in terms], np.float64))) + 1
    for key, row in zip(missing, vectorizer.transform(missing.values()), strict=True):
        best = sorted(zip(row.data, [terms[column] for column in row.indices], strict=True), key=lambda item: (-item[0], item[1]))
        words[key] = ", ".join(term for _, term in best[:number])
    return words
