"""Files that cannot be imported: what is wrong with them, so far as their start says it."""

from __future__ import annotations

import re
import stat
import zipfile
from itertools import islice
from pathlib import Path
from textwrap import shorten

from patent_mteb.errors import DataError, readable, refuse_other_forms
from patent_mteb.files import text_lines
from patent_mteb.readers.suggest import suggest
from patent_mteb.readers.xml import first_root

__all__ = ["damaged", "unknown"]

_AGAIN = "get it again, or leave it out"
_NAME_IT = "name its source ('patent-mteb import --sources' lists them), or give a column map with --map"
_WEB_PAGES = (b"<!doctype html", b"<html")
_ZIP, _GZIP, _PARQUET = b"PK", b"\x1f\x8b", b"PAR1"
_APS = re.compile(rb"^PATN\s*$\s*^WKU ", re.MULTILINE)
_HEAD = 1 << 12
_LINES, _FEW = 1000, 10
_LONGEST = 200
"""Lines that are looked at for another encoding than UTF-8."""


def damaged(path: Path) -> DataError | None:
    """Why a file is none that anybody could read; None if it may be one.

    Raises:
        DataError: there is no file, or the system refuses it.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.unknown import damaged
        >>> _ = Path("weekly.zip").write_text("<html>503: try again later</html>")
        >>> print(damaged(Path("weekly.zip")))
        weekly.zip: a web page, no data (an error that a server sent?). Remedy: get it again, or leave it out.
    """
    with readable(path):
        mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return DataError("a link to a directory, which is not followed", path=path, remedy="name that directory too")
    if not stat.S_ISREG(mode):
        return DataError("neither a file nor a directory", path=path, remedy="leave it out")
    problem = _problem(path)
    return DataError(problem, path=path, remedy=_AGAIN) if problem else None


def _problem(path: Path) -> str:
    with readable(path), path.open("rb") as stream:
        start = stream.read(_HEAD)
        if not start:
            return "the file is empty"
        if not start.strip(b"\0"):
            return "zero bytes where data should be (was the file written whole?)"
        if start.lstrip().lower().startswith(_WEB_PAGES):
            return "a web page, no data (an error that a server sent?)"
        if path.suffix == ".gz" and not start.startswith(_GZIP):
            return "not compressed, whatever its name says"
        if not start.startswith(_ZIP):
            return ""
        try:
            return "" if zipfile.ZipFile(stream).infolist() else "a zip file without any file"
        except (zipfile.BadZipFile, ValueError) as error:
            return f"not a whole zip file ({error})"


def unknown(path: Path) -> DataError:
    """What is to be said of a whole file that no reader knows.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.unknown import unknown
        >>> _ = Path("book.xml").write_text("<book/>")
        >>> print(unknown(Path("book.xml")).problem)
        no reader knows this file (XML, <book>)
    """
    with readable(path), path.open("rb") as stream:
        start = stream.read(_HEAD)
    if start.startswith(_ZIP):
        names = [one.filename for one in zipfile.ZipFile(path).infolist() if not one.is_dir()]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return DataError(f"no reader knows what is in this zip file ({', '.join(names[:3])}{more})", path=path, remedy="unpack it")
    if _APS.search(start):
        return DataError("USPTO text before 2001 (APS), which is not read", path=path, remedy="take PatentsView's tables of those years")
    if start.startswith(_PARQUET):
        return _no_table(path)
    try:
        if path.suffix != ".gz":
            refuse_other_forms(path, start)
        lines = [line for _, line in islice(text_lines(path), _LINES)]
    except DataError as error:
        return error
    if not "".join(lines[:_FEW]).lstrip().startswith("<"):
        return _no_table(path)
    if path.suffix == ".gz":
        return DataError("no reader knows what is in this compressed file", path=path, remedy="unpack it")
    return _nobody(path, f" (XML, <{first_root(path)}>)")


def _nobody(path: Path, what: str = "") -> DataError:
    return DataError(f"no reader knows this file{what}", path=path, remedy=_NAME_IT)


def _no_table(path: Path) -> DataError:
    """Why a file that may be a table is none whose columns say what they are."""
    try:
        suggest(path)
    except DataError as error:
        return _nobody(path, f" ({shorten(error.problem, _LONGEST)})") if error.row is None else error
    return _nobody(path)
