"""``patent-mteb publish``: results and tasks for mteb, for a leaderboard of your own, and as BEIR folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SESSION, WITH_DATA, Session, WithData
from patent_mteb.errors import DataError

_FIELDS = {
    "revision": "revision",
    "release_date": "release date",
    "n_parameters": "parameters",
    "n_embedding_parameters": "parameters of the embeddings",
    "memory_usage_mb": "memory",
    "license": "licence",
}
Source = Annotated[Path, Parameter(help="Results folder of 'patent-mteb run'.")]
Folder = Annotated[Path, Parameter(help="Folder to write to.")]
OneModel = Annotated[str | None, Parameter(alias="-m", metavar="MODEL", help="The results of this model only.")]


@command(
    "publish results",
    "patent-mteb publish results results OUT",
    "patent-mteb publish results results OUT --model ORG/NAME",
)
def results(results: Source, folder: Folder, /, *, model: OneModel = None, session: WithData = WITH_DATA) -> int:
    """Write results and model cards as mteb's results repository takes them."""
    status = _prepare(results, folder, model, upstream=True, names={})
    common.say_content("scores and the names of models; no patent numbers and no texts")
    common.say(
        "mteb does not have these tasks yet, and shows results of its own tasks only: docs/upstream.md lists the steps"
        " before."
    )
    return status


@command(
    "publish board",
    "patent-mteb publish board results BOARD",
    "patent-mteb publish board results BOARD --model ORG/NAME",
    "patent-mteb publish board results BOARD --name 'path/to/checkpoint=Ours v3'",
)
def board(
    results: Source,
    folder: Folder,
    /,
    *,
    model: OneModel = None,
    name: Annotated[tuple[str, ...], Parameter(metavar="MODEL=NAME")] = (),
    session: WithData = WITH_DATA,
) -> int:
    """Add results to a leaderboard of your own, own data and models included; 'report' makes its page.

    Args:
        name: List a local checkpoint or stored ranking under this name; MODEL is its directory or its name. Repeatable.
    """
    if wrong := [one for one in name if "=" not in one]:
        raise DataError(f"--name {wrong[0]} gives no name", remedy="write it as MODEL=NAME")
    names = dict(one.rsplit("=", 1) for one in name)
    status = _prepare(results, folder, model, upstream=False, names=names)
    common.say_content(
        "scores, also by query; the names of models; name, version, owner and licence of own data, with digests instead"
        " of patent numbers; no texts"
    )
    return status


@command("publish check", "patent-mteb publish check BOARD")
def check(board: Path, /, *, session: Session = SESSION) -> int:
    """Check every result of a board: evidence, per-query scores, and the rules of acceptance.

    Args:
        board: Folder of 'publish board', with the results that others have added.
    """
    from patent_mteb.report.export import check_board

    found = check_board(board)
    common.result(asdict(found))
    for problem in found.problems:
        common.warn(f"refused: {problem}")
    common.say(
        f"{found.by_query + found.by_evidence} results of {len(found.entries)} models hold: {found.by_query} are the"
        f" means of their queries, {found.by_evidence} are of tasks without queries; {len(found.problems)} refused"
    )
    common.say(f"'patent-mteb doctor {board} --recompute 5%' also encodes a sample of the queries again")
    return int(bool(found.problems))


@command("publish anonymous", "patent-mteb publish anonymous results OUT")
def anonymous(results: Source, folder: Folder, /, *, session: WithData = WITH_DATA) -> None:
    """Copy a folder of results or runs with keyed digests instead of patent numbers; reports and scores work on it."""
    from patent_mteb.experiments.anonymous import copy_results, key_path

    done = copy_results(results, folder)
    for ending, count in done.left_out.items():
        common.warn(f"note: {count} files {ending} left out: they may hold patent numbers")
    common.say(f"{done.files} files in {folder.resolve()}; the key of the digests stays in {key_path()}")
    common.say_content("scores, the names of models and own data, and digests; no patent numbers and no texts")


def _prepare(results: Path, folder: Path, model: str | None, *, upstream: bool, names: Mapping[str, str]) -> int:
    from patent_mteb.report.export import prepare

    export = prepare(results, folder, model, upstream=upstream, names=names)
    for path in export.files:
        common.say(path)
    common.warn_by_reason("refused: ", ((f"{one.task} of {one.run}", one.reason) for one in export.refused))
    for message in export.messages:
        common.warn(f"note: {message}")
    common.say(f"{export.exported} results exported, {len(export.refused)} refused")
    return 1 if export.refused or not export.exported else 0


@command(
    "publish mteb",
    "patent-mteb publish mteb DIR",
    "patent-mteb publish mteb DIR --count",
    "patent-mteb publish mteb DIR --results results",
)
def mteb(
    folder: Folder,
    /,
    *,
    count: bool = False,
    results: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    session: WithData = WITH_DATA,
) -> int:
    """Write the contents of a pull request to mteb: task classes, metadata, statistics, scores.

    Args:
        count: Read the published data, where possible, and count them too.
        results: Results folder with the scores of mteb's two baselines and of the papers' models.
    """
    from patent_mteb.report.upstream import prepare

    found = prepare(folder, count=count, results=results)
    common.warn_by_reason("not counted: ", found.missing.items())
    for field, models in found.unknown.items():
        if models:
            common.say(f"no source states the {_FIELDS[field]} of {len(models)} models (null in models.json)")
    common.say(f"{len(found.files)} files in {folder.resolve()}; docs/upstream.md says where each belongs")
    common.say_content("facts on tasks and models; nothing of your data")
    return 1 if found.missing else 0


@command("publish beir", "patent-mteb publish beir PatentDAPFAMTACToTACRetrieval DIR")
def beir(task: str, folder: Folder, /, *, session: WithData = WITH_DATA) -> None:
    """Write a retrieval task as a BEIR folder: corpus.jsonl, queries.jsonl, qrels/test.tsv.

    Args:
        task: A retrieval task of the suite; <Task>.sample for its sample.
    """
    from patent_mteb.experiments.bridges import EXCLUDED, write_task

    note = write_task(task, folder)
    common.say(
        f"{note['documents']} documents, {note['queries']} queries, {note['judgements']} judgements of {note['task']}"
        f" in {folder.resolve()}"
    )
    if note["excluded"]:
        common.say(
            f"take the {note['excluded']} pairs of {EXCLUDED} (a query's own patent family) out of rankings before they"
            " are evaluated"
        )
    common.say_content("the texts and patent numbers of the task")
