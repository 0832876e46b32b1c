"""Work on a Ray cluster of several logical CPUs, of which a worker is killed in the middle: the same parts, the same
vectors.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest


def workers_of(root: Path, pattern: str, place: int) -> set[int]:
    """Processes other than this one that write below a folder, by the names of their files."""
    names = (path.name for path in root.rglob(pattern))
    return {int(name.replace("-", ".").split(".")[place]) for name in names} - {os.getpid()}


def kill_one(root: Path, pattern: str, place: int, killed: list[int]) -> None:
    """Kill the first worker that writes there."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for process in workers_of(root, pattern, place):
            os.kill(process, signal.SIGKILL)
            killed.append(process)
            return
        time.sleep(0.002)


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray")
    if sys.platform != "linux":
        pytest.skip("workers are killed by their numbers in the names of files")
    paths = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    yield ray
    ray.shutdown()


def content(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.suffix != ".partial"
    }


def test_an_import_on_ray_of_which_a_worker_is_killed_gives_the_same_parts(tmp_path, cluster):
    from patent_mteb.readers.importing import Work, import_files

    for place in range(4):
        rows = [f"US{7_000_000 + place * 100_000 + number}B2,Pump,US6000001B1" for number in range(2000)]
        (tmp_path / f"{place}.csv").write_text("\n".join(["publication_number,title,cites", *rows]) + "\n", "utf-8")
    files = sorted(tmp_path.glob("*.csv"))
    import_files(files, tmp_path / "here")
    killed: list[int] = []
    hunter = threading.Thread(target=kill_one, args=(tmp_path / "root", ".*.partial", -3, killed))
    hunter.start()
    told = []
    import_files(files, tmp_path / "root", work=Work(engine="ray", tell=told.append))
    hunter.join()
    assert killed
    assert content(tmp_path / "root") == content(tmp_path / "here")
    assert told[-1].documents == 8000 and told[-1].files == 4


@pytest.mark.long
def test_an_encoding_on_ray_of_which_a_worker_is_killed_gives_the_same_vectors(tmp_path, cluster):
    from small_data import dapfam_tables
    from store_contents import vectors
    from tiny_checkpoints import checkpoint

    from patent_mteb.experiments.encoding import Job, encode_on_ray, encode_share

    model = str(checkpoint(tmp_path / "models" / "tiny", 16, "mean", layers=1))
    dapfam_tables(tmp_path / "data", n_documents=400)

    def job(store: str) -> Job:
        tasks = ("PatentDAPFAMTAToTARetrieval", "PatentDAPFAMTACToTARetrieval")
        return Job(model, tmp_path / store, tmp_path / "data", tasks, encode_kwargs={"batch_size": 4})

    encode_share(job("here"))
    killed: list[int] = []
    hunter = threading.Thread(target=kill_one, args=(tmp_path / "store" / "spaces", "*.rows", 1, killed))
    hunter.start()
    encode_on_ray(job("store"), 2)
    hunter.join()
    assert killed
    found, expected = vectors(tmp_path / "store"), vectors(tmp_path / "here")
    assert found.keys() == expected.keys()
    assert found == expected
