"""Late interaction, by the multi-vector trainer of sentence-transformers (WIPO-AT §3.5 trains with colbert-ai).

``colbert-contrastive``: citations with one negative that BM25 finds; in-batch negatives, MaxSim, gradients cached. ``colbert-distill``: the
scores of a dense teacher on the positive and the negative, Kullback-Leibler divergence.

What the trainer lacks beside colbert-ai and PyLate: a distillation that takes vectors (it takes scores only), compression of the token
vectors while training (ColBERTv2's residuals belong to its index), and a cached version of the distillation, so that memory bounds its
batch. Matryoshka and layer-dropping losses are for one vector a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sentence_transformers import SentenceTransformer
from transformers import TrainerCallback

from patent_mteb.errors import DataError, ModelError
from patent_mteb.files import write_rows
from patent_mteb.search.colbert import is_late_interaction
from patent_mteb.training.checkpoints import save_checkpoint
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.pairs import read_pairs
from patent_mteb.training.preparing import Job, Prepared
from patent_mteb.training.running import run_seed, set_seeds

__all__ = ["check_base", "train_seed"]

_TEXTS = ("anchor", "positive", "negative")
_SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXTS), ("label", pa.list_(pa.float32()))])
_AT_ONCE = 512


def check_base(job: Job) -> None:
    """Refuse a base that is no late-interaction checkpoint: a projection drawn at random would be trained on it without a word.

    Raises:
        DataError: it is none, sentence-transformers is too old, or a distillation has no teacher.
    """
    try:
        import sentence_transformers.multi_vector_encoder  # noqa: F401
    except ImportError as error:
        raise DataError(
            "late interaction is trained by sentence-transformers 6 or later", remedy="pip install -U sentence-transformers"
        ) from error
    if not is_late_interaction(job.base):
        raise DataError(f"the base {job.base} is no late-interaction checkpoint", remedy="name one, such as colbert-ir/colbertv2.0")
    if job.recipe.loss == "late-distillation" and not job.teacher:
        raise DataError("a distillation needs a teacher", remedy="--teacher MODEL, any encoder")


def train_seed(job: Job, corpus: Corpus, prepared: Prepared, seed: int, callbacks: Sequence[TrainerCallback], quiet: bool) -> Path:
    """Train a late-interaction model with one seed, and save it."""
    from sentence_transformers.multi_vector_encoder import losses
    from sentence_transformers.multi_vector_encoder.model import MultiVectorEncoder
    from sentence_transformers.multi_vector_encoder.trainer import MultiVectorEncoderTrainer
    from sentence_transformers.multi_vector_encoder.training_args import MultiVectorEncoderTrainingArguments

    set_seeds(seed)
    settings = job.settings
    try:
        model = MultiVectorEncoder(job.base, device=job.device)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"the base {job.base} cannot be loaded as a late-interaction model: {error}") from error
    loss: Any
    if job.recipe.loss == "late":
        loss = losses.CachedMultiVectorMultipleNegativesRankingLoss(
            model, scale=1 / settings.temperature, mini_batch_size=settings.mini_batch
        )
    else:
        prepared = _scored(job, prepared)
        loss = losses.MultiVectorDistillKLDivLoss(model, temperature=settings.temperature)
    history = run_seed(
        job,
        prepared,
        seed,
        model,
        {prepared.sets[0].name: loss},
        callbacks=callbacks,
        trainer_class=MultiVectorEncoderTrainer,
        arguments_class=MultiVectorEncoderTrainingArguments,
        quiet=quiet,
    )
    told = [
        "the multi-vector trainer of sentence-transformers instead of colbert-ai",
        f"negatives by BM25 from rank {settings.negatives_from}",
    ]
    if job.teacher:
        told.append(f"scores of the teacher {Path(job.teacher).name}")
    return save_checkpoint(model.eval(), job, corpus, prepared, seed, history, told)


def _scored(job: Job, prepared: Prepared) -> Prepared:
    """The tables with the teacher's scores of positive and negative."""
    folder, (one,) = job.out / "pairs", prepared.sets
    teacher: SentenceTransformer | None = None
    for file in (one.train, one.validation):
        path = folder / f"scored.{file}"
        if file and not path.is_file():
            teacher = teacher or SentenceTransformer(job.teacher, device=job.device)
            write_rows(path, _rows(folder / file, teacher), _SCHEMA)
    scored = replace(one, kind="scores", train=f"scored.{one.train}", validation=f"scored.{one.validation}" if one.validation else "")
    return replace(prepared, sets=(scored,))


def _rows(path: Path, teacher: SentenceTransformer) -> Iterator[dict[str, Any]]:
    pairs = read_pairs(path)
    while some := list(islice(pairs, _AT_ONCE)):
        vectors = [
            np.asarray(teacher.encode([getattr(pair, name) for pair in some], normalize_embeddings=True, show_progress_bar=False))
            for name in _TEXTS
        ]
        for place, pair in enumerate(some):
            scores = [float(vectors[0][place] @ other[place]) for other in vectors[1:]]
            yield {**{name: getattr(pair, name) for name in _TEXTS}, "label": scores}
