#!/usr/bin/env bash
# ir_measures 0.4.3: RR and RR@10 of one call break ties in opposite ways, so a cut-off that cuts nothing raises the mean.
# Input:    a run of two documents with equal scores, the relevant one first in the order of ids.
# Expected: RR equals RR@10, since no ranking is longer than 10.
# Seen:     RR 0.5 and RR@10 1.0: another provider computes RR@10, with another order of ties.
# For us:   equal texts tie, so MRR with and without a cut-off cannot be compared with other tools to six digits.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ir-measures==0.4.3
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import ir_measures
from ir_measures import RR

seen = ir_measures.calc_aggregate([RR, RR @ 10], {"1": {"a": 1}}, {"1": {"a": 1.0, "b": 1.0}})
print(seen)
assert seen == {RR: 0.5, RR @ 10: 1.0}
PYTHON
