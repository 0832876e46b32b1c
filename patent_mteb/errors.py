"""Errors that a user can act on: one sentence that says what is wrong, where, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

_Key = TypeVar("_Key", bound=str | tuple[str, ...])


class PatentMTEBError(Exception):
    """Base of every error that the command line prints as one message, without a traceback."""


class DataError(PatentMTEBError):
    """Input data that cannot be used.

    Args:
        problem: what is wrong, as a full clause ("document id 'A' occurs twice").
        path: the file (or directory) it was found in.
        row: 1-based row of the file, counting the lines of text files and the records of tables.
        remedy: what the user can do ("delete one of the two rows").
    """

    def __init__(self, problem: str, *, path: Path | str | None = None, row: int | None = None, remedy: str = "") -> None:
        self.problem = problem
        self.path = None if path is None else Path(path)
        self.row = row
        self.remedy = remedy
        place = "" if path is None else f"{path}" + ("" if row is None else f", row {row}") + ": "
        super().__init__(f"{place}{problem}." + (f" Remedy: {remedy}." if remedy else ""))


class AccessError(DataError):
    """Data that exists but cannot be had: a gated repository without a token, or no network."""


class ModelError(PatentMTEBError):
    """A model that cannot be loaded, or that cannot do what the task asks for."""


class RegistrationError(PatentMTEBError):
    """The suite could not be registered in mteb."""


def refuse_repeat(seen: dict[_Key, int], key: _Key, row: int, *, path: Path | str, what: str, remedy: str) -> None:
    """Note the row in which a key stands first.

    Args:
        seen: key -> row of its first occurrence, extended by the call.
        key: one word, or the words that together may stand in one row only.
        what: what the key is, for the message; may be empty.

    Raises:
        DataError: the key stood in another row before; names both rows.
    """
    first = seen.setdefault(key, row)
    if first != row:
        words = (key,) if isinstance(key, str) else key
        name = ", ".join(f"'{word}'" for word in words)
        raise DataError(f"{what} {name} occurs twice (first in row {first})".lstrip(), path=path, row=row, remedy=remedy)
