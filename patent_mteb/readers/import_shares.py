"""The shares of an import: which inputs each has, what became of them, and their merging into one import.

A share keeps its accounts in ``shares/<i>-of-<n>/share.json`` of the records directory, which nobody else writes to.

The parts of a records directory: one parquet file of each kind of record for one input, written as the records
come.

What became of the inputs of an import: an account for each, kept in ``import.json`` of the records directory.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from patent_mteb.errors import DataError
from patent_mteb.files import read_json, replacing, write_json, write_text
from patent_mteb.identity import RELEASE, json_digest
from patent_mteb.patents.records import CITATION_SCHEMA, PATENT_SCHEMA, RELATION_SCHEMA, Citation, Patent, Relation

_SCHEMAS: dict[type, tuple[str, pa.Schema]] = {
    Patent: ("patents", PATENT_SCHEMA),
    Citation: ("citations", CITATION_SCHEMA),
    Relation: ("relations", RELATION_SCHEMA),
}

KINDS: tuple[str, ...] = tuple(kind for kind, _ in _SCHEMAS.values())
"""The kinds of records, each with a folder of its own in a records directory."""


SET_ASIDE = "set-aside"
"""The folder of a records directory for documents that are malformed, one folder a part."""


_ROWS_AT_ONCE = 1000


def part_path(root: Path, kind: str, part: str) -> Path:
    """The file of one kind of record of a part."""
    return root / kind / f"{part}.parquet"


def remove_part(root: Path, part: str) -> None:
    """Remove the files of a part, as far as they are there."""
    for kind in KINDS:
        part_path(root, kind, part).unlink(missing_ok=True)
    shutil.rmtree(root / SET_ASIDE / part, ignore_errors=True)


class PartWriter:
    """Writes the records of one input, a thousand in memory at a time; the files are in place when the block ends
    well.
    """

    def __init__(self, root: Path, part: str) -> None:
        self.counts = dict.fromkeys(KINDS, 0)
        self._root = root
        self._part = part
        self._aside = 0
        self._files = contextlib.ExitStack()
        self._writers: dict[type, pq.ParquetWriter] = {}
        self._waiting: dict[type, list[dict[str, Any]]] = {kind: [] for kind in _SCHEMAS}

    def __enter__(self) -> PartWriter:
        for kind, (name, schema) in _SCHEMAS.items():
            partial = self._files.enter_context(replacing(part_path(self._root, name, self._part)))
            self._writers[kind] = self._files.enter_context(pq.ParquetWriter(partial, schema))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            for record in _SCHEMAS:
                self._flush(record)
        self._files.__exit__(kind, error, trace)

    def write(self, record: Patent | Citation | Relation) -> None:
        kind = type(record)
        self._waiting[kind].append(asdict(record))
        self.counts[_SCHEMAS[kind][0]] += 1
        if len(self._waiting[kind]) >= _ROWS_AT_ONCE:
            self._flush(kind)

    def set_aside(self, text: str) -> Path:
        """Keep a document that could not be read, beside the records; gives its file."""
        self._aside += 1
        path = self._root / SET_ASIDE / self._part / f"{self._aside:06}.txt"
        write_text(path, text)
        return path

    def _flush(self, kind: type) -> None:
        rows, schema = self._waiting[kind], _SCHEMAS[kind][1]
        if rows:
            self._writers[kind].write_table(pa.Table.from_pylist(rows, schema=schema))
            rows.clear()


MANIFEST = "import.json"

_EXAMPLES = 5


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
        again: whether they were in place, and are made again because what they had lost may come back.
        records: how many of each kind were written.
        left_out: reason -> what gave no record.
        notes: what was made of the rest.
    """

    path: str
    source: str
    part: str
    size: int
    done: bool = False
    again: bool = False
    records: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    left_out: dict[str, Tally] = field(default_factory=dict)
    notes: dict[str, Tally] = field(default_factory=dict)


def read_accounts(root: Path) -> dict[str, Account]:
    """The accounts of a records directory by the names of their parts, in the order of their import; empty for a new
    directory.
    """
    return rows_of(read_json(root / MANIFEST) or {})


def rows_of(document: Mapping[str, Any]) -> dict[str, Account]:
    """The accounts of a document that :func:`save_accounts` wrote, by the names of their parts."""
    accounts = {}
    for row in document.get("inputs", ()):
        tallies = {name: {what: Tally(**tally) for what, tally in row[name].items()} for name in ("left_out", "notes")}
        accounts[row["part"]] = Account(**(row | tallies))
    return accounts


def save_accounts(root: Path, accounts: Mapping[str, Account], **more: Any) -> None:
    """Write the accounts of a directory, with ``more`` beside them; ``settled`` says whether repeats were taken out of
    the parts.
    """
    document = {"schema": 1, "version": RELEASE, "inputs": [asdict(account) for account in accounts.values()]}
    write_json(root / MANIFEST, document | more)


def settled(root: Path) -> bool:
    """Whether the parts of a records directory are as its accounts say, with no repeats left in them."""
    return bool((read_json(root / MANIFEST) or {}).get("settled", True))


SHARES = "shares"

_FILE = "share.json"

_MERGED = ".merged-shares"


@dataclass(frozen=True)
class Share:
    """A share of an import.

    Attributes:
        share: (i, n).
        plan: digest of the inputs of all shares.
        accounts: its accounts by their place among all inputs.
    """

    share: tuple[int, int]
    plan: str
    accounts: Mapping[int, Account]


def digest_of(names: Sequence[str]) -> str:
    """What tells the inputs of one import from those of another: their names in their order. Folders may differ from
    machine to machine.
    """
    return json_digest(list(names))


def share_folder(root: Path, share: tuple[int, int]) -> Path:
    """The folder of a share's own."""
    return root / SHARES / f"{share[0]}-of-{share[1]}"


def save_share(root: Path, share: Share) -> None:
    """Write the accounts of a share."""
    rows = [{"place": place, **asdict(account)} for place, account in share.accounts.items()]
    document = {"schema": 1, "version": RELEASE, "share": list(share.share), "plan": share.plan, "inputs": rows}
    write_json(share_folder(root, share.share) / _FILE, document)


def read_share(root: Path, share: tuple[int, int], plan: str) -> dict[str, Account]:
    """The accounts of a share by the names of their parts; empty if it was not begun."""
    path = share_folder(root, share) / _FILE
    document = read_json(path)
    if document is None:
        return {}
    if document["plan"] != plan:
        raise DataError(
            "this share was begun with other inputs",
            path=path,
            remedy=f"merge that import first, or remove {path.parents[1]}",
        )
    return {account.part: account for account in _share_of(document).accounts.values()}


def _share_of(document: Mapping[str, Any]) -> Share:
    rows = [dict(row) for row in document["inputs"]]
    places = [row.pop("place") for row in rows]
    number, shares = document["share"]
    accounts = [account for row in rows for account in rows_of({"inputs": [row]}).values()]
    return Share((number, shares), document["plan"], dict(zip(places, accounts, strict=True)))


@contextlib.contextmanager
def merged(root: Path, others: Sequence[Path], known: Collection[str] = ()) -> Iterator[dict[str, Account]]:
    """The accounts of all shares in the order of one import, whose parts lie in ``root``; the shares go when the block
    ends well.
    """
    done = root / _MERGED
    shutil.rmtree(done, ignore_errors=True)
    for other in others:
        _copy(other, root, known)
    found = _shares(root)
    if not found and not (root / MANIFEST).exists():
        raise DataError("there is no share of an import here", path=root, remedy="make the shares with --shard first")
    _check(root, found)
    by_place = {place: account for share in found for place, account in share.accounts.items()}
    yield {by_place[place].part: by_place[place] for place in sorted(by_place)}
    if found:
        (root / SHARES).rename(done)
        shutil.rmtree(done, ignore_errors=True)


def _shares(root: Path) -> list[Share]:
    return [_share_of(document) for path in sorted((root / SHARES).glob(f"*/{_FILE}")) if (document := read_json(path))]


def _check(root: Path, found: Sequence[Share]) -> None:
    if len({(share.share[1], share.plan) for share in found}) > 1:
        raise DataError(
            "its shares are of different imports", path=root / SHARES, remedy="remove those that do not belong"
        )
    have = {share.share[0] for share in found}
    shares = found[0].share[1] if found else 0
    if missing := [number for number in range(1, shares + 1) if number not in have]:
        verb = "is" if len(missing) == 1 else "are"
        raise DataError(
            f"of {shares} shares of this import {len(missing)} {verb} missing: {', '.join(map(str, missing))}",
            path=root,
            remedy=f"import with --shard {missing[0]}/{shares}, then merge",
        )
    for share in found:
        for account in share.accounts.values():
            whole = account.done and all(part_path(root, kind, account.part).exists() for kind in KINDS)
            if not whole:
                number = f"{share.share[0]}/{shares}"
                raise DataError(
                    f"share {number} has not finished this input",
                    path=account.path,
                    remedy=f"import with --shard {number} again",
                )


def _copy(other: Path, root: Path, known: Collection[str]) -> None:
    """Copy the parts of the shares of another directory, and the shares after them."""
    found = _shares(other)
    if not found:
        raise DataError(
            "there is no share of an import here", path=other, remedy="name the directory that a share was made in"
        )
    parts = {account.part for share in found for account in share.accounts.values()} - set(known)
    for kind in KINDS:
        for part in parts:
            if (path := part_path(other, kind, part)).exists():
                _copy_file(path, part_path(root, kind, part))
    for part in parts:
        for path in sorted((other / SET_ASIDE / part).glob("*")):
            _copy_file(path, root / SET_ASIDE / part / path.name)
    for share in found:
        _copy_file(share_folder(other, share.share) / _FILE, share_folder(root, share.share) / _FILE)


def _copy_file(path: Path, target: Path) -> None:
    with replacing(target) as partial:
        shutil.copyfile(path, partial)
