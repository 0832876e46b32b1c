"""No command opens a connection, but those that fetch a model or data, or ask a server that the user names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from marked_list import write_list
from small_bases import write_bert

from patent_mteb.cli.app import COMMANDS

NAME = "sentence-transformers/all-MiniLM-L6-v2"
COMMIT = "8b3219a92973c328a8e22fadcfa821b5dc75636a"
"""The commit that mteb pins."""
AUDITED = """
import os, sys

def hear(event, args):
    if event.startswith(("socket.connect", "socket.getaddrinfo", "socket.gethostby")):
        os.write(2, f"opened {event} {args}".encode())
        os._exit(3)

sys.addaudithook(hear)
from patent_mteb.cli import main
for line in sys.argv[1:]:
    print(">", line, file=sys.stderr)
    if "own" in os.listdir():
        os.environ["PATENT_MTEB_DATA"] = "own"
    if status := main(line.split()):
        sys.exit(status)
"""
OWN = "-t OwnCitationRetrieval"
BEFORE = ["try list.csv -m bm25", "data import list.csv --out records", "data inspect records --most 0"]
BEFORE += ["data build wipo_at records own --name Own"]
ON_DATA = [
    "data validate own",
    f"run {OWN} -m bm25 --save-runs runs",
    f"run {OWN} -m {NAME} --save-runs runs --store store",
    f"geometry {OWN} -m {NAME} --out results --store store",
    f"store encode {OWN} -m {NAME} --store store",
    "store info --store store",
    "store verify --store store",
    "store prune --store store --older-than 9",
    f"runs candidates {OWN} -m bm25 --out candidates",
    "contamination --write leak-index",
    "report results --html site",
    "report results --html site --anonymous",
    "compare --results results",
    "publish board results board",
    "publish anonymous results without",
    "publish beir OwnCitationRetrieval beir",
]
ELSEWHERE = {
    "list": "asks the hub which data there are",
    "doctor": "asks the hub which data there are",
    "models verify": "asks the hub for files of the model",
    "publish mteb": "reads published data with --count",
    "publish model": "lists the files of a checkpoint and prints a command",
    "publish results": "as publish board",
    "publish check": "as report",
    "reproduce": "reads results as report does",
    "runs score": "reads a run as runs fuse does",
    "runs fuse": "takes runs by their paths",
    "runs sweep": "reads published data",
    "store merge": "as store verify",
    "train": "takes minutes",
    "data forget": "removes files of the cache",
    "data summarise": "asks the server that the user names",
    "edition build": "as data build",
    "edition baselines": "as run",
    "edition rebuild": "as data build",
    "edition verify": "as data build",
    "edition audit": "as data build",
}


@pytest.fixture
def folder(tmp_path):
    """A list of patents, and a checkpoint in the hub's cache under the name of one that mteb knows."""
    write_list(tmp_path / "list.csv", 40)
    write_bert(tmp_path / "model", layers=1)
    cached = tmp_path / "hub-home" / "hub" / f"models--{NAME.replace('/', '--')}"
    shutil.copytree(tmp_path / "model", cached / "snapshots" / COMMIT)
    return tmp_path


@pytest.mark.slow
def test_no_command_opens_a_connection(folder):
    """Until the last, which has to fetch its model: the hook hears it."""
    lines = [*BEFORE, *ON_DATA, "run -t PatentMapClmToAllRetrieval.sample -m datalyes/patembed-nano"]
    known = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PATENT_MTEB"))}
    known |= {"HF_HOME": str(folder / "hub-home"), "PATENT_MTEB_CACHE": str(folder / "cache")}
    command = [sys.executable, "-c", AUDITED, *lines]
    done = subprocess.run(
        command,
        cwd=folder,
        env=known | {"HF_ENDPOINT": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr[-3000:]
    said, _, opened = done.stderr.rpartition("opened socket.")
    assert said.rpartition("> ")[2].startswith(lines[-1]) and opened, done.stderr[-3000:]


def test_every_command_is_run_or_said_why_not():
    tried = {name for name in COMMANDS for line in (*BEFORE, *ON_DATA) if f"{line} ".startswith(f"{name} ")}
    assert tried | set(ELSEWHERE) == set(COMMANDS)
    assert not tried & set(ELSEWHERE)
