"""An encoder with a memory: the same vectors, each text encoded once a side."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from datasets import Dataset
from mteb.types import PromptType
from small_world import Words
from torch.utils.data import DataLoader

from patent_mteb.search.bm25 import BM25, BM25Settings
from patent_mteb.search.memory_cache import CachedEncoder, cached_encoder
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store import stored

WHERE = {"task_metadata": None, "hf_split": "test", "hf_subset": "default"}


class Tensors(Words):
    def encode(self, *args, **kwargs):
        return torch.from_numpy(super().encode(*args, **kwargs))


class Ragged(Words):
    def encode(self, *args, **kwargs):
        return [[row] for row in super().encode(*args, **kwargs)]


def encode(model, texts, side=PromptType.document):
    return model.encode(DataLoader(Dataset.from_dict({"text": texts}), batch_size=2), prompt_type=side, **WHERE)


@pytest.mark.parametrize("kind", [Words, Tensors])
def test_each_text_is_encoded_once_a_side(kind):
    model = kind()
    once = CachedEncoder(model)
    for texts in (["a", "b", "a"], ["b", "c", "a"], ["c"]):
        np.testing.assert_array_equal(np.asarray(encode(once, texts)), np.asarray(encode(kind(), texts)))
    assert type(encode(once, ["a"])) is type(encode(model, ["x"]))
    assert [model.seen[text] for text in "abc"] == [2, 1, 1]  # the first call goes through as it is
    encode(once, ["a"], PromptType.query)
    assert model.seen["a"] == 3


def test_vectors_of_another_form_are_passed_on():
    model = Ragged()
    once = CachedEncoder(model)
    assert len(encode(once, ["a", "b"])) == len(encode(once, ["a", "b"])) == 2
    assert model.seen["a"] == 2


def test_who_gets_a_memory(tmp_path):
    words = Words()
    assert is_encoder(cached_encoder(words)) and cached_encoder(words).mteb_model_meta is words.mteb_model_meta
    lexical, kept = BM25(BM25Settings()), stored(words, tmp_path)
    assert cached_encoder(lexical) is lexical and cached_encoder(kept) is kept
