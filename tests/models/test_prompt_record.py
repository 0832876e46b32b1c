"""The recorded prompts are those that reached the tokenizer: plain, instruction, patent and composed
models.
"""

from __future__ import annotations

import json

import mteb
import numpy as np
import pyarrow.parquet as pq
import pytest
from mteb.cache import ResultCache
from mteb.models import SentenceTransformerEncoderWrapper
from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
from mteb.types import PromptType
from sentence_transformers import SentenceTransformer
from tiny_checkpoints import checkpoint

from patent_mteb.models import Hybrid, Truncated, bm25, stored
from patent_mteb.models.behaviour import TEXTS
from patent_mteb.models.registry import load_plain
from patent_mteb.tasks.base import prompts_put

RETRIEVAL, PAIRS = "PatenTEBEffect2Substance.sample", "PatenTEBParaProblem.sample"
ROLES = tuple(PromptType)
ASKED = "Given a technical effect, retrieve the substance that has it"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return checkpoint(tmp_path_factory.mktemp("prompts") / "tiny", 8, "mean", layers=1)


def named(model, name="test/tiny"):
    model.mteb_model_meta = model.mteb_model_meta.model_copy(update={"name": name, "revision": "1"})
    return model


def plain(folder):
    prompts = {"query": "q: ", f"{PAIRS}": "pair: "}
    model = SentenceTransformer(str(folder), device="cpu", prompts={**prompts, "document": "d: "})
    return named(SentenceTransformerEncoderWrapper(model))


def instructed(folder):
    model = InstructSentenceTransformerModel(
        str(folder), None, device="cpu", instruction_template="Do: {instruction} ", apply_instruction_to_passages=False
    )
    model.mteb_model_meta = mteb.get_model("mteb/baseline-random-encoder").mteb_model_meta
    return named(model, "test/instructed")


def filed(model, task, folder):
    mteb.evaluate(model, mteb.get_task(task), cache=ResultCache(folder), co2_tracker=False, show_progress_bar=False)
    (path,) = folder.rglob(f"{task}.json")
    ((entry,),) = json.loads(path.read_text())["scores"].values()
    return entry["prompts"]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "store"), [(plain, True), (instructed, False)], ids=["plain stored", "instructed"])
def test_what_is_filed_reached_the_tokenizer(make, store, folder, tmp_path, seen):
    model = make(folder)
    recorded = filed(stored(model, tmp_path / "store") if store else model, RETRIEVAL, tmp_path / "results")
    task = mteb.get_task(RETRIEVAL)
    task.load_data()
    split = next(iter(task.dataset.values()))["test"]
    for role, texts in (("query", split["queries"]["text"]), ("document", split["corpus"]["text"])):
        assert {recorded[role] + text for text in texts} <= set(seen)
    expected = {"query": "q: ", "document": "d: "} if make is plain else {"query": f"Do: {ASKED} ", "document": ""}
    assert recorded == expected


@pytest.mark.slow
def test_texts_without_a_role(folder, tmp_path, seen):
    assert filed(plain(folder), PAIRS, tmp_path) == {"text": "pair: "}
    given = [text for text in seen if text not in ("q: ", "d: ") and not text.endswith(TEXTS)]
    assert given and all(text.startswith("pair: ") for text in given)


@pytest.mark.slow
def test_patembed_files_table_11(tmp_path, monkeypatch):
    checkpoint(tmp_path / "datalyes/patembed-nano", 16, "mean", dense=128, layers=1)
    monkeypatch.setenv("PATENT_MTEB_MODELS", str(tmp_path))
    model = load_plain("datalyes/patembed-nano", device="cpu")
    sides = {"query": "encode effect query for substance retrieval: ", "document": "encode substance for retrieval: "}
    task = mteb.get_task(RETRIEVAL).metadata
    for form in (model, Truncated(model, 8), stored(model, tmp_path / "store")):
        assert prompts_put(form, task, ROLES, "test", "default") == sides
    assert prompts_put(
        load_plain("datalyes/patembed-nano", device="cpu", prompts="none"), task, ROLES, "test", "default"
    ) == {
        "query": "",
        "document": "",
    }


def test_each_encoder_of_a_composition_is_named_and_a_lexical_one_has_none(folder):
    task = mteb.get_task(RETRIEVAL).metadata
    one, two = plain(folder), instructed(folder)
    both = prompts_put(Hybrid(one, two), task, ROLES, "test", "default")
    assert both == {
        "test/tiny": {"query": "q: ", "document": "d: "},
        "test/instructed": {"query": f"Do: {ASKED} ", "document": ""},
    }
    assert prompts_put(Hybrid(bm25("dapfam"), one), task, ROLES, "test", "default") == both["test/tiny"]
    assert prompts_put(bm25("dapfam"), task, ROLES, "test", "default") == {}


class Opaque:
    """An encoder of which nothing is known."""

    mteb_model_meta = mteb.get_model("mteb/baseline-random-encoder").mteb_model_meta

    def encode(self, inputs, **kwargs):
        return np.ones((len(inputs.dataset), 2))


def test_what_cannot_be_known_is_not_claimed():
    task = mteb.get_task(RETRIEVAL).metadata
    assert prompts_put(Opaque(), task, [None], "test", "default") == {"text": None}


def test_the_side_file_says_it_too(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", str(tmp_path / "side"))
    recorded = filed(plain(folder), RETRIEVAL, tmp_path / "results")
    (path,) = (tmp_path / "side").rglob("*.queries.parquet")
    assert json.loads(pq.read_schema(path).metadata[b"patent_mteb"])["prompts"] == recorded
