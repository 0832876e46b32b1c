"""Load checks on a local data directory, as ``patent-mteb validate`` runs them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from patent_mteb.data.sources import DataSet, Source, plain_name
from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.identity import content_hash
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.benchmark import PatentBenchmark

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


def validate(directory: Path, debug: bool = False) -> list[Finding]:
    """Load every task that the directory holds data for.

    Args:
        directory: a directory for ``PATENT_MTEB_DATA``, or the directory of one benchmark in it.
        debug: let an error that nobody foresaw through, with its traceback, instead of making a finding of it.

    Returns:
        one finding for each thing that is wrong, odd or fine, errors of one kind named once.

    Raises:
        DataError: the directory does not exist or holds no benchmark's data.

    Example:
        >>> from patent_mteb.data.sources import sample_root
        >>> from patent_mteb.experiments.validation import validate
        >>> [finding.text.partition(": ")[2] for finding in validate(sample_root("patentmap"))]
        ['3 tasks load (PatentMapAbsToAbsRetrieval, PatentMapClmToAllRetrieval, PatentMapIPCClassification)']
    """
    if not directory.is_dir():
        raise DataError("the directory does not exist", path=directory, remedy="name a directory")
    held = list(_held(directory))
    if not held:
        keys = ", ".join(sorted({data.key for benchmark in catalogue.benchmarks() for data in benchmark.data_sets}))
        raise DataError("the directory holds no benchmark's data", path=directory, remedy=f"expected one of these below it: {keys}")
    notes = _Notes()
    package = logging.getLogger("patent_mteb")
    package.addHandler(notes)
    propagate, package.propagate = package.propagate, False
    try:
        findings = [finding for benchmark, data, folder in held for finding in _check(benchmark, data, folder, debug)]
    finally:
        package.removeHandler(notes)
        package.propagate = propagate
    odd = [Finding(text, odd=True) for text in dict.fromkeys(notes.texts)]
    return [*odd, *dict.fromkeys(findings)]


def _held(directory: Path) -> Iterator[tuple[PatentBenchmark, DataSet, Path]]:
    """The data sets below a directory; else the one that its name, or a file in it, says it is."""
    known = [(benchmark, data) for benchmark in catalogue.benchmarks() for data in benchmark.data_sets]
    below = [(benchmark, data, directory / data.key) for benchmark, data in known if (directory / data.key).is_dir()]
    if below:
        yield from below
        return
    named = [one for one in known if one[1].key.split("/")[-1] == directory.resolve().name]
    alike = [one for one in known if any((directory / name).exists() for name in one[0].facts.known_by)]
    if found := named or alike:
        yield (*found[0], directory)


def _check(benchmark: PatentBenchmark, data: DataSet, folder: Path, debug: bool) -> Iterator[Finding]:
    try:
        source = Source(data, "local", f"local-{content_hash(folder)}", folder)
    except (DataError, OSError) as error:
        yield Finding(str(error) if isinstance(error, DataError) else f"{folder}: cannot be read ({error})", fatal=True)
        return
    good: list[str] = []
    told: dict[str, str] = {}
    if benchmark.facts.check is not None:
        try:
            for what, count in benchmark.facts.check(folder).items():
                yield Finding(f"{folder}: {count} {what}", odd=True)
        except Exception as error:
            if debug and not isinstance(error, PatentMTEBError):
                raise
            told["check"] = _problem(error, f"the check of {benchmark.facts.name}", folder)
            yield Finding(told["check"], fatal=True)
    for kind in (task for task in benchmark.task_classes if task.data == data):
        if "check" in told and told.get(kind.metadata.type) == told["check"]:
            continue  # what the check said is what every task of this type runs into
        task: PatentTask = kind(source=source)
        try:
            task.load_data()
        except Exception as error:
            if debug and not isinstance(error, PatentMTEBError):
                raise
            told[kind.metadata.type] = _problem(error, plain_name(task.metadata.name), folder)
            yield Finding(told[kind.metadata.type], fatal=True)
        else:
            good.append(plain_name(task.metadata.name))
        finally:
            if task.data_loaded:
                task.unload_data()
    if good:
        shown = ", ".join(good[:4]) + (f" and {len(good) - 4} more" if len(good) > 4 else "")
        yield Finding(f"{folder}: {len(good)} tasks load ({shown})")


def _problem(error: Exception, what: str, folder: Path) -> str:
    """What is wrong, in one line; an error that nobody foresaw with the task and the folder it came up in."""
    if isinstance(error, PatentMTEBError):
        return str(error)
    return f"{folder}: {what} breaks on this data ({type(error).__name__}: {error}). Remedy: --debug prints the traceback"
