"""How a model's embeddings lie in space, on the texts of any retrieval task of the suite (PatentMap §6.3, appendices D and E)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from mteb.models import EncoderProtocol
from mteb.types import PromptType

from patent_mteb.errors import ModelError
from patent_mteb.metrics import geometry as measures
from patent_mteb.search.base import document_text, query_texts
from patent_mteb.tasks.frozen import encode_texts
from patent_mteb.tasks.retrieval import PatentRetrieval

logger = logging.getLogger(__name__)

__all__ = ["geometry"]

WHOLE = "text"


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

    Alignment is over pairs of a query and a document that is relevant for it (citing and cited patents), each encoded as what it
    is; the other measures are over the documents. Where the corpus has sections (PatentMap's Claims -> All), a document takes
    part in alignment with the section of the query, uniformity and SSD are also given for each section (Fig. 5), and the IDA ratio
    for all sections and for each two of them (Fig. 6); without sections there is no IDA ratio.

    Args:
        max_documents: documents drawn for uniformity, SSD and IDA, so that large corpora need not be encoded.
        pairs: random pairs of uniformity and IDA, and the most positive pairs of alignment.

    Returns:
        ``alignment``, ``uniformity``, ``ssd``, ``n_pairs`` and ``n_documents``; with sections also ``uniformity_<section>``,
        ``ssd_<section>``, ``ida_ratio``, ``ida_ratio_<section>_<section>`` and ``n_ida_documents``.

    Raises:
        ModelError: the model does not embed, or its embeddings have no geometry (zero rows, all the same).

    Example:
        >>> import mteb
        >>> from patent_mteb.experiments.geometry import geometry
        >>> task = mteb.get_task("PatentMapAbsToAbsRetrieval.sample")
        >>> sorted(geometry(mteb.get_model("mteb/baseline-random-encoder"), task))
        ['alignment', 'n_documents', 'n_pairs', 'ssd', 'uniformity']
    """
    if not isinstance(model, EncoderProtocol):
        raise ModelError(f"{type(model).__name__} does not embed texts, so it has no geometry. Remedy: pass an encoder")
    task.load_data()
    data = task.texts_for(model, (task.dataset or {})[task.source.subset][task.split])
    rng = np.random.default_rng(seed)
    texts = _texts(task, data["corpus"])
    kind = WHOLE if WHOLE in texts else task.query_section
    positive = [
        (query, document)
        for query, judged in data["relevant_docs"].items()
        for document, gain in judged.items()
        if gain > 0 and texts[kind].get(document)
    ]
    if not positive:
        raise ModelError(f"task {task.metadata.name} has no relevant document with a text, so there is no alignment")
    if len(positive) > pairs:
        positive = [positive[place] for place in np.sort(rng.choice(len(positive), pairs, replace=False))]
    documents = list(data["corpus"]["id"])
    if len(documents) > max_documents:
        documents = [documents[place] for place in np.sort(rng.choice(len(documents), max_documents, replace=False))]

    where = (task.metadata, task.split, task.source.subset, encode_kwargs or {})
    queries = dict(zip(data["queries"]["id"], query_texts(data["queries"]), strict=True))
    ours = encode_texts(model, [queries[query] for query, _ in positive], *where, PromptType.query)
    drawn = [(name, document) for name in texts for document in documents if texts[name].get(document)]
    wanted = list(dict.fromkeys([*((kind, document) for _, document in positive), *drawn]))
    place = {key: row for row, key in enumerate(wanted)}
    theirs = encode_texts(model, [texts[name][document] for name, document in wanted], *where, PromptType.document)

    try:
        return _scores(
            ours, theirs[[place[kind, document] for _, document in positive]], drawn, theirs[[place[key] for key in drawn]], pairs, seed
        )
    except ValueError as error:
        raise ModelError(f"the geometry of {model.mteb_model_meta.name} on {task.metadata.name} cannot be measured: {error}") from error


def _texts(task: PatentRetrieval, corpus: Any) -> dict[str, dict[str, str]]:
    """``{section: {document: text}}``; one section ``text`` where the corpus has none."""
    if "sections" not in corpus.column_names:
        return {WHOLE: {row["id"]: document_text(row) for row in corpus}}
    columns = zip(*corpus["sections"], strict=True)
    return {name: dict(zip(corpus["id"], column, strict=True)) for name, column in zip(task.document_sections, columns, strict=True)}


def _scores(
    first: np.ndarray, second: np.ndarray, drawn: list[tuple[str, str]], vectors: np.ndarray, pairs: int, seed: int
) -> dict[str, float]:
    scores = {
        "alignment": measures.alignment(first, second),
        "uniformity": measures.uniformity(vectors, pairs=pairs, seed=seed),
        "ssd": measures.spectrum_divergence(vectors),
        "n_pairs": float(len(first)),
        "n_documents": float(len({document for _, document in drawn})),
    }
    sections = np.array([name for name, _ in drawn])
    owners = np.array([document for _, document in drawn])
    names = list(dict.fromkeys(sections.tolist()))
    if len(names) == 1:
        return scores
    for name in names:
        own = vectors[sections == name]
        scores[f"uniformity_{name}"] = measures.uniformity(own, pairs=pairs, seed=seed)
        scores[f"ssd_{name}"] = measures.spectrum_divergence(own)
    everything = measures.ida_ratio(vectors, owners, pairs=pairs, seed=seed)
    scores |= {"ida_ratio": everything.ratio, "n_ida_documents": float(everything.documents)}
    for one, other in combinations(names, 2):
        both = np.isin(sections, (one, other))
        scores[f"ida_ratio_{one}_{other}"] = measures.ida_ratio(vectors[both], owners[both], pairs=pairs, seed=seed).ratio
    return scores
