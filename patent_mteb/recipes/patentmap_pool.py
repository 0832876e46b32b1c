"""The search for negatives of PatentMap (Table 4): publications like a query by tf-idf, and those of its IPC subclasses."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence, Set

import numpy as np
from numpy.typing import NDArray

__all__ = ["BySubclass", "MoreLikeThis", "first_rows"]


def first_rows(values: NDArray[np.float64], number: int) -> list[int]:
    """The rows of the least values in their order, equal ones by row; only those that can be among them are sorted.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.recipes.patentmap_pool import first_rows
        >>> first_rows(np.array([3.0, 1.0, 2.0, 1.0]), 3)
        [1, 3, 2]
    """
    rows = np.arange(len(values)) if number >= len(values) else np.flatnonzero(values <= np.partition(values, number)[number])
    found: list[int] = rows[np.argsort(values[rows], kind="stable")][:number].tolist()
    return found


class MoreLikeThis:
    """Publications in order of tf-idf cosine to one of them.

    Args:
        keys: the publications.
        texts: the text of each, read once and not kept.
        queries: those that will be asked for.

    Example:
        >>> from patent_mteb.recipes.patentmap_pool import MoreLikeThis
        >>> MoreLikeThis(["a", "b", "c"], ["a lens", "a pump valve", "a pump"], ["c"])("c", {"c"}, 2)
        ['b', 'a']
    """

    def __init__(self, keys: Sequence[str], texts: Iterable[str], queries: Iterable[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectors = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit_transform(text or "empty" for text in texts)
        asking = set(queries)
        rows = [row for row, key in enumerate(keys) if key in asking]
        self._keys = keys
        self._place = {keys[row]: place for place, row in enumerate(rows)}
        self._queries = vectors[rows]
        self._of_term = vectors.tocsc()

    def __call__(self, query: str, forbidden: Set[str], number: int) -> list[str]:
        """The first publications that are not forbidden."""
        best = first_rows(-self._likeness(self._place[query]), number + len(forbidden))
        return [key for row in best if (key := self._keys[row]) not in forbidden][:number]

    def _likeness(self, place: int) -> NDArray[np.float64]:
        """The cosines of all publications to a query, added up term by term: only what shares a term is looked at."""
        found = np.zeros(len(self._keys))
        its, held = self._queries, self._of_term
        here = slice(*its.indptr[place : place + 2])
        for term, weight in zip(its.indices[here].tolist(), its.data[here].tolist(), strict=True):
            there = slice(*held.indptr[term : term + 2])
            found[held.indices[there]] += weight * held.data[there]
        return found


class BySubclass:
    """Publications that share an IPC subclass with one of them.

    Args:
        keys: the publications.
        subclasses: those of each.

    Example:
        >>> from patent_mteb.recipes.patentmap_pool import BySubclass
        >>> BySubclass(["a", "b", "c"], [("A61H",), ("F16K", "A61H"), ("G06F",)])("a", {"a"})
        ['b']
    """

    def __init__(self, keys: Sequence[str], subclasses: Iterable[tuple[str, ...]]) -> None:
        self._keys = keys
        self._of: dict[str, tuple[str, ...]] = {}
        rows: dict[str, list[int]] = {}
        for row, (key, codes) in enumerate(zip(keys, subclasses, strict=True)):
            self._of[key] = codes
            for code in codes:
                rows.setdefault(code, []).append(row)
        self._rows = {code: np.array(its) for code, its in rows.items()}

    def __call__(self, query: str, forbidden: Container[str]) -> list[str]:
        """Those that are not forbidden, in the order of the keys."""
        if not (codes := self._of[query]):
            return []
        shared = np.unique(np.concatenate([self._rows[code] for code in codes])).tolist()
        return [key for row in shared if (key := self._keys[row]) not in forbidden]
