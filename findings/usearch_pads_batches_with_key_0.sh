#!/usr/bin/env bash
# usearch 2.26.6: a batch search for more neighbours than there are vectors fills the rows with key 0.
# Input:    two vectors with the keys 1 and 2, two queries, five neighbours each.
# Expected: keys that no vector can have, as faiss (-1), or rows of two.
# Seen:     keys [1 2 0 0 0], a key that a vector may have; only .counts and NaN distances tell.
# For us:   whoever reads .keys as a ranking adds document 0 to every short ranking.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check usearch==2.26.6 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import numpy
from usearch.index import Index

index = Index(ndim=4, metric="cos", dtype="f32")
index.add(numpy.arange(1, 3), numpy.eye(4, dtype="float32")[:2])
matches = index.search(numpy.eye(4, dtype="float32")[:2], 5)
print(matches.keys.tolist(), matches.counts.tolist())
assert matches.keys.tolist() == [[1, 2, 0, 0, 0], [2, 1, 0, 0, 0]]
assert matches.counts.tolist() == [2, 2]
PYTHON
