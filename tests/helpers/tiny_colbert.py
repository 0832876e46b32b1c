"""Tiny random ColBERT checkpoints in the forms that PyLate and Stanford's ColBERT save."""

from __future__ import annotations

import json
import string

import numpy as np
from safetensors.numpy import save_file

WORDS = ["rotor", "stator", "blade", "valve", "pump", "shaft", "bearing", "seal", "gear", "motor", "sensor"]
WORDS += ["lens", "laser", "diode", "battery", "anode", "cathode", "cell", "wall", "heat"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]"]
VOCABULARY = [*SPECIAL, *WORDS, *string.punctuation, "find", "text"]
MARKERS = {"pylate": ("[Q] ", "[D] "), "both": ("[unused0]", "[unused1]"), "stanford": ("[unused0]", "[unused1]")}
HIDDEN, DIM, QUERY_LENGTH, DOCUMENT_LENGTH = 16, 8, 12, 24


def write_tokenizer(folder, extra=()):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    ids = {word: number for number, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)
    if extra:
        fast.add_tokens(list(extra))
    fast.save_pretrained(folder)


def weights(rng, vocabulary):
    """BERT of two layers: name -> array, the same in every environment."""
    shapes = {
        "embeddings.word_embeddings.weight": (vocabulary, HIDDEN),
        "embeddings.position_embeddings.weight": (64, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
    }
    for layer in range(2):
        part = f"encoder.layer.{layer}."
        for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes[f"{part}{name}.weight"] = (HIDDEN, HIDDEN)
            shapes[f"{part}{name}.bias"] = (HIDDEN,)
        shapes |= {f"{part}intermediate.dense.weight": (32, HIDDEN), f"{part}intermediate.dense.bias": (32,)}
        shapes |= {f"{part}output.dense.weight": (HIDDEN, 32), f"{part}output.dense.bias": (HIDDEN,)}
    found = {name: (rng.normal(size=shape) * 0.4).astype(np.float32) for name, shape in shapes.items()}
    norms = ["embeddings.LayerNorm"]
    norms += [
        f"encoder.layer.{layer}.{name}"
        for layer in range(2)
        for name in ("attention.output.LayerNorm", "output.LayerNorm")
    ]
    for name in norms:
        found[f"{name}.weight"] = np.ones(HIDDEN, dtype=np.float32)
        found[f"{name}.bias"] = np.zeros(HIDDEN, dtype=np.float32)
    return found


def dump(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_checkpoint(folder, kind, *, seed=0, projection=True, markers=None, prompts=None, expand=True):
    """A random ColBERT checkpoint as PyLate ("pylate"), Stanford ("stanford") or both ("both") would have saved it."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    markers = markers or MARKERS[kind]
    extra = [marker for marker in MARKERS[kind] if marker not in VOCABULARY]
    vocabulary = len(VOCABULARY) + len(extra)
    bert = weights(rng, vocabulary)
    linear = (rng.normal(size=(DIM, HIDDEN)) * 0.5).astype(np.float32)
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
        "type_vocab_size": 2,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    backbone = folder / "0_Transformer" if kind == "both" else folder
    backbone.mkdir(exist_ok=True)
    write_tokenizer(backbone, extra)
    metadata = {"format": "pt"}
    if kind in ("stanford", "both"):
        write_tokenizer(folder, extra)
        dump(folder / "config.json", config | {"architectures": ["HF_ColBERT"]})
        stanford = {f"bert.{name}": value for name, value in bert.items()} | (
            {"linear.weight": linear} if projection else {}
        )
        save_file(stanford, folder / "model.safetensors", metadata=metadata)
        lengths = {"query_maxlen": QUERY_LENGTH, "doc_maxlen": DOCUMENT_LENGTH}
        dump(
            folder / "artifact.metadata",
            lengths | {"query_token_id": markers[0], "doc_token_id": markers[1], "attend_to_mask_tokens": False},
        )
    if kind in ("pylate", "both"):
        dump(backbone / "config.json", config)
        save_file(bert, backbone / "model.safetensors", metadata=metadata)
        dump(backbone / "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
        modules = [
            {
                "idx": 0,
                "name": "0",
                "path": "0_Transformer" * (kind == "both"),
                "type": "sentence_transformers.models.Transformer",
            }
        ]
        if projection:
            modules.append({"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"})
            settings = {
                "in_features": HIDDEN,
                "out_features": DIM,
                "bias": False,
                "activation_function": "torch.nn.modules.linear.Identity",
            }
            dump(folder / "1_Dense/config.json", settings)
            save_file({"linear.weight": linear}, folder / "1_Dense/model.safetensors", metadata=metadata)
        dump(folder / "modules.json", modules)
        settings = {
            "prompts": prompts or {},
            "default_prompt_name": None,
            "similarity_fn_name": "MaxSim",
            "query_prefix": markers[0],
            "document_prefix": markers[1],
            "query_length": QUERY_LENGTH,
            "document_length": DOCUMENT_LENGTH,
            "attend_to_expansion_tokens": False,
            "skiplist_words": [*string.punctuation, "notinthevocabulary"],
            "do_query_expansion": expand,
        }
        dump(
            folder / "config_sentence_transformers.json",
            settings if kind == "both" else settings | {"model_type": "ColBERT"},
        )
    return folder
