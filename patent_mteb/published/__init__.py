"""The scores and sizes that the five papers state, and those of other harnesses, as data.

Nothing in here was measured by this package.

**Printed tables** (`printed`, `table`). One csv a printed table (`<paper>/table_04.csv`), in the shape of the print:
`model` as the paper spells it, `model_id` its repository on the hub, the text columns that identify the row
(`Table.keys`), then one column of numbers for each printed one, with the printed digits. Models are
always rows. An empty cell is empty in the paper. `papers.csv`, `tables.csv` and `columns.csv` describe the tables.

`model_id` names the released weights that the row measures, whatever was done with them (the keys and the column say
that: fusion, truncated vectors, pruned layers, passages). It is empty where the weights are not released, where the row
joins two systems, and where it is not certain which released model is meant. BM25 has no weights; it carries mteb's
name of its BM25, though the papers used their own settings (DAPFAM: bm25s with k1 = 1.2 and b = 0.75; WIPO-AT:
rank-bm25; PatentMap: the defaults of bm25s with English stop words and stemmer, by its authors' public code).

`task` is given only where the number measures what one of our tasks measures, with the model used plainly; a table
without any says why (`Table.not_joined`). A paper can print one score in several tables, and not always with the same
last digit. `score_name` is the name of a printed score in a result.

**Protocol cards** (`card`). How a paper evaluates a model in a table, fact by fact, each with its source: a section, a
table, the authors' public code, or "not stated" with the value used here. The first row of `cards.csv` that fits
holds; one with an empty value says that nothing is fixed. Facts that a result records (`RECORDED`) decide whether a run
is compared with the table.

**Expected scores** (`expected`). What a paper states for a model on a task, as a query over the printed tables.
`expected.csv` lists the tables in the order in which they count, with the tasks of a printed mean, `excluded` scores,
and those that this package cannot run (`not_run`), with the reason. The first row that fits a cell holds; where a paper
allows two readings, the first row of each `reading`.

**Scores of other harnesses** (`independent`). What a harness other than this package and the papers measured on the
released data, with its settings, its interval where it states one, and the file that says so.

**Contradictions** (``contradictions.csv``). One row a contradiction of a paper with itself, or of two sources on one of
its numbers: the subject, two places with what each says, and what the suite does. A cell of a stored table is written
``table:model:column``.

**Sizes** (`sizes`, `stated`). How many rows and classes the task of a paper has, and the numbers of queries and texts
that a paper or a release states. Counts of test rows are ranges: a paper prints the patents of a whole label set, of
which a split by patent family puts a tenth into the test split. Retrieval has the number of queries of the benchmark's
record instead.

**Statistics** (`statistics`). What a paper prints of its tables: lengths, jurisdictions, relevant documents of a query.
``patent-mteb data validate`` shows those of a directory with them.

**References** (`citation`). The BibTeX entries of benchmarks and models.

``docs/published_pages.py`` writes the pages on these data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from itertools import chain, groupby, product
from typing import Any

import polars as pl
import polars.selectors as cs

_ROW_FIELDS = ("slice", "task")  # a csv may give these by row instead of by column


@dataclass(frozen=True)
class Paper:
    """One of the papers: short name (as in the paths, and as the benchmark's record names it), title, address."""

    paper: str
    title: str
    url: str


@dataclass(frozen=True)
class Column:
    """One printed column of numbers."""

    column: str  # name in the csv
    printed: str  # header in the paper
    kind: str
    """A ``score`` of one model on one task, a ``mean`` of scores, a ``bound`` of an interval, a ``difference`` or
    ``ratio`` of two scores, the score ``compared`` with the row's own, a ``spread`` over seeds, a ``test`` (p value), a
    ``cost`` or a ``description``."""
    metric: str  # such as ndcg_at_10
    unit: str  # fraction (0 to 1; differences -1 to 1), percent (0 to 100), or the unit of a cost or description
    slice: str  # part of the judgements or queries, such as "in"; empty for all of them
    view: str  # text of query and document where the paper fixes one for the column
    task: str  # our task that measures the same, or empty


@dataclass(frozen=True)
class Table:
    """One printed table.

    ``protocol`` says how the scores that are joined to tasks were computed: "paper" (a paper's own evaluator,
    ``paper_...`` in a result wherever a task has two protocols), "same" (its tasks have one only); empty where none is
    joined.
    """

    paper: str
    table: int  # its number
    caption: str  # in our words, as the note
    note: str
    keys: tuple[str, ...]  # text columns that name a row besides the model
    columns: tuple[Column, ...]
    protocol: str = ""
    not_joined: str = ""  # why no score is joined to a task; empty where some are


@lru_cache
def _csv(path: str, /, **dtypes: type[pl.DataType]) -> pl.DataFrame:
    content = files(__name__).joinpath(*path.split("/")).read_bytes()
    read = pl.read_csv(content, schema_overrides=dtypes, infer_schema_length=None)
    return read.with_columns(pl.col(pl.String).fill_null(""))


@lru_cache
def papers() -> tuple[Paper, ...]:
    """Return the papers whose tables are stored."""
    return tuple(Paper(**row) for row in _csv("papers.csv").iter_rows(named=True))


def _columns(paper: str, number: int) -> pl.DataFrame:
    return _csv("columns.csv", column=pl.String, printed=pl.String).filter(paper=paper, table=number)


@lru_cache
def tables(paper: str | None = None) -> tuple[Table, ...]:
    """Return the descriptors of the stored tables, of one paper or of all, in the papers' order."""
    known = [one.paper for one in papers()]
    if paper is not None and paper not in known:
        raise ValueError(f"No published scores of a paper {paper!r}. Known papers: {', '.join(known)}.")
    found = []
    for row in _csv("tables.csv").iter_rows(named=True):
        columns = _columns(row["paper"], row["table"]).drop("paper", "table")
        described = tuple(Column(**fields) for fields in columns.iter_rows(named=True))
        found.append(Table(**row | {"keys": tuple(row["keys"].split()), "columns": described}))
    return tuple(table for table in found if paper in (None, table.paper))


def _descriptor(paper: str, number: int) -> Table:
    stored = {t.table: t for t in tables(paper)}
    if number not in stored:
        raise ValueError(f"Table {number} of {paper!r} is not stored. Stored tables: {', '.join(map(str, stored))}.")
    return stored[number]


@lru_cache
def printed(paper: str, number: int) -> pl.DataFrame:
    """Return a table in the shape of the print: model, model_id, keys, then a Float64 column for each printed one."""
    numbers = {column.column: pl.Float64 for column in _descriptor(paper, number).columns}
    return _csv(f"{paper}/table_{number:02d}.csv", model=pl.String, model_id=pl.String, **numbers)


@lru_cache
def table(paper: str, number: int) -> pl.DataFrame:
    """Return a table with one row a printed cell, row by row as printed.

    Columns: paper, table, model (as printed), model_id (hub id or empty), the table's keys, then column, kind, metric,
    slice, view, task, unit (all as in `Column`) and value (Float64, null where the paper's cell is empty).
    """
    keys = [name for name in _descriptor(paper, number).keys if name not in _ROW_FIELDS]
    described = _columns(paper, number)
    wide = printed(paper, number).with_row_index("_row")
    numbers = described["column"].to_list()
    cells = wide.unpivot(numbers, index=cs.exclude(numbers), variable_name="column")
    by_column = described.select(pl.exclude([name for name in _ROW_FIELDS if name in wide.columns]))
    return (
        cells.join(by_column, on="column", maintain_order="left")
        .sort("_row", maintain_order=True)
        .select(
            *("paper", "table", "model", "model_id", *keys, "column", "kind"),
            *("metric", "slice", "view", "task", "unit", "value"),
        )
    )


METRICS = {
    "pearson": "cosine_pearson",
    "best_knn_macro_f1": "knn_macro_f1",
    "adjusted_rand_index": "ari",
    **{f"linear_probe_precision_at_{k}": f"mlp_precision_at_{k}" for k in (1, 3, 5)},
}
"""Printed metrics that have another name in results."""

_TWO_PROTOCOLS = ("ndcg_at_", "recall_at_", "inscope_", "knn_precision_at_", "mlp_precision_at_")
"""Metrics that a result holds under the suite's protocol and, as ``paper_...``, under that of the paper: those of
retrieval and of PatentMap's classification."""


def score_name(metric: str, part: str = "") -> str:
    """Return the name of a printed metric in results, of a slice and under the paper's protocol."""
    name = METRICS.get(metric, metric)
    return "_".join(filter(None, ("paper" if name.startswith(_TWO_PROTOCOLS) else "", part, name)))


@dataclass(frozen=True)
class Expected:
    """A score that a paper states for a model."""

    model: str  # name in mteb
    tasks: tuple[str, ...]  # several where the paper prints their mean
    score: str  # name in a result
    value: float  # as a fraction
    tolerance: float  # difference that is still called equal
    source: str  # where the paper prints it
    settings: dict[str, str]  # as far as the paper states them, such as {"prompts": "yes", "max_tokens": "512"}
    here: Mapping[str, str] = field(default_factory=dict)  # settings of the registered model that it does not state
    cell: str = ""  # of the printed table; two readings of a paper share it
    not_run: str = ""  # why this package cannot run the model with these settings; empty if it can
    excluded: str = ""  # why the score is not stated for a run; empty if it is

    @property
    def metric(self) -> str:
        """The score's name without the prefix of the paper's protocol."""
        return self.score.removeprefix("paper_")


NOT_STATED = "not stated"  # source of a fact that a paper leaves open; its value is what this package does
RECORDED = (
    *("max_tokens", "prompts", "vectors", "calibration", "dtype", "maxsim"),
    *("query_instruction", "input"),
    *("k1", "b", "method", "stopwords", "stemmer", "token_pattern"),
)
"""Facts that are settings of a result, under the same names."""


@dataclass(frozen=True)
class Fact:
    """One fact of a protocol: its name, its value, and where that is said."""

    name: str
    value: str
    source: str


@lru_cache
def card(paper: str, number: int, model: str, column: str = "") -> tuple[Fact, ...]:
    """Return how a paper evaluates a model in a table, of one printed column or of all."""
    found: dict[str, Fact] = {}
    for row in _csv("cards.csv", tables=pl.String).iter_rows(named=True):
        fits = row["paper"] == paper and {str(number), "*"} & set(row["tables"].split())
        if fits and fnmatchcase(model, row["models"]) and (not column or fnmatchcase(column, row["columns"])):
            found.setdefault(row["fact"], Fact(row["fact"], row["value"], row["source"]))
    return tuple(fact for fact in found.values() if fact.value)


@lru_cache
def expected() -> tuple[Expected, ...]:
    """Return the scores that the papers state; of a score that is printed twice, the first."""
    found: dict[tuple[object, ...], Expected] = {}
    for row in chain.from_iterable(expected_in(*table) for table in _rules()):
        found.setdefault((row.model, row.tasks, row.score, *sorted(row.settings.items())), row)
    return tuple(found.values())


@lru_cache
def expected_in(paper: str, number: int, model: str = "") -> tuple[Expected, ...]:
    """Return the scores of one table, or those that it would state for another model, whose values are NaN."""
    return tuple(row for row in _of_table(paper, number, model) if not row.excluded)


def tables_to_run() -> dict[str, list[int]]:
    """Return the numbers of the tables with scores that are stated for a run, by paper."""
    found: dict[str, list[int]] = {}
    for paper, number in _rules():
        found.setdefault(paper, []).append(number)
    return found


@lru_cache
def excluded() -> tuple[str, ...]:
    """Return for each printed score that measures one of our tasks, but is not stated for a run, the reason."""
    return tuple(row.excluded for table in _rules() for row in _of_table(*table) if row.excluded)


@lru_cache
def _rules() -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Return the rows of ``expected.csv`` by paper and table."""
    rows = _csv("expected.csv").iter_rows(named=True)
    return {key: list(rules) for key, rules in groupby(rows, key=lambda rule: (rule["paper"], rule["table"]))}


def _of_table(paper: str, number: int, model: str = "") -> Iterator[Expected]:
    """Yield the scores of a table that measure our tasks; for another model than the printed ones without values."""
    rules = _rules()[paper, number]
    cells = table(paper, number).filter(pl.col("kind").is_in(["score", "mean"]) & (pl.col("model_id") != ""))
    cells = cells.drop_nulls("value")
    if model:
        cells = cells.with_columns(model_id=pl.lit(model), model=pl.lit(model), value=pl.lit(math.nan))
        cells = cells.unique([name for name in cells.columns if name != "value"], maintain_order=True)
    digits = max(len(repr(value).partition(".")[2]) for value in cells["value"])
    for reading, cell in product(dict.fromkeys(rule["reading"] for rule in rules), cells.iter_rows(named=True)):
        rule = next((rule for rule in rules if rule["reading"] == reading and _fits(cell, rule)), None)
        if rule is None or not (tasks := (rule["tasks"] if cell["kind"] == "mean" else cell["task"] or rule["tasks"])):
            continue
        percent = 2 if cell["unit"] == "percent" else 0
        value = Decimal(repr(cell["value"])).scaleb(-percent)
        facts = [fact for fact in card(paper, number, cell["model_id"], cell["column"]) if fact.name in RECORDED]
        yield Expected(
            rule["measured_as"] or cell["model_id"],
            tuple(tasks.split()),
            score_name(cell["metric"], cell["slice"]),
            float(value),
            math.nan if model else _tolerance(value, digits + percent),
            rule["source"],
            {fact.name: fact.value for fact in facts if fact.source != NOT_STATED},
            {fact.name: fact.value for fact in facts if fact.source == NOT_STATED},
            f"{paper} {number} {cell['model']} {tasks if cell['task'] else ''}:{cell['column']}",
            rule["not_run"],
            rule["excluded"],
        )


@dataclass(frozen=True)
class Independent:
    """A score that a harness other than this package and the papers measured on the released data."""

    model: str
    tasks: tuple[str, ...]
    score: str  # name in a result
    value: float
    tolerance: float  # as for a printed score
    interval: tuple[float, float] | None  # 95%, by bootstrap over queries
    settings: dict[str, str]
    harness: str
    protocol: str  # settings that no result of ours records
    source: str


@lru_cache
def independent() -> tuple[Independent, ...]:
    """Return the scores that other harnesses measured."""
    return tuple(
        Independent(
            row["model"],
            tuple(row["tasks"].split()),
            score_name(row["metric"], row["slice"]),
            float(row["value"]),
            _tolerance(Decimal(row["value"]), len(row["value"].partition(".")[2])),
            (float(row["low"]), float(row["high"])) if row["low"] else None,
            dict(setting.split("=", 1) for setting in row["settings"].split()),
            row["harness"],
            row["protocol"],
            row["source"],
        )
        for row in _csv("independent.csv", value=pl.String, low=pl.String, high=pl.String).iter_rows(named=True)
    )


def _fits(cell: dict[str, Any], rule: dict[str, Any]) -> bool:
    return fnmatchcase(cell["column"], rule["columns"]) and fnmatchcase(cell["model_id"], rule["models"])


def _tolerance(value: Decimal, digits: int) -> float:
    """Half a unit of the last printed digit and one percent of the value.

    Other hardware, versions and precisions move a score by about one percent: pateval reproduces PatenTEB's printed
    scores of PaECTER within 2%.
    """
    return float((Decimal(5).scaleb(-digits - 1) + value / 100).quantize(Decimal("0.00001")))


def interval(model: str, tasks: tuple[str, ...], metric: str) -> tuple[float, float] | None:
    """Return the 95% interval that a paper prints for a model on a task, None if there is none.

    Only WIPO-AT's Table 23 prints intervals, for nDCG@10 on the TAC corpus. It does not state the text of the query.
    They are compared with ``PatentCitationRetrieval``, whose numbers are the nearest.
    """
    if (tasks, metric) != (("PatentCitationRetrieval",), "ndcg_at_10"):
        return None
    rows = printed("wipo_at", 23).filter(model_id=model).select("ci_lower", "ci_upper").rows()
    return rows[0] if rows else None


def not_joined(paper: str) -> dict[str, list[int]]:
    """Return the tables of a paper whose scores are not compared with results, by reason."""
    found: dict[str, list[int]] = {}
    for table in tables(paper):
        if table.not_joined:
            found.setdefault(table.not_joined, []).append(table.table)
    return found


@dataclass(frozen=True)
class Size:
    """A count of a task: its name in a result, and the range that the paper allows."""

    task: str
    count: str
    least: int
    most: int
    source: str


@lru_cache
def sizes() -> dict[str, tuple[Size, ...]]:
    """Return the counts of each task."""
    found: dict[str, list[Size]] = {}
    for row in _csv("sizes.csv").iter_rows(named=True):
        found.setdefault(row["task"], []).append(Size(**row))
    return {task: tuple(rows) for task, rows in found.items()}


@dataclass(frozen=True)
class Stated:
    """The size of a task as a source states it; None where it does not."""

    queries: int | None = None
    texts: int | None = None
    source: str = ""


def stated(task: str) -> Stated:
    """Return the first row of ``stated.csv`` that fits a task, or an empty one."""
    rows = (row for row in _csv("stated.csv").iter_rows(named=True) if fnmatchcase(task, row["tasks"]))
    return next((Stated(row["queries"], row["texts"], row["source"]) for row in rows), Stated())


def statistics(paper: str) -> pl.DataFrame:
    """Return what a paper prints of its tables: statistic (a group of numbers), name, value (as printed) and source."""
    return _csv("statistics.csv", value=pl.String).filter(paper=paper).drop("paper")


@lru_cache
def _citations() -> dict[str, str]:
    entries = files(__name__).joinpath("references.bib").read_text("utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


def citation(key: str) -> str:
    """Return an entry of ``references.bib``."""
    return _citations()[key]
