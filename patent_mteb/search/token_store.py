"""Token vectors of late interaction, kept in the embedding store: no text is encoded twice, for search and means together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.store.codecs import Codec
from patent_mteb.store.keys import hash_texts

if TYPE_CHECKING:
    from patent_mteb.store import EmbeddingStore

__all__ = ["TokenStore"]

_AT_ONCE = 512


@dataclass(frozen=True)
class TokenStore:
    """Where the token vectors of one model are kept.

    Attributes:
        store: the store that they lie in.
        identity: whose they are.
        dtype: how they are kept.
        codec: makes them bytes, which then are what is kept, in a place of their own.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.search.token_store import TokenStore
        >>> from patent_mteb.store import EmbeddingStore
        >>> kept = TokenStore(EmbeddingStore("store"), {"model": "m", "revision": "r"}, "float32")
        >>> encoded = []
        >>> def encode(texts):
        ...     encoded.extend(texts)
        ...     return [np.ones((len(text), 2), np.float32) for text in texts]
        >>> [len(kept.tokens([text, "ab"], "", "query", "", 8, encode)[0]) for text in ("abc", "abc")], encoded
        ([3, 3], ['abc', 'ab'])
    """

    store: EmbeddingStore
    identity: Mapping[str, Any]
    dtype: str
    codec: Codec | None = None

    def tokens(
        self,
        texts: list[str],
        prompt: str,
        role: str,
        changed: str,
        step: int,
        encode: Callable[[list[str]], list[NDArray[np.float32]]],
    ) -> list[NDArray[np.float32]]:
        """Token vectors of each text, those that are new made by ``encode``.

        Args:
            prompt, role: what the vectors of a text depend on besides the model.
            changed: digest of what was changed on the model since it was loaded; its vectors are kept apart.
            step: texts between two writes, at most; a kill loses no more than these, nor than 512.
        """
        codec = self.codec
        apart = ({"changed": changed} if changed else {}) | (dict(codec.settings) if codec else {})
        space = self.store.space({**self.identity, **apart}, "int8" if codec else self.dtype, ragged=True)
        keys = hash_texts(texts, prompt, role)
        step = min(step, _AT_ONCE)

        def fill(missing: NDArray[np.int64]) -> None:
            for start in range(0, len(missing), step):
                chosen = missing[start : start + step]
                found = encode([texts[i] for i in chosen])
                vectors = np.concatenate(found)
                lengths = np.array([len(vectors) for vectors in found])
                space.append_ragged(keys[chosen], codec.code(vectors) if codec else vectors, lengths)

        kept, offsets = space.filled(keys, fill)
        values = codec.value(kept) if codec else np.asarray(kept, dtype=np.float32)
        return [values[start:stop] for start, stop in pairwise(offsets)]
