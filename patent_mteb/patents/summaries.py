"""Machine-written summaries of patents: a cache for any summariser, and files of summaries.

The five kinds are those of Sophia-Bench (§3.3), the fields of
:class:`~patent_mteb.patents.records.MachineSummaries`. A summariser is a callable ``(kind, text) -> summary`` with an
``identity`` (model, prompt version). A missing summary is always reported.

``patent-mteb data summarise`` writes a file of summaries and the Sophia recipe reads it. Each line is a JSON object:

* ``publication_number``, ``kind`` (one of :data:`KINDS`), ``text``;
* ``how``: ``model`` for the text of a language model, ``extract`` for sentences of the patent;
* ``model``; ``prompt``, a digest of everything in the prompt but the patent; ``day``;
* ``source``: a digest of the summarised text of the patent.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Protocol

from patent_mteb.errors import DataError, PatentMTEBError, refuse_repeat
from patent_mteb.files import read_jsonl, write_jsonl
from patent_mteb.patents import views
from patent_mteb.patents.records import MachineSummaries, Patent

logger = logging.getLogger(__name__)
KINDS: tuple[str, ...] = tuple(field.name for field in fields(MachineSummaries))


class SummaryError(PatentMTEBError):
    """A summary is missing."""


class Summariser(Protocol):
    """Writes one summary. ``identity`` names everything that changes its output (model, prompts, settings)."""

    identity: str

    def __call__(self, kind: str, text: str) -> str: ...


class SummaryCache:
    """Summaries in an SQLite file, keyed by the summariser's identity, the kind and the source text.

    Every summary is committed at once, so an interrupted run resumes. Several processes may share the file.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._base = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            self._base.execute(
                "CREATE TABLE IF NOT EXISTS summary (key TEXT PRIMARY KEY, identity TEXT, kind TEXT, text TEXT)"
            )
        except sqlite3.DatabaseError as error:
            raise DataError(
                f"not a cache of summaries ({error})", path=self.path, remedy="delete the file or name another"
            ) from error

    @staticmethod
    def _key(identity: str, kind: str, text: str) -> str:
        return hashlib.sha256("\0".join((identity, kind, text)).encode()).hexdigest()

    def get(self, identity: str, kind: str, text: str) -> str | None:
        """Return the cached summary of a text, None if it is missing."""
        asked = "SELECT text FROM summary WHERE key = ?"
        row = self._base.execute(asked, (self._key(identity, kind, text),)).fetchone()
        return None if row is None else str(row[0])

    def put(self, identity: str, kind: str, text: str, summary: str) -> None:
        row = (self._key(identity, kind, text), identity, kind, summary)
        self._base.execute("INSERT OR REPLACE INTO summary VALUES (?, ?, ?, ?)", row)

    def __len__(self) -> int:
        return int(self._base.execute("SELECT count(*) FROM summary").fetchone()[0])

    def __enter__(self) -> SummaryCache:
        return self

    def __exit__(self, *error: object) -> None:
        self._base.close()


def summarise(
    patents: Sequence[Patent],
    summariser: Summariser,
    cache: SummaryCache,
    *,
    kinds: Sequence[str] = KINDS,
    text_of: Callable[[Patent], str] = views.VIEWS["Tacd"],
    allow_missing: bool = False,
    give_up_after: int = 5,
) -> list[Patent]:
    """Add the missing machine summaries of patents."""
    if unknown := set(kinds) - set(KINDS):
        raise ValueError(f"unknown kinds of summary: {', '.join(sorted(unknown))}; known are {', '.join(KINDS)}")
    completed: list[Patent] = []
    failures: list[str] = []
    written = in_a_row = 0
    for patent in patents:
        text = text_of(patent)
        new: dict[str, str] = {}
        for kind in kinds:
            if getattr(patent.summaries, kind).strip():
                continue
            summary = cache.get(summariser.identity, kind, text)
            if summary is None and not text.strip():
                failures.append(f"{kind} of {patent.publication_number}: the patent has no text")
                continue
            if summary is None:
                try:
                    summary = summariser(kind, text)
                    if not isinstance(summary, str) or not summary.strip():
                        raise SummaryError("the summariser returned no text")
                except Exception as error:  # a summariser may raise any error of its server or library
                    failures.append(f"{kind} of {patent.publication_number}: {error}")
                    in_a_row += 1
                    if in_a_row >= give_up_after:
                        raise SummaryError(_message(failures, written, cache, "gave up")) from error
                    continue
                cache.put(summariser.identity, kind, text, summary := summary.strip())
                written += 1
                in_a_row = 0
            new[kind] = summary
        completed.append(replace(patent, summaries=replace(patent.summaries, **new)))
    if failures:
        message = _message(failures, written, cache, "finished")
        if not allow_missing:
            raise SummaryError(message)
        logger.warning(message)
    logger.info("%d summaries written for %d patents", written, len(completed))
    return completed


def _message(failures: Sequence[str], written: int, cache: SummaryCache, end: str) -> str:
    return (
        f"{end} with {len(failures)} summaries missing ({written} written to {cache.path}); the first: {failures[0]}."
        " Remedy: check the summariser and run again; summaries in the cache are not written again"
    )


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


class Filling:
    """Adds summaries from a file to records that lack them.

    ``n`` counts the summaries that were added. ``kept`` counts rows that were not used because the record has a
    summary, ``outdated`` those whose patent has another text now.
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
        """One phrase for each origin of the added summaries."""
        return [f"{n} {origin}" for origin, n in sorted(self._origins.items())]

    def fill(self, patent: Patent) -> Patent:
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
                self._origins[row.origin] += 1
        return replace(patent, summaries=replace(patent.summaries, **new)) if new else patent
