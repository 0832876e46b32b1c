"""Tasks whose protocol works on frozen embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import EncoderProtocol
from mteb.types import PromptType

from patent_mteb.errors import ModelError
from patent_mteb.models.variants import reads_section_tags, section_tags
from patent_mteb.protocols.mlp_probe import SMALL_EMBEDDINGS, one_thread
from patent_mteb.search.vectors import as_tensor, encode_checked
from patent_mteb.store.batches import text_loader
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.evidence import KEY, vectors_record


def encode_texts(
    model: EncoderProtocol,
    texts: Sequence[str],
    task_metadata: TaskMetadata,
    hf_split: str,
    hf_subset: str,
    encode_kwargs: Mapping[str, Any],
    prompt_type: PromptType | None = None,
) -> np.ndarray:
    """Encode texts by an mteb encoder, each distinct text once, to a float32 matrix of shape (n_texts, dims)."""
    if not isinstance(model, EncoderProtocol):
        raise ModelError(
            f"model {model.mteb_model_meta.name} does not embed texts, which task {task_metadata.name} needs"
        )
    row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    loader = text_loader(list(row_of), encode_kwargs.get("batch_size", 32))
    where: Any = {"task_metadata": task_metadata, "hf_split": hf_split, "hf_subset": hf_subset}
    found = encode_checked(model, loader, len(row_of), prompt_type=prompt_type, **where, **encode_kwargs)
    matrix: np.ndarray = as_tensor(found).numpy()
    return matrix[[row_of[text] for text in texts]] if len(row_of) < len(texts) else matrix


def _roles(data_split: Any) -> dict[str | None, list[str]]:
    """Return the names of the parts of each role (``query``, ``document`` or None)."""
    found: dict[str | None, list[str]] = {}
    for name in data_split.texts:
        found.setdefault(getattr(data_split, "roles", {}).get(name), []).append(name)
    return found


class FrozenTask(PatentTask):
    """A task that encodes named parts of its data once and scores the embeddings by a protocol.

    Its split has ``texts`` by part, and optionally ``roles`` by part (``query``, ``document``).
    """

    def score(self, embeddings: Mapping[str, np.ndarray], data: Any) -> dict[str, Any]:
        raise NotImplementedError

    def evaluate_split(self, model: Any, data_split: Any, **arguments: Any) -> Any:
        hf_split, hf_subset, timer = arguments["hf_split"], arguments["hf_subset"], arguments["timer"]
        data_split = self.texts_for(model, data_split)
        texts = self.texts_evidence(data_split)
        with timer("Encoding", split=hf_split, subset=hf_subset):
            embeddings = self._embeddings(model, data_split, hf_split, hf_subset, arguments["encode_kwargs"])
        small = sum(matrix.size for matrix in embeddings.values()) < SMALL_EMBEDDINGS
        with timer("Scoring", split=hf_split, subset=hf_subset), one_thread(small):
            return {
                **self.score(embeddings, data_split),
                KEY: {"texts": texts, "embeddings": vectors_record(embeddings)},
            }

    def encode_split(self, model: Any, data_split: Any, **arguments: Any) -> None:
        self._embeddings(model, self.texts_for(model, data_split), **arguments)

    def _embeddings(
        self, model: Any, data_split: Any, hf_split: str, hf_subset: str, encode_kwargs: Mapping[str, Any]
    ) -> dict[str, np.ndarray]:
        """Return the embeddings of each part; the parts of one role are encoded in one call."""
        parts: dict[str, list[str]] = data_split.texts
        embeddings: dict[str, np.ndarray] = {}
        for role, names in _roles(data_split).items():
            texts = [text for name in names for text in parts[name]]
            prompt_type = None if role is None else PromptType(role)
            matrix = encode_texts(model, texts, self.metadata, hf_split, hf_subset, encode_kwargs, prompt_type)
            ends = np.cumsum([len(parts[name]) for name in names])
            embeddings |= dict(zip(names, np.split(matrix, ends[:-1]), strict=True))
        return embeddings

    def texts_by_role(self, data_split: Any) -> Mapping[str, Iterable[str]]:
        return {
            role or "text": chain.from_iterable(data_split.texts[name] for name in names)
            for role, names in _roles(data_split).items()
        }

    def texts_for(self, model: Any, data_split: Any) -> Any:
        """Return the data of the split, with section tags for a model that reads them, where sections are known."""
        parts = getattr(self.metadata, "text_parts", {})
        if not parts or not reads_section_tags(model.mteb_model_meta):
            return data_split
        of_part = {name: parts[getattr(data_split, "roles", {}).get(name, "text")] for name in data_split.texts}
        texts = {name: [section_tags(text, of_part[name]) for text in part] for name, part in data_split.texts.items()}
        return replace(data_split, texts=texts)

    def roles(self, data_split: Any) -> tuple[PromptType | None, ...]:
        return tuple(None if role is None else PromptType(role) for role in _roles(data_split))

    def describe_split(self, split: str, **arguments: Any) -> Any:
        ((data,),) = [list(splits.values()) for splits in (self.dataset or {}).values()]
        parts = {name: len(texts) for name, texts in data.texts.items()}
        characters = sum(len(text) for texts in data.texts.values() for text in texts)
        return {"num_samples": sum(parts.values()), "number_of_characters": characters, "parts": parts}
