"""The model that is trained: loaded, checked for what the recipe needs, with a head or adapters on top, and saved without them."""

from __future__ import annotations

from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Pooling, StaticEmbedding, Transformer
from sentence_transformers.util import is_sentence_transformer_model
from torch import nn

from patent_mteb.errors import DataError, ModelError
from patent_mteb.training.recipes import Settings

__all__ = ["HEAD", "add_head", "add_lora", "is_static", "load_base", "pooling_of", "without_head"]

HEAD = "patent_mteb_head"
"""Name of the module that is dropped when a model is saved."""

_HEADS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "linear": nn.Identity}


def is_static(model: SentenceTransformer) -> bool:
    """Whether the model looks its words up in a table, without a transformer.

    Example:
        >>> import torch
        >>> from sentence_transformers import SentenceTransformer
        >>> from sentence_transformers.sentence_transformer.modules import BoW
        >>> from patent_mteb.training.bases import is_static
        >>> is_static(SentenceTransformer(modules=[BoW(["pump"])], device="cpu"))
        False
    """
    return isinstance(model[0], StaticEmbedding)


def pooling_of(model: SentenceTransformer) -> str:
    """How the model pools its tokens, empty where it has no such module.

    Example:
        >>> from sentence_transformers import SentenceTransformer
        >>> from sentence_transformers.sentence_transformer.modules import BoW
        >>> from patent_mteb.training.bases import pooling_of
        >>> pooling_of(SentenceTransformer(modules=[BoW(["pump"])], device="cpu"))
        ''
    """
    return next((str(module.pooling_mode) for module in model if isinstance(module, Pooling)), "")


def load_base(name: str, settings: Settings, recipe: str, device: str | None = None) -> SentenceTransformer:
    """A base for a recipe. A bare transformer gets the pooling that the recipe asks for, the mean where it asks for none.

    Raises:
        ModelError: the model cannot be loaded.
        DataError: it pools otherwise than the recipe does, or has no pooling at all.
    """
    bare = not is_sentence_transformer_model(name)
    try:
        model = SentenceTransformer(name, device=device)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelError(f"the base {name} cannot be loaded as a sentence-transformers model: {error}") from error
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
    """Train low-rank adapters instead of all weights (peft); they are merged when the model is saved.

    Raises:
        DataError: the base has no transformer, or peft is not installed.
    """
    if not isinstance(model[0], Transformer):
        raise DataError("the base has no transformer, so that there is nothing to adapt", remedy="leave out --lora")
    try:
        from peft import LoraConfig
    except ImportError as error:
        raise DataError("peft is not installed", remedy="pip install 'patent-mteb[train]'") from error
    config = LoraConfig(task_type="FEATURE_EXTRACTION", r=rank, lora_alpha=2 * rank, lora_dropout=0.05, target_modules="all-linear")
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
