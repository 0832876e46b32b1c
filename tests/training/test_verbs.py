"""The run: it learns, it ends in a checkpoint without a head, it goes on after a kill, and it refuses bad input before
a step.
"""

from __future__ import annotations

import csv
import logging
import math
import os
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from small_bases import write_bert, write_static
from small_jobs import job, same, small, weights

from patent_mteb.cli import main
from patent_mteb.errors import DataError
from patent_mteb.files import folder_lock
from patent_mteb.models.folders import training_record
from patent_mteb.training import jobs
from patent_mteb.training.bases import HEAD
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.jobs import Outcome, train
from patent_mteb.training.leaks import LeakRecord
from patent_mteb.training.preparing import Job, Prepared
from patent_mteb.training.recipes import find_recipe, settings_for
from patent_mteb.training.running import _too_few


@pytest.fixture(scope="module")
def corpus():
    return small()


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    return str(write_static(tmp_path_factory.mktemp("bases") / "static"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return str(write_bert(tmp_path_factory.mktemp("bases") / "bert", pooling="cls"))


@pytest.mark.slow
def test_training_learns_and_says_what_it_did(corpus, static, tmp_path, caplog):
    """Random static vectors become better at finding the claim of an abstract, and two seeds give two checkpoints."""
    done = train(job("wipo-r3", static, tmp_path / "run", seeds=(42, 7), geometry=6), corpus, quiet=True)
    ndcg = done.changes[0]
    assert ndcg.measure == "ndcg@10" and ndcg.low > 0 and ndcg.p < 0.01 and ndcg.spread is not None
    assert len({one.name for one in done.checkpoints}) == 2
    record = training_record(done.checkpoints[0])
    assert record["contamination"] == "none found (1 test sets checked)" and record["seed"] == 42
    assert record["pairs"] == {"train": 260, "validation": 60, "test": 100}
    assert "lr=0.02 instead of 2e-05" in record["deviations"]
    card = (done.checkpoints[0] / "README.md").read_text()
    few = "18 optimiser steps are too few to learn much (fewer than 50): 260 pairs or texts, batch 32"
    assert record["steps"] == 18 and record["warnings"][0].startswith(few) and record["warnings"][0] in card
    assert [one.message for one in caplog.records if "optimiser steps" in one.message] == record["warnings"][:1]
    assert "wipo-r3" in card and corpus.revision in card and "sentence-transformers" in card
    steps = [int(line.split(",")[0]) for line in (tmp_path / "run/seed-42/geometry.csv").read_text().splitlines()[1:]]
    assert steps == [0, 6, 12, 18]
    rows = list(csv.DictReader((tmp_path / "run/seed-42/history.csv").open()))
    assert [int(row["step"]) for row in rows] == list(range(19)) and all(float(row["loss"]) > 0 for row in rows[1:])
    losses = [(int(row["step"]), float(row["eval_loss"])) for row in rows if row["eval_loss"]]
    assert losses[-1][1] < losses[0][1]
    assert losses == [(row["step"], pytest.approx(row["eval_loss"])) for row in record["validation"]]
    again = train(job("wipo-r3", static, tmp_path / "run", seeds=(42, 7), geometry=6), corpus, quiet=True)
    assert again.checkpoints == done.checkpoints and again.changes == done.changes
    with pytest.raises(DataError, match=r"holds another run \(other settings\)"):
        train(job("wipo-r3", static, tmp_path / "run", "lr=0.01", seeds=(42, 7), geometry=6), corpus)


@pytest.mark.slow
def test_a_projection_head_is_trained_and_gone(corpus, tmp_path):
    """PatentMap: CLS, linear + tanh on top while training; the checkpoint has the modules of its base, with other
    weights.
    """
    bert = str(write_bert(tmp_path / "bert", pooling="cls", spread=0.2))
    done = train(
        job("patentmap-claims-posneg", bert, tmp_path / "run", "max_length=32", "checks=1", "lr=0.001", max_steps=2),
        corpus,
        quiet=True,
    )
    saved, base = (SentenceTransformer(str(place), device="cpu") for place in (done.checkpoints[0], bert))
    assert [type(one) for one in saved] == [type(one) for one in base] and HEAD not in dict(saved.named_children())
    assert not [path for path in done.checkpoints[0].rglob("*") if "Dense" in path.name]
    last = sorted((tmp_path / "run/seed-42").glob("checkpoint-*"))[-1]
    assert [path for path in last.rglob("*") if "Dense" in path.name], "while it was trained it had one"
    assert not np.array_equal(saved.encode("a pump"), base.encode("a pump"))


@pytest.mark.slow
def test_lora_is_merged(corpus, bert, tmp_path):
    pytest.importorskip("peft")
    done = train(
        job("wipo-r3", bert, tmp_path / "run", "max_length=32", "checks=1", "lr=0.001", lora=4, max_steps=2),
        corpus,
        quiet=True,
    )
    (file,) = weights(done.checkpoints[0]).values()
    (before,) = weights(Path(bert)).values()
    assert file.keys() == before.keys()
    changed = {name for name in file if not np.array_equal(file[name], before[name])}
    assert changed and all(file[name].ndim == 2 and "embeddings" not in name for name in changed)
    saved = SentenceTransformer(str(done.checkpoints[0]), device="cpu")
    assert not np.allclose(saved.encode("a pump"), SentenceTransformer(bert, device="cpu").encode("a pump"), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "options"), [((), {"lora": 4}), (("head=tanh",), {})], ids=["lora", "head"])
def test_the_base_is_kept_where_no_checkpoint_is_better(corpus, bert, tmp_path, caplog, settings, options):
    """A rate of 30 makes every checkpoint worse than the base: the base's weights are saved, and the record says so."""
    if options:
        pytest.importorskip("peft")
    rate = ("max_length=24", "lr=30", "checks=2", *settings)
    asked = job("wipo-r3", bert, tmp_path / "run", *rate, max_steps=2, **options)
    with caplog.at_level(logging.INFO, logger="patent_mteb"):
        done = train(asked, corpus, quiet=True)
    same(weights(done.checkpoints[0]), weights(Path(bert)))
    assert all(one.difference == 0 and one.before == one.after for one in done.changes)
    record = training_record(done.checkpoints[0])
    first, *others = [row["eval_loss"] for row in record["validation"]]
    assert first <= min(others) and first < others[-1]  # the first step of the warm-up has a rate of 0
    said = f"no checkpoint is better than the base: validation loss {first:.4f} before the first step"
    assert record["best_step"] == 0 and record["warnings"][-1].startswith(said)
    assert record["warnings"][-1] in caplog.text and f"step 0 of 2: validation loss {first:.4f}" in caplog.text
    assert "checkpoint: step 0, before training" in (done.checkpoints[0] / "README.md").read_text()


@pytest.mark.parametrize(
    ("settings", "most", "rows", "said"),
    [
        ([], None, 1172, "6 .* batch 32, accumulation 32, epochs 3. Remedy: --set accumulation=1, which gives 111$"),
        (["accumulation=1"], 49, 1172, "49 optimiser steps .* Remedy: raise --max-steps$"),
        (["accumulation=1"], 50, 1172, "^$"),
        (["accumulation=1"], 40, 100, "12 optimiser steps .* Remedy: more records, a smaller batch or more epochs"),
        (["accumulation=1"], None, 1172, "^$"),
    ],
)
def test_the_remedy_for_few_steps(settings, most, rows, said):
    recipe = find_recipe("wipo-r3")
    asked = Job(recipe=recipe, settings=settings_for(recipe, settings), base="base", out=Path("run"), max_steps=most)
    assert re.search(said, _too_few(math.ceil(rows / 32), rows, asked))


KILLED = """
import os, signal
from pathlib import Path
from transformers import TrainerCallback
from small_jobs import job, small
from patent_mteb.training.jobs import train

class Kill(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 5:
            os.kill(os.getpid(), signal.SIGKILL)

asked = job("wipo-r3", {base!r}, Path({out!r}), "max_length=24", "batch=16", "lr=0.001", "checks=4", max_steps=8)
train(asked, small(), callbacks=[Kill()], quiet=True)
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_weights_of_an_unbroken_one(corpus, bert, tmp_path, python):
    """With dropout, so that the state of the random numbers matters; a checkpoint that was cut short is not resumed
    from.
    """
    whole = train(
        job("wipo-r3", bert, tmp_path / "whole", "max_length=24", "batch=16", "lr=0.001", "checks=4", max_steps=8),
        corpus,
        quiet=True,
    )
    code = KILLED.format(base=bert, out=str(tmp_path / "killed"))
    helpers = {"PYTHONPATH": str(Path(__file__).parents[1] / "helpers")}
    done = subprocess.run([python, "-c", code], env=os.environ | helpers, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    work = tmp_path / "killed" / "seed-42"
    assert not (work / "done.json").exists() and (work / "checkpoint-4" / "whole").is_file()
    torn = work / "checkpoint-5"
    torn.mkdir()
    (torn / "model.safetensors").write_bytes(b"torn")
    resumed = train(
        job("wipo-r3", bert, tmp_path / "killed", "max_length=24", "batch=16", "lr=0.001", "checks=4", max_steps=8),
        corpus,
        quiet=True,
    )
    same(weights(whole.checkpoints[0]), weights(resumed.checkpoints[0]))
    assert resumed.checkpoints[0].name == whole.checkpoints[0].name, "and so the same name"
    assert resumed.changes == whole.changes
    assert training_record(resumed.checkpoints[0]) == training_record(whole.checkpoints[0])
    assert [row["step"] for row in training_record(resumed.checkpoints[0])["validation"]] == [0, 2, 4, 6, 8]


def test_bad_input_stops_before_training(corpus, static, bert, tmp_path):
    unlabelled = replace(corpus, name="mine", patents=[replace(patent, labels=()) for patent in corpus.patents])
    with pytest.raises(DataError, match="no publication of the train split has a fine label"):
        train(job("wipo-r1", static, tmp_path / "1"), unlabelled)
    with pytest.raises(DataError, match="has no pooling of tokens, and recipe patentmap-claims trains cls pooling"):
        train(job("patentmap-claims", static, tmp_path / "2"), corpus)
    with pytest.raises(DataError, match="pools by cls, and recipe qaecter trains mean"):
        train(job("qaecter", bert, tmp_path / "3"), corpus)
    few = Corpus("few", list(corpus.members("train"))[:20], [], corpus.split)
    with pytest.raises(DataError, match=r"20 training pairs \(pairs\) are fewer than one batch of 32"):
        train(job("wipo-r3", static, tmp_path / "4"), few)
    bare = replace(corpus, patents=[replace(patent, abstract="") for patent in corpus.patents])
    with pytest.raises(
        DataError, match=r"^0 training pairs .*left out: \d+ publications without abstract or (?!.*batch=)"
    ):
        train(job("wipo-r3", static, tmp_path / "8"), bare)
    with pytest.raises(DataError, match="is not a late-interaction checkpoint"):
        train(job("colbert-contrastive", bert, tmp_path / "5"), corpus)
    with pytest.raises(DataError, match="the paraphrases are missing"):
        train(job("patentmap-paraphrase", bert, tmp_path / "6"), corpus)
    with pytest.raises(DataError, match="wipo-r3 has no separate teacher"):
        train(job("wipo-r3", static, tmp_path / "7", teacher=bert), corpus)
    assert not list(tmp_path.glob("*/seed-*")) and not list(tmp_path.glob("*/job.json"))


@pytest.mark.slow
def test_a_refused_job_leaves_its_folder_free_and_a_running_one_does_not(corpus, static, tmp_path):
    """A family of the test split in train: the remedy is another option, for the same folder; pairs of the refused job
    are made again.
    """
    moved = corpus.members("test")[0].family_id
    careless = replace(corpus, split={**corpus.split, moved: "train"}, patents=corpus.patents)
    held = [patent for patent in corpus.patents if patent.family_id == moved]
    twin = replace(held[0], publication_number="EP7777777A1", family_id="another")
    careless = replace(careless, patents=[*corpus.patents, twin], split={**careless.split, "another": "test"})
    quick = ("checks=1", "epochs=1")
    with pytest.raises(DataError, match="--drop-leaks"):
        train(job("wipo-r3", static, tmp_path / "run", *quick), careless, quiet=True)
    done = train(job("wipo-r3", static, tmp_path / "run", *quick, drop_leaks=True, max_steps=2), careless, quiet=True)
    assert done.prepared.leaks.leaking == len(held) and done.prepared.sets[0].rows == 260
    assert (
        f"{len(held)} of {261 + 60} pairs removed (the test split of the data: "
        in (done.checkpoints[0] / "README.md").read_text()
    )
    with (
        folder_lock(tmp_path / "run", writer="training"),
        pytest.raises(DataError, match="another training writes here"),
    ):
        train(job("wipo-r3", static, tmp_path / "run", *quick, drop_leaks=True, max_steps=2), careless, quiet=True)


def test_what_no_training_made_is_not_removed(corpus, static, tmp_path):
    """``--out .`` in a folder that has other folders of the names that a training uses."""
    for name in ("pairs", "tables"):
        own = tmp_path / name / "run" / name / "own.csv"
        own.parent.mkdir(parents=True)
        own.write_text("mine")
        with pytest.raises(
            DataError, match=rf"{name}: the training would overwrite a folder that no training has written"
        ):
            train(job("wipo-r3", static, tmp_path / name / "run"), corpus, quiet=True)
        assert own.read_text() == "mine"


def test_tasks_without_a_score_are_reported_and_change_the_exit_status(static, tmp_path, monkeypatch, capsys):
    """One whose data are on the hub, one that is mteb's own: neither is of the training's data."""
    prepared = Prepared((), "", {}, {}, LeakRecord({}, [], 0, 0, 0, {}, [], False))
    monkeypatch.setattr(jobs, "train", lambda job, corpus, quiet: Outcome((), prepared, ()))
    words = ["train", "wipo-r3", "sample", "-m", static, "--out", str(tmp_path), "--device", "cpu"]
    assert main(words) == 0
    assert main([*words, "--evaluate", "PatentDAPFAMTACToTACRetrieval", "NFCorpus"]) == 1
    errors = " ".join(capsys.readouterr().err.split())
    assert "PatentDAPFAMTACToTACRetrieval: skipped: " in errors and "NFCorpus: " in errors and "Traceback" not in errors
