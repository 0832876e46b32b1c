"""Your own patents as a benchmark: records -> build -> validate -> run, with the commands that do it.

    python examples/own_patents.py patents.jsonl citations.jsonl OUT
    python examples/own_patents.py patents.parquet citations.parquet OUT --benchmark dapfam
    python examples/own_patents.py records OUT --set min_citations=2 --set require=title,abstract   # of an import
    python examples/own_patents.py                      # a few invented records, written to a temporary directory

A record is one publication; ``patent_mteb.patents.records`` says which fields there are. Two are required, the others
decide what can be had: texts for retrieval, ``ipc`` for the IN and OUT slices, ``filing_jurisdiction`` or the office in
the number for the jurisdiction slices, ``labels`` for classification and clustering (``validate`` says which tasks
cannot be had; the others run). One line of each:

    {"publication_number": "US2020000001A1", "family_id": "F1", "title": "Walking frame", "ipc": ["A61H 3/04"],
     "abstract": "A frame with a brake.", "claims": [{"number": 1, "text": "A walking frame having a brake."}]}
    {"citing": "US2020000001A1", "cited": "EP1234567A1"}
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from patent_mteb import sample
from patent_mteb.cli import main as patent_mteb
from patent_mteb.patents.records import Citation, Patent, write_records


def write_some(folder: Path) -> tuple[Path, Path]:
    """A few records of the built-in sample: the publications of its first citations."""
    patents, citations = sample.load()
    citations = citations[:400]
    named = {number for edge in citations for number in (edge.citing, edge.cited)}
    write_records(folder / "patents.jsonl", Patent, (one for one in patents if one.publication_number in named))
    write_records(folder / "citations.jsonl", Citation, citations)
    return folder / "patents.jsonl", folder / "citations.jsonl"


def command(*words: str | Path) -> int:
    print("\n$ patent-mteb", *words, flush=True)
    return patent_mteb([str(word) for word in words])


def benchmark(records: Sequence[Path], out: Path, name: str, task: str, model: str, settings: Sequence[str]) -> int:
    """Returns the exit status of the last command that was run."""
    changes = [word for setting in settings for word in ("--set", setting)]
    if status := command("data", "build", name, *records, out / "data", *changes):
        return status
    command("data", "validate", out / "data")
    os.environ["PATENT_MTEB_DATA"] = str(out / "data")
    return command("run", "-t", task, "-m", model, "--output-folder", out / "results", "-v", "1")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", metavar="RECORDS | PATENTS CITATIONS, OUT")
    parser.add_argument("--benchmark", default="wipo_at", help="wipo_at, dapfam, patenteb, sophia or patentmap")
    parser.add_argument("--task", default="PatentCitationRetrieval")
    parser.add_argument("--model", default="mteb/baseline-bm25s")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the recipe; repeatable"
    )
    arguments = parser.parse_args()
    chosen = (arguments.benchmark, arguments.task, arguments.model, arguments.set)
    if not arguments.files:
        with tempfile.TemporaryDirectory() as folder:
            print("Invented records: their scores say nothing about any benchmark.")
            return benchmark(write_some(Path(folder)), Path(folder), *chosen)
    if len(arguments.files) not in (2, 3):
        parser.error("give the records directory, or patents and citations, and behind them OUT; or nothing")
    *records, out = arguments.files
    return benchmark(records, out, *chosen)


if __name__ == "__main__":
    raise SystemExit(main())
