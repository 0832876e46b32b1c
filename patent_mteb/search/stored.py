"""Stored rankings as search systems: a TREC file alone, and several fused.

Runs over different query views, corpus views and depths can be fused, as in DAPFAM's Tables 12 to 16; they must share
the ids of queries and documents. A query's own family is removed from each run before scores are normalised and ranks
counted, as in :mod:`patent_mteb.search.fusion`. With more than two runs, reciprocal rank fusion sums over all of them
(DAPFAM eq. 7), and interpolation has a weight for each (:class:`Weighted`).
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.identity import compose_meta
from patent_mteb.search import fusion, trec
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.run import Run, TopK

if TYPE_CHECKING:
    from datasets import Dataset

logger = logging.getLogger(__name__)
__all__ = ["FusedRuns", "StoredRun", "Weighted", "fuse_all"]


@dataclass(frozen=True)
class Weighted:
    """Interpolation of any number of runs, with relative ``weights`` in their order."""

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.weights or min(self.weights) < 0 or sum(self.weights) <= 0:
            raise ValueError(f"weights must not be negative or all 0, got {self.weights}")

    @property
    def shares(self) -> tuple[float, ...]:
        """The weights with sum 1."""
        return tuple(weight / sum(self.weights) for weight in self.weights)

    @property
    def tag(self) -> str:
        return "linear-" + "-".join(f"{weight:g}" for weight in self.weights)

    @property
    def settings(self) -> dict[str, Any]:
        return {"method": "linear", "weights": list(self.shares)}


AnyFusion = fusion.Fusion | Weighted


def fuse_all(runs: Sequence[Run], setting: AnyFusion, top_k: int = 1000) -> Run:
    """Fuse runs of the same queries over the same corpus."""
    if len(runs) < 2:
        raise DataError("a fusion needs two runs or more", remedy="name another run")
    if isinstance(setting, Weighted):
        if len(setting.weights) != len(runs):
            raise DataError(
                f"there are {len(setting.weights)} weights for {len(runs)} runs", remedy="give one weight a run"
            )
    elif len(runs) == 2:
        return fusion.fuse(runs[0], runs[1], setting, top_k)
    elif isinstance(setting, fusion.Linear):
        raise DataError(
            f"alpha weighs two runs, and there are {len(runs)}", remedy="give one weight a run with --weights"
        )
    parts = [_contributions(run, setting, number) for number, run in enumerate(runs)]
    docs, values = np.concatenate([run.docs for run in runs], axis=1), np.concatenate(parts, axis=1)
    best = TopK(runs[0].query_ids, runs[0].doc_ids, top_k)
    for row, found in enumerate(docs):
        present = found >= 0
        documents, place = np.unique(found[present], return_inverse=True)
        if len(documents):
            best.add(slice(row, row + 1), np.bincount(place, values[row, present])[None].astype(np.float32), documents)
    return best.run()


def _contributions(run: Run, setting: AnyFusion, number: int) -> NDArray[np.float64]:
    if isinstance(setting, Weighted):
        return fusion.min_max(run) * setting.shares[number]
    assert isinstance(setting, fusion.RRF)
    return np.broadcast_to(1 / (setting.k + 1 + np.arange(run.depth)), run.docs.shape)


class StoredRun(ArraySearch):
    """The ranking in a TREC file as a search system, identified by its content.

    Args:
        path: the file.
        name: name of the system; the name of the file if empty.
        allow_missing: queries without a ranking found nothing. By default they are refused, because an incomplete file
            looks the same.
        drop_unknown: drop documents that are not in the corpus of the task, and count them. By default they are
            refused, because a run over another corpus looks the same.
        effort: what the system took for all queries, as stated by its owner (``seconds``, ``cost``); saved with the
            result.
        order: what orders the documents of a query (:func:`~patent_mteb.search.trec.read_run`); part of the identity.
    """

    hides = True
    gates = True
    cuts_documents = True

    def __init__(
        self,
        path: Path,
        name: str = "",
        *,
        allow_missing: bool = False,
        drop_unknown: bool = False,
        effort: Mapping[str, float] | None = None,
        order: trec.Order | None = None,
    ) -> None:
        self.path = path
        self.effort = dict(effort or {})
        self.allow_missing = allow_missing
        self.drop_unknown = drop_unknown
        self._results = trec.read_run(path, order=order)
        if not self._results:
            raise DataError(
                "it has no ranking", path=path, remedy="name a run in TREC form: query Q0 document rank score tag"
            )
        self._found: tuple[Any, Run] | None = None
        self._read: tuple[Any, Run] | None = None
        called = re.sub(r"[^A-Za-z0-9._-]+", "-", name or path.stem).strip("-.") or "run"
        settings = {"missing": "nothing found"} if allow_missing else {}
        settings |= {"unknown": "left out"} if drop_unknown else {}
        settings |= {"order": order} if order else {}
        self.mteb_model_meta = ModelMeta.create_empty(
            overwrites={
                "name": f"run/{called}",
                "revision": hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest(),
                "experiment_kwargs": settings or None,
                "model_type": ["sparse"],
            }
        )

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        query_ids = queries["id"][:]
        request = query_ids, self.doc_ids, context.hidden, context.gate
        if self._found is None or self._found[0] != request:
            found = self._rankings(query_ids)
            seen = found.without(context.hidden)
            if hidden := int((found.docs >= 0).sum() - (seen.docs >= 0).sum()):
                logger.warning(
                    "%s: %d documents hidden from their query (its own family) are removed", self.path, hidden
                )
            if context.gate is not None:
                seen, known = context.gate.filter(seen), seen
                if later := int((known.docs >= 0).sum() - (seen.docs >= 0).sum()):
                    message = (
                        "%s: %d documents that were not public before the priority date of their query are removed"
                    )
                    logger.warning(message, self.path, later)
            self._found = request, replace(seen, effort=self.effort)
        return self._found[1].top(top_k)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        """As for a model, with the hidden documents of the file counted."""
        return self.rank(queries, top_k, context), self.rank(queries, top_k, replace(context, hidden={}))

    def _rankings(self, query_ids: list[str]) -> Run:
        """Rankings of the queries with hidden documents; computed once for both rankings."""
        if self._read is None or self._read[0] != (query_ids, self.doc_ids):
            self._check(query_ids)
            self._read = (query_ids, self.doc_ids), Run.from_dict(self._known(query_ids), query_ids, self.doc_ids)
        return self._read[1]

    def _check(self, query_ids: Sequence[str]) -> None:
        missing = [query for query in query_ids if query not in self._results]
        if len(missing) == len(query_ids):
            problem = f"it has none of the {len(missing)} queries of the task, such as '{missing[0]}'"
            raise DataError(problem, path=self.path, remedy="name the task that was searched")
        if missing and not self.allow_missing:
            raise DataError(
                f"{len(missing)} of {len(query_ids)} queries of the task have no ranking, the first is '{missing[0]}'",
                path=self.path,
                remedy="write the run again, or count them as not found with --allow-missing",
            )
        seen = set(query_ids)
        if further := [query for query in self._results if query not in seen]:
            logger.warning(
                "%s: %d queries are not the task's and do not count, the first is %s",
                self.path,
                len(further),
                further[0],
            )

    def _known(self, query_ids: Sequence[str]) -> dict[str, dict[str, float]]:
        """Rankings of the queries, restricted to the corpus."""
        known = set(self.doc_ids)
        rankings = {query: self._results.get(query, {}) for query in query_ids}
        strange = [
            (query, document) for query, found in rankings.items() for document in found if document not in known
        ]
        if strange and not self.drop_unknown:
            query, document = strange[0]
            raise DataError(
                f"query '{query}' found document '{document}', which is not in the corpus of the task ({len(strange)}"
                " such places)",
                path=self.path,
                remedy="name a task over the corpus that was searched, or drop such documents with --drop-unknown",
            )
        if strange:
            logger.warning(
                "%s: %d places with documents that are not in the corpus are dropped", self.path, len(strange)
            )
            rankings = {
                query: {key: score for key, score in found.items() if key in known} for query, found in rankings.items()
            }
        return rankings


class FusedRuns(ArraySearch):
    """Several stored runs fused into one.

    Args:
        runs: in the order of the weights; the lexical one first, where there is one.
        setting: the fusion.
        depth: documents of each run that count.
    """

    hides = True
    gates = True
    cuts_documents = True

    def __init__(self, runs: Sequence[StoredRun], setting: AnyFusion, depth: int = 1000) -> None:
        if depth < 1:
            raise DataError(f"depth is a number of documents, not {depth}", remedy="give a positive number")
        self.runs = list(runs)
        self.setting = setting
        self.depth = depth
        parts = [run.mteb_model_meta for run in self.runs]
        self.mteb_model_meta = compose_meta("fused", parts, {**setting.settings, "depth": depth}, tag=setting.tag)

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        for run in self.runs:
            run.ensure_indexed(self.corpus, context)
        return fuse_all([run.rank(queries, self.depth, context) for run in self.runs], self.setting, top_k)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        """Fuse twice: the normalisation depends on the hidden documents."""
        return self.rank(queries, top_k, context), self.rank(queries, top_k, replace(context, hidden={}))
