"""The record of what a score was computed from: against naive versions, and as mteb writes and reads it."""

from __future__ import annotations

import dataclasses
import json

import mteb
import numpy as np
import pytest
import tiny_checkpoints
import xxhash
from datasets import Dataset
from mteb.cache import ResultCache
from mteb.results import TaskResult
from small_data import HashEncoder

from patent_mteb import __version__
from patent_mteb.model_identity.loaded import model_facts
from patent_mteb.models import Hybrid, bm25, changed, load, stored
from patent_mteb.search.run import Run
from patent_mteb.tasks import evidence

TASK = "PatentMapAbsToAbsRetrieval.sample"
KINDS = {
    TASK: ("texts", "ranking"),
    "PatenTEBBloom.sample": ("texts", "embeddings"),
    "PatenTEBParaProblem.sample": ("texts", "predictions"),
}


def entry_of(task, model):
    """The entry of scores that plain mteb gets."""
    result = mteb.evaluate(model, mteb.get_task(task), cache=None, co2_tracker=False, show_progress_bar=False)
    ((entry,),) = result.task_results[0].scores.values()
    return entry


def naive_set(strings):
    return xxhash.xxh3_128_hexdigest(b"".join(sorted({xxhash.xxh3_128_digest(string.encode()) for string in strings})))


def naive_ranking(results):
    whole = b""
    for query in sorted(results):
        whole += len(query.encode()).to_bytes(8, "little") + query.encode() + len(results[query]).to_bytes(8, "little")
        whole += b"".join(
            xxhash.xxh3_64_intdigest(document.encode()).to_bytes(8, "little") for document in results[query]
        )
    return xxhash.xxh3_128_hexdigest(whole)


def test_a_set_of_strings_has_no_order():
    strings = [f"text {i % 1700} é" for i in np.random.default_rng(0).integers(0, 5000, 4000)]
    whole, halves = evidence.set_record(strings), evidence.set_record([*reversed(strings[2000:]), *strings[:2000]])
    assert whole == halves == {"n": len(set(strings)), "digest": naive_set(strings)}
    assert evidence.set_record([]) == {"n": 0, "digest": naive_set([])}
    assert evidence.set_record([*strings[1:], strings[0] + "."])["digest"] != whole["digest"]


def test_the_digest_of_a_ranking_is_that_of_its_ids_in_order():
    draw = np.random.default_rng(1)
    results = {
        f"q{i}": {f"d{j}": float(score) for j, score in enumerate(draw.permutation(40)[: draw.integers(0, 30)])}
        for i in range(20)
    }
    run = Run.from_dict(results)
    digest = evidence.ranking_digest(run)
    assert digest == naive_ranking(run.to_dict())
    assert digest == evidence.ranking_digest(Run.from_dict(dict(reversed(results.items()))))
    corpus = sorted({document for found in results.values() for document in found} | {"never found"}, reverse=True)
    assert digest == evidence.ranking_digest(Run.from_dict(results, doc_ids=corpus)), "what is not found does not count"
    query = max(results, key=lambda one: len(results[one]))
    first, second, *_ = run.to_dict()[query]
    swapped = {**results, query: {**results[query], first: results[query][second], second: results[query][first]}}
    assert digest != evidence.ranking_digest(Run.from_dict(swapped))


def test_figures_of_vectors():
    parts = {
        "train": np.random.default_rng(2).standard_normal((1500, 7)).astype(np.float32),
        "test": np.ones((3, 7), np.float32),
    }
    record = evidence.vectors_record(parts)
    rows = np.vstack([parts["test"], parts["train"]]).astype(np.float64)
    assert (record["n"], record["width"]) == (1503, 7)
    assert record["length"] == pytest.approx(np.linalg.norm(rows, axis=1).mean(), abs=1e-6)
    assert record["mean"] == pytest.approx(np.linalg.norm(rows.mean(axis=0)), abs=1e-6)
    parts["train"][700, 3] = np.nextafter(parts["train"][700, 3], 9)
    assert evidence.vectors_record(parts)["digest"] != record["digest"]


@dataclasses.dataclass
class Rows:
    texts: dict
    labels: dict
    table: Dataset


def rows(**changed):
    values = {"texts": {"test": ["a", "b"]}, "labels": {"test": np.array([[1, 0], [0, 1]])}}
    return Rows(**{**values, "table": Dataset.from_dict({"id": ["x", "y"], "text": ["one", "two"]}), **changed})


@pytest.mark.parametrize(
    "changed",
    [
        {"texts": {"test": ["b", "a"]}},
        {"texts": {"train": ["a", "b"]}},
        {"labels": {"test": np.array([[1, 0], [1, 1]])}},
        {"labels": {"test": np.array([[1, 0, 0, 1]])}},
        {"table": Dataset.from_dict({"id": ["x", "y"], "text": ["one", "two."]})},
        {"table": Dataset.from_dict({"id": ["y", "x"], "text": ["one", "two"]})},
    ],
    ids=["order", "part", "label", "shape", "text", "ids"],
)
def test_whatever_is_read_counts(changed):
    assert evidence.data_digest(rows()) == evidence.data_digest(rows())
    assert evidence.data_digest(rows()) != evidence.data_digest(rows(**changed))


@pytest.mark.slow
@pytest.mark.parametrize("task", KINDS)
def test_every_result_of_plain_mteb_holds_its_evidence(tmp_path, task):
    model = HashEncoder()
    cache = ResultCache(tmp_path)
    mteb.evaluate(model, mteb.get_task(task), cache=cache, co2_tracker=False, show_progress_bar=False)
    (path,) = tmp_path.rglob(f"{task}.json")
    for document in (json.loads(path.read_text()), TaskResult.from_disk(path).to_dict()):
        ((entry,),) = document["scores"].values()
        found = entry["evidence"]
        assert found["seal"] == evidence.checksum(entry), "the same before and after mteb has written and read it"
        kinds = KINDS[task]
        assert list(found) == ["version", "scoring", "data", *kinds, "cost", "batch_size", "libraries", "model", "seal"]
        assert found["version"] == __version__
        assert (found["data"]["task"], found["data"]["revision"]) == (task, document["dataset_revision"])
        assert (found["model"]["name"], found["model"]["revision"]) == ("tests/hash-encoder", "r64False")
    frame = cache.load_results().to_dataframe()
    assert list(frame["task_name"]) == [task]
    assert frame["tests/hash-encoder"][0] == pytest.approx(entry["main_score"])


@pytest.mark.parametrize("fast", ["1", "0"])
def test_what_is_noted_is_what_was_searched(monkeypatch, fast):
    monkeypatch.setenv("PATENT_MTEB_FAST", fast)
    model, task = bm25("dapfam"), mteb.get_task(TASK)
    run = task.rank(model)
    queries, corpus = task.digested_data()["queries"], task.digested_data()["corpus"]
    found = entry_of(TASK, model)["evidence"]
    assert found["ranking"] == {
        "queries": len(run.query_ids),
        "depth": run.depth,
        "digest": naive_ranking(run.to_dict()),
    }
    assert found["texts"]["query"] == {"n": len(set(queries["text"])), "digest": naive_set(queries["text"])}
    assert found["texts"]["document"]["digest"] == naive_set(text.strip() for text in corpus["text"])


def test_texts_are_those_of_the_parts_that_are_encoded():
    task, model = mteb.get_task("PatenTEBBloom.sample"), HashEncoder()
    found = entry_of(task.metadata.name, model)["evidence"]["texts"]
    assert found == {"text": {"n": len(set(model.texts)), "digest": naive_set(model.texts)}}


def test_settings_and_weights_are_the_same_with_and_without_the_store(tmp_path):
    """Also where the weights are not read, because the store has every text."""
    folder = tiny_checkpoints.checkpoint(tmp_path / "tiny", 16, "mean")
    plain = load(str(folder))
    facts = model_facts(plain)
    assert facts["device"] == "cpu" and facts["dtype"] == "torch.float32" and facts["weights"]
    lazy = stored(plain.mteb_model_meta, tmp_path / "store")
    _ = lazy.model
    again = stored(plain.mteb_model_meta, tmp_path / "store")
    unread = model_facts(again)
    assert not again.loaded
    for other in (model_facts(lazy), unread):
        assert (other["settings"], other["weights"]) == (facts["settings"], facts["weights"])
    assert unread["device"] == unread["dtype"] == ""
    shorter, halved = load(str(folder)), load(str(folder))
    shorter.model.max_seq_length = 5
    halved.model.half()
    assert changed(halved) is halved
    assert model_facts(shorter)["settings"] != facts["settings"]
    assert model_facts(halved)["dtype"] == "torch.float16" and model_facts(halved)["weights"] != facts["weights"]


def test_a_composed_model_has_the_weights_of_its_parts(tmp_path):
    folder = tiny_checkpoints.checkpoint(tmp_path / "tiny", 16, "mean")
    dense = load(str(folder))
    alone, fused = model_facts(dense), model_facts(Hybrid(bm25("dapfam"), dense))
    assert fused["weights"] == alone["weights"] and fused["settings"] != alone["settings"]
    assert model_facts(bm25("dapfam"))["weights"] == ""
