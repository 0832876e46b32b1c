"""``patent-mteb contamination`` and ``doctor``: training data in test sets, and problems of caches and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SEVERAL, WITH_DATA, StoreFolder, WithData
from patent_mteb.errors import DataError

if TYPE_CHECKING:
    from patent_mteb.training.leaks import LeakRecord, MeasuredSet
    from patent_mteb.training.training_data import TrainingData

_COLUMNS = 20  # of training data that are printed


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
    session: WithData = WITH_DATA,
) -> int:
    """Find publications of training data in test sets: by number, family, application and text.

    Args:
        what: Records, a table or a folder of texts (Parquet, Arrow, JSON, CSV and others), or a model, whose declared
            data are listed.
        index: Check against these leak indexes instead of the test sets on this machine.
        write: Write a leak index, which contains no texts, of the test sets on this machine.
    """
    if write is not None:
        return _write(write)
    from patent_mteb.models.folders import training_record

    assert what is not None
    from patent_mteb.training.contamination import read_indexes
    from patent_mteb.training.leaks import check_items
    from patent_mteb.training.training_data import TrainingData

    path = Path(what)
    stored = None if index is None else read_indexes(index)
    if not (path.is_file() or (path.is_dir() and not _is_model(path))):
        names = None if stored is None else [one.name for one in stored]
        return _declared(what, training_record(path) if path.is_dir() else None, names)
    sets, absent = (stored, []) if stored is not None else _registered("checked", ", or give --index DIR")
    data = TrainingData(path)
    _, record = check_items(data.items(), {}, sets, absent)
    if record.checked:
        _show_read(data)
        _show(record)
    if not record.checked or (index and record.unreadable):
        first = next(iter(record.unreadable.values()), "there is none").partition(". Remedy: ")[0]
        remedy = "correct or remove them, or write the leak indexes again"
        raise DataError(f"{len(record.unreadable)} test sets could not be checked: {first}", path=index, remedy=remedy)
    return 1 if record.leaking else 0


def _is_model(folder: Path) -> bool:
    """Whether a folder is a checkpoint; a data set may have a ``config.json`` too."""
    weights = ("*.safetensors", "*.bin", "*.pt", "*.onnx")
    return (folder / "modules.json").is_file() or (
        (folder / "config.json").is_file() and any(any(folder.glob(one)) for one in weights)
    )


def _show_read(data: TrainingData) -> None:
    """Print the columns and files of training data, and the files that were not read."""
    from patent_mteb.training.training_data import COMPARED

    columns = sorted(data.columns.items(), key=lambda one: -sum(one[1][what] for what in COMPARED))
    counts = (*COMPARED, "short", "other")
    rows = [(name, *(found[what] for what in counts)) for name, found in columns[:_COLUMNS]]
    common.show(("column", *counts), rows, right=counts)
    if len(columns) > _COLUMNS:
        common.say(f"{len(columns) - _COLUMNS} further columns were read, with fewer texts and numbers")
    common.say(f"{data.rows.total():,} rows of {len(data.rows)} files were read; {data.unread}")
    if bare := sum(found["without office"] for _, found in columns):
        common.say(f"{bare} numbers name no patent office: only a test set with the very same ids can hold them")
    if any(found["short"] + found["other"] for _, found in columns):
        common.say(
            "not compared: short texts (fewer than five words), other values (integers, pictures and other bytes)"
        )


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


def _declared(name: str, record: dict[str, Any] | None, only: Sequence[str] | None) -> int:
    """Print what a model's training data are known to contain; ``only`` are the test sets of leak indexes."""
    if record is not None:
        common.say(f"leak check of its training: {record.get('contamination', 'not recorded')}")
        if missing := [one for one in only or () if one not in (record.get("leaks") or {}).get("checked", ())]:
            common.say(f"{len(missing)} test sets of the index were not checked in its training: {', '.join(missing)}")
        return 0
    from patent_mteb.models.loading import find_meta
    from patent_mteb.tasks.catalogue import benchmarks

    stated = find_meta(name).training_datasets
    if stated is None:
        common.say(f"{name} does not state its training data")
        return 0
    known = {
        task.metadata.name: one.name
        for one in benchmarks()
        for task in one.task_classes
        if only is None or task.data.key in only
    }
    seen = sorted(task for task in stated if task in known)
    where = "patents here" if only is None else f"the {len(only)} test sets of the index"
    common.show(("task in the training data", "benchmark"), [(task, known[task]) for task in seen])
    common.say(f"{name} states {len(stated)} data sets, {len(seen)} of them tasks of {where}")
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
    session: WithData = WITH_DATA,
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
