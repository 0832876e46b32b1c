"""What the files of a checkpoint directory say of the model, without loading it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from mteb.models.model_meta import ScoringFunction
from safetensors import SafetensorError, safe_open

from patent_mteb.files import read_json

__all__ = ["folder_facts"]

_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I16": 2, "I8": 1, "U8": 1}
_BUFFERS = ("I64", "I32", "BOOL")
"""Types of what is kept beside weights, such as the numbers of positions."""
_SIMILARITIES = {"cosine": ScoringFunction.COSINE, "dot": ScoringFunction.DOT_PRODUCT}
"""Those that mteb computes itself; with any other it asks the model, if its description says none."""
_EMBEDDINGS = ("word_embeddings.weight", "embed_tokens.weight", "wte.weight", "tok_embeddings.weight", "shared.weight", "embedding.weight")


def folder_facts(folder: Path) -> dict[str, Any]:
    """Fields of mteb's ``ModelMeta`` that can be read: dimensions, tokens, parameters, memory, similarity; what cannot is left out.

    Args:
        folder: a checkpoint, of sentence-transformers or of transformers.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.files import write_json
        >>> from patent_mteb.models.folder_facts import folder_facts
        >>> write_json(Path("model/config.json"), {"hidden_size": 384, "max_position_embeddings": 512})
        >>> folder_facts(Path("model"))
        {'embed_dim': 384, 'max_tokens': 512}
    """
    modules = read_json(folder / "modules.json") or []
    inner = folder / next((str(one.get("path", "")) for one in modules if one.get("type", "").endswith("Transformer")), "")
    config = _first(inner / "config.json", folder / "config.json")
    read = _first(inner / "sentence_bert_config.json", folder / "sentence_bert_config.json")
    widths = [_width(folder / str(one.get("path", "")), str(one.get("type", ""))) for one in modules]
    told = _first(folder / "config_sentence_transformers.json")
    found = {
        "embed_dim": next((width for width in reversed(widths) if width), None) or config.get("hidden_size"),
        "max_tokens": read.get("max_seq_length") or config.get("max_position_embeddings"),
        "similarity_fn_name": _SIMILARITIES.get(str(told.get("similarity_fn_name"))),
        **_weights(folder),
    }
    return {name: value for name, value in found.items() if value is not None}


def _first(*paths: Path) -> dict[str, Any]:
    """The first of some files that holds a JSON object."""
    return next((found for path in paths if isinstance(found := read_json(path), dict)), {})


def _width(folder: Path, kind: str) -> int | None:
    """Width of what a module gives: a projection's, that of the pooled vectors, or that of a table of word vectors."""
    if kind.endswith("StaticEmbedding"):
        return _table_width(folder / "model.safetensors")
    config = _first(folder / "config.json")
    return config.get("out_features") or config.get("word_embedding_dimension") or config.get("embedding_dimension")


def _table_width(path: Path) -> int | None:
    try:
        with safe_open(path, "np") as weights:
            return int(weights.get_slice("embedding.weight").get_shape()[1])
    except (SafetensorError, OSError):
        return None


def _weights(folder: Path) -> dict[str, Any]:
    """Numbers of parameters and the memory that they take, by the headers of the files of weights."""
    total, embedded, size = 0, 0, 0
    try:
        for path in sorted(folder.rglob("*.safetensors")):
            with safe_open(path, "np") as weights:
                parts = ((name, weights.get_slice(name)) for name in weights.keys())  # noqa: SIM118  (no mapping)
                for name, part in ((name, part) for name, part in parts if part.get_dtype() not in _BUFFERS):
                    count = math.prod(part.get_shape())
                    total += count
                    size += count * _BYTES.get(part.get_dtype(), 4)
                    embedded += count if name.endswith(_EMBEDDINGS) else 0
    except (SafetensorError, OSError):
        return {}
    known = {"n_parameters": total, "memory_usage_mb": round(size / 2**20, 1)} if total else {}
    return {**known, "n_embedding_parameters": embedded} if embedded else known
