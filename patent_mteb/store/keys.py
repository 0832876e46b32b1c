"""Keys of texts: 128-bit hashes of what a model is given to encode."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

KEY_BYTES = 16  # 128 bits: no two of 10^12 texts share a key by chance
Keys = NDArray[np.uint8]  # [n, 16] array: one key a row


def hash_texts(texts: Iterable[str], prompt: str = "", context: str = "") -> Keys:
    """128-bit blake2b of (context, prompt, text); ``context`` is anything else that changes the vector."""
    start = hashlib.blake2b(digest_size=KEY_BYTES)
    for part in (context, prompt):
        encoded = part.encode("utf-8", "surrogatepass")
        start.update(len(encoded).to_bytes(8, "little"))
        start.update(encoded)
    digests = bytearray()
    for text in texts:
        state = start.copy()
        state.update(text.encode("utf-8", "surrogatepass"))
        digests += state.digest()
    return np.frombuffer(bytes(digests), np.uint8).reshape(-1, KEY_BYTES)


def halves(keys: Keys) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    if keys.dtype != np.uint8 or keys.ndim != 2 or keys.shape[1] != KEY_BYTES:
        raise ValueError(f"keys must be an [n, {KEY_BYTES}] array of uint8, got {keys.dtype} {keys.shape}")
    pairs = np.ascontiguousarray(keys).view("<u8").reshape(-1, 2)
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def distinct(keys: Keys) -> NDArray[np.int64]:
    """Positions of the first occurrence of every distinct key, ascending."""
    words = np.ascontiguousarray(keys).view(f"S{KEY_BYTES}")
    return np.sort(np.unique(words, return_index=True)[1])
