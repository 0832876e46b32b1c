"""The shares of an import: which inputs each has, what became of them, and their merging into one import.

A share keeps its accounts in ``shares/<i>-of-<n>/share.json`` of the records directory, which nobody else writes to.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError
from patent_mteb.files import read_json, replacing, write_json
from patent_mteb.identity import __version__, json_digest
from patent_mteb.readers.accounts import MANIFEST, Account, rows_of
from patent_mteb.readers.parts import KINDS, SET_ASIDE, part_path

__all__ = ["SHARES", "Share", "digest_of", "merged", "read_share", "save_share", "share_folder"]

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
    """What tells the inputs of one import from those of another: their names in their order. Folders may differ from machine to machine.

    Example:
        >>> from patent_mteb.readers.shares import digest_of
        >>> digest_of(["a.csv", "b.csv"]) == digest_of(["b.csv", "a.csv"])
        False
    """
    return json_digest(list(names))


def share_folder(root: Path, share: tuple[int, int]) -> Path:
    """The folder of a share's own.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.shares import share_folder
        >>> share_folder(Path("records"), (2, 8)).as_posix()
        'records/shares/2-of-8'
    """
    return root / SHARES / f"{share[0]}-of-{share[1]}"


def save_share(root: Path, share: Share) -> None:
    """Write the accounts of a share.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.accounts import Account
        >>> from patent_mteb.readers.shares import Share, read_share, save_share
        >>> save_share(Path("records"), Share((1, 2), "plan", {0: Account("a.csv", "table", "a-01", 3)}))
        >>> list(read_share(Path("records"), (1, 2), "plan"))
        ['a-01']
    """
    rows = [{"place": place, **asdict(account)} for place, account in share.accounts.items()]
    document = {"schema": 1, "version": __version__, "share": list(share.share), "plan": share.plan, "inputs": rows}
    write_json(share_folder(root, share.share) / _FILE, document)


def read_share(root: Path, share: tuple[int, int], plan: str) -> dict[str, Account]:
    """The accounts of a share by the names of their parts; empty if it was not begun.

    Raises:
        DataError: the share was begun with other inputs.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.shares import read_share
        >>> read_share(Path("records"), (1, 2), "plan")
        {}
    """
    path = share_folder(root, share) / _FILE
    document = read_json(path)
    if document is None:
        return {}
    if document["plan"] != plan:
        raise DataError("this share was begun with other inputs", path=path, remedy=f"merge that import first, or remove {path.parents[1]}")
    return {account.part: account for account in _share_of(document).accounts.values()}


def _share_of(document: Mapping[str, Any]) -> Share:
    rows = [dict(row) for row in document["inputs"]]
    places = [row.pop("place") for row in rows]
    number, shares = document["share"]
    accounts = [account for row in rows for account in rows_of({"inputs": [row]}).values()]
    return Share((number, shares), document["plan"], dict(zip(places, accounts, strict=True)))


@contextlib.contextmanager
def merged(root: Path, others: Sequence[Path], known: Collection[str] = ()) -> Iterator[dict[str, Account]]:
    """The accounts of all shares in the order of one import, whose parts lie in ``root``; the shares go when the block ends well.

    Args:
        others: directories whose parts and shares are copied to ``root`` first.
        known: parts that ``root`` has in their final state, which are not copied.

    Raises:
        DataError: a share is missing or not finished, a part is missing, or shares are of different imports.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.accounts import Account
        >>> from patent_mteb.readers.shares import Share, merged, save_share
        >>> save_share(Path("records"), Share((1, 2), "plan", {0: Account("a.csv", "table", "a-01", 3)}))
        >>> with merged(Path("records"), []):
        ...     pass
        Traceback (most recent call last):
        patent_mteb.errors.DataError: records: of 2 shares of this import 1 is missing: 2. Remedy: import with --shard 2/2, then merge.
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
        raise DataError("its shares are of different imports", path=root / SHARES, remedy="remove those that do not belong")
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
                    f"share {number} has not finished this input", path=account.path, remedy=f"import with --shard {number} again"
                )


def _copy(other: Path, root: Path, known: Collection[str]) -> None:
    """Copy the parts of the shares of another directory, and the shares after them."""
    found = _shares(other)
    if not found:
        raise DataError("there is no share of an import here", path=other, remedy="name the directory that a share was made in")
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
