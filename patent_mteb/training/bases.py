"""The model that is trained: its base, head, adapters and losses.

A base is trained in float32 regardless of the type in its files. Steps of 2e-5 are lost in the rounding of bfloat16,
and float16 overflows. fp16 and bf16 mean the trainer's autocast.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.losses import (
    BatchHardTripletLossDistanceFunction,
    SiameseDistanceMetric,
)
from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Router, StaticEmbedding, Transformer
from sentence_transformers.util import is_sentence_transformer_model, load_file_path
from torch import nn

from patent_mteb.errors import DataError, ModelError
from patent_mteb.files import read_json
from patent_mteb.models.folders import kind_of_checkpoint
from patent_mteb.search.vectors import DISTINCT, as_tensor, checked_vectors
from patent_mteb.training.recipes import Settings

logger = logging.getLogger(__name__)
HEAD = "patent_mteb_head"
"""Name of the projection, which a saved model does not contain."""
LIKE = "[invention]"
"""Section token of BERT for Patents whose embedding new ones start with."""

N_PROCESSES = int(os.environ.get("WORLD_SIZE", "1"))
"""Number of training processes, which torchrun and accelerate set."""

Kind = Literal["ranking", "contrastive", "triplet", "softmax", "mse", "scores"]
GROUPED: tuple[Kind, ...] = ("triplet", "contrastive")
"""Losses that compare rows of equal label, and need batches with several rows of each label."""

_HEADS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "linear": nn.Identity}
_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_ONE_DIRECTION = 1.0001
"""Effective rank below which embeddings count as collapsed: absolute cosines are about .99995."""
_COMPARED = 1_000  # vectors by which a collapsed model is recognised


def is_static(model: SentenceTransformer) -> bool:
    """Whether the model is a table of word vectors, without a transformer."""
    return isinstance(model[0], StaticEmbedding)


def open_model(
    name: str,
    device: str | None,
    *,
    kind: Callable[..., Any] = SentenceTransformer,
    what: str = "encoder",
) -> Any:
    """Load a model in float32 and check that its weights are finite.

    A directory with another kind of checkpoint would silently lose its head, or get a new one.
    """
    if Path(name).is_dir() and (found := kind_of_checkpoint(Path(name))) != what:
        raise DataError(f"{name} is of the kind '{found}', where '{what}' is trained or used", remedy="choose another")
    try:
        model = kind(name, device=device, model_kwargs={"dtype": "float32"}).float()
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelError(f"the base {name} cannot be loaded as a {what} model: {error}") from error
    check_weights(model, f"the base {name}", "copy it again, or choose another base")
    return model


def check_weights(model: nn.Module, who: str, remedy: str) -> None:
    for name, weight in model.named_parameters():
        if invalid := int((~weight.detach().isfinite()).sum()):
            which = f"{invalid} of {weight.numel()} in {name}"
            raise ModelError(f"{who} has NaN or infinite weights ({which})", remedy=remedy)


def stored_type(name: str) -> str:
    """Return the types of the weights by the headers of safetensors, or else the type in the configuration."""
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
    found = model.encode(list(texts), show_progress_bar=False, convert_to_numpy=True)
    try:
        checked = checked_vectors(found, len(texts), who, lambda rows: [texts[row] for row in rows])
    except ModelError as error:
        raise ModelError(error.problem, remedy=BROKEN_MODEL) from error
    vectors: NDArray[np.float32] = as_tensor(checked).numpy()
    return vectors


BROKEN_MODEL = (
    "if it is the base, copy it again or choose another one; if it is a checkpoint, train again with a lower "
    "rate (--set lr=VALUE) and another --out"
)


def warn_of_collapse(vectors: NDArray[np.float32], who: str) -> None:
    """Warn if all vectors have one direction, up to their sign.

    The effective rank of vectors of length one is 1 / (mean squared cosine of all pairs): 1 for one direction.
    """
    sample = unit(vectors[:: -(-len(vectors) // _COMPARED)])
    rank = 1 / np.mean(np.square(sample @ sample.T, dtype=np.float64))
    if len(sample) >= DISTINCT and rank < _ONE_DIRECTION:
        logger.warning(
            "%s: the embeddings collapsed to one direction (effective rank %.6f of %d), so scores are rounding noise",
            who,
            rank,
            vectors.shape[1],
        )


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale rows to length one, as ``encode(normalize_embeddings=True)`` does."""
    scaled: NDArray[np.float32] = nn.functional.normalize(torch.from_numpy(vectors), dim=1).numpy()
    return scaled


def refuse_asymmetric(model: Any, name: str) -> None:
    """Refuse a base with other modules for queries than for documents: the losses here encode both sides alike."""
    if any(isinstance(module, Router) for module in model.modules()):
        problem = f"the base {name} is asymmetric: it encodes queries and documents by different modules (Router)"
        raise ModelError(f"{problem}, which no recipe trains", remedy="choose another base")


def load_base(name: str, settings: Settings, recipe: str, device: str | None = None) -> SentenceTransformer:
    """Load the base of a recipe. A bare transformer gets the recipe's pooling, or else mean pooling."""
    bare = not is_sentence_transformer_model(name)
    model: SentenceTransformer = open_model(name, device)
    refuse_asymmetric(model, name)
    if bare and settings.pooling != "any":
        transformer: Any = model[0]
        pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode=settings.pooling)
        model = SentenceTransformer(modules=[transformer, pooling], device=device)
    found = next((str(module.pooling_mode) for module in model if isinstance(module, Pooling)), "")
    if settings.pooling not in ("any", found):
        pools = f"pools by {found}" if found else "has no pooling of tokens"
        problem = f"the base {name} {pools}, and recipe {recipe} trains {settings.pooling} pooling"
        raise DataError(problem, remedy="choose another base, or --set pooling=any")
    width = (settings.head_width if settings.head != "none" else None) or int(model.get_embedding_dimension() or 0)
    if settings.matryoshka and width and max(settings.matryoshka) > width:
        problem = f"the vectors that recipe {recipe} trains have {width} dimensions, not {max(settings.matryoshka)}"
        raise DataError(problem, remedy=f"give numbers of dimensions up to {width} (--set matryoshka=...)")
    if settings.max_length is not None and not is_static(model):
        limit = model.get_max_seq_length()
        model.max_seq_length = min(settings.max_length, limit) if limit else settings.max_length
    return model


def add_tokens(model: SentenceTransformer, settings: Settings) -> list[str]:
    """Make section tokens whole tokens (PatentMap, appendix A; QaECTER §2.2), and return those that are new.

    A new token starts with the embedding of :data:`LIKE`, or with the mean of its pieces if the vocabulary lacks it.
    """
    if not settings.section_tokens or is_static(model):
        return []
    transformer: Any = model[0]
    tokenizer, inner = transformer.tokenizer, transformer.model
    known = tokenizer.get_vocab()
    new = [token for token in settings.section_tokens if token not in known]
    pieces = [[known[LIKE]] if LIKE in known else tokenizer(one, add_special_tokens=False)["input_ids"] for one in new]
    tokenizer.add_tokens(list(settings.section_tokens), special_tokens=True)
    if new:
        embeddings = inner.get_input_embeddings().weight
        start = torch.stack([embeddings[ids].detach().mean(dim=0) for ids in pieces])
        inner.resize_token_embeddings(max(len(tokenizer), len(embeddings)), mean_resizing=False)
        with torch.no_grad():
            inner.get_input_embeddings().weight[tokenizer.convert_tokens_to_ids(new)] = start
    return new


@contextlib.contextmanager
def headless(model: SentenceTransformer) -> Iterator[SentenceTransformer]:
    """A model in training, without its projection."""
    training, head = model.training, model._modules.pop(HEAD, None)
    try:
        yield model
    finally:
        if head is not None:
            model._modules[HEAD] = head
        model.train(training)


def add_head(model: SentenceTransformer, settings: Settings) -> None:
    """Add the projection of the recipe, if it has one. Its weights depend on the seed of torch."""
    if settings.head == "none":
        return
    width = int(model.get_embedding_dimension() or 0)
    head = Dense(width, settings.head_width or width, activation_function=_HEADS[settings.head]())
    model.add_module(HEAD, head.to(model.device))


def add_lora(model: SentenceTransformer, rank: int) -> None:
    """Add low-rank adapters (peft), which are trained instead of all weights and merged on saving."""
    if not isinstance(model[0], Transformer):
        raise DataError("the base has no transformer to add adapters to", remedy="leave out --lora")
    try:
        from peft import LoraConfig
    except ImportError as error:
        raise DataError("peft is not installed", remedy="pip install -e '.[train]'") from error
    config = LoraConfig(
        task_type="FEATURE_EXTRACTION", r=rank, lora_alpha=2 * rank, lora_dropout=0.05, target_modules="all-linear"
    )
    model.add_adapter(config)


def _merge_adapters(model: SentenceTransformer) -> None:
    try:
        from peft.tuners.tuners_utils import BaseTunerLayer
    except ImportError:
        return
    adapted = [(name, module) for name, module in model.named_modules() if isinstance(module, BaseTunerLayer)]
    for name, module in adapted:
        with torch.no_grad():
            module.merge()
        parent, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(parent), attribute, module.get_base_layer())
    if adapted:
        inner: Any = model[0].model
        inner._hf_peft_config_loaded = False
        inner.__dict__.pop("peft_config", None)


def without_head(model: SentenceTransformer) -> SentenceTransformer:
    """Return the model for inference: adapters merged, without the projection. It shares modules with the given one."""
    _merge_adapters(model)
    modules: list[Any] = [module for name, module in model.named_children() if name != HEAD]
    inference = SentenceTransformer(
        modules=modules,
        device=str(model.device),
        prompts={name: prompt for name, prompt in model.prompts.items() if prompt is not None},
        default_prompt_name=model.default_prompt_name,
        similarity_fn_name=model.similarity_fn_name,
    )
    return inference.eval()


def make_loss(kind: Kind, model: SentenceTransformer, settings: Settings, n_labels: int = 2) -> nn.Module:
    """Make the loss of one table of pairs: one of sentence-transformers with the settings of the paper.

    Gradients are cached if the batch is split into mini-batches. Static embedding models do not support mini-batches,
    and cached losses do not support dropped layers. The plain ranking loss has the same value and gradient.
    """
    if settings.layer_dropping and is_static(model):
        raise DataError("a base without a transformer has no layers to drop", remedy="use --set layer_dropping=false")
    loss: nn.Module
    if kind == "ranking":  # WIPO-AT §3.5; PatentMap eq. 1; PatenTEB eq. 1; QaECTER §2.2
        directions: Any = ("query_to_doc", "doc_to_query") if settings.symmetric else ("query_to_doc",)
        mode: Any = "per_direction" if settings.symmetric else "joint"
        options: dict[str, Any] = {"scale": 1 / settings.temperature, "directions": directions, "partition_mode": mode}
        across: dict[str, Any] = {"gather_across_devices": N_PROCESSES > 1}
        split = settings.mini_batch < settings.batch or settings.mini_batch_tokens is not None
        parts: dict[str, Any] = {
            "mini_batch_size": settings.mini_batch,
            "mini_batch_num_tokens": settings.mini_batch_tokens,
        }
        if settings.guide and (is_static(model) or settings.layer_dropping or settings.symmetric):
            problem = "a guide supports neither static bases nor dropped layers nor the symmetric loss"
            raise DataError(problem, remedy="leave out --set guide=..., or the other setting")
        if settings.guide:
            guide = open_model(settings.guide, str(model.device))
            loss = losses.CachedGISTEmbedLoss(model, guide, settings.temperature, **across, **parts)
        elif is_static(model) or settings.layer_dropping or not split:
            loss = losses.MultipleNegativesRankingLoss(model, **options, **across)
        else:
            loss = losses.CachedMultipleNegativesRankingLoss(model, **options, **across, **parts)
    elif kind == "contrastive":  # PatenTEB eq. 2; the online loss sums over the hard pairs of a batch only
        cosine = SiameseDistanceMetric.COSINE_DISTANCE
        loss = losses.OnlineContrastiveLoss(model, distance_metric=cosine, margin=settings.margin)
    elif kind == "triplet":  # eq. 3; the library's default distance is Euclidean
        distance = BatchHardTripletLossDistanceFunction.cosine_distance
        loss = losses.BatchHardSoftMarginTripletLoss(model, distance_metric=distance)
    elif kind == "softmax":  # eq. 4 on [u; v]; the library adds |u - v| by default, and its layer has a bias
        width = int(model.get_embedding_dimension() or 0)
        loss = losses.SoftmaxLoss(
            model, embedding_dimension=width, num_labels=n_labels, concatenation_sent_difference=False
        )
    else:  # §4.4, to the projected vectors of a teacher
        loss = losses.MSELoss(model)
    if settings.matryoshka and kind == "ranking":
        loss = losses.MatryoshkaLoss(model, loss, matryoshka_dims=list(settings.matryoshka))
    if settings.layer_dropping:
        loss = losses.AdaptiveLayerLoss(model, loss)
    return loss
