"""Formats of a table: terminal, Markdown, csv, LaTeX.

Marks (best bold, second underlined), letters and ranks are part of the cells, so all formats show the same. A missing
value is a dash, and empty in csv. Markup, formulas and line breaks in texts are escaped; control characters are written
out.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from patent_mteb.report.cells import COLUMNS, Cell, Column, Score, Table
from patent_mteb.report.words import inert, visible

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType


_TERMINAL_ROWS = 60


def as_terminal(table: Table) -> RenderableType:
    """Return a table for a rich console.

    A long table is cut, with a note; a wide one is stacked (:mod:`patent_mteb.report.terminal`).
    """
    from rich.console import Group
    from rich.text import Text

    lines = [_styled(note, "dim") for note in table.notes]
    if len(table.rows) > _TERMINAL_ROWS:
        lines.insert(0, Text(f"{len(table.rows) - _TERMINAL_ROWS} more rows are in the other formats.", "dim"))
    above = [_styled(table.banner, "bold yellow")] if table.banner else []
    return Group(*above, *(one for part in table.parts() for one in _terminal_part(part)), *lines, Text(""))


def _terminal_part(table: Table) -> tuple[RenderableType, ...]:
    from patent_mteb.report.terminal import Sheet

    right = {place for place, column in enumerate(table.columns) if column.numeric}
    rows = [
        [_terminal_cell(cell, "cyan" if position in table.emphasised else "") for cell in row]
        for position, row in enumerate(table.rows[:_TERMINAL_ROWS])
    ]
    titles = [visible(column.title) for column in table.columns]
    return _styled(table.title, "bold"), Sheet(titles, rows, right=right, leading=min(right, default=1))


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
    """Return a GitHub-flavoured Markdown table under a heading."""

    banner = [f"> **{_markdown(table.banner)}**", ""] if table.banner else []
    notes = [f"\n{_markdown(note)}" for note in table.notes]
    first, *further = table.parts()
    body = [*_markdown_rows(first)]
    for part in further:
        body += ["", f"### {_markdown(part.title)}", "", *_markdown_rows(part)]
    return "\n".join([f"## {_markdown(first.title)}", "", *banner, *body, *notes, ""])


def _markdown_rows(table: Table) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    head = [line([_markdown(column.title) for column in table.columns])]
    head.append(line(["---:" if column.numeric else ":---" for column in table.columns]))
    return head + [
        line([_markdown_cell(cell, position in table.emphasised) for cell in row])
        for position, row in enumerate(table.rows)
    ]


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|~$]|&(?=#?\w+;))", r"\\\1", visible(text))


def _markdown_cell(cell: Cell, emphasised: bool) -> str:
    text = _markdown(cell.text)
    text = {"best": f"**{text}**", "second": f"<u>{text}</u>"}.get(cell.mark, text)
    if emphasised and isinstance(cell.value, str):
        text = f"**{text}**"
    return (
        text
        + _markdown(cell.behind)
        + (f"<sup>{cell.letters}</sup>" if cell.letters else "")
        + (f" ({cell.rank})" if cell.rank else "")
    )


def as_csv(table: Table) -> str:
    """Return values in full precision, missing ones empty.

    Additional columns are always present, also if no cell has a value for them.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            name
            for column in table.columns
            for key in [inert(column.key)]
            for name in (key, *(f"{key}_{end}" for end in column.further))
        ]
    )
    for row in table.rows:
        line: list[Any] = []
        for cell, column in zip(row, table.columns, strict=True):
            line += [_csv_value(cell.value), *(_csv_value(FURTHER[end](cell)) for end in column.further)]
        writer.writerow(line)
    return out.getvalue()


def _csv_value(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return inert(value) if isinstance(value, str) else "" if value is None else value


def _of_score(found: Callable[[Score], Any]) -> Callable[[Cell], Any]:
    return lambda cell: None if cell.score is None else found(cell.score)


FURTHER: dict[str, Callable[[Cell], Any]] = {
    "rank": lambda cell: cell.rank,
    "too_small": lambda cell: cell.small,
    "better_than_baseline": lambda cell: bool(cell.letters),
    "interval_low": lambda cell: None if cell.interval is None else cell.interval[0],
    "interval_high": lambda cell: None if cell.interval is None else cell.interval[1],
    **{name: _of_score(found) for name, found in COLUMNS.items()},
}
"""Additional columns of a cell in csv, by the suffix of their names; empty for none."""

COMPARED = ("too_small", "better_than_baseline", *COLUMNS)
"""Additional columns of main scores in csv."""


def frame_as_csv(frame: pl.DataFrame) -> str:
    """Return a tidy table as csv, its texts as those of :func:`as_csv`."""
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
    "≈": r"$\approx$",
    "◦": r"$\circ$",
    "∅": r"$\emptyset$",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "…": r"\ldots{}",
    "†": r"\textdagger{}",
    "α": r"$\alpha$",
    "\N{NO-BREAK SPACE}": "~",
} | {character: rf"\{character}" for character in "&%$#_{}"}

_LATEX |= {
    character: rf"{{{character}}}" for character in "[]*"
}  # \\ and \midrule take these for arguments of their own

_LATEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}

_LATIN = 0x17F
"""The last character that pdflatex sets without a package."""

_LINE = 92
"""Characters of size scriptsize in a line of 345 pt, the text width of the standard classes."""

_WRAPPED = 24
"""Width in characters of a column with line breaks, for longer texts."""

_HEADING = 13
"""Width in characters of a heading above numbers; longer headings take several lines."""

_BREAKS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[/_.=,@+])|(?<=[^\x00-\u017f])")
"""Positions where a name may break."""


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
    parts = _fitting(table)
    notes = " ".join(filter(None, (table.banner, *table.notes)))
    return "\n".join(
        _longtable(part, f"{table.name}-{number}" if number > 1 else table.name, notes if number == 1 else "")
        for number, part in enumerate(parts, start=1)
    )


def _width(table: Table, place: int) -> int:
    """Return the width of a column in characters, with the distance to the next."""
    column = table.columns[place]
    widest = max(map(_length, (row[place] for row in table.rows)), default=0)
    title = (
        min(_letters(column.title) + sum(map(str.isupper, column.title)) // 3, _HEADING)
        if column.numeric
        else _letters(column.title)
    )
    return min(max(widest, title), _WRAPPED) + 2


def _length(cell: Cell) -> int:
    """Return the width of a cell in characters; bold ones are wider."""
    return _letters(cell.text) + len(cell.behind) + 2 * len(cell.letters) + (cell.mark == "best")


def _letters(text: str) -> int:
    """Return the width of a printed text, in which some characters are written as their numbers."""
    return sum(1 if character in _LATEX or ord(character) <= _LATIN else len("[U+0000]") for character in text)


def _fitting(table: Table) -> list[Table]:
    """Split a table into parts that fit a line; each part has the leading text columns."""
    widths = [_width(table, place) for place in range(len(table.columns))]
    leading = next((place for place, column in enumerate(table.columns) if column.numeric), 1)
    chunks: list[list[int]] = [[]]
    for place in range(leading, len(table.columns)):
        if chunks[-1] and sum(widths[:leading]) + sum(widths[one] for one in chunks[-1]) + widths[place] > _LINE:
            chunks.append([])
        chunks[-1].append(place)
    several = len(chunks) > 1
    return [
        table.with_columns((*range(leading), *chunk), f", part {number} of {len(chunks)}" if several else "")
        for number, chunk in enumerate(chunks, start=1)
    ]


def _longtable(table: Table, label: str, notes: str) -> str:
    def line(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    def kind(place: int) -> str:
        if place in wrapped:
            return r">{\raggedright\arraybackslash}p{0.25\linewidth}"
        return "r" if table.columns[place].numeric else "l"

    wrapped = {
        place for place, column in enumerate(table.columns) if not column.numeric and _width(table, place) > _WRAPPED
    }
    head = line(list(map(_latex_heading, table.columns)))
    rows = [
        [_latex_cell(cell, n in table.emphasised, place in wrapped) for place, cell in enumerate(row)]
        for n, row in enumerate(table.rows)
    ]
    return "\n".join(
        [
            r"\begingroup\scriptsize\setlength{\tabcolsep}{2.5pt}",
            rf"\begin{{longtable}}{{{''.join(map(kind, range(len(table.columns))))}}}",
            rf"\caption{{{_latex(table.title)}. {_latex(notes)}}}\label{{tab:{label}}}\\",
            rf"\toprule {head} \midrule \endfirsthead",
            rf"\toprule {head} \midrule \endhead",
            r"\bottomrule \endlastfoot",
            *map(line, rows),
            r"\end{longtable}",
            r"\endgroup",
            "",
        ]
    )


LATEX_HEAD = r"% \usepackage{array,booktabs,longtable}"
"""Preamble of a document with the tables."""


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
    return (
        text
        + _latex(cell.behind)
        + (rf"$^{{{cell.letters}}}$" if cell.letters else "")
        + (f" ({cell.rank})" if cell.rank else "")
    )


FORMATS: dict[str, Callable[[Table], Any]] = {
    "terminal": as_terminal,
    "markdown": as_markdown,
    "csv": as_csv,
    "latex": as_latex,
}
"""Renderer of each format of :data:`patent_mteb.report.FORMATS`."""
