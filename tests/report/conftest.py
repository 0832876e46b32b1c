"""Shared by the tests of the page."""

import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    executable = next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        pytest.skip("no Chromium is installed (on Debian: apt-get install chromium)")
    return executable
