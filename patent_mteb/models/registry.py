"""The patent models of the papers that mteb does not know: their metadata, and loaders that apply the right prompts.

``METAS`` is built from :data:`CHECKPOINTS`, one row a model. Sources of the rows: the model cards and the modules of
the checkpoints as published, parameter counts from PatenTEB Table 13. Where the paper and a checkpoint differ the
checkpoint counts (PatenTEB §4.2 says mean pooling for all of patembed; the ``base_long`` checkpoints pool the CLS
token).

A loaded model is a :class:`PatentEncoder`. Its prompts are looked up by task name when a task is encoded, so neither
the order of registration nor the nested prompts of patembed's own configuration (which sentence-transformers drops
silently) can lose them; ``prompts_used`` records what was put before the texts of each task and side.

Settings that change scores are loader arguments, and mteb makes them part of the result path::

    mteb.get_model("datalyes/patembed-base")                      # prompts of Table 11
    mteb.get_model("datalyes/patembed-base", prompts="none")      # another identity
    mteb.get_model("datalyes/patembed-large", layers=20, input="noSEP")

Without a hub, ``PATENT_MTEB_MODELS`` names a directory that holds copies under their hub ids
(``$PATENT_MTEB_MODELS/datalyes/patembed-base/``).

Not here: ``allenai/specter2`` (an adapter that needs the ``adapters`` package; its base model is), late-interaction
models (:mod:`patent_mteb.search.late_interaction`), and models without public weights (QaECTER, SEARCHFORMER).
"""

from __future__ import annotations

import importlib
import logging
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mteb.models import SentenceTransformerEncoderWrapper
from mteb.models.model_meta import ModelMeta, ScoringFunction

from patent_mteb._mteb import registered
from patent_mteb.errors import ModelError
from patent_mteb.identity import content_revision
from patent_mteb.models.prompts import TASK_PROMPTS, patenteb_prompts, prompt_for
from patent_mteb.models.robustness import (
    NO_PROMPTS,
    PARTS,
    EditedInput,
    InputVariant,
    named_sections,
    pruned,
    with_settings,
)
from patent_mteb.patents.views import SEPARATOR
from patent_mteb.recipes.patentmap_content import SECTION_TAGS
from patent_mteb.store.settings import LiveIdentity, note

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.types import Array, BatchedInput, PromptType
    from sentence_transformers import SentenceTransformer
    from torch.utils.data import DataLoader
from patent_mteb.models.checkpoints import CHECKPOINTS, SOURCES, Checkpoint, Prompts

logger = logging.getLogger(__name__)

_LOCAL = "local-"
_TASK_OF_ROW = {row: task for task, row in TASK_PROMPTS.items()}


def section_tags(text: str, parts: Sequence[str] = PARTS) -> str:
    """Put PatentMap's section tags into a text of the suite.

    ``title [SEP] abstract [SEP] claim`` becomes ``title [SEP] [abstract] abstract [SEP] [claim] claim``; the title, and
    any section that PatentMap has no tag for, carries none. A text that carries a tag already is left as it is.
    """
    if not text or any(tag in text for tag in SECTION_TAGS.values()):
        return text
    sections = text.split(SEPARATOR)
    tags = (SECTION_TAGS.get(name, "") for name in named_sections(sections, parts))
    return SEPARATOR.join(f"{tag} {section}".strip() for tag, section in zip(tags, sections, strict=True))


class PatentEncoder(LiveIdentity, SentenceTransformerEncoderWrapper):  # type: ignore[misc]
    """mteb's sentence-transformers wrapper with the prompts of Table 11, or with none.

    ``model_prompts`` holds the prompts of every patent task that is registered when the model is loaded; those of a
    task that is registered later are added when they are asked for.

    Attributes:
        prompts_used: (task name, ``"query"``, ``"document"`` or None) -> the prompt put before those texts, ``""`` for
            none.
    """

    usual_settings = NO_PROMPTS

    def __init__(self, model: SentenceTransformer, *, prompts: Prompts = "table11") -> None:
        # The checkpoint's own prompts are out of play: nested ones cannot be applied, and mteb would drop them with a
        # warning.
        model.prompts = {}
        model.default_prompt_name = None
        super().__init__(model)
        self.prompts: Prompts = prompts
        self.prompts_used: dict[tuple[str, str | None], str] = {}
        if prompts == "table11":
            self.model_prompts = patenteb_prompts({**TASK_PROMPTS, **registered("tasks")})

    @property
    def own_prompts(self) -> dict[str, str]:
        """Prompts that are not those of the setting: somebody has set them."""
        prompts = self.model_prompts or {}
        tasks = [re.sub(r"-(query|document)$", "", key) for key in prompts]
        known = patenteb_prompts(tasks)
        return {key: prompt for key, prompt in prompts.items() if known.get(key) != prompt}

    def get_prompt_name(self, task_metadata: TaskMetadata, prompt_type: PromptType | None) -> str | None:
        """The key of the task's prompt in ``model_prompts``, None without a prompt."""
        if self.model_prompts is not None:
            row = prompt_for(task_metadata.name)
            if row is not None and prompt_type is None and not row.one_sided:
                raise ModelError(
                    f"task '{task_metadata.name}' has a query and a document prompt; encode it with a prompt type"
                )
            self.model_prompts |= patenteb_prompts([task_metadata.name])
        return super().get_prompt_name(task_metadata, prompt_type)

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
        """Encode with the task's prompt; arguments and result as in mteb's wrapper."""
        key = self.get_prompt_name(task_metadata, prompt_type)
        side = prompt_type.value if prompt_type else None
        self.prompts_used[task_metadata.name, side] = (self.model_prompts or {}).get(key or "", "")
        return super().encode(
            inputs,
            task_metadata=task_metadata,
            hf_split=hf_split,
            hf_subset=hf_subset,
            prompt_type=prompt_type,
            **kwargs,
        )


def without_prompts(meta: ModelMeta) -> ModelMeta:
    """The same model without prompts, as an identity of its own (``experiment_kwargs={"prompts": "none"}``)."""
    return with_settings(meta, prompts="none")


def _local_copy(name: str) -> Path | None:
    root = os.environ.get("PATENT_MTEB_MODELS")  # asked for at every load
    local = Path(root).expanduser() / name if root else None
    return local if local is not None and local.is_dir() else None


class CheckpointMeta(ModelMeta):
    """Metadata of a registered checkpoint, whose revision was found when it was registered: a copy may be put in its
    place, or exchanged, at any time, and the hub's branch may move.
    """

    def placed(self) -> ModelMeta:
        """The same with the revision of what would be loaded now: the content of a local copy, else the commit of the
        hub.
        """
        found = _revision_now(str(self.name), self.revision)
        return self if found == self.revision else self.model_copy(update={"revision": found})


def _revision_now(name: str, revision: str | None) -> str | None:
    local = _local_copy(name)
    if local is not None:
        return f"{_LOCAL}{content_revision(local)}"
    try:
        return _location(CHECKPOINTS[name], revision)[1]
    except Exception as error:  # the hub's client has many; loading says what is missing
        logger.debug("the commit of %s is not known: %s", name, error)
        return CHECKPOINTS[name].revision if (revision or "").startswith(_LOCAL) else revision


def _location(checkpoint: Checkpoint, revision: str | None) -> tuple[str, str | None]:
    """Path or hub id, and the commit to load from the hub (None for a directory)."""
    local = _local_copy(checkpoint.name)
    if local is not None:
        logger.info("%s is loaded from %s", checkpoint.name, local)
        return str(local), None
    if revision is None or revision.startswith(_LOCAL):
        revision = checkpoint.revision
    return checkpoint.name, _commit(checkpoint, revision)


def _commit(checkpoint: Checkpoint, revision: str | None) -> str | None:
    """The commit that a branch, or no revision at all, stands for: the one whose files are there now."""
    if revision is not None and re.fullmatch(r"[0-9a-f]{40}", revision):
        return revision
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    try:
        found = Path(
            hf_hub_download(checkpoint.name, "modules.json" if checkpoint.modules else "config.json", revision=revision)
        )
    except EntryNotFoundError as error:
        if type(error).__name__ == "LocalEntryNotFoundError":
            raise
        return revision
    return found.parent.name


def _remedy(checkpoint: Checkpoint, revision: str | None) -> str:
    at = f" --revision {revision}" if revision else ""
    return (
        f"Needed: https://huggingface.co/{checkpoint.name}. Remedy: allow access to the hub (unset HF_HUB_OFFLINE), or"
        f" fetch it elsewhere with 'hf download {checkpoint.name}{at} --local-dir DIR/{checkpoint.name}' and set"
        " PATENT_MTEB_MODELS=DIR, or run any checkpoint directory under its own name with 'patent-mteb run -m DIR'."
    )


def _pooled(model: SentenceTransformer, checkpoint: Checkpoint, device: str | None) -> SentenceTransformer:
    """The bare transformer of a repository without modules of its own, with the pooling stated here."""
    import sentence_transformers

    try:
        modules = importlib.import_module("sentence_transformers.sentence_transformer.modules")
    except ImportError:  # before sentence-transformers 6
        modules = importlib.import_module("sentence_transformers.models")
    transformer: Any = model[0]
    if checkpoint.tagged or checkpoint.tagged_in_paper:
        known = [tag for tag in SECTION_TAGS.values() if tag in transformer.tokenizer.get_vocab()]
        transformer.tokenizer.add_tokens(known, special_tokens=True)  # what the vocabulary holds is one token
    pooling = modules.Pooling(transformer.auto_model.config.hidden_size, pooling_mode=checkpoint.pooling)
    pooled = sentence_transformers.SentenceTransformer(modules=[transformer, pooling], device=device)
    pooled.max_seq_length = checkpoint.max_tokens
    return pooled


def _load_weights(
    checkpoint: Checkpoint, revision: str | None, device: str | None, **options: Any
) -> tuple[SentenceTransformer, str | None]:
    """The model, and what it was loaded from: a commit, or the content of a directory."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import is_sentence_transformer_model

    try:
        path, pinned = _location(checkpoint, revision)
        complete = not checkpoint.modules or is_sentence_transformer_model(path, revision=pinned)
        model = SentenceTransformer(path, revision=pinned, device=device, **options) if complete else None
    except Exception as error:  # transformers, huggingface_hub and httpx each have errors of their own for "not there"
        raise ModelError(f"'{checkpoint.name}' cannot be loaded ({error}). {_remedy(checkpoint, revision)}") from error
    if model is None:
        raise ModelError(
            f"'{checkpoint.name}' has no modules.json at {path}; without it the pooling would be guessed."
            f" {_remedy(checkpoint, revision)}"
        )
    model = _checked(model if checkpoint.modules else _pooled(model, checkpoint, device), checkpoint, path)
    return model, f"{_LOCAL}{content_revision(Path(path))}" if Path(path).is_dir() and pinned is None else pinned


def _checked(model: SentenceTransformer, checkpoint: Checkpoint, path: str) -> SentenceTransformer:
    dimension = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    if dimension() != checkpoint.dim:
        raise ModelError(
            f"the checkpoint at {path} gives {dimension()} dimensions, '{checkpoint.name}' has {checkpoint.dim}: it is"
            " another model. Remedy: run it under its own name with 'patent-mteb run -m DIR'."
        )
    found = next((mode for module in model if (mode := getattr(module, "pooling_mode", None))), None)
    if found is not None and found not in (checkpoint.pooling, (checkpoint.pooling,), [checkpoint.pooling]):
        logger.warning("%s pools by %s, not by %s as expected; the checkpoint counts", path, found, checkpoint.pooling)
    return model


def _prompt_setting(prompts: str | bool | None, checkpoint: Checkpoint) -> Prompts:
    if prompts is None:
        return checkpoint.prompts
    known: dict[str | bool, Prompts] = {True: "table11", False: "none", "table11": "table11", "none": "none"}
    if prompts not in known:
        raise ModelError(f"prompts={prompts!r} is no prompt setting; use 'table11' (or True) or 'none' (or False)")
    return known[prompts]


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
        raise ModelError(f"'{model_name}' is not a registered patent model. Known: {', '.join(sorted(CHECKPOINTS))}.")
    checkpoint = CHECKPOINTS[model_name]
    setting = _prompt_setting(prompts, checkpoint)
    embed_dim, _ = options.pop("embed_dim", None), options.pop("digest", None)
    if embed_dim not in (None, checkpoint.dim):
        raise ModelError(f"'{model_name}' has {checkpoint.dim} dimensions; truncate them with the truncation wrapper")
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
    """ModelMeta of a checkpoint. A local copy is its own revision, by content: nothing says that it is the pinned
    one.
    """
    local = _local_copy(checkpoint.name)
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
        citation=None if checkpoint.source is None else SOURCES[checkpoint.source],
    )


METAS: tuple[ModelMeta, ...] = tuple(map(_meta, CHECKPOINTS.values()))
"""The metadata of every registered patent model."""

_META_BY_NAME = dict(zip(CHECKPOINTS, METAS, strict=True))
