"""Two-stage search against a naive one: sort, cut, tokenise, one forward pass a pair, sort again."""

import functools
import json

import mteb
import numpy as np
import pytest
import torch
from mteb.models.model_meta import ModelMeta
from search_calls import Counting, ranking, run_of
from tiny_checkpoints import CROSS_WORDS, write_cross_encoder
from tiny_colbert import write_checkpoint
from transformers import BertForSequenceClassification, PreTrainedTokenizerFast

from patent_mteb.errors import ModelError
from patent_mteb.models.composition import in_store
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.search.rerank import Reranked, as_cross_encoder, second_stage


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_cross_encoder(tmp_path_factory.mktemp("reranker") / "tiny")


@functools.cache
def naive_model(folder):
    return BertForSequenceClassification.from_pretrained(folder).eval(), PreTrainedTokenizerFast.from_pretrained(folder)


@functools.cache
def naive_score(folder, query, document, max_length):
    model, tokenizer = naive_model(folder)
    batch = tokenizer(query, document, truncation="longest_first", max_length=max_length, return_tensors="pt")
    assert batch["input_ids"].shape[1] <= max_length
    with torch.no_grad():
        return torch.sigmoid(model(**batch).logits[0, 0]).item()


def texts(prefix, n, seed, longest):
    rng = np.random.default_rng(seed)
    return {f"{prefix}{row:02d}": " ".join(rng.choice(CROSS_WORDS, size=rng.integers(2, longest))) for row in range(n)}


CORPUS, QUERIES = texts("d", 20, 0, 60), texts("q", 3, 1, 8)


def naive_first(query, k, left_out=()):
    scores = {
        name: sum(text.split().count(word) for word in QUERIES[query].split())
        for name, text in CORPUS.items()
        if name not in left_out
    }
    return sorted(scores, key=lambda name: (scores[name], name), reverse=True)[:k]


def check(found, folder, query, names, max_length, tolerance=1e-5):
    expected = {name: naive_score(folder, QUERIES[query], CORPUS[name], max_length) for name in names}
    assert found[query].keys() == expected.keys()
    assert list(found[query].values()) == sorted(found[query].values(), reverse=True)
    for name, score in found[query].items():
        assert score == pytest.approx(expected[name], abs=tolerance)
    return expected


@pytest.mark.slow
@pytest.mark.parametrize(("k", "max_length"), [(5, 64), (7, 20), (100, 12)])
def test_reranking_is_the_naive_one(folder, k, max_length):
    model = Reranked(Counting(), folder, k=k, max_length=max_length)
    run = run_of(model, CORPUS, QUERIES, 1000, batch_size=1)
    found = run.to_dict()
    assert ranking(model, CORPUS, QUERIES, top_k=1000, batch_size=1) == found
    scores = [check(found, folder, query, naive_first(query, k), max_length, 1e-7) for query in QUERIES]
    assert len({round(score, 6) for one in scores for score in one.values()}) > 5
    assert run.first_stage.k == k
    stages = {query: list(stage) for query, stage in run.first_stage.run.to_dict().items()}
    assert stages == {query: naive_first(query, k) for query in QUERIES}


def test_order_changes_and_the_first_stage_is_kept(folder):
    model = Reranked(Counting(), folder, k=10)
    run = run_of(model, CORPUS, QUERIES)
    stages = run.first_stage.run.to_dict()
    assert any(list(documents) != list(stages[query]) for query, documents in run.to_dict().items())
    first = ranking(Counting(), CORPUS, QUERIES)
    assert stages == first
    assert run.top(3).first_stage is run.first_stage  # all that was found, however few are shown
    assert run_of(Counting(), CORPUS, QUERIES).first_stage is None


def test_truncation_matters_and_stops_at_the_models_own_limit(folder):
    short, full = (Reranked(Counting(), folder, k=20, max_length=length) for length in (12, 512))
    cut, whole = ranking(short, CORPUS, QUERIES, 100), ranking(full, CORPUS, QUERIES, 100)
    assert cut != whole
    for query in QUERIES:
        check(whole, folder, query, naive_first(query, 20), 64)


@pytest.mark.parametrize("hold", [lambda model, path: model, in_store])
def test_the_best_chunk_of_a_document_counts(folder, tmp_path, hold):
    model = Reranked(Counting(), hold(second_stage(folder), tmp_path), k=20, max_length=None, chunk_tokens=9)
    run = run_of(model, CORPUS, QUERIES, 100)
    n_chunks = 0
    for query, found in run.to_dict().items():
        for name, score in found.items():
            words = CORPUS[name].split()  # each a token of this tokenizer
            chunks = [" ".join(words[start : start + 9]) for start in range(0, len(words), 9)]
            n_chunks += len(chunks)
            assert score == pytest.approx(
                max(naive_score(folder, QUERIES[query], one, 512) for one in chunks), abs=1e-5
            )
    assert run.effort["pairs"] == n_chunks > 100
    whole = Reranked(Counting(), folder, k=20, max_length=None)
    assert whole.mteb_model_meta.revision != model.mteb_model_meta.revision


def test_a_model_that_compares_documents_has_no_chunks(tmp_path):
    late = LateInteraction(write_checkpoint(tmp_path / "colbert", "pylate"))
    with pytest.raises(ModelError, match=r"compares whole documents.*leave out chunk_tokens"):
        Reranked(Counting(), late, chunk_tokens=9)


def test_top_k_below_the_candidates(folder):
    found = ranking(Reranked(Counting(), folder, k=10), CORPUS, QUERIES, top_k=3)
    full = ranking(Reranked(Counting(), folder, k=10), CORPUS, QUERIES, top_k=10)
    for query, best in found.items():
        assert list(best) == list(full[query])[:3]


def test_candidates_of_a_reranking_task(folder):
    lists = {"q00": ["d03", "d01", "d07"], "q01": []}
    model = Reranked(Counting(), folder, k=2, max_length=64)
    found = ranking(model, CORPUS, QUERIES, top_ranked=lists)
    assert not found["q01"]
    assert not found["q02"]
    allowed = [name for name in naive_first("q00", 100) if name in lists["q00"]][:2]
    check(found, folder, "q00", allowed, 64)


def test_nothing_found_is_an_empty_ranking(folder):
    for chunk_tokens in (None, 9):
        model = Reranked(Counting(), folder, chunk_tokens=chunk_tokens)
        assert ranking(model, CORPUS, {"q00": "rotor"}, top_ranked={}) == {"q00": {}}


def test_others_replace_hidden_documents(folder):
    model = Reranked(Counting(), folder, k=5, max_length=64)
    gone = {query: frozenset(naive_first(query, 2)) for query in QUERIES}
    run = run_of(model, CORPUS, QUERIES, hidden=gone)
    found, stages = run.to_dict(), run.first_stage.run.to_dict()
    for query in QUERIES:
        check(found, folder, query, naive_first(query, 5, gone[query]), 64)
    assert {query: set(stage) for query, stage in stages.items()} == {query: set(best) for query, best in found.items()}
    assert set(ranking(model, CORPUS, QUERIES)["q00"]) == set(naive_first("q00", 5))


def test_an_encoder_as_first_stage(folder):
    encoder = mteb.get_model("mteb/baseline-random-encoder")
    model = Reranked(encoder, folder, k=4, max_length=64)
    found = ranking(model, CORPUS, QUERIES)
    dense = ranking(mteb.models.SearchEncoderWrapper(encoder), CORPUS, QUERIES, top_k=4)
    for query in QUERIES:
        check(found, folder, query, dense[query], 64)


def test_equal_scores_rank_by_id_descending():
    constant = Constant(np.float32(0.5))
    found = ranking(Reranked(Counting(), constant, k=4, max_length=None), CORPUS, QUERIES)
    for query, best in found.items():
        assert list(best) == sorted(naive_first(query, 4), reverse=True)


class Constant:
    mteb_model_meta = ModelMeta.create_empty(
        {"name": "test/constant", "revision": "1", "model_type": ["cross-encoder"]}
    )

    def __init__(self, value):
        self.value = value

    def predict(self, inputs1, inputs2, **kwargs):
        return [self.value for batch in inputs1 for _ in batch["text"]]


@pytest.mark.parametrize("hold", [lambda model, path: model, in_store])
@pytest.mark.parametrize("chunks", [None, 3])
def test_one_score_for_many_different_pairs_is_refused(tmp_path, hold, chunks):
    model = Reranked(Counting(), hold(Constant(0.5), tmp_path), max_length=None, chunk_tokens=chunks)
    with pytest.raises(ModelError, match=r"test/constant gives each of \d+ pairs of texts the score 0.5. Remedy"):
        ranking(model, CORPUS, QUERIES)
    same = dict.fromkeys(CORPUS, "the same text")
    assert ranking(model, same, dict(list(QUERIES.items())[:1])).keys() == set(list(QUERIES)[:1])


def test_equal_grades_keep_the_order_of_the_first_stage():
    judge = Constant(0.0)
    judge.graded = True
    found = ranking(Reranked(Counting(), judge, max_length=None), CORPUS, QUERIES)
    assert all(list(found[query]) == naive_first(query, len(found[query])) for query in QUERIES)


@pytest.mark.parametrize(
    ("value", "message"), [(float("nan"), "not a finite number"), ([0.1, 0.9], "instead of one a pair")]
)
def test_scores_that_are_none_are_refused(value, message):
    with pytest.raises(ModelError, match=message):
        ranking(Reranked(Counting(), Constant(value), max_length=None), CORPUS, QUERIES)


def test_a_cross_encoder_with_two_labels_is_refused(tmp_path):
    two = write_cross_encoder(tmp_path / "two", labels=2)
    with pytest.raises(ModelError, match="one label"):
        ranking(Reranked(Counting(), two), CORPUS, QUERIES)


def test_a_limit_that_cannot_be_set_is_refused():
    with pytest.raises(ModelError, match="test/constant shows no token limit"):
        Reranked(Counting(), Constant(0.0))


def test_what_is_no_cross_encoder_is_refused(tmp_path):
    with pytest.raises(ModelError, match="Counting is not a cross-encoder"):
        Reranked(Counting(), Counting())
    with pytest.raises(ModelError, match="no directory"):
        as_cross_encoder(tmp_path / "missing")
    with pytest.raises(ValueError, match="k = 0"):
        Reranked(Counting(), Constant(0.0), k=0, max_length=None)


def test_ways_to_name_the_cross_encoder_agree(folder):
    from sentence_transformers import CrossEncoder

    from patent_mteb.models.loading import find_meta

    found = [
        as_cross_encoder(model) for model in (folder, str(folder), CrossEncoder(str(folder)), find_meta(str(folder)))
    ]
    assert {model.mteb_model_meta.name for model in found} == {"local/tiny"}
    assert len({model.mteb_model_meta.revision for model in found}) == 1


@pytest.mark.slow
def test_every_setting_and_both_parts_are_in_the_identity(folder, tmp_path):
    other = write_cross_encoder(tmp_path / "tiny", seed=1)
    second = Counting()
    second.mteb_model_meta = Counting.mteb_model_meta.model_copy(update={"revision": "2"})
    models = [
        Reranked(Counting(), folder),
        Reranked(Counting(), folder, k=50),
        Reranked(Counting(), folder, max_length=256),
        Reranked(Counting(), other),
        Reranked(second, folder),
    ]
    metas = [model.mteb_model_meta for model in models]
    assert metas[0].name == "reranked/100-counting+tiny"
    assert len({meta.revision for meta in metas}) == len(metas)
    assert Reranked(Counting(), folder).mteb_model_meta == metas[0]
    assert metas[0].experiment_kwargs["parts"][0]["name"] == "tests/counting"
    assert metas[0].experiment_kwargs["k"] == 100
    assert str(folder) not in json.dumps(metas[0].to_dict())


@pytest.mark.parametrize("vectors", ["float32", "int8"])
def test_late_interaction_orders_the_candidates_of_a_first_stage(tmp_path, vectors):
    """Scores are those of the whole search, for the first stage's documents only; what a query must not see never comes
    back.
    """
    late = LateInteraction(write_checkpoint(tmp_path / "colbert", "pylate"), vectors=vectors)
    everything = run_of(late, CORPUS, QUERIES, len(CORPUS), batch_size=1).to_dict()
    hidden = {query: {naive_first(query, 1)[0]} for query in QUERIES}
    model = Reranked(Counting(), late, k=6)
    assert model.max_length is None
    found = run_of(model, CORPUS, QUERIES, 100, hidden=hidden, batch_size=1).to_dict()
    for query in QUERIES:
        names = naive_first(query, 6, hidden[query])
        assert found[query] == pytest.approx({name: everything[query][name] for name in names}, abs=1e-5)
        assert list(found[query]) == [name for name in everything[query] if name in names]
