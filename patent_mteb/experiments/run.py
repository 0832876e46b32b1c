"""Runs of a model on tasks; a task that cannot be done is skipped with its reason."""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, cast

import mteb
from mteb.abstasks import AbsTask
from mteb.models import CrossEncoderProtocol, EncoderProtocol, MTEBModels
from mteb.models.model_meta import ModelMeta
from mteb.results import TaskResult
from mteb.types import EncodeKwargs

from patent_mteb._mteb import restart_generators
from patent_mteb.errors import AccessError, ModelError, NotThereError, PatentMTEBError, of_the_machine
from patent_mteb.experiments.results_folder import ResultsFolder
from patent_mteb.files import cache_root
from patent_mteb.model_identity.loaded import check, with_arguments
from patent_mteb.models.behaviour import Canaries
from patent_mteb.models.composition import identified
from patent_mteb.tasks import perquery
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.evidence import model_record
from patent_mteb.tasks.retrieval import PatentRetrieval

logger = logging.getLogger(__name__)
__all__ = ["Outcome", "Report", "evaluate_into", "evaluate_with_mteb", "run", "scores_of", "unable"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one task.

    Attributes:
        status: ``unable`` if a model of this kind cannot do a task of this kind, ``skipped`` if its data are not
            available or not usable.
        scores: mteb's scores of its one split and subset.
        reason: why there are none.
        cached: the date of the scores, if they are older than this run.
    """

    task: str
    status: Literal["scored", "unable", "skipped", "failed"]
    main_score: str = ""
    scores: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    reason: str = ""
    cached: str = ""

    @property
    def main(self) -> float | None:
        value = self.scores.get("main_score")
        return None if value is None else float(value)


@dataclass(frozen=True)
class Report:
    """The outcomes of a run, in the order of the tasks.

    Attributes:
        interrupted: whether the user stopped it.
        doubt: why its scores are unreliable: the model changed during the run (:mod:`patent_mteb.models.behaviour`).
        meta: identity of the model in the results folder.
    """

    model: str
    outcomes: tuple[Outcome, ...]
    interrupted: bool = False
    doubt: str = ""
    meta: ModelMeta | None = None

    @property
    def exit_status(self) -> int:
        if self.interrupted:
            return 130
        states = {outcome.status for outcome in self.outcomes}
        return 0 if "scored" in states and states <= {"scored", "unable"} and not self.doubt else 1


def run(
    model: MTEBModels | ModelMeta,
    tasks: Sequence[AbsTask],
    output_folder: Path,
    *,
    encode_kwargs: dict[str, Any] | None = None,
    overwrite_strategy: str = "only-missing",
    co2_tracker: bool | None = False,
    prediction_folder: Path | None = None,
    num_proc: int | None = None,
    show_progress: bool = True,
) -> Report:
    """Evaluate a model on tasks with ``mteb.evaluate``, and report the outcome of each.

    Args:
        model: an mteb model, or a ModelMeta whose model is loaded when the first task needs it.
        output_folder: results folder in mteb's structure; per-query scores are written next to the results.

    Returns:
        one outcome per task. The exit status is 0 if at least one task has a score, and so has every task that a model
        of this kind can do.

    Raises:
        ModelError: the object is not an mteb model, its name or revision cannot be the name of a folder, or its vectors
            differ from those of its store.

    Example:
        >>> from pathlib import Path
        >>> import patent_mteb
        >>> from patent_mteb.experiments.run import run
        >>> from patent_mteb.models import bm25
        >>> tasks = patent_mteb.get_tasks("PatentMap", sample=True)
        >>> [outcome.status for outcome in run(bm25("dapfam"), tasks, Path("results"), show_progress=False).outcomes]
        ['scored', 'scored', 'unable']
    """
    options = {"batch_size": 32, **(encode_kwargs or {})}  # mteb's own default
    cache = ResultsFolder(output_folder, options)
    model = with_arguments(identified(model), encode_kwargs)
    meta: ModelMeta = model if isinstance(model, ModelMeta) else model.mteb_model_meta
    _check_names(meta)
    canaries = Canaries(model, encode_kwargs)
    canaries.look()
    outcomes: list[Outcome] = []
    by_corpus: dict[str, Any] = {}
    absent: set[str] = set()  # data sets that were not found
    interrupted, begun = False, dt.datetime.now(dt.UTC)
    with perquery.receiving(lambda evaluation: perquery.save(evaluation, cache.query_scores)):
        for position, task in enumerate(tasks, start=1):
            name = task.metadata.name
            started = time.monotonic()
            if reason := unable(model, task):
                outcomes.append(Outcome(name, "unable", reason=reason))
                continue
            level = logging.DEBUG if is_absent(task, absent) else logging.INFO
            logger.log(level, "[%d/%d] %s%s", position, len(tasks), name, _remaining_time(tasks, outcomes))
            try:
                with unloading(task):
                    named = _named_for(model, task, by_corpus)
                    meta = meta if named is model else named.mteb_model_meta
                    found = evaluate_into(
                        cache,
                        named,
                        task,
                        overwrite_strategy=overwrite_strategy,
                        co2_tracker=co2_tracker,
                        encode_kwargs=cast("EncodeKwargs", dict(options)),
                        prediction_folder=prediction_folder,
                        num_proc=num_proc,
                        show_progress_bar=show_progress,
                    )
                scores = scores_of(found, task)
                seconds, cached = time.monotonic() - started, _date_if_older(found.date, begun)
                outcomes.append(Outcome(name, "scored", task.metadata.main_score, scores, seconds, cached=cached))
            except KeyboardInterrupt:
                interrupted = True
                break
            except PatentMTEBError as error:
                outcomes.append(Outcome(name, "skipped", reason=str(error)))
                if isinstance(task, PatentTask) and isinstance(error, (NotThereError, AccessError)):
                    absent.add(task.data.key)
            except (Exception, SystemExit) as error:  # a failing model ends its task, not the run
                logger.debug("%s failed", name, exc_info=True)
                reason = str(of_the_machine(error, cache_root()) or f"{type(error).__name__}: {error}")
                outcomes.append(Outcome(name, "failed", reason=reason))
    if interrupted:
        outcomes += [Outcome(task.metadata.name, "skipped", reason="interrupted") for task in tasks[len(outcomes) :]]
    names = dict.fromkeys(str(one.mteb_model_meta.name) for one in by_corpus.values()) or [meta.name or ""]
    doubt = "" if interrupted else _doubt(canaries, model)
    return Report(", ".join(names), tuple(outcomes), interrupted, doubt, meta)


def _named_for(model: Any, task: AbsTask, by_corpus: dict[str, Any]) -> Any:
    """Return BM25 under the name of the analyser of a task's corpus, and any other model as it is.

    mteb looks up a result by name before it loads the data. ``by_corpus`` holds the models of the corpora so far.
    """
    if not hasattr(model, "named_for") or not isinstance(task, PatentRetrieval):
        return model
    documents = getattr(task.metadata, "text_parts", {}).get("document")
    key = repr((task.metadata.dataset, task.source.folder, documents))
    if key not in by_corpus:
        task.load_data()
        by_corpus[key] = model.named_for(task.loaded_split["corpus"])
    return by_corpus[key]


@contextmanager
def unloading(task: AbsTask) -> Iterator[None]:
    """Unload the data of a task after the block."""
    try:
        yield
    finally:
        if task.data_loaded:
            task.unload_data()


def evaluate_with_mteb(model: Any, task: AbsTask, **options: Any) -> TaskResult:
    """Return the result of ``mteb.evaluate``, whatever the task was evaluated with before."""
    restart_generators(task)
    return mteb.evaluate(model, task, **options).task_results[0]


def evaluate_into(
    cache: ResultsFolder, model: Any, task: AbsTask, overwrite_strategy: str = "only-missing", **options: Any
) -> TaskResult:
    """Evaluate with a results folder, and reuse a stored result only if it passes verification."""
    meta = model if isinstance(model, ModelMeta) else model.mteb_model_meta
    live = None if isinstance(model, ModelMeta) else partial(model_record, model)
    if overwrite_strategy == "only-cache":
        if problem := cache.contradiction(meta, task, live):
            raise ModelError(
                f"{cache.result_path(meta, task)}: {problem}",
                remedy="run the task without --overwrite-strategy only-cache",
            )
    else:
        cache.prepare(meta, task, live)
    if overwrite_strategy == "only-missing" and cache.lacks_scores(meta, task):
        logger.info("%s: its result lacks scores that a new evaluation gives; it is run again", task.metadata.name)
        overwrite_strategy = "always"
    return evaluate_with_mteb(model, task, cache=cache, overwrite_strategy=overwrite_strategy, **options)


def scores_of(found: TaskResult, task: AbsTask) -> dict[str, Any]:
    """Return the scores of a task's split and subset; of another package's task, the first ones."""
    if isinstance(task, PatentTask):
        entries = [entry for entry in found.scores[task.split] if entry["hf_subset"] == task.source.subset]
    else:
        entries = list(next(iter(found.scores.values())))
    return dict(entries[0])


def _date_if_older(made: dt.datetime | None, begun: dt.datetime) -> str:
    """Return the date of a result that is older than the run; empty for a new one."""
    if made is None:
        return "an unknown day"
    made = made if made.tzinfo else made.replace(tzinfo=dt.UTC)
    return made.date().isoformat() if made < begun else ""


def _remaining_time(tasks: Sequence[AbsTask], outcomes: Sequence[Outcome]) -> str:
    """Estimate the time of the remaining tasks.

    A text is encoded once, so a task that only has texts of earlier ones takes less time. Each of these two kinds of
    tasks is expected to take the mean time of those that are done, or that of all where none is.
    """
    seen: set[tuple[str, Any]] = set()
    new = []
    for task in tasks:
        parts = getattr(task.metadata, "text_parts", {}).values() or [task.metadata.name]
        texts = {(task.metadata.dataset["path"], part) for part in parts}
        new.append(not texts <= seen)
        seen |= texts
    done: dict[bool, list[float]] = {True: [], False: []}
    for outcome, kind in zip(outcomes, new, strict=False):
        if outcome.status == "scored" and not outcome.cached:
            done[kind].append(outcome.seconds)
    known = [*done[True], *done[False]]
    if not known:
        return ""
    minutes = sum(fmean(done[kind] or known) for kind in new[len(outcomes) :]) / 60
    return f" (about {minutes:.0f} min left)" if minutes >= 1 else " (less than 1 min left)"


def _doubt(canaries: Canaries, model: Any) -> str:
    try:
        check(model, whole=True)
        canaries.look()
    except ModelError as error:
        return str(error)
    return ""


def _check_names(meta: ModelMeta) -> None:
    """Reject a name or revision that leads out of the results folder, or into another model's folder."""
    for what, name in (("name", meta.model_name_as_path()), ("revision", meta.revision or "")):
        if "/" in name or "\\" in name or name in (".", "..") or not name.isprintable():
            raise ModelError(
                f"the model's {what} {name!r} cannot be the name of a folder, so its results cannot be stored",
                remedy="give a commit hash, or load a local copy, which has its own revision",
            )


def is_absent(task: AbsTask, absent: Collection[str]) -> bool:
    """Whether a task will be skipped, as its data are not there or those of its data set were not found."""
    return isinstance(task, PatentTask) and (task.data.key in absent or task.is_unresolved)


def unable(model: MTEBModels | ModelMeta, task: AbsTask) -> str:
    """Return why a model cannot do a task; empty if it can."""
    name = model.name if isinstance(model, ModelMeta) else model.mteb_model_meta.name
    if hasattr(model, "score_labels"):
        only = f"{name} scores label names, for multi-label classification only"
        return "" if hasattr(task, "zero_shot") else only
    retrieval = task.metadata.type in ("Retrieval", "Reranking")
    if isinstance(model, ModelMeta):
        kinds = set(model.model_type)
        embeds, crosses = bool(kinds & {"dense", "late-interaction"}), "cross-encoder" in kinds
    else:
        embeds, crosses = isinstance(model, EncoderProtocol), isinstance(model, CrossEncoderProtocol)
    if crosses and not embeds:
        stage = f"{name} is a cross-encoder, which scores given pairs; use it as second stage with --rerank"
        return {"Reranking": "", "Retrieval": stage}.get(
            task.metadata.type, f"{name} is a cross-encoder and does not embed texts"
        )
    if not retrieval and not embeds:
        return f"{name} does not embed texts, which a {task.metadata.type} task needs"
    return ""
