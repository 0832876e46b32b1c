"""Machine-written summaries of patents: any summariser, each summary made once, kept on disk, and never silently missing.

The five kinds are those of Sophia-Bench (§3.3): ``abstract``, ``features``, ``claims``, ``advantages``, ``objectives``, the fields of
:class:`~patent_mteb.patents.records.MachineSummaries`. A summariser is any callable ``(kind, text) -> summary`` with a name for what it
is (model, prompt version). ``patent-mteb summarise`` writes them with any server that speaks the OpenAI protocol, into a file of its own
(:mod:`patent_mteb.patents.written_summaries`).
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol

from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.patents import views
from patent_mteb.patents.records import MachineSummaries, Patent

logger = logging.getLogger(__name__)

__all__ = ["KINDS", "Summariser", "SummaryCache", "SummaryError", "summarise"]

KINDS: tuple[str, ...] = tuple(field.name for field in fields(MachineSummaries))
"""abstract, features, claims, advantages, objectives."""


class SummaryError(PatentMTEBError):
    """A summary that could not be made."""


class Summariser(Protocol):
    """Writes one summary. ``identity`` names whatever changes what it writes (model, prompts, settings)."""

    identity: str

    def __call__(self, kind: str, text: str) -> str: ...


class SummaryCache:
    """Summaries on disk (one SQLite file), keyed by the summariser's identity, the kind and the whole source text.

    Every summary is committed when it is added: a run that is cut off is resumed where it stopped, and several processes may
    share the file.

    Raises:
        DataError: the file exists and is no cache of summaries.

    Example:
        >>> from patent_mteb.patents.summaries import SummaryCache
        >>> with SummaryCache("summaries.sqlite") as cache:
        ...     cache.put("my-model", "abstract", "A long text.", "A summary.")
        ...     cache.get("my-model", "abstract", "A long text."), cache.get("other-model", "abstract", "A long text.")
        ('A summary.', None)
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._base = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            self._base.execute("CREATE TABLE IF NOT EXISTS summary (key TEXT PRIMARY KEY, identity TEXT, kind TEXT, text TEXT)")
        except sqlite3.DatabaseError as error:
            raise DataError(f"not a cache of summaries ({error})", path=self.path, remedy="delete the file or name another") from error

    @staticmethod
    def _key(identity: str, kind: str, text: str) -> str:
        return hashlib.sha256("\0".join((identity, kind, text)).encode()).hexdigest()

    def get(self, identity: str, kind: str, text: str) -> str | None:
        """The kept summary of a text, None if there is none."""
        with closing(self._base.execute("SELECT text FROM summary WHERE key = ?", (self._key(identity, kind, text),))) as rows:
            row = rows.fetchone()
        return None if row is None else str(row[0])

    def put(self, identity: str, kind: str, text: str, summary: str) -> None:
        """Keep a summary."""
        row = (self._key(identity, kind, text), identity, kind, summary)
        self._base.execute("INSERT OR REPLACE INTO summary VALUES (?, ?, ?, ?)", row)

    def __len__(self) -> int:
        with closing(self._base.execute("SELECT count(*) FROM summary")) as rows:
            return int(rows.fetchone()[0])

    def close(self) -> None:
        self._base.close()

    def __enter__(self) -> SummaryCache:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


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
    """Complete the machine summaries of patents; a summary that a record has already is kept as it is.

    Args:
        text_of: what the summariser reads; the paper applies its language model to the full text.
        allow_missing: count and log what could not be made instead of raising once all else is done.
        give_up_after: failures in a row after which nothing more is tried (the server is down).

    Returns:
        the patents in their order, with their summaries.

    Raises:
        SummaryError: summaries are missing and ``allow_missing`` is not set, or the summariser failed ``give_up_after`` times in
            a row. Names the first patent; what was made so far is in the cache, so calling again continues.
        ValueError: an unknown kind.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.summaries import SummaryCache, summarise
        >>> def first_words(kind, text):
        ...     return " ".join(text.split()[:3])
        >>> first_words.identity = "first three words"
        >>> with SummaryCache("summaries.sqlite") as cache:
        ...     summarise([Patent("US1A", "F1", title="Pump with a valve")], first_words, cache)[0].summaries.abstract
        'Pump with a'
    """
    if unknown := set(kinds) - set(KINDS):
        raise ValueError(f"unknown kinds of summary: {', '.join(sorted(unknown))}; known are {', '.join(KINDS)}")
    completed: list[Patent] = []
    failures: list[str] = []
    made = in_a_row = 0
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
                    summary = _make(summariser, kind, text)
                except Exception as error:  # a summariser may fail in any way its server or library does
                    failures.append(f"{kind} of {patent.publication_number}: {error}")
                    in_a_row += 1
                    if in_a_row >= give_up_after:
                        raise SummaryError(_message(failures, made, cache, "gave up")) from error
                    continue
                cache.put(summariser.identity, kind, text, summary)
                made += 1
                in_a_row = 0
            new[kind] = summary
        completed.append(replace(patent, summaries=replace(patent.summaries, **new)))
    if failures:
        message = _message(failures, made, cache, "finished")
        if not allow_missing:
            raise SummaryError(message)
        logger.warning(message)
    logger.info("%d summaries made for %d patents", made, len(completed))
    return completed


def _make(summariser: Summariser, kind: str, text: str) -> str:
    summary = summariser(kind, text)
    if not isinstance(summary, str) or not summary.strip():
        raise SummaryError("the summariser gave no text")
    return summary.strip()


def _message(failures: Sequence[str], made: int, cache: SummaryCache, end: str) -> str:
    return (
        f"{end} with {len(failures)} summaries missing ({made} made and kept in {cache.path}); the first: {failures[0]}. "
        "Remedy: see to the summariser and run again, what is in the cache is not made again"
    )
