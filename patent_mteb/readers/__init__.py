"""From exports and bulk files to records: one file a source, all of them in one table (:data:`READERS`). No mteb, no
torch.

A reader streams: it yields records of :mod:`patent_mteb.patents.records` as it meets them, a :class:`Skipped` for each
document that gives none, and a :class:`Note` for what it made of the rest. :mod:`patent_mteb.readers.importing` writes
them, one part for each input file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.readers import enriched, epo, hupd, lens, ops, patentsview, patstat, tables, uspto
from patent_mteb.readers.columns import read_map
from patent_mteb.readers.items import Item, Note, Reader, Skipped

__all__ = ["READERS", "Item", "Note", "Reader", "Skipped", "reader_named", "recognise"]

_ALL = (
    *uspto.readers(),
    *epo.readers(),
    ops.reader(),
    enriched.reader(),
    patentsview.reader(),
    patstat.reader(),
    lens.reader(),
    hupd.reader(),
    *tables.readers(),
)
READERS: Mapping[str, Reader] = {reader.name: reader for reader in _ALL}
"""Every source by its name; a file is given to the first whose ``sniff`` knows it."""


def reader_named(source: str) -> Reader:
    """The reader of a source, given by its name or by the path of a column map (``.toml``)."""
    if source.endswith(".toml"):
        return tables.reader_of(read_map(Path(source)))
    if source not in READERS:
        raise DataError(
            f"there is no source '{source}'", remedy=f"choose one of {', '.join(READERS)}, or give a column map (.toml)"
        )
    return READERS[source]


def recognise(path: Path) -> Reader | None:
    """The reader that knows a file by its content, None if none does."""
    return next((reader for reader in READERS.values() if _knows(reader, path)), None)


def _knows(reader: Reader, path: Path) -> bool:
    try:
        return reader.sniff(path)
    except DataError:
        return False
