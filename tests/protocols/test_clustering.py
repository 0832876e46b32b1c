"""Clustering against a naive scikit-learn script, and the rule for multi-label documents."""

import numpy as np
import pytest
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, silhouette_score, v_measure_score

from patent_mteb.protocols.clustering import (
    agreement,
    cluster,
    every_label,
    minibatch_cluster,
    most_frequent_label,
    single_label,
    spread,
)

RNG = np.random.default_rng(0)
CLASSES = RNG.choice(list("abcdef"), 300)
X = (RNG.normal(size=(300, 12)) + np.eye(6, 12)[[ord(c) - ord("a") for c in CLASSES]] * 2.5).astype(np.float32)


def assert_equal_to_script(result, labels):
    assert result.v_measure == pytest.approx(v_measure_score(CLASSES, labels), abs=1e-9)
    assert result.ari == pytest.approx(adjusted_rand_score(CLASSES, labels), abs=1e-9)
    assert result.nmi == pytest.approx(normalized_mutual_info_score(CLASSES, labels), abs=1e-9)
    assert 0.1 < result.ari < 1 and result.ari != result.nmi


@pytest.mark.parametrize("clusters", [None, 9])
def test_k_means_equals_a_naive_script(clusters):
    result = cluster(X, CLASSES.tolist(), clusters=clusters, silhouette=True)
    labels = KMeans(n_clusters=clusters or 6, random_state=42, n_init=10).fit_predict(X)
    assert_equal_to_script(result, labels)
    assert result.silhouette == pytest.approx(silhouette_score(X, labels), abs=1e-9)
    assert (result.clusters, result.classes) == (clusters or 6, 6)
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


def test_classes_may_be_numbers():
    assert cluster(X, [ord(c) for c in CLASSES]).v_measure == pytest.approx(
        cluster(X, CLASSES.tolist()).v_measure, abs=1e-12
    )


def test_the_rarest_label_is_the_class():
    sets = [{"big", "small"}, ["big"], {"big", "mid"}, {"mid", "small"}, ["mid", "big"], {"tie2", "tie1"}]
    assert single_label(sets) == ["small", "big", "mid", "small", "mid", "tie1"]
    assert single_label(sets, {"big": 1, "small": 9, "mid": 5, "tie1": 3, "tie2": 2}) == [
        "big",
        "big",
        "big",
        "mid",
        "big",
        "tie2",
    ]
    assert single_label([["a", "a"], ["b", "a"]]) == ["a", "b"]


def test_the_most_frequent_label_is_the_class():
    sets = [{"big", "small"}, ["big"], {"mid", "small"}, ["mid", "big"], {"tie2", "tie1"}]
    assert most_frequent_label(sets) == ["big", "big", "mid", "big", "tie1"]
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
    found = [agreement(single_label(sets), assigned), agreement(most_frequent_label(sets), assigned)]
    found.append(agreement(labels, [assigned[row] for row in rows]))
    true = (["x", "r", "x", "y", "r", "y", "x"], list("xxxyyyx"), list("xrxxyryyx"))
    clusters = (assigned, assigned, [0, 0, 0, 0, 1, 1, 1, 1, 0])
    for result, classes, places in zip(found, true, clusters, strict=True):
        assert result.v_measure == pytest.approx(v_measure_score(classes, places), abs=1e-12)
        assert result.ari == pytest.approx(adjusted_rand_score(classes, places), abs=1e-12)
    assert [result.classes for result in found] == [3, 2, 3]
    assert found[1].v_measure == 1 > found[2].v_measure > found[0].v_measure > 0


def test_spread_is_over_the_scores_of_all_seeds():
    flat = RNG.normal(size=(120, 6))
    values = [
        v_measure_score(CLASSES[:120], KMeans(6, random_state=seed, n_init=10).fit_predict(flat))
        for seed in (42, 43, 44, 45, 46)
    ]
    result = spread(flat, CLASSES[:120].tolist(), clusters=6)
    assert (result.mean, result.std) == pytest.approx((np.mean(values), np.std(values, ddof=1)), abs=1e-9)
    assert result.seeds == 5 and result.std > 1e-3


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="document 1 has no label"):
        single_label([{"a"}, set()])
    with pytest.raises(ValueError, match="label 'b' of document 0 is not counted"):
        single_label([{"b"}], {"a": 1})
    with pytest.raises(ValueError, match="299 classes for 300"):
        cluster(X, CLASSES[:-1])
    with pytest.raises(ValueError, match="301 clusters of 300"):
        cluster(X, CLASSES, clusters=301)
    with pytest.raises(ValueError, match="NaN or infinite values in 300 of 300 rows"):
        minibatch_cluster(X * np.nan, CLASSES)
