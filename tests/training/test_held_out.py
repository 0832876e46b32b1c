"""Before and after of multi-task training, distillation and late interaction against naive references, and prompts."""

from __future__ import annotations

import json
from collections import Counter

import mteb
import numpy as np
import pytest
from mteb.models import SentenceTransformerEncoderWrapper
from mteb.types import PromptType
from sentence_transformers import MultiVectorEncoder, SentenceTransformer
from sklearn.dummy import DummyRegressor
from sklearn.metrics import mean_squared_error
from sklearn.neighbors import NearestNeighbors
from small_bases import write_bert, write_late
from small_jobs import job, small

from patent_mteb.cli import main
from patent_mteb.experiments.run import run
from patent_mteb.files import read_parquet
from patent_mteb.models import load
from patent_mteb.models.folders import training_record
from patent_mteb.models.prompts import TABLE_11
from patent_mteb.training.corpus import read_corpus
from patent_mteb.training.distilling import student_layers, student_of
from patent_mteb.training.jobs import train
from patent_mteb.training.multitask import TASKS
from patent_mteb.training.pairs import read_pairs

TASK = "PatenTEBRetrievalIN"


def naive(pairs, score):
    """nDCG@10 of each pair: its positive among those of other families, by a function of two places."""
    found = []
    for mine, pair in enumerate(pairs):
        own = {pair.anchor_family, pair.positive_family}
        rivals = [other for other, one in enumerate(pairs) if one.positive_family not in own]
        rank = 1 + sum(score(mine, other) >= score(mine, mine) for other in rivals)
        found.append(1 / np.log2(1 + rank) if rank <= 10 else 0)
    return np.mean(found)


def stored_changes(out):
    return {(one["what"], one["measure"]): one for one in json.loads((out / "held_out.json").read_text())}


@pytest.fixture(scope="module")
def multitask(tmp_path_factory):
    """A checkpoint of multi-task training, its base, and its folder."""
    folder = tmp_path_factory.mktemp("multitask")
    base = str(write_bert(folder / "bert", length=48, spread=0.1))
    settings = ["batch=16", "checks=1", "lr=0.001"]
    asked = job("patembed-multitask", base, folder / "run", *settings, max_steps=6, drop_leaks=True)
    return train(asked, read_corpus("sample"), quiet=True), base, folder / "run"


@pytest.mark.slow
def test_multitask_is_measured_by_task(multitask):
    """The test rows of each ranking task that was trained, with its prompts; none is of a family of the train split."""
    done, base, out = multitask
    held = list(read_pairs(out / "pairs" / "test.parquet"))
    trained = {pair.anchor_family for one in done.prepared.sets for pair in read_pairs(out / "pairs" / one.train)}
    assert held and trained.isdisjoint(family for pair in held for family in (pair.anchor_family, pair.positive_family))
    changes = stored_changes(out)
    tasks = {one.name for one in done.prepared.sets if one.kind == "ranking"}
    assert {what for what, _ in changes} == {f"held-out {task}" for task in tasks} and len(tasks) >= 5
    for task in ("problem2solution", "effect2full"):
        pairs = [pair for pair in held if pair.signal == task]
        for folder, when in ((base, "before"), (str(done.checkpoints[0]), "after")):
            model = SentenceTransformer(folder, device="cpu")
            queries, documents = (
                model.encode([f"{prompt} {getattr(pair, column)}" for pair in pairs]).astype(np.float64)
                for prompt, column in ((TABLE_11[task].query, "anchor"), (TABLE_11[task].document, "positive"))
            )
            queries, documents = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries, documents))
            expected = naive(pairs, lambda mine, other, scores=queries @ documents.T: scores[mine, other])
            one = changes[f"held-out {task}", "ndcg@10"]
            assert one[when] == pytest.approx(expected, abs=1e-6) and one["n_queries"] == len(pairs)


@pytest.mark.slow
def test_multitask_counts_its_rows_and_the_tasks_that_it_skips(multitask):
    """The sample words some families alike: such leaks are dropped, and rows are those that are left."""
    done, _, out = multitask
    assert done.prepared.leaks.dropped and done.prepared.leaks.leaking > 0
    for one in done.prepared.sets:
        held = {file: list(read_pairs(out / "pairs" / file)) for file in (one.train, one.validation) if file}
        assert one.rows == done.prepared.counts[one.name] == len(held[one.train]) >= 16
        assert one.validation_rows == len(held.get(one.validation, ()))
        if one.kind in ("triplet", "contrastive"):
            for pairs in held.values():
                assert sum(number > 1 for number in Counter(pair.label for pair in pairs).values()) > 1
    skipped = {what.split()[2].rstrip(",") for what in done.prepared.left_out["train"]}
    trained = {one.name for one in done.prepared.sets}
    assert skipped | trained == TASKS.keys() and skipped.isdisjoint(trained)


@pytest.mark.slow
def test_a_checkpoint_carries_the_prompts_of_its_training(multitask, tmp_path):
    """sentence-transformers and mteb find them by task and role; a run of the suite applies them and says so."""
    checkpoint = str(multitask[0].checkpoints[0])
    row = TABLE_11["retrieval_IN"]
    prompts = {"query": f"{row.query} ", "document": f"{row.document} "}
    assert training_record(multitask[0].checkpoints[0])["prompts"] == "table11"
    plain = SentenceTransformer(checkpoint, device="cpu")
    wrapped = SentenceTransformerEncoderWrapper(plain)
    for role, prompt in prompts.items():
        assert plain.prompts[f"{TASK}-{role}"] == prompt
        assert np.array_equal(plain.encode("a pump", prompt_name=f"{TASK}-{role}"), plain.encode(f"{prompt}a pump"))
        assert wrapped.model_prompts[wrapped.get_prompt_name(mteb.get_task(TASK).metadata, PromptType(role))] == prompt
    task = f"{TASK}.sample"
    done = run(load(checkpoint), [mteb.get_task(task)], tmp_path / "results")
    assert [one.status for one in done.outcomes] == ["scored"]
    (path,) = (tmp_path / "results").rglob(f"{task}.json")
    (scores,) = json.loads(path.read_text())["scores"]["test"]
    assert scores["prompts"] == prompts


@pytest.mark.slow
def test_evaluation_uses_the_prompts(multitask, capsys, tmp_path):
    """``--evaluate`` of a run that is finished, by the command."""
    _, base, out = multitask
    settings = ["lr=0.001", "accumulation=1", "batch=16", "epochs=2", "checks=1"]
    words = ["train", "patembed-multitask", "sample", "-m", base, "--out", str(out), "--device", "cpu"]
    words += ["--max-steps", "6", "--drop-leaks", *(word for one in settings for word in ("--set", one))]
    assert main([*words, "--evaluate", f"{TASK}.sample"]) == 0
    assert "held-out problem2solution" in capsys.readouterr().out
    found = {path.parts[-3]: json.loads(path.read_text()) for path in (out / "results").rglob(f"{TASK}.sample.json")}
    prompts = {"local__bert" in name: one["scores"]["test"][0]["prompts"] for name, one in found.items()}
    assert prompts[True] == {"query": "", "document": ""}
    assert prompts[False]["query"] == "encode query for same document retrieval: "


@pytest.mark.slow
def test_prompts_of_the_base_that_were_not_trained_with_are_said(tmp_path):
    base = write_bert(tmp_path / "bert", length=24, spread=0.1)
    model = SentenceTransformer(str(base), device="cpu", prompts={"query": "find: "})
    model.save(str(base), create_model_card=False)
    done = train(job("wipo-r3", str(base), tmp_path / "run", "checks=1", max_steps=1), small(), quiet=True)
    deviation = "training does not use the base's own prompts (query); the checkpoint keeps them"
    record = training_record(done.checkpoints[0])
    assert record["prompts"] == "none" and deviation in record["deviations"]
    assert SentenceTransformer(str(done.checkpoints[0]), device="cpu").prompts["query"] == "find: "


@pytest.mark.slow
def test_distillation_is_measured_on_the_test_split(tmp_path):
    """Error, error of the mean and shared neighbours by scikit-learn, on texts of the test split with their prompts."""
    base, out = str(write_bert(tmp_path / "bert", layers=6, length=32, spread=0.1)), tmp_path / "run"
    settings = ["batch=32", "checks=1", "lr=0.001", "width=16", "pca_sample=300"]
    asked = job("patembed-distill-2", base, out, *settings, max_steps=12, drop_leaks=True)
    done = train(asked, read_corpus("sample"), quiet=True)
    changes = stored_changes(out)
    held = read_parquet(out / "pairs" / "vectors.test.parquet", ["anchor", "label", "teacher"])
    texts, targets = held["anchor"].to_pylist(), np.array(held["label"].to_pylist())
    full = {
        getattr(TABLE_11[pair.signal], side) + " " + getattr(pair, column)
        for pair in read_pairs(out / "pairs" / "test.parquet")
        for side, column in (("query", "anchor"), ("document", "positive"))
    }
    assert set(texts) <= full and len(set(texts)) == len(texts) == 2000
    teacher = SentenceTransformer(base, device="cpu")
    own = teacher.encode(texts)
    np.testing.assert_allclose(own, np.array(held["teacher"].to_pylist()), atol=1e-4)
    projection = np.array(read_parquet(out / "pairs" / "projection.parquet", ["component"])["component"].to_pylist())
    np.testing.assert_allclose(own @ projection.T, targets, atol=1e-4)
    trained = np.array(read_parquet(out / "pairs" / "vectors.train.parquet", ["label"])["label"].to_pylist())
    constant = DummyRegressor().fit(np.zeros((len(trained), 1)), trained).predict(np.zeros((len(targets), 1)))

    def neighbours(rows):
        search = NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute").fit(rows)
        return search.kneighbors(return_distance=False)

    error, shared = changes["held-out texts", "mse"], changes["held-out texts", "shared neighbours of 10"]
    assert error["mean"] == pytest.approx(mean_squared_error(targets, constant), rel=1e-4) and shared["mean"] is None
    untrained = student_of(teacher, student_layers(6, (0, 12)), projection.astype(np.float32)).eval()
    for model, when in ((untrained, "before"), (SentenceTransformer(str(done.checkpoints[0]), device="cpu"), "after")):
        found = model.encode(texts)
        assert error[when] == pytest.approx(mean_squared_error(targets, found), rel=1e-4)
        both = zip(neighbours(found), neighbours(own), strict=True)
        expected = np.mean([len(set(one) & set(other)) for one, other in both])
        assert shared[when] == pytest.approx(expected, abs=0.002)
    assert error["after"] < 0.5 * error["before"] and error["high"] < 0
    assert training_record(done.checkpoints[0])["prompts"] == "table11"


@pytest.mark.slow
def test_late_interaction_is_measured_by_maxsim(tmp_path):
    """Against the sum of each query token's best document token, before and after."""
    base, out = str(write_late(tmp_path / "late", length=24, spread=0.1)), tmp_path / "run"
    settings = ("batch=8", "hard_negatives=0", "checks=1", "lr=0.001", "checkpoint=last")
    asked = job("colbert-contrastive", base, out, *settings, max_steps=6)
    done = train(asked, read_corpus("sample"), quiet=True)
    pairs = list(read_pairs(out / "pairs" / "test.parquet"))
    (one,) = [one for (_, measure), one in stored_changes(out).items() if measure == "ndcg@10"]
    assert one["what"] == "held-out pairs, MaxSim" and one["n_queries"] == len(pairs) > 20
    assert one["low"] <= one["difference"] <= one["high"] and one["before"] != one["after"]
    for folder, when in ((base, "before"), (str(done.checkpoints[0]), "after")):
        model = MultiVectorEncoder(folder, device="cpu")
        queries = model.encode_query([pair.anchor for pair in pairs], convert_to_numpy=True)
        documents = model.encode_document([pair.positive for pair in pairs], convert_to_numpy=True)
        scores = np.array([[(query @ document.T).max(axis=1).sum() for document in documents] for query in queries])
        expected = naive(pairs, lambda mine, other, scores=scores: scores[mine, other])
        assert one[when] == pytest.approx(expected, abs=1e-6)
