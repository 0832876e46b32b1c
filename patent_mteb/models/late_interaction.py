"""Late interaction (ColBERT) as an mteb model: exact MaxSim search, and mean-pooled vectors for everything else.

Score(q, d) is the sum over the query tokens of the largest dot product with a document token (Khattab and Zaharia 2020;
WIPO-AT section 3.3.4, equation 3). Every query is scored against every document; nothing is approximated or pruned.
Checkpoints in PyLate's, Stanford's or sentence-transformers' format are encoded by PyLate or by sentence-transformers >= 6,
whichever is installed, to the same token vectors.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, get_args

import numpy as np
from mteb.models.abs_encoder import AbsEncoder, get_prompt
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.types import PromptType
from tqdm.auto import tqdm

from patent_mteb.errors import DataError, ModelError
from patent_mteb.models.local import content_revision, local_name

if TYPE_CHECKING:
    import torch
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.types import (
        Array,
        BatchedInput,
        CorpusDatasetType,
        EncodeKwargs,
        QueryDatasetType,
        RetrievalOutputType,
        TopRankedDocumentsType,
    )
    from numpy.typing import NDArray
    from torch.utils.data import DataLoader

__all__ = [
    "METAS",
    "Backend",
    "Checkpoint",
    "LateInteraction",
    "ScoreDtype",
    "available_backends",
    "inspect_checkpoint",
    "is_late_interaction",
    "late_interaction",
    "maxsim",
]

Backend = Literal["sentence-transformers", "pylate"]
ScoreDtype = Literal["float32", "bfloat16"]
CheckpointFormat = Literal["pylate", "stanford", "sentence-transformers"]

MEMORY_BUDGET = 1 << 30
"""Default working memory of a search in bytes: document tokens in flight, similarities and scores."""


# --- Checkpoints -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkpoint:
    """What the files of a late-interaction checkpoint say, before anything is loaded.

    Attributes:
        source: directory, or name on the hub.
        name: mteb model name, ``org/name``.
        revision: commit on the hub, or a hash of a directory's content.
        format: who wrote it. PyLate: a projection module and ``query_prefix``/``document_prefix``. Stanford: architecture
            ``HF_ColBERT``, projection inside the weights, ``artifact.metadata``. sentence-transformers: ``MultiVectorEncoder``.
        query_marker, document_marker: text of the token that tells queries from documents (``[Q] ``, ``[unused0] ``), empty
            where the checkpoint has none.
        prompts: stored prompts without their markers.
        skip_words: tokens whose vectors a document leaves out (PyLate's format only; the others keep them in their modules).
        vocabulary: rows of the embedding table, or None if unknown.
    """

    source: str
    name: str
    revision: str
    format: CheckpointFormat
    query_marker: str
    document_marker: str
    prompts: Mapping[str, str]
    skip_words: tuple[str, ...]
    vocabulary: int | None


_LEADING_MARKER = re.compile(r"(\[[^\[\]\s]+\]|<[^<>\s]+>)\s*")


def inspect_checkpoint(model: str | Path, revision: str | None = None) -> Checkpoint:
    """Read the configuration files of a checkpoint: a directory, or a name on the hub.

    Raises:
        ModelError: the files do not describe a late-interaction checkpoint. Such a model must not be loaded as one:
            both backends would add an untrained projection without a word.
    """
    from sentence_transformers.util import load_file_path

    source = str(model)
    found: dict[str, str] = {}

    def read(name: str) -> Any:
        path = load_file_path(source, name, revision=revision)
        if path is None:
            return None
        found[name] = path
        return json.loads(Path(path).read_text(encoding="utf-8"))

    settings: dict[str, Any] = read("config_sentence_transformers.json") or {}
    config: dict[str, Any] = read("config.json") or {}
    modules: list[dict[str, str]] = read("modules.json") or []
    backbone = config
    if modules and modules[0].get("path"):
        backbone = read(f"{modules[0]['path']}/config.json") or {}
    if not found:
        raise ModelError(
            f"'{source}' has no config.json, so it is no model. "
            "Remedy: give the directory of a checkpoint, or a name on the hub that is reachable or already in the local cache."
        )

    stored = {role: text for role, text in (settings.get("prompts") or {}).items() if isinstance(text, str) and text}
    if settings.get("model_type") == "MultiVectorEncoder":
        kind: CheckpointFormat = "sentence-transformers"
        markers = [match[0] if (match := _LEADING_MARKER.match(stored.get(role, ""))) else "" for role in ("query", "document")]
    elif settings.get("model_type") == "ColBERT" or {"query_prefix", "document_prefix"} <= settings.keys():
        kind = "pylate"
        markers = [settings.get("query_prefix", "[Q] ") or "", settings.get("document_prefix", "[D] ") or ""]
        if not any(module.get("type", "").rpartition(".")[2] == "Dense" for module in modules):
            raise ModelError(
                f"'{source}' is marked as a ColBERT model but has no projection (no Dense module in modules.json): "
                "it would be given an untrained one. Remedy: use the complete checkpoint."
            )
    elif "HF_ColBERT" in (config.get("architectures") or []):
        kind = "stanford"
        artifact: dict[str, Any] = read("artifact.metadata") or {}
        markers = [
            (artifact.get("query_token_id") or "[unused0]") + " ",
            (artifact.get("doc_token_id") or "[unused1]") + " ",
        ]
    else:
        what = settings.get("model_type") or ", ".join(config.get("architectures") or ["model without architecture"])
        raise ModelError(
            f"'{source}' is no late-interaction checkpoint but a {what}: as one it would be given an untrained projection. "
            "Remedy: use it as an ordinary encoder, or give a checkpoint that PyLate, Stanford ColBERT or sentence-transformers' "
            "MultiVectorEncoder saved."
        )

    if Path(source).is_dir():
        if revision is not None:
            raise ModelError(f"'{source}' is a directory, which has no revision '{revision}'. Remedy: leave the revision out.")
        name, revision = local_name(Path(source)), content_revision(Path(source))
    else:
        name, revision = source, revision or _commit(next(iter(found.values())))
    prompts = {
        role: text.removeprefix(markers[0] if role == "query" else markers[1] if role == "document" else "")
        for role, text in stored.items()
    }
    size = backbone.get("vocab_size")
    return Checkpoint(
        source=source,
        name=name,
        revision=revision,
        format=kind,
        query_marker=markers[0],
        document_marker=markers[1],
        prompts={role: text for role, text in prompts.items() if text},
        skip_words=tuple(settings.get("skiplist_words", string.punctuation)),
        vocabulary=size if isinstance(size, int) else None,
    )


def _commit(path: str) -> str:
    """Commit of a file in the hub's local cache, ``.../snapshots/<commit>/...``."""
    parts = Path(path).parts
    if "snapshots" not in parts:
        raise ModelError(f"the revision of {path} is unknown. Remedy: name the revision (a commit of the repository).")
    return parts[parts.index("snapshots") + 1]


def is_late_interaction(model: str | Path, revision: str | None = None) -> bool:
    """Whether a directory or hub name holds a late-interaction checkpoint.

    Such a checkpoint must not be loaded as a ``SentenceTransformer``, which silently drops its projection.
    """
    try:
        inspect_checkpoint(model, revision)
    except ModelError:
        return False
    return True


# --- Backends ----------------------------------------------------------------------------------------------------------------


def available_backends() -> tuple[Backend, ...]:
    """Backends that this environment has, preferred one first. No environment can have both: they need different
    versions of sentence-transformers."""
    try:
        major = int(version("sentence-transformers").split(".")[0])
    except PackageNotFoundError:
        return ()
    if major >= 6:
        return ("sentence-transformers",)
    return ("pylate",) if importlib.util.find_spec("pylate") else ()


def _choose_backend(wanted: Backend | None) -> Backend:
    available = available_backends()
    if wanted is not None and wanted not in get_args(Backend):
        raise ModelError(f"unknown backend '{wanted}'. Remedy: one of {', '.join(get_args(Backend))}.")
    if not available or (wanted is not None and wanted not in available):
        raise ModelError(
            f"late interaction needs {wanted or 'a backend'}, which is not installed here. Remedy: pip install "
            '"sentence-transformers>=6", or, in an environment of its own, "pylate==1.6.0" "sentence-transformers==5.3.0".'
        )
    return wanted or available[0]


@dataclass(frozen=True)
class _Overrides:
    """Settings of a checkpoint that the caller replaces; None keeps the checkpoint's own."""

    query_marker: str | None = None
    document_marker: str | None = None
    query_length: int | None = None
    document_length: int | None = None
    attend_to_expansion: bool | None = None
    trust_remote_code: bool = False


# Settings of mteb's own entry; the checkpoint's files do not carry them all.
_KNOWN = {
    "jinaai/jina-colbert-v2": _Overrides(
        query_marker="[QueryMarker] ", document_marker="[DocumentMarker] ", attend_to_expansion=True, trust_remote_code=True
    ),
}


class _TokenEncoder(Protocol):
    dimension: int
    document_length: int | None

    def encode(self, texts: list[str], *, is_query: bool, prompt: str, batch_size: int) -> list[NDArray[np.float32]]: ...


def _check_markers(checkpoint: Checkpoint, markers: Iterable[str], ids: Iterable[int | None], unknown: int | None) -> None:
    for marker, token in zip(markers, ids, strict=True):
        fresh = checkpoint.vocabulary is not None and token is not None and token >= checkpoint.vocabulary
        if marker and (token is None or token == unknown or fresh):
            raise ModelError(
                f"the marker '{marker}' of '{checkpoint.source}' is not in the vocabulary of its tokenizer, so it has no trained "
                "vector. Remedy: name the checkpoint's own markers with query_marker= and document_marker=."
            )


class _PyLateEncoder:
    def __init__(self, checkpoint: Checkpoint, overrides: _Overrides, device: str, revision: str | None) -> None:
        from pylate.models import ColBERT

        if checkpoint.format == "sentence-transformers":
            raise ModelError(
                f"'{checkpoint.source}' was saved by sentence-transformers' MultiVectorEncoder, which PyLate cannot load. "
                "Remedy: use an environment with sentence-transformers >= 6."
            )
        markers = (
            checkpoint.query_marker if overrides.query_marker is None else overrides.query_marker,
            checkpoint.document_marker if overrides.document_marker is None else overrides.document_marker,
        )
        if checkpoint.format == "stanford":
            markers = (markers[0].rstrip(), markers[1].rstrip())
        self._model = ColBERT(
            checkpoint.source,
            revision=revision,
            device=device,
            trust_remote_code=overrides.trust_remote_code,
            query_prefix=markers[0],
            document_prefix=markers[1],
            query_length=overrides.query_length,
            document_length=overrides.document_length,
            attend_to_expansion_tokens=overrides.attend_to_expansion,
        )
        model = self._model
        unknown = model.tokenizer.unk_token_id
        _check_markers(checkpoint, markers, (model.query_prefix_id, model.document_prefix_id), unknown)
        # A skip word outside the vocabulary would otherwise drop every unknown token of a document.
        model.skiplist = [token for token in model.skiplist if token != unknown]
        model.default_prompt_name = None
        model.float()
        self.dimension = int(model[-1].out_features)
        self.document_length = model.document_length

    def encode(self, texts: list[str], *, is_query: bool, prompt: str, batch_size: int) -> list[NDArray[np.float32]]:
        found = self._model.encode(
            texts, is_query=is_query, prompt=prompt or None, batch_size=batch_size, show_progress_bar=False, convert_to_numpy=True
        )
        return [np.asarray(vectors, dtype=np.float32) for vectors in found]


class _SentenceTransformersEncoder:
    def __init__(self, checkpoint: Checkpoint, overrides: _Overrides, device: str, revision: str | None) -> None:
        from sentence_transformers import MultiVectorEncoder
        from sentence_transformers.base.modules import Transformer

        model = MultiVectorEncoder(
            checkpoint.source, revision=revision, device=device, trust_remote_code=overrides.trust_remote_code
        )
        self._model = model
        self._complete(checkpoint)
        backbone = next(module for module in model if isinstance(module, Transformer))
        expansion = backbone.query_expansion
        if expansion is not None:
            changes = {"length": overrides.query_length, "attend": overrides.attend_to_expansion}
            backbone.query_expansion = {**expansion, **{key: value for key, value in changes.items() if value is not None}}
        elif overrides.query_length is not None:
            backbone.query_length = overrides.query_length
        if overrides.document_length is not None:
            backbone.document_length = overrides.document_length
        elif backbone.document_length is None and checkpoint.format != "sentence-transformers":
            backbone.document_length = 180  # PyLate's default, for a checkpoint that does not say
        self._markers = (
            checkpoint.query_marker if overrides.query_marker is None else overrides.query_marker,
            checkpoint.document_marker if overrides.document_marker is None else overrides.document_marker,
        )
        if checkpoint.format != "sentence-transformers":
            _check_markers(
                checkpoint, self._markers, [self._marker_token(marker) for marker in self._markers], model.tokenizer.unk_token_id
            )
        model.float()
        self.dimension = int(model.get_embedding_dimension())
        self.document_length = backbone.document_length or model.max_seq_length

    def _complete(self, checkpoint: Checkpoint) -> None:
        """Mask and normalisation for a checkpoint that is both Stanford's and PyLate's: sentence-transformers 6.2 loads its
        modules as they are listed, without the two that PyLate keeps in code."""
        from sentence_transformers.base.modules import Normalize
        from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

        if checkpoint.format == "sentence-transformers" or any(isinstance(module, MultiVectorMask) for module in self._model):
            return
        mask = MultiVectorMask(skiplist_words=list(checkpoint.skip_words))
        mask.resolve_with_tokenizer(self._model.tokenizer)
        self._model.append(mask)
        self._model.append(Normalize(module_input_name="token_embeddings"))

    def _marker_token(self, marker: str) -> int | None:
        """Id of a marker as one token; None if the tokenizer does not know it. Makes the tokenizer keep it in one piece."""
        from transformers import AddedToken

        tokenizer = self._model.tokenizer
        for text in (marker, marker.strip()):
            if text and text in tokenizer.get_vocab():
                if tokenizer.tokenize(text) != [text]:
                    token = AddedToken(text, normalized=False, special=True)
                    tokenizer.add_special_tokens({"additional_special_tokens": [token]}, replace_additional_special_tokens=False)
                return int(tokenizer.convert_tokens_to_ids(text))
        return None

    def encode(self, texts: list[str], *, is_query: bool, prompt: str, batch_size: int) -> list[NDArray[np.float32]]:
        encode = self._model.encode_query if is_query else self._model.encode_document
        # A prompt replaces the stored one and with it the marker, so the marker is written in front of it.
        prompt = (self._markers[0] if is_query else self._markers[1]) + prompt
        found = encode(texts, prompt=prompt, batch_size=batch_size, show_progress_bar=False, convert_to_numpy=True)
        return [np.asarray(vectors, dtype=np.float32) for vectors in found]


_ENCODERS = {"pylate": _PyLateEncoder, "sentence-transformers": _SentenceTransformersEncoder}


# --- MaxSim ------------------------------------------------------------------------------------------------------------------

# Similarities of one matrix product. On a CPU they should stay in the cache between the product and the maximum; a GPU wants
# them large. Measured in benchmarks/maxsim.py.
_BLOCK_ELEMENTS = {"cpu": 1_250_000, "cuda": 1 << 27}
_BAG_VECTORS = {"cpu": 2_400, "cuda": 1 << 16}
_QUERY_VECTORS = 1 << 15
_PADDING = 1.1


@dataclass(frozen=True)
class _Bag:
    """Texts of similar length, padded to one: vectors (texts, length, dim), and the texts' positions in the input."""

    positions: torch.Tensor
    vectors: torch.Tensor


def _bags(
    tokens: Sequence[NDArray[np.float32]], *, limit: int, pad_with_first: bool, dtype: ScoreDtype, device: str
) -> Iterator[_Bag]:
    """Group texts by length into bags of at most ``limit`` token vectors (at least one text) and little padding.

    Padding never changes a score: a document repeats its first token, which leaves a maximum alone; a query gets zero vectors,
    whose maximum adds zero.
    """
    import torch

    lengths = np.array([len(vectors) for vectors in tokens])
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        longest = _PADDING * lengths[order[start]]
        while stop < len(order) and lengths[order[stop]] <= min(longest, limit / (stop - start + 1)):
            stop += 1
        members = order[start:stop]
        padded = np.zeros((len(members), lengths[members[-1]], tokens[members[0]].shape[1]), dtype=np.float32)
        for row, member in enumerate(members):
            vectors = tokens[member]
            padded[row, : len(vectors)] = vectors
            if pad_with_first:
                padded[row, len(vectors) :] = vectors[0]
        yield _Bag(torch.from_numpy(members).to(device), torch.from_numpy(padded).to(device=device, dtype=getattr(torch, dtype)))
        start = stop


class _Scorer:
    """MaxSim of bags, with one reused buffer for the similarities."""

    def __init__(self, dtype: ScoreDtype, device: str, memory_budget: int) -> None:
        import torch

        kind = "cpu" if device.startswith("cpu") else "cuda"
        self.dtype: ScoreDtype = dtype
        self.device = device
        item = 4 if dtype == "float32" else 2
        self._block = max(1, min(_BLOCK_ELEMENTS[kind], memory_budget // (4 * item)))
        self._limit = min(_BAG_VECTORS[kind], self._block)
        self._buffer = torch.empty(0, dtype=getattr(torch, dtype), device=device)

    def query_bags(self, tokens: Sequence[NDArray[np.float32]]) -> list[_Bag]:
        limit = max(1, min(_QUERY_VECTORS, self._block))
        return list(_bags(tokens, limit=limit, pad_with_first=False, dtype=self.dtype, device=self.device))

    def document_bags(self, tokens: Sequence[NDArray[np.float32]]) -> list[_Bag]:
        return list(_bags(tokens, limit=self._limit, pad_with_first=True, dtype=self.dtype, device=self.device))

    def __call__(self, queries: _Bag, documents: Sequence[_Bag], n_documents: int) -> torch.Tensor:
        """Scores of every query of a bag against all documents: (queries in the bag, n_documents) float32."""
        import torch

        n_queries, query_length, dimension = queries.vectors.shape
        query_tokens = queries.vectors.reshape(-1, dimension)
        scores = torch.empty((n_queries, n_documents), dtype=torch.float32, device=self.device)
        for bag in documents:
            count, length, _ = bag.vectors.shape
            document_tokens = bag.vectors.reshape(-1, dimension)
            best = torch.empty((count, len(query_tokens)), dtype=self._buffer.dtype, device=self.device)
            width = max(1, self._block // len(document_tokens))
            for start in range(0, len(query_tokens), width):
                part = query_tokens[start : start + width]
                similarities = self._view(len(document_tokens), len(part))
                torch.mm(document_tokens, part.T, out=similarities)
                torch.amax(similarities.view(count, length, len(part)), dim=1, out=best[:, start : start + width])
            scores[:, bag.positions] = best.view(count, n_queries, query_length).sum(-1, dtype=torch.float32).T
        if not bool(torch.isfinite(scores).all()):
            raise ModelError("a MaxSim score is not a finite number: the model returned token vectors with NaN or infinity.")
        return scores

    def _view(self, rows: int, columns: int) -> torch.Tensor:
        if self._buffer.numel() < rows * columns:
            self._buffer = self._buffer.new_empty(rows * columns)
        return self._buffer[: rows * columns].view(rows, columns)


def _check_tokens(tokens: Sequence[NDArray[np.float32]], what: str, first: int = 0) -> None:
    for position, vectors in enumerate(tokens):
        if vectors.ndim != 2 or not len(vectors):
            raise ModelError(
                f"{what} number {first + position + 1} has no token vectors (shape {vectors.shape}), so it has no score."
            )


def maxsim(
    queries: Sequence[NDArray[np.float32]],
    documents: Sequence[NDArray[np.float32]],
    *,
    dtype: ScoreDtype = "float32",
    device: str = "cpu",
    memory_budget: int = MEMORY_BUDGET,
) -> NDArray[np.float32]:
    """Exact MaxSim of every query with every document (WIPO-AT equation 3).

    Args:
        queries: token vectors of each query, (tokens, dim); lengths may differ.
        documents: token vectors of each document.
        dtype: type of the dot products. "bfloat16" is about twice as fast on processors that have it, with scores good to
            about three digits; the sum over query tokens is always float32.
        device: torch device.
        memory_budget: bytes that similarities may take (a quarter of it at most is used for one block).

    Returns:
        Scores (queries, documents), float32.

    Raises:
        ModelError: a text without token vectors, or a score that is not finite.
    """
    _check_tokens(queries, "query")
    _check_tokens(documents, "document")
    scores = np.empty((len(queries), len(documents)), dtype=np.float32)
    scorer = _Scorer(dtype, device, memory_budget)
    bags = scorer.document_bags(documents)
    for bag in scorer.query_bags(queries):
        scores[bag.positions.cpu().numpy()] = scorer(bag, bags, len(documents)).cpu().numpy()
    return scores


class _TopK:
    """The best k documents of every query, kept while documents come in chunks.

    A score and the rank of its document id become one integer, score first, so that the k largest integers are the k best
    documents, equal scores ordered by document id, descending, as in mteb's evaluation.
    """

    def __init__(self, ids: Sequence[str], n_queries: int, k: int, device: str) -> None:
        import torch

        order = sorted(range(len(ids)), key=ids.__getitem__)
        self._ids = [ids[position] for position in order]
        ranks = np.empty(len(ids), dtype=np.int64)
        ranks[order] = np.arange(len(ids))
        self._ranks = torch.from_numpy(ranks).to(device)
        self._empty = torch.iinfo(torch.int64).min
        self._keys = torch.full((n_queries, min(k, len(ids))), self._empty, dtype=torch.int64, device=device)

    def add(self, queries: torch.Tensor, documents: torch.Tensor, scores: torch.Tensor) -> None:
        """Enter scores (queries, documents), given the positions of both."""
        import torch

        bits = (scores + 0.0).view(torch.int32).to(torch.int64)  # + 0.0 turns -0.0 into 0.0
        ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
        keys = (ordered << 32) | self._ranks[documents]
        merged = torch.cat((self._keys[queries], keys), dim=1)
        self._keys[queries] = merged.topk(self._keys.shape[1], dim=1, sorted=False).values

    def results(self) -> Iterator[dict[str, float]]:
        """Document id to score for every query, best first."""
        import torch

        keys = self._keys.sort(dim=1, descending=True).values
        ordered = keys >> 32
        bits = torch.where(ordered < 0, ordered ^ 0x7FFFFFFF, ordered).to(torch.int32)
        scores = bits.view(torch.float32).cpu()
        ranks = (keys & 0xFFFFFFFF).cpu()
        counts = (keys != self._empty).sum(dim=1).cpu()
        for query, count in enumerate(counts.tolist()):
            documents = (self._ids[rank] for rank in ranks[query, :count].tolist())
            yield dict(zip(documents, scores[query, :count].tolist(), strict=True))


# --- The model ---------------------------------------------------------------------------------------------------------------


def _texts(dataset: Any, task_metadata: TaskMetadata, prompt_type: PromptType, num_proc: int | None) -> list[str]:
    """Texts of a query or corpus table, prepared by mteb (title in front of the text, instructions behind the query)."""
    from mteb._create_dataloaders import create_dataloader

    loader = create_dataloader(dataset, task_metadata=task_metadata, prompt_type=prompt_type, batch_size=256, num_proc=num_proc)
    return [text for batch in loader for text in cast("dict[str, list[str]]", batch)["text"]]


def _default_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


class LateInteraction:
    """A ColBERT checkpoint as an mteb model.

    Retrieval and reranking tasks use exact MaxSim (``index``, ``search``). Everything else (classification, clustering, ...)
    uses ``encode``: the mean of a text's token vectors, d = 1/n sum d_j over the vectors that MaxSim would use, encoded as a
    document, so without the query's [MASK] expansion (WIPO-AT section 3.3.4). The paper does not say whether the mean is
    normalised again; its formula has no such step and neither has this. ``similarity`` compares such means by cosine.

    Prompts are resolved as for every mteb model (``{task}-{query|document}``, ``{task}``, ``{type}-...``, ``{type}``, ``query``
    or ``document``) and stand behind the query or document marker, never in its place. Without any the checkpoint's stored
    prompts apply; ``encode`` falls back to the document prompt, because it encodes documents.

    Args:
        model_name: directory of a checkpoint, or its name on the hub.
        revision: commit on the hub.
        device: torch device; CUDA if there is one.
        backend: "sentence-transformers" (>= 6) or "pylate"; None takes what is installed. Token vectors are the same, so the
            backend is recorded in ``loader_kwargs`` but is no part of the model's identity.
        dtype: type of the dot products of MaxSim, "float32" or "bfloat16". Encoding is always float32.
        memory_budget: bytes of working memory of a search (document tokens in flight, similarities, scores). The model, all
            query tokens and the top k come on top. Does not change a score.
        model_prompts: prompts that replace the checkpoint's own.
        query_marker, document_marker, query_length, document_length, attend_to_expansion: replace the checkpoint's settings.
        trust_remote_code: let the checkpoint run its own code.
        maxsim: "exact", the only kind; part of the identity, so that results are never mixed with mteb's own entry of the same
            checkpoint, which searches an approximate index.

    Raises:
        ModelError: no late-interaction checkpoint, no backend, unknown markers, or prompts that mteb cannot resolve.
    """

    mteb_model_meta: ModelMeta

    def __init__(
        self,
        model_name: str | Path,
        revision: str | None = None,
        *,
        device: str | None = None,
        backend: Backend | None = None,
        dtype: ScoreDtype = "float32",
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
        if dtype not in get_args(ScoreDtype):
            raise ModelError(f"unknown dtype '{dtype}'. Remedy: one of {', '.join(get_args(ScoreDtype))}.")
        if maxsim != "exact":
            raise ModelError(f"unknown maxsim '{maxsim}'. Remedy: 'exact' is the only kind.")
        if memory_budget < 1 << 20:
            raise ModelError(f"a memory budget of {memory_budget} bytes is too small. Remedy: at least {1 << 20} (1 MiB).")
        self.backend: Backend = _choose_backend(backend)
        self.checkpoint = inspect_checkpoint(model_name, revision)
        self.device = device or _default_device()
        self.dtype: ScoreDtype = dtype
        self.memory_budget = memory_budget
        given = {
            "query_marker": query_marker,
            "document_marker": document_marker,
            "query_length": query_length,
            "document_length": document_length,
            "attend_to_expansion": attend_to_expansion,
        }
        given = {key: value for key, value in given.items() if value is not None}
        overrides = replace(_KNOWN.get(str(model_name), _Overrides(trust_remote_code=trust_remote_code)), **given)
        from safetensors import SafetensorError

        self.model_prompts = _check_prompts(self.checkpoint, model_prompts)
        try:
            self._encoder: _TokenEncoder = _ENCODERS[self.backend](self.checkpoint, overrides, self.device, revision)
        except (KeyError, OSError, RuntimeError, SafetensorError, ValueError) as error:
            raise ModelError(f"{self.backend} cannot load '{model_name}': {error}") from error
        self._indexed: tuple[CorpusDatasetType, list[str]] | None = None
        experiment = {"dtype": dtype, "maxsim": maxsim, **given}
        if model_prompts:
            experiment["model_prompts"] = dict(model_prompts)
        self.mteb_model_meta = _model_meta(
            self.checkpoint,
            experiment,
            {"backend": self.backend, "trust_remote_code": overrides.trust_remote_code},
            self._encoder,
        )

    def encode_tokens(
        self, texts: Sequence[str], *, is_query: bool, prompt: str = "", batch_size: int = 32
    ) -> list[NDArray[np.float32]]:
        """Token vectors of each text, (tokens, dim) float32, in order: the one place where texts meet the model.

        Args:
            texts: the texts, without marker and prompt.
            is_query: encode as queries (query marker, length and [MASK] expansion) or as documents (document marker and
                length, without the vectors of punctuation).
            prompt: text between marker and text.
            batch_size: texts a forward pass.
        """
        if not texts:
            return []
        return self._encoder.encode(list(texts), is_query=is_query, prompt=prompt, batch_size=batch_size)

    def encode(
        self,
        inputs: DataLoader[BatchedInput],
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        prompt_type: PromptType | None = None,
        **kwargs: Any,
    ) -> Array:
        """Mean token vector of each text, encoded as a document: (texts, dim) float32, not normalised."""
        batch_size, progress = _encode_settings(kwargs)
        prompt = get_prompt(self.model_prompts, task_metadata, prompt_type)
        if prompt is None:
            prompt = self.model_prompts.get("document", "")
        texts = [text for batch in inputs for text in cast("dict[str, list[str]]", batch)["text"]]
        step = self._documents_per_chunk()
        means = np.empty((len(texts), self._encoder.dimension), dtype=np.float32)
        for start in tqdm(range(0, len(texts), step), desc="Encoding", disable=not progress):
            tokens = self.encode_tokens(texts[start : start + step], is_query=False, prompt=prompt, batch_size=batch_size)
            _check_tokens(tokens, "text", start)
            means[start : start + len(tokens)] = [vectors.mean(axis=0) for vectors in tokens]
        return means

    def similarity(self, embeddings1: Array, embeddings2: Array) -> Array:
        """Cosine of every pair of mean vectors, (texts 1, texts 2)."""
        from mteb.similarity_functions import cos_sim

        return cos_sim(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Array, embeddings2: Array) -> Array:
        """Cosine of each mean vector of the first with that of the second, (texts,)."""
        from mteb.similarity_functions import pairwise_cos_sim

        return pairwise_cos_sim(embeddings1, embeddings2)

    def index(
        self,
        corpus: CorpusDatasetType,
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        encode_kwargs: EncodeKwargs,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Remember the corpus. Its documents are encoded in chunks during the search and never held all at once."""
        ids = list(corpus["id"])
        if len(set(ids)) != len(ids):
            twice = Counter(ids).most_common(1)[0][0]
            raise DataError(
                f"document id '{twice}' occurs more than once in the corpus of {task_metadata.name}",
                remedy="keep one of the rows",
            )
        self._indexed = corpus, ids

    def search(
        self,
        queries: QueryDatasetType,
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        top_k: int,
        encode_kwargs: EncodeKwargs,
        top_ranked: TopRankedDocumentsType | None = None,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> RetrievalOutputType:
        """The ``top_k`` documents of every query by exact MaxSim: query id -> document id -> score, best first.

        With ``top_ranked`` (reranking tasks) only a query's own candidates are scored, and only their documents encoded.
        """
        import torch

        if self._indexed is None:
            raise ModelError("search before index: there is no corpus. Remedy: call index(corpus, ...) first.")
        corpus, ids = self._indexed
        batch_size, progress = _encode_settings(dict(encode_kwargs))
        query_ids = list(queries["id"])
        prompts = {kind: get_prompt(self.model_prompts, task_metadata, kind) or "" for kind in PromptType}
        query_tokens = self.encode_tokens(
            _texts(queries, task_metadata, PromptType.query, num_proc),
            is_query=True,
            prompt=prompts[PromptType.query],
            batch_size=batch_size,
        )
        _check_tokens(query_tokens, "query")

        positions = np.arange(len(ids))
        candidates: list[NDArray[np.int64]] | None = None
        if top_ranked is not None:
            candidates = _candidates(top_ranked, query_ids, ids, task_metadata.name)
            positions = np.unique(np.concatenate([*candidates, np.empty(0, dtype=np.int64)]))
        scorer = _Scorer(self.dtype, self.device, self.memory_budget)
        best = _TopK([ids[position] for position in positions], len(query_ids), top_k, self.device)
        query_bags = scorer.query_bags(query_tokens) if candidates is None else []
        step = self._documents_per_chunk(max((len(bag.positions) for bag in query_bags), default=1))
        for start in tqdm(range(0, len(positions), step), desc="MaxSim search", disable=not progress):
            chunk = positions[start : start + step]
            documents = self.encode_tokens(
                _texts(corpus.select(chunk), task_metadata, PromptType.document, num_proc),
                is_query=False,
                prompt=prompts[PromptType.document],
                batch_size=batch_size,
            )
            _check_tokens(documents, "document", start)
            if candidates is None:
                document_bags = scorer.document_bags(documents)
                rows = torch.arange(start, start + len(documents), device=self.device)
                for bag in query_bags:
                    best.add(bag.positions, rows, scorer(bag, document_bags, len(documents)))
            else:
                _rerank(scorer, best, query_tokens, candidates, chunk, documents, start)
        self._indexed = None
        return dict(zip(query_ids, best.results(), strict=True))

    def _documents_per_chunk(self, n_queries: int = 1) -> int:
        """Documents encoded at a time: half of the budget holds their token vectors twice (as encoded and as padded), a
        quarter the scores of the largest query bag and their ranking (48 bytes a pair)."""
        vectors = 2 * 4 * (self._encoder.document_length or 512) * self._encoder.dimension
        return max(1, min(self.memory_budget // 2 // vectors, self.memory_budget // 4 // (48 * n_queries)))


def _candidates(
    top_ranked: TopRankedDocumentsType, query_ids: Sequence[str], ids: Sequence[str], task: str
) -> list[NDArray[np.int64]]:
    """Corpus positions of every query's candidates, ascending and distinct; none for a query without a list."""
    position = {name: row for row, name in enumerate(ids)}
    found = []
    for query in query_ids:
        names = top_ranked.get(query, [])
        if missing := [name for name in names if name not in position]:
            raise DataError(
                f"the candidates of query '{query}' of {task} name document '{missing[0]}', which is not in the corpus",
                remedy="remove it from the candidates, or add the document",
            )
        found.append(np.unique(np.array([position[name] for name in names], dtype=np.int64)))
    return found


def _rerank(
    scorer: _Scorer,
    best: _TopK,
    queries: Sequence[NDArray[np.float32]],
    candidates: Sequence[NDArray[np.int64]],
    chunk: NDArray[np.int64],
    documents: Sequence[NDArray[np.float32]],
    start: int,
) -> None:
    """Enter the scores of every query with those of its candidates that are in the chunk."""
    import torch

    for query, wanted in enumerate(candidates):
        local = np.flatnonzero(np.isin(chunk, wanted, assume_unique=True))
        if not len(local):
            continue
        (bag,) = scorer.query_bags([queries[query]])
        scores = scorer(bag, scorer.document_bags([documents[row] for row in local]), len(local))
        columns = torch.from_numpy(local + start).to(scores.device)
        best.add(torch.tensor([query], device=scores.device), columns, scores)


def _encode_settings(kwargs: dict[str, Any]) -> tuple[int, bool]:
    """Batch size and progress bar of mteb's encode_kwargs."""
    if kwargs.get("precision") not in (None, "float32"):
        raise ModelError(
            f"late interaction has no precision={kwargs['precision']!r}. Remedy: leave it out; dtype='bfloat16' of the model "
            "makes the search faster."
        )
    return int(kwargs.get("batch_size", 32)), bool(kwargs.get("show_progress_bar", True))


def _check_prompts(checkpoint: Checkpoint, given: Mapping[str, str] | None) -> dict[str, str]:
    """The prompts in force: the caller's, else the checkpoint's own for queries and documents."""
    if given is None:
        own = checkpoint.prompts
        names = (("query", ("query",)), ("document", ("document", "passage", "corpus")))
        return {role: next((own[alias] for alias in aliases if alias in own), "") for role, aliases in names}
    if wrong := [key for key, text in given.items() if not isinstance(text, str)]:
        raise ModelError(
            f"the prompt '{wrong[0]}' is no text. Remedy: give one text a key, such as 'PatentCitationRetrieval-query'."
        )
    try:
        AbsEncoder.validate_task_to_prompt_name(dict(given))
    except KeyError as error:
        raise ModelError(f"a prompt of '{checkpoint.source}' has a key that mteb does not know: {error}") from error
    return dict(given)


def _load_local(path: Path, name: str, revision: str | None = None, **kwargs: Any) -> LateInteraction:
    return LateInteraction(path, **kwargs)


def _model_meta(checkpoint: Checkpoint, experiment: dict[str, Any], loading: dict[str, Any], encoder: _TokenEncoder) -> ModelMeta:
    """Identity of the search: mteb's entry of the checkpoint if it has one, with our loader and settings."""
    import mteb

    local = Path(checkpoint.source).is_dir()
    try:
        known = mteb.get_model_meta(checkpoint.name).model_dump() if not local else {}
    except KeyError:
        known = {}
    own = {
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
    return ModelMeta.create_empty({**empty, **known, **own})


def late_interaction(
    model_name_or_dir: str | Path,
    revision: str | None = None,
    backend: Backend | None = None,
    dtype: ScoreDtype = "float32",
    **settings: Any,
) -> LateInteraction:
    """Exact late-interaction search with a checkpoint from the hub or from a directory.

    The three models of the WIPO-AT paper (jinaai/jina-colbert-v2, colbert-ir/colbertv2.0, answerdotai/answerai-colbert-small-v1)
    get the revision that mteb or this package has pinned and the settings they need.

    Args:
        model_name_or_dir: name on the hub or directory.
        revision: commit on the hub; None takes the pinned one, or the one in the local cache. A directory has none.
        backend, dtype, settings: see :class:`LateInteraction`.

    Raises:
        ModelError: see :class:`LateInteraction`.
    """
    import mteb

    name = str(model_name_or_dir)
    if not Path(name).is_dir():
        pinned = {meta.name: meta.revision for meta in METAS}
        try:
            revision = revision or pinned.get(name) or mteb.get_model_meta(name).revision
        except KeyError:
            revision = None
    return LateInteraction(model_name_or_dir, revision, backend=backend, dtype=dtype, **settings)


METAS: tuple[ModelMeta, ...] = (
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
"""Models of the paper that mteb does not know. jina-colbert-v2 and colbertv2.0 are in mteb under their own names, with an
approximate index; :func:`late_interaction` builds the exact search for them."""
