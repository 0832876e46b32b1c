"""Document level against passage level, BM25 against an encoder, and their fusion, in one table.

On a task, by default one of the built-in sample (invented patents, for trying it out), with and without an encoder:

    python examples/passages.py
    python examples/passages.py --model MODEL --task PatentDAPFAMTACToFullTextRetrieval

On real texts: a folder as examples/real_patents.py reads it. A query is title and abstract of a paper; the one patent
about the paper's invention, among all patents (title, abstract, claims), is to be found:

    python examples/passages.py --real FOLDER --model sentence-transformers/all-MiniLM-L6-v2 --first 300

MODEL is a hub id or the directory of a checkpoint. Passages are windows of tokens of the model's own tokenizer,
or of words for BM25; a document scores as its best passage (maxP) or as the mean of its best three (avg_top3).
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

import mteb
import real_patents

from patent_mteb.models import RRF, Hybrid, Linear, Passages, bm25, load, stored
from patent_mteb.recipes.beir import read_beir, write_beir
from patent_mteb.search.cache import Cached, RunCache

AGGREGATES = ("maxP", "avg_top3")
FUSIONS = {"RRF, k = 60": RRF(60), "linear, alpha = 0.5": Linear(0.5)}
MEASURES = {"nDCG@10": "ndcg_at_10", "Recall@10": "recall_at_10"}


def real_task(source: Path, root: Path, first: int | None) -> Any:
    """The headline task over the first patents of a folder and the papers about them; all if ``first`` is None."""
    real_patents.main(source, root)
    tables = read_beir(root / "WIPO-AT")
    corpus = dict(list(tables.corpus.items())[:first])
    qrels = {query: judged for query, judged in tables.qrels.items() if judged.keys() <= corpus.keys()}
    write_beir(root / "WIPO-AT", corpus, {query: tables.queries[query] for query in qrels}, qrels)
    print(f"taken: {len(corpus)} patents, {len(qrels)} papers")
    os.environ["PATENT_MTEB_DATA"] = str(root)
    return mteb.get_task("PatentCitationRetrieval")


def levels(model: Any, sizes: list[int], cache: RunCache) -> dict[str, Any]:
    """The model searching whole documents, and passages of each size under each aggregation; every passage is encoded
    once.
    """
    found = {"document": Cached(model, cache)}
    for size in sizes:
        for passages in Passages.sweep(model, size, AGGREGATES, cache=cache):
            found[f"passages of {size}, {passages.aggregate}"] = passages
    return found


def table(task: Any, encoder: Any, sizes: list[int], cache: RunCache) -> None:
    columns = {"BM25": levels(bm25("dapfam"), sizes, cache)}
    if encoder is not None:
        columns[encoder.mteb_model_meta.name] = dense = levels(encoder, sizes, cache)
        for level, lexical in columns["BM25"].items():
            for name, fused in zip(
                FUSIONS, Hybrid.sweep(lexical, dense[level], list(FUSIONS.values()), cache=cache), strict=True
            ):
                columns.setdefault(name, {})[level] = fused
    print(f"\n{task.metadata.name}, {' / '.join(MEASURES)}")
    print(f"{'':28}" + "".join(f"{name:>22.21}" for name in columns))
    for level in columns["BM25"]:
        cells = []
        for models in columns.values():
            result = mteb.evaluate(models[level], task, cache=None, show_progress_bar=False)
            ((scores,),) = result.task_results[0].scores.values()
            cells.append(" / ".join(f"{scores[measure]:.4f}" for measure in MEASURES.values()))
        print(f"{level:28}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="PatentDAPFAMTAToFullTextRetrieval.sample")
    parser.add_argument("--real", type=Path, metavar="FOLDER", help="patents.jsonl.gz, papers.jsonl.gz and pairs.tsv")
    parser.add_argument("--first", type=int, metavar="N", help="with --real: only the first N patents")
    parser.add_argument("--model", help="an encoder to compare with BM25")
    parser.add_argument("--tokens", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--store", type=Path, metavar="DIR", help="embedding store; by default in the user cache")
    arguments = parser.parse_args()
    encoder = stored(load(arguments.model), arguments.store) if arguments.model else None
    with tempfile.TemporaryDirectory() as root:
        task = (
            real_task(arguments.real, Path(root), arguments.first) if arguments.real else mteb.get_task(arguments.task)
        )
        table(task, encoder, arguments.tokens, RunCache())


if __name__ == "__main__":
    main()
