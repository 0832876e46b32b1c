"""The charts of a report as one table: which figure of which paper, of which data, drawn how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

from patent_mteb.report import chart_data, comparisons, curves, frames, lines, plots
from patent_mteb.report.view import BenchmarkView

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CHARTS", "Chart"]


@dataclass(frozen=True)
class Chart:
    """One row.

    Attributes:
        kind: part of its file name.
        figures: the papers' figures that it is.
        what: its title, before the task.
        data: from a benchmark to the tidy table.
        draw: from the table to the figure; also takes ``title``, and what ``takes`` names.
        task: whose task stands in the title: ``headline``, ``domain_headline``, or empty.
        takes: further arguments of ``draw``: ``measure`` (name of the task's main score), ``grid`` (the order of the text views).
        options: arguments as they are.
        least: rows that the table needs.
        models: models that it compares, at least.
    """

    kind: str
    figures: str
    what: str
    data: Callable[[BenchmarkView], pl.DataFrame]
    draw: Callable[..., Figure]
    task: str = "headline"
    takes: tuple[str, ...] = ("measure",)
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    least: int = 2
    models: int = 1

    def shows(self, frame: pl.DataFrame) -> bool:
        """Whether a table has enough in it for the figure to say something."""
        return len(frame) >= self.least and ("model" not in frame.columns or frame["model"].n_unique() >= self.models)


def _of_headline_section(view: BenchmarkView) -> pl.DataFrame:
    section = view.facts.section_grid.get(view.facts.headline, ("", ""))[0]
    return chart_data.section_advantage(view).filter(group=section).drop("group")


def _ipc_sections(view: BenchmarkView) -> pl.DataFrame:
    return frames.headline_slices(view, "ipc_").with_columns(pl.col("group").str.to_uppercase())


CHARTS = (
    Chart("in-out", "WIPO-AT 2", "IN and OUT of domain", frames.in_out, plots.in_out_bars, "domain_headline", least=1),
    Chart("alpha", "WIPO-AT 3", "fusion with a lexical system", curves.alpha, lines.alpha_curve),
    Chart("sections", "WIPO-AT 4", "query section and corpus view", frames.sections, plots.section_heatmaps, "", ("measure", "grid")),
    Chart("query-sections", "WIPO-AT 5", "query sections on the headline's corpus", chart_data.query_sections, comparisons.dots),
    Chart("dwpi", "WIPO-AT 8", "what DWPI texts add to the corpus", _of_headline_section, comparisons.differences, ""),
    Chart(
        "dwpi-sections",
        "WIPO-AT 15",
        "what DWPI texts add, by query section",
        chart_data.section_advantage,
        plots.jurisdiction_heatmap,
        "",
        options={"groups_are": "query section", "differences": True},
    ),
    Chart(
        "dwpi-tasks",
        "WIPO-AT 16, 17",
        "what DWPI texts add, by data set",
        chart_data.task_advantage,
        plots.jurisdiction_heatmap,
        "",
        options={"groups_are": "task", "differences": True},
    ),
    Chart("jurisdictions", "WIPO-AT 9, Sophia-Bench 5", "filing jurisdiction", frames.jurisdictions, plots.jurisdiction_heatmap),
    Chart("ranks", "WIPO-AT 10", "ranks in each group of tasks", frames.ranks, plots.rank_summary, "", ()),
    Chart("truncation", "WIPO-AT 11, PatenTEB 11a", "truncated embeddings", frames.truncation, lines.truncation_curves),
    Chart(
        "labels",
        "WIPO-AT 13",
        "F1 of each label, the task with the most",
        chart_data.labels,
        plots.jurisdiction_heatmap,
        "",
        options={"groups_are": "label"},
    ),
    Chart("profile", "WIPO-AT 18", "groups of tasks, share of the best", chart_data.profile, comparisons.dots, "", (), models=2),
    Chart(
        "correlations",
        "WIPO-AT 19",
        "agreement of tasks on the models",
        chart_data.by_task,
        comparisons.rank_correlations,
        "",
        (),
        models=3,
    ),
    Chart("distribution", "WIPO-AT 20, 21", "scores of single queries", chart_data.distribution, comparisons.distributions),
    Chart("recall", "Sophia-Bench 4", "Recall@k", frames.recall, lines.recall_curves, takes=()),
    Chart("years", "Sophia-Bench 6", "year of publication", chart_data.years, comparisons.curves, options={"x": "year of publication"}),
    Chart(
        "ipc",
        "Sophia-Bench 7",
        "IPC section",
        _ipc_sections,
        plots.jurisdiction_heatmap,
        options={"groups_are": "IPC section of the query"},
    ),
    Chart("tasks", "PatenTEB 2", "every task", chart_data.by_task, plots.jurisdiction_heatmap, "", options={"groups_are": "task"}),
    Chart("groups", "PatenTEB 4", "groups of tasks", chart_data.task_groups, comparisons.dots, "", ()),
    Chart("overlap", "PatenTEB 5", "degrees of overlap", chart_data.overlap, comparisons.dots, "domain_headline"),
    Chart("scale", "WIPO-AT 1", "model size and score", frames.scale, plots.scale_scatter, "", ()),
)
"""In the order of the report. ``docs/figures.md`` lists them with the figures that other modules draw."""
