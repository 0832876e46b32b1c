"""Small bases to train, with random weights: static vectors, a transformer, late interaction, and broken ones."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    PreTrainedTokenizerFast,
)

from patent_mteb.patents.views import VIEWS
from patent_mteb.sample import load

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def word_tokenizer(most=3000):
    counts = Counter(word for patent in load()[0][::3] for word in re.findall(r"\w+", VIEWS["TAC"](patent).lower()))
    tokenizer = Tokenizer(
        models.WordLevel(
            {word: place for place, word in enumerate([*SPECIAL, *(w for w, _ in counts.most_common(most))])}, "[UNK]"
        )
    )
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def write_static(folder, width=32, seed=0):
    torch.manual_seed(seed)
    SentenceTransformer(modules=[StaticEmbedding(word_tokenizer(), embedding_dim=width)], device="cpu").save(
        str(folder), create_model_card=False
    )
    return folder


def write_bert(folder, hidden=32, layers=2, pooling="mean", seed=0, length=96, spread=0.02):
    """A bare BERT in ``<folder>-bare``, and the same with pooling in ``folder``; ``spread`` is the deviation of its
    random weights.
    """
    tokenizer = word_tokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    bare = folder.with_name(f"{folder.name}-bare")
    names = {f"{token[1:-1].lower()}_token": token for token in SPECIAL}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=length, **names).save_pretrained(bare)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=2 * hidden,
        max_position_embeddings=length,
        initializer_range=spread,
    )
    BertModel(config).save_pretrained(bare)
    transformer = SentenceTransformer(str(bare), device="cpu")[0]
    modules = [transformer, Pooling(hidden, pooling_mode=pooling)]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder), create_model_card=False)
    return folder


def write_late(folder, **options):
    """A late-interaction model: the token vectors of :func:`write_bert`, of length one."""
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    write_bert(folder.with_name(f"{folder.name}-dense"), **options)
    transformer = SentenceTransformer(str(folder.with_name(f"{folder.name}-dense-bare")), device="cpu")[0]
    modules = [transformer, MultiVectorMask(), Normalize(module_input_name="token_embeddings")]
    MultiVectorEncoder(modules=modules, device="cpu").save_pretrained(str(folder), create_model_card=False)
    return folder


def write_sparse(folder, **options):
    """A SPLADE model: a BERT with the head of a language model, and max pooling over its logits."""
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling

    bare = folder.with_name(f"{folder.name}-dense-bare")
    write_bert(folder.with_name(f"{folder.name}-dense"), **options)
    torch.manual_seed(0)
    BertForMaskedLM.from_pretrained(bare).save_pretrained(folder.with_name(f"{folder.name}-masked"))
    AutoTokenizer.from_pretrained(bare).save_pretrained(folder.with_name(f"{folder.name}-masked"))
    modules = [MLMTransformer(str(folder.with_name(f"{folder.name}-masked"))), SpladePooling()]
    SparseEncoder(modules=modules, device="cpu").save_pretrained(str(folder), create_model_card=False)
    return folder


def write_reranker(folder, bare):
    """A cross-encoder with one score, from a bare transformer of :func:`write_bert`."""
    torch.manual_seed(0)
    BertForSequenceClassification.from_pretrained(bare, num_labels=1).save_pretrained(folder)
    AutoTokenizer.from_pretrained(bare).save_pretrained(folder)
    return folder


def changed(base, folder, change):
    """A copy of a base with other weights.

    Args:
        change: name and tensor of each weight -> the new one.
    """
    shutil.copytree(base, folder)
    for path in folder.rglob("*.safetensors"):
        weights = {name: change(name, weight).contiguous() for name, weight in load_file(path).items()}
        save_file(weights, path, metadata={"format": "pt"})
    return folder


def stored_in(base, folder, dtype):
    """A copy of a base whose files have another type."""
    changed(base, folder, lambda name, weight: weight.to(dtype) if weight.is_floating_point() else weight)
    for path in folder.rglob("config.json"):
        told = json.loads(path.read_text("utf-8"))
        if "dtype" in told:
            path.write_text(json.dumps(told | {"dtype": str(dtype).removeprefix("torch.")}), "utf-8")
    return folder


def _last_norm(name):
    """Whether a weight of :func:`write_bert` belongs to the layer that gives the token vectors."""
    return "output.LayerNorm" in name and "attention" not in name


def _first(name, weight, value):
    if name.endswith("word_embeddings.weight"):
        weight[7, 3] = value
    return weight


BAD: dict[str, Callable[[str, torch.Tensor], torch.Tensor]] = {
    "nan": lambda name, weight: _first(name, weight, torch.nan),
    "inf": lambda name, weight: _first(name, weight, torch.inf),
    "overflowing": lambda name, weight: weight * 1e38 if _last_norm(name) and name.endswith("weight") else weight,
    "constant": lambda name, weight: weight * 0 + name.endswith("bias") if _last_norm(name) else weight,
    "collapsed": lambda name, weight: weight * 1e-3 + name.endswith("bias") if _last_norm(name) else weight,
}
"""Fault -> how it changes each weight of :func:`write_bert`; NaN and Inf are one number of the word embeddings."""
