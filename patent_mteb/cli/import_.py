"""``patent-mteb data import``: records from exports and bulk files."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SESSION, WHOLE, Engine, Session, Shard
from patent_mteb.errors import DataError

if TYPE_CHECKING:
    from patent_mteb.readers.importing import Progress
    from patent_mteb.readers.records_directory import Account

_SHOWN = 12
"""Up to this number of files, each has its own rows in the table."""


@command(
    "data import",
    "patent-mteb data import export.csv --out records",
    "patent-mteb data import grants --out records --shard 1/4",
    "patent-mteb data import --sources",
    requires={"files": "FILE"},
    unless=("merge", "suggest", "sources"),
)
def import_(
    files: Annotated[tuple[Path, ...], Parameter(metavar="[SOURCE] FILE")] = (),
    /,
    *,
    out: Annotated[Path | None, Parameter(metavar="ROOT")] = None,
    map: Annotated[Path | None, Parameter(metavar="FILE.toml")] = None,
    workers: Annotated[int | None, WHOLE] = None,
    shard: Shard = None,
    engine: Engine = "local",
    merge: bool = False,
    suggest: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    sources: bool = False,
    session: Session = SESSION,
) -> int:
    """Make records from exports and bulk files: tables (CSV, XLSX, JSON lines, parquet) and XML.

    Args:
        files: Files or directories; before them, if necessary, their source.
        out: Records directory to write to; it keeps the records of former imports.
        map: Column map of your own table; may be the first argument too.
        workers: Processes that read files in parallel; without it one a core.
        shard: Import only this share of the files; --merge comes after all shares.
        merge: Merge the shares in these directories into --out; without directories, those in --out.
        suggest: Only print a first column map for a table.
        sources: Only list the sources.
    """
    from patent_mteb.parallel import cores, share
    from patent_mteb.readers import READERS
    from patent_mteb.readers.importing import Work, import_files, import_share, merge_shares

    if sources:
        common.show(("source", "what it reads"), [(reader.name, reader.what) for reader in READERS.values()])
        return 0
    if suggest:
        from patent_mteb.readers.suggest import suggest as column_map

        text = column_map(suggest, unfinished=True)
        common.result(text)
        if not session.json:
            print(text, end="")
        return 0
    if out is None:
        raise DataError("no directory is named", remedy="name one with --out")
    if merge:
        _show(merge_shares(out, files))
        common.say(f"records in {out}")
        return 0
    source, files = _source_and_files(files, map)
    work = Work(cores() if workers is None else workers, engine, _Bar())
    make = partial(import_share, share=share(shard)) if shard else import_files
    done = make(files, out, source=source, work=work)
    _show(done.accounts)
    for error in (*done.unknown, *done.damaged):
        common.warn(f"{error.path}: left out, {error.problem}")
    if shard:
        common.say(f"share {shard} in {out}; after all shares: patent-mteb data import --merge --out {out}")
    else:
        common.say(
            f"records in {out}; next: patent-mteb data inspect {out}, patent-mteb data build BENCHMARK {out} ROOT"
        )
    if done.damaged:
        common.warn(f"{len(done.damaged)} of the files could not be read: get them again, and import them again")
    return 1 if done.damaged else 0


def _source_and_files(files: tuple[Path, ...], column_map: Path | None) -> tuple[str, tuple[Path, ...]]:
    """Return the source before the files, or the column map of ``--map``, and the files."""
    from patent_mteb.readers import READERS

    source = ""
    if (str(files[0]) in READERS and not files[0].exists()) or files[0].suffix == ".toml":
        source, files = str(files[0]), files[1:]
    if column_map and source:
        raise DataError(f"there are two sources, {source} and {column_map}", remedy="name one")
    if not files:
        raise DataError("no file is named", remedy=f"name the files after {source}")
    return (str(column_map) if column_map else source), files


def _show(accounts: Sequence[Account]) -> None:
    """Print the outcome of each file; of many files in sum, since import.json has each."""
    many = len(accounts) > _SHOWN
    rows: dict[tuple[str, str, str], tuple[int, str]] = {}
    for account in accounts:
        name = f"{len(accounts)} files" if many else Path(account.path).name
        found = [
            (kind, account.source, count, "")
            for kind, count in account.records.items()
            if count or (kind == "patents" and not many)
        ]
        for what, tallies in (("left out", account.left_out), ("note", account.notes)):
            found += [(what, reason, tally.count, next(iter(tally.examples), "")) for reason, tally in tallies.items()]
        for what, reason, count, example in found:
            before, first = rows.get((name, what, reason), (0, example))
            rows[name, what, reason] = (before + count, first)
    shown = [
        (name, what, count, f"{reason}: {first}" if first else reason)
        for (name, what, reason), (count, first) in rows.items()
    ]
    if many:
        shown.sort(key=_order)
    common.show(("file", "what", "count", "note"), shown, right=("count",))


def _order(row: tuple[str, str, int, str]) -> tuple[bool, bool, str]:
    return (row[1] == "note", row[1] == "left out", row[1])


class _Bar:
    """One line on a terminal: documents, documents a second, and the time left, estimated by bytes."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._terminal = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        if not self._terminal:
            return
        seconds = time.monotonic() - self._start
        left = f", {seconds * (progress.all_size / progress.size - 1):.0f} s left" if progress.size else ""
        pace = progress.documents / max(seconds, 1e-3)
        line = f"{progress.files} of {progress.all_files} files, {progress.documents} documents, {pace:.0f}/s{left}"
        sys.stderr.write(f"\r\x1b[K{line}" + ("\n" if progress.files == progress.all_files else ""))
        sys.stderr.flush()
