"""What a user names is found and loaded, in the precision that was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset
from mteb.mocks.mock_tasks.retrieval import MockRetrievalTask
from tiny_checkpoints import checkpoint
from torch.utils.data import DataLoader

from patent_mteb.errors import ModelError
from patent_mteb.models import load


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return checkpoint(tmp_path_factory.mktemp("loading") / "tiny", 16, "mean", layers=1)


def vectors(model):
    loader = DataLoader(Dataset.from_dict({"text": ["a pump with a rotor", "a loom"]}), batch_size=2)
    found = model.encode(loader, task_metadata=MockRetrievalTask.metadata, hf_split="test", hf_subset="default")
    return np.asarray(found, np.float32)


def test_precision_is_another_identity_and_nearly_the_same_vectors(tiny):
    full, half, plain = (load(str(tiny), precision=precision) for precision in ("float32", "bfloat16", None))
    assert full.mteb_model_meta.experiment_kwargs == plain.mteb_model_meta.experiment_kwargs
    assert half.mteb_model_meta.experiment_kwargs != full.mteb_model_meta.experiment_kwargs
    assert half.mteb_model_meta.experiment_name != full.mteb_model_meta.experiment_name
    assert str(next(half.model.parameters()).dtype) == "torch.bfloat16"
    cosines = (vectors(full) * vectors(half)).sum(axis=1) / np.linalg.norm(vectors(half), axis=1)
    assert (cosines > 0.99).all() and not np.array_equal(vectors(full), vectors(half))


@pytest.mark.parametrize(
    ("name", "precision", "message"),
    [("bm25", "bfloat16", "is not an encoder"), ("bm25", "int4", "unknown precision 'int4'.*one of float32")],
)
def test_a_precision_that_cannot_be_had_is_refused(name, precision, message):
    with pytest.raises(ModelError, match=message):
        load(name, precision=precision)


def test_attention_is_another_identity_and_the_same_vectors_but_for_last_bits(tiny):
    plain, eager, torch = (
        load(str(tiny), device="cpu", **given) for given in ({}, {"attention": "eager"}, {"backend": "torch"})
    )
    assert (
        torch.mteb_model_meta.experiment_name
        == plain.mteb_model_meta.experiment_name
        != eager.mteb_model_meta.experiment_name
    )
    assert eager.model[0].auto_model.config._attn_implementation == "eager"
    np.testing.assert_allclose(vectors(eager), vectors(plain), atol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"backend": "tensorrt"}, "is not an encoder"),
        ({"attention": "eager"}, "is not an encoder"),
        ({"server": "http://host/v1", "precision": "bfloat16"}, "set up by its server, so it has no precision"),
        ({"server": "http://host/v1", "attention": "eager"}, "set up by its server, so it has no attention"),
    ],
)
def test_what_a_model_cannot_be_run_by_is_refused(given, message):
    with pytest.raises(ModelError, match=message):
        load("bm25", **given)


def test_a_backend_whose_packages_are_missing_names_them(tiny, monkeypatch):
    with pytest.raises(ModelError, match=r"unknown backend 'tensorrt'.*one of torch, onnx, openvino"):
        load(str(tiny), backend="tensorrt")
    monkeypatch.setattr("patent_mteb.models.backends.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"needs optimum and onnxruntime\. Remedy: use openvino"):
        load(str(tiny), backend="onnx")
