"""``patent-mteb edition``: editions of the open benchmark, built from records, rebuilt and verified by a manifest."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SESSION, Memory, Session, Settings

if TYPE_CHECKING:
    from patent_mteb.report.cells import Table

_SHOWN = 50  # differences on a terminal before --all is needed: about a screen, a choice
_RULE = "Change a rule; 'patent-mteb data build open-us --settings' lists them."


@command("edition build", "patent-mteb edition build open-us records edition --window 2023Q1 --set documents=100000")
def build(
    benchmark: str,
    records: Path,
    root: Annotated[Path, Parameter(metavar="OUT")],
    /,
    *,
    window: str,
    settings: Annotated[Settings, Parameter(help=_RULE)] = (),
    licence: str = "",
    memory: Memory = None,
    session: Session = SESSION,
) -> None:
    """Build an edition and its manifest from records.

    Args:
        benchmark: open-us, open-us-grants (without office actions), or open-ep (cross-lingual).
        records: Records directory of 'patent-mteb data import'.
        root: Directory of the edition.
        window: Office actions (open-ep: search reports) of this time: 2026, 2026Q3, 2026-07 or DAY:DAY.
        licence: Licence of the tables; without it that of the source files, if their publishers state one.
    """
    from patent_mteb import recipes
    from patent_mteb.experiments import datasheet, editions
    from patent_mteb.patents.collection import read_collection

    editions.window_of(window)  # refuses an invalid window before the records are read
    root = root.resolve()
    collection, sources = read_collection(records), editions.sources_of(records)
    licence = licence or datasheet.licence_of(sources)
    with recipes.within_budget(memory, benchmark, len(collection.patents)):
        log, name = editions.build(collection, root, window, benchmark, list(settings), licence, sources)
    common.show_steps(log)
    common.say(
        f"edition {name} in {root}; its manifest is {root / editions.MANIFEST}; next:"
        f" patent-mteb run {common.command_line('-b', name, '-m', 'bm25', '--data', root)}"
    )


@command("edition rebuild", "patent-mteb edition rebuild manifest records edition")
def rebuild(
    manifest: Path, records: Path, root: Annotated[Path, Parameter(metavar="OUT")], /, *, session: Session = SESSION
) -> int:
    """Build an edition from its manifest, with the texts of your records, and print the differences.

    Args:
        manifest: The published folder 'manifest'.
        records: Records directory with the full text of the publications; its citations are not used.
        root: Directory of the rebuild.
    """
    from patent_mteb.experiments import editions
    from patent_mteb.patents.collection import read_collection

    root = root.resolve()
    log, missing = editions.rebuild(manifest, read_collection(records), root, editions.sources_of(records))
    common.show_steps(log)
    if missing:
        common.warn(f"{len(missing)} publications of the manifest have no text here: {'; '.join(missing[:5])}")
    return _show(editions.verify(manifest, root), every=False)


@command("edition verify", "patent-mteb edition verify manifest edition")
def verify(
    manifest: Path,
    root: Annotated[Path, Parameter(metavar="OUT")],
    /,
    *,
    show_all: Annotated[
        bool, Parameter(name="--all", help=f"Print every difference, not the first {_SHOWN} only.")
    ] = False,
    session: Session = SESSION,
) -> int:
    """Print the differences between a manifest and a rebuild.

    Args:
        manifest: The published folder 'manifest'.
        root: Directory of the rebuild.
    """
    from patent_mteb.experiments import editions

    return _show(editions.verify(manifest, root), every=show_all)


def _show(found: list[str], *, every: bool) -> int:
    common.result(found)
    shown = found if every else found[:_SHOWN]
    for difference in shown:
        common.say(difference)
    hidden = f", {len(found) - len(shown)} not shown (--all)" if len(found) > len(shown) else ""
    common.say(f"{len(found)} differences{hidden}" if found else "the same edition")
    return int(bool(found))


@command(
    "edition baselines",
    "patent-mteb edition baselines edition",
    "patent-mteb edition baselines edition -m bm25 -m ORG/NAME",
)
def baselines(
    root: Annotated[Path, Parameter(metavar="EDITION")],
    /,
    *,
    models: Annotated[tuple[str, ...], Parameter(name=("--model", "-m"), metavar="MODEL")] = (),
    session: Session = SESSION,
) -> int:
    """Score models on all tasks of an edition, and write the table to its manifest (baselines.md).

    Args:
        root: Directory of 'patent-mteb edition build'.
        models: Models to score; without any BM25, and a small embedding model that is on this computer. Repeatable.
    """
    from patent_mteb.cli.trial import Steps, small_model
    from patent_mteb.experiments import editions
    from patent_mteb.files import write_text
    from patent_mteb.report.rendering import as_markdown

    root, steps, status = root.resolve(), Steps(session), 0
    name, results = editions.name_of(root), root / "baselines"
    for model in models or ("bm25", *(found for found, _ in small_model(None))):
        common.say(f"{model} on {name}")
        status |= steps.run("run", "-b", name, "-m", model, "--out", results, "--data", root)
    with common.set_environment({"PATENT_MTEB_DATA": root}):
        table = _baselines(results, name)
    rows = [[cell.text + cell.behind for cell in row] for row in table.rows]
    common.show(
        [column.title for column in table.columns], rows, right=[one.title for one in table.columns if one.numeric]
    )
    for note in table.notes:
        common.say(note)
    path = write_text(root / editions.MANIFEST / "baselines.md", as_markdown(table))
    common.say(f"the table is in {path}, the results are in {results}")
    return status


def _baselines(results: Path, name: str) -> Table:
    """Return a row for each task and run: the main score with its interval, queries and detectable difference."""
    from patent_mteb.metrics.significance import explained
    from patent_mteb.report.cells import Cell, Table, number_columns, text_columns
    from patent_mteb.report.collect import collect
    from patent_mteb.report.series import model_names
    from patent_mteb.report.statistics import statistics
    from patent_mteb.report.words import measure_title

    collected = collect(results)
    compared, names, rows = statistics(collected), model_names(collected.runs), []
    ordered = collected.results.sort("plain", "value", descending=[False, True])
    columns = ("data_source", "task", "plain", "run", "main_score", "value", "n_queries", "small")
    for source, task, plain, run, measure, value, queries, small in ordered.select(columns).iter_rows():
        score, pairs = compared.of(source, task, run), compared.pairs.get((source, task))
        interval = (score.low, score.high) if score else None
        smallest = pairs.detectable if pairs and len(pairs.runs) > 1 else None
        numbers = (Cell(value, small=small, interval=interval), Cell(queries, 0), Cell(smallest))
        rows.append((Cell(plain), Cell(names[run]), Cell(measure_title(measure)), *numbers))
    titles = (
        *text_columns(task="Task", model="Model", measure="Measure"),
        *number_columns(value="Score", queries="Queries", smallest="Smallest difference"),
    )
    note = "Smallest difference: that of two models which these queries show in four of five cases."
    return Table("baselines", f"Baselines of {name}", titles, tuple(rows), "", notes=(note, explained()))


@command("edition audit", "patent-mteb edition audit PANORAMA", "patent-mteb edition audit PANORAMA --edition edition")
def audit(
    actions: Path,
    /,
    *,
    edition: Annotated[Path | None, Parameter(help="Compare the judgements of this edition, too.")] = None,
    session: Session = SESSION,
) -> None:
    """Print precision and recall of the rules of judgement against office actions that experts parsed.

    Args:
        actions: Folder with 'parsed_CTNF' and 'record' of PANORAMA.
    """
    from patent_mteb.experiments import label_audit

    read = label_audit.read_actions(actions)
    rows = label_audit.audit(read, edition)
    common.result([asdict(row) | {"precision": row.precision, "recall": row.recall} for row in rows])
    numbers = ("ours", "experts", "both", "precision", "recall")
    cells = [
        (row.rule, row.ours, row.experts, row.both, common.number(row.precision, 3), common.number(row.recall, 3))
        for row in rows
    ]
    common.show(("rule", *numbers), cells, right=numbers)
    with_text = sum(one.text is not None for one in read)
    common.say(f"{len(read)} office actions, {with_text} of them with their text; the first two rules need it")
