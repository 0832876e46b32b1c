"""Geometry of a model's embeddings on the texts of a retrieval task (PatentMap §6.3, appendices D and E)."""

from __future__ import annotations

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
from patent_mteb.patents.scripts import split_words
from patent_mteb.search.base import document_text, query_texts
from patent_mteb.tasks.frozen import encode_texts
from patent_mteb.tasks.perquery import path_of
from patent_mteb.tasks.retrieval import PatentRetrieval

WHOLE = "text"
MIN_WORDS = 6  # minimum length of a text, as in the authors' evaluation
_Item = TypeVar("_Item")


def geometry(
    model: EncoderProtocol,
    task: PatentRetrieval,
    *,
    max_documents: int = 10_000,
    pairs: int = measures.PAIRS,
    encode_kwargs: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """Return alignment, uniformity, SSD / log d and IDA ratio of an encoder on the texts of a task.

    Alignment is over pairs of a query and a relevant document, each encoded in its role. Uniformity and SSD are over
    queries and documents together, without texts of fewer than six words, as in the authors' evaluation.

    If the corpus has sections (PatentMap's Claims -> All), all three are also returned for each section (Fig. 5), and
    alignment uses the section of the query. ``alignment_<section>`` compares the same section of both patents,
    ``alignment_to_<section>`` every section of the citing patent with this one of the cited one. The IDA ratio is
    returned for all sections and each pair of sections (Fig. 6), relative to random pairs over all sections (appendix
    E).
    """
    if not isinstance(model, EncoderProtocol):
        raise ModelError(
            f"{type(model).__name__} does not embed texts, so it has no geometry", remedy="pass an encoder"
        )
    task.load_data()
    data = task.texts_for(model, (task.dataset or {})[task.source.subset][task.split])
    rng = np.random.default_rng(measures.SEED)
    documents = _texts(task, data["corpus"])
    kind = WHOLE if WHOLE in documents else task.query_section
    texts_of_queries = dict(zip(data["queries"]["id"], query_texts(data["queries"]), strict=True))
    queries = {**(task.query_sections(model) if len(documents) > 1 else {}), kind: texts_of_queries}
    positive = [
        (query, document)
        for query, judged in data["relevant_docs"].items()
        for document, gain in judged.items()
        if gain > 0 and documents[kind].get(document)
    ]
    if not positive:
        raise ModelError(f"task {task.metadata.name} has no relevant document with a text, so there is no alignment")
    positive = _drawn(positive, pairs, rng)
    sampled = set(_drawn(list(data["corpus"]["id"]), max_documents, rng))
    citing = set(_drawn(list(texts_of_queries), max_documents, rng)) | {query for query, _ in positive}

    where = (task.metadata, task.split, task.source.subset, encode_kwargs or {})
    cited = sampled | {document for _, document in positive}
    of_queries = _Vectors(queries, citing, lambda texts: encode_texts(model, texts, *where, PromptType.query))
    of_documents = _Vectors(documents, cited, lambda texts: encode_texts(model, texts, *where, PromptType.document))
    try:
        return _scores(of_queries, of_documents, positive, sampled, kind, pairs)
    except ValueError as error:
        raise ModelError(
            f"the geometry of {model.mteb_model_meta.name} on {task.metadata.name} cannot be measured: {error}"
        ) from error


def _drawn(items: list[_Item], most: int, rng: np.random.Generator) -> list[_Item]:
    if len(items) <= most:
        return items
    return [items[place] for place in np.sort(rng.choice(len(items), most, replace=False))]


class _Vectors:
    """The vectors of the texts of chosen patents, by section and patent."""

    def __init__(
        self, texts: Mapping[str, Mapping[str, str]], chosen: Set[str], encode: Callable[[list[str]], np.ndarray]
    ) -> None:
        self.sections = tuple(texts)
        self.texts = {
            (name, key): text for name, part in texts.items() for key, text in part.items() if text and key in chosen
        }
        self._place = {key: row for row, key in enumerate(self.texts)}
        self._matrix = encode(list(self.texts.values()))

    def of(self, keys: Iterable[tuple[str, str]]) -> np.ndarray:
        """Return the vectors of (section, patent) keys, one per row."""
        return self._matrix[[self._place[key] for key in keys]]

    def long_enough(self, name: str) -> np.ndarray:
        """Return the vectors of the texts of a section with at least :data:`MIN_WORDS` words."""
        return self.of(
            key for key, text in self.texts.items() if key[0] == name and len(split_words(text)) >= MIN_WORDS
        )


def _texts(task: PatentRetrieval, corpus: Any) -> dict[str, dict[str, str]]:
    """Return ``{section: {document: text}}``, with one section ``text`` if the corpus has no sections."""
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
    sampled: Set[str],
    kind: str,
    pairs: int,
) -> dict[str, float]:
    def aligned(of_query: Iterable[str], of_document: str) -> float | None:
        keys = [((name, query), (of_document, document)) for name in of_query for query, document in positive]
        keys = [(one, other) for one, other in keys if one in queries.texts and other in documents.texts]
        if not keys:
            return None
        return measures.alignment(queries.of(one for one, _ in keys), documents.of(other for _, other in keys))

    names = documents.sections
    spread = {name: np.concatenate([queries.long_enough(name), documents.long_enough(name)]) for name in names}
    everything = np.concatenate(list(spread.values()))
    scores: dict[str, float | None] = {
        "alignment": aligned([kind], kind),
        "uniformity": measures.uniformity(everything, pairs=pairs),
        "ssd": measures.spectrum_divergence(everything),
        "n_pairs": float(len(positive)),
        "n_documents": float(len(sampled)),
        "n_texts": float(len(everything)),
    }
    if len(names) > 1:
        for name in names:
            scores[f"alignment_{name}"] = aligned([name], name)
            scores[f"alignment_to_{name}"] = aligned(names, name)
            scores[f"uniformity_{name}"] = measures.uniformity(spread[name], pairs=pairs)
            scores[f"ssd_{name}"] = measures.spectrum_divergence(spread[name])
        scores |= _cohesion(documents, sampled, pairs)
    return {name: value for name, value in scores.items() if value is not None}


def _cohesion(documents: _Vectors, sampled: Set[str], pairs: int) -> dict[str, float | None]:
    """Return the IDA ratios, relative to the distance of random pairs over all sections."""

    def vectors(names: Iterable[str]) -> tuple[np.ndarray, list[str]]:
        keys = [(name, document) for name, document in documents.texts if name in names and document in sampled]
        return documents.of(keys), [document for _, document in keys]

    everything = measures.ida_ratio(*vectors(documents.sections), pairs=pairs)
    scores: dict[str, float | None] = {"ida_ratio": everything.ratio, "n_ida_documents": float(everything.documents)}
    for one, other in combinations(documents.sections, 2):
        _, distances = measures.intra_document_distances(*vectors((one, other)))
        scores[f"ida_ratio_{one}_{other}"] = float(distances.mean()) / everything.random if len(distances) else None
    return scores


def save(
    measured: Mapping[str, float], model: EncoderProtocol, task: PatentRetrieval, root: Path, **settings: int
) -> Path:
    """Write a geometry next to the results of a model as ``<Task>.geometry.jsonl``, one line per state of the data."""
    meta = model.mteb_model_meta
    path = path_of(root / "results", meta, task.metadata.name, ".geometry.jsonl")  # mteb's folder for results
    identity = {
        "task": task.metadata.name,
        "model": meta.name,
        "model_revision": meta.revision,
        "experiment": meta.experiment_name,
        "dataset_revision": task.metadata.revision,
        "subset": task.source.subset,
    }
    rows = [row for _, row in json_lines(path)] if path.exists() else []
    others = [row for row in rows if any(row.get(name) != value for name, value in identity.items())]
    write_jsonl(path, [*others, {**identity, "settings": settings, "measures": dict(measured)}])
    return path
