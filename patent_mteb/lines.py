"""Text files line by line, with one clear error for what is no UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from patent_mteb.errors import DataError

__all__ = ["text_lines"]


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, from 1, without line ends; a byte order mark is passed over.

    Raises:
        DataError: the file is missing, or a line is not valid UTF-8.
    """
    if not path.is_file():
        raise DataError("the file is missing", path=path, remedy="see 'Your own data' in the README for the layout")
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"not valid UTF-8 (byte 0x{raw[error.start]:02x} at column {error.start + 1})",
                    path=path,
                    row=number,
                    remedy="save the file as UTF-8, for example with: iconv -f latin1 -t utf-8",
                ) from error
            yield number, line.rstrip("\r\n")
