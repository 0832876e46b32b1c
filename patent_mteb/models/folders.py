"""Checkpoint directories: what they hold, and their entry as a model of mteb."""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mteb.models import SentenceTransformerEncoderWrapper
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.models.sentence_transformer_wrapper import CrossEncoderWrapper, SparseEncoderWrapper
from safetensors import SafetensorError, safe_open

from patent_mteb.errors import ModelError
from patent_mteb.files import read_json
from patent_mteb.identity import content_revision, local_name
from patent_mteb.model_identity.loaded import NamedModel
from patent_mteb.model_identity.prompts import named_by_role
from patent_mteb.models.registry import PatentEncoder
from patent_mteb.models.zero_shot import local_nli_meta
from patent_mteb.search.checkpoint_files import COMPARE, check_configuration, read_modules, read_settings
from patent_mteb.search.colbert import is_late_interaction
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.search.sparse import SparseSearch

logger = logging.getLogger(__name__)
_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I16": 2, "I8": 1, "U8": 1}

_BUFFERS = ("I64", "I32", "BOOL")
"""Types of buffers, such as position indices."""

_SIMILARITIES = {"cosine": ScoringFunction.COSINE, "dot": ScoringFunction.DOT_PRODUCT}
"""Similarities that mteb computes itself; for others it calls the model."""

_EMBEDDINGS = tuple(
    f"{name}.weight" for name in ("word_embeddings", "embed_tokens", "wte", "tok_embeddings", "shared", "embedding")
)


def folder_facts(folder: Path) -> dict[str, Any]:
    """Read fields of ``ModelMeta`` from the files of a checkpoint directory; those that cannot be read are missing."""
    modules = read_json(folder / "modules.json") or []
    paths = (str(module.get("path", "")) for module in modules if module.get("type", "").endswith("Transformer"))
    transformer = folder / next(paths, "")
    config = _first(transformer / "config.json", folder / "config.json")
    length = _first(transformer / "sentence_bert_config.json", folder / "sentence_bert_config.json")
    dims = [_output_dim(folder / str(module.get("path", "")), str(module.get("type", ""))) for module in modules]
    settings = _first(folder / "config_sentence_transformers.json")
    fields = {
        "embed_dim": next((dim for dim in reversed(dims) if dim), None) or config.get("hidden_size"),
        "max_tokens": length.get("max_seq_length") or config.get("max_position_embeddings"),
        "similarity_fn_name": _SIMILARITIES.get(str(settings.get("similarity_fn_name"))),
        **_weights(folder),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _first(*paths: Path) -> dict[str, Any]:
    """The content of the first file that holds a JSON object."""
    return next((content for path in paths if isinstance(content := read_json(path), dict)), {})


def _output_dim(folder: Path, kind: str) -> int | None:
    """Output dimension of a sentence-transformers module: a projection, a pooling, or a table of word vectors."""
    if kind.endswith("StaticEmbedding"):
        try:
            with safe_open(folder / "model.safetensors", "np") as weights:
                return int(weights.get_slice("embedding.weight").get_shape()[1])
        except (SafetensorError, OSError):
            return None
    config = _first(folder / "config.json")
    return config.get("out_features") or config.get("word_embedding_dimension") or config.get("embedding_dimension")


def _weights(folder: Path) -> dict[str, Any]:
    """Parameter counts and memory, read from the headers of the weight files."""
    total, embedded, size = 0, 0, 0
    try:
        for path in sorted(folder.rglob("*.safetensors")):
            with safe_open(path, "np") as weights:
                for name in weights.keys():  # noqa: SIM118  (safe_open is not a mapping)
                    tensor = weights.get_slice(name)
                    if tensor.get_dtype() in _BUFFERS:
                        continue
                    count = math.prod(tensor.get_shape())
                    total += count
                    size += count * _BYTES.get(tensor.get_dtype(), 4)
                    embedded += count if name.endswith(_EMBEDDINGS) else 0
    except (SafetensorError, OSError):
        return {}
    counts = {"n_parameters": total, "memory_usage_mb": round(size / 2**20, 1)} if total else {}
    return {**counts, "n_embedding_parameters": embedded} if embedded else counts


RECORD = "patent_mteb_training.json"
"""File of a checkpoint that records its training."""


class TrainedMeta(ModelMeta):
    """ModelMeta of a checkpoint of ``patent-mteb train``, with a summary of its leak check for the results."""

    contamination: str | None = None


def training_record(folder: Path) -> dict[str, Any] | None:
    """The training record of a checkpoint of ``patent-mteb train``, None for other checkpoints."""
    record = read_json(folder / RECORD)
    return record if isinstance(record, dict) else None


BARE_ENCODERS = ("Model", "ForMaskedLM", "ForPreTraining")
"""Architectures of a bare transformer, for which sentence-transformers uses mean pooling."""
CLASSIFIER = "ForSequenceClassification"


def kind_of_checkpoint(folder: Path) -> str:
    """Return ``encoder``, ``sparse``, ``late-interaction``, ``cross-encoder`` or ``nli`` for a checkpoint directory.

    A cross-encoder with a class named *entailment* is ``nli``.
    """
    modules = folder / "modules.json"
    config = folder / "config.json"
    check_configuration(folder)
    if is_late_interaction(folder):
        return "late-interaction"
    if not modules.is_file() and not config.is_file():
        raise ModelError(
            f"{folder} holds no checkpoint (neither modules.json nor config.json)", remedy="name a checkpoint directory"
        )
    model_type = read_settings(folder / "config_sentence_transformers.json").get("model_type") or ""
    types = [module["type"] for module in read_modules(modules)]
    configured = read_settings(config)
    architectures = configured.get("architectures") or [""]
    classes = {str(name).lower() for name in configured.get("label2id") or ()}
    if model_type == "CrossEncoder" or (not types and CLASSIFIER in architectures[0]):
        return "nli" if "entailment" in classes else "cross-encoder"
    if model_type == "SparseEncoder" or any("sparse_encoder" in one for one in types):
        return "sparse"
    if model_type not in ("", "SentenceTransformer") or (not types and not architectures[0].endswith(BARE_ENCODERS)):
        known = f"architecture '{architectures[0]}' without modules.json"
        if model_type:
            known = f"model_type '{model_type}'"
        raise ModelError(
            f"{folder} holds a model that is not known to embed texts ({known})",
            remedy="save it with sentence-transformers, whose modules.json says how tokens become a vector",
        )
    return "encoder"


class LocalEncoder(NamedModel, SentenceTransformerEncoderWrapper):  # type: ignore[misc]
    """The encoder of a checkpoint directory."""


def _opened(kind: Callable[..., Any], folder: str, what: str, device: str | None, options: Mapping[str, Any]) -> Any:
    try:
        return kind(folder, device=device, **options)
    except Exception as error:  # transformers, safetensors and sentence-transformers each raise their own types
        raise ModelError(f"the checkpoint {folder} cannot be loaded as a {what} ({error})", remedy=COMPARE) from error


def _load_encoder(
    model_name: str,
    revision: str | None,
    device: str | None = None,
    *,
    folder: str,
    prompted: bool = False,
    **kwargs: Any,
) -> Any:
    from sentence_transformers import SentenceTransformer

    model = named_by_role(_opened(SentenceTransformer, folder, "sentence-transformers model", device, kwargs))
    encoder = PatentEncoder(model) if prompted else LocalEncoder(model)
    encoder.loaded_revision = content_revision(Path(folder))
    return encoder


def _load_sparse(
    model_name: str, revision: str | None, device: str | None = None, *, folder: str, **kwargs: Any
) -> Any:
    from sentence_transformers import SparseEncoder

    wrapper = SparseEncoderWrapper(named_by_role(_opened(SparseEncoder, folder, "sparse encoder", device, kwargs)))
    loaded = content_revision(Path(folder))
    facts = {"name": local_name(Path(folder)), "revision": loaded, "model_type": ["sparse"]}
    wrapper.mteb_model_meta = ModelMeta.create_empty(facts)
    search = SparseSearch(wrapper)
    search.loaded_revision = loaded
    return search


def local_meta(folder: Path) -> ModelMeta:
    """ModelMeta of a checkpoint directory. The name is the directory's, the revision a hash of its content."""
    kind = kind_of_checkpoint(folder)
    common = {"name": local_name(folder), "revision": content_revision(folder), "open_weights": None}
    if kind == "late-interaction":
        return LateInteraction(folder).mteb_model_meta
    if kind == "nli":
        return local_nli_meta(folder)
    if kind == "sparse":
        sparse = {"loader": functools.partial(_load_sparse, folder=str(folder)), "model_type": ["sparse"]}
        return ModelMeta.create_empty({**common, **sparse, "framework": ["Sentence Transformers"]})
    if kind == "cross-encoder":

        def loader(model_name: str, revision: str | None, device: str | None = None, **kwargs: Any) -> Any:
            from sentence_transformers import CrossEncoder

            return CrossEncoderWrapper(_opened(CrossEncoder, str(folder), "cross-encoder", device, kwargs))

        return ModelMeta.create_empty({**common, "loader": loader, "model_type": ["cross-encoder"]})
    loader = functools.partial(_load_encoder, folder=str(folder))
    facts = {**common, **folder_facts(folder), "loader": loader, "framework": ["Sentence Transformers"]}
    if (record := training_record(folder)) is not None:
        if record.get("prompts") == "table11":
            facts |= {"loader": functools.partial(loader, prompted=True), "use_instructions": True}
        return TrainedMeta.create_empty({**facts, "contamination": record.get("contamination")})
    return ModelMeta.create_empty(facts)
