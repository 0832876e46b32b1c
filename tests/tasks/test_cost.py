"""What a result says that it cost: counts against the tokenizer and the texts themselves, times that add up."""

import json

import mteb
import numpy as np
import pytest
from datasets import Dataset
from mteb.models import SentenceTransformerEncoderWrapper
from sentence_transformers import SentenceTransformer
from small_patents import Words, evaluate
from tiny_checkpoints import checkpoint
from torch.utils.data import DataLoader

from patent_mteb.models import Hybrid, bm25
from patent_mteb.search.timing import phase, timed
from patent_mteb.store import stored
from patent_mteb.tasks.evidence import measured

PLACE = {"task_metadata": mteb.get_task("STSBenchmark").metadata, "hf_split": "test", "hf_subset": "default"}


def test_tokens_and_padding_are_those_of_the_batches(tmp_path):
    tiny = checkpoint(tmp_path / "tiny", 8, "mean", layers=1)
    wrapper = SentenceTransformerEncoderWrapper(SentenceTransformer(str(tiny), device="cpu"))
    wrapper.mteb_model_meta = wrapper.mteb_model_meta.model_copy(update={"name": "test/tiny", "revision": "1"})
    model = stored(wrapper, tmp_path / "store")
    texts = ["valve " * length for length in (1, 2, 3, 50, 60, 3)]  # one is there twice

    def work():
        with phase("encode"):
            model.encode(DataLoader(Dataset.from_dict({"text": texts}), batch_size=2), batch_size=2, **PLACE)
        return {"score": 0.5, "evidence": {"cost": {"index_mb": 1.0}}}

    first, again = measured(model, work), measured(model, work)
    lengths = np.array(sorted(len(wrapper.model.tokenizer(text)["input_ids"]) for text in set(texts)))[::-1]
    computed = sum(max(pair) * len(pair) for pair in np.split(lengths, [2, 4]))
    cost = first["evidence"]["cost"]
    assert first["score"] == 0.5 and cost["index_mb"] == 1.0
    assert (cost["encoded"], cost["characters"]) == (5, sum(map(len, set(texts))))
    assert cost["tokens"] == lengths.sum() and cost["padding"] == pytest.approx(1 - lengths.sum() / computed, abs=1e-4)
    assert cost["phases"]["encode"] + cost["phases"]["rest"] == pytest.approx(cost["seconds"], abs=1e-3)
    assert again["evidence"]["cost"]["encoded"] == 0 and "tokens" not in again["evidence"]["cost"]
    assert not next(iter(wrapper.model))._forward_pre_hooks


@pytest.mark.slow
def test_every_result_has_it_and_the_size_of_its_index(tmp_path):
    task = mteb.get_task("PatentMapAbsToAbsRetrieval.sample")
    model = Words(dims=64)
    dense = evaluate(task, stored(model, tmp_path))
    documents = dense["evidence"]["texts"]["document"]["n"]
    assert dense["evidence"]["cost"]["encoded"] == len(model.seen) and dense["evidence"]["cost"]["phases"].keys() == {
        "encode",
        "rest",
    }
    assert dense["evidence"]["cost"]["index_mb"] >= round(documents * 64 * 4 / 1e6, 3)
    assert 10 < dense["evidence"]["cost"]["peak_memory_mb"] < 1e6
    lexical, hybrid = evaluate(task, bm25("dapfam")), evaluate(task, Hybrid(bm25("dapfam"), Words(dims=64)))
    assert hybrid["evidence"]["cost"]["index_mb"] == pytest.approx(
        lexical["evidence"]["cost"]["index_mb"] + dense["evidence"]["cost"]["index_mb"], abs=0.002
    )
    assert (
        lexical["evidence"]["cost"]["phases"].keys() == {"index", "rest"}
        and "encoded" not in lexical["evidence"]["cost"]
    )
    assert json.loads(json.dumps(dense))["evidence"]["cost"] == dense["evidence"]["cost"]
    probe = evaluate(mteb.get_task("WIPOATEmergingClustering.sample"), stored(Words(dims=16), tmp_path / "other"))
    assert probe["evidence"]["cost"]["encoded"] > 0 and probe["evidence"]["cost"]["phases"].keys() == {"encode", "rest"}


def test_a_clock_inside_another_counts_for_both_and_no_second_twice():
    with timed() as outer, phase("score"), timed() as inner, phase("encode"):
        sum(range(200_000))
    assert outer["encode"] == inner["encode"] > 0
    assert 0 <= outer["score"] < inner["encode"]
