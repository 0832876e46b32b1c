"""Peak memory of a training on a corpus that is larger than the memory it may have.

    python benchmarks/training_disk.py DIR [--gb 3] [--kb 50] [--steps 20] [--recipe patentmap-description]

Patents of random words, with an abstract, two claims and a description of ``--kb``, are written to ``DIR/records``; a
part that exists is kept. ``patent-mteb train`` then reads all of them, writes the pairs, and takes ``--steps`` steps
with word vectors. Reported are the size of the texts, the greatest resident memory of the process (``ru_maxrss``,
mapped files among it), and its processor time. It needs about four times the size of the texts on the disk.


"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from scale import _write
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from patent_mteb.cli import main as command
from patent_mteb.patents.records import SCHEMAS, Patent

PART = 1_000
WORDS = 20_000


def words_of(rng: np.random.Generator) -> list[str]:
    letters = rng.integers(97, 123, size=(WORDS, 7), dtype=np.uint8)
    return [bytes(word).decode("ascii") for word in letters]


def write_part(path: Path, first: int, size: int, description: int) -> None:
    """Write patents whose descriptions are pieces of one random text."""
    rng = np.random.default_rng(first)
    words = words_of(np.random.default_rng(0))
    text = " ".join(words[one] for one in rng.integers(0, WORDS, 400_000))
    abstracts = [" ".join(words[one] for one in row) for row in rng.integers(0, WORDS, (size, 100))]
    claims = [" ".join(words[one] for one in row) for row in rng.integers(0, WORDS, (size, 40))]
    starts = rng.integers(0, len(text) - description, size)
    columns = {
        "publication_number": [f"US{10_000_000 + first + row}B2" for row in range(size)],
        "family_id": [f"F{first + row}" for row in range(size)],
        "title": [one[:40] for one in abstracts],
        "abstract": abstracts,
        "claims": [[{"number": 1, "text": f"1. A {one}.", "depends_on": []}] for one in claims],
        "description": [{"detailed": text[start : start + description]} for start in starts],
    }
    columns = {name: pa.array(values, SCHEMAS[Patent].field(name).type) for name, values in columns.items()}
    _write(path, columns, SCHEMAS[Patent])


def write_base(folder: Path) -> None:
    names = {word: place for place, word in enumerate(["[UNK]", *words_of(np.random.default_rng(0))])}
    tokenizer = Tokenizer(models.WordLevel(names, "[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    embedding = StaticEmbedding(tokenizer, embedding_dim=64)
    SentenceTransformer(modules=[embedding], device="cpu").save(str(folder), create_model_card=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gb", type=float, default=3)
    parser.add_argument("--kb", type=int, default=50, help="of a description")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--recipe", default="patentmap-description")
    arguments = parser.parse_args()
    folder, number = arguments.folder, round(arguments.gb * 1e9 / (arguments.kb * 1e3 + 1_200))
    for first in range(0, number, PART):
        path = folder / "records" / "patents" / f"part-{first:08}.parquet"
        if not path.exists():
            write_part(path, first, min(PART, number - first), arguments.kb * 1_000)
    if not (folder / "base").exists():
        write_base(folder / "base")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    words = ["train", arguments.recipe, str(folder / "records"), "-m", str(folder / "base")]
    words += ["--out", str(folder / f"out-{time.time_ns()}"), "--split", "0.995,0", "--max-steps", str(arguments.steps)]
    for setting in ("pooling=any", "batch=32", "accumulation=1", "checks=1"):
        words += ["--set", setting]
    status = command(words)
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak, seconds = used.ru_maxrss / 1e6, used.ru_utime + used.ru_stime
    texts = number * (arguments.kb * 1e3 + 1_200) / 1e9
    print(f"{number:,} patents, {texts:.2f} GB of text: peak {peak:.2f} GB (before the training {before / 1e6:.2f})")
    print(f"{seconds:.0f} s of processor time, {arguments.steps} steps, status {status}")
    return status


if __name__ == "__main__":
    sys.exit(main())
