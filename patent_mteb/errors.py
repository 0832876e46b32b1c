"""Errors that a user can act on: each message names the problem, its place and a remedy."""

from __future__ import annotations

import contextlib
import difflib
import errno
import json
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

LAYOUT = "see docs/data.md for the layout"
_Key = TypeVar("_Key", bound=str | tuple[str, ...])
_Row = TypeVar("_Row")
_LONGEST = 1000
"""Characters of a problem; a longer one is shown without its middle."""


class PatentMTEBError(Exception):
    """Base class of the errors that the command line prints without a traceback.

    Args:
        problem: a full clause, such as "document id 'A' occurs twice".
        path: the file or directory.
        row: row of the file, from 1: the lines of text files, the records of tables.
        remedy: an instruction, such as "delete one of the two rows".
    """

    def __init__(
        self, problem: str, *, path: Path | str | None = None, row: int | None = None, remedy: str = ""
    ) -> None:
        if len(problem) > _LONGEST:
            problem = f"{problem[: _LONGEST // 2]}…{problem[-_LONGEST // 2 :]}"
        self.problem = problem
        self.path = None if path is None else Path(path)
        self.row = row
        self.remedy = remedy
        place = "" if path is None else f"{path}" + ("" if row is None else f", row {row}") + ": "
        end = "" if problem.endswith((".", "?")) else "."
        super().__init__(f"{place}{problem}{end}" + (f" Remedy: {remedy}." if remedy else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep all attributes when an error is sent from a worker process."""
        return partial(type(self), self.problem, path=self.path, row=self.row, remedy=self.remedy), ()


class DataError(PatentMTEBError):
    """Input data that cannot be used."""


class AccessError(DataError):
    """Data that exist but cannot be downloaded: a gated repository without a token, or no network."""


class NotThereError(DataError):
    """An optional part of a data set that is missing: only the tasks that read it are unavailable."""


class SettingError(DataError, ValueError):
    """A setting of a model or a search that is not a number of its range."""


class ModelError(PatentMTEBError):
    """A model that cannot be loaded, or cannot do a task."""


class RegistrationError(PatentMTEBError):
    """A failed registration in mteb."""


def did_you_mean(word: str, known: Iterable[str], full: Mapping[str, str] | None = None) -> str:
    """Return the known names that are similar to a word, as a clause in brackets; empty without any.

    ``full`` has the name to print for those that are parts of a longer one.
    """
    names = {name.casefold(): (full or {}).get(name, name) for name in known}
    near = dict.fromkeys(names[one] for one in difflib.get_close_matches(word.casefold(), names, n=3, cutoff=0.6))
    return f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""


def refuse_repeat(seen: dict[_Key, int], key: _Key, row: int, *, path: Path | str, what: str, remedy: str) -> None:
    """Record the first row of a key; refuse a key of an earlier row by a DataError that names both.

    Args:
        seen: key -> row of its first occurrence; the call extends it.
        key: one word, or several words that are unique together.
        what: name of the key for the message; may be empty.
    """
    first = seen.setdefault(key, row)
    if first != row:
        words = (key,) if isinstance(key, str) else key
        name = ", ".join(f"'{word}'" for word in words)
        raise DataError(
            f"{what} {name} occurs twice (first in row {first})".lstrip(), path=path, row=row, remedy=remedy
        )


def unique(
    rows: Iterable[tuple[int, _Row]], key: Callable[[_Row], str], *, path: Path | str, what: str, remedy: str
) -> Iterator[tuple[int, _Row]]:
    """Yield numbered rows up to the first whose key was in an earlier row, as in :func:`refuse_repeat`."""
    seen: dict[str, int] = {}
    for number, row in rows:
        refuse_repeat(seen, key(row), number, path=path, what=what, remedy=remedy)
        yield number, row


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into errors that name the file."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DataError("the file is missing", path=path, remedy=f"correct the path, or {LAYOUT} of data") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(
            f"the file cannot be read ({reason})", path=path, remedy="check its permissions and the disk"
        ) from error
    except (EOFError, zlib.error) as error:
        raise DataError(
            f"the compressed file is incomplete or corrupt ({error})", path=path, remedy="download the file again"
        ) from error


@contextlib.contextmanager
def temporary_files() -> Iterator[None]:
    """Turn errors on temporary files, above all a full disk, into errors that name their folder."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        place = tempfile.tempdir or "the folder of temporary files"
        remedy = "free some disk space, or name a folder on another disk: TMPDIR=FOLDER"
        raise DataError(f"temporary files cannot be written ({reason})", path=place, remedy=remedy) from error


_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free some disk space, or raise the limit, and repeat"),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "check the permissions, or name another folder"),
    **dict.fromkeys((errno.ELOOP, errno.EEXIST, errno.ENOTDIR), "correct the link or the path, or name another folder"),
    **dict.fromkeys((errno.ENAMETOOLONG, errno.EINVAL), "choose a shorter name, of other characters"),
    **dict.fromkeys((errno.EIO, errno.ESTALE), "check the disk, and repeat"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "raise the limit of open files (ulimit -n)"),
}


def of_the_machine(error: BaseException, cache: Path) -> DataError | None:
    """Return an error of the machine in a sentence: its disk, its memory, its folders; None for any other error."""
    if isinstance(error, MemoryError) or getattr(error, "errno", 0) == errno.ENOMEM:
        why = f" ({error})" if str(error) else ""
        remedy = "close other programs, raise the limit (ulimit -v), or give fewer records"
        return DataError(f"the memory is not sufficient{why}", remedy=remedy)
    if not isinstance(error, OSError):
        return None
    try:
        Path.cwd()
    except OSError:
        return DataError("the working folder does not exist any more", remedy="change to another one, and repeat")
    remedy = _REMEDIES.get(error.errno or 0, "")
    if remedy and error.filename and Path(str(error.filename)).is_relative_to(cache):
        remedy += f"; PATENT_MTEB_CACHE=FOLDER names another cache than {cache}"
    place = str(error.filename) if error.filename else None
    return DataError(error.strerror or str(error), path=place, remedy=remedy) if remedy else None


_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}


def refuse_other_forms(path: Path, start: bytes) -> None:
    """Reject a file that begins like a compressed or UTF-16 file, or in whose place Git LFS left a note."""
    if start.startswith(b"version https://git-lfs"):
        problem = "the file is a pointer of Git LFS; its content was not downloaded"
        raise DataError(problem, path=path, remedy="download the content: git lfs pull")
    for mark, name in _COMPRESSED.items():
        if start.startswith(mark):
            raise DataError(f"the file is compressed ({name})", path=path, remedy="unpack it")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start[:4]:
        raise DataError(
            "the file is UTF-16 or UTF-32, not UTF-8", path=path, remedy="save it as UTF-8: iconv -f utf-16 -t utf-8"
        )


def parsed_json(text: str, path: Path, row: int | None, remedy: str) -> Any:
    """Parse a JSON text that begins in ``row``; None for a whole file."""
    try:
        document = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        problem = f"malformed JSON ({error.msg} at column {error.colno})"
        raise DataError(problem, path=path, row=row or error.lineno, remedy=remedy) from error
    except RecursionError as error:
        raise DataError("the JSON is nested too deeply", path=path, row=row, remedy=remedy) from error
    except UnicodeEncodeError as error:
        problem = f"half of a surrogate pair (\\u{ord(error.object[error.start]):04x}), which is not a character"
        raise DataError(problem, path=path, row=row, remedy="write the whole character, or delete it") from error
    except ValueError as error:  # an integer of thousands of digits
        raise DataError(f"a number that cannot be read ({error})", path=path, row=row, remedy=remedy) from error
    return document


_JSON = {str: "a text", int: "an integer", dict: "an object", list: "a list"}


def check_shape(value: Any, shape: Any, path: Path, remedy: str, name: str = "the document") -> None:
    """Refuse a JSON value that is not of a shape.

    Args:
        value: the value.
        shape: a type; ``[shape]`` of the items of a list; or ``{key: shape}`` of an object that has these keys, where
            the key ``*`` is for all others. An object may have more keys.
        path: the file.
        remedy: an instruction for its user.
        name: the value in the message.
    """
    actual, expected = type(value), shape if isinstance(shape, type) else type(shape)
    if actual is not expected:  # a bool is not an integer
        found = "null" if value is None else f"a {actual.__name__}"
        raise DataError(f"{name} is {found} where {_JSON[expected]} is expected", path=path, remedy=remedy)
    if isinstance(shape, list):
        for number, one in enumerate(value, start=1):
            check_shape(one, shape[0], path, remedy, f"item {number} of {name}")
    elif isinstance(shape, dict):
        others = dict.fromkeys(value, shape["*"]) if "*" in shape else {}
        for key, inner in {**others, **shape}.items():
            if key != "*" and key not in value:
                raise DataError(f"{name} has no '{key}'", path=path, remedy=remedy)
            if key in value:
                check_shape(value[key], inner, path, remedy, f"'{key}'")


def check_columns(table: pa.Table, columns: Mapping[str, pa.DataType] | Iterable[str], path: Path) -> None:
    """Check the columns of a table from ``path``, as :func:`patent_mteb.files.read_parquet` does."""
    types = dict(columns) if isinstance(columns, Mapping) else dict.fromkeys(columns)
    for name, expected in types.items():
        if name not in table.column_names:
            raise DataError(
                f"column '{name}' is missing (columns: {', '.join(table.column_names)})",
                path=path,
                remedy="add the column",
            )
        if expected is not None and not _same_kind(table.schema.field(name).type, expected):
            raise DataError(
                f"column '{name}' has type {table.schema.field(name).type}, expected {expected}",
                path=path,
                remedy="write the column with the right type",
            )


def _same_kind(actual: pa.DataType, expected: pa.DataType) -> bool:
    from pyarrow import types

    def is_text(kind: pa.DataType) -> bool:
        if types.is_dictionary(kind):
            return bool(types.is_string(kind.value_type))
        return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))

    if types.is_null(actual):
        return True
    for test in (is_text, types.is_integer, types.is_floating):
        if test(expected):
            return bool(test(actual))
    if types.is_list(expected):
        listed = types.is_list(actual) or types.is_large_list(actual)
        return listed and _same_kind(actual.value_type, expected.value_type)
    return bool(actual == expected)
