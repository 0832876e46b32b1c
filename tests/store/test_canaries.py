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
from patent_mteb.models import Hybrid, Truncated, bm25, changed, load, stored
from patent_mteb.models import behaviour as canaries
from patent_mteb.models.behaviour import TEXTS, Behaviour, Canaries, behaviours
from patent_mteb.models.loading import find_meta
from patent_mteb.store.company import LARGEST, largest_distance

TASK = "PatentMapAbsToAbsRetrieval.sample"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny_checkpoints.checkpoint(tmp_path_factory.mktemp("models") / "tiny", 16, "mean")


class Drifting(HashEncoder):
    """Every call after the ``first`` ones adds ``step`` times another random vector."""

    def __init__(self, step, first=0, name="tests/drifting"):
        super().__init__(name)
        self.step, self.first, self.calls = step, first, 0

    def encode(self, inputs, **kwargs):
        found = super().encode(inputs, **kwargs)
        aside = np.random.default_rng(self.calls).standard_normal(found.shape).astype(np.float32)
        aside *= np.linalg.norm(found, axis=1, keepdims=True) / np.linalg.norm(aside, axis=1, keepdims=True)
        self.calls += 1
        return found + np.float32(self.step * (self.calls > self.first)) * aside


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
    watched = Canaries(Drifting(step, first=4))  # the calls of the first look
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


class Company(HashEncoder):
    """An encoder with a fault that only shows in what it returns for several texts, or for several calls."""

    def __init__(self, fault):
        super().__init__("tests/company")
        self.fault, self.calls, self.buffer = fault, 0, np.zeros((64, 256), np.float32)

    def encode(self, inputs, **kwargs):
        texts = [text for batch in inputs for text in batch["text"]]
        self.calls += 1
        return self.fault(self, texts, np.stack([self.vector(text) for text in texts]))


def in_the_buffer(model, texts, found):
    model.buffer[: len(found), : found.shape[1]] = found
    return model.buffer[: len(found), : found.shape[1]]


def words_of(model, texts, read):
    return np.stack([sum(model.vector(word) for word in read(text.split())) for text in texts])


FAULTS = {
    "sorted, shortest first": lambda model, texts, found: found[np.argsort([len(text) for text in texts])],
    "sorted, longest first": lambda model, texts, found: found[np.argsort([-len(text) for text in texts])],
    "sorted by the alphabet": lambda model, texts, found: found[np.argsort(texts)],
    "reversed": lambda model, texts, found: found[::-1],
    "rotated": lambda model, texts, found: np.roll(found, 1, axis=0),
    "shuffled": lambda model, texts, found: np.random.default_rng(model.calls).permutation(found),
    "mean of the call": lambda model, texts, found: found - found.mean(axis=0),
    "whitened by the call": lambda model, texts, found: (found - found.mean(axis=0)) / (found.std(axis=0) + 1e-6),
    "length of the call": lambda model, texts, found: found / np.abs(found).max(),
    "place in the call": lambda model, texts, found: found + 0.2 * np.arange(len(found))[:, None],
    "neighbour": lambda model, texts, found: found + np.roll(found, 1, axis=0),
    "the longest text pads": lambda model, texts, found: found * np.log(max(map(len, texts))),
    "number of the call": lambda model, texts, found: np.roll(found, model.calls, axis=1),
    "dropout": lambda model, texts, found: found * (np.random.default_rng(model.calls).random(found.shape) > 0.1),
    "size of the call": lambda model, texts, found: found + len(found) / 8,
    "a buffer that the next call overwrites": lambda model, texts, found: in_the_buffer(model, texts, found),
    "five words": lambda model, texts, found: words_of(model, texts, lambda words: words[:5]),
    "last words": lambda model, texts, found: words_of(model, texts, lambda words: words[-20:]),
    "words in the middle": lambda model, texts, found: words_of(
        model, texts, lambda words: words[len(words) // 2 - 10 : len(words) // 2 + 10]
    ),
    "first sentence": lambda model, texts, found: np.stack([model.vector(text.split(". ")[0]) for text in texts]),
    "first line": lambda model, texts, found: np.stack([model.vector(text.split("\n")[0]) for text in texts]),
    "lines as texts": lambda model, texts, found: np.stack(
        [model.vector(line) for line in "\n".join(texts).split("\n")[: len(texts)]]
    ),
    "a cache by length": lambda model, texts, found: np.stack(
        [vars(model).setdefault(f"text{len(text)}", row) for text, row in zip(texts, found, strict=True)]
    ),
    "sorted above 16 texts": lambda model, texts, found: found[np.argsort(texts)] if len(texts) > 16 else found,
    "30 words": lambda model, texts, found: words_of(model, texts, lambda words: words[:30]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_vectors_that_depend_on_other_texts_or_on_a_beginning_are_refused(fault):
    with pytest.raises(ModelError, match=r"tests/company gives (a text another vector|two texts)"):
        Canaries(Company(FAULTS[fault])).look()


@pytest.mark.parametrize("distance", [lambda cosine: 1 - cosine, lambda cosine: np.sqrt(2 - 2 * cosine), np.negative])
def test_a_similarity_that_is_a_distance_is_refused(distance):
    class Distance(HashEncoder):
        def similarity(self, ours, theirs):
            ours, theirs = (np.asarray(one) / np.linalg.norm(one, axis=1, keepdims=True) for one in (ours, theirs))
            return distance(np.clip(ours @ theirs.T, -1, 1))

    with pytest.raises(ModelError, match="it is a distance"):
        Canaries(Distance()).look()


def test_one_similarity_for_all_texts_is_refused():
    class Constant(HashEncoder):
        def similarity(self, ours, theirs):
            return np.full((len(ours), len(theirs)), 0.5)

    with pytest.raises(ModelError, match=r"its similarity of any two texts is 0\.5"):
        Canaries(Constant()).look()


HONEST = {
    "a buffer, copied": lambda model, texts, found: in_the_buffer(model, texts, found).copy(),
    "float16": lambda model, texts, found: found.astype(np.float16),
    "bfloat16": lambda model, texts, found: torch.as_tensor(found).bfloat16(),
    "noise of bfloat16": lambda model, texts, found: found * (1 + 0.01 * ((model.calls + len(texts)) % 3)),
    "noise of float32": lambda model, texts, found: found * np.float32(1 + 1e-6 * len(texts)),
    "int8": lambda model, texts, found: np.round(found * 40).astype(np.int8),
    "binary": lambda model, texts, found: np.where(found > 0, 1, -1).astype(np.int8),
    "lengths of the text": lambda model, texts, found: found * np.array([[1 + len(text) % 7] for text in texts]),
    "a gradient": lambda model, texts, found: torch.as_tensor(found).requires_grad_(),
    "not contiguous": lambda model, texts, found: np.repeat(found, 2, axis=1)[:, ::2],
    "half negative": lambda model, texts, found: found - np.float32(found.dtype.itemsize),
    "bag of words": lambda model, texts, found: words_of(model, texts, lambda words: words),
    "60 words": lambda model, texts, found: words_of(model, texts, lambda words: words[:60]),
    "constant": lambda model, texts, found: np.ones_like(found),  # the task warns of it
    "zero for short texts": lambda model, texts, found: found * np.array([[len(text) > 12] for text in texts]),
}


@pytest.mark.parametrize("form", HONEST)
def test_honest_vectors_are_accepted(form):
    Canaries(Company(HONEST[form])).look()


@pytest.mark.parametrize("similarity", [lambda a, b: a @ b.T, lambda a, b: -np.linalg.norm(a[:, None] - b, axis=2)])
def test_honest_similarities_are_accepted(similarity):
    class Similar(HashEncoder):
        def vector(self, text):
            return super().vector(text) * (1 + len(text) % 7)  # of other lengths

        def similarity(self, ours, theirs):
            return similarity(np.asarray(ours), np.asarray(theirs))

    Canaries(Similar()).look()


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 16])
def test_checkpoints_in_any_number_type_and_batch_are_accepted(checkpoint, limit):
    for dtype in ("float32", "bfloat16", "float16", "bfloat16-autocast"):
        model = load(str(checkpoint), precision=dtype, max_tokens=limit)
        for options in ({}, {"batch_size": 1}, {"batch_size": 3}):
            Canaries(model, options).look()


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
    for made in (Hybrid(bm25("dapfam"), Drifting(0.5, first=5)), Truncated(Drifting(0.5, first=5), 8)):
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
        ours, theirs = (Behaviour.read(one[0]) for one in (first, behaviours(changed(model))))
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
