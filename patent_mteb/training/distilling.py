"""Distillation (PatenTEB §4.4): a student with fewer layers learns the teacher's projected vectors.

Incremental PCA on a sample of the teacher's vectors gives the projection W. Following the paper's formula, targets are
W u without centring. If their mean is large it dominates the loss, so the error of the mean is reported too. The
student has some of the teacher's layers, and a final linear layer that is initialised with W and stays in the saved
student.

Two measures are taken before and after training, on texts of the test split: the mean squared error to the targets, and
the overlap of the student's ten nearest texts with those of the teacher (by cosine, before the projection).
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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
from transformers import set_seed

from patent_mteb.errors import DataError
from patent_mteb.files import read_batches, read_parquet, write_parquet, write_rows
from patent_mteb.models.loading import load
from patent_mteb.search.vectors import checked_vectors
from patent_mteb.store import stored
from patent_mteb.store.batches import text_loader
from patent_mteb.training.bases import load_base, make_loss, stored_type, unit, vectors_of, warn_of_collapse
from patent_mteb.training.comparing import HeldOutScores
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.multitask import texts_of
from patent_mteb.training.preparing import Job, Prepared, TrainSet, with_row_counts
from patent_mteb.training.running import Trainee

Matrix = NDArray[np.float32]
_SCHEMA = pa.schema([("anchor", pa.string()), ("label", pa.list_(pa.float32()))])
_HELD_SCHEMA = _SCHEMA.append(pa.field("teacher", pa.list_(pa.float32())))
_AT_ONCE = 4_096  # texts that the teacher encodes at a time
_HELD_OUT = 2_000
"""Maximum number of evaluated texts of the test split."""
_NEAREST = 10  # neighbours that teacher and student should share, a choice
_PAPER_DEPTH = 24  # layers of PatenTEB's teacher (the 24 of patembed-large)

_METADATA = TaskMetadata(
    name="PatentMTEBTrainingTexts",
    description="The texts that a student is distilled on; they carry their prompts already.",
    dataset={"path": "patent-mteb/training-texts", "revision": "1"},
    type="STS",
    eval_splits=["train"],
    eval_langs=["eng-Latn"],
    main_score="cosine_spearman",
)


def student_layers(depth: int, wanted: Sequence[int]) -> tuple[int, ...]:
    """Select the layers of a student: those of the paper for a teacher of 24 layers, else every n-th."""
    if depth == _PAPER_DEPTH:
        return tuple(wanted)
    if not wanted or depth % len(wanted):
        problem = f"{len(wanted)} layers at regular distances cannot be chosen from a teacher of {depth} layers"
        raise DataError(problem, remedy="choose another patembed-distill recipe")
    return tuple(range(0, depth, depth // len(wanted)))


def sampled(texts: Callable[[], Iterator[str]], size: int, seed: int = 42) -> Iterator[str]:
    """Sample ``size`` texts in their order, or all if there are fewer."""
    number = sum(1 for _ in texts())
    chosen = set(random.Random(seed).sample(range(number), min(size, number)))
    return (text for row, text in enumerate(texts()) if row in chosen)


def projection_of(vectors: Iterator[Matrix], width: int, batch: int) -> Matrix:
    """Fit the first principal components in batches, [width, teacher's width]; the last may have more vectors."""
    pca = IncrementalPCA(n_components=width)
    for rows in _regrouped(vectors, max(batch, width), width):
        if len(rows) < width:
            problem = f"{len(rows)} texts are too few for a projection to {width} dimensions"
            raise DataError(problem, remedy="give more records, or --set width=32")
        pca.partial_fit(rows)
    return np.asarray(pca.components_, np.float32)


def _regrouped(vectors: Iterator[Matrix], size: int, least: int) -> Iterator[Matrix]:
    """Regroup rows to blocks of ``size``. The last block has at least ``least`` rows, if there are as many."""
    pending = np.zeros((0, 0), np.float32)
    for block in vectors:
        pending = np.concatenate([pending, block]) if len(pending) else block
        while len(pending) >= size + least:
            yield pending[:size]
            pending = pending[size:]
    yield pending


def student_of(teacher: SentenceTransformer, layers: Sequence[int], projection: Matrix) -> SentenceTransformer:
    """Copy the teacher with some of its layers, and add the projection as a linear layer."""
    student = copy.deepcopy(teacher)
    parent, name = _layers(student)
    setattr(parent, name, nn.ModuleList([getattr(parent, name)[layer] for layer in layers]))
    inner: Any = student[0].model
    inner.config.num_hidden_layers = len(layers)
    head = Dense(projection.shape[1], projection.shape[0], bias=False, activation_function=nn.Identity())
    with torch.no_grad():
        head.linear.weight.copy_(torch.from_numpy(projection))
    student.add_module(str(len(student)), head.to(student.device))
    return student


def _layers(model: SentenceTransformer) -> tuple[nn.Module, str]:
    """The module with the list of transformer layers, and the list's name."""
    inner: Any = model[0].model if isinstance(model[0], Transformer) else None
    for path, name in (("encoder", "layer"), ("", "layers"), ("encoder", "layers"), ("transformer", "layer")):
        parent: Any = getattr(inner, path, None) if path else inner
        if isinstance(getattr(parent, name, None), nn.ModuleList):
            return parent, name
    problem = "the teacher's layers are not found among its modules"
    raise DataError(problem, remedy="distil from a BERT-like or ModernBERT-like encoder")


def _vectors(teacher: Any, texts: Iterator[str]) -> Iterator[tuple[list[str], Matrix]]:
    while block := list(islice(texts, _AT_ONCE)):
        batches = text_loader(block, 32)
        vectors = teacher.encode(
            batches, task_metadata=_METADATA, hf_split="train", hf_subset="default", show_progress_bar=False
        )
        who = "the teacher (texts of the training tables)"
        matrix = np.asarray(vectors, np.float32)
        yield block, checked_vectors(matrix, len(block), who)


def _projection(job: Job, prepared: Prepared, teacher: Any) -> Matrix:
    """Fit the projection once for all seeds, so that the students of a job have the same targets."""
    folder, settings = job.out / "pairs", job.settings
    path = folder / "projection.parquet"
    if not path.is_file():
        texts = sampled(lambda: texts_of(prepared, folder), settings.pca_sample, settings.pair_seed)
        components = projection_of(
            (vectors for _, vectors in _vectors(teacher, texts)), settings.width or 0, settings.pca_batch
        )
        write_parquet(path, pa.table({"component": pa.array(components.tolist(), pa.list_(pa.float32()))}))
    return np.asarray(read_parquet(path, ["component"])["component"].to_pylist(), np.float32)


@dataclass(frozen=True)
class _Teacher:
    """The teacher of a job, and what its students get from it."""

    model: SentenceTransformer
    encoder: Any  # the teacher with a store
    depth: int
    layers: tuple[int, ...]  # those of a student
    projection: Matrix

    def student(self) -> SentenceTransformer:
        return student_of(self.model, self.layers, self.projection)


def _load_teacher(job: Job, prepared: Prepared) -> _Teacher:
    teacher = load_base(job.base, job.settings, job.recipe.name, job.device)
    parent, name = _layers(teacher)
    depth = len(getattr(parent, name))
    layers = student_layers(depth, job.settings.layers)
    width = teacher.get_embedding_dimension() or 0
    if not job.settings.width or job.settings.width > width:
        problem = f"a student of {job.settings.width} dimensions is not possible: the teacher has {width}"
        raise DataError(problem, remedy=f"--set width={max(1, width // 2)}")
    options: dict[str, Any] = {} if stored_type(job.base) == "float32" else {"model_kwargs": {"dtype": "float32"}}
    encoder: Any = load(job.base, device=job.device, **options)
    encoder.model.max_seq_length = teacher.max_seq_length
    with_store = stored(encoder)
    return _Teacher(teacher, with_store, depth, layers, _projection(job, prepared, with_store))


def _projected(teacher: _Teacher, texts: Iterator[str], with_teacher: bool = False) -> Iterator[dict[str, Any]]:
    for block, vectors in _vectors(teacher.encoder, texts):
        for text, target, vector in zip(block, vectors @ teacher.projection.T, vectors, strict=True):
            yield {"anchor": text, "label": target.tolist(), "teacher": vector.tolist() if with_teacher else None}


def _targets(job: Job, prepared: Prepared, teacher: _Teacher) -> TrainSet:
    """Write the tables of texts with their projected vectors."""
    folder = job.out / "pairs"
    train, validation = files = "vectors.train.parquet", "vectors.validation.parquet"
    for split, file in zip(("train", "validation"), files, strict=True):
        if not (folder / file).is_file():
            write_rows(folder / file, _projected(teacher, texts_of(prepared, folder, split)), _SCHEMA)
    return with_row_counts(folder, TrainSet("vectors", "mse", ("anchor",), train, validation))


def trainee(job: Job, corpus: Corpus, prepared: Prepared, seed: int) -> Trainee:
    """Make a student of the base to train with one seed."""
    set_seed(seed)
    teacher = _load_teacher(job, prepared)
    targets = _targets(job, prepared, teacher)
    student = teacher.student()
    losses = {targets.name: make_loss("mse", student, job.settings)}
    layers = ", ".join(map(str, teacher.layers))
    note = f"layers {layers} of the {teacher.depth} that the teacher has"
    deviations = [] if teacher.depth == _PAPER_DEPTH else [note]
    return Trainee(student, [targets], losses, teacher.student, deviations)


def held_out(job: Job, prepared: Prepared, checkpoint: Path | None) -> list[HeldOutScores]:
    """Evaluate the untrained student (None) or a checkpoint on texts of the test split."""
    teacher = _load_teacher(job, prepared)
    folder = job.out / "pairs"
    path = folder / "vectors.test.parquet"
    if not path.is_file():
        texts = sampled(lambda: texts_of(prepared, folder, "test"), _HELD_OUT, job.settings.pair_seed)
        write_rows(path, _projected(teacher, texts, with_teacher=True), _HELD_SCHEMA)
    table = read_parquet(path, ["anchor", "label", "teacher"])
    targets, originals = (np.asarray(table[name].to_pylist(), np.float32) for name in ("label", "teacher"))
    training = _targets(job, prepared, teacher)
    batches = read_batches(folder / training.train, ["label"])
    mean = sum(np.sum(batch["label"].to_pylist(), axis=0, dtype=np.float64) for batch in batches) / training.rows
    if checkpoint is None:
        student, who = teacher.student().eval(), f"the student of {job.base} before training"
    else:
        student, who = SentenceTransformer(str(checkpoint), device=job.device), f"the checkpoint {checkpoint}"
    vectors = vectors_of(student, table["anchor"].to_pylist(), f"{who} (texts of {path})")
    warn_of_collapse(vectors, who)
    errors = np.square(vectors - targets, dtype=np.float64).mean(axis=1)
    shared = [len(set(near) & set(wanted)) for near, wanted in zip(_nearest(vectors), _nearest(originals), strict=True)]
    return [
        HeldOutScores("held-out texts", "mse", errors, float(np.square(mean - targets).mean())),
        HeldOutScores("held-out texts", f"shared neighbours of {_NEAREST}", np.asarray(shared, np.float64)),
    ]


def _nearest(vectors: Matrix) -> NDArray[np.intp]:
    """Return the rows nearest to each row by cosine, without itself."""
    scaled = unit(vectors)
    cosines = scaled @ scaled.T
    np.fill_diagonal(cosines, -np.inf)
    nearest: NDArray[np.intp] = np.argsort(-cosines, axis=1, kind="stable")[:, : min(_NEAREST, len(vectors) - 1)]
    return nearest
