"""Batches by tokens: every text once, within the budget, hardly padded, and to each text its own vector whatever the
order.
"""

import gzip
import json

import mteb
import numpy as np
import pytest
from datasets import Dataset
from mteb.models import SentenceTransformerEncoderWrapper
from sentence_transformers import SentenceTransformer
from torch.utils.data import DataLoader

from patent_mteb.store import stored
from patent_mteb.store.batches import token_lengths, within_budget

PLACE = {"task_metadata": mteb.get_task("STSBenchmark").metadata, "hf_split": "test", "hf_subset": "default"}


@pytest.fixture(scope="module")
def minilm(minilm_dir):
    wrapper = SentenceTransformerEncoderWrapper(SentenceTransformer(str(minilm_dir), device="cpu"))
    wrapper.mteb_model_meta = wrapper.mteb_model_meta.model_copy(update={"name": "test/minilm", "revision": "1"})
    return wrapper


@pytest.fixture(scope="module")
def abstracts(real_data):
    with gzip.open(real_data / "pap2pat" / "patents.jsonl.gz", "rt", encoding="utf-8") as rows:
        return [json.loads(row)["abstract"] for row in rows]


def loader(texts):
    return DataLoader(Dataset.from_dict({"text": texts}), batch_size=32)


def padding(lengths, batches):
    """The share of padding in the computation."""
    return 1 - lengths.sum() / sum(lengths[batch].max() * len(batch) for batch in batches)


@pytest.mark.parametrize("budget", [1, 7, 50, 10_000])
def test_every_text_is_in_one_batch_and_no_batch_of_several_exceeds_the_budget(budget):
    lengths = np.random.default_rng(budget).integers(0, 60, 500)
    batches = within_budget(lengths, budget)
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))
    assert all(len(batch) == 1 or lengths[batch].max() * len(batch) <= budget for batch in batches)
    longest = [lengths[batch].max() for batch in batches]
    assert longest == sorted(longest, reverse=True)
    assert within_budget(np.array([], np.int64), budget) == []


@pytest.mark.slow
def test_lengths_are_what_the_tokenizer_makes_of_each_text(minilm, abstracts):
    texts = [*abstracts[:50], "", "pump " * 5000, "Ä" * 300]
    tokenizer = minilm.model.tokenizer
    expected = [
        len(tokenizer(text, truncation=True, max_length=minilm.model.max_seq_length)["input_ids"]) for text in texts
    ]
    assert token_lengths(minilm, texts).tolist() == expected
    assert max(expected) == minilm.model.max_seq_length


@pytest.mark.slow
def test_real_abstracts_are_padded_less_than_5_percent_and_far_less_than_by_characters(minilm, abstracts):
    lengths = token_lengths(minilm, abstracts)
    by_characters = np.argsort([-len(text) for text in abstracts], kind="stable")
    stock = padding(lengths, np.split(by_characters, range(32, len(abstracts), 32)))
    assert padding(lengths, within_budget(lengths, 8192)) < 0.05 < 0.15 < stock


@pytest.mark.slow
def test_vectors_belong_to_their_texts_in_any_order_and_a_second_call_encodes_nothing(tmp_path, minilm):
    draw = np.random.default_rng(1)
    texts = [
        f"{number} " + " ".join(draw.choice(["valve", "pump", "cooling", "of"], draw.integers(1, 40)))
        for number in range(60)
    ]
    seen = []
    real = minilm.model.encode

    def listening(some, **options):
        seen.append((list(some), options["batch_size"]))
        return real(some, **options)

    direct = minilm.encode(loader(texts), **PLACE)
    minilm.model.encode = listening
    try:
        first = stored(minilm, tmp_path / "forth").encode(loader(texts), batch_tokens=200, **PLACE)
        back = stored(minilm, tmp_path / "back").encode(loader(texts[::-1]), batch_tokens=200, **PLACE)
        calls = len(seen)
        again = stored(minilm, tmp_path / "forth").encode(
            loader(texts[::-1]), **PLACE
        )  # the same space: a budget is not a setting
        assert len(seen) == calls
        stored(minilm, tmp_path / "none").encode(loader(texts), batch_tokens=None, batch_size=8, **PLACE)
        assert {batch_size for _, batch_size in seen[calls:]} == {8}, "no budget is none"
        del seen[calls:]
    finally:
        del minilm.model.encode
    np.testing.assert_allclose(first, direct, atol=1e-6)
    np.testing.assert_allclose(back[::-1], direct, atol=1e-6)
    np.testing.assert_array_equal(again[::-1], first)
    for some, batch_size in seen:
        lengths = token_lengths(minilm, some)
        assert len(some) <= batch_size and (len(some) == 1 or lengths.max() * len(some) <= 200)
