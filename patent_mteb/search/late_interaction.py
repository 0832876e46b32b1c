"""Late interaction (ColBERT) as an mteb model: exact MaxSim, and mean vectors.

Every query is scored against every document (WIPO-AT section 3.3.4), or against its candidates. All other tasks use
mean-pooled vectors. Checkpoints are encoded by PyLate or by sentence-transformers >= 6, whichever is installed.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import mteb
import numpy as np
import scipy.sparse
from mteb.models.abs_encoder import AbsEncoder, get_prompt
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.similarity_functions import cos_sim, pairwise_cos_sim
from mteb.types import Array, PromptType
from numpy.typing import NDArray
from tqdm.auto import tqdm

from patent_mteb.errors import ModelError
from patent_mteb.model_identity.loaded import NamedModel, check, note
from patent_mteb.model_identity.prompts import ROLE_NAMES, report_roles
from patent_mteb.search.base import ArraySearch, SearchContext, document_text, query_texts
from patent_mteb.search.colbert import (
    KNOWN_SETTINGS,
    Backend,
    Checkpoint,
    Overrides,
    TokenEncoder,
    choose_backend,
    inspect_checkpoint,
    load_encoder,
)
from patent_mteb.search.maxsim import MEMORY_BUDGET, Queries, ScoreDtype, Scorer, check_tokens
from patent_mteb.search.run import Run, TopK
from patent_mteb.search.timing import phase
from patent_mteb.store.codecs import Codec, Scaled
from patent_mteb.store.keys import hash_texts
from patent_mteb.store.store import EmbeddingStore, open_store

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

_AT_ONCE = 512  # documents, at most, whose token vectors are in memory together


@dataclass(frozen=True)
class TokenStore:
    """Token vectors of one model in a store, in ``dtype`` or as the bytes of a codec."""

    store: EmbeddingStore
    identity: Mapping[str, Any]
    dtype: str
    codec: Codec | None = None

    def tokens(
        self,
        texts: list[str],
        prompt: str,
        role: str,
        meta: ModelMeta,
        step: int,
        encode: Callable[[list[str]], list[NDArray[np.float32]]],
    ) -> list[NDArray[np.float32]]:
        """Token vectors of each text under the settings of ``meta``; missing ones are made by ``encode``."""
        codec, changed = self.codec, str((meta.experiment_kwargs or {}).get("settings") or "")
        apart = ({"changed": changed} if changed else {}) | (dict(codec.settings) if codec else {})
        space = self.store.space({**self.identity, **apart}, "int8" if codec else self.dtype, ragged=True)
        keys = hash_texts(texts, prompt, role)
        step = min(step, _AT_ONCE)

        def fill(missing: NDArray[np.int64]) -> None:
            for start in range(0, len(missing), step):
                chosen = missing[start : start + step]
                found = encode([texts[i] for i in chosen])
                vectors = np.concatenate(found)
                lengths = np.array([len(vectors) for vectors in found])
                space.append(keys[chosen], codec.code(vectors) if codec else vectors, lengths)

        stored, offsets = space.filled(keys, fill)
        values = codec.value(stored) if codec else np.asarray(stored, dtype=np.float32)
        return [values[start:stop] for start, stop in pairwise(offsets)]


def add_pairs(
    best: TopK, scorer: Scorer, queries: Queries, documents: Sequence[Any], numbers: NDArray[np.int64], pairs: Any
) -> None:
    """Offer candidate pairs: each document is multiplied by the tokens of the queries that have it."""
    pairs = pairs.tocsc()
    pairs.sort_indices()
    scores = np.empty(pairs.nnz, np.float32)
    for document, vectors in enumerate(documents):
        chosen = slice(pairs.indptr[document], pairs.indptr[document + 1])
        scores[chosen] = scorer.of_document(vectors, queries, pairs.indices[chosen].astype(np.int64))
    by_query = scipy.sparse.csc_matrix((scores, pairs.indices, pairs.indptr), shape=pairs.shape).tocsr()
    for query in np.flatnonzero(np.diff(by_query.indptr)):
        chosen = slice(by_query.indptr[query], by_query.indptr[query + 1])
        best.add(slice(query, query + 1), by_query.data[None, chosen], numbers[by_query.indices[chosen]])


TokenPrecision = Literal["float32", "int8"]


class LateInteraction(NamedModel, ArraySearch):
    """A ColBERT checkpoint as an mteb model.

    Retrieval and reranking tasks use exact MaxSim. All other tasks use ``encode``: the mean of the token vectors of a
    text, encoded as a document, hence without the query's [MASK] expansion (WIPO-AT section 3.3.4). The formula of the
    paper does not normalise the mean, and neither does this. ``similarity`` compares means by cosine.

    Prompts are resolved as for every mteb model and follow the query or document marker. Without any, the stored
    prompts of the checkpoint apply; ``encode`` falls back to the document prompt.

    Args:
        model_name: directory of a checkpoint, or its name on the hub.
        backend: "sentence-transformers" (>= 6) or "pylate", the installed one by default; not part of the identity,
            because token vectors are the same.
        dtype: type of the dot products of MaxSim, "float32" or "bfloat16". Encoding is always float32.
        vectors: "float32", or "int8": token vectors are rounded to bytes (:class:`~patent_mteb.store.codecs.Scaled`).
        memory_budget: bytes of working memory of a search, besides the model, all query tokens and the top k.
        model_prompts, query_marker, document_marker, query_length, document_length, attend_to_expansion: replace the
            checkpoint's.
        maxsim: "exact", the only kind. It separates results from those of mteb's own, approximate entry.
    """

    def __init__(
        self,
        model_name: str | Path,
        revision: str | None = None,
        *,
        device: str | None = None,
        backend: Backend | None = None,
        dtype: ScoreDtype = "float32",
        vectors: TokenPrecision = "float32",
        memory_budget: int = MEMORY_BUDGET,
        model_prompts: Mapping[str, str] | None = None,
        query_marker: str | None = None,
        document_marker: str | None = None,
        query_length: int | None = None,
        document_length: int | None = None,
        attend_to_expansion: bool | None = None,
        trust_remote_code: bool = False,
        maxsim: Literal["exact"] = "exact",
    ) -> None:
        import torch

        if dtype not in get_args(ScoreDtype):
            raise ModelError(f"unknown dtype '{dtype}'", remedy=f"one of {', '.join(get_args(ScoreDtype))}")
        if vectors not in (known := get_args(TokenPrecision)):
            raise ModelError(f"unknown token vectors '{vectors}'", remedy=f"one of {', '.join(known)}")
        if maxsim != "exact":
            raise ModelError(f"unknown maxsim '{maxsim}'", remedy="'exact' is the only kind")
        if memory_budget < 1 << 20:
            problem = f"a memory budget of {memory_budget} bytes is too small"
            raise ModelError(problem, remedy=f"at least {1 << 20} (1 MiB)")
        self.backend: Backend = choose_backend(backend)
        self.checkpoint = inspect_checkpoint(model_name, revision)
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.dtype: ScoreDtype = dtype
        self.memory_budget = memory_budget
        given: dict[str, Any] = {
            "query_marker": query_marker,
            "document_marker": document_marker,
            "query_length": query_length,
            "document_length": document_length,
            "attend_to_expansion": attend_to_expansion,
        }
        given = {key: value for key, value in given.items() if value is not None}
        own = KNOWN_SETTINGS.get(str(model_name), Overrides(trust_remote_code=trust_remote_code))
        overrides = replace(own, **given)
        self.model_prompts = _check_prompts(self.checkpoint, model_prompts)
        self._encoder = load_encoder(self.checkpoint, overrides, self.backend, self.device, revision)
        self._codec = Scaled() if vectors == "int8" else None
        self._token_store: TokenStore | None = None
        self._settings = given
        experiment = {"dtype": dtype, "maxsim": maxsim, **given}
        experiment |= {"vectors": vectors} if self._codec else {}
        experiment |= {"model_prompts": dict(model_prompts)} if model_prompts else {}
        loading = {"backend": self.backend, "trust_remote_code": overrides.trust_remote_code}
        self.mteb_model_meta = _model_meta(self.checkpoint, experiment, loading, self._encoder)
        note(self)

    def encode_tokens(
        self, texts: Sequence[str], *, is_query: bool, prompt: str = "", batch_size: int = 32
    ) -> list[NDArray[np.float32]]:
        """Token vectors of each text, (tokens, dim) float32; ``prompt`` comes between marker and text."""

        def encode(some: list[str]) -> list[NDArray[np.float32]]:
            if not some:
                return []
            with phase("encode"):
                return self._encoder.encode(some, is_query=is_query, prompt=prompt, batch_size=batch_size)

        if self._token_store is None:
            found = encode(list(texts))
            return [self._codec.value(self._codec.code(vectors)) for vectors in found] if self._codec else found
        check(self)  # token vectors are stored under what it was when it was loaded
        role, step = "query" if is_query else "document", self._documents_per_chunk()
        return self._token_store.tokens(list(texts), prompt, role, self.mteb_model_meta, step, encode)

    def with_store(self, store: EmbeddingStore | Path | str | None = None, dtype: str = "float16") -> LateInteraction:
        """The same model with its token vectors in a store.

        "float16" halves the disk and changes scores in about the fourth digit, so it is part of the identity.
        """
        other = copy.copy(self)
        identity = {"model": self.checkpoint.name, "revision": self.checkpoint.revision, "settings": self._settings}
        identity["vectors"] = f"tokens by {self.backend}"
        other._token_store = TokenStore(open_store(store), identity, dtype, self._codec)
        if dtype != "float32" and self._codec is None:
            experiment = {**(self.mteb_model_meta.experiment_kwargs or {}), "store_dtype": dtype}
            other.mteb_model_meta = self.mteb_model_meta.model_copy(update={"experiment_kwargs": experiment})
        return other

    @property
    def store_settings(self) -> dict[str, Any]:
        network, volatile = self._encoder.model, self._encoder.volatile
        names = {"max_seq_length", "query_length", "document_length"} - volatile
        lengths = {name: getattr(network, name, None) for name in names}
        parts = [module.get_config_dict().items() for module in network if hasattr(module, "get_config_dict")]
        return {**lengths, "modules": [{name: value for name, value in part if name not in volatile} for part in parts]}

    def encode(self, inputs: DataLoader[Any], *, task_metadata: Any, prompt_type: Any = None, **kwargs: Any) -> Array:
        """Mean token vector of each text as a document: (texts, dim), not normalised."""
        batch_size, progress = _encode_settings(kwargs)
        prompt = get_prompt(self.model_prompts, task_metadata, prompt_type)
        if prompt is None:
            prompt = self.model_prompts.get("document", "")
        texts = [text for batch in inputs for text in batch["text"]]
        step = self._documents_per_chunk()
        means = np.empty((len(texts), self._encoder.dimension), dtype=np.float32)
        for start in tqdm(range(0, len(texts), step), desc="Encoding", disable=not progress):
            some = texts[start : start + step]
            tokens = self.encode_tokens(some, is_query=False, prompt=prompt, batch_size=batch_size)
            check_tokens(tokens, "text", start)
            means[start : start + len(tokens)] = [vectors.mean(axis=0) for vectors in tokens]
        return means

    def similarity(self, embeddings1: Array, embeddings2: Array) -> Array:
        return cos_sim(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Array, embeddings2: Array) -> Array:
        return pairwise_cos_sim(embeddings1, embeddings2)

    def search_run(self, queries: Any, top_k: int, context: SearchContext) -> Run:
        """Rank by exact MaxSim; with candidates, only these are encoded and scored."""
        batch_size, progress = _encode_settings(context.encode_kwargs)

        def encoded(texts: list[str], kind: PromptType) -> list[NDArray[np.float32]]:
            prompt = get_prompt(self.model_prompts, context.task_metadata, kind) or ""
            return self.encode_tokens(texts, is_query=kind == PromptType.query, prompt=prompt, batch_size=batch_size)

        tokens = encoded(query_texts(queries), PromptType.query)
        check_tokens(tokens, "query")
        corpus_ids = self.corpus["id"][:]
        numbers = self.corpus_numbers()
        best = TopK(queries["id"][:], self.doc_ids, top_k)
        wanted = context.candidates(best.query_ids, corpus_ids)
        visible = context.visible(best.query_ids, self.doc_ids)
        positions = np.arange(len(corpus_ids)) if wanted is None else np.flatnonzero(np.diff(wanted.indptr))
        scorer = Scorer(self.dtype, self.device, self.memory_budget)
        parts = scorer.queries(tokens) if wanted is None else [scorer.joined(tokens)] if len(positions) else []
        step = self._documents_per_chunk(max((len(part.lengths) for part in parts), default=1) if wanted is None else 1)
        for start in tqdm(range(0, len(positions), step), desc="MaxSim search", disable=not progress):
            chunk = positions[start : start + step]
            found = encoded([document_text(row) for row in self.corpus.select(chunk)], PromptType.document)
            check_tokens(found, "document", start)
            shown = numbers[chunk]
            if wanted is not None:
                add_pairs(best, scorer, parts[0], found, shown, wanted[:, chunk])
                continue
            bags = scorer.bags(found)
            for part in parts:
                best.add(part.rows, scorer(part, bags, len(found)), shown, visible and visible(part.rows, shown))
        return best.run()

    def _documents_per_chunk(self, n_queries: int = 1) -> int:
        """Documents encoded at a time: half of the budget for vectors, a quarter for scores (48 bytes a pair)."""
        vectors = 2 * 4 * (self._encoder.document_length or 512) * self._encoder.dimension
        return max(1, min(self.memory_budget // 2 // vectors, self.memory_budget // 4 // (48 * n_queries)))


def _encode_settings(kwargs: dict[str, Any]) -> tuple[int, bool]:
    if kwargs.get("precision") not in (None, "float32"):
        remedy = "leave it out; dtype='bfloat16' of the model makes the search faster"
        raise ModelError(f"late interaction has no precision={kwargs['precision']!r}", remedy=remedy)
    return int(kwargs.get("batch_size", 32)), bool(kwargs.get("show_progress_bar", True))


def _check_prompts(checkpoint: Checkpoint, given: Mapping[str, str] | None) -> dict[str, str]:
    """Prompts in force: the caller's, else those of the checkpoint."""
    if given is None:
        report_roles(checkpoint.name, checkpoint.saved_prompts, checkpoint.prompts)
        return {role: checkpoint.prompts.get(role, "") for role in ROLE_NAMES}
    if wrong := [key for key, text in given.items() if not isinstance(text, str)]:
        remedy = "give one text for each key, such as 'PatentCitationRetrieval-query'"
        raise ModelError(f"the prompt '{wrong[0]}' is not a text", remedy=remedy)
    try:
        AbsEncoder.validate_task_to_prompt_name(dict(given))
    except KeyError as error:
        raise ModelError(f"a prompt of '{checkpoint.source}' has a key that mteb does not know: {error}") from error
    return dict(given)


def _load_local(path: Path, name: str, revision: str | None = None, **kwargs: Any) -> LateInteraction:
    return LateInteraction(path, **kwargs)


def _model_meta(
    checkpoint: Checkpoint, experiment: dict[str, Any], loading: dict[str, Any], encoder: TokenEncoder
) -> ModelMeta:
    """Identity of the search: mteb's entry of the checkpoint, with our settings."""
    local = Path(checkpoint.source).is_dir()
    try:
        known = mteb.get_model_meta(checkpoint.name).model_dump() if not local else {}
    except KeyError:
        known = {}
    chosen = {
        "loader": functools.partial(_load_local, Path(checkpoint.source)) if local else LateInteraction,
        "loader_kwargs": loading,
        "name": checkpoint.name,
        "revision": checkpoint.revision,
        "embed_dim": encoder.dimension,
        "experiment_kwargs": experiment,
        "extra_requirements_groups": None,
        "framework": ["PyLate" if loading["backend"] == "pylate" else "Sentence Transformers", "PyTorch"],
        "model_type": ["late-interaction"],
        "similarity_fn_name": ScoringFunction.MAX_SIM,
    }
    empty = {"max_tokens": encoder.document_length, "use_instructions": False, "open_weights": True}
    return ModelMeta.create_empty({**empty, **known, **chosen})


METAS = (
    ModelMeta(
        loader=LateInteraction,
        name="answerdotai/answerai-colbert-small-v1",
        revision="a985057bb6c3fa2378c98704ea7e665fe3885058",
        release_date="2024-08-13",
        languages=["eng-Latn"],
        n_parameters=33_396_864,
        n_embedding_parameters=11_720_448,
        memory_usage_mb=127,
        max_tokens=512,
        embed_dim=96,
        license="apache-2.0",
        open_weights=True,
        public_training_code=None,
        public_training_data=None,
        framework=["PyLate", "ColBERT", "Sentence Transformers", "safetensors"],
        reference="https://huggingface.co/answerdotai/answerai-colbert-small-v1",
        similarity_fn_name=ScoringFunction.MAX_SIM,
        use_instructions=False,
        training_datasets=None,
        model_type=["late-interaction"],
        experiment_kwargs={"dtype": "float32", "maxsim": "exact"},
    ),
)
"""The model of the paper that mteb does not know; it has the other two with an approximate index."""
