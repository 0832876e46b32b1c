"""Every plot of a report: which ones the results have data for, and the files they become."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from patent_mteb.files import replacing, write_text
from patent_mteb.report import frames, plots
from patent_mteb.report.cells import slug
from patent_mteb.report.collect import Collected
from patent_mteb.report.style import styled
from patent_mteb.report.view import BenchmarkView, MeasuredTask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Plot", "draw", "save", "svg"]


@dataclass(frozen=True)
class Plot:
    """A figure with its file name, what it shows in words (for those who do not see it), its world and benchmark."""

    name: str
    title: str
    world: str
    benchmark: str
    figure: Figure


def draw(collected: Collected) -> list[Plot]:
    """Every plot that the results have data for.

    Raises:
        ReportError: matplotlib is missing.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.figures import draw
        >>> [plot.name for plot in draw(collect(Path("results")))][:2]  # results of 'patent-mteb run'
        ['sample-wipo-at-in-out', 'sample-wipo-at-alpha']
    """
    return [plot for world in collected.worlds.values() for view in world.benchmarks for plot in _of_benchmark(view)]


def _of_benchmark(view: BenchmarkView) -> list[Plot]:
    drawn: list[Plot] = []

    def add(
        kind: str,
        what: str,
        frame: pl.DataFrame,
        plot: Callable[..., Figure],
        *,
        task: MeasuredTask | None = None,
        least: int = 2,
        **options: Any,
    ) -> None:
        if len(frame) >= least:
            title = view.world.titled(f"{view.name}: {what}" + (f", {task.short}" if task else ""))
            figure = plot(frame, title=title, **options)
            drawn.append(Plot(slug(view.world.name, view.name, kind), title, view.world.name, view.name, figure))

    head, domains = view.headline, view.domain_headline
    in_head: dict[str, Any] = {"task": head, "measure": _pretty(head)}
    in_grid = next((task for task in view.tasks if task.plain in view.facts.section_grid), None)
    queries, corpora = frames.section_axes(view)
    grid: dict[str, Any] = {"queries": queries, "corpora": corpora, "measure": _pretty(in_grid)}
    add("in-out", "IN and OUT of domain", frames.in_out(view), plots.in_out_bars, task=domains, least=1, measure=_pretty(domains))
    add("alpha", "fusion with a lexical system", frames.alpha(view), plots.alpha_curve, **in_head)
    add("sections", "query section and corpus view", frames.sections(view), plots.section_heatmaps, **grid)
    add("jurisdictions", "filing jurisdiction", frames.jurisdictions(view), plots.jurisdiction_heatmap, **in_head)
    add("ranks", "ranks in each group of tasks", frames.ranks(view), plots.rank_summary)
    add("truncation", "truncated embeddings", frames.truncation(view), plots.truncation_curves, **in_head)
    add("recall", "Recall@k", frames.recall(view), plots.recall_curves, task=head)
    add("scale", "model size and score", frames.scale(view), plots.scale_scatter)
    return drawn


def _pretty(task: MeasuredTask | None) -> str:
    """The name of a task's main score as papers write it: ``nDCG@10``."""
    name, _, depth = (task.measure if task else "").partition("_at_")
    names = {"ndcg": "nDCG", "map": "MAP", "mrr": "MRR", "macro_f1": "macro F1", "v_measure": "V-measure"}
    return names.get(name, name.replace("_", " ").capitalize()) + (f"@{depth}" if depth else "")


@styled
def svg(figure: Figure) -> str:
    """A figure as SVG, the same bytes for the same figure.

    Example:
        >>> from patent_mteb.report.figures import svg
        >>> from patent_mteb.report.style import new_figure
        >>> "</svg>" in svg(new_figure(2, 1))
        True
    """
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue().decode()


@styled
def save(figure: Figure, stem: Path) -> list[Path]:
    """Write ``<stem>.png`` (200 dpi) and ``<stem>.svg``, and return their paths.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.figures import save
        >>> from patent_mteb.report.style import new_figure
        >>> [path.name for path in save(new_figure(2, 1), Path("plots/empty"))]
        ['empty.png', 'empty.svg']
    """
    png = stem.with_name(f"{stem.name}.png")
    with replacing(png) as partial:
        figure.savefig(partial, format="png", dpi=200, metadata={"Software": None})
    return [png, write_text(stem.with_name(f"{stem.name}.svg"), svg(figure))]
