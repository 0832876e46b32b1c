"""Options that must not change the weights, section tokens, early stopping, cards and `publish model`."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from small_bases import write_bert
from small_jobs import job, small, weights

from patent_mteb.cli import main
from patent_mteb.errors import DataError
from patent_mteb.patents.records import Claim, Patent
from patent_mteb.patents.views import VIEWS
from patent_mteb.training import running
from patent_mteb.training.bases import add_tokens
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.jobs import _deviations_of, train, write_scores
from patent_mteb.training.pairs import pairs_of
from patent_mteb.training.preparing import Job
from patent_mteb.training.recipes import Settings, find_recipe
from patent_mteb.training.running import optimiser_of


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("bases") / "bert")


def test_section_tokens_are_whole_and_start_as_appendix_a_says(bert, tmp_path):
    """PatentMap, appendix A: known tokens keep their embedding, [drawing] and [description] start as [invention]."""
    known = ("[abstract]", "[claim]", "[summary]", "[invention]")
    model = SentenceTransformer(str(bert), device="cpu")
    assert add_tokens(model, Settings(section_tokens=known)) == list(known)
    embeddings = model[0].model.get_input_embeddings().weight.detach()
    old = SentenceTransformer(str(bert), device="cpu")
    pieces = old.tokenizer("[invention]", add_special_tokens=False)["input_ids"]
    ids = dict(zip(known, model.tokenizer.convert_tokens_to_ids(list(known)), strict=True))
    before = old[0].model.get_input_embeddings().weight.detach()
    np.testing.assert_allclose(embeddings[ids["[invention]"]], before[pieces].mean(dim=0), atol=1e-7)
    with torch.no_grad():
        for token, number in ids.items():
            model[0].model.get_input_embeddings().weight[number] = len(token)
    assert add_tokens(model, find_recipe("patentmap-claims").settings) == ["[drawing]", "[description]"]
    model.save(str(tmp_path / "saved"), create_model_card=False)
    saved = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    for token, value in (("[drawing]", 11), ("[description]", 11), ("[claim]", 7)):
        (number,) = saved.tokenizer(token, add_special_tokens=False)["input_ids"]
        assert (saved[0].model.get_input_embeddings().weight[number] == value).all()
    assert saved.tokenizer.tokenize("a [drawing] pump") == ["a", "[drawing]", "pump"]


@pytest.mark.slow
def test_checkpointing_of_gradients_changes_no_weight(bert, tmp_path):
    settings = ("max_length=24", "checks=1", "lr=0.001")
    runs = [
        train(job("wipo-r3", str(bert), tmp_path / name, *settings, *more, max_steps=2), small(), quiet=True)
        for name, more in (("plain", ()), ("less", ("gradient_checkpointing=true",)))
    ]
    first, second = (weights(one.checkpoints[0])["model.safetensors"] for one in runs)
    assert all(np.allclose(first[name], second[name], atol=1e-6) for name in first)


@pytest.mark.slow
def test_early_stopping_and_the_card(bert, tmp_path, capsys):
    """A rate of 30 makes everything worse: the run stops after two evaluations without a better one."""
    settings = ("max_length=24", "lr=30", "check_steps=1", "patience=2", "warmup=0")
    done = train(job("wipo-r3", str(bert), tmp_path / "run", *settings, max_steps=9), small(), quiet=True)
    rows = list(csv.DictReader((tmp_path / "run/seed-42/history.csv").open()))
    losses = [float(row["eval_loss"]) for row in rows]
    assert [int(row["step"]) for row in rows] == [0, 1, 2] and min(losses[1:]) > losses[0]
    (checkpoint,) = done.checkpoints
    card = (checkpoint / "README.md").read_text()
    ndcg = done.changes[0]
    assert f"| held-out pairs | ndcg@10 | 100 | {ndcg.before:.4f} | {ndcg.after:.4f} | +0.0000 [" in card
    write_scores(done.checkpoints, done.changes)
    assert (checkpoint / "README.md").read_text() == card
    assert main(["publish", "model", str(checkpoint), "--name", "org/name"]) == 0
    printed = capsys.readouterr().out
    assert f"hf upload org/name {checkpoint} ." in printed and "model.safetensors" in printed
    assert "the card says: no checkpoint is better than the base" in re.sub(r"\s+", " ", printed)
    assert main(["publish", "model", str(bert), "--name", "org/name"]) == 2
    assert main(["publish", "model", str(checkpoint), "--name", "a/b/c"]) == 2


def test_pairs_of_another_signal(corpus_of_three):
    """The recipe of citations with pairs of abstract and claim, and the deviation in words."""
    found = job("colbert-contrastive", "base", Path("run"), "signal=cross-section")
    assert "signal=cross-section instead of " in _deviations_of(found)
    expected = [(VIEWS["Abstract"](one), VIEWS["Claim1"](one)) for one in corpus_of_three.patents]
    made = list(pairs_of(found.settings.signal, corpus_of_three, "train", found.settings, Counter()))
    assert [(pair.anchor, pair.positive) for pair in made] == expected
    with pytest.raises(DataError, match=r"unknown signal 'claims'.*cross-section"):
        pairs_of("claims", corpus_of_three, "train", found.settings, Counter())


@pytest.fixture
def corpus_of_three():
    claims = (Claim(1, "A pump with a seal."),)
    patents = [Patent(f"EP{number}A1", f"F{number}", "Pump", f"Pump {number}.", claims) for number in range(3)]
    return Corpus("three", patents, [], {one.family_id: "train" for one in patents})


@pytest.mark.parametrize(("gpu", "installed"), [(False, True), (True, False), (True, True)])
def test_an_8_bit_optimiser_needs_a_gpu_and_bitsandbytes(monkeypatch, gpu, installed):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(running, "find_spec", lambda name: installed or None)
    recipe = find_recipe("patembed-multitask")
    asked = Job(recipe=recipe, settings=recipe.settings, base="base", out=Path("run"))
    possible = gpu and installed
    assert optimiser_of(asked) == ("paged_adamw_8bit" if possible else "adamw_torch")
    assert any("needs a GPU and bitsandbytes" in phrase for phrase in _deviations_of(asked)) != possible


def test_a_tracker_that_is_not_installed_is_refused_before_training(bert, tmp_path):
    with pytest.raises(DataError, match="wandb"):
        train(job("wipo-r3", str(bert), tmp_path / "run", max_steps=1, trackers=("wandb",)), small(), quiet=True)
