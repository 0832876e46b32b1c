"""A benchmark family of your own, complete in one file: its recipe, its tasks, its benchmark.

    python examples/add_a_family.py                                        # on the records of the built-in sample
    python examples/add_a_family.py patents.parquet --model MODEL

The family: find a patent's abstract by its title, and by its keywords. What a family needs:

* DATA    which directory of PATENT_MTEB_DATA (or which hub repository) holds its tables
* FAMILY  what its tasks have in common
* TASKS   one class a task, made from a table of what differs; GROUPS are the columns of its benchmark
* build   the recipe: canonical records in, the family's tables out

A family that becomes a part of the suite is the same file as patent_mteb/tasks/<family>.py, named in patent_mteb/tasks/__init__.py,
with its recipe as patent_mteb/build/<family>.py, which gives it a sample too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import mteb

from patent_mteb import files, register_benchmarks, register_tasks, sample
from patent_mteb.data.sources import DataSet
from patent_mteb.experiments import run
from patent_mteb.files import write_jsonl
from patent_mteb.metrics import slices
from patent_mteb.models import load
from patent_mteb.patents import ipc
from patent_mteb.patents.records import Patent, read_patents
from patent_mteb.tasks.base import Family, PatentRetrieval, PatentTaskMetadata, RetrievalTables, make_task, task_metadata
from patent_mteb.tasks.benchmark import PatentBenchmark

DATA = DataSet("KnownAbstract", recipe="")

FAMILY = Family(
    name="KnownAbstract",
    description="Known-item search: find the abstract of a patent by its title or its keywords.",
    reference="https://example.org/known-abstract",
    bibtex="",
    license="not specified",
    date=("2005-01-01", "2025-12-31"),
)

VIEWS = {"Title": lambda patent: patent.title, "Keywords": lambda patent: ", ".join(patent.keywords)}


def build(patents: Sequence[Patent], root: Path) -> None:
    """Write the family's tables: one document a family (its first publication), one file of queries a view."""
    firsts = {patent.family_id: patent for patent in reversed(patents) if patent.abstract}
    folder = root / DATA.key
    documents = [{"_id": key, "text": patent.abstract, "ipc": next(iter(patent.ipc), "")} for key, patent in firsts.items()]
    write_jsonl(folder / "corpus.jsonl", documents)
    for view, text in VIEWS.items():
        rows = ({"_id": key, "text": text(patent)} for key, patent in firsts.items())
        write_jsonl(folder / f"queries_{view}.jsonl", (row for row in rows if row["text"]))


class KnownItem(PatentRetrieval):
    """Search for the abstract of the query's own family; slices by its IPC section."""

    data = DATA
    family = FAMILY
    view: str

    def load_tables(self) -> RetrievalTables:
        rows = {row["_id"]: row for _, row in files.read_jsonl(self.source.path("corpus.jsonl"), ("_id", "text"), ("ipc",))}
        found = files.read_jsonl(self.source.path(f"queries_{self.view}.jsonl"), ("_id", "text"))
        queries = {row["_id"]: row["text"] for _, row in found}
        qrels = {query: {query: 1} for query in queries}
        parts = slices.by_query(qrels, lambda query: f"ipc_{ipc.section(code).lower()}" if (code := rows[query]["ipc"]) else None)
        return RetrievalTables({key: row["text"] for key, row in rows.items()}, queries, qrels, slices=dict(sorted(parts.items())))


def _metadata(view: str) -> PatentTaskMetadata:
    description = f"Find the abstract of a patent by its {view.lower()}."
    return task_metadata(FAMILY, DATA, f"KnownAbstractBy{view}", "Retrieval", description, "ndcg_at_10")


TASKS = tuple(make_task(KnownItem, __name__, _metadata(view), view=view) for view in VIEWS)
GROUPS = {"Retrieval": TASKS}
BENCHMARK = PatentBenchmark(FAMILY.name, GROUPS, "Group", description=FAMILY.description, reference=FAMILY.reference)

register_tasks(TASKS)
register_benchmarks([BENCHMARK])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patents", type=Path, nargs="?", help="canonical records; those of the built-in sample if not given")
    parser.add_argument("--model", default="patent-mteb/bm25-dapfam")
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        build(read_patents(arguments.patents) if arguments.patents else sample.generate()[0], Path(root))
        os.environ["PATENT_MTEB_DATA"] = root
        report = run.run(load(arguments.model), mteb.get_benchmark(FAMILY.name).tasks, arguments.out, show_progress=False)
    for outcome in report.outcomes:
        print(f"{outcome.task}: {outcome.reason or f'{outcome.main_score} = {outcome.main:.4f}'}")
        for name, value in outcome.scores.items():
            if name.startswith("ipc_") and name.endswith("_ndcg_at_10"):
                print(f"  {name}: {value:.4f}")


if __name__ == "__main__":
    main()
