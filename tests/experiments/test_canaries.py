"""Eight fixed texts at the start and the end of a run: what must be found, and what must not be taken for a fault."""

from __future__ import annotations

import logging

import mteb
import numpy as np
import pytest
import standins
from mteb.models.model_meta import ModelMeta
from worlds import HashEncoder

import patent_mteb
from patent_mteb.errors import ModelError
from patent_mteb.experiments import run
from patent_mteb.experiments.canaries import LARGEST, TEXTS, Canaries, drift_between
from patent_mteb.models import Hybrid, Truncated, bm25, load, stored

TASK = "PatentMapAbsToAbsRetrieval.sample"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return standins.checkpoint(tmp_path_factory.mktemp("models") / "tiny", 16, "mean")


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


def test_distances_and_cosines_are_those_of_numpy():
    draw = np.random.default_rng(0)
    ours = draw.standard_normal((8, 5))
    theirs = ours + 0.01 * draw.standard_normal((8, 5))
    found = drift_between(ours, theirs)
    pairs = list(zip(ours, theirs, strict=True))
    norm = np.linalg.norm
    assert found.distance == pytest.approx(max(norm(a - b) / max(norm(a), norm(b)) for a, b in pairs))
    assert found.cosine == pytest.approx(min(a @ b / norm(a) / norm(b) for a, b in pairs))
    assert not found.same and drift_between(ours, ours).same
    assert drift_between(ours, 2 * ours).distance == pytest.approx(0.5), "a length counts, which no cosine sees"
    assert drift_between(np.zeros((2, 3)), np.zeros((2, 3))).distance == 0
    with pytest.raises(ValueError):
        drift_between(ours, ours[:, :4])


def test_the_texts_are_eight_different_ones():
    assert len(set(TEXTS)) == 8
    assert list(map(len, TEXTS)) == sorted(map(len, TEXTS), reverse=True)


@pytest.mark.parametrize(("step", "found"), [(1e-5, "nothing"), (0.02, "warning"), (0.5, "error")])
def test_a_model_that_is_not_deterministic(caplog, step, found):
    canaries = Canaries(Drifting(step))
    canaries.look()
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        if found == "error":
            with pytest.raises(ModelError, match=r"at the start of the run \(relative distance up to 0\..*cosine down to .*they changed"):
                canaries.look()
        else:
            canaries.look()
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
    assert encoder.stats.encoded == 0 and encoder.stats.texts == len(TEXTS)
    assert encoder.store.info()[0].texts == len(TEXTS)


def test_another_type_of_number_is_said(checkpoint, caplog):
    model = load(str(checkpoint))
    canaries = Canaries(model)
    canaries.look()
    model.model.bfloat16()
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        canaries.look()
    assert "another type" in caplog.text
    full, half = (canaries._encoded(one) for one in (load(str(checkpoint)), model))
    drift = drift_between(full, half)
    assert 1e-3 < drift.distance < LARGEST and not drift.same


def test_weights_that_change_during_a_run(tmp_path):
    class Trained(HashEncoder):
        """Other vectors after the first task."""

        def vector(self, text):
            found = super().vector(text)
            return found if len(self.texts) < 200 else found[::-1].copy()

    report = run.run(Trained(), [mteb.get_task(TASK)], tmp_path / "results", show_progress=False)
    assert report.outcomes[0].status == "scored" and report.exit_status == 1
    assert "does not give the vectors that it gave at the start of the run" in report.doubt
    assert list((tmp_path / "results").rglob(f"{TASK}.json")), "what was measured is kept"
    with pytest.raises(ModelError, match="they changed while it ran"):
        patent_mteb.evaluate(Trained(), TASK)


def test_a_steady_run_has_no_doubt(tmp_path):
    model = HashEncoder()
    report = run.run(model, [mteb.get_task(TASK)], tmp_path / "results", show_progress=False)
    assert report.doubt == "" and report.exit_status == 0
    assert model.texts[: len(TEXTS)] == model.texts[-len(TEXTS) :] == list(TEXTS)


def test_encoders_inside_other_systems_are_watched():
    for made in (Hybrid(bm25("dapfam"), Drifting(0.5)), Truncated(Drifting(0.5), 8)):
        canaries = Canaries(made)
        canaries.look()
        with pytest.raises(ModelError, match="tests/drifting"):
            canaries.look()


def test_what_has_no_vectors_is_not_watched():
    canaries = Canaries(bm25("dapfam"))
    assert canaries.look() is None and canaries.look() is None
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

    canaries = Canaries(Odd())
    assert canaries.look() is None and canaries.look() is None
