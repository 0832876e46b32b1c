"""The runs behind a paper's printed tables: each model under the settings of its protocol card.

A table is run for the models that it prints, or for any other model under the settings that the table has in common.
Results go to an ordinary results folder, so a run that was stopped continues, and
:func:`patent_mteb.report.reproduce.reproduce` compares them. DAPFAM's passages (Tables 18 and 20) have settings that
the paper does not state; they are rows of ``runs sweep dapfam --paper`` (:mod:`patent_mteb.experiments.sweep`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mteb.abstasks import AbsTask

from patent_mteb import published
from patent_mteb.errors import DataError, ModelError
from patent_mteb.models.checkpoints import CHECKPOINTS
from patent_mteb.models.loading import find_meta, load
from patent_mteb.models.spec import ModelSpec
from patent_mteb.tasks.selection import choose

_BM25 = ("bm25", "bm25-dapfam", "patent-mteb/bm25-bm25s", "patent-mteb/bm25-dapfam", "mteb/baseline-bm25s")
PLAIN_BM25 = "patent-mteb/bm25-bm25s"


@dataclass(frozen=True)
class PaperRun:
    """One model with one set of settings on the tasks of a table.

    Attributes:
        stated: whether the table prints scores of this model.
        problem: why this package cannot run it; empty if it can.
    """

    paper: str
    table: int
    model: str
    settings: Mapping[str, str]
    tasks: tuple[str, ...]
    stated: bool = True
    problem: str = ""

    def load(self, device: str | None = None) -> Any:
        spec = ModelSpec.stated(self.model, self.settings)
        if spec.prompts in (True, False):  # what the model does by itself is not a setting
            stated, prompted = self.settings.get("prompts", ""), _has_prompts(self.model)
            wanted: bool | str = "table11" if stated == "yes" and not prompted else not (stated == "none" and prompted)
            spec = replace(spec, prompts=wanted)
        return load(spec, device=device)

    def choose(self) -> list[AbsTask]:
        return choose(names=self.tasks)


def paper_runs(paper: str | None = None, table: int | None = None, models: Iterable[str] = ()) -> list[PaperRun]:
    """Return the runs of a table, of all tables of a paper, or of all papers.

    Raises:
        DataError: the paper or table is unknown, or has no score that a run can be compared with.
    """
    known = published.tables_to_run()
    if paper is not None and paper not in known:
        raise DataError(f"unknown paper '{paper}'", remedy=f"choose one of {', '.join(known)}")
    if paper is not None and table is not None and table not in known[paper]:
        reason = next((one.not_joined for one in published.tables(paper) if one.table == table), "it is not stored")
        tables = ", ".join(map(str, known[paper]))
        raise DataError(f"Table {table} of {paper} is not run: {reason}", remedy=f"choose one of the tables {tables}")
    found: list[PaperRun] = []
    for name in known if paper is None else [paper]:
        for number in known[name] if table is None else [table]:
            found += _runs(name, number, list(models))
    return found


def _runs(paper: str, table: int, models: list[str]) -> Iterator[PaperRun]:
    rows = published.expected_in(paper, table)
    if not models:
        yield from _grouped(paper, table, rows, stated=True)
    lexical = next((row.model for row in rows if row.model.startswith("patent-mteb/bm25")), None)
    for model in models:
        name = lexical if lexical and model in _BM25 else model
        if own := [row for row in rows if row.model == name]:
            yield from _grouped(paper, table, own, stated=True)
        elif model in _BM25:
            tasks = [task for row in published.expected_in(paper, table, PLAIN_BM25) for task in row.tasks]
            yield PaperRun(paper, table, PLAIN_BM25, {}, tuple(dict.fromkeys(tasks)), stated=False)
        elif all(row.model == lexical for row in rows):
            problem = f"Table {table} of {paper} measures BM25 only"
            yield PaperRun(paper, table, model, {}, (), stated=False, problem=problem)
        else:
            yield from _grouped(paper, table, published.expected_in(paper, table, model), stated=False)


def _grouped(paper: str, table: int, rows: Iterable[published.Expected], *, stated: bool) -> Iterator[PaperRun]:
    """Yield one run for the rows of a model that have the same settings."""
    groups: dict[tuple[Any, ...], dict[str, None]] = {}
    for row in rows:
        if not stated and row.model in _BM25:
            continue
        settings = {**row.here, **row.settings}
        groups.setdefault((row.model, tuple(settings.items()), row.not_run), {}).update(dict.fromkeys(row.tasks))
    for (model, settings, problem), tasks in groups.items():
        yield PaperRun(paper, table, model, dict(settings), tuple(tasks), stated, problem)


def _has_prompts(model: str) -> bool:
    """Whether a model adds prompts or instructions, judged by its entry before it is loaded."""
    if model in CHECKPOINTS:
        return CHECKPOINTS[model].prompts == "table11"
    try:
        meta = find_meta(model)
    except ModelError:
        return False
    return bool(meta.use_instructions or meta.loader_kwargs.get("model_prompts"))
