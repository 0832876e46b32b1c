"""The forms of a table: terminal, markdown, csv, LaTeX.

Marks (best bold, second underlined), letters and ranks are part of the cells, so all forms show the same. What was not measured is a
dash, empty in csv. Text is shown as it is: what a form would take for markup, a formula or a line break is escaped, and control characters
are written out.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from patent_mteb.report.cells import Cell, Table
from patent_mteb.report.names import inert, visible

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

__all__ = ["FORMATS", "as_csv", "as_latex", "as_markdown", "as_terminal", "frame_as_csv"]

_TERMINAL_ROWS = 60


def as_terminal(table: Table) -> RenderableType:
    """A table for a rich console; a long one is cut, and says so.

    Example:
        >>> from rich.console import Console
        >>> from patent_mteb.report.cells import Cell, Column, Table
        >>> from patent_mteb.report.forms import as_terminal
        >>> columns = Column("model", "Model", numeric=False), Column("ndcg", "nDCG@10")
        >>> Console(width=40).print(as_terminal(Table("scores", "Scores", columns, ((Cell("bm25"), Cell(0.25)),))))
        Scores
        Model  nDCG@10
        bm25    0.2500
    """
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(title=_styled(table.title, "bold"), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns:
        drawn.add_column(_styled(column.title), justify="right" if column.numeric else "left", no_wrap=not column.numeric, overflow="fold")
    for position, row in enumerate(table.rows[:_TERMINAL_ROWS]):
        style = "cyan" if position in table.emphasised else ""
        drawn.add_row(*(_terminal_cell(cell, style) for cell in row))
    lines = [_styled(note, "dim") for note in table.notes]
    if len(table.rows) > _TERMINAL_ROWS:
        lines.insert(0, Text(f"{len(table.rows) - _TERMINAL_ROWS} more rows are in the other formats.", "dim"))
    above = [_styled(table.banner, "bold yellow")] if table.banner else []
    return Group(*above, drawn, *lines, Text(""))


def _styled(text: str, style: str = "") -> Any:
    from rich.text import Text

    return Text(visible(text), style)


def _terminal_cell(cell: Cell, style: str) -> Any:
    from rich.text import Text

    text = Text(style=style)
    text.append(visible(cell.text), {"best": "bold", "second": "underline"}.get(cell.mark, ""))
    text.append(
        cell.behind
        + (f"\N{NO-BREAK SPACE}{cell.letters}" if cell.letters else "")
        + (f"\N{NO-BREAK SPACE}({cell.rank})" if cell.rank else "")
    )
    return text


def as_markdown(table: Table) -> str:
    """A GitHub-flavoured markdown table under a heading.

    Example:
        >>> from patent_mteb.report.cells import Cell, Column, Table
        >>> from patent_mteb.report.forms import as_markdown
        >>> columns = Column("model", "Model", numeric=False), Column("ndcg", "nDCG@10")
        >>> as_markdown(Table("scores", "Scores", columns, ((Cell("bm25"), Cell(0.25)),))).splitlines()[-1]
        '| bm25 | 0.2500 |'
    """

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    banner = [f"> **{_markdown(table.banner)}**", ""] if table.banner else []
    head = [line([_markdown(column.title) for column in table.columns])]
    head.append(line(["---:" if column.numeric else ":---" for column in table.columns]))
    body = [line([_markdown_cell(cell, position in table.emphasised) for cell in row]) for position, row in enumerate(table.rows)]
    notes = [f"\n{_markdown(note)}" for note in table.notes]
    return "\n".join([f"## {_markdown(table.title)}", "", *banner, *head, *body, *notes, ""])


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|~$]|&(?=#?\w+;))", r"\\\1", visible(text))


def _markdown_cell(cell: Cell, emphasised: bool) -> str:
    text = _markdown(cell.text)
    text = {"best": f"**{text}**", "second": f"<u>{text}</u>"}.get(cell.mark, text)
    if emphasised and isinstance(cell.value, str):
        text = f"**{text}**"
    return text + _markdown(cell.behind) + (f"<sup>{cell.letters}</sup>" if cell.letters else "") + (f" ({cell.rank})" if cell.rank else "")


def as_csv(table: Table) -> str:
    """Values in full precision, missing ones empty; letters, ranks, what has too little and its interval in columns of their own.

    Example:
        >>> from patent_mteb.report.cells import Cell, Column, Table
        >>> from patent_mteb.report.forms import as_csv
        >>> columns = Column("model", "Model", numeric=False), Column("ndcg", "nDCG@10")
        >>> print(as_csv(Table("scores", "Scores", columns, ((Cell("bm25"), Cell(0.25)),))), end="")
        model,ndcg
        bm25,0.25
    """
    further = [
        [(end, found) for end, found in _FURTHER.items() if any(found(row[place]) for row in table.rows)]
        for place in range(len(table.columns))
    ]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    keys = [inert(column.key) for column in table.columns]
    writer.writerow([name for key, more in zip(keys, further, strict=True) for name in (key, *(f"{key}_{end}" for end, _ in more))])
    for row in table.rows:
        line: list[Any] = []
        for cell, more in zip(row, further, strict=True):
            value = inert(cell.value) if isinstance(cell.value, str) else "" if cell.value is None else cell.value
            line += [value, *(found(cell) for _, found in more)]
        writer.writerow(line)
    return out.getvalue()


_FURTHER: dict[str, Callable[[Cell], Any]] = {
    "better_than_baseline": lambda cell: cell.letters,
    "rank": lambda cell: cell.rank or "",
    "too_small": lambda cell: inert(cell.small),
    "low": lambda cell: "" if cell.interval is None else str(cell.interval[0]),
    "high": lambda cell: "" if cell.interval is None else str(cell.interval[1]),
}
"""What else a cell may hold, by the ending of its column in csv; empty for none."""


def frame_as_csv(frame: pl.DataFrame) -> str:
    """A tidy table as csv, its texts as those of :func:`as_csv`.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.forms import frame_as_csv
        >>> print(frame_as_csv(pl.DataFrame({"model": ["=1+1"], "value": [-0.5]})), end="")
        model,value
        '=1+1,-0.5
    """
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    for name in texts:
        changed = {text: inert(text) for text in frame[name].unique().drop_nulls()}
        frame = frame.with_columns(pl.col(name).replace({text: safe for text, safe in changed.items() if text != safe}))
    return frame.write_csv()


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "→": r"$\to$",
    "–": "--",
    "−": "$-$",
    "†": r"\textdagger{}",
    "\N{NO-BREAK SPACE}": "~",
} | {character: rf"\{character}" for character in "&%$#_{}"}
_LATEX |= {character: rf"{{{character}}}" for character in "[]*"}  # \\ and \midrule take these for arguments of their own


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in visible(text))


def as_latex(table: Table) -> str:
    """A LaTeX table (package booktabs).

    Example:
        >>> from patent_mteb.report.cells import Cell, Column, Table
        >>> from patent_mteb.report.forms import as_latex
        >>> columns = Column("model", "Model", numeric=False), Column("ndcg", "nDCG@10")
        >>> "bm25 & 0.2500" in as_latex(Table("scores", "Scores", columns, ((Cell("bm25"), Cell(0.25)),)))
        True
    """

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
    return text + _latex(cell.behind) + (rf"$^{{{cell.letters}}}$" if cell.letters else "") + (f" ({cell.rank})" if cell.rank else "")


FORMATS: dict[str, Callable[[Table], Any]] = {
    "terminal": as_terminal,
    "markdown": as_markdown,
    "csv": as_csv,
    "latex": as_latex,
}
"""Form by name, as ``patent-mteb report --format`` takes it."""
