"""The priority gate: a document counts only if it was public before the query's priority date.

What became public on that day or later is no prior art of the query (35 U.S.C. 102, Art. 54 EPC). The gate travels in the context of
a search beside the hidden documents, and every ranking leaves the later ones out. Per query the documents that it may see are a prefix
of the order by date, so that a search over documents in that order compares no dates pair by pair (:mod:`patent_mteb.search.nearest`).

A document without a date cannot be shown to have been public: only a query without a date sees it, which sees every document.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from patent_mteb.identity import digest
from patent_mteb.search.run import Run

__all__ = ["Gate"]

_NEVER = np.iinfo(np.int32).max - 1
_WITHOUT_LIMIT = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Gate:
    """When documents became public, and the day before which they must have been for each query.

    Attributes:
        documents: first day on which a document was public, by document.
        queries: priority date, by query.

    Example:
        >>> import datetime as dt
        >>> from patent_mteb.search.gate import Gate
        >>> from patent_mteb.search.run import Run
        >>> gate = Gate({"old": dt.date(2010, 1, 1), "new": dt.date(2020, 1, 1)}, {"q": dt.date(2020, 1, 1)})
        >>> gate.kept(Run.from_dict({"q": {"new": 0.9, "old": 0.5, "undated": 0.2}})).to_dict()
        {'q': {'old': 0.5}}
    """

    documents: Mapping[str, dt.date]
    queries: Mapping[str, dt.date]

    @cached_property
    def identity(self) -> str:
        """Digest of all dates: rankings under different gates are different rankings."""
        return digest([sorted((key, day.isoformat()) for key, day in dates.items()) for dates in (self.documents, self.queries)], 32)

    def days(self, documents: Sequence[str]) -> NDArray[np.int32]:
        """[documents] the day on which each became public, as a number."""
        found = (self.documents.get(document) for document in documents)
        return np.fromiter((_NEVER if day is None else day.toordinal() for day in found), np.int32, len(documents))

    def limits(self, queries: Sequence[str]) -> NDArray[np.int32]:
        """[queries] the number that the day of a document must be below."""
        found = (self.queries.get(query) for query in queries)
        return np.fromiter((_WITHOUT_LIMIT if day is None else day.toordinal() for day in found), np.int32, len(queries))

    def admits(self, query: str, document: str) -> bool:
        """Whether a query may see a document."""
        limit, day = self.queries.get(query), self.documents.get(document)
        return limit is None or (day is not None and day < limit)

    def admitted(self, pairs: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        """The documents of each query that it may see."""
        return {query: [document for document in documents if self.admits(query, document)] for query, documents in pairs.items()}

    def kept_out(self, queries: Sequence[str], documents: Sequence[str]) -> NDArray[np.int64]:
        """[queries] the number of documents that each may not see."""
        seen = np.searchsorted(np.sort(self.days(documents)), self.limits(queries), side="left")
        return (len(documents) - seen).astype(np.int64)

    def kept(self, run: Run) -> Run:
        """The run without the documents that its queries may not see; those behind them move up."""
        days = np.append(self.days(run.doc_ids), np.int32(_WITHOUT_LIMIT))  # the last for -1, no document
        return run.only(days[run.docs] < self.limits(run.query_ids)[:, None])

    def of_parts(self, owners: Mapping[str, str]) -> Gate:
        """The gate of parts of documents, which were public when their document was.

        Args:
            owners: document by part.
        """
        days = ((part, self.documents.get(document)) for part, document in owners.items())
        return Gate({part: day for part, day in days if day is not None}, self.queries)
