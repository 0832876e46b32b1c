"""The directory of ``PATENT_MTEB_DATA``: the owner of its data, and the directory that a wrong one probably means.

A directory with a ``dataset.json`` (:mod:`patent_mteb.recipes.dataset`) is a complete data set of its owner: missing
tables are neither fetched nor replaced. In any other directory the hub or the sample replaces missing tables.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from patent_mteb.errors import DataError, NotThereError
from patent_mteb.recipes import dataset

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
        raise DataError(f"{DATA_VARIABLE} is not a directory", path=place, remedy="correct or unset the variable")
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
        what, remedy = "a folder inside a data set", f"set {DATA_VARIABLE}={above[0]}"
    elif whole.name in names or any((place / file).exists() for files in KEYS.values() for file in files):
        name = whole.name if whole.name in names else "WIPO-AT"
        what = "the folder of one benchmark, not the one that holds it"
        remedy = f"put it into a directory of its own as {name}, and name that one"
    elif any((place / name).exists() for name in _RECORDS):
        build = f"patent-mteb data build wipo_at {place} ROOT"
        what = "records, not a benchmark's tables"
        remedy = f"build a benchmark of them first: {build}, then set {DATA_VARIABLE}=ROOT"
    else:
        what = "a directory that holds no benchmark's data"
        remedy = "correct or unset the variable; 'patent-mteb data build' makes such a directory"
        if below:
            remedy = f"set {DATA_VARIABLE}={below[0]}"
    return DataError(f"{DATA_VARIABLE} names {what}", path=place, remedy=remedy)
