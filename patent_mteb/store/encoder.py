"""An mteb encoder with a store: every distinct text is encoded once.

Scores are the same with and without the store: it returns the vectors of the model bit for bit (in fp32). A vector of a
transformer depends in its last bits on the padding of its batch. New texts therefore go to a sentence-transformers
model in the batches that stock mteb would form, unless ``batch_tokens`` requests batches by tokens (:mod:`.batches`).
Where a call repeats a text, or finds some of its texts in the store, vectors differ by about 1e-7 from those of another
run, as in stock mteb between two tasks or batch sizes, but never within one store.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import CompressionWrapper, EncoderProtocol, SentenceTransformerEncoderWrapper
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray
from tqdm.auto import tqdm

from patent_mteb.errors import ModelError
from patent_mteb.files import read_json
from patent_mteb.identity import json_digest
from patent_mteb.model_identity.loaded import DIGESTS, NamedModel, check, effective_kwargs, model_facts, note
from patent_mteb.model_identity.prompts import Facts, Prompt, facts_of, placed, plain, resolve, weightless
from patent_mteb.store.batches import as_array, as_matrix, loader_of, rows_of, texts_of, token_lengths, within_budget
from patent_mteb.store.codecs import Codec
from patent_mteb.store.company import check_company
from patent_mteb.store.keys import Keys, distinct, hash_texts
from patent_mteb.store.locks import claimed_groups, grouped
from patent_mteb.store.space import DTYPES, Space
from patent_mteb.store.store import EmbeddingStore, open_store

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

__all__ = ["UNWRITTEN_SECONDS", "StoredEncoder", "stored"]
logger = logging.getLogger(__name__)
_NAME = 30  # characters, so that counts and the time left fit 80 columns
LOG_SECONDS = 60.0  # without a terminal: seconds before the first line of progress, and between two


@dataclass
class Stats:
    """Counts of an encoder."""

    texts: int = 0  # that tasks requested
    encoded: int = 0  # texts that the model encoded
    characters: int = 0  # of the encoded texts, without prompts
    passed_through: int = 0  # calls that bypassed the store (images, sound, a precision of the call)


def progress_bar(name: str, total: int | None, reused: int, shown: bool) -> Any:
    """A bar over ``total`` texts (None: unknown), ``reused`` of which are stored."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    pace = {} if watched else {"delay": LOG_SECONDS, "mininterval": LOG_SECONDS, "maxinterval": LOG_SECONDS}
    return tqdm(total=total, initial=reused, desc=name[:_NAME], unit="text", disable=not shown, **pace)


_UNNAMED = frozenset({None, "", "no_model_name/available", "no_revision_available"})


def as_encoder(model: Any) -> Any:
    if not hasattr(model, "mteb_model_meta"):
        from sentence_transformers import SentenceTransformer

        if isinstance(model, SentenceTransformer):
            model = note(SentenceTransformerEncoderWrapper(model))
    if isinstance(model, CompressionWrapper):
        raise ModelError(
            "its quantised vectors depend on all texts of a call and cannot be stored one by one",
            remedy="stored(patent_mteb.models.Quantised(model, 'int8')), which is calibrated once",
        )
    named = isinstance(getattr(model, "mteb_model_meta", None), (ModelMeta, type(None)))
    if isinstance(model, type) or not named or not isinstance(model, EncoderProtocol):
        raise ModelError(
            f"{type(model).__name__} is not an encoder (it lacks encode, similarity, similarity_pairwise or"
            " mteb_model_meta)",
            remedy=(
                "pass an mteb encoder, a SentenceTransformer or a ModelMeta; search models and cross-encoders need"
                " no store"
            ),
        )
    return model


def checked_meta(meta: ModelMeta | None, kind: str) -> ModelMeta:
    """Return the metadata of a model that has vectors, a name and a revision."""
    unnamed = meta is None or meta.name in _UNNAMED
    if meta is None or unnamed or meta.revision in _UNNAMED:
        raise ModelError(
            f"{kind} has no {'name' if unnamed else 'revision'}, so its vectors could be taken for those of another"
            " model",
            remedy=(
                "load it through a ModelMeta with a name and a revision (for a local checkpoint a hash of its"
                " content), or set model.mteb_model_meta = model.mteb_model_meta.model_copy(update={'name':"
                " 'organisation/model', 'revision': '...'}) on its mteb encoder"
            ),
        )
    if meta.is_cross_encoder:
        raise ModelError(f"{meta.name} is a cross-encoder, it has no vectors", remedy="use it without the store")
    if "sparse" in meta.model_type:
        raise ModelError(f"{meta.name} gives sparse vectors, which are not stored", remedy="use it without the store")
    return meta


_BUDGET = "batch_tokens"
_FACTS_FORMAT = 3  # version of the facts about a model in the store; older ones are not compared
UNWRITTEN_SECONDS = 15.0  # seconds after which vectors are written before their group is complete


_WHERE = ("task_metadata", "hf_split", "hf_subset", "prompt_type")


@dataclass(frozen=True)
class Plan:
    """One call of ``encode``."""

    inputs: Any
    texts: list[str]
    where: Mapping[str, Any]  # task, split, subset and role
    kwargs: Mapping[str, Any]  # all other arguments
    facts: Facts
    prompt: Prompt
    space: Space
    keys: Keys  # of its texts
    first: NDArray[np.int64]  # first positions of distinct texts
    stored: NDArray[np.bool_]  # which of these are stored


def stored(
    model: Any, path: Path | str | EmbeddingStore | None = None, dtype: str = "float32", *, chunk_texts: int = 512
) -> Any:
    """Wrap an encoder so that each distinct text is encoded once.

    Tasks, processes and runs share the vectors. A model with its own kind of vectors (``with_store``: late interaction
    has token vectors) saves these in the same store.

    Args:
        model: an mteb encoder, a ``SentenceTransformer``, or a ``ModelMeta``. The model of a ``ModelMeta`` is loaded
            only when a text has to be encoded: if all texts are stored, its weights are never read.
        path: directory of the store, or an open one. Default: ``PATENT_MTEB_STORE`` or the user cache.
        dtype: ``float32`` saves the vectors unchanged; ``float16`` halves the disk, rounds, and is part of the model's
            identity in the results (``experiment_kwargs={"store_dtype": "float16"}``).
        chunk_texts: texts between two writes. A kill loses at most this number of texts, and with a slow model 15
            seconds and the running call.

    Raises:
        ModelError: the model is not an encoder, or has no name or revision that identifies its vectors.

    Example:
        >>> import mteb
        >>> import patent_mteb
        >>> model = stored(mteb.get_model("mteb/baseline-random-encoder"), "store")
        >>> runs = [patent_mteb.rank(model, "PatentMapAbsToAbsRetrieval.sample") for _ in range(2)]
        >>> model.stats.encoded < model.stats.texts / 2  # the second run encodes nothing
        True
    """
    if isinstance(model, ModelMeta) and "late-interaction" in model.model_type:
        model = model.load_model()
    if hasattr(model, "with_store"):
        return model.with_store(path, dtype)
    return StoredEncoder(model, open_store(path), dtype, chunk_texts=chunk_texts)


class StoredEncoder(NamedModel):
    """An mteb encoder in front of an :class:`EmbeddingStore`; see :func:`stored`.

    A custom encoder may define ``store_prompt(task_metadata, prompt_type) -> str``, the prompt that it puts before a
    text, so that tasks share its vectors. Its vectors must then depend on the prompt and the text only. It may also
    define ``store_settings``, a mapping of the settings that change its vectors. ``resolve`` names the encoders of mteb
    that need neither.
    """

    stores_vectors = True  # and checks them, as its callers need not

    def __init__(
        self,
        model: Any,
        store: EmbeddingStore,
        dtype: str = "float32",
        *,
        chunk_texts: int = 512,
        codec: Codec | None = None,
    ) -> None:
        if chunk_texts < 1:
            raise ValueError(f"chunk_texts must be positive, got {chunk_texts}")
        if dtype not in DTYPES:
            raise ValueError(f"dtype {dtype!r} is not one of {', '.join(DTYPES)}")
        if (dtype == "int8") != (codec is not None):
            raise ModelError(
                "only quantised vectors are stored as bytes",
                remedy="stored(patent_mteb.models.Quantised(model, 'int8'))",
            )
        if isinstance(model, StoredEncoder):
            raise ModelError(f"{model.mteb_model_meta.name} has a store already", remedy="pass the model itself")
        self.store = store
        self.dtype = dtype
        self._codec = codec
        self.stats = Stats()
        self.prompts_used: dict[tuple[str, str | None], str] = {}
        self._chunk_texts = chunk_texts
        self._model: Any = None
        if isinstance(model, ModelMeta):
            meta = placed(model)
        else:
            self._model = as_encoder(model)
            check(self._model)
            meta = self._model.mteb_model_meta
        self._meta = checked_meta(meta, type(model).__name__)
        self._doubles: dict[str, Any] = {}
        self.mteb_model_meta = self._meta
        if dtype == "float16":
            kwargs = {**(self._meta.experiment_kwargs or {}), "store_dtype": dtype}
            self.mteb_model_meta = self._meta.model_copy(update={"experiment_kwargs": kwargs})

    @property
    def model(self) -> Any:
        """The wrapped encoder; one that was given as a ModelMeta is loaded now.

        Raises:
            ModelError: its loader does not return an encoder, or loads other files than its identity states.
        """
        if self._model is None:
            model = note(as_encoder(self._meta.load_model()))
            if (found := model.mteb_model_meta.revision) != self._meta.revision:
                raise ModelError(
                    f"{self._meta.name}: its files were changed before they were loaded, they are {found} and not"
                    f" {self._meta.revision}, under which its vectors would be stored",
                    remedy="start again, and do not change them meanwhile",
                )
            self._model = model
            facts, digests = facts_of(self._model, self._model.mteb_model_meta), model_facts(self._model)
            known = {"model": self._meta.name, "revision": self._meta.revision}
            known |= {name: digests[name] for name in DIGESTS}
            self.store.write_document(self._facts_path(), {**known, **asdict(facts)})
        return self._model

    @property
    def loaded(self) -> bool:
        """Whether the weights are loaded."""
        return self._model is not None

    def encode(self, inputs: DataLoader[Any], *, task_metadata: TaskMetadata, **kwargs: Any) -> Any:
        """Vectors of the texts, [n, width]; arguments as in mteb's ``EncoderProtocol``.

        Returns:
            An fp32 array (whatever the type in the store), or a memory map if it exceeds the store's ``memory_limit``;
                a tensor with ``convert_to_tensor``.

        Raises:
            ModelError: the model did not return one finite vector of one width for each text. None of them is stored.
        """
        arguments = {"task_metadata": task_metadata, **kwargs}
        texts = texts_of(inputs)
        if texts is None or kwargs.get("precision") not in (None, "float32"):
            self.stats.passed_through += 1
            arguments.pop(_BUDGET, None)
            logger.info("%s on %s bypasses the store", self._meta.name, task_metadata.name)
            return self.model.encode(inputs, **arguments)
        plan = self.plan(inputs, texts, arguments)

        def encode(missing: NDArray[np.int64]) -> None:
            self.encode_batches(plan, self.batches(plan, missing))

        vectors = plan.space.filled(plan.keys, encode, "float32")
        self.stats.texts += len(texts)
        if self._codec is not None:
            return self._codec.value(vectors)
        if kwargs.get("convert_to_tensor"):
            import torch

            return torch.as_tensor(vectors)
        return vectors

    def lookup(self, inputs: DataLoader[Any], **arguments: Any) -> tuple[Keys, NDArray[np.bool_]]:
        """Return the keys of distinct texts, and whether each is stored; encode nothing.

        The arguments are those of :meth:`encode`.
        """
        plan = self._plan(inputs, texts_of(inputs) or [], arguments)
        return plan.keys, plan.space.contains(plan.keys)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Similarity of every pair, as the wrapped model computes it."""
        return self._comparer().similarity(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Similarity of the pairs of equal position, as the wrapped model computes it."""
        return self._comparer().similarity_pairwise(embeddings1, embeddings2)

    def _comparer(self) -> Any:
        double = None if self.loaded else self._double(self.facts())
        return self.model if double is None else double

    def _double(self, facts: Facts) -> Any | None:
        digest = json_digest(asdict(facts))
        if digest not in self._doubles:
            self._doubles[digest] = weightless(self._meta, facts)
        return self._doubles[digest]

    def facts(self) -> Facts:
        """Facts about the loaded model, else those saved when it was last loaded."""
        if self.loaded:
            return facts_of(self._model, self._model.mteb_model_meta)
        return Facts.read(self._record()) or facts_of(self.model, self.model.mteb_model_meta)

    def note(self, name: str, value: Any) -> None:
        """Save a value with the facts about the model, if there are any."""
        if (record := self._record()) and record.get(name) != value:
            self.store.write_document(self._facts_path(), {**record, name: value})

    def noted(self, name: str) -> Any:
        """Return a value that was saved with the facts about the model, or None."""
        return self._record().get(name)

    def _record(self) -> dict[str, Any]:
        written = read_json(self._facts_path())
        return written if isinstance(written, dict) else {}

    def _facts_path(self) -> Path:
        meta = self._meta
        settings = [plain(value) for value in (meta.loader, meta.loader_kwargs, meta.experiment_kwargs)]
        declared = [meta.name, meta.revision, *settings]
        # the libraries that resolve prompts and read checkpoints
        versions = [version(name) for name in ("mteb", "sentence-transformers", "transformers")]
        return self.store.path / "models" / f"{json_digest([declared, versions, _FACTS_FORMAT])}.json"

    def plan(self, inputs: Any, texts: list[str], arguments: Mapping[str, Any]) -> Plan:
        """Return the keys of a call and which are stored.

        The model is loaded if a text is missing: only then are its settings certain.
        """
        plan = self._plan(inputs, texts, arguments)
        if plan.stored.all():
            return plan
        if self.loaded:
            check(self._model)  # its vectors are stored under what it was when it was loaded
            return plan
        _ = self.model
        return self._plan(inputs, texts, arguments)

    def _plan(self, inputs: Any, texts: list[str], arguments: Mapping[str, Any]) -> Plan:
        where: dict[str, Any] = {name: arguments.get(name) for name in _WHERE}
        kwargs = {name: value for name, value in arguments.items() if name not in _WHERE}
        facts = self.facts()
        resolver = self._model if self.loaded else self._double(facts)
        if resolver is None and facts.kind != "unknown":
            resolver = self.model
        task: Any = where["task_metadata"]
        prompt = resolve(resolver, facts, task, where["prompt_type"], where["hf_split"], where["hf_subset"])
        if facts.kind != "unknown":
            self.prompts_used[task.name, where["prompt_type"]] = prompt.text
        identity = {
            "model": self._meta.name,
            "revision": self._meta.revision,
            "settings": facts.settings,
            "encode_kwargs": effective_kwargs(kwargs),
        }
        if self._codec is not None:
            identity["codec"] = dict(self._codec.settings)
        space = self.store.space(identity, self.dtype)
        keys = hash_texts(rows_of(inputs, texts) if prompt.whole_row else texts, prompt.text, prompt.context)
        first = distinct(keys)
        return Plan(inputs, texts, where, kwargs, facts, prompt, space, keys, first, space.contains(keys[first]))

    def batches(self, plan: Plan, chosen: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Split the positions ``chosen`` into the batches that the model gets.

        A vector depends in its last bits on its batch.
        """
        texts, kwargs = plan.texts, plan.kwargs
        if (budget := kwargs.get(_BUDGET)) is not None:
            lengths = token_lengths(self.model, [plan.prompt.text + texts[i] for i in chosen])
            return [chosen[batch] for batch in within_budget(lengths, int(budget))]
        batch_size = _batch_size(plan)
        call_size = max(1, self._chunk_texts // batch_size) * batch_size
        if plan.facts.core is not None:
            chosen = chosen[np.argsort([-len(texts[i]) for i in chosen])]
            if kwargs.get("pool") is None and not isinstance(kwargs.get("device"), list):
                call_size = batch_size
        return [chosen[start : start + call_size] for start in range(0, len(chosen), call_size)]

    def encode_batches(
        self, plan: Plan, batches: list[NDArray[np.int64]], known: NDArray[np.int64] | None = None
    ) -> None:
        """Encode batches that no other process encodes, and write them by group or every 15 seconds.

        With ``known``, positions whose vectors are stored already, batches are encoded completely.
        """
        task, size = plan.where["task_metadata"].name, sum(map(len, batches))
        passed = {name: value for name, value in plan.kwargs.items() if name not in ("precision", _BUDGET)}
        passed["show_progress_bar"] = False
        pending: list[tuple[NDArray[np.int64], NDArray[Any]]] = []
        done, reused = 0, len(plan.first) - size
        groups = claimed_groups(
            plan.space.directory,
            plan.keys,
            grouped(batches, self._chunk_texts),
            plan.space.contains,
            full_batches=known is not None,
        )
        shown = plan.kwargs.get("show_progress_bar", True)
        with (
            contextlib.closing(groups),
            progress_bar(f"{task}, {self._meta.name}", len(plan.first), reused, shown) as progress,
        ):
            for group in groups:
                written = time.monotonic()
                try:
                    for chosen in group:
                        passed["batch_size"] = _batch_size(plan) if plan.kwargs.get(_BUDGET) is None else len(chosen)
                        loader = loader_of(plan.inputs, plan.texts, chosen, passed["batch_size"], plan.prompt.whole_row)
                        width = pending[0][1].shape[1] if pending else plan.space.width
                        vectors = self.model.encode(loader, **plan.where, **passed)
                        checked = self._checked(vectors, len(chosen), plan.space, width, task)
                        again = partial(self._again, plan, chosen, passed)
                        texts = partial(_texts_at, plan.texts, chosen)
                        check_company(checked, texts, again, f"{self._meta.name} on {task}")
                        pending.append((chosen, checked))
                        done += len(chosen)
                        progress.set_postfix(encoded=done, reused=reused, to_go=size - done, refresh=False)
                        progress.update(len(chosen))
                        if time.monotonic() - written > UNWRITTEN_SECONDS:
                            self._write(plan, pending, known)
                            written = time.monotonic()
                finally:
                    if pending:
                        self._write(plan, pending, known)

    def _again(
        self, plan: Plan, chosen: NDArray[np.int64], arguments: Mapping[str, Any], rows: NDArray[np.int64]
    ) -> Any:
        """Vectors of some texts of a batch, in a call of their own."""
        loader = loader_of(plan.inputs, plan.texts, chosen[rows], arguments["batch_size"], plan.prompt.whole_row)
        return self.model.encode(loader, **plan.where, **arguments)

    def _write(self, plan: Plan, pending: list[tuple[Any, Any]], known: NDArray[np.int64] | None) -> None:
        chosen, vectors = (np.concatenate(parts) for parts in zip(*pending, strict=True))
        pending.clear()
        if known is not None:
            new = ~np.isin(chosen, known)
            chosen, vectors = chosen[new], vectors[new]
        plan.space.append(plan.keys[chosen], vectors)
        self.stats.encoded += len(chosen)
        self.stats.characters += sum(len(plan.texts[i]) for i in chosen)

    def _checked(self, vectors: Any, count: int, space: Space, width: int, task: str) -> NDArray[Any]:
        """Return the vectors of ``count`` texts as an array of the store's type."""
        blame = f"{self._meta.name} on {task}"
        vectors = as_array(as_matrix(vectors, count, blame))
        if not np.issubdtype(vectors.dtype, np.floating):
            raise ModelError(
                f"{blame}: vectors of {vectors.dtype} are not stored", remedy="run the model without the store"
            )
        if width and vectors.shape[1] != width:
            raise ModelError(
                f"{blame}: the model gave vectors of {vectors.shape[1]} dimensions, where it gave vectors of {width}"
                " before. Nothing of it was stored",
                remedy="correct the model, or give it another name or revision",
            )
        with np.errstate(over="ignore"):
            converted: NDArray[Any] = vectors.astype(space.dtype if self._codec is None else np.float32, copy=False)
        if bad := int((~np.isfinite(converted).all(axis=1)).sum()):
            what = "NaN or infinite values" if not np.isfinite(vectors).all() else f"values beyond {self.dtype}"
            raise ModelError(
                f"{blame}: {what} in {bad} of {count} vectors. Nothing of them was stored",
                remedy="load the model in a wider type (fp32 or bf16 instead of fp16), or look at its input",
            )
        return converted if self._codec is None else self._codec.code(converted)


def _texts_at(texts: list[str], chosen: NDArray[np.int64], rows: NDArray[np.int64]) -> list[str]:
    return [texts[i] for i in chosen[rows]]


def _batch_size(plan: Plan) -> int:
    return int(plan.kwargs.get("batch_size") or getattr(plan.inputs, "batch_size", None) or 32)
