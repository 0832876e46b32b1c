"""Results against their evidence: their numbers, their place, and each other."""

from __future__ import annotations

import json

import numpy as np
import pytest
from report_folders import add, attest, data_revision, model_folder

from patent_mteb.models.behaviour import Behaviour
from patent_mteb.report.collect import collect
from patent_mteb.tasks.evidence import checksum

TASK, CLASSES = "PatentCitationRetrieval", "PatenTEBBloom"


def messages(root):
    return [message for message in collect(root).messages if "no usable per-query scores" not in message]


def test_a_whole_result_is_reported_without_a_word(tmp_path):
    attest(add(model_folder(tmp_path, "acme/small"), CLASSES, 0.5))
    assert messages(tmp_path) == []


@pytest.mark.parametrize(
    ("part", "name", "value", "words"),
    [
        ("model", "name", "acme/large", "model 'acme__large', found at 'acme__small'"),
        ("model", "revision", "r2", "model_revision 'r2', found at 'r1'"),
        ("data", "task", "PatenTEBText2IPC3.sample", "task 'PatenTEBText2IPC3.sample'"),
        ("data", "revision", "sample-0", "dataset_revision 'sample-0', found at"),
    ],
)
def test_a_result_of_another_place_is_left_out(tmp_path, part, name, value, words):
    path = attest(add(model_folder(tmp_path, "acme/small"), CLASSES, 0.5), {part: {name: value}})
    add(model_folder(tmp_path, "acme/other"), CLASSES, 0.5)
    found = collect(tmp_path)
    assert list(found.results["model"]) == ["acme/other"]
    (message,) = [message for message in found.messages if str(path) in message]
    assert words in message and "left out" in message
    assert found.contradictions == {(str(path), data_revision(CLASSES, "sample")): message}


@pytest.mark.parametrize("scoring", ["retrieval 1", None])
def test_a_result_of_an_earlier_version_is_called_so_whatever_its_seal(tmp_path, scoring):
    """An earlier version may have computed the seal otherwise, and so the result was not changed."""
    path = attest(add(model_folder(tmp_path, "acme/small"), TASK, 0.5), {"scoring": scoring})
    document = json.loads(path.read_text())
    next(iter(document["scores"].values()))[0]["evidence"]["seal"] = "computed otherwise"
    path.write_text(json.dumps(document))
    (message,) = messages(tmp_path)
    by = repr(scoring) if scoring else "an earlier scoring"
    assert f"scored by {by} of patent-mteb 0.1.0, which is 'retrieval 3' now" in message and "changed" not in message
    assert message.endswith("Remedy: run the task again; if the file remains, delete it.")


@pytest.mark.parametrize("damage", [None, 3, [], "x", {}])
def test_what_is_no_record_is_none(tmp_path, damage):
    path = add(model_folder(tmp_path, "acme/small"), CLASSES, 0.5)
    document = json.loads(path.read_text())
    next(iter(document["scores"].values()))[0]["evidence"] = damage
    path.write_text(json.dumps(document))
    (message,) = messages(tmp_path)
    assert "the evidence is missing" in message


@pytest.mark.parametrize("part", ["data", "texts", "model", "embeddings", "ranking"])
@pytest.mark.parametrize("damage", [None, 3, [], "x"])
def test_a_damaged_part_is_no_traceback(tmp_path, part, damage):
    path = attest(add(model_folder(tmp_path, "acme/small"), CLASSES, 0.5))
    document = json.loads(path.read_text())
    ((entry,),) = document["scores"].values()
    entry["evidence"][part] = damage
    entry["evidence"]["seal"] = checksum(entry)
    path.write_text(json.dumps(document))
    attest(add(model_folder(tmp_path, "acme/mirror"), CLASSES, 0.5))
    collect(tmp_path)


def two(root, changed=None, **model):
    """Results of one model under two names, the second with changes."""
    for name, differs, who in (("acme/small", None, {}), ("acme/mirror", changed, model)):
        attest(add(model_folder(root, name), CLASSES, 0.5), differs, **who)
    return messages(root)


def test_other_vectors_of_the_same_weights_on_the_same_data_are_named(tmp_path):
    (message,) = two(tmp_path, {"embeddings": {"mean": 0.6, "digest": "x"}}, device="cuda:0 (H100)")
    assert "have the same data, settings and weights, but other vectors (computed on cpu and cuda:0 (H100))" in message
    assert all(f"acme__{name}/r1/{CLASSES}.sample.json" in message for name in ("small", "mirror"))


@pytest.mark.parametrize(
    ("changed", "model"),
    [
        ({"embeddings": {"mean": 0.5001, "digest": "x"}}, {}),
        ({"embeddings": {"mean": 0.6}, "data": {"digest": "other"}}, {}),
        ({"embeddings": {"mean": 0.6}, "texts": {"text": {"n": 3, "digest": "other"}}}, {}),
        ({"embeddings": {"mean": 0.6}}, {"weights": "other"}),
        ({"embeddings": {"mean": 0.6}}, {"settings": "other"}),
    ],
    ids=["rounding", "data", "texts", "weights", "settings"],
)
def test_what_may_differ_is_not_named(tmp_path, changed, model):
    assert two(tmp_path, changed, **model) == []


def test_other_rankings_are_named_once_for_each_kind(tmp_path):
    for number, digest in enumerate("aabbb"):
        path = add(model_folder(tmp_path, f"acme/m{number}"), TASK, 0.5)
        attest(path, {"ranking": {"digest": digest}})
    (message,) = messages(tmp_path)
    assert "acme__m0" in message and "acme__m2" in message and "other rankings" in message


def test_models_without_weights_are_the_same_by_name(tmp_path):
    for number, name in enumerate(("lex/bm25", "lex/other")):
        attest(add(model_folder(tmp_path, name), TASK, 0.5), {"ranking": {"digest": str(number)}}, weights="")
    assert messages(tmp_path) == []


def test_other_weights_under_one_name_are_named_once(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    for task, weights in ((CLASSES, "w"), ("PatenTEBText2IPC3", "v"), ("PatenTEBNLIOldNew", "v")):
        attest(add(folder, task, 0.5), weights=weights)
    (message,) = messages(tmp_path)
    assert "are of one model and revision, but of other weights" in message


def test_another_behaviour_under_one_name_is_named(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    vectors = np.random.default_rng(0).standard_normal((24, 8))
    for task, matrix in (
        (CLASSES, vectors),
        ("PatenTEBText2IPC3", vectors * (1 + 1e-6)),
        ("PatenTEBNLIOldNew", vectors[::-1]),
    ):
        attest(add(folder, task, 0.5), behaviour=[Behaviour.of(matrix, 1e-3).record()])
    (message,) = messages(tmp_path)
    assert "which did not behave the same" in message and "NLIOldNew" in message
