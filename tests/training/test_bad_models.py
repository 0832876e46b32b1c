"""Models that are broken, collapsed or stored in half precision: a stated stop, or a right result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from small_bases import BAD, changed, stored_in, write_bert, write_late, write_static
from small_jobs import job, small
from transformers import TrainerCallback

from patent_mteb.cli import main
from patent_mteb.errors import ModelError
from patent_mteb.models.folders import training_record
from patent_mteb.training.bases import load_base, stored_type, unit, vectors_of, warn_of_collapse
from patent_mteb.training.corpus import read_corpus
from patent_mteb.training.geometry_log import GeometryLog
from patent_mteb.training.jobs import train
from patent_mteb.training.model_kinds import open_base
from patent_mteb.training.preparing import Dense
from patent_mteb.training.recipes import Settings
from patent_mteb.training.running import _StopIfNotFinite


@pytest.fixture(scope="module")
def corpus():
    return small()


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("bases") / "bert", length=24, spread=0.1)


ANCHORS = r"\(anchors of held-out pairs, .*test.parquet\) gave"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("nan", r"has NaN or infinite weights \(1 of \d+ in .*word_embeddings.weight\). Remedy: "),
        ("overflowing", rf"{ANCHORS} NaN or infinite vectors for 100 of 100 texts, the first is text 1. Remedy: "),
        ("constant", rf"{ANCHORS} the same vector for all 100 texts. Remedy: "),
    ],
)
def test_a_broken_base_stops_before_training(corpus, bert, tmp_path, fault, said):
    base = changed(bert, tmp_path / fault, BAD[fault])
    with pytest.raises(ModelError, match=f"the base .* {said}"):
        train(job("wipo-r3", str(base), tmp_path / "run"), corpus, quiet=True)
    assert not list((tmp_path / "run").glob("seed-*")) and not (tmp_path / "run" / "held_out.json").exists()


@pytest.mark.slow
def test_a_collapsed_base_is_said(corpus, bert, tmp_path, caplog):
    base = changed(bert, tmp_path / "collapsed", BAD["collapsed"])
    train(job("wipo-r3", str(base), tmp_path / "run", "checks=1", max_steps=1), corpus, quiet=True)
    said = [one.message for one in caplog.records if "collapsed to one direction (effective rank 1.0000" in one.message]
    assert [one.split(":")[0].split()[1] for one in said] == ["base", "checkpoint"]


@pytest.mark.slow
def test_a_broken_teacher_stops(bert, tmp_path):
    base = changed(bert, tmp_path / "overflowing", BAD["overflowing"])
    asked = job("patembed-distill-2", str(base), tmp_path / "run", "width=8", drop_leaks=True)
    with pytest.raises(ModelError, match="NaN or infinite numbers"):
        train(asked, read_corpus("sample"), quiet=True)
    assert not list((tmp_path / "run").glob("seed-*"))


@pytest.mark.parametrize("rank_one", [0.0, 0.002, 0.02])
def test_effective_rank_is_that_of_the_singular_values(rank_one, caplog):
    """(sum of squares)^2 / sum of fourth powers, of rows of length one; a cosine of -1 is one direction too."""
    rng = np.random.default_rng(0)
    rows = (rng.choice([-3, 2], (200, 1)) * np.eye(1, 8) + rank_one * rng.normal(size=(200, 8))).astype(np.float32)
    spectrum = np.linalg.svd(unit(rows).astype(np.float64), compute_uv=False) ** 2
    rank = float(spectrum.sum() ** 2 / np.square(spectrum).sum())
    warn_of_collapse(rows, "m")
    said = f"m: the embeddings collapsed to one direction (effective rank {rank:.6f} of 8)"
    assert (said in caplog.text) is (rank < 1.0001)
    assert (rank < 1.0001) is (rank_one < 0.01)


class Encoder:
    """Gives vectors that were made before."""

    def __init__(self, vectors):
        self.vectors = vectors

    def encode(self, texts, show_progress_bar, convert_to_numpy):
        return self.vectors[: len(texts)]


BROKEN = np.where(np.arange(12)[:, None] == 4, np.nan, np.eye(12)).astype(np.float32)
TEXTS = [f"text {number}" for number in range(12)]


def test_every_evaluation_refuses_broken_vectors(corpus, bert, tmp_path):
    said = r"gave NaN or infinite vectors for 1 of 12 texts, the first is text 5. Remedy: "
    with pytest.raises(ModelError, match=rf"^m {said}"):
        vectors_of(Encoder(BROKEN), TEXTS, "m")
    with pytest.raises(ModelError, match=rf"^the base \(documents for hard negatives\) {said}"):
        Dense(Encoder(BROKEN), TEXTS)
    model = load_base(str(bert), Settings(), "wipo-r3", "cpu")
    watch = GeometryLog(model, corpus, tmp_path, 1)
    with torch.no_grad():
        model[0].model.embeddings.word_embeddings.weight.fill_(torch.nan)
    with pytest.raises(ModelError, match=r"the model at step 3 \(geometry .*\) gave NaN or infinite vectors for 60 of"):
        watch._measure(3)


def test_equal_texts_have_equal_vectors():
    """A query may have several documents, and two texts may differ after their last token only."""
    same = np.ones((12, 3), np.float32)
    assert np.array_equal(vectors_of(Encoder(same), ["one"] * 12, "m"), same)
    assert np.array_equal(vectors_of(Encoder(same), TEXTS[:9], "m"), same[:9])
    with pytest.raises(ModelError, match="m gave the same vector for all 12 texts"):
        vectors_of(Encoder(same), TEXTS, "m")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["nan", "overflowing", "constant"])
def test_a_broken_late_interaction_base_stops(corpus, tmp_path, fault):
    good = write_late(tmp_path / "good", length=24, spread=0.1)
    base = changed(good, tmp_path / "base", BAD[fault])
    said = {"nan": "infinite weights", "overflowing": "infinite token vectors for text 1", "constant": "same vector"}
    asked = job("colbert-contrastive", str(base), tmp_path / "run", "batch=8", "hard_negatives=0", max_steps=1)
    with pytest.raises(ModelError, match=said[fault]):
        train(asked, corpus, quiet=True)
    assert not list((tmp_path / "run").glob("seed-*"))


@pytest.mark.slow
def test_a_loss_of_nan_stops_at_its_step(bert, tmp_path, capsys):
    """By the command: the message names step and rate, the checkpoint of the step before stays, no model is saved."""
    out = tmp_path / "run"
    words = ["train", "wipo-r3", "sample", "-m", str(bert), "--out", str(out), "--max-steps", "6", "--device", "cpu"]
    settings = ["lr=1e20", "accumulation=1", "checks=6"]
    assert main([*words, *(word for one in settings for word in ("--set", one))]) == 2
    stderr = " ".join(capsys.readouterr().err.split())
    assert "step 0 of 6: validation loss " in stderr
    assert "loss is nan at step 2 of 6 (learning rate 8e+19 of at most 1e+20, fp32). The run stops;" in stderr
    assert "checkpoint-1 is kept. Remedy: a lower rate (--set lr=VALUE), and another --out" in stderr
    assert (out / "seed-42/checkpoint-1/whole").is_file()
    assert not list(out.glob("models/*")) and not (out / "held_out.json").exists()


@pytest.mark.slow
def test_a_gradient_of_nan_stops_at_its_step(corpus, tmp_path):
    """The loss is finite, the weights would not be after the step."""
    base = str(write_static(tmp_path / "static"))

    class Break(TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
            if state.global_step == 2:
                next(model.parameters()).grad[5, 0] = torch.inf

    said = r"the norm of the gradient is nan at step 3 of 18 .* no checkpoint was saved yet"
    with pytest.raises(ModelError, match=said):
        train(job("wipo-r3", base, tmp_path / "run"), corpus, callbacks=[Break()], quiet=True)


def test_the_scaler_of_fp16_may_skip_some_steps(tmp_path):
    """It halves its factor at each gradient that overflows; one that never becomes finite stops the run."""
    asked = job("wipo-r3", "base", tmp_path, "precision=fp16")
    watch = _StopIfNotFinite(asked, tmp_path, {}, "eval_loss")
    state = SimpleNamespace(global_step=0, max_steps=99)
    optimiser = SimpleNamespace(param_groups=[{"lr": 0.01}])
    watch.on_train_begin(None, state, None, optimizer=optimiser)
    layer = torch.nn.Linear(2, 1)
    half = SimpleNamespace(fp16=True)
    for value, number in ((torch.inf, 20), (1.0, 1), (torch.inf, 20)):
        layer.weight.grad = torch.full_like(layer.weight, value)
        for _ in range(number):
            watch.on_pre_optimizer_step(half, state, None, model=layer)
    with pytest.raises(ModelError, match="the norm of the gradient is nan at step 1 of 99"):
        watch.on_pre_optimizer_step(half, state, None, model=layer)


@pytest.mark.slow
def test_weights_that_broke_without_validation_are_not_measured(corpus, tmp_path):
    """At a rate of 1e30 loss and gradient stay finite, for vectors of infinite length have cosines of 0."""
    base = str(write_static(tmp_path / "static"))
    without = replace(corpus, patents=[*corpus.members("train"), *corpus.members("test")])
    with pytest.raises(ModelError, match=rf"the checkpoint .* {ANCHORS} NaN or infinite vectors for 100 of 100 texts"):
        train(job("wipo-r3", base, tmp_path / "run", "lr=1e30", max_steps=3), without, quiet=True)


def all_weights(folder):
    found = {}
    for path in sorted(Path(folder).rglob("*.safetensors")):
        found |= {f"{path.relative_to(folder)} {name}": weight for name, weight in load_file(path).items()}
    return found


def types(weights):
    return {weight.dtype for weight in weights.values()}


@pytest.mark.slow
def test_half_precision_is_trained_from_float32(corpus, bert, tmp_path):
    """Of a base in bfloat16 as many weights change as in float32, and the score is close to float32's."""
    shares, scores = {}, {}
    for dtype in (torch.float32, torch.bfloat16):
        name = str(dtype).removeprefix("torch.")
        base = stored_in(bert, tmp_path / name, dtype)
        asked = job("wipo-r3", str(base), tmp_path / f"run-{name}", "lr=2e-5", "batch=16", "checks=1", max_steps=8)
        done = train(asked, corpus, quiet=True)
        before, after = all_weights(base), all_weights(done.checkpoints[0])
        assert types(before) == {dtype} and types(after) == {torch.float32}
        moved = sum(int((before[key].float() != after[key]).sum()) for key in before)
        shares[name] = moved / sum(weight.numel() for weight in before.values())
        scores[name] = done.changes[0].after
        record = training_record(done.checkpoints[0])
        assert record["weights"] == {"stored": name, "trained": "float32", "autocast": "none"}
        card = (done.checkpoints[0] / "README.md").read_text()
        assert f"the base's are stored in {name}, trained in float32, autocast none" in card
    assert shares["float32"] > 0.4
    assert shares == pytest.approx(dict.fromkeys(shares, shares["float32"]), abs=0.02)
    assert scores == pytest.approx(dict.fromkeys(scores, scores["float32"]), abs=0.02)


@pytest.mark.slow
def test_autocast_is_said(corpus, bert, tmp_path):
    asked = job("wipo-r3", str(bert), tmp_path / "run", "precision=bf16", "checks=1", max_steps=1)
    (checkpoint,) = train(asked, corpus, quiet=True).checkpoints
    said = {"stored": "float32", "trained": "float32", "autocast": "bfloat16"}
    assert training_record(checkpoint)["weights"] == said and types(all_weights(checkpoint)) == {torch.float32}


def test_types_of_files(bert, tmp_path):
    assert stored_type(str(bert)) == stored_type(f"{bert}-bare") == "float32"
    late = write_late(tmp_path / "late", length=24)
    assert stored_type(str(stored_in(late, tmp_path / "half", torch.float16))) == "float16"
    asked = job("colbert-contrastive", str(tmp_path / "half"), tmp_path / "run")
    assert {weight.dtype for weight in open_base(asked.base, asked).parameters()} == {torch.float32}
    pickled = tmp_path / "pickled"
    pickled.mkdir()
    (pickled / "config.json").write_text(json.dumps({"torch_dtype": "bfloat16"}))
    assert stored_type(str(pickled)) == "bfloat16"
    assert stored_type(str(tmp_path)) == "unknown"
