"""Prepare results for publication: for mteb's results repository, a model's card, and a leaderboard of one's own.

``prepare`` writes below ``out``:

``results/<org>__<model>/<revision>/…``    result files with model and settings, in the layout of mteb's repository
``model_cards/<org>__<model>.md``          a section for the model's card, with a ``model-index``

For a leaderboard of one's own (``upstream=False``) it writes no cards, but the per-query scores of each result, so that
others can compute its mean again, ``names.json`` with the names that the user gives, and ``leaderboard.md``. Such a
folder is an ordinary results folder: ``report`` makes its page, and :func:`check_board` says what does not belong.

Results that others cannot compare or repeat are refused, each with its reason: mteb's repository accepts models that
mteb implements, on published data. A leaderboard also accepts models of this suite, stored rankings (``runs score``)
and named own data, whose queries get digests as names. Results that contradict their per-query scores or their model's
description are refused too. Links are never followed, so that nothing from elsewhere is published.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]

from patent_mteb.data.loading import plain_name
from patent_mteb.errors import DataError
from patent_mteb.experiments.anonymous import queries_of
from patent_mteb.files import write_json, write_parquet, write_text
from patent_mteb.identity import META, NO_REVISION, content_revision, local_name, model_folder
from patent_mteb.metrics.significance import bootstrap, by_group, explained
from patent_mteb.models.registry import suite_metas
from patent_mteb.report.cells import Cell, Column, Table, number_columns, slug, text_columns
from patent_mteb.report.collect import Collected, ReportError, collect
from patent_mteb.report.folders import NAMES, SETTINGS, board_names, check_meta, parse, run_settings
from patent_mteb.report.rendering import as_markdown
from patent_mteb.report.tables import SHARED, ranking, shared_tasks
from patent_mteb.report.words import measure_title, visible
from patent_mteb.search.stored import STORED
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.benchmark import PatentBenchmark
from patent_mteb.tasks.catalogue import TasksOnOwnData
from patent_mteb.tasks.evidence import ROWS, identity_of
from patent_mteb.tasks.verification import evidence_of, part_of

__all__ = ["Board", "Export", "Refusal", "check_board", "prepare"]
BOARD = "leaderboard.md"


def _settings_of(row: Mapping[str, Any], path: Path) -> str:
    """Return the line of run settings that belongs to a result."""
    found = ""
    for entry in run_settings(path):
        of_split = row["task"] == entry["task"] and row["split"] in entry["splits"]
        if of_split and row["subset"] in entry.get("subsets", ["default"]):
            found = json.dumps({**entry, "splits": [row["split"]], "subsets": [row["subset"]]}) + "\n"
    if not found:
        problem = f"there are no settings of the run of {row['task']} on {row['split']}/{row['subset']}"
        raise DataError(problem, path=path, remedy="run the task again: mteb's results repository asks for them")
    return found


@dataclass(frozen=True)
class Refusal:
    run: str
    task: str
    reason: str

    def __str__(self) -> str:
        return f"{self.task} of {self.run}: {self.reason}"


@dataclass(frozen=True)
class Export:
    """The written files, the refused results, and messages on unreadable files of the results folder."""

    files: tuple[Path, ...]
    exported: int
    refused: tuple[Refusal, ...]
    messages: tuple[str, ...]


def prepare(
    results: Path, out: Path, model: str | None = None, *, upstream: bool = True, names: Mapping[str, str] | None = None
) -> Export:
    """Prepare the results of one model, or of all, for publication.

    Args:
        results: folder of ``patent-mteb run``.
        out: folder to write to; other models' files in it are kept.
        model: a model's name; None takes all.
        upstream: for mteb's results repository; False for a leaderboard of one's own.
        names: what the leaderboard calls local checkpoints, by directory or by name in the results.

    Raises:
        DataError: the folder holds no results.
        ReportError: no results of a named model, or a name that another model has.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.export import prepare
        >>> export = prepare(Path("results"), Path("out"))  # results of 'patent-mteb run'
        >>> export.exported, export.refused[0].reason
        (0, 'measured on the built-in sample, which is not a benchmark. Remedy: run the task on the published data')
    """
    collected = collect(results)
    rows = collected.results if model is None else collected.results.filter(pl.col("model") == model)
    refused = _contradicted(collected, model)
    if rows.is_empty() and not refused:
        known = "; ".join(sorted(set(collected.results["model"]))) or "none"
        raise ReportError(f"no results of '{model}' to export; there are: {known}", remedy="name one of these")
    models, own = _known_models(upstream), {benchmark.name for benchmark in collected.own}
    named = _local_names(names or {}, rows, models)
    accepted: list[dict[str, Any]] = []
    copies: dict[Path, str] = {}
    for row in rows.iter_rows(named=True):
        try:
            reason = _refusal(row, models, upstream, own, bool(named.get((row["model"], row["revision"]))))
            reason = reason or collected.contradictions.get((row["path"], row["subset"]), "")
            copied = {} if reason else _checked(row, results)
        except (DataError, OSError, ValueError) as error:
            reason = str(error)
        if reason:
            refused.append(Refusal(visible(row["run"]), row["task"], visible(reason)))
            continue
        accepted.append(row)
        for path, content in copied.items():
            if path.name == SETTINGS:  # of all results of a folder, each line once
                written = out / "results" / path
                earlier = copies.get(path) or (written.read_text("utf-8") if written.is_file() else "")
                content = "".join(f"{line}\n" for line in dict.fromkeys((earlier + content).split("\n")) if line)
            copies[path] = content
    files = [write_text(out / "results" / path, text) for path, text in copies.items()]
    messages = [message for message in collected.messages if model is None or model_folder(model) in message]
    if upstream:
        for (name,), members in _by(accepted, "model").items():
            files.append(write_text(out / "model_cards" / f"{model_folder(name)}.md", model_card(name, members)))
    elif accepted:
        files += [_copy_queries(row, results, out / "results") for row in accepted if row["queries"]]
        if named:
            write_json(out / NAMES, {**board_names(out), **{_key(*one): name for one, name in named.items()}})
        board = check_board(out)
        files.append(write_text(out / BOARD, boards(board.entries, board.problems)))
        messages += [f"{what}; not in the leaderboard." for what in board.problems]
    return Export(tuple(dict.fromkeys(files)), len(accepted), tuple(refused), tuple(messages))


@dataclass(frozen=True)
class Board:
    """The accepted entries of a board, one sentence for each result that is not, and counts of checked results.

    ``by_query`` results were computed again from their per-query scores, ``by_evidence`` results have none.
    """

    entries: tuple[Entry, ...]
    problems: tuple[str, ...]
    by_query: int
    by_evidence: int


def check_board(folder: Path) -> Board:
    """Check every result of a board as if it were new: its evidence, its per-query scores and the rules of acceptance.

    Raises:
        DataError: the folder holds no results.
    """
    collected = collect(folder)
    models, own = _known_models(upstream=False), {benchmark.name for benchmark in collected.own}
    names = board_names(folder)
    problems = [visible(message.rstrip(".")) for message in collected.excluded]
    accepted = []
    for row in collected.results.iter_rows(named=True):
        try:
            reason = _refusal(row, models, False, own, _key(row["model"], row["revision"]) in names)
            if not reason:
                _checked(row, folder)
        except (DataError, OSError, ValueError) as error:
            reason = str(error)
        if reason:
            problems.append(f"{row['task']} of {visible(row['run'])}: {visible(reason)}")
        else:
            accepted.append(row)
    problems += _strays(_root(folder), collected.results, problems)
    problems += _links(folder, problems)
    by_query = sum(bool(row["queries"]) for row in accepted)
    groups = _by(accepted, "model", "revision", "experiment").items()
    found = [_entry(members, names.get(_key(name, revision), "")) for (name, revision, _), members in groups]
    return Board(tuple(found), tuple(problems), by_query, len(accepted) - by_query)


def _strays(root: Path, rows: pl.DataFrame, problems: Sequence[str]) -> Iterator[str]:
    """Yield the files of a board that belong to no result, unless a problem names one of their folder."""
    results = [Path(path) for path in rows["path"]]
    known = {*results, *(path.with_name(name) for path in results for name in (META, SETTINGS))}
    known |= {path.with_name(f"{path.stem}.queries.parquet") for path in results}
    files = sorted(path for path in root.rglob("*") if path.is_file())
    refused = {path.parent for path in files if any(str(path) in problem for problem in problems)}
    for path in files:
        if path not in known and path.parent not in refused:
            yield f"{visible(str(path))}: belongs to no result. Remedy: delete it"


def _links(folder: Path, problems: Sequence[str]) -> Iterator[str]:
    """Yield the links of a board that no problem names, except in hidden folders such as ``.git``."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (Path(root, name) for name in (*folders, *sorted(files))):
            if path.is_symlink() and not any(str(path) in problem for problem in problems):
                yield f"{visible(str(path))}: a symbolic link, which may lead elsewhere. Remedy: put the file there"


def _key(model: str, revision: str) -> str:
    return f"{model}@{revision}"


def _entry(rows: Sequence[dict[str, Any]], name: str) -> Entry:
    first, scores = rows[0], {row["task"]: row["value"] for row in rows}
    settings = json.loads(first["settings"]).items()
    words = ", ".join(f"{key}={value}" for key, value in settings if key not in ("kind", "parts"))
    model = f"{name} (local checkpoint)" if name else first["model"]
    if first["model"].startswith(STORED):
        model = f"{name or first['model'].removeprefix(STORED)} (stored ranking)"
    label = f"{model} @{first['revision'][:12]}" + (f" ({words})" if words else "")
    by_task = {row["task"]: row for row in rows}
    return Entry(label, frozenset(row["benchmark"] for row in rows), scores, tuple(_owners(rows)), by_task)


def _copy_queries(row: Mapping[str, Any], results: Path, target: Path) -> Path:
    """Copy the per-query scores of a result; those of own data without the numbers of the queries."""
    path = Path(row["queries"])
    copy = target / path.relative_to(_root(results))
    write_parquet(copy, queries_of(path) if row["data_source"].startswith("own") else pq.read_table(path))
    return copy


def _root(results: Path) -> Path:
    return results / "results" if (results / "results").is_dir() else results


def _contradicted(collected: Collected, model: str | None) -> list[Refusal]:
    """Return the results that their own evidence contradicts, which no report shows."""
    shown = set(zip(collected.results["path"], collected.results["subset"], strict=True))
    hidden = ((Path(place[0]), why) for place, why in collected.contradictions.items() if place not in shown)
    mine = ((path, why) for path, why in hidden if model is None or model_folder(model) in path.parts)
    return [Refusal(visible(path.parent.name), path.stem, visible(why)) for path, why in mine]


def _by(rows: Iterable[dict[str, Any]], *keys: str) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Group rows by the values of some columns, in the order of their first row."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def _known_models(upstream: bool) -> frozenset[str]:
    """Return the models that mteb implements; for a leaderboard of one's own, also those of this suite."""
    import mteb

    ours = {meta.name for meta in suite_metas()} if upstream else set()
    return frozenset(str(meta.name) for meta in mteb.get_model_metas() if meta.name not in ours)


def _owners(rows: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["data_source"].startswith("own"):
            record = _entries(parse(Path(row["path"]).read_bytes()), row)[0]["data_set"]
            found[row["task"]] = {**record, "revision": row["data_revision"]}
    return list(found.values())


def _entries(content: dict[str, Any], row: dict[str, Any]) -> list[dict[str, Any]]:
    entries = content["scores"][row["split"]]
    return [entry for entry in entries if entry.get("hf_subset", "default") == row["subset"]]


def _local_names(names: Mapping[str, str], rows: pl.DataFrame, models: Collection[str]) -> dict[tuple[str, str], str]:
    """Return the names of local checkpoints and stored rankings by model and revision.

    A directory names the checkpoint of its content.
    """
    found: dict[tuple[str, str], str] = {}
    for given, name in names.items():
        if not name.strip() or "/" in name or name in models:
            remedy = "give one without a slash that no model has, such as 'Ours v3'"
            raise ReportError(f"'{name}' cannot be the name of a model of this board", remedy=remedy)
        chosen = rows.filter(pl.col("model") == given)
        if Path(given).is_dir():
            ours = (pl.col("model") == local_name(Path(given))) & (pl.col("revision") == content_revision(Path(given)))
            chosen = rows.filter(ours)
        is_nameless = pl.col("model").str.contains("^(?:local|run)/")
        chosen = chosen.filter(is_nameless)
        if chosen.is_empty():
            known = ", ".join(rows.filter(is_nameless)["model"].unique().sort()) or "none"
            raise ReportError(
                f"no results of the local checkpoint or stored ranking '{given}'; there are: {known}",
                remedy="name one of these, or a directory with the content that was run",
            )
        found |= dict.fromkeys(chosen.select("model", "revision").iter_rows(), visible(name))
    return found


def _refusal(row: dict[str, Any], models: Collection[str], upstream: bool, own: Collection[str], named: bool) -> str:
    """Return why a result cannot be published, empty if it can.

    ``models`` are accepted by name; ``own`` are the benchmarks of own data, which mteb's repository does not accept;
    ``named`` are local checkpoints that the user gave a name. A stored ranking has the name that the user gave.
    """
    if row["data_source"] == "sample":
        return "measured on the built-in sample, which is not a benchmark. Remedy: run the task on the published data"
    if not row["data_source"].startswith("real") and (upstream or row["benchmark"] not in own):
        remedy = "run the task on the published data at its pinned revision"
        if not upstream:
            remedy += ", or give the data a name in dataset.json"
        return f"measured on local data ({row['data_revision']}), which others do not have. Remedy: {remedy}"
    if not upstream and row["kind"] == "Retrieval" and not row["queries"]:
        return (
            "it has no per-query scores, so others cannot compute its mean again. Remedy: run it with 'patent-mteb run'"
        )
    if not upstream and (named or row["model"].startswith(STORED)):
        return ""
    if row["model"].startswith(("local/", "no_model_name")):
        remedy = "publish the model and run it under its hub id"
        remedy += "" if upstream else f", or name it for this board: --name '{row['model']}=NAME'"
        return f"a local checkpoint, which others do not have. Remedy: {remedy}"
    if row["revision"] in ("", "None", NO_REVISION):
        return "the model has no revision, so its weights are unknown. Remedy: run it with --model-revision"
    if row["model"] not in models:
        takes = "its results repository accepts models that it implements only"
        takes = takes if upstream else "so others could not repeat it"
        return (
            f"mteb does not know the model, and {takes}. Remedy: have it implemented in mteb first (docs/upstream.md)"
        )
    return ""


def _checked(row: dict[str, Any], results: Path) -> dict[Path, str]:
    """Return the files of a result by path below ``results``: the accepted subset and the description of its model."""
    path = Path(row["path"])
    root = _root(results)
    text = _read_text(path, results)
    content = parse(text.encode())
    kept = _entries(content, row)
    if content["task_name"] != row["task"] or [float(entry["main_score"]) for entry in kept] != [row["value"]]:
        raise DataError("the file holds another result, or the same one twice", path=path, remedy="run the task again")
    if others := sorted(content["scores"].keys() - {row["split"]}):
        problem = f"the file has scores of another split, '{others[0]}', which nothing checks"
        raise DataError(problem, path=path, remedy="run the task again")
    if not all(part_of(evidence_of(entry), "model").get("card") for entry in kept):
        problem = "its evidence has no digest of the facts in model_meta.json: an earlier version, or changed"
        raise DataError(problem, path=path, remedy="run the task again")
    if row["queries"]:
        _refuse_links(queries := Path(row["queries"]), results)
        if ROWS not in identity_of(pq.read_schema(queries)):
            problem = "the per-query scores have no digest of their rows: an earlier version, or changed"
            raise DataError(problem, path=queries, remedy="run the task again")
    if len(kept) != len(content["scores"][row["split"]]):
        text = json.dumps({**content, "scores": {row["split"]: kept}}, indent=2)
    meta, settings = path.with_name(META), path.with_name(SETTINGS)
    described = _read_text(meta, results)
    try:
        description = parse(described.encode())
    except ValueError as error:
        raise DataError(f"damaged ({error})", path=meta, remedy="restore the file") from None
    check_meta(description, meta, model_folder(row["model"]), row["revision"])
    if json.dumps(description.get("experiment_kwargs") or {}, sort_keys=True) != row["settings"]:
        raise DataError("other settings than when the report was made", path=meta, remedy="export again")
    _read_text(settings, results)
    lines = _settings_of(row, settings)
    return {path.relative_to(root): text, meta.relative_to(root): described, settings.relative_to(root): lines}


def _read_text(path: Path, root: Path) -> str:
    """Return the text of a file; refuse links below ``root``."""
    _refuse_links(path, root)
    if not path.is_file():
        raise DataError("the file is missing, or not a regular file", path=path, remedy="restore the file")
    try:
        return path.read_bytes().decode()
    except ValueError as error:
        raise DataError(f"damaged ({error})", path=path, remedy="restore the file") from None


def _refuse_links(path: Path, root: Path) -> None:
    """Refuse a path below ``root`` that is a link, or leads through one."""
    for place in (path, *path.parents[: len(path.relative_to(root).parts) - 1]):
        if place.is_symlink():
            problem = "a symbolic link, which is not followed, so that nothing from elsewhere is published"
            remedy = "put the file itself there, or export the folder that the link leads to"
            raise DataError(problem, path=place, remedy=remedy)


def model_card(model: str, rows: Sequence[dict[str, Any]]) -> str:
    """YAML front matter (``model-index`` as the hub reads it) and a markdown section with the scores of one model."""
    entries = []
    for row in rows:
        data = {
            "type": row["data"],
            "name": row["task"] + (f" ({row['experiment']})" if row["experiment"] else ""),
            "config": row["subset"],
            "split": row["split"],
            "revision": row["data_revision"],
        }
        metrics = [{"type": row["main_score"], "value": row["value"]}]
        entries.append({"task": {"type": row["kind"]}, "dataset": data, "metrics": metrics})
    index = {"model-index": [{"name": model.partition("/")[2] or model, "results": entries}]}
    front = f"---\n{yaml_dump(index, sort_keys=False)}---\n"
    cells = []
    for row in rows:
        measure = Cell(row["main_score"], title=measure_title(row["main_score"]))
        score = Cell(row["value"]), Cell(row["experiment"] or "none")
        origin = (Cell(row[name]) for name in ("prompt", "revision", "data_revision"))
        cells.append((Cell(row["benchmark"]), Cell(row["task"]), measure, *score, *origin))
    titles = ("Benchmark", "Task", "Measure", "Score", "Settings", "Prompt", "Model revision", "Data revision")
    columns = tuple(Column(slug(title), title, numeric=title == "Score", marked=False) for title in titles)
    notes = ("Measured with patent-mteb, which runs the patent benchmarks as tasks of mteb.",)
    table = Table("model-card", "Patent embedding benchmarks", columns, tuple(cells), notes=notes)
    return front + as_markdown(table)


def boards(known: Sequence[Entry], damaged: Sequence[str] = ()) -> str:
    """Return one table over the benchmarks and one a benchmark; ``damaged`` names each result that is left out."""
    total, public = catalogue.total(), catalogue.benchmarks()
    measured = [one for one in public if any(one.name in entry.benchmarks for entry in known)]
    names = {one.name for one in public}
    shown = [entry for entry in known if entry.benchmarks & names]
    further = [one for one in measured if one.name not in total.groups]
    excluded = [f"Left out: {what}." for what in damaged]
    tables = (
        [_board(total, shown, "Patent embedding leaderboard", further, excluded, is_total=True)]
        if shown
        else [f"{line}\n" for line in excluded]
    )
    tables += [_board(one, [entry for entry in known if one.name in entry.benchmarks], one.name) for one in measured]
    return "\n".join([*tables, *_own_boards(known)])


def _own_boards(known: Sequence[Entry]) -> Iterable[str]:
    """Yield one table for each state of each own data set."""
    tasks = TasksOnOwnData()
    versions: dict[str, str] = {}
    for record in (record for entry in known for record in entry.own):
        tasks.task(record)
        versions[f".{record.get('revision', '')}"] = f"version {visible(record.get('version', '1'))}, "
    note = "Own data: these scores say nothing about the published benchmark whose rules they follow."
    for benchmark in tasks.benchmarks:
        names = {task.metadata.name for task in benchmark.task_classes}
        own = {task for entry in known for task in entry.scores if plain_name(task) in names}
        for state in sorted({task.removeprefix(plain_name(task)) for task in own}):
            mine = []
            for entry in known:
                measured = own & {task for task in entry.scores if task.endswith(state)}
                if measured:
                    scores = {plain_name(task): value for task, value in entry.scores.items() if task in measured}
                    rows = {plain_name(task): entry.rows[task] for task in measured}
                    mine.append(Entry(entry.label, entry.benchmarks, scores, rows=rows))
            title = f"{benchmark.name} (own data, {versions.get(state, '')}content {state.removeprefix('.local-')})"
            yield _board(benchmark, mine, title, more=(note,))


def _board(
    benchmark: PatentBenchmark,
    known: Sequence[Entry],
    title: str,
    further: Sequence[PatentBenchmark] = (),
    more: Sequence[str] = (),
    *,
    is_total: bool = False,
) -> str:
    scores = [(entry.label, entry.scores) for entry in known]
    small = {one.label: {task for task, row in one.rows.items() if row["small"]} for one in known}
    if is_total:
        shared, basis = {one.facts.headline for one in catalogue.benchmarks()}, "headlines"
    else:
        shared, basis = shared_tasks(dict(scores), small, benchmark.facts.headline), SHARED
    notes = ("A dash is a mean over tasks of which one or more were not measured.", *more)
    board = ranking(
        benchmark,
        scores,
        small,
        name=slug(title),
        title=title,
        further=further,
        shared=shared,
        basis=basis,
        notes=notes,
    )
    return "\n".join([as_markdown(board.marked().filled()), *([] if is_total else _with_intervals(benchmark, known))])


def _with_intervals(benchmark: PatentBenchmark, known: Sequence[Entry]) -> Iterator[str]:
    """Yield the scores of the task by queries that most models have: with interval, number of queries and day."""
    measured = Counter(task for entry in known for task, row in entry.rows.items() if row["queries"])
    names = [task.metadata.name for tasks in benchmark.groups.values() for task in tasks]
    task = max((name for name in names if measured[name]), key=measured.__getitem__, default="")
    rows = [(entry.label, entry.rows[task]) for entry in known if task in entry.rows and entry.rows[task]["queries"]]
    if not rows:
        return
    cells = []
    for label, row in sorted(rows, key=lambda one: (-one[1]["value"], one[0])):
        table = pq.read_table(row["queries"])
        values = table[row["main_score"].replace("_at_", "@")].to_numpy()[:, None]
        groups = table["group"].to_pylist() if "group" in table.column_names else range(len(values))
        low, high = bootstrap(by_group(values, groups)).intervals()[0]
        numbers = Cell(row["value"], small=row["small"]), Cell(f"[{low:.4f}, {high:.4f}]"), Cell(len(values), 0)
        cells.append((Cell(label), *numbers, Cell(row["date"][:10])))
    measure = measure_title(rows[0][1]["main_score"])
    columns = (*text_columns(model="Model"), Column("score", measure), *text_columns(interval="95% interval"))
    columns = (*columns, *number_columns(queries="Queries"), *text_columns(date="Date"))
    notes = (explained(),) if any(row["small"] for _, row in rows) else ()
    yield f"#{as_markdown(Table(slug(task), task, columns, tuple(cells), notes=notes).marked())}"  # below the board


@dataclass(frozen=True)
class Entry:
    """The label of a model, its benchmarks, the main score of each task, records of own data, and results by task."""

    label: str
    benchmarks: frozenset[str]
    scores: dict[str, float]
    own: tuple[Mapping[str, str], ...] = ()
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
