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
from patent_mteb.models.robustness import reads_section_tags, section_tags
from patent_mteb.patents.corpus import text_dataset
from patent_mteb.protocols.mlp_probe import SMALL_EMBEDDINGS, one_thread
from patent_mteb.search.timing import phase
from patent_mteb.search.vectors import as_tensor, checked_vectors, is_plain
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.evidence import KEY, vectors_record

__all__ = ["FrozenTask", "check_embeddings", "encode_texts"]


def check_embeddings(embeddings: Any, n_texts: int, task: str, model: str) -> np.ndarray:
    """Return embeddings as a float32 matrix of shape (n_texts, dims)."""
    source = f"model {model} on task {task}"
    matrix = checked_vectors(embeddings if hasattr(embeddings, "detach") else np.asarray(embeddings), n_texts, source)
    if not is_plain(matrix):
        raise ModelError(f"{source} gave embeddings of shape {matrix.shape} for {n_texts} texts")
    found: np.ndarray = as_tensor(matrix).numpy()
    return found


def encode_texts(
    model: EncoderProtocol,
    texts: Sequence[str],
    task_metadata: TaskMetadata,
    hf_split: str,
    hf_subset: str,
    encode_kwargs: Mapping[str, Any],
    prompt_type: PromptType | None = None,
) -> np.ndarray:
    """Encode texts by an mteb encoder, each distinct text once."""
    from torch.utils.data import DataLoader

    name = model.mteb_model_meta.name
    if not isinstance(model, EncoderProtocol):
        raise ModelError(f"model {name} does not embed texts, which task {task_metadata.name} needs")
    distinct = list(dict.fromkeys(texts))
    loader: Any = DataLoader(
        text_dataset({"text": distinct}), batch_size=encode_kwargs.get("batch_size", 32), shuffle=False
    )
    where: Any = {
        "task_metadata": task_metadata,
        "hf_split": hf_split,
        "hf_subset": hf_subset,
        "prompt_type": prompt_type,
    }
    with phase("encode"):
        embeddings = model.encode(loader, **where, **encode_kwargs)
    matrix = check_embeddings(embeddings, len(distinct), task_metadata.name, str(name))
    place = {text: row for row, text in enumerate(distinct)}
    return matrix[[place[text] for text in texts]] if len(distinct) < len(texts) else matrix


class FrozenTask(PatentTask):
    """A task that encodes named parts of its data once and scores the embeddings by a protocol.

    A subclass implements ``load_split`` and ``score``. ``load_split`` returns an object with ``texts`` by part, and
    optionally ``roles``, the role of each part (``query`` or ``document``).
    """

    def score(self, embeddings: Mapping[str, np.ndarray], data: Any) -> dict[str, Any]:
        """Return the scores of the protocol on the embeddings of each part."""
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
        parts: dict[str, list[str]] = dict(data_split.texts)
        roles: dict[str, str] = getattr(data_split, "roles", {})
        embeddings: dict[str, np.ndarray] = {}
        for role in dict.fromkeys(roles.get(name) for name in parts):
            names = [name for name in parts if roles.get(name) == role]
            texts = [text for name in names for text in parts[name]]
            prompt_type = None if role is None else PromptType(role)
            matrix = encode_texts(model, texts, self.metadata, hf_split, hf_subset, encode_kwargs, prompt_type)
            ends = np.cumsum([len(parts[name]) for name in names])
            embeddings |= dict(zip(names, np.split(matrix, ends[:-1]), strict=True))
        return embeddings

    def texts_by_role(self, data_split: Any) -> Mapping[str, Iterable[str]]:
        roles: dict[str, str] = getattr(data_split, "roles", {})
        found: dict[str, list[Sequence[str]]] = {}
        for name, texts in data_split.texts.items():
            found.setdefault(roles.get(name, "text"), []).append(texts)
        return {role: chain.from_iterable(parts) for role, parts in found.items()}

    def texts_for(self, model: Any, data_split: Any) -> Any:
        """Return the data of the split, with section tags for a model that reads them, where sections are known."""
        parts = getattr(self.metadata, "text_parts", {})
        if not parts or not reads_section_tags(model.mteb_model_meta):
            return data_split
        of_part = {name: parts[getattr(data_split, "roles", {}).get(name, "text")] for name in data_split.texts}
        texts = {name: [section_tags(text, of_part[name]) for text in part] for name, part in data_split.texts.items()}
        return replace(data_split, texts=texts)

    def roles(self, data_split: Any) -> tuple[PromptType | None, ...]:
        roles: dict[str, str] = getattr(data_split, "roles", {})
        return tuple(
            None if role is None else PromptType(role)
            for role in dict.fromkeys(roles.get(name) for name in data_split.texts)
        )

    def describe_split(self, split: str, **arguments: Any) -> Any:
        ((data,),) = [list(splits.values()) for splits in (self.dataset or {}).values()]
        return {
            "num_samples": sum(map(len, data.texts.values())),
            "number_of_characters": sum(len(text) for texts in data.texts.values() for text in texts),
            "parts": {name: len(texts) for name, texts in data.texts.items()},
        }
