"""``patent-mteb data``: from patents to the tables of a benchmark."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from rich.text import Text

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import (
    POSITIVE,
    SESSION,
    SEVERAL,
    WHOLE,
    Engine,
    LanguageModel,
    Memory,
    Session,
    Settings,
    Shard,
    exclusive,
)
from patent_mteb.errors import DataError

if TYPE_CHECKING:
    from patent_mteb.experiments.inspection import Inspection, Plan
    from patent_mteb.patents.records import Patent
    from patent_mteb.readers.importing import Progress, Removed
    from patent_mteb.readers.items import Reader
    from patent_mteb.readers.records_directory import Account

_SHOWN = 12  # up to this number of files, each has its own rows in the table


@command(
    "data import",
    "patent-mteb data import export.csv --out records",
    "patent-mteb data import list-2.xlsx --replace list.xlsx --out records",
    "patent-mteb data import --remove list.xlsx US10123456B2 --out records",
    "patent-mteb data import grants --out records --shard 1/4",
    "patent-mteb data import --sources",
    requires={"files": "FILE"},
    unless=("merge", "suggest", "sources", "remove"),
)
def import_(
    files: Annotated[tuple[str, ...], Parameter(metavar="[SOURCE] FILE")] = (),
    /,
    *,
    out: Annotated[Path | None, Parameter(metavar="ROOT")] = None,
    map: Annotated[Path | None, Parameter(metavar="FILE.toml")] = None,
    workers: Annotated[int | None, WHOLE] = None,
    shard: Shard = None,
    engine: Engine = "local",
    merge: bool = False,
    yes: bool = False,
    replace: Annotated[tuple[str, ...], SEVERAL, Parameter(metavar="FILE...")] = (),
    remove: Annotated[tuple[str, ...], SEVERAL, Parameter(metavar="FILE|NUMBER...")] = (),
    suggest: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    sources: bool = False,
    advice: Annotated[bool, Parameter(parse=False)] = True,
    session: Session = SESSION,
) -> int:
    """Make records from exports and bulk files: tables (CSV, XLSX, JSON lines, parquet) and XML.

    Args:
        files: Files, directories or addresses (https://, s3://, gs://); before them, if necessary, their source.
        out: Records directory to write to; it keeps the records of former imports.
        map: Column map of your own table; may be the first argument too.
        workers: Processes that read files in parallel; without it one a core.
        shard: Import only this share of the files; --merge comes after all shares.
        merge: Merge the shares in these directories into --out; without directories, those in --out.
        yes: Do not ask on a terminal where columns are known by their values alone.
        replace: Former inputs whose records the new files replace.
        remove: Only remove former inputs, or publications, which later imports then leave out too.
        suggest: Only print a first column map for a table.
        sources: Only list the sources.
    """
    from patent_mteb.parallel import cores, share
    from patent_mteb.readers import READERS, importing

    if sources:
        common.show(("source", "what it reads"), [(reader.name, reader.what) for reader in READERS.values()])
        return 0
    if suggest:
        from patent_mteb.readers.columns import suggest as column_map

        text = column_map(suggest, unfinished=True).toml
        common.result(text)
        if not session.json:
            print(text, end="")
        return 0
    if out is None:
        raise DataError("no directory is named", remedy="name one with --out")
    if remove and (files or merge or shard):
        raise DataError("--remove and another import exclude each other", remedy="run two commands")
    if replace and (merge or shard):
        raise DataError("--replace and shares exclude each other", remedy="run two commands")
    if merge:
        _show_import(importing.merge_shares(out, [Path(folder) for folder in files]))
        common.say(f"records in {out}")
        return 0
    work = importing.Work(
        cores() if workers is None else workers, engine, _Bar(), partial(_preview, ask=not (yes or session.json))
    )
    if remove:
        _show_removed(importing.remove(remove, out, work))
        return 0
    source, inputs = _source_and_files(files, map, session.bars)
    make = (
        partial(importing.import_share, share=share(shard))
        if shard
        else partial(importing.import_files, replaced=replace)
    )
    done = make(inputs, out, source=source, work=work)
    _show_import(done.accounts)
    _show_removed(done.removed)
    if not shard:
        for line in importing.lacking(out, done.accounts):
            common.say(line)
    for error in (*done.unknown, *done.damaged):
        common.warn(f"{error.path}: left out, {error.problem}")
    if shard:
        common.say(f"share {shard} in {out}; after all shares: patent-mteb data import --merge --out {out}")
    elif advice:
        common.say(
            f"records in {out}; next: patent-mteb data inspect {out}, patent-mteb data build BENCHMARK {out} ROOT"
        )
    if done.damaged:
        common.warn(f"{len(done.damaged)} of the files could not be read: get them again, and import them again")
    return 1 if done.damaged else 0


def _source_and_files(files: Sequence[str], column_map: Path | None, bars: bool) -> tuple[str, list[Path]]:
    """Return the source before the files, or the column map of ``--map``, and the files, those at an address copied."""
    from patent_mteb.readers import READERS
    from patent_mteb.readers.remote import local_files

    source, first = "", Path(files[0])
    if (files[0] in READERS and not first.exists()) or first.suffix == ".toml":
        source, files = files[0], files[1:]
    if column_map and source:
        raise DataError(f"there are two sources, {source} and {column_map}", remedy="name one")
    if not files:
        raise DataError("no file is named", remedy=f"name the files after {source}")
    found = [path for name in files for path in local_files(name, bars)]
    return (str(column_map) if column_map else source), found


def _preview(tables: Sequence[tuple[Path, Reader]], *, ask: bool) -> None:
    """Print what each column of the tables is read as. Ask on a terminal if a column is known by its values alone.

    An import deletes nothing, and a column map replaces a guess later, so there is no other question.
    """
    from patent_mteb.readers.tables import preview

    alike: dict[Any, list[Path]] = {}
    for path, reader in tables[:_SHOWN]:
        alike.setdefault(preview(path, reader), []).append(path)
    for found, paths in alike.items():
        more = f" and {len(paths) - 1} more with the same columns" if len(paths) > 1 else ""
        common.say(f"{paths[0].name}{more}:")
        common.show(("column", "values", "read as", "why"), found.columns)
    if len(tables) > _SHOWN:
        common.say(f"{len(tables) - _SHOWN} more tables")
    guessed = next((paths[0] for found, paths in alike.items() if found.guessed), None)
    if not (ask and guessed and sys.stdin.isatty() and sys.stdout.isatty()):
        return
    if input("Some columns are known by their values alone. Import them as shown? [Y/n] ").strip().lower() in (
        "n",
        "no",
    ):
        remedy = f"correct a map: patent-mteb data import --suggest {guessed} > map.toml, then name it with --map"
        raise DataError("nothing was imported", remedy=remedy)


def _show_removed(removed: Sequence[Removed]) -> None:
    for one in removed:
        counts = ", ".join(f"{count} {kind}" for kind, count in one.records.items())
        joined = f", and what it added to {one.joined} publications of other inputs" if one.joined else ""
        kept = f"; {len(one.kept)} of its {len(one.publications)} publications are in other inputs" if one.kept else ""
        common.say(f"{one.what}: removed {counts}{joined}{kept}")


def _show_import(accounts: Sequence[Account]) -> None:
    """Print the outcome of each file, or of many files together (import.json has each)."""
    from patent_mteb.readers.tables import COLUMNS_READ

    many = len(accounts) > _SHOWN
    rows: dict[tuple[str, str, str], tuple[int, str]] = {}
    for account in accounts:
        name = f"{len(accounts)} files" if many else Path(account.path).name
        found = [
            (kind, account.source, count, "")
            for kind, count in account.records.items()
            if count or (kind == "patents" and not many)
        ]
        for what, tallies in (("left out", account.left_out), ("note", account.notes)):
            found += [
                (what, reason, tally.count, next(iter(tally.examples), ""))
                for reason, tally in tallies.items()
                if reason != COLUMNS_READ  # the preview shows them
            ]
        for what, reason, count, example in found:
            before, first = rows.get((name, what, reason), (0, example))
            rows[name, what, reason] = (before + count, first)
    shown = [
        (name, what, count, f"{reason}: {first}" if first else reason)
        for (name, what, reason), (count, first) in rows.items()
    ]
    if many:
        shown.sort(key=lambda row: (row[1] == "note", row[1] == "left out", row[1]))
    common.show(("file", "what", "count", "note"), shown, right=("count",))


class _Bar:
    """One line on a terminal: documents, documents a second, and the time left, estimated by bytes."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._terminal = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        if not self._terminal:
            return
        seconds = time.monotonic() - self._start
        left = f", {seconds * (progress.all_size / progress.size - 1):.0f} s left" if progress.size else ""
        pace = progress.documents / max(seconds, 1e-3)
        line = f"{progress.files} of {progress.all_files} files, {progress.documents} documents, {pace:.0f}/s{left}"
        sys.stderr.write(f"\r\x1b[K{line}" + ("\n" if progress.files == progress.all_files else ""))
        sys.stderr.flush()


Families = Literal["given", "joined", "application", "simple", "extended"]
"""Those of :mod:`patent_mteb.patents.families`, which ``--help`` does not import."""


@command("data inspect", "patent-mteb data inspect records")
def inspect(
    records: Path,
    citations: Path | None = None,
    /,
    *,
    families: Families = "joined",
    most: Annotated[int, WHOLE] = 3000,
    session: Session = SESSION,
) -> None:
    """Show the contents of your records, and the benchmarks and tasks that they make, before a build.

    Args:
        records: Records directory of 'patent-mteb data import', or patents.parquet, patents.jsonl.
        citations: citations.parquet or citations.jsonl, where the first is a table.
        families: Definition of a patent family.
        most: Publications on which benchmarks are tried, a connected subset of more; 0: try none.
    """
    from patent_mteb.experiments.inspection import inspect
    from patent_mteb.patents.collection import read_collection

    collection = read_collection(records, citations)
    found = inspect(collection, most, families)
    if session.json:
        common.result(found.as_json())
        return
    _show_records(found)
    _show_citations(found)
    if found.plans:
        _show_plans(found, [str(path) for path in (records, citations) if path])


def _show_records(found: Inspection) -> None:
    from patent_mteb.patents.families import RULES

    common.say(f"{found.publications:,} publications of {found.families:,} patent families ({found.family_definition})")
    for rule, count in found.joined_by.items():
        if count:
            joined = "are joined" if found.family_definition == "joined" else "--families joined would join"
            common.say(f"  {count:,} given families {joined} to another by {RULES[rule]}")
    for name, (first, last) in found.dates.items():
        common.say(f"  {name.replace('_', ' ')} {first} to {last}")
    for what, counts in (("offices", found.offices), ("languages", found.languages)):
        _say_counts(what, counts)
    if found.members_without_record:
        common.say(f"  {found.members_without_record:,} further publications are known by their family only")
    if found.unreadable_codes:
        common.say(f"  {found.unreadable_codes:,} IPC or CPC codes cannot be read and count as none")
    if found.unreadable:
        common.say(f"  {found.unreadable:,} publication numbers are none; citations find them only if written the same")
    common.say()
    rows = []
    for has in found.has:
        share = f"{has.families / found.families:.0%}" if found.families else ""
        rows.append((has.what, f"{has.publications:,}", f"{has.families:,}", share))
    common.show(("with", "publications", "families", "share"), rows, right=("publications", "families", "share"))
    if found.landscapes:
        common.say()
        labels = [(one.name, f"{one.publications:,}", one.coarse, one.fine) for one in found.landscapes]
        columns = ("landscape", "publications", "coarse labels", "fine labels")
        common.show(columns, labels, right=columns[1:])
    same = found.twins
    if same.groups:
        common.say()
        where = f"{same.groups:,} texts (title and abstract) occur in several families,"
        cite = f"{same.citing:,} of these cite, and a search finds their duplicates (--set twins=merge, or drop)."
        common.say(f"{where} {same.publications:,} publications of {same.families:,} families; {cite}")


def _show_citations(found: Inspection) -> None:
    common.say()
    common.say(f"{found.citations:,} citations")
    if not found.citations:
        return
    _say_counts("categories", found.letters)
    columns = ("matched by", "links", "no record citing", "no record cited", "own family", "repeated")
    rows = []
    for step, one in found.matching.items():
        counts = (one.links, one.unknown_citing, one.unknown_cited, one.own_family, one.duplicates)
        rows.append((step, *(f"{count:,}" for count in counts)))
    common.show(columns, rows, right=columns[1:])
    for step, count in found.matching["number"].beyond().items():
        if count:
            common.say(f"  match={step} finds {count:,} citations more than match=number")
    worst = found.matching[found.step]
    if worst.unreadable:
        common.say(f"  {worst.unreadable:,} different numbers cannot be read")
    if worst.examples:
        common.say(f"  without a record: {', '.join(worst.examples[:3])}")


def _show_plans(found: Inspection, places: Sequence[str]) -> None:
    from patent_mteb.metrics.significance import SMALL_DIFFERENCE, SPREAD, rows_for

    common.say()
    if found.tried_on < found.publications:
        common.say(f"tried on {found.tried_on:,} publications that cite one another; the whole has more of everything")
    rows = [row for plan in found.plans for row in _plan_rows(plan)]
    right = ("tasks", "queries or rows", "texts to encode")
    common.show(("benchmark", "type", *right), rows, right=right)
    for plan in found.plans:
        common.say()
        if not plan.possible:
            common.say(f"{plan.benchmark} cannot be built: {plan.problem.removeprefix(f'{plan.benchmark}: ')}")
        else:
            few = f" ({plan.queries:,} queries or rows of its headline task are few)" if plan.few else ""
            common.say(f"{plan.benchmark}{few}:")
            settings = (word for setting in found.settings_of(plan) for word in ("--set", setting))
            line = common.command_line("data", "build", plan.recipe, *places, "ROOT", *settings)
            common.say(f"  patent-mteb {line}")
            if plan.smallest_difference is not None:
                common.say(f"  {plan.queries:,} queries can show differences of {plan.smallest_difference:.3f}*")
        if plan.lacking:
            lacking = "; ".join(f"{name} (for {use})" for name, use in plan.lacking.items())
            common.say(f"  no record has {lacking}")
    if any(plan.smallest_difference is not None for plan in found.plans):
        common.say()
        common.say(
            f"* of two models in nDCG@10, found in four of five cases; {SMALL_DIFFERENCE} needs"
            f" {rows_for(SMALL_DIFFERENCE, SPREAD):,} queries. Assumed: queries of different families, and a standard"
            f" deviation of {SPREAD} from query to query (docs/numbers.md#planning); similar models need fewer queries,"
            " unlike ones more."
        )


def _plan_rows(plan: Plan) -> Iterator[tuple[str, ...]]:
    types = dict.fromkeys(task.type for task in plan.tasks)
    for row, kind in enumerate(types):
        sizes = [task.queries for task in plan.tasks if task.type == kind]
        counts = f"{min(sizes):,}" + (f" to {max(sizes):,}" if max(sizes) > min(sizes) else "")
        name, texts = ("", "") if row else (plan.benchmark, f"{plan.distinct_texts:,}")
        yield name, kind, f"{len(sizes)}", counts, texts
    if not types:
        yield plan.benchmark, "", f"0 of {plan.all_tasks}", "", ""


def _say_counts(what: str, counts: Mapping[str, int]) -> None:
    if set(counts) - {""}:
        named = ", ".join(f"{name or 'not said'} {count:,}" for name, count in counts.items())
        common.say(f"  {what}: {named}")


_STYLES = {"error": "bold red", "note": "yellow", "ok": "green"}
_REQUESTS = LanguageModel()
_WRITER = Group("Writer", help="One of the two is required.", validator=exclusive, sort_key=1)


@command(
    "data build",
    "patent-mteb data build wipo_at records ROOT --name Acme",
    "patent-mteb data build dapfam --settings",
    requires={"patents": "PATENTS", "citations": "FOLDER"},
    unless=("settings",),
)
def build(
    benchmark: str,
    patents: Path | None = None,
    citations: Path | None = None,
    folder: Path | None = None,
    /,
    *,
    changes: Settings = (),
    name: str = "",
    owner: str = "",
    licence: str = "",
    data_version: Annotated[str, Parameter(metavar="VERSION")] = "",
    settings: bool = False,
    memory: Memory = None,
    session: Session = SESSION,
) -> None:
    """Build the tables of a benchmark from records of your own patents.

    Args:
        benchmark: Benchmark, such as WIPO-AT, or the module of your own recipe.
        patents: Records directory of 'patent-mteb data import', or patents.parquet or patents.jsonl.
        citations: citations.parquet or citations.jsonl, where the patents are one file; optional.
        folder: Directory for --data, with a folder for each benchmark.
        name: Name of the data set and prefix of its tasks, such as Acme; without it the directory's.
        owner: Owner of the data.
        licence: Licence of the data.
        data_version: Version of the data set; without it 1, or the previous one.
        settings: Only list the settings of the recipe, their types and defaults.
    """
    from patent_mteb import recipes
    from patent_mteb.patents.collection import read_collection
    from patent_mteb.recipes import dataset

    if settings:
        rows = [(one.name, one.type, one.default, one.description) for one in recipes.settings(benchmark)]
        common.show(("setting", "type", "default", "description"), rows)
        return
    if folder is None:  # the last argument is the folder
        citations, folder = None, citations
    assert patents is not None and folder is not None
    recipes.check_settings(benchmark, list(changes))  # refuses an invalid setting before the records are read
    root = folder.resolve()
    identity = dataset.Identity(name, data_version, owner, licence)
    collection = read_collection(patents, citations)
    with recipes.within_budget(memory, benchmark, len(collection.patents)):
        log = recipes.run(benchmark, collection, root, list(changes), identity)
    common.show_steps(log)
    for phrase in log.deviations:
        common.say(f"differs from the paper: {phrase}")
    if made := dataset.read(root):
        common.say(f"data set {made.name}, version {made.version}")
    common.say(f"{len(log.files)} files in {root}")
    common.say("next:")
    for line in _commands_of(benchmark, root, folder):
        common.say(f"  patent-mteb {line}")


def _commands_of(recipe: str, root: Path, folder: Path) -> Iterator[str]:
    """Yield the commands that score BM25 on the tables of a recipe and report it."""
    from patent_mteb.tasks import catalogue

    with common.set_environment({"PATENT_MTEB_DATA": root}):
        for made in catalogue.own_benchmarks():
            (published,) = {task.published_as.facts.name for task in made.task_classes if task.published_as}
            if published.lower().replace("-", "_") == recipe.lower().replace("-", "_"):
                names = [task.metadata.name for task in made.task_classes]
                task = made.facts.headline if made.facts.headline in names else names[0]
                yield common.command_line("run", "-t", task, "-m", "bm25", "--data", folder)
                yield common.command_line("report", "results", "--html", "page", "--data", folder)


@command("data validate", "patent-mteb data validate ROOT", "patent-mteb data validate ROOT --certify facts.csv")
def validate(
    directory: Path,
    /,
    *,
    certify: Annotated[Path | None, Parameter(metavar="FILE.csv")] = None,
    memory: Memory = None,
    session: Session = SESSION,
) -> int:
    """Check a local data directory by loading its tasks.

    Args:
        directory: Directory of 'data build', or the directory of one benchmark in it.
        certify: Write commit, row counts, digests of ids and other counts of the released data sets, without text.
    """
    from patent_mteb.data import releases
    from patent_mteb.experiments import plan, validation
    from patent_mteb.memory import allowing

    with allowing(plan.left_for_blocks(memory, "validate", [directory])):
        findings = validation.validate(directory, session.debug)
    common.result([asdict(finding) for finding in findings])
    for finding in findings:
        common.say(Text(finding.rank, _STYLES[finding.rank]), finding.text)
    if certify:
        facts = validation.certificates(directory)
        releases.write(facts, certify)
        common.say(f"{len(facts)} facts of {len({fact.data for fact in facts})} released data sets in {certify}")
    return 2 if any(finding.rank == "error" for finding in findings) else 0


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
    requests: LanguageModel = _REQUESTS,
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
    from patent_mteb.patents.summaries import KINDS, write_summaries

    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise DataError(f"there is no kind of summary '{unknown[0]}'", remedy=f"choose among {', '.join(KINDS)}")
    writer = _writer(endpoint, model, characters, requests)
    patents = _chosen(read_collection(records).patents, queries)
    found = summarise_patents(patents, writer, kinds or KINDS, progress=requests.bars)
    write_summaries(out, found.rows)
    common.say(f"{len(found.rows)} {'extracts' if extractive else 'summaries'} in {out.resolve()}")
    if found.existing:
        common.say(f"{found.existing} texts are in the records already")
    if found.missing:
        common.say("could not be made: " + ", ".join(f"{kind} of {n}" for kind, n in found.missing.items()))
    if found.faults:
        common.say("answers that are not used: " + ", ".join(f"{n} {fault}" for fault, n in found.faults.items()))
    if CUT in found.faults:
        common.say("allow longer answers, such as --request '{\"max_tokens\": 2048}'")
    if isinstance(writer, ModelSummaries):
        used, new = writer.used, writer.chat.meter.spent.calls
        tokens = f"{used.input_tokens} tokens read, {used.output_tokens} written"
        common.say(f"{used.calls} answers, {tokens}, {new} new")
    common.say(f"use them with: patent-mteb data build sophia … --set summaries={out}")
    return 0 if (found.rows or found.existing) and not found.faults else 1


def _writer(endpoint: str | None, model: str | None, characters: int, requests: LanguageModel) -> Any:
    from patent_mteb.experiments.summarising import Extracts, ModelSummaries

    if endpoint is None:
        return Extracts()
    if not model:
        raise DataError("no model is named", remedy="name one that the server has with --model")
    return ModelSummaries(requests.chat(endpoint, model), characters=characters)


def _chosen(patents: Sequence[Patent], root: Path | None) -> Sequence[Patent]:
    """Return all patents, or those that are queries of the Sophia data in a directory."""
    import polars as pl

    from patent_mteb.files import read_jsonl
    from patent_mteb.patents.on_disk import only, publications

    if root is None:
        return patents
    wanted = {row["_id"] for _, row in read_jsonl(root / "Sophia" / "queries.jsonl", ["_id"])}
    if lacking := wanted - set(publications(patents)["number"]):
        raise DataError(
            f"{len(lacking)} queries of {root} are not among the records, such as {min(lacking)}",
            remedy="name their records",
        )
    return only(patents, pl.col("number").is_in(list(wanted)))


@command("data forget", "patent-mteb data forget")
def forget(
    *,
    answers: bool = False,
    session: Session = SESSION,
) -> None:
    """Remove what the cache has of your patents: copies of files at addresses, per-query scores of plain mteb.

    Parameters
    ----------
    answers
        Remove the answers of language models too: a later run requests and pays them again.
    """
    from patent_mteb import files

    number, size = files.forget(answers=answers)
    common.say(f"{number} files removed ({size / 1e6:,.1f} MB)")
