"""Running a model on tasks, one after the other: what cannot be done is skipped with its reason, the rest goes on."""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import mteb
from mteb.abstasks import AbsTask
from mteb.models import CrossEncoderProtocol, EncoderProtocol, MTEBModels
from mteb.models.model_meta import ModelMeta
from mteb.results import TaskResult
from mteb.types import EncodeKwargs

from patent_mteb.errors import ModelError, PatentMTEBError
from patent_mteb.experiments import torn
from patent_mteb.experiments.canaries import Canaries
from patent_mteb.experiments.kept import keep_other_revision, revision_now
from patent_mteb.experiments.whole import WholeResults
from patent_mteb.files import read_json, write_text
from patent_mteb.protocols.zero_shot import LabelScorer
from patent_mteb.store.abandoned import abandoned
from patent_mteb.store.settings import settled
from patent_mteb.tasks import perquery
from patent_mteb.tasks.base import PatentTask

logger = logging.getLogger(__name__)

__all__ = ["Outcome", "Report", "is_done", "run", "unable"]


@dataclass(frozen=True)
class Outcome:
    """What became of one task.

    Attributes:
        status: ``unable`` if a model of this kind cannot do a task of this kind, ``skipped`` if its data cannot be had or used.
        scores: mteb's scores of its one split and subset.
        reason: why there are none.
        cached: the day on which they were made, where that was before this run.
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
    """The outcomes of a run, in the order of the tasks; ``interrupted`` if the user stopped it; ``doubt`` says why its scores cannot be
    trusted: the model changed while it ran (:mod:`patent_mteb.experiments.canaries`); ``meta`` is what its results are filed under."""

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
    """Evaluate a model on tasks with ``mteb.evaluate`` and collect what happened.

    Args:
        model: an mteb model, or a ModelMeta whose model is loaded when the first task needs it.
        output_folder: results folder in mteb's structure; per-query scores are written beside the results.

    Returns:
        one outcome a task. Its exit status is 0 where every task that a model of this kind can do has a score, and one has.

    Raises:
        ModelError: it is no mteb model, its name or revision cannot be the name of a folder, or its vectors are not those of its store.

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
    cache = WholeResults(output_folder, options)
    model = settled(model, encode_kwargs)
    meta: ModelMeta | None = model if isinstance(model, ModelMeta) else getattr(model, "mteb_model_meta", None)
    if meta is None:
        raise ModelError(f"{type(model).__name__} is no mteb model: it has no mteb_model_meta. Remedy: give it one with name and revision")
    _check_names(meta)
    canaries = Canaries(model, encode_kwargs)
    canaries.look()
    outcomes: list[Outcome] = []
    interrupted, begun = False, dt.datetime.now(dt.UTC)
    beside = Path(os.environ.get(perquery.VARIABLE) or Path(cache.cache_path) / "results")
    with perquery.receiving(lambda evaluation: perquery.save(evaluation, beside)):
        for position, task in enumerate(tasks, start=1):
            name = task.metadata.name
            logger.info("[%d/%d] %s%s", position, len(tasks), name, _time_left(outcomes, len(tasks)))
            started = time.monotonic()
            try:
                if reason := unable(model, task):
                    outcomes.append(Outcome(name, "unable", reason=reason))
                    continue
                _set_aside_if_torn(Path(cache.cache_path) / "results", meta, name)
                keep_other_revision(Path(cache.cache_path) / "results", beside, meta, task)
                result = mteb.evaluate(
                    model,
                    task,
                    cache=cache,
                    overwrite_strategy=_strategy(overwrite_strategy, Path(cache.cache_path) / "results", meta, task),
                    co2_tracker=co2_tracker,
                    encode_kwargs=cast("EncodeKwargs", dict(options)),
                    prediction_folder=prediction_folder,
                    num_proc=num_proc,
                    show_progress_bar=show_progress,
                )
                (found,) = result.task_results
                (scores,) = next(iter(found.scores.values()))
                seconds, cached = time.monotonic() - started, _day_before(found.date, begun)
                outcomes.append(Outcome(name, "scored", task.metadata.main_score, dict(scores), seconds, cached=cached))
            except KeyboardInterrupt:
                interrupted = True
                break
            except PatentMTEBError as error:
                outcomes.append(Outcome(name, "skipped", reason=str(error)))
            except (Exception, SystemExit) as error:  # a model that gives up ends its task, not the run
                logger.debug("%s failed", name, exc_info=True)
                outcomes.append(Outcome(name, "failed", reason=f"{type(error).__name__}: {error}"))
            finally:
                if task.data_loaded:
                    task.unload_data()
    if interrupted:
        outcomes += [Outcome(task.metadata.name, "skipped", reason="interrupted") for task in tasks[len(outcomes) :]]
    return Report(meta.name or "", tuple(outcomes), interrupted, "" if interrupted else _doubt(canaries), meta)


def _day_before(made: dt.datetime | None, begun: dt.datetime) -> str:
    """The day of a result that is older than the run, else empty."""
    if made is None:
        return "an unknown day"
    made = made if made.tzinfo else made.replace(tzinfo=dt.UTC)
    return made.date().isoformat() if made < begun else ""


def _time_left(outcomes: Sequence[Outcome], n_tasks: int) -> str:
    """How long the rest of a run will take, if its tasks take as long as those that it has done."""
    done = [outcome.seconds for outcome in outcomes if outcome.status == "scored" and not outcome.cached]
    if not done:
        return ""
    minutes = sum(done) / len(done) * (n_tasks - len(outcomes)) / 60
    return f" (about {minutes:.0f} min left)" if minutes >= 1 else " (less than 1 min left)"


def _doubt(canaries: Canaries) -> str:
    try:
        canaries.look()
    except ModelError as error:
        return str(error)
    return ""


def _check_names(meta: ModelMeta) -> None:
    """Results are filed under name and revision: neither may lead out of the results folder, or below another model's."""
    for what, name in (("name", meta.model_name_as_path()), ("revision", meta.revision or "")):
        if "/" in name or "\\" in name or name in (".", "..") or not name.isprintable():
            raise ModelError(
                f"the model's {what} {name!r} cannot be the name of a folder, so its results could not be filed. "
                "Remedy: give a commit hash, or load a local copy, which has a revision of its own"
            )


def _set_aside_if_torn(results: Path, meta: ModelMeta, task_name: str) -> None:
    """Rename a result, or the model's description beside it, that a killed run left half-written: mteb could not read it, and
    would refuse the task for ever. What it left of files that are whole is removed: no one writes them again."""
    path = perquery.path_of(results, meta, task_name, ".json")
    for left in filter(Path.is_file, abandoned(path.parent)):
        left.unlink(missing_ok=True)
    for file in (path, path.with_name("model_meta.json")):
        if file.exists() and (reason := torn.flaw(file, result=file == path)):
            damaged = torn.set_aside(file)
            logger.warning("%s cannot be read (%s); it is kept as %s and made again", file, reason, damaged.name)
    if path.exists() and not (described := path.with_name("model_meta.json")).exists():
        write_text(described, json.dumps(meta.to_dict(), default=str, indent=4))


def _strategy(chosen: str, results: Path, meta: ModelMeta, task: AbsTask) -> str:
    """What to do where there is a result: one that lacks scores which are asked for now is made again."""
    if chosen != "only-missing" or not _lacks(results, meta, task):
        return chosen
    logger.info("%s: its result lacks scores that are asked for now; it is made again", task.metadata.name)
    return "always"


def _lacks(results: Path, meta: ModelMeta, task: AbsTask) -> bool:
    """Whether the result that lies there lacks scores that are asked for now."""
    if not isinstance(task, PatentTask):
        return False
    filed = read_json(perquery.path_of(results, meta, task.metadata.name, ".json")) or {}
    entries = [entry for entry in filed.get("scores", {}).get(task.split, ()) if entry.get("hf_subset") == task.source.subset]
    return any(map(task.lacks, entries))


def is_done(results: Path, meta: ModelMeta, task: AbsTask) -> bool:
    """Whether a run would take the result that lies in mteb's folder of results: it can be read, it is of the data of now, and it has
    every score that is asked for.

    Example:
        >>> from pathlib import Path
        >>> import patent_mteb
        >>> from patent_mteb.experiments.run import is_done
        >>> from patent_mteb.models import bm25
        >>> is_done(Path("results"), bm25("dapfam").mteb_model_meta, patent_mteb.get_tasks("PatentMap", sample=True)[0])
        False
    """
    path = perquery.path_of(results, meta, task.metadata.name, ".json")
    if not path.exists() or torn.flaw(path, result=True):
        return False
    found = TaskResult.from_disk(path)
    same = found.dataset_revision == revision_now(task, str(found.dataset_revision))
    return same and not found.get_missing_evaluations(task) and not _lacks(results, meta, task)


def unable(model: MTEBModels | ModelMeta, task: AbsTask) -> str:
    """Why a model cannot do a task, empty if it can.

    Example:
        >>> import mteb
        >>> from patent_mteb.experiments.run import unable
        >>> from patent_mteb.models import bm25
        >>> unable(bm25("dapfam"), mteb.get_task("PatentMapIPCClassification.sample"))
        'patent-mteb/bm25-dapfam does not embed texts, which a MultilabelClassification task needs'
    """
    if isinstance(model, LabelScorer):
        return "" if hasattr(task, "zero_shot") else f"{model.mteb_model_meta.name} scores label names, for multi-label classification only"
    retrieval = task.metadata.type in ("Retrieval", "Reranking")
    name = model.name if isinstance(model, ModelMeta) else model.mteb_model_meta.name
    if isinstance(model, ModelMeta):
        kinds = set(model.model_type)
        embeds, crosses = bool(kinds & {"dense", "late-interaction"}), "cross-encoder" in kinds
    else:
        embeds, crosses = isinstance(model, EncoderProtocol), isinstance(model, CrossEncoderProtocol)
    if crosses and not embeds:
        stage = f"{name} is a cross-encoder, which scores given pairs; use it as second stage with --rerank"
        return {"Reranking": "", "Retrieval": stage}.get(task.metadata.type, f"{name} is a cross-encoder and does not embed texts")
    if not retrieval and not embeds:
        return f"{name} does not embed texts, which a {task.metadata.type} task needs"
    return ""
