"""Caches in memory: values by size, rankings by corpus, texts and depth, and vectors once for each role."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from datasets import Dataset
from mteb.types import PromptType
from small_patents import Words
from torch.utils.data import DataLoader

from patent_mteb.errors import ModelError
from patent_mteb.memory import LRUCache
from patent_mteb.search.bm25 import BM25, BM25Settings
from patent_mteb.search.memory_cache import CachedEncoder, RankingCache, cached_encoder
from patent_mteb.search.run import Run
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store import stored

WHERE = {"task_metadata": SimpleNamespace(name="test"), "hf_split": "test", "hf_subset": "default"}


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


def test_vectors_of_another_form_are_refused():
    with pytest.raises(ModelError, match="gave an array of shape \\(2, 1, "):
        encode(CachedEncoder(Ragged()), ["a", "b"])


def test_which_models_get_a_cache(tmp_path):
    words = Words()
    assert is_encoder(cached_encoder(words)) and cached_encoder(words).mteb_model_meta is words.mteb_model_meta
    lexical, kept = BM25(BM25Settings()), stored(words, tmp_path)
    assert cached_encoder(lexical) is lexical and cached_encoder(kept) is kept


def test_a_value_that_is_too_large_replaces_only_the_value_of_its_key():
    cache = LRUCache(10)
    cache.put("a", 1, size=6)
    cache.put("b", 2, size=11)
    assert (cache.get("a"), cache.get("b")) == (1, None)
    cache.put("a", 3, size=11)
    assert cache.get("a") is None and list(cache) == []


def test_rankings_are_reused_for_the_same_corpus_texts_and_depth_only():
    run = Run.from_dict({"q1": {"d1": 0.9, "d2": 0.8, "d3": 0.7}, "q2": {"d3": 0.5}})
    cache, searches = RankingCache(1 << 20), []

    def ask(corpus, queries, top_k):
        found = cache.get_or_search(
            corpus, list(queries), list(queries.values()), top_k, lambda: searches.append(queries) or run
        )
        return found, len(searches)

    both = {"q1": "pump", "q2": "lens"}
    assert ask("c", both, 3) == (run, 1)
    part, count = ask("c", {"q2": "lens"}, 2)
    assert (part.to_dict(), part.docs.shape, count) == ({"q2": {"d3": 0.5}}, (1, 1), 1)
    turned, _ = ask("c", {"q2": "lens", "q1": "pump"}, 2)
    assert turned.query_ids == ["q2", "q1"] and np.array_equal(turned.docs, run.docs[[1, 0], :2])
    for number, asked in enumerate(
        (("other", both, 3), ("c", {"q1": "pumps"}, 3), ("c", both, 4), ("c", {"q3": "lens"}, 3)), start=2
    ):
        assert ask(*asked)[1] == number
