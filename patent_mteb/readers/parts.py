"""The parts of a records directory: one parquet file of each kind of record for one input, written as the records come."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from patent_mteb.files import replacing, write_text
from patent_mteb.patents.records import CITATION_SCHEMA, PATENT_SCHEMA, RELATION_SCHEMA, Citation, Patent, Relation

__all__ = ["KINDS", "SET_ASIDE", "PartWriter", "part_path", "remove_part"]

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
    """The file of one kind of record of a part.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.parts import part_path
        >>> part_path(Path("records"), "citations", "mine-0123").as_posix()
        'records/citations/mine-0123.parquet'
    """
    return root / kind / f"{part}.parquet"


def remove_part(root: Path, part: str) -> None:
    """Remove the files of a part, as far as they are there.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.parts import remove_part
        >>> remove_part(Path("records"), "mine-0123")
    """
    for kind in KINDS:
        part_path(root, kind, part).unlink(missing_ok=True)
    shutil.rmtree(root / SET_ASIDE / part, ignore_errors=True)


class PartWriter:
    """Writes the records of one input, a thousand in memory at a time; the files are in place when the block ends well.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.readers.parts import PartWriter
        >>> with PartWriter(Path("records"), "mine") as out:
        ...     out.write(Patent("US1A", "F1"))
        >>> out.counts
        {'patents': 1, 'citations': 0, 'relations': 0}
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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
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
