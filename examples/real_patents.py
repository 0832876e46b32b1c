"""Turn a folder of real patents and papers into the local layout, and say how to run on it.

Input: a folder with ``patents.jsonl.gz`` (publication_number, title, abstract, claims), ``papers.jsonl.gz`` (paper_id, title,
abstract) and ``pairs.tsv`` (query-id, corpus-id, score), as in the Pap2Pat collection: for each patent the scientific paper that
describes the same invention. The papers become the queries, the patents the corpus, and the one patent about the paper's
invention is relevant.

    python examples/real_patents.py PAP2PAT_FOLDER OUT
    PATENT_MTEB_DATA=OUT mteb run -t PatentCitationRetrieval -m mteb/baseline-bm25s

The collection has no taxonomy and no jurisdiction of the queries, so there is no ``metadata.parquet``, and the task says that
the IN, OUT and jurisdiction slices cannot be formed.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from patent_mteb.patents.claims import claims_text, split_claims
from patent_mteb.patents.text import clean
from patent_mteb.patents.views import join_sections
from patent_mteb.recipes.beir import read_beir, read_qrels, write_beir


def rows(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def main(source: Path, out: Path) -> None:
    corpus = {
        row["publication_number"]: (
            clean(row["title"]),
            join_sections([clean(row["abstract"]), claims_text(split_claims(row["claims"]))]),
        )
        for row in rows(source / "patents.jsonl.gz")
    }
    queries = {row["paper_id"]: join_sections([clean(row["title"]), clean(row["abstract"])]) for row in rows(source / "papers.jsonl.gz")}
    qrels, _ = read_qrels(source / "pairs.tsv")
    folder = out / "WIPO-AT"
    write_beir(folder, corpus, queries, qrels)
    tables = read_beir(folder)
    print(f"{len(tables.corpus)} patents, {len(tables.queries)} papers, {sum(map(len, qrels.values()))} judgements in {folder}")
    print(f"now: PATENT_MTEB_DATA={out} mteb run -t PatentCitationRetrieval -m mteb/baseline-bm25s")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python examples/real_patents.py PAP2PAT_FOLDER OUT")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
