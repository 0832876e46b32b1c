"""Commands that are killed at each change of a file they make, and then repeated: the outcome is that of an unbroken
one.

A change is an open for writing, a write (killed in its middle), a rename, a removal or a new folder, made by whatever
code. Without ``-m long`` up to four of the first changes of each kind to each file are taken.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from classes import these_first
from kill_at_write import COMPILER, Blow, Done, Killer, killer
from report_folders import add, model_folder
from small_data import dapfam_tables
from small_patents import world
from tiny_checkpoints import checkpoint

from patent_mteb.experiments.sweep import PHASES
from patent_mteb.patents.records import Citation, Patent, write_records
from patent_mteb.store import EmbeddingStore

pytestmark = pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="needs a C compiler and Linux")

TASK = "PatentDAPFAMTAToTARetrieval"
SEEN_WHEN = {"evaluation_time", "evaluation_phases", "date", "kg_co2_emissions", "timestamp", "cost", "seal"}
"""What two unbroken runs differ in."""


@dataclass(frozen=True)
class Case:
    """A command, and what is there before it.

    Attributes:
        command: the arguments; ``{}`` stands for the folder of the case.
        environment: variables, by name. ``{shared}`` in both stands for the folder of what all cases share.
        copies: folders of the shared one that the command changes.
    """

    command: str
    environment: dict[str, str]
    copies: tuple[str, ...] = ()

    def folder(self, path: Path, shared: Path) -> Path:
        """The folder of the case, ready to run in."""
        path.mkdir()
        for name in self.copies:
            shutil.copytree(shared / name, path / name)
        return path

    def run(self, server: Killer, folder: Path, shared: Path, nth: int = 0, blow: Blow | None = None) -> Done:
        def filled(text: str) -> str:
            return text.replace("{shared}", str(shared)).replace("{}", str(folder))

        environment = {name: filled(value) for name, value in self.environment.items()}
        return server.run(filled(self.command).split(), [folder], nth, blow, **environment)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Killer]:
    with killer(tmp_path_factory.mktemp("killer")) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory, server) -> Path:
    """What the cases have in common: small data, records, two tiny models and a store with vectors of both, a result to
    export.
    """
    shared = tmp_path_factory.mktemp("kills")
    dapfam_tables(shared / "data")
    patents, citations = world(30)
    write_records(shared / "patents.parquet", Patent, patents)
    write_records(shared / "citations.parquet", Citation, citations)
    export(shared / "export")
    folder = model_folder(
        shared / "real", "sentence-transformers/all-MiniLM-L6-v2", "8b3219a92973c328a8e22fadcfa821b5dc75636a"
    )
    add(folder, "PatentDAPFAMTACToTACRetrieval", 0.5, kind="real")
    for seed, name in enumerate(("tiny", "other")):
        model = checkpoint(shared / "models" / name, 16, "mean", layers=1, seed=seed)
        command = f"run -m {model} --device cpu -t {TASK} --store {shared}/store --output-folder {shared}/filled"
        found = server.run(command.split(), [], PATENT_MTEB_DATA=shared / "data", PATENT_MTEB_CACHE=shared / "cache")
        assert found.status == 0, found.said
    return shared


def export(folder: Path) -> None:
    """Three tables, each of which repeats the last patent of the one before, one with a row without a number."""
    folder.mkdir()
    for place in range(3):
        rows = [
            f"US{number}B2,Pump {number},US{number - 1}B2"
            for number in range(7_000_000 + 9 * place, 7_000_010 + 9 * place)
        ]
        (folder / f"{place}.csv").write_text(
            "\n".join(["publication_number,title,cites", *rows, ",Nameless,"]) + "\n", "utf-8"
        )


DATA = {"PATENT_MTEB_DATA": "{shared}/data", "PATENT_MTEB_CACHE": "{shared}/cache"}
MODEL = "-m {shared}/models/tiny --device cpu --store {}/store"
CASES = {
    "run of bm25": Case(f"run -m bm25-dapfam -t {TASK} --output-folder {{}}/results --no-store", DATA),
    "run with its trec files": Case(
        f"run -m bm25-dapfam -t {TASK} --output-folder {{}}/results --no-store", {**DATA, "PATENT_MTEB_RUNS": "{}/runs"}
    ),
    "run of an encoder": Case(f"run {MODEL} -t {TASK} --output-folder {{}}/results", DATA),
    "sweep": Case(
        f"runs sweep dapfam {MODEL} --backends bm25 dense hybrid --queries TA --corpora TA --rrf 60 --alphas 0.5 --out"
        " {}/sweep.csv",
        DATA,
    ),
    "prune": Case("store prune --store {}/store --model local/tiny", DATA, ("store",)),
    "export": Case("publish results {shared}/real {}/out", DATA),
    "report": Case("report {shared}/real --format csv markdown latex --out {}/out", DATA),
    "import": Case("data import {shared}/export --out {}/records --workers 1", DATA),
    "build": Case(
        "data build sophia {shared}/patents.parquet {shared}/citations.parquet {}/built --set queries=10", DATA
    ),
}


def plain(value: Any) -> Any:
    """A JSON document without what tells when it was made."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items() if name not in SEEN_WHEN}
    return [plain(item) for item in value] if isinstance(value, list) else value


def content(path: Path, folder: Path) -> Any:
    if {"records", "built"} & set(path.relative_to(folder).parts):
        return path.read_bytes()
    if path.suffix == ".json":
        return plain(json.loads(path.read_text("utf-8")))
    if path.suffix == ".jsonl":
        return [plain(json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return table.to_pydict(), table.schema.metadata
    if path.name == "sweep.csv":
        return pl.read_csv(path).drop(PHASES).to_dicts()
    return path.read_bytes().replace(str(folder).encode(), b"")


def outcome(folder: Path) -> dict[str, Any]:
    """Everything below a folder: files by their content, a store by what it holds."""
    store = folder / "store"
    found = {
        path.relative_to(folder).as_posix(): content(path, folder)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_relative_to(store) and not path.name.endswith(".quarantined")
    }
    if store.is_dir():
        opened = EmbeddingStore(store)
        assert opened.verify().ok
        assert not opened.leftovers()
        found["store"] = sorted((space.model, space.revision, space.texts) for space in opened.info())
    return found


def aged(folder: Path) -> None:
    """What a killed process left is not taken for another machine's work in progress for ever, but for a minute."""
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            os.utime(path, (0, 0), follow_symlinks=False)


def firsts(changes: list[str]) -> list[int]:
    """The first change of each kind to each file, new folders apart; names of processes in a path do not count."""
    kinds: dict[str, int] = {}
    for number, change in enumerate(changes, start=1):
        if not change.startswith("mkdir"):
            kinds.setdefault(re.sub(r"\.\d+\.[0-9a-f]{8}\.|[0-9a-f]{32}|-\d+-\w+", "", change), number)
    return sorted(kinds.values())


def some(numbers: list[int], most: int = 4) -> list[int]:
    """At most so many, evenly spaced; all of them are killed at with -m long."""
    count = min(most, len(numbers))
    return [numbers[place * len(numbers) // count] for place in range(count)]


def attack(server: Killer, case: Case, shared: Path, work: Path, *, every: bool) -> int:
    """Kill the command at its changes, repeat it each time, and compare; the number of kills."""
    whole = case.folder(work / "whole", shared)
    unbroken = case.run(server, whole, shared)
    assert unbroken.status == 0, unbroken.said
    expected = outcome(whole)
    numbers = range(1, len(unbroken.changes) + 1) if every else some(firsts(unbroken.changes))
    for nth in numbers:
        folder = case.folder(work / f"at{nth:05d}", shared)
        killed = case.run(server, folder, shared, nth)
        assert killed.status == -9 or (killed.status == 0 and nth > 0.9 * len(unbroken.changes)), (nth, killed.said)
        aged(folder)
        again = case.run(server, folder, shared)
        where = (nth, killed.changes[-1])
        assert again.status == 0 and "Traceback" not in again.said, (*where, again.said)
        found = outcome(folder)
        assert found == expected, (*where, sorted(found.keys() ^ expected.keys()))
        shutil.rmtree(folder)
    return len(numbers)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name != "run of bm25"])  # with its trec files it does more
def test_killed_at_a_change_and_repeated(server, shared, tmp_path, name, counted):
    cases = attack(server, CASES[name], shared, tmp_path, every=False)
    counted(f"{name}, killed at up to 4 first changes of a kind to a file", cases, wrong=0, lost=0, tracebacks=0)
    assert cases == 4


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_killed_at_every_change_and_repeated(server, shared, tmp_path, name, counted):
    counted(
        f"{name}, killed at each change",
        attack(server, CASES[name], shared, tmp_path, every=True),
        wrong=0,
        lost=0,
        tracebacks=0,
    )


def strike(server: Killer, case: Case, shared: Path, work: Path, signals: Sequence[int]) -> int:
    """Send the command each signal at a moment by chance, repeat it each time, and compare; the number of times that it
    was stopped.
    """
    dice = random.Random(11)
    whole = case.folder(work / "whole", shared)
    unbroken = case.run(server, whole, shared)
    assert unbroken.status == 0, unbroken.said
    expected, stopped = outcome(whole), 0
    warm = case.run(server, case.folder(work / "warm", shared), shared).seconds  # the first run also fills caches
    for turn, number in enumerate(signals):
        blow = Blow(number, dice.random() * min(warm, unbroken.seconds))
        folder = case.folder(work / f"turn{turn}", shared)
        stopped += case.run(server, folder, shared, blow=blow).status != 0
        aged(folder)
        again = case.run(server, folder, shared)
        assert again.status == 0 and "Traceback" not in again.said, (blow, again.said)
        assert outcome(folder) == expected, blow
        shutil.rmtree(folder)
    return stopped


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number"),
    these_first(
        product(["run of an encoder", "sweep", "import", "build"], [3, 18]), ("run of an encoder", 3), ("import", 3)
    ),
)
def test_killed_at_a_random_moment_and_repeated(server, shared, tmp_path, name, number, counted):
    """By SIGKILL, SIGTERM and SIGINT in turn."""
    signals = [(signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[turn % 3] for turn in range(number)]
    stopped = strike(server, CASES[name], shared, tmp_path, signals)
    counted(f"{name}: KILL, TERM, INT at random moments", number, wrong=0, lost=0, tracebacks=0, stopped=stopped)
    assert stopped >= number / 3
