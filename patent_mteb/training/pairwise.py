"""Train sparse encoders (SPLADE) and cross-encoders with the trainers of sentence-transformers, on citations.

Both are evaluated like other models on the held-out pairs: the anchor searches the positives for its own. A
cross-encoder scores the first candidates of BM25, and the others rank below them, in BM25's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import CrossEncoder, SparseEncoder
from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder import losses as reranker_losses
from sentence_transformers.sparse_encoder import SparseEncoderTrainer, SparseEncoderTrainingArguments
from sentence_transformers.sparse_encoder import losses as sparse_losses

from patent_mteb.errors import DataError, ModelError
from patent_mteb.models.loading import kind_of_checkpoint
from patent_mteb.training.bases import BROKEN_MODEL, open_model
from patent_mteb.training.comparing import HeldOutScores, scores_of
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.pairs import read_pairs
from patent_mteb.training.preparing import Job, Lexical, Prepared
from patent_mteb.training.running import Trainee, set_seeds

CLASSES: dict[str, tuple[Any, str]] = {"sparse": (SparseEncoder, "sparse"), "reranker": (CrossEncoder, "cross-encoder")}
"""Model class and kind of checkpoint by loss."""

_CANDIDATES = 50
_QUERY_WEIGHT, _DOCUMENT_WEIGHT = 5e-5, 3e-5
"""Weights of the FLOPS regularisers, of the examples of sentence-transformers."""


def open_base(name: str, job: Job) -> Any:
    """Load a model; a directory with another kind of checkpoint would silently get a new head."""
    kind, what = CLASSES[job.recipe.loss]
    if Path(name).is_dir() and (found := kind_of_checkpoint(Path(name))) != what:
        problem = f"the base {name} is of the kind '{found}', and recipe {job.recipe.name} trains '{what}'"
        raise DataError(problem, remedy="choose another base")
    model = open_model(name, job.device, kind=kind, what=what)
    if job.settings.max_length is not None:
        model.max_seq_length = job.settings.max_length
    if what == "cross-encoder" and model.num_labels != 1:
        problem = f"the base {name} has {model.num_labels} classes, and recipe {job.recipe.name} trains one score"
        raise DataError(problem, remedy="choose another base")
    return model


def trainee(job: Job, corpus: Corpus, prepared: Prepared, seed: int) -> Trainee:
    """Load a sparse encoder or a cross-encoder to train with one seed."""
    set_seeds(seed)
    (one,), settings = prepared.sets, job.settings
    model = open_base(job.base, job)
    size: dict[str, Any] = {"mini_batch_size": settings.mini_batch}
    loss: Any
    if job.recipe.loss == "sparse":
        ranking = sparse_losses.SparseMultipleNegativesRankingLoss(model, scale=1 / settings.temperature)
        weights: dict[str, Any] = {
            "query_regularizer_weight": _QUERY_WEIGHT,
            "document_regularizer_weight": _DOCUMENT_WEIGHT,
        }
        loss = sparse_losses.CachedSpladeLoss(model, ranking, **weights, **size)
        classes: tuple[type, type] = SparseEncoderTrainer, SparseEncoderTrainingArguments
    else:
        loss = reranker_losses.CachedMultipleNegativesRankingLoss(model, scale=1 / settings.temperature, **size)
        classes = CrossEncoderTrainer, CrossEncoderTrainingArguments
    deviations = [f"negatives by BM25 from rank {settings.negatives_from}"]
    return Trainee(
        model,
        [one],
        {one.name: loss},
        lambda: open_base(job.base, job),
        deviations,
        trainer_class=classes[0],
        arguments_class=classes[1],
    )


def held_out(job: Job, prepared: Prepared, checkpoint: Path | None) -> list[HeldOutScores]:
    """Evaluate the base (None) or a checkpoint on the held-out pairs."""
    path = job.out / "pairs" / prepared.test
    pairs = list(read_pairs(path))
    who = f"the base {job.base}" if checkpoint is None else f"the checkpoint {checkpoint}"
    model = open_base(str(checkpoint or job.base), job).eval()
    anchors, positives = [pair.anchor for pair in pairs], [pair.positive for pair in pairs]
    if job.recipe.loss == "sparse":
        queries, documents = (
            encode(texts, convert_to_sparse_tensor=False, show_progress_bar=False).cpu().numpy()
            for encode, texts in ((model.encode_query, anchors), (model.encode_document, positives))
        )
        scores: Iterator[NDArray[Any]] = (query @ documents.T for query in _finite(queries, who))
        what = "held-out pairs, sparse"
    else:
        scores, what = _reranked(model, anchors, positives, who), f"held-out pairs, {_CANDIDATES} of BM25 reranked"
    return [HeldOutScores(what, name, values) for name, values in scores_of(scores, pairs).items()]


def _finite(scores: NDArray[Any], who: str) -> NDArray[Any]:
    if not np.isfinite(scores).all():
        raise ModelError(f"{who} gave NaN or infinite numbers on the held-out pairs. {BROKEN_MODEL}")
    return scores


def _reranked(model: CrossEncoder, anchors: list[str], positives: list[str], who: str) -> Iterator[NDArray[Any]]:
    """Yield the scores of all positives for each anchor; those that are not candidates keep their order below."""
    lexical = Lexical(positives)
    lexical.anchors = anchors
    rows = list(range(len(positives)))
    for number, anchor in enumerate(anchors):
        first = lexical.similarity(np.array([number]), rows)[0].numpy().astype(np.float64)
        candidates = np.argsort(-first, kind="stable")[:_CANDIDATES]
        texts = [(anchor, positives[row]) for row in candidates]
        second = _finite(np.asarray(model.predict(texts, show_progress_bar=False), np.float64).reshape(-1), who)
        scores = first - first.max() - 1 + second.min()
        scores[candidates] = second
        yield scores
