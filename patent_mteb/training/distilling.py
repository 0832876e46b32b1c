"""Distillation (PatenTEB §4.4): a student of every n-th layer of its teacher learns the teacher's vectors, projected to
fewer dimensions.

1. All distinct training texts, each behind its prompt, are encoded by the teacher; the embedding store keeps the
   vectors.
2. Incremental PCA on a sample of them gives the projection W. As the paper's formula has it, targets are W u, with
   their mean. Where that is most of a target, it is most of the loss: its error is printed next to the student's.
3. The student has the teacher's modules with some of its layers, and a linear layer on top that begins as W; it
   minimises the mean squared error to the targets. The layer belongs to the student and stays.

Before and after, on texts of the test split that are drawn by the seed of the pairs: the mean squared error to the
targets, and how many of the teacher's ten nearest texts (by cosine, before the projection) are among the student's ten.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from mteb.abstasks.task_metadata import TaskMetadata
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Transformer
from sklearn.decomposition import IncrementalPCA
from torch import nn
from torch.utils.data import DataLoader
from transformers import TrainerCallback

from patent_mteb.errors import DataError
from patent_mteb.files import read_batches, read_parquet, write_parquet, write_rows
from patent_mteb.models.loading import load
from patent_mteb.search.vectors import checked_vectors
from patent_mteb.store import stored
from patent_mteb.training.bases import DISTINCT, load_base, say_collapse, stored_type, unit, vectors_of
from patent_mteb.training.checkpoints import save_checkpoint
from patent_mteb.training.comparing import Held
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.losses import make_loss
from patent_mteb.training.multitask import texts_of
from patent_mteb.training.preparing import Job, Prepared, TrainSet
from patent_mteb.training.running import run_seed, set_seeds

Matrix = NDArray[np.float32]
_SCHEMA = pa.schema([("anchor", pa.string()), ("label", pa.list_(pa.float32()))])
_HELD_SCHEMA = _SCHEMA.append(pa.field("teacher", pa.list_(pa.float32())))
_AT_ONCE = 4_096
_HELD_OUT = 2_000
"""Texts of the test split that are measured, at most."""
_NEAREST = 10

_METADATA = TaskMetadata(
    name="PatentMTEBTrainingTexts",
    description="The texts that a student is distilled on; they carry their prompts already.",
    dataset={"path": "patent-mteb/training-texts", "revision": "1"},
    type="STS",
    eval_splits=["train"],
    eval_langs=["eng-Latn"],
    main_score="cosine_spearman",
)


def kept_layers(depth: int, wanted: Sequence[int]) -> tuple[int, ...]:
    """The layers of a teacher that a student keeps: those of the paper where the teacher is as deep as the paper's,
    else every n-th.
    """
    if depth == 24:
        return tuple(wanted)
    if not wanted or depth % len(wanted):
        raise DataError(
            f"a teacher of {depth} layers has no {len(wanted)} at regular distances",
            remedy="choose another patembed-distill recipe",
        )
    return tuple(range(0, depth, depth // len(wanted)))


def sampled(texts: Callable[[], Iterator[str]], size: int, seed: int = 42) -> Iterator[str]:
    """``size`` of some texts, drawn by the seed, in their order; all where there are no more."""
    number = sum(1 for _ in texts())
    chosen = set(random.Random(seed).sample(range(number), min(size, number)))
    return (text for place, text in enumerate(texts()) if place in chosen)


def projection_of(vectors: Iterator[Matrix], width: int, batch: int) -> Matrix:
    """[width, teacher's width] the first principal components, fitted in batches; the last one may have up to ``width``
    vectors more.
    """
    pca = IncrementalPCA(n_components=width)
    for rows in _regrouped(vectors, max(batch, width), width):
        if len(rows) < width:
            problem = f"{len(rows)} texts are too few for a projection to {width} dimensions"
            raise DataError(problem, remedy="give more records, or --set width=32")
        pca.partial_fit(rows)
    return np.asarray(pca.components_, np.float32)


def _regrouped(vectors: Iterator[Matrix], size: int, least: int) -> Iterator[Matrix]:
    """Blocks of ``size`` rows, and at last one of at least ``least`` rows, if there are so many in all."""
    waiting = np.zeros((0, 0), np.float32)
    for block in vectors:
        waiting = np.concatenate([waiting, block]) if len(waiting) else block
        while len(waiting) >= size + least:
            yield waiting[:size]
            waiting = waiting[size:]
    yield waiting


def student_of(teacher: SentenceTransformer, layers: Sequence[int], projection: Matrix) -> SentenceTransformer:
    """The teacher with some of its layers, and the projection on top."""
    student = copy.deepcopy(teacher)
    holder, name = _layers(student)
    setattr(holder, name, nn.ModuleList([getattr(holder, name)[place] for place in layers]))
    inner: Any = student[0].model
    inner.config.num_hidden_layers = len(layers)
    head = Dense(projection.shape[1], projection.shape[0], bias=False, activation_function=nn.Identity())
    with torch.no_grad():
        head.linear.weight.copy_(torch.from_numpy(projection))
    student.add_module(str(len(student)), head.to(student.device))
    return student


def _layers(model: SentenceTransformer) -> tuple[nn.Module, str]:
    """Where a transformer keeps its layers."""
    inner: Any = model[0].model if isinstance(model[0], Transformer) else None
    for path, name in (("encoder", "layer"), ("", "layers"), ("encoder", "layers"), ("transformer", "layer")):
        holder: Any = getattr(inner, path, None) if path else inner
        if isinstance(getattr(holder, name, None), nn.ModuleList):
            return holder, name
    raise DataError(
        "the teacher's layers cannot be told from its modules",
        remedy="distil from a BERT-like or ModernBERT-like encoder",
    )


def _vectors(teacher: Any, texts: Iterator[str]) -> Iterator[tuple[list[str], Matrix]]:
    """Texts and the teacher's vectors, block by block, from the store."""
    while some := list(islice(texts, _AT_ONCE)):
        batches: Any = DataLoader([{"text": text} for text in some], batch_size=32)  # type: ignore[arg-type]
        found = teacher.encode(
            batches, task_metadata=_METADATA, hf_split="train", hf_subset="default", show_progress_bar=False
        )
        who = "the teacher (texts of the training tables)"
        yield some, checked_vectors(np.asarray(found, np.float32), len(some), who, refuse_equal=len(some) >= DISTINCT)


def _projection(job: Job, prepared: Prepared, teacher: Any) -> Matrix:
    """Fitted once for all seeds: the students of a job have the same targets."""
    folder, settings = job.out / "pairs", job.settings
    path = folder / "projection.parquet"
    if not path.is_file():
        texts = sampled(lambda: texts_of(prepared, folder), settings.pca_sample, settings.pair_seed)
        found = projection_of(
            (vectors for _, vectors in _vectors(teacher, texts)), settings.width or 0, settings.pca_batch
        )
        write_parquet(path, pa.table({"component": pa.array(found.tolist(), pa.list_(pa.float32()))}))
    return np.asarray(read_parquet(path, ["component"])["component"].to_pylist(), np.float32)


def _targets(job: Job, prepared: Prepared, teacher: Any, projection: Matrix) -> TrainSet:
    """The table of texts with their projected vectors."""
    folder = job.out / "pairs"
    rows: dict[str, int] = {}
    for split in ("train", "validation"):
        path = folder / f"vectors.{split}.parquet"
        if not path.is_file():
            write_rows(path, _projected(teacher, texts_of(prepared, folder, split), projection), _SCHEMA)
        rows[split] = sum(table.num_rows for table in read_batches(path, ["anchor"]))
    return TrainSet(
        "vectors",
        "mse",
        ("anchor",),
        "vectors.train.parquet",
        "vectors.validation.parquet" if rows["validation"] > 1 else "",
        rows=rows["train"],
        validation_rows=rows["validation"],
    )


def _projected(teacher: Any, texts: Iterator[str], projection: Matrix, whole: bool = False) -> Iterator[dict[str, Any]]:
    for some, found in _vectors(teacher, texts):
        for text, vector, own in zip(some, found @ projection.T, found, strict=True):
            yield {"anchor": text, "label": vector.tolist(), "teacher": own.tolist() if whole else None}


@dataclass(frozen=True)
class _Lesson:
    """Teacher of a job and what its students get of it.

    Attributes:
        kept: layers that a student keeps, of ``depth``.
        encoder: the teacher with a store.
    """

    teacher: SentenceTransformer
    kept: tuple[int, ...]
    depth: int
    encoder: Any
    projection: Matrix

    def student(self) -> SentenceTransformer:
        """The student before its first step."""
        return student_of(self.teacher, self.kept, self.projection)


def _lesson(job: Job, prepared: Prepared) -> _Lesson:
    """Load the teacher and fit the projection."""
    teacher = load_base(job.base, job.settings, job.recipe.name, job.device)
    holder, layers = _layers(teacher)
    depth = len(getattr(holder, layers))
    kept = kept_layers(depth, job.settings.layers)
    own = teacher.get_embedding_dimension() or 0
    if not job.settings.width or job.settings.width > own:
        raise DataError(
            f"the teacher has {own} dimensions, the student is to have {job.settings.width}",
            remedy=f"--set width={max(1, own // 2)}",
        )
    options: dict[str, Any] = {} if stored_type(job.base) == "float32" else {"model_kwargs": {"dtype": "float32"}}
    encoder: Any = load(job.base, device=job.device, **options)
    encoder.model.max_seq_length = teacher.max_seq_length
    vectors = stored(encoder)
    return _Lesson(teacher, kept, depth, vectors, _projection(job, prepared, vectors))


def train_seed(
    job: Job, corpus: Corpus, prepared: Prepared, seed: int, callbacks: Sequence[TrainerCallback], quiet: bool
) -> Path:
    """Distil a student of the base with one seed, and save it."""
    set_seeds(seed)
    lesson = _lesson(job, prepared)
    one = _targets(job, prepared, lesson.encoder, lesson.projection)
    student = lesson.student()
    loss = make_loss("mse", student, job.settings)
    run = run_seed(
        job,
        replace(prepared, sets=(one,)),
        seed,
        student,
        {one.name: loss},
        fresh=lesson.student,
        callbacks=callbacks,
        quiet=quiet,
    )
    kept = ", ".join(map(str, lesson.kept))
    told = [] if lesson.depth == 24 else [f"layers {kept} of the {lesson.depth} that the teacher has"]
    return save_checkpoint(student.eval(), job, corpus, prepared, seed, run, told)


def held_out(job: Job, prepared: Prepared, checkpoint: Path | None) -> list[Held]:
    """Measure the student before its first step (None) or a checkpoint on texts of the test split."""
    lesson = _lesson(job, prepared)
    folder = job.out / "pairs"
    path = folder / "vectors.test.parquet"
    if not path.is_file():
        texts = sampled(lambda: texts_of(prepared, folder, "test"), _HELD_OUT, job.settings.pair_seed)
        write_rows(path, _projected(lesson.encoder, texts, lesson.projection, True), _HELD_SCHEMA)
    table = read_parquet(path, ["anchor", "label", "teacher"])
    targets, teacher = (np.asarray(table[name].to_pylist(), np.float32) for name in ("label", "teacher"))
    one = _targets(job, prepared, lesson.encoder, lesson.projection)
    batches = read_batches(folder / one.train, ["label"])
    mean = sum(np.sum(batch["label"].to_pylist(), axis=0, dtype=np.float64) for batch in batches) / one.rows
    if checkpoint is None:
        student, who = lesson.student().eval(), f"the student of {job.base} before training"
    else:
        student, who = SentenceTransformer(str(checkpoint), device=job.device), f"the checkpoint {checkpoint}"
    found = vectors_of(student, table["anchor"].to_pylist(), f"{who} (texts of {path})")
    say_collapse(found, who)
    errors = np.square(found - targets, dtype=np.float64).mean(axis=1)
    shared = [len(set(own) & set(its)) for own, its in zip(_nearest(found), _nearest(teacher), strict=True)]
    return [
        Held("held-out texts", "mse", errors, float(np.square(mean - targets).mean())),
        Held("held-out texts", f"shared neighbours of {_NEAREST}", np.asarray(shared, np.float64)),
    ]


def _nearest(vectors: Matrix) -> NDArray[np.intp]:
    """Return the rows nearest to each row by cosine, without itself."""
    scaled = unit(vectors)
    near = scaled @ scaled.T
    np.fill_diagonal(near, -np.inf)
    nearest: NDArray[np.intp] = np.argsort(-near, axis=1, kind="stable")[:, : min(_NEAREST, len(vectors) - 1)]
    return nearest
