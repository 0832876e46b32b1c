"""What makes two things the same: content hashes of folders, digests of settings, names and revisions of models.

A composed model ``hybrid`` of ``patent-mteb/bm25-dapfam`` and ``sentence-transformers/all-MiniLM-L6-v2`` with
``tag="linear-0.7"``:

* ``name`` is ``hybrid/linear-0.7-bm25-dapfam+all-MiniLM-L6-v2``: the kind, the settings that a reader looks for, the
  parts. A composed part keeps its kind (``passages-256-maxP-all-MiniLM-L6-v2``). A label above 120 characters is cut
  and ends with a hash.
* ``experiment_kwargs`` holds the kind, every setting, and the identity of each part with its own settings, nested.
* ``revision`` is a hash of name and ``experiment_kwargs``, so that no two settings and no two revisions of a part ever
  share a result path, also where mteb shortens the settings to a folder name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patent_mteb.errors import DataError, ModelError
from patent_mteb.files import cache_root, read_json, write_text

if TYPE_CHECKING:
    from mteb.models.model_meta import ModelMeta

logger = logging.getLogger(__name__)


RELEASE = "0.1.0"
"""Of the package. Files of data and records name it; results name :func:`version`, which tells two changes of one
release apart."""

_CHUNK = 1 << 20


@cache
def version() -> str:
    """The release and a digest of the package's files, such as ``0.1.0+3f1c09aa72de``: another one after every change.

    Git need not be there: a wheel, a checkout and an editable installation with changes of one's own all have one.
    """
    package = Path(__file__).parent
    total = hashlib.blake2b(digest_size=6)
    for path in sorted(path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        total.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{RELEASE}+{total.hexdigest()}"


def __getattr__(name: str) -> str:
    if name == "__version__":
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_SETTLED_NS = 2_000_000_000
"""A file younger than this may change again without its times changing: its hash is not remembered."""


def _walk(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Every file below a folder, through links; a link to a folder that it lies in is not followed."""
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
    """What a checkpoint's ``modules.json`` points to, wherever it lies."""
    modules = read_json(listed)
    for module in modules if isinstance(modules, list) else ():
        where = module.get("path") if isinstance(module, dict) else None
        if where and isinstance(where, str) and (listed.parent / where).is_dir():
            yield listed.parent / where


def _files(folder: Path, ignored: Sequence[str] = ()) -> list[tuple[str, Path]]:
    """Relative name and path of every file that counts; not of those whose names match ``ignored``."""
    every = [path for path in _walk(folder) if not any(fnmatch(path.name, pattern) for pattern in ignored)]
    found = {path for path in every if not _hidden(path.relative_to(folder).parts)}
    for listed in [path for path in found if path.name == "modules.json"]:
        for module in _modules(listed):
            if folder.resolve() not in module.resolve().parents or _hidden(module.relative_to(folder).parts):
                found |= set(_walk(module))
    return [(os.path.relpath(path, folder).replace(os.sep, "/"), path) for path in sorted(found)]


def _digest(files: list[tuple[str, Path]]) -> tuple[str, list[Path]]:
    """Hash of names and bytes, and the files that may not be read, of which the name alone counts."""
    total, closed = hashlib.blake2b(digest_size=16), []
    for name, path in files:
        content = hashlib.blake2b(digest_size=16)
        try:
            with path.open("rb") as stream:
                while chunk := stream.read(_CHUNK):
                    content.update(chunk)
        except PermissionError:
            closed.append(path)
            content = hashlib.blake2b(b"not readable", digest_size=16)
        total.update(name.encode() + b"\0" + content.digest())
    return total.hexdigest(), closed


def _state(folder: Path, files: list[tuple[str, Path]]) -> tuple[str, int]:
    """Hash of what shows that a file was changed (replacing one changes its inode, writing to it its ctime, which
    nothing can set back), and the age of the youngest.
    """
    stats = [(name, path.stat()) for name, path in files]
    seen = [(name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev) for name, stat in stats]
    youngest = max((max(stat.st_ctime_ns, stat.st_mtime_ns) for _, stat in stats), default=0)
    return hashlib.blake2b(json.dumps([str(folder), seen]).encode(), digest_size=16).hexdigest(), youngest


def remembered(memo: Path) -> str:
    """The hash that a memo of :func:`content_hash` holds, empty if there is none or it is damaged."""
    try:
        found, _, check = memo.read_text("ascii").partition(" ")
    except (OSError, UnicodeDecodeError):
        return ""
    return found if check == _check(memo.name, found) else ""


def _check(state: str, found: str) -> str:
    return hashlib.blake2b(f"{state} {found}".encode(), digest_size=16).hexdigest()


def content_hash(folder: Path, length: int = 12, ignored: Sequence[str] = ()) -> str:
    """Hexadecimal hash of every file below a folder, linked folders too: relative names and bytes. Hidden files and
    byte code are left out, unless ``modules.json`` points to them.

    The hash of an unchanged folder (same names, sizes, times and inodes) is remembered in the user cache, so that
    gigabytes are read once. A memo that is damaged, or that was written while files still changed, is not believed. A
    file that nobody may read counts by its name, with a warning: whoever needs it says so.
    """
    folder = folder.resolve()
    try:
        files = _files(folder, ignored)
        state, youngest = _state(folder, files)
        memo = cache_root() / "hashes" / state
        found = remembered(memo)
        if not found:
            found, closed = _digest(files)
            for path in closed:
                logger.warning(
                    "%s cannot be read (permission denied): its name alone is part of the identity of %s", path, folder
                )
            if not closed and time.time_ns() - youngest > _SETTLED_NS and _state(folder, files)[0] == state:
                with contextlib.suppress(OSError):  # a read-only cache costs time, not correctness
                    write_text(memo, f"{found} {_check(state, found)}")
    except OSError as error:
        raise DataError(
            f"a file cannot be read ({error})",
            path=error.filename or folder,
            remedy="correct its permissions, or remove it",
        ) from error
    return found[:length]


_LABEL_LENGTH = 120


def digest(value: Any, length: int = 12) -> str:
    """Hash (SHA-256, ``length`` hexadecimal digits) of a JSON-like value, whatever the order of its keys: revisions of
    composed models.

    What JSON cannot hold goes in as its ``str``. Results are filed under it: it must not change.
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:length]


def json_digest(document: Any) -> str:
    """Hash (BLAKE2b, 32 hexadecimal digits) of a JSON document, whatever the order of its keys: names of spaces in the
    embedding store.

    Users' stores are filed under it: it must not change.
    """
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()


_REPLACED = re.compile(r'[<>:"|?*\\/\0]')
_LIKE_ANOTHER = re.compile(r"[\[{].*|None|True|False|[-+]?(\d|\.\d|inf|nan).*|", re.DOTALL | re.IGNORECASE)
"""Words that are written as a list, a number or nothing is."""
_DIGEST = "digest"


def _plain(name: str, value: Any) -> bool:
    """Whether the path says a setting as it is, and no other setting is written so: mteb joins name and value by ``_``,
    settings by ``__``, replaces some characters, and writes words, numbers and lists alike.
    """
    if "__" in name or name != name.strip("_") or _REPLACED.search(name):
        return False
    if isinstance(value, str):
        return not (_REPLACED.search(value) or "_" in value or _LIKE_ANOTHER.fullmatch(value))
    return value is None or isinstance(value, (bool, int, float))


def told_apart(experiment: Mapping[str, Any], usual: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Settings with a digest of them all where their path would not tell them from others."""
    usual = usual or {}
    settings = {name: value for name, value in experiment.items() if name != _DIGEST}
    if "parts" in settings:  # a composed model: its revision is a digest
        return dict(experiment)

    def doubtful(name: str, value: Any) -> bool:
        if name in usual and value == usual[name]:
            return False
        like_usual = name in usual and _REPLACED.sub("_", str(value)) == _REPLACED.sub("_", str(usual[name]))
        return like_usual or not _plain(name, value)

    return (
        {**settings, _DIGEST: digest(settings)} if any(doubtful(*setting) for setting in settings.items()) else settings
    )


def identity_of(meta: ModelMeta) -> dict[str, Any]:
    """Name, revision, width and settings of a model: what must differ when a score may differ."""
    if meta.name is None or meta.name.startswith("no_model_name"):
        raise ModelError(
            "a model without a name cannot be composed, its results would be mixed up with those of other nameless"
            " models. Remedy: load it with patent_mteb.models.load, or give its ModelMeta a name and a revision"
        )
    identity: dict[str, Any] = {"name": meta.name, "revision": meta.revision}
    if isinstance(meta.embed_dim, int):
        identity["embed_dim"] = meta.embed_dim
    return {**identity, **(meta.experiment_kwargs or {})}


def label_of(meta: ModelMeta) -> str:
    """Short name of a model as a part of another: without the organisation, but with the kind of a composed model."""
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
    """Identity of a model that is made of other models (see the module's description)."""
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


def describe(meta: ModelMeta) -> str:
    """One line that names a model with all its settings: ``hybrid(bm25-dapfam(k1=1.2), all-MiniLM-L6-v2,
    alpha=0.7)``.
    """

    def line(identity: Mapping[str, Any]) -> str:
        parts = [line(part) for part in identity.get("parts", ())]
        hidden = {"name", "revision", "kind", "parts"}
        shown = [f"{key}={value}" for key, value in identity.items() if key not in hidden]
        own = str(identity.get("kind") or str(identity["name"]).partition("/")[2])
        return f"{own}({', '.join(parts + shown)})" if parts or shown else own

    return line(identity_of(meta))


_UNREAD = (
    *("*.md", "LICENSE*", "NOTICE*", "*.png", "*.jpg", "*.svg", "*.log", "*.csv"),
    *(
        "optimizer.*",
        "scheduler.*",
        "scaler.*",
        "rng_state*",
        "trainer_state.json",
        "training_args.bin",
        "events.out.tfevents*",
    ),
)
"""Files beside a model that no loader reads: descriptions, and what a trainer needs to go on."""


def content_revision(path: Path) -> str:
    """Revision of a checkpoint directory: hash of the names and bytes of the files that a model is loaded from.

    16 hexadecimal digits. Descriptions and the state of a trainer do not count.
    """
    return content_hash(path, 16, _UNREAD)


def local_name(path: Path) -> str:
    """Model name of a checkpoint directory, ``local/<directory>``, with characters that no file system minds.

    A directory called just ``model`` or ``checkpoint-500`` takes its parent's name in front.
    """
    parts = [path.resolve().name]
    if re.fullmatch(r"(model|checkpoint|checkpoint-\d+|final|best|\d+_\w+)", parts[0]):
        parts.insert(0, path.resolve().parent.name)
    given = "-".join(part for part in parts if part)
    return "local/" + (re.sub(r"[^A-Za-z0-9._-]+", "-", given).strip("-") or digest(given))
