"""Sparse encoders: rankings against mteb's own wrapper and naive dot products, the store, and checkpoints that are not
guessed.
"""

from __future__ import annotations

import json

import mteb
import numpy as np
import pytest
import tiny_checkpoints
import torch
from mteb.models.sentence_transformer_wrapper import SparseEncoderWrapper
from mteb.types import PromptType
from sentence_transformers import SparseEncoder
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling

import patent_mteb
from patent_mteb.errors import ModelError
from patent_mteb.experiments import run
from patent_mteb.models import changed, load, stored
from patent_mteb.models.behaviour import behaviours
from patent_mteb.models.folders import kind_of_checkpoint
from patent_mteb.search.engine import engine
from patent_mteb.search.sparse import SparseSearch

TASK = "PatenTEBEffect2Substance.sample"


@pytest.fixture(scope="module")
def splade(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "splade"
    bare = tiny_checkpoints.bare(folder.with_name("bare"), 16, head=True)
    SparseEncoder(modules=[MLMTransformer(str(bare)), SpladePooling()], device="cpu").save(
        str(folder), create_model_card=False
    )
    return folder


def wrapper(folder):
    made = SparseEncoderWrapper(SparseEncoder(str(folder), device="cpu"))
    made.mteb_model_meta = made.mteb_model_meta.model_copy(update={"name": "tests/splade", "revision": "1"})
    return made


def scores(model):
    found = mteb.evaluate(model, mteb.get_task(TASK), cache=None, co2_tracker=False, show_progress_bar=False)
    ((entry,),) = found.task_results[0].scores.values()
    return {name: value for name, value in entry.items() if isinstance(value, float) and "nauc" not in name}


@pytest.mark.slow
def test_a_ranking_is_that_of_naive_dot_products(splade):
    ranking = patent_mteb.rank(load(str(splade)), TASK)
    task, model = mteb.get_task(TASK), SparseEncoder(str(splade), device="cpu")
    task.load_data()
    queries, corpus = task.tables.queries, task.tables.corpus
    ids = list(corpus)
    documents = model.encode_document([corpus[key] for key in ids]).to_dense().numpy()
    for query in list(queries)[:5]:
        asked, hidden = model.encode_query([queries[query]]).to_dense().numpy()[0], task.tables.hidden.get(query, ())
        by_hand = {key: float(value) for key, value in zip(ids, documents @ asked, strict=True) if key not in hidden}
        found = dict(ranking.ranking(query))
        best = sorted(by_hand.values(), reverse=True)[:10]
        assert [score for _, score in ranking.ranking(query)[:10]] == pytest.approx(best, rel=1e-5)
        assert all(found[key] == pytest.approx(by_hand[key], rel=1e-5) for key in list(found)[:50])


@pytest.mark.slow
def test_scores_are_those_of_mtebs_own_wrapper(splade, monkeypatch):
    ours = scores(load(str(splade)))
    assert scores(wrapper(splade)) == ours, "mteb's wrapper is searched the same way"
    monkeypatch.setenv("PATENT_MTEB_FAST", "0")
    theirs = scores(wrapper(splade))
    assert ours == {name: pytest.approx(theirs[name], abs=1e-4) for name in ours}
    assert 0 < ours["ndcg_at_10"] < 1


@pytest.mark.slow
def test_vectors_are_encoded_once(splade, tmp_path):
    model = load(str(splade))
    calls = []
    encode = model.model.encode
    model.model.encode = lambda *args, **kwargs: calls.append(1) or encode(*args, **kwargs)
    bare = patent_mteb.rank(model, TASK)
    first = patent_mteb.rank(stored(model, tmp_path / "store"), TASK)
    n = len(calls)
    again = patent_mteb.rank(stored(model, tmp_path / "store"), TASK)
    assert len(calls) == n, "nothing is encoded again"
    assert np.array_equal(first.docs, again.docs) and np.array_equal(first.scores, again.scores)
    np.testing.assert_allclose(
        first.scores, bare.scores, rtol=1e-5, err_msg="but for the batches of texts that occur twice"
    )
    with pytest.raises(ModelError, match="stored as float32"):
        stored(model, tmp_path / "store", "float16")


@pytest.mark.slow
def test_it_is_run_filed_and_watched_like_any_model(splade, tmp_path):
    report = run.run(
        load(str(splade)), [mteb.get_task(TASK), mteb.get_task("PatenTEBBloom.sample")], tmp_path, show_progress=False
    )
    assert [outcome.status for outcome in report.outcomes] == ["scored", "unable"]
    assert report.meta.name == "local/splade" and len(report.meta.revision) == 16
    (path,) = tmp_path.rglob(f"{TASK}.json")
    ((entry,),) = json.loads(path.read_text())["scores"].values()
    assert entry["evidence"]["model"]["weights"] and entry["evidence"]["model"]["behaviour"] == behaviours(
        load(str(splade))
    )


def test_weights_that_are_not_finite_are_named(splade):
    model = load(str(splade))
    with torch.no_grad():
        next(model.model.model.parameters()).mul_(float("inf"))
    with pytest.raises(ModelError, match="weights changed after the model was loaded"):
        patent_mteb.rank(model, TASK)
    changed(model.model)
    model.mteb_model_meta = model.model.mteb_model_meta
    with pytest.raises(ModelError, match=r"NaN or infinite weights in \d+ of \d+ vectors"):
        patent_mteb.rank(model, TASK)


def test_another_similarity_is_refused(splade):
    other = wrapper(splade)
    other.model.similarity_fn_name = "euclidean"
    with pytest.raises(ModelError, match="searched by dot or cosine only"):
        engine(other)
    other.model.similarity_fn_name = "cosine"
    found = engine(other)
    assert isinstance(found, SparseSearch)
    task = mteb.get_task(TASK)
    system, queries, context = task.searching(other)
    norms = np.sqrt(np.asarray(system.vectors(queries["text"][:], context, PromptType.query).power(2).sum(axis=1)))
    assert norms == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("config", "settings", "known"),
    [
        (
            {"architectures": ["T5ForConditionalGeneration"]},
            None,
            "architecture 'T5ForConditionalGeneration' without modules.json",
        ),
        ({"architectures": ["BertForTokenClassification"]}, None, "BertForTokenClassification"),
        ({"architectures": ["BertModel"]}, {"model_type": "SomethingNew"}, "modules.json: the file is missing"),
    ],
)
def test_a_class_that_is_not_known_is_not_guessed(tmp_path, config, settings, known):
    (tmp_path / "config.json").write_text(json.dumps(config))
    if settings:
        (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(settings))
    with pytest.raises(ModelError, match=known):
        kind_of_checkpoint(tmp_path)


def test_kinds_that_are_known(splade, tmp_path):
    assert kind_of_checkpoint(splade) == "sparse"
    for name, kind in (
        ("BertModel", "encoder"),
        ("BertForMaskedLM", "encoder"),
        ("BertForSequenceClassification", "cross-encoder"),
    ):
        (tmp_path / "config.json").write_text(json.dumps({"architectures": [name]}))
        assert kind_of_checkpoint(tmp_path) == kind
