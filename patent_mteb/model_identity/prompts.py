"""Settings and prompts that determine the vector of a text.

mteb's encoders choose prompts themselves, each wrapper in its own way. :func:`kind_of` returns the way:

========================  ==============================================================================================
``sentence-transformer``  ``SentenceTransformerEncoderWrapper``: by task and role, else the prompts of the model
``instruction``           ``InstructSentenceTransformerModel``: ``get_task_instruction``
``no prompt``             ``RandomEncoderBaseline``
``own``                   an encoder with a method ``store_prompt(task_metadata, prompt_type) -> str``
``unknown``               any other: the key covers task, role, split, subset and all columns of a row, so its texts are
                          encoded once for each task
========================  ==============================================================================================
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import SentenceTransformerEncoderWrapper
from mteb.models.abs_encoder import PromptSource
from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
from mteb.models.model_implementations.random_baseline import RandomEncoderBaseline
from mteb.models.model_meta import ModelMeta
from mteb.models.sentence_transformer_wrapper import SparseEncoderWrapper
from mteb.types import PromptType

logger = logging.getLogger(__name__)
ROLE_NAMES: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "queries", "search_query", "retrieval_query", "retrieval.query", "question", "questions"),
    "document": (
        *("document", "documents", "doc", "docs", "passage", "passages", "corpus", "context"),
        *("search_document", "retrieval_document", "retrieval.passage"),
    ),
}
"""Names under which checkpoints store the prompt of a role, in any case. mteb reads the first of each only.

They are those of E5, nomic-embed, Jina, DPR and of the documentation of sentence-transformers.
"""

_FALLBACK = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""Prompts that sentence-transformers itself uses in ``encode_query`` and ``encode_document``."""

_PROMPT_KWARGS = frozenset(
    {"model_prompts", "prompts_dict", "instruction_template", "prompt_priority", "apply_instruction_to_passages"}
)
_NEUTRAL_KWARGS = frozenset({"device"})

_BY_TASK_TYPE = {
    "mteb.models.model_implementations.nomic_models.NomicWrapper": "sentence-transformer",
    "mteb.models.model_implementations.jina_models.JinaWrapper": "sentence-transformer",
    "mteb.models.model_implementations.jina_models.JinaV5TextWrapper": "sentence-transformer",
    "mteb.models.model_implementations.kalm_models.KALMWrapper": "instruction",
}
"""Subclasses whose ``encode`` reads the prompt, the task type and the role only."""

_BY_ENCODE: dict[Any, str] = {
    SentenceTransformerEncoderWrapper: "sentence-transformer",
    InstructSentenceTransformerModel: "instruction",
    RandomEncoderBaseline: "no prompt",
}


@dataclass(frozen=True)
class Prompt:
    """A resolved prompt, and anything else about the task that changes the vectors."""

    text: str
    context: str = ""
    whole_row: bool = False  # whether the model may read other columns of a row than ``text``


@dataclass(frozen=True)
class Facts:
    """Facts about a loaded model that replace loading it again."""

    kind: str  # how it resolves prompts (kind_of)
    settings: Mapping[str, Any]  # what determines its vectors
    core: Mapping[str, Any] | None  # prompts and similarity of the sentence-transformers model inside, if there is one

    @property
    def max_tokens(self) -> str:
        """Tokens of a text that the model reads, empty if its settings do not say."""
        held = self.settings.get("sentence_transformer") or self.settings
        return str(held.get("max_seq_length") or held.get("max_tokens") or "")

    @classmethod
    def read(cls, document: Any) -> Facts | None:
        """Read saved facts, None if invalid."""
        if not isinstance(document, dict) or not {"kind", "settings", "core"} <= document.keys():
            return None
        return cls(document["kind"], document["settings"], document["core"])


def role_prompts(prompts: Mapping[str, Any]) -> dict[str, str]:
    """Return the prompt of each role that has one, under any of its names.

    An empty prompt does not count: sentence-transformers 6 gives every model an empty "query" and "document".
    """
    texts = {str(name).lower(): text for name, text in prompts.items() if isinstance(text, str) and text}
    named = {role: [texts[name] for name in names if name in texts] for role, names in ROLE_NAMES.items()}
    return {role: found[0] for role, found in named.items() if found}


def named_by_role(model: Any) -> Any:
    """Rename the prompts of a sentence-transformers model as mteb knows them; it warns at length of other names."""
    texts, default = role_prompts(model.prompts), model.default_prompt_name
    renamed = {name for role in texts for name in ROLE_NAMES[role]}
    kept = {name: text for name, text in model.prompts.items() if name == default or name.lower() not in renamed}
    model.prompts = kept | texts
    return model


def use_role_prompts(encoder: Any) -> None:
    """Give mteb's wrapper of a model the prompts that its checkpoint stores under other names of the roles."""
    if getattr(type(encoder), "encode", None) not in (
        SentenceTransformerEncoderWrapper.encode,
        SparseEncoderWrapper.encode,
    ):
        return
    saved, given = encoder.model.prompts, encoder.model_prompts or {}
    found = {role: text for role, text in role_prompts(saved).items() if not given.get(role)}
    if found:
        encoder.model_prompts = {**given, **found}
    report_roles(encoder.mteb_model_meta.name, saved, {**given, **found})


def report_roles(name: str | None, saved: Mapping[str, Any], used: Mapping[str, str]) -> None:
    """Say which role of a model gets no prompt although its checkpoint saves prompts."""
    reached = {role for role in ROLE_NAMES for key, text in used.items() if text and f"-{key}".endswith(f"-{role}")}
    names = {name for several in ROLE_NAMES.values() for name in several}
    others = sorted(key for key, text in saved.items() if text and key not in used and key.lower() not in names)
    without = " and ".join(f"{role} texts" for role in ROLE_NAMES if role not in reached)
    if without and others:
        remedy = "name them 'query' and 'document' in config_sentence_transformers.json if they are for these"
        unused = f"Its prompts {', '.join(others)} are not used; {remedy}"
        _say_once(logging.WARNING, f"{name}: {without} get no prompt. {unused}")
    elif without and any(used.values()):
        _say_once(logging.INFO, f"{name}: {without} get no prompt, as its checkpoint has none for them")


@functools.cache
def _say_once(level: int, message: str) -> None:
    logger.log(level, message)


def placed(meta: ModelMeta) -> ModelMeta:
    """Metadata of an unloaded model, with the revision of the files to be loaded where the model knows it."""
    return meta.placed() if hasattr(meta, "placed") else meta


def kind_of(encoder: type | Any) -> str:
    """How an encoder, or a class of encoders, resolves prompts."""
    cls = encoder if isinstance(encoder, type) else type(encoder)
    if hasattr(cls, "store_prompt"):
        return "own"
    for known, name in _BY_ENCODE.items():
        if getattr(cls, "encode", None) is known.encode:
            return name
    return _BY_TASK_TYPE.get(qualified(cls), "unknown")


def resolve(
    encoder: Any, facts: Facts, task: TaskMetadata, prompt_type: PromptType | None, hf_split: str, hf_subset: str
) -> Prompt:
    """Return the prompt that an encoder, or its weightless copy, puts before texts."""
    role = prompt_type.value if prompt_type else None
    if facts.kind == "own":
        return Prompt(encoder.store_prompt(task, prompt_type))
    if facts.kind == "no prompt":
        return Prompt("")
    if facts.kind == "unknown":
        whole_task = plain([task.name, task.type, task.prompt, role, hf_split, hf_subset])
        return Prompt("", json.dumps(whole_task, sort_keys=True), whole_row=True)
    by_type = qualified(type(encoder)) in _BY_TASK_TYPE
    core = facts.core or {}
    routed = None
    if facts.kind == "instruction":
        instruction = encoder.get_task_instruction(task, prompt_type)
        if prompt_type == PromptType.document and not encoder.apply_instruction_to_passages:
            instruction = None
        text = prompt_text(core, instruction, None)
    else:
        prompts = encoder.model_prompts
        name = encoder.get_prompt_name(task, prompt_type)
        text = prompt_text(core, prompts.get(name) if prompts else None, role)
        routed = role if core.get("routed") else None
    context = json.dumps([task.type, role]) if by_type else json.dumps([routed]) if routed else ""
    return Prompt(text, context)


def prompt_text(core: Mapping[str, Any], prompt: Any, role: str | None) -> str:
    """The prompt that sentence-transformers uses: the one that is given, else that of the role, else the default."""
    prompts = core.get("prompts", {})
    if prompt is None:
        name = next(
            (name for name in _FALLBACK.get(role or "", ()) if name in prompts), core.get("default_prompt_name")
        )
        prompt = prompts.get(name)
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return json.dumps(plain(prompt), sort_keys=True)


def facts_of(encoder: Any, meta: ModelMeta) -> Facts:
    kind = kind_of(encoder)
    takes_prompts = kind in ("sentence-transformer", "instruction")
    unrelated = _NEUTRAL_KWARGS | _PROMPT_KWARGS if takes_prompts else _NEUTRAL_KWARGS
    loader_kwargs = {name: value for name, value in meta.loader_kwargs.items() if name not in unrelated}
    settings: dict[str, Any] = {
        "encoder": getattr(type(encoder), "stored_as", None) or qualified(type(encoder)),
        "loader_kwargs": plain(loader_kwargs),
        "experiment_kwargs": plain(dict(meta.experiment_kwargs or {})),
    }
    core_model: Any = getattr(encoder, "model", None)
    core: dict[str, Any] | None = None
    if _is_sentence_transformer(core_model):
        settings["sentence_transformer"] = _core_settings(core_model)
        core = {
            "prompts": plain(dict(core_model.prompts)),
            "default_prompt_name": core_model.default_prompt_name,
            "routed": "task" in core_model.get_model_kwargs(),
            "similarity": str(core_model.similarity_fn_name),
        }
    else:
        settings["max_tokens"] = plain(meta.max_tokens)
        names = ("max_seq_length", "max_length", "embed_dim", "embedding_dim", "dtype")
        settings |= {name: plain(getattr(encoder, name)) for name in names if hasattr(encoder, name)}
        if hasattr(core_model, "dtype"):
            settings["weights"] = plain(core_model.dtype)
    if hasattr(encoder, "store_settings"):
        settings["own"] = plain(encoder.store_settings)
    return Facts(kind, settings, core)


def weightless(meta: ModelMeta, facts: Facts) -> Any | None:
    """Return an instance of the model's wrapper class without weights, to resolve prompts and compare vectors."""
    cls: Any = meta.loader
    if not isinstance(cls, type) and facts.settings.get("encoder") == qualified(SentenceTransformerEncoderWrapper):
        cls = SentenceTransformerEncoderWrapper  # a function that only makes this wrapper
    if facts.kind not in _BY_ENCODE.values() or not isinstance(cls, type) or kind_of(cls) != facts.kind:
        return None
    if facts.kind != "no prompt" and not facts.core:
        return None
    double: Any = object.__new__(cls)
    double.mteb_model_meta = meta
    if facts.core:
        from sentence_transformers import SimilarityFunction

        double.model = SimpleNamespace(
            similarity=SimilarityFunction.to_similarity_fn(facts.core["similarity"]),
            similarity_pairwise=SimilarityFunction.to_similarity_pairwise_fn(facts.core["similarity"]),
        )
    if facts.kind == "sentence-transformer":
        assert facts.core is not None
        validate = SentenceTransformerEncoderWrapper.validate_task_to_prompt_name
        double.model_prompts = validate(dict(facts.core["prompts"]), raise_for_invalid_keys=False)[0] or {}
        double.model_prompts |= role_prompts(facts.core["prompts"])
    if facts.kind == "instruction":
        given = meta.loader_kwargs
        double.instruction_template = given.get("instruction_template")
        double.prompts_dict = given.get("prompts_dict")
        double.apply_instruction_to_passages = given.get("apply_instruction_to_passages", True)
        if given.get("prompt_priority") is not None:
            double.prompt_priority = [PromptSource.from_str(source) for source in given["prompt_priority"]]
    return double


def _is_sentence_transformer(model: Any) -> bool:
    if model is None:
        return False
    from sentence_transformers import SentenceTransformer

    return isinstance(model, SentenceTransformer)


def _core_settings(model: Any) -> dict[str, Any]:
    """Current settings of a sentence-transformers model that determine its vectors."""
    tokenizer = getattr(model, "tokenizer", None)
    return {
        "max_seq_length": plain(model.max_seq_length),
        "truncate_dim": model.truncate_dim,
        "weights": next((str(weight.dtype) for weight in model.parameters()), None),
        "modules": [
            [type(module).__name__, plain(module.get_config_dict()) if hasattr(module, "get_config_dict") else None]
            for module in model
        ],
        "tokenizer": {
            name: plain(getattr(tokenizer, name, None))
            for name in ("padding_side", "truncation_side", "model_max_length")
        },
    }


def plain(value: Any) -> Any:
    """Convert a value to JSON, the same in every process: functions and types become their names."""
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, functools.partial):
        return {"partial": plain(value.func), "args": plain(value.args), "keywords": plain(value.keywords)}
    if callable(value) and hasattr(value, "__qualname__"):
        line = getattr(getattr(value, "__code__", None), "co_firstlineno", "")
        return f"{value.__module__}.{value.__qualname__}" + (f":{line}" if line else "")
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if hasattr(value, "model_dump"):
        return plain(value.model_dump())
    described = repr(value)
    return qualified(type(value)) if f" at 0x{id(value):x}" in described else described


def qualified(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
