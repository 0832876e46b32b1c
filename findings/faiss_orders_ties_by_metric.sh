#!/usr/bin/env bash
# faiss-cpu 1.15.1: exact search orders equal scores in opposite ways, by metric.
# Input:    five equal unit vectors; for unit vectors, inner product and Euclidean distance are the same ranking.
# Expected: one order of ties.
# Seen:     IndexFlatIP returns the last vector first, IndexFlatL2 the first.
# For us:   patents with the same abstract (families, continuations) tie exactly, so MRR@10 and nDCG@10 depend on the index.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check faiss-cpu==1.15.1 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import faiss
import numpy

vectors = numpy.tile(numpy.eye(4, dtype="float32")[:1], (5, 1))
order = {}
for kind in (faiss.IndexFlatIP, faiss.IndexFlatL2):
    index = kind(4)
    index.add(vectors)
    order[kind.__name__] = index.search(vectors[:1], 5)[1][0].tolist()
print(order)
assert order == {"IndexFlatIP": [4, 3, 2, 1, 0], "IndexFlatL2": [0, 1, 2, 3, 4]}
PYTHON
