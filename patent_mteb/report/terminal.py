"""Tables on a terminal, as wide as it is, with every name and number in full.

Cells break between words only. A table that is still too wide is stacked: the leading cells of a row are on a line of
their own, the other columns on the lines below. Spare columns are named below the table where a row would have more
than two lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    _Places = Sequence[int]  # of columns
    _Rows = Sequence[Sequence[Text]]


_GAP = 2  # spaces between columns, and before the lines below the head of a row
_HEADING = 14  # least width of a heading above numbers, in characters
_BREAKS = re.compile(r"(?<=[/_.=,@+\-])")  # positions where a name that is wider than the terminal may break


def folded(name: str, width: int) -> str:
    """Return a name in lines of at most ``width`` characters, broken after a separator if there is one."""
    lines = [""]
    for piece in _BREAKS.split(name):
        if lines[-1] and cell_len(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


class Hanging:
    """A text whose broken lines continue with an indent, so that they are read as one."""

    def __init__(self, text: Text) -> None:
        lines = text.split("\n", allow_blank=True)
        self.lines = [(line, _GAP + len(line.plain) - len(line.plain.lstrip())) for line in lines]
        self.least = max(indent + _longest_word(line) for line, indent in self.lines)  # no word is broken

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line, indent in self.lines:
            first, *_ = line.wrap(console, options.max_width)
            yield first
            if rest := line.plain[len(first) :].lstrip():
                more = line[len(line) - len(rest) :].wrap(console, options.max_width - indent)
                yield from (Text(" " * indent) + part for part in more)


class Sheet:
    def __init__(
        self, titles: Sequence[str], rows: _Rows, *, right: _Places = (), leading: int = 1, spare: _Places = ()
    ) -> None:
        self.rows, self.right, self.leading, self.spare = rows, right, min(leading, len(titles) - 1), spare
        self.cells = [[row[place] for row in rows] for place in range(len(titles))]
        self.titles = list(titles)
        for place in right:  # not wider than the numbers below
            width = max(_HEADING, *map(_longest_word, self.cells[place]), 0)
            self.titles[place] = folded(titles[place], width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        kept, width = self._kept(options.max_width), options.max_width
        if below := self._below(kept, width):
            yield from self._stacked(below, width)
        else:
            table = self._table(kept, self._widths(kept, width), header=True)
            for row in self.rows:
                table.add_row(*(row[place] for place in kept))
            yield table
        if missing := ", ".join(self.titles[place] for place in self.spare if place not in kept).replace("\n", ""):
            yield Hanging(Text(f"On a wider terminal, or with --every-table: {missing}.", "dim"))

    def _kept(self, width: int) -> list[int]:
        """Return all columns or, where a row has three lines, those on one line if these are most, or on two."""
        n = len(self.spare)
        tried = [(2, n), *((1, left) for left in range(n, n // 2, -1)), *((2, left) for left in range(n, 0, -1))]
        for n_lines, left in tried:
            kept = [place for place in range(len(self.titles)) if place not in self.spare[left:]]
            if len(self._below(kept, width)) < n_lines:
                break
        return kept

    def _least(self, places: _Places) -> int:
        """Return the smallest width of some columns next to each other."""
        return sum(map(self._narrowest, places)) + _GAP * (len(places) - 1)

    def _narrowest(self, place: int) -> int:
        return max(map(_longest_word, (Text(self.titles[place]), *self.cells[place])))

    def _widest(self, place: int) -> int:
        texts = (self.titles[place], *(cell.plain for cell in self.cells[place]))
        return max(cell_len(line) for text in texts for line in text.split("\n"))

    def _widths(self, places: _Places, width: int) -> list[int]:
        """Return the widths of columns: the least of each, then the rest to narrow columns first."""
        widths = {place: min(self._narrowest(place), width) for place in places}
        left = width - sum(widths.values()) - _GAP * (len(places) - 1)
        by_need = sorted(places, key=lambda place: self._widest(place) - widths[place])
        for number, place in enumerate(by_need):
            more = max(0, min(self._widest(place) - widths[place], left // (len(by_need) - number)))
            widths[place] += more
            left -= more
        return [widths[place] for place in places]

    def _table(self, places: _Places, widths: Sequence[int], *, header: bool) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=header)
        for place, width in zip(places, widths, strict=True):
            justify = "right" if place in self.right else "left"
            title = Text(self.titles[place])
            table.add_column(title, justify=justify, width=width, overflow="fold")  # type: ignore[arg-type]
        return table

    def _below(self, places: _Places, width: int) -> list[list[int]]:
        """Return the columns after the leading ones, in groups that fit a line below; none if all fit on one line."""
        if self._least(places) <= width:
            return []
        chunks: list[list[int]] = [[]]
        for place in places[self.leading :]:
            if chunks[-1] and self._least([*chunks[-1], place]) > width - _GAP:
                chunks.append([])
            chunks[-1].append(place)
        return chunks

    def _stacked(self, below: Sequence[_Places], width: int) -> Iterator[Text | Padding]:
        lines = [(places, self._widths(places, width - _GAP)) for places in below]
        heads = [Text(title, "bold") for title in self.titles]
        for row in (heads, *self.rows):
            yield self._head(row[: self.leading], width)
            for places, widths in lines:
                table = self._table(places, widths, header=False)
                table.add_row(*(row[place] for place in places))
                yield Padding(table, (0, 0, 0, _GAP))

    def _head(self, cells: Sequence[Text], width: int) -> Text:
        """Return the leading cells of a row, on one line if they fit."""
        joined = Text(" " * _GAP).join(cells)
        if cell_len(joined.plain) <= width:
            return joined
        return Text("\n").join(Text(folded(cell.plain, width), cell.style) for cell in cells)


def _longest_word(text: Text) -> int:
    return max(map(cell_len, re.split(r"[ \n]+", text.plain)))
