"""Measured rows among the rows that the papers print.

A measured row joins a printed table only if it was measured on the same data: on the pinned revision, or, for an
unreleased benchmark, on a local directory with the paper's counts of the task (its queries, or its test rows and
classes: :mod:`patent_mteb.published`). Where a result has two protocols, the scores of the paper's own one join
(``paper_...``). Excluded results are named with the reason.

Ranks count the rows of the table, printed and measured, and compare as many digits as are printed. The paper's own row
of the same model does not count; :mod:`patent_mteb.report.reproduce` compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import polars as pl

from patent_mteb import published
from patent_mteb.data.releases import said_of
from patent_mteb.published import not_joined, score_name, sizes
from patent_mteb.report.cells import Cell, Column, Table, slug, text_columns
from patent_mteb.report.collect import Collected
from patent_mteb.report.view import BenchmarkView
from patent_mteb.tasks.retrieval import PAPER_PREFIX


def on_the_papers_data(view: BenchmarkView) -> tuple[BenchmarkView, tuple[str, ...]]:
    """Return a view without the results on other data than the paper's, and one message for each reason."""
    reasons: dict[str, list[str]] = {}
    excluded: list[tuple[str, str]] = []
    counts: dict[tuple[str, str], dict[str, float]] = {}  # those of a slice after its name
    whole = view.scores.filter((pl.col("slice") == "") & pl.col("measure").str.starts_with("n_"))
    parts = view.scores.filter(pl.col("slice") != "").with_columns(measure=pl.col("slice") + "_n_queries")
    for frame, value in ((whole, "value"), (parts, "n_queries")):
        for run, plain, measure, count in frame.select("run", "plain", "measure", value).unique().iter_rows():
            counts.setdefault((run, plain), {})[measure] = count
    for row in view.results.filter(pl.col("data_revision").str.starts_with("local-")).iter_rows(named=True):
        reason = next(_reasons(view, row, counts.get((row["run"], row["plain"]), {})), "")
        if reason:
            excluded.append((row["run"], row["plain"]))
            reasons.setdefault(reason, []).append(f"{row['plain']} of {row['run']}")
    key = ["run", "plain"]
    rows = pl.DataFrame(excluded, schema=dict.fromkeys(key, pl.String), orient="row")
    results, scores = (frame.join(rows, key, "anti", maintain_order="left") for frame in (view.results, view.scores))
    messages = []
    for reason, (first, *others) in reasons.items():
        names = first + (f" and {len(others)} more" if others else "")
        messages.append(f"{view.name}: {reason}, so {names} is not compared with the published scores.")
    return replace(view, results=results, scores=scores) if excluded else view, tuple(messages)


def _reasons(view: BenchmarkView, row: Mapping[str, object], counts: Mapping[str, float]) -> Iterator[str]:
    """Yield the reasons why a result on local data is not on the paper's."""
    if all(data.released for data in view.benchmark.data_sets):
        yield "the data is a local state of a released data set"
        return
    if row["kind"] == "Retrieval":
        expected, found = view.facts.paper_queries, row["n_queries"]
        if not expected:
            yield "the local data cannot be distinguished from other data"
        elif found != expected:
            keys = (data.key for data in view.benchmark.data_sets)
            known = next(filter(None, (said_of(key, "queries of an export", found) for key in keys)), "")
            yield f"the local data has {found or 0:,} queries, the paper's {expected:,}" + (known and f" ({known})")
    stated = sizes().get(str(row["plain"]).partition(".")[0], ())
    if not stated and row["kind"] != "Retrieval":
        yield "the paper states no size that identifies the local data"
    for size in stated:
        value = counts.get(size.count)
        if value is None or not size.least <= value <= size.most:
            found = "not recorded" if value is None else f"{value:,.0f}"
            printed = f"{size.least:,}" + (f" to {size.most:,}" if size.most != size.least else "")
            yield f"{size.count} is {found}, by the paper {printed} ({size.source})"


def measured_scores(view: BenchmarkView) -> dict[tuple[str, str, str], tuple[float, str]]:
    """Return each score of a view and why it is small, if it is, by run, plain task and name (with its slice)."""
    columns = view.scores.select("run", "plain", "slice", "measure", "value", "small")
    return {
        (run, task, f"{part}_{measure}" if part else measure): (value, small)
        for run, task, part, measure, value, small in columns.iter_rows()
    }


def settings_of_its_own(model: str, tasks: set[str], settings: Mapping[str, object]) -> list[str]:
    """Return the settings of a run, except its prompts, with which no paper states a number of the model on tasks."""
    rows = (row for row in published.expected() if row.model == model and tasks.intersection(row.tasks))
    known = [{**row.here, **row.settings} for row in rows] or [{}]
    given = {name: str(value) for name, value in settings.items() if name != "prompts"}
    return min((sorted(name for name in given if given[name] != one.get(name)) for one in known), key=len)


_MEAN_SLACK = 6e-4  # a mean of values rounded to three digits is off by 5e-4 at most
_MEAN = " mean"


@dataclass(frozen=True)
class _Field:
    """A column of numbers: its name and header in the printed table, and the score of a result that it shows."""

    column: str
    title: str
    task: str  # empty where the rows give it
    score: str
    scale: float  # from a result's unit to the printed one
    digits: int


@dataclass(frozen=True)
class _Row:
    """One row, printed or measured, with its values by column and the reasons why a measured one is small."""

    name: str
    model: str
    task: str  # empty where the columns give it
    values: dict[str, float]
    measured: bool = False
    small: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Printed:
    """Printed rows with fields that our tasks measure; ``mean`` heads the printed mean of all fields, if any."""

    paper: str
    tables: tuple[int, ...]
    caption: str
    fields: tuple[_Field, ...]
    rows: tuple[_Row, ...]
    mean: str = ""

    @cached_property
    def row_tasks(self) -> tuple[str, ...]:
        """The tasks that the rows give, in alphabetical order; one empty name where the columns give them."""
        return tuple(sorted({row.task for row in self.rows}))

    @property
    def by_row(self) -> bool:
        return any(self.row_tasks)

    def contains(self, other: _Printed) -> bool:
        """Whether it shows everything that another one shows."""
        ours, theirs = ({(field.task, field.score) for field in one.fields} for one in (self, other))
        models = {row.model for row in self.rows}
        return not other.by_row and theirs <= ours and {row.model for row in other.rows} <= models


def tables_with_measured_rows(collected: Collected) -> tuple[list[Table], tuple[str, ...]]:
    """Return the printed tables that measured rows can join, with these rows, and messages on excluded results."""
    source = collected.data_sources.get("real")
    if source is None:
        return [], ("No result on published data: nothing to compare with the papers' scores.",)
    messages: list[str] = []
    tables: list[Table] = []
    papers = {paper.paper: paper for paper in published.papers()}
    for view in source.benchmarks:
        if view.facts.paper not in papers:
            continue
        view, excluded = on_the_papers_data(view)
        messages += [*excluded, *_before_the_protocol(view)]
        joined = []
        for paper in papers.values():
            for printed in _printed(paper.paper):
                rows = _joined(printed, view)
                if any(row.measured for row in rows):
                    joined.append(_table(printed, rows, paper, view))
        others = not_joined(view.facts.paper).items()
        if joined and others:
            reasons = "; ".join(f"{', '.join(map(str, numbers))} ({why})" for why, numbers in others)
            note = f"Printed tables that are not compared with results: {reasons}."
            joined[-1] = replace(joined[-1], notes=(*joined[-1].notes, note))
        tables += joined
    if not tables and not messages:
        messages.append(
            "No published table has a measured task: nothing to compare with the papers' scores (reasons:"
            " docs/published.md)."
        )
    return [table.marked() for table in tables], tuple(messages)


def _before_the_protocol(view: BenchmarkView) -> list[str]:
    """Return a message on results that lack the scores of the paper's own protocol."""
    two = (pl.col("kind") == "Retrieval") | pl.col("plain").is_in(list(_with_two_protocols()))
    of_the_paper = (pl.col("slice") == PAPER_PREFIX) | pl.col("measure").str.starts_with(f"{PAPER_PREFIX}_")
    having = set(view.scores.filter(of_the_paper).select("run", "plain").rows())
    without = set(view.results.filter(two).select("run", "plain").rows()) - having
    if not without:
        return []
    run, task = min(without)
    which = f"{len(without)} results hold" if len(without) > 1 else "1 result holds"
    return [f"{view.name}: {which} no score of the paper's protocol, first {task} of {run}; run again."]


@lru_cache
def _with_two_protocols() -> frozenset[str]:
    """Return the tasks in the columns of printed tables whose scores a result holds under two protocols."""
    columns = (column for table in published.tables() for column in table.columns)
    return frozenset(column.task for column in columns if score_name(column.metric).startswith(PAPER_PREFIX))


def _fields(descriptor: published.Table, long: pl.DataFrame) -> Iterator[_Field]:
    for column in descriptor.columns:
        rows = long.filter((pl.col("column") == column.column) & pl.col("value").is_not_null())
        if column.kind != "score" or rows.filter(pl.col("task") != "").is_empty():
            continue
        yield _Field(
            column=column.column,
            title=column.printed,
            task=column.task,
            score=score_name(column.metric, rows["slice"][0]),
            scale=100.0 if column.unit == "percent" else 1.0,
            digits=max(len(repr(value).partition(".")[2]) for value in rows["value"]),
        )


def _printed(paper: str) -> list[_Printed]:
    """Return the comparable tables of a paper; tables of one form are joined, those that another contains skipped."""
    entries: list[_Printed] = []
    for descriptor in published.tables(paper):
        entry = _entry(paper, descriptor)
        if entry is None:
            continue
        alike = (other for other in entries if entry.by_row and other.by_row and other.fields == entry.fields)
        if (same := next(alike, None)) is None:
            entries.append(entry)
            continue
        caption = f"{same.caption}; {entry.caption[0].lower()}{entry.caption[1:]}"
        tables, rows = same.tables + entry.tables, same.rows + entry.rows
        entries[entries.index(same)] = replace(same, tables=tables, caption=caption, rows=rows, mean="")
    return [entry for entry in entries if not any(other.contains(entry) for other in entries if other is not entry)]


def _entry(paper: str, descriptor: published.Table) -> _Printed | None:
    """Return a printed table, None if our tasks measure nothing of it."""
    fields = tuple(_fields(descriptor, published.table(paper, descriptor.table)))
    if not fields:
        return None
    wide = published.printed(paper, descriptor.table)
    if "group" in wide.columns:
        wide = wide.filter(pl.col("group") != "mean")
    by_row = "task" in wide.columns
    mean = None if by_row else _mean(descriptor, wide, fields)
    columns = {field.column: field.column for field in fields} | ({mean.column: _MEAN} if mean else {})
    rows = tuple(
        _Row(
            name=row["model"],
            model=row["model_id"] or row["model"],
            task=row["task"] if by_row else "",
            values={name: row[column] for column, name in columns.items() if row[column] is not None},
        )
        for row in wide.iter_rows(named=True)
        if not by_row or row["task"]
    )
    return _Printed(paper, (descriptor.table,), descriptor.caption, fields, rows, mean.printed if mean else "")


def _mean(descriptor: published.Table, wide: pl.DataFrame, fields: Sequence[_Field]) -> published.Column | None:
    """Return the printed column that is the mean of all fields, if there is one."""
    names = [field.column for field in fields]
    for column in descriptor.columns if len(names) > 1 else ():
        if column.kind == "mean" and not column.slice and score_name(column.metric) == fields[0].score:
            complete = wide.drop_nulls([*names, column.column])
            off = complete.select((pl.mean_horizontal(names) - pl.col(column.column)).abs()).to_series()
            if len(complete) and not (off > _MEAN_SLACK).any():
                return column
    return None


def _joined(printed: _Printed, view: BenchmarkView) -> list[_Row]:
    """Return the printed rows and the measured ones, of the tasks that were measured."""
    known = measured_scores(view)
    measured: list[_Row] = []
    for run in view.scores["run"].unique().sort():
        for task in printed.row_tasks:
            values: dict[str, float] = {}
            small: dict[str, str] = {}
            for one in printed.fields:
                found = known.get((run, one.task or task, one.score))
                if found is not None:
                    values[one.column] = found[0] * one.scale
                    small |= {one.column: found[1]} if found[1] else {}
            if printed.mean and len(values) == len(printed.fields) and not small:
                values[_MEAN] = sum(values.values()) / len(values)
            if values:
                measured.append(_Row(run, run, task, values, measured=True, small=small))
    shown = {row.task for row in measured}
    return [row for row in (*printed.rows, *measured) if row.task in shown]


def _table(printed: _Printed, rows: list[_Row], paper: published.Paper, view: BenchmarkView) -> Table:
    digits = {field.column: field.digits for field in printed.fields}
    titles = {field.column: field.title.replace("_", " ") for field in printed.fields}
    runs = {row["run"]: row for row in view.results.iter_rows(named=True)}
    tasks = {*printed.row_tasks, *(field.task for field in printed.fields)}
    if printed.mean:
        titles[_MEAN], digits[_MEAN] = printed.mean.replace("_", " "), max(digits.values())
    counts = {column: sum(row.measured and column in row.values for row in rows) for column in titles}
    leading = _MEAN if counts.get(_MEAN) else max(titles, key=counts.__getitem__)
    order = {task.metadata.name: position for position, task in enumerate(view.benchmark.task_classes)}

    def position(row: _Row) -> tuple[int, float, bool, str]:
        return order.get(row.task, -1), -row.values.get(leading, float("-inf")), not row.measured, row.name

    def source(row: _Row) -> str:
        """A model with other settings than the paper's is not the one of the paper."""
        if not row.measured:
            return "paper"
        own = settings_of_its_own(runs[row.model]["model"], tasks, json.loads(runs[row.model]["settings"]))
        return "measured here" + (f", with {', '.join(own)} of its own" if own else "")

    def number(row: _Row, column: str) -> Cell:
        value, shown = row.values.get(column), digits[column]
        if value is None or not row.measured:
            return Cell(value, shown)
        if column in row.small:
            return Cell(value, shown, small=row.small[column], ranked=False)
        others = (
            other.values[column]
            for other in rows
            if other.task == row.task
            and (other.measured or other.model != runs[row.model]["model"])
            and column in other.values
            and column not in other.small
        )
        return Cell(value, shown, rank=1 + sum(round(other, shown) > round(value, shown) for other in others))

    rows = sorted(rows, key=position)
    cells = []
    for row in rows:
        names = (row.name, row.task, source(row)) if printed.by_row else (row.name, source(row))
        cells.append((*map(Cell, names), *(number(row, column) for column in titles)))
    names_of = {"model": "Model"} | ({"task": "Task"} if printed.by_row else {}) | {"source": "Source"}
    columns = (
        *text_columns(**names_of),
        *(Column(column.strip(), title, further=("rank", "too_small")) for column, title in titles.items()),
    )
    which = f"Table{'s' * (len(printed.tables) > 1)} {' and '.join(map(str, printed.tables))}"
    among = "of other models of its task" if printed.by_row else "of other models"
    note = (
        f"{printed.caption}. Rows are of {which} of {paper.title} ({paper.url}), except those that were measured here."
        f" In parentheses the rank of a measured score among the rows {among}; ordered by {titles[leading]}."
    )
    return Table(
        slug("published", printed.paper, *map(str, printed.tables)),
        f"{view.name}, {which} with measured rows",
        columns,
        tuple(cells),
        notes=(note,),
        blocks=tuple(row.task for row in rows),
        emphasised=frozenset(index for index, row in enumerate(rows) if row.measured),
        benchmark=view.name,
    )
