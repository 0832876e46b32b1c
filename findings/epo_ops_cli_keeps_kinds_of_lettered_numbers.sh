#!/usr/bin/env bash
# epo-ops-cli 0.1.0: strip_kind, which prepares epodoc requests, keeps the kind code of numbers that have a letter of their own.
# Input:    JPH0712345A (Heisei 7), USD500000S (design), USRE38000E (reissue).
# Expected: JPH0712345, USD500000, USRE38000, as EP1000000A1 becomes EP1000000.
# Seen:     the three numbers with their kind codes.
# For us:   a number before its kind code is not digits only; numbers of Japan until 1999 are the common case.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check epo-ops-cli==0.1.0
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
from epo_ops_cli.core.numbers import strip_kind

assert strip_kind("EP1000000A1") == "EP1000000"  # right
for number in ("JPH0712345A", "USD500000S", "USRE38000E"):
    print(number, strip_kind(number))
    assert strip_kind(number) == number
PYTHON
