"""Embedding geometry: alignment, uniformity, spectrum divergence, IDA ratio (PatentMap, appendices D and E).

Every measure scales the embeddings to unit length first. Lower is better for alignment and the IDA ratio; lower
uniformity and spectrum divergence mean more evenly spread embeddings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from patent_mteb.metrics import embedding_matrix

PAIRS = 10_000  # drawn for a mean over pairs, a choice; a corpus has too many
SEED = 42  # WIPO-AT's
_BLOCK = 1024  # rows of a product


def _unit(values: ArrayLike, name: str = "embeddings", width: int | None = None) -> NDArray[np.float64]:
    matrix = embedding_matrix(values, name=name, width=width).astype(np.float64)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError(
            f"{name} have {np.sum(lengths == 0)} rows of zeros, which have no direction; first row {np.argmin(lengths)}"
        )
    matrix /= lengths
    return matrix


def alignment(first: ArrayLike, second: ArrayLike) -> float:
    """Mean squared distance of pairs of equal rows, such as citing and cited patents (appendix D); from 0 to 4."""
    x = _unit(first, "first embeddings")
    y = _unit(second, "second embeddings", x.shape[1])
    if len(x) != len(y):
        raise ValueError(f"{len(x)} first and {len(y)} second embeddings do not form pairs")
    return float(np.mean(np.sum((x - y) ** 2, axis=1)))


def _other(rng: np.random.Generator, n: int, pairs: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first = rng.integers(0, n, pairs)
    return first, (first + rng.integers(1, n, pairs)) % n


def uniformity(embeddings: ArrayLike, *, pairs: int | None = PAIRS, seed: int = SEED) -> float:
    """Logarithm of the mean of exp(-2 squared distance) over pairs of different rows (appendix D); 0 if all coincide.

    ``pairs`` pairs are drawn uniformly and independently; None takes all n (n - 1) / 2.
    """
    x = _unit(embeddings)
    n = len(x)
    if n < 2:
        raise ValueError("uniformity needs at least two embeddings")
    if pairs is not None:
        first, second = _other(np.random.default_rng(seed), n, pairs)
        return float(np.log(np.mean(np.exp(-2 * np.sum((x[first] - x[second]) ** 2, axis=1)))))
    total = 0.0
    for start in range(0, n, _BLOCK):
        cosines = x[start : start + _BLOCK] @ x[start:].T
        total += np.triu(np.exp(-4 * (1 - cosines)), k=1).sum()
    return float(np.log(total / (n * (n - 1) / 2)))


def spectrum_divergence(embeddings: ArrayLike) -> float:
    """SSD / log d, from 0 (equal singular values) to 1 (one direction) (appendix D).

    Rows are scaled to unit length, and columns are centred. The singular values (not their squares) are scaled to a sum
    of 1: SSD = log d - entropy. With n <= d at least d - n + 1 singular values are 0, so the divergence is high for any
    model.
    """
    x = _unit(embeddings)
    d = x.shape[1]
    if d < 2:
        raise ValueError("the spectrum needs embeddings of at least two dimensions")
    values = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    if values[0] <= 1e-10 * math.sqrt(len(x)):
        raise ValueError("all embeddings have the same direction; they have no spectrum")
    shares = values / values.sum()
    shares = shares[shares > 0]
    return float(1 + np.sum(shares * np.log(shares)) / math.log(d))


def intra_document_distances(
    embeddings: ArrayLike, documents: ArrayLike
) -> tuple[NDArray[np.generic], NDArray[np.float64]]:
    """Ids of the documents with several sections (rows), and the mean distance of their sections (appendix E)."""
    x, names, owner = _sections(embeddings, documents)
    sums, counts = _sums(x, owner)
    several = counts > 1
    pairs = counts[several] * (counts[several] - 1)
    cosines = (np.sum(sums[several] ** 2, axis=1) - counts[several]) / pairs
    return names[several], 1 - cosines


def _sections(
    embeddings: ArrayLike, documents: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.generic], NDArray[np.int64]]:
    x, ids = _unit(embeddings), np.asarray(documents)
    if ids.shape != (len(x),):
        raise ValueError(f"{len(x)} section embeddings need as many document ids, got shape {ids.shape}")
    names, owner = np.unique(ids, return_inverse=True)
    return x, names, owner


def _sums(x: NDArray[np.float64], owner: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sum and number of the sections of each document."""
    counts = np.bincount(owner)
    sums = np.zeros((len(counts), x.shape[1]))
    np.add.at(sums, owner, x)
    return sums, counts


def random_pair_distance(
    embeddings: ArrayLike, documents: ArrayLike, *, pairs: int | None = PAIRS, seed: int = SEED
) -> float:
    """Mean cosine distance of drawn (None: all) pairs of sections of different documents (appendix E, P_rand)."""
    x, names, owner = _sections(embeddings, documents)
    if len(names) < 2:
        raise ValueError("random pairs need sections of at least two documents")
    if pairs is None:
        sums, counts = _sums(x, owner)
        return float(1 - (np.sum(x.sum(axis=0) ** 2) - np.sum(sums**2)) / (len(x) ** 2 - np.sum(counts**2)))
    rng = np.random.default_rng(seed)
    first, second = _other(rng, len(x), pairs)
    while len(same := np.flatnonzero(owner[first] == owner[second])):
        first[same], second[same] = _other(rng, len(x), len(same))
    return float(np.mean(1 - np.sum(x[first] * x[second], axis=1)))


@dataclass(frozen=True)
class IDA:
    ratio: float  # intra / random
    intra: float  # mean over documents of the mean cosine distance among their sections
    random: float  # mean cosine distance of sections of different documents
    documents: int  # number of documents with several sections
    excluded: int  # number of documents with one section


def ida_ratio(embeddings: ArrayLike, documents: ArrayLike, *, pairs: int | None = PAIRS, seed: int = SEED) -> IDA:
    """Intra-document distance divided by that of random pairs (appendix E): low if sections of a patent are close.

    For Figure 6 of the paper, pass the rows of two kinds of section at a time.
    """
    names, distances = intra_document_distances(embeddings, documents)
    if not len(names):
        raise ValueError("no document has two sections")
    random = random_pair_distance(embeddings, documents, pairs=pairs, seed=seed)
    if random <= 1e-12:
        raise ValueError("all sections have the same direction; the ratio is undefined")
    intra = float(distances.mean())
    return IDA(intra / random, intra, random, len(names), len(np.unique(np.asarray(documents))) - len(names))
