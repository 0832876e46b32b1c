"""Formats of a table: terminal, Markdown, csv, LaTeX.

Marks (best bold, second underlined), letters and ranks are part of the cells, so all formats show the same. A missing
value is a dash, and empty in csv. Markup, formulas and line breaks in texts are escaped; control characters are written
out.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from patent_mteb.report.cells import COLUMNS, Cell, Column, Table
from patent_mteb.report.words import inert, visible

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType


_TERMINAL_ROWS = 60  # of one table: more scroll away


def as_terminal(table: Table) -> RenderableType:
    """Return a table for a rich console.

    A long table is cut, and columns are folded, with notes; a wide one is stacked
    (:mod:`patent_mteb.report.terminal`).
    """
    from rich.console import Group
    from rich.text import Text

    from patent_mteb.report.terminal import Hanging, Sheet

    if folded := [visible(column.title) for column in table.columns if column.folded]:
        places = [place for place, column in enumerate(table.columns) if not column.folded]
        note = f"In the other formats: {', '.join(folded)}."
        table = replace(table.with_columns(places), notes=(*table.notes, note), at_once=table.at_once)
    shown: list[RenderableType] = [Text(visible(table.banner), "bold yellow")] if table.banner else []
    for part in table.parts():
        right = [place for place, column in enumerate(part.columns) if column.numeric]
        rows = [
            [_terminal_cell(cell, "cyan" if position in part.emphasised else "") for cell in row]
            for position, row in enumerate(part.rows[:_TERMINAL_ROWS])
        ]
        titles = [visible(column.title) for column in part.columns]
        leading = min(right, default=1)
        shown += [Text(visible(part.title), "bold"), Sheet(titles, rows, right=right, leading=leading)]
    if len(table.rows) > _TERMINAL_ROWS:
        shown.append(Text(f"{len(table.rows) - _TERMINAL_ROWS} more rows are in the other formats.", "dim"))
    return Group(*shown, *(Hanging(Text(visible(note), "dim")) for note in table.notes), Text(""))


def _terminal_cell(cell: Cell, style: str) -> Any:
    from rich.text import Text

    text = Text(style=style)
    text.append(visible(cell.text), {"best": "bold", "second": "underline"}.get(cell.mark, ""))
    letters = f"\N{NO-BREAK SPACE}{cell.letters}" if cell.letters else ""
    rank = f"\N{NO-BREAK SPACE}({cell.rank})" if cell.rank else ""
    return text.append(cell.behind + letters + rank)


def as_markdown(table: Table) -> str:

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    lines: list[str] = []
    for part in table.parts():
        lines += ["", f"### {_markdown(part.title)}", ""] if lines else [f"## {_markdown(part.title)}", ""]
        lines += [f"> **{_markdown(table.banner)}**", ""] if table.banner and len(lines) == 2 else []
        lines.append(line(_markdown(column.title) for column in part.columns))
        lines.append(line("---:" if column.numeric else ":---" for column in part.columns))
        for position, row in enumerate(part.rows):
            lines.append(line(_markdown_cell(cell, position in part.emphasised) for cell in row))
    return "\n".join([*lines, *(f"\n{_markdown(note)}" for note in table.notes), ""])


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|~$]|&(?=#?\w+;))", r"\\\1", visible(text))


def _markdown_cell(cell: Cell, emphasised: bool) -> str:
    text = _markdown(cell.text)
    text = {"best": f"**{text}**", "second": f"<u>{text}</u>"}.get(cell.mark, text)
    if emphasised and isinstance(cell.value, str):
        text = f"**{text}**"
    letters = f"<sup>{cell.letters}</sup>" if cell.letters else ""
    return text + _markdown(cell.behind) + letters + (f" ({cell.rank})" if cell.rank else "")


def as_csv(table: Table) -> str:
    """Return values in full precision, missing ones empty.

    Additional columns are always present, also if no cell has a value for them.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    keys = [(inert(column.key), column.further) for column in table.columns]
    writer.writerow([name for key, further in keys for name in (key, *(f"{key}_{end}" for end in further))])
    for row in table.rows:
        line: list[Any] = []
        for cell, column in zip(row, table.columns, strict=True):
            line += map(_csv_value, (cell.value, *(FURTHER[end](cell) for end in column.further)))
        writer.writerow(line)
    return out.getvalue()


def _csv_value(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return inert(value) if isinstance(value, str) else "" if value is None else value


def _of_score(name: str) -> Callable[[Cell], Any]:
    return lambda cell: getattr(cell.score, name, None)


FURTHER: dict[str, Callable[[Cell], Any]] = {
    "rank": lambda cell: cell.rank,
    "too_small": lambda cell: cell.small,
    "better_than_baseline": lambda cell: bool(cell.letters),
    "interval_low": lambda cell: cell.interval and cell.interval[0],
    "interval_high": lambda cell: cell.interval and cell.interval[1],
    **{name: _of_score(name) for name in COLUMNS},
}
"""Additional columns of a cell in csv, by the suffix of their names; empty for none."""

COMPARED = ("too_small", "better_than_baseline", *COLUMNS)  # additional columns of main scores in csv


def frame_as_csv(frame: pl.DataFrame) -> str:
    """Return a tidy table as csv, its texts as those of :func:`as_csv`."""
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    for name in texts:
        changed = {text: inert(text) for text in frame[name].unique().drop_nulls()}
        frame = frame.with_columns(pl.col(name).replace({text: safe for text, safe in changed.items() if text != safe}))
    return frame.write_csv()


_LATEX = (
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\N{NO-BREAK SPACE}": "~"}
    | {"→": r"$\to$", "≈": r"$\approx$", "◦": r"$\circ$", "∅": r"$\emptyset$", "−": "$-$", "α": r"$\alpha$"}
    | {"–": "--", "—": "---", "…": r"\ldots{}", "†": r"\textdagger{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {character: rf"\{character}" for character in "&%$#_{}"}
    | {character: rf"{{{character}}}" for character in "[]*"}  # \\ and \midrule take these for arguments of their own
)

_LATIN = 0x17F  # the last character that pdflatex sets without a package
_LINE = 92  # characters of size scriptsize in a line of 345 pt, the text width of the standard classes
_WRAPPED = 24  # width in characters of a column with line breaks, for longer texts
_HEADING = 13  # width in characters of a heading above numbers; longer headings take several lines

_BREAKS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[/_.=,@+])|(?<=[^\x00-\u017f])")  # positions where a name may break


def _latex(text: str) -> str:
    return "".join(
        _LATEX.get(character) or (character if ord(character) <= _LATIN else f"{{[U+{ord(character):04X}]}}")
        for character in visible(text)
    )


def as_latex(table: Table) -> str:
    """Return a LaTeX table that breaks over pages (packages booktabs and longtable).

    Columns that do not fit the width follow in further tables. Characters that pdflatex cannot set are written as their
    numbers.
    """
    notes = " ".join(filter(None, (table.banner, *table.notes)))
    first, *further = _fitting(table)
    labels = (f"{table.name}-{number}" for number in range(2, len(further) + 2))
    others = (_longtable(part, label, "") for part, label in zip(further, labels, strict=True))
    return "\n".join([_longtable(first, table.name, notes), *others])


def _width(table: Table, place: int) -> int:
    """Return the width of a column in characters, with the distance to the next; bold numbers are wider."""
    column = table.columns[place]
    title = _letters(column.title)
    if column.numeric:
        title = min(title + sum(map(str.isupper, column.title)) // 3, _HEADING)
    cells = (row[place] for row in table.rows)
    widths = (_letters(cell.text) + len(cell.behind) + 2 * len(cell.letters) + (cell.mark == "best") for cell in cells)
    return min(max(title, *widths, 0), _WRAPPED) + 2


def _letters(text: str) -> int:
    """Return the width of a printed text, in which some characters are written as their numbers."""
    return sum(1 if character in _LATEX or ord(character) <= _LATIN else len("[U+0000]") for character in text)


def _fitting(table: Table) -> list[Table]:
    """Split a table into parts that fit a line; each part has the leading text columns."""
    widths = [_width(table, place) for place in range(len(table.columns))]
    leading = table.leading if any(column.numeric for column in table.columns) else 1
    chunks: list[list[int]] = [[]]
    for place in range(leading, len(table.columns)):
        if chunks[-1] and sum(widths[:leading]) + sum(widths[one] for one in chunks[-1]) + widths[place] > _LINE:
            chunks.append([])
        chunks[-1].append(place)
    which = [f", part {number} of {len(chunks)}" for number in range(1, len(chunks) + 1)] if len(chunks) > 1 else [""]
    return [table.with_columns((*range(leading), *chunk), part) for chunk, part in zip(chunks, which, strict=True)]


def _longtable(table: Table, label: str, notes: str) -> str:
    def line(cells: Iterable[str]) -> str:
        return " & ".join(cells) + r" \\"

    columns = table.columns
    wrapped = {place for place, column in enumerate(columns) if not column.numeric and _width(table, place) > _WRAPPED}
    kinds = ["r" if column.numeric else "l" for column in columns]
    for place in wrapped:
        kinds[place] = r">{\raggedright\arraybackslash}p{0.25\linewidth}"
    head = line(map(_latex_heading, columns))
    rows = (
        line(_latex_cell(cell, position in table.emphasised, place in wrapped) for place, cell in enumerate(row))
        for position, row in enumerate(table.rows)
    )
    return "\n".join(
        [
            r"\begingroup\scriptsize\setlength{\tabcolsep}{2.5pt}",
            rf"\begin{{longtable}}{{{''.join(kinds)}}}",
            rf"\caption{{{_latex(table.title)}. {_latex(notes)}}}\label{{tab:{label}}}\\",
            rf"\toprule {head} \midrule \endfirsthead",
            rf"\toprule {head} \midrule \endhead",
            r"\bottomrule \endlastfoot",
            *rows,
            r"\end{longtable}",
            r"\endgroup",
            "",
        ]
    )


LATEX_HEAD = r"% \usepackage{array,booktabs,longtable}"  # preamble of a document with the tables


def _breakable(text: str) -> str:
    return r"\allowbreak{}".join(map(_latex, _BREAKS.split(text)))


def _latex_heading(column: Column) -> str:
    """Return the title of a column, over several lines if it is much wider than the numbers below it."""
    if not column.numeric or _letters(column.title) <= _HEADING:
        return _latex(column.title)
    return rf"\parbox[b]{{{_HEADING / _LINE:.2f}\linewidth}}{{\raggedleft\hspace{{0pt}}{_breakable(column.title)}}}"


def _latex_cell(cell: Cell, emphasised: bool, wrapped: bool) -> str:
    text = _breakable(cell.text) if wrapped else _latex(cell.text)
    text = {"best": rf"\textbf{{{text}}}", "second": rf"\underline{{{text}}}"}.get(cell.mark, text)
    if emphasised and isinstance(cell.value, str):
        text = rf"\textit{{{text}}}"
    letters = rf"$^{{{cell.letters}}}$" if cell.letters else ""
    return text + _latex(cell.behind) + letters + (f" ({cell.rank})" if cell.rank else "")


FORMATS: dict[str, Callable[[Table], Any]] = {
    "terminal": as_terminal,
    "markdown": as_markdown,
    "csv": as_csv,
    "latex": as_latex,
}
"""Renderer of each format of :data:`patent_mteb.report.FORMATS`."""
