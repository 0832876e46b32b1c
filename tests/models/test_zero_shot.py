"""Zero-shot models by -m: their identities, scores and refusals."""

from __future__ import annotations

import json
import sys
import types

import mteb
import numpy as np
import pytest
import torch
from mteb.models.model_meta import ModelMeta
from sklearn.metrics import f1_score
from tiny_checkpoints import bare
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertForSequenceClassification

from patent_mteb import cli
from patent_mteb.errors import ModelError
from patent_mteb.experiments import run
from patent_mteb.models import changed, load
from patent_mteb.models.folders import kind_of_checkpoint
from patent_mteb.models.zero_shot import METAS, ZeroShotModel, load_gliner2, load_nli
from patent_mteb.protocols.zero_shot import HYPOTHESIS, best_threshold

TASK = "WIPOATEmergingClassification.NoDWPI.sample"


@pytest.fixture(scope="module")
def nli(tmp_path_factory):
    folder = bare(tmp_path_factory.mktemp("zero_shot") / "tiny_nli", 16)
    names = {"contradiction": 0, "neutral": 1, "entailment": 2}
    torch.manual_seed(0)
    config = BertConfig.from_pretrained(
        folder, label2id=names, id2label={place: name for name, place in names.items()}, initializer_range=0.5
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_directory_runs_and_its_score_is_that_of_its_logits(nli, tmp_path, capsys, monkeypatch):
    assert kind_of_checkpoint(nli) == "nli"
    short = "patent_mteb.tasks.wipo_at.LabelClassification.load_split"
    whole = mteb.get_task(TASK).load_split()
    few = {name: slice(0, 30) for name in whole.texts}
    data = type(whole)(
        {name: whole.texts[name][part] for name, part in few.items()},
        {name: whole.labels[name][part] for name, part in few.items()},
        whole.classes,
    )
    monkeypatch.setattr(short, lambda self: data)
    assert (
        cli.main(f"run -v 1 -t {TASK} PatentCitationRetrieval.sample -m {nli} --output-folder {tmp_path}".split()) == 0
    )
    streams = capsys.readouterr()
    assert "scores label names, for multi-label classification only" in streams.err
    (path,) = tmp_path.rglob(f"{TASK}.json")
    assert path.parent.parent.name == "local__tiny_nli"
    (scores,) = json.loads(path.read_text())["scores"]["test"]
    assert scores["evidence"]["texts"]["text"]["n"] > 0 and scores["evidence"]["seal"]

    tokenizer, model = (
        AutoTokenizer.from_pretrained(nli),
        AutoModelForSequenceClassification.from_pretrained(nli).eval(),
    )

    def entailed(text, label):
        with torch.no_grad():
            encoded = tokenizer(text, HYPOTHESIS.format(label), truncation=True, return_tensors="pt")
            logits = model(**encoded).logits[0]
        return float(torch.softmax(logits[[2, 0]].double(), 0)[0])

    def values(split):
        return np.array([[entailed(text, label) for label in data.classes] for text in data.texts[split]])

    def hot(split):
        return np.array([[label in labels for label in data.classes] for labels in data.labels[split]])

    assert values("test").std(axis=1).min() > 1e-4, "labels have different scores"
    threshold, validation = best_threshold(values("validation"), hot("validation"))
    assert scores["threshold"] == pytest.approx(threshold, abs=1e-5)
    assert scores["validation_macro_f1"] == pytest.approx(validation, abs=1e-6)
    predicted = values("test") >= scores["threshold"] - 1e-6
    assert scores["main_score"] == pytest.approx(
        f1_score(hot("test"), predicted, average="macro", zero_division=0), abs=1e-6
    )


def test_another_hypothesis_or_other_weights_are_another_identity(nli):
    usual, other = (
        load_nli("local/tiny_nli", folder=str(nli)),
        load_nli("local/tiny_nli", folder=str(nli), hypothesis="It is {}."),
    )
    assert usual.mteb_model_meta.experiment_kwargs is None
    assert other.mteb_model_meta.experiment_kwargs["hypothesis"] == "It is {}."
    loaded = load(str(nli))
    before = loaded.mteb_model_meta.experiment_name
    with torch.no_grad():
        next(iter(loaded.model.parameters())).add_(1.0)
    assert changed(loaded).mteb_model_meta.experiment_name != before


def test_the_papers_models_are_known_to_mteb_and_absent_weights_are_said(monkeypatch):
    assert len(METAS) == 4
    for meta in METAS:
        assert mteb.get_model_meta(meta.name).name == meta.name
    with pytest.raises(
        ModelError,
        match=r"(?s)facebook/bart-large-mnli' cannot be loaded as an NLI cross-encoder.*unset HF_HUB_OFFLINE",
    ):
        load("facebook/bart-large-mnli")
    monkeypatch.setitem(sys.modules, "gliner2", None)
    with pytest.raises(ModelError, match=r"needs the package gliner2. Remedy: pip install 'gliner2\[local\]'"):
        load("fastino/gliner2-base-v1")


def test_a_tagger_is_filed_under_the_commit_that_was_loaded(monkeypatch, tmp_path):
    class Tagger:
        def extract_entities(self, text, labels, *, threshold, include_confidence):
            assert include_confidence and threshold < 0.05
            spans = {
                label: [{"text": label, "confidence": 0.3}, {"text": label, "confidence": 0.6}]
                for label in labels
                if label in text
            }
            return {"entities": spans}

    package = types.ModuleType("gliner2")
    package.GLiNER2 = types.SimpleNamespace(from_pretrained=lambda folder: Tagger())
    monkeypatch.setitem(sys.modules, "gliner2", package)
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download", lambda name, revision: str(tmp_path / "snapshots" / ("c" * 40))
    )
    model = load_gliner2("fastino/gliner2-base-v1")
    assert model.mteb_model_meta.revision == "c" * 40
    assert model.score_labels(["a pump", "a valve"], ["pump", "lens"]).tolist() == [[0.6, 0.0], [0.0, 0.0]]


def test_what_it_cannot_do_is_skipped_with_the_reason():
    model = ZeroShotModel(
        ModelMeta.create_empty({"name": "me/words", "revision": "1"}),
        lambda texts, labels: np.zeros((len(texts), len(labels))),
    )
    assert run.unable(model, mteb.get_task(TASK)) == ""
    for other in ("PatentCitationRetrieval.sample", "PatenTEBBloom.sample", "WIPOATEmergingClustering.sample"):
        assert "scores label names" in run.unable(model, mteb.get_task(other))
