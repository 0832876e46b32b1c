"""Find a benchmark's tables: a local copy, the hub at a pinned revision, or the built-in sample.

Order: ``$PATENT_MTEB_DATA/<key>`` if that directory exists; else, with ``PATENT_MTEB_SAMPLE=1`` or for an unreleased
data set, the built-in sample; else the hub at the pinned revision. Where ``PATENT_MTEB_DATA`` has a ``dataset.json``,
missing tables are not replaced: such a directory is a complete data set of its owner. In any other directory the hub
or the sample replaces missing tables. The source is part of the identity of a task, so that different data never
share a result file or a cached score. Resolving sends no request; :func:`with_commit` does.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from patent_mteb import recipes
from patent_mteb.data import hub, releases
from patent_mteb.errors import AccessError, DataError, NotThereError
from patent_mteb.files import cache_root, write_text
from patent_mteb.identity import content_hash, digest
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes import dataset
from patent_mteb.sample import SAMPLE_VERSION, load

logger = logging.getLogger(__name__)
SAMPLE_VARIABLE = "PATENT_MTEB_SAMPLE"
TRUNCATED_VARIABLE = "PATENT_MTEB_TRUNCATED"
"""1: accept released files with fewer rows than their release, as local data, which no paper is compared with."""
REGISTERED: dict[str, frozenset[str]] = {}
"""By data set: the hashes of local directories that are known to be the authors' data (``local-<hash>``).

None is confirmed yet. An owner of a licensed copy enters its hash here before a run.
"""

_NOTES = Path(".cache", "huggingface", "download")
_MIXED: set[tuple[Path, str]] = set()
"""Folders and revisions that changed while this process read them: its caches may mix two states."""


@dataclass(frozen=True)
class DataSet:
    """One data set of a benchmark.

    Attributes:
        key: the hub repository id, or the benchmark's name where nothing is released.
        recipe: builds the sample: a recipe of the package (``dapfam``), or the dotted name of an importable module
            (``__main__`` too) with ``build(patents, citations, root, params)`` and ``SAMPLE``; empty for no sample.
        revision: pin on the hub, a commit where one is known; empty for an unreleased data set.
        gated: whether the hub asks for consent.
        file: a file that every revision has, by which its commit is requested from the hub.
    """

    key: str
    recipe: str
    revision: str = ""
    gated: bool = False
    file: str = "README.md"

    @property
    def released(self) -> bool:
        return bool(self.revision)

    def holds(self, revision: str) -> bool:
        """Whether a revision is the published one."""
        return hub.matches_pin(self.revision, revision)


@dataclass(frozen=True)
class Source:
    """A data set and where it was found.

    ``folder`` is None for the hub, whose files are fetched one by one. ``own`` is the owner in a ``dataset.json``.
    """

    data: DataSet
    kind: Literal["local", "hub", "sample"]
    revision: str
    folder: Path | None = None
    own: Own | None = None

    @property
    def task_suffix(self) -> str:
        """Suffix of the name of a task on these data."""
        if self.kind == "sample":
            return ".sample"
        unpublished = self.revision.startswith("local-") and not _registered(self.data, self.revision)
        return f".{self.revision}" if unpublished else ""

    @property
    def subset(self) -> str:
        """Name of the mteb subset of results of this source."""
        fixed = hub.is_commit(self.data.revision) or hub.is_short(self.data.revision)
        return "default" if fixed and self.data.holds(self.revision) else self.revision

    @property
    def place(self) -> str:
        """The place of the data, for lists and logs."""
        if self.kind == "hub":
            return f"hub {self.data.key}@{self.revision[:7]}"
        return f"{self.kind} {self.revision}" + (f" in {self.folder}" if self.kind == "local" else "")

    def path(self, name: str = "") -> Path:
        """Return the local path of a file; fetch it from the hub or build the sample if needed."""
        if self.kind == "sample":
            return sample_root(self.data.recipe) / self.data.key / name
        if self.folder is not None:
            return self.folder / name
        commit = self.revision if hub.is_commit(self.revision) else _commit(self.data)
        with _alternative_remedy(self.data):
            return hub.fetch(self.data.key, commit, name, gated=self.data.gated)

    def verify(self, reading: bool = False) -> None:
        """Raise an error if the files have changed since the source was resolved; reads their times only."""
        folder = self._changeable_folder()
        mixed = (folder, self.revision) in _MIXED
        if folder is None or (self._unchanged(folder) and not mixed):
            return
        if reading:
            _MIXED.add((folder, self.revision))
        while_read = reading or mixed
        raise DataError(
            f"the files were changed {'while they were read' if while_read else 'after the task was made'}: they are"
            f" not those of {self.revision}, under which the score would be stored",
            path=folder,
            remedy="start again and leave the folder alone meanwhile" if while_read else "make the task again",
        )

    def _changeable_folder(self) -> Path | None:
        """Return the folder that others can change; None for the hub's cache and a missing folder."""
        if self.kind == "sample":
            return sample_root(self.data.recipe)
        known = self.data.holds(self.revision) or self.revision.startswith("local-")
        return self.folder if known else None

    def _unchanged(self, folder: Path) -> bool:
        if self.kind == "sample":
            return _intact(folder)
        if self.data.holds(self.revision):
            return downloaded_commit(folder) == self.revision
        return self.revision == f"local-{content_hash(folder)}"


def plain_name(task: str) -> str:
    """Return a task's name without the suffix of its data."""
    return re.sub(r"\.(sample|local-[0-9a-f]+)$", "", task)


def _registered(data: DataSet, revision: str) -> bool:
    return revision.removeprefix("local-") in REGISTERED.get(data.key, ())


def resolve(data: DataSet, sample: bool | None = None, root: Path | None = None) -> Source:
    """Find a data set by the order of the module's docstring."""
    held = None if sample else data_root(root, data.key)
    if held is not None:
        folder = held.folder / data.key
        if folder.is_dir():
            whole = data.released and not switched_on(TRUNCATED_VARIABLE)
            if whole and (commit := downloaded_commit(folder)):
                if data.holds(commit):
                    return Source(data, "local", commit, folder)
                _log_other_commit(data, folder, commit)
            revision = f"local-{content_hash(folder)}"
            return Source(data, "local", revision, folder, None if _registered(data, revision) else held.own(data.key))
        if held.record is not None:
            raise held.not_built(data.key, data.recipe)
    if not data.released and not data.recipe:
        return Source(data, "local", "missing", (held.folder if held else Path(f"${DATA_VARIABLE}")) / data.key)
    if data.recipe and (sample or not data.released or switched_on(SAMPLE_VARIABLE)):
        return Source(data, "sample", sample_revision(data.recipe))
    return Source(data, "hub", _state(data, hub.cached_commit(data.key, data.revision) or data.revision))


def _state(data: DataSet, commit: str) -> str:
    return f"local-{digest([data.key, commit])}" if switched_on(TRUNCATED_VARIABLE) else commit


def with_commit(source: Source) -> Source:
    """Return the source with the full commit of its data; for a branch, the one that the hub names today."""
    return source if source.kind != "hub" else replace(source, revision=_state(source.data, _commit(source.data)))


def _commit(data: DataSet) -> str:
    with _alternative_remedy(data):
        return hub.commit_of(data.key, data.revision, data.file, gated=data.gated)


@contextlib.contextmanager
def _alternative_remedy(data: DataSet) -> Iterator[None]:
    """Add the ways without the hub to the remedy of a failed request."""
    try:
        yield
    except AccessError as error:
        instead = f"put a copy in ${DATA_VARIABLE}/{data.key}"
        if data.recipe:
            instead += f", or set {SAMPLE_VARIABLE}=1 to run on the built-in sample (stored under separate names)"
        raise AccessError(error.problem, path=error.path, remedy=f"{error.remedy}; or {instead}") from error


@lru_cache(maxsize=64)
def _log_other_commit(data: DataSet, folder: Path, commit: str) -> None:
    known = releases.said_of(data.key, "commit", commit)
    message = "%s is commit %.12s of %s, not %.12s%s: scores on it are stored as those of a local copy"
    logger.warning(message, folder, commit, data.key, data.revision, known and f" (known from {known})")


def downloaded_commit(folder: Path) -> str:
    """Return the commit of all files of a local copy as the hub's client recorded it, empty for none."""
    notes: dict[str, str] = {}
    commits: set[str] = set()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts):
            continue
        if path.is_dir():
            if path.is_symlink():
                return ""
            continue
        try:
            noted, etag, *_ = (folder / _NOTES / f"{name}.metadata").read_text("ascii").split()
        except (OSError, ValueError):
            return ""
        commits.add(noted)
        notes[name.as_posix()] = etag.strip('"')
    intact = len(commits) == 1 and all(hub.matches_etag(folder / name, etag) for name, etag in notes.items())
    return commits.pop() if intact else ""


@lru_cache(maxsize=64)
def sample_revision(recipe: str) -> str:
    """Return the revision of a recipe's sample: its version, and the hash of a recipe outside the package.

    An imported recipe stays as it is when its file changes.
    """
    file = recipes.source_file(recipe)
    return f"sample-{SAMPLE_VERSION}" + ("" if file is None else f"-{digest(file.read_text('utf-8', 'replace'))}")


def _digest_of(folder: Path) -> Path:
    """Return the path of the digest of a sample's tables."""
    return folder.parent.with_name(f"{folder.parent.name}.digests") / folder.name


def _intact(folder: Path) -> bool:
    """Whether the tables of a sample are as they were built."""
    try:
        return _digest_of(folder).read_text("ascii") == content_hash(folder, 32)
    except (OSError, ValueError, DataError):
        return False


def _discard(folder: Path) -> None:
    aside = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    with contextlib.suppress(FileNotFoundError):  # another process was first
        folder.rename(aside / "damaged")
    shutil.rmtree(aside, ignore_errors=True)


def _sample_records(recipe: str) -> tuple[Sequence[Patent], Sequence[Citation]]:
    """Return the records of a recipe's sample; the built-in ones have long texts only if the recipe needs them."""
    if (records := getattr(recipes.find(recipe), "sample_records", None)) is not None:
        patents, citations = records()
        return patents, citations
    fields = {need.field for need in recipes.needs(recipe)}
    return load(not fields or not fields.isdisjoint(("description", "summaries")))


_is_fork = False


def _note_fork() -> None:
    global _is_fork
    _is_fork = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def build_sample(recipe: str, root: Path | str) -> None:
    """Run a recipe on its sample.

    A fork does so in a new process, because polars never returns in the fork of a process that has used it (2.1).
    """
    if _is_fork and recipes.source_file(recipe) is None:
        code = "import sys; from patent_mteb.data import loading; loading.build_sample(*sys.argv[1:])"
        done = subprocess.run([sys.executable, "-c", code, recipe, str(root)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the {recipe} tables of the sample could not be built:\n{done.stderr}")
        return
    module = recipes.find(recipe)
    module.build(*_sample_records(recipe), Path(root), module.SAMPLE)


@lru_cache(maxsize=16)
def sample_root(recipe: str) -> Path:
    """Return the root directory of a recipe's sample; build it at first use.

    Its name in the user cache has the version of the sample, a fingerprint of the code that writes and reads it, and
    the hash of a recipe outside the package. It is built under another name and renamed, so that an interrupted build
    leaves nothing and two processes do not disturb each other.
    """
    package = Path(recipes.__file__).parents[1]
    code = digest([content_hash(package / part) for part in ("patents", "recipes", "sample")])
    name = recipe + sample_revision(recipe).removeprefix(f"sample-{SAMPLE_VERSION}")
    folder = cache_root() / "sample" / f"{SAMPLE_VERSION}-{code}" / name
    if folder.is_dir():
        if _intact(folder):
            return folder
        message = "the %s tables of the built-in sample in %s have changed since they were built; they are rebuilt"
        logger.warning(message, recipe, folder)
        _discard(folder)
    logger.info("building the %s tables of the built-in sample", recipe)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=folder.parent))
    try:
        build_sample(recipe, partial)
        write_text(_digest_of(folder), content_hash(partial, 32))
        partial.chmod(0o755)
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def switched_on(variable: str, *, default: bool = False) -> bool:
    """Whether an environment variable is on; one that is unset or empty has the default."""
    value = os.environ.get(variable, "").strip().lower()
    if value not in ("", *_WORDS):
        raise DataError(f"{variable}={value} is neither yes nor no", remedy="set it to 1 or 0")
    return _WORDS.get(value, default)


DATA_VARIABLE = "PATENT_MTEB_DATA"
KEYS: dict[str, tuple[str, ...]] = {}
"""The data sets of all registered benchmarks, and files that identify a folder of another name."""

_RECORDS = ("patents", "citations", "relations", "import.json", "patents.parquet", "patents.jsonl", "patents.jsonl.gz")


@dataclass(frozen=True)
class Own(dataset.Identity):
    """The owner of the data of a task: identity in ``dataset.json``, and deviations of a recipe from its paper."""

    deviations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Root:
    """A directory for ``PATENT_MTEB_DATA``, with its ``dataset.json`` if there is one."""

    folder: Path
    record: dataset.DataSetRecord | None = None

    def own(self, key: str) -> Own | None:
        """Return the owner of a data set's tables, None for tables without a record."""
        if self.record is None:
            return None
        record, deviations = self.record, tuple[str, ...]()
        if record.recipes:
            its = [one for one in record.recipes.values() if key in dataset.data_sets(one.files)]
            if not its:
                return None
            deviations = tuple(its[0].deviations)
        return Own(record.name, record.version, record.owner, record.licence, deviations)

    def files(self, key: str) -> Mapping[str, dataset.FileRecord]:
        """Return the files of a data set by path: as recorded, else (a record without recipes) as found."""
        if self.record is not None and self.record.recipes:
            start, files = f"{key}/", self.record.files
            return {path.removeprefix(start): file for path, file in files.items() if path.startswith(start)}
        folder = self.folder / key
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): dataset.file_outline(path) for path in paths}

    def not_built(self, key: str, recipe: str) -> DataError:
        """Return the error for a data set whose tables are missing."""
        name = self.record.name if self.record else ""
        if self.own(key):
            return DataError(f"{key} of the data set {name} is missing", path=self.folder, remedy="build it again")
        command = f"patent-mteb data build {recipe or 'RECIPE'} PATENTS CITATIONS {self.folder}"
        remedy = f"build it with '{command}', or unset {DATA_VARIABLE} for the published data"
        return NotThereError(f"{key} was not built for the data set {name}", path=self.folder, remedy=remedy)


def data_root(folder: Path | None = None, key: str = "") -> Root | None:
    """Return the directory of ``PATENT_MTEB_DATA``, None if it is unset."""
    named = os.environ.get(DATA_VARIABLE)
    if folder is None and not named:
        return None
    place = folder or Path(named or "")
    if not place.is_dir():
        raise DataError("there is no such folder of data", path=place, remedy=f"correct --data, or {DATA_VARIABLE}")
    record, path = None, place / dataset.FILE
    if path.exists():
        state = path.stat()
        record = _read(place, state.st_mtime_ns, state.st_size, state.st_ino)
    if record is None and not (_holds_data(place) or (key and (place / key).is_dir())):
        raise _wrong(place)
    return Root(place, record)


@lru_cache(maxsize=16)
def _read(folder: Path, *state: int) -> dataset.DataSetRecord | None:
    return dataset.read(folder)


def _holds_data(folder: Path) -> bool:
    return (folder / dataset.FILE).exists() or any((folder / key).is_dir() for key in KEYS)


def _wrong(place: Path) -> DataError:
    """Return the error for a directory without data sets; its remedy names the likely one."""
    whole = place.resolve()
    above = [folder for folder in list(whole.parents)[:2] if _holds_data(folder)]
    below = sorted(folder for folder in place.iterdir() if folder.is_dir() and _holds_data(folder))
    names = {key.rpartition("/")[2] for key in KEYS}
    if above:
        what, remedy = "a folder inside a data set", f"name {above[0]}"
    elif whole.name in names or any((place / file).exists() for files in KEYS.values() for file in files):
        name = whole.name if whole.name in names else "WIPO-AT"
        what = "the folder of one benchmark, not the one that holds it"
        remedy = f"put it into a directory of its own as {name}, and name that one"
    elif any((place / name).exists() for name in _RECORDS):
        build = f"patent-mteb data build wipo_at {place} ROOT"
        what = "records, not a benchmark's tables"
        remedy = f"build a benchmark of them first: {build}, then name ROOT"
    else:
        what = "a directory that holds no benchmark's data"
        remedy = f"correct --data, or {DATA_VARIABLE}; 'patent-mteb data build' makes such a directory"
        if below:
            remedy = f"name {below[0]}"
    return DataError(f"the data folder (--data, or {DATA_VARIABLE}) is {what}", path=place, remedy=remedy)
