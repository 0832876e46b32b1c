"""Train a model on abstracts and claims, and see what it gains on families that it never saw.

    pip install 'patent-mteb[train]'
    python examples/train.py [DIRECTORY]

Offline, on two cores, in minutes: a table of word vectors and a small transformer, both with random weights, learn on
the built-in sample with the recipe ``wipo-r3`` of WIPO-AT §3.5 (abstract and first independent claim of one patent
belong together), over three seeds. Measured are the queries of the test families of Abstract -> Claim1, before and
after. The paper's rate and accumulation are for large models and 89,438 pairs; ``--set`` puts others in their place,
and the card of each checkpoint says so.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from patent_mteb.cli import main as command
from patent_mteb.patents.views import VIEWS
from patent_mteb.sample import load

TASK = "WIPOATAbstractToClaim1Retrieval.sample"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def tokenizer_of(texts: list[str], most: int = 4_000) -> Tokenizer:
    """The words of some texts, lower-cased, the most frequent ones."""
    counts = Counter(word for text in texts for word in re.findall(r"\w+", text.lower()))
    words = [*SPECIAL, *(word for word, _ in counts.most_common(most))]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, "[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def write_static(folder: Path, tokenizer: Tokenizer) -> None:
    """A vector for each word, and their mean for a text."""
    torch.manual_seed(0)
    words = StaticEmbedding(tokenizer, embedding_dim=128)
    SentenceTransformer(modules=[words], device="cpu").save(str(folder))


def write_transformer(folder: Path, tokenizer: Tokenizer) -> None:
    """Two layers of 64 dimensions, 64 tokens at most, mean pooling."""
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    bare = folder.with_name("bare")
    names = {f"{token[1:-1].lower()}_token": token for token in SPECIAL}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names).save_pretrained(bare)
    torch.manual_seed(0)
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 64, "intermediate_size": 128}
    BertModel(BertConfig(vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=64, **layers)).save_pretrained(
        bare
    )
    modules = [SentenceTransformer(str(bare), device="cpu")[0], Pooling(64, pooling_mode="mean")]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder))


def main(out: Path) -> int:
    texts = [VIEWS["TAC"](patent) for patent in load()[0]]
    write_static(out / "static", tokenizer_of(texts))
    write_transformer(out / "transformer", tokenizer_of(texts))
    for base, changes in (("static", ["lr=0.02", "batch=64"]), ("transformer", ["lr=0.002", "batch=32"])):
        settings = [word for change in [*changes, "accumulation=1", "checks=3"] for word in ("--set", change)]
        asked = [
            "train",
            "wipo-r3",
            "sample",
            "-m",
            str(out / base),
            "--out",
            str(out / f"{base}-r3"),
            "--seeds",
            "42,7,13",
        ]
        print("$ patent-mteb", *asked, *settings, "--evaluate", TASK)
        if status := command([*asked, *settings, "--evaluate", TASK, "--device", "cpu", "-v", "0"]):
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "trained")))
