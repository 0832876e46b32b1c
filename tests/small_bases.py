"""Small bases to train: a table of static vectors and a transformer, both over the words of the sample, with random weights."""

from __future__ import annotations

import re
from collections import Counter

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from patent_mteb.patents.views import VIEWS
from patent_mteb.sample import generate

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def word_tokenizer(most=3000):
    counts = Counter(word for patent in generate()[0][::3] for word in re.findall(r"\w+", VIEWS["TAC"](patent).lower()))
    tokenizer = Tokenizer(
        models.WordLevel({word: place for place, word in enumerate([*SPECIAL, *(w for w, _ in counts.most_common(most))])}, "[UNK]")
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
    """A bare BERT in ``<folder>-bare``, and the same with pooling in ``folder``; ``spread`` is the deviation of its random weights."""
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
