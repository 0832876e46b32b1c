"""``patent-mteb import``: records from exports and bulk files."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from patent_mteb.cli import common
from patent_mteb.errors import DataError

if TYPE_CHECKING:
    from patent_mteb.readers.importing import Progress
    from patent_mteb.readers.records_directory import Account

_SHOWN = 12
"""Files up to which each has rows of its own in the table."""

HELP = "make records from exports and bulk files: tables (CSV, XLSX, JSON lines, parquet) and XML"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb import export.csv --out records",
    "patent-mteb import grants --out records --shard 1/4",
    "patent-mteb import --sources",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    files = parser.add_argument(
        "files", nargs="+", metavar="[SOURCE] FILE", help="files or directories; before them, if need be, their source"
    )
    parser.add_argument(
        "--out", type=Path, metavar="ROOT", help="records directory to write to; what was imported before stays"
    )
    parser.add_argument(
        "--map", type=Path, metavar="FILE.toml", help="column map of a table of your own; also as the first word"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="processes that read files side by side; without it one a core"
    )
    common.add_shard(parser, "import only this share of the files; --merge comes after all shares")
    common.add_engine(parser)
    parser.add_argument(
        "--merge",
        action=common.Instead,
        of=[files],
        nargs=0,
        help="merge the shares in these directories into --out; without any, those in --out",
    )
    parser.add_argument(
        "--suggest",
        action=common.Instead,
        of=[files],
        type=Path,
        metavar="FILE",
        help="only print a first column map for a table",
    )
    parser.add_argument("--sources", action=common.Instead, of=[files], nargs=0, help="only list the sources")


def main(args: argparse.Namespace) -> int:
    from patent_mteb.parallel import cores, share
    from patent_mteb.readers import READERS
    from patent_mteb.readers.importing import Work, import_files, import_share, merge_shares

    if args.sources:
        common.show(("source", "what it reads"), [(reader.name, reader.what) for reader in READERS.values()])
        return 0
    if args.suggest:
        from patent_mteb.readers.suggest import suggest

        print(suggest(args.suggest, unfinished=True), end="")
        return 0
    if args.out is None:
        raise DataError("no directory is named", remedy="name one with --out")
    if args.merge:
        _show(merge_shares(args.out, [Path(word) for word in args.files or ()]))
        common.say(f"records in {args.out}")
        return 0
    source, files = _source_and_files(args)
    work = Work(cores() if args.workers is None else args.workers, args.engine, _Bar())
    make = partial(import_share, share=share(args.shard)) if args.shard else import_files
    done = make(files, args.out, source=source, work=work)
    _show(done.accounts)
    for error in (*done.unknown, *done.damaged):
        common.warn(f"{error.path}: left out, {error.problem}")
    if args.shard:
        common.say(f"share {args.shard} in {args.out}; after all shares: patent-mteb import --merge --out {args.out}")
    else:
        common.say(
            f"records in {args.out}; next: patent-mteb inspect {args.out}, patent-mteb build BENCHMARK {args.out} ROOT"
        )
    if done.damaged:
        common.warn(f"{len(done.damaged)} of the files could not be read: get them again, and import them again")
    return 1 if done.damaged else 0


def _source_and_files(args: argparse.Namespace) -> tuple[str, list[Path]]:
    from patent_mteb.readers import READERS

    words: list[str] = args.files
    first = words[0]
    named = (first in READERS and not Path(first).exists()) or first.endswith(".toml")
    source, words = (first, words[1:]) if named else ("", words)
    if args.map and source:
        raise DataError(f"there are two sources, {source} and {args.map}", remedy="name one")
    if not words:
        raise DataError("no file is named", remedy=f"name the files of {source} behind it")
    return (str(args.map) if args.map else source), [Path(word) for word in words]


def _show(accounts: Sequence[Account]) -> None:
    """What became of each file; of many files together, since import.json has each."""
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
    """One line on a terminal: documents, documents a second, and the time left by the bytes of the files that are
    done.
    """

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._watched = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        if not self._watched:
            return
        seconds = time.monotonic() - self._start
        left = f", {seconds * (progress.all_size / progress.size - 1):.0f} s left" if progress.size else ""
        pace = progress.documents / max(seconds, 1e-3)
        line = f"{progress.files} of {progress.all_files} files, {progress.documents} documents, {pace:.0f}/s{left}"
        sys.stderr.write(f"\r\x1b[K{line}" + ("\n" if progress.files == progress.all_files else ""))
        sys.stderr.flush()
