"""A benchmark of your own, complete in one file: its facts, its recipe, its tasks.

    python examples/add_a_benchmark.py                      # on the built-in sample, which the recipe makes for it too
    python examples/add_a_benchmark.py patents.parquet      # on your own records

The benchmark: find a patent's abstract by its title, and by its keywords. What a benchmark needs:

* DATA       which directory of PATENT_MTEB_DATA (or which hub repository) holds its tables, and which module has the
  recipe
* FACTS      what reports, prompts, validation and published tables need to know of it
* build      the recipe: canonical records in, its tables out (SAMPLE: its settings on the built-in world)
* BENCHMARK  the facts and one class a task, made from a table of what differs

Registered, its tasks, their samples, its report tab and `patent-mteb data validate` work as those of the suite. A
benchmark that becomes a part of the suite is the same in two files, patent_mteb/recipes/<name>.py and
patent_mteb/tasks/<name>.py.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import patent_mteb
from patent_mteb import files
from patent_mteb.data.loading import DataSet
from patent_mteb.experiments import run
from patent_mteb.metrics import slices
from patent_mteb.models import load
from patent_mteb.patents import ipc
from patent_mteb.patents.on_disk import publications
from patent_mteb.patents.records import Citation, Patent, read_records
from patent_mteb.recipes import BuildLog
from patent_mteb.tasks.base import make_task
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables

DATA = DataSet("KnownAbstract", recipe=__name__)

FACTS = Facts(
    name="KnownAbstract",
    description="Known-item search: find the abstract of a patent by its title or its keywords.",
    reference="https://example.org/known-abstract",
    bibtex="",
    license="not specified",
    date=("2005-01-01", "2025-12-31"),
    prefix="KnownAbstract",
    headline="KnownAbstractByTitle",
    prompt_rows=((r"KnownAbstract\w+", "title2full"),),
)

VIEWS = {"Title": lambda patent: patent.title, "Keywords": lambda patent: ", ".join(patent.keywords)}
SAMPLE = None


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: None = None) -> BuildLog:
    """Write the tables: one document a patent family (its first publication), one file of queries a view."""
    log = BuildLog(FACTS.name)
    known = publications(patents).with_columns(has_abstract=pl.Series(bool(patent.abstract) for patent in patents))
    firsts = known.filter("has_abstract").unique("family", keep="first", maintain_order=True)
    log.step("families with an abstract", known["family"].n_unique(), len(firsts))
    folder = root / DATA.key
    chosen = [(family, patents[row]) for family, row in firsts.select("family", "row").iter_rows()]
    documents = ({"_id": key, "text": patent.abstract, "ipc": next(iter(patent.ipc), "")} for key, patent in chosen)
    files.write_jsonl(folder / "corpus.jsonl", documents)
    for view, text_of in VIEWS.items():
        rows = ({"_id": key, "text": text} for key, patent in chosen if (text := text_of(patent)))
        files.write_jsonl(folder / f"queries_{view}.jsonl", rows)
    return log


class KnownItem(PatentRetrieval):
    """Search for the abstract of the query's own patent family; slices by its IPC section."""

    view: str

    def load_tables(self) -> RetrievalTables:
        documents = {
            row["_id"]: row for _, row in files.read_jsonl(self.source.path("corpus.jsonl"), ("_id", "text"), ("ipc",))
        }
        rows = files.read_jsonl(self.source.path(f"queries_{self.view}.jsonl"), ("_id", "text"))
        queries = {row["_id"]: row["text"] for _, row in rows}
        qrels = {query: {query: 1} for query in queries}
        sections = slices.by_query(
            qrels, lambda query: f"ipc_{ipc.at(code, 'section').lower()}" if (code := documents[query]["ipc"]) else None
        )
        return RetrievalTables(
            {key: row["text"] for key, row in documents.items()}, queries, qrels, slices=dict(sorted(sections.items()))
        )


def _task(view: str) -> type[KnownItem]:
    description = f"Find the abstract of a patent by its {view.lower()}."
    described = (f"KnownAbstractBy{view}", "Retrieval", description, "ndcg_at_10", {"view": view})
    return make_task(KnownItem, FACTS, DATA, *described)


BENCHMARK = PatentBenchmark(FACTS, {"Retrieval": tuple(map(_task, VIEWS))})

patent_mteb.register_benchmark(BENCHMARK)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patents", type=Path, nargs="?", help="canonical records; the built-in sample if not given")
    parser.add_argument("--model", default="patent-mteb/bm25-dapfam")
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        if arguments.patents:
            build(list(read_records(arguments.patents, Patent)), (), Path(root))
            os.environ["PATENT_MTEB_DATA"] = root
        tasks = patent_mteb.get_tasks(FACTS.name, sample=not arguments.patents)
        report = run.run(load(arguments.model), tasks, arguments.out, show_progress=False)
    for outcome in report.outcomes:
        print(f"{outcome.task}: {outcome.reason or f'{outcome.main_score} = {outcome.main:.4f}'}")
        for name, value in outcome.scores.items():
            if name.startswith("ipc_") and name.endswith("_ndcg_at_10"):
                print(f"  {name}: {value:.4f}")


if __name__ == "__main__":
    main()
