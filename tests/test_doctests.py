"""Every public function says by an example what it is for, and every example of the package runs, offline."""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import enum
import importlib
import inspect
import shutil
import socket
from typing import Any
from unittest import mock

import pytest
from house import MODULES

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
INTERNAL = {
    "patent_mteb.cli": "the command line has pages of its own",
    "patent_mteb._mteb": "for the package alone",
    "patent_mteb.files": "for the package alone; users read and write by records, beir and trec",
}
"""Modules whose functions no user calls -> the reason."""

CLUSTER = "needs a Ray cluster; tests/test_ray.py"
WEIGHTS = "needs the weights of a model"
BASE = "what tasks are made of; a task is asked for by its name"
INNER = "the inner loop of DenseSearch, which has an example"
WITHOUT_EXAMPLE = {
    "patent_mteb.protocols.zero_shot.cross_encoder_scorer": WEIGHTS,
    "patent_mteb.models.zero_shot.load_gliner2": WEIGHTS,
    "patent_mteb.models.zero_shot.load_nli": WEIGHTS,
    "patent_mteb.models.registry.PatentEncoder": WEIGHTS,
    "patent_mteb.models.registry.load_plain": WEIGHTS,
    "patent_mteb.models.robustness.pruned": WEIGHTS,
    "patent_mteb.experiments.encoding.encode_on_ray": CLUSTER,
    "patent_mteb.parallel.ray_slots": CLUSTER,
    "patent_mteb.patents.stored.StoredPatents": "made by read_collection",
    "patent_mteb.readers.importing.merge_shares": "needs several imports; tests/readers/test_shares.py",
    "patent_mteb.recipes.wipo_at_documents.Documents": "made by read_documents",
    "patent_mteb.report.explorer.Explorer": "made for the page; tests/report/test_explorer.py",
    "patent_mteb.training.running.datasets_of": "called by run_seed",
    "patent_mteb.training.bases.add_head": WEIGHTS,
    "patent_mteb.training.bases.add_lora": WEIGHTS,
    "patent_mteb.training.bases.load_base": WEIGHTS,
    "patent_mteb.training.bases.without_head": WEIGHTS,
    "patent_mteb.training.checkpoints.finished": WEIGHTS,
    "patent_mteb.training.checkpoints.save_checkpoint": WEIGHTS,
    "patent_mteb.training.comparing.compare_tasks": "reads the results of two models",
    "patent_mteb.training.distilling.student_of": WEIGHTS,
    "patent_mteb.training.distilling.train_seed": WEIGHTS,
    "patent_mteb.training.geometry.GeometryWatch": WEIGHTS,
    "patent_mteb.training.late.check_base": WEIGHTS,
    "patent_mteb.training.late.train_seed": WEIGHTS,
    "patent_mteb.training.multitask.prepare": "minutes; train, which calls it, is in examples/train.py",
    "patent_mteb.training.negatives.with_negatives": WEIGHTS,
    "patent_mteb.training.preparing.prepare": "called by train, which is in examples/train.py",
    "patent_mteb.training.running.run_seed": WEIGHTS,
    "patent_mteb.training.verbs.train": "minutes; see examples/train.py",
    "patent_mteb.search.colbert.load_encoder": WEIGHTS,
    "patent_mteb.search.late_interaction.LateInteraction": WEIGHTS,
    "patent_mteb.search.late_interaction.late_interaction": WEIGHTS,
    "patent_mteb.tasks.base.PatentTask": BASE,
    "patent_mteb.tasks.metadata.PatentTaskMetadata": "a record, made by task_metadata",
    "patent_mteb.tasks.frozen.FrozenTask": BASE,
    "patent_mteb.tasks.pairs.PairTask": BASE,
    "patent_mteb.tasks.retrieval.PatentRetrieval": BASE,
    "patent_mteb.tasks.wipo_at_labels.LabelTask": BASE,
    "patent_mteb.protocols.logistic.fit_logistic": "the solver of linear_probe, which has an example",
    "patent_mteb.search.nearest.add_nearest": INNER,
    "patent_mteb.search.nearest.add_pairs": INNER,
    "patent_mteb.search.nearest.has_fast_bfloat16": INNER,
    "patent_mteb.store.encoder.StoredEncoder": "made by stored, which has an example",
    "patent_mteb.store.holding.Hold": "made by hold, which has an example",
    "patent_mteb.store.settings.LiveIdentity": "a base of models, which have examples",
}
"""Public functions and classes without an example -> the reason."""

EXAMPLES = sorted(module for module in MODULES if not module.endswith("__main__"))
PLOTS = {
    f"patent_mteb.report.{module}"
    for module in ("comparisons", "figures", "fitting", "fusion_plots", "geometry", "lines", "maps", "plots", "style")
}
"""Modules whose examples need matplotlib, which is an extra."""


def _is_called(value: Any) -> bool:
    """A function, or a class whose constructor a user calls: no record, no protocol, no abstract base, no error."""
    if not inspect.isclass(value):
        return callable(value) and inspect.isfunction(inspect.unwrap(value))
    record = dataclasses.is_dataclass(value) or issubclass(value, (tuple, dict, enum.Enum))
    return not (record or issubclass(value, BaseException) or inspect.isabstract(value) or getattr(value, "_is_protocol", False))


def _public() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in MODULES:
        if any(name == internal or name.startswith(f"{internal}.") for internal in INTERNAL):
            continue
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            value = getattr(module, public)
            if getattr(value, "__module__", "") == name and _is_called(value):
                found[f"{name}.{public}"] = value
    return found


def _has_example(value: Any) -> bool:
    return ">>>" in (inspect.getdoc(value) or "").partition("Example:\n")[2]


PUBLIC = _public()


def test_every_public_function_has_an_example():
    lacking = [name for name, value in PUBLIC.items() if name not in WITHOUT_EXAMPLE and not _has_example(value)]
    assert not lacking, f"write an 'Example:' with a '>>>', or a reason in WITHOUT_EXAMPLE: {', '.join(lacking)}"


def test_every_exception_is_still_one():
    assert not [name for name in WITHOUT_EXAMPLE if name not in PUBLIC or _has_example(PUBLIC[name])]
    assert INTERNAL.keys() <= MODULES.keys()


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """What ``patent-mteb run`` leaves behind, for the examples of the report: four models on four small tasks."""
    import mteb

    from patent_mteb.experiments.run import run
    from patent_mteb.models import Hybrid, Truncated, bm25

    folder = tmp_path_factory.mktemp("report") / "results"
    dense = mteb.get_model("mteb/baseline-random-encoder")
    names = ("PatentCitationRetrieval", "WIPOATAbstractToTARetrieval", "PatentDAPFAMTitleToTARetrieval", "PatentDAPFAMTitleToTAInRetrieval")
    with mock.patch.dict("os.environ", {"PATENT_MTEB_QUERY_SCORES": ""}):
        for model in (bm25("dapfam"), dense, Truncated(dense, 8), Hybrid(bm25("dapfam"), dense, alpha=0.5)):
            done = run(model, [mteb.get_task(f"{name}.sample") for name in names], folder, show_progress=False)
            assert {outcome.status for outcome in done.outcomes} == {"scored"}
    return folder


def _refuse(*address: object) -> None:
    raise OSError(f"an example reaches for the network: {address}")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_run(name, tmp_path, monkeypatch, request):
    """Each docstring in a folder of its own, which is empty but for results to report on; the environment is put back after it."""
    if name in PLOTS:
        pytest.importorskip("matplotlib")
    monkeypatch.setattr(socket.socket, "connect", _refuse)
    for number, example in enumerate(doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name)):
        if not example.examples:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        if name.startswith("patent_mteb.report"):
            shutil.copytree(request.getfixturevalue("results"), folder / "results")
        told: list[str] = []
        with contextlib.chdir(folder), mock.patch.dict("os.environ"):
            found = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(example, out=told.append)
        assert not found.failed, "".join(told)
