#!/usr/bin/env bash
# patiroha 1.0.1 (with pandas): parse_date reads a column of days as months and drops the rows that show it.
# Input:    a column of an export of PATENTSCOPE or Espacenet: 03.04.2012, 13.04.2012, 05.06.2012, 07.08.2012.
# Expected: 3 April, 13 April, 5 June, 7 August. The 13 settles the order of the whole column.
# Seen:     4 March, nothing, 6 May, 8 July. More than half can be parsed, so no other order is tried.
# For us:   the order of a date is a property of its column, not of its first value.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check patiroha==1.0.1 pandas==3.0.5
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import pandas
from patiroha import parse_date

dates = parse_date(pandas.Series(["03.04.2012", "13.04.2012", "05.06.2012", "07.08.2012"]))
seen = [None if pandas.isna(date) else date.date().isoformat() for date in dates]
print(seen)
assert seen == ["2012-03-04", None, "2012-05-06", "2012-07-08"]
PYTHON
