"""Configuration files of checkpoints, with the types of the values that the suite and its libraries rely on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError, ModelError, parsed_json

COMPARE = "compare its files with those of the original, or copy it again"
_REMEDY = "correct the file, or copy the checkpoint again"
_COUNT, _LAYERS = range(1, 10**8), range(1, 10**4)
"""Sizes of a network, generously: larger ones would fill the memory before a library refused them."""

_SIZES = dict.fromkeys(
    ("hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings", "type_vocab_size", "num_labels"),
    _COUNT,
)
_DIMENSIONS = dict.fromkeys(
    ("embedding_dimension", "word_embedding_dimension", "in_features", "out_features"),
    _COUNT,
)
_DEPTHS = dict.fromkeys(("num_hidden_layers", "num_attention_heads"), _LAYERS)
_LENGTHS = dict.fromkeys(("query_length", "document_length", "query_maxlen", "doc_maxlen", "max_seq_length"), _COUNT)
_VALUES: Mapping[str, Any] = {
    **_SIZES,
    **_DIMENSIONS,
    **_DEPTHS,
    **_LENGTHS,
    **dict.fromkeys(("model_type", "similarity_fn_name", "default_prompt_name", "query_prefix"), str),
    **dict.fromkeys(("document_prefix", "query_token_id", "doc_token_id"), str),
    **dict.fromkeys(("architectures", "skiplist_words"), list),
    **dict.fromkeys(("prompts", "label2id", "id2label"), dict),
}
"""Type or range of a key in any of the files; ``null`` stands for a missing key."""

_SAVED = {"dense.Dense": "config.json", "normalize.Normalize": "config.json"}
_SAVED["transformer.Transformer"] = "sentence_bert_config.json"
"""File that sentence-transformers 6 writes for a module; the modules of earlier versions have other names."""

_WORDS = {str: "a text", list: "a list of texts", dict: "an object"}


def read_settings(path: Path) -> dict[str, Any]:
    """Read a configuration file of a checkpoint, empty if it is missing.

    Raises:
        ModelError: it is corrupt, or has a value of another type.
    """
    document = _document(path)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise _error(path, f"it holds {_shown(document)} instead of an object")
    for key, expected in _VALUES.items():
        if (value := document.get(key)) is not None and not _fits(value, expected):
            wanted = _WORDS.get(expected) or f"a whole number from {expected.start} to {expected.stop - 1}"
            raise _error(path, f"'{key}' is {_shown(value)} instead of {wanted}")
    return document


def read_modules(path: Path) -> list[dict[str, str]]:
    """Read ``modules.json``, empty if it is missing; each module has a type and a path.

    Raises:
        ModelError: it is corrupt, or has another form.
    """
    document = _document(path)
    if document is None:
        return []
    if not isinstance(document, list) or not document:
        raise _error(path, f"it holds {_shown(document)} instead of a list of modules")
    for number, module in enumerate(document, start=1):
        for key in ("type", "path"):
            value = module.get(key) if isinstance(module, dict) else None
            if not isinstance(value, str) or (key == "type" and not value):
                raise _error(path, f"module {number} has no {key}")
        if not (path.parent / module["path"]).resolve().is_relative_to(path.parent.resolve()):
            raise _error(path, f"module {number} is outside the checkpoint: {_shown(module['path'])}")
    return document


def check_configuration(folder: Path) -> None:
    """Read the configuration files of a checkpoint and of its modules.

    Raises:
        ModelError: one of them is corrupt, has a value of another type, or is missing although it decides what a module
            computes.
    """
    settings = read_settings(folder / "config_sentence_transformers.json")
    if settings and settings.get("model_type") != "CrossEncoder" and not (folder / "modules.json").exists():
        raise _error(folder / "modules.json", "the file is missing, which says how tokens become a vector")
    for module in read_modules(folder / "modules.json"):
        name = _SAVED.get(module["type"].removeprefix("sentence_transformers.base.modules."))
        if name and not (folder / module["path"] / name).exists():
            raise _error(folder / module["path"] / name, "the file is missing")
    for part in dict.fromkeys((folder, *(folder / module["path"] for module in read_modules(folder / "modules.json")))):
        for name in ("config_sentence_transformers.json", "config.json", "sentence_bert_config.json"):
            read_settings(part / name)


def _document(path: Path) -> Any:
    try:
        return parsed_json(path.read_text(encoding="utf-8"), path, None, _REMEDY) if path.exists() else None
    except DataError as error:
        raise ModelError(error.problem, path=error.path, row=error.row, remedy=error.remedy) from error
    except (OSError, UnicodeDecodeError) as error:
        raise _error(path, f"it cannot be read ({error})") from error


def _fits(value: Any, expected: Any) -> bool:
    if isinstance(expected, range):
        return type(value) is int and value in expected
    return isinstance(value, expected) and (expected is not list or all(isinstance(one, str) for one in value))


def _shown(value: Any) -> str:
    return "null" if value is None else repr(value)[:60]


def _error(path: Path, problem: str) -> ModelError:
    return ModelError(f"{path}: {problem}", remedy=_REMEDY)
