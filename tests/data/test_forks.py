"""A fork of a process that used polars builds and reads samples; polars itself would wait there for ever."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import pytest

_SECONDS = 300  # far more than it takes; without the new process the fork would not end


def _in_a_fork() -> None:
    from patent_mteb.data.loading import sample_root
    from patent_mteb.recipes import wipo_at

    folder = sample_root("wipo_at") / wipo_at.NAME
    assert wipo_at.check(folder) is not None


def main() -> None:
    import polars as pl

    from patent_mteb.data.loading import sample_root
    from patent_mteb.patents.tables import first_of_connected

    assert sample_root.__name__  # before the fork, as in a program that has imported the suite
    numbers = pl.DataFrame({"group": [row % 1000 for row in range(100_000)], "member": list(map(str, range(100_000)))})
    assert len(first_of_connected(numbers)) == 100_000
    fork = multiprocessing.get_context("fork").Process(target=_in_a_fork)
    fork.start()
    fork.join(_SECONDS)
    code = fork.exitcode
    fork.kill()
    sys.exit(99 if code is None else code)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_builds_and_reads_a_sample(tmp_path):
    environment = os.environ | {"PATENT_MTEB_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    main()
