"""A loopback hub that the hub's client of this process talks to."""

import time
from contextlib import contextmanager
from types import SimpleNamespace

import huggingface_hub.utils._http as client
import pytest
from hub import TOKEN, Hub
from huggingface_hub import constants

from patent_mteb.data import hub as asked
from patent_mteb.data import sources
from patent_mteb.tasks.checks import TRUNCATED_VARIABLE


@contextmanager
def running(cache, patch):
    """A hub, and the client with a fresh cache, a token that opens the gates, and no patience."""
    with Hub() as made:
        patch.setattr(constants, "ENDPOINT", made.address)
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{made.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}")
        patch.setattr(constants, "HF_HUB_CACHE", str(cache))
        patch.setattr(constants, "HF_HUB_OFFLINE", False)
        patch.setattr(client, "time", SimpleNamespace(**{**vars(time), "sleep": lambda seconds: None}))
        patch.setenv("HF_TOKEN", TOKEN)
        patch.setenv(TRUNCATED_VARIABLE, "1")  # what is served has the layout of the releases, not their size
        patch.delenv(sources.DATA_VARIABLE, raising=False)
        asked.forget()
        yield made
    asked.forget()


@pytest.fixture
def hub(tmp_path, monkeypatch):
    with running(tmp_path / "hub", monkeypatch) as made:
        yield made


@pytest.fixture(scope="module")
def one_hub(tmp_path_factory):
    """The same for all tests of a file."""
    with pytest.MonkeyPatch.context() as patch, running(tmp_path_factory.mktemp("hub"), patch) as made:
        yield made
