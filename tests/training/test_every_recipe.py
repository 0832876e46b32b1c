"""Every recipe ends with a checkpoint, prints its scores before and after, and its card lists every deviation."""

from __future__ import annotations

import re
from dataclasses import asdict

import pytest
from small_bases import write_bert, write_late, write_reranker, write_sparse
from small_jobs import small

from patent_mteb.cli import main
from patent_mteb.files import write_jsonl
from patent_mteb.models.loading import training_record
from patent_mteb.training import corpus as corpora
from patent_mteb.training import multitask
from patent_mteb.training.recipes import RECIPES, settings_for

OF_EACH_KIND = (
    *("wipo-r1", "wipo-r2", "wipo-r3", "wipo-r4", "wipo-r3-matched", "qaecter"),
    *("patentmap-dropout", "patentmap-claims-summary-posneg", "patentmap-ipc", "patentmap-paraphrase"),
    *("patembed-multitask", "patembed-no-prompts", "patembed-distill-2"),
    *("colbert-contrastive", "colbert-distill", "splade", "reranker"),
)
MEASURES = {
    "mse": "if every text gets the mean",
    "late": "MaxSim",
    "late-distillation": "MaxSim",
    "sparse": "sparse",
    "reranker": "reranked",
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Data, the tables' families and bases of random weights. The teacher has 24 layers, as the paper's."""
    folder, corpus = tmp_path_factory.mktemp("shared"), small()
    bases = {"": write_bert(folder / "dense", length=32), "mse": write_bert(folder / "teacher", layers=24, length=32)}
    bases |= {"late": write_late(folder / "late", length=32), "sparse": write_sparse(folder / "sparse", length=32)}
    bases["reranker"] = write_reranker(folder / "reranker", folder / "dense-bare")
    rows = ({"id": one.publication_number, "text": f"In other words: {one.abstract}"} for one in corpus.patents)
    write_jsonl(folder / "paraphrases.jsonl", rows)
    return corpus, multitask.world_of(corpus), {name: str(path) for name, path in bases.items()}, folder


def _of(name):
    return pytest.param(name, marks=() if name in OF_EACH_KIND else pytest.mark.long)


@pytest.mark.slow
@pytest.mark.parametrize("name", map(_of, RECIPES))
def test_a_recipe_runs_to_its_card(name, shared, tmp_path, monkeypatch, capsys):
    corpus, world, bases, folder = shared
    monkeypatch.setattr(corpora, "read_corpus", lambda data, shares: corpus)
    monkeypatch.setattr(multitask, "world_of", lambda corpus: world)
    recipe = RECIPES[name]
    base = bases.get(recipe.loss.partition("-")[0], bases[""])
    settings = [
        "batch=8",
        "accumulation=1",
        "mini_batch=8",
        "checks=1",
        "check_steps=none",
        "pooling=any",
        "max_length=24",
    ]
    settings += ["width=16", "pca_sample=200"] if recipe.loss == "mse" else []
    words = [
        "train",
        name,
        "sample",
        "-m",
        base,
        "--out",
        str(tmp_path),
        "--device",
        "cpu",
        "--max-steps",
        "2",
        "--drop-leaks",
    ]
    words += [word for setting in settings for word in ("--set", setting)]
    words += ["--teacher", bases[""]] if recipe.loss == "late-distillation" else []
    words += ["--paraphrases", str(folder / "paraphrases.jsonl")] if recipe.signal == "paraphrase" else []
    assert main(words) == 0
    printed = capsys.readouterr().out
    (checkpoint,) = (tmp_path / "models").iterdir()
    record, card = training_record(checkpoint), (checkpoint / "README.md").read_text("utf-8")
    assert record["recipe"] == name and record["steps"] == 2
    assert "R0" in printed and MEASURES.get(recipe.loss, "held-out") in printed and re.search(r"[+-]\d\.\d{4}", printed)
    scores = card.partition("## Scores")[2]
    assert len(re.findall(r"^\| held-out .*\[[+-]\d.*\] \|$", scores, re.MULTILINE)) >= 2
    deviations = card.partition("Differences from the recipe:")[2]
    stated, chosen = asdict(recipe.settings), asdict(settings_for(recipe, settings))
    for key in stated:
        assert (f"* {key}={chosen[key]} instead of {stated[key]}\n" in deviations) == (chosen[key] != stated[key]), key
    assert "* at most 2 steps\n" in deviations and "is none of the paper's" in deviations
    assert ("fp16 needs a GPU" in deviations) == (recipe.settings.precision == "fp16")
    assert ("8bit needs a GPU" in deviations) == recipe.settings.optimiser.endswith("8bit")
    assert recipe.open in card
