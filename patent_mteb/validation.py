"""Load checks on a local data directory, as ``patent-mteb validate`` runs them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.fingerprint import content_hash
from patent_mteb.sources import DataSet, Source
from patent_mteb.tasks import FAMILIES, TASKS
from patent_mteb.tasks.base import PatentTask

__all__ = ["Finding", "validate"]


@dataclass(frozen=True)
class Finding:
    """One line of the report: fatal, odd (usable, but look at it), or fine."""

    text: str
    fatal: bool = False
    odd: bool = False


class _Notes(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def validate(directory: Path) -> list[Finding]:
    """Load every task that the directory holds data for.

    Args:
        directory: a directory for ``PATENT_MTEB_DATA``, or the directory of one family in it.

    Returns:
        one finding for each thing that is wrong, odd or fine, errors of one kind named once.

    Raises:
        DataError: the directory does not exist or holds no family's data.
    """
    if not directory.is_dir():
        raise DataError("the directory does not exist", path=directory, remedy="name a directory")
    held = list(_held(directory))
    if not held:
        keys = ", ".join(sorted({task.data.key for task in TASKS}))
        raise DataError("the directory holds no family's data", path=directory, remedy=f"expected one of these below it: {keys}")
    notes = _Notes()
    package = logging.getLogger("patent_mteb")
    package.addHandler(notes)
    propagate, package.propagate = package.propagate, False
    try:
        findings = [finding for data, folder in held for finding in _check(data, folder)]
    finally:
        package.removeHandler(notes)
        package.propagate = propagate
    odd = [Finding(text, odd=True) for text in dict.fromkeys(notes.texts)]
    return [*odd, *dict.fromkeys(findings)]


def _held(directory: Path) -> Iterator[tuple[DataSet, Path]]:
    data_sets = list(dict.fromkeys(task.data for task in TASKS))
    below = [(data, directory / data.key) for data in data_sets if (directory / data.key).is_dir()]
    if below:
        yield from below
        return
    named = [data for data in data_sets if data.key.split("/")[-1] == directory.resolve().name]
    if named:
        yield named[0], directory
    elif (directory / "corpus.jsonl").exists() or (directory / "qrels").exists():
        yield next(data for data in data_sets if data.key == "WIPO-AT"), directory


def _check(data: DataSet, folder: Path) -> Iterator[Finding]:
    source = Source(data, "local", f"local-{content_hash(folder)}", folder)
    good: list[str] = []
    for module in FAMILIES:
        checks = getattr(module, "check_folder", None)
        if checks is not None and module.TASKS[0].data == data:
            try:
                for what, count in checks(folder).items():
                    yield Finding(f"{folder}: {count} {what}", odd=True)
            except DataError as error:
                yield Finding(str(error), fatal=True)
                return
    for kind in (task for task in TASKS if task.data == data):
        task: PatentTask = kind(source=source)
        try:
            task.load_data()
        except DataError as error:
            yield Finding(str(error), fatal=True)
        else:
            good.append(task.metadata.name)
        finally:
            task.unload_data()
    if good:
        shown = ", ".join(good[:4]) + (f" and {len(good) - 4} more" if len(good) > 4 else "")
        yield Finding(f"{folder}: {len(good)} tasks load ({shown})")
