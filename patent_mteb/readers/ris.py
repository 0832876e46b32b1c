"""Lists of patents in RIS, the format of reference managers: Espacenet, Lens and web pages export it.

An entry starts with ``TY  - PAT`` and ends with ``ER  -``. Exporters disagree on the field of the publication number,
so the first field with a number counts; it may be in a web address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from patent_mteb.files import text_lines
from patent_mteb.patents.numbers import read_number
from patent_mteb.readers.items import Item, Note, Reader, Skipped, without_repeats
from patent_mteb.readers.publication import UNNAMED, Published, Texts
from patent_mteb.readers.values import cleaned, read_date

_FIELD = re.compile(r"([A-Z][A-Z0-9])  ?- ?(.*)")
_NUMBERS = ("M1", "SN", "C1", "AN", "ID", "M3", "IS", "UR", "L1", "L2", "LK")
_DAYS = ("DA", "Y1", "PY")
_START = 20  # lines of which one starts an entry

Entry = dict[str, list[str]]


def _entries(path: Path) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a file with their first rows. A line without a field continues the previous one."""
    place, entry, name = "", Entry(), ""
    for row, line in text_lines(path):
        field = _FIELD.fullmatch(line.strip())
        if field and field[1] == "TY":
            if entry:
                yield place, entry
            place, entry = f"row {row}", Entry()
        if field:
            name = field[1]
            entry.setdefault(name, []).append(field[2].strip())
        elif name in entry and line.strip():
            entry[name][-1] += f" {line.strip()}"
    if entry:
        yield place, entry


def _items(entry: Entry, place: str) -> Iterator[Item]:
    def texts(*names: str) -> list[str]:
        return [text for name in names for value in entry.get(name, ()) if (text := cleaned(value)[0])]

    if entry.get("TY") != ["PAT"]:
        yield Skipped("", place, f"a reference that is not a patent ({' '.join(entry.get('TY', ['no type']))})")
        return
    together = [f"{office} {serial}" for office, serial in zip(texts("CY"), texts("IS"), strict=False)]
    numbers = (number for text in [*texts(*_NUMBERS), *together] if (number := read_number(text)))
    if (number := next(numbers, None)) is None:
        yield Skipped("", place, UNNAMED, "\n".join(f"{name}  - {text}" for name in entry for text in entry[name]))
        return
    days = []
    for text in texts(*_DAYS):
        try:
            days.append(read_date(text.strip("/")))
        except ValueError:
            yield Note("a date that cannot be read, left empty", f"{place}: {text}")
    yield from Published(
        "ris",
        *(number.office, number.serial, number.kind),
        date=str(next(filter(None, days), None) or ""),
        texts=Texts.of("", " ".join(texts("TI", "T1")[:1]), " ".join(texts("AB", "N2")[:1]), [], []),
        inventors=texts("AU", "A1"),
        applicants=texts("PB"),
    ).items(place)


READER = Reader(
    "ris",
    "Lists of patents in RIS (Espacenet, Lens, reference managers)",
    sniff=lambda path: any(_FIELD.fullmatch(line.strip()) and line.startswith("TY  -") for _, line in _head(path)),
    read=lambda path: without_repeats(
        (place, item) for place, entry in _entries(path) for item in _items(entry, place)
    ),
)


def _head(path: Path) -> Iterator[tuple[int, str]]:
    return islice(text_lines(path), _START)
