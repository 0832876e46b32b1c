"""The report as one self-contained HTML page, without network access.

The page consists of the files in ``site``, DataTables as the package itables ships it, and a JSON payload. A content
security policy forbids every request, and names reach the document as text nodes only: no model name can run code.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.resources import files
from typing import Any

import polars as pl

from patent_mteb.data.data_source import DataSource
from patent_mteb.errors import PatentMTEBError
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.identity import version
from patent_mteb.metrics.significance import MARK, explained
from patent_mteb.report.cells import TIED, UNTESTED, Cell, Column, Score, Table, slug, supported_digits, text_columns
from patent_mteb.report.collect import Collected
from patent_mteb.report.explorer import Explorer, TaskTexts
from patent_mteb.report.figures import on_page
from patent_mteb.report.jobs import Job
from patent_mteb.report.jobs import jobs as jobs_of
from patent_mteb.report.model_facts import FACTS, facts_of_runs
from patent_mteb.report.records import state_of_data
from patent_mteb.report.series import is_bm25, names_in_text, without_organisation
from patent_mteb.report.statistics import Statistics
from patent_mteb.report.view import BenchmarkView, DataSourceView, MeasuredTask, gap_percent
from patent_mteb.report.words import REDEFINED, TERMS, measure_title, visible
from patent_mteb.tasks import catalogue

KEPT = r"^((ndcg|recall|map|mrr|pres|graded_ndcg)_at_(10|20|100)|inscope.*|section_share.*)$"
"""Names of the measures that are shown, of the 30 to 60 of a retrieval result."""


def measures(view: BenchmarkView) -> list[Table]:
    """Return the table of the headline task's measures, best first by the main score; none without a headline."""
    head = view.headline
    if head is None:
        return []
    shown = (pl.col("slice") == "") & pl.col("measure").str.contains(KEPT)
    rows = view.scores.filter((pl.col("task") == head.name) & shown)
    names = rows["measure"].unique(maintain_order=True).to_list()
    values = {(run, name): value for run, name, value in rows.select("run", "measure", "value").iter_rows()}
    scored = view.results.filter(pl.col("task") == head.name).sort("value", "run", descending=[True, False])
    columns = (*text_columns(model="Model"), *(Column(name, measure_title(name)) for name in names))
    cells = [(Cell(run), *(Cell(values.get((run, name))) for name in names)) for run in scored["run"]]
    notes = (f"{head.name}, all judgements.",)
    table = view.table("measures", f": other measures, {head.short}", columns, cells, notes=notes)
    return [table.marked()] if names else []


_OPEN = ("cc-", "cc0", "mit", "apache-")


def may_show(data_source: str, licence: str | None) -> bool:
    """Whether the licence of a data set allows its texts on a page that is shared."""
    return data_source == "sample" or (data_source.startswith("real") and (licence or "").startswith(_OPEN))


def texts_of(view: BenchmarkView, task: MeasuredTask, *, read_all: bool = False) -> TaskTexts:
    """Read the texts of a task: of the sample always, of other data with ``read_all`` if they may be shown."""
    source = view.data_source.name
    if not may_show(source, view.facts.license) or not (read_all or source == "sample"):
        return TaskTexts()
    try:
        loaded = retrieval_task(task.name)
        loaded.load_data()
        return TaskTexts(loaded.tables.queries, loaded.tables.corpus)
    except PatentMTEBError:
        return TaskTexts()


_ABOUT = "The headline of a benchmark is the score of the task that represents its retrieval."


def front(
    source: DataSourceView, jobs: Table, overall: Table, statistics: Statistics, numbers: Mapping[str, int]
) -> dict[str, Any]:
    runs = [str(row[0].value) for row in overall.rows]
    heads = [(view, view.headline or view.tasks[0]) for view in source.benchmarks]
    sizes = ((view, [len(view.main_scores.get(run, ())) for run in runs]) for view in source.benchmarks)
    return {
        "notes": [_ABOUT],
        "runs": [numbers[run] for run in runs],
        "headlines": [_headline(view, task, statistics, runs) for view, task in heads],
        "tasks": [row[-1].value for row in overall.rows],
        "coverage": [{"title": v.name, "of": len(v.benchmark.task_classes), "counts": counts} for v, counts in sizes],
        "means": means_of(overall),
        "jobs": _jobs(jobs),
    }


def _jobs(table: Table) -> dict[str, Any]:
    """Return the table of jobs with the keys of its columns, and the intervals of its numbers in full."""
    keys = [column.key for column in table.columns]
    ends = [{key: cell.interval for key, cell in zip(keys, row, strict=True) if cell.interval} for row in table.rows]
    return _table(table) | {"keys": keys, "ends": ends, "gap": table.columns[keys.index("gap")].title}


def _pairs(found: Sequence[Job], names: Mapping[str, str], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return a sentence on each two runs in each job, and the two runs that the page begins with."""
    shown = {numbers[run]: name for run, name in names.items()}
    rows = []
    for job in found:
        said = [[numbers[pair.first], numbers[pair.second], pair.sentence(names)] for pair in job.pairs]
        first = job.gap or next(iter(job.pairs), None)
        start = [numbers[first.first], numbers[first.second]] if first else []
        rows.append({"title": job.title, "start": start, "names": shown, "said": said})
    return rows


def _redefined(view: BenchmarkView) -> dict[str, tuple[str, str]]:
    """Return how own data differ from the rules that they follow, where this gives a term another meaning."""
    owners = [task.own for task in view.benchmark.task_classes if task.own]
    return {phrase: REDEFINED[phrase] for own in owners for phrase in own.deviations if phrase in REDEFINED}


def means_of(table: Table, leaving: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the numbers of a table of means, a list for each column."""
    found = []
    for place, column in enumerate(table.columns):
        if not column.numeric or column.key in leaving:
            continue
        cells = [row[place] for row in table.rows]
        shape = {"key": column.key, "title": column.title, "marked": column.marked, "digits": _digits(cells)}
        shape |= {"values": [cell.value for cell in cells], "behind": [cell.behind for cell in cells]}
        shape |= {"missing": [cell.title if cell.value is None else "" for cell in cells]}
        ends = [_ends(cell.score) for cell in cells]
        least = _distinct_digits(cells) if column.key in ("overall", "score") else 1
        sure = [max(supported_digits(interval), least) for interval in ends]
        found.append(shape | {"without": [cell.small for cell in cells], "intervals": ends, "sure": sure})
    return found


def _distinct_digits(cells: Sequence[Cell]) -> int:
    """Return the decimals with which the scores of different ranks look different, at most four."""
    values = [cell.value for cell in cells if isinstance(cell.value, float)]
    distinct = [len({round(value, digits) for value in values}) for digits in range(1, 5)]
    return 1 + distinct.index(distinct[-1])


def _digits(cells: Iterable[Cell]) -> int:
    return max((cell.digits for cell in cells), default=4)


def _headline(view: BenchmarkView, task: MeasuredTask, statistics: Statistics, runs: Sequence[str]) -> dict[str, Any]:
    cells = [view.cells.get((task.name, run, ""), Cell()) for run in runs]
    scores = [statistics.of(view.data_source.name, task.name, run) for run in runs]
    return {
        "title": view.name,
        "task": task.name,
        "short": task.short,
        "measure": measure_title(task.measure),
        "values": [cell.value for cell in cells],
        "small": [cell.small for cell in cells],
        "tied": [score and score.tied_with_best for score in scores],
        "intervals": [_ends(score) for score in scores],
        "digits": [supported_digits(_ends(score)) for score in scores],
    }


def _ends(score: Score | None) -> tuple[float, float] | None:
    if score is None or not (math.isfinite(score.low) and math.isfinite(score.high)):
        return None
    return round(score.low, 5), round(score.high, 5)


_NOT_MEANS = {"headline", "headline_in", "headline_out", "headline_gap_percent"}
_DIGITS = 6  # of numbers in the page's data
Matrix = list[list[Any]]
Cells = dict[tuple[str, str], Any]


def _number_of(text: str, texts: dict[str, int]) -> int:
    """Return the number of a text; store it if it is new."""
    return texts.setdefault(text, len(texts))


def benchmark_tab(
    view: BenchmarkView,
    summary: Table,
    statistics: Statistics,
    texts: dict[str, int],
    numbers: Mapping[str, int],
    seen: Mapping[str, frozenset[str]],
    geometries: pl.DataFrame | None = None,
) -> dict[str, Any]:
    runs = [str(row[0].value) for row in summary.rows]
    tasks = [task.name for task in view.tasks]

    def matrix(cells: Mapping[tuple[str, str], Any]) -> Matrix:
        """Values by run and task as a list of runs, None for missing values."""
        return [[cells.get((run, task)) for task in tasks] for run in runs]

    values, counts, small = _by_slice(view)
    slices = sorted(values, key=lambda name: (name not in ("", "in", "out"), name))
    shown = {name: matrix(values[name]) for name in slices}
    if {"in", "out"} <= values.keys():
        pairs = ((key, gap_percent(inside, values["out"].get(key))) for key, inside in values["in"].items())
        shown["gap"] = matrix({key: _number(gap) for key, gap in pairs})
    trained = {run: frozenset(task.name for task in view.tasks if task.plain in names) for run, names in seen.items()}
    return {
        "runs": [numbers[run] for run in runs],
        "about": visible(view.facts.description),
        "licence": view.facts.license or "not stated",
        "reference": view.facts.reference,
        "tasks": _tasks(view, texts),
        "means": means_of(summary, _NOT_MEANS),
        "values": shown,
        "counts": {name: _counts(matrix(counts[name])) for name in slices},
        "small": {name: matrix(small[name]) for name in slices if name in small},
        "intervals": {name: matrix(cells) for name, cells in _intervals(view, statistics).items()},
        "found": matrix(_found(view, texts)),
        "trained": [[tasks.index(task) for task in tasks if task in trained.get(run, ())] for run in runs],
        "charts": on_page(view, numbers, geometries, statistics),
    }


def _number(value: float | None) -> float | None:
    """A number with as many decimals as results have; NaN and infinity, which JSON lacks, are missing."""
    return round(value, _DIGITS) if value is not None and math.isfinite(value) else None


def _by_slice(view: BenchmarkView) -> tuple[dict[str, Cells], dict[str, Cells], dict[str, Cells]]:
    """Main scores, numbers of queries and marks of too little data, by slice, run and task."""
    values, counts, small = (defaultdict[str, Cells](dict) for _ in range(3))
    for row in view.scores.filter(pl.col("main")).iter_rows(named=True):
        key = (row["run"], row["task"])
        values[row["slice"]][key] = _number(row["value"])
        counts[row["slice"]][key] = row["n_queries"]
    for (task, run, part), cell in view.cells.items():
        if cell.small:
            small[part][run, task] = cell.small
    return values, counts, small


def _counts(rows: Matrix) -> Matrix | list[Any]:
    """Numbers by task if all runs have the same, else by run and task."""
    columns = [{value for value in column if value is not None} for column in zip(*rows, strict=True)]
    return rows if any(len(column) > 1 for column in columns) else [next(iter(column), None) for column in columns]


def _intervals(view: BenchmarkView, statistics: Statistics) -> dict[str, Cells]:
    """Statistics of each score, by slice: both ends of its interval, tied with the best (None: not compared) with
    the joint p value, better than the baseline with the joint p value. Unknown values at the end are dropped.
    """
    found: dict[str, Cells] = {"": {}}
    tasks = {task.name for task in view.tasks}
    for (data_source, task, part, run), score in statistics.scores.items():
        if data_source != view.data_source.name:
            continue
        cells = found.setdefault(part, {})
        if task not in tasks:
            continue
        joint = (score.p_best_joint, score.p_baseline_joint)
        p_best, p_baseline = (None if p is None else float(f"{p:.5g}") for p in joint)
        said = [_number(score.low), _number(score.high), score.tied_with_best, p_best, score.better, p_baseline]
        while said and (said[-1] is None or said[-1] is False):
            said.pop()
        cells[run, task] = said
    return found


def _tasks(view: BenchmarkView, texts: dict[str, int]) -> list[dict[str, Any]]:
    described = {task.metadata.name: task.metadata.description for task in view.benchmark.task_classes}
    first = view.results.unique("task", keep="first", maintain_order=True)
    found = []
    for task, row in zip(view.tasks, first.iter_rows(named=True), strict=True):
        names = {"name": task.name, "short": task.short, "group": task.group, "measure": measure_title(task.measure)}
        data = _number_of(f"{row['data']} at {state_of_data(row['data_revision'], row['data_version'])}", texts)
        about = _number_of(described.get(task.plain, ""), texts)
        found.append(names | {"kind": row["kind"], "data": data, "about": about})
    return found


def _found(view: BenchmarkView, texts: dict[str, int]) -> Cells:
    """The origin of each score: numbers of the texts on model, revision, prompt, versions and date."""
    found: Cells = {}
    for row in view.results.iter_rows(named=True):
        model = row["model"] + ("" if row["settings"] == "{}" else f" {row['settings']}")
        made = row["versions"] or "not recorded", (row["date"] or "")[:10] or "not recorded"
        said = (model, row["revision"], row["prompt"], *made)
        found[row["run"], row["task"]] = [_number_of(text, texts) for text in said]
    return found


_FURTHER = ("query-types", "statistics", "detectable", "delta-dwpi", "geometry")
"""Tables of a benchmark that the page shows unchanged."""


def payload(
    collected: Collected,
    statistics: Statistics,
    tables: Sequence[Table],
    published: Sequence[Table] = (),
    messages: Sequence[str] = (),
    *,
    texts: bool = False,
    geometries: pl.DataFrame | None = None,
    found: Mapping[str, Sequence[Job]] | None = None,
) -> dict[str, Any]:
    """Return the content of the page as JSON-like values; ``found`` are the jobs of each data source if known."""
    by_name = {table.name: table for table in tables}
    numbers = {run: number for number, run in enumerate(collected.runs)}
    facts, seen = facts_of_runs(collected)
    found = found or {name: jobs_of(source, statistics) for name, source in collected.data_sources.items()}
    said: dict[str, int] = {}
    views = [view for source in collected.data_sources.values() for view in source.benchmarks]
    explorer = Explorer(numbers, partial(texts_of, read_all=texts), views)
    tabs: list[dict[str, Any]] = []
    for name, source in collected.data_sources.items():
        jobs, overall = (by_name[slug(name, kind)] for kind in ("jobs", "overall"))
        paired = [_table(by_name["reproduction"])] if name == "real" and "reproduction" in by_name else []
        tab, made = _tab(overall, source.data_source, "front"), front(source, jobs, overall, statistics, numbers)
        made["pairs"] = _pairs(found[name], names_in_text(source.results), numbers)
        redefined = {phrase: pair for view in source.benchmarks for phrase, pair in _redefined(view).items()}
        made["terms"] = dict(redefined.values())
        texts_of_own = (f"{phrase[:1].upper()}{phrase[1:]}." for phrase in redefined)
        made["banner"] = " ".join([*filter(None, [source.data_source.banner]), *texts_of_own])
        tabs.append(tab | made | {"notes": [*made["notes"], *tab["notes"]], "reproduction": paired})
        for view in source.benchmarks:
            summary = by_name[slug(name, view.name)]
            kinds = tuple(slug(name, view.name, kind) for kind in _FURTHER)
            further = [table for table in tables if table.name.startswith(kinds)]
            joined = [table for table in published if table.benchmark == view.name and name == "real"]
            tab = _tab(summary, source.data_source, "benchmark")
            tab |= benchmark_tab(view, summary, statistics, said, numbers, seen, geometries)
            tab |= {"explorers": explorer.of(view), "published": list(map(_table, joined))}
            tab["terms"] = dict(_redefined(view).values())
            filled = (_table(table.filled()) for table in (*measures(view), *further))
            tabs.append(tab | {"further": list(filled)})
    dates = sorted(date for date in collected.results["date"] if date)
    many = len(collected.runs) > 1
    counts = f"{len(collected.results)} results of {len(collected.runs)} model{'s' * many}{' and settings' * many}"
    until = f", the newest of {dates[-1][:10]}" if dates else ""
    models = {run: visible(model) for run, model in collected.results.select("run", "model").unique().iter_rows()}
    short = names_in_text(collected.results, settings=True)
    excluded = [
        f"{explorer.excluded} tasks are not shown query by query: the page holds the headlines and as many others as"
        " fit."
    ] * bool(explorer.excluded)
    return {
        "title": title_of([*models.values()], own_names(collected)),
        "about": f"{counts}{until}. Made by patent-mteb {version()}.",
        "small": explained(),
        "messages": list(map(visible, (*messages, *explorer.messages, *excluded))),
        "facts": [asdict(fact) for fact in FACTS],
        "runs": [_run(run, models[run], short[run], facts[run]) for run in collected.runs],
        "terms": TERMS,
        "baseline": statistics.baseline,
        "tabs": tabs,
        "texts": list(map(visible, said)),
    }


def own_names(collected: Collected) -> list[str]:
    """Return the names of own data sets if all results are on these."""
    views = [view for source in collected.data_sources.values() for view in source.benchmarks]
    published = {benchmark.name for benchmark in catalogue.benchmarks()}
    return [] if any(view.name in published for view in views) else [*dict.fromkeys(view.name for view in views)]


def title_of(models: Sequence[str], own: Sequence[str] = ()) -> str:
    """Return the title of the page: a leaderboard has three models or more, and own data have their names."""
    if own:
        return f"{visible(', '.join(own))}: {_models_in_words(models)}"
    if len(models) > 2:
        return "Patent embedding leaderboard"
    words = _models_in_words(models)
    return words[:1].upper() + words[1:]


def _models_in_words(models: Sequence[str]) -> str:
    if len(models) > 2:
        return f"{len(models)} models compared"
    names = [visible("BM25" if is_bm25(model) else without_organisation(model)) for model in models]
    find, sort = ("finds", "sorts") if len(names) == 1 else ("find", "sort")
    return f"how well {' and '.join(names)} {find} and {sort} patents"


def _run(run: str, model: str, short: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A run: its label in two parts (the model; settings and revision) and its facts."""
    name = model if run.startswith(model) else run
    values = [facts.get(fact.key) for fact in FACTS]
    return {"label": run, "name": name, "settings": run.removeprefix(name), "short": short, "facts": values}


def _tab(table: Table, data_source: DataSource, kind: str) -> dict[str, Any]:
    shown = {"kind": kind, "id": table.name, "label": table.title, "data_source": data_source.name}
    return shown | {"name": table.benchmark, "banner": data_source.banner, "notes": _notes(table.notes)}


def _notes(notes: Sequence[str]) -> list[str]:
    """Notes without those on the marks of scores, which the footer of the page explains."""
    return [note for note in notes if not note.startswith((MARK, TIED, UNTESTED))]


def _cell(cell: Cell) -> Any:
    """A number or text alone, or a list: value, rank, marks, whether it is ranked, and its text if it has one."""
    value = visible(cell.value) if isinstance(cell.value, str) else cell.value
    if isinstance(value, float) and not math.isfinite(value):
        value = None
    title = "" if value is None else visible(cell.title)
    more = cell.rank or cell.behind or not cell.ranked or title
    return [value, cell.rank, cell.behind, cell.ranked, title] if more else value


def _table(table: Table) -> dict[str, Any]:
    """A table as JSON-like values, in which measures have their titles."""
    columns = []
    for place, column in enumerate(table.columns):
        digits = _digits(row[place] for row in table.rows)
        columns.append({"title": column.title, "numeric": column.numeric, "marked": column.marked, "digits": digits})

    def worded(cell: Cell, column: Column) -> Cell:
        is_measure = column.key == "measure" and isinstance(cell.value, str)
        return replace(cell, value=measure_title(str(cell.value))) if is_measure else cell

    return {
        "name": table.name,
        "title": table.title,
        "notes": _notes(table.notes),
        "columns": columns,
        "rows": [[_cell(worded(*pair)) for pair in zip(row, table.columns, strict=True)] for row in table.rows],
        "emphasised": sorted(table.emphasised),
        **({"blocks": list(table.blocks)} if any(table.blocks) else {}),
    }


_STYLES = ("page.css", "table.css")
_SCRIPTS = ("state", "base", "models", "tables", "charts", "front", "benchmark", "explorer", "tabs", "print")
"""In the order of their execution: each uses those before it."""


def page(shown: Mapping[str, Any]) -> str:
    """Return the page with the content of :func:`payload` as HTML text."""
    bundle = files("itables").joinpath("html")  # DataTables with its extensions as an ES module, and its style sheet
    parts = {
        "TITLE": html.escape(shown["title"]),
        "STYLE": "".join(map(_own, _STYLES)),
        "SCRIPT": "".join(_own(f"{name}.js") for name in _SCRIPTS),
        "LIBRARY": _packed(bundle.joinpath("dt_bundle.js").read_text("utf-8")),
        "LIBRARY_STYLE": _packed(bundle.joinpath("dt_bundle.css").read_text("utf-8")),
        "PAYLOAD": _packed(json.dumps(shown, ensure_ascii=False, allow_nan=False)),
    }
    text = _own("page.html")
    for name, part in parts.items():
        text = text.replace(f"@@{name}@@", part)
    return text


def _own(name: str) -> str:
    return files(__package__).joinpath("site", name).read_text("utf-8")


def _packed(text: str) -> str:
    """Compress a text to base64 of its gzip, the same for the same text."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")
