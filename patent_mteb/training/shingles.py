"""Near-duplicate texts by shared shingles: runs of three words, case and punctuation apart.

Two texts are one text reworded if at least :data:`THRESHOLD` of the shingles of the one with fewer stand in the other (containment),
so that an abstract is found in the abstract with claims that a test set holds. Texts of fewer than :data:`FEWEST` shingles are alike only
if they are equal. Every shingle of the first :data:`WORDS` words counts; nothing is estimated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
import xxhash
from numpy.typing import NDArray

__all__ = ["FEWEST", "THRESHOLD", "WIDTH", "WORDS", "ShingleIndex", "shingles"]

WIDTH = 3
FEWEST = 8
THRESHOLD = 0.6
WORDS = 1_000

_WORD = re.compile(r"\w+")
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@lru_cache(maxsize=1 << 18)
def _hashed(word: str) -> int:
    return int(xxhash.xxh64_intdigest(word.encode("utf-8", "surrogatepass")))


def shingles(text: str) -> NDArray[np.uint64]:
    """[n] the distinct shingles of a text as numbers, sorted; the whole text is one if it has fewer than three words.

    Example:
        >>> from patent_mteb.training.shingles import shingles
        >>> len(shingles("A pump pumps water.")), (shingles("A pump, pumps") == shingles("a PUMP pumps")).tolist()
        (2, [True])
    """
    words = _WORD.findall(text.casefold())[:WORDS]
    if not words:
        return np.zeros(0, np.uint64)
    hashed = np.array([_hashed(word) for word in words], np.uint64)
    width = min(WIDTH, len(words))
    runs = np.zeros(len(words) - width + 1, np.uint64)
    with np.errstate(over="ignore"):
        for place in range(width):
            runs = runs * _FACTOR + hashed[place : place + len(runs)]
    return np.unique(runs)


class ShingleIndex:
    """The shingles of some texts, to be asked which of them another text repeats.

    Args:
        texts: id and text of each, read once and not kept.

    Example:
        >>> from patent_mteb.training.shingles import ShingleIndex
        >>> text = "A pump with a rotor and a stator that saves water because the rotor stops by itself at night."
        >>> index = ShingleIndex([("US1A1", text), ("US2A1", "An unrelated lens.")])
        >>> index.like(text.replace("saves", "spares"))
        ('US1A1', 0.8235294117647058)
        >>> index.like("A telescope.")
    """

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._ids: list[str] = []
        self._exact: dict[bytes, str] = {}
        parts = list(self._read(texts))
        self._sizes = np.array([len(part) for part in parts], np.int64)
        keys = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
        owners = np.repeat(np.arange(len(parts), dtype=np.int32), self._sizes)
        order = np.argsort(keys, kind="stable")
        self._keys, self._owners = keys[order], owners[order]

    def _read(self, texts: Iterable[tuple[str, str]]) -> Iterator[NDArray[np.uint64]]:
        for key, text in texts:
            found = shingles(text)
            if len(found) >= FEWEST:
                self._ids.append(key)
                yield found
            elif len(found):
                self._exact.setdefault(found.tobytes(), key)

    def __len__(self) -> int:
        return len(self._ids) + len(self._exact)

    def like(self, text: str) -> tuple[str, float] | None:
        """The indexed text that shares most with this one, and the share; None below the threshold."""
        return self.sharing(shingles(text))

    def sharing(self, found: NDArray[np.uint64]) -> tuple[str, float] | None:
        """The same of a text whose shingles are known."""
        if len(found) < FEWEST:
            equal = self._exact.get(found.tobytes()) if len(found) else None
            return None if equal is None else (equal, 1.0)
        starts, ends = (np.searchsorted(self._keys, found, side=side) for side in ("left", "right"))
        lengths = ends - starts
        total = int(lengths.sum())
        if not total:
            return None
        places = np.repeat(ends - np.cumsum(lengths), lengths) + np.arange(total)
        shared = np.bincount(self._owners[places], minlength=len(self._ids))
        shares = shared / np.minimum(self._sizes, len(found))
        best = int(shares.argmax())
        return (self._ids[best], float(shares[best])) if shares[best] >= THRESHOLD else None
