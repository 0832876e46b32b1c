"""Readers of exports and bulk files, one module per source. :data:`READERS` lists them.

A reader yields records of :mod:`patent_mteb.patents.records`, a :class:`Skipped` for each document without a record,
and a :class:`Note` for anything else to report. :mod:`patent_mteb.readers.importing` writes the records of each input
file as a part of a records directory. Readers need neither mteb nor torch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.readers import (
    enriched,
    epo,
    hupd,
    lens,
    markup,
    office_actions,
    ops,
    patentsview,
    patentsview_api,
    patstat,
    ris,
    tables,
    uspto,
    uspto_json,
)
from patent_mteb.readers.columns import read_map
from patent_mteb.readers.items import Item, Note, Reader, Skipped

__all__ = ["READERS", "Item", "Note", "Reader", "Skipped", "reader_named", "recognise"]

_ALL = (
    *uspto.READERS,
    *uspto_json.READERS,
    *epo.READERS,
    ops.READER,
    enriched.READER,
    office_actions.READER,
    patentsview.READER,
    patentsview_api.READER,
    patstat.READER,
    lens.READER,
    hupd.READER,
    *markup.READERS,
    ris.READER,
    *tables.readers(),
)
READERS: Mapping[str, Reader] = {reader.name: reader for reader in _ALL}
"""Sources by name. A file is read by the first reader whose ``sniff`` accepts it."""


def reader_named(source: str) -> Reader:
    """Return the reader of a source, given by its name or by the path of a column map (``.toml``)."""
    if source.endswith(".toml"):
        return tables.reader_of(read_map(Path(source)))
    if source not in READERS:
        remedy = f"choose one of {', '.join(READERS)}, or give a column map (.toml)"
        raise DataError(f"unknown source '{source}'", remedy=remedy)
    return READERS[source]


def recognise(path: Path) -> Reader | None:
    """Return the reader that recognises the content of a file, None if there is none."""
    for reader in READERS.values():
        with contextlib.suppress(DataError):
            if reader.sniff(path):
                return reader
    return None
