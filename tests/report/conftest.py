"""Shared by the tests of the page."""

import shutil

import pytest
from report_folders import sample_world


@pytest.fixture(scope="session")
def browser():
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    executable = next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        pytest.skip("no Chromium is installed (on Debian: apt-get install chromium)")
    return executable


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """Results of three models on the sample, to be read only."""
    return sample_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def report_of_many(once):
    """A function that returns the results of many models, and the folder of their page and csv files, made once."""

    def write(folder, count):
        from many_models import many_models

        from patent_mteb import report

        many_models(folder / "many", count, queries=60)
        report.run(folder / "many", formats=("csv",), out=folder / "out", html=folder / "out")

    def get(count):
        folder = once(f"report of {count} models", lambda folder: write(folder, count))
        return folder / "many", folder / "out"

    return get
