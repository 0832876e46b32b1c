"""Turn a folder of real patents and papers into the local layout, with every text view, and say how to run on it.

Input: a folder with ``patents.jsonl.gz`` (publication_number, title, abstract, claims), ``papers.jsonl.gz`` (paper_id,
title, abstract) and ``pairs.tsv`` (query-id, corpus-id, score), as in the Pap2Pat collection: for each patent the
scientific paper that describes the same invention. The papers become the queries, the patents the corpus, and the one
patent about the paper's invention is relevant.

    python examples/real_patents.py PAP2PAT_FOLDER OUT
    patent-mteb run -t PatentCitationRetrieval -m bm25 --data OUT

The views give 20 of WIPO-AT's 32 cells; the others need texts of DWPI. A paper has no claims, so its abstract stands
where a cell asks with claims. The collection has no taxonomy and no jurisdiction of the queries, so there is no
``metadata.parquet``, and the task says that the IN, OUT and jurisdiction slices cannot be formed.

``patent-mteb data import`` reads the same files without a program (see the README); this is how to write the layout
oneself.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from patent_mteb.patents.claims import split_claims
from patent_mteb.patents.records import Patent
from patent_mteb.patents.text import clean, clean_patent
from patent_mteb.patents.views import VIEWS, join_sections
from patent_mteb.recipes.beir import read_beir, read_qrels, write_beir

NAMES = ("TA", "TAC", "Abstract", "Claim1", "Claims")


def rows(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def patent_views(row: dict[str, str]) -> dict[str, str]:
    number = row["publication_number"]
    patent = clean_patent(
        Patent(number, number, title=row["title"], abstract=row["abstract"], claims=split_claims(row["claims"]))
    )
    return {"_id": number, **{name: VIEWS[name](patent) for name in NAMES}}


def paper_views(row: dict[str, str]) -> dict[str, str]:
    title, abstract = clean(row["title"]), clean(row["abstract"])
    both = join_sections([title, abstract])
    return {
        "_id": row["paper_id"],
        "TA": both,
        "TAC": both,
        "Abstract": abstract,
        "Claim1": abstract,
        "Claims": abstract,
    }


def main(source: Path, out: Path) -> None:
    patents = list(rows(source / "patents.jsonl.gz"))
    documents = [patent_views(row) for row in patents]
    corpus = {
        view["_id"]: (clean(row["title"], boilerplate=False), join_sections([view["Abstract"], view["Claims"]]))
        for row, view in zip(patents, documents, strict=True)
    }
    papers = [paper_views(row) for row in rows(source / "papers.jsonl.gz")]
    qrels, _ = read_qrels(source / "pairs.tsv")
    folder = out / "WIPO-AT"
    write_beir(
        folder,
        corpus,
        {view["_id"]: view["TAC"] for view in papers},
        qrels,
        views=pa.Table.from_pylist(documents + papers),
    )
    tables = read_beir(folder)
    print(
        f"{len(tables.corpus)} patents, {len(tables.queries)} papers, {sum(map(len, qrels.values()))} judgements in"
        f" {folder}"
    )
    print(f"now: patent-mteb run -t PatentCitationRetrieval -m bm25 --data {out}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python examples/real_patents.py PAP2PAT_FOLDER OUT")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
