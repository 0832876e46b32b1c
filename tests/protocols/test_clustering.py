"""Clustering against a naive scikit-learn script, and the rule for multi-label documents."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, silhouette_score, v_measure_score

from patent_mteb.protocols.clustering import (
    SEEDS,
    agreement,
    cluster,
    every_label,
    minibatch_cluster,
    most_frequent_label,
    single_label,
)

RNG = np.random.default_rng(0)
CLASSES = RNG.choice(list("abcdef"), 300)
X = (RNG.normal(size=(300, 12)) + np.eye(6, 12)[[ord(c) - ord("a") for c in CLASSES]] * 2.5).astype(np.float32)


def assert_equal_to_script(result, labels):
    assert result.v_measure == pytest.approx(v_measure_score(CLASSES, labels), abs=1e-9)
    assert result.ari == pytest.approx(adjusted_rand_score(CLASSES, labels), abs=1e-9)
    assert result.nmi == pytest.approx(normalized_mutual_info_score(CLASSES, labels), abs=1e-9)
    assert 0.1 < result.ari < 1 and result.ari != result.nmi


@pytest.mark.parametrize("clusters", [6, 9])
def test_k_means_equals_a_naive_script(clusters):
    result = cluster(X, CLASSES.tolist(), clusters=clusters, silhouette=True)
    labels = KMeans(n_clusters=clusters, random_state=42, n_init=10).fit_predict(X)
    assert_equal_to_script(result, labels)
    assert result.silhouette == pytest.approx(silhouette_score(X, labels), abs=1e-9)
    assert (result.clusters, result.classes) == (clusters, 6)
    assert list(result.assigned) == labels.tolist()


def test_mini_batches_equal_a_naive_script():
    result = minibatch_cluster(X, CLASSES.tolist())
    labels = MiniBatchKMeans(n_clusters=6, batch_size=16_384, random_state=42).fit_predict(X)
    assert_equal_to_script(result, labels)
    assert (result.assigned, result.silhouette) == (tuple(labels.tolist()), None)


def test_worked_example():
    """Two far pairs, classes a a b c: homogeneity 2/3 (1 bit of 1.5), completeness 1, V 0.8."""
    result = cluster([[0.0, 0], [0.1, 0], [9, 9], [9, 9.1]], ["a", "a", "b", "c"], clusters=2)
    assert result.v_measure == pytest.approx(0.8)


def counted(sets):
    return Counter(chain.from_iterable(map(set, sets)))


def test_the_rarest_label_is_the_class():
    sets = [{"big", "small"}, ["big"], {"big", "mid"}, {"mid", "small"}, ["mid", "big"], {"tie2", "tie1"}]
    assert single_label(sets, counted(sets)) == ["small", "big", "mid", "small", "mid", "tie1"]
    assert single_label(sets, {"big": 1, "small": 9, "mid": 5, "tie1": 3, "tie2": 2}) == [
        "big",
        "big",
        "big",
        "mid",
        "big",
        "tie2",
    ]
    assert single_label([["a", "a"], ["b", "a"]], {"a": 2, "b": 1}) == ["a", "b"]


def test_the_most_frequent_label_is_the_class():
    sets = [{"big", "small"}, ["big"], {"mid", "small"}, ["mid", "big"], {"tie2", "tie1"}]
    assert most_frequent_label(sets, counted(sets)) == ["big", "big", "mid", "big", "tie1"]
    assert most_frequent_label(sets, {"big": 1, "small": 9, "mid": 5, "tie1": 3, "tie2": 4}) == [
        "small",
        "big",
        "small",
        "mid",
        "tie2",
    ]


def test_every_label_counts_its_document_once():
    assert every_label([{"b", "a"}, ["c"], ["a", "a"]]) == (["a", "b", "c", "a"], [0, 0, 1, 2])


def test_readings_of_given_clusters_equal_scikit_learn():
    """Clusters that follow the frequent label match it perfectly, the rarest and every label less."""
    sets = [{"x"}, {"x", "r"}, {"x"}, {"y"}, {"y", "r"}, {"y"}, {"x"}]
    assigned = [0, 0, 0, 1, 1, 1, 0]
    labels, rows = every_label(sets)
    found = [agreement(rule(sets, counted(sets)), assigned) for rule in (single_label, most_frequent_label)]
    found.append(agreement(labels, [assigned[row] for row in rows]))
    true = (["x", "r", "x", "y", "r", "y", "x"], list("xxxyyyx"), list("xrxxyryyx"))
    clusters = (assigned, assigned, [0, 0, 0, 0, 1, 1, 1, 1, 0])
    for result, classes, places in zip(found, true, clusters, strict=True):
        assert result.v_measure == pytest.approx(v_measure_score(classes, places), abs=1e-12)
        assert result.ari == pytest.approx(adjusted_rand_score(classes, places), abs=1e-12)
    assert [result.classes for result in found] == [3, 2, 3]
    assert found[1].v_measure == 1 > found[2].v_measure > found[0].v_measure > 0


def test_the_seed_is_that_of_k_means():
    flat = RNG.normal(size=(120, 6))
    classes = CLASSES[:120].tolist()
    values = [v_measure_score(classes, KMeans(6, random_state=seed, n_init=10).fit_predict(flat)) for seed in SEEDS]
    found = [cluster(flat, classes, clusters=6, seed=seed).v_measure for seed in SEEDS]
    assert found == pytest.approx(values, abs=1e-9) and SEEDS == (42, 43, 44, 45, 46)
    assert np.std(found) > 1e-3


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="inconsistent"):
        cluster(X, CLASSES[:-1], clusters=6)
    with pytest.raises(ValueError, match="n_samples=300 should be >= n_clusters=301"):
        cluster(X, CLASSES, clusters=301)
    with pytest.raises(ValueError, match="NaN or infinite values in 300 of 300 rows"):
        minibatch_cluster(X * np.nan, CLASSES)
