"""Truncated embeddings against a naive cut, and what they cost over a store."""

import mteb
import numpy as np
import pytest
import torch
from datasets import Dataset
from mteb.models.model_meta import ModelMeta
from torch.utils.data import DataLoader

from patent_mteb.errors import ModelError
from patent_mteb.models.composition import Truncated
from patent_mteb.store import stored

META = mteb.get_model_meta("mteb/baseline-random-encoder").model_copy(update={"modalities": ["text"]})
WHERE = {"task_metadata": mteb.get_task("STSBenchmark").metadata, "hf_split": "test", "hf_subset": "default"}
TEXTS = [f"text {i}" for i in range(25)]


def loader(texts):
    return DataLoader(Dataset.from_dict({"text": texts}), batch_size=8)


def naive(vectors, dims):
    rows = []
    for vector in np.asarray(vectors, np.float64):
        head = vector[:dims]
        length = sum(value * value for value in head) ** 0.5
        rows.append(head / length if length else head)
    return np.array(rows)


class Given:
    """An encoder that returns what it was given."""

    def __init__(self, vectors):
        self.vectors = vectors
        self.mteb_model_meta = ModelMeta.create_empty(overwrites={"name": "test/given", "revision": "1"})

    def encode(self, inputs, **kwargs):
        return self.vectors

    def similarity(self, a, b):
        return ("similarity", a, b)

    def similarity_pairwise(self, a, b):
        return ("pairwise", a, b)


@pytest.mark.parametrize("dims", [1, 5, 8])
@pytest.mark.parametrize(
    "convert", [np.asarray, torch.as_tensor, lambda v: torch.as_tensor(v).bfloat16(), lambda v: v.astype(np.float16)]
)
def test_against_a_naive_cut(dims, convert, monkeypatch):
    from patent_mteb.models import composition

    monkeypatch.setattr(composition, "_ROWS", 7)
    vectors = np.random.default_rng(0).standard_normal((20, 8)).astype(np.float32)
    vectors[3, :5] = 0
    given = convert(vectors)
    exact = given.float().numpy() if isinstance(given, torch.Tensor) else given
    got = Truncated(Given(given), dims).encode(loader(TEXTS[:20]), **WHERE)
    assert got.dtype == np.float32 and got.shape == (20, dims)
    np.testing.assert_allclose(got, naive(exact, dims), atol=1e-6)
    assert np.isfinite(got).all()


def test_any_number_of_widths_costs_one_encoding(tmp_path):
    encoder = stored(META, tmp_path)
    full = encoder.encode(loader(TEXTS), **WHERE)
    for dims in (4, 16, 32):
        np.testing.assert_allclose(
            Truncated(encoder, dims).encode(loader(TEXTS), **WHERE), naive(full, dims), atol=1e-6
        )
    assert encoder.stats.encoded == 25
    later = stored(META, tmp_path)
    Truncated(later, 8).encode(loader(TEXTS), **WHERE)
    assert not later.loaded


def test_identity_and_similarity():
    inner = Given(np.ones((1, 4)))
    inner.mteb_model_meta = inner.mteb_model_meta.model_copy(update={"experiment_kwargs": {"store_dtype": "float16"}})
    model = Truncated(inner, 3)
    assert model.mteb_model_meta.experiment_kwargs == {"store_dtype": "float16", "dims": 3}
    assert model.mteb_model_meta.experiment_name == "dims_3__store_dtype_float16"
    assert (model.mteb_model_meta.name, model.mteb_model_meta.embed_dim) == ("test/given", 3)
    assert model.similarity(1, 2) == ("similarity", 1, 2) and model.similarity_pairwise(1, 2) == ("pairwise", 1, 2)


def test_what_cannot_be_truncated_is_refused():
    with pytest.raises(ModelError, match="test/given on STSBenchmark: cannot keep 9 of 8 dimensions"):
        Truncated(Given(np.ones((2, 8))), 9).encode(loader(TEXTS[:2]), **WHERE)
    with pytest.raises(ModelError, match="int8"):
        Truncated(Given(np.ones((2, 8), np.int8)), 4).encode(loader(TEXTS[:2]), **WHERE)
    for dims in (0, -1, 2.5, True):
        with pytest.raises(ModelError, match="positive whole number"):
            Truncated(Given(np.ones((2, 8))), dims)
    with pytest.raises(ModelError, match="not an encoder"):
        Truncated(object(), 4)
