"""Publications that stand in two parts: kept in the first, taken out of the others.

What is to be taken out is written down first (:data:`PENDING`), then the parts are written anew, then the accounts say so. A step that was
interrupted is done again from that file, and nothing is counted twice: whoever is killed and starts again ends in the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from patent_mteb.files import read_batches, read_parquet, replacing, write_parquet
from patent_mteb.patents.records import PATENT_SCHEMA
from patent_mteb.readers.accounts import Account, Tally, save_accounts, settled
from patent_mteb.readers.parts import part_path

__all__ = ["REPEATED", "drop_repeats", "find_repeats", "finish", "settle"]

PENDING = ".repeats.parquet"
REPEATED = "the publication number stands in an input that was imported before"

_SCHEMA = pa.schema([("part", pa.string()), ("publication_number", pa.string())])


def settle(root: Path, accounts: Mapping[str, Account]) -> None:
    """Take repeats out of the parts of a directory, and save its accounts, changed by it.

    Args:
        accounts: those of the directory, all done, in the order in which they count.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.readers.accounts import Account
        >>> from patent_mteb.readers.parts import PartWriter
        >>> from patent_mteb.readers.repeats import settle
        >>> for part in ("first", "second"):
        ...     with PartWriter(Path("records"), part) as out:
        ...         out.write(Patent("US1A", "F1"))
        >>> accounts = {part: Account(f"{part}.csv", "table", part, 3, done=True, records={"patents": 1}) for part in ("first", "second")}
        >>> settle(Path("records"), accounts)
        >>> accounts["second"].records, accounts["second"].left_out
        ({'patents': 0}, {'the publication number stands in an input that was imported before': Tally(count=1, examples=['US1A'])})
    """
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
    """Do what a step that was interrupted has left: take repeats out, or forget what was taken out.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.accounts import save_accounts, settled
        >>> from patent_mteb.readers.repeats import finish
        >>> save_accounts(Path("records"), {}, settled=False)
        >>> finish(Path("records"), {})
        >>> settled(Path("records"))
        True
    """
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
    """The publications of each part that stand in a part before it.

    Args:
        parts: names of parts in the order in which they count.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.readers.parts import PartWriter
        >>> from patent_mteb.readers.repeats import find_repeats
        >>> for part in ("first", "second"):
        ...     with PartWriter(Path("records"), part) as out:
        ...         out.write(Patent("US1A", "F1"))
        >>> find_repeats(Path("records"), ["first", "second"]).to_pylist()
        [{'part': 'second', 'publication_number': 'US1A'}]
    """
    columns = [
        pl.read_parquet(part_path(root, "patents", part), columns=["publication_number"]).with_columns(place=pl.lit(place, pl.UInt32))
        for place, part in enumerate(parts)
    ]
    if not columns:
        return _SCHEMA.empty_table()
    repeated = pl.concat(columns).filter(~pl.col("publication_number").is_first_distinct())
    named = [parts[place] for place in repeated["place"].to_list()]
    return pa.table({"part": named, "publication_number": repeated["publication_number"].to_list()}, schema=_SCHEMA)


def drop_repeats(path: Path, numbers: Collection[str]) -> None:
    """Write a part without some publications, unless they are out of it already.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.records import Patent, read_patents
        >>> from patent_mteb.readers.parts import PartWriter, part_path
        >>> from patent_mteb.readers.repeats import drop_repeats
        >>> with PartWriter(Path("records"), "mine") as out:
        ...     out.write(Patent("US1A", "F1"))
        ...     out.write(Patent("US2A", "F2"))
        >>> drop_repeats(part_path(Path("records"), "patents", "mine"), ["US1A"])
        >>> [patent.publication_number for patent in read_patents("records/patents")]
        ['US2A']
    """
    dropped = pa.array(sorted(numbers), pa.string())
    held = read_parquet(path, ["publication_number"], without=set(PATENT_SCHEMA.names) - {"publication_number"})
    if not pc.any(pc.is_in(held["publication_number"], dropped)).as_py():
        return
    with replacing(path) as partial, pq.ParquetWriter(partial, PATENT_SCHEMA) as out:
        for table in read_batches(path):
            kept = pc.invert(pc.is_in(table["publication_number"], dropped))
            out.write_table(table.filter(kept).cast(PATENT_SCHEMA))
