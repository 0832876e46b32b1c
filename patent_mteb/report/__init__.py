"""Reports on a results folder: tables, plots, a static page, and folders ready for publication.

``run`` is what ``patent-mteb report`` does, :func:`patent_mteb.report.export.prepare` what ``patent-mteb export`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["FORMATS", "ReportOutcome", "run"]

FORMATS = ("terminal", "markdown", "csv", "latex")


@dataclass(frozen=True)
class ReportOutcome:
    """What a report has to say.

    Attributes:
        printed: what belongs on the terminal: rich tables, or text where another format was asked for without a folder.
        files: what was written.
        messages: what was left out of the report, and why.
    """

    printed: tuple[Any, ...]
    files: tuple[Path, ...]
    messages: tuple[str, ...]

    def print(self, console: Console) -> None:
        """Print what belongs on the terminal, text as it is."""
        for item in self.printed:
            if isinstance(item, str):
                console.print(item, markup=False, highlight=False, soft_wrap=True)
            else:
                console.print(item)


def run(
    results: Path,
    *,
    formats: Sequence[str] = ("terminal",),
    out: Path | None = None,
    html: bool = False,
    plots: bool = False,
    published: bool = False,
    baseline: str | None = None,
) -> ReportOutcome:
    """Report on a results folder.

    Args:
        results: folder of ``patent-mteb run``.
        formats: of :data:`FORMATS`. Without ``out`` all of them are printed; with it, all but ``terminal`` are written:
            ``report.md``, ``csv/<table>.csv`` (with ``scores.csv`` and ``results.csv``, the tidy tables behind all others) and
            ``tables.tex``.
        html: write the page ``index.html``, with plots if matplotlib is installed.
        plots: write every plot as PNG and SVG below ``plots/``.
        published: set measured rows among the rows of the papers.
        baseline: a model; letters mark what is significantly better.

    Raises:
        DataError: the folder holds no results.
        ReportError: unknown format or baseline, no folder to write to, or matplotlib is missing for ``plots``.
    """
    import polars as pl

    from patent_mteb.report import cells, forms, tables
    from patent_mteb.report import published as papers
    from patent_mteb.report.collect import ReportError, collect
    from patent_mteb.report.statistics import Statistics, statistics

    if unknown := [name for name in formats if name not in FORMATS]:
        raise ReportError(f"unknown format {', '.join(unknown)}. Remedy: choose from {', '.join(FORMATS)}")
    if out is None and (html or plots):
        raise ReportError("page and plots are written to a folder. Remedy: name it with --out")
    collected = collect(results)
    if collected.results.is_empty():
        listed = "\n".join(collected.messages)
        raise ReportError(f"nothing in {results} can be reported:\n{listed}")
    messages = list(collected.messages)
    found = statistics(collected, baseline) if html or baseline else Statistics()
    messages += found.messages
    built = tables.build(collected, found)
    beside: list[cells.Table] = []
    if published:
        beside, notes = papers.beside(collected)
        messages += notes
    drawn = []
    if plots or html:
        from patent_mteb.report.plots import draw

        try:
            drawn = draw(collected)
        except ReportError as error:
            if plots:
                raise
            messages.append(f"The page has no plots: {error}")
    printed: list[Any] = []
    files: list[Path] = []
    for name in dict.fromkeys(formats):
        made = {table.name: forms.FORMATS[name](table) for table in (*built, *beside)}
        if name == "terminal" or out is None:
            printed += made.values()
        elif name == "csv":
            within = collected.results.with_columns(pl.col("path", "queries").str.strip_prefix(f"{results}/"))
            made |= {"scores": collected.scores.write_csv(), "results": within.write_csv()}
            files += [_write(out / "csv" / f"{stem}.csv", text) for stem, text in made.items()]
        else:
            files.append(_write(out / {"markdown": "report.md", "latex": "tables.tex"}[name], "\n".join(made.values())))
    if out is not None and plots:
        from patent_mteb.report.plots import save

        for plot in drawn:
            files += save(plot.figure, out / "plots" / plot.name)
    if out is not None and html:
        from patent_mteb.report.page import page

        files.append(_write(out / "index.html", page(collected, found, built, beside, drawn, messages)))
    return ReportOutcome(tuple(printed), tuple(files), tuple(messages))


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
