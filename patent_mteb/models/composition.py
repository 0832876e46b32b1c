"""Compose a search model from the options of ``patent-mteb run``, and truncate embeddings."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, cast

import mteb
import numpy as np
from mteb.models import CrossEncoderProtocol, EncoderProtocol, MTEBModels, SentenceTransformerEncoderWrapper
from mteb.models.model_meta import ModelMeta
from mteb.models.sentence_transformer_wrapper import CrossEncoderWrapper

from patent_mteb.errors import ModelError
from patent_mteb.identity import NO_REVISION, compose_meta
from patent_mteb.model_identity.loaded import is_nameless, name_by_content
from patent_mteb.models.variants import Spans, WrappedEncoder, with_section_tags, with_settings
from patent_mteb.search.dense import Approximate
from patent_mteb.search.fusion import Hybrid
from patent_mteb.search.passages import Passages, inner_models
from patent_mteb.search.rerank import Reranked, second_stage
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store import stored
from patent_mteb.store.batches import as_array, as_matrix
from patent_mteb.store.pair_scores import stored_pairs


def in_store(model: Any, store: Path | str | None) -> Any:
    """Let a model keep its embeddings, token vectors or pair scores in a store.

    The model is returned unchanged if ``store`` is None, or if it computes none of these.
    """
    if store is None:
        return model
    if isinstance(model, ModelMeta) or is_encoder(model) or hasattr(model, "with_store"):
        return stored(model, store)
    return stored_pairs(model, store) if isinstance(model, CrossEncoderProtocol) else model


def _wrapped(model: Any) -> Any:
    """Wrap a model of sentence-transformers as mteb does, under a name of its own; None for any other object."""
    if not type(model).__module__.startswith("sentence_transformers."):
        return None
    from sentence_transformers import CrossEncoder, SentenceTransformer

    from patent_mteb.models.loading import without_guesses

    kinds = {SentenceTransformer: SentenceTransformerEncoderWrapper, CrossEncoder: CrossEncoderWrapper}
    with without_guesses():
        made = next((wrapper(model) for kind, wrapper in kinds.items() if isinstance(model, kind)), None)
    if made is not None and is_nameless(made.mteb_model_meta):
        name_by_content(made)
    return made


def identified(model: Any) -> Any:
    """Return a model under an identity of its own.

    A ``SentenceTransformer`` or ``CrossEncoder`` is wrapped, and named by its content. mteb's ``HybridSearch`` receives
    an identity with its parts and settings; mteb's name has neither. A revision that the user has set is left as it is.

    Raises:
        ModelError: the object is not an mteb model.
    """
    if isinstance(model, ModelMeta):
        return model
    if (wrapped := _wrapped(model)) is not None:
        return wrapped
    if isinstance(model, type) or not isinstance(getattr(model, "mteb_model_meta", None), ModelMeta):
        raise ModelError(
            f"{type(model).__name__} is not an mteb model: it has no mteb_model_meta",
            remedy="give it one with name and revision",
        )
    if not isinstance(model, mteb.HybridSearch) or model.mteb_model_meta.revision != NO_REVISION:
        return model
    if model.fusion_name not in ("rrf", "dbsf", "rsf"):
        raise ModelError(
            f"HybridSearch fuses with the function '{model.fusion_name}', whose code no identity covers",
            remedy="give its mteb_model_meta a name and a revision",
        )
    settings: dict[str, Any] = {"method": model.fusion_name, "weights": [float(weight) for weight in model.weights]}
    settings |= {"depth": model.sub_model_top_k} | ({"k": model.rrf_k} if model.fusion_name == "rrf" else {})
    renamed = copy.copy(model)
    parts = [part.mteb_model_meta for part in model.wrapped_models]
    renamed.mteb_model_meta = compose_meta("mteb-hybrid", parts, settings, tag=model.fusion_name)
    return renamed


def compose(
    model: MTEBModels | ModelMeta,
    *,
    store: Path | str | None = None,
    section_tags: bool = False,
    spans: str | None = None,
    dims: int | None = None,
    passages: int | None = None,
    stride: int | None = None,
    aggregate: str = "maxP",
    fuse: MTEBModels | None = None,
    alpha: float | None = None,
    rrf_k: float | None = None,
    rerank: CrossEncoderProtocol | ModelMeta | None = None,
    rerank_depth: int = 100,
    rerank_chunks: int | None = None,
    ann: int | None = None,
) -> MTEBModels:
    """Wrap a model, in this order: store, spans, dimensions, approximate search or passages, fusion, reranking.

    Args:
        model: any mteb model, or the ModelMeta of an encoder, which is loaded only when a text must be encoded.
        store: folder of the store of embeddings and pair scores; None encodes every text again. Ignored by models that
            compute neither.
        section_tags: add PatentMap's section tags (:func:`~patent_mteb.models.variants.with_section_tags`).
        spans: read a text as spans, such as ``8x512`` (:class:`~patent_mteb.models.variants.Spans`).
        dims: keep this many dimensions (:class:`~patent_mteb.models.composition.Truncated`).
        passages: search windows of this many tokens, aggregated by ``aggregate``
            (:class:`~patent_mteb.search.passages.Passages`).
        stride: tokens between the starts of two windows; None for windows without overlap.
        fuse: a second search model, usually the lexical one; it is searched by passages too if ``passages`` is given.
        alpha: weight of ``model`` in linear fusion; 0.5 if neither this nor ``rrf_k`` is given.
        rrf_k: constant of reciprocal rank fusion, which replaces linear fusion.
        rerank: a cross-encoder or late-interaction model that reranks the first ``rerank_depth`` documents. A
            late-interaction model keeps its token vectors in the store.
        rerank_chunks: tokens of the chunks of documents that a cross-encoder reads, of which the best counts; None: it
            reads their beginnings.
        ann: number of probes of a faiss inverted file, which replaces the search of all documents
            (:class:`~patent_mteb.search.dense.Approximate`).

    Raises:
        ModelError: options exclude each other, or the model does not support one of them.

    Example:
        >>> from patent_mteb.models import bm25
        >>> from patent_mteb.models.composition import compose
        >>> compose(bm25("dapfam"), passages=64, fuse=bm25("bm25s"), alpha=0.7).mteb_model_meta.name
        'hybrid/linear-0.7-passages-64-maxP-bm25-bm25s+passages-64-maxP-bm25-dapfam'
    """
    name = model.name if isinstance(model, ModelMeta) else model.mteb_model_meta.name
    embeds = isinstance(model, ModelMeta) or is_encoder(model)
    if fuse is None and (alpha is not None or rrf_k is not None):
        raise ModelError("--alpha and --rrf need a second model", remedy="name it with --fuse")
    if alpha is not None and rrf_k is not None:
        raise ModelError(
            "--alpha (linear fusion) and --rrf (reciprocal rank fusion) exclude each other", remedy="give one of them"
        )
    if passages is None and (stride is not None or aggregate != "maxP"):
        raise ModelError("--stride and --aggregate need passages", remedy="give their size with --passages")
    if rerank is None and (rerank_depth != 100 or rerank_chunks is not None):
        raise ModelError("--rerank-depth and --rerank-chunks need a second stage", remedy="name it with --rerank")
    if dims is not None and not embeds:
        raise ModelError(f"{name} does not embed texts, so it has no dimensions to keep", remedy="leave out --dims")
    if spans is not None and passages is not None:
        raise ModelError("--spans and --passages both split texts", remedy="give one of them")
    if ann is not None and (not embeds or passages is not None):
        raise ModelError(
            "--ann needs an encoder and searches whole texts",
            remedy="leave it out, or name an encoder and leave out --passages",
        )
    if section_tags:
        model = with_section_tags(model)
    composed: Any = in_store(model, store)
    if spans is not None:
        composed = Spans(composed, spans)
    if dims is not None:
        composed = Truncated(composed, dims)
    if ann is not None:
        composed = Approximate(composed, ann)
    if passages is not None:
        composed = Passages(composed, passages, aggregate, stride=stride)
    if fuse is not None:
        second: Any = in_store(fuse, store)
        if passages is not None:
            second = Passages(second, passages, aggregate, stride=stride)
        composed = Hybrid(second, composed, "linear" if rrf_k is None else "rrf", alpha=alpha, k=rrf_k)
    if rerank is not None:
        second = in_store(second_stage(rerank), store)
        composed = Reranked(composed, second, k=rerank_depth, chunk_tokens=rerank_chunks)
    return cast("MTEBModels", composed)


_ROWS = 65_536  # vectors that are converted at a time


def _width(model: Any) -> int | None:
    """Dimensions of the sentence-transformers model inside an encoder; None if only encoding would tell."""
    for inner in inner_models(model):
        if not getattr(inner, "loaded", True):
            break
        for name in ("get_embedding_dimension", "get_sentence_embedding_dimension"):  # second: before version 5.4
            if (method := getattr(inner, name, None)) is not None:
                width: int | None = method()
                return width
    return None


class Truncated(WrappedEncoder):
    """An encoder that keeps the first ``dims`` dimensions of another's vectors, normalised to length 1 (L2, fp32).

    With a stored encoder (``Truncated(stored(model), 256)``), all choices of ``dims`` share one encoding. A vector
    whose first dimensions are zero stays zero.

    Example:
        >>> import mteb
        >>> from patent_mteb.models import Truncated
        >>> Truncated(mteb.get_model("mteb/baseline-random-encoder"), 8).mteb_model_meta.embed_dim
        8
    """

    def __init__(self, model: EncoderProtocol, dims: int) -> None:
        if not is_encoder(model):
            raise ModelError(
                f"{type(model).__name__} is not an encoder", remedy="truncate the encoder, and wrap it in search models"
            )
        if isinstance(dims, bool) or not isinstance(dims, int) or dims < 1:
            raise ModelError(f"cannot keep {dims!r} dimensions", remedy="give a positive whole number")
        width = _width(model)
        if width is not None and dims > width:
            raise ModelError(f"cannot keep {dims} of {width} dimensions", remedy=f"choose at most {width}")
        self.model = model
        self.dims = dims
        self.mteb_model_meta = with_settings(model.mteb_model_meta, dims=dims).model_copy(update={"embed_dim": dims})

    def encode(self, inputs: Any, *, task_metadata: Any, **kwargs: Any) -> Any:
        """Return vectors [n, dims], fp32; arguments as in mteb's ``EncoderProtocol``."""
        vectors = self.model.encode(inputs, task_metadata=task_metadata, **kwargs)
        where = f"{self.mteb_model_meta.name} on {task_metadata.name}"
        vectors = as_array(as_matrix(vectors, len(inputs.dataset), where))
        if not np.issubdtype(vectors.dtype, np.floating):
            raise ModelError(f"{where}: vectors of {vectors.dtype} cannot be truncated to {self.dims} dimensions.")
        if vectors.shape[1] < self.dims and len(vectors):
            raise ModelError(
                f"{where}: cannot keep {self.dims} of {vectors.shape[1]} dimensions",
                remedy=f"choose at most {vectors.shape[1]}",
            )
        truncated = np.empty((len(vectors), self.dims), np.float32)
        for start in range(0, len(vectors), _ROWS):
            rows = vectors[start : start + _ROWS, : self.dims].astype(np.float32)
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            truncated[start : start + _ROWS] = rows / np.where(lengths > 0, lengths, 1)
        return truncated
