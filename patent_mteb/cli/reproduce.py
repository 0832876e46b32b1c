"""``patent-mteb reproduce``: run the tables of the papers, and compare every stated number with the measured one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SEVERAL, WHOLE, WithStore
from patent_mteb.cli.run import show
from patent_mteb.errors import DataError, ModelError

if TYPE_CHECKING:
    from patent_mteb.experiments.papers import PaperRun
    from patent_mteb.report.cells import Table

_RUNNING = Group("Running", help="Without these options, reproduce only compares the results that exist.", sort_key=1)
_PASSAGES = (18, 20)  # tables of DAPFAM whose settings of passages are not stated; they are rows of a sweep


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(WithStore):
    models: Annotated[tuple[str, ...], SEVERAL, Parameter(name=["--model", "-m"], metavar="MODEL...")] = ()
    """These models only; without it all that a table prints."""
    results: Annotated[Path, Parameter(metavar="DIR")] = Path("results")
    """Results folder of 'patent-mteb run', and of the runs of --paper."""
    paper: Annotated[str | None, Parameter(group=_RUNNING, metavar="NAME")] = None
    """Run the tables of wipo_at, dapfam, patenteb, sophia or patentmap under the paper's settings; resumable."""
    table: Annotated[int | None, WHOLE, Parameter(group=_RUNNING, metavar="N")] = None
    """This table of the paper only."""
    all: Annotated[bool, Parameter(group=_RUNNING)] = False
    """Run all tables of all papers; models that are not available are listed."""
    dry_run: Annotated[bool, Parameter(group=_RUNNING)] = False
    """Count the texts and estimate the time of the runs, and print the settings of a table."""


_OPTIONS = ReproduceOptions()


@command(
    "reproduce",
    "patent-mteb reproduce --results results",
    "patent-mteb reproduce --paper dapfam --table 17 -m bm25-dapfam",
    "patent-mteb reproduce --paper patenteb --dry-run",
)
def reproduce(*, options: ReproduceOptions = _OPTIONS) -> int:
    """Compare every number that a paper states for a model with the measured one: OK, OKISH or FAIL."""
    if options.table is not None and options.paper is None:
        raise DataError("--table is a table of a paper", remedy="name the paper with --paper")
    if options.all and options.paper:
        raise DataError("--all and --paper exclude each other", remedy="leave out one of the two")
    if options.dry_run and not (options.all or options.paper):
        raise DataError("--dry-run plans the runs of --paper or --all", remedy="add one of the two")
    if options.paper == "dapfam" and options.table in _PASSAGES:
        return _passages(options, options.table)
    if options.paper or options.all:
        from patent_mteb.experiments.papers import paper_runs

        runs = paper_runs(options.paper, options.table, options.models)
        if options.table is not None:
            _show_card(runs)
        if options.dry_run:
            return _plan(options, runs)
        if not _run(options, runs):
            common.warn("No task has a score: nothing to compare with the papers.")
            return 1
        return _compare(options, {run.model for run in runs}, stated=any(run.stated for run in runs))
    return _compare(options, set(options.models))


def _show_card(runs: Sequence[PaperRun]) -> None:
    from patent_mteb.published import card

    facts = {
        (run.model if len(runs) > 1 else "", fact): None
        for run in runs
        for fact in card(run.paper, run.table, run.model)
    }
    shared = {fact for _, fact in facts if all((run.model, fact) in facts for run in runs)}
    rows = dict.fromkeys(("" if fact in shared else model, *asdict(fact).values()) for model, fact in facts)
    columns, start = ("model", "setting", "value", "source"), 0 if any(row[0] for row in rows) else 1
    common.show(columns[start:], [row[start:] for row in rows])


def _loaded(
    options: ReproduceOptions, runs: Sequence[PaperRun], skipped: list[tuple[str, str]]
) -> Iterator[tuple[PaperRun, Any]]:
    """Yield each run with its model; equal models are loaded once. ``skipped`` gets the other runs and why."""
    from patent_mteb.models.composition import compose

    failed: dict[str, str] = {}
    key, model = None, None
    for run in sorted(runs, key=lambda run: (run.model, sorted(run.settings.items()))):
        reason = run.problem or failed.get(run.model, "")
        try:
            if not reason and key != (key := (run.model, dict(run.settings))):
                model = None  # free its memory first
                model = compose(run.load(options.device), store=options.store_folder)
        except ModelError as error:
            key, failed[run.model] = None, str(error)
            reason = str(error)
        if reason:
            skipped.append((f"{run.paper} Table {run.table}, {run.model}", reason))
        else:
            yield run, model


def _run(options: ReproduceOptions, runs: Sequence[PaperRun]) -> int:
    """Run everything that can be run, and return the number of scored tasks."""
    from patent_mteb.experiments.run import run as run_tasks

    scored, skipped = 0, list[tuple[str, str]]()
    for run, model in _loaded(options, runs, skipped):
        settings = ", ".join(f"{name} {value}" for name, value in run.settings.items()) or "no stated settings"
        common.say(f"{run.paper} Table {run.table}: {run.model}, {settings}")
        if not run.stated:
            common.say("The table prints no score of this model; it is run with the settings of the table.")
        report = run_tasks(
            model, run.choose(), options.results, encode_kwargs=options.encode_kwargs(), show_progress=options.bars
        )
        show(report, options.results)
        scored += sum(outcome.status == "scored" for outcome in report.outcomes)
        if report.interrupted:
            raise KeyboardInterrupt
    common.warn_by_reason("not run: ", skipped)
    return scored


def _plan(options: ReproduceOptions, runs: Sequence[PaperRun]) -> int:
    """Print the plan of all runs; the exit status is 1 if none of them can be run."""
    from patent_mteb.experiments.plan import plan

    rows, skipped = [], list[tuple[str, str]]()
    for run, model in _loaded(options, runs, skipped):
        found = plan(model, run.choose(), options.results, encode_kwargs=options.encode_kwargs())
        counts = [sum(task.status == status for task in found.tasks) for status in ("to do", "done", "missing")]
        minutes = "" if found.seconds is None else common.number(found.seconds / 60, 1)
        rows.append((f"{run.paper} {run.table}", run.model, *counts, found.distinct - found.stored, minutes))
    numbers = ("to do", "done", "missing", "to encode", "minutes")
    common.result({"runs": [dict(zip(("table", "model", *numbers), row, strict=True)) for row in rows]})
    common.show(("table", "model", *numbers), rows, right=numbers)
    common.warn_by_reason("not run: ", skipped)
    return 0 if rows else 1


def _passages(options: ReproduceOptions, table: int) -> int:
    """Run Table 18 or 20 of DAPFAM: rows next to the printed ones, which are not judged."""
    from patent_mteb.cli.runs import encoders, show_sweep
    from patent_mteb.experiments.sweep import PAPER, sweep
    from patent_mteb.published import tables
    from patent_mteb.search.bm25 import bm25

    matrix = dict(zip((17, 18, 19, 20), PAPER, strict=True))[table]
    model = next((model for model in options.models if "bm25" not in model), None) if table == 20 else None
    if table == 20 and not model:
        raise ModelError("Table 20 is of an encoder", remedy="name it with -m")
    out = options.results / f"dapfam_table_{table}.csv"
    if options.dry_run:
        common.say(f"{len(matrix.settings())} runs, into {out}")
        return 0
    options.results.mkdir(parents=True, exist_ok=True)
    dense = encoders(options, model, None, ("int8",))
    rows = sweep([matrix], dense, bm25("dapfam"), out, encode_kwargs=options.encode_kwargs())
    show_sweep(rows, out)
    reason = next(one.not_joined for one in tables("dapfam") if one.table == table)
    common.say(f"Not judged: {reason}.")
    return 0


def _narrow(shown: Table) -> Table:
    """Return the table without its explanations, empty columns and, if there is one run only, the run's name."""
    runs = {row[0].value for row in shown.rows}
    filled = [
        place for place in range(len(shown.columns) - 1) if any(row[place].value is not None for row in shown.rows)
    ]
    title = f", {runs.pop()}" if len(runs) == 1 else ""
    return shown.with_columns(filled[1:] if title else filled, title)


def _compare(options: ReproduceOptions, models: set[str], stated: bool = True) -> int:
    from patent_mteb import published
    from patent_mteb.experiments.papers import PLAIN_BM25
    from patent_mteb.identity import local_name
    from patent_mteb.models.loading import SHORT_NAMES
    from patent_mteb.report.cells import slug
    from patent_mteb.report.collect import collect
    from patent_mteb.report.published import tables_with_measured_rows
    from patent_mteb.report.rendering import as_terminal
    from patent_mteb.report.reproduce import as_json, reproduce, table
    from patent_mteb.report.words import measure_title

    rows = published.expected()
    if options.paper:
        numbers = published.tables_to_run()[options.paper] if options.table is None else [options.table]
        rows = tuple(row for number in numbers for row in published.expected_in(options.paper, number))
    short = {**SHORT_NAMES, "bm25": PLAIN_BM25}  # the papers' texts are English
    names = {local_name(Path(name)) if Path(name).is_dir() else short.get(name, name) for name in models}
    collected = collect(options.results)
    found = reproduce(collected, sorted(names) if options.models else (), rows)
    shown = table(found)
    common.result(as_json(found))
    if shown is not None:
        common.console.print(as_terminal(_narrow(shown)))
    alike: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for line in found.lines:
        if line.verdict != "OK":
            names_of = alike.setdefault((line.verdict, line.run, line.settings), [])
            names_of.append(f"{line.tasks[0]} {measure_title(line.metric)}")
    for (verdict, run, settings), (first, *others) in alike.items():
        which = first + (f" and {len(others)} more" if others else "")
        common.say(f"{verdict} {run}, {which}: {'; '.join(settings)}")
    if not stated and not found.lines:
        start = slug("published", options.paper or "")
        for one in tables_with_measured_rows(collected)[0]:
            numbers_of = one.name.removeprefix(start).split("-")
            if one.name.startswith(start) and (options.table is None or str(options.table) in numbers_of):
                common.console.print(as_terminal(one))
        common.say("The paper prints no score of these models: nothing is judged.")
        return 0
    for message in found.messages:
        common.warn(f"note: {message}")
    common.say(f"{len(found.lines)} number{'s' * (len(found.lines) != 1)} compared, {found.failed} FAIL")
    return 1 if found.failed or not found.lines else 0
