"""From input files to a records directory: one part of patents, of citations and of relations for each input file.

A part is named after its input and after everything that decides on its content (bytes of the input, reader, versions),
is written beside its place and renamed, and is not made again as long as it is there. ``import.json`` holds for each
input what was read, left out and why; it is written after every finished input, so that an import that was interrupted
goes on where it was.

Shares of an import (:func:`import_share`) are made by several processes or machines, each of every n-th input, in one
directory or in several; :func:`merge_shares` makes of them what one import would have made, byte for byte.

Publications that stand in two parts: kept in the first, taken out of the others.

What is to be taken out is written down first (:data:`PENDING`), then the parts are written anew, then the accounts say
so. A step that was interrupted is done again from that file, and nothing is counted twice: whoever is killed and starts
again ends in the same bytes.

Files that cannot be imported: what is wrong with them, so far as their start says it.
"""

from __future__ import annotations

import hashlib
import re
import stat
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from textwrap import shorten

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from patent_mteb.errors import DataError, readable, refuse_other_forms
from patent_mteb.files import folder_lock, read_batches, read_parquet, replacing, text_lines, write_parquet
from patent_mteb.identity import version
from patent_mteb.parallel import Tell, each, quiet
from patent_mteb.patents.records import PATENT_SCHEMA, Patent
from patent_mteb.readers import LeftOut, Noted, Reader, reader_named, recognise
from patent_mteb.readers.import_shares import (
    Account,
    PartWriter,
    Share,
    Tally,
    digest_of,
    merged,
    part_path,
    read_accounts,
    read_share,
    remove_part,
    save_accounts,
    save_share,
    settled,
    share_folder,
)
from patent_mteb.readers.suggest import suggest
from patent_mteb.readers.xml import first_root

PENDING = ".repeats.parquet"

REPEATED = "the publication number stands in an input that was imported before"


_SCHEMA = pa.schema([("part", pa.string()), ("publication_number", pa.string())])


def settle(root: Path, accounts: Mapping[str, Account]) -> None:
    """Take repeats out of the parts of a directory, and save its accounts, changed by it."""
    pending = root / PENDING
    if not pending.exists():
        write_parquet(pending, find_repeats(root, list(accounts)))
    repeated = read_parquet(pending, _SCHEMA.names)
    for part in dict.fromkeys(repeated["part"].to_pylist()):
        numbers = repeated.filter(pc.equal(repeated["part"], part))["publication_number"].to_pylist()
        drop_repeats(part_path(root, "patents", part), numbers)
        _count(accounts[part], numbers)
    save_accounts(root, accounts, settled=True)
    pending.unlink()


def finish(root: Path, accounts: Mapping[str, Account]) -> None:
    """Do what a step that was interrupted has left: take repeats out, or forget what was taken out."""
    if settled(root):
        (root / PENDING).unlink(missing_ok=True)
    elif all(account.done for account in accounts.values()):
        settle(root, accounts)


def _count(account: Account, numbers: Sequence[str]) -> None:
    tally = account.left_out.setdefault(REPEATED, Tally())
    for number in numbers:
        tally.add(number)
    account.records["patents"] -= len(numbers)


def find_repeats(root: Path, parts: Sequence[str]) -> pa.Table:
    """The publications of each part that stand in a part before it."""
    columns = [
        pl.read_parquet(part_path(root, "patents", part), columns=["publication_number"]).with_columns(
            place=pl.lit(place, pl.UInt32)
        )
        for place, part in enumerate(parts)
    ]
    if not columns:
        return _SCHEMA.empty_table()
    repeated = pl.concat(columns).filter(~pl.col("publication_number").is_first_distinct())
    named = [parts[place] for place in repeated["place"].to_list()]
    return pa.table({"part": named, "publication_number": repeated["publication_number"].to_list()}, schema=_SCHEMA)


def drop_repeats(path: Path, numbers: Collection[str]) -> None:
    """Write a part without some publications, unless they are out of it already."""
    dropped = pa.array(sorted(numbers), pa.string())
    held = read_parquet(path, ["publication_number"], without=set(PATENT_SCHEMA.names) - {"publication_number"})
    if not pc.any(pc.is_in(held["publication_number"], dropped)).as_py():
        return
    with replacing(path) as partial, pq.ParquetWriter(partial, PATENT_SCHEMA) as out:
        for table in read_batches(path):
            kept = pc.invert(pc.is_in(table["publication_number"], dropped))
            out.write_table(table.filter(kept).cast(PATENT_SCHEMA))


_AGAIN = "get it again, or leave it out"

_NAME_IT = "name its source ('patent-mteb import --sources' lists them), or give a column map with --map"

_WEB_PAGES = (b"<!doctype html", b"<html")

_ZIP, _GZIP, _PARQUET = b"PK", b"\x1f\x8b", b"PAR1"

_APS = re.compile(rb"^PATN\s*$\s*^WKU ", re.MULTILINE)

_HEAD = 1 << 12

_LINES, _FEW = 1000, 10

_LONGEST = 200
"""Lines that are looked at for another encoding than UTF-8."""


def damaged(path: Path) -> DataError | None:
    """Why a file is none that anybody could read; None if it may be one."""
    with readable(path):
        mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return DataError("a link to a directory, which is not followed", path=path, remedy="name that directory too")
    if not stat.S_ISREG(mode):
        return DataError("neither a file nor a directory", path=path, remedy="leave it out")
    problem = _problem(path)
    return DataError(problem, path=path, remedy=_AGAIN) if problem else None


def _problem(path: Path) -> str:
    with readable(path), path.open("rb") as stream:
        start = stream.read(_HEAD)
        if not start:
            return "the file is empty"
        if not start.strip(b"\0"):
            return "zero bytes where data should be (was the file written whole?)"
        if start.lstrip().lower().startswith(_WEB_PAGES):
            return "a web page, no data (an error that a server sent?)"
        if path.suffix == ".gz" and not start.startswith(_GZIP):
            return "not compressed, whatever its name says"
        if not start.startswith(_ZIP):
            return ""
        try:
            return "" if zipfile.ZipFile(stream).infolist() else "a zip file without any file"
        except (zipfile.BadZipFile, ValueError) as error:
            return f"not a whole zip file ({error})"


def unknown(path: Path) -> DataError:
    """What is to be said of a whole file that no reader knows."""
    with readable(path), path.open("rb") as stream:
        start = stream.read(_HEAD)
    if start.startswith(_ZIP):
        names = [one.filename for one in zipfile.ZipFile(path).infolist() if not one.is_dir()]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return DataError(
            f"no reader knows what is in this zip file ({', '.join(names[:3])}{more})", path=path, remedy="unpack it"
        )
    if _APS.search(start):
        return DataError(
            "USPTO text before 2001 (APS), which is not read",
            path=path,
            remedy="take PatentsView's tables of those years",
        )
    if start.startswith(_PARQUET):
        return _no_table(path)
    try:
        if path.suffix != ".gz":
            refuse_other_forms(path, start)
        lines = [line for _, line in islice(text_lines(path), _LINES)]
    except DataError as error:
        return error
    if not "".join(lines[:_FEW]).lstrip().startswith("<"):
        return _no_table(path)
    if path.suffix == ".gz":
        return DataError("no reader knows what is in this compressed file", path=path, remedy="unpack it")
    return _nobody(path, f" (XML, <{first_root(path)}>)")


def _nobody(path: Path, what: str = "") -> DataError:
    return DataError(f"no reader knows this file{what}", path=path, remedy=_NAME_IT)


def _no_table(path: Path) -> DataError:
    """Why a file that may be a table is none whose columns say what they are."""
    try:
        suggest(path)
    except DataError as error:
        return _nobody(path, f" ({shorten(error.problem, _LONGEST)})") if error.row is None else error
    return _nobody(path)


_TELL_EVERY = 50
"""Documents between two reports of progress."""

_WORTH_A_PROCESS = 2 << 20
"""Bytes of input for which it is worth while to start another process."""


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
    """What an import gave.

    Attributes:
        accounts: one for each input, in their order.
        unknown: of files in directories that no reader knows what is to be said of each.
        damaged: the same of those that nobody could read.
    """

    accounts: list[Account]
    unknown: Sequence[DataError] = ()
    damaged: Sequence[DataError] = ()


def _nobody_looks(progress: Progress) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Work:
    """How an import is worked through.

    Attributes:
        workers: processes of this machine, each with a file at a time.
        engine: one of :data:`patent_mteb.parallel.ENGINES`.
        tell: is called with the progress now and then.
    """

    workers: int = 1
    engine: str = "local"
    tell: Callable[[Progress], None] = _nobody_looks


def import_files(files: Sequence[Path], root: Path, source: str = "", work: Work | None = None) -> Imported:
    """Import files, and those in directories, into a records directory.

    An input that was imported before is not read again while neither it nor its reader has changed; the part of a
    changed one is replaced. A publication that stands in two inputs is kept from the one that was imported first.
    """
    found = _found(files, source)
    planned = [_account(*one) for one in found.inputs]
    with folder_lock(root, writer="import"):
        accounts = read_accounts(root)
        finish(root, accounts)
        todo = _todo(planned, accounts)
        if gone := [one.path for one in todo if not Path(one.path).is_file()]:
            problem = "its records must be read again, since another input changed, and it is gone"
            raise DataError(problem, path=gone[0], remedy="put it back, or import into a new directory")
        for part in _outdated(planned, accounts):
            remove_part(root, part)
            del accounts[part]
        accounts |= {one.part: one for one in todo}
        save_accounts(root, accounts, settled=not todo)
        for done in _read_all(todo, root, work or Work()):
            accounts[done.part] = done
            save_accounts(root, accounts, settled=False)
        if todo:
            settle(root, accounts)
    return Imported([accounts[one.part] for one in planned], found.unknown, found.damaged)


def import_share(
    files: Sequence[Path], root: Path, share: tuple[int, int], source: str = "", work: Work | None = None
) -> Imported:
    """Import the i-th of n shares of some files: of all of them in their order, every n-th. :func:`merge_shares` comes
    after all shares.
    """
    found = _found(files, source)
    number, shares = share
    chosen = range(number - 1, len(found.inputs), shares)
    mine = {place: _account(*found.inputs[place]) for place in chosen}
    plan = digest_of([path.name for path, *_ in found.inputs])
    with folder_lock(root, shared=True, writer="import"), folder_lock(share_folder(root, share), writer="import"):
        before = read_accounts(root)
        if outdated := _outdated(list(mine.values()), before):
            raise DataError(
                "an import of this directory was interrupted, or its inputs have changed since",
                path=before[outdated[0]].path,
                remedy="import without --shard once, or into another directory",
            )
        earlier = read_share(root, share, plan)
        accounts = {place: earlier.get(one.part, one) for place, one in mine.items() if one.part not in before}
        places = {account.part: place for place, account in accounts.items()}
        todo = [account for account in accounts.values() if not account.done]
        save_share(root, Share(share, plan, accounts))
        for done in _read_all(todo, root, work or Work()):
            accounts[places[done.part]] = done
            save_share(root, Share(share, plan, accounts))
    return Imported(
        [before.get(one.part) or accounts[place] for place, one in mine.items()], found.unknown, found.damaged
    )


def merge_shares(root: Path, others: Sequence[Path] = ()) -> list[Account]:
    """Make of all shares of an import what one import would have made."""
    with folder_lock(root, writer="import"):
        accounts = read_accounts(root)
        if not all(account.done for account in accounts.values()):
            raise DataError(
                "an import of this directory was interrupted", path=root, remedy="finish it without --shard first"
            )
        finish(root, accounts)
        with merged(root, others, known=accounts) as new:
            if added := {part: account for part, account in new.items() if part not in accounts}:
                accounts |= added
                save_accounts(root, accounts, settled=False)
                settle(root, accounts)
    return list(accounts.values())


@dataclass
class _Found:
    """Each file to import with its reader and source, and what is to be said of the files of directories that are
    none.
    """

    inputs: list[tuple[Path, Reader, str]] = field(default_factory=list)
    unknown: list[DataError] = field(default_factory=list)
    damaged: list[DataError] = field(default_factory=list)


def _found(files: Sequence[Path], source: str) -> _Found:
    """What there is to import. Files below a directory count if they are not hidden; links to directories are not
    followed.
    """
    named = reader_named(source) if source else None
    found = _Found()
    for path in files:
        folder = path.is_dir()
        for file in _below(path) if folder else [path]:
            reader = None
            if error := _damage(file):
                said = found.damaged
            elif (reader := named or recognise(file)) is None:
                error, said = unknown(file), found.unknown
            if reader:
                found.inputs.append((file.resolve(), reader, source or reader.name))
            elif error and not folder:
                raise error
            elif error:
                said.append(error)
    if not found.inputs:
        no_file = DataError(
            "there is no file that can be imported", path=files[0] if files else None, remedy="name files"
        )
        raise next(iter((*found.damaged, *found.unknown)), no_file)
    found.inputs = list({one[0]: one for one in found.inputs}.values())
    return found


def _below(folder: Path) -> list[Path]:
    return sorted(
        one
        for one in folder.rglob("*")
        if not _hidden(one.relative_to(folder)) and (one.is_symlink() or not one.is_dir())
    )


def _damage(path: Path) -> DataError | None:
    try:
        return damaged(path)
    except DataError as error:
        return error


def _hidden(path: Path) -> bool:
    return any(step.startswith(".") for step in path.parts)


def _account(path: Path, reader: Reader, source: str) -> Account:
    with readable(path), path.open("rb") as stream:
        content = hashlib.file_digest(stream, "blake2b").hexdigest()
    made = "\0".join((content, reader.name, reader.settings, version(), str(PATENT_SCHEMA)))
    name = re.sub(r"[^\w-]+", "-", path.name.partition(".")[0])[:60].strip("-") or "part"
    part = f"{name}-{hashlib.blake2b(made.encode()).hexdigest()[:12]}"
    return Account(str(path), source, part, path.stat().st_size)


def _outdated(planned: Sequence[Account], accounts: Mapping[str, Account]) -> list[str]:
    """Parts of another state of a planned input, and those of inputs that an interrupted import left and nobody names
    any more.
    """
    parts, paths = {one.part for one in planned}, {one.path for one in planned}
    return [
        part
        for part, account in accounts.items()
        if part not in parts and (account.path in paths or not (account.done or account.again))
    ]


def _todo(planned: Sequence[Account], accounts: Mapping[str, Account]) -> list[Account]:
    """What is to be read: inputs that are not finished; where a part is replaced, those too that lost records to
    another part.
    """
    todo = {one.part: one for one in planned if not (one.part in accounts and accounts[one.part].done)}
    again = [account for account in accounts.values() if account.again]
    if any(account.path in {one.path for one in todo.values()} for account in accounts.values()):
        again += [account for account in accounts.values() if account.done and REPEATED in account.left_out]
    todo |= {
        one.part: Account(one.path, one.source, one.part, one.size, again=True) for one in again if one.part not in todo
    }
    return list(todo.values())


def _read_all(todo: Sequence[Account], root: Path, work: Work) -> Iterator[Account]:
    """The accounts as they are finished, the largest inputs begun first where several are read side by side."""
    progress = Progress(0, len(todo), 0, sum(one.size for one in todo), 0)

    def tell(documents: int) -> None:
        nonlocal progress
        progress = replace(progress, documents=progress.documents + documents)
        work.tell(progress)

    workers = min(work.workers, 1 + progress.all_size // _WORTH_A_PROCESS)
    order = todo if workers < 2 else sorted(todo, key=lambda one: -one.size)
    for one, account in each(partial(_read, root=root), order, workers=workers, engine=work.engine, tell=tell):
        progress = replace(progress, files=progress.files + 1, size=progress.size + one.size)
        work.tell(progress)
        yield account


def _read(account: Account, tell: Tell = quiet, *, root: Path) -> Account:
    """Write the parts of an input."""
    done = replace(account, again=False, left_out={}, notes={})
    untold = 0
    with PartWriter(root, account.part) as out:
        for item in reader_named(account.source).read(Path(account.path)):
            if isinstance(item, LeftOut):
                kept = f" ({out.set_aside(item.text).relative_to(root).as_posix()})" if item.text else ""
                done.left_out.setdefault(item.reason, Tally()).add(f"{item.place} {item.number}".strip() + kept)
            elif isinstance(item, Noted):
                done.notes.setdefault(item.what, Tally()).add(item.example, item.count)
            else:
                out.write(item)
                untold += isinstance(item, Patent)
                if untold >= _TELL_EVERY:
                    tell(untold)
                    untold = 0
        with readable(Path(account.path)):
            size = Path(account.path).stat().st_size
        if size != account.size:
            raise DataError(
                "the file changed while it was read", path=account.path, remedy="import it again when it is complete"
            )
    tell(untold)
    return replace(done, records=out.counts, done=True)
