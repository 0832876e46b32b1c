#!/usr/bin/env bash
# datasets 5.2.0: a day in JSON lines is rewritten although its column is declared as text.
# Input:    {"filed": "2019-01-01"} in each line, read with Features({"filed": Value("string"), …}).
# Expected: the text of the file, "2019-01-01": the declared type is a string, and the file has one.
# Seen:     "2019-01-01 00:00:00": the column is read as a time first, and the time is then written as text.
# For us:   filing days no longer equal those of the same records read by another library, and ids of this form match nothing.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check datasets==5.2.0 pyarrow==26.0.1
cd "$folder"
HF_HUB_OFFLINE=1 HF_HOME="$folder" "$folder/venv/bin/python" - <<'PYTHON'
import json

from datasets import Features, Value, load_dataset

rows = [{"number": "EP1000001A1", "filed": "2019-01-01"}, {"number": "EP1000002A1", "filed": "2019-03-07"}]
with open("patents.jsonl", "w") as file:
    file.writelines(json.dumps(row) + "\n" for row in rows)
text = Features({"number": Value("string"), "filed": Value("string")})
declared = load_dataset("json", data_files="patents.jsonl", split="train", features=text)
print(declared.features, declared["filed"][:])
assert declared.features == text
assert declared["filed"][:] == ["2019-01-01 00:00:00", "2019-03-07 00:00:00"]
PYTHON
