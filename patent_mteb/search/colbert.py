"""ColBERT checkpoints: their files, and the two libraries that encode with them.

PyLate and sentence-transformers >= 6 cannot share an environment; both give the same token vectors. A checkpoint that a
library would complete with untrained weights is refused.
"""

from __future__ import annotations

import importlib.util
import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.identity import content_revision, local_name
from patent_mteb.model_identity.prompts import ROLE_NAMES, role_prompts
from patent_mteb.search.checkpoint_files import read_modules, read_settings

Backend = Literal["sentence-transformers", "pylate"]
CheckpointFormat = Literal["pylate", "stanford", "sentence-transformers"]


@dataclass(frozen=True)
class Checkpoint:
    """Facts in the files of a late-interaction checkpoint, before it is loaded."""

    source: str  # directory, or name on the hub
    name: str  # as in mteb
    revision: str  # commit, or a hash of a directory's content
    format: CheckpointFormat  # the library that saved it
    query_marker: str  # text of the token that marks queries (``[Q] ``, ``[unused0] ``), empty if there is none
    document_marker: str
    prompts: Mapping[str, str]  # by role, without their markers
    saved_prompts: Mapping[str, Any]  # under the names of its file
    skip_words: tuple[str, ...]  # tokens without vectors in documents (PyLate's format; others have them in modules)
    vocabulary: int | None  # rows of the embedding table


_OLDER = "SentenceTransformer"
"""Model type of older PyLate checkpoints. For others sentence-transformers makes a random projection."""


class OtherCheckpointError(ModelError):
    """Not a checkpoint of a late-interaction model."""


_LEADING_MARKER = re.compile(r"(\[[^\[\]\s]+\]|<[^<>\s]+>)\s*")


def inspect_checkpoint(model: str | Path, revision: str | None = None) -> Checkpoint:
    """Read the configuration files of a checkpoint: a directory, or a hub name."""
    from sentence_transformers.util import load_file_path

    source = str(model)
    found: dict[str, str] = {}

    def path_of(name: str) -> Path:
        path = load_file_path(source, name, revision=revision)
        if path is not None:
            found[name] = path
        return Path(path or Path(source) / name)

    settings = read_settings(path_of("config_sentence_transformers.json"))
    config = backbone = read_settings(path_of("config.json"))
    modules = read_modules(path_of("modules.json"))
    if modules and modules[0]["path"]:
        backbone = read_settings(path_of(f"{modules[0]['path']}/config.json"))
    if not found:
        remedy = (
            "give the directory of a checkpoint, or a name on the hub that is reachable or already in the local cache"
        )
        raise OtherCheckpointError(f"'{source}' has no config.json, so it is not a model", remedy=remedy)

    saved_prompts: dict[str, Any] = settings.get("prompts") or {}
    stored = role_prompts(saved_prompts)
    prefixed, model_type = {"query_prefix", "document_prefix"} <= settings.keys(), settings.get("model_type", _OLDER)
    if prefixed and model_type not in ("ColBERT", _OLDER):  # would be read without the prefixes or the projection
        problem = f"'{source}' has the prefixes of a PyLate model and the model_type '{model_type or ''}'"
        remedy = "set model_type to ColBERT in config_sentence_transformers.json if PyLate saved it, or copy it again"
        raise ModelError(problem, remedy=remedy)
    if model_type == "MultiVectorEncoder":
        kind: CheckpointFormat = "sentence-transformers"
        matches = [_LEADING_MARKER.match(stored.get(role, "")) for role in ROLE_NAMES]
        markers = [match[0] if match else "" for match in matches]
    elif prefixed or model_type == "ColBERT":
        kind = "pylate"
        markers = [settings.get("query_prefix", "[Q] ") or "", settings.get("document_prefix", "[D] ") or ""]
        if not any(module.get("type", "").rpartition(".")[2] == "Dense" for module in modules):
            problem = f"'{source}' is marked as a ColBERT model but has no projection (no Dense module in modules.json)"
            problem += ": it would be given an untrained one"
            raise OtherCheckpointError(problem, remedy="use the complete checkpoint")
    elif "HF_ColBERT" in (config.get("architectures") or []):
        kind = "stanford"
        artifact = read_settings(path_of("artifact.metadata"))
        defaults = {"query_token_id": "[unused0]", "doc_token_id": "[unused1]"}
        markers = [f"{artifact.get(name) or default} " for name, default in defaults.items()]
    else:
        what = settings.get("model_type") or ", ".join(config.get("architectures") or ["model without architecture"])
        raise OtherCheckpointError(
            f"'{source}' is not a late-interaction checkpoint but a {what}: as one it would be given an untrained"
            " projection",
            remedy=(
                "use it as an ordinary encoder, or give a checkpoint that PyLate, Stanford ColBERT or"
                " sentence-transformers' MultiVectorEncoder saved"
            ),
        )

    if Path(source).is_dir():
        if revision is not None:
            problem = f"'{source}' is a directory, which has no revision '{revision}'"
            raise ModelError(problem, remedy="leave the revision out")
        name, revision = local_name(Path(source)), content_revision(Path(source))
    else:
        name, revision = source, revision or _commit(next(iter(found.values())))
    marker_of = dict(zip(ROLE_NAMES, markers, strict=True))
    prompts = {role: text.removeprefix(marker_of[role]) for role, text in stored.items()}
    size, skipped = backbone.get("vocab_size"), settings.get("skiplist_words")
    return Checkpoint(
        source=source,
        name=name,
        revision=revision,
        format=kind,
        query_marker=markers[0],
        document_marker=markers[1],
        prompts={role: text for role, text in prompts.items() if text},
        saved_prompts=saved_prompts,
        skip_words=tuple(string.punctuation if skipped is None else skipped),
        vocabulary=size,
    )


def _commit(path: str) -> str:
    parts = Path(path).parts  # of the hub's local cache, .../snapshots/<commit>/...
    if "snapshots" not in parts:
        raise ModelError(f"the revision of {path} is unknown", remedy="name the revision (a commit of the repository)")
    return parts[parts.index("snapshots") + 1]


def is_late_interaction(model: str | Path) -> bool:
    """Whether a directory or hub name is such a checkpoint; a ``SentenceTransformer`` would drop its projection.

    Raises:
        ModelError: a configuration file is corrupt.
    """
    try:
        inspect_checkpoint(model)
    except OtherCheckpointError:
        return False
    return True


def available_backends() -> tuple[Backend, ...]:
    """Installed backends; no environment can have both."""
    try:
        major = int(version("sentence-transformers").split(".")[0])
    except PackageNotFoundError:
        return ()
    if major >= 6:
        return ("sentence-transformers",)
    return ("pylate",) if importlib.util.find_spec("pylate") else ()


def choose_backend(wanted: Backend | None) -> Backend:
    available = available_backends()
    if wanted is not None and wanted not in get_args(Backend):
        raise ModelError(f"unknown backend '{wanted}'", remedy=f"one of {', '.join(get_args(Backend))}")
    if not available or (wanted is not None and wanted not in available):
        raise ModelError(
            f"late interaction needs {wanted or 'a backend'}, which is not installed here",
            remedy=(
                'pip install "sentence-transformers>=6", or, in an environment of its own, "pylate==1.6.0"'
                ' "sentence-transformers==5.3.0"'
            ),
        )
    return wanted or available[0]


@dataclass(frozen=True)
class Overrides:
    """Settings of a checkpoint that the caller replaces; None keeps its own."""

    query_marker: str | None = None
    document_marker: str | None = None
    query_length: int | None = None
    document_length: int | None = None
    attend_to_expansion: bool | None = None
    trust_remote_code: bool = False

    def markers(self, checkpoint: Checkpoint) -> tuple[str, str]:
        return (
            checkpoint.query_marker if self.query_marker is None else self.query_marker,
            checkpoint.document_marker if self.document_marker is None else self.document_marker,
        )


# Settings of mteb's own entry; the checkpoint's files do not carry them all.
_JINA = Overrides("[QueryMarker] ", "[DocumentMarker] ", attend_to_expansion=True, trust_remote_code=True)
KNOWN_SETTINGS = {"jinaai/jina-colbert-v2": _JINA}


def _check_markers(
    checkpoint: Checkpoint, markers: Iterable[str], ids: Iterable[int | None], unknown: int | None
) -> None:
    for marker, token in zip(markers, ids, strict=True):
        fresh = checkpoint.vocabulary is not None and token is not None and token >= checkpoint.vocabulary
        if marker and (token is None or token == unknown or fresh):
            raise ModelError(
                f"the marker '{marker}' of '{checkpoint.source}' is not in the vocabulary of its tokenizer, so it has"
                " no trained vector",
                remedy="name the checkpoint's own markers with query_marker= and document_marker=",
            )


class _PyLateEncoder:
    def __init__(self, checkpoint: Checkpoint, overrides: Overrides, device: str, revision: str | None) -> None:
        from pylate.models import ColBERT

        if checkpoint.format == "sentence-transformers":
            problem = f"'{checkpoint.source}' was saved by sentence-transformers' MultiVectorEncoder"
            remedy = "use an environment with sentence-transformers >= 6"
            raise ModelError(f"{problem}, which PyLate cannot load", remedy=remedy)
        markers = overrides.markers(checkpoint)
        if checkpoint.format == "stanford":
            markers = (markers[0].rstrip(), markers[1].rstrip())
        self.volatile = frozenset({"max_seq_length"})  # settings that the backend itself changes with every batch
        self.model: Any = ColBERT(
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
        model = self.model
        unknown = model.tokenizer.unk_token_id
        _check_markers(checkpoint, markers, (model.query_prefix_id, model.document_prefix_id), unknown)
        # A skip word outside the vocabulary would otherwise drop every unknown token of a document.
        model.skiplist = [token for token in model.skiplist if token != unknown]
        model.default_prompt_name = None
        model.float()
        self.dimension = int(model[-1].out_features)
        self.document_length = model.document_length

    def encode(self, texts: list[str], *, is_query: bool, prompt: str, batch_size: int) -> list[NDArray[np.float32]]:
        options = {"batch_size": batch_size, "show_progress_bar": False, "convert_to_numpy": True}
        found = self.model.encode(texts, is_query=is_query, prompt=prompt or None, **options)
        return [np.asarray(vectors, dtype=np.float32) for vectors in found]


class _SentenceTransformersEncoder:
    def __init__(self, checkpoint: Checkpoint, overrides: Overrides, device: str, revision: str | None) -> None:
        from sentence_transformers import MultiVectorEncoder
        from sentence_transformers.base.modules import Transformer

        model = MultiVectorEncoder(
            checkpoint.source, revision=revision, device=device, trust_remote_code=overrides.trust_remote_code
        )
        self.model: Any = model
        self.volatile = frozenset[str]()
        self._complete(checkpoint)
        backbone = next(module for module in model if isinstance(module, Transformer))
        expansion = backbone.query_expansion
        if expansion is not None:
            changes = {"length": overrides.query_length, "attend": overrides.attend_to_expansion}
            replaced = {key: value for key, value in changes.items() if value is not None}
            backbone.query_expansion = {**expansion, **replaced}
        elif overrides.query_length is not None:
            backbone.query_length = overrides.query_length
        if overrides.document_length is not None:
            backbone.document_length = overrides.document_length
        elif backbone.document_length is None and checkpoint.format != "sentence-transformers":
            backbone.document_length = 180  # PyLate's default
        self._markers = overrides.markers(checkpoint)
        if checkpoint.format != "sentence-transformers":
            tokens = [self._marker_token(marker) for marker in self._markers]
            _check_markers(checkpoint, self._markers, tokens, model.tokenizer.unk_token_id)
        model.float()
        if (dimension := model.get_embedding_dimension()) is None:
            raise ModelError(f"'{checkpoint.source}' does not say how many dimensions its token vectors have.")
        self.dimension = int(dimension)
        self.document_length = backbone.document_length or model.max_seq_length

    def _complete(self, checkpoint: Checkpoint) -> None:
        """Add mask and normalisation, which sentence-transformers 6.2 omits where modules are listed as PyLate does."""
        from sentence_transformers.base.modules import Normalize
        from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

        complete = any(isinstance(module, MultiVectorMask) for module in self.model)
        if complete or checkpoint.format == "sentence-transformers":
            return
        mask = MultiVectorMask(skiplist_words=list(checkpoint.skip_words))
        mask.resolve_with_tokenizer(self.model.tokenizer)
        self.model.append(mask)
        self.model.append(Normalize(module_input_name="token_embeddings"))

    def _marker_token(self, marker: str) -> int | None:
        """Id of a marker, from now on one token of the tokenizer; None if it is unknown."""
        from transformers import AddedToken

        tokenizer = self.model.tokenizer
        for text in (marker, marker.strip()):
            if text and text in tokenizer.get_vocab():
                if tokenizer.tokenize(text) != [text]:
                    added = {"additional_special_tokens": [AddedToken(text, normalized=False, special=True)]}
                    tokenizer.add_special_tokens(added, False)  # keep others; the name differs between versions
                return int(tokenizer.convert_tokens_to_ids(text))
        return None

    def encode(self, texts: list[str], *, is_query: bool, prompt: str, batch_size: int) -> list[NDArray[np.float32]]:
        encode = self.model.encode_query if is_query else self.model.encode_document
        # A prompt replaces the stored one and with it the marker, so the marker is written in front of it.
        prompt = (self._markers[0] if is_query else self._markers[1]) + prompt
        found = encode(texts, prompt=prompt, batch_size=batch_size, show_progress_bar=False, convert_to_numpy=True)
        return [np.asarray(vectors, dtype=np.float32) for vectors in found]


TokenEncoder = _PyLateEncoder | _SentenceTransformersEncoder


def load_encoder(
    checkpoint: Checkpoint, overrides: Overrides, backend: Backend, device: str, revision: str | None
) -> TokenEncoder:
    encoder = _PyLateEncoder if backend == "pylate" else _SentenceTransformersEncoder
    try:
        return encoder(checkpoint, overrides, device, revision)
    except ModelError:
        raise
    except Exception as error:  # transformers, safetensors and the two libraries each raise their own types
        remedy = "compare its files with those of the original"
        raise ModelError(f"{backend} cannot load '{checkpoint.source}' ({error})", remedy=remedy) from error
