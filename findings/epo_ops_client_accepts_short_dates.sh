#!/usr/bin/env bash
# python-epo-ops-client 4.2.3: a date of six or seven digits passes the check for YYYYMMDD.
# Input:    Docdb("1000000", "EP", "A1", "202311"), a year and a month.
# Expected: InvalidDate, as for 2023-11-01.
# Seen:     the reference (EP).(1000000).(A1).(202311), which is sent to the office. strptime reads 202311 as 1 January 2023.
# For us:   Python's %Y%m%d is no check of the length. Our readers compare the number of digits first.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check python-epo-ops-client==4.2.3
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
from epo_ops.exceptions import InvalidDate
from epo_ops.models import Docdb

for date in ("202311", "2023111"):
    reference = Docdb("1000000", "EP", "A1", date).as_api_input()
    print(date, reference)
    assert reference == f"(EP).(1000000).(A1).({date})"
try:
    Docdb("1000000", "EP", "A1", "2023-11-01")
except InvalidDate as error:
    print("2023-11-01", error)
else:
    raise AssertionError("2023-11-01 passes too")
PYTHON
