"""``patent-mteb report`` and ``geometry``: results as tables and pages."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from cyclopts import Parameter

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SEVERAL, WHOLE, WITH_DATA, Results, StoredModel, Tasks, WithData
from patent_mteb.errors import DataError


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
        every_table: Print all tables; a long report prints its summaries only.
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
