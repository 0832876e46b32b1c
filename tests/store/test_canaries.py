"""Fixed texts at the start and the end of a run: what must be found, and what must not be taken for a fault."""

from __future__ import annotations

import json
import logging
import unicodedata

import mteb
import numpy as np
import pytest
import tiny_checkpoints
import torch
from mteb.models.model_meta import ModelMeta
from small_data import HashEncoder

import patent_mteb
from patent_mteb.errors import ModelError
from patent_mteb.experiments import run
from patent_mteb.models import Hybrid, Truncated, bm25, load, stored
from patent_mteb.models.loading import find_meta
from patent_mteb.store import canaries
from patent_mteb.store.canaries import LARGEST, TEXTS, Behaviour, Canaries, behaviours, largest_distance

TASK = "PatentMapAbsToAbsRetrieval.sample"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny_checkpoints.checkpoint(tmp_path_factory.mktemp("models") / "tiny", 16, "mean")


class Drifting(HashEncoder):
    """Every call adds ``step`` times a fixed random vector more to the one before."""

    def __init__(self, step, name="tests/drifting"):
        super().__init__(name)
        self.step, self.calls = step, 0

    def encode(self, inputs, **kwargs):
        found = super().encode(inputs, **kwargs)
        aside = np.random.default_rng(self.calls).standard_normal(found.shape).astype(np.float32)
        aside *= np.linalg.norm(found, axis=1, keepdims=True) / np.linalg.norm(aside, axis=1, keepdims=True)
        self.calls += 1
        return found + np.float32(self.step) * aside


def test_distances_are_those_of_numpy():
    draw = np.random.default_rng(0)
    ours = draw.standard_normal((8, 5))
    theirs = ours + 0.01 * draw.standard_normal((8, 5))
    pairs = list(zip(ours, theirs, strict=True))
    norm = np.linalg.norm
    assert largest_distance(ours, theirs) == pytest.approx(max(norm(a - b) / max(norm(a), norm(b)) for a, b in pairs))
    assert largest_distance(ours, ours) == 0
    assert largest_distance(ours, 2 * ours) == pytest.approx(0.5), "a length counts, which no cosine sees"
    assert largest_distance(np.zeros((2, 3)), np.zeros((2, 3))) == 0


def test_the_texts_differ_in_length_and_script():
    assert len(set(TEXTS)) == len(TEXTS)
    scripts = {unicodedata.name(letter).split()[0] for text in TEXTS for letter in text if letter.isalpha()}
    assert {"LATIN", "CJK", "HIRAGANA", "HANGUL", "CYRILLIC"} <= scripts
    assert len(TEXTS[0].split()) > 512
    assert list(map(len, TEXTS)) == sorted(map(len, TEXTS), reverse=True)


@pytest.mark.parametrize(("step", "found"), [(1e-5, "nothing"), (0.02, "warning"), (0.5, "error")])
def test_a_model_that_is_not_deterministic(caplog, step, found):
    watched = Canaries(Drifting(step))
    watched.look()
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        if found == "error":
            with pytest.raises(
                ModelError, match=r"at the start of the run \(relative distance up to 0\..*they changed"
            ):
                watched.look()
        else:
            watched.look()
    assert ("does not quite give the vectors" in caplog.text) == (found == "warning")


def test_a_noisy_model_is_found_at_the_start_of_its_first_run(tmp_path):
    """The store has just been given its vectors."""
    encoder = stored(Drifting(0.5), tmp_path / "store")
    with pytest.raises(ModelError, match="does not give the vectors that it gave in the store"):
        run.run(encoder, [mteb.get_task(TASK)], tmp_path / "results", show_progress=False)
    assert not list((tmp_path / "results").rglob("*.json"))


def test_other_weights_under_one_name_are_found_by_the_store(tmp_path, monkeypatch):
    class Other(HashEncoder):
        def vector(self, text):
            return super().vector(text)[::-1].copy()

    monkeypatch.setattr(HashEncoder, "stored_as", "tests.HashEncoder", raising=False)
    for _ in range(2):
        Canaries(stored(HashEncoder(), tmp_path / "store")).look()
    with pytest.raises(ModelError, match=f"in the store {tmp_path / 'store'} .*filled by other weights"):
        patent_mteb.evaluate(stored(Other(), tmp_path / "store"), TASK)


def test_the_store_holds_them_once(tmp_path):
    for _ in range(2):
        encoder = stored(HashEncoder(), tmp_path / "store")
        Canaries(encoder).look()
    assert encoder.stats.encoded == 0 and encoder.stats.texts == 2 * len(TEXTS), "once in each role"
    assert encoder.store.info()[0].texts == 2 * len(TEXTS), "an unknown encoder may distinguish roles"


@pytest.mark.slow
def test_another_type_of_number_is_said(checkpoint, caplog):
    model = load(str(checkpoint))
    watched = Canaries(model)
    watched.look()
    model.model.bfloat16()
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        watched.look()
    assert "another type" in caplog.text
    full, half = (canaries._vectors(one, {}) for one in (load(str(checkpoint)), model))
    assert 1e-3 < largest_distance(full, half) < LARGEST


def test_weights_that_change_during_a_run(tmp_path):
    class Trained(HashEncoder):
        """Other vectors after the first task."""

        def vector(self, text):
            found = super().vector(text)
            return found if len(self.texts) < 200 else found[::-1].copy()

    report = run.run(Trained(), [mteb.get_task(TASK)], tmp_path / "results", show_progress=False)
    assert report.outcomes[0].status == "scored" and report.exit_status == 1
    assert "does not give the vectors that it gave at the start of the run" in report.doubt
    assert list((tmp_path / "results").rglob(f"{TASK}.json")), "finished results stay"
    with pytest.raises(ModelError, match="they changed while it ran"):
        patent_mteb.evaluate(Trained(), TASK)


def test_a_steady_run_has_no_doubt(tmp_path):
    class Recording(HashEncoder):
        def __init__(self):
            super().__init__()
            self.calls = []

        def encode(self, inputs, **kwargs):
            self.calls.append(tuple(text for batch in inputs for text in batch["text"]))
            return super().encode(inputs, **kwargs)

    model = Recording()
    report = run.run(model, [mteb.get_task(TASK)], tmp_path / "results", show_progress=False)
    assert report.doubt == "" and report.exit_status == 0
    assert model.calls[:2] == model.calls[-2:] == [TEXTS, TEXTS], "in both roles, at the start and at the end"
    assert model.calls.count(TEXTS) == 4, "what its evidence says of it is worked out once"


def test_encoders_inside_other_systems_are_watched():
    for made in (Hybrid(bm25("dapfam"), Drifting(0.5)), Truncated(Drifting(0.5), 8)):
        watched = Canaries(made)
        watched.look()
        with pytest.raises(ModelError, match="tests/drifting"):
            watched.look()


def test_what_has_no_vectors_is_not_watched():
    watched = Canaries(bm25("dapfam"))
    assert watched.look() is None and watched.look() is None
    assert behaviours(bm25("dapfam")) == []
    assert Canaries(ModelMeta.create_empty({"name": "tests/meta", "revision": "1"})).look() is None


def test_weights_are_not_read_for_their_sake(tmp_path):
    def refuse(*args, **kwargs):
        raise AssertionError("the weights were read")

    meta = HashEncoder().mteb_model_meta.model_copy(update={"loader": refuse})
    encoder = stored(meta, tmp_path / "store")
    Canaries(encoder).look()
    assert not encoder.loaded


@pytest.mark.parametrize("fault", [ValueError("no such task"), float("nan"), "three rows"])
def test_an_encoder_that_does_not_take_them_is_left_to_its_tasks(fault):
    class Odd(HashEncoder):
        def encode(self, inputs, **kwargs):
            if isinstance(fault, Exception):
                raise fault
            found = super().encode(inputs, **kwargs)
            return found[:3] if fault == "three rows" else found * fault

    watched = Canaries(Odd())
    assert watched.look() is None and watched.look() is None
    assert behaviours(Odd()) == [None]


class TestBehaviour:
    def test_a_sketch_estimates_the_distance(self):
        draw = np.random.default_rng(1)
        ours = draw.standard_normal((24, 384))
        for step in (1e-6, 1e-3, 0.1):
            theirs = ours + step * draw.standard_normal(ours.shape)
            found = Behaviour.of(ours, 1e-3).distance(Behaviour.of(theirs, 1e-3))
            assert found == pytest.approx(largest_distance(ours, theirs), rel=0.6)
        assert Behaviour.of(ours, 1e-3).distance(Behaviour.of(ours[:, :128], 1e-3)) == np.inf

    def test_a_record_is_read_back(self):
        kept = Behaviour.of(np.random.default_rng(2).standard_normal((24, 32)), 0.01)
        record = json.loads(json.dumps(kept.record()))
        assert Behaviour.read(record).distance(kept) == 0
        assert len(json.dumps(record)) < 3000
        for damaged in (None, [], {}, {**record, "sketch": "?"}, {**record, "texts": 7}):
            assert Behaviour.read(damaged) is None

    def test_it_is_worked_out_once_for_a_state(self, checkpoint):
        model = load(str(checkpoint))
        calls = []
        encode = model.encode
        model.encode = lambda *args, **kwargs: calls.append(1) or encode(*args, **kwargs)
        first = behaviours(model)
        assert behaviours(model) == first and len(calls) == 2
        model.model[0].auto_model.encoder.layer[0].intermediate.intermediate_act_fn = torch.nn.ReLU()
        ours, theirs = (Behaviour.read(one[0]) for one in (first, behaviours(model)))
        assert not ours.same(theirs)

    def test_an_encoder_that_is_not_loaded_is_as_the_store_noted_it(self, checkpoint, tmp_path):
        first = stored(find_meta(str(checkpoint)), tmp_path / "store")
        _ = first.model
        Canaries(first).look()
        again = stored(find_meta(str(checkpoint)), tmp_path / "store")
        assert behaviours(again) == behaviours(first) != [None] and not again.loaded

    def test_a_cross_encoder_scores_fixed_pairs(self):
        (found,) = behaviours(mteb.get_model("mteb/baseline-random-cross-encoder"))
        assert Behaviour.read(found).sketch.shape == (8, 2)
