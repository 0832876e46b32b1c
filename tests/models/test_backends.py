"""``--backend auto`` takes what is faster by a measurement, and says what it measured."""

from __future__ import annotations

import logging
import time

import pytest
from small_patents import Words

from patent_mteb.errors import ModelError
from patent_mteb.models import backends
from patent_mteb.models.backends import backend_arguments, fastest
from patent_mteb.models.loading import load
from patent_mteb.models.spec import AUTOCAST


class Slow(Words):
    """An encoder that takes a time for each text, in seconds of the clock below."""

    def __init__(self, clock, seconds):
        super().__init__(dims=32)
        self.clock, self.seconds, self.texts = clock, seconds, 0

    def encode(self, inputs, **options):
        vectors = super().encode(inputs, **options)
        self.texts += len(vectors)
        self.clock[0] += self.seconds * len(vectors)
        return vectors


@pytest.fixture
def measure(monkeypatch):
    """Run with the seconds a text of each candidate; returns the choice and the encoders."""
    clock, made = [0.0], {}
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(backends, "find_spec", lambda name: name in ("optimum", "openvino"))
    monkeypatch.setattr(backends, "calibration_texts", lambda: [f"text {number}" for number in range(100)])

    def run(seconds, precision=None):
        def load_with(precision=None, backend="torch"):
            name = precision if precision == AUTOCAST else backend
            if seconds[name] is None:
                raise ModelError("cannot be exported")
            made[name] = Slow(clock, seconds[name])
            return made[name]

        chosen = fastest(load_with, precision)
        return next(name for name, model in made.items() if model is chosen), made

    return run


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ((0.10, 0.20, 0.30), "torch"),
        ((0.10, 0.05, 0.30), AUTOCAST),
        ((0.10, 0.097, 0.098), "torch"),  # by less than 5%
        ((0.10, 0.05, 0.02), "openvino"),
        ((0.10, 0.05, None), AUTOCAST),
    ],
)
def test_the_fastest_is_used_if_it_is_faster_by_five_percent(measure, caplog, seconds, expected):
    with caplog.at_level(logging.INFO, logger="patent_mteb"):
        chosen, made = measure(dict(zip(("torch", AUTOCAST, "openvino"), seconds, strict=True)))
    assert chosen == expected and f"backend auto: {expected} is used" in caplog.text
    assert all(model.texts == 128 for model in made.values())  # 64 to warm up, 64 measured
    assert f"backend auto: torch, {1 / seconds[0]:.1f} texts a second, least cosine to torch 1.000000" in caplog.text
    assert ("openvino cannot be used: cannot be exported" in caplog.text) == (seconds[2] is None)


def test_a_given_precision_is_kept_and_torch_must_load(measure):
    assert measure({"torch": 0.1, "openvino": 0.2}, "bfloat16")[0] == "torch"
    with pytest.raises(ModelError, match="cannot be exported"):
        measure({"torch": None})


def test_the_remedy_for_missing_packages_can_be_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    for backend, said in (("onnx", "use openvino"), ("openvino", "an environment of its own pip install")):
        with pytest.raises(ModelError, match=said):
            backend_arguments(backend, None, {})
    with pytest.raises(ModelError, match="is not an encoder"):
        load("bm25-dapfam", backend="auto")
