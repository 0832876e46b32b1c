"""``patent-mteb report`` and ``geometry``: results as tables and pages."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.text import Text

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SEVERAL, WHOLE, WITH_DATA, Results, StoredModel, Tasks, WithData
from patent_mteb.errors import DataError
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    from patent_mteb.report.comparison import ComparedModels


@command(
    "report",
    "patent-mteb report results --html site",
    "patent-mteb report results --format markdown csv latex --out tables",
)
def report(
    results: Path,
    /,
    *,
    format: Annotated[tuple[str, ...], SEVERAL] = ("terminal",),
    every_table: bool = False,
    out: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    html: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    texts: bool = False,
    anonymous: bool = False,
    plots: bool = False,
    published: bool = False,
    baseline: Annotated[str | None, Parameter(metavar="MODEL")] = None,
    test: Annotated[str, Parameter(metavar="NAME")] = "bootstrap",
    session: WithData = WITH_DATA,
) -> None:
    """Make tables, plots and a static page from a results folder.

    Args:
        results: Results folder of 'patent-mteb run'.
        format: Formats of the tables: terminal, markdown, csv, latex.
        every_table: Print all tables, not only the answers.
        out: Write tables, and plots with --plots, to this folder.
        html: Write a self-contained page to this folder.
        texts: Show texts of real data on the page, where their licence allows it.
        anonymous: Replace patent numbers by digests (docs/confidential.md).
        plots: Write every plot as PNG, SVG and PDF (needs the extra 'report').
        published: Set measured rows among the papers' rows.
        baseline: Letters mark scores that are significantly better than this model's.
        test: Significance test: bootstrap (10,000 resamples), t or permutation.
    """
    from patent_mteb import report
    from patent_mteb.experiments.anonymous import copy_results

    if texts and anonymous:
        raise DataError("--texts and --anonymous exclude each other: texts tell the patents", remedy="leave out one")
    with TemporaryDirectory() as temporary:
        if anonymous:
            copy_results(results, Path(temporary))
        outcome = report.run(
            Path(temporary) if anonymous else results,
            formats=list(format),
            out=out,
            html=html,
            plots=plots,
            published=published,
            baseline=baseline,
            texts=texts,
            test=test,
            as_json=session.json,
            every_table=every_table,
            progress=session.bars,
        )
    if session.json:
        common.result(outcome.document)
    else:
        outcome.print(common.console)
    for path in outcome.files:
        common.say(path)
    for message in outcome.messages:
        common.warn(f"note: {message}")
    if outcome.files:
        numbers = "digests of" if anonymous else "the"
        shown = "and of texts whose licence allows it" if texts else "no texts of own data"
        common.say_content(f"scores, the names of models, and {numbers} patent numbers of some queries; {shown}")


@command(
    "compare",
    "patent-mteb compare bm25 MODEL --results results",
    "patent-mteb compare bm25 MODEL -t PatentDAPFAMTACToTACRetrieval --slice out",
)
def compare(
    models: Annotated[tuple[str, ...], Parameter(metavar="MODEL", consume_multiple=True)] = (),
    /,
    *,
    results: Annotated[Path, Parameter(metavar="DIR")] = Path("results"),
    task: Annotated[str, Parameter(alias="-t", metavar="TASK")] = "",
    part: Annotated[str, Parameter(name="--slice", metavar="NAME")] = "",
    test: Annotated[str, Parameter(metavar="NAME")] = "bootstrap",
    session: WithData = WITH_DATA,
) -> None:
    """Say whether one model is better than another on the same queries, and where they differ.

    Args:
        models: Models with results, by name or a part of it; without any all of them.
        results: Results folder of 'patent-mteb run'.
        task: Task to compare on; without it the one for finding prior art, or the first headline.
        part: Slice of its judgements, such as in or out.
        test: Significance test: bootstrap (10,000 resamples), t or permutation.
    """
    from patent_mteb.report import comparison

    found = comparison.compare(results, *models, task=task, part=part, test=test)
    common.result(comparison.as_json(found))
    where = f"{found.task}, slice {found.part}" if found.part else found.task
    common.say(Text(where, style="bold"))
    if found.data_source:
        common.say(found.data_source)
    if len(found.pairs) == 1:
        common.say(found)
        common.say(found.pairs[0].planning())
        _show_differing(found)
    else:
        _show_matrix(found)
    for run, cost in found.costs.items():
        common.say(f"A million patents cost {found.names[run]}: {cost}")


def _show_matrix(found: ComparedModels) -> None:
    """Print the differences of each two models: a row minus a column."""
    from patent_mteb.report.cells import TIED, supported_digits

    runs = list(found.names)
    rows = []
    for place, run in enumerate(runs, start=1):
        pairs = [None if other == run else found.of(run, other) for other in runs]
        digits = [2 if pair is None else supported_digits(pair.interval) for pair in pairs]
        cells = (
            "" if pair is None else f"{pair.difference:+z.{several}f}{'' if pair.distinguished else TIED}"
            for pair, several in zip(pairs, digits, strict=True)
        )
        rows.append((f"{place} {found.names[run]}", f"{found.scores[run]:.{max(digits)}f}", *cells))
    numbers = [str(place) for place in range(1, len(runs) + 1)]
    title = measure_title(found.pairs[0].measure)
    common.show(("model", title, *numbers), rows, right=(title, *numbers))
    common.say(
        f"Row minus column on the same {found.pairs[0].queries:,} searches. {TIED}: not distinguishable (95%, jointly"
        " over all pairs). Name two models for more."
    )


_LONGEST = 5  # documents of a ranking


def _show_differing(found: ComparedModels) -> None:
    """Print the queries on which two models differ most, with the first documents of both."""
    if not found.differing:
        return
    names = list(found.names.values())
    common.say()
    common.say("Searches on which they differ most (✓ relevant):")
    for one in found.differing:
        common.say(f"  {one.query}: {one.scores[0]:.2f} against {one.scores[1]:.2f}")
        for name, documents in zip(names, one.found, strict=True):
            if documents:
                shown = " ".join(f"{document}{'✓' * relevant}" for document, relevant in documents[:_LONGEST])
                common.say(f"    {name}: {shown}")
    if not any(documents for one in found.differing for documents in one.found):
        common.say("  Their rankings are not known: run again with --save-runs RESULTS/results.")


@command("geometry", "patent-mteb geometry -m ORG/NAME -t PatentMapClmToAllRetrieval --out results")
def geometry(
    *,
    model: StoredModel,
    tasks: Tasks,
    max_documents: Annotated[int, WHOLE] = 10_000,
    out: Results = Path("results"),
) -> None:
    """Measure the geometry of a model's embeddings of the texts of tasks; 'report' shows it next to the scores.

    Args:
        tasks: Retrieval tasks of the suite.
        max_documents: Documents drawn from a larger corpus.
    """
    from patent_mteb.experiments.embedding_geometry import geometry, save
    from patent_mteb.experiments.evaluate import retrieval_task

    encoder = model.load_encoder()
    for name in tasks:
        task = retrieval_task(name)
        measures = geometry(encoder, task, max_documents=max_documents, encode_kwargs=model.encode_kwargs())
        path = save(measures, encoder, task, out, max_documents=max_documents)
        common.say(f"{task.metadata.name}: {encoder.mteb_model_meta.name}")
        digits = {name: 0 if name.startswith("n_") else 4 for name in measures}
        rows = [(name, common.number(value, digits[name])) for name, value in measures.items()]
        common.show(("measure", "value"), rows, right=("value",))
        common.say(path)
