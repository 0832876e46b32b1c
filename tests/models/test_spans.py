"""Spans of long texts against a naive mean, and what they must never be mixed with."""

from itertools import pairwise

import mteb
import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from tiny_checkpoints import checkpoint
from torch.utils.data import DataLoader

from patent_mteb.errors import ModelError
from patent_mteb.models import bm25, changed, compose, load, stored
from patent_mteb.models.variants import InputVariant, Spans

WHERE = {"task_metadata": mteb.get_task("STSBenchmark").metadata, "hf_split": "test", "hf_subset": "default"}
TEXTS = ["", "a pump", " ".join(f"valve {n} turns the wheel of the pump" for n in range(30)), "one two " * 40]


def loader(texts):
    return DataLoader(Dataset.from_dict({"text": texts}), batch_size=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return checkpoint(tmp_path_factory.mktemp("spans") / "tiny", 16, "mean")


def naive(folder, text, count, tokens):
    """Cut at the offsets of the tokenizer, encode each part by sentence-transformers alone, and average."""
    network = SentenceTransformer(str(folder), device="cpu")
    starts = [
        a for a, _ in network.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    ]
    length = tokens - 2  # [CLS] and [SEP]
    edges = [*starts[::length], len(text)]
    parts = [text[a:b] for a, b in pairwise(edges)][:count] or [text]
    vectors = network.encode(parts).astype(np.float64)
    mean = vectors.mean(axis=0)
    return mean / np.linalg.norm(mean) * np.linalg.norm(vectors, axis=1).mean()


@pytest.mark.parametrize(("count", "tokens"), [(8, 16), (2, 12), (1, 16), (50, 10)])
def test_against_a_naive_mean(folder, count, tokens, monkeypatch):
    monkeypatch.setattr("patent_mteb.models.variants._TEXTS", 3)
    got = Spans(load(str(folder)), f"{count}x{tokens}").encode(loader(TEXTS), **WHERE)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, [naive(folder, text, count, tokens) for text in TEXTS], atol=1e-5)


def test_a_text_of_one_span_keeps_its_vector_and_the_rest_of_a_long_one_counts(folder):
    model = load(str(folder))
    whole = np.asarray(model.encode(loader(TEXTS), **WHERE))
    got = Spans(model, "8x16").encode(loader(TEXTS), **WHERE)
    np.testing.assert_allclose(got[:2], whole[:2], atol=1e-6)
    assert np.abs(got[2] - whole[2]).max() > 1e-3


def test_prompts_fit_into_a_span(folder, tmp_path):
    model = load(str(folder))
    plain = Spans(model, "4x16")._window().tokens
    model.model_prompts = {"query": "one two three"}
    changed(model)
    shorter = plain - len(model.model.tokenizer.tokenize("one two three"))
    assert Spans(model, "4x16")._window().tokens == Spans(stored(model, tmp_path), "4x16")._window().tokens == shorter


def test_each_setting_is_an_identity_and_shares_the_store(folder, tmp_path):
    names = {
        str(compose(load(str(folder)), spans=spans).mteb_model_meta.experiment_kwargs)
        for spans in (None, "8x16", "4x16")
    }
    assert len(names) == 3
    kept = compose(load(str(folder)), spans="8x16", store=tmp_path / "store")
    bare = compose(load(str(folder)), spans="8x16")
    for _ in range(2):
        np.testing.assert_allclose(kept.encode(loader(TEXTS), **WHERE), bare.encode(loader(TEXTS), **WHERE), atol=1e-6)


@pytest.mark.parametrize("name", ["8", "8x", "0x512", "8x0", "8X512", "-1x3", "8x512x2"])
def test_another_form_is_refused(folder, name):
    with pytest.raises(ModelError, match="8x512"):
        Spans(load(str(folder)), name)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda model: compose(bm25("dapfam"), spans="8x16"), "does not embed"),
        (lambda model: compose(model, spans="8x16", passages=16), "one of them"),
        (lambda model: Spans(Spans(model, "8x16"), "8x16"), "already"),
        (lambda model: Spans(model, "8x2").encode(loader(TEXTS), **WHERE), "fill spans"),
        (lambda model: Spans(model, "8x99999").encode(loader(TEXTS), **WHERE), "shorten"),
        (lambda model: Spans(InputVariant(model, "noSEP"), "8x16").encode(loader(TEXTS), **WHERE), "sections"),
    ],
)
def test_what_cannot_be_is_said(folder, make, said):
    with pytest.raises(ModelError, match=said):
        make(load(str(folder)))
