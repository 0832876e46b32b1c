"""From what a user names (a hub id, a registered name, a directory) to an mteb model with an identity of its own."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mteb
from mteb.models import SentenceTransformerEncoderWrapper
from mteb.models.model_meta import ModelMeta

from patent_mteb.endpoints.client import Endpoint
from patent_mteb.errors import ModelError, did_you_mean
from patent_mteb.identity import content_revision, local_name
from patent_mteb.models.adjusted import AUTOCAST, adjusted
from patent_mteb.models.checkpoints import CHECKPOINTS
from patent_mteb.models.folder_facts import folder_facts
from patent_mteb.models.multi_vector import exact
from patent_mteb.models.quantised import VECTOR_PRECISIONS, Quantised
from patent_mteb.models.registry import without_prompts
from patent_mteb.models.served import Served
from patent_mteb.models.trained import TrainedMeta, training_record
from patent_mteb.models.zero_shot import local_nli_meta
from patent_mteb.search.colbert import is_late_interaction
from patent_mteb.store.settings import LiveIdentity, note

__all__ = ["BACKENDS", "PRECISIONS", "find_meta", "kind_of_checkpoint", "load"]

WEIGHTS = ("float32", "bfloat16", "float16")
PRECISIONS = (*WEIGHTS, AUTOCAST, *VECTOR_PRECISIONS)
"""Of an encoder's weights, of its products, or of its vectors (:class:`~patent_mteb.models.quantised.Quantised`)."""

BACKENDS: dict[str, tuple[str, ...]] = {"torch": (), "onnx": ("optimum", "onnxruntime"), "openvino": ("optimum", "openvino")}
"""What can run an encoder, with the packages that it needs."""

_SHORT_NAMES = {"bm25": "patent-mteb/bm25-bm25s", "bm25-dapfam": "patent-mteb/bm25-dapfam"}


def kind_of_checkpoint(folder: Path) -> str:
    """What a checkpoint directory holds: ``encoder``, ``late-interaction``, ``cross-encoder``, or ``nli`` for a cross-encoder that has a
    class named *entailment*.

    Raises:
        ModelError: the directory holds no checkpoint.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.files import write_json
        >>> from patent_mteb.models.loading import kind_of_checkpoint
        >>> write_json(Path("reranker/config.json"), {"architectures": ["BertForSequenceClassification"]})
        >>> kind_of_checkpoint(Path("reranker"))
        'cross-encoder'
    """
    if is_late_interaction(folder):
        return "late-interaction"
    modules = folder / "modules.json"
    config = folder / "config.json"
    if not modules.is_file() and not config.is_file():
        raise ModelError(f"{folder} holds no checkpoint (neither modules.json nor config.json). Remedy: name the directory that does")
    try:
        settings = folder / "config_sentence_transformers.json"
        model_type = json.loads(settings.read_text("utf-8")).get("model_type", "") if settings.is_file() else ""
        types = [module.get("type", "") for module in json.loads(modules.read_text("utf-8"))] if modules.is_file() else []
        configured = json.loads(config.read_text("utf-8")) if config.is_file() else {}
        architectures = configured.get("architectures") or [""]
        classes = {str(name).lower() for name in configured.get("label2id") or ()}
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"the configuration of the checkpoint {folder} cannot be read ({error}). Remedy: copy it again") from error
    if model_type == "CrossEncoder" or (not types and "ForSequenceClassification" in architectures[0]):
        return "nli" if "entailment" in classes else "cross-encoder"
    return "encoder"


class LocalEncoder(LiveIdentity, SentenceTransformerEncoderWrapper):  # type: ignore[misc]
    """The encoder of a checkpoint directory."""

    stored_as = f"{SentenceTransformerEncoderWrapper.__module__}.{SentenceTransformerEncoderWrapper.__qualname__}"
    """Stores of the first version know it by this class."""


def _load_encoder(model_name: str, revision: str | None, device: str | None = None, *, folder: str, **kwargs: Any) -> Any:
    from sentence_transformers import SentenceTransformer

    try:
        model = SentenceTransformer(folder, device=device, **kwargs)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelError(f"the checkpoint {folder} cannot be loaded as a sentence-transformers model: {error}") from error
    encoder = LocalEncoder(model)
    encoder.loaded_revision = content_revision(Path(folder))
    return note(encoder)


def local_meta(folder: Path) -> ModelMeta:
    """ModelMeta of a checkpoint directory: its name is the directory's, its revision the hash of its content.

    Raises:
        ModelError: the directory holds no checkpoint.
    """
    kind = kind_of_checkpoint(folder)
    common = {"name": local_name(folder), "revision": content_revision(folder), "open_weights": None}
    if kind == "late-interaction":
        from patent_mteb.search.late_interaction import late_interaction

        meta: ModelMeta = late_interaction(str(folder)).mteb_model_meta
        return meta
    if kind == "nli":
        return local_nli_meta(folder)
    if kind == "cross-encoder":
        from mteb.models.sentence_transformer_wrapper import CrossEncoderWrapper

        def loader(model_name: str, revision: str | None, device: str | None = None, **kwargs: Any) -> Any:
            return CrossEncoderWrapper(str(folder), device=device, **kwargs)

        return ModelMeta.create_empty({**common, "loader": loader, "model_type": ["cross-encoder"]})
    loader = functools.partial(_load_encoder, folder=str(folder))
    facts = {**common, **folder_facts(folder), "loader": loader, "framework": ["Sentence Transformers"]}
    if (record := training_record(folder)) is not None:
        return TrainedMeta.create_empty({**facts, "contamination": record.get("contamination")})
    return ModelMeta.create_empty(facts)


def find_meta(name: str, revision: str | None = None) -> ModelMeta:
    """The ModelMeta of a directory, of a model that mteb or this suite knows, or of any model on the hub; ColBERT models search exactly.

    Raises:
        ModelError: there is no such directory or model, or the hub cannot be reached.

    Example:
        >>> from patent_mteb.models.loading import find_meta
        >>> find_meta("datalyes/patembed-base").embed_dim, find_meta("bm25-dapfam").name
        (768, 'patent-mteb/bm25-dapfam')
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise ModelError(
                f"the directory {name} has no revision {revision}: its content is its revision. Remedy: leave out the revision"
            )
        return local_meta(folder)
    if name.startswith((".", "/", "~")) or len(folder.parts) > 2:
        raise ModelError(f"there is no directory {name}. Remedy: name a checkpoint directory, or a model as organisation/name")
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
            f"mteb does not know the model '{name}'{did_you_mean(name, _known())}, it is no directory here, and the hub did not give it "
            f"({error}). "
            "Remedy: check the name with 'patent-mteb list models', or name a directory"
        ) from error


def _known() -> list[str]:
    """The names that ``-m`` takes, with and without their organisation."""
    names = [*_SHORT_NAMES, *(str(meta.name) for meta in mteb.get_model_metas())]
    return names + [name.rpartition("/")[2] for name in names]


def _run_by(backend: str | None, attention: str | None, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of sentence-transformers for a backend and a way to compute attention.

    Raises:
        ModelError: there is no such backend, or its packages are missing.
    """
    if backend is not None and backend not in BACKENDS:
        raise ModelError(f"backend '{backend}' is none of {', '.join(BACKENDS)}. Remedy: choose one of them")
    if missing := [package for package in BACKENDS.get(backend or "torch", ()) if find_spec(package) is None]:
        raise ModelError(f"the backend {backend} needs {' and '.join(missing)}. Remedy: pip install 'sentence-transformers[{backend}]'")
    found: dict[str, Any] = {} if backend in (None, "torch") else {"backend": backend}
    if attention is not None:
        found["model_kwargs"] = {**kwargs.get("model_kwargs", {}), "attn_implementation": attention}
    return found


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
        max_tokens, layers, input: see :func:`~patent_mteb.models.adjusted.adjusted`.
        server: address of a server in the OpenAI protocol that has the model (:class:`~patent_mteb.models.served.Served`).
        backend: what runs an encoder, one of :data:`BACKENDS`; ``attention``: how torch computes it (``eager``, ``sdpa``,
            ``flash_attention_2``). Each another identity, for each changes bits.
        precision: of an encoder's weights, products or vectors, one of :data:`PRECISIONS`; of the token vectors of late interaction,
            int8 only; another than float32 is an identity of its own.

    Raises:
        ModelError: the model cannot be found or loaded; says what to do.

    Example:
        >>> from patent_mteb.models.loading import load
        >>> load("bm25-dapfam").mteb_model_meta.name
        'patent-mteb/bm25-dapfam'
    """
    if server is not None:
        if not prompts or precision not in (None, "float32") or any(one is not None for one in (max_tokens, layers, input)):
            raise ModelError(
                "a server's model is taken as it is. Remedy: leave out --no-prompts, --precision, --max-tokens, --layers and --input"
            )
        if backend or attention:
            raise ModelError("a server computes as it likes. Remedy: leave out --backend and --attention")
        return note(Served(Endpoint(server), name, revision))
    meta = find_meta(name, revision)
    if not prompts:
        if meta.name not in CHECKPOINTS:
            raise ModelError(f"'{name}' is no patent model of the suite, whose prompts could be left out. Remedy: leave out --no-prompts")
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
            f"the model '{name}' cannot be loaded: {error}. Remedy: without a connection to the hub, give -m a local directory"
        ) from error
    made = adjusted(note(model), max_tokens=max_tokens, layers=layers, input=input, autocast=precision == AUTOCAST)
    return Quantised(made, precision) if precision in VECTOR_PRECISIONS and not of_tokens else made
