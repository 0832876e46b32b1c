"""How a model's embeddings lie in space, on the texts of any retrieval task of the suite (PatentMap §6.3, appendices D
and E).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Set
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from mteb.models import EncoderProtocol
from mteb.types import PromptType

from patent_mteb.errors import ModelError
from patent_mteb.files import json_lines, write_jsonl
from patent_mteb.metrics import embedding_geometry as measures
from patent_mteb.search.base import document_text, query_texts
from patent_mteb.tasks.frozen import encode_texts
from patent_mteb.tasks.perquery import path_of
from patent_mteb.tasks.retrieval import PatentRetrieval

logger = logging.getLogger(__name__)


WHOLE = "text"

LEAST_WORDS = 6
"""A shorter text tells nothing of a model (the authors' evaluation)."""


_Item = TypeVar("_Item")


def geometry(
    model: EncoderProtocol,
    task: PatentRetrieval,
    *,
    max_documents: int = 10_000,
    pairs: int = measures.PAIRS,
    seed: int = measures.SEED,
    encode_kwargs: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """Alignment, uniformity, SSD / log d and IDA ratio of an encoder on the texts of a task.

    Alignment is over pairs of a query and a document that is relevant for it (citing and cited patents), each encoded
    as what it is. Uniformity and SSD are over queries and documents together, texts of fewer than six words left out,
    as the authors do (words are those of the text that the model reads, title and all). Where the corpus has sections
    (PatentMap's Claims -> All), a document takes part in alignment with the section of the query, and all three are
    also given for each section (Fig. 5): alignment once of the same section of both patents (``alignment_<section>``),
    and once, as the authors' code has it, of every section of the citing patent with this section of the cited one
    (``alignment_to_<section>``). The IDA ratio is given for all sections and for each two of them (Fig. 6), always over
    one and the same distance of random pairs, that of all sections (appendix E); without sections there is no IDA
    ratio.
    """
    if not isinstance(model, EncoderProtocol):
        raise ModelError(f"{type(model).__name__} does not embed texts, so it has no geometry. Remedy: pass an encoder")
    task.load_data()
    data = task.texts_for(model, (task.dataset or {})[task.source.subset][task.split])
    rng = np.random.default_rng(seed)
    documents = _texts(task, data["corpus"])
    kind = WHOLE if WHOLE in documents else task.query_section
    asked = dict(zip(data["queries"]["id"], query_texts(data["queries"]), strict=True))
    queries = {**(task.query_sections(model) if len(documents) > 1 else {}), kind: asked}
    positive = [
        (query, document)
        for query, judged in data["relevant_docs"].items()
        for document, gain in judged.items()
        if gain > 0 and documents[kind].get(document)
    ]
    if not positive:
        raise ModelError(f"task {task.metadata.name} has no relevant document with a text, so there is no alignment")
    positive = _drawn(positive, pairs, rng)
    own = set(_drawn(list(data["corpus"]["id"]), max_documents, rng))
    asking = set(_drawn(list(asked), max_documents, rng)) | {query for query, _ in positive}

    where = (task.metadata, task.split, task.source.subset, encode_kwargs or {})
    cited = own | {document for _, document in positive}
    vectors = {
        PromptType.query: _Vectors(queries, asking, lambda texts: encode_texts(model, texts, *where, PromptType.query)),
        PromptType.document: _Vectors(
            documents, cited, lambda texts: encode_texts(model, texts, *where, PromptType.document)
        ),
    }
    try:
        return _scores(vectors[PromptType.query], vectors[PromptType.document], positive, own, kind, pairs, seed)
    except ValueError as error:
        raise ModelError(
            f"the geometry of {model.mteb_model_meta.name} on {task.metadata.name} cannot be measured: {error}"
        ) from error


def _drawn(items: list[_Item], most: int, rng: np.random.Generator) -> list[_Item]:
    return (
        items
        if len(items) <= most
        else [items[place] for place in np.sort(rng.choice(len(items), most, replace=False))]
    )


class _Vectors:
    """The vectors of the texts of chosen patents, by section and patent."""

    def __init__(
        self, texts: Mapping[str, Mapping[str, str]], chosen: Set[str], encode: Callable[[list[str]], np.ndarray]
    ) -> None:
        self.sections = tuple(texts)
        self.texts = {
            (name, key): text for name, own in texts.items() for key, text in own.items() if text and key in chosen
        }
        self._place = {key: row for row, key in enumerate(self.texts)}
        self._matrix = encode(list(self.texts.values()))

    def of(self, keys: Iterable[tuple[str, str]]) -> np.ndarray:
        """The vectors of (section, patent), one a row."""
        return self._matrix[[self._place[key] for key in keys]]

    def long_enough(self, name: str) -> np.ndarray:
        """Those of one section with at least :data:`LEAST_WORDS` words."""
        return self.of(key for key, text in self.texts.items() if key[0] == name and len(text.split()) >= LEAST_WORDS)


def _texts(task: PatentRetrieval, corpus: Any) -> dict[str, dict[str, str]]:
    """``{section: {document: text}}``; one section ``text`` where the corpus has none."""
    if "sections" not in corpus.column_names:
        return {WHOLE: {row["id"]: document_text(row) for row in corpus}}
    columns = zip(*corpus["sections"], strict=True)
    return {
        name: dict(zip(corpus["id"], column, strict=True))
        for name, column in zip(task.document_sections, columns, strict=True)
    }


def _scores(
    queries: _Vectors,
    documents: _Vectors,
    positive: list[tuple[str, str]],
    own: Set[str],
    kind: str,
    pairs: int,
    seed: int,
) -> dict[str, float]:
    def aligned(of_query: Iterable[str], of_document: str) -> float | None:
        keys = [((name, query), (of_document, document)) for name in of_query for query, document in positive]
        keys = [(one, other) for one, other in keys if one in queries.texts and other in documents.texts]
        return (
            measures.alignment(queries.of(one for one, _ in keys), documents.of(other for _, other in keys))
            if keys
            else None
        )

    names = documents.sections
    spread = {name: np.concatenate([queries.long_enough(name), documents.long_enough(name)]) for name in names}
    everything = np.concatenate(list(spread.values()))
    scores: dict[str, float | None] = {
        "alignment": aligned([kind], kind),
        "uniformity": measures.uniformity(everything, pairs=pairs, seed=seed),
        "ssd": measures.spectrum_divergence(everything),
        "n_pairs": float(len(positive)),
        "n_documents": float(len(own)),
        "n_texts": float(len(everything)),
    }
    if len(names) > 1:
        for name in names:
            scores[f"alignment_{name}"] = aligned([name], name)
            scores[f"alignment_to_{name}"] = aligned(names, name)
            scores[f"uniformity_{name}"] = measures.uniformity(spread[name], pairs=pairs, seed=seed)
            scores[f"ssd_{name}"] = measures.spectrum_divergence(spread[name])
        scores |= _cohesion(documents, own, pairs, seed)
    return {name: value for name, value in scores.items() if value is not None}


def _cohesion(documents: _Vectors, own: Set[str], pairs: int, seed: int) -> dict[str, float | None]:
    """The IDA ratios, all over the distance of random pairs of all sections."""

    def held(names: Iterable[str]) -> tuple[np.ndarray, list[str]]:
        keys = [(name, document) for name, document in documents.texts if name in names and document in own]
        return documents.of(keys), [document for _, document in keys]

    everything = measures.ida_ratio(*held(documents.sections), pairs=pairs, seed=seed)
    scores: dict[str, float | None] = {"ida_ratio": everything.ratio, "n_ida_documents": float(everything.documents)}
    for one, other in combinations(documents.sections, 2):
        _, distances = measures.intra_document_distances(*held((one, other)))
        scores[f"ida_ratio_{one}_{other}"] = float(distances.mean()) / everything.random if len(distances) else None
    return scores


def save(
    measured: Mapping[str, float], model: EncoderProtocol, task: PatentRetrieval, root: Path, **settings: int
) -> Path:
    """Write a geometry beside the results of a model and a task, ``<Task>.geometry.jsonl`` in mteb's folder structure.

    One line a state of the data: whose it is, with which settings it was measured, and the numbers.
    """
    meta = model.mteb_model_meta
    path = path_of(
        root / "results", meta, task.metadata.name, ".geometry.jsonl"
    )  # where mteb keeps results in its folder
    mine = {
        "task": task.metadata.name,
        "model": meta.name,
        "model_revision": meta.revision,
        "experiment": meta.experiment_name,
        "dataset_revision": task.metadata.revision,
        "subset": task.source.subset,
    }
    kept = (
        [row for _, row in json_lines(path) if any(row.get(name) != value for name, value in mine.items())]
        if path.exists()
        else []
    )
    write_jsonl(path, [*kept, {**mine, "settings": settings, "measures": dict(measured)}])
    return path
