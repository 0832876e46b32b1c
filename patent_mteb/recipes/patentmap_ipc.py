"""The files of ``IPC-Classification``, as they are published: CSV with the columns ``text``, ``ipcr_labels`` and ``section``.

``text`` is ``title [SEP] abstract``, which may carry section tags; ``ipcr_labels`` is the printed form of a list of IPC codes,
``['A01B1/02' 'H04L12/28']``, with blanks or commas between them; the rows whose ``section`` is ``abstract`` are the benchmark's. A label
is the first four characters of a code.
"""

from __future__ import annotations

import csv
import io
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.files import text_lines, write_text
from patent_mteb.patents import ipc
from patent_mteb.patents.views import SEPARATOR
from patent_mteb.recipes.patentmap_content import SECTION_TAGS

logger = logging.getLogger(__name__)

__all__ = ["FILES", "Labelled", "read_labelled", "with_tag", "without_tags", "write_labelled"]

FILES = {"train": "train_512.csv", "test": "test_512.csv"}
"""File of each part."""

COLUMNS = ("text", "ipcr_labels", "section")
SECTION = "abstract"
_LIST = re.compile(r"\[\s*('[^']*'(\s*,\s*|\s+|\s*(?=\])))*\]")
_CODE = re.compile(r"'([^']+)'")
_TAG = re.compile(r"\[(?:abstract|claim|summary|invention|drawing|description)\] ")
_LONGEST = 1 << 24


@dataclass(frozen=True)
class Labelled:
    """A patent to classify: its text without section tags, and its subclasses in file order."""

    text: str
    labels: tuple[str, ...]


def without_tags(text: str) -> str:
    """A text without the section tags that it may carry.

    Example:
        >>> from patent_mteb.recipes.patentmap_ipc import without_tags
        >>> without_tags("Pump [SEP] [abstract] It pumps.")
        'Pump [SEP] It pumps.'
    """
    return _TAG.sub("", text)


def with_tag(text: str) -> str:
    """A text ``title [SEP] abstract`` with the tag before its abstract; a title alone has none.

    Example:
        >>> from patent_mteb.recipes.patentmap_ipc import with_tag
        >>> with_tag("Pump [SEP] It pumps."), with_tag("Pump")
        ('Pump [SEP] [abstract] It pumps.', 'Pump')
    """
    title, separator, abstract = text.partition(SEPARATOR)
    return f"{title}{separator}{SECTION_TAGS[SECTION]} {abstract}" if separator else text


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows with the line that each begins in."""
    csv.field_size_limit(_LONGEST)
    reader = csv.reader((f"{line}\n" for _, line in text_lines(path)), strict=True)
    header: Sequence[str] | None = None
    line = 1
    try:
        for cells in reader:
            if header is None:
                header = cells
                if missing := [name for name in COLUMNS if name not in header]:
                    names = ", ".join(header)
                    raise DataError(f"column '{missing[0]}' is missing (columns: {names})", path=path, row=1, remedy="add the column")
            elif cells and len(cells) != len(header):
                problem = f"{len(cells)} cells where the header names {len(header)} columns"
                raise DataError(problem, path=path, row=line, remedy="mend the quotes of the row, or download the file again")
            elif cells:
                yield line, dict(zip(header, cells, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"malformed CSV ({error})", path=path, row=line, remedy="mend the quotes, or download the file again") from error
    if header is None:
        raise DataError("the file is empty", path=path, remedy="download the file again")


def _codes(cell: str, path: Path, row: int) -> list[str]:
    """The codes of a printed list; none where the cell is empty."""
    if not cell.strip():
        return []
    if not _LIST.fullmatch(cell.strip()):
        problem = f"ipcr_labels {cell[:60]!r} is no list of quoted codes such as ['A01B1/02' 'H04L12/28']"
        raise DataError(problem, path=path, row=row, remedy="write the list, or download the file again")
    return _CODE.findall(cell)


def read_labelled(path: Path) -> list[Labelled]:
    """The patents of one part. Rows of other sections, rows without a text or a subclass, and codes that are none are left out and counted.

    Raises:
        DataError: missing file or column, malformed CSV, or labels that are no list; names the line.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.recipes.patentmap_ipc import read_labelled, write_labelled
        >>> write_labelled(Path("test_512.csv"), [("Pump [SEP] It pumps.", ["F04B 1/02", "F04B 9/00", "H04L 12/28"])])
        >>> read_labelled(Path("test_512.csv"))
        [Labelled(text='Pump [SEP] It pumps.', labels=('F04B', 'H04L'))]
    """
    kept: list[Labelled] = []
    other = unread = empty = 0
    for row, cells in _rows(path):
        if cells["section"].strip() != SECTION:
            other += 1
            continue
        codes, unusable = ipc.codes_at([code.strip()[:4] for code in _codes(cells["ipcr_labels"], path, row)], "subclass", errors="skip")
        unread += len(unusable)
        text = without_tags(cells["text"]).strip()
        if codes and text:
            kept.append(Labelled(text, codes))
        else:
            empty += 1
    for number, what in (
        (other, f"rows are of another section than '{SECTION}' and are left out"),
        (unread, "IPC codes cannot be read or stop above the subclass"),
        (empty, "patents have no text or no subclass and are left out"),
    ):
        if number:
            logger.warning("%s: %d %s", path, number, what)
    return kept


def write_labelled(path: Path, rows: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Write texts and their IPC codes in the published form.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.recipes.patentmap_ipc import write_labelled
        >>> write_labelled(Path("test_512.csv"), [("Pump [SEP] It pumps.", ["F04B 1/02"])])
        >>> print(Path("test_512.csv").read_text().strip())
        text,ipcr_labels,section
        Pump [SEP] It pumps.,['F04B 1/02'],abstract
    """
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for text, codes in rows:
        table.writerow((text, f"[{' '.join(map(_quoted, codes))}]", SECTION))
    write_text(path, out.getvalue())


def _quoted(code: str) -> str:
    return f"'{code.replace(chr(39), '')}'"
