"""Models that give what is no embedding: each task says so, none is scored on it, and the next one runs."""

from __future__ import annotations

import itertools
from itertools import product

import mteb
import numpy as np
import pytest
import torch
from classes import these_first
from small_data import HashEncoder

from patent_mteb.errors import ModelError
from patent_mteb.experiments import run
from patent_mteb.models import Passages
from patent_mteb.search.passages import TokenWindows
from patent_mteb.store import stored

TASKS = [
    "PatentMapAbsToAbsRetrieval.sample",
    "PatentMapClmToAllRetrieval.sample",
    "PatentMapIPCClassification.sample",
    "WIPOATEmergingClustering.sample",
    "PatenTEBParaProblem.sample",
    "PatenTEBBloom.sample",
]


def one(value):
    def spoil(vectors):
        vectors[0, 0] = value
        return vectors

    return spoil


def raising(error):
    def spoil(vectors):
        raise error

    return spoil


FAULTS = {
    "nan in one": one(np.nan),
    "inf in one": one(np.inf),
    "minus inf in one": one(-np.inf),
    "all nan": lambda v: np.full_like(v, np.nan),
    "all inf": lambda v: np.full_like(v, np.inf),
    "beyond float32": lambda v: v.astype(np.float64) * 1e200,
    "a length beyond float32": lambda v: np.full_like(v, 1e38),
    "no width": lambda v: v[:, :0],
    "a row too few": lambda v: v[:-1],
    "a row too many": lambda v: np.vstack([v, v[:1]]),
    "no rows": lambda v: v[:0],
    "one dimension": lambda v: v.reshape(-1),
    "three dimensions": lambda v: v[:, :, None],
    "turned": lambda v: v.T if v.shape[0] != v.shape[1] else v[:-1],
    "none": lambda v: None,
    "a number": lambda v: 1.0,
    "a text": lambda v: "vectors",
    "texts": lambda v: np.full(v.shape, "x"),
    "an object array": lambda v: np.array([{}] * len(v), dtype=object),
    "a dictionary": lambda v: {"embeddings": v},
    "a generator": lambda v: (row for row in v),
    "ragged lists": lambda v: [row[: 1 + number % 3].tolist() for number, row in enumerate(v)],
    "a tensor with nan": lambda v: torch.full(v.shape, torch.nan),
    "MemoryError": raising(MemoryError("out of memory")),
    "CUDA out of memory": raising(torch.OutOfMemoryError("CUDA out of memory")),
    "RuntimeError": raising(RuntimeError("broken")),
    "StopIteration": raising(StopIteration("end")),
    "RecursionError": raising(RecursionError("deep")),
    "SystemExit": raising(SystemExit(3)),
    "an error without a word": raising(ValueError()),
}
UNUSABLE = ["all nan", "a length beyond float32", "no width", "a row too few", "none", "a generator"]
"""Faults that one way of asking a model or another swallowed, or raised as what numpy or torch says of it."""
HARMLESS = {
    "a tensor": torch.as_tensor,
    "a tensor with gradient": lambda v: torch.as_tensor(v).requires_grad_(),
    "double precision": lambda v: v.astype(np.float64),
    "read-only": lambda v: np.broadcast_to(v, v.shape),
    "other memory order": np.asfortranarray,
}


class Faulty(HashEncoder):
    """The vectors of its base, spoiled."""

    def __init__(self, spoil, name="tests/faulty"):
        super().__init__(name)
        self.spoil = spoil

    def encode(self, inputs, **kwargs):
        return self.spoil(super().encode(inputs, **kwargs))


def outcomes(model, names, folder):
    return run.run(model, [mteb.get_task(name) for name in names], folder, show_progress=False).outcomes


def refused(spoil, names, folder, keep):
    """How many tasks were scored all the same, or gave their reason in more than a line."""
    model = Faulty(spoil)
    found = outcomes(stored(model, folder / "store") if keep else model, names, folder / "results")
    assert len(found) == len(names)
    return [
        outcome
        for outcome in found
        if outcome.status == "scored" or not outcome.reason or "Traceback" in outcome.reason
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "keep"),
    these_first(
        product(FAULTS, (False, True)), *product(FAULTS, (False,)), *product([*UNUSABLE, "MemoryError"], (True,))
    ),
)
def test_what_is_no_embedding_is_not_scored(tmp_path, fault, keep):
    assert not refused(FAULTS[fault], TASKS[:1], tmp_path, keep)


@pytest.mark.long
@pytest.mark.parametrize("keep", [False, True], ids=["plain", "store"])
def test_what_is_no_embedding_is_not_scored_in_any_task(tmp_path, keep, counted):
    wrong = {name: found for name, spoil in FAULTS.items() if (found := refused(spoil, TASKS, tmp_path / name, keep))}
    counted(
        f"model faults x tasks, {'store' if keep else 'plain'}",
        len(FAULTS) * len(TASKS),
        wrong=len(wrong),
        lost=0,
        tracebacks=0,
    )
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("form", HARMLESS)
def test_other_forms_of_the_same_vectors_give_the_same_score(tmp_path, form):
    sound = outcomes(HashEncoder(), TASKS[:1], tmp_path / "sound")
    found = outcomes(Faulty(HARMLESS[form]), TASKS[:1], tmp_path / "other")
    assert found[0].reason == "" and found[0].main == pytest.approx(sound[0].main, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["sections", "mteb's own search", "pairs", "passages"])
def test_what_is_no_embedding_is_named_whoever_asks(tmp_path, monkeypatch, way):
    task = TASKS[{"sections": 1, "pairs": 4}.get(way, 0)]
    monkeypatch.setenv("PATENT_MTEB_FAST", "0" if way == "mteb's own search" else "1")
    for fault in UNUSABLE:
        model = Faulty(FAULTS[fault])
        if way == "passages":
            model = Passages(model, splitter=TokenWindows(64))
        (found,) = outcomes(model, [task], tmp_path / fault)
        assert found.status == "skipped", (fault, found)
        assert f"model tests/faulty on task {task} gave" in found.reason, fault


@pytest.mark.slow
@pytest.mark.parametrize("keep", [False, True], ids=["plain", "store"])
@pytest.mark.parametrize(("task", "value"), [(TASKS[0], 0), (TASKS[0], 1), (TASKS[3], 1)])
def test_equal_vectors_are_not_scored(tmp_path, value, task, keep):
    model = Faulty(lambda v: np.full_like(v, value))
    (found,) = outcomes(stored(model, tmp_path / "store") if keep else model, [task], tmp_path / "results")
    assert found.status == "skipped" and f"tests/faulty on task {task} gave the same vector for all" in found.reason


def test_another_width_each_time_is_named(tmp_path):
    widths = itertools.count(1)
    model = Faulty(lambda v: np.hstack([v] * next(widths)))
    (found,) = outcomes(model, TASKS[:1], tmp_path / "results")
    assert found.status == "skipped" and "dimensions, and of" in found.reason
    (found,) = outcomes(stored(model, tmp_path / "store"), TASKS[:1], tmp_path / "results")
    assert found.status == "skipped" and "where it gave vectors of" in found.reason


@pytest.mark.slow
def test_a_type_that_arrays_lack_is_read_in_every_task(tmp_path):
    """bfloat16: eight bits of each number."""
    for task in (TASKS[0], TASKS[4]):
        sound, found = (outcomes(Faulty(form), [task], tmp_path / form.__name__)[0] for form in (np.asarray, bfloat16))
        assert found.reason == "" and found.main == pytest.approx(sound.main, abs=0.05)
        assert found.main != sound.main


def bfloat16(vectors):
    return torch.as_tensor(vectors).bfloat16().requires_grad_()


@pytest.mark.slow
def test_a_model_that_ends_the_process_ends_its_task_only(tmp_path):
    calls = itertools.count()

    def gives_up_once(vectors):
        if next(calls) == 5:  # after the five calls with fixed texts
            raise SystemExit(3)
        return vectors

    first, second = outcomes(Faulty(gives_up_once), TASKS[:2], tmp_path)
    assert (first.status, first.reason) == ("failed", "SystemExit: 3") and second.status == "scored"


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(ModelError, match="object is not an mteb model"):
        run.run(object(), [mteb.get_task(TASKS[0])], tmp_path)
