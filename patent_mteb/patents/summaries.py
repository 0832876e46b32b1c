"""Files of machine-written summaries of patents.

The five kinds are those of Sophia-Bench (§3.3), the fields of :class:`~patent_mteb.patents.records.MachineSummaries`.
``patent-mteb data summarise`` writes a file of summaries and the Sophia recipe reads it. Each line is a JSON object:

* ``publication_number``, ``kind`` (one of :data:`KINDS`), ``text``;
* ``how``: ``model`` for the text of a language model, ``extract`` for sentences of the patent;
* ``model``; ``prompt``, a digest of everything in the prompt but the patent; ``day``;
* ``source``: a digest of the summarised text of the patent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from patent_mteb.errors import DataError, refuse_repeat
from patent_mteb.files import read_jsonl, write_jsonl
from patent_mteb.patents import views
from patent_mteb.patents.records import MachineSummaries, Patent

KINDS: tuple[str, ...] = tuple(field.name for field in fields(MachineSummaries))
MODEL, EXTRACT = "model", "extract"


@dataclass(frozen=True)
class WrittenSummary:
    """One row of a file of summaries."""

    publication_number: str
    kind: str
    text: str
    how: str
    model: str
    prompt: str
    source: str
    day: str

    @property
    def origin(self) -> str:
        if self.how == EXTRACT:
            return f"extracts of the patents’ own sentences, no machine summaries ({self.model})"
        return f"machine summaries by {self.model} (prompt {self.prompt})"


def text_of(patent: Patent) -> str:
    """Return the text that is summarised: title, abstract, claims and description, as in the paper."""
    return views.VIEWS["Tacd"](patent)


def source_of(patent: Patent) -> str:
    """Return a digest of the text that is summarised."""
    return hashlib.sha256(text_of(patent).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def write_summaries(path: Path, rows: Iterable[WrittenSummary]) -> None:
    write_jsonl(path, map(asdict, rows))


def read_summaries(path: Path) -> list[WrittenSummary]:
    rows: list[WrittenSummary] = []
    seen: dict[tuple[str, ...], int] = {}
    for number, values in read_jsonl(path, tuple(field.name for field in fields(WrittenSummary))):
        row = WrittenSummary(**values)
        for name, value, known in (("kind", row.kind, KINDS), ("how", row.how, (MODEL, EXTRACT))):
            if value not in known:
                problem = f"{name} is '{value}', none of {', '.join(known)}"
                raise DataError(problem, path=path, row=number, remedy="correct the row")
        if not row.text.strip():
            raise DataError("the summary is empty", path=path, row=number, remedy="delete the row")
        key = (row.publication_number, row.kind)
        refuse_repeat(seen, key, number, path=path, what="the summary", remedy="keep one of the two")
        rows.append(row)
    return rows
