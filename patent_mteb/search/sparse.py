"""Learned sparse retrieval (SPLADE and others): exact products of sparse vectors.

Vectors are lists of (term, weight), in memory and in the embedding store, and never dense: a vocabulary of 30,000 terms
times a corpus of 113,000 patents would take 13 GB. Scores are those of mteb's ``SparseEncoderWrapper``, in single
precision.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.sentence_transformer_wrapper import SparseEncoderWrapper
from mteb.types import PromptType
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from patent_mteb.errors import ModelError
from patent_mteb.model_identity.loaded import NamedModel, note
from patent_mteb.model_identity.prompts import facts_of, prompt_text
from patent_mteb.search.base import ArraySearch, SearchContext, document_text, query_texts
from patent_mteb.search.late_interaction import TokenStore
from patent_mteb.search.run import Run, TopK
from patent_mteb.search.timing import phase
from patent_mteb.search.vectors import slices_of
from patent_mteb.store.batches import text_loader
from patent_mteb.store.store import EmbeddingStore, open_store

_DOCUMENTS_AT_ONCE = 4096  # whose token weights are in memory together
_QUERIES_AT_ONCE = 1024  # of a product of sparse matrices
_SIMILARITIES = ("dot", "cosine")


def sparse_prompt(encoder: SparseEncoderWrapper, task: TaskMetadata, role: PromptType | None) -> str:
    """The text that an encoder puts before texts of a role; mteb's ``get_prompt`` returns its name."""
    name, model = encoder.get_prompt_name(task, role), encoder.model
    core = {"prompts": model.prompts, "default_prompt_name": model.default_prompt_name}
    return prompt_text(core, (encoder.model_prompts or {}).get(name or ""), role.value if role else None)


class SparseSearch(NamedModel, ArraySearch):
    def __init__(self, model: SparseEncoderWrapper) -> None:
        self.model = note(model)
        self.similarity = str(model.model.similarity_fn_name)
        if self.similarity not in _SIMILARITIES:
            remedy = f"sparse vectors are searched by {' or '.join(_SIMILARITIES)} only"
            problem = f"{model.mteb_model_meta.name} compares its vectors by {self.similarity}"
            raise ModelError(problem, remedy=remedy)
        self.mteb_model_meta = model.mteb_model_meta.model_copy(update={"model_type": ["sparse"]})
        self._token_store: TokenStore | None = None

    def with_store(self, store: EmbeddingStore | Path | str | None = None, dtype: str = "float32") -> SparseSearch:
        if dtype != "float32":
            raise ModelError(f"sparse vectors are stored as float32, not as {dtype}", remedy="leave out the type")
        other = copy.copy(self)
        meta = self.mteb_model_meta
        settings = facts_of(self.model, meta).settings
        identity = {"model": meta.name, "revision": meta.revision, "settings": settings, "vectors": "term, weight"}
        other._token_store = TokenStore(open_store(store), identity, dtype)
        return other

    def vectors(self, texts: Sequence[str], context: SearchContext, role: PromptType) -> Any:
        """Vectors of texts as a SciPy matrix [texts, vocabulary] (CSR)."""
        found = self._terms(list(texts), context, role)
        lengths = [len(terms) for terms in found]
        flat = np.concatenate(found) if found else np.zeros((0, 2), np.float32)
        width = int(self.model.model.get_embedding_dimension())
        ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        matrix = csr_matrix((flat[:, 1].copy(), flat[:, 0].astype(np.int32), ends), shape=(len(found), width))
        if self.similarity == "cosine":
            norms = np.sqrt(matrix.multiply(matrix).sum(axis=1))
            matrix = csr_matrix(matrix.multiply(1 / np.maximum(norms, np.finfo(np.float32).tiny)), dtype=np.float32)
        return matrix

    def _terms(self, texts: list[str], context: SearchContext, role: PromptType) -> list[NDArray[np.float32]]:
        """[terms, 2] numbers and weights of the terms of each text."""
        size = int(context.encode_kwargs.get("batch_size") or 32)
        options = {name: value for name, value in context.encode_kwargs.items() if name != "batch_size"}

        def encode(some: list[str]) -> list[NDArray[np.float32]]:
            with phase("encode"):
                loader = text_loader(some, size)
                given = {**options, "batch_size": size, "show_progress_bar": False}
                found = self.model.encode(loader, **context.encoding(), prompt_type=role, **given)
                return self._split(found, len(some))

        if self._token_store is None:
            return encode(texts) if texts else []
        prompt, meta = sparse_prompt(self.model, context.task_metadata, role), self.mteb_model_meta
        return self._token_store.tokens(texts, prompt, role.value, meta, _DOCUMENTS_AT_ONCE, encode)

    def _split(self, vectors: Any, n: int) -> list[NDArray[np.float32]]:
        """Split the model's output by text; an empty one is term 0 with weight 0, as a store has no empty lists."""
        name = self.mteb_model_meta.name
        if not getattr(vectors, "is_sparse", False) or vectors.shape[0] != n:
            found = f"{type(vectors).__name__} of shape {tuple(vectors.shape)}"
            raise ModelError(f"{name} gave {found} for {n} texts, not sparse vectors")
        vectors = vectors.detach().cpu().coalesce()
        (rows, terms), weights = vectors.indices().numpy(), vectors.values().float().numpy()
        if not np.isfinite(weights).all():
            bad = len(np.unique(rows[~np.isfinite(weights)]))
            remedy = "load the model in fp32, or look at its weights"
            raise ModelError(f"{name}: NaN or infinite weights in {bad} of {n} vectors", remedy=remedy)
        pairs = np.column_stack([terms, weights]).astype(np.float32)
        bounds = np.searchsorted(rows, np.arange(1, n))
        nothing = np.zeros((1, 2), np.float32)
        return [part if len(part) else nothing for part in np.split(pairs, bounds)]

    def search_run(self, queries: Any, top_k: int, context: SearchContext) -> Run:
        query_ids = queries["id"][:]
        query_vectors = self.vectors(query_texts(queries), context, PromptType.query)
        numbers = self.corpus_numbers()
        best = TopK(query_ids, self.doc_ids, top_k)
        visible = context.visible(query_ids, self.doc_ids)
        self.vector_bytes = 0
        for chunk in slices_of(len(numbers), _DOCUMENTS_AT_ONCE):
            texts = [document_text(row) for row in self.corpus.select(range(chunk.start, chunk.stop))]
            documents = self.vectors(texts, context, PromptType.document)
            self.vector_bytes += documents.data.nbytes + documents.indices.nbytes
            shown = numbers[chunk]
            for rows in slices_of(len(query_ids), _QUERIES_AT_ONCE):
                scores = (query_vectors[rows] @ documents.T).toarray()
                best.add(rows, scores, shown, visible and visible(rows, shown))
        return best.run()
