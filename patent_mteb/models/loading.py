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
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mteb
from huggingface_hub import constants, try_to_load_from_cache
from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
from mteb.models.model_meta import ModelMeta
from mteb.models.sentence_transformer_wrapper import SparseEncoderWrapper
from mteb.types import PromptType

from patent_mteb.data.hub import is_commit
from patent_mteb.endpoints.client import Endpoint
from patent_mteb.errors import ModelError, did_you_mean
from patent_mteb.model_identity.loaded import note
from patent_mteb.model_identity.prompts import kind_of
from patent_mteb.models.backends import backend_arguments, fastest, in_bfloat16
from patent_mteb.models.checkpoints import CHECKPOINTS
from patent_mteb.models.folders import TrainedMeta, local_meta
from patent_mteb.models.opening import LoadReports, check_output, listening, refuse_random_weights, refuse_unused_layers
from patent_mteb.models.quantised import Quantised
from patent_mteb.models.served import Served
from patent_mteb.models.spec import AUTOCAST, PATENTMAP, VECTOR_PRECISIONS, WEIGHTS, ModelSpec
from patent_mteb.models.variants import NO_PROMPTS, InputVariant, pruned, with_settings
from patent_mteb.search.colbert import KNOWN_SETTINGS
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.search.passages import inner_models, special_tokens
from patent_mteb.search.sparse import SparseSearch

__all__ = ["find_meta", "load"]
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


def _adjusted(model: Any, spec: ModelSpec) -> Any:
    """Apply the settings of a specification to a loaded encoder, which is changed in place."""
    meta, settings = model.mteb_model_meta, dict[str, Any]()
    if spec.max_tokens is not None and _cap_tokens(_wrapper(model).model, spec.max_tokens, meta.name):
        settings["max_tokens"] = spec.max_tokens
    if spec.layers is not None:
        wrapper = _wrapper(model)
        network = pruned(wrapper.model, spec.layers)
        if network is not wrapper.model:
            wrapper.model, settings["layers"] = network, spec.layers
    if spec.precision == AUTOCAST:
        network = _wrapper(model).model
        network.forward = functools.partial(in_bfloat16, network.forward, network.device.type)
        settings["precision"] = AUTOCAST
    if settings:
        model.mteb_model_meta = with_settings(meta, **settings)
        note(model)
    return model if spec.input is None else InputVariant(model, spec.input)


def _wrapper(model: Any) -> Any:
    """The innermost wrapper, whose ``model`` is a SentenceTransformer."""
    from sentence_transformers import SentenceTransformer

    for wrapper in inner_models(model):
        if isinstance(getattr(wrapper, "model", None), SentenceTransformer):
            return wrapper
    name = model.mteb_model_meta.name
    raise ModelError(f"'{name}' is not a sentence-transformers model", remedy="leave out --max-tokens and --layers")


def _cap_tokens(network: Any, max_tokens: int, name: str | None) -> bool:
    """Cap the tokens of a text. Returns whether the cap changes anything."""
    if isinstance(max_tokens, bool) or max_tokens < 1:
        raise ModelError(f"cannot read {max_tokens!r} tokens of a text", remedy="give a positive whole number")
    length = network.max_seq_length
    if length is None or not math.isfinite(length):
        raise ModelError(f"'{name}' reads every token of a text and cannot be capped", remedy="leave out --max-tokens")
    if length <= max_tokens:
        return False
    special = special_tokens(network)
    if max_tokens <= special:
        problem = f"the special tokens of '{name}' alone fill {max_tokens} tokens"
        raise ModelError(problem, remedy=f"give --max-tokens {special + 1} or more")
    network.max_seq_length = max_tokens
    return True


_ADAPTERS = ("allenai/specter2", "allenai/specter2_classification")
_HOSTED_RERANKERS = ("cohere/rerank", "voyageai/rerank")
_FIRST_FILES, _WEIGHT_FILES = ("modules.json", "config.json"), (".safetensors", "pytorch_model.bin")
SHORT_NAMES = {"bm25": "patent-mteb/bm25-auto", "bm25-dapfam": "patent-mteb/bm25-dapfam"}


def find_meta(name: str, revision: str | None = None) -> ModelMeta:
    """Return the ModelMeta of a directory, of a registered model, or of any model on the hub."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise ModelError(
                f"the directory {name} has no revision {revision}: its content is its revision",
                remedy="leave out the revision",
            )
        return local_meta(folder)
    if name.startswith((".", "/", "~")) or len(folder.parts) > 2:
        raise ModelError(
            f"there is no directory {name}", remedy="name a checkpoint directory, or a model as organisation/name"
        )
    name = SHORT_NAMES.get(name, name)
    if name in _ADAPTERS:
        raise ModelError(
            f"'{name}' is an adapter of allenai/specter2_base, not a model",
            remedy=(
                "rank with it yourself (pip install adapters) and score the run with 'patent-mteb runs score', or"
                " name allenai/specter2_base, without the adapter"
            ),
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
            raise ModelError(f"'{name}' is a hosted reranker, which is not called here", remedy=remedy) from error
        ids = [str(meta.name) for meta in mteb.get_model_metas()]
        full = {one.rpartition("/")[2]: one for one in ids}
        similar = did_you_mean(name, [*full, *SHORT_NAMES, *ids], full)
        raise ModelError(
            f"unknown model '{name}'{similar}: mteb does not know it, there is no such directory, and the hub does not"
            f" provide it ({error})",
            remedy="write its name on the hub, ORG/NAME (known ones: 'patent-mteb list models'), or name a directory",
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
            " suite nor loaded by sentence-transformers",
            remedy="leave out --no-prompts",
        )


def _no_instruction(instruction: str, prompt_type: PromptType | None = None) -> str:
    return ""


def _of_patentmap(instruction: str, prompt_type: PromptType | None = None) -> str:
    """The instruction that PatentMap's authors give gte-Qwen2-7B-instruct (their public code): queries only."""
    asked = "Instruct: retrieve the most similar patent given the query patent\nQuery: "
    return asked if prompt_type == PromptType.query else ""


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


def load(name: str | ModelSpec, revision: str | None = None, device: str | None = None, **settings: Any) -> Any:
    """Load a model by hub id, registered name or directory.

    Every setting that changes vectors becomes part of the model's identity.

    Args:
        name: a hub id, a registered name, a checkpoint directory, or with ``server`` the model's name there; or a
            complete specification.
        revision: commit on the hub; with ``server``, any text that stands for the state of the model.
        device: as in torch.
        settings: fields of :class:`~patent_mteb.models.spec.ModelSpec`, such as ``precision`` or ``max_tokens``; any
            other argument is passed to mteb's loader of the model.

    Raises:
        ModelError: the model cannot be found or loaded, or does not have such a setting.

    Example:
        >>> from patent_mteb.models.loading import load
        >>> load("bm25-dapfam").mteb_model_meta.name
        'patent-mteb/bm25-dapfam'
    """
    own = {one.name: settings.pop(one.name) for one in fields(ModelSpec) if one.name in settings}
    spec = replace(name, **own) if isinstance(name, ModelSpec) else ModelSpec(name, revision, **own)
    if spec.server is not None:
        spec.refuse_for({"served"})
        return note(Served(Endpoint(spec.server), spec.name, spec.revision))
    if spec.backend == "auto":
        return fastest(functools.partial(load, replace(spec, backend=None), None, device, **settings), spec.precision)
    reports = LoadReports()
    with listening(reports, spec.name):  # a late-interaction model is opened here
        meta = find_meta(spec.name, spec.revision)
    spec.refuse_for(set(meta.model_type))
    meta = _with_prompts(meta, spec)
    model = _opened(meta, spec, reports, device, settings)
    if spec.prompts is False and meta.name not in CHECKPOINTS:
        _drop_prompts(model)
        model.mteb_model_meta = with_settings(model.mteb_model_meta, **NO_PROMPTS)
    if (folder := Path(spec.name).expanduser()).is_dir():
        refuse_unused_layers(model, reports, str(folder))
        check_output(model, str(folder))
    refuse_random_weights(model, reports, spec.name)
    if spec.prompts == PATENTMAP:
        model.mteb_model_meta = with_settings(model.mteb_model_meta, query_instruction=PATENTMAP)
    model = _adjusted(note(model), spec)
    quantises = spec.precision in VECTOR_PRECISIONS and "late-interaction" not in meta.model_type
    return Quantised(model, str(spec.precision)) if quantises else model


def _with_prompts(meta: ModelMeta, spec: ModelSpec) -> ModelMeta:
    """Return the entry of a model with the prompts that are asked for."""
    if spec.prompts == "table11" and meta.name in CHECKPOINTS:
        return meta if CHECKPOINTS[meta.name].prompts == spec.prompts else with_settings(meta, prompts=spec.prompts)
    if spec.prompts == PATENTMAP and isinstance(meta.loader, type):
        if not issubclass(meta.loader, InstructSentenceTransformerModel):
            raise ModelError(f"'{spec.name}' does not read instructions", remedy=f"leave out prompts='{PATENTMAP}'")
        return meta.model_copy(update={"loader_kwargs": {**meta.loader_kwargs, "instruction_template": _of_patentmap}})
    if spec.prompts not in (True, False):
        raise ModelError(f"'{spec.name}' is not a patent model of the suite, so it has no prompts '{spec.prompts}'")
    return meta if spec.prompts else without_prompts(meta)


def _opened(
    meta: ModelMeta, spec: ModelSpec, reports: LoadReports, device: str | None, arguments: Mapping[str, Any]
) -> Any:
    """Open a model by its loader, whose errors become one."""
    given = {**arguments, **backend_arguments(spec.backend, spec.attention, arguments)}
    if spec.precision in WEIGHTS[1:]:
        given["model_kwargs"] = {**given.get("model_kwargs", {}), "dtype": spec.precision}
    if spec.precision == "int8" and "late-interaction" in meta.model_type:
        given["vectors"] = spec.precision
    try:
        with listening(reports, spec.name), without_guesses():
            model = _loaded(meta, device=device, **given)
    except ModelError:
        raise
    except (Exception, SystemExit) as error:  # code of a checkpoint may call sys.exit
        remedy = "without a connection to the hub, give -m a local directory"
        if Path(spec.name).expanduser().is_dir():
            remedy = "compare its files with those of the original, or copy it again"
        if not (find_spec("torch") and find_spec("sentence_transformers")):
            remedy = "it needs torch and sentence-transformers; in a checkout, pip install -c constraints.txt ."
        raise ModelError(f"the model '{spec.name}' cannot be loaded: {error}", remedy=remedy) from error
    return SparseSearch(model) if isinstance(model, SparseEncoderWrapper) else model
