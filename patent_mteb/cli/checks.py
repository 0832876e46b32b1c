"""``patent-mteb contamination`` and ``doctor``: training data in test sets, and problems of caches and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SESSION, SEVERAL, Session, StoreFolder
from patent_mteb.errors import DataError

if TYPE_CHECKING:
    from patent_mteb.training.leaks import LeakRecord, MeasuredSet


@command(
    "contamination",
    "patent-mteb contamination records",
    "patent-mteb contamination texts.parquet --index leak-index",
    "patent-mteb contamination ORG/NAME",
    "patent-mteb contamination --write leak-index",
    requires={"what": "MODEL, TABLE or DATASET"},
    unless=("write",),
)
def contamination(
    what: str | None = None,
    /,
    *,
    index: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    write: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    session: Session = SESSION,
) -> int:
    """Find publications of training data in test sets: by number, family, application and text.

    Args:
        what: Records, a table or a folder of texts (parquet, JSON lines), or a model, whose declared data are listed.
        index: Check against these leak indexes instead of the test sets on this machine.
        write: Write a leak index, which contains no texts, of the test sets on this machine.
    """
    if write is not None:
        return _write(write)
    from patent_mteb.models.loading import training_record

    assert what is not None
    path = Path(what)
    is_data = path.is_file() or (
        path.is_dir() and not (path / "config.json").is_file() and not (path / "modules.json").is_file()
    )
    if not is_data:
        return _declared(what, training_record(path) if path.is_dir() else None)
    from patent_mteb.training.contamination import read_indexes, training_items
    from patent_mteb.training.leaks import check_items

    sets, absent = (read_indexes(index), []) if index else _registered("checked", ", or give --index DIR")
    _, record = check_items(training_items(path), {}, sets, absent)
    _show(record)
    return 1 if record.leaking else 0


def _registered(purpose: str, other: str = "") -> tuple[list[MeasuredSet], list[str]]:
    """The test sets on this machine, and the names of the absent ones."""
    from patent_mteb.data.loading import DATA_VARIABLE
    from patent_mteb.training.leaks import registered

    sets, absent = registered()
    if not sets:
        problem = f"no test set is on this machine, so nothing can be {purpose}"
        raise DataError(problem, remedy=f"set {DATA_VARIABLE} to a directory of benchmarks{other}")
    return sets, absent


def _show(record: LeakRecord) -> None:
    ways = ("number", "family", "application", "text")
    rows = []
    for name, items in record.checked.items():
        found = record.ways.get(name, {})
        rows.append((name, items, *(found.get(way, 0) for way in ways)))
    common.show(("test set", "items", *ways), rows, right=("items", *ways))
    for name, reason in record.unreadable.items():
        common.warn(f"{name} was not checked: {reason}")
    if record.absent:
        common.say(f"{len(record.absent)} test sets are not on this machine: {', '.join(record.absent)}")
    for one in record.examples:
        how = f"{one['field']}, {one['share']:.2f} of the shingles" if one["field"] else one["way"]
        common.say(f"{one['publication']} is {one['found']} of {one['test_set']} ({how})")
    common.say(f"{record.leaking} of {record.publications} publications or texts are in a test set")


def _write(folder: Path) -> int:
    from patent_mteb.training.contamination import write_indexes

    sets, absent = _registered("written")
    written, unreadable = write_indexes(folder, sets)
    rows = [(path, items, f"{path.stat().st_size / 1e6:.2f}") for path, items in written.items()]
    common.show(("leak index", "items", "MB"), rows, right=("items", "MB"))
    for name, reason in unreadable.items():
        common.warn(f"{name} has no index: {reason}")
    if absent:
        common.say(f"{len(absent)} test sets are not on this machine: {', '.join(absent)}")
    return 0 if written else 1


def _declared(name: str, record: dict[str, object] | None) -> int:
    """Print what a model's training data are known to contain."""
    if record is not None:
        common.say(f"leak check of its training: {record['contamination']}")
        return 0
    from patent_mteb.models.loading import find_meta
    from patent_mteb.tasks.catalogue import benchmarks

    stated = find_meta(name).training_datasets
    if stated is None:
        common.say(f"{name} does not state its training data")
        return 0
    known = {task.metadata.name: one.name for one in benchmarks() for task in one.task_classes}
    seen = sorted(task for task in stated if task in known)
    common.show(("task in the training data", "benchmark"), [(task, known[task]) for task in seen])
    common.say(f"{name} states {len(stated)} data sets, {len(seen)} of them tasks of patents here")
    return 1 if seen else 0


def _share(_: Any, tokens: Sequence[Token]) -> float:
    """A share, as ``5%`` or ``0.05``."""
    word = tokens[0].value
    number = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
    if not 0 < number <= 1:
        raise ValueError(f"{word} is not a share between 0 and 100%")
    return number


@command(
    "doctor", "patent-mteb doctor results", "patent-mteb doctor --fix", "patent-mteb doctor results --recompute 5%"
)
def doctor(
    results: Annotated[Path | None, Parameter(metavar="RESULTS")] = None,
    /,
    *,
    fix: bool = False,
    recompute: Annotated[float | None, Parameter(converter=_share, metavar="SHARE")] = None,
    models: Annotated[tuple[str, ...], SEVERAL, Parameter(alias="-m", metavar="MODEL...")] = (),
    store: StoreFolder = None,
    session: Session = SESSION,
) -> int:
    """Find problems of the installation, the caches and a results folder.

    Args:
        results: Results folder; without it ./results if it exists.
        fix: Quarantine unreadable files, and remove damaged and left-over ones.
        recompute: Rank this share of the queries of each retrieval result again (0.05); needs the data and the models.
        models: With --recompute: local checkpoints of results.
    """
    from patent_mteb.experiments import doctor

    findings = doctor.examine(results, store, fix=fix)
    common.result([asdict(finding) for finding in findings])
    for finding in findings:
        common.say("mended" if finding.fixed else "error", finding)
    wrong, skipped = len(findings), 0
    if recompute:
        from patent_mteb.store import default_path

        folder, store = results or Path("results"), store or default_path()
        for done in doctor.recompute(folder, recompute, models=list(models), store=store):
            common.say("error" if done.problem else "note" if done.reason else "right", done)
            wrong += bool(done.problem)
            skipped += bool(done.reason)
    if skipped:
        common.say(f"{skipped} results were not recomputed")
    common.say(f"{wrong} findings" if wrong else "all is well")
    return 1 if wrong else 0
