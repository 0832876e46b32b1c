"""Which models may stand in front of a store: those that embed, and that can be told from others by name and revision."""

from __future__ import annotations

from typing import Any

from mteb.models import CompressionWrapper, EncoderProtocol, SentenceTransformerEncoderWrapper
from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import ModelError

__all__ = ["as_encoder", "checked_meta"]

_UNNAMED = frozenset({None, "", "no_model_name/available", "no_revision_available"})


def as_encoder(model: Any) -> Any:
    """The model as an mteb encoder.

    Raises:
        ModelError: it is none, or one whose vectors cannot be stored one by one.

    Example:
        >>> import mteb
        >>> from patent_mteb.store.admission import as_encoder
        >>> model = mteb.get_model("mteb/baseline-random-encoder")
        >>> as_encoder(model) is model
        True
    """
    if not hasattr(model, "mteb_model_meta"):
        from sentence_transformers import SentenceTransformer

        if isinstance(model, SentenceTransformer):
            model = SentenceTransformerEncoderWrapper(model)
    if isinstance(model, CompressionWrapper):
        raise ModelError(
            "its quantised vectors depend on all texts of a call and cannot be stored one by one."
            " Remedy: stored(patent_mteb.models.Quantised(model, 'int8')), which is calibrated once."
        )
    if not isinstance(model, EncoderProtocol):
        raise ModelError(
            f"{type(model).__name__} is no encoder (it lacks encode, similarity, similarity_pairwise or mteb_model_meta)."
            " Remedy: pass an mteb encoder, a SentenceTransformer or a ModelMeta; search models and cross-encoders need no store."
        )
    return model


def checked_meta(meta: ModelMeta | None, kind: str) -> ModelMeta:
    """The metadata of a model that can be told from others and has vectors to store.

    Raises:
        ModelError: it is none.

    Example:
        >>> import mteb
        >>> from patent_mteb.store.admission import checked_meta
        >>> meta = mteb.get_model_meta("mteb/baseline-random-encoder")
        >>> checked_meta(meta, "RandomEncoderBaseline") is meta
        True
    """
    unnamed = meta is None or meta.name in _UNNAMED
    if meta is None or unnamed or meta.revision in _UNNAMED:
        raise ModelError(
            f"{kind} has no {'name' if unnamed else 'revision'}, so its vectors could be taken for those of another model."
            " Remedy: load it through a ModelMeta with a name and a revision (for a local checkpoint a hash of its content),"
            " or set model.mteb_model_meta = model.mteb_model_meta.model_copy(update={'name': 'organisation/model',"
            " 'revision': '...'}) on its mteb encoder."
        )
    if meta.is_cross_encoder:
        raise ModelError(f"{meta.name} is a cross-encoder, it has no vectors. Remedy: use it without the store.")
    if "sparse" in meta.model_type:
        raise ModelError(f"{meta.name} gives sparse vectors, which are not stored. Remedy: use it without the store.")
    return meta
