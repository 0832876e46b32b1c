"""Import files into a records directory: one part of patents, citations and relations for each input file.

The name of a part includes a digest of everything that determines its content: the bytes of the input, the reader and
the versions. A part that exists is not written again. ``import.json`` is updated after every input, so an interrupted
import continues.

The shares of an import (:func:`import_share`) are made by several processes or machines, each from every n-th input, in
one directory or in several. :func:`merge_shares` turns them into the same bytes as one import.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import stat
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import filterfalse
from pathlib import Path
from textwrap import shorten
from typing import NoReturn

from patent_mteb.errors import DataError, readable, refuse_other_forms
from patent_mteb.files import file_hash, folder_lock
from patent_mteb.identity import json_digest, version
from patent_mteb.parallel import Tell, each, quiet
from patent_mteb.patents.categories import is_category
from patent_mteb.patents.claims import unread_claims
from patent_mteb.patents.ipc import is_code
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.records import SCHEMAS, Citation, Patent
from patent_mteb.readers import Note, Reader, Skipped, enriched, reader_named, recognise
from patent_mteb.readers import records_directory as directory
from patent_mteb.readers.columns import suggest
from patent_mteb.readers.joining import DELETED, EXCHANGED
from patent_mteb.readers.records_directory import Account, Tally
from patent_mteb.readers.sheets import EXPORT_AGAIN, FORMULAS, encoding_of, form_of
from patent_mteb.readers.tables import GUESSED, NOT_UNDERSTOOD, UNUSED, is_table
from patent_mteb.readers.xml import first_root

_NAME_IT = "name its source ('patent-mteb data import --sources' lists them), or give a column map with --map"
_ZIP = b"PK"
_LOCK = "~$"
_UNREAD_CODE = "an IPC or CPC code cannot be read: stored as written, and not used"
_HIDDEN = {"Thumbs.db", "desktop.ini", "__MACOSX"}
_APS = re.compile(rb"^PATN\s*$\s*^WKU ", re.MULTILINE)
_HEAD = 1 << 12  # bytes that show the form of a file
_OLE_HEADER = 512  # bytes of the header of a compound file ([MS-CFB] section 2.2)
_NO_CATEGORY = "a category with a letter that search reports do not use, kept as written and judged as none"


def _refuse_damaged(path: Path) -> None:
    """Refuse a path that no reader can read, as far as the start of the file shows it."""

    def refuse(problem: str, remedy: str = "get it again, or leave it out") -> NoReturn:
        raise DataError(problem, path=path, remedy=remedy)

    with readable(path):
        mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        refuse("a link to a directory, which is not followed", "name that directory too")
    if not stat.S_ISREG(mode):
        refuse("neither a file nor a directory", "leave it out")
    with readable(path), path.open("rb") as stream:
        start = stream.read(_HEAD)
        if not start:
            refuse("the file is empty")
        if path.name.startswith(_LOCK):
            refuse("the lock file of a workbook that is open in Excel", "name the workbook itself")
        if not start.strip(b"\0"):
            refuse("zero bytes where data should be (is the file complete?)")
        if start.lstrip().lower().startswith((b"<!doctype html", b"<html")) and form_of(path) != "html":
            refuse("a web page, not data (an error that a server sent?)")
        if b"urn:schemas-microsoft-com:office:spreadsheet" in start:
            refuse("an XML workbook of Excel 2003", "open it in Excel and save it as .xlsx")
        if start.startswith(b"%PDF"):
            refuse("a PDF, not a table", "export the list as a workbook or CSV")
        is_word = start.startswith(b"{\\rtf")
        if start.startswith(b"\xd0\xcf\x11\xe0") and len(start) >= _OLE_HEADER:
            stream.seek((int.from_bytes(start[48:52], "little") + 1) << start[30])
            streams = stream.read(_HEAD)
            if "EncryptedPackage".encode("utf-16-le") in streams:
                refuse("the workbook has a password", "open it in Excel and save it without the password")
            is_word = "WordDocument".encode("utf-16-le") in streams
        elif path.suffix == ".gz" and not start.startswith(b"\x1f\x8b"):
            refuse("not compressed, although its name ends with .gz")
        elif start.startswith(_ZIP):
            try:
                names = zipfile.ZipFile(stream).namelist()
            except (zipfile.BadZipFile, ValueError) as error:
                refuse(f"not a complete zip file ({error})")
            except NotImplementedError as error:
                refuse(f"a zip file that cannot be read ({error})", "unpack it, and name its files")
            if not names:
                refuse("a zip file without any file")
            is_word = "word/document.xml" in names
        if is_word:
            refuse("a Word document, not a table", "copy its table into a workbook, and save it as .xlsx")


def _unknown(path: Path) -> DataError:
    """Return the error of a file that no reader recognises."""
    with readable(path), path.open("rb") as stream:
        start = stream.read(_HEAD)
    try:
        if path.suffix != ".gz" and not start.startswith(_ZIP):
            refuse_other_forms(path, start)
        form = form_of(path)
    except DataError as error:
        return error
    if start.startswith(_ZIP) and not form:
        names = [one.filename for one in zipfile.ZipFile(path).infolist() if not one.is_dir()]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        problem = f"no reader recognises the content of this zip file ({', '.join(names[:3])}{more})"
        return DataError(problem, path=path, remedy="unpack it")
    if _APS.search(start):
        remedy = "use PatentsView's tables of those years"
        return DataError("USPTO text before 2001 (APS), which is not supported", path=path, remedy=remedy)
    if what := _unsupported(path):
        remedy = "import the enriched citations of the same applications (enriched_cited_reference_metadata)"
        return DataError(f"{what}, which is not supported", path=path, remedy=remedy)
    if form:
        return _unknown_table(path)
    if path.suffix == ".gz":
        return DataError("no reader recognises the content of this compressed file", path=path, remedy="unpack it")
    return _unrecognised(path, f" (XML, <{first_root(path)}>)")


def _unsupported(path: Path) -> str:
    """Return what a JSON file is that no reader reads, although its columns may look like those of a table."""
    with readable(path), path.open("rb") as stream:
        start = stream.read(_HEAD).lstrip()
    return enriched.refusal(path) if start[:1] in (b"{", b"[") else ""


def _unrecognised(path: Path, detail: str = "") -> DataError:
    return DataError(f"no reader recognises this file{detail}", path=path, remedy=_NAME_IT)


def _unknown_table(path: Path) -> DataError:
    """Return the error of a table whose columns are not recognised by their names or values."""
    try:
        suggest(path)
    except DataError as error:
        if error.row is not None or error.remedy == EXPORT_AGAIN:
            return error
        encoding = encoding_of(path)[1] if form_of(path) == "text" else "UTF-8"
        read_as = f"; read as {encoding}" if encoding != "UTF-8" else ""
        problem = f"no reader recognises this file ({error.problem}{read_as})"
        return DataError(problem, path=path, remedy=error.remedy)
    return _unrecognised(path)


_REPORT_EVERY = 50  # documents between two reports of progress

_BYTES_PER_PROCESS = 2 << 20  # bytes of input that are worth another process


@dataclass(frozen=True)
class Progress:
    """Progress of an import: files and bytes to read in this call, and documents read so far."""

    files: int
    all_files: int
    size: int
    all_size: int
    documents: int


@dataclass(frozen=True)
class Imported:
    """Result of an import; ``unknown`` are errors of files without a reader, ``damaged`` of unreadable files."""

    accounts: list[Account]
    unknown: Sequence[DataError] = ()
    damaged: Sequence[DataError] = ()
    removed: Sequence[Removed] = ()


@dataclass(frozen=True)
class Work:
    """Settings of the work: processes, engine (:func:`patent_mteb.parallel.each`), and callbacks.

    ``preview`` receives the tables and their readers before anything is written.
    """

    workers: int = 1
    engine: str = "local"
    tell: Callable[[Progress], None] = lambda progress: None
    preview: Callable[[Sequence[tuple[Path, Reader]]], None] = lambda tables: None


@dataclass(frozen=True)
class Removed:
    """An input that was removed, or publications: ``what`` names them, ``records`` counts the records by kind.

    ``kept`` are those of its publications that other inputs have. It had added fields to ``joined`` others.
    """

    what: str
    records: Mapping[str, int]
    publications: Set[str] = frozenset()
    joined: int = 0
    kept: Set[str] = frozenset()


def import_files(
    files: Sequence[Path], root: Path, source: str = "", work: Work | None = None, replaced: Sequence[str] = ()
) -> Imported:
    """Import files, and the files in directories, into a records directory.

    An input is read again only if it or its reader has changed; its part is then replaced. A publication that occurs in
    two inputs is kept in the input that was imported first; a later table adds to it and corrects it. The records of
    the ``replaced`` inputs are removed.
    """
    found, unknown, damaged = _find(files, source)
    planned = [_account(*one) for one in found]
    work = work or Work()
    work.preview([(path, reader) for path, reader, named in found if is_table(named)])
    with folder_lock(root, writer="import"):
        accounts = directory.read_accounts(root)
        directory.complete_removal(root, accounts)
        inputs, _ = _named(replaced, root, accounts, only_inputs=True)
        removed = _settle(root, accounts, planned, inputs, work)
    imported = [accounts[one.part] for one in planned]
    _refuse_nothing(imported)
    return Imported(imported, unknown, damaged, removed)


def remove(what: Sequence[str], root: Path, work: Work | None = None) -> list[Removed]:
    """Remove inputs, named by their files, and publications, which later imports skip, from a directory."""
    with folder_lock(root, writer="import"):
        accounts = directory.read_accounts(root)
        directory.complete_removal(root, accounts)
        inputs, numbers = _named(what, root, accounts)
        removed = _settle(root, accounts, [], inputs, work or Work())
        if numbers:
            counts = directory.remove_publications(root, accounts, numbers)
            removed.append(Removed(", ".join(sorted(numbers)), counts, numbers))
    return removed


def _named(
    words: Sequence[str], root: Path, accounts: Mapping[str, Account], only_inputs: bool = False
) -> tuple[dict[str, str], set[str]]:
    """Return the parts of the inputs among some words, with their names, and the publications among them."""
    inputs: dict[str, str] = {}
    numbers: set[str] = set()
    there = set() if only_inputs else directory.publications(root, accounts)
    for word in words:
        path = str(Path(word).resolve())
        parts = [part for part, one in accounts.items() if one.path == path]
        parts = parts or [part for part, one in accounts.items() if Path(one.path).name == word]
        number = read_number(word)
        normal = number.docdb if number else word
        if not parts and normal not in there:
            what = "an input" if only_inputs else "an input or a publication"
            names = shorten(", ".join(Path(one.path).name for one in accounts.values()), 200) or "none"
            raise DataError(
                f"'{word}' is not {what} of the records", path=root, remedy=f"choose among the inputs: {names}"
            )
        inputs |= dict.fromkeys(parts, word)
        numbers |= set() if parts else {normal}
    return inputs, numbers


def _settle(
    root: Path, accounts: dict[str, Account], planned: Sequence[Account], gone: Mapping[str, str], work: Work
) -> list[Removed]:
    """Remove the parts of ``gone`` and outdated ones, read the planned inputs and those that these affect."""
    leaving = dict.fromkeys((*_outdated(planned, accounts), *gone))
    todo = _todo(planned, accounts, leaving)
    if missing := [one.path for one in todo if not Path(one.path).is_file()]:
        problem = "the file is missing, and must be read again because another input changed"
        raise DataError(problem, path=missing[0], remedy="put it back, or import into a new directory")
    parts_of = {word: [part for part in gone if gone[part] == word] for word in gone.values()}
    removed = [_removal(root, word, [accounts[part] for part in parts]) for word, parts in parts_of.items()]
    reading = {one.part: one for one in todo}
    for part in leaving:  # killed from here on, the next import removes the rest
        accounts[part] = replace(accounts[part], done=False, again=False)
    accounts |= reading
    directory.save_accounts(root, accounts, repeats_removed=not (todo or leaving))
    for part in leaving:
        directory.remove_part(root, part)
        del accounts[part]
    if leaving:
        accounts |= reading
        directory.save_accounts(root, accounts, repeats_removed=not todo)
    for done in _read_all(todo, root, work):
        accounts[done.part] = done
        directory.save_accounts(root, accounts, repeats_removed=False)
    if todo:
        directory.remove_repeats(root, accounts)
    there = directory.publications(root, accounts) if removed else set()
    return [replace(one, kept=one.publications & there) for one in removed]


def _removal(root: Path, word: str, accounts: Sequence[Account]) -> Removed:
    records = {kind: sum(one.records[kind] for one in accounts) for kind in directory.KINDS}
    joined = sum(one.left_out[directory.REPEATED].count for one in accounts if directory.REPEATED in one.left_out)
    return Removed(word, records, directory.publications(root, [one.part for one in accounts]), joined)


def _refuse_nothing(accounts: Sequence[Account]) -> None:
    """Refuse an import that gives no record, unless other inputs have all of them."""
    reasons = {why: tally for account in accounts for why, tally in account.left_out.items()}
    if not reasons.keys().isdisjoint(directory.LOST) or any(
        sum(one.records.values()) or one.deleted for one in accounts
    ):
        return
    counts = "; ".join(f"{tally.count} × {why} ({', '.join(tally.examples[:1])})" for why, tally in reasons.items())
    problem = f"no patent, citation or relation was read ({counts or 'the file has no rows'})"
    remedy = "correct the file, or name its columns in a map: patent-mteb data import --suggest FILE writes one"
    if not any(is_table(account.source) for account in accounts):
        remedy = "import files with publications or citations; import.json lists the skipped documents"
    if any(FORMULAS in account.notes for account in accounts):
        remedy = "its cells are formulas without stored values: save the workbook once in Excel"
    raise DataError(problem, path=accounts[0].path, remedy=remedy)


def lacking(root: Path, accounts: Sequence[Account]) -> list[str]:
    """Return what a benchmark needs and the tables of an import do not give, each with the reason and the remedy."""
    tables = [one for one in accounts if is_table(one.source)]
    if not tables or len(tables) < len(accounts):
        return []
    patents, citations = (sum(one.records[kind] for one in tables) for kind in ("patents", "citations"))
    found = directory.filled_fields(root, [one.part for one in tables], ("title", "abstract", "ipc"))
    lines = [f"no patent has {name}: export its column too, or name it in a map" for name in found if not found[name]]
    lines = lines if patents else []
    if not citations:
        notes = [(what, text) for one in tables for what, tally in one.notes.items() for text in tally.examples]
        sheets = [f"the sheet {text} was not understood" for what, text in notes if what == NOT_UNDERSTOOD]
        named = [text for what, text in notes if what == UNUSED]
        columns = re.findall("('[^']*'): [^;]*publication numbers[^;]*; the name", "; ".join(named))
        why = [*sheets, *(f"the name of the column {name} does not say that its numbers are cited" for name in columns)]
        remedy = "export the column of cited patents too (Cited Patents, Cites, References Cited in most databases)"
        if why:
            remedy = "call its columns citing and cited, or name them in a map (docs/own-patents.md)"
        lines.append(f"0 citations were read: {'; '.join(why) or 'no column has cited numbers'}; {remedy}")
    return lines


def import_share(
    files: Sequence[Path], root: Path, share: tuple[int, int], source: str = "", work: Work | None = None
) -> Imported:
    """Import the i-th of n shares of some files, which is every n-th of them. Then call :func:`merge_shares`."""
    found, unknown, damaged = _find(files, source)
    number, shares = share
    mine = {position: _account(*found[position]) for position in range(number - 1, len(found), shares)}
    plan = json_digest([path.name for path, *_ in found])  # folders may differ between machines
    with (
        folder_lock(root, shared=True, writer="import"),
        folder_lock(directory.share_folder(root, share), writer="import"),
    ):
        before = directory.read_accounts(root)
        if outdated := _outdated(list(mine.values()), before):
            problem = "an import of this directory was interrupted, or its inputs have changed since"
            remedy = "import without --shard once, or into another directory"
            raise DataError(problem, path=before[outdated[0]].path, remedy=remedy)
        earlier = directory.read_share(root, share, plan)
        accounts = {position: earlier.get(one.part, one) for position, one in mine.items() if one.part not in before}
        positions = {account.part: position for position, account in accounts.items()}
        todo = [account for account in accounts.values() if not account.done]
        directory.save_share(root, directory.Share(share, plan, accounts))
        for done in _read_all(todo, root, work or Work()):
            accounts[positions[done.part]] = done
            directory.save_share(root, directory.Share(share, plan, accounts))
    imported = [before.get(one.part) or accounts[position] for position, one in mine.items()]
    return Imported(imported, unknown, damaged)


def merge_shares(root: Path, others: Sequence[Path] = ()) -> list[Account]:
    """Merge all shares of an import into the result of one import."""
    with folder_lock(root, writer="import"):
        accounts = directory.read_accounts(root)
        if not all(account.done for account in accounts.values()):
            problem = "an import of this directory was interrupted"
            raise DataError(problem, path=root, remedy="finish it without --shard first")
        directory.complete_removal(root, accounts)
        with directory.merged_shares(root, others, known=accounts) as merged:
            if added := {part: account for part, account in merged.items() if part not in accounts}:
                accounts |= added
                directory.save_accounts(root, accounts, repeats_removed=False)
                directory.remove_repeats(root, accounts)
    return list(accounts.values())


_Input = tuple[Path, Reader, str]


def _find(files: Sequence[Path], source: str) -> tuple[list[_Input], list[DataError], list[DataError]]:
    """Return the files to import with reader and source, and the errors of unknown and damaged files in directories.

    Hidden files, also those of Windows and of open workbooks, are ignored, and links to directories are not followed.
    """
    named = reader_named(source) if source else None
    if source.endswith(".toml"):
        source = str(Path(source).resolve())
    inputs: dict[Path, _Input] = {}
    unknown: list[DataError] = []
    damaged: list[DataError] = []
    for path in files:
        folder = path.is_dir()
        for file in _below(path) if folder else [path]:
            errors = damaged
            try:
                _refuse_damaged(file)
                errors = unknown
                reader = named or recognise(file)
                if reader is None or (not named and is_table(reader.name) and _unsupported(file)):
                    raise _unknown(file)
            except DataError as error:
                if not folder:
                    raise
                errors.append(error)
            else:
                inputs[file.resolve()] = (file.resolve(), reader, source or reader.name)
    if not inputs:
        no_file = DataError("no file can be imported", path=files[0] if files else None, remedy="name files")
        raise next(iter((*damaged, *unknown)), no_file)
    return list(inputs.values()), unknown, damaged


def _below(folder: Path) -> list[Path]:
    return sorted(
        one
        for one in folder.rglob("*")
        if not any(step.startswith((".", _LOCK)) or step in _HIDDEN for step in one.relative_to(folder).parts)
        and (one.is_symlink() or not one.is_dir())
    )


def _account(path: Path, reader: Reader, source: str) -> Account:
    with readable(path):
        content, stat = file_hash(path), path.stat()
    key = "\0".join((content, reader.name, reader.settings, version(), str(SCHEMAS[Patent])))
    name = re.sub(r"[^\w-]+", "-", path.name.partition(".")[0])[:60].strip("-") or "part"
    part = f"{name}-{hashlib.blake2b(key.encode()).hexdigest()[:12]}"
    day = dt.datetime.fromtimestamp(stat.st_mtime, dt.UTC).date().isoformat()
    return Account(str(path), source, part, stat.st_size, sha256=content, day=day)


def _outdated(planned: Sequence[Account], accounts: Mapping[str, Account]) -> list[str]:
    """Return the parts of changed inputs, and unfinished parts of inputs that are not named any more.

    A user's map adds to the records that another source or map made of the same file; it replaces a guessed map only.
    """
    parts = {one.part for one in planned}
    sources = {(one.path, source) for one in planned for source in (one.source, GUESSED)}
    return [
        part
        for part, one in accounts.items()
        if part not in parts and ((one.path, one.source) in sources or not (one.done or one.again))
    ]


def _todo(planned: Sequence[Account], accounts: Mapping[str, Account], leaving: Collection[str]) -> list[Account]:
    """Return the inputs to read: unfinished ones and, if a part is removed, those that lost or added records."""
    staying = [account for part, account in accounts.items() if part not in leaving]
    finished = {account.part for account in staying if account.done}
    todo = {one.part: one for one in planned if one.part not in finished}
    again = [account for account in staying if account.again]
    if leaving or any(account.path in {one.path for one in todo.values()} for account in staying):
        lost = {*directory.LOST, directory.JOINED}
        again += [one for one in staying if one.done and lost & (one.left_out.keys() | one.notes.keys())]
    todo |= {
        one.part: Account(one.path, one.source, one.part, one.size, again=True, sha256=one.sha256, day=one.day)
        for one in again
        if one.part not in todo
    }
    return list(todo.values())


def _read_all(todo: Sequence[Account], root: Path, work: Work) -> Iterator[Account]:
    """Yield the accounts of finished inputs. Several processes start with the largest inputs."""
    progress = Progress(0, len(todo), 0, sum(one.size for one in todo), 0)

    def tell(documents: int) -> None:
        nonlocal progress
        progress = replace(progress, documents=progress.documents + documents)
        work.tell(progress)

    workers = min(work.workers, 1 + progress.all_size // _BYTES_PER_PROCESS)
    order = todo if workers < 2 else sorted(todo, key=lambda one: -one.size)
    for one, account in each(partial(_read, root=root), order, workers=workers, engine=work.engine, tell=tell):
        progress = replace(progress, files=progress.files + 1, size=progress.size + one.size)
        work.tell(progress)
        yield account


def _read(account: Account, tell: Tell = quiet, *, root: Path) -> Account:
    """Write the part of an input and return its finished account."""
    done = replace(account, again=False, left_out={}, notes={}, deleted=[])
    unreported = 0
    removed = directory.removed_publications(root)
    with directory.writing_part(root, account.part) as out:
        for item in reader_named(account.source).read(Path(account.path)):
            if isinstance(item, Skipped):
                saved = f" ({out.set_aside(item.text).relative_to(root).as_posix()})" if item.text else ""
                done.left_out.setdefault(item.reason, Tally()).add(f"{item.place} {item.number}".strip() + saved)
                done.deleted += [item.number] if item.reason == DELETED else []
            elif isinstance(item, Note):
                done.exchanged = item.example if item.what == EXCHANGED else done.exchanged
                done.notes.setdefault(item.what, Tally()).add(item.example, item.count)
            elif removed and (number := directory.number_of(item)) in removed:
                done.left_out.setdefault(directory.REMOVED, Tally()).add(number, isinstance(item, Patent))
            else:
                out.write(item)
                if isinstance(item, Citation) and not is_category(item.category):
                    done.notes.setdefault(_NO_CATEGORY, Tally()).add(f"{item.citing}: {item.category}")
                if isinstance(item, Patent):
                    unreported += 1
                    for what in unread_claims(item):
                        done.notes.setdefault(what, Tally()).add(item.publication_number)
                    for code in filterfalse(is_code, (*item.ipc, *item.cpc)):
                        done.notes.setdefault(_UNREAD_CODE, Tally()).add(
                            f"{item.publication_number}: {shorten(code, 100)}"
                        )
                if unreported >= _REPORT_EVERY:
                    tell(unreported)
                    unreported = 0
        with readable(Path(account.path)):
            size = Path(account.path).stat().st_size
        if size != account.size:
            remedy = "import it again when it is complete"
            raise DataError("the file changed while it was read", path=account.path, remedy=remedy)
    tell(unreported)
    return replace(done, records=out.counts, done=True)
