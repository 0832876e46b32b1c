"""Train late-interaction models, sparse encoders (SPLADE) and cross-encoders, on citations.

They have trainers of their own in sentence-transformers. Compared with colbert-ai (WIPO-AT §3.5) and PyLate, its
multi-vector trainer lacks three features: distillation from vectors, compression of token vectors during training, and
a cached distillation loss, so memory limits the batch. Matryoshka and layer-dropping losses work for single-vector
models only.

All are evaluated like other models on the held-out pairs: the anchor searches the positives for its own. A
cross-encoder scores the first candidates of BM25, and the others rank below them, in BM25's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder import losses as reranker_losses
from sentence_transformers.multi_vector_encoder import losses as late_losses
from sentence_transformers.multi_vector_encoder.model import MultiVectorEncoder
from sentence_transformers.multi_vector_encoder.trainer import MultiVectorEncoderTrainer
from sentence_transformers.multi_vector_encoder.training_args import MultiVectorEncoderTrainingArguments
from sentence_transformers.sparse_encoder import SparseEncoderTrainer, SparseEncoderTrainingArguments
from sentence_transformers.sparse_encoder import losses as sparse_losses
from transformers import set_seed

from patent_mteb.errors import DataError, ModelError
from patent_mteb.files import write_rows
from patent_mteb.search.colbert import is_late_interaction
from patent_mteb.search.maxsim import check_tokens, maxsim
from patent_mteb.training.bases import BROKEN_MODEL, open_model, refuse_asymmetric, unit, vectors_of, warn_of_collapse
from patent_mteb.training.comparing import HeldOutScores, scores_of
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.pairs import read_pairs
from patent_mteb.training.preparing import Job, Lexical, Prepared, TrainSet
from patent_mteb.training.running import Trainee

_LATE = (MultiVectorEncoder, "late-interaction", MultiVectorEncoderTrainer, MultiVectorEncoderTrainingArguments)
KINDS: dict[str, tuple[Any, str, type, type]] = {
    "late": _LATE,
    "late-distillation": _LATE,
    "sparse": (SparseEncoder, "sparse", SparseEncoderTrainer, SparseEncoderTrainingArguments),
    "reranker": (CrossEncoder, "cross-encoder", CrossEncoderTrainer, CrossEncoderTrainingArguments),
}
"""Model class, kind of checkpoint, class of the trainer and of its arguments, by loss."""
_TEXTS = ("anchor", "positive", "negative")
_SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXTS), ("label", pa.list_(pa.float32()))])
_AT_ONCE = 512  # pairs that are scored at a time
_CANDIDATES = 50  # of BM25 that a trained reranker orders, a choice
_WEIGHTS: dict[str, Any] = {"query_regularizer_weight": 5e-5, "document_regularizer_weight": 3e-5}
"""Weights of the FLOPS regularisers, of the examples of sentence-transformers."""


def check_base(job: Job) -> None:
    """Refuse a base that the recipe cannot train."""
    if job.recipe.loss.startswith("late") and not is_late_interaction(job.base):  # would get a random projection
        problem = f"the base {job.base} is not a late-interaction checkpoint"
        raise DataError(problem, remedy="name one, such as colbert-ir/colbertv2.0")
    if job.recipe.loss == "late-distillation" and not job.teacher:
        raise DataError("distillation needs a teacher", remedy="name an encoder with --teacher MODEL")
    open_base(job.base, job)


def open_base(name: str, job: Job) -> Any:
    kind, what, _, _ = KINDS[job.recipe.loss]
    if what == "late-interaction":
        return open_model(name, job.device, kind=kind, what=what)
    model = open_model(name, job.device, kind=kind, what=what)
    refuse_asymmetric(model, name)
    if job.settings.max_length is not None:
        model.max_seq_length = job.settings.max_length
    if what == "cross-encoder" and model.num_labels != 1:
        problem = f"the base {name} has {model.num_labels} classes, and recipe {job.recipe.name} trains one score"
        raise DataError(problem, remedy="choose another base")
    return model


def trainee(job: Job, corpus: Corpus, prepared: Prepared, seed: int) -> Trainee:
    """Load a model to train with one seed."""
    set_seed(seed)
    (one,), settings, name = prepared.sets, job.settings, job.recipe.loss
    model = open_base(job.base, job)
    scale, size = 1 / settings.temperature, settings.mini_batch
    deviations = [f"negatives by BM25 from rank {settings.negatives_from}"]
    loss: Any
    if name == "late":
        loss = late_losses.CachedMultiVectorMultipleNegativesRankingLoss(model, scale=scale, mini_batch_size=size)
    elif name == "late-distillation":
        one = _scored(job, one)
        loss = late_losses.MultiVectorDistillKLDivLoss(model, temperature=settings.temperature)
    elif name == "sparse":
        ranking = sparse_losses.SparseMultipleNegativesRankingLoss(model, scale=scale)
        loss = sparse_losses.CachedSpladeLoss(model, ranking, mini_batch_size=size, **_WEIGHTS)
    else:
        loss = reranker_losses.CachedMultipleNegativesRankingLoss(model, scale=scale, mini_batch_size=size)
    if name.startswith("late"):
        deviations.insert(0, "the multi-vector trainer of sentence-transformers instead of colbert-ai")
    if job.teacher:
        deviations.append(f"scores of the teacher {Path(job.teacher).name}")
    _, _, trainer, arguments = KINDS[name]
    return Trainee(
        model,
        [one],
        {one.name: loss},
        lambda: open_base(job.base, job),
        deviations,
        trainer_class=trainer,
        arguments_class=arguments,
    )


def _scored(job: Job, one: TrainSet) -> TrainSet:
    """Add the teacher's scores of positive and negative to the tables."""
    folder = job.out / "pairs"
    teacher: SentenceTransformer | None = None
    for file in filter(None, (one.train, one.validation)):
        path = folder / f"scored.{file}"
        if not path.is_file():
            teacher = teacher or SentenceTransformer(job.teacher, device=job.device)
            write_rows(path, _rows(folder / file, teacher), _SCHEMA)
    validation = f"scored.{one.validation}" if one.validation else ""
    return replace(one, kind="scores", train=f"scored.{one.train}", validation=validation)


def _rows(path: Path, teacher: SentenceTransformer) -> Iterator[dict[str, Any]]:
    pairs = read_pairs(path)
    while block := list(islice(pairs, _AT_ONCE)):
        texts = {name: [getattr(pair, name) for pair in block] for name in _TEXTS}
        anchors, *others = (
            unit(vectors_of(teacher, column, f"the teacher ({name}s of {path})")) for name, column in texts.items()
        )
        for row in range(len(block)):
            scores = [float(anchors[row] @ other[row]) for other in others]
            yield {**{name: column[row] for name, column in texts.items()}, "label": scores}


def held_out(job: Job, prepared: Prepared, checkpoint: Path | None) -> list[HeldOutScores]:
    """Evaluate the base (None) or a checkpoint on the held-out pairs."""
    path = job.out / "pairs" / prepared.test
    pairs = list(read_pairs(path))
    who = f"the base {job.base}" if checkpoint is None else f"the checkpoint {checkpoint}"
    model = open_base(str(checkpoint or job.base), job).eval()
    anchors, positives = [pair.anchor for pair in pairs], [pair.positive for pair in pairs]
    scores: Iterator[NDArray[Any]]
    if job.recipe.loss == "sparse":
        queries, documents = (
            encode(texts, convert_to_sparse_tensor=False, show_progress_bar=False).cpu().numpy()
            for encode, texts in ((model.encode_query, anchors), (model.encode_document, positives))
        )
        scores, what = (query @ documents.T for query in _finite(queries, who)), "sparse"
    elif job.recipe.loss == "reranker":
        scores, what = _reranked(model, anchors, positives, who), f"{_CANDIDATES} of BM25 reranked"
    else:
        scores, what = _by_tokens(model, anchors, positives, who, path), "MaxSim"
    return [HeldOutScores(f"held-out pairs, {what}", *found) for found in scores_of(scores, pairs).items()]


def _by_tokens(
    model: Any, anchors: list[str], positives: list[str], who: str, path: Path
) -> Iterator[NDArray[np.float32]]:
    documents = _tokens(model.encode_document, positives, f"{who} (positives of {path})")
    for start in range(0, len(anchors), _AT_ONCE):
        texts = anchors[start : start + _AT_ONCE]
        queries = _tokens(model.encode_query, texts, f"{who} (anchors of {path} from row {start + 1} on)")
        yield from maxsim(queries, documents)


def _tokens(encode: Any, texts: list[str], who: str) -> list[NDArray[np.float32]]:
    """Encode texts to token vectors, and check them."""
    encoded = [np.asarray(one, np.float32) for one in encode(texts, show_progress_bar=False, convert_to_numpy=True)]
    check_tokens(encoded, f"{who}: text")
    for row, vectors in enumerate(encoded, start=1):
        if not np.isfinite(vectors).all():
            raise ModelError(f"{who} gave NaN or infinite token vectors for text {row}", remedy=BROKEN_MODEL)
    tokens = np.concatenate(encoded)
    if len(tokens) > 1 and (tokens == tokens[0]).all():
        raise ModelError(f"{who} gave the same vector for all {len(tokens)} tokens", remedy=BROKEN_MODEL)
    warn_of_collapse(tokens, who)
    return encoded


def _finite(scores: NDArray[Any], who: str) -> NDArray[Any]:
    if not np.isfinite(scores).all():
        raise ModelError(f"{who} gave NaN or infinite numbers on the held-out pairs", remedy=BROKEN_MODEL)
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
