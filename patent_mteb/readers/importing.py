"""From input files to a records directory: one part of patents, of citations and of relations for each input file.

A part is named after its input and after everything that decides on its content (bytes of the input, reader, versions), is written
beside its place and renamed, and is not made again as long as it is there. ``import.json`` holds for each input what was read, left out
and why; it is written after every finished input, so that an import that was interrupted goes on where it was.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from patent_mteb.errors import DataError, readable
from patent_mteb.files import read_json, write_json
from patent_mteb.identity import __version__
from patent_mteb.patents.records import PATENT_SCHEMA, Patent
from patent_mteb.readers import READERS, LeftOut, Noted, Reader, reader_named, recognise
from patent_mteb.readers.parts import KINDS, PartWriter, drop_repeats, remove_part

__all__ = ["MANIFEST", "Account", "Imported", "Progress", "Tally", "import_files", "read_accounts"]

MANIFEST = "import.json"
REPEATED = "the publication number stands in an input that was imported before"
_EXAMPLES = 5
_TELL_EVERY = 50
"""Documents between two reports of progress."""


@dataclass
class Tally:
    """How often something was so, and its first cases."""

    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, example: str = "", count: int = 1) -> None:
        self.count += count
        if example and len(self.examples) < _EXAMPLES:
            self.examples.append(example)


@dataclass
class Account:
    """What became of one input file.

    Attributes:
        path: the input.
        source: name of its reader, or the path of the column map.
        part: name of its parts.
        size: bytes of the input.
        done: whether its parts are in place.
        records: how many of each kind were written.
        left_out: reason -> what gave no record.
        notes: what was made of the rest.
    """

    path: str
    source: str
    part: str
    size: int
    done: bool = False
    records: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    left_out: dict[str, Tally] = field(default_factory=dict)
    notes: dict[str, Tally] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """How far an import is: files and bytes that this call has to read, and documents read so far."""

    files: int
    all_files: int
    size: int
    all_size: int
    documents: int


@dataclass(frozen=True)
class Imported:
    """What an import gave: an account for each input, in their order, and the files of directories that no reader knows."""

    accounts: list[Account]
    unknown: list[Path]


Tell = Callable[[Progress], None]


def _quiet(progress: Progress) -> None:
    """Nobody looks."""


def import_files(files: Sequence[Path], root: Path, source: str = "", workers: int = 1, tell: Tell = _quiet) -> Imported:
    """Import files, and those in directories, into a records directory.

    An input that was imported before is not read again while neither it nor its reader has changed; the part of a changed one is replaced.
    A publication that stands in two inputs is kept from the one that was imported first.

    Args:
        root: the records directory; what other inputs gave stays in it.
        source: name of a reader or path of a column map; without it each file is recognised by its content.
        workers: processes, each with a file at a time.
        tell: is called with the progress now and then.

    Raises:
        DataError: a file that is missing, unknown or broken; what was finished before it stays.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.importing import import_files
        >>> _ = Path("mine.csv").write_text("publication_number,title,cites\\nUS7000001B2,Pump,US6000001B1\\n")
        >>> [account.records for account in import_files([Path("mine.csv")], Path("records")).accounts]
        [{'patents': 1, 'citations': 1, 'relations': 0}]
    """
    planned, unknown = _planned(files, source)
    accounts = read_accounts(root)
    todo = _todo(planned, accounts)
    for part in accounts.keys() - {one.part for one in planned} & _unfit(planned, accounts):
        remove_part(root, part)
        del accounts[part]
    accounts |= {one.part: one for one in todo}
    _save(root, accounts)
    for done in _read_all(todo, root, workers, tell):
        accounts[done.part] = done
        _save(root, accounts)
    if todo:
        for part, numbers in drop_repeats(root, list(accounts)).items():
            _count_repeats(accounts[part], numbers)
        _save(root, accounts)
    return Imported([accounts[one.part] for one in planned], unknown)


def read_accounts(root: Path) -> dict[str, Account]:
    """The accounts of a records directory by the names of their parts, in the order of their import; empty for a new directory.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.importing import read_accounts
        >>> read_accounts(Path("nowhere"))
        {}
    """
    document = read_json(root / MANIFEST) or {}
    accounts = {}
    for row in document.get("inputs", ()):
        tallies = {name: {what: Tally(**tally) for what, tally in row[name].items()} for name in ("left_out", "notes")}
        accounts[row["part"]] = Account(**(row | tallies))
    return accounts


def _save(root: Path, accounts: dict[str, Account]) -> None:
    document = {"schema": 1, "version": __version__, "inputs": [asdict(account) for account in accounts.values()]}
    write_json(root / MANIFEST, document)


def _planned(files: Sequence[Path], source: str) -> tuple[list[Account], list[Path]]:
    """An account, still empty, for each file to import, and the files of directories that no reader knows.

    Files below a directory count if they are not hidden.
    """
    named = reader_named(source) if source else None
    planned: dict[str, Account] = {}
    unknown: list[Path] = []
    for path in files:
        folder = path.is_dir()
        inside = sorted(one for one in path.rglob("*") if one.is_file() and not _hidden(one.relative_to(path))) if folder else [path]
        for file in inside:
            reader = named or recognise(file)
            if reader is None and not folder:
                with readable(file), file.open("rb"):
                    raise DataError("no reader knows this file", path=file, remedy=f"name its source ({', '.join(READERS)}) or --map")
            if reader is None:
                unknown.append(file)
            else:
                planned[str(file.resolve())] = _account(file.resolve(), reader, source or reader.name)
    if not planned:
        raise DataError("there is no file that can be imported", path=files[0] if files else None, remedy="name files")
    return list(planned.values()), unknown


def _hidden(path: Path) -> bool:
    return any(step.startswith(".") for step in path.parts)


def _account(path: Path, reader: Reader, source: str) -> Account:
    with readable(path), path.open("rb") as stream:
        content = hashlib.file_digest(stream, "blake2b").hexdigest()
    made = "\0".join((content, reader.name, reader.settings, __version__, str(PATENT_SCHEMA)))
    name = re.sub(r"[^\w-]+", "-", path.name.partition(".")[0])[:60].strip("-") or "part"
    part = f"{name}-{hashlib.blake2b(made.encode()).hexdigest()[:12]}"
    return Account(str(path), source, part, path.stat().st_size)


def _unfit(planned: Sequence[Account], accounts: Mapping[str, Account]) -> set[str]:
    """Parts that are of another state of a planned input, and those that an interrupted import left."""
    paths = {one.path for one in planned}
    return {part for part, account in accounts.items() if account.path in paths or not account.done}


def _todo(planned: Sequence[Account], accounts: Mapping[str, Account]) -> list[Account]:
    """What is to be read: inputs that are not finished; where a part is replaced, those too that lost records to another part."""
    todo = {one.part: one for one in planned if not (one.part in accounts and accounts[one.part].done)}
    if any(account.path in {one.path for one in todo.values()} for account in accounts.values()):
        losers = [account for account in accounts.values() if account.done and REPEATED in account.left_out]
        todo |= {one.part: Account(one.path, one.source, one.part, one.size) for one in losers if one.part not in todo}
    return list(todo.values())


def _count_repeats(account: Account, numbers: Sequence[str]) -> None:
    tally = account.left_out.setdefault(REPEATED, Tally())
    for number in numbers:
        tally.add(number)
    account.records["patents"] -= len(numbers)


def _read_all(todo: Sequence[Account], root: Path, workers: int, tell: Tell) -> Iterator[Account]:
    """The accounts as they are finished."""
    progress = Progress(0, len(todo), 0, sum(one.size for one in todo), 0)
    pool = min(workers, len(todo))
    results = _in_turn(todo, root, lambda read: tell(replace(progress, documents=progress.documents + read)))
    for account in results if pool < 2 else _side_by_side(todo, root, pool):
        documents = progress.documents + account.records["patents"]
        progress = replace(progress, files=progress.files + 1, size=progress.size + account.size, documents=documents)
        tell(progress)
        yield account


def _in_turn(todo: Sequence[Account], root: Path, tell: Callable[[int], None]) -> Iterator[Account]:
    for one in todo:
        yield _read(one, root, tell)


def _side_by_side(todo: Sequence[Account], root: Path, workers: int) -> Iterator[Account]:
    """The largest inputs first; new processes, since a fork of one with threads may hang."""
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(_read, one, root) for one in sorted(todo, key=lambda one: -one.size)]
        try:
            for future in as_completed(running):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _read(account: Account, root: Path, tell: Callable[[int], None] | None = None) -> Account:
    """Write the parts of an input."""
    done = replace(account, left_out={}, notes={})
    with PartWriter(root, account.part) as out:
        for item in reader_named(account.source).read(Path(account.path)):
            if isinstance(item, LeftOut):
                kept = f" ({out.set_aside(item.text).relative_to(root).as_posix()})" if item.text else ""
                done.left_out.setdefault(item.reason, Tally()).add(f"{item.place} {item.number}".strip() + kept)
            elif isinstance(item, Noted):
                done.notes.setdefault(item.what, Tally()).add(item.example, item.count)
            else:
                out.write(item)
                if tell is not None and isinstance(item, Patent) and out.counts["patents"] % _TELL_EVERY == 0:
                    tell(out.counts["patents"])
    return replace(done, records=out.counts, done=True)
