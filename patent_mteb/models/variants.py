"""Variants of an encoder: edited texts, section tags, spans of long texts, fewer layers (PatenTEB §7.3).

Each setting is part of the model's identity.

**Input variants** (PatenTEB §7.4, Table 10). A text of PatenTEB is ``title [SEP] abstract [SEP] first claim``.
``noSEP`` removes the separators, so that one blank remains. ``trim[...]`` drops sections by their position, counted as
in Python (``-1`` is the claim), before that. The task's metadata name the sections of its texts (``text_parts``), so
that ``trim[1]`` drops the abstract also where it comes first. A missing section is ignored. A text without separators,
or one that would lose all sections, stays unchanged.

**Section tags** (PatentMap): ``[abstract]``, ``[claim]`` and ``[invention]`` before the sections of a patent. The
registered PatentMap checkpoints read tags, every other model reads none. The authors evaluated one other model with
tags, bert-for-patents: it reads them for the ``paper_`` scores (:func:`reads_section_tags_in_paper`).

**Spans** give the mean vector of a long text: ``8x512`` reads up to 8 spans of 512 tokens. Passages keep a vector a
passage and aggregate scores (DAPFAM §5.4). Spans make one vector a text, on both sides of a search and in every other
task, so that the index stays as small as that of whole texts.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from patent_mteb.errors import ModelError
from patent_mteb.identity import unambiguous_settings
from patent_mteb.model_identity.loaded import NamedModel
from patent_mteb.models.checkpoints import CHECKPOINTS
from patent_mteb.patents.views import SEPARATOR
from patent_mteb.recipes.patentmap import SECTION_TAGS
from patent_mteb.search.passages import TokenWindows, inner_models, special_tokens, tokenizer_of
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store.batches import as_array, as_matrix, text_loader

if TYPE_CHECKING:
    from mteb.models import EncoderProtocol
    from mteb.models.model_meta import ModelMeta
    from mteb.types import Array
    from sentence_transformers import SentenceTransformer
    from torch.utils.data import DataLoader


NO_PROMPTS = {"prompts": "none"}
"""The setting of a model that is run without its prompts; its result path needs no digest."""

PARTS = ("title", "abstract", "claim")  # the sections of a text if its task's metadata do not name them
TABLE_10 = ("noSEP", "trim[1]", "trim[-1]", "trim[1,-1]", "noSEP+trim[1]", "noSEP+trim[-1]", "noSEP+trim[1,-1]")

_TAGS_SETTING = "section_tags"
_Model = TypeVar("_Model")
_NAME = re.compile(r"(?P<nosep>noSEP)?((?(nosep)\+)trim\[(?P<trim>-?[1-9]\d*(,-?[1-9]\d*)*)\])?")


@dataclass(frozen=True)
class Variant:
    """An input variant: the sections to drop, and whether to keep the separators."""

    trim: tuple[int, ...] = ()
    keep_separators: bool = True

    @classmethod
    def parse(cls, name: str) -> Variant:
        found = _NAME.fullmatch(name.replace(" ", ""))
        if found is None or not (found["nosep"] or found["trim"]):
            raise ModelError(f"invalid input variant '{name}'", remedy=f"use one of the forms {', '.join(TABLE_10)}")
        return cls(tuple(int(part) for part in (found["trim"] or "").split(",") if part), not found["nosep"])

    @property
    def name(self) -> str:
        trim = f"trim[{','.join(map(str, self.trim))}]" if self.trim else ""
        return "+".join(filter(None, ("" if self.keep_separators else "noSEP", trim)))

    def __call__(self, text: str, parts: Sequence[str] = PARTS) -> str:
        """Apply the variant to a text; ``parts`` names its sections in order."""
        dropped = {PARTS[at] for at in self.trim if -len(PARTS) <= at < len(PARTS)}
        sections = text.split(SEPARATOR)
        named = zip(_named_sections(sections, parts), sections, strict=True)
        kept = [section for name, section in named if name not in dropped]
        return (SEPARATOR if self.keep_separators else " ").join(kept or sections)


def _named_sections(sections: Sequence[str], parts: Sequence[str]) -> list[str]:
    """Name the sections of a text by ``parts``, in order. Sections beyond the last name belong to it."""
    return [parts[min(position, len(parts) - 1)] for position in range(len(sections))]


def with_settings(meta: ModelMeta, **settings: Any) -> ModelMeta:
    """Add settings to a model's identity (``experiment_kwargs``, which are part of mteb's result path)."""
    return meta.model_copy(
        update={"experiment_kwargs": unambiguous_settings({**(meta.experiment_kwargs or {}), **settings}, NO_PROMPTS)}
    )


class WrappedEncoder(NamedModel):
    """A wrapper of an encoder, whose similarity compares the vectors."""

    model: Any

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        return self.model.similarity(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        return self.model.similarity_pairwise(embeddings1, embeddings2)


class EditedInput(WrappedEncoder):
    """An encoder whose texts are edited, by ``edit(text, names of its sections)``, before prompts are added.

    Only ``text`` is passed on, so a model that reads other columns fails instead of reading unedited text.
    """

    usual_settings = NO_PROMPTS

    def __init__(self, model: EncoderProtocol, edit: Any, meta: ModelMeta) -> None:
        self.model = model
        self.edit = edit
        self.mteb_model_meta = meta

    def encode(self, inputs: DataLoader[Any], *, task_metadata: Any, prompt_type: Any = None, **kwargs: Any) -> Array:
        """Encode the edited texts; arguments as in mteb's ``EncoderProtocol``."""
        known: Mapping[str, Sequence[str]] = getattr(task_metadata, "text_parts", {})
        parts = known.get(prompt_type.value if prompt_type else "text", PARTS)
        texts: list[str] = []
        for batch in inputs:
            if "text" not in batch:
                raise ModelError(
                    f"task '{task_metadata.name}' has no text column: {type(self).__name__} edits texts only"
                )
            texts += [self.edit(text, parts) for text in batch["text"]]
        edited = text_loader(texts, inputs.batch_size or 32)
        found: Array = self.model.encode(edited, task_metadata=task_metadata, prompt_type=prompt_type, **kwargs)
        return found

    @property
    def model_prompts(self) -> dict[str, str] | None:
        return getattr(self.model, "model_prompts", None)

    @property
    def prompts_used(self) -> dict[tuple[str, str | None], str]:
        """The prompts that the wrapped model recorded (see :mod:`patent_mteb.models.registry`)."""
        return getattr(self.model, "prompts_used", {})


class InputVariant(EditedInput):
    """Any mteb encoder under an input variant of Table 10, which is part of its identity (such as ``input=noSEP``)."""

    def __init__(self, model: EncoderProtocol, variant: str | Variant) -> None:
        variant = Variant.parse(variant) if isinstance(variant, str) else variant
        if "input" in (model.mteb_model_meta.experiment_kwargs or {}):
            raise ModelError(
                f"model '{model.mteb_model_meta.name}' already has an input variant",
                remedy="combine both in one name, such as noSEP+trim[1]",
            )
        super().__init__(model, variant, with_settings(model.mteb_model_meta, input=variant.name))


def pruned(model: SentenceTransformer, layers: int) -> SentenceTransformer:
    """Return a copy with the first ``layers`` layers (§7.3, Table 9), or the model itself if it has no more."""
    from torch.nn import ModuleList

    transformer: Any = getattr(model[0], "auto_model", None)
    depth = getattr(getattr(transformer, "config", None), "num_hidden_layers", None)
    if depth is None:
        raise ModelError("cannot prune layers: the first module of the model is not a transformer")
    lists = [(name, one) for name, one in transformer.named_modules() if isinstance(one, ModuleList)]
    stacks = [name for name, one in lists if len(one) == depth]
    if len(stacks) != 1:
        raise ModelError(f"cannot prune layers: found {len(stacks)} stacks of {depth} layers, expected one")
    if not 1 <= layers <= depth:
        raise ModelError(f"cannot keep {layers} layers of a model that has {depth}")
    if layers == depth:
        return model
    shortened = copy.deepcopy(model)
    transformer = shortened[0].auto_model
    parent, _, attribute = stacks[0].rpartition(".")
    setattr(transformer.get_submodule(parent), attribute, transformer.get_submodule(stacks[0])[:layers])
    transformer.config.num_hidden_layers = layers
    return shortened


def section_tags(text: str, parts: Sequence[str] = PARTS) -> str:
    """Put PatentMap's section tags before the sections of a text that have one, unless it contains a tag already."""
    if not text or any(tag in text for tag in SECTION_TAGS.values()):
        return text
    sections = text.split(SEPARATOR)
    tags = (SECTION_TAGS.get(name, "") for name in _named_sections(sections, parts))
    return SEPARATOR.join(f"{tag} {section}".strip() for tag, section in zip(tags, sections, strict=True))


def reads_section_tags(meta: ModelMeta) -> bool:
    checkpoint = CHECKPOINTS.get(meta.name or "")
    return bool((meta.experiment_kwargs or {}).get(_TAGS_SETTING)) or (checkpoint is not None and checkpoint.tagged)


def reads_section_tags_in_paper(meta: ModelMeta) -> bool:
    """Whether the PatentMap paper gives a model of this identity texts with section tags."""
    checkpoint = CHECKPOINTS.get(meta.name or "")
    return reads_section_tags(meta) or (checkpoint is not None and checkpoint.tagged_in_paper)


def with_section_tags(model: _Model) -> _Model:
    """A shallow copy of a model that reads section tags, with the setting ``section_tags`` in its identity."""
    meta: ModelMeta = model.mteb_model_meta  # type: ignore[attr-defined]
    tagged = copy.copy(model)
    settings = {**(meta.experiment_kwargs or {}), _TAGS_SETTING: True}
    try:
        tagged.mteb_model_meta = meta.model_copy(update={"experiment_kwargs": settings})  # type: ignore[attr-defined]
    except AttributeError as error:
        raise ModelError(
            f"the identity of a {type(model).__name__} cannot be changed", remedy="set section tags on the inner model"
        ) from error
    return tagged


_TEXTS = 4096
"""Texts whose spans are encoded together: with 8 spans of 1,024 dimensions, 130 MB of vectors."""


def parse(name: str) -> tuple[int, int]:
    """Read ``8x512`` as (8, 512): the greatest number of spans, and their tokens."""
    found = re.fullmatch(r"([1-9]\d{0,3})x([1-9]\d{0,5})", name)
    if found is None:
        raise ModelError(f"invalid spans '{name}'", remedy="write their number and their tokens, such as 8x512")
    return int(found[1]), int(found[2])


class Spans(EditedInput):
    """An encoder that reads a text as consecutive spans and returns the mean of their vectors.

    The tokens of a span include special tokens and the longest prompt of the model, so that nothing within a span is
    cut off. Text beyond the last span is not read. The mean is scaled to the mean length of its vectors: a text of one
    span keeps its vector, and unit vectors give a unit vector.
    """

    def __init__(self, model: EncoderProtocol, spans: str) -> None:
        self.count, self.tokens = parse(spans)
        meta = model.mteb_model_meta
        if not is_encoder(model):
            raise ModelError(f"{meta.name} does not embed texts, so it reads no spans", remedy="leave out --spans")
        if "spans" in (meta.experiment_kwargs or {}):
            raise ModelError(f"model '{meta.name}' already reads spans", remedy="give them once")
        super().__init__(model, None, with_settings(meta, spans=spans))

    def _window(self) -> TokenWindows:
        tokenizer = tokenizer_of(self.model)
        chain = list(inner_models(self.model))
        limits = [limit for one in chain if isinstance(limit := getattr(one, "max_seq_length", None), int)]
        name = self.mteb_model_meta.name
        if any(isinstance(one, EditedInput) for one in chain):
            raise ModelError(
                f"{name} edits the sections of a text, which spans do not show", remedy="leave out --spans"
            )
        if limits and self.tokens > limits[0]:
            raise ModelError(f"{name} reads {limits[0]} tokens of a text, not {self.tokens}", remedy="shorten --spans")
        special = max(map(special_tokens, chain))
        known: dict[str, str] = next((found for one in chain if (found := getattr(one, "model_prompts", None))), {})
        left = self.tokens - special - max(map(len, tokenizer.starts(["", *map(str, known.values())])))
        if left < 1:
            problem = f"the special tokens and prompts of {name} fill spans of {self.tokens} tokens"
            raise ModelError(problem, remedy="lengthen --spans")
        return TokenWindows(left, tokenizer=tokenizer)

    def encode(self, inputs: DataLoader[Any], *, task_metadata: Any, **kwargs: Any) -> Any:
        """Return vectors [n, dimensions], fp32; arguments as in mteb's ``EncoderProtocol``."""
        texts = [text for batch in inputs for text in batch["text"]]
        cut = self._window()
        blocks = []
        for start in range(0, len(texts), _TEXTS):
            block = texts[start : start + _TEXTS]
            windows = zip(block, cut([{"text": text} for text in block]), strict=True)
            spans = [[text] if len(found) == 1 else found[: self.count] for text, found in windows]
            loader = text_loader([span for found in spans for span in found], inputs.batch_size or 32)
            vectors = self.model.encode(loader, task_metadata=task_metadata, **kwargs)
            vectors = as_array(as_matrix(vectors, len(loader.dataset), self.mteb_model_meta.name))
            blocks.append(_means(vectors.astype(np.float32, copy=False), [len(found) for found in spans]))
        return np.concatenate(blocks) if blocks else np.empty((0, 0), np.float32)


def _means(vectors: Any, counts: list[int]) -> Any:
    """The mean of each group of consecutive vectors, scaled to the mean length of the group."""
    starts = np.cumsum([0, *counts[:-1]])
    sizes = np.array(counts)[:, None]
    means = np.add.reduceat(vectors, starts, axis=0, dtype=np.float64) / sizes
    lengths = np.add.reduceat(np.linalg.norm(vectors, axis=1), starts, dtype=np.float64)[:, None] / sizes
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    scaled = means * np.divide(lengths, norms, out=np.zeros_like(norms), where=norms > 0)
    return np.where(sizes == 1, vectors[starts], scaled).astype(np.float32)
