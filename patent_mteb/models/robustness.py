"""Robustness settings of PatenTEB §7.3–7.4: changed inputs and pruned layers, each with an identity of its own.

A text of PatenTEB is ``title [SEP] abstract [SEP] first claim``. Table 10 changes it in two ways: ``noSEP`` takes the
separators away, ``trim[...]`` drops sections by their position, counted as in Python (``1`` the abstract, ``-1`` the
claim). Trimming comes first, since it needs the separators.

Which sections a text has says the task (``text_parts`` of its metadata): ``trim[1]`` drops the abstract wherever it
stands, also where it comes first because the title was taken away (Title2Full). A text of a task that does not say it
is read as title, abstract, claim.

Readings, where the paper is silent: a section that a text does not have is ignored; a text without separators (a
fragment, a title) stays as it is, and so does one that would lose everything; a removed separator leaves one blank.

Dimension truncation, the other post-training setting of §7.3, works on embeddings and is a wrapper of its own.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patent_mteb.errors import ModelError
from patent_mteb.identity import unambiguous_settings
from patent_mteb.patents.views import SEPARATOR
from patent_mteb.store.settings import LiveIdentity

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.models.model_meta import ModelMeta
    from mteb.models.models_protocols import EncoderProtocol
    from mteb.types import Array, BatchedInput, PromptType
    from sentence_transformers import SentenceTransformer
    from torch.utils.data import DataLoader


NO_PROMPTS = {"prompts": "none"}
"""The setting of a model that is run without its prompts; its path needs no digest."""

PARTS = ("title", "abstract", "claim")
"""The sections of a text whose task does not say which it has."""

TABLE_10 = ("noSEP", "trim[1]", "trim[-1]", "trim[1,-1]", "noSEP+trim[1]", "noSEP+trim[-1]", "noSEP+trim[1,-1]")
"""The input variants of Table 10 by name."""

_NAME = re.compile(r"(?P<nosep>noSEP)?((?(nosep)\+)trim\[(?P<trim>-?[1-9]\d*(,-?[1-9]\d*)*)\])?")


@dataclass(frozen=True)
class Variant:
    """An input variant: which sections go, and whether the separators do."""

    trim: tuple[int, ...] = ()
    keep_separators: bool = True

    @classmethod
    def parse(cls, name: str) -> Variant:
        """Read a name such as ``noSEP``, ``trim[-1]`` or ``noSEP+trim[1,-1]``."""
        found = _NAME.fullmatch(name.replace(" ", ""))
        if found is None or not (found["nosep"] or found["trim"]):
            raise ModelError(f"'{name}' is no input variant. Known forms: {', '.join(TABLE_10)}.")
        return cls(tuple(int(part) for part in (found["trim"] or "").split(",") if part), not found["nosep"])

    @property
    def name(self) -> str:
        parts = ([] if self.keep_separators else ["noSEP"]) + (
            [f"trim[{','.join(map(str, self.trim))}]"] if self.trim else []
        )
        return "+".join(parts)

    def __call__(self, text: str, parts: Sequence[str] = PARTS) -> str:
        """The text as the variant leaves it; ``parts`` are the sections that it may have, in order."""
        dropped = {PARTS[at] for at in self.trim if -len(PARTS) <= at < len(PARTS)}
        sections = text.split(SEPARATOR)
        kept = [
            section
            for name, section in zip(named_sections(sections, parts), sections, strict=True)
            if name not in dropped
        ]
        return (SEPARATOR if self.keep_separators else " ").join(kept or sections)


def named_sections(sections: Sequence[str], parts: Sequence[str]) -> list[str]:
    """The name of each section of a text: those of ``parts`` in order; of fewer sections the last are missing, of more
    the rest is the last one's.
    """
    return [parts[min(position, len(parts) - 1)] for position in range(len(sections))]


def with_settings(meta: ModelMeta, **settings: Any) -> ModelMeta:
    """A model's metadata with settings added to its identity (``experiment_kwargs``, part of mteb's result path)."""
    return meta.model_copy(
        update={"experiment_kwargs": unambiguous_settings({**(meta.experiment_kwargs or {}), **settings}, NO_PROMPTS)}
    )


class EditedInput(LiveIdentity):
    """An encoder whose texts are edited before they are encoded; prompts are added to the edited text.

    ``edit(text, parts)`` gets the sections that the task says its texts of this role have (:data:`PARTS` if it says
    nothing).

    Only the ``text`` of a batch is passed on: a model that reads other columns fails instead of seeing unedited text.
    Everything else is the wrapped model's.
    """

    usual_settings = NO_PROMPTS

    def __init__(self, model: EncoderProtocol, edit: Any, meta: ModelMeta) -> None:
        self.model = model
        self.edit = edit
        self.mteb_model_meta = meta

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
        """Encode the edited texts; arguments as in mteb's ``EncoderProtocol``."""
        from datasets import Dataset
        from torch.utils.data import DataLoader

        known: Mapping[str, Sequence[str]] = getattr(task_metadata, "text_parts", {})
        parts = known.get(prompt_type.value if prompt_type else "text", PARTS)
        texts: list[str] = []
        for batch in inputs:
            if "text" not in batch:
                raise ModelError(
                    f"task '{task_metadata.name}' has no text column: {type(self).__name__} edits texts only"
                )
            texts += [self.edit(text, parts) for text in batch["text"]]
        edited: Any = DataLoader(Dataset.from_dict({"text": texts}), batch_size=inputs.batch_size or 32)
        return self.model.encode(
            edited,
            task_metadata=task_metadata,
            hf_split=hf_split,
            hf_subset=hf_subset,
            prompt_type=prompt_type,
            **kwargs,
        )

    def similarity(self, embeddings1: Array, embeddings2: Array) -> Array:
        return self.model.similarity(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Array, embeddings2: Array) -> Array:
        return self.model.similarity_pairwise(embeddings1, embeddings2)

    @property
    def model_prompts(self) -> dict[str, str] | None:
        """The wrapped model's prompts, as mteb looks them up."""
        return getattr(self.model, "model_prompts", None)

    @property
    def prompts_used(self) -> dict[tuple[str, str | None], str]:
        """What the wrapped model recorded (see :mod:`patent_mteb.models.registry`), empty if it records nothing."""
        return getattr(self.model, "prompts_used", {})


class InputVariant(EditedInput):
    """Any mteb encoder under one of the input variants of Table 10, an identity of its own (``input=noSEP`` and so
    on).
    """

    def __init__(self, model: EncoderProtocol, variant: str | Variant) -> None:
        """Wrap an encoder."""
        variant = Variant.parse(variant) if isinstance(variant, str) else variant
        if "input" in (model.mteb_model_meta.experiment_kwargs or {}):
            raise ModelError(
                f"model '{model.mteb_model_meta.name}' is an input variant already; combine them in one name"
            )
        super().__init__(model, variant, with_settings(model.mteb_model_meta, input=variant.name))


def pruned(model: SentenceTransformer, layers: int) -> SentenceTransformer:
    """A copy of a model that keeps the first ``layers`` transformer layers (§7.3, Table 9); the model itself for all of
    them.

    The modules behind them stay.
    """
    from torch.nn import ModuleList

    transformer: Any = getattr(model[0], "auto_model", None)
    depth = getattr(getattr(transformer, "config", None), "num_hidden_layers", None)
    if depth is None:
        raise ModelError("cannot prune layers: the model does not start with a transformer")
    stacks = [
        (name, module)
        for name, module in transformer.named_modules()
        if isinstance(module, ModuleList) and len(module) == depth
    ]
    if len(stacks) != 1:
        raise ModelError(f"cannot prune layers: found {len(stacks)} stacks of {depth} layers where one is expected")
    if not 1 <= layers <= depth:
        raise ModelError(f"cannot keep {layers} layers of a model that has {depth}")
    if layers == depth:
        return model
    cut = copy.deepcopy(model)
    transformer = cut[0].auto_model
    name = stacks[0][0]
    stack = transformer.get_submodule(name)
    parent, _, attribute = name.rpartition(".")
    setattr(transformer.get_submodule(parent), attribute, stack[:layers])
    transformer.config.num_hidden_layers = layers
    return cut
