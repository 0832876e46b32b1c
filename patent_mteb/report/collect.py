"""Read a results folder into tidy tables, with a message on each excluded file.

The files are mteb's results (``<folder>/[results/]<org>__<model>/<revision>/[experiments/<settings>/]<Task>.json``),
``model_meta.json`` and ``run_settings.jsonl`` next to them, and the per-query scores of
:mod:`patent_mteb.tasks.perquery`.

Every result belongs to one data source (:mod:`patent_mteb.data.data_source`). Where results were measured on several
states of a data set, each state is a data source of its own; that of the newest result has the plain name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from patent_mteb.data.data_source import data_source_named, data_source_of
from patent_mteb.data.loading import plain_name
from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.identity import META
from patent_mteb.report.folders import SETTINGS, Survey, board_names, parse_document, read_meta, run_settings, survey
from patent_mteb.report.records import (
    RESULT_SCHEMA,
    SCORE_SCHEMA,
    ModelFolder,
    Result,
    disagreements,
    result_row,
    score_rows,
    state_of_data,
)
from patent_mteb.report.view import DataSourceView
from patent_mteb.report.words import visible
from patent_mteb.tasks.benchmark import PatentBenchmark
from patent_mteb.tasks.catalogue import TasksOnOwnData, suite_tasks
from patent_mteb.tasks.evidence import CARD, card_digest
from patent_mteb.tasks.verification import ContradictionError, check_entry, check_queries, evidence_of, part_of

__all__ = ["Collected", "ReportError", "collect"]
_LIMIT = ".limit"
_AGAIN = "delete the file and run the task again"
_LAST_DATE = 253_402_300_799.0  # seconds from 1970 to the end of the year 9999


class ReportError(PatentMTEBError):
    """A report or an export that cannot be made as requested."""


@dataclass(frozen=True)
class Collected:
    """A results folder.

    Attributes:
        folder: the folder.
        results: one row a result. ``run`` is the label of model, settings and (where needed) revision; ``data_source``,
            ``benchmark``, ``group``, ``task`` (as in the result), ``plain`` (without the state of the data), ``kind``
            (mteb's type), ``main_score`` (name), ``value``, ``n_queries``, ``model``, ``revision``, ``experiment``,
            ``settings`` (JSON), ``data``, ``data_revision``, ``data_version`` (of own data),
            ``subset``, ``split``, ``prompt``, ``versions``, ``date``
            (ISO, UTC), ``parameters``, ``dims``, ``path``, ``queries`` (path of usable per-query scores), ``prompts``
            (JSON: the recorded texts before its inputs), ``computed`` (JSON: device, dtype, settings, weights and
            version of its evidence), ``small`` (why its scores are small, or empty:
            :mod:`patent_mteb.metrics.significance`).
        scores: one row a number: ``run``, ``data_source``, ``benchmark``, ``group``, ``task``, ``plain``, ``slice``
            (empty for all judgements), ``measure``, ``value``, ``n_queries`` of the slice, ``main`` (whether the
            measure is the task's main score), ``small`` as above, of the slice.
        messages: excluded files and suspicious contents, one line each.
        excluded: those of the messages that are about excluded files and results.
        own: the benchmarks of own data sets with results.
        contradictions: why a result was excluded that its evidence or its per-query scores contradict, by path and
            subset.
        damaged: errors in files that belong to several results; a report refuses them.
    """

    folder: Path
    results: pl.DataFrame
    scores: pl.DataFrame
    messages: tuple[str, ...] = ()
    contradictions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    own: tuple[PatentBenchmark, ...] = ()
    excluded: tuple[str, ...] = ()
    damaged: tuple[DataError, ...] = ()

    @cached_property
    def data_sources(self) -> dict[str, DataSourceView]:
        """The data sources that have results, by name, in the order of reports."""
        views = {}
        for source in sorted(map(data_source_named, self.results["data_source"].unique()), key=lambda one: one.order):
            results, scores = (frame.filter(data_source=source.name) for frame in (self.results, self.scores))
            views[source.name] = DataSourceView(source, results, scores, self.own)
        return views

    @cached_property
    def runs(self) -> tuple[str, ...]:
        return tuple(self.results["run"].unique().sort())


def collect(folder: Path) -> Collected:
    """Read a results folder.

    Raises:
        DataError: the folder does not exist or holds no result of a model. Damaged or outdated files inside it
            raise no error: the messages name them, and the rest is read.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> collected = collect(Path("results"))  # of 'patent-mteb run'
        >>> sorted(set(collected.results["benchmark"]))
        ['DAPFAM', 'WIPO-AT']
    """
    if not folder.is_dir():
        raise DataError(
            "there is no such folder", path=folder, remedy="name the folder that 'patent-mteb run' wrote its results to"
        )
    reader = _Reader(survey(folder))
    results = [result for source, files in reader.sources() for path in files for result in reader.read(path, source)]
    messages = reader.messages
    if not reader.survey.places:
        found = ["no results (no folder <organisation>__<model>/<revision>)", *map(visible, messages)]
        raise DataError("; ".join(found).rstrip("."), path=folder, remedy="name the folder of 'patent-mteb run'")
    for name, tasks in sorted(reader.unknown.items()):
        why, n_tasks = "the suite has no task of this name.", len(set(tasks))
        if name.startswith(_LIMIT):
            name = f"{n_tasks} task{'s' * (n_tasks > 1)} named <Task>{name}"
            why = "--limit ran them on some queries and documents. To report these tasks, run them without it."
        reader.survey.exclude_as(f"{len(tasks)} result{'s' * (len(tasks) > 1)} of {name} left out: {why}")
    without = sum(result.task.kind == "Retrieval" and result.queries is None for result in results)
    if without:
        messages.append(
            f"{without} retrieval results have no usable per-query scores: no intervals and no significance for them."
        )
    reader.check_cards(results)
    try:
        board_names(folder)
    except DataError as error:
        reader.damaged.append(error)
    reader.part_states(results)
    messages += [*disagreements(results), *reader.own.messages]
    _label(list({id(result.source): result.source for result in results}.values()))
    results.sort(key=lambda result: (result.data_source.order, result.task.order, result.source.label))
    return Collected(
        folder,
        pl.DataFrame([result_row(result) for result in results], schema=RESULT_SCHEMA),
        pl.DataFrame([row for result in results for row in score_rows(result)], schema=SCORE_SCHEMA, orient="row"),
        tuple(map(visible, messages)),
        reader.contradictions,
        reader.own.benchmarks,
        tuple(map(visible, reader.survey.excluded)),
        tuple(reader.damaged),
    )


class _Reader:
    """Read files one by one, with a message on each excluded one."""

    def __init__(self, found: Survey) -> None:
        self.tasks = suite_tasks()
        self.own = TasksOnOwnData()
        self.unknown: dict[str, list[str]] = {}  # by the end that --limit added to a task's name, or by its name
        self.survey = found
        self.messages, self.exclude = found.messages, found.exclude
        self.contradictions: dict[tuple[str, str], str] = {}
        self.damaged: list[DataError] = []

    def sources(self) -> Iterator[tuple[ModelFolder, tuple[Path, ...]]]:
        for place in self.survey.places:
            path = place.folder / META
            try:
                meta = read_meta(path, place.model, place.revision)
            except DataError as error:
                meta = {}
                remedy = "restore the file; until then the model is named after the folder"
                self.messages.append(str(DataError(error.problem, path=path, remedy=remedy)))
            name = str(meta.get("name") or place.model.replace("__", "/", 1))
            versions = self._versions(place.folder / SETTINGS)
            yield ModelFolder(name, place.revision, place.experiment, meta, versions), place.files

    def _versions(self, path: Path) -> dict[str, str]:
        """Return the versions of the libraries by task, as mteb recorded them in its last run of the task."""
        versions: dict[str, str] = {}
        try:
            for settings in run_settings(path) if path.exists() else ():
                known = {name: version for name, version in settings.get("version", {}).items() if version}
                versions[settings["task"]] = ", ".join(f"{name} {version}" for name, version in known.items())
        except DataError as error:
            self.damaged.append(error)
        return versions

    def read(self, path: Path, source: ModelFolder) -> Iterator[Result]:
        try:
            content = parse_document(path)
            name, revision, splits = str(content["task_name"]), str(content["dataset_revision"]), content["scores"]
            date = float(content.get("date") or 0)
            if not 0 <= date <= _LAST_DATE:
                raise ValueError(f"the date is {date}")
            entries = {split: [dict(entry) for entry in subsets] for split, subsets in dict(splits).items()}
        except KeyError as error:
            self.exclude(path, f"no result file of mteb ({error} is missing)", _AGAIN)
            return
        except (OSError, ValueError, TypeError, OverflowError) as error:
            self.exclude(path, f"damaged result file ({error})", _AGAIN)
            return
        if name != path.stem:
            self.exclude(path, f"holds a result of {name}", "give the file the name of its task")
            return
        records = (entry.get("data_set") for subsets in entries.values() for entry in subsets)
        task = self.own.task(next(filter(None, records), None)) or self.tasks.get(plain_name(name))
        if task is None:
            self.unknown.setdefault("".join(name.rpartition(_LIMIT)[1:]), []).append(name)
            return
        if not entries.get(task.split):
            self.exclude(path, f"has no scores of the split '{task.split}'", _AGAIN)
            return
        named = Counter(str(entry.get("hf_subset", "default")) for entry in entries[task.split])
        if repeated := [subset for subset, count in named.items() if count > 1]:
            self.exclude(path, f"has two results of the subset '{repeated[0]}'", _AGAIN)
            return
        version, seconds = str(content.get("mteb_version") or ""), content.get("evaluation_time")
        for entry in entries[task.split]:
            subset = str(entry.get("hf_subset", "default"))
            data_revision = revision if subset == "default" else subset
            try:
                data_source = data_source_of(task.data, data_revision, sample=name.endswith(".sample"))
            except DataError as error:
                self.exclude(path, error.problem, error.remedy)
                continue
            data = (data_source, data_revision, subset)
            evidence, prompts = evidence_of(entry), entry.get("prompts")
            stated = str((entry.get("data_set") or {}).get("version") or "")
            result = Result(
                source, task, name, *data, {}, date, version, path, evidence, None, stated, prompts, seconds
            )
            try:
                result.scores = check_entry(entry, result.place)
                result.queries = check_queries(entry, result.place)
            except ContradictionError as error:
                message = self.exclude(error.path, error.problem, error.remedy)
                self.contradictions[str(path), subset] = message
                continue
            except DataError as error:  # the per-query scores alone
                self.messages.append(str(error))
            yield result

    def check_cards(self, results: Sequence[Result]) -> None:
        """Drop the facts of models that differ from those when their results were measured.

        The last run writes the description, so that one of the results must have its digest.
        """
        for source in {id(result.source): result.source for result in results}.values():
            mine = [result for result in results if result.source is source]
            measured = {part_of(result.evidence, "model").get("card") for result in mine}
            if source.meta and measured != {None} and card_digest(source.meta) not in measured:
                problem = "its facts are not those that were recorded with the results; they are not shown"
                self.exclude(mine[0].path.with_name(META), problem, "restore the file, or run a task again")
                for name in CARD:
                    source.meta.pop(name, None)

    def part_states(self, results: Sequence[Result]) -> None:
        """Give each state of a data set its own data source; the newest result's state has the plain name."""
        dates: dict[tuple[str, str], dict[str, float]] = {}
        shown = {one.data_revision: state_of_data(one.data_revision, one.data_version) for one in results}
        for result in results:
            states = dates.setdefault((result.data_source.name, result.task.data.key), {})
            states[result.data_revision] = max(result.date, states.get(result.data_revision, 0))
        ranks = {key: sorted(states, key=lambda state: (-states[state], state)) for key, states in dates.items()}
        for (data_source, data), (newest, *older) in ranks.items():
            names = (data_source_named(data_source).earlier(n).name for n in range(1, len(older) + 1))
            others = ", ".join(f"'{name}' shows {shown[state]}" for name, state in zip(names, older, strict=True))
            if older:
                self.messages.append(
                    f"Results on {len(older) + 1} states of {data} are shown next to each other: '{data_source}' shows"
                    f" {shown[newest]}, {others}."
                )
        for result in results:
            ranked = ranks[result.data_source.name, result.task.data.key]
            result.data_source = result.data_source.earlier(ranked.index(result.data_revision))


def _label(sources: Sequence[ModelFolder]) -> None:
    """Set the label of every model folder.

    It is the model, its settings, and, to distinguish equal labels, a prefix of the revision or a number.
    """
    for source in sources:
        settings = source.settings
        if "kind" in settings or not source.experiment:
            source.label = source.model  # the name of a composed model shows its settings
        elif settings:
            source.label = f"{source.model} ({', '.join(f'{key}={value}' for key, value in settings.items())})"
        else:
            source.label = f"{source.model} ({source.experiment})"
    labels = [visible(source.label) for source in sources]
    for form in (" @{0.revision:.12}", " @{0.revision}", " @{0.revision} #{1}"):
        counts = Counter(labels)
        labels = [
            visible(source.label + form.format(source, number)) if counts[label] > 1 else label
            for number, (source, label) in enumerate(zip(sources, labels, strict=True), start=1)
        ]
    for source, label in zip(sources, labels, strict=True):
        source.label = label
