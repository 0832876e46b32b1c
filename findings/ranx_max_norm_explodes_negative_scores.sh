#!/usr/bin/env bash
# ranx 0.3.21: fusion with norm="max" divides a list of negative scores by 1e-9.
# Input:    scores -1, -2, -4 of a dense model with Euclidean distances or logits, fused with scores 0.1 to 0.9.
# Expected: scores of a size that the other list can still change.
# Seen:     scores near -1e9. The other list never changes the order.
# For us:   logits of cross-encoders are often negative for all documents of a query. Our fusion has no such norm.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ranx==0.3.21
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import warnings

from ranx import Run, fuse

warnings.simplefilter("ignore")
first = Run({"1": {"a": -1.0, "b": -2.0, "c": -4.0}})
second = Run({"1": {"a": 0.1, "b": 0.2, "c": 0.9}})
seen = dict(fuse([first, second], norm="max", method="sum")["1"])
print(seen)
assert all(score < -9e8 for score in seen.values()) and list(seen) == ["a", "b", "c"]
PYTHON
