"""Measured rows among the rows that the papers print.

A measured row joins a printed table where it was measured on the same data: on the pinned revision, or, for a family that
nobody has released, on a local directory with exactly the paper's number of queries. Sample results and local copies never join.
Ranks count the rows of the table, printed and measured, and compare as many digits as are printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from patent_mteb import published
from patent_mteb.report.cells import Cell, Column, Table
from patent_mteb.report.collect import Collected, suite_tasks

__all__ = ["METRICS", "beside"]

PAPER_QUERIES = {"WIPO-AT": 46_069, "Sophia": 10_000}
"""Queries of the two unreleased benchmarks (WIPO-AT §1, Sophia-Bench §3.2), by which a local directory is told from them."""

METRICS = {
    "pearson": "cosine_pearson",
    "best_knn_macro_f1": "knn_macro_f1",
    "adjusted_rand_index": "ari",
    "linear_probe_precision_at_1": "mlp_precision_at_1",
    "linear_probe_precision_at_3": "mlp_precision_at_3",
    "linear_probe_precision_at_5": "mlp_precision_at_5",
}
"""Printed metric -> name in a result, where they differ. ``map`` has no counterpart: the paper does not settle its cutoff."""

_UNMATCHED = ("map",)
_MEAN_SLACK = 6e-4
MEASURED = "▸ "
MEAN = " mean"


@dataclass(frozen=True)
class _Field:
    """A column of numbers: what it measures on which task; ``task`` is empty where the rows give it."""

    column: str
    title: str
    task: str
    slice: str
    metric: str
    scale: float
    digits: int


@dataclass(frozen=True)
class _Printed:
    """Printed rows with fields that our tasks measure: ``rows`` are (name, model id, task or empty, values by column)."""

    paper: str
    tables: tuple[int, ...]
    caption: str
    fields: tuple[_Field, ...]
    rows: tuple[tuple[str, str, str, dict[str, float]], ...]
    mean: str = ""

    @property
    def by_row(self) -> bool:
        return any(task for _, _, task, _ in self.rows)


def beside(collected: Collected) -> tuple[list[Table], tuple[str, ...]]:
    """The printed tables that measured rows can join, with these rows; and messages on results that cannot join."""
    if "real" not in collected.worlds:
        return [], ("No result on published data, so nothing to set beside the papers' scores.",)
    part = collected.in_world("real")
    messages: list[str] = []
    tables: list[Table] = []
    families = {paper.paper: paper for paper in published.papers()}
    for paper in families.values():
        results = part.results.filter(pl.col("family") == paper.family)
        if results.is_empty():
            continue
        if reason := _not_the_papers(results, paper.family):
            messages.append(f"{paper.family}: {reason}, so its results are not set beside the published scores.")
            continue
        scores = part.scores.filter(pl.col("family") == paper.family)
        found = [_joined(entry, scores, paper) for entry in _printed(paper.paper)]
        tables += [table for table in found if table is not None]
    if not tables and not messages:
        messages.append("No published table has a measured task: nothing to set beside the papers' scores.")
    return [table.marked() for table in tables], tuple(messages)


def _not_the_papers(results: pl.DataFrame, family: str) -> str:
    if not results["data_revision"].str.starts_with("local-").all():
        return ""
    expected = PAPER_QUERIES.get(family)
    counts = results.filter(pl.col("kind") == "Retrieval")["n_queries"].drop_nulls().unique().to_list()
    if expected in counts:
        return ""
    held = f"{max(counts):,} queries" if counts else "no retrieval result to tell it by"
    return f"the local data has {held}, the paper's {expected:,}" if expected else "the local data cannot be told from other data"


def _fields(descriptor: published.Table, long: pl.DataFrame) -> Iterator[_Field]:
    for column in descriptor.columns:
        rows = long.filter((pl.col("column") == column.column) & pl.col("value").is_not_null())
        if column.kind != "score" or column.metric in _UNMATCHED or rows.filter(pl.col("task") != "").is_empty():
            continue
        digits = max(len(repr(value).partition(".")[2]) for value in rows["value"])
        metric = METRICS.get(column.metric, column.metric)
        name = rows["slice"][0]
        scale = 100.0 if column.unit == "percent" else 1.0
        yield _Field(column.column, column.printed, column.task, name, metric, scale, digits)


def _printed(paper: str) -> list[_Printed]:
    """The comparable tables of a paper: tables of one form are joined, tables that another one contains are left out."""
    found: list[_Printed] = []
    for descriptor in published.tables(paper):
        long = published.table(paper, descriptor.table)
        fields = tuple(_fields(descriptor, long))
        if not fields:
            continue
        wide = published.printed(paper, descriptor.table)
        if "group" in wide.columns:
            wide = wide.filter(pl.col("group") != "mean")
        by_row = "task" in wide.columns
        mean = None if by_row else _mean(descriptor, wide, fields)
        shown = {field.column: field.column for field in fields} | ({mean.column: MEAN} if mean else {})
        rows = tuple(
            (
                row["model"],
                row["model_id"] or row["model"],
                row["task"] if by_row else "",
                {name: row[column] for column, name in shown.items() if row[column] is not None},
            )
            for row in wide.iter_rows(named=True)
            if not by_row or row["task"]
        )
        entry = _Printed(paper, (descriptor.table,), descriptor.caption, fields, rows, mean.printed if mean else "")
        same = next((other for other in found if by_row and other.by_row and other.fields == fields), None)
        if same is None:
            found.append(entry)
        else:
            caption = f"{same.caption}; {entry.caption[0].lower()}{entry.caption[1:]}"
            found[found.index(same)] = _Printed(paper, (*same.tables, descriptor.table), caption, fields, same.rows + rows)
    return [entry for entry in found if not any(_contains(other, entry) for other in found if other is not entry)]


def _contains(large: _Printed, small: _Printed) -> bool:
    def what(entry: _Printed) -> set[tuple[str, str, str]]:
        return {(field.task, field.slice, field.metric) for field in entry.fields}

    return not small.by_row and what(small) <= what(large) and {row[1] for row in small.rows} <= {row[1] for row in large.rows}


def _mean(descriptor: published.Table, wide: pl.DataFrame, fields: Sequence[_Field]) -> published.Column | None:
    """The printed column that is the mean of all fields, if there is one."""
    names = [field.column for field in fields]
    for column in descriptor.columns:
        if len(names) > 1 and column.kind == "mean" and not column.slice and METRICS.get(column.metric, column.metric) == fields[0].metric:
            complete = wide.drop_nulls([*names, column.column])
            off = (complete.select(pl.mean_horizontal(names) - pl.col(column.column)).to_series().abs() > _MEAN_SLACK).any()
            if len(complete) and not off:
                return column
    return None


def _joined(entry: _Printed, scores: pl.DataFrame, paper: published.Paper) -> Table | None:
    tasks = {task for _, _, task, _ in entry.rows} - {""} or {field.task for field in entry.fields}
    mine = scores.filter(pl.col("plain").is_in(sorted(tasks)))
    known = {(plain, run, name, measure): value for plain, run, name, measure, value in _keys(mine)}
    rows = [(False, name, task, values) for name, _, task, values in entry.rows]
    for run in mine["run"].unique().sort():
        for task in sorted({task for _, _, task, _ in entry.rows}):
            wanted = {field.column: (field.task or task, run, field.slice, field.metric) for field in entry.fields}
            scale = {field.column: field.scale for field in entry.fields}
            values = {column: known[key] * scale[column] for column, key in wanted.items() if key in known}
            if entry.mean and len(values) == len(entry.fields):
                values[MEAN] = sum(values.values()) / len(values)
            if values:
                rows.append((True, f"{MEASURED}{run}", task, values))
    measured = {task for ours, _, task, _ in rows if ours}
    if not measured:
        return None
    rows = [row for row in rows if row[2] in measured]
    return _table(entry, rows, paper)


def _keys(scores: pl.DataFrame) -> Iterator[tuple[str, str, str, str, float]]:
    yield from scores.select("plain", "run", "slice", "measure", "value").iter_rows()


def _table(entry: _Printed, rows: list[tuple[bool, str, str, dict[str, float]]], paper: published.Paper) -> Table:
    digits = {field.column: field.digits for field in entry.fields}
    shown = [(field.column, field.title) for field in entry.fields]
    if entry.mean:
        shown.append((MEAN, entry.mean))
        digits[MEAN] = max(digits.values())

    def count(column: str) -> int:
        return sum(ours and column in values for ours, _, _, values in rows)

    leading = MEAN if count(MEAN) else max((column for column, _ in shown), key=count)
    order = {name: task.order for name, task in suite_tasks().items()}
    rows.sort(key=lambda row: (order.get(row[2], -1), -row[3].get(leading, float("-inf")), not row[0], row[1]))

    def rank(column: str, task: str, value: float) -> int:
        others = (values[column] for _, _, name, values in rows if name == task and column in values)
        return 1 + sum(round(other, digits[column]) > round(value, digits[column]) for other in others)

    cells = []
    for ours, name, task, values in rows:
        numbers = (
            Cell(values.get(column), digits[column], rank=rank(column, task, values[column]) if ours and column in values else None)
            for column, _ in shown
        )
        cells.append((Cell(name), *((Cell(task),) if entry.by_row else ()), Cell("measured here" if ours else "paper"), *numbers))
    columns = (
        Column("model", "Model", numeric=False),
        *((Column("task", "Task", numeric=False),) if entry.by_row else ()),
        Column("source", "Source", numeric=False),
        *(Column(column.strip(), title.replace("_", " ")) for column, title in shown),
    )
    number = " and ".join(map(str, entry.tables))
    ranked = dict(shown)[leading].replace("_", " ")
    notes = (
        f"{entry.caption}. Rows are of Table{'s' * (len(entry.tables) > 1)} {number} of {paper.title} ({paper.url}), except those marked "
        f"{MEASURED.strip()}, which were measured here. In parentheses the rank of a measured score among all rows"
        + (" of its task" if entry.by_row else "")
        + f"; ordered by {ranked}.",
    )
    name = f"published-{entry.paper.replace('_', '-')}-{'-'.join(map(str, entry.tables))}"
    blocks = tuple(task for _, _, task, _ in rows)
    emphasised = frozenset(place for place, (ours, *_) in enumerate(rows) if ours)
    title = f"{paper.family}, Table{'s' * (len(entry.tables) > 1)} {number} with measured rows"
    return Table(name, title, columns, tuple(cells), "", notes, blocks, emphasised)
