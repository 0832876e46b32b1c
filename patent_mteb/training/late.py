"""Train late-interaction models with the multi-vector trainer of sentence-transformers (WIPO-AT §3.5: colbert-ai).

Compared with colbert-ai and PyLate, the trainer lacks three features: distillation from vectors, compression of token
vectors during training, and a cached distillation loss, so memory limits the batch. Matryoshka and layer-dropping
losses work for single-vector models only.
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
from sentence_transformers import SentenceTransformer

from patent_mteb.errors import DataError, ModelError
from patent_mteb.files import write_rows
from patent_mteb.search.colbert import is_late_interaction
from patent_mteb.search.maxsim import check_tokens, maxsim
from patent_mteb.training.bases import BROKEN_MODEL, open_model, unit, vectors_of, warn_of_collapse
from patent_mteb.training.comparing import HeldOutScores, scores_of
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.pairs import read_pairs
from patent_mteb.training.preparing import Job, Prepared, TrainSet
from patent_mteb.training.running import Trainee, set_seeds

_TEXTS = ("anchor", "positive", "negative")
_SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXTS), ("label", pa.list_(pa.float32()))])
_AT_ONCE = 512


def check_base(job: Job) -> None:
    """Refuse a base that is not a late-interaction checkpoint: training would silently add a random projection."""
    try:
        import sentence_transformers.multi_vector_encoder  # noqa: F401
    except ImportError as error:
        problem = "training of late interaction needs sentence-transformers 6 or later"
        raise DataError(problem, remedy="pip install -U sentence-transformers") from error
    if not is_late_interaction(job.base):
        problem = f"the base {job.base} is not a late-interaction checkpoint"
        raise DataError(problem, remedy="name one, such as colbert-ir/colbertv2.0")
    if job.recipe.loss == "late-distillation" and not job.teacher:
        raise DataError("distillation needs a teacher", remedy="name an encoder with --teacher MODEL")
    _open(job.base, job)


def _open(name: str, job: Job) -> Any:
    from sentence_transformers.multi_vector_encoder.model import MultiVectorEncoder

    return open_model(name, job.device, kind=MultiVectorEncoder, what="late-interaction")


def trainee(job: Job, corpus: Corpus, prepared: Prepared, seed: int) -> Trainee:
    """Load a late-interaction model to train with one seed."""
    from sentence_transformers.multi_vector_encoder import losses
    from sentence_transformers.multi_vector_encoder.trainer import MultiVectorEncoderTrainer
    from sentence_transformers.multi_vector_encoder.training_args import MultiVectorEncoderTrainingArguments

    set_seeds(seed)
    (one,), settings = prepared.sets, job.settings
    model = _open(job.base, job)
    loss: Any
    if job.recipe.loss == "late":
        loss = losses.CachedMultiVectorMultipleNegativesRankingLoss(
            model, scale=1 / settings.temperature, mini_batch_size=settings.mini_batch
        )
    else:
        one = _scored(job, one)
        loss = losses.MultiVectorDistillKLDivLoss(model, temperature=settings.temperature)
    deviations = [
        "the multi-vector trainer of sentence-transformers instead of colbert-ai",
        f"negatives by BM25 from rank {settings.negatives_from}",
        *([f"scores of the teacher {Path(job.teacher).name}"] if job.teacher else []),
    ]
    return Trainee(
        model,
        [one],
        {one.name: loss},
        fresh=lambda: _open(job.base, job),
        deviations=deviations,
        trainer_class=MultiVectorEncoderTrainer,
        arguments_class=MultiVectorEncoderTrainingArguments,
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
    """Evaluate the base (None) or a checkpoint on the held-out pairs: anchors search all positives by MaxSim."""
    path = job.out / "pairs" / prepared.test
    pairs = list(read_pairs(path))
    model = _open(str(checkpoint or job.base), job)
    who = f"the base {job.base}" if checkpoint is None else f"the checkpoint {checkpoint}"
    documents = _tokens(model.encode_document, [pair.positive for pair in pairs], f"{who} (positives of {path})")

    def rows() -> Iterator[NDArray[np.float32]]:
        for start in range(0, len(pairs), _AT_ONCE):
            texts = [pair.anchor for pair in pairs[start : start + _AT_ONCE]]
            queries = _tokens(model.encode_query, texts, f"{who} (anchors of {path} from row {start + 1} on)")
            yield from maxsim(queries, documents)

    return [HeldOutScores("held-out pairs, MaxSim", name, scores) for name, scores in scores_of(rows(), pairs).items()]


def _tokens(encode: Any, texts: list[str], who: str) -> list[NDArray[np.float32]]:
    """Encode texts to token vectors, and check them."""
    encoded = [np.asarray(one, np.float32) for one in encode(texts, show_progress_bar=False, convert_to_numpy=True)]
    check_tokens(encoded, f"{who}: text")
    for row, vectors in enumerate(encoded, start=1):
        if not np.isfinite(vectors).all():
            raise ModelError(f"{who} gave NaN or infinite token vectors for text {row}. {BROKEN_MODEL}")
    tokens = np.concatenate(encoded)
    if len(tokens) > 1 and (tokens == tokens[0]).all():
        raise ModelError(f"{who} gave the same vector for all {len(tokens)} tokens. {BROKEN_MODEL}")
    warn_of_collapse(tokens, who)
    return encoded
