"""``patent-mteb data build``, ``validate`` and ``summarise``: a benchmark from your own patents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter
from rich.text import Text

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import (
    FLAT,
    POSITIVE,
    SESSION,
    SEVERAL,
    Folder,
    LanguageModel,
    Memory,
    Session,
    Settings,
    exclusive,
    folder_of,
)
from patent_mteb.errors import DataError

if TYPE_CHECKING:
    from patent_mteb.patents.records import Patent

_STYLES = {"error": "bold red", "note": "yellow", "ok": "green"}
_REQUESTS = LanguageModel()
_WRITER = Group("Writer", help="One of the two is required.", validator=exclusive, sort_key=1)


@command(
    "data build",
    "patent-mteb data build wipo_at records ROOT --name Acme",
    "patent-mteb data build dapfam --settings",
    requires={"patents": "PATENTS"},
    unless=("settings",),
)
def build(
    benchmark: str,
    patents: Path | None = None,
    citations: Path | None = None,
    folder: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    /,
    *,
    out: Annotated[Folder, Parameter(help="Directory for PATENT_MTEB_DATA, with a folder for each benchmark.")] = None,
    changes: Settings = (),
    name: str = "",
    owner: str = "",
    licence: str = "",
    data_version: Annotated[str, Parameter(metavar="VERSION")] = "",
    settings: bool = False,
    memory: Memory = None,
    session: Session = SESSION,
) -> int:
    """Build the tables of a benchmark from records of your own patents.

    Args:
        benchmark: Benchmark, such as WIPO-AT, or the module of your own recipe.
        patents: Records directory of 'patent-mteb data import', or patents.parquet or patents.jsonl.
        citations: citations.parquet or citations.jsonl, where the patents are one file; optional.
        folder: The same as --out.
        name: Name of the data set and prefix of its tasks, such as Acme; without it the directory's.
        owner: Owner of the data.
        licence: Licence of the data.
        data_version: Version of the data set; without it 1, or the previous one.
        settings: Only list the settings of the recipe, their types and defaults.
    """
    from patent_mteb import recipes
    from patent_mteb.memory import allowing
    from patent_mteb.patents.collection import read_collection
    from patent_mteb.recipes import dataset

    if settings:
        rows = [(one.name, one.type, one.default, one.description) for one in recipes.settings(benchmark)]
        common.show(("setting", "type", "default", "description"), rows)
        return 0
    if folder is None and out is None:  # the last argument is the folder
        citations, folder = None, citations
    assert patents is not None
    recipes.check_settings(benchmark, list(changes))  # refuses an invalid setting before the records are read
    root = folder_of(out, folder).resolve()
    identity = dataset.Identity(name, data_version, owner, licence)
    collection = read_collection(patents, citations)
    recipe = recipes.find(benchmark).__name__.rpartition(".")[2]
    recipes.refuse_beyond_budget(memory, recipe, len(collection.patents))
    with allowing(memory):
        log = recipes.run_on(benchmark, collection, root, list(changes), identity)
    common.show(
        ("step", "in", "out", "note"),
        [(step.name, step.rows_in, step.rows_out, step.note) for step in log.steps],
        right=("in", "out"),
    )
    for phrase in log.deviations:
        common.say(f"differs from the paper: {phrase}")
    common.say(f"{len(log.files)} files in {root}; use it with PATENT_MTEB_DATA={root}")
    return 0


@command("data validate", "patent-mteb data validate ROOT", "patent-mteb data validate ROOT --memory 4")
def validate(directory: Path, /, *, memory: Memory = None, session: Session = SESSION) -> int:
    """Check a local data directory by loading its tasks.

    Args:
        directory: Directory for PATENT_MTEB_DATA, or the directory of one benchmark in it.
    """
    from patent_mteb.experiments import plan, validation
    from patent_mteb.memory import allowing

    with allowing(plan.left_for_blocks(memory, "validate", [directory])):
        findings = validation.validate(directory, session.debug)
    common.result([asdict(finding) for finding in findings])
    for finding in findings:
        common.say(Text(finding.rank, _STYLES[finding.rank]), finding.text)
    return 2 if any(finding.fatal for finding in findings) else 0


@command(
    "data summarise",
    "patent-mteb data summarise records --endpoint http://localhost:8000/v1 --model NAME --queries ROOT --out"
    " summaries.jsonl",
    "patent-mteb data summarise records --extractive --out summaries.jsonl",
    "patent-mteb data build sophia records ROOT --set summaries=summaries.jsonl",
    requires={"endpoint": "--endpoint or --extractive"},
    unless=("extractive",),
)
def summarise(
    records: Path,
    /,
    *,
    endpoint: Annotated[str | None, Parameter(group=_WRITER, metavar="URL")] = None,
    extractive: Annotated[bool, Parameter(group=_WRITER)] = False,
    model: Annotated[str | None, Parameter(metavar="NAME")] = None,
    queries: Annotated[Path | None, Parameter(metavar="ROOT")] = None,
    kinds: Annotated[tuple[str, ...], SEVERAL, Parameter(metavar="KIND...")] = (),
    characters: Annotated[int, POSITIVE] = 60_000,
    out: Annotated[Path, Parameter(metavar="FILE")] = Path("summaries.jsonl"),
    requests: Annotated[LanguageModel, FLAT] = _REQUESTS,
) -> int:
    """Write machine summaries of patents (Sophia's AI queries) with a language model, or extracts.

    Args:
        records: Records directory, or patents.parquet or patents.jsonl.
        endpoint: Address of a server up to its version, such as http://localhost:8000/v1.
        extractive: No language model: sentences of the patents, named as extracts everywhere.
        model: Name of the model at the server.
        queries: Only the queries of the Sophia data in this directory.
        kinds: abstract, features, claims, advantages, objectives; without it all.
        characters: Characters of a patent that the model reads.
        out: File of the summaries, JSON lines.
    """
    from patent_mteb.endpoints.chat import CUT
    from patent_mteb.experiments.summarising import ModelSummaries, summarise_patents
    from patent_mteb.patents.collection import read_collection
    from patent_mteb.patents.summaries import write_summaries

    chosen = _kinds(kinds)
    writer = _writer(endpoint, model, characters, requests)
    patents = _chosen(read_collection(records).patents, queries)
    found = summarise_patents(patents, writer, chosen, progress=requests.bars)
    write_summaries(out, found.rows)
    lines = [f"{len(found.rows)} {'extracts' if extractive else 'summaries'} in {out.resolve()}"]
    if found.existing:
        lines.append(f"{found.existing} texts are in the records already")
    if found.missing:
        lines.append("could not be made: " + ", ".join(f"{kind} of {n}" for kind, n in found.missing.items()))
    if found.faults:
        lines.append("answers that are not used: " + ", ".join(f"{n} {fault}" for fault, n in found.faults.items()))
    if CUT in found.faults:
        lines.append("allow longer answers, such as --request '{\"max_tokens\": 2048}'")
    if isinstance(writer, ModelSummaries):
        used = writer.used
        lines.append(
            f"{used.calls} answers, {used.input_tokens} tokens read, {used.output_tokens} written,"
            f" {writer.chat.meter.spent.calls} new"
        )
    for line in lines:
        common.say(line)
    common.say(f"use them with: patent-mteb data build sophia … --set summaries={out}")
    return 0 if (found.rows or found.existing) and not found.faults else 1


def _kinds(given: Sequence[str]) -> tuple[str, ...]:
    from patent_mteb.patents.summaries import KINDS

    if unknown := [kind for kind in given if kind not in KINDS]:
        raise DataError(f"there is no kind of summary '{unknown[0]}'", remedy=f"choose among {', '.join(KINDS)}")
    return tuple(given or KINDS)


def _writer(endpoint: str | None, model: str | None, characters: int, requests: LanguageModel) -> Any:
    from patent_mteb.experiments.summarising import Extracts, ModelSummaries

    if endpoint is None:
        return Extracts()
    if not model:
        raise DataError("no model is named", remedy="name one that the server has with --model")
    return ModelSummaries(requests.chat(endpoint, model), characters=characters)


def _chosen(patents: Sequence[Patent], root: Path | None) -> Sequence[Patent]:
    """Return all patents, or those that are queries of the Sophia data in a directory."""
    from patent_mteb.files import read_jsonl
    from patent_mteb.patents.on_disk import only, publications

    if root is None:
        return patents
    wanted = {row["_id"] for _, row in read_jsonl(root / "Sophia" / "queries.jsonl", ["_id"])}
    if lacking := wanted - {patent.publication_number for patent in publications(patents)}:
        raise DataError(
            f"{len(lacking)} queries of {root} are not among the records, such as {min(lacking)}",
            remedy="name their records",
        )
    return only(patents, lambda patent: patent.publication_number in wanted)
