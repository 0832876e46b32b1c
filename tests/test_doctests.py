"""Every public function says by an example what it is for, and every example of the package runs, offline."""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import enum
import importlib
import inspect
import socket
from typing import Any
from unittest import mock

import pytest
from house import MODULES

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
UNDOCUMENTED = ("patent_mteb.cli", "patent_mteb._mteb")
"""The command line has its own pages and tests; ``_mteb.py`` is for the package alone."""

WEIGHTS = "needs the weights of a model"
BASE = "what the tasks are made of: a task is asked for by name"
WITHOUT_EXAMPLE = {
    "patent_mteb.protocols.zero_shot.cross_encoder_scorer": WEIGHTS,
    "patent_mteb.models.registry.PatentEncoder": WEIGHTS,
    "patent_mteb.models.registry.load_plain": WEIGHTS,
    "patent_mteb.models.robustness.pruned": WEIGHTS,
    "patent_mteb.search.colbert.load_encoder": WEIGHTS,
    "patent_mteb.search.late_interaction.LateInteraction": WEIGHTS,
    "patent_mteb.search.late_interaction.late_interaction": WEIGHTS,
    "patent_mteb.tasks.base.PatentTask": BASE,
    "patent_mteb.tasks.base.PatentTaskMetadata": "a record, as mteb's own",
    "patent_mteb.tasks.frozen.FrozenTask": BASE,
    "patent_mteb.tasks.retrieval.PatentRetrieval": BASE,
    "patent_mteb.protocols.linear_probe.fit_logistic": "the solver of linear_probe, which has an example",
    "patent_mteb.search.nearest.add_nearest": "the inner loop of DenseSearch, which has an example",
    "patent_mteb.search.nearest.add_pairs": "the inner loop of DenseSearch, which has an example",
    "patent_mteb.search.nearest.has_fast_bfloat16": "says what the processor can",
}
"""Public functions and classes without an example -> the reason."""

DOCUMENTED = sorted(module for module in MODULES if not module.startswith(UNDOCUMENTED) and not module.endswith("__main__"))


def _is_called(value: Any) -> bool:
    """A function, or a class whose constructor a user calls: no record, no protocol, no abstract base, no error."""
    if not inspect.isclass(value):
        return inspect.isfunction(inspect.unwrap(value)) if callable(value) else False
    record = dataclasses.is_dataclass(value) or issubclass(value, (tuple, dict, enum.Enum))
    return not (record or issubclass(value, BaseException) or inspect.isabstract(value) or getattr(value, "_is_protocol", False))


def _public() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in DOCUMENTED:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            value = getattr(module, public)
            if getattr(value, "__module__", "") == name and _is_called(value):
                found[f"{name}.{public}"] = value
    return found


def _has_example(value: Any) -> bool:
    return ">>>" in (inspect.getdoc(value) or "").partition("Example:\n")[2]


PUBLIC = _public()


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in WITHOUT_EXAMPLE])
def test_every_public_function_has_an_example(name):
    assert _has_example(PUBLIC[name]), f"{name} needs an 'Example:' with a '>>>', or a reason in WITHOUT_EXAMPLE"


@pytest.mark.parametrize("name", WITHOUT_EXAMPLE)
def test_every_exception_is_still_one(name):
    assert name in PUBLIC, f"{name} is no public function any more"
    assert not _has_example(PUBLIC[name]), f"{name} has an example"


def _refuse(*address: object) -> None:
    raise OSError(f"an example reaches for the network: {address}")


def _examples(name: str) -> list[doctest.DocTest]:
    return doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_examples_run(name, tmp_path, monkeypatch):
    """Each docstring in an empty folder; what it sets in the environment is taken back."""
    monkeypatch.setattr(socket.socket, "connect", _refuse)
    for number, example in enumerate(_examples(name)):
        folder = tmp_path / str(number)
        folder.mkdir()
        told: list[str] = []
        with contextlib.chdir(folder), mock.patch.dict("os.environ"):
            found = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(example, out=told.append)
        assert not found.failed, "".join(told)
