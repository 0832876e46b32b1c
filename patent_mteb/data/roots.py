"""The directory that ``PATENT_MTEB_DATA`` names: whose data are in it, and whether it can be what was meant.

A directory with a ``dataset.json`` (:mod:`patent_mteb.recipes.dataset`) is somebody's own data set, complete as it is:
what was not built is not there, and is neither fetched nor invented. In any other the hub or the sample stands in for
what is missing.

Environment variables that switch something on or off.
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


def asked(variable: str, *, default: bool = False) -> bool:
    """Whether an environment variable is switched on; one that is not set, or empty, has the default."""
    value = os.environ.get(variable, "").strip().lower()
    if value not in ("", *_WORDS):
        raise DataError(f"{variable}={value} is neither yes nor no", remedy="set it to 1 or 0")
    return _WORDS.get(value, default)


DATA_VARIABLE = "PATENT_MTEB_DATA"


KEYS: dict[str, tuple[str, ...]] = {}
"""The data sets of all registered benchmarks -> files by which a folder of another name is known to be one."""


_RECORDS = ("patents", "citations", "relations", "import.json", "patents.parquet", "patents.jsonl", "patents.jsonl.gz")


@dataclass(frozen=True)
class Own:
    """Whose data a task stands on: what ``dataset.json`` says of the whole, and how one recipe left its paper's
    rules.
    """

    name: str
    version: str = "1"
    owner: str = ""
    licence: str = ""
    deviations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Root:
    """A directory for ``PATENT_MTEB_DATA`` and its ``dataset.json``, if there is one."""

    folder: Path
    record: dataset.DataSetRecord | None = None

    def own(self, key: str) -> Own | None:
        """Whose the data of a benchmark's data set are; None for tables that the record, if there is one, does not
        list.
        """
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
        """The files of a data set by their paths in its folder: as recorded, else (a record without recipes) as they
        lie there.
        """
        if self.record is not None and self.record.recipes:
            start = f"{key}/"
            return {
                path.removeprefix(start): file for path, file in self.record.files.items() if path.startswith(start)
            }
        folder = self.folder / key
        return {
            path.relative_to(folder).as_posix(): dataset.file_outline(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    def not_built(self, key: str, recipe: str) -> DataError:
        """What is said where tables of a data set are asked for that this one does not have."""
        name = self.record.name if self.record else ""
        if self.own(key):
            return DataError(f"{key} of the data set {name} is missing", path=self.folder, remedy="build it again")
        command = f"patent-mteb data build {recipe or 'RECIPE'} PATENTS CITATIONS {self.folder}"
        remedy = f"build it with '{command}', or unset {DATA_VARIABLE} for the published data"
        return NotThereError(f"{key} was not built for the data set {name}", path=self.folder, remedy=remedy)


def data_root(folder: Path | None = None, asked: str = "") -> Root | None:
    """The directory that ``PATENT_MTEB_DATA`` names, None if it is unset."""
    named = os.environ.get(DATA_VARIABLE)
    if folder is None and not named:
        return None
    place = folder or Path(named or "")
    if not place.is_dir():
        raise DataError(f"{DATA_VARIABLE} is not a directory", path=place, remedy="correct or unset the variable")
    record = _record(place)
    if record is None and not (_holds_data(place) or (asked and (place / asked).is_dir())):
        raise _wrong(place)
    return Root(place, record)


def _record(folder: Path) -> dataset.DataSetRecord | None:
    path = folder / dataset.FILE
    if not path.exists():
        return None
    state = path.stat()
    return _read(folder, state.st_mtime_ns, state.st_size, state.st_ino)


@lru_cache(maxsize=16)
def _read(folder: Path, *state: int) -> dataset.DataSetRecord | None:
    return dataset.read(folder)


def _holds_data(folder: Path) -> bool:
    return (folder / dataset.FILE).exists() or any((folder / key).is_dir() for key in KEYS)


def _wrong(place: Path) -> DataError:
    """What a directory without data sets seems to be, and which one may have been meant."""
    whole = place.resolve()
    above = [folder for folder in list(whole.parents)[:2] if _holds_data(folder)]
    names = {key.rpartition("/")[2] for key in KEYS}
    if above:
        return DataError(
            f"{DATA_VARIABLE} names a folder inside a data set", path=place, remedy=f"set {DATA_VARIABLE}={above[0]}"
        )
    if whole.name in names or any((place / file).exists() for files in KEYS.values() for file in files):
        remedy = (
            f"put it into a directory of its own as {'WIPO-AT' if whole.name not in names else whole.name}, and name"
            " that one"
        )
        return DataError(
            f"{DATA_VARIABLE} names the folder of one benchmark, not the one that holds it", path=place, remedy=remedy
        )
    if any((place / name).exists() for name in _RECORDS):
        remedy = (
            f"build a benchmark of them first: patent-mteb data build wipo_at {place} ROOT, then set"
            f" {DATA_VARIABLE}=ROOT"
        )
        return DataError(f"{DATA_VARIABLE} names records, not a benchmark's tables", path=place, remedy=remedy)
    below = sorted(folder for folder in place.iterdir() if folder.is_dir() and _holds_data(folder))
    remedy = (
        f"set {DATA_VARIABLE}={below[0]}"
        if below
        else "correct or unset the variable; 'patent-mteb data build' makes such a directory"
    )
    return DataError(f"{DATA_VARIABLE} names a directory that holds no benchmark's data", path=place, remedy=remedy)
