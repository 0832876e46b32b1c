"""The model that is trained: loaded, checked for what the recipe needs, with a head or adapters on top, and saved
without them.

A base is trained in float32 whatever type its files have: a step of 2e-5 is lost in the rounding of bfloat16, and
float16 overflows. fp16 and bf16 are autocast of the trainer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Pooling, StaticEmbedding, Transformer
from sentence_transformers.util import is_sentence_transformer_model, load_file_path
from torch import nn

from patent_mteb.errors import DataError, ModelError
from patent_mteb.files import read_json
from patent_mteb.search.vectors import as_tensor, checked_vectors
from patent_mteb.training.recipes import Settings

logger = logging.getLogger(__name__)


HEAD = "patent_mteb_head"
"""Name of the module that is dropped when a model is saved."""

_HEADS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "linear": nn.Identity}


_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_ONE_DIRECTION = 1.0001
"""Effective rank below which embeddings are said to have collapsed: cosines are of about .99995 in size."""
_COMPARED = 1_000
DISTINCT = 10
"""Distinct texts below which equal vectors may be those of texts that differ after their last token only."""


def is_static(model: SentenceTransformer) -> bool:
    """Whether the model looks its words up in a table, without a transformer."""
    return isinstance(model[0], StaticEmbedding)


def pooling_of(model: SentenceTransformer) -> str:
    """How the model pools its tokens, empty where it has no such module."""
    return next((str(module.pooling_mode) for module in model if isinstance(module, Pooling)), "")


def open_model(
    name: str,
    device: str | None,
    *,
    kind: Callable[..., Any] = SentenceTransformer,
    what: str = "sentence-transformers",
) -> Any:
    """Load a model in float32, with finite weights."""
    try:
        model = kind(name, device=device, model_kwargs={"dtype": "float32"}).float()
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelError(f"the base {name} cannot be loaded as a {what} model: {error}") from error
    check_weights(model, f"the base {name}", "copy it again, or choose another base")
    return model


def check_weights(model: nn.Module, who: str, remedy: str) -> None:
    """Refuse a model with a weight that is not a finite number."""
    for name, weight in model.named_parameters():
        if broken := int((~weight.detach().isfinite()).sum()):
            which = f"{broken} of {weight.numel()} in {name}"
            raise ModelError(f"{who} has NaN or infinite weights ({which}). Remedy: {remedy}")


def stored_type(name: str) -> str:
    """Return the types of the weights in a model's files, or the type in its configuration.

    The headers of safetensors say the types; for other files the configuration does.
    """
    found = load_file_path(name, "modules.json", local_files_only=True)
    modules = read_json(Path(found)) if found else [{"path": ""}]
    found = found or load_file_path(name, "config.json", local_files_only=True)
    if not found:
        return "unknown"
    folder = Path(found).parent
    types: set[str] = set()
    for place in {folder / module.get("path", "") for module in modules}:
        for path in place.glob("*.safetensors"):
            with safe_open(path, "np") as weights:
                types |= {weights.get_slice(key).get_dtype() for key in weights.keys()}  # noqa: SIM118  (not a mapping)
    known = sorted(_TYPES[kind] for kind in types & _TYPES.keys())
    config = read_json(folder / "config.json") or {}
    return ", ".join(known) or str(config.get("dtype") or config.get("torch_dtype") or "unknown")


def vectors_of(model: Any, texts: Sequence[str], who: str) -> NDArray[np.float32]:
    """Encode texts for an evaluation."""
    found = model.encode(list(texts), show_progress_bar=False, convert_to_numpy=True)
    several = len(set(texts)) >= DISTINCT
    try:
        vectors: NDArray[np.float32] = as_tensor(checked_vectors(found, len(texts), who, refuse_equal=several)).numpy()
    except ModelError as error:
        raise ModelError(f"{error}. {BROKEN}") from error
    return vectors


BROKEN = (
    "Remedy: if it is the base, copy it again or choose another one; if it is a checkpoint, train again with a lower "
    "rate (--set lr=VALUE) and another --out"
)


def say_collapse(vectors: NDArray[np.float32], who: str) -> None:
    """Warn of vectors that all have one direction, up to their sign.

    The effective rank of vectors of length one is 1 / (mean squared cosine of all pairs): 1 for one direction.
    """
    some = unit(vectors[:: -(-len(vectors) // _COMPARED)])
    rank = 1 / np.mean(np.square(some @ some.T, dtype=np.float64))
    if len(some) >= DISTINCT and rank < _ONE_DIRECTION:
        logger.warning(
            "%s: the embeddings have collapsed to one direction (effective rank %.6f of %d), scores hang on rounding",
            who,
            rank,
            vectors.shape[1],
        )


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale rows to length one, as ``encode(normalize_embeddings=True)`` does."""
    scaled: NDArray[np.float32] = nn.functional.normalize(torch.from_numpy(vectors), dim=1).numpy()
    return scaled


def load_base(name: str, settings: Settings, recipe: str, device: str | None = None) -> SentenceTransformer:
    """A base for a recipe. A bare transformer gets the pooling that the recipe asks for, the mean where it asks for
    none.
    """
    bare = not is_sentence_transformer_model(name)
    model: SentenceTransformer = open_model(name, device)
    if bare and settings.pooling != "any":
        transformer: Any = model[0]
        pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode=settings.pooling)
        model = SentenceTransformer(modules=[transformer, pooling], device=device)
    found = pooling_of(model)
    if settings.pooling not in ("any", found):
        pools = f"pools by {found}" if found else "has no pooling of tokens"
        raise DataError(
            f"the base {name} {pools}, and recipe {recipe} trains {settings.pooling} pooling",
            remedy="choose another base, or --set pooling=any",
        )
    if settings.max_length is not None and not is_static(model):
        own = model.get_max_seq_length()
        model.max_seq_length = min(settings.max_length, own) if own else settings.max_length
    return model


def add_head(model: SentenceTransformer, settings: Settings) -> None:
    """Put the projection of the recipe on top, if it has one; its weights are drawn by the seed that is set."""
    if settings.head == "none":
        return
    width = int(model.get_embedding_dimension() or 0)
    head = Dense(width, settings.head_width or width, activation_function=_HEADS[settings.head]())
    model.add_module(HEAD, head.to(model.device))


def add_lora(model: SentenceTransformer, rank: int = 16) -> None:
    """Train low-rank adapters instead of all weights (peft); they are merged when the model is saved."""
    if not isinstance(model[0], Transformer):
        raise DataError("the base has no transformer, so that there is nothing to adapt", remedy="leave out --lora")
    try:
        from peft import LoraConfig
    except ImportError as error:
        raise DataError("peft is not installed", remedy="pip install 'patent-mteb[train]'") from error
    config = LoraConfig(
        task_type="FEATURE_EXTRACTION", r=rank, lora_alpha=2 * rank, lora_dropout=0.05, target_modules="all-linear"
    )
    model.add_adapter(config)


def _merged(model: SentenceTransformer) -> None:
    """Fold adapters into the weights that they adapt."""
    try:
        from peft.tuners.tuners_utils import BaseTunerLayer
    except ImportError:
        return
    adapted = [(name, module) for name, module in model.named_modules() if isinstance(module, BaseTunerLayer)]
    for name, module in adapted:
        with torch.no_grad():
            module.merge()
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, module.get_base_layer())
    if adapted:
        inner: Any = model[0].model
        inner._hf_peft_config_loaded = False
        inner.__dict__.pop("peft_config", None)


def without_head(model: SentenceTransformer) -> SentenceTransformer:
    """The model as it is used: without the projection, adapters merged. Modules are those of the model itself."""
    _merged(model)
    modules: list[Any] = [module for name, module in model.named_children() if name != HEAD]
    kept = SentenceTransformer(
        modules=modules,
        device=str(model.device),
        prompts={name: prompt for name, prompt in model.prompts.items() if prompt is not None},
        default_prompt_name=model.default_prompt_name,
        similarity_fn_name=model.similarity_fn_name,
    )
    return kept.eval()
