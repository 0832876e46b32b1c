"""Scores of pairs that are kept: those of the cross-encoder itself, each computed once, whatever stopped a run."""

import mteb
import numpy as np
import pytest
from datasets import Dataset
from mteb.models.model_meta import ModelMeta
from search_calls import run_of
from tiny_checkpoints import CROSS_WORDS, write_cross_encoder
from torch.utils.data import DataLoader

from patent_mteb.errors import ModelError
from patent_mteb.models import bm25
from patent_mteb.models.composition import compose
from patent_mteb.search.rerank import Reranked, as_cross_encoder
from patent_mteb.store import EmbeddingStore
from patent_mteb.store.pair_scores import StoredPairs, stored_pairs

WHERE = {"task_metadata": mteb.get_task("STSBenchmark").metadata, "hf_split": "test", "hf_subset": "default"}
WORDS = np.random.default_rng(0).choice(CROSS_WORDS, size=(40, 6))
TEXTS = [" ".join(words) for words in WORDS]


class Counting:
    """Scores the number of letters in common; any other argument is counted."""

    def __init__(self, name="test/counting", stop_after=10**9):
        self.mteb_model_meta = ModelMeta.create_empty({"name": name, "revision": "1", "model_type": ["cross-encoder"]})
        self.asked, self.stop_after = [], stop_after

    def predict(self, inputs1, inputs2, **kwargs):
        scores = []
        for one, other in zip(inputs1, inputs2, strict=True):
            if len(self.asked) >= self.stop_after:
                raise KeyboardInterrupt
            self.asked += zip(one["text"], other["text"], strict=True)
            scores += [
                len(set(first) & set(second)) + len(second) / 1000
                for first, second in zip(one["text"], other["text"], strict=True)
            ]
        return np.array(scores)


class Another(Counting):
    """Goes by the same name, and may score otherwise."""


def loaders(pairs, size=4, **columns):
    sides = zip(*pairs, strict=True)
    return [DataLoader(Dataset.from_dict({"text": list(side), **columns}), batch_size=size) for side in sides]


def predict(model, pairs, where=WHERE, **columns):
    return model.predict(*loaders(pairs, **columns), **where, batch_size=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_cross_encoder(tmp_path_factory.mktemp("reranker") / "tiny")


def test_scores_are_those_of_the_model_itself_also_the_second_time(folder, tmp_path, monkeypatch):
    pairs = [(TEXTS[i % 7], TEXTS[i]) for i in range(40)]
    plain, model = as_cross_encoder(folder), stored_pairs(as_cross_encoder(folder), tmp_path)
    own = predict(plain, pairs)
    np.testing.assert_array_equal(predict(model, pairs), own)
    again = stored_pairs(as_cross_encoder(folder), tmp_path)
    twice = lambda *given, **more: pytest.fail("a pair was scored twice")  # noqa: E731
    monkeypatch.setattr(type(again.model.model), "predict", twice)
    np.testing.assert_array_equal(predict(again, pairs[::-1]), own[::-1])
    with pytest.raises(pytest.fail.Exception, match="scored twice"):
        predict(again, [pairs[8][::-1]])
    assert model.mteb_model_meta == plain.mteb_model_meta


def test_a_shorter_length_has_scores_of_its_own(folder, tmp_path):
    pairs = [(TEXTS[i], f"{TEXTS[i + 1]} {TEXTS[i + 2]}") for i in range(8)]
    model = stored_pairs(as_cross_encoder(folder), tmp_path)
    whole = predict(model, pairs)
    model.model.model.max_seq_length = 8
    cut = predict(model, pairs)
    assert np.abs(cut - whole).max() > 1e-4
    plain = as_cross_encoder(folder)
    plain.model.max_seq_length = 8
    np.testing.assert_array_equal(cut, predict(plain, pairs))
    assert len(EmbeddingStore(tmp_path).info()) == 2


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    pairs = [(f"query {i // 50}", f"document {i}") for i in range(1200)]
    stopped = Counting(stop_after=1032)  # two calls of 512 pairs, of which four are scored again
    with pytest.raises(KeyboardInterrupt):
        predict(stored_pairs(stopped, tmp_path), pairs)
    rest = Counting()
    model = stored_pairs(rest, tmp_path)
    found = predict(model, pairs)
    assert model.effort() == {"kept_pairs": 1024} and model.effort() == {}
    assert len(stopped.asked) == 1032 and set(rest.asked) == set(pairs[1024:])
    np.testing.assert_allclose(found, predict(Counting(), pairs), rtol=1e-6)


def test_what_is_not_known_to_be_the_same_is_not_shared(tmp_path):
    """Of a cross-encoder that may read the task or other columns, scores are shared within a task and for equal rows
    only.
    """
    pairs = [(TEXTS[0], one) for one in TEXTS[:8]]
    other_task = {**WHERE, "task_metadata": mteb.get_task("SICK-R").metadata}
    for more, expected in (
        ({}, 8),
        ({}, 0),
        ({"where": other_task}, 8),
        ({"instruction": ["find"] * 8}, 8),
        ({"id": list("abcdefgh")}, 0),
    ):
        model = Counting()
        predict(stored_pairs(model, tmp_path), pairs, **more)
        assert len(model.asked) == expected, more
    for other in (Counting("test/other"), Another()):
        predict(stored_pairs(other, tmp_path), pairs)
        assert len(other.asked) == 8


def test_what_gives_several_scores_or_none_that_is_a_number_is_refused(folder, tmp_path):
    pairs = [(TEXTS[0], one) for one in TEXTS[:4]]
    for name, scores in (("test/two", np.zeros((4, 2))), ("test/nan", np.full(4, np.nan))):
        model = Counting(name)
        model.predict = lambda *given, scores=scores, **more: scores
        with pytest.raises(ModelError, match=name):
            predict(stored_pairs(model, tmp_path), pairs)
    assert not sum(space.texts for space in EmbeddingStore(tmp_path).info())


@pytest.mark.slow
def test_a_second_stage_with_a_store_ranks_as_without(folder, tmp_path):
    corpus = {f"d{i:02}": text for i, text in enumerate(TEXTS)}
    queries = {f"q{i}": TEXTS[3 * i] for i in range(4)}
    model = compose(bm25("bm25s"), rerank=as_cross_encoder(folder), rerank_depth=7, store=tmp_path)
    plain = Reranked(bm25("bm25s"), folder, k=7)
    hidden = {query: {f"d{3 * int(query[1:]):02}"} for query in queries}
    for more in ({}, {"hidden": hidden}):
        assert run_of(model, corpus, queries, **more).to_dict() == run_of(plain, corpus, queries, **more).to_dict()
    assert model.mteb_model_meta == plain.mteb_model_meta and isinstance(
        compose(as_cross_encoder(folder), store=tmp_path), StoredPairs
    )
    assert sum(space.texts for space in EmbeddingStore(tmp_path).info()) <= 4 * 8
