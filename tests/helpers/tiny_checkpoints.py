"""Tiny random checkpoints with the modules of the published patent models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

try:
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling
except ImportError:
    from sentence_transformers.models import Dense, Pooling

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
VOCABULARY = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS), ":", ".", ",", "[", "]"]


CROSS_WORDS = ("rotor", "stator", "blade", "valve", "pump", "shaft", "bearing", "seal", "gear", "motor", "sensor")


def bare(folder: Path, hidden: int, layers: int = 2, *, head: bool = False, seed: int = 0) -> Path:
    """A transformer without sentence-transformers modules: WordPiece on single letters, random weights."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordPiece({token: place for place, token in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", VOCABULARY.index("[SEP]")), ("[CLS]", VOCABULARY.index("[CLS]"))
    )
    names = {f"{token[1:-1].lower()}_token": token for token in SPECIAL}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **names).save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=512,
    )
    (BertForMaskedLM if head else BertModel)(config).save_pretrained(folder)
    return folder


def checkpoint(
    folder: Path,
    hidden: int,
    pooling: str,
    *,
    dense: int | None = None,
    prompts: dict | None = None,
    layers: int = 2,
    seed: int = 0,
) -> Path:
    """Transformer + pooling (+ Dense) as sentence-transformers saves it; ``prompts`` goes into its configuration as it
    is.
    """
    transformer = SentenceTransformer(
        str(bare(folder.with_name(folder.name + "-bare"), hidden, layers, seed=seed)), device="cpu"
    )[0]
    modules = [transformer, Pooling(hidden, pooling_mode=pooling)]
    if dense:
        torch.manual_seed(seed + 1)
        modules.append(
            Dense(in_features=hidden, out_features=dense, bias=False, activation_function=torch.nn.Identity())
        )
    SentenceTransformer(modules=modules, device="cpu").save(str(folder), create_model_card=False)
    if prompts is not None:
        path = folder / "config_sentence_transformers.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "prompts": prompts}))
    return folder


def write_cross_encoder(folder: Path, seed: int = 0, labels: int = 1, words: Sequence[str] = ()) -> Path:
    """A random cross-encoder over :data:`CROSS_WORDS` and further words, of 64 tokens at most."""
    ids = {word: number for number, word in enumerate([*SPECIAL[:4], *CROSS_WORDS, *words])}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names).save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(ids),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        initializer_range=1.5,
        num_labels=labels,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder
