"""Every recipe of the table from the command to a checkpoint that sentence-transformers loads, on some of the sample
and tiny models.
"""

from __future__ import annotations

import gc
import json
import re
from dataclasses import asdict, replace

import numpy as np
import pytest
from classes import one_of_each
from pair_counts import naive_counts
from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder
from small_bases import write_bert, write_reranker, write_sparse
from tiny_colbert import write_checkpoint

from patent_mteb.cli import main
from patent_mteb.files import write_jsonl
from patent_mteb.models.folders import training_record
from patent_mteb.training import corpus as corpora
from patent_mteb.training import model_kinds, multitask
from patent_mteb.training.recipes import RECIPES, settings_for

MEASURES = {
    "mse": "if every text gets the mean",
    "late": "MaxSim",
    "late-distillation": "MaxSim",
    "sparse": "sparse",
    "reranker": "reranked",
}
SIZES = {"train": 120, "validation": 12, "test": 30}
TINY = ["batch=8", "accumulation=1", "mini_batch=8", "max_length=16", "checks=1", "lr=0.001"]


@pytest.fixture(scope="module")
def corpus():
    whole = corpora.read_corpus("sample")
    return replace(
        whole, patents=[patent for split, most in SIZES.items() for patent in list(whole.members(split))[:most]]
    )


@pytest.fixture(scope="module", autouse=True)
def few_objects():
    """Trainers collect garbage at the end of each run; what the imports made need not be walked through 34 times."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    """Bare transformers, so that each recipe gets the pooling that it asks for; as deep as the paper's where layers are
    kept.
    """
    folder = tmp_path_factory.mktemp("bases")
    write_bert(folder / "small", hidden=16, length=16)
    write_bert(folder / "deep", hidden=16, layers=24, length=16)
    late = write_checkpoint(folder / "late", "pylate")
    transformers = {"mse": folder / "deep-bare", "": folder / "small-bare"}
    sparse = write_sparse(folder / "sparse", length=16)
    reranker = write_reranker(folder / "reranker", folder / "small-bare")
    return {**transformers, "late": late, "late-distillation": late, "sparse": sparse, "reranker": reranker}


@pytest.fixture(scope="module")
def world(corpus):
    """PatenTEB's families and splits, made once for the six recipes that have them."""
    return multitask.world_of(corpus)


def kind_of(name):
    """What a recipe does; others of its kind have other numbers, tasks or sections (test_pairs.py)."""
    recipe, settings = RECIPES[name], RECIPES[name].settings
    return recipe.signal.partition(":")[0], recipe.loss, settings.prompts, settings.pooling


def check_card(card, recipe, chosen):
    """A card has the scores before and after, and names every deviation from the recipe and nothing else."""
    assert len(re.findall(r"^\| held-out .*\[[+-]\d.*\] \|$", card.partition("## Scores")[2], re.MULTILINE)) >= 2
    deviations = card.partition("Differences from the recipe:")[2]
    stated, changed = asdict(recipe.settings), asdict(chosen)
    for key in stated:
        assert (f"* {key}={changed[key]} instead of {stated[key]}\n" in deviations) == (changed[key] != stated[key]), (
            key
        )
    assert "* at most 2 steps\n" in deviations and "is none of the paper's" in deviations
    assert ("fp16 needs a GPU" in deviations) == (recipe.settings.precision == "fp16")
    assert ("8bit needs a GPU" in deviations) == recipe.settings.optimiser.endswith("8bit")
    assert recipe.open in card


@pytest.mark.slow
@pytest.mark.parametrize("name", one_of_each(RECIPES, kind_of))
def test_a_recipe_from_the_command_to_a_checkpoint(name, corpus, world, bases, tmp_path, monkeypatch, capsys):
    recipe = RECIPES[name]
    base = bases.get(recipe.loss, bases[""])
    settings = [*TINY, *(["width=8", "pca_sample=64", "pca_batch=32"] if recipe.loss == "mse" else [])]
    options = [word for setting in settings for word in ("--set", setting)]
    if recipe.signal == "paraphrase":
        write_jsonl(
            tmp_path / "said.jsonl",
            ({"id": one.publication_number, "text": f"Otherwise: {one.title}"} for one in corpus.patents),
        )
        options += ["--paraphrases", str(tmp_path / "said.jsonl")]
    if recipe.loss == "late-distillation":
        options += ["--teacher", str(bases[""])]
    monkeypatch.setattr(corpora, "read_corpus", lambda data, shares: corpus)
    monkeypatch.setattr(multitask, "world_of", lambda corpus: world)
    monkeypatch.setattr(model_kinds, "_CANDIDATES", 5)
    asked = f"train {name} sample -m {base} --out {tmp_path / 'run'} --max-steps 2 --drop-leaks".split()
    assert main([*asked, *options, "--device", "cpu", "-v", "0"]) == 0
    printed = capsys.readouterr().out
    assert "R0" in printed and MEASURES.get(recipe.loss, "held-out") in printed and re.search(r"[+-]\d\.\d{4}", printed)

    (checkpoint,) = (tmp_path / "run" / "models").iterdir()
    record = training_record(checkpoint)
    check_card((checkpoint / "README.md").read_text("utf-8"), recipe, settings_for(recipe, settings))
    assert record["recipe"] == name and record["steps"] == 2
    assert any(one.startswith(f"base {base.name} is none of the paper's") for one in record["deviations"])
    if name.startswith("wipo-"):
        counts = dict(zip(("wipo-r1", "wipo-r2", "wipo-r3"), naive_counts(corpus, "train"), strict=True))
        assert record["pairs"]["train"] == counts.get(name, sum(counts.values())), (
            "R4 and R3-matched: all three together"
        )
    modules = json.loads((checkpoint / "modules.json").read_text())
    assert all(one["type"].startswith("sentence_transformers.") for one in modules)
    texts = ["a pump with a rotor", "the user and the signal"]
    assert recipe.settings.checkpoint == "best" or record["best_step"] is None, "PatentMap §6.2: the final checkpoint"
    if recipe.loss.startswith("late"):
        from sentence_transformers.multi_vector_encoder.model import MultiVectorEncoder

        vectors = MultiVectorEncoder(str(checkpoint), device="cpu").encode_document(texts)
        assert all(np.isfinite(np.asarray(one)).all() for one in vectors)
        return
    if recipe.loss == "reranker":
        scores = CrossEncoder(str(checkpoint), device="cpu").predict([("a pump", text) for text in texts])
        assert scores.shape == (2,) and np.isfinite(scores).all()
        return
    if recipe.loss == "sparse":
        vectors = SparseEncoder(str(checkpoint), device="cpu").encode(texts, convert_to_sparse_tensor=False)
        assert vectors.shape[0] == 2 and (vectors >= 0).all()
        return
    model = SentenceTransformer(str(checkpoint), device="cpu")
    kinds = [type(module).__name__ for module in model]
    assert kinds == ["Transformer", "Pooling", *(["Dense"] if recipe.loss == "mse" else [])]
    assert model[1].pooling_mode == (recipe.settings.pooling if recipe.settings.pooling != "any" else "mean")
    tokenizer = model.tokenizer
    assert all(tokenizer.tokenize(f"a {token} pump")[1] == token for token in recipe.settings.section_tokens)
    vectors = model.encode(texts)
    assert vectors.shape == (2, 8 if recipe.loss == "mse" else 16) and np.isfinite(vectors).all()
    if recipe.loss == "mse":
        assert len(model[0].model.encoder.layer) == len(recipe.settings.layers)
