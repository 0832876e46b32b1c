"""A loopback hub that the hub's client of this process talks to."""

import pytest
import released_layouts
from hub_server import running


@pytest.fixture
def hub(tmp_path, monkeypatch):
    with running(tmp_path / "hub", monkeypatch) as made:
        yield made


@pytest.fixture(scope="module")
def one_hub(tmp_path_factory):
    """The same for all tests of a file."""
    with pytest.MonkeyPatch.context() as patch, running(tmp_path_factory.mktemp("hub"), patch) as made:
        yield made


@pytest.fixture(scope="module")
def published(one_hub):
    """All released sets on a hub that takes full hashes only, and the commit of each."""
    return {key: released_layouts.publish(one_hub, key) for key in released_layouts.released()}
