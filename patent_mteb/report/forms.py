"""The forms of a table: terminal, markdown, csv, LaTeX.

Marks (best bold, second underlined), letters and ranks are part of the cells, so all forms show the same. What was not measured is a
dash, empty in csv.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from patent_mteb.report.cells import Cell, Table

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["FORMATS", "as_csv", "as_latex", "as_markdown", "as_terminal"]

_TERMINAL_ROWS = 60


def as_terminal(table: Table) -> RenderableType:
    """A table for a rich console; a long one is cut, and says so."""
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(title=Text(table.title, "bold"), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns:
        drawn.add_column(Text(column.title), justify="right" if column.numeric else "left", no_wrap=not column.numeric, overflow="fold")
    for position, row in enumerate(table.rows[:_TERMINAL_ROWS]):
        style = "cyan" if position in table.emphasised else ""
        drawn.add_row(*(_terminal_cell(cell, style) for cell in row))
    lines = [Text(note, "dim") for note in table.notes]
    if len(table.rows) > _TERMINAL_ROWS:
        lines.insert(0, Text(f"{len(table.rows) - _TERMINAL_ROWS} more rows are in the other formats.", "dim"))
    above = [Text(table.banner, "bold yellow")] if table.banner else []
    return Group(*above, drawn, *lines, Text(""))


def _terminal_cell(cell: Cell, style: str) -> Any:
    from rich.text import Text

    text = Text(style=style)
    text.append(cell.text, {"best": "bold", "second": "underline"}.get(cell.mark, ""))
    text.append((f"\N{NO-BREAK SPACE}{cell.letters}" if cell.letters else "") + (f"\N{NO-BREAK SPACE}({cell.rank})" if cell.rank else ""))
    return text


def as_markdown(table: Table) -> str:
    """A GitHub-flavoured markdown table under a heading."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    banner = [f"> **{_markdown(table.banner)}**", ""] if table.banner else []
    head = [line([_markdown(column.title) for column in table.columns])]
    head.append(line(["---:" if column.numeric else ":---" for column in table.columns]))
    body = [line([_markdown_cell(cell, position in table.emphasised) for cell in row]) for position, row in enumerate(table.rows)]
    notes = [f"\n{_markdown(note)}" for note in table.notes]
    return "\n".join([f"## {_markdown(table.title)}", "", *banner, *head, *body, *notes, ""])


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def _markdown_cell(cell: Cell, emphasised: bool) -> str:
    text = _markdown(cell.text)
    text = {"best": f"**{text}**", "second": f"<u>{text}</u>"}.get(cell.mark, text)
    if emphasised and isinstance(cell.value, str):
        text = f"**{text}**"
    return text + (f"<sup>{cell.letters}</sup>" if cell.letters else "") + (f" ({cell.rank})" if cell.rank else "")


def as_csv(table: Table) -> str:
    """Values in full precision, missing ones empty; letters and ranks in columns of their own."""
    lettered = [any(row[position].letters for row in table.rows) for position in range(len(table.columns))]
    ranked = [any(row[position].rank for row in table.rows) for position in range(len(table.columns))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head: list[str] = []
    for column, letters, ranks in zip(table.columns, lettered, ranked, strict=True):
        head += [column.key, *([f"{column.key}_better_than_baseline"] * letters), *([f"{column.key}_rank"] * ranks)]
    writer.writerow(head)
    for row in table.rows:
        line: list[Any] = []
        for cell, letters, ranks in zip(row, lettered, ranked, strict=True):
            line += ["" if cell.value is None else cell.value, *([cell.letters] * letters), *([cell.rank or ""] * ranks)]
        writer.writerow(line)
    return out.getvalue()


_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "→": r"$\to$", "–": "--", "−": "$-$"} | {
    character: rf"\{character}" for character in "&%$#_{}"
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def as_latex(table: Table) -> str:
    """A LaTeX table (package booktabs)."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    spec = "".join("r" if column.numeric else "l" for column in table.columns)
    notes = " ".join(filter(None, (table.banner, *table.notes)))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_latex(table.title)}. {_latex(notes)}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{{spec}}}",
            r"\toprule",
            line([_latex(column.title) for column in table.columns]),
            r"\midrule",
            *(line([_latex_cell(cell, position in table.emphasised) for cell in row]) for position, row in enumerate(table.rows)),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _latex_cell(cell: Cell, emphasised: bool) -> str:
    text = _latex(cell.text)
    text = {"best": rf"\textbf{{{text}}}", "second": rf"\underline{{{text}}}"}.get(cell.mark, text)
    if emphasised and isinstance(cell.value, str):
        text = rf"\textit{{{text}}}"
    return text + (rf"$^{{{cell.letters}}}$" if cell.letters else "") + (f" ({cell.rank})" if cell.rank else "")


FORMATS: dict[str, Callable[[Table], Any]] = {
    "terminal": as_terminal,
    "markdown": as_markdown,
    "csv": as_csv,
    "latex": as_latex,
}
"""Form by name, as ``patent-mteb report --format`` takes it."""
