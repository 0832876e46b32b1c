"""A file of machine summaries, each with where it comes from: what ``patent-mteb summarise`` writes and the Sophia recipe reads.

One JSON object a line:

* ``publication_number``, ``kind`` (one of :data:`~patent_mteb.patents.summaries.KINDS`), ``text``;
* ``how``: ``model`` if a language model wrote it, ``extract`` if it is made of the patent's own sentences;
* ``model``; ``prompt``, a digest of everything that it was told beside the patent; ``day``;
* ``source``: a digest of the patent's text that it was made from.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from patent_mteb.errors import DataError, refuse_repeat
from patent_mteb.files import read_jsonl, write_jsonl
from patent_mteb.patents import views
from patent_mteb.patents.records import Patent
from patent_mteb.patents.summaries import KINDS

__all__ = ["EXTRACT", "MODEL", "Filling", "WrittenSummary", "read_summaries", "source_of", "text_of", "write_summaries"]

MODEL, EXTRACT = "model", "extract"
_FIELDS = ("publication_number", "kind", "text", "how", "model", "prompt", "source", "day")


@dataclass(frozen=True)
class WrittenSummary:
    """One row of the file."""

    publication_number: str
    kind: str
    text: str
    how: str
    model: str
    prompt: str
    source: str
    day: str


def text_of(patent: Patent) -> str:
    """The text that is summarised: title, abstract, claims and description, as for the paper's language model.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.written_summaries import text_of
        >>> text_of(Patent("US1A", "F1", title="Pump", abstract="A pump is shown."))
        'Pump A pump is shown.'
    """
    return views.VIEWS["Tacd"](patent)


def source_of(patent: Patent) -> str:
    """Digest of the text that is summarised.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.written_summaries import source_of
        >>> len(source_of(Patent("US1A", "F1", title="Pump")))
        16
    """
    return hashlib.sha256(text_of(patent).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def write_summaries(path: Path, rows: Iterable[WrittenSummary]) -> None:
    """Write the file.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.written_summaries import WrittenSummary, read_summaries, write_summaries
        >>> row = WrittenSummary("US1A", "abstract", "A pump.", "model", "llm", "0123", "4567", "2026-01-01")
        >>> write_summaries(Path("summaries.jsonl"), [row])
        >>> read_summaries(Path("summaries.jsonl")) == [row]
        True
    """
    write_jsonl(path, map(asdict, rows))


def read_summaries(path: Path) -> list[WrittenSummary]:
    """Read the file.

    Raises:
        DataError: a missing file, a row of another form, an unknown kind or origin, a summary that stands twice, an empty one.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.written_summaries import read_summaries, write_summaries
        >>> write_summaries(Path("none.jsonl"), [])
        >>> read_summaries(Path("none.jsonl"))
        []
    """
    rows: list[WrittenSummary] = []
    seen: dict[tuple[str, ...], int] = {}
    for number, values in read_jsonl(path, _FIELDS):
        row = WrittenSummary(**values)
        for name, value, known in (("kind", row.kind, KINDS), ("how", row.how, (MODEL, EXTRACT))):
            if value not in known:
                raise DataError(f"{name} is '{value}', none of {', '.join(known)}", path=path, row=number, remedy="correct the row")
        if not row.text.strip():
            raise DataError("the summary is empty", path=path, row=number, remedy="delete the row")
        refuse_repeat(seen, (row.publication_number, row.kind), number, path=path, what="the summary", remedy="keep one of the two")
        rows.append(row)
    return rows


class Filling:
    """Fills in the summaries that records lack, one patent after the other; what a record has already is kept.

    Attributes:
        n: summaries that were filled in.
        kept: rows that were not used, for the record had a summary.
        outdated: rows that were not used, for the patent's text has changed since.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.written_summaries import Filling, WrittenSummary, source_of
        >>> patent = Patent("US1A", "F1", title="Pump")
        >>> row = WrittenSummary("US1A", "abstract", "A pump.", "extract", "leading sentences", "", source_of(patent), "2026-01-01")
        >>> filling = Filling([row])
        >>> filling.fill(patent).summaries.abstract, filling.origins
        ('A pump.', ['1 extracts of the patents’ own sentences, no machine summaries (leading sentences)'])
    """

    def __init__(self, rows: Iterable[WrittenSummary]) -> None:
        self._of: dict[str, list[WrittenSummary]] = {}
        for row in rows:
            self._of.setdefault(row.publication_number, []).append(row)
        self._origins: Counter[str] = Counter()
        self.kept = self.outdated = 0

    @property
    def n(self) -> int:
        return self._origins.total()

    @property
    def origins(self) -> list[str]:
        """Where the summaries that were filled in come from, one phrase each."""
        return [f"{n} {origin}" for origin, n in sorted(self._origins.items())]

    def fill(self, patent: Patent) -> Patent:
        """The patent with its summaries."""
        rows = self._of.get(patent.publication_number, [])
        source = source_of(patent) if rows else ""
        new = {}
        for row in rows:
            if getattr(patent.summaries, row.kind).strip():
                self.kept += 1
            elif row.source != source:
                self.outdated += 1
            else:
                new[row.kind] = row.text
                self._origins[_origin(row)] += 1
        return replace(patent, summaries=replace(patent.summaries, **new)) if new else patent


def _origin(row: WrittenSummary) -> str:
    if row.how == EXTRACT:
        return f"extracts of the patents’ own sentences, no machine summaries ({row.model})"
    return f"machine summaries by {row.model} (prompt {row.prompt})"
