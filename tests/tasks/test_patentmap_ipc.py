"""PatentMap's classification: the published files, the suite's scores and the authors', against scikit-learn and
torch.
"""

from __future__ import annotations

import logging

import numpy as np
import pytest
from patentmap_folder import BY_NAME, IPC, classified, rewrite, run, write_folder
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from small_patents import Words

from patent_mteb.errors import DataError
from patent_mteb.models.variants import with_section_tags
from patent_mteb.protocols import mlp_probe

SHORT = mlp_probe.Settings(hidden=32, learning_rate=1e-2, max_epochs=3, least_steps=1, batch_size=32, patience=9)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "data"))
    return write_folder(tmp_path / "data")


@pytest.fixture
def short(monkeypatch):
    """A training of few steps, for tests that look at something else."""
    original = mlp_probe.mlp_probe
    monkeypatch.setattr(
        mlp_probe, "mlp_probe", lambda *parts, **options: original(*parts, **{**options, "settings": SHORT})
    )


def precision(true, decisions, k):
    return np.mean([true[i][np.argsort(-row, kind="stable")[:k]].sum() / k for i, row in enumerate(decisions)])


def nearest(x, y, queries, k):
    table = (
        KNeighborsClassifier(k, metric="cosine", algorithm="brute").fit(x, y).kneighbors(queries, return_distance=False)
    )
    return y[table].mean(axis=1)


def two_labels(table):
    for i in range(0, len(table), 3):
        table.loc[i, "ipcr_labels"] = table.loc[i, "ipcr_labels"].replace("]", ", 'G06F3/01']")


@pytest.mark.slow
def test_scores_are_those_of_scikit_learn(root):
    for name in ("train", "test"):
        rewrite(root, name, two_labels)
    scores = run(IPC, Words(dims=64))
    model, rows = Words(dims=64), classified(root)
    x = {name: np.stack([model.vector(text) for text, _ in own]) for name, own in rows.items()}
    binarizer = MultiLabelBinarizer().fit([labels for _, labels in rows["train"]])
    y = {name: binarizer.transform([labels for _, labels in own]) for name, own in rows.items()}
    logistic = OneVsRestClassifier(LogisticRegression(C=1.0, tol=1e-8, max_iter=5000)).fit(x["train"], y["train"])
    by_ten = nearest(x["train"], y["train"], x["test"], 10)
    fitted, held = train_test_split(np.arange(len(x["train"])), test_size=0.1, random_state=42)
    tried = {
        k: precision(y["train"][held], nearest(x["train"][fitted], y["train"][fitted], x["train"][held], k), 1)
        for k in (1, 3, 5, 10)
    }
    best = max(tried, key=lambda k: (tried[k], -k))
    tuned = nearest(x["train"], y["train"], x["test"], best)
    for k in (1, 3, 5):
        assert scores[f"knn_precision_at_{k}"] == pytest.approx(precision(y["test"], by_ten, k), abs=1e-9)
        assert scores[f"paper_knn_precision_at_{k}"] == scores[f"knn_precision_at_{k}"]
        assert scores[f"paper_knn_tuned_precision_at_{k}"] == pytest.approx(precision(y["test"], tuned, k), abs=1e-9)
        assert scores[f"linear_precision_at_{k}"] == pytest.approx(
            precision(y["test"], logistic.decision_function(x["test"]), k), abs=1e-9
        )
        assert 0 < scores[f"mlp_precision_at_{k}"] <= 1 and 0 < scores[f"knn_tuned_precision_at_{k}"] <= 1
    assert scores["paper_knn_tuned_k"] == best and scores["knn_tuned_k"] in (1, 3, 5, 10, 20)
    assert scores["main_score"] == scores["knn_precision_at_1"] > 0.5
    assert (
        scores["mlp_stopped_early"] == 1
        and scores["mlp_precision_at_1"] > 0.5
        and scores["mlp_epoch"] < scores["mlp_steps"]
    )
    assert scores["n_classes"] == len(binarizer.classes_) == 7
    assert (
        scores["n_train"] == len(x["train"]) and scores["n_test"] == len(x["test"]) and scores["n_unseen_labels"] == 0
    )


def test_the_authors_perceptron_learns_from_their_part_with_their_settings(root, monkeypatch):
    """Its inputs are checked here; its training against the equations in tests/protocols/test_mlp_probe.py."""
    given = []
    original = mlp_probe.mlp_probe

    def noted(*parts, **options):
        given.append((parts, options))
        return original(*parts, **{**options, "settings": SHORT})

    monkeypatch.setattr(mlp_probe, "mlp_probe", noted)
    run(IPC, Words(dims=64))
    (_, _), ((train, held, test), options) = given
    rows = classified(root)
    x = np.stack([Words(dims=64).vector(text) for text, _ in rows["train"]])
    fitted, out = train_test_split(x, test_size=0.1, random_state=42)
    np.testing.assert_array_equal(train[0], fitted)
    np.testing.assert_array_equal(held[0], out)
    assert len(test) == len(rows["test"])
    settings = options["settings"]
    assert (settings.weight_decay, settings.clip, settings.whole_batches, settings.batch_size) == (1e-5, 1.0, True, 256)
    assert (settings.hidden, settings.learning_rate, settings.max_epochs, settings.patience) == (1024, 3e-4, 100, 5)


def test_a_training_that_its_limit_ended_is_told(root, short, caplog):
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        scores = run(IPC, Words(dims=64))
    assert scores["mlp_stopped_early"] == scores["paper_mlp_stopped_early"] == 0 and scores["mlp_epoch"] <= 3
    assert f"the training of mlp ended after {scores['mlp_steps']} steps" in caplog.text
    assert f"the training of paper_mlp ended after {scores['paper_mlp_steps']} steps" in caplog.text


def test_labels_that_training_lacks_and_codes_that_cannot_be_read(root, short, caplog):
    def odd(table):
        table.loc[0, "ipcr_labels"] = "['A01B1/00', 'A01B3/00', 'B60T8/17']"
        table.loc[1, "ipcr_labels"] = "['B60T8/17' 'no code' 'B60']"
        table.loc[2, "ipcr_labels"] = "['no code']"

    rewrite(root, "test", odd)
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        scores = run(IPC)
    assert scores["n_unseen_labels"] == 1 and scores["n_test"] == len(classified(root)["test"]) - 1
    assert "test_512.csv: 3 IPC codes cannot be read" in caplog.text
    assert "test_512.csv: 1 patents have no text or no subclass and are dropped" in caplog.text
    assert "labels of the test split occur in no training row: A01B" in caplog.text


@pytest.mark.slow
def test_texts_carry_tags_for_models_that_read_them_whether_the_file_does_or_not(root, short):
    def tag_some(table):
        table.loc[::2, "text"] = table.loc[::2, "text"].str.replace(" [SEP] ", " [SEP] [abstract] ", regex=False)

    plain = run(IPC)
    rewrite(root, "train", tag_some)
    assert run(IPC) == plain
    model = Words()
    run(IPC, with_section_tags(model))
    with_abstract = [text for text in model.seen if "[SEP]" in text]
    assert with_abstract and all(
        text.count("[abstract]") == 1 and "[SEP] [abstract] " in text for text in with_abstract
    )


@pytest.mark.slow
def test_bert_for_patents_reads_tags_for_the_paper_alone(root, short):
    scores, plain, tagged = run(IPC, Words("anferico/bert-for-patents")), run(IPC), run(IPC, with_section_tags(Words()))
    for name, value in scores.items():
        if isinstance(value, float) and name != "main_score":
            assert value == (tagged if name.startswith("paper_") else plain)[name], name


def test_data_that_cannot_be_used(root):
    rewrite(root, "train", lambda table: table.head(5))
    with pytest.raises(DataError, match=r"5 training and \d+ test patents are too few"):
        run(IPC)


def test_descriptive_statistics(root):
    task = BY_NAME[IPC]()
    (found,) = task.calculate_descriptive_statistics(overwrite_results=True).values()
    assert found["num_samples"] == sum(map(len, classified(root).values()))
