"""The scores that the five papers print, as data: nothing in here was measured by this package.

One csv a printed table (`<paper>/table_04.csv`), in the shape of the print: `model` as the paper spells it, `model_id`
its repository on the hub, the text columns that name the row (`Table.keys`), then one column of numbers for each
printed one, with the printed digits. A table printed with models as columns is turned, so that models are always rows.
An empty cell is empty in the paper. `papers.csv`, `tables.csv` and `columns.csv` say what everything is.

How `model_id` is given: the released weights that the row measures, whatever was done with them (the keys and the
column say that: fusion, truncated vectors, pruned layers, passages). It is empty where the weights are not released,
where the row joins two systems, and where it is not certain which released model is meant. BM25 has no weights; it
carries mteb's name of its BM25, though the papers used their own settings (DAPFAM: bm25s with k1 = 1.2 and b = 0.75;
WIPO-AT: rank-bm25; PatentMap says nothing).

`task` is given only where the number measures what one of our tasks measures, with the model used plainly; a table
without any says why (`Table.not_joined`). To compare with a result of one's own, match `model_id` and `task`, take rows
of kind "score", and mind `unit` (PatentMap prints percent). For retrieval, the score's name in a result is `metric`,
with `slice` and an underscore before it where there is a slice (`in_ndcg_at_100`); probe, nearest-neighbour and
clustering metrics are named after the paper's protocol. A paper can print one score in several tables, and not always
with the same last digit.

Where the papers contradict themselves: ``contradictions.csv`` as a page.

One row a contradiction: the subject, two places with what each says, and what the suite does. A place that is a cell of
a stored table names it as ``table:model:column``, so that a test holds the value against the table.

    python -m patent_mteb.published contradictions > docs/contradictions.md

What a paper states for a model on a task, as data: ``expected.csv``.

One row a number: ``model`` (its name in mteb, BM25 with the paper's own settings), ``task`` (several, joined by blanks,
where the paper prints their mean), ``metric`` as a result names it, ``protocol`` (``paper``: a paper's own evaluator,
filed as ``paper_<metric>``, of all retrieval and of PatentMap's classification; ``same``: there is one protocol only),
``value`` as a fraction, ``tolerance``, ``source``, and ``settings`` as far as the paper states what changes the number
(``prompts=yes``, ``max_tokens=512``).

Only what joins exactly is here: one query text, one corpus, one protocol. The tolerance is half a unit of the last
printed digit and one percent of the value: other hardware, versions and precisions move a score that much (pateval
reproduces PatenTEB's printed scores of PaECTER within 2%).

The printed tables that are stored, and which of their scores are set beside results, as a page.

python -m patent_mteb.published scores > docs/published.md

How many rows and classes a paper's task has, as data (``sizes.csv``), where nobody can look at the paper's data.

One row a count of a task: ``count`` as a result names it, ``least`` and ``most`` what it can be. The paper prints the
patents of a whole label set, of which a split by patent family puts a tenth into the test split, so that counts of test
rows are a range; and a test split need not hold every label of a fine-grained set. Retrieval has the number of queries
of the benchmark's record instead.

``stated.csv`` is what readers are told of sizes: queries and texts of the published data as a paper or a release says
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from typing import Any

import polars as pl

__all__ = ["KINDS", "Column", "Paper", "Table", "models", "papers", "printed", "table", "tables"]


KINDS = {
    "score": "a score of one model on one task",
    "mean": "a mean of scores over tasks, views, jurisdictions or training seeds",
    "bound": "an end of a score's confidence interval",
    "difference": "one score minus another",
    "compared": "the score that the row's own is compared with, of another model",
    "spread": "the standard deviation of a score over training seeds",
    "test": "the p value of a significance test",
    "ratio": "one score divided by another",
    "cost": "time, storage or speed",
    "description": "a property of a model or of a data set",
}

_ROW_FIELDS = ("slice", "task")  # a csv may give these by row instead of by column


@dataclass(frozen=True)
class Paper:
    """One of the papers: short name (as in the paths, and as the benchmark's record names it), title, address."""

    paper: str
    title: str
    url: str


@dataclass(frozen=True)
class Column:
    """One printed column of numbers.

    Attributes:
        column: name in the csv.
        printed: header in the paper.
        kind: one of `KINDS`.
        metric: what is measured, such as `ndcg_at_10`.
        unit: "fraction" (0 to 1; differences -1 to 1), "percent" (0 to 100) or the unit of a cost or description.
        slice: part of the judgements or queries, such as "in"; empty for all of them.
        view: text of query and document where the paper fixes one for the column.
        task: name of our task that measures the same, or empty.
    """

    column: str
    printed: str
    kind: str
    metric: str
    unit: str
    slice: str
    view: str
    task: str

    @property
    def higher_is_better(self) -> bool | None:
        """True for scores and their means (every metric here grows with quality), None for what is no quality score."""
        return True if self.kind in ("score", "mean") else None


@dataclass(frozen=True)
class Table:
    """One printed table.

    Attributes:
        paper, table: whose table, and its number.
        caption, note: in our words.
        keys: text columns that name a row besides the model.
        columns: the columns of numbers.
        protocol: how the scores that are joined to tasks were computed: "paper" (a paper's own evaluator, ``paper_...``
            in a result wherever a task has two protocols), "same" (its tasks have one only); empty where none is
            joined.
        not_joined: why no score is joined to a task; empty where some are.
    """

    paper: str
    table: int
    caption: str
    note: str
    keys: tuple[str, ...]
    columns: tuple[Column, ...]
    protocol: str = ""
    not_joined: str = ""

    @property
    def unit(self) -> str:
        """Unit of the table's scores or of what is derived from them, "fraction" or "percent"; empty for a table
        without any.
        """
        return next((c.unit for c in self.columns if c.kind not in ("cost", "description")), "")


def _csv(path: str, dtypes: dict[str, type[pl.DataType]] | None = None) -> pl.DataFrame:
    content = files(__name__).joinpath(*path.split("/")).read_bytes()
    read = pl.read_csv(content, schema_overrides=dtypes, infer_schema_length=None)
    return read.with_columns(pl.col(pl.String).fill_null(""))


@lru_cache
def papers() -> tuple[Paper, ...]:
    """The papers whose tables are stored.

    Example:
        >>> from patent_mteb import published
        >>> [paper.paper for paper in published.papers()]
        ['wipo_at', 'dapfam', 'patenteb', 'sophia', 'patentmap']
    """
    return tuple(Paper(**row) for row in _csv("papers.csv").iter_rows(named=True))


@lru_cache
def _all_tables() -> tuple[Table, ...]:
    columns = _csv("columns.csv", {"column": pl.String, "printed": pl.String})

    def of_table(row: dict[str, str | int]) -> Iterator[Column]:
        rows = columns.filter((pl.col("paper") == row["paper"]) & (pl.col("table") == row["table"])).drop(
            "paper", "table"
        )
        return (Column(**fields) for fields in rows.iter_rows(named=True))

    return tuple(
        Table(**row | {"keys": tuple(row["keys"].split()), "columns": tuple(of_table(row))})
        for row in _csv("tables.csv").iter_rows(named=True)
    )


def tables(paper: str | None = None) -> tuple[Table, ...]:
    """Descriptors of the stored tables, of one paper or of all, in the papers' order.

    Raises:
        ValueError: no such paper.

    Example:
        >>> from patent_mteb import published
        >>> [table.table for table in published.tables("patentmap")]
        [2, 3, 4, 5, 6]
    """
    if paper is None:
        return _all_tables()
    known = [p.paper for p in papers()]
    if paper not in known:
        raise ValueError(f"No published scores of a paper {paper!r}. Known papers: {', '.join(known)}.")
    return tuple(t for t in _all_tables() if t.paper == paper)


def _descriptor(paper: str, number: int) -> Table:
    stored = {t.table: t for t in tables(paper)}
    if number not in stored:
        raise ValueError(f"Table {number} of {paper!r} is not stored. Stored tables: {', '.join(map(str, stored))}.")
    return stored[number]


@lru_cache
def printed(paper: str, number: int) -> pl.DataFrame:
    """A table in the shape of the print: model, model_id, keys, then one Float64 column for each printed one.

    Raises:
        ValueError: no such paper or table.

    Example:
        >>> from patent_mteb import published
        >>> published.printed("wipo_at", 3).filter(model_id="datalyes/patembed-base")["dim"].to_list()
        [768.0]
    """
    spec = _descriptor(paper, number)
    dtypes: dict[str, type[pl.DataType]] = {"model": pl.String, "model_id": pl.String}
    return _csv(f"{paper}/table_{number:02d}.csv", dtypes | {c.column: pl.Float64 for c in spec.columns})


@lru_cache
def table(paper: str, number: int) -> pl.DataFrame:
    """A table with one row a printed cell, row by row as printed.

    Columns: paper, table, model (as printed), model_id (hub id or empty), the table's keys, then column, kind, metric,
    slice, view, task, unit (all as in `Column`) and value (Float64, null where the paper's cell is empty).

    Raises:
        ValueError: no such paper or table.

    Example:
        >>> from patent_mteb import published
        >>> published.table("wipo_at", 3).columns
        ['paper', 'table', 'model', 'model_id', 'category', 'vectors', 'column', 'kind', 'metric', 'slice', 'view',
        'task', 'unit', 'value']
    """
    spec = _descriptor(paper, number)
    wide = printed(paper, number).with_row_index("_row")
    keys = [k for k in spec.keys if k not in _ROW_FIELDS]

    def cells(column: Column) -> pl.DataFrame:
        by_row = {f: pl.col(f) if f in wide.columns else pl.lit(getattr(column, f)).alias(f) for f in _ROW_FIELDS}
        return wide.select(
            pl.col("_row"),
            pl.lit(paper).alias("paper"),
            pl.lit(number, dtype=pl.Int64).alias("table"),
            pl.col("model", "model_id", *keys),
            pl.lit(column.column).alias("column"),
            pl.lit(column.kind).alias("kind"),
            pl.lit(column.metric).alias("metric"),
            by_row["slice"],
            pl.lit(column.view).alias("view"),
            by_row["task"],
            pl.lit(column.unit).alias("unit"),
            pl.col(column.column).alias("value"),
        )

    return pl.concat([cells(c) for c in spec.columns]).sort("_row", maintain_order=True).drop("_row")


@lru_cache
def models(paper: str) -> pl.DataFrame:
    """The models of a paper's stored tables: model (as printed), model_id (or empty), tables (list of numbers).

    A model that the paper spells in two ways has two rows. Rows of printed means and tables without models are left
    out.

    Raises:
        ValueError: no such paper.

    Example:
        >>> from patent_mteb import published
        >>> published.models("patentmap").columns
        ['model', 'model_id', 'tables']
    """

    def rows(spec: Table) -> pl.DataFrame:
        wide = printed(paper, spec.table)
        named = wide.filter(pl.col("group") != "mean") if "group" in wide.columns else wide
        return named.filter(pl.col("model") != "").select(
            "model", "model_id", pl.lit(spec.table, dtype=pl.Int64).alias("tables")
        )

    seen = pl.concat([rows(spec) for spec in tables(paper)])
    return seen.group_by("model", "model_id", maintain_order=True).agg(pl.col("tables").unique().sort())


@dataclass(frozen=True)
class Contradiction:
    """Two places of one paper that cannot both be right as they are read first."""

    paper: str
    subject: str
    first: str
    first_cell: str
    first_value: str
    second: str
    second_cell: str
    second_value: str
    ours: str


@lru_cache
def contradictions() -> tuple[Contradiction, ...]:
    """All rows."""
    content = files("patent_mteb.published").joinpath("contradictions.csv").read_bytes()
    table = pl.read_csv(content, infer_schema=False).with_columns(pl.all().fill_null(""))
    return tuple(Contradiction(**row) for row in table.iter_rows(named=True))


def contradictions_page() -> str:
    """The page in Markdown."""
    titles = {paper.paper: f"[{paper.title}]({paper.url})" for paper in papers()}
    lines = ["# Where the papers contradict themselves", ""]
    source = "patent_mteb/published/contradictions.csv"
    lines += [f"Made from `{source}` by `python -m patent_mteb.published contradictions`."]
    for paper, title in titles.items():
        rows = [row for row in contradictions() if row.paper == paper]
        if rows:
            lines += [
                "",
                f"## {title}",
                "",
                "| what | one place | says | another | says | here |",
                "|---|---|---|---|---|---|",
            ]
            lines += [
                f"| {row.subject} | {row.first} | {row.first_value} | {row.second} | {row.second_value} | {row.ours} |"
                for row in rows
            ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Expected:
    """One number of a paper (see the module)."""

    model: str
    tasks: tuple[str, ...]
    metric: str
    protocol: str
    value: float
    tolerance: float
    source: str
    settings: dict[str, str]


@lru_cache
def expected() -> tuple[Expected, ...]:
    """All rows."""
    table = pl.read_csv(files("patent_mteb.published").joinpath("expected.csv").read_bytes(), infer_schema_length=None)
    return tuple(
        Expected(
            row["model"],
            tuple(row["task"].split()),
            row["metric"],
            row["protocol"],
            row["value"],
            row["tolerance"],
            row["source"],
            dict(setting.split("=", 1) for setting in (row["settings"] or "").split()),
        )
        for row in table.iter_rows(named=True)
    )


def interval(model: str, tasks: tuple[str, ...], metric: str) -> tuple[float, float] | None:
    """The 95% interval that a paper prints for a model on a task, None without any.

    Only WIPO-AT's Table 23 prints intervals, for nDCG@10 on the TAC corpus. It does not state the text of the query:
    they are taken as those of ``PatentCitationRetrieval``, whose numbers are the nearest.
    """
    if (tasks, metric) != (("PatentCitationRetrieval",), "ndcg_at_10"):
        return None
    rows = printed("wipo_at", 23).filter(model_id=model).select("ci_lower", "ci_upper").rows()
    return rows[0] if rows else None


_PROTOCOLS = {"paper": "the paper's own evaluator (`paper_…`)", "same": "the task's one protocol"}


def not_joined(paper: str) -> dict[str, list[int]]:
    """The tables of a paper no score of which is set beside results, by the reason."""
    found: dict[str, list[int]] = {}
    for table in tables(paper):
        if table.not_joined:
            found.setdefault(table.not_joined, []).append(table.table)
    return found


def scores_page() -> str:
    """The page in Markdown."""
    lines = ["# The published tables", ""]
    lines += [
        "Made from `patent_mteb/published/tables.csv` by `python -m patent_mteb.published scores`. A table whose"
        " scores are set beside"
    ]
    lines += [
        "results (`report --published`, `reproduce`) says under which protocol they were computed, any other why it is"
        " not."
    ]
    for paper in papers():
        lines += ["", f"## [{paper.title}]({paper.url})", "", "| table | what | set beside results |", "|---|---|---|"]
        for table in tables(paper.paper):
            joined = f"no: {table.not_joined}" if table.not_joined else f"yes, under {_PROTOCOLS[table.protocol]}"
            lines.append(f"| {table.table} | {table.caption} | {joined} |")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Size:
    """One row (see the module)."""

    task: str
    count: str
    least: int
    most: int
    source: str


@lru_cache
def sizes() -> dict[str, tuple[Size, ...]]:
    """The rows by task."""
    table = pl.read_csv(files("patent_mteb.published").joinpath("sizes.csv").read_bytes())
    found: dict[str, list[Size]] = {}
    for row in table.iter_rows(named=True):
        found.setdefault(row["task"], []).append(Size(**row))
    return {task: tuple(rows) for task, rows in found.items()}


@dataclass(frozen=True)
class Stated:
    """What a source says of how large a task is; None for what it does not say."""

    queries: int | None = None
    texts: int | None = None
    source: str = ""


def stated(task: str) -> Stated:
    """The first row of ``stated.csv`` that a task fits, empty where no source says anything."""
    rows = (row for row in _stated() if fnmatchcase(task, row["tasks"]))
    return next((Stated(row["queries"], row["texts"], row["source"]) for row in rows), Stated())


@lru_cache
def _stated() -> list[dict[str, Any]]:
    return pl.read_csv(files("patent_mteb.published").joinpath("stated.csv").read_bytes()).to_dicts()
