"""Compare representations of the query on their common queries (Sophia-Bench, Tables 2 and 3, Fig. 5 to 7)."""

from __future__ import annotations

import polars as pl

from patent_mteb.report.cells import Cell, Column, Table, slug
from patent_mteb.report.view import BenchmarkView
from patent_mteb.report.words import measure_title

_JUDGEMENTS = {"": "all citations", "xy": "X and Y", "a": "A"}
_KINDS = {"ipc": "IPC section", "jurisdiction": "filing office", "year": "year of publication"}
_NOTE = (
    "Each query is represented in {types} ways; the scores are over the queries that every representation and model has"
    " ({n} for all citations). X and Y, A: citations of these categories alone are relevant."
)


def by_type(view: BenchmarkView) -> pl.DataFrame:
    """Return ``model, type, judgements, value, n`` of the models with all representations.

    Relevant are all citations, X and Y only, or A only.
    """
    rows = _complete(view).filter(pl.col("slice").is_in(list(_JUDGEMENTS)))
    order = {task.name: place for place, task in enumerate(view.tasks)}
    rows = rows.sort(pl.col("task").replace_strict(order, default=len(order)), maintain_order=True)
    names = {task.name: task.short for task in view.tasks}
    judgements = pl.col("slice").replace(_JUDGEMENTS)
    return rows.select(model="run", type=pl.col("task").replace(names), judgements=judgements, value="value", n="n")


def by_part(view: BenchmarkView) -> pl.DataFrame:
    """Return ``model, part, kind, value, n`` of the models with all representations (Fig. 5 to 7).

    Values are means over the representations by IPC section, filing office and year of the query.
    """
    complete = _complete(view)
    split = complete.with_columns(
        kind=pl.col("slice").str.extract(r"^([a-z]+)_"), part=pl.col("slice").str.extract(r"_(.+)$")
    )
    rows = split.filter(
        pl.col("kind").is_in(list(_KINDS)) & (pl.len().over("run", "slice") == complete["task"].n_unique())
    )
    means = rows.group_by("run", "kind", "part", maintain_order=True).agg(pl.col("value").mean(), pl.col("n").min())
    order = {kind: place for place, kind in enumerate(_KINDS)}
    ordered = means.sort(pl.col("kind").replace_strict(order, return_dtype=pl.Int64), "part", maintain_order=True)
    kind = pl.col("kind").replace_strict(_KINDS, return_dtype=pl.String)
    return ordered.select(model="run", part=pl.col("part").str.to_uppercase(), kind=kind, value="value", n="n")


def _complete(view: BenchmarkView) -> pl.DataFrame:
    """Return the scores on common queries of the runs that have every representation."""
    frame = view.common_queries
    tasks = frame["task"].n_unique()
    return frame.filter(pl.col("task").n_unique().over("run") == tasks) if tasks > 1 else frame.clear()


def tables(view: BenchmarkView) -> list[Table]:
    """Return one table: a block of rows a kind of judgements, a column a representation, and their mean."""
    frame = _complete(view)
    tasks = [task for task in view.tasks if task.name in set(frame["task"])]
    values = {(run, task, part): (value, n) for run, task, part, value, n in frame.iter_rows()}
    rows: list[tuple[Cell, ...]] = []
    blocks: list[str] = []
    for part, title in _JUDGEMENTS.items():
        known = (
            [run for run in view.best_first if all((run, task.name, part) in values for task in tasks)] if tasks else []
        )
        for run in known:
            own = [values[run, task.name, part][0] for task in tasks]
            n = min(values[run, task.name, part][1] for task in tasks)
            rows.append((Cell(run), Cell(title), Cell(float(n), 0), *map(Cell, own), Cell(sum(own) / len(own))))
            blocks.append(part)
    if not rows:
        return []
    columns = (
        Column("model", "Model", numeric=False),
        Column("judgements", "Relevant", numeric=False),
        Column("n", "n", marked=False),
        *(Column(task.plain, task.short) for task in tasks),
        Column("mean", "Mean"),
    )
    note = _NOTE.format(types=len(tasks), n=rows[0][2].text)
    title = view.data_source.titled(f"{view.name}: query types on common queries, {measure_title(tasks[0].measure)}")
    name = slug(view.data_source.name, view.name, "query-types")
    return [
        Table(
            name,
            title,
            columns,
            tuple(rows),
            view.data_source.banner,
            (note,),
            blocks=tuple(blocks),
            benchmark=view.name,
        )
    ]
