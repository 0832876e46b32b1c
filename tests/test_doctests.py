"""Every example in a docstring runs, offline."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import shutil
import socket
from unittest import mock

import pytest
from import_graph import MODULES

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
EXAMPLES = sorted(module for module in MODULES if not module.endswith("__main__"))
OPTIONAL = {"patent_mteb.experiments.terrier": "pyterrier"}
"""Modules that need a package that is optional."""


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """What ``patent-mteb run`` leaves behind, for the examples of the report: four models on four small tasks."""
    import mteb

    from patent_mteb.experiments.run import run
    from patent_mteb.models import Hybrid, Truncated, bm25

    folder = tmp_path_factory.mktemp("report") / "results"
    dense = mteb.get_model("mteb/baseline-random-encoder")
    names = (
        "PatentCitationRetrieval",
        "WIPOATAbstractToTARetrieval",
        "PatentDAPFAMTitleToTARetrieval",
        "PatentDAPFAMTitleToTAInRetrieval",
    )
    with mock.patch.dict("os.environ", {"PATENT_MTEB_QUERY_SCORES": ""}):
        for model in (bm25("dapfam"), dense, Truncated(dense, 8), Hybrid(bm25("dapfam"), dense, alpha=0.5)):
            done = run(model, [mteb.get_task(f"{name}.sample") for name in names], folder, show_progress=False)
            assert {outcome.status for outcome in done.outcomes} == {"scored"}
    return folder


def _refuse(*address: object) -> None:
    raise OSError(f"an example reaches for the network: {address}")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_run(name, tmp_path, monkeypatch, request):
    """Each docstring in a folder of its own, which is empty but for results to report on; the environment is put back
    after it.
    """
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    monkeypatch.setattr(socket.socket, "connect", _refuse)
    for number, example in enumerate(
        doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name)
    ):
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
