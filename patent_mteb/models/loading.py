"""From what a user names (a hub id, a registered name, a directory) to an mteb model with an identity of its own.

Late-interaction models that mteb knows, searched exactly.

mteb searches ColBERT checkpoints with PyLate's approximate index, which needs another sentence-transformers than the
suite's default. :func:`exact` gives such an entry the suite's own loader: exact MaxSim, with either backend
(:mod:`patent_mteb.search.late_interaction`). The plain ``mteb`` command keeps mteb's entry; the two are told apart by
``maxsim=exact``.

What the files of a checkpoint directory say of the model, without loading it.

An encoder under the papers' settings: a cap on its tokens, fewer layers, edited inputs, each part of its identity.

Caps of the papers: 512 tokens for all models of Sophia-Bench (§4.2) and of DAPFAM's reference scores, 8,192 for
PatenTEB. A model that reads fewer tokens anyway is not changed by a cap, and keeps its identity.

An encoder behind an ``/embeddings`` address of the OpenAI protocol (vLLM, TEI, llama.cpp, Ollama, hosted models),
for ``-m --server``.

The identity is the model's name at the server, the settings, and the revision that the user states: with one, the same
model may move between servers; without one the address stands in its place, so that two servers never share vectors or
results. What the server computes with (type of number, batches) it does not say, so the revision is the place to say
it. In front of the store a run asks for no text twice, and goes on after a kill where it stopped.

Checkpoints of ``patent-mteb train``: what their leak check found goes with the model into its results.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from mteb.models import SentenceTransformerEncoderWrapper
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.models.sentence_transformer_wrapper import SparseEncoderWrapper
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from patent_mteb.endpoints.client import Endpoint, EndpointError
from patent_mteb.errors import ModelError, did_you_mean
from patent_mteb.files import read_json
from patent_mteb.identity import content_revision, digest, local_name
from patent_mteb.models.checkpoints import CHECKPOINTS
from patent_mteb.models.quantised import VECTOR_PRECISIONS, Quantised
from patent_mteb.models.registry import PatentEncoder, without_prompts
from patent_mteb.models.robustness import InputVariant, pruned, with_settings
from patent_mteb.models.zero_shot import local_nli_meta
from patent_mteb.search.colbert import KNOWN_SETTINGS, is_late_interaction
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.search.sparse import SparseSearch
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store.settings import LiveIdentity, note

__all__ = ["BACKENDS", "PRECISIONS", "find_meta", "kind_of_checkpoint", "load"]


_LOADER = "mteb.models.model_implementations.pylate_models.MultiVectorModel"

_UNDERSTOOD = {"trust_remote_code"}


def exact(meta: ModelMeta) -> ModelMeta:
    """The entry with exact search, if it is one of mteb's ColBERT checkpoints for texts; any other as it is."""
    loader = f"{getattr(meta.loader, '__module__', '')}.{getattr(meta.loader, '__qualname__', '')}"
    known = meta.name in KNOWN_SETTINGS
    if loader != _LOADER or meta.experiment_kwargs or not (known or set(meta.loader_kwargs) <= _UNDERSTOOD):
        return meta
    return meta.model_copy(
        update={
            "loader": LateInteraction,
            "loader_kwargs": {} if known else dict(meta.loader_kwargs),
            "experiment_kwargs": {"dtype": "float32", "maxsim": "exact"},
            "extra_requirements_groups": None,
        }
    )


_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I16": 2, "I8": 1, "U8": 1}

_BUFFERS = ("I64", "I32", "BOOL")
"""Types of what is kept beside weights, such as the numbers of positions."""

_SIMILARITIES = {"cosine": ScoringFunction.COSINE, "dot": ScoringFunction.DOT_PRODUCT}
"""Those that mteb computes itself; with any other it asks the model, if its description says none."""

_EMBEDDINGS = (
    "word_embeddings.weight",
    "embed_tokens.weight",
    "wte.weight",
    "tok_embeddings.weight",
    "shared.weight",
    "embedding.weight",
)


def folder_facts(folder: Path) -> dict[str, Any]:
    """Fields of mteb's ``ModelMeta`` that can be read: dimensions, tokens, parameters, memory, similarity; what cannot
    is left out.
    """
    modules = read_json(folder / "modules.json") or []
    inner = folder / next(
        (str(one.get("path", "")) for one in modules if one.get("type", "").endswith("Transformer")), ""
    )
    config = _first(inner / "config.json", folder / "config.json")
    read = _first(inner / "sentence_bert_config.json", folder / "sentence_bert_config.json")
    widths = [_width(folder / str(one.get("path", "")), str(one.get("type", ""))) for one in modules]
    told = _first(folder / "config_sentence_transformers.json")
    found = {
        "embed_dim": next((width for width in reversed(widths) if width), None) or config.get("hidden_size"),
        "max_tokens": read.get("max_seq_length") or config.get("max_position_embeddings"),
        "similarity_fn_name": _SIMILARITIES.get(str(told.get("similarity_fn_name"))),
        **_weights(folder),
    }
    return {name: value for name, value in found.items() if value is not None}


def _first(*paths: Path) -> dict[str, Any]:
    """The first of some files that holds a JSON object."""
    return next((found for path in paths if isinstance(found := read_json(path), dict)), {})


def _width(folder: Path, kind: str) -> int | None:
    """Width of what a module gives: a projection's, that of the pooled vectors, or that of a table of word vectors."""
    if kind.endswith("StaticEmbedding"):
        return _table_width(folder / "model.safetensors")
    config = _first(folder / "config.json")
    return config.get("out_features") or config.get("word_embedding_dimension") or config.get("embedding_dimension")


def _table_width(path: Path) -> int | None:
    try:
        with safe_open(path, "np") as weights:
            return int(weights.get_slice("embedding.weight").get_shape()[1])
    except (SafetensorError, OSError):
        return None


def _weights(folder: Path) -> dict[str, Any]:
    """Numbers of parameters and the memory that they take, by the headers of the files of weights."""
    total, embedded, size = 0, 0, 0
    try:
        for path in sorted(folder.rglob("*.safetensors")):
            with safe_open(path, "np") as weights:
                parts = ((name, weights.get_slice(name)) for name in weights.keys())  # noqa: SIM118  (no mapping)
                for name, part in ((name, part) for name, part in parts if part.get_dtype() not in _BUFFERS):
                    count = math.prod(part.get_shape())
                    total += count
                    size += count * _BYTES.get(part.get_dtype(), 4)
                    embedded += count if name.endswith(_EMBEDDINGS) else 0
    except (SafetensorError, OSError):
        return {}
    known = {"n_parameters": total, "memory_usage_mb": round(size / 2**20, 1)} if total else {}
    return {**known, "n_embedding_parameters": embedded} if embedded else known


AUTOCAST = "bfloat16-autocast"


def adjusted(
    model: Any,
    *,
    max_tokens: int | None = None,
    layers: int | None = None,
    input: str | None = None,
    autocast: bool = False,
) -> Any:
    """A loaded encoder under other settings; the given one is changed and must not be used any more."""
    if max_tokens is None and layers is None and input is None and not autocast:
        return model
    encodes: bool = is_encoder(model)
    if not encodes:
        name = model.mteb_model_meta.name
        raise ModelError(
            f"'{name}' is no encoder of texts. Remedy: leave out --max-tokens, --layers, --input and --precision"
        )
    meta, settings = model.mteb_model_meta, dict[str, Any]()
    if max_tokens is not None and _capped(_owner(model).model, max_tokens, meta.name):
        settings["max_tokens"] = max_tokens
    if layers is not None:
        owner = _owner(model)
        cut = pruned(owner.model, layers)
        if cut is not owner.model:
            owner.model, settings["layers"] = cut, layers
    if autocast:
        network = _owner(model).model
        network.forward = functools.partial(_autocast, network.forward, network.device.type)
        settings["precision"] = AUTOCAST
    if settings:
        model.mteb_model_meta = with_settings(meta, **settings)
    note(model)
    return model if input is None else InputVariant(model, input)


def _autocast(forward: Callable[..., Any], device: str, *arguments: Any, **options: Any) -> Any:
    import torch

    with torch.autocast(device, torch.bfloat16):
        return forward(*arguments, **options)


def _owner(model: Any) -> Any:
    """What holds the sentence-transformers model, the model itself or something inside it."""
    from sentence_transformers import SentenceTransformer

    owner = model
    while owner is not None:
        inner = getattr(owner, "model", None)
        if isinstance(inner, SentenceTransformer):
            return owner
        owner = inner
    name = model.mteb_model_meta.name
    raise ModelError(f"'{name}' is no sentence-transformers model. Remedy: leave out --max-tokens and --layers")


def _capped(network: Any, max_tokens: int, name: str | None) -> bool:
    """Cap the tokens of a text; whether that changes anything."""
    if isinstance(max_tokens, bool) or max_tokens < 1:
        raise ModelError(f"cannot read {max_tokens!r} tokens of a text. Remedy: give a positive whole number")
    length = network.max_seq_length
    if length is None or not math.isfinite(length):
        raise ModelError(f"'{name}' reads every token of a text and cannot be capped. Remedy: leave out --max-tokens")
    if length <= max_tokens:
        return False
    network.max_seq_length = max_tokens
    return True


_PATH = "/embeddings"


class Served(LiveIdentity, AbsEncoder):  # type: ignore[misc]
    """An mteb encoder whose vectors a server makes."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        revision: str | None = None,
        *,
        dimensions: int | None = None,
        prompts: Mapping[str, str] | None = None,
        texts_at_once: int = 32,
        at_once: int = 4,
    ) -> None:
        if min(texts_at_once, at_once, 1 if dimensions is None else dimensions) < 1:
            raise ModelError("dimensions, and texts and requests at once, are positive numbers. Remedy: give such")
        self.endpoint, self.served_model = endpoint, model
        self.dimensions, self.prompts = dimensions, dict(prompts or {})
        self.texts_at_once, self.at_once = texts_at_once, at_once
        settings = {"dimensions": dimensions} if dimensions else {}
        self.mteb_model_meta = ModelMeta.create_empty(
            {
                "name": f"served/{model.replace('/', '__')}",
                "revision": revision or f"at-{digest(endpoint.url, 8)}",
                "model_type": ["dense"],
                "similarity_fn_name": ScoringFunction.COSINE,
                "embed_dim": dimensions,
                "experiment_kwargs": {**settings, **({"prompts": self.prompts} if self.prompts else {})} or None,
            }
        )

    @property
    def store_settings(self) -> dict[str, Any]:
        """What changes vectors, beside the prompt."""
        return {"dimensions": self.dimensions}

    def store_prompt(self, task_metadata: Any, prompt_type: Any) -> str:
        """What is put before a text of this side."""
        return self.prompts.get(prompt_type.value, "") if prompt_type else ""

    def encode(
        self, inputs: Iterable[Any], *, task_metadata: Any, prompt_type: Any = None, **kwargs: Any
    ) -> NDArray[np.float32]:
        """The vectors of the texts, in their order."""
        prompt = self.store_prompt(task_metadata, prompt_type)
        texts = [prompt + text for batch in inputs for text in batch["text"]]
        requests = [texts[start : start + self.texts_at_once] for start in range(0, len(texts), self.texts_at_once)]
        with ThreadPoolExecutor(self.at_once) as pool:
            waiting = [pool.submit(self._vectors, request) for request in requests]
            try:
                found = [one.result() for one in waiting]
            finally:
                for one in waiting:
                    one.cancel()
        if len({vectors.shape[1] for vectors in found}) > 1:
            raise self._unusable(f"vectors of {sorted({vectors.shape[1] for vectors in found})} dimensions")
        return np.concatenate(found) if found else np.zeros((0, self.dimensions or 1), np.float32)

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body = {"model": self.served_model, "input": list(texts), "encoding_format": "float"}
        answer = self.endpoint.post_json(_PATH, body | ({"dimensions": self.dimensions} if self.dimensions else {}))
        try:
            rows = {int(row["index"]): row["embedding"] for row in answer["data"]}
            vectors = np.array([rows[number] for number in range(len(texts))], np.float32)
        except (KeyError, TypeError, ValueError):
            raise self._unusable(f"no vector for each of {len(texts)} texts") from None
        if vectors.ndim != 2 or len(rows) != len(texts) or (self.dimensions and vectors.shape[1] != self.dimensions):
            raise self._unusable(f"{len(rows)} vectors of shape {vectors.shape[1:]} for {len(texts)} texts")
        return vectors

    def _unusable(self, what: str) -> EndpointError:
        return EndpointError(
            f"{self.endpoint.url}{_PATH} answered {what} by {self.served_model}. "
            "Remedy: see that the model embeds texts, and in as many dimensions as were asked for"
        )


RECORD = "patent_mteb_training.json"
"""File of a checkpoint that says how it was trained."""


class TrainedMeta(ModelMeta):
    """The facts of a model with the record of its leak check in a phrase."""

    contamination: str | None = None


def training_record(folder: Path) -> dict[str, Any] | None:
    """How a checkpoint was trained, None for one that was not trained here."""
    found = read_json(folder / RECORD)
    return found if isinstance(found, dict) else None


WEIGHTS = ("float32", "bfloat16", "float16")

PRECISIONS = (*WEIGHTS, AUTOCAST, *VECTOR_PRECISIONS)
"""Of an encoder's weights, of its products, or of its vectors (:class:`~patent_mteb.models.quantised.Quantised`)."""


BACKENDS: dict[str, tuple[str, ...]] = {
    "torch": (),
    "onnx": ("optimum", "onnxruntime"),
    "openvino": ("optimum", "openvino"),
}
"""What can run an encoder, with the packages that it needs."""


_BARE_ENCODERS = ("Model", "ForMaskedLM", "ForPreTraining")
"""Architectures whose tokens sentence-transformers averages where a checkpoint does not say what becomes of them."""


_SHORT_NAMES = {"bm25": "patent-mteb/bm25-bm25s", "bm25-dapfam": "patent-mteb/bm25-dapfam"}


def kind_of_checkpoint(folder: Path) -> str:
    """What a checkpoint directory holds: ``encoder``, ``sparse``, ``late-interaction``, ``cross-encoder``, or ``nli``
    for a cross-encoder that has a class named *entailment*.
    """
    if is_late_interaction(folder):
        return "late-interaction"
    modules = folder / "modules.json"
    config = folder / "config.json"
    if not modules.is_file() and not config.is_file():
        raise ModelError(
            f"{folder} holds no checkpoint (neither modules.json nor config.json). Remedy: name the directory that does"
        )
    try:
        settings = folder / "config_sentence_transformers.json"
        model_type = json.loads(settings.read_text("utf-8")).get("model_type", "") if settings.is_file() else ""
        types = (
            [module.get("type", "") for module in json.loads(modules.read_text("utf-8"))] if modules.is_file() else []
        )
        configured = json.loads(config.read_text("utf-8")) if config.is_file() else {}
        architectures = configured.get("architectures") or [""]
        classes = {str(name).lower() for name in configured.get("label2id") or ()}
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelError(
            f"the configuration of the checkpoint {folder} cannot be read ({error}). Remedy: copy it again"
        ) from error
    if model_type == "CrossEncoder" or (not types and "ForSequenceClassification" in architectures[0]):
        return "nli" if "entailment" in classes else "cross-encoder"
    if model_type == "SparseEncoder" or any("sparse_encoder" in one for one in types):
        return "sparse"
    if model_type not in ("", "SentenceTransformer") or (not types and not architectures[0].endswith(_BARE_ENCODERS)):
        known = (
            f"model_type '{model_type}'" if model_type else f"architecture '{architectures[0]}' without modules.json"
        )
        raise ModelError(
            f"{folder} holds a model that is not known to embed texts ({known}). "
            "Remedy: save it with sentence-transformers, whose modules.json says how tokens become a vector"
        )
    return "encoder"


class LocalEncoder(LiveIdentity, SentenceTransformerEncoderWrapper):  # type: ignore[misc]
    """The encoder of a checkpoint directory."""

    stored_as = f"{SentenceTransformerEncoderWrapper.__module__}.{SentenceTransformerEncoderWrapper.__qualname__}"
    """Stores of the first version know it by this class."""


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

    try:
        model = SentenceTransformer(folder, device=device, **kwargs)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelError(
            f"the checkpoint {folder} cannot be loaded as a sentence-transformers model: {error}"
        ) from error
    encoder = PatentEncoder(model) if prompted else LocalEncoder(model)
    encoder.loaded_revision = content_revision(Path(folder))
    return note(encoder)


def _load_sparse(
    model_name: str, revision: str | None, device: str | None = None, *, folder: str, **kwargs: Any
) -> Any:
    from sentence_transformers import SparseEncoder

    try:
        model = SparseEncoder(folder, device=device, **kwargs)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelError(f"the checkpoint {folder} cannot be loaded as a sparse encoder: {error}") from error
    wrapper = SparseEncoderWrapper(model)
    facts = {"name": local_name(Path(folder)), "revision": content_revision(Path(folder)), "model_type": ["sparse"]}
    wrapper.mteb_model_meta = ModelMeta.create_empty(facts)
    search = SparseSearch(wrapper)
    search.loaded_revision = content_revision(Path(folder))
    return search


def local_meta(folder: Path) -> ModelMeta:
    """ModelMeta of a checkpoint directory: its name is the directory's, its revision the hash of its content."""
    kind = kind_of_checkpoint(folder)
    common = {"name": local_name(folder), "revision": content_revision(folder), "open_weights": None}
    if kind == "late-interaction":
        from patent_mteb.search.late_interaction import late_interaction

        meta: ModelMeta = late_interaction(str(folder)).mteb_model_meta
        return meta
    if kind == "nli":
        return local_nli_meta(folder)
    if kind == "sparse":
        sparse = {"loader": functools.partial(_load_sparse, folder=str(folder)), "model_type": ["sparse"]}
        return ModelMeta.create_empty({**common, **sparse, "framework": ["Sentence Transformers"]})
    if kind == "cross-encoder":
        from mteb.models.sentence_transformer_wrapper import CrossEncoderWrapper

        def loader(model_name: str, revision: str | None, device: str | None = None, **kwargs: Any) -> Any:
            return CrossEncoderWrapper(str(folder), device=device, **kwargs)

        return ModelMeta.create_empty({**common, "loader": loader, "model_type": ["cross-encoder"]})
    loader = functools.partial(_load_encoder, folder=str(folder))
    facts = {**common, **folder_facts(folder), "loader": loader, "framework": ["Sentence Transformers"]}
    if (record := training_record(folder)) is not None:
        if record.get("prompts") == "table11":
            facts |= {"loader": functools.partial(loader, prompted=True), "use_instructions": True}
        return TrainedMeta.create_empty({**facts, "contamination": record.get("contamination")})
    return ModelMeta.create_empty(facts)


def find_meta(name: str, revision: str | None = None) -> ModelMeta:
    """The ModelMeta of a directory, of a model that mteb or this suite knows, or of any model on the hub; ColBERT
    models search exactly.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise ModelError(
                f"the directory {name} has no revision {revision}: its content is its revision. Remedy: leave out the"
                " revision"
            )
        return local_meta(folder)
    if name.startswith((".", "/", "~")) or len(folder.parts) > 2:
        raise ModelError(
            f"there is no directory {name}. Remedy: name a checkpoint directory, or a model as organisation/name"
        )
    name = _SHORT_NAMES.get(name, name)
    if revision is not None and name in CHECKPOINTS and CHECKPOINTS[name].revision is None:
        return mteb.get_model_meta(name).model_copy(update={"revision": revision})
    try:
        return exact(mteb.get_model_meta(name, revision))
    except KeyError:
        pass
    except ValueError as error:
        raise ModelError(str(error)) from error
    try:
        return mteb.get_model_meta(name, revision, fetch_from_hf=True)
    except Exception as error:
        raise ModelError(
            f"mteb does not know the model '{name}'{did_you_mean(name, _known())}, it is no directory here, and the hub"
            f" did not give it ({error}). Remedy: check the name with 'patent-mteb list models', or name a directory"
        ) from error


def _known() -> list[str]:
    """The names that ``-m`` takes, with and without their organisation."""
    names = [*_SHORT_NAMES, *(str(meta.name) for meta in mteb.get_model_metas())]
    return names + [name.rpartition("/")[2] for name in names]


def _run_by(backend: str | None, attention: str | None, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of sentence-transformers for a backend and a way to compute attention."""
    if backend is not None and backend not in BACKENDS:
        raise ModelError(f"backend '{backend}' is none of {', '.join(BACKENDS)}. Remedy: choose one of them")
    if missing := [package for package in BACKENDS.get(backend or "torch", ()) if find_spec(package) is None]:
        raise ModelError(
            f"the backend {backend} needs {' and '.join(missing)}. Remedy: pip install"
            f" 'sentence-transformers[{backend}]'"
        )
    found: dict[str, Any] = {} if backend in (None, "torch") else {"backend": backend}
    if attention is not None:
        found["model_kwargs"] = {**kwargs.get("model_kwargs", {}), "attn_implementation": attention}
    return found


def _usual_attention(model: Any) -> Any:
    """The model, under the identity that it has without ``attention`` where it computes it that way anyway."""
    meta = model.mteb_model_meta
    settings = dict((meta.experiment_kwargs or {}).get("model_kwargs") or {})
    network = next((one for one in _networks(model) if hasattr(one, "_supports_sdpa")), None)
    usual = None if network is None else "sdpa" if network._supports_sdpa else "eager"
    if settings.pop("attn_implementation", None) != usual or usual is None:
        return model
    changed: dict[str, Any] = {}
    for name in ("experiment_kwargs", "loader_kwargs"):
        kept = {
            key: value for key, value in (getattr(meta, name) or {}).items() if key not in ("model_kwargs", "digest")
        }
        changed[name] = {**kept, **({"model_kwargs": settings} if settings else {})}
    model.mteb_model_meta = meta.model_copy(
        update={**changed, "experiment_kwargs": changed["experiment_kwargs"] or None}
    )
    return model


def _networks(model: Any) -> Iterator[Any]:
    from torch.nn import Module

    inner = getattr(model, "model", None)
    if isinstance(inner, Module):
        yield from inner.modules()


def load(
    name: str,
    revision: str | None = None,
    device: str | None = None,
    *,
    prompts: bool = True,
    precision: str | None = None,
    max_tokens: int | None = None,
    layers: int | None = None,
    input: str | None = None,
    server: str | None = None,
    backend: str | None = None,
    attention: str | None = None,
    **kwargs: Any,
) -> Any:
    """Load a model by what :func:`find_meta` accepts.

    Args:
        prompts: False loads a patent model of the suite without its prompts, as an identity of its own.
        max_tokens, layers, input: see :func:`~patent_mteb.models.loading.adjusted`.
        server: address of a server in the OpenAI protocol that has the model
            (:class:`~patent_mteb.models.loading.Served`).
        backend: what runs an encoder, one of :data:`BACKENDS`; ``attention``: how torch computes it (``eager``,
            ``sdpa``, ``flash_attention_2``). Each another identity, for each changes bits.
        precision: of an encoder's weights, products or vectors, one of :data:`PRECISIONS`; of the token vectors of late
            interaction, int8 only; another than float32 is an identity of its own.

    Raises:
        ModelError: the model cannot be found or loaded; says what to do.

    Example:
        >>> from patent_mteb.models.loading import load
        >>> load("bm25-dapfam").mteb_model_meta.name
        'patent-mteb/bm25-dapfam'
    """
    if server is not None:
        if (
            not prompts
            or precision not in (None, "float32")
            or any(one is not None for one in (max_tokens, layers, input))
        ):
            raise ModelError(
                "a server's model is taken as it is. Remedy: leave out --no-prompts, --precision, --max-tokens,"
                " --layers and --input"
            )
        if backend or attention:
            raise ModelError("a server computes as it likes. Remedy: leave out --backend and --attention")
        return note(Served(Endpoint(server), name, revision))
    meta = find_meta(name, revision)
    if not prompts:
        if meta.name not in CHECKPOINTS:
            raise ModelError(
                f"'{name}' is no patent model of the suite, whose prompts could be left out. Remedy: leave out"
                " --no-prompts"
            )
        meta = without_prompts(meta)
    if precision not in (None, *PRECISIONS):
        raise ModelError(f"precision '{precision}' is none of {', '.join(PRECISIONS)}. Remedy: choose one of them")
    of_tokens = precision == "int8" and "late-interaction" in meta.model_type
    if precision not in (None, "float32") and "dense" not in meta.model_type and not of_tokens:
        raise ModelError(f"'{name}' is no encoder, so it has no {precision}. Remedy: leave out --precision")
    if of_tokens:
        kwargs["vectors"] = precision
    kwargs |= _run_by(backend, attention, kwargs)
    if (backend not in (None, "torch") or attention) and "dense" not in meta.model_type:
        raise ModelError(f"'{name}' is no encoder. Remedy: leave out --backend and --attention")
    if precision in WEIGHTS[1:]:
        kwargs["model_kwargs"] = {**kwargs.get("model_kwargs", {}), "dtype": precision}
    try:
        model: Any = meta.load_model(device=device, **kwargs)
    except ModelError:
        raise
    except (Exception, SystemExit) as error:  # code of a checkpoint may give up for the whole process
        raise ModelError(
            f"the model '{name}' cannot be loaded: {error}. Remedy: without a connection to the hub, give -m a local"
            " directory"
        ) from error
    if isinstance(model, SparseEncoderWrapper):
        model = SparseSearch(model)
    if attention is not None:
        model = _usual_attention(model)
    made = adjusted(note(model), max_tokens=max_tokens, layers=layers, input=input, autocast=precision == AUTOCAST)
    return Quantised(made, precision) if precision in VECTOR_PRECISIONS and not of_tokens else made
