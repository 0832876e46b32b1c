#!/usr/bin/env bash
# ipc-parser 0.1.1: get_human_readable_ipc strips the zero of subgroups such as /10 and the hundreds of main groups.
# Input:    symbols as WIPO's scheme file writes them (ST.8).
# Expected: A01B0001100000 is A01B 1/10; A61K0101000000 is A61K 101/00.
# Seen:     A01B 1/1 and A61K 1/00.
# For us:   classes made with it match no class of another source.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ipc-parser==0.1.1
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
from ipc_parser import IpcParser

read = IpcParser("scheme.xml").get_human_readable_ipc
for symbol in ("A01B0001100000", "A01B0001120000", "A61K0101000000"):
    print(symbol, read(symbol))
assert read("A01B0001120000") == "A01B 1/12"  # right
assert read("A01B0001100000") == "A01B 1/1"
assert read("A61K0101000000") == "A61K 1/00"
PYTHON
