#!/usr/bin/env bash
# mteb 2.26.24: max_sim lets the padding of a short document win against its tokens.
# Input:    a query token, and a document of one token with similarity -1 next to one of two tokens, as one batch.
# Expected: -1, the largest similarity of the query token with a token of the document.
# Seen:     0, the similarity with the padding. The same document alone has -1.
# For us:   a score depends on the other documents of the batch. Our MaxSim masks padding.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mteb==2.26.24 torch==2.13.0
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import torch
from mteb.similarity_functions import max_sim

query = torch.tensor([[[1.0, 0.0]]])
short, long = torch.tensor([[-1.0, 0.0]]), torch.tensor([[0.5, 0.5], [-1.0, 0.0]])
alone = max_sim(query, short[None])
batch = max_sim(query, torch.nn.utils.rnn.pad_sequence([short, long], batch_first=True))
print(alone.tolist(), batch.tolist())
assert alone.tolist() == [[-1.0]] and batch.tolist() == [[0.0, 0.5]]
PYTHON
