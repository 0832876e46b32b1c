"""A DAPFAM data set of any size of text, and what one system needs of memory on it. A script: see :func:`main`."""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from small_data import HashEncoder

from patent_mteb.search.base import text_bytes

DOCUMENTS = 45_336
"""Documents of the published corpus (DAPFAM Table 2)."""


def large_tables(
    root: Path, n_bytes: int, n_documents: int = DOCUMENTS, n_queries: int = 20, n_words: int = 1500
) -> None:
    """The published columns, with a corpus of ``n_bytes`` of text: one description, of ``n_words`` words again and
    again, is shared by all documents, behind titles of their own.
    """
    words = [f"word{number:04}" for number in range(n_words)]
    unit = " ".join(words)
    length = n_bytes // n_documents
    description = (unit + " ") * (length // (len(unit) + 1)) + unit[: length % (len(unit) + 1)]
    place = root / "datalyes" / "DAPFAM_patent"
    place.mkdir(parents=True)

    def rows(key: str, names: list[str], text: str) -> pa.Table:
        return pa.table(
            {
                key: names,
                "ipcr_codes_str": ["A61F 2/06; G06F 3/01"] * len(names),
                "title_en": [f"invention{name.split('-')[0]}" for name in names],
                "abstract_en": ["An apparatus."] * len(names),
                "claims_text": ["1. An apparatus."] * len(names),
                "description_en": (
                    pa.DictionaryArray.from_arrays(pa.array([0] * len(names), pa.int32()), [text]).cast(
                        pa.large_string()
                    )
                ),
            }
        )

    documents, queries = (
        [f"{number:05}-d" for number in range(n_documents)],
        [f"{number:05}-q" for number in range(n_queries)],
    )
    at_once = max(1, (1 << 26) // length)
    writer = None
    for start in range(0, n_documents, at_once):
        table = rows("relevant_id", documents[start : start + at_once], description)
        writer = writer or pq.ParquetWriter(place / "corpus.parquet", table.schema)
        writer.write_table(table)
    writer.close()
    pq.write_table(rows("query_id", queries, "A short description."), place / "queries.parquet")
    pairs = [(query, documents[number], 1.0, "IN" if number % 2 else "OUT") for number, query in enumerate(queries)]
    names = ("query_id", "relevant_id", "relevance_score", "domain_rel")
    pq.write_table(
        pa.table({name: list(column) for name, column in zip(names, zip(*pairs, strict=True), strict=True)}),
        place / "qrels_all.parquet",
    )


class FirstWord(HashEncoder):
    """A cheap encoder: the vector of a text's first word; keeps no text."""

    def encode(self, inputs, **kwargs):
        return np.stack([self.vector(text.split(maxsplit=1)[0]) for batch in inputs for text in batch["text"]])


def peak() -> float:
    """Greatest resident memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    """Load a task, search and score it, and print the peak of memory after each step.

    ``PATENT_MTEB_DATA=FOLDER python tests/helpers/large_dapfam.py TASK bm25|dense|passages``
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("task")
    parser.add_argument("system", choices=("bm25", "dense", "passages"))
    args = parser.parse_args()

    import mteb

    from patent_mteb.models import Passages, bm25

    systems = {"bm25": lambda: bm25("dapfam"), "dense": FirstWord, "passages": lambda: Passages(bm25("dapfam"), 256)}
    found: dict[str, float] = {"import": peak()}
    task = mteb.get_task(args.task)
    task.load_data()
    (split,) = next(iter(task.dataset.values())).values()
    found |= {"load": peak(), "text": int(text_bytes(split["corpus"]).sum()) / 1e9}
    del split
    result = mteb.evaluate(systems[args.system](), task, cache=None, co2_tracker=False, show_progress_bar=False)
    ((scores,),) = result.task_results[0].scores.values()
    print(json.dumps(found | {"search": peak(), "main_score": scores["main_score"], "n_queries": scores["n_queries"]}))


if __name__ == "__main__":
    main()
