"""Reports on a results folder: tables, plots, a static page, and folders ready for publication.

``run`` is what ``patent-mteb report`` does, :func:`patent_mteb.report.export.prepare` what
``patent-mteb publish results`` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patent_mteb.report.words import by_reason, visible

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from patent_mteb.report.cells import Table

__all__ = ["FORMATS", "ReportOutcome", "run"]
FORMATS = ("terminal", "markdown", "csv", "latex")


@dataclass(frozen=True)
class ReportOutcome:
    """The outcome of a report."""

    printed: tuple[Any, ...]  # rich tables, or text for another format without a folder
    files: tuple[Path, ...]
    messages: tuple[str, ...]  # what the report excludes, and why
    document: dict[str, Any] | None = None  # of --json

    def print(self, console: Console) -> None:
        """Print the output for the terminal."""
        from rich.text import Text

        for item in self.printed:
            is_text = isinstance(item, str)
            console.print(Text(item) if is_text else item, soft_wrap=is_text)


def run(
    results: Path,
    *,
    formats: Sequence[str] = ("terminal",),
    out: Path | None = None,
    html: Path | None = None,
    plots: bool = False,
    published: bool = False,
    baseline: str | None = None,
    texts: bool = False,
    test: str = "bootstrap",
    as_json: bool = False,
    every_table: bool = False,
    progress: bool = False,
) -> ReportOutcome:
    """Report on a results folder.

    Args:
        results: folder of ``patent-mteb run``.
        formats: of :data:`FORMATS`. Without ``out`` all of them are printed; with it, all but ``terminal`` are written
            there: ``report.md``, ``csv/<table>.csv`` (with the frames of :func:`patent_mteb.report.tables.tidy`)
            and ``tables.tex``.
        out: folder for tables and plots.
        html: folder for the page ``index.html``, which draws its own charts. May be the same as ``out``.
        plots: write every plot as PNG, SVG and PDF below ``plots/`` in ``out``, without it in ``html``.
        published: show measured rows among the rows of the papers.
        texts: let the page show texts of real data too, where their licence allows it. This reads all of the data.
        baseline: a model; letters mark significantly better runs.
        test: of :data:`patent_mteb.metrics.significance.TESTS`.
        as_json: return the document of ``--json`` too.
        every_table: print all tables on the terminal, not only the answers and the rows of papers.
        progress: show a bar while figures are drawn.
    """
    from tqdm.auto import tqdm

    from patent_mteb.files import write_text
    from patent_mteb.report import answers, figures, geometries, jobs, reproduce, tables
    from patent_mteb.report.cells import slug
    from patent_mteb.report.collect import ReportError, collect
    from patent_mteb.report.page import page, payload
    from patent_mteb.report.published import tables_with_measured_rows
    from patent_mteb.report.statistics import statistics

    if unknown := [name for name in formats if name not in FORMATS]:
        raise ReportError(f"unknown format {', '.join(unknown)}", remedy=f"choose from {', '.join(FORMATS)}")
    folder = out or html
    if plots and folder is None:
        raise ReportError("plots are written to a folder", remedy="name it with --out")
    if plots:
        figures.converter()
    collected = collect(results)
    for error in collected.damaged:
        raise error
    if collected.results.is_empty():
        listed = "\n".join(by_reason(collected.messages))
        raise ReportError(f"nothing in {results} can be reported:\n{listed}")
    compared = statistics(collected, baseline, test)
    by_task, unread = geometries.read(collected)
    reproduced = reproduce.reproduce(collected)
    paired = reproduce.table(reproduced)
    found = {name: jobs.jobs(source, compared) for name, source in collected.data_sources.items()}
    built = tables.build(collected, compared, found)
    measured = [*([replace(paired, summary=True)] if paired else []), *built, *geometries.tables(by_task)]
    rows_of_papers, notes = tables_with_measured_rows(collected) if published else ([], ())
    printed = [replace(table, summary=True) for table in rows_of_papers]
    comparison = reproduced.messages if "real" in collected.data_sources else ()
    every = list(dict.fromkeys([*collected.messages, *compared.messages, *comparison, *notes, *unread]))
    messages = by_reason(every)
    drawn = figures.draw(collected, by_task, compared) if plots else []
    frames = tables.tidy(collected, compared) if as_json or "csv" in formats else {}
    first = []
    if "terminal" in formats:
        by_name = {table.name: table for table in built}
        for name, source in collected.data_sources.items():
            first.append(answers.answers(source, found[name], by_name[slug(name, "overall")]))
    shown, files = _tables(frames, (*measured, *printed), formats, out, every_table, first)
    document = tables.as_json(frames, reproduce.as_json(reproduced)["lines"], every) if as_json else None
    if folder:
        for plot in tqdm(drawn, desc="Drawing", unit=" figures", disable=not (progress and drawn)):
            files += figures.save(plot.figure, folder / "plots" / plot.name)
    if html:
        content = payload(
            collected, compared, measured, printed, messages, texts=texts, geometries=by_task, found=found
        )
        files.append(write_text(html / "index.html", page(content)))
    return ReportOutcome(tuple(shown), tuple(files), tuple(map(visible, messages)), document)


def _tables(
    frames: Mapping[str, pl.DataFrame],
    tables: Sequence[Table],
    formats: Sequence[str],
    out: Path | None,
    every_table: bool,
    first: Sequence[Any],
) -> tuple[list[Any], list[Path]]:
    """Render the tables in every format; return the printed items, on a terminal after ``first``, and the files."""
    from patent_mteb.files import write_text
    from patent_mteb.report import rendering

    shown: list[Any] = []
    files: list[Path] = []
    for name in dict.fromkeys(formats):
        cut = name == "terminal" and not every_table
        chosen = [table for table in tables if table.summary or not cut]
        shown += first if name == "terminal" else []
        if name != "csv":  # where every column is always present
            chosen = [table.filled() for table in chosen]
        texts = {table.name: rendering.FORMATS[name](table) for table in chosen}
        if name == "terminal" or out is None:
            shown += texts.values()
            if left := len(tables) - len(chosen):
                shown.append(f"{left} tables: --every-table prints them, --html DIR shows them.")
        elif name == "csv":
            texts |= {stem: rendering.frame_as_csv(frame) for stem, frame in frames.items()}
            files += [write_text(out / "csv" / f"{stem}.csv", text) for stem, text in texts.items()]
        elif name == "latex":
            files.append(write_text(out / "tables.tex", "\n".join([rendering.LATEX_HEAD, *texts.values()])))
        else:
            files.append(write_text(out / "report.md", "\n".join(texts.values())))
    return shown, files
