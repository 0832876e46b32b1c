"""Stored rankings as search systems: one file (TREC or a table), and several fused (DAPFAM's Tables 12 to 16).

With more than two runs, reciprocal rank fusion sums over all of them (DAPFAM eq. 7), and interpolation has a weight for
each.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import DataError, SettingError
from patent_mteb.identity import compose_meta, count, number
from patent_mteb.patents.numbers import key_of, read_number
from patent_mteb.search import fusion, trec
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.run import Run, TopK

logger = logging.getLogger(__name__)


STORED = "run/"
"""The start of the names of stored rankings, in every table and export."""


@dataclass(frozen=True)
class Weighted:
    """Interpolation of any number of runs, with relative ``weights`` in their order."""

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(number("a weight", one, fusion.MOST) for one in self.weights))
        if not sum(self.weights):
            raise SettingError(f"weights must not be all 0, got {self.weights}", remedy="give one above 0")

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
    if len(runs) < 2:
        raise DataError("a fusion needs two runs or more", remedy="name another run")
    if isinstance(setting, Weighted):
        if len(setting.weights) != len(runs):
            problem = f"there are {len(setting.weights)} weights for {len(runs)} runs"
            raise DataError(problem, remedy="give one weight a run")
        parts = [fusion.min_max(run) * share for run, share in zip(runs, setting.shares, strict=True)]
    elif len(runs) == 2:
        return fusion.fuse(runs[0], runs[1], setting, top_k)
    elif isinstance(setting, fusion.Linear):
        problem = f"alpha weighs two runs, and there are {len(runs)}"
        raise DataError(problem, remedy="give one weight a run with --weights")
    else:
        parts = [np.broadcast_to(1 / (setting.k + 1 + np.arange(run.depth)), run.docs.shape) for run in runs]
    docs, values = np.concatenate([run.docs for run in runs], axis=1), np.concatenate(parts, axis=1)
    best = TopK(runs[0].query_ids, runs[0].doc_ids, top_k)
    for row, found in enumerate(docs):
        present = found >= 0
        documents, place = np.unique(found[present], return_inverse=True)
        if len(documents):
            best.add(slice(row, row + 1), np.bincount(place, values[row, present])[None].astype(np.float32), documents)
    return best.run()


class StoredRun(ArraySearch):
    """The ranking in a file as a search system, identified by its content.

    Queries and documents are ids of the task, or patent numbers in any spelling, which the parser of the import reads.
    Queries without a ranking and documents outside the corpus are refused, because an incomplete file, or one of
    another corpus, looks the same. ``allow_missing`` scores such queries as 0; ``drop_unknown`` drops such documents
    and counts them. ``effort`` is what the system took for all queries, as stated by its owner, and is saved with the
    result; a side file (:mod:`patent_mteb.search.trec`) states it for each query. ``order``
    (:func:`~patent_mteb.search.trec.read_run`) is part of the identity. A set (``none``) cannot be scored as a ranking;
    :meth:`found` returns it.
    """

    hides = True
    cuts_documents = True
    answers_any_query = False

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
        self.path, self.effort = path, dict(effort or {})
        side = trec.side_file(path)
        self._efforts = trec.read_efforts(side) if side.is_file() else {}
        if self._efforts and self.effort:
            problem = f"it states {', '.join(trec.total_effort(self._efforts))}, and so does the command"
            raise DataError(problem, path=side, remedy="leave out --seconds and --cost, or rename the file")
        self.allow_missing, self.drop_unknown = allow_missing, drop_unknown
        self._results = trec.read_run(path, order=order)
        if not self._results:
            remedy = "name a TREC run (query Q0 document rank score tag), or a table with these columns"
            raise DataError("it has no ranking", path=path, remedy=remedy)
        self.order = order
        self._read: tuple[Any, Run] | None = None
        called = re.sub(r"[^A-Za-z0-9._-]+", "-", name or path.stem).strip("-.") or "run"
        settings = {"missing": "nothing found"} if allow_missing else {}
        settings |= {"unknown": "left out"} if drop_unknown else {}
        settings |= {"order": order} if order else {}
        about = {"name": f"{STORED}{called}", "experiment_kwargs": settings or None, "model_type": ["sparse"]}
        revision = hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
        self.mteb_model_meta = ModelMeta.create_empty(overwrites={**about, "revision": revision})

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        if self.order == "none":
            remedy = "compare it as a set: patent-mteb runs score --order none"
            raise DataError("a set of documents has no ranking", path=self.path, remedy=remedy)
        return self.found(queries, context).top(top_k)

    def found(self, queries: Dataset, context: SearchContext) -> Run:
        """All documents that queries may see."""
        found = self._rankings(queries["id"][:])
        seen = found.without(context.hidden)
        self._warn_of_removed(found, seen, "hidden from their query (its own family)")
        if context.gate is not None:
            found, seen = seen, context.gate.filter(seen)
            self._warn_of_removed(found, seen, "that were not public before the priority date of their query")
        if self._efforts:
            each = trec.efforts_of(self._efforts, seen.query_ids, trec.side_file(self.path))
            return replace(seen, effort=trec.total_effort(each), efforts=each)
        return replace(seen, effort=self.effort)

    def _warn_of_removed(self, before: Run, after: Run, which: str) -> None:
        if removed := int((before.docs >= 0).sum() - (after.docs >= 0).sum()):
            logger.warning("%s: %d documents %s are removed", self.path, removed, which)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        """As for a model, with the hidden documents of the file counted."""
        seen = self.rank(queries, top_k, context)
        return seen, self.rank(queries, top_k, replace(context, hidden={})) if context.hidden else seen

    def _rankings(self, query_ids: list[str]) -> Run:
        """Rankings of the queries with hidden documents; computed once for both rankings."""
        if self._read is None or self._read[0] != (query_ids, self.doc_ids):
            results = self._of_queries(query_ids)
            self._check(query_ids, results)
            known = self._known({query: results.get(query, {}) for query in query_ids})
            self._read = (query_ids, self.doc_ids), Run.from_dict(known, query_ids, self.doc_ids)
        return self._read[1]

    def _of_queries(self, query_ids: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
        """The rankings by the ids of the queries. A file without queries is of its name's, or of the only one."""
        names = ids_of((name or self.path.stem for name in self._results), query_ids)
        if "" in self._results and len(query_ids) == 1:
            names[self.path.stem] = query_ids[0]
        self._say(names, "queries")
        results: dict[str, Mapping[str, float]] = {}
        for name, found in self._results.items():
            query = names.get(name or self.path.stem, name or self.path.stem)
            query = query if name or query in query_ids else ""
            if query in results:
                remedy = "keep one of the two"
                raise DataError(f"query '{query}' has a second ranking, as '{name}'", path=self.path, remedy=remedy)
            results[query] = found
        return results

    def _say(self, names: Mapping[str, str], what: str) -> None:
        if names:
            name, its = next(iter(names.items()))
            message = "%s: %d names of %s are read by their patent numbers, such as '%s' as %s"
            logger.warning(message, self.path, len(names), what, name, its)

    def _check(self, query_ids: Sequence[str], results: Mapping[str, Mapping[str, float]]) -> None:
        if "" in results:
            remedy = "name the queries in a column, or save the list as a file with the name of its query"
            raise DataError("no column names the queries", path=self.path, remedy=remedy)
        missing = [query for query in query_ids if query not in results]
        seen = set(query_ids)
        further = [query for query in results if query not in seen]
        others = f" (the file has '{further[0]}'{_same_number(further[0], query_ids)})" if further else ""
        if len(missing) == len(query_ids):
            problem = f"it has none of the {len(missing)} queries of the task, such as '{missing[0]}'"
            raise DataError(f"{problem}{others}", path=self.path, remedy="name the task that was searched")
        if missing and not self.allow_missing:
            count = f"{len(missing)} of {len(query_ids)} queries of the task have no ranking"
            remedy = "write the run again, or count them as not found with --allow-missing"
            raise DataError(f"{count}, the first is '{missing[0]}'{others}", path=self.path, remedy=remedy)
        if further:
            message = "%s: %d queries are not the task's and do not count, the first is %s"
            logger.warning(message, self.path, len(further), further[0])

    def _known(self, rankings: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Rankings by the ids of documents, restricted to the corpus."""
        known = set(self.doc_ids)
        if names := ids_of((key for found in rankings.values() for key in found), self.doc_ids):
            self._say(names, "documents")
            named = {query: _renamed(found, names) for query, found in rankings.items()}
            repeated = sum(map(len, rankings.values())) - sum(map(len, named.values()))
            if repeated:
                logger.warning(
                    "%s: %d documents are there twice, in two spellings; the better place counts", self.path, repeated
                )
            rankings = named
        strange = [(query, key) for query, found in rankings.items() for key in found if key not in known]
        if not strange:
            return {query: dict(found) for query, found in rankings.items()}
        if not self.drop_unknown:
            query, document = strange[0]
            its = _same_number(document, self.doc_ids)
            problem = f"query '{query}' found document '{document}', which is not in the corpus of the task{its}"
            remedy = "name a task over the corpus that was searched, or drop such documents with --drop-unknown"
            raise DataError(f"{problem} ({len(strange)} such places)", path=self.path, remedy=remedy)
        logger.warning("%s: %d places with documents that are not in the corpus are dropped", self.path, len(strange))
        return {query: {key: found[key] for key in found if key in known} for query, found in rankings.items()}


def ids_of(names: Iterable[str], ids: Sequence[str]) -> dict[str, str]:
    """Return the ids of the publications that names mean: names that are ids themselves are not in the result.

    A name with a kind code is the id of the same publication, or the only id without one; a name without a kind code is
    the only id of its number. A name that may be of two ids is none.
    """
    read = {name: its for name in set(names).difference(ids) if (its := read_number(name))}
    if not read:
        return {}
    whole: dict[str, str] = {}
    by_key: dict[str, list[tuple[str, str]]] = {}
    for one in ids:
        if found := read_number(one):
            whole[found.docdb] = one
            by_key.setdefault(found.key, []).append((one, found.kind))
    result = {}
    for name in sorted(read):
        same = by_key.get(read[name].key, [])
        alike = [one for one, kind in same if not (kind and read[name].kind)]
        if one := whole.get(read[name].docdb) or (alike[0] if len(alike) == 1 else ""):
            result[name] = one
    return result


def _same_number(name: str, ids: Sequence[str]) -> str:
    """Say which ids have the number of a name that is none of them: another kind code, or several."""
    key = key_of(name)
    same = [one for one in ids if key and key_of(one) == key]
    return f"; of its number there are: {', '.join(sorted(same)[:3])}" if same else ""


def _renamed(found: Mapping[str, float], names: Mapping[str, str]) -> dict[str, float]:
    best: dict[str, float] = {}
    for name, score in found.items():
        one = names.get(name, name)
        best[one] = max(score, best.get(one, score))
    return best


class FusedRuns(ArraySearch):
    """Several stored runs, in the order of the weights, fused into one; ``depth`` documents of each count."""

    hides = True
    cuts_documents = True

    def __init__(self, runs: Sequence[StoredRun], setting: AnyFusion, depth: int = 1000) -> None:
        self.runs, self.setting, self.depth = list(runs), setting, count("depth", depth)
        parts = [run.mteb_model_meta for run in self.runs]
        self.mteb_model_meta = compose_meta("fused", parts, {**setting.settings, "depth": depth}, tag=setting.tag)

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        for run in self.runs:
            run.ensure_indexed(self.corpus, context)
        return fuse_all([run.rank(queries, self.depth, context) for run in self.runs], self.setting, top_k)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        """Fuse twice: the normalisation depends on the hidden documents."""
        return self.rank(queries, top_k, context), self.rank(queries, top_k, replace(context, hidden={}))
