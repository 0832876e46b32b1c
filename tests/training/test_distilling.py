"""Distillation: the projection is that of scikit-learn and of NumPy, and a student of two layers comes near its teacher
of six.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sentence_transformers import SentenceTransformer
from sklearn.decomposition import PCA
from small_bases import write_bert

from patent_mteb.errors import DataError
from patent_mteb.files import write_parquet
from patent_mteb.patents.views import VIEWS
from patent_mteb.training.bases import make_loss
from patent_mteb.training.corpus import read_corpus
from patent_mteb.training.distilling import projection_of, sampled, student_layers, student_of
from patent_mteb.training.preparing import Job, TrainSet
from patent_mteb.training.recipes import LAYERS, find_recipe, settings_for
from patent_mteb.training.running import Trainee, run_seed


def test_layers_are_those_of_the_paper():
    assert LAYERS == {
        12: (0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22),
        8: (0, 3, 6, 9, 12, 15, 18, 21),
        6: (0, 4, 8, 12, 16, 20),
        4: (0, 6, 12, 18),
        2: (0, 12),
    }
    with pytest.raises(DataError, match="2 layers at regular distances cannot be chosen from a teacher of 7 layers"):
        student_layers(7, (0, 12))


def test_projection_spans_the_principal_components():
    """In blocks of any size: against the exact components (scikit-learn) and the eigenvectors of the covariance
    (NumPy).
    """
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(403, 6)) * [9, 7, 5, 0.2, 0.1, 0.1] @ rng.normal(size=(6, 20)) + 3).astype(np.float32)
    found = projection_of(iter(np.array_split(rows, 7)), 3, 64)
    exact = PCA(3).fit(rows).components_
    vectors = np.linalg.eigh(np.cov(rows.T))[1][:, -3:]
    assert found.shape == (3, 20)
    np.testing.assert_allclose(found.T @ found, exact.T @ exact, atol=0.01)
    np.testing.assert_allclose(found.T @ found, vectors @ vectors.T, atol=0.01)
    with pytest.raises(DataError, match="2 texts are too few for a projection to 3 dimensions"):
        projection_of(iter([rows[:2]]), 3, 64)


def test_the_sample_of_the_projection_is_of_all_texts():
    drawn = list(sampled(lambda: iter(range(1000)), 300))
    assert len(drawn) == len(set(drawn)) == 300 and drawn == sorted(drawn)
    assert 430 < np.mean(drawn) < 570, "the paper samples; it does not take the first"
    assert (
        drawn == list(sampled(lambda: iter(range(1000)), 300)) != list(sampled(lambda: iter(range(1000)), 300, seed=7))
    )


@pytest.mark.slow
def test_a_student_of_two_layers_comes_near_its_teacher(tmp_path):
    """The mean squared error falls, and the ten nearest of a text are more often its teacher's than before training.

    The teacher's weights are drawn with deviation .1: with BERT's own .02 its layers hardly change a vector, so that
    the untrained student gives the teacher's vectors already, and training, with dropout, can only harm.
    """
    teacher = SentenceTransformer(
        str(write_bert(tmp_path / "teacher", layers=6, length=32, spread=0.1)), device="cpu"
    ).eval()
    corpus = read_corpus("sample")
    sizes = {"train": 384, "validation": 100}
    texts = {split: [VIEWS["Abstract"](one) for one in corpus.members(split)][:most] for split, most in sizes.items()}
    vectors = {split: teacher.encode(some, convert_to_numpy=True) for split, some in texts.items()}
    projection = projection_of(iter([vectors["train"]]), 16, 128)
    targets = {split: rows @ projection.T for split, rows in vectors.items()}
    for split, some in texts.items():
        table = pa.table({"anchor": some, "label": pa.array(targets[split].tolist(), pa.list_(pa.float32()))})
        write_parquet(tmp_path / "pairs" / f"{split}.parquet", table)
    untrained, student = (student_of(teacher, student_layers(6, (0, 12)), projection) for _ in range(2))
    assert len(student[0].model.encoder.layer) == 2 and student.get_embedding_dimension() == 16
    recipe = find_recipe("patembed-distill-2")
    settings = settings_for(recipe, ["lr=0.003", "accumulation=1", "batch=32", "epochs=4", "checks=2"])
    one = TrainSet("vectors", "mse", ("anchor",), "train.parquet", "validation.parquet", rows=384, validation_rows=100)
    loss = {"vectors": make_loss("mse", student, settings)}
    job = Job(recipe=recipe, settings=settings, base="teacher", out=tmp_path, device="cpu")
    history = run_seed(job, 42, Trainee(student, [one], loss, lambda: untrained), quiet=True).history

    def error_and_overlap(model):
        own = model.eval().encode(texts["validation"], convert_to_numpy=True)
        shared = [
            len(set(mine) & set(its)) for mine, its in zip(nearest(own), nearest(vectors["validation"]), strict=True)
        ]
        return np.mean((own - targets["validation"]) ** 2), np.mean(shared)

    (error, overlap), (error_after, overlap_after) = error_and_overlap(untrained), error_and_overlap(student)
    assert error_after < 0.1 * error and overlap_after > overlap + 0.3
    assert min(row["eval_loss"] for row in history if "eval_loss" in row) == pytest.approx(error_after, rel=1e-3), (
        "the best one is kept"
    )


def nearest(rows):
    """The ten nearest of each row by cosine, without itself."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    near = unit @ unit.T
    np.fill_diagonal(near, -2)
    return np.argsort(-near, axis=1, kind="stable")[:, :10]
