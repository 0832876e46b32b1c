"""Files of a records directory: the parts of each input, the accounts of the inputs, and the shares of an import.

A part is one parquet file per kind of record for one input. ``import.json`` has an account of each input. A share of an
import stores its accounts in ``shares/<i>-of-<n>/share.json``; other shares do not write there.

A publication that occurs in two parts is removed from the later one. If the later one is of a table, its fields are
first joined to the earlier record (:mod:`patent_mteb.readers.joining`). An interrupted removal is repeated from its
plan (:data:`PENDING`), so the result is the same and nothing is counted twice.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from patent_mteb.errors import DataError
from patent_mteb.files import read_batches, read_json, read_parquet, replacing, write_json, write_parquet, write_text
from patent_mteb.identity import RELEASE
from patent_mteb.memory import TEXTS_AT_ONCE
from patent_mteb.patents.records import SCHEMAS, Citation, Patent, Relation, row_of
from patent_mteb.readers.joining import ADDED, CONFLICTS, FILL, Row, joined
from patent_mteb.readers.tables import is_table

_NAMES: dict[type, str] = {Patent: "patents", Citation: "citations", Relation: "relations"}
KINDS = tuple(_NAMES.values())  # the kinds of records; each has a folder in a records directory
SET_ASIDE = "set-aside"  # folder for the texts of malformed documents, with a folder for each part


def part_path(root: Path, kind: str, part: str) -> Path:
    return root / kind / f"{part}.parquet"


def remove_part(root: Path, part: str) -> None:
    for kind in KINDS:
        part_path(root, kind, part).unlink(missing_ok=True)
    shutil.rmtree(root / SET_ASIDE / part, ignore_errors=True)


class PartWriter:
    def __init__(self, root: Path, part: str, writers: Mapping[type, pq.ParquetWriter]) -> None:
        self.counts = dict.fromkeys(KINDS, 0)
        self._root, self._part, self._writers = root, part, writers
        self._set_aside = 0
        self._waiting: dict[type, list[dict[str, Any]]] = {kind: [] for kind in _NAMES}

    def write(self, record: Patent | Citation | Relation) -> None:
        kind = type(record)
        self._waiting[kind].append(row_of(record))
        self.counts[_NAMES[kind]] += 1
        if len(self._waiting[kind]) >= TEXTS_AT_ONCE:
            self.flush(kind)

    def set_aside(self, text: str) -> Path:
        """Save the text of a malformed document and return its file."""
        self._set_aside += 1
        path = self._root / SET_ASIDE / self._part / f"{self._set_aside:06}.txt"
        write_text(path, text)
        return path

    def flush(self, kind: type) -> None:
        rows = self._waiting[kind]
        if rows:
            self._writers[kind].write_table(pa.Table.from_pylist(rows, schema=SCHEMAS[kind]))
            rows.clear()


@contextlib.contextmanager
def writing_part(root: Path, part: str) -> Iterator[PartWriter]:
    """Write a part; its files appear when the block ends without an error."""
    with contextlib.ExitStack() as files:
        writers = {}
        for kind, name in _NAMES.items():
            partial = files.enter_context(replacing(part_path(root, name, part)))
            writers[kind] = files.enter_context(pq.ParquetWriter(partial, SCHEMAS[kind]))
        out = PartWriter(root, part, writers)
        yield out
        for kind in _NAMES:
            out.flush(kind)


MANIFEST = "import.json"
_REMOVED = "removed.json"
REMOVED = "the publication was removed with --remove"
REPEATED = "the publication number is in an input that was imported before"
DELETED_LATER = "a file of a later exchange deletes the publication (DOCDB)"
AMENDED_LATER = "a file of a later exchange has the publication, with its citations and relations (DOCDB)"
LOST = (REPEATED, DELETED_LATER, AMENDED_LATER)
"""Why a publication of an input has no record: it returns if another input is removed."""
JOINED = "fields of a later input were joined to this one's publications"


@dataclass
class Tally:
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, example: str = "", count: int = 1) -> None:
        self.count += count
        if example and len(self.examples) < 5:
            self.examples.append(example)


@dataclass
class Account:
    """The import of one input file, as ``import.json`` stores it.

    ``source`` is the name of its reader or the path of the column map. ``size``, ``sha256`` and ``day`` are the bytes,
    the hash and the day of the last change of the input. ``done`` says whether its part is complete, ``again`` whether
    a complete part is read again, because records that were removed as repeats may return. Then come the records
    written, by kind, the skipped documents, by reason, and the notes. A DOCDB file has the day on which it was
    exchanged last, and the publications that it deletes.
    """

    path: str
    source: str
    part: str
    size: int
    sha256: str = ""
    day: str = ""
    done: bool = False
    again: bool = False
    records: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    left_out: dict[str, Tally] = field(default_factory=dict)
    notes: dict[str, Tally] = field(default_factory=dict)
    exchanged: str = ""
    deleted: list[str] = field(default_factory=list)


def read_accounts(root: Path) -> dict[str, Account]:
    """Return the accounts of a records directory by part, in the order of their import."""
    rows = (read_json(root / MANIFEST) or {}).get("inputs", ())
    return {row["part"]: _account(row) for row in rows}


def _account(row: Mapping[str, Any]) -> Account:
    tallies = {name: {what: Tally(**tally) for what, tally in row[name].items()} for name in ("left_out", "notes")}
    return Account(**{**row, **tallies})


def save_accounts(root: Path, accounts: Mapping[str, Account], *, repeats_removed: bool) -> None:
    rows = [asdict(account) for account in accounts.values()]
    document = {"schema": 1, "version": RELEASE, "inputs": rows, "settled": repeats_removed}
    write_json(root / MANIFEST, document)


PENDING = ".repeats.parquet"
_FIELDS = pa.list_(pa.string())
_REPEATS = pa.schema(
    {**dict.fromkeys(("part", "publication_number", "into"), pa.string()), "added": _FIELDS, "conflicts": _FIELDS}
)


def remove_repeats(root: Path, accounts: Mapping[str, Account]) -> None:
    """Join or remove repeated publications of the parts of a directory, and update and save its accounts."""
    pending = root / PENDING
    if not pending.exists():
        write_parquet(pending, _find_repeats(root, accounts))
    repeats = read_parquet(pending, _REPEATS.names).to_pylist()
    joins = [row for row in repeats if row["added"] or row["conflicts"]]
    for into in dict.fromkeys(row["into"] for row in joins):
        mine = [row for row in joins if row["into"] == into]
        later = _rows_of(root, [(row["part"], row["publication_number"]) for row in mine])
        _rewrite(part_path(root, "patents", into), later)
        accounts[into].notes.setdefault(JOINED, Tally()).add(mine[0]["publication_number"], len(mine))
    for part in dict.fromkeys(row["part"] for row in repeats):
        mine = [row for row in repeats if row["part"] == part]
        _drop_publications(part_path(root, "patents", part), [row["publication_number"] for row in mine])
        reasons = {row["publication_number"]: _reason(accounts, part, row["into"]) for row in mine}
        if superseded := [number for number, reason in reasons.items() if reason != REPEATED]:
            for kind, name in {Citation: "citations", Relation: "relations"}.items():
                accounts[part].records[name] -= _drop_publications(part_path(root, name, part), superseded, kind)
        for row in mine:
            reason = reasons[row["publication_number"]]
            accounts[part].left_out.setdefault(reason, Tally()).add(row["publication_number"])
            for what, fields in ((ADDED, row["added"]), (CONFLICTS, row["conflicts"])):
                if fields:
                    example = f"{row['publication_number']}: {', '.join(fields)}"
                    accounts[part].notes.setdefault(what, Tally()).add(example, len(fields))
        accounts[part].records["patents"] -= len(mine)
    save_accounts(root, accounts, repeats_removed=True)
    pending.unlink()


def _reason(accounts: Mapping[str, Account], part: str, into: str) -> str:
    """Why a repeated publication is removed from a part; ``into`` is the part that has it, empty if it is deleted."""
    if not into:
        return DELETED_LATER
    return AMENDED_LATER if accounts[part].exchanged and accounts[into].exchanged else REPEATED


def complete_removal(root: Path, accounts: Mapping[str, Account]) -> None:
    """Complete an interrupted removal of repeats."""
    if (read_json(root / MANIFEST) or {}).get("settled", True):
        (root / PENDING).unlink(missing_ok=True)
    elif all(account.done for account in accounts.values()):
        remove_repeats(root, accounts)


def _find_repeats(root: Path, accounts: Mapping[str, Account]) -> pa.Table:
    """Return the publications of each part that an earlier part has, and the fields that tables add or change.

    Publications that a later exchange deletes have no other part. Of a publication that a later exchange amends, the
    other part is that of the later exchange, and no field of the earlier one remains.
    """
    parts = _by_exchange(accounts)
    columns = [
        pl.read_parquet(part_path(root, "patents", part), columns=["publication_number"]).with_columns(
            position=pl.lit(position, pl.UInt32), exchanged=pl.lit(accounts[part].exchanged)
        )
        for position, part in enumerate(parts)
    ]
    if not columns:
        return _REPEATS.empty_table()
    numbers = pl.concat(columns)
    deleted = {number: one.exchanged for one in _in_order(accounts) for number in one.deleted}
    day = pl.col("publication_number").replace_strict(deleted, default="", return_dtype=pl.String)
    is_deleted = (pl.col("exchanged") > "") & (pl.col("exchanged") < day)
    gone, numbers = numbers.filter(is_deleted), numbers.filter(~is_deleted)
    first, is_exchange = pl.col("position").first(), pl.col("exchanged") > ""
    numbers = numbers.with_columns(first=first.over("publication_number", is_exchange))
    is_amended = is_exchange & (pl.col("position") > pl.col("first"))
    amended, numbers = numbers.filter(is_amended), numbers.filter(~is_amended)
    numbers = numbers.with_columns(first=first.over("publication_number"))
    repeated = numbers.filter(~pl.col("publication_number").is_first_distinct())  # also within a part
    repeats = [
        (number, parts[later], parts[into]) for number, later, _, into in (*repeated.iter_rows(), *amended.iter_rows())
    ]
    joining = {part for part in parts if is_table(accounts[part].source) or accounts[part].source in FILL}
    joins = [repeat for repeat in repeats if repeat[1] in joining and _reason(accounts, *repeat[1:]) == REPEATED]
    changes: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for into in dict.fromkeys(into for _, _, into in joins):
        numbers_of = [(part, number) for number, part, first in joins if first == into]
        rows = {number: row for _, number, row in _rows_of(root, [(into, number) for _, number in numbers_of])}
        for part, number, later in _rows_of(root, numbers_of):
            rows[number], added, conflicts = joined(rows[number], later)
            changes[part, number] = added, conflicts
    found = [(part, number, first, *changes.get((part, number), ([], []))) for number, part, first in repeats]
    found += [(parts[position], number, "", [], []) for number, position, _ in gone.iter_rows()]
    return pa.Table.from_pylist([dict(zip(_REPEATS.names, row, strict=True)) for row in found], schema=_REPEATS)


def _in_order(accounts: Mapping[str, Account]) -> list[Account]:
    """The DOCDB files, the one that was exchanged last at the end."""
    return sorted((one for one in accounts.values() if one.exchanged), key=lambda one: one.exchanged)


def _by_exchange(accounts: Mapping[str, Account]) -> list[str]:
    """The parts in the order of their import, but of DOCDB files the one that was exchanged last is first."""
    latest = _in_order(accounts)
    return [latest.pop().part if one.exchanged else part for part, one in accounts.items()]


def _rows_of(root: Path, numbers: Sequence[tuple[str, str]]) -> list[tuple[str, str, Row]]:
    """Return (part, number, record) of publications in their parts, in the order of the parts."""
    found = []
    for part in dict.fromkeys(part for part, _ in numbers):
        wanted = pa.array(sorted({number for one, number in numbers if one == part}), pa.string())
        for table in read_batches(part_path(root, "patents", part)):
            rows = table.filter(pc.is_in(table["publication_number"], wanted)).to_pylist()
            found += [(part, row["publication_number"], row) for row in rows]
    return found


def _rewrite(path: Path, later: Sequence[tuple[str, str, Row]]) -> None:
    """Rewrite a part with the fields of later records."""
    changes: dict[str, list[Row]] = {}
    for _, number, row in later:
        changes.setdefault(number, []).append(row)
    with replacing(path) as partial, pq.ParquetWriter(partial, SCHEMAS[Patent]) as out:
        wanted = pa.array(sorted(changes), pa.string())
        for table in read_batches(path):
            if not pc.any(pc.is_in(table["publication_number"], wanted)).as_py():
                out.write_table(table.cast(SCHEMAS[Patent]))
                continue
            rows = table.to_pylist()
            for place, row in enumerate(rows):
                for one in changes.get(row["publication_number"], ()):
                    rows[place] = joined(rows[place], one)[0]
            out.write_table(pa.Table.from_pylist(rows, schema=SCHEMAS[Patent]))


def _drop_publications(path: Path, numbers: Collection[str], kind: type = Patent) -> int:
    """Rewrite a part without the records of some publications, unless it has none of them, and return their number."""
    schema, column = SCHEMAS[kind], _OWN[kind]
    dropped = pa.array(sorted(numbers), pa.string())
    names = read_parquet(path, [column], without=set(schema.names) - {column})
    if not (count := pc.sum(pc.is_in(names[column], dropped)).as_py()):
        return 0
    with replacing(path) as partial, pq.ParquetWriter(partial, schema) as out:
        for table in read_batches(path):
            out.write_table(table.filter(pc.invert(pc.is_in(table[column], dropped))).cast(schema))
    return int(count)


_OWN: dict[type, str] = {Patent: "publication_number", Citation: "citing", Relation: "number"}
"""The field of a record that names the publication which it is of."""


def number_of(record: Patent | Citation | Relation) -> str:
    """Return the publication that a record is of: a citation is of the citing one."""
    return str(getattr(record, _OWN[type(record)]))


def publications(root: Path, parts: Collection[str]) -> set[str]:
    paths = [path for part in parts if (path := part_path(root, "patents", part)).exists()]
    return {number for path in paths for number in pq.read_table(path, columns=[_OWN[Patent]])[0].to_pylist()}


def filled_fields(root: Path, parts: Collection[str], names: Sequence[str]) -> dict[str, int]:
    """Count the publications of some parts that have each field."""
    paths = [path for part in parts if (path := part_path(root, "patents", part)).exists()]
    counts = dict.fromkeys(names, 0)
    for table in (pq.read_table(path, columns=list(names)) for path in paths):
        for name in names:
            is_list = pa.types.is_list(table.schema.field(name).type)
            lengths = (pc.list_value_length if is_list else pc.utf8_length)(table[name])
            counts[name] += pc.sum(pc.greater(lengths, 0)).as_py() or 0
    return counts


def removed_publications(root: Path) -> set[str]:
    """Return the publications that later imports skip."""
    return set((read_json(root / _REMOVED) or {}).get("publications", ()))


def remove_publications(root: Path, accounts: Mapping[str, Account], numbers: Collection[str]) -> dict[str, int]:
    """Remove all records of some publications, from later imports too, and return how many of each kind they were."""
    write_json(root / _REMOVED, {"publications": sorted(removed_publications(root) | set(numbers))})
    counts = dict.fromkeys(KINDS, 0)
    for part, account in accounts.items():
        for kind, name in _NAMES.items():
            path = part_path(root, name, part)
            counts[name] += _drop_publications(path, numbers, kind) if path.exists() else 0
            account.records[name] = pq.read_metadata(path).num_rows if path.exists() else 0
    save_accounts(root, accounts, repeats_removed=True)
    return counts


SHARES = "shares"
_SHARE = "share.json"


@dataclass(frozen=True)
class Share:
    """Share i of n of an import, the digest of the inputs of all shares, and its accounts by position among them."""

    share: tuple[int, int]
    plan: str
    accounts: Mapping[int, Account]


def share_folder(root: Path, share: tuple[int, int]) -> Path:
    return root / SHARES / f"{share[0]}-of-{share[1]}"


def save_share(root: Path, share: Share) -> None:
    rows = [{"place": position, **asdict(account)} for position, account in share.accounts.items()]
    document = {"schema": 1, "version": RELEASE, "share": list(share.share), "plan": share.plan, "inputs": rows}
    write_json(share_folder(root, share.share) / _SHARE, document)


def read_share(root: Path, share: tuple[int, int], plan: str) -> dict[str, Account]:
    """Return the accounts of a share by part; empty if the share was not started."""
    path = share_folder(root, share) / _SHARE
    document = read_json(path)
    if document is None:
        return {}
    if document["plan"] != plan:
        remedy = f"merge that import first, or remove {path.parents[1]}"
        raise DataError("this share was started with other inputs", path=path, remedy=remedy)
    return {account.part: account for account in _share(document).accounts.values()}


def _share(document: Mapping[str, Any]) -> Share:
    rows = [dict(row) for row in document["inputs"]]
    number, shares = document["share"]
    return Share((number, shares), document["plan"], {row.pop("place"): _account(row) for row in rows})


@contextlib.contextmanager
def merged_shares(root: Path, others: Sequence[Path], known: Collection[str] = ()) -> Iterator[dict[str, Account]]:
    """Copy the shares of other directories to ``root`` and give the accounts of all shares in the order of one import.

    The shares are removed when the block ends without an error.
    """
    done = root / ".merged-shares"
    shutil.rmtree(done, ignore_errors=True)
    for other in others:
        _copy(other, root, known)
    shares = _read_shares(root)
    if not shares and not (root / MANIFEST).exists():
        raise DataError("the directory has no share of an import", path=root, remedy="import with --shard first")
    _check(root, shares)
    by_position = {position: account for share in shares for position, account in share.accounts.items()}
    yield {by_position[position].part: by_position[position] for position in sorted(by_position)}
    if shares:
        (root / SHARES).rename(done)
        shutil.rmtree(done, ignore_errors=True)


def _read_shares(root: Path) -> list[Share]:
    paths = sorted((root / SHARES).glob(f"*/{_SHARE}"))
    return [_share(document) for path in paths if (document := read_json(path))]


def _check(root: Path, found: Sequence[Share]) -> None:
    """Refuse shares of different imports, missing shares and unfinished shares."""
    if len({(share.share[1], share.plan) for share in found}) > 1:
        problem = "the shares are of different imports"
        raise DataError(problem, path=root / SHARES, remedy="remove those that do not belong")
    have = {share.share[0] for share in found}
    n_shares = found[0].share[1] if found else 0
    if missing := [number for number in range(1, n_shares + 1) if number not in have]:
        verb = "is" if len(missing) == 1 else "are"
        problem = f"of {n_shares} shares of this import {len(missing)} {verb} missing: {', '.join(map(str, missing))}"
        raise DataError(problem, path=root, remedy=f"import with --shard {missing[0]}/{n_shares}, then merge")
    for share in found:
        for account in share.accounts.values():
            if not (account.done and all(part_path(root, kind, account.part).exists() for kind in KINDS)):
                number = f"{share.share[0]}/{n_shares}"
                problem = f"share {number} has not finished this input"
                raise DataError(problem, path=account.path, remedy=f"import with --shard {number} again")


def _copy(other: Path, root: Path, known: Collection[str]) -> None:
    """Copy the parts of the shares of another directory, then the shares."""
    found = _read_shares(other)
    if not found:
        problem = "the directory has no share of an import"
        raise DataError(problem, path=other, remedy="name the directory of a share")
    parts = {account.part for share in found for account in share.accounts.values()} - set(known)
    files = [part_path(other, kind, part) for kind in KINDS for part in parts]
    files += [path for part in parts for path in sorted((other / SET_ASIDE / part).glob("*"))]
    files += [share_folder(other, share.share) / _SHARE for share in found]  # last: they say that the parts are there
    for path in files:
        if path.exists():
            with replacing(root / path.relative_to(other)) as partial:
                shutil.copyfile(path, partial)
