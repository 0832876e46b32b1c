"""Prompts of checkpoints under any usual name reach the role that they mean, in dense, sparse and late-interaction
models, and are left out on request.
"""

from __future__ import annotations

import json
import logging

import mteb
import numpy as np
import pytest
import tiny_checkpoints
import tiny_colbert
from mteb.models import SentenceTransformerEncoderWrapper
from mteb.types import PromptType
from search_calls import context_of
from sentence_transformers import SentenceTransformer, SparseEncoder
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling

from patent_mteb.endpoints.client import Endpoint
from patent_mteb.errors import ModelError
from patent_mteb.model_identity.prompts import role_prompts
from patent_mteb.models import load, stored
from patent_mteb.models.loading import find_meta
from patent_mteb.models.served import Served
from patent_mteb.store.batches import text_loader
from patent_mteb.tasks.base import prompts_put

TASK = mteb.get_task("PatenTEBEffect2Substance.sample").metadata
NAMES = [
    ("query", "passage"),
    ("query", "corpus"),
    ("search_query", "search_document"),
    ("queries", "doc"),
    ("Question", "Passage"),
    ("retrieval.query", "retrieval.passage"),
]
TEXTS = {PromptType.query: "find: ", PromptType.document: "read: "}


def write(folder, kind, prompts):
    """A checkpoint whose configuration has these prompts."""
    if kind == "late-interaction":
        return tiny_colbert.write_checkpoint(folder, "pylate", prompts=prompts) or folder
    if kind == "dense":
        return tiny_checkpoints.checkpoint(folder, 8, "mean", layers=1, prompts=prompts)
    bare = tiny_checkpoints.bare(folder.with_name("bare"), 16, head=True)
    SparseEncoder(modules=[MLMTransformer(str(bare)), SpladePooling()], device="cpu").save(str(folder))
    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "prompts": prompts}))
    return folder


def put(model):
    return prompts_put(model, TASK, tuple(TEXTS), "test", "default")


def encoded(model, role, text="rotor"):
    """What a model makes of one text, whatever its kind."""
    if hasattr(model, "encode_tokens"):
        prompt = model.model_prompts.get(role.value, "")
        return model.encode_tokens([text], is_query=role == PromptType.query, prompt=prompt)[0]
    if hasattr(model, "vectors"):
        return model.vectors([text], context_of(), role).toarray()
    return model.encode(
        text_loader([text], 1), task_metadata=TASK, hf_split="test", hf_subset="default", prompt_type=role
    )


@pytest.mark.parametrize("kind", ["dense", "sparse", "late-interaction"])
@pytest.mark.parametrize("names", NAMES, ids=" ".join)
def test_prompts_reach_their_role_under_every_usual_name(tmp_path, seen, caplog, kind, names):
    folder = write(tmp_path / "model", kind, dict(zip(names, TEXTS.values(), strict=True)))
    model = load(str(folder), device="cpu")
    for form in (model, stored(model, tmp_path / "store")):
        for role, prompt in TEXTS.items():
            seen.clear()
            encoded(form, role, f"rotor {role.value}")
            shown = [text for text in seen if "rotor" in text]
            assert shown and all(f"{prompt}rotor {role.value}" in text for text in shown)
    assert put(model) == {role.value: prompt for role, prompt in TEXTS.items()}
    assert "get no prompt" not in caplog.text and "is not valid" not in caplog.text


@pytest.mark.parametrize("kind", ["dense", "sparse", "late-interaction"])
def test_prompts_are_left_out_on_request(tmp_path, seen, kind):
    folder = write(tmp_path / "model", kind, {"query": "find: ", "passage": "read: "})
    model = load(str(folder), device="cpu", prompts=False)
    for role in TEXTS:
        encoded(model, role)
    assert seen and not [text for text in seen if "find" in text or "read" in text]
    assert put(model) == {"query": "", "document": ""}
    assert model.mteb_model_meta.experiment_kwargs["prompts"] == "none"


def test_the_prompts_of_a_model_that_mteb_loads_are_found_and_left_out(tmp_path, monkeypatch, seen):
    folder = write(tmp_path / "model", "dense", {"query": "find: ", "passage": "read: "})
    meta = find_meta(str(folder)).model_copy(update={"loader": SentenceTransformerEncoderWrapper, "name": str(folder)})
    meta = meta.model_copy(update={"revision": None})
    monkeypatch.setattr("patent_mteb.models.loading.find_meta", lambda name, revision: meta)
    assert put(load("org/model", device="cpu")) == {"query": "find: ", "document": "read: "}
    model = load("org/model", device="cpu", prompts=False)
    for role in TEXTS:
        encoded(model, role)
    assert seen[-2:] == ["rotor", "rotor"] and put(model) == {"query": "", "document": ""}


@pytest.mark.parametrize("kind", ["dense", "late-interaction"])
@pytest.mark.parametrize(
    ("prompts", "level", "said"),
    [
        ({"s2p_query": "find: ", "query": "q: "}, "WARNING", "document texts get no prompt. Its prompts s2p_query are"),
        ({"s2p_query": "find: "}, "WARNING", "query texts and document texts get no prompt. Its prompts s2p_query are"),
        ({"query": "find: "}, "INFO", "document texts get no prompt, as its checkpoint has none for them"),
    ],
)
def test_one_line_says_which_role_gets_no_prompt(tmp_path, caplog, kind, prompts, level, said):
    caplog.set_level(logging.INFO, logger="patent_mteb")
    load(str(write(tmp_path / "model", kind, prompts)), device="cpu")
    (line,) = [one for one in caplog.records if "get no prompt" in one.message]
    assert said in line.message and line.levelname == level


def test_a_given_sentence_transformer_keeps_its_own_prompts(tmp_path):
    model = SentenceTransformer(
        str(write(tmp_path / "model", "dense", {"query": "find: ", "passage": "read: "})), device="cpu"
    )
    model.model_card_data.set_base_model("org/model")
    before = dict(model.prompts)
    wrapped = SentenceTransformerEncoderWrapper(model)
    stated = wrapped.mteb_model_meta.model_copy(update={"name": "org/model", "revision": "1"})
    wrapped.mteb_model_meta = stated
    stored(wrapped, tmp_path / "store")
    assert model.prompts == before and wrapped.model_prompts.get("document") == ""


def test_sparse_vectors_of_two_prompts_are_stored_separately(tmp_path):
    folder = write(tmp_path / "model", "sparse", {"query": "find: ", "document": "read: "})
    models = [stored(load(str(folder), device="cpu"), tmp_path / "store") for _ in range(2)]
    models[1].model.model_prompts = {"query": "a b c d ", "document": ""}
    first, second = (encoded(model, PromptType.query) for model in models)
    alone = load(str(folder), device="cpu")
    alone.model.model_prompts = {"query": "a b c d ", "document": ""}
    np.testing.assert_allclose(second, encoded(alone, PromptType.query), atol=1e-6)
    assert not np.allclose(first, second)


def test_a_served_model_has_prompts_for_roles_only():
    endpoint = Endpoint("http://host/v1")
    assert Served(endpoint, "m", prompts={"search_query": "q: ", "passage": "p: "}).prompts == {
        "query": "q: ",
        "document": "p: ",
    }
    with pytest.raises(ModelError, match="prompts for query and document, not for classification"):
        Served(endpoint, "m", prompts={"classification": "c: "})


def test_an_empty_or_nested_prompt_does_not_hide_another():
    assert role_prompts({"document": "", "query": {"a": "b"}, "passage": "p: ", "clustering": "c: "}) == {
        "document": "p: "
    }
