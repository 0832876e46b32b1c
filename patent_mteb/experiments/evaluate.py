"""The main functions of the package: evaluate models on tasks, rank without scoring, explain a ranking."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from mteb.models.model_meta import ModelMeta
from mteb.types import EncodeKwargs

from patent_mteb.data.loading import DATA_VARIABLE, plain_name
from patent_mteb.errors import DataError, ModelError
from patent_mteb.experiments.run import evaluate_with_mteb, unable, unloading
from patent_mteb.metrics.measures import QueryScores
from patent_mteb.metrics.significance import bootstrap, by_group
from patent_mteb.model_identity.loaded import check, with_arguments
from patent_mteb.models.behaviour import Canaries
from patent_mteb.models.composition import identified
from patent_mteb.models.loading import load
from patent_mteb.patents import ipc
from patent_mteb.search.run import Run
from patent_mteb.tasks.perquery import Evaluation, query_groups, receiving
from patent_mteb.tasks.retrieval import PatentRetrieval
from patent_mteb.tasks.selection import task_named

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask
    from mteb.models import MTEBModels

__all__ = ["evaluate", "explain", "rank", "retrieval_task"]

_SCHEMA = {
    "model": pl.String,
    "task": pl.String,
    "slice": pl.String,
    "measure": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n_queries": pl.Int64,
    "p": pl.Float64,
}
_LEVEL = 0.95  # of intervals, as in the papers


def evaluate(
    models: MTEBModels | str | Iterable[MTEBModels | str],
    tasks: AbsTask | str | Iterable[AbsTask | str],
    baseline: MTEBModels | str | None = None,
    *,
    measures: Sequence[str] = (),
    encode_kwargs: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Evaluate models on tasks, with confidence intervals and tests against a baseline.

    Nothing is written to disk; ``patent-mteb run`` writes results.

    Args:
        models: one or several mteb models, models of sentence-transformers, or names for
            :func:`patent_mteb.models.load`.
        tasks: one or several tasks, or their names.
        baseline: a model with which the others are compared, as in ``models``, or its name in the result; it is
            evaluated too if it is not one of the models.
        measures: retrieval measures in addition to the main score of each task, such as ``recall_at_100``.
        encode_kwargs: as in ``mteb.evaluate``.

    Returns:
        one row per model, task, slice and measure, with ``model``, ``task``, ``slice`` (empty for all queries),
        ``measure`` and ``value``. For retrieval it has ``low`` and ``high`` of the 95 % bootstrap interval over the
        queries, ``n_queries``, and the two-sided ``p`` of the paired bootstrap against the baseline on the same
        queries. Undefined values are null.

    Raises:
        DataError: an unknown task, or data that cannot be used.
        ModelError: a model that cannot be loaded or cannot do a task, or one whose vectors differ from its store or
            change during the evaluation (:mod:`patent_mteb.models.behaviour`).

    Example:
        >>> import patent_mteb
        >>> from patent_mteb.models import bm25
        >>> task = patent_mteb.get_tasks("PatentMap", types=["Retrieval"], sample=True)[0]
        >>> scores = patent_mteb.evaluate([bm25("dapfam"), bm25("bm25s")], task, baseline="patent-mteb/bm25-bm25s")
        >>> scores.columns
        ['model', 'task', 'slice', 'measure', 'value', 'low', 'high', 'n_queries', 'p']
        >>> sorted(set(scores["slice"]))
        ['', 'a', 'xy']
    """
    several = isinstance(models, (list, tuple, set, Iterator))
    given = [*cast("Iterable[Any]", models)] if several else [models]
    named = _named([with_arguments(_loaded(model), encode_kwargs) for model in given])
    against = "" if baseline is None else _baseline(baseline, given, named)
    if baseline is not None and not against:
        given.append(baseline)
        named = _named([*named.values(), with_arguments(_loaded(baseline), encode_kwargs)])
        against = list(named)[-1]
    canaries = [Canaries(model, encode_kwargs) for model in named.values()]
    for one in canaries:
        one.look()
    rows: list[dict[str, Any]] = []
    one_task = isinstance(tasks, str) or hasattr(tasks, "metadata")
    for task in map(task_of, [tasks] if one_task else cast("Iterable[Any]", tasks)):
        wanted = tuple(dict.fromkeys((task.metadata.main_score, *measures)))
        found: dict[str, dict[str, QueryScores]] = {}
        families: Mapping[str, str] = {}
        with unloading(task):
            for label, model in named.items():
                if reason := unable(model, task):
                    raise ModelError(reason)
                evaluations: list[Evaluation] = []
                with receiving(evaluations.append):
                    options = cast("EncodeKwargs", dict(encode_kwargs or {}))
                    result = evaluate_with_mteb(
                        model, task, cache=None, co2_tracker=False, encode_kwargs=options, show_progress_bar=False
                    )
                if evaluations:
                    found[label], families = _by_slice(evaluations[-1], wanted), evaluations[-1].families
                else:
                    rows += _plain_rows(label, task, wanted, result.scores)
        rows += _compared(task, found, wanted, against, families)
    for model, one in zip(named.values(), canaries, strict=True):
        check(model, whole=True)
        one.look()
    return pl.DataFrame(rows, schema=_SCHEMA)


def _loaded(model: Any) -> Any:
    if isinstance(model, str):
        return load(model)
    return identified(model.load_model() if isinstance(model, ModelMeta) else model)


def _named(models: Sequence[MTEBModels]) -> dict[str, MTEBModels]:
    """Return models by name, with settings and revision where names are equal."""
    metas = [model.mteb_model_meta for model in models]
    names = [str(meta.name) for meta in metas]
    settings = [f"{meta.name} ({meta.experiment_name})" if meta.experiment_name else str(meta.name) for meta in metas]
    revisions = [f"{label} @{meta.revision}" for label, meta in zip(settings, metas, strict=True)]
    named: dict[str, MTEBModels] = {}
    for place, model in enumerate(models):
        label = next((forms[place] for forms in (names, settings, revisions) if forms.count(forms[place]) == 1), "")
        if not label:
            raise ModelError(f"two models are named '{settings[place]}'", remedy="give each its own name or revision")
        named[label] = model
    return named


def _baseline(baseline: Any, given: Sequence[Any], named: Mapping[str, MTEBModels]) -> str:
    """Return the label of the baseline among the models, by object, by the name given or by its name; else nothing."""
    if isinstance(baseline, str) and baseline in named:
        return baseline
    fitting = [
        label
        for label, one, model in zip(named, given, named.values(), strict=True)
        if baseline is one or baseline == model.mteb_model_meta.name or (isinstance(one, str) and baseline == one)
    ]
    if len(fitting) > 1:
        raise ModelError("the baseline may be any of several models", remedy=f"choose one of {'; '.join(fitting)}")
    return next(iter(fitting), "")


def task_of(task: AbsTask | str) -> AbsTask:
    """Return a task, given itself or its name; a name may end with the state of its data."""
    if not isinstance(task, str):
        return task
    state = task.rpartition(".")[2]
    local = state.startswith("local-")
    found = task_named(plain_name(task) if local else task)
    if local and found.metadata.name != task:
        raise DataError(
            f"{task} is a task on other data than those in {DATA_VARIABLE}",
            remedy=f"set {DATA_VARIABLE} to the data of {state}",
        )
    return found


def _by_slice(evaluation: Evaluation, measures: Sequence[str]) -> dict[str, QueryScores]:
    names = [measure.replace("_at_", "@") for measure in measures]
    parts = {"": None, **evaluation.slices}
    return {name: evaluation.judged.scores(names, part) for name, part in parts.items()}


def _row(label: str, task: AbsTask, part: str, measure: str, value: float, **more: Any) -> dict[str, Any]:
    return {"model": label, "task": task.metadata.name, "slice": part, "measure": measure, "value": value, **more}


def _plain_rows(
    label: str, task: AbsTask, measures: Sequence[str], scores: Mapping[str, Sequence[Any]]
) -> list[dict[str, Any]]:
    """Return the rows of a task without per-query scores; several splits or subsets are its slices."""
    parts = [(split, part) for split, subsets in scores.items() for part in subsets]
    rows = []
    for split, part in parts:
        steps = [split] * (len(scores) > 1) + [part["hf_subset"]] * (len(parts) > len(scores))
        rows += [_row(label, task, "/".join(steps), measure, part[measure]) for measure in measures if measure in part]
    return rows


def _compared(
    task: AbsTask,
    found: Mapping[str, Mapping[str, QueryScores]],
    measures: Sequence[str],
    baseline: str,
    families: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return the rows of a retrieval task: intervals of every model, and p values against the baseline."""
    columns: dict[tuple[str, str], dict[str, np.ndarray]] = defaultdict(dict)
    queries: dict[str, Sequence[str]] = {}
    for label, parts in found.items():
        for part, scores in parts.items():
            queries[part] = scores.queries
            for measure in measures:
                values = scores.scores[measure.replace("_at_", "@")]
                if len(values):
                    columns[part, measure][label] = values
    rows = []
    for (part, measure), values_of in columns.items():
        labels = list(values_of)
        groups = query_groups(families, queries[part]) or range(len(queries[part]))
        resampled = bootstrap(by_group(np.column_stack(list(values_of.values())), groups))
        intervals = resampled.intervals(_LEVEL)
        p_values = resampled.p_values()[labels.index(baseline)] if baseline in labels else None
        for place, label in enumerate(labels):
            p = None if p_values is None or label == baseline else float(p_values[place])
            low, high = map(float, intervals[place])
            value, size = float(values_of[label].mean()), len(values_of[label])
            rows.append(_row(label, task, part, measure, value, low=low, high=high, n_queries=size, p=p))
    return rows


def rank(
    model: MTEBModels | str, task: PatentRetrieval | str, *, encode_kwargs: Mapping[str, Any] | None = None
) -> Run:
    """Return the ranking of a model on a retrieval task of the suite, on which its scores are computed.

    Args:
        model: an mteb model, or a name for :func:`patent_mteb.models.load`.
        task: a retrieval task of the suite, or its name.
        encode_kwargs: as in ``mteb.evaluate``.

    Returns:
        one ranking per query, without the documents that the query must not see. ``save`` writes it in TREC format.

    Raises:
        DataError: the task is not a retrieval task of the suite, or its data cannot be used.
        ModelError: a model that cannot be loaded or cannot search.

    Example:
        >>> import patent_mteb
        >>> from patent_mteb.models import bm25
        >>> run = patent_mteb.rank(bm25("dapfam"), "PatentMapAbsToAbsRetrieval.sample")
        >>> run.task, len(run.query_ids)
        ('PatentMapAbsToAbsRetrieval.sample', 25)
    """
    searched = retrieval_task(task)
    loaded = _loaded(model)
    if reason := unable(loaded, searched):
        raise ModelError(reason)
    return searched.rank(loaded, encode_kwargs=encode_kwargs)


def retrieval_task(task: AbsTask | str) -> PatentRetrieval:
    """Return a retrieval task of the suite, given itself or its name."""
    found = task_of(task)
    if not isinstance(found, PatentRetrieval):
        raise DataError(
            f"'{found.metadata.name}' is not a retrieval task of the suite", remedy="see 'patent-mteb list'"
        )
    return found


def explain(run: Run, query: str, task: PatentRetrieval | str = "", *, k: int = 10) -> pl.DataFrame:
    """Show the first documents of a query with their texts, IPC codes, relevance and citation categories.

    Args:
        run: a run of :func:`rank`, or of :meth:`~patent_mteb.search.run.Run.load`.
        query: id of the query.
        task: the task of the run; needed for a run that was read from a file.
        k: number of documents.

    Returns:
        one row per document in descending score, after the query in row 0: ``rank``, ``id``, ``score``, ``gain`` (null
        if unjudged), ``category`` (of the citation, if known), ``ipc`` (codes as written), ``shared`` (the deepest IPC
        level in common with the query: section, ipc3, subclass, group or subgroup; empty for none), ``text``.

    Raises:
        DataError: the run has no such query or names no task, or the task lacks one of its documents.

    Example:
        >>> import patent_mteb
        >>> from patent_mteb.models import bm25
        >>> run = patent_mteb.rank(bm25("dapfam"), "PatentDAPFAMTitleToTARetrieval.sample")
        >>> patent_mteb.explain(run, run.query_ids[0], k=3).columns
        ['rank', 'id', 'score', 'gain', 'category', 'ipc', 'shared', 'text']
    """
    if not (task or run.task):
        raise DataError(
            "the run does not name its task", remedy="name the task: explain(run, query, 'PatentCitationRetrieval')"
        )
    found = retrieval_task(task or run.task)
    found.load_data()
    tables = found.tables
    shown = run.ranking(query)[:k]
    remedy = "name the task that the run belongs to"
    if unknown := [document for document, _ in shown if document not in tables.corpus]:
        raise DataError(f"task {found.metadata.name} has no document '{unknown[0]}'", remedy=remedy)
    if query not in tables.queries:
        raise DataError(f"task {found.metadata.name} has no query '{query}'", remedy=remedy)
    query_codes = tables.query_codes.get(query, ())
    rows: list[dict[str, Any]] = [
        {"rank": 0, "id": query, "ipc": ", ".join(query_codes), "text": tables.queries[query]}
    ]
    for place, (document, score) in enumerate(shown, start=1):
        codes = tables.document_codes.get(document, ())
        rows.append(
            {
                "rank": place,
                "id": document,
                "score": score,
                "gain": tables.qrels.get(query, {}).get(document),
                "category": tables.categories.get(query, {}).get(document, ""),
                "ipc": ", ".join(codes),
                "shared": _shared_level(query_codes, codes),
                "text": tables.corpus[document],
            }
        )
    names = {"rank": pl.Int64, "id": pl.String, "score": pl.Float64, "gain": pl.Int64, "category": pl.String}
    return pl.DataFrame(rows, schema={**names, "ipc": pl.String, "shared": pl.String, "text": pl.String})


def _shared_level(first: Sequence[str], second: Sequence[str]) -> str:
    for level in reversed(ipc.LEVELS):
        ours, theirs = (set(ipc.codes_at(codes, level).codes) for codes in (first, second))
        if ours & theirs:
            return level
    return ""
