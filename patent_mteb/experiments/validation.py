"""Checks of a local data directory for ``patent-mteb data validate``: all findings in one pass, in three ranks.

``error`` is wrong data, such as an unreadable table or a file that differs from its entry in ``dataset.json``; ``note``
is unexpected but usable data, or missing data with the tasks that they would add; ``ok`` is usable data.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Literal

from patent_mteb import published
from patent_mteb.data import releases
from patent_mteb.data.loading import DataSet, Root, Source, downloaded_commit, plain_name
from patent_mteb.errors import DataError, NotThereError, PatentMTEBError
from patent_mteb.experiments.run import unloading
from patent_mteb.files import file_hash
from patent_mteb.identity import content_hash
from patent_mteb.recipes import dataset
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.benchmark import PatentBenchmark

_SHOWN = 4  # names in a message, a choice
_EMPTY_VIEW = re.compile(r"rows of view (\w+) without text")


@dataclass(frozen=True)
class Finding:
    """A line of the report."""

    text: str
    rank: Literal["error", "note", "ok"] = "ok"


@contextmanager
def _collected_warnings() -> Iterator[list[logging.LogRecord]]:
    """Collect the warnings of the suite, and silence those of mteb."""
    handler, package, mteb = BufferingHandler(sys.maxsize), logging.getLogger("patent_mteb"), logging.getLogger("mteb")
    handler.setLevel(logging.WARNING)
    propagate, level, mteb_level = package.propagate, package.level, mteb.level
    package.addHandler(handler)
    package.propagate = False
    package.setLevel(logging.WARNING)
    mteb.setLevel(logging.ERROR)
    try:
        yield handler.buffer
    finally:
        package.removeHandler(handler)
        package.propagate = propagate
        package.setLevel(level)
        mteb.setLevel(mteb_level)


def validate(directory: Path, debug: bool = False) -> list[Finding]:
    """Compare a directory with its ``dataset.json``, and load every task."""
    if not directory.is_dir():
        raise DataError("the directory does not exist", path=directory, remedy="name a directory")
    present = list(_data_sets(directory))
    if not present and not (directory / dataset.FILE).exists():
        keys = ", ".join(sorted({data.key for benchmark in catalogue.benchmarks() for data in benchmark.data_sets}))
        raise DataError(
            "the directory holds no benchmark's data", path=directory, remedy=f"expected one of these below it: {keys}"
        )
    findings: list[Finding] = []
    with _collected_warnings() as warnings:
        try:
            root = Root(directory, dataset.read(directory))
        except DataError as error:
            findings.append(Finding(str(error), "error"))
            root = Root(directory)
        findings += _recorded(root)
        findings += [one for benchmark, data, folder in present for one in _check(benchmark, data, folder, root, debug)]
        findings += _missing_data_sets(present)
        texts = dict.fromkeys(record.getMessage() for record in warnings)
    notes = [Finding(text, "note") for text in texts if not _EMPTY_VIEW.search(text)]
    return list(dict.fromkeys([*notes, *findings]))


def certificates(directory: Path) -> list[releases.Fact]:
    """Return the facts of the released data sets below a directory, in the form of ``releases.csv``."""
    found = [(data, folder) for _, data, folder in _data_sets(directory) if data.released]
    return [fact for data, folder in found for fact in releases.certify(data.key, folder, downloaded_commit(folder))]


def _as_released(data: DataSet, folder: Path) -> Iterator[Finding]:
    """Compare a copy of a released data set with the known facts of its release."""
    known = {(one.file, one.fact): one for one in releases.FACTS if one.data == data.key and one.value}
    here = [one for one in releases.certify(data.key, folder, "") if one.fact != "commit"]
    unlike = [(one, known[one.file, one.fact]) for one in here if (one.file, one.fact) in known]
    unlike = [(one, stated) for one, stated in unlike if one.value != stated.value]
    for one, stated in unlike:
        what = f"{one.fact} {one.value}, of its release {stated.value} ({stated.source})"
        yield Finding(f"{folder / one.file}: {what}: its scores are not compared with the paper", "note")
    if not unlike:
        compared = sum((one.file, one.fact) in known for one in here)
        text = f"{compared} facts are those of the release, {len(here) - compared} are not certified"
        yield Finding(f"{folder}: {text}")


def _recorded(root: Root) -> Iterator[Finding]:
    """Compare the files below a root with those in its ``dataset.json``."""
    if root.record is None or not root.record.recipes:
        return
    record, files = root.record, root.record.files
    title = f"{root.folder}: {record.name}, version {record.version}" + (f", of {record.owner}" if record.owner else "")
    missing = [path for path in files if not (root.folder / path).is_file()]
    changed = [path for path, file in files.items() if path not in missing and _differs(root.folder / path, file)]
    problems = dict.fromkeys(missing, f"the file is missing, but {dataset.FILE} lists it")
    other = f"the file is not the one that was built: size or hash differ from those in {dataset.FILE}"
    problems |= dict.fromkeys(changed, other)
    for path, problem in problems.items():
        error = DataError(problem, path=root.folder / path, remedy="build it again, or fetch it again")
        yield Finding(str(error), "error")
    present = (
        path for key in dataset.data_sets(files) for path in sorted((root.folder / key).rglob("*")) if path.is_file()
    )
    extra = [name for path in present if (name := path.relative_to(root.folder).as_posix()) not in files]
    if extra:
        yield Finding(f"{title}: {len(extra)} files that {dataset.FILE} does not list: {_some(extra)}", "note")
    if not missing and not changed:
        yield Finding(f"{title}: {len(files)} files as they were built")


def _differs(path: Path, file: dataset.FileRecord) -> bool:
    try:
        return path.stat().st_size != file.bytes or file_hash(path) != file.sha256
    except OSError:
        return True


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _data_sets(directory: Path) -> Iterator[tuple[PatentBenchmark, DataSet, Path]]:
    """Yield the data sets below a directory, else the one that it is itself."""
    known = [(benchmark, data) for benchmark in catalogue.benchmarks() for data in benchmark.data_sets]
    below = [(benchmark, data, directory / data.key) for benchmark, data in known if (directory / data.key).is_dir()]
    if below:
        yield from below
        return
    named = [one for one in known if one[1].key.split("/")[-1] == directory.resolve().name]
    alike = [one for one in known if any((directory / name).exists() for name in one[0].facts.known_by)]
    if found := named or alike:
        yield (*found[0], directory)


def _missing_data_sets(present: Sequence[tuple[PatentBenchmark, DataSet, Path]]) -> Iterator[Finding]:
    """Yield the missing data sets of the benchmarks that have others."""
    for benchmark in {one.name: one for one, _, _ in present}.values():
        found = {data for one, data, _ in present if one.name == benchmark.name}
        tasks = [task.metadata.name for task in benchmark.task_classes if task.data not in found]
        if tasks:
            keys = [data.key for data in benchmark.data_sets if data not in found]
            yield Finding(
                f"{len(keys)} of {len(benchmark.data_sets)} tables are missing: {_some(keys)}: {_would_add(tasks)}",
                "note",
            )


def _would_add(tasks: Sequence[str]) -> str:
    return f"would add {len(tasks)} task{'s' * (len(tasks) > 1)} ({_some(tasks)})"


def _classes(benchmark: PatentBenchmark, data: DataSet, root: Root, folder: Path) -> list[type[PatentTask]]:
    """Return the tasks of a benchmark, with those of the label sets in the folder."""
    known = [task for task in benchmark.task_classes if task.data == data]
    if benchmark.names_in is None:
        return known
    files = root.files(data.key) if folder == root.folder / data.key else Root(folder.parent).files(folder.name)
    named = [task for name in benchmark.names_in(files) if (task := benchmark.task_named(name))]
    fixed = [task for task in known if task.metadata.type == "Retrieval"]
    further = [task for task in named if task.metadata.type != "Retrieval"]
    one_of_each = {task.metadata.type: task for task in reversed(known) if task not in fixed}
    return fixed + (further or list(one_of_each.values()))


def _check(benchmark: PatentBenchmark, data: DataSet, folder: Path, root: Root, debug: bool) -> Iterator[Finding]:
    try:
        own = root.own(data.key) if folder == root.folder / data.key else None
        source = Source(data, "local", f"local-{content_hash(folder)}", folder, own)
    except (DataError, OSError) as error:
        yield Finding(str(error) if isinstance(error, DataError) else f"{folder}: cannot be read ({error})", "error")
        return
    if data.released:
        with suppress(DataError, KeyError, TypeError, ValueError, AttributeError):  # the tasks name the file
            yield from _as_released(data, folder)
    good: list[str] = []
    problems: dict[str, str] = {}
    absent: dict[str, list[str]] = {}
    if benchmark.facts.check is not None:
        try:
            yield from _counted(folder, benchmark.facts.check(folder))
        except Exception as error:
            if debug and not isinstance(error, PatentMTEBError):
                raise
            problems["check"] = _problem(error, f"the check of {benchmark.facts.name}", folder)
            yield Finding(problems["check"], "error")
    for kind in _classes(benchmark, data, root, folder):
        if "check" in problems and problems.get(kind.metadata.type) == problems["check"]:
            continue  # every task of this type has the problem of the check
        task: PatentTask = kind(source=source)
        name = plain_name(task.metadata.name)
        try:
            with unloading(task):
                task.load_data()
                found = task.statistics() if name == benchmark.facts.headline else {}
        except NotThereError as error:
            absent.setdefault(error.problem, []).append(name)
        except Exception as error:
            if debug and not isinstance(error, PatentMTEBError):
                raise
            if _not_built(error, root):
                absent.setdefault("it was not built", []).append(name)
                continue
            problems[kind.metadata.type] = _problem(error, name, folder)
            yield Finding(problems[kind.metadata.type], "error")
        else:
            good.append(name)
            yield from _as_printed(folder, benchmark.facts.paper, found)
    yield from (Finding(f"{folder}: {problem}: {_would_add(tasks)}", "note") for problem, tasks in absent.items())
    known = {task.metadata.name for task in benchmark.task_classes}
    nameless = [name for name in good if name not in known]
    if nameless and source.own is None:
        remedy = f'write {{"schema": 1, "name": "Acme"}} into {folder.parent / dataset.FILE}'
        yield Finding(
            f"{folder}: a data set without a name: to be found by mteb, {_some(nameless)} need one: {remedy}", "note"
        )
    if good:
        yield Finding(f"{folder}: {len(good)} tasks load ({_some(good)})")


def _not_built(error: Exception, root: Root) -> bool:
    """Whether a file is missing because the recipe did not write it."""
    if not isinstance(error, DataError) or error.path is None or root.record is None or error.path.exists():
        return False
    place = error.path.relative_to(root.folder).as_posix() if error.path.is_relative_to(root.folder) else ""
    return bool(root.record.recipes and place and place not in root.record.files)


def _counted(folder: Path, counts: Mapping[str, int]) -> Iterator[Finding]:
    """Yield the counts of a check, with all empty views in one line."""
    empty = {found[1]: number for what, number in counts.items() if (found := _EMPTY_VIEW.fullmatch(what))}
    if empty:
        rows = ", ".join(f"{view} {number}" for view, number in empty.items())
        yield Finding(f"{folder}: rows whose text is empty, by view: {rows}", "note")
    others = {what: number for what, number in counts.items() if not _EMPTY_VIEW.fullmatch(what)}
    yield from (Finding(f"{folder}: {number} {what}", "note") for what, number in others.items())


def _as_printed(folder: Path, paper: str, found: Mapping[str, Mapping[str, float]]) -> Iterator[Finding]:
    """Yield the statistics of a task's tables, each with the number that the paper prints."""
    printed = published.statistics(paper).group_by("statistic", "source", maintain_order=True)
    for (what, source), group in printed if found else ():
        numbers = []
        for name, value in group.select("name", "value").iter_rows():
            here = found.get(str(what), {}).get(name)
            digits = len(value.partition(".")[2]) or int(here is not None and here % 1 > 0)
            numbers.append(f"{name} {'none' if here is None else f'{here:.{digits}f}'} ({value})")
        yield Finding(f"{folder}: {what}: {', '.join(numbers)}; in parentheses {source}")


def _problem(error: Exception, what: str, folder: Path) -> str:
    """Describe an error in one line; an unexpected error with its task and folder."""
    if isinstance(error, PatentMTEBError):
        return str(error)
    return (
        f"{folder}: {what} breaks on this data ({type(error).__name__}: {error}). Remedy: --debug prints the traceback"
    )
