"""Distillation: the projection is that of scikit-learn, and a student of two layers comes near its teacher of six."""

from __future__ import annotations

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sklearn.decomposition import PCA
from small_bases import write_bert

from patent_mteb.errors import DataError
from patent_mteb.patents.views import VIEWS
from patent_mteb.training.corpus import read_corpus
from patent_mteb.training.distilling import kept_layers, projection_of, student_of
from patent_mteb.training.losses import make_loss
from patent_mteb.training.preparing import Job, Prepared, TrainSet
from patent_mteb.training.recipes import LAYERS, find_recipe, settings_for
from patent_mteb.training.running import run_seed


def test_layers_are_those_of_the_paper():
    assert LAYERS == {
        12: (0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22),
        8: (0, 3, 6, 9, 12, 15, 18, 21),
        6: (0, 4, 8, 12, 16, 20),
        4: (0, 6, 12, 18),
        2: (0, 12),
    }
    with pytest.raises(DataError, match="a teacher of 7 layers has no 2 at regular distances"):
        kept_layers(7, (0, 12))


def test_projection_spans_the_principal_components():
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(400, 6)) * [9, 7, 5, 0.2, 0.1, 0.1] @ rng.normal(size=(6, 20))).astype(np.float32)
    found = projection_of(iter(np.array_split(rows, 7)), 3, 400, 64)
    exact = PCA(3).fit(rows).components_
    assert found.shape == (3, 20)
    np.testing.assert_allclose(found.T @ found, exact.T @ exact, atol=0.02)


def test_a_student_of_two_layers_comes_near_its_teacher(tmp_path):
    """The mean squared error falls, and the ten nearest of a text are more often its teacher's than before training."""
    import pyarrow as pa

    from patent_mteb.files import write_parquet
    from patent_mteb.training.leaks import LeakRecord

    teacher = SentenceTransformer(str(write_bert(tmp_path / "teacher", layers=6, length=32)), device="cpu").eval()
    corpus = read_corpus("sample")
    texts = {
        split: [VIEWS["Abstract"](one) for one in corpus.members(split)][:most] for split, most in (("train", 384), ("validation", 100))
    }
    vectors = {split: teacher.encode(some, convert_to_numpy=True) for split, some in texts.items()}
    projection = projection_of(iter([vectors["train"]]), 16, 10_000, 128)
    untrained = student_of(teacher, kept_layers(6, (0, 12)), projection).eval()
    assert len(untrained[0].model.encoder.layer) == 2 and untrained.get_embedding_dimension() == 16
    for split, some in texts.items():
        labels = [row.tolist() for row in vectors[split] @ projection.T]
        write_parquet(
            tmp_path / "pairs" / f"{split}.parquet", pa.table({"anchor": some, "label": pa.array(labels, pa.list_(pa.float32()))})
        )
    recipe = find_recipe("patembed-distill-2")
    settings = settings_for(recipe, ["lr=0.003", "accumulation=1", "batch=32", "epochs=3", "checks=2"])
    one = TrainSet("vectors", "mse", ("anchor",), "train.parquet", "validation.parquet", rows=384, validation_rows=100)
    prepared = Prepared((one,), "", {}, {}, LeakRecord({}, [], 0, 0, 0, {}, [], False))
    student = student_of(teacher, kept_layers(6, (0, 12)), projection)
    job = Job(recipe, settings, "teacher", tmp_path, device="cpu")
    run_seed(job, prepared, 42, student, {"vectors": make_loss("mse", student, settings)}, quiet=True)
    targets = vectors["validation"] @ projection.T

    def error_and_overlap(model):
        own = model.eval().encode(texts["validation"], convert_to_numpy=True)
        near = [np.argsort(-_cosines(rows), axis=1, kind="stable")[:, 1:11] for rows in (own, vectors["validation"])]
        return np.mean((own - targets) ** 2), np.mean([len(set(a) & set(b)) for a, b in zip(*near, strict=True)])

    (before, kept_before), (after, kept_after) = error_and_overlap(untrained), error_and_overlap(student)
    assert after < 0.7 * before and kept_after > kept_before


def _cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T
