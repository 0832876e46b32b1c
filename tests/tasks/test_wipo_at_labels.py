"""WIPO-AT's classification and clustering against naive scikit-learn scripts."""

import mteb
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, f1_score, normalized_mutual_info_score, v_measure_score
from sklearn.neighbors import NearestNeighbors
from small_data import HashEncoder, scores_of

from patent_mteb.errors import ModelError
from patent_mteb.tasks.wipo_at import LabelledTexts


class Frozen(HashEncoder):
    """Random vectors that depend on the text alone."""

    def vector(self, text):
        seed = sum(text.encode()) * 7919 + len(text)
        return np.random.default_rng(seed).standard_normal(self.dims).astype(np.float32)


@pytest.fixture(scope="module")
def classified():
    task = mteb.get_task("WIPOATEmergingClassification.NoDWPI")
    model = Frozen(dims=24)
    found = scores_of(task, model)
    task.load_data()
    data = task.dataset[task.source.subset]["test"]
    matrices = {split: np.stack([model.vector(text) for text in data.texts[split]]) for split in data.texts}
    hot = {
        split: np.array([[label in labels for label in data.classes] for labels in data.labels[split]])
        for split in data.labels
    }
    return found, data, matrices, hot


def test_probe_equals_a_naive_scikit_learn_script(classified):
    found, data, x, y = classified
    best = (-1.0, 0.0)
    for c in (0.01, 0.1, 1.0, 10.0, 100.0):
        fits = [
            LogisticRegression(C=c, tol=1e-10, max_iter=10_000).fit(x["train"], y["train"][:, i])
            for i in range(len(data.classes))
        ]
        predicted = {
            split: np.stack([fit.predict(x[split]) for fit in fits], axis=1) for split in ("validation", "test")
        }
        score = f1_score(y["validation"], predicted["validation"], average="macro", zero_division=0)
        if score > best[0]:
            best = (score, c)
            per_label = f1_score(y["test"], predicted["test"], average=None, zero_division=0)
    assert found["c"] == best[1]
    assert found["macro_f1"] == found["main_score"] == pytest.approx(per_label.mean(), abs=1e-5)
    for label, value in zip(data.classes, per_label, strict=True):
        assert found[f"f1_{label}"] == pytest.approx(value, abs=1e-5)
    assert found["n_unconverged_fits"] == 0


def test_knn_equals_a_naive_scikit_learn_script(classified):
    found, _, x, y = classified
    unit = {split: matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for split, matrix in x.items()}
    scores = {}
    for k in (1, 3, 5, 10, 20):
        _, near = NearestNeighbors(n_neighbors=k, metric="cosine").fit(unit["train"]).kneighbors(unit["test"])
        votes = y["train"][near].mean(axis=1) > 0.5
        scores[k] = f1_score(y["test"], votes, average="macro", zero_division=0)
        assert found[f"knn_{k}_macro_f1"] == pytest.approx(scores[k], abs=1e-5)
    assert found["knn_macro_f1"] == pytest.approx(max(scores.values()), abs=1e-5)


def test_clustering_equals_a_naive_scikit_learn_script(classified):
    _, data, x, _ = classified
    found = scores_of(mteb.get_task("WIPOATEmergingClustering.NoDWPI"), Frozen(dims=24))
    everyone = [label for split in data.labels.values() for labels in split for label in labels]
    true = [min(labels, key=lambda label: (everyone.count(label), label)) for labels in data.labels["test"]]
    assigned = KMeans(len(data.classes), n_init=10, random_state=42).fit_predict(x["test"])
    assert found["v_measure"] == found["main_score"] == pytest.approx(v_measure_score(true, assigned), abs=1e-5)
    assert found["ari"] == pytest.approx(adjusted_rand_score(true, assigned), abs=1e-5)
    assert found["nmi"] == pytest.approx(normalized_mutual_info_score(true, assigned), abs=1e-5)
    frequent = [min(labels, key=lambda label: (-everyone.count(label), label)) for labels in data.labels["test"]]
    assert found["most_frequent_v_measure"] == pytest.approx(v_measure_score(frequent, assigned), abs=1e-5)
    pairs = [(label, place) for labels, place in zip(data.labels["test"], assigned, strict=True) for label in labels]
    assert found["every_label_v_measure"] == pytest.approx(v_measure_score(*zip(*pairs, strict=True)), abs=1e-5)
    assert found["n_multi_label"] == sum(len(labels) > 1 for labels in data.labels["test"]) > 0
    again = [KMeans(len(data.classes), n_init=10, random_state=seed).fit_predict(x["test"]) for seed in range(42, 47)]
    values = [v_measure_score(true, places) for places in again]
    assert found["v_measure_seeds_mean"] == pytest.approx(np.mean(values), abs=1e-5)
    assert found["v_measure_seeds_std"] == pytest.approx(np.std(values, ddof=1), abs=1e-5)
    assert found["n_seeds"] == 5
    assert found["v_measure_low"] < found["v_measure"] < found["v_measure_high"]


@pytest.mark.slow
def test_classification_has_intervals_over_test_documents(classified):
    """Those of kNN are of scikit-learn's votes without each document; the probe's hold its score."""
    found, _, x, y = classified
    _, near = NearestNeighbors(n_neighbors=found["knn_best_k"], metric="cosine").fit(x["train"]).kneighbors(x["test"])
    votes = y["train"][near].mean(axis=1) > 0.5
    kept = [np.delete(np.arange(len(votes)), row) for row in range(len(votes))]
    values = np.array([f1_score(y["test"][rows], votes[rows], average="macro", zero_division=0) for rows in kept])
    error = np.sqrt((len(votes) - 1) * values.var())
    below, above = found["knn_macro_f1"] - found["knn_macro_f1_low"], found["knn_macro_f1_high"] - found["knn_macro_f1"]
    assert below == pytest.approx(above, abs=1e-6) and 1.96 * error < below < 2.5 * error
    rare = 1 / np.maximum(y["test"].sum(axis=0), 1)
    assert found["n_effective"] == pytest.approx(rare.sum() ** 2 / (rare**3).sum(), abs=1e-4)
    assert found["macro_f1_low"] < found["macro_f1"] < found["macro_f1_high"]


class Broken(HashEncoder):
    def encode(self, inputs, **kwargs):
        vectors = super().encode(inputs)
        vectors[3, 2] = np.nan
        return vectors


class Ragged(HashEncoder):
    def encode(self, inputs, **kwargs):
        return super().encode(inputs)[:-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "message"),
    [(Broken, r"gave NaN or infinite vectors for 1 of \d+ texts"), (Ragged, r"gave \d+ vectors for \d+ texts")],
)
@pytest.mark.parametrize("task", ["WIPOATEmergingClassification", "WIPOATEmergingClustering"])
def test_broken_embeddings_stop_the_run_with_model_and_task(kind, message, task):
    with pytest.raises(ModelError, match=message) as caught:
        scores_of(mteb.get_task(task), kind())
    assert "tests/hash-encoder" in str(caught.value) and f"{task}.sample" in str(caught.value)


def test_zero_shot_labels_use_the_label_names():
    task = mteb.get_task("WIPOATEmergingClassification.NoDWPI")
    data = task.load_split()

    def scorer(texts, labels):
        return np.array([[text.lower().count(label.lower()[:4]) for label in labels] for text in texts], dtype=float)

    found = task.zero_shot(scorer, data)
    hot = np.array([[label in labels for label in data.classes] for labels in data.labels["test"]])
    predicted = scorer(data.texts["test"], data.classes) >= found["threshold"]
    assert found["macro_f1"] == pytest.approx(f1_score(hot, predicted, average="macro", zero_division=0))


@pytest.mark.parametrize(("noise", "warned"), [(0.0, True), (0.6, False)])
def test_a_best_c_that_ends_the_grid_is_said(caplog, noise, warned):
    """Where every C is right the smallest is taken, which ends the grid."""
    rng = np.random.default_rng(5)
    task = mteb.get_task("WIPOATEmergingClassification")
    kinds = {split: rng.integers(0, 2, 60) for split in ("train", "validation", "test")}
    flips = {split: kind ^ (rng.random(60) < noise / 2) for split, kind in kinds.items()}
    vectors = {
        split: np.hstack([kind[:, None] * 2 - 1, rng.normal(size=(60, 8)) * noise * 3]) for split, kind in kinds.items()
    }
    labels = {split: [["ab"[flip]] for flip in kind] for split, kind in flips.items()}
    found = task.score(vectors, LabelledTexts({}, labels, ("a", "b")))
    assert found["c_at_edge"] == warned
    assert ("the best C, 0.01, is at an edge of the probe's grid" in caplog.text) == warned
