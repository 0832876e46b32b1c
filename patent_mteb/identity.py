"""Identities: content hashes of folders, digests of settings, names and revisions of models.

A composed model ``hybrid`` of ``patent-mteb/bm25-dapfam`` and ``sentence-transformers/all-MiniLM-L6-v2`` with
``tag="linear-0.7"`` has

* the ``name`` ``hybrid/linear-0.7-bm25-dapfam+all-MiniLM-L6-v2``: its kind, its most important settings, its parts. A
  composed part keeps its kind (``passages-256-maxP-all-MiniLM-L6-v2``). A label of more than 120 characters is cut and
  ends with a hash;
* ``experiment_kwargs`` with the kind, every setting, and the identity of each part with its own settings, nested;
* as ``revision`` a hash of name and ``experiment_kwargs``. Two settings, or two revisions of a part, never share a
  result path, even where mteb shortens the settings to a folder name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyarrow import ArrowException

from patent_mteb.errors import DataError, ModelError, SettingError
from patent_mteb.files import cache_root, read_json, rows_hash, write_text

if TYPE_CHECKING:
    from mteb.models.model_meta import ModelMeta

logger = logging.getLogger(__name__)
RELEASE = "0.1.0"
"""Release of the package, named in data files and records. Results name :func:`version`, which differs after every
change."""

_blake2b = partial(hashlib.blake2b, digest_size=16)


@cache
def version() -> str:
    """Return the release and a digest of the package's files, such as ``0.1.0+3f1c09aa72de``.

    It needs no Git: a wheel, a checkout and an edited installation all have one.
    """
    package = Path(__file__).parent
    total = hashlib.blake2b(digest_size=6)
    for path in sorted(path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        total.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{RELEASE}+{total.hexdigest()}"


_STABLE_AFTER_NS = 2_000_000_000
"""A younger file may change again without a change of its times: its hash is not cached."""


def _walk(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Yield every file below a folder, through links; a link to a parent folder is not followed."""
    real = folder.resolve()
    if real in above:
        return
    for path in folder.iterdir():
        if path.is_dir():
            yield from _walk(path, above | {real})
        elif path.is_file():
            yield path


def _hidden(parts: Iterable[str]) -> bool:
    return any(part == "__pycache__" or (part.startswith(".") and part != "..") for part in parts)


def _modules(listed: Path) -> Iterator[Path]:
    """Yield the folders that a checkpoint's ``modules.json`` names, inside or outside of the checkpoint."""
    modules = read_json(listed)
    for module in modules if isinstance(modules, list) else ():
        where = module.get("path") if isinstance(module, dict) else None
        if where and isinstance(where, str) and (listed.parent / where).is_dir():
            yield listed.parent / where


def _files(folder: Path, ignored: Sequence[str] = ()) -> list[tuple[str, Path]]:
    """Return relative name and path of every file of the hash, without names that match ``ignored``."""
    every = [path for path in _walk(folder) if not any(fnmatch(path.name, pattern) for pattern in ignored)]
    found = {path for path in every if not _hidden(path.relative_to(folder).parts)}
    for listed in [path for path in found if path.name == "modules.json"]:
        for module in _modules(listed):
            if folder.resolve() not in module.resolve().parents or _hidden(module.relative_to(folder).parts):
                found |= set(_walk(module))
    return [(os.path.relpath(path, folder).replace(os.sep, "/"), path) for path in sorted(found)]


def _digest(files: list[tuple[str, Path]]) -> tuple[str, list[Path]]:
    """Return the hash of names and contents, and the unreadable files, which count by name only."""
    total, unreadable = _blake2b(), []
    for name, path in files:
        try:
            content = _content_digest(path)
        except PermissionError:
            unreadable.append(path)
            content = _blake2b(b"not readable").digest()
        total.update(name.encode() + b"\0" + content)
    return total.hexdigest(), unreadable


def _content_digest(path: Path) -> bytes:
    """Digest of the bytes of a file; of a table that of the hash of its rows, which no version of a library changes."""
    if path.suffix == ".parquet":
        with contextlib.suppress(DataError, ArrowException):  # the reader of the table reports it
            return _blake2b(rows_hash(path).encode()).digest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, _blake2b).digest()


def _state(folder: Path, files: list[tuple[str, Path]]) -> tuple[str, int]:
    """Return a hash of the state of all files, and the time of the latest change.

    Replacing a file changes its inode; writing to it changes its ctime, which no program can set back.
    """
    stats = [(name, path.stat()) for name, path in files]
    seen = [(name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev) for name, stat in stats]
    youngest = max((max(stat.st_ctime_ns, stat.st_mtime_ns) for _, stat in stats), default=0)
    return _blake2b(json.dumps([str(folder), seen]).encode()).hexdigest(), youngest


def cached_hash(path: Path) -> str:
    """Return the hash in a cache file of :func:`content_hash`; empty if the file is missing or corrupt."""
    try:
        found, _, check = path.read_text("ascii").partition(" ")
    except (OSError, UnicodeDecodeError):
        return ""
    return found if check == _check(path.name, found) else ""


def _check(state: str, found: str) -> str:
    return _blake2b(f"{state} {found}".encode()).hexdigest()


def content_hash(folder: Path, length: int = 12, ignored: Sequence[str] = ()) -> str:
    """Return the hexadecimal hash of the names and contents of every file below a folder and its linked folders.

    The content of a Parquet file is its rows, that of any other file its bytes. Hidden files and byte code are ignored,
    unless ``modules.json`` names them.

    The hash of an unchanged folder (same names, sizes, times and inodes) is cached, so that gigabytes are read once. A
    corrupt cache file is ignored, and no hash is cached while files still change. An unreadable file counts by its
    name, with a warning.
    """
    folder = folder.resolve()
    try:
        files = _files(folder, ignored)
        state, youngest = _state(folder, files)
        cache_file = cache_root() / "hashes" / state
        found = cached_hash(cache_file)
        if not found:
            found, unreadable = _digest(files)
            for path in unreadable:
                message = "%s cannot be read (permission denied): only its name is part of the identity of %s"
                logger.warning(message, path, folder)
            stable = time.time_ns() - youngest > _STABLE_AFTER_NS and _state(folder, files)[0] == state
            if stable and not unreadable:
                with contextlib.suppress(OSError):  # a read-only cache costs time, not correctness
                    write_text(cache_file, f"{found} {_check(state, found)}")
    except OSError as error:
        remedy = "correct its permissions, or remove it"
        raise DataError(f"a file cannot be read ({error})", path=error.filename or folder, remedy=remedy) from error
    return found[:length]


def number(name: str, value: Any, most: float) -> float:
    """Return a setting that enters scores: from 0 to ``most``, and not -0.0, which would make scores negative."""
    found = math.nan
    if not isinstance(value, bool | str):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            found = float(value)
    if not 0 <= found <= most:  # NaN is in no range
        problem = f"{name} is a number from 0 to {most:,.0f}, not {value!r}"
        raise SettingError(problem, remedy="give such a number")
    return found + 0.0


def count(name: str, value: Any) -> int:
    """Return a setting that is a number of documents or tokens: a whole number from 1 to 2**53."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= 2**53:
        raise SettingError(f"{name} is a whole number from 1, not {value!r}", remedy="give such a number")
    return int(value)


_LABEL_LENGTH = 120  # a file name has at most 255 bytes, and suffixes follow


def digest(value: Any, length: int = 12) -> str:
    """Return the SHA-256 of a JSON-like value, whatever the order of its keys.

    A value that JSON does not support enters as its ``str``. Revisions of composed models are such digests, and results
    are stored under them: it must not change.
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:length]


def json_digest(document: Any) -> str:
    """Return the BLAKE2b of a JSON document as 32 hexadecimal digits, whatever the order of its keys.

    Spaces of the embedding store are named by it: it must not change.
    """
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return _blake2b(canonical.encode()).hexdigest()


_REPLACED = re.compile(r'[<>:"|?*\\/\0]')
_AMBIGUOUS = re.compile(r"[\[{].*|None|True|False|[-+]?(\d|\.\d|inf|nan).*|", re.DOTALL | re.IGNORECASE)
"""Words that look like a list, a number or nothing."""
_DIGEST = "digest"


def _plain(name: str, value: Any) -> bool:
    """Return whether no other setting has the same result path.

    mteb joins names and values by ``_``, replaces some characters, and writes words, numbers and lists alike.
    """
    if "__" in name or name != name.strip("_") or _REPLACED.search(name):
        return False
    if isinstance(value, str):
        return not (_REPLACED.search(value) or "_" in value or _AMBIGUOUS.fullmatch(value))
    return value is None or isinstance(value, (bool, int, float))


def unambiguous_settings(experiment: Mapping[str, Any], usual: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Add a digest of all settings where other settings could have the same result path."""
    usual = usual or {}
    settings = {name: value for name, value in experiment.items() if name != _DIGEST}
    if "parts" in settings:  # a composed model: its revision is a digest
        return dict(experiment)

    def doubtful(name: str, value: Any) -> bool:
        if name in usual and value == usual[name]:
            return False
        like_usual = name in usual and _REPLACED.sub("_", str(value)) == _REPLACED.sub("_", str(usual[name]))
        return like_usual or not _plain(name, value)

    return {**settings, _DIGEST: digest(settings)} if any(doubtful(*one) for one in settings.items()) else settings


def identity_of(meta: ModelMeta) -> dict[str, Any]:
    """Return name, revision, width and settings of a model: they differ whenever a score may differ."""
    if meta.name is None or meta.name.startswith("no_model_name"):
        raise ModelError(
            "a model without a name cannot be composed: its results could not be distinguished from those of other"
            " models",
            remedy="load it with patent_mteb.models.load, or give its ModelMeta a name and a revision",
        )
    identity: dict[str, Any] = {"name": meta.name, "revision": meta.revision}
    if isinstance(meta.embed_dim, int):
        identity["embed_dim"] = meta.embed_dim
    return {**identity, **(meta.experiment_kwargs or {})}


def label_of(meta: ModelMeta) -> str:
    """Return the short name of a part: without the organisation, but with the kind of a composed model."""
    organisation, _, name = str(meta.name).partition("/")
    composed = "kind" in (meta.experiment_kwargs or {})
    return f"{organisation}-{name}" if composed else name


def compose_meta(
    kind: str,
    parts: Sequence[ModelMeta],
    settings: Mapping[str, Any],
    *,
    tag: str = "",
    model_type: str = "hybrid",
) -> ModelMeta:
    """Return the meta of a model that is composed of other models; see the module."""
    from mteb.models.model_meta import ModelMeta

    label = "-".join(filter(None, (tag, "+".join(label_of(part) for part in parts)))).replace("/", "-")
    experiment = {"kind": kind, **settings, "parts": [identity_of(part) for part in parts]}
    if len(label) > _LABEL_LENGTH:
        label = f"{label[:_LABEL_LENGTH]}-{digest([label, experiment], 8)}"
    name = f"{kind}/{label}"
    trained_on = [part.training_datasets for part in parts]
    sizes = [part.n_parameters for part in parts]
    return ModelMeta.create_empty(
        overwrites={
            "name": name,
            "revision": digest([name, experiment]),
            "experiment_kwargs": experiment,
            "model_type": [model_type],
            "n_parameters": None if None in sizes else sum(size or 0 for size in sizes),
            "training_datasets": None if None in trained_on else set().union(*(names or () for names in trained_on)),
            "use_instructions": any(part.use_instructions for part in parts),
        }
    )


_DESCRIPTIONS = ("*.md", "LICENSE*", "NOTICE*", "*.png", "*.jpg", "*.svg", "*.log", "*.csv")
_TRAINER = ("optimizer.*", "scheduler.*", "scaler.*", "rng_state*", "trainer_state.json", "training_args.bin")
_NOT_LOADED = (*_DESCRIPTIONS, *_TRAINER, "events.out.tfevents*")
"""Files of a checkpoint that no loader reads: descriptions, and the state of a trainer."""


META = "model_meta.json"  # mteb's file with the description of a model, next to its results

NO_REVISION = "no_revision_available"  # what mteb writes where a model has no revision


def model_folder(model: str) -> str:
    """Return the name of mteb's folder for the results of a model."""
    return model.replace("/", "__").replace(" ", "_")


def content_revision(path: Path) -> str:
    """Return the hash of a checkpoint directory, 16 hexadecimal digits, without descriptions and a trainer's state."""
    return content_hash(path, 16, _NOT_LOADED)


def local_name(path: Path) -> str:
    """Return the model name ``local/<directory>`` of a checkpoint directory, in characters of any file system.

    A directory named ``model`` or ``checkpoint-500`` is prefixed by the name of its parent.
    """
    parts = [path.resolve().name]
    if re.fullmatch(r"(model|checkpoint|checkpoint-\d+|final|best|\d+_\w+)", parts[0]):
        parts.insert(0, path.resolve().parent.name)
    name = "-".join(part for part in parts if part)
    return "local/" + (re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-") or digest(name))
