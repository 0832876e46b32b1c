"""Write the static word vectors of the package ``wordllama`` as a sentence-transformers checkpoint.

    pip install wordllama
    python examples/static_model.py DIRECTORY
    patent-mteb run -m DIRECTORY -b PatentMTEB.sample

A cheap real model (256 dimensions, about 2,000 texts a second) for trying everything on a laptop.
"""

from __future__ import annotations

import importlib.resources
import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Normalize, StaticEmbedding
from tokenizers import Tokenizer


def main(folder: Path) -> None:
    package = importlib.resources.files("wordllama")
    (weights,) = load_file(str(package / "weights" / "l2_supercat_256.safetensors")).values()
    settings = json.loads((package / "tokenizers" / "l2_supercat_tokenizer_config.json").read_text("utf-8"))
    tokenizer = Tokenizer.from_str(json.dumps(settings))
    tokenizer.no_padding()
    embedding = StaticEmbedding(tokenizer, embedding_weights=weights.astype(np.float32))
    SentenceTransformer(modules=[embedding, Normalize()]).save(str(folder))
    print(f"wrote {weights.shape[0]} vectors of {weights.shape[1]} dimensions to {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/static_model.py DIRECTORY")
    main(Path(sys.argv[1]))
