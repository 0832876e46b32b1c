#!/usr/bin/env bash
# pytrec_eval-terrier 0.5.11: recip_rank takes a cut-off as map_cut does, and ignores it.
# Input:    recip_rank.1 for a ranking whose relevant document is the second.
# Expected: 0, or an error that recip_rank has no cut-off.
# Seen:     0.5 under the name recip_rank.
# For us:   MRR@10 (BEIR, mteb, Sophia-Bench) cannot be had from it by this name.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pytrec_eval-terrier==0.5.11
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import pytrec_eval

seen = pytrec_eval.RelevanceEvaluator({"1": {"a": 1}}, {"recip_rank.1"}).evaluate({"1": {"b": 2.0, "a": 1.0}})
print(seen)
assert seen == {"1": {"recip_rank": 0.5}}
PYTHON
