"""Tables of any export through one column map (:mod:`patent_mteb.readers.columns`); the maps that ship lie in ``maps/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.readers.columns import ColumnMap, parse_map, read_map
from patent_mteb.readers.items import Item, LeftOut, Noted, Reader
from patent_mteb.readers.rows import RowReader
from patent_mteb.readers.sheets import Torn, open_sheet
from patent_mteb.readers.suggest import suggest

__all__ = ["SHIPPED", "read_map", "read_table", "reader_of", "readers", "suggest"]

SHIPPED = ("derwent", "lens", "espacenet", "patentscope", "bigquery", "patstat-citations", "patstat")
"""The maps of this package; a table is given to the first whose columns it has."""


def readers() -> list[Reader]:
    """The readers of the maps that ship, and at the end the one of any table whose columns have names that speak for themselves.

    Example:
        >>> from patent_mteb.readers.tables import readers
        >>> [reader.name for reader in readers()][-2:]
        ['patstat', 'table']
    """
    shipped = [reader_of(read_map(Path(__file__).with_name("maps") / f"{name}.toml")) for name in SHIPPED]
    what = "any table whose columns are called as our fields or by a common name"
    return [*shipped, Reader("table", what, _speaks_for_itself, _read_suggested)]


def reader_of(columns: ColumnMap) -> Reader:
    """The reader of a column map.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.columns import parse_map
        >>> from patent_mteb.readers.tables import reader_of
        >>> _ = Path("mine.csv").write_text("No;Name\\nUS7000001B2;Pump\\n")
        >>> reader = reader_of(parse_map("[fields]\\npublication_number = 'No'\\ntitle = 'Name'", Path("mine.toml")))
        >>> next(reader.read(Path("mine.csv"))).title
        'Pump'
    """
    return Reader(columns.name, columns.what, partial(_recognised, columns), partial(read_table, columns=columns), columns.text)


def _recognised(columns: ColumnMap, path: Path) -> bool:
    wanted = set(map(_folded, columns.recognised_by))
    return bool(wanted) and wanted <= set(map(_folded, open_sheet(path, lambda name: _folded(name) in wanted).columns))


def _speaks_for_itself(path: Path) -> bool:
    return bool(suggest(path))


def _read_suggested(path: Path) -> Iterator[Item]:
    columns = parse_map(suggest(path), path)
    read = [f"'{one.column[0]}' as {ours}" for part in columns.sections() for ours, one in part.items() if one.column]
    yield Noted("columns read", ", ".join(read), len(read))
    yield from read_table(path, columns)


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def read_table(path: Path, columns: ColumnMap) -> Iterator[Item]:
    """The records of a table.

    Raises:
        DataError: the file is no table, or lacks a column that the map names.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.columns import parse_map
        >>> from patent_mteb.readers.tables import read_table
        >>> _ = Path("mine.csv").write_text("No,Cited\\nUS7000001B2,US6000001B1 | EP1000000A1\\n")
        >>> columns = parse_map("[fields]\\npublication_number = 'No'\\n[citations]\\ncited = 'Cited'", Path("mine.toml"))
        >>> [item.cited for item in read_table(Path("mine.csv"), columns) if hasattr(item, "cited")]
        ['US6000001B1', 'EP1000000A1']
    """
    wanted = {_folded(name) for name in (*columns.names(), *columns.recognised_by)}
    sheet = open_sheet(path, lambda name: _folded(name) in wanted, columns.preamble, columns.delimiter, columns.sheet)
    places, notes = _places(columns, sheet.columns, path)
    yield from notes
    rows = RowReader(columns, places)
    for number, row in sheet.rows:
        if isinstance(row, Torn):
            yield LeftOut("", f"row {number}", row.reason, row.text)
        else:
            yield from rows.items(number, row)


def _places(columns: ColumnMap, there: Sequence[str], path: Path) -> tuple[Mapping[str, tuple[str, str]], list[Noted]]:
    """Where the map's names lead: the column, and the rest of the name within its values. Case and blanks do not matter."""
    by_name = {_folded(name): name for name in there}
    places: dict[str, tuple[str, str]] = {}
    missing: list[str] = []
    for name, needed in columns.names().items():
        head, _, rest = name.partition(".")
        if _folded(name) in by_name:
            places[name] = (by_name[_folded(name)], "")
        elif rest and _folded(head) in by_name:
            places[name] = (by_name[_folded(head)], rest)
        elif needed:
            missing.append(name)
    number = columns.fields.get("publication_number") or columns.citations.get("cited") or columns.relations["number"]
    if not any(name in places for name in number.column):
        missing += number.column
    if missing:
        problem = f"there is no column '{missing[0]}' (columns: {', '.join(there)})"
        raise DataError(problem, path=path, remedy="name one of these in the map, or say optional = true")
    lacking = [name for name in columns.names() if name not in places]
    unread = [name for name in there if name not in {column for column, _ in places.values()}]
    said = {"columns of the map that are not there": lacking, "columns not read": unread}
    return places, [Noted(what, ", ".join(f"'{name}'" for name in names), len(names)) for what, names in said.items() if names]
