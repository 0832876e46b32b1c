"""Files of all kinds: lines, JSON, parquet tables, locks, and the cache folder.

Every file is written to a temporary name and renamed (:func:`replacing`). An error in a file of a user names the file,
the row and the remedy (:class:`~patent_mteb.errors.DataError`).
"""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import glob
import gzip
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from patent_mteb.errors import LAYOUT, DataError, check_columns, parsed_json, readable, refuse_other_forms, unique
from patent_mteb.memory import ROWS_AT_ONCE

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

LARGEST_RATIO = 200  # far above texts and tables (below 20), far below a bomb (1,000), a choice
SMALL_MEMBER = 1 << 24  # a compressed file may unpack to 200 times its size, or to 16 MiB
_BUILDING = "building"
QUIET_SECONDS = 60.0  # six heartbeats: the owner of a folder that is older has ended
_HEARTBEAT_SECONDS = 10.0  # a choice: seldom enough for shared file systems
_REPLACE_ATTEMPTS = 20  # Windows refuses to replace a file that a scanner or another process has open for a moment
_PARTIAL_NAME = re.compile(r"\..+?\.(\d+)(\.[0-9a-f]{8})?\.partial")
_BUILDING_NAME = re.compile(r"\.building-(\d+)-.+")
_BYTES_AT_ONCE = 1 << 25  # of rows in memory as columns while a table is written
_MADE_AT_ONCE = 250  # rows that are in memory as Python objects meanwhile
_TEXTS_AT_ONCE = 256  # descriptions of 100 kB each make 26 MB
_BUFFER = 1 << 20  # bytes, a choice


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces ``path`` when the block succeeds.

    Readers find the old file or the new one, both complete. The folder is made if it is missing. A block that fails
    leaves nothing; the temporary file of a killed process is removed by the next writer of the same file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with contextlib.suppress(OSError):  # what cannot be removed does not stop this writer
            if _is_leftover(left, _PARTIAL_NAME):
                left.unlink()
    partial = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        _replace(partial, path)
    except OSError as error:
        if error.errno:  # a full disk names no file; without a number, str() of the error would be its name alone
            error.filename = error.filename or str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


def _replace(partial: Path, path: Path) -> None:
    """Rename a file over another, which Windows refuses as long as a program reads the other one."""
    for left in reversed(range(_REPLACE_ATTEMPTS)):
        try:
            partial.replace(path)
            return
        except PermissionError as error:
            if fcntl is not None or path.is_dir():
                raise
            if not left:
                remedy = "close the program that has it open, and repeat the command"
                raise DataError("the file is in use and cannot be replaced", path=path, remedy=remedy) from error
            time.sleep(0.1)


def leftover_files(root: Path) -> list[Path]:
    """Return files and folders under ``root`` that killed processes were writing."""
    found = []
    for place, folders, files in os.walk(root):
        found += [Path(place) / name for name in files if _is_leftover(Path(place) / name, _PARTIAL_NAME)]
        found += [Path(place) / name for name in folders if _is_leftover(Path(place) / name, _BUILDING_NAME)]
        folders[:] = [name for name in folders if not _BUILDING_NAME.fullmatch(name)]
    return sorted(found)


def _is_leftover(path: Path, pattern: re.Pattern[str]) -> bool:
    """Whether a killed process was writing here, by the pattern of its name; a recent one may be of another machine."""
    match = pattern.fullmatch(path.name)
    return match is not None and not process_runs(int(match[1])) and is_idle(path)


def is_idle(path: Path) -> bool:
    """Whether a file, or everything in a folder, is older than a minute.

    Recent files may belong to a process of another container, whose number means nothing here.
    """
    try:
        newest = max(entry.lstat().st_mtime for entry in (path, *path.rglob("*")))
    except OSError:
        return False
    return abs(time.time() - newest) > QUIET_SECONDS


def lock(descriptor: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock an open file or folder (``flock``) until it is closed or its process ends, however that happens.

    BlockingIOError: another process holds the lock, and ``wait`` is False. Any other OSError: the system (Windows) or
    the file system (some network disks) has no such locks.
    """
    if fcntl is None:
        raise OSError(errno.ENOTSUP, "this system has no locks of files")
    fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))


@contextlib.contextmanager
def folder_lock(folder: Path, *, shared: bool = False, writer: str) -> Iterator[None]:
    """Lock a folder during the block; refuse it if a process that writes ("import") has locked it.

    The folder is made if it is missing. On Windows, and on network disks without locks, the lock is a folder
    ``.lock.*`` in it, and a locked folder is refused after 40 seconds: the lock of a killed process ends after 30.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        try:
            stack.callback(os.close, descriptor := os.open(folder, os.O_RDONLY))
            lock(descriptor, shared=shared, wait=False)
        except BlockingIOError as error:
            raise _locked(folder, writer) from error
        except OSError:
            stack.callback(_lock_by_files(folder, shared, writer).release)
        yield


def _locked(folder: Path, writer: str) -> DataError:
    return DataError(f"another {writer} writes here", path=folder, remedy="wait until it has ended")


def _lock_by_files(folder: Path, shared: bool, writer: str) -> Any:
    """Lock a folder by files in it whose content the holder changes every ten seconds."""
    from filelock import SoftReadWriteLock, Timeout

    own = SoftReadWriteLock(folder / ".lock", is_singleton=False, heartbeat_interval=_HEARTBEAT_SECONDS)
    try:
        (own.acquire_read if shared else own.acquire_write)(timeout=4 * _HEARTBEAT_SECONDS)
    except Timeout as error:
        raise _locked(folder, writer) from error
    except (OSError, NotImplementedError) as error:
        problem = f"the folder cannot be locked ({error}), so that two processes may write here at once"
        raise DataError(problem, path=folder, remedy="choose a folder on a local disk") from error
    return own


@contextlib.contextmanager
def replacing_folders(root: Path, what: str, outdated: Iterable[str] = ()) -> Iterator[Path]:
    """Yield an empty folder in ``root`` whose data sets replace those under ``root`` at the end.

    A data set is a folder with files, or one in the folder of an organisation (``ORG/NAME``, as on the hub). Data sets
    and files are renamed as a whole, so nothing of an older state remains. A block that fails leaves ``root``
    unchanged; the folder of a killed process is removed by the next call. ``what`` is a word for the folder's name;
    ``outdated`` data sets are removed even if the block does not build them again.
    """
    root.mkdir(parents=True, exist_ok=True)
    for leftover in root.glob(f".{_BUILDING}-*"):
        if not ((number := leftover.name.split("-")[1]).isdigit() and process_runs(int(number))):
            shutil.rmtree(leftover, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{_BUILDING}-{os.getpid()}-{what}-", dir=root))
    new, old = partial / "new", partial / "old"
    new.mkdir()
    try:
        yield new
        for name in dict.fromkeys([*(one.relative_to(new) for one in _data_sets(new)), *map(Path, outdated)]):
            if (root / name).exists():
                (old / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).rename(old / name)
            if (new / name).exists():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).rename(root / name)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _data_sets(root: Path) -> list[Path]:
    found: list[Path] = []
    for place in sorted(root.iterdir()):
        is_data_set = place.is_file() or any(map(Path.is_file, place.iterdir()))
        found += [place] if is_data_set else sorted(place.iterdir())
    return found


def process_runs(process: int) -> bool:
    """Whether a process with this number runs on this machine. On Windows, which has no such question, True."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OverflowError, OSError):
        return False
    return True


def write_text(path: Path, text: str) -> Path:
    """Write a text file, UTF-8, and return its path."""
    with replacing(path) as partial:
        partial.write_text(text, "utf-8", newline="\n")
    return path


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines, UTF-8, each with a line feed at its end."""
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(f"{line}\n" for line in lines)


def write_json(path: Path, document: Any) -> None:
    """Write a JSON document, indented, keys sorted."""
    write_text(path, json.dumps(document, indent=2, sort_keys=True) + "\n")


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]], **options: Any) -> None:
    """Write one JSON object a line, UTF-8, keys in the given order; ``options`` are those of ``json.dumps``."""
    write_lines(path, (json.dumps(row, ensure_ascii=False, **options) for row in rows))


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write one parquet file; the same table gives the same bytes."""
    with replacing(path) as partial:
        pq.write_table(table, partial)


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> None:
    """Write rows, as they come, as parquet or JSON lines (dates as ISO 8601), by the suffix of the path."""
    if path.suffix != ".parquet":
        write_jsonl(path, rows, default=dt.date.isoformat)
        return
    with replacing(path) as partial, pq.ParquetWriter(partial, schema) as out:
        for table in _row_groups(rows, schema):
            out.write_table(table)


def _row_groups(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> Iterator[pa.Table]:
    """Rows as tables of at most 10,000 rows or 32 MiB each."""
    stream = iter(rows)
    held: list[pa.Table] = []
    n_bytes = 0
    while some := list(islice(stream, _MADE_AT_ONCE)):
        held.append(pa.Table.from_pylist(some, schema=schema))
        n_bytes += held[-1].nbytes
        if len(held) * _MADE_AT_ONCE >= ROWS_AT_ONCE or n_bytes >= _BYTES_AT_ONCE:
            yield pa.concat_tables(held).combine_chunks()
            held, n_bytes = [], 0
    if held:
        yield pa.concat_tables(held).combine_chunks()


def cache_root() -> Path:
    """Return ``PATENT_MTEB_CACHE``, else ``$XDG_CACHE_HOME/patent_mteb``, else ``~/.cache/patent_mteb``."""
    if explicit := os.environ.get("PATENT_MTEB_CACHE"):
        return Path(explicit).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "patent_mteb"


ANSWERS = "answers.sqlite"
_PRIVATE = ("inputs", "query_scores")
"""Parts of the cache with texts or patent numbers: files at addresses, and the per-query scores of plain mteb."""


def forget(*, answers: bool = False) -> tuple[int, int]:
    """Remove the private parts of the cache, and the answers of language models; return their files and bytes."""
    parts = [cache_root() / name for name in (*_PRIVATE, *([ANSWERS] * answers))]
    files = [path for part in parts for path in (part, *part.rglob("*")) if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    for part in parts:
        if part.is_file():
            part.unlink()
        else:
            shutil.rmtree(part, ignore_errors=not part.exists())
    return len([path for path in files if not path.name.startswith(".")]), size


def private_folder(path: Path) -> Path:
    """Make a folder of the cache, or an existing one, whose files only its owner can read."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def rows_hash(path: Path) -> str:
    """Return the SHA-256 of the names and values of a Parquet file's columns: the same for every writer and codec."""
    parts: dict[str, Any] = {name: hashlib.sha256() for name in parquet_schema(path).names}

    def add(name: str, values: np.ndarray | bytes) -> None:
        parts.setdefault(name, hashlib.sha256()).update(np.ascontiguousarray(values).data if len(values) else b"")

    def add_column(name: str, column: pa.Array) -> None:
        add(f"{name} valid", column.is_valid().to_numpy(zero_copy_only=False))
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_struct(column.type):
            for field, values in zip(column.type, column.flatten(), strict=True):
                add_column(f"{name}.{field.name}", values)
        elif pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            add(f"{name} length", pc.list_value_length(column).fill_null(0).cast("int64").to_numpy())
            add_column(f"{name}[]", column.flatten())
        elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            texts = column.fill_null("").cast(pa.large_string())
            add(f"{name} length", pc.binary_length(texts).to_numpy())
            ends = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
            add(name, np.frombuffer(texts.buffers()[2] or b"", np.uint8)[ends[0] : ends[-1]] if len(texts) else b"")
        else:
            floats = pa.types.is_floating(column.type)
            days = pa.types.is_date32(column.type)
            numbers = (column.cast("int32") if days else column).cast("float64" if floats else "int64")
            add(name, numbers.fill_null(0).to_numpy())

    for table in read_batches(path):
        for name in table.column_names:
            for chunk in table[name].chunks:
                add_column(name, chunk)
    return hashlib.sha256("\n".join(f"{name} {part.hexdigest()}" for name, part in parts.items()).encode()).hexdigest()


def unpacks_too_far(packed: int, unpacked: int) -> bool:
    """Whether a compressed file is a bomb, by its packed and unpacked sizes in bytes."""
    return unpacked > max(SMALL_MEMBER, LARGEST_RATIO * packed)


class Unpacked(io.RawIOBase):
    """The content of a gzip file; reading stops at the limit of unpacking."""

    def __init__(self, path: Path) -> None:
        self._path, self._packed, self._n = path, path.stat().st_size, 0
        self._stream = gzip.open(path, "rb")  # noqa: SIM115

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._stream.readinto(buffer)
        self._n += n
        if unpacks_too_far(self._packed, self._n):
            problem = f"it unpacks to more than {LARGEST_RATIO} times its size: a gzip bomb?"
            raise DataError(problem, path=self._path, remedy="unpack it, and check its content")
        return n

    def close(self) -> None:
        self._stream.close()
        super().close()


def open_binary(path: Path) -> IO[bytes]:
    """Open a file for reading; ``.gz`` is unpacked."""
    return io.BufferedReader(Unpacked(path), _BUFFER) if path.suffix.lower() == ".gz" else path.open("rb")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file (``.gz``: unpacked), from 1. Line ends and a byte order mark are removed."""
    _exists(path)
    with readable(path), open_binary(path) as stream:
        for number, raw in enumerate(stream, start=1):
            if number == 1:
                refuse_other_forms(path, raw)
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                problem = f"not valid UTF-8 (byte 0x{raw[error.start]:02x} at column {error.start + 1})"
                remedy = "save the file as UTF-8, for example with: iconv -f latin1 -t utf-8"
                raise DataError(problem, path=path, row=number, remedy=remedy) from error
            yield number, line.rstrip("\r\n")


def _exists(path: Path) -> None:
    with readable(path):
        if not stat.S_ISREG(mode := path.stat().st_mode):
            what = "a directory" if stat.S_ISDIR(mode) else "something else"
            raise DataError(f"{what} is where a file is expected", path=path, remedy=LAYOUT)


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a file with their line numbers; skip blank lines."""
    for number, line in text_lines(path):
        if not line.strip():
            continue
        row = parsed_json(line, path, number, "correct the line")
        if not isinstance(row, dict):
            problem = f"a JSON {type(row).__name__} where an object is expected"
            raise DataError(problem, path=path, row=number, remedy="correct the line")
        yield number, row


def read_jsonl(
    path: Path, required: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Read a JSON-lines file whose named fields are strings."""
    for number, row in json_lines(path):
        values = {}
        for name in (*required, *optional):
            value = row.get(name)
            if value is None and name in optional:
                value = ""
            elif value is None:
                raise DataError(f"field '{name}' is missing", path=path, row=number, remedy=f'add "{name}": "..."')
            if not isinstance(value, str):
                problem = f"field '{name}' is a {type(value).__name__} ({value!r}), not a string"
                raise DataError(problem, path=path, row=number, remedy="write it in double quotes")
            values[name] = value
        yield number, values


def read_parquet(
    path: Path, columns: Mapping[str, pa.DataType] | Iterable[str] = (), without: Container[str] = ()
) -> pa.Table:
    """Read a parquet file and check its columns."""
    with _reading(path):
        schema = pq.read_schema(path)
        table = pq.read_table(path, columns=[name for name in schema.names if name not in without] if without else None)
    _refuse_bad_text(table, path)
    check_columns(schema.empty_table(), columns, path)
    return table


def parquet_schema(path: Path) -> pa.Schema:
    """The schema of a parquet file; errors as in :func:`read_parquet`."""
    with _reading(path):
        return pq.read_schema(path)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors of Arrow and of value conversion into a :class:`DataError`."""
    _exists(path)
    try:
        yield
    except MemoryError:  # Arrow's is an ArrowException too
        raise
    except PermissionError:
        with readable(path):
            raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise _unreadable(path, error) from error


def read_batches(path: Path, columns: Sequence[str] | None = None, rows: int = _TEXTS_AT_ONCE) -> Iterator[pa.Table]:
    """Yield a parquet file in tables of at most ``rows`` rows, for texts too large for memory."""
    # with a buffer of Arrow's own, everything that was read stays in memory
    with _reading(path), pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
        before = 0
        for batch in file.iter_batches(batch_size=rows, columns=columns):
            table = pa.Table.from_batches([batch])
            _refuse_bad_text(table, path, before)
            before += table.num_rows
            yield table


ARROW_STARTS = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")
"""First bytes of Parquet, of Arrow's files (Feather) and of its streams (Arrow's format, "IPC Streaming Format")."""


def read_arrow(path: Path) -> Iterator[tuple[int, pa.Table]]:
    """Yield the tables of a Parquet file, or of a file or stream of Arrow, each with the number of rows before it."""
    with _reading(path), path.open("rb") as stream:
        start = stream.read(len(ARROW_STARTS[1]))
    if start.startswith(ARROW_STARTS[0]):
        tables = read_batches(path)
    else:
        tables = _arrow_batches(path, pa.ipc.open_file if start == ARROW_STARTS[1] else pa.ipc.open_stream)
    before = 0
    for table in tables:
        yield before, table
        before += table.num_rows


def _arrow_batches(path: Path, opened: Any) -> Iterator[pa.Table]:
    with _reading(path), pa.memory_map(str(path)) as source, opened(source) as found:
        batches = found if hasattr(found, "__iter__") else map(found.get_batch, range(found.num_record_batches))
        before = 0
        for batch in batches:
            for first in range(0, batch.num_rows, _TEXTS_AT_ONCE):
                table = pa.Table.from_batches([batch.slice(first, _TEXTS_AT_ONCE)])
                _refuse_bad_text(table, path, before)
                before += table.num_rows
                yield table


def _refuse_bad_text(table: pa.Table, path: Path, before: int = 0) -> None:
    """Refuse what Arrow accepts and Python does not: columns of one name, and bad UTF-8 after ``before`` rows."""
    if twice := next((name for name in table.column_names if table.column_names.count(name) > 1), None):
        raise DataError(f"two columns have the name '{twice}'", path=path, remedy="rename or remove one of them")
    for name in table.column_names:
        try:
            table[name].validate(full=True)
        except pa.ArrowException as error:
            for row, value in enumerate(table[name], start=before + 1):
                try:
                    value.as_py()
                except (ValueError, pa.ArrowException):
                    problem = f"column '{name}' holds text that is not valid UTF-8"
                    remedy = "write the file again, with UTF-8 strings"
                    raise DataError(problem, path=path, row=row, remedy=remedy) from error
            raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> DataError:
    form = path.suffix.lower().lstrip(".") or "parquet"
    return DataError(f"not a readable {form} file ({error})", path=path, remedy="write or download the file again")


def read_keyed(
    path: Path, columns: Mapping[str, pa.DataType] | None = None, key: str = "_id", without: Container[str] = ()
) -> pa.Table:
    """Read a parquet file with one row a key."""
    table = read_parquet(path, {key: pa.string(), **(columns or {})}, without)
    for row, value in unique(
        enumerate(table[key].to_pylist(), start=1), str, path=path, what=key, remedy="keep one row an id"
    ):
        if value is None:
            raise DataError(f"{key} is null", path=path, row=row, remedy="give the row an id or delete it")
    return table


def table_rows(table: pa.Table | None) -> dict[str, dict[str, Any]]:
    """The rows of a keyed table as ``{_id: {column: value}}``."""
    return {} if table is None else {row.pop("_id"): row for row in table.to_pylist()}


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the numbered rows of a parquet table or of JSON lines, from 1."""
    if path.suffix.lower() != ".parquet":
        yield from json_lines(path)
        return
    before = 0
    for table in read_batches(path):
        with _reading(path):
            yield from enumerate(table.to_pylist(), start=before + 1)
        before += table.num_rows


def read_json(path: Path) -> Any:
    """Return the document in a JSON file of the suite, None if missing or invalid."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def load_json(path: Path) -> Any:
    """The JSON document in a file that a user gave."""
    return parsed_json("\n".join(line for _, line in text_lines(path)), path, None, "correct the file")
