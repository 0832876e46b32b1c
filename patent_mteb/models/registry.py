"""Metadata and loaders of the patent models that mteb does not know.

The facts of :data:`~patent_mteb.models.checkpoints.CHECKPOINTS` come from the model cards and the published
checkpoints, parameter counts from PatenTEB's Table 13. Where the paper and a checkpoint differ, the checkpoint counts:
the ``base_long`` checkpoints pool the CLS token. Two kinds of models are missing: ``allenai/specter2``, which needs the
``adapters`` package, and models without public weights (QaECTER, SEARCHFORMER).

Settings that change scores are loader arguments and part of the result path, such as
``mteb.get_model("datalyes/patembed-large", layers=20, input="noSEP")``. Without a hub, ``PATENT_MTEB_MODELS`` names a
directory that holds copies under their hub ids.
"""

from __future__ import annotations

import importlib
import logging
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import mteb
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError
from mteb.models import SentenceTransformerEncoderWrapper
from mteb.models.model_meta import ModelMeta, ScoringFunction

from patent_mteb import published
from patent_mteb._mteb import registered
from patent_mteb.data.hub import is_commit
from patent_mteb.errors import ModelError
from patent_mteb.identity import content_revision
from patent_mteb.model_identity.loaded import NamedModel, note
from patent_mteb.models.checkpoints import CHECKPOINTS, Checkpoint, Prompts
from patent_mteb.models.prompts import TASK_PROMPTS, patenteb_prompts, prompt_for
from patent_mteb.models.variants import (
    NO_PROMPTS,
    EditedInput,
    InputVariant,
    pruned,
    section_tags,
)
from patent_mteb.models.zero_shot import METAS as ZERO_SHOT_METAS
from patent_mteb.published import citation
from patent_mteb.recipes.patentmap import SECTION_TAGS
from patent_mteb.search.bm25 import BM25_METAS, bm25
from patent_mteb.search.late_interaction import METAS as LATE_INTERACTION_METAS

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.types import Array, BatchedInput, PromptType
    from sentence_transformers import SentenceTransformer
    from torch.utils.data import DataLoader

logger = logging.getLogger(__name__)
_LOCAL = "local-"
_TASK_OF_ROW = {row: task for task, row in TASK_PROMPTS.items()}


class PatentEncoder(NamedModel, SentenceTransformerEncoderWrapper):  # type: ignore[misc]
    """mteb's sentence-transformers wrapper with the prompts of Table 11, or with none.

    ``model_prompts`` holds the prompts of every patent task that is registered when the model is loaded. Prompts of
    tasks that are registered later are added on first use. The nested prompts of patembed's configuration, which
    sentence-transformers drops silently, are not used.
    """

    usual_settings = NO_PROMPTS

    def __init__(self, model: SentenceTransformer, *, prompts: Prompts = "table11") -> None:
        # Clear the checkpoint's own prompts: mteb would drop nested ones with a warning.
        model.prompts = {}
        model.default_prompt_name = None
        super().__init__(model)
        self.prompts: Prompts = prompts
        self.prompts_used: dict[tuple[str, str | None], str] = {}  # by task and role; "" for none
        if prompts == "table11":
            self.model_prompts = patenteb_prompts({**TASK_PROMPTS, **registered("tasks")})

    @property
    def own_prompts(self) -> dict[str, str]:
        """Prompts that differ from Table 11, because the user has set them."""
        prompts = self.model_prompts or {}
        known = patenteb_prompts(re.sub(r"-(query|document)$", "", key) for key in prompts)
        return {key: prompt for key, prompt in prompts.items() if known.get(key) != prompt}

    def get_prompt_name(self, task_metadata: TaskMetadata, prompt_type: PromptType | None) -> str | None:
        """Return the key of the task's prompt in ``model_prompts``, None without a prompt."""
        if self.model_prompts is not None:
            row = prompt_for(task_metadata.name)
            if row is not None and prompt_type is None and not row.one_sided:
                raise ModelError(
                    f"task '{task_metadata.name}' has a query and a document prompt", remedy="encode with a prompt type"
                )
            self.model_prompts |= patenteb_prompts([task_metadata.name])
        return super().get_prompt_name(task_metadata, prompt_type)

    def encode(
        self,
        inputs: DataLoader[BatchedInput],
        *,
        task_metadata: TaskMetadata,
        prompt_type: PromptType | None = None,
        **kwargs: Any,
    ) -> Array:
        """Encode with the task's prompt; arguments and result as in mteb's wrapper."""
        key = self.get_prompt_name(task_metadata, prompt_type)
        side = prompt_type.value if prompt_type else None
        self.prompts_used[task_metadata.name, side] = (self.model_prompts or {}).get(key or "", "")
        return super().encode(inputs, task_metadata=task_metadata, prompt_type=prompt_type, **kwargs)


def local_copy(name: str) -> Path | None:
    root = os.environ.get("PATENT_MTEB_MODELS")  # read at every load
    local = Path(root).expanduser() / name if root else None
    return local if local is not None and local.is_dir() else None


class CheckpointMeta(ModelMeta):
    """Metadata of a registered checkpoint; a local copy, or the hub's branch, may change after the registration."""

    def placed(self) -> ModelMeta:
        """Return the metadata with the present revision: the content of a local copy, else the commit on the hub."""
        name, revision = str(self.name), self.revision
        local = local_copy(name)
        if local is not None:
            found: str | None = f"{_LOCAL}{content_revision(local)}"
        else:
            try:
                _, found = _location(CHECKPOINTS[name], revision)
            except Exception as error:  # huggingface_hub raises many types; loading reports the problem
                logger.debug("the commit of %s is unknown: %s", name, error)
                found = CHECKPOINTS[name].revision if (revision or "").startswith(_LOCAL) else revision
        return self if found == revision else self.model_copy(update={"revision": found})


def _location(checkpoint: Checkpoint, revision: str | None) -> tuple[str, str | None]:
    """Return a path or hub id, and the commit to load from the hub (None for a directory)."""
    local = local_copy(checkpoint.name)
    if local is not None:
        logger.info("%s is loaded from %s", checkpoint.name, local)
        return str(local), None
    if revision is None or revision.startswith(_LOCAL):
        revision = checkpoint.revision
    return checkpoint.name, _commit(checkpoint, revision)


def _commit(checkpoint: Checkpoint, revision: str | None) -> str | None:
    """Return the commit of a branch (the default branch for None): the one of the files on the hub or in its cache."""
    if revision is not None and is_commit(revision):
        return revision
    file = "modules.json" if checkpoint.modules else "config.json"
    try:
        return Path(hf_hub_download(checkpoint.name, file, revision=revision)).parent.name
    except LocalEntryNotFoundError:
        raise
    except EntryNotFoundError:
        return revision


def _remedy(checkpoint: Checkpoint, revision: str | None) -> str:
    at = f" --revision {revision}" if revision else ""
    return (
        f"allow access to the hub (unset HF_HUB_OFFLINE), which has it at https://huggingface.co/{checkpoint.name}, or"
        f" fetch it elsewhere with 'hf download {checkpoint.name}{at} --local-dir DIR/{checkpoint.name}' and set"
        " PATENT_MTEB_MODELS=DIR, or run any checkpoint directory under its own name with 'patent-mteb run -m DIR'"
    )


def _pooled(model: SentenceTransformer, checkpoint: Checkpoint, device: str | None) -> SentenceTransformer:
    import sentence_transformers

    try:
        modules = importlib.import_module("sentence_transformers.sentence_transformer.modules")
    except ImportError:  # before sentence-transformers 6
        modules = importlib.import_module("sentence_transformers.models")
    transformer: Any = model[0]
    if checkpoint.tagged or checkpoint.tagged_in_paper:
        known = [tag for tag in SECTION_TAGS.values() if tag in transformer.tokenizer.get_vocab()]
        transformer.tokenizer.add_tokens(known, special_tokens=True)  # so that a tag is never split
    pooling = modules.Pooling(transformer.auto_model.config.hidden_size, pooling_mode=checkpoint.pooling)
    pooled = sentence_transformers.SentenceTransformer(modules=[transformer, pooling], device=device)
    pooled.max_seq_length = checkpoint.max_tokens
    return pooled


def _load_weights(
    checkpoint: Checkpoint, revision: str | None, device: str | None, **options: Any
) -> tuple[SentenceTransformer, str | None]:
    """Return the model and its revision: a commit, or a hash of the content of a directory."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import is_sentence_transformer_model

    try:
        path, pinned = _location(checkpoint, revision)
        complete = not checkpoint.modules or is_sentence_transformer_model(path, revision=pinned)
        model = SentenceTransformer(path, revision=pinned, device=device, **options) if complete else None
    except Exception as error:  # transformers, huggingface_hub and httpx each raise their own types
        problem = f"'{checkpoint.name}' cannot be loaded ({error})"
        raise ModelError(problem, remedy=_remedy(checkpoint, revision)) from error
    if model is None:
        raise ModelError(
            f"'{checkpoint.name}' has no modules.json at {path}, so its pooling is unknown",
            remedy=_remedy(checkpoint, revision),
        )
    model = model if checkpoint.modules else _pooled(model, checkpoint, device)
    _check(model, checkpoint, path)
    return model, f"{_LOCAL}{content_revision(Path(path))}" if Path(path).is_dir() and pinned is None else pinned


def _check(model: SentenceTransformer, checkpoint: Checkpoint, path: str) -> None:
    dimension = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    if dimension() != checkpoint.dim:
        raise ModelError(
            f"the checkpoint at {path} has {dimension()} dimensions, '{checkpoint.name}' has {checkpoint.dim}: they are"
            " different models",
            remedy="run it under its own name with 'patent-mteb run -m DIR'",
        )
    found = next((mode for module in model if (mode := getattr(module, "pooling_mode", None))), None)
    if found is not None and found not in (checkpoint.pooling, (checkpoint.pooling,), [checkpoint.pooling]):
        logger.warning("%s pools by %s, not by %s as expected; the checkpoint counts", path, found, checkpoint.pooling)


_PROMPTS: dict[str | bool, Prompts] = {True: "table11", False: "none", "table11": "table11", "none": "none"}


def load_plain(
    model_name: str,
    revision: str | None = None,
    device: str | None = None,
    *,
    prompts: str | bool | None = None,
    layers: int | None = None,
    input: str | None = None,
    **options: Any,
) -> PatentEncoder | EditedInput:
    """Load a registered checkpoint (mteb calls this for ``mteb.get_model`` and ``mteb run -m``)."""
    if model_name not in CHECKPOINTS:
        raise ModelError(
            f"'{model_name}' is not a registered patent model", remedy=f"choose one of {', '.join(sorted(CHECKPOINTS))}"
        )
    checkpoint = CHECKPOINTS[model_name]
    if prompts is not None and prompts not in _PROMPTS:
        raise ModelError(f"invalid setting prompts={prompts!r}", remedy="use 'table11' (or True) or 'none' (or False)")
    setting = checkpoint.prompts if prompts is None else _PROMPTS[prompts]
    embed_dim, _ = options.pop("embed_dim", None), options.pop("digest", None)
    if embed_dim not in (None, checkpoint.dim):
        raise ModelError(
            f"'{model_name}' has {checkpoint.dim} dimensions, not {embed_dim}",
            remedy="truncate them with patent_mteb.models.Truncated",
        )
    model, loaded = _load_weights(checkpoint, revision, device, **options)
    if layers is not None:
        model = pruned(model, layers)
    encoder: PatentEncoder | EditedInput = PatentEncoder(model, prompts=setting)
    encoder.loaded_revision = loaded
    encoder.mteb_model_meta = _META_BY_NAME[model_name]
    if checkpoint.tagged:
        encoder = EditedInput(encoder, section_tags, encoder.mteb_model_meta)
    if input is not None:
        encoder = InputVariant(encoder, input)
    encoder.loaded_revision = loaded
    return note(encoder)


def _meta(checkpoint: Checkpoint) -> ModelMeta:
    """ModelMeta of a checkpoint. The revision of a local copy is a hash of its content, since its commit is unknown."""
    local = local_copy(checkpoint.name)
    parameters = None if checkpoint.parameters is None else round(checkpoint.parameters * 1e6)
    trained_on = checkpoint.trained_on
    return CheckpointMeta(
        loader=cast("Callable[..., Any]", load_plain),
        name=checkpoint.name,
        revision=checkpoint.revision if local is None else f"{_LOCAL}{content_revision(local)}",
        release_date=checkpoint.released,
        languages=["eng-Latn"],
        n_parameters=parameters,
        memory_usage_mb=None if parameters is None else round(parameters * 4 / 2**20),
        max_tokens=checkpoint.max_tokens,
        embed_dim=checkpoint.dim,
        license=cast("Any", checkpoint.licence),
        open_weights=True,
        public_training_code=None,
        public_training_data=None,
        framework=["Sentence Transformers", "PyTorch"] if checkpoint.modules else ["Transformers", "PyTorch"],
        reference=f"https://huggingface.co/{checkpoint.name}",
        similarity_fn_name=ScoringFunction.COSINE,
        use_instructions=checkpoint.prompts != "none",
        training_datasets=None if trained_on is None else {_TASK_OF_ROW[row] for row in sorted(trained_on)},
        adapted_from=checkpoint.adapted_from,
        citation=None if checkpoint.source is None else citation(checkpoint.source),
    )


METAS: tuple[ModelMeta, ...] = tuple(map(_meta, CHECKPOINTS.values()))  # the metadata of every registered patent model
_META_BY_NAME = dict(zip(CHECKPOINTS, METAS, strict=True))


def suite_metas() -> tuple[ModelMeta, ...]:
    """The metadata of all models that :func:`patent_mteb.register` adds to mteb's registry."""
    return (*METAS, *BM25_METAS, *LATE_INTERACTION_METAS, *ZERO_SHOT_METAS)


@dataclass(frozen=True)
class ModelRow:
    """A row of ``patent-mteb list models``. Values are empty or None where they are unknown."""

    model: str  # name for -m and patent_mteb.models.load, empty where the weights are not released
    printed: str  # spelling in the WIPO-AT paper (Table 3), empty for models that it does not evaluate
    category: str  # in that paper
    dims: int | None  # in mteb's registry
    max_tokens: int | None
    paper_dims: int | None
    paper_max_tokens: int | None
    runs: str  # "yes" for registered models, "by hub id" for others on the hub, "no: not released"
    commit: str  # pinned commit; empty for models that are taken as the hub holds them at the time, and for BM25


def models() -> list[ModelRow]:
    """The 22 models of the WIPO-AT paper in its order, then the other models of the suite."""
    known = {str(meta.name): meta for meta in mteb.get_model_metas()}
    rows = [
        ModelRow(
            model=row["model_id"],
            printed=row["model"],
            category=row["category"],
            dims=_whole(getattr(known.get(row["model_id"]), "embed_dim", None)),
            max_tokens=_whole(getattr(known.get(row["model_id"]), "max_tokens", None)),
            paper_dims=_whole(row["dim"]),
            paper_max_tokens=_whole(row["max_tokens"]),
            runs="yes" if row["model_id"] in known else "by hub id" if row["model_id"] else "no: not released",
            commit=_pinned(known.get(row["model_id"])),
        )
        for row in published.printed("wipo_at", 3).iter_rows(named=True)
    ]
    printed = {row.model for row in rows}
    return rows + [
        ModelRow(
            str(meta.name), "", "", _whole(meta.embed_dim), _whole(meta.max_tokens), None, None, "yes", _pinned(meta)
        )
        for meta in (*METAS, *(bm25(setting).mteb_model_meta for setting in ("dapfam", "bm25s", "auto")))
        if meta.name not in printed
    ]


def _pinned(meta: ModelMeta | None) -> str:
    """The commit that the registry names, whatever a local copy or the cache hold."""
    if meta is None:
        return ""
    checkpoint = CHECKPOINTS.get(str(meta.name))
    revision = checkpoint.revision if checkpoint else meta.revision
    return revision if revision and is_commit(revision) else ""


def _whole(value: float | Sequence[int] | None) -> int | None:
    if isinstance(value, Sequence):
        return max(value, default=None)
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
