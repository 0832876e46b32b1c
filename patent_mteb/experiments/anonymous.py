"""Copies of results in which keyed digests replace patent numbers.

Plain digests are reversed by hashing every number, so they are keyed (HMAC-SHA256). The key stays in the user's cache,
so equal numbers have equal digests in all copies. Rows are ordered by digest: the order of the numbers would tell.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from patent_mteb.errors import DataError
from patent_mteb.files import cache_root, read_json, text_lines, write_lines, write_parquet, write_text
from patent_mteb.identity import META
from patent_mteb.search import trec
from patent_mteb.tasks.evidence import ROWS, identity_of, rows_digest, with_identity

_KEPT = (META, "run_settings.jsonl")
_BYTES = 32  # of the secret key, as many as BLAKE2s and SHA-256 give


@dataclass
class Copied:
    """Number of copied files, and of files that are not copied because they may hold numbers, by ending."""

    files: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def key_path() -> Path:
    return cache_root() / "anonymous.key"


def _key() -> bytes:
    """Return the key of this user; make it if there is none."""
    path = key_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError), os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(secrets.token_bytes(_BYTES))
    key = path.read_bytes()
    if len(key) != _BYTES:
        raise DataError("not a key", path=path, remedy="delete it; earlier copies then have other digests")
    return key


def _digest(key: bytes, number: str) -> str:
    return hmac.new(key, number.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:20]


def copy_results(source: Path, target: Path) -> Copied:
    """Copy results, per-query scores, runs and qrels of a folder without patent numbers."""
    if not source.is_dir():
        raise DataError("there is no such folder", path=source, remedy="name a folder of results or runs")
    if target.exists() and any(target.iterdir()):
        raise DataError("the folder is not empty", path=target, remedy="name a new folder")
    named = partial(_digest, _key())
    done = Copied()
    for path in sorted(path for path in source.rglob("*") if path.is_file() and not path.is_symlink()):
        if _copy(path, target / path.relative_to(source), named):
            done.files += 1
        else:
            done.left_out[path.suffix or path.name] += 1
    if not done.files:
        raise DataError("no results and no runs", path=source, remedy="name the folder of 'patent-mteb run'")
    return done


def queries_of(path: Path) -> pa.Table:
    """Return a table of per-query scores with digests instead of the queries."""
    return _renamed(path, partial(_digest, _key()))


def _renamed(path: Path, named: Callable[[str], str]) -> pa.Table:
    table = pq.read_table(path)
    column = pa.array([named(query) for query in table["query"].to_pylist()], pa.string())
    renamed = table.set_column(table.schema.get_field_index("query"), "query", column).sort_by("query")
    with suppress(ValueError):
        identity = identity_of(table.schema)
        if identity.get(ROWS) == rows_digest(table):  # a table that its digest contradicts keeps it
            return with_identity(renamed, identity)
    return renamed


def _copy(path: Path, target: Path, named: Callable[[str], str]) -> bool:
    """Copy a file whose form is known; return whether it was."""
    if path.name.endswith(".queries.parquet"):
        write_parquet(target, _renamed(path, named))
    elif path.suffix in (".run", ".qrels"):
        lines = [trec.columns(line) for _, line in text_lines(path) if line.strip()]
        rows = [[named(words[0]), words[1], named(words[2]), *words[3:]] for words in lines]
        rows.sort(key=lambda row: row[0] if path.suffix == ".run" else (row[0], row[2]))
        target.parent.mkdir(parents=True, exist_ok=True)
        write_lines(target, map(" ".join, rows))
    elif path.name in _KEPT or path.name.endswith(".geometry.jsonl") or _is_result(path):
        write_text(target, path.read_text("utf-8"))
    else:
        return False
    return True


def _is_result(path: Path) -> bool:
    found = read_json(path) if path.suffix == ".json" else None
    return isinstance(found, dict) and {"task_name", "scores"} <= found.keys()
