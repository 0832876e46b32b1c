"""k-means on frozen embeddings against the true classes, with as many clusters as there are classes.

:func:`cluster` is the protocol of WIPO-AT (section 3.3.3), :func:`minibatch_cluster` that of PatenTEB (table 14).
Neither paper states the number of restarts; here it is 10, and scikit-learn's default. WIPO-AT does not state how
documents with several labels are treated either, although its ranking of models (tables 9 and 26) depends on it. Here
the main score has the rarest label; the most frequent one, and a copy of the document for each label, are further
scores.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from patent_mteb.metrics import embedding_matrix

SEED = 42  # WIPO-AT's
SEEDS = tuple(range(SEED, SEED + 5))
_RESTARTS = 10  # the default of scikit-learn before 1.4; WIPO-AT names none
_BATCH = 16_384  # a choice; PatenTEB names none


def single_label(label_sets: Sequence[Collection[str]], counts: Mapping[str, int]) -> list[str]:
    """Return the rarest label of each document, of equally rare ones the alphabetically first.

    It is the most specific one, and the rule keeps rare classes, which the number of clusters, that of all labels,
    assumes. ``counts`` are the documents with each label.
    """
    return [min(labels, key=lambda label: (counts[label], label)) for labels in label_sets]


def most_frequent_label(label_sets: Sequence[Collection[str]], counts: Mapping[str, int]) -> list[str]:
    """Return the most frequent label of each document, to compare clusters with broad classes."""
    return [min(labels, key=lambda label: (-counts[label], label)) for labels in label_sets]


def every_label(label_sets: Sequence[Collection[str]]) -> tuple[list[str], list[int]]:
    """The class and the document of each label. Even perfect clusters score less than 1, as a document is in one."""
    pairs = [(label, row) for row, labels in enumerate(label_sets) for label in sorted(set(labels))]
    return [label for label, _ in pairs], [row for _, row in pairs]


@dataclass(frozen=True)
class Agreement:
    v_measure: float  # harmonic mean of homogeneity and completeness, equal to NMI with the arithmetic mean
    ari: float  # adjusted Rand index
    classes: int  # number of classes among the documents


def agreement(classes: Any, assigned: Any) -> Agreement:
    from sklearn import metrics

    return Agreement(
        v_measure=float(metrics.v_measure_score(classes, assigned)),
        ari=float(metrics.adjusted_rand_score(classes, assigned)),
        classes=len(set(classes)),
    )


@dataclass(frozen=True)
class Clustering(Agreement):
    nmi: float  # normalised mutual information
    silhouette: float | None  # mean by Euclidean distance, None unless requested
    clusters: int  # number of clusters requested
    assigned: tuple[int, ...]  # cluster of each document


def _score(model: Any, embeddings: ArrayLike, classes: Sequence[str], *, silhouette: bool = False) -> Clustering:
    from sklearn import metrics

    x = embedding_matrix(embeddings)
    assigned = model.fit_predict(x)
    return Clustering(
        **vars(agreement(classes, assigned)),
        nmi=float(metrics.normalized_mutual_info_score(classes, assigned)),
        silhouette=float(metrics.silhouette_score(x, assigned)) if silhouette else None,
        clusters=model.n_clusters,
        assigned=tuple(assigned.tolist()),
    )


def cluster(
    embeddings: ArrayLike, classes: Sequence[str], *, clusters: int, silhouette: bool = False, seed: int = SEED
) -> Clustering:
    """k-means (WIPO-AT, section 3.3.3) of embeddings [n, d], which are not scaled, with classes [n].

    ``clusters`` is the paper's number of true labels of the data set. The silhouette needs all pairs of documents.
    """
    from sklearn.cluster import KMeans

    model = KMeans(clusters, n_init=_RESTARTS, random_state=seed)
    return _score(model, embeddings, classes, silhouette=silhouette)


def minibatch_cluster(embeddings: ArrayLike, classes: Sequence[str], *, seed: int = SEED) -> Clustering:
    """Mini-batch k-means (PatenTEB, section 5.3 and table 14) with a cluster for each class that occurs."""
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(len(set(classes)), batch_size=_BATCH, random_state=seed, n_init="auto")
    return _score(model, embeddings, classes)
