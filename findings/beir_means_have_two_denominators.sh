#!/usr/bin/env bash
# beir 2.2.0: nDCG is a mean over the queries of the run, MRR over the queries of the judgements.
# Input:    two judged queries; the run returns nothing for the second, as a file in TREC format would say.
# Expected: one denominator: both 0.5, or both 1.0.
# Seen:     NDCG@10 1.0 and MRR@10 0.5 of the same run.
# For us:   a run read from a TREC file must be given an empty list for each query without documents before BEIR scores it.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check beir==2.2.0 torch==2.13.0
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
from beir.retrieval.evaluation import EvaluateRetrieval

qrels, run = {"1": {"a": 1}, "2": {"b": 1}}, {"1": {"a": 1.0}}
ndcg = EvaluateRetrieval.evaluate(qrels, run, [10])[0]["NDCG@10"]
mrr = EvaluateRetrieval.evaluate_custom(qrels, run, [10], "mrr")["MRR@10"]
print(ndcg, mrr)
assert (ndcg, mrr) == (1.0, 0.5)
PYTHON
