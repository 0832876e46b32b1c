#!/usr/bin/env bash
# ranx 0.3.21: min-max fusion gives the only document of a list the score 0, that of a document which was not returned.
# Input:    one system with documents a, b, c and one that returns d alone, with a high score.
# Expected: d has 1 from its system, as a has, or an error.
# Seen:     d has 0, and is last with the worst document of the other system.
# For us:   a Boolean search or a strict filter often returns one document. Our fusion gives it 1 (docs/numbers.md).
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ranx==0.3.21
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import warnings

from ranx import Run, fuse

warnings.simplefilter("ignore")
first = Run({"1": {"a": 3.0, "b": 2.0, "c": 1.0}})
second = Run({"1": {"d": 5.0}})
seen = {document: float(score) for document, score in fuse([first, second], norm="min-max", method="sum")["1"].items()}
print(seen)
assert seen == {"a": 1.0, "b": 0.5, "c": 0.0, "d": 0.0}
PYTHON
