"""A loopback hub, for the benchmarks that come from one."""

import pytest
from hub_server import running


@pytest.fixture
def hub(tmp_path, monkeypatch):
    with running(tmp_path / "hub", monkeypatch) as made:
        yield made
