"""What became of the inputs of an import: an account for each, kept in ``import.json`` of the records directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from patent_mteb.files import read_json, write_json
from patent_mteb.identity import __version__
from patent_mteb.readers.parts import KINDS

__all__ = ["MANIFEST", "Account", "Tally", "read_accounts", "rows_of", "save_accounts", "settled"]

MANIFEST = "import.json"
_EXAMPLES = 5


@dataclass
class Tally:
    """How often something was so, and its first cases.

    Example:
        >>> from patent_mteb.readers.accounts import Tally
        >>> tally = Tally()
        >>> tally.add("row 2")
        >>> tally
        Tally(count=1, examples=['row 2'])
    """

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
    """The accounts of a records directory by the names of their parts, in the order of their import; empty for a new directory.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.accounts import read_accounts
        >>> read_accounts(Path("nowhere"))
        {}
    """
    return rows_of(read_json(root / MANIFEST) or {})


def rows_of(document: Mapping[str, Any]) -> dict[str, Account]:
    """The accounts of a document that :func:`save_accounts` wrote, by the names of their parts.

    Example:
        >>> from patent_mteb.readers.accounts import rows_of
        >>> row = {"path": "a.csv", "source": "table", "part": "a-01", "size": 3, "left_out": {}, "notes": {"odd": {"count": 2}}}
        >>> rows_of({"inputs": [row]})["a-01"].notes
        {'odd': Tally(count=2, examples=[])}
    """
    accounts = {}
    for row in document.get("inputs", ()):
        tallies = {name: {what: Tally(**tally) for what, tally in row[name].items()} for name in ("left_out", "notes")}
        accounts[row["part"]] = Account(**(row | tallies))
    return accounts


def save_accounts(root: Path, accounts: Mapping[str, Account], **more: Any) -> None:
    """Write the accounts of a directory, with ``more`` beside them; ``settled`` says whether repeats were taken out of the parts.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.accounts import Account, read_accounts, save_accounts
        >>> save_accounts(Path("records"), {"a-01": Account("a.csv", "table", "a-01", 3)}, settled=True)
        >>> list(read_accounts(Path("records")))
        ['a-01']
    """
    document = {"schema": 1, "version": __version__, "inputs": [asdict(account) for account in accounts.values()]}
    write_json(root / MANIFEST, document | more)


def settled(root: Path) -> bool:
    """Whether the parts of a records directory are as its accounts say, with no repeats left in them.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.accounts import save_accounts, settled
        >>> save_accounts(Path("records"), {}, settled=False)
        >>> settled(Path("records")), settled(Path("nowhere"))
        (False, True)
    """
    return bool((read_json(root / MANIFEST) or {}).get("settled", True))
