"""Load an mteb model by its hub id, registered name, directory or server address.

The papers cap tokens at 512 for all models of Sophia-Bench (§4.2) and for DAPFAM's reference scores, and at 8,192 for
PatenTEB. A cap above the length that the model reads changes nothing, so the identity stays the same.

Late-interaction models are searched by exact MaxSim (:mod:`patent_mteb.search.late_interaction`). mteb's own entries
use PyLate's approximate index, which needs another version of sentence-transformers. The setting ``maxsim=exact``
distinguishes the two.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from huggingface_hub import constants, try_to_load_from_cache
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import SentenceTransformerEncoderWrapper
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.models.sentence_transformer_wrapper import CrossEncoderWrapper, SparseEncoderWrapper
from mteb.types import PromptType
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from patent_mteb.data.hub import is_commit
from patent_mteb.endpoints.chat import is_count
from patent_mteb.endpoints.client import Endpoint, EndpointError
from patent_mteb.errors import ModelError, PatentMTEBError, did_you_mean
from patent_mteb.files import read_json
from patent_mteb.identity import content_revision, digest, local_name
from patent_mteb.models.checkpoints import CHECKPOINTS
from patent_mteb.models.quantised import VECTOR_PRECISIONS, Quantised, calibration_texts
from patent_mteb.models.registry import PatentEncoder
from patent_mteb.models.variants import NO_PROMPTS, InputVariant, pruned, with_settings
from patent_mteb.models.zero_shot import local_nli_meta
from patent_mteb.search.checkpoint_files import COMPARE, check_configuration, read_modules, read_settings
from patent_mteb.search.colbert import KNOWN_SETTINGS, is_late_interaction
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.search.passages import inner_models
from patent_mteb.search.sparse import SparseSearch
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store.batches import as_array, text_loader
from patent_mteb.store.canaries import TEXTS
from patent_mteb.store.resolve import ROLE_NAMES, kind_of, named_by_role, role_prompts
from patent_mteb.store.settings import LiveIdentity, leaves, network_of, note

__all__ = ["BACKENDS", "PRECISIONS", "find_meta", "kind_of_checkpoint", "load"]
logger = logging.getLogger(__name__)
_LOADER = "mteb.models.model_implementations.pylate_models.MultiVectorModel"


def exact(meta: ModelMeta) -> ModelMeta:
    """Replace the loader of one of mteb's text ColBERT checkpoints by exact search; return other entries unchanged."""
    loader = f"{getattr(meta.loader, '__module__', '')}.{getattr(meta.loader, '__qualname__', '')}"
    known = meta.name in KNOWN_SETTINGS
    if loader != _LOADER or meta.experiment_kwargs or not (known or meta.loader_kwargs.keys() <= {"trust_remote_code"}):
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


AUTOCAST = "bfloat16-autocast"


def adjusted(
    model: Any,
    *,
    max_tokens: int | None = None,
    layers: int | None = None,
    input: str | None = None,
    autocast: bool = False,
) -> Any:
    """Apply settings to a loaded encoder. The encoder is changed in place: use the returned one only."""
    if max_tokens is None and layers is None and input is None and not autocast:
        return model
    encodes: bool = is_encoder(model)
    meta, settings = model.mteb_model_meta, dict[str, Any]()
    if not encodes:
        raise ModelError(
            f"'{meta.name}' does not encode texts. Remedy: leave out --max-tokens, --layers, --input and --precision"
        )
    if max_tokens is not None and _cap_tokens(_wrapper(model).model, max_tokens, meta.name):
        settings["max_tokens"] = max_tokens
    if layers is not None:
        wrapper = _wrapper(model)
        network = pruned(wrapper.model, layers)
        if network is not wrapper.model:
            wrapper.model, settings["layers"] = network, layers
    if autocast:
        network = _wrapper(model).model
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


def _wrapper(model: Any) -> Any:
    """The innermost wrapper, whose ``model`` is a SentenceTransformer."""
    from sentence_transformers import SentenceTransformer

    for wrapper in inner_models(model):
        if isinstance(getattr(wrapper, "model", None), SentenceTransformer):
            return wrapper
    name = model.mteb_model_meta.name
    raise ModelError(f"'{name}' is not a sentence-transformers model. Remedy: leave out --max-tokens and --layers")


def _cap_tokens(network: Any, max_tokens: int, name: str | None) -> bool:
    """Cap the tokens of a text. Returns whether the cap changes anything."""
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
_BYTES_OF_CHARACTER = 4  # at most, in UTF-8; a tokenizer makes at most one token of a byte
_TOKENS_AROUND = 1000  # of an instruction that a server may put before a text


class Served(LiveIdentity, AbsEncoder):  # type: ignore[misc]
    """An encoder behind an ``/embeddings`` address of the OpenAI protocol, such as vLLM, TEI, llama.cpp or Ollama.

    The identity consists of the model's name at the server, the settings, and the revision that the user states.
    Without a revision the address takes its place, so that two servers never share vectors or results.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        revision: str | None = None,
        *,
        prompts: Mapping[str, str] | None = None,
        texts_at_once: int = 32,
        at_once: int = 4,
    ) -> None:
        self.endpoint, self.served_model, self.prompts = endpoint, model, role_prompts(prompts or {})
        if others := sorted(name for name, text in (prompts or {}).items() if text not in self.prompts.values()):
            raise ModelError(f"a served model has prompts for {' and '.join(ROLE_NAMES)}, not for {', '.join(others)}")
        self.texts_at_once, self.at_once = texts_at_once, at_once
        self.tokens: list[int | None] = []  # as the server counts them for each request; None without a possible count
        self.mteb_model_meta = ModelMeta.create_empty(
            {
                "name": f"served/{model.replace('/', '__')}",
                "revision": revision or f"at-{digest(endpoint.url, 8)}",
                "model_type": ["dense"],
                "similarity_fn_name": ScoringFunction.COSINE,
                "experiment_kwargs": {"prompts": self.prompts} if self.prompts else None,
            }
        )

    def store_prompt(self, task_metadata: Any, prompt_type: Any) -> str:
        return self.prompts.get(prompt_type.value, "") if prompt_type else ""

    def encode(
        self, inputs: Iterable[Any], *, task_metadata: Any, prompt_type: Any = None, **kwargs: Any
    ) -> NDArray[np.float32]:
        prompt = self.store_prompt(task_metadata, prompt_type)
        texts = [prompt + text for batch in inputs for text in batch["text"]]
        requests = [texts[start : start + self.texts_at_once] for start in range(0, len(texts), self.texts_at_once)]
        with ThreadPoolExecutor(self.at_once) as pool:
            blocks = list(pool.map(self._vectors, requests))  # an error cancels the requests that wait
        dims = {vectors.shape[1] for vectors in blocks}
        if len(dims) > 1:
            raise self._unusable(f"vectors of {sorted(dims)} dimensions")
        return np.concatenate(blocks) if blocks else np.zeros((0, 1), np.float32)

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body = {"model": self.served_model, "input": list(texts), "encoding_format": "float"}
        answer = self.endpoint.post_json(_PATH, body)
        used, most = answer.get("usage"), sum(_BYTES_OF_CHARACTER * len(text) + _TOKENS_AROUND for text in texts)
        count = used.get("prompt_tokens") if isinstance(used, dict) else None
        self.tokens.append(count if count and is_count(count, most) else None)
        try:
            rows = {row["index"]: row["embedding"] for row in answer["data"]}
            vectors = np.array([rows[number] for number in range(len(texts))])
        except (KeyError, TypeError, ValueError):
            raise self._unusable(f"no vector for each of {len(texts)} texts") from None
        if vectors.dtype.kind not in "fi":  # strings, truth values, null
            raise self._unusable(f"vectors of {vectors.dtype.name}")
        if vectors.ndim != 2 or len(rows) != len(texts):
            raise self._unusable(f"{len(rows)} vectors of shape {vectors.shape[1:]} for {len(texts)} texts")
        if zeros := [text for text, vector in zip(texts, vectors, strict=True) if text.strip() and not vector.any()]:
            raise self._unusable(f"vectors of zeros for {len(zeros)} of {len(texts)} texts")
        return vectors.astype(np.float32)

    def _unusable(self, what: str) -> EndpointError:
        return EndpointError(
            f"{self.endpoint.url}{_PATH} answered {what} by {self.served_model}. "
            "Remedy: check that the model embeds texts"
        )


RECORD = "patent_mteb_training.json"
"""File of a checkpoint that records its training."""


class TrainedMeta(ModelMeta):
    """ModelMeta of a checkpoint of ``patent-mteb train``, with a summary of its leak check for the results."""

    contamination: str | None = None


def training_record(folder: Path) -> dict[str, Any] | None:
    """The training record of a checkpoint of ``patent-mteb train``, None for other checkpoints."""
    record = read_json(folder / RECORD)
    return record if isinstance(record, dict) else None


WEIGHTS = ("float32", "bfloat16", "float16")
PRECISIONS = (*WEIGHTS, AUTOCAST, *VECTOR_PRECISIONS)
"""Precisions of an encoder's weights, of its products, or of its vectors (:class:`~patent_mteb.models.Quantised`)."""

BACKENDS: dict[str, tuple[str, ...]] = {
    "torch": (),
    "onnx": ("optimum", "onnxruntime"),
    "openvino": ("optimum", "openvino"),
}
"""Backends that can run an encoder, with the packages that each needs."""

_INSTALL = {
    "onnx": "use openvino: optimum-onnx 0.1 excludes the transformers 5 of sentence-transformers 6",
    "openvino": "in an environment of its own pip install . 'optimum-intel[openvino]>=2.2', with transformers 5.5",
}

_ADAPTERS = ("allenai/specter2", "allenai/specter2_classification")
_HOSTED_RERANKERS = ("cohere/rerank", "voyageai/rerank")
_BARE_ENCODERS = ("Model", "ForMaskedLM", "ForPreTraining")
"""Architectures of a bare transformer, for which sentence-transformers uses mean pooling."""
_CLASSIFIER = "ForSequenceClassification"

_FIRST_FILES, _WEIGHT_FILES = ("modules.json", "config.json"), (".safetensors", "pytorch_model.bin")
PATENTMAP = "patentmap"
SHORT_NAMES = {"bm25": "patent-mteb/bm25-auto", "bm25-dapfam": "patent-mteb/bm25-dapfam"}


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
            f"{folder} holds no checkpoint (neither modules.json nor config.json). Remedy: name a checkpoint directory"
        )
    model_type = read_settings(folder / "config_sentence_transformers.json").get("model_type") or ""
    types = [module["type"] for module in read_modules(modules)]
    configured = read_settings(config)
    architectures = configured.get("architectures") or [""]
    classes = {str(name).lower() for name in configured.get("label2id") or ()}
    if model_type == "CrossEncoder" or (not types and _CLASSIFIER in architectures[0]):
        return "nli" if "entailment" in classes else "cross-encoder"
    if model_type == "SparseEncoder" or any("sparse_encoder" in one for one in types):
        return "sparse"
    if model_type not in ("", "SentenceTransformer") or (not types and not architectures[0].endswith(_BARE_ENCODERS)):
        known = f"architecture '{architectures[0]}' without modules.json"
        if model_type:
            known = f"model_type '{model_type}'"
        raise ModelError(
            f"{folder} holds a model that is not known to embed texts ({known}). "
            "Remedy: save it with sentence-transformers, whose modules.json says how tokens become a vector"
        )
    return "encoder"


class LocalEncoder(LiveIdentity, SentenceTransformerEncoderWrapper):  # type: ignore[misc]
    """The encoder of a checkpoint directory."""


def _opened(kind: Callable[..., Any], folder: str, what: str, device: str | None, options: Mapping[str, Any]) -> Any:
    try:
        return kind(folder, device=device, **options)
    except Exception as error:  # transformers, safetensors and sentence-transformers each raise their own types
        raise ModelError(f"the checkpoint {folder} cannot be loaded as a {what} ({error}). {COMPARE}") from error


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


def find_meta(name: str, revision: str | None = None) -> ModelMeta:
    """Return the ModelMeta of a directory, of a registered model, or of any model on the hub."""
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
    name = SHORT_NAMES.get(name, name)
    if name in _ADAPTERS:
        raise ModelError(
            f"'{name}' is an adapter of allenai/specter2_base, not a model. Remedy: rank with it yourself (pip install"
            " adapters) and score the run with 'patent-mteb runs score', or name allenai/specter2_base, without the"
            " adapter"
        )
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
        if name.startswith(_HOSTED_RERANKERS):
            remedy = "rerank with its own client, and score the run with 'patent-mteb runs score'"
            raise ModelError(f"'{name}' is a hosted reranker, which is not called here. Remedy: {remedy}") from error
        ids = [str(meta.name) for meta in mteb.get_model_metas()]
        full = {one.rpartition("/")[2]: one for one in ids}
        similar = did_you_mean(name, [*full, *SHORT_NAMES, *ids], full)
        raise ModelError(
            f"unknown model '{name}'{similar}: mteb does not know it, there is no such"
            f" directory, and the hub does not provide it ({error}). Remedy: write its name on the hub, ORG/NAME (known"
            " ones: 'patent-mteb list models'), or name a directory"
        ) from error


def without_prompts(meta: ModelMeta) -> ModelMeta:
    """Return the entry of a model with the argument of the suite's own loaders that leaves its prompts out."""
    if meta.name in CHECKPOINTS:
        return with_settings(meta, **NO_PROMPTS)
    argument: dict[str, Any] = {}
    if "late-interaction" in meta.model_type:
        argument = {"model_prompts": {}}
    elif isinstance(meta, TrainedMeta):
        argument = {"prompted": False}
    return meta.model_copy(update={"loader_kwargs": {**meta.loader_kwargs, **argument}})


def _has_checkpoint_prompts(wrapper: Any) -> bool:
    return isinstance(wrapper, SparseEncoderWrapper) or kind_of(wrapper) == "sentence-transformer"


def _drop_prompts(model: Any) -> None:
    """Drop the prompts of a loaded model: with ``model_prompts={}`` mteb's wrapper uses those of the checkpoint."""
    inside = list(inner_models(model))
    if wrapper := next((one for one in inside if isinstance(one, InstructSentenceTransformerModel)), None):
        wrapper.instruction_template = _no_instruction
    elif wrapper := next((one for one in inside if _has_checkpoint_prompts(one)), None):
        wrapper.model_prompts, wrapper.model.default_prompt_name = {}, None
        wrapper.model.prompts = dict.fromkeys(wrapper.model.prompts, "")  # some of mteb's wrappers ask for one by name
    elif not isinstance(model, LateInteraction):
        raise ModelError(
            f"the prompts of '{model.mteb_model_meta.name}' cannot be left out: it is neither a patent model of the"
            " suite nor loaded by sentence-transformers. Remedy: leave out --no-prompts"
        )


def _no_instruction(instruction: str, prompt_type: PromptType | None = None) -> str:
    return ""


def _of_patentmap(instruction: str, prompt_type: PromptType | None = None) -> str:
    """The instruction that PatentMap's authors give gte-Qwen2-7B-instruct (their public code): queries only."""
    asked = "Instruct: retrieve the most similar patent given the query patent\nQuery: "
    return asked if prompt_type == PromptType.query else ""


def _backend_arguments(backend: str | None, attention: str | None, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    if backend is not None and backend not in BACKENDS:
        raise ModelError(f"unknown backend '{backend}'. Remedy: choose one of {', '.join((*BACKENDS, 'auto'))}")
    if missing := [package for package in BACKENDS.get(backend or "torch", ()) if find_spec(package) is None]:
        raise ModelError(f"the backend {backend} needs {' and '.join(missing)}. Remedy: {_INSTALL[str(backend)]}")
    arguments: dict[str, Any] = {} if backend in (None, "torch") else {"backend": backend}
    if attention is not None:
        arguments["model_kwargs"] = {**kwargs.get("model_kwargs", {}), "attn_implementation": attention}
    return arguments


def is_cached(name: str, revision: str) -> bool:
    """Whether the hub's cache holds the weights of a model at a full commit."""
    files = (
        Path(found)
        for file in _FIRST_FILES
        if isinstance(found := try_to_load_from_cache(name, file, revision=revision), str)
    )
    return is_commit(revision) and any(any(file.parent.rglob(f"*{end}")) for file in files for end in _WEIGHT_FILES)


def _loaded(meta: ModelMeta, **options: Any) -> Any:
    """Load a model; one in the hub's cache without a request, although its libraries would look for optional files."""
    if is_cached(meta.name or "", meta.revision or ""):
        online, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
        try:
            return meta.load_model(**options)
        except (OSError, ValueError) as error:
            logger.info("%s: its copy in the hub's cache is incomplete (%s)", meta.name, error)
        finally:
            constants.HF_HUB_OFFLINE = online
    return meta.load_model(**options)


_FASTER = 1.05  # ratio of speeds from which another backend is used

_PROBE = TaskMetadata(
    name="PatentMTEBBackendProbe",
    description="Texts of the sample, to compare the speed of backends.",
    dataset={"path": "patent-mteb/backend-probe", "revision": "1"},
    type="STS",
    eval_splits=["test"],
    eval_langs=["eng-Latn"],
    main_score="cosine_spearman",
)


class _LoadReports(logging.Handler):
    """Collects the weights that transformers reports, with an index of layers such as ``{0, 1}``.

    They are missing in the checkpoint, unexpected by the model, or of another size (with the sizes).
    """

    def __init__(self) -> None:
        super().__init__()
        self.missing: set[str] = set()
        self.unexpected: set[str] = set()
        self.mismatched: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = _COLOUR.sub("", record.getMessage())
        rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
        self.missing |= {row[0] for row in rows if "MISSING" in row[1:2]}
        self.unexpected |= {row[0] for row in rows if "UNEXPECTED" in row[1:2]}
        self.mismatched |= {row[0]: row[2].partition(" - ")[2] for row in rows if "MISMATCH" in row[1:2]}
        self.missing |= set(re.findall("'([^']+)'", text.partition("newly initialized:")[2]))  # transformers 4

    def names(self, network: Any, reported: Iterable[str]) -> list[str]:
        """The parameters of a network that reported names stand for."""
        patterns = [re.sub(r"\\\{[^}]*\}", r"\\d+", re.escape(name)) for name in reported]
        ends = re.compile(f"(?:.*\\.)?(?:{'|'.join(patterns)})")
        return [name for name, _ in network.named_parameters() if patterns and ends.fullmatch(name)]


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@contextlib.contextmanager
def _listening(reports: _LoadReports, name: str) -> Iterator[None]:
    source = logging.getLogger("transformers.modeling_utils")
    level, propagate, disabled = source.level, source.propagate, logging.root.manager.disable
    if disabled >= logging.WARNING:  # for all loggers
        logging.disable(logging.NOTSET)
        source.propagate = False
    if not source.isEnabledFor(logging.WARNING):  # the user silenced it
        source.setLevel(logging.WARNING)
        source.propagate = False
    source.addHandler(reports)
    try:
        yield
    except Exception as error:
        if not reports.mismatched:
            raise
        first, sizes = min(reports.mismatched.items())
        problem = f"weights of '{name}' have other sizes than its config.json states"
        raise ModelError(f"{problem} ({len(reports.mismatched)}, such as {first}: {sizes}). {COMPARE}") from error
    finally:
        logging.disable(disabled)
        source.removeHandler(reports)
        source.level, source.propagate = level, propagate


def _output(leaf: Any) -> NDArray[Any] | None:
    """What a model makes of a long and a short text, None for one that does not read texts."""
    texts = [TEXTS[0], TEXTS[-1]]
    where: dict[str, Any] = {"task_metadata": _PROBE, "hf_split": "test", "hf_subset": "default"}
    where |= {"show_progress_bar": False, "prompt_type": PromptType.document}
    if isinstance(leaf, LateInteraction):
        return np.concatenate([one for side in (True, False) for one in leaf.encode_tokens(texts, is_query=side)])
    if hasattr(leaf, "score_labels"):
        return as_array(leaf.score_labels(texts, ["pump"]))
    if hasattr(leaf, "predict"):
        del where["prompt_type"]
        return as_array(leaf.predict(text_loader(texts, 2), text_loader(texts, 2), **where)).reshape(2, -1)
    return as_array(leaf.encode(text_loader(texts, 2), **where)) if hasattr(leaf, "encode") else None


def _refuse_unused_layers(model: Any, reports: _LoadReports, folder: str) -> None:
    """Refuse a checkpoint with weights of layers that its configuration does not have."""
    layers = {name: re.sub(r"\.\d+\.", ".{}.", name) for name in reports.unexpected}
    layers = {name: pattern for name, pattern in layers.items() if ".{" in pattern}
    networks = [network for leaf in leaves(model) if (network := network_of(leaf)) is not None]
    unused = [name for name, one in sorted(layers.items()) if any(reports.names(each, [one]) for each in networks)]
    if unused:
        problem = f"the checkpoint {folder} has weights of more layers than its config.json states ({unused[0]}, …)"
        raise ModelError(f"{problem}. {COMPARE}")


def _refuse_random_weights(model: Any, reports: _LoadReports, name: str) -> None:
    """Refuse a model some of whose weights are missing, if they change what it makes of a text.

    The weights of the pooler of a BERT checkpoint are often missing, and no embedding depends on them.
    """
    if not reports.missing:
        return
    for leaf in leaves(model):
        network = network_of(leaf)
        names = [] if network is None else reports.names(network, reports.missing)
        weights = {key: network.get_parameter(key).data for key in names}
        if weights and _depends_on(leaf, weights):
            raise ModelError(
                f"{name} has no weights for {', '.join(sorted(reports.missing))[:300]}: they were initialised at"
                f" random, and its output depends on them. {COMPARE}"
            )


def _depends_on(leaf: Any, weights: Mapping[str, Any]) -> bool:
    """Whether a model's output depends on weights. Some may leave scores saturated, but not their negative, too."""
    import torch

    before, originals = _output(leaf), {key: weight.clone() for key, weight in weights.items()}
    found = False
    for far in (_FAR, -_FAR):
        for weight in weights.values():  # not a constant, which a layer norm would remove
            weight.copy_(torch.linspace(-far / 2, far, weight.numel()).reshape(weight.shape))
        after = _output(leaf)
        if before is not None and after is not None:
            found = found or not np.allclose(before, after, atol=_UNCHANGED, rtol=0)
    for key, weight in weights.items():
        weight.copy_(originals[key])
    return found


_FAR = 10.0  # far from weights, which are about 0.02, so that attention changes too
_UNCHANGED = 1e-5  # largest difference of two equal computations, which a GPU may sum in another order


def _is_encoder(leaf: Any) -> bool:
    return hasattr(leaf, "encode") or isinstance(leaf, LateInteraction)


def _say_what_is_guessed(network: Any, folder: str) -> None:
    """Name what transformers decides by the model type, because the files do not say it or say something unknown."""
    config = next((each.config for each in network.modules() if hasattr(each, "config")), None)
    if config is None:
        return
    named, family = (config.architectures or [""])[0], type(config).__name__.removesuffix("Config")
    if named.endswith((*_BARE_ENCODERS, _CLASSIFIER)) and not named.startswith(family):
        logger.warning("%s: config.json names the architecture %s, but it is loaded as %s", folder, named, family)
    if not any(Path(folder).rglob("tokenizer_config.json")):
        what = "letter case, control tokens and the greatest length are the defaults of transformers"
        logger.warning("%s has no tokenizer_config.json, so %s for %s", folder, what, family)


def _checked_output(model: Any, folder: str) -> None:
    """Let a checkpoint read two texts, so that a wrong configuration ends here and not in the first task."""
    transformer = (Path(folder) / "config.json").is_file()  # a table of word vectors may know no word of the texts
    try:
        for leaf in leaves(model):
            if (network := network_of(leaf)) is not None:
                _say_what_is_guessed(network, folder)
                weights = list(network.parameters())
                if weights and not any(bool(weight.any()) for weight in weights):
                    raise ModelError(f"all weights of the checkpoint {folder} are 0. {COMPARE}")
            output = _output(leaf)
            if output is not None and not np.isfinite(output).all():
                raise ModelError(f"the checkpoint {folder} gives NaN or infinite numbers for a text. {COMPARE}")
            if output is not None and transformer and _is_encoder(leaf) and (output == output[0]).all():
                raise ModelError(f"the checkpoint {folder} gives different texts the same vector. {COMPARE}")
    except PatentMTEBError:
        raise
    except Exception as error:
        problem = f"the checkpoint {folder} is loaded but cannot read a text ({type(error).__name__}: {error})"
        raise ModelError(f"{problem}. {COMPARE}") from error


def fastest(load_with: Callable[..., Any], precision: str | None = None) -> Any:
    """Load an encoder with the backend that encodes 64 texts fastest on this machine.

    Compared are torch, bfloat16-autocast (unless a precision is given), and the installed ones of :data:`BACKENDS`.
    Another than torch must be 5% faster. Its setting is part of the identity, so results of two machines may have
    different names.

    Args:
        load_with: :func:`load` with all arguments but ``backend`` and ``precision``.
    """
    candidates: dict[str, dict[str, Any]] = {"torch": {"precision": precision}}
    if precision is None:
        candidates[AUTOCAST] = {"precision": AUTOCAST}
    installed = [name for name, packages in BACKENDS.items() if packages and all(map(find_spec, packages))]
    candidates |= {name: {"precision": precision, "backend": name} for name in installed}
    texts = calibration_texts()[:64]
    chosen, best, speed, exact = "torch", None, 0.0, None
    for name, options in candidates.items():
        try:
            model = load_with(**options)
            vectors, found = _measured(model, texts)
        except ModelError as error:
            if best is None:
                raise
            logger.warning("backend auto: %s cannot be used: %s", name, error)
            continue
        exact = vectors if exact is None else exact
        cosine = (vectors * exact).sum(axis=1) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(exact, axis=1)
        logger.info("backend auto: %s, %.1f texts a second, least cosine to torch %.6f", name, found, cosine.min())
        if best is None or found > speed * _FASTER:
            chosen, best, speed = name, model, found
    logger.info("backend auto: %s is used", chosen)
    return best


def _measured(model: Any, texts: list[str]) -> tuple[NDArray[np.float32], float]:
    """Encode texts twice. Returns the vectors, and the texts a second of the second time."""
    if not is_encoder(model):
        raise ModelError(f"'{model.mteb_model_meta.name}' is not an encoder. Remedy: leave out --backend")
    where: dict[str, Any] = {"task_metadata": _PROBE, "hf_split": "test", "hf_subset": "default"}
    where["prompt_type"] = PromptType.document
    for _ in range(2):
        started = time.perf_counter()
        vectors = as_array(model.encode(text_loader(texts, 32), show_progress_bar=False, **where))
    return vectors.astype(np.float32), len(texts) / (time.perf_counter() - started)


@contextlib.contextmanager
def without_guesses() -> Iterator[None]:
    """Hide the warnings of mteb's guesses at the parameters of a model, which its files state."""
    logger, level = logging.getLogger("mteb.models.model_meta"), logging.getLogger("mteb.models.model_meta").level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module="mteb")
            yield
    finally:
        logger.setLevel(level)


def load(
    name: str,
    revision: str | None = None,
    device: str | None = None,
    *,
    prompts: bool | str = True,
    precision: str | None = None,
    max_tokens: int | None = None,
    layers: int | None = None,
    input: str | None = None,
    server: str | None = None,
    backend: str | None = None,
    attention: str | None = None,
    **kwargs: Any,
) -> Any:
    """Load a model by hub id, registered name or directory.

    Every setting that changes vectors becomes part of the model's identity.

    Args:
        name: a hub id, a registered name, a checkpoint directory, or with ``server`` the model's name there.
        revision: commit on the hub; with ``server``, any text that stands for the state of the model.
        device: as in torch.
        prompts: False leaves out the prompts; ``table11`` gives a patent model those of PatenTEB's Table 11,
            ``patentmap`` an instruction model the one of PatentMap's authors.
        precision: of an encoder's weights, products or vectors, one of :data:`PRECISIONS`; of the token vectors of a
            late-interaction model, int8 only.
        max_tokens: cap on the tokens of a text.
        layers: number of transformer layers to keep, counted from the first.
        input: name of an input variant of PatenTEB's Table 10, such as ``noSEP``.
        server: address of a server in the OpenAI protocol that serves the model.
        backend: library that runs an encoder, one of :data:`BACKENDS`; ``auto`` for :func:`fastest`.
        attention: implementation in torch (``eager``, ``sdpa``, ``flash_attention_2``).

    Raises:
        ModelError: the model cannot be found or loaded.

    Example:
        >>> from patent_mteb.models.loading import load
        >>> load("bm25-dapfam").mteb_model_meta.name
        'patent-mteb/bm25-dapfam'
    """
    if backend == "auto" and server is None:
        options: dict[str, Any] = {"prompts": prompts, "max_tokens": max_tokens, "layers": layers, "input": input}
        options |= {"attention": attention, **kwargs}
        return fastest(functools.partial(load, name, revision, device, **options), precision)
    if server is not None:
        changed = any(one is not None for one in (max_tokens, layers, input))
        if changed or not prompts or precision not in (None, "float32"):
            raise ModelError(
                "the settings of a served model cannot be changed. Remedy: leave out --no-prompts, --precision,"
                " --max-tokens, --layers and --input"
            )
        if backend or attention:
            raise ModelError("a server chooses its own backend. Remedy: leave out --backend and --attention")
        return note(Served(Endpoint(server), name, revision))
    reports = _LoadReports()
    with _listening(reports, name):  # a late-interaction model is opened here
        meta = find_meta(name, revision)
    if prompts == "table11" and meta.name in CHECKPOINTS:
        if CHECKPOINTS[meta.name].prompts != prompts:
            meta = with_settings(meta, prompts=prompts)
    elif prompts == PATENTMAP and isinstance(meta.loader, type):
        if not issubclass(meta.loader, InstructSentenceTransformerModel):
            raise ModelError(f"'{name}' does not read instructions. Remedy: leave out prompts='{PATENTMAP}'")
        meta = meta.model_copy(update={"loader_kwargs": {**meta.loader_kwargs, "instruction_template": _of_patentmap}})
    elif prompts not in (True, False):
        raise ModelError(f"'{name}' is not a patent model of the suite, so it has no prompts '{prompts}'")
    elif not prompts:
        meta = without_prompts(meta)
    if precision not in (None, *PRECISIONS):
        raise ModelError(f"unknown precision '{precision}'. Remedy: choose one of {', '.join(PRECISIONS)}")
    int8_tokens = precision == "int8" and "late-interaction" in meta.model_type
    if precision not in (None, "float32") and "dense" not in meta.model_type and not int8_tokens:
        raise ModelError(f"'{name}' is not an encoder, so it has no {precision}. Remedy: leave out --precision")
    if int8_tokens:
        kwargs["vectors"] = precision
    kwargs |= _backend_arguments(backend, attention, kwargs)
    if (backend not in (None, "torch") or attention) and "dense" not in meta.model_type:
        raise ModelError(f"'{name}' is not an encoder. Remedy: leave out --backend and --attention")
    if precision in WEIGHTS[1:]:
        kwargs["model_kwargs"] = {**kwargs.get("model_kwargs", {}), "dtype": precision}
    folder = Path(name).expanduser()
    try:
        with _listening(reports, name), without_guesses():
            model = _loaded(meta, device=device, **kwargs)
    except ModelError:
        raise
    except (Exception, SystemExit) as error:  # code of a checkpoint may call sys.exit
        remedy = "without a connection to the hub, give -m a local directory"
        if folder.is_dir():
            remedy = "compare its files with those of the original, or copy it again"
        if not (find_spec("torch") and find_spec("sentence_transformers")):
            remedy = "it needs torch and sentence-transformers; in a checkout, pip install -c constraints.txt ."
        raise ModelError(f"the model '{name}' cannot be loaded: {error}. Remedy: {remedy}") from error
    if isinstance(model, SparseEncoderWrapper):
        model = SparseSearch(model)
    if not prompts and meta.name not in CHECKPOINTS:
        _drop_prompts(model)
        model.mteb_model_meta = with_settings(model.mteb_model_meta, **NO_PROMPTS)
    if folder.is_dir():
        _refuse_unused_layers(model, reports, str(folder))
        _checked_output(model, str(folder))
    _refuse_random_weights(model, reports, name)
    if prompts == PATENTMAP:
        model.mteb_model_meta = with_settings(model.mteb_model_meta, query_instruction=PATENTMAP)
    model = adjusted(note(model), max_tokens=max_tokens, layers=layers, input=input, autocast=precision == AUTOCAST)
    return Quantised(model, precision) if precision in VECTOR_PRECISIONS and not int8_tokens else model
