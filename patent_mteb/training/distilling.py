"""Distillation (PatenTEB §4.4): a student of every n-th layer of its teacher learns the teacher's vectors, projected to fewer dimensions.

1. All distinct training texts, each behind its prompt, are encoded by the teacher; the embedding store keeps the vectors.
2. Incremental PCA on a sample of them gives the projection W. As the paper's formula has it, targets are W u, without a mean.
3. The student has the teacher's modules with some of its layers, and a linear layer on top that begins as W; it minimises the mean squared
   error to the targets. The layer belongs to the student and stays.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from patent_mteb.files import read_batches, write_rows
from patent_mteb.models.loading import load
from patent_mteb.store import stored
from patent_mteb.training.bases import load_base
from patent_mteb.training.checkpoints import save_checkpoint
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.losses import make_loss
from patent_mteb.training.multitask import texts_of
from patent_mteb.training.preparing import Job, Prepared, TrainSet
from patent_mteb.training.running import run_seed, set_seeds

__all__ = ["kept_layers", "projection_of", "student_of", "train_seed"]

Matrix = NDArray[np.float32]
_SCHEMA = pa.schema([("anchor", pa.string()), ("label", pa.list_(pa.float32()))])
_AT_ONCE = 4_096

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
    """The layers of a teacher that a student keeps: those of the paper where the teacher is as deep as the paper's, else every n-th.

    Raises:
        DataError: the teacher's depth is no multiple of their number.

    Example:
        >>> from patent_mteb.training.distilling import kept_layers
        >>> kept_layers(24, (0, 12)), kept_layers(6, (0, 12))
        ((0, 12), (0, 3))
    """
    if depth == 24:
        return tuple(wanted)
    if not wanted or depth % len(wanted):
        raise DataError(
            f"a teacher of {depth} layers has no {len(wanted)} at regular distances", remedy="choose another patembed-distill recipe"
        )
    return tuple(range(0, depth, depth // len(wanted)))


def projection_of(vectors: Iterator[Matrix], width: int, sample: int, batch: int) -> Matrix:
    """[width, teacher's width] the first principal components, fitted on the first ``sample`` vectors in batches.

    Args:
        vectors: blocks of rows.

    Raises:
        DataError: fewer vectors than components.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.training.distilling import projection_of
        >>> rows = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32) * [9, 1, 1, 1]
        >>> int(np.abs(projection_of(iter([rows]), 1, 50, 50)[0]).argmax())
        0
    """
    pca = IncrementalPCA(n_components=width)
    waiting: list[Matrix] = []
    seen = 0
    for block in vectors:
        block = block[: sample - seen]
        seen += len(block)
        waiting.append(block)
        if sum(map(len, waiting)) >= max(batch, width):
            pca.partial_fit(np.concatenate(waiting))
            waiting = []
        if seen >= sample:
            break
    if waiting and sum(map(len, waiting)) >= width:
        pca.partial_fit(np.concatenate(waiting))
    if not hasattr(pca, "components_"):
        raise DataError(f"{seen} texts are too few for a projection to {width} dimensions", remedy="give more records, or --set width=32")
    return np.asarray(pca.components_, np.float32)


def student_of(teacher: SentenceTransformer, layers: Sequence[int], projection: Matrix) -> SentenceTransformer:
    """The teacher with some of its layers, and the projection on top.

    Raises:
        DataError: the teacher is no transformer whose layers are known.
    """
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
    raise DataError("the teacher's layers cannot be told from its modules", remedy="distil from a BERT-like or ModernBERT-like encoder")


def _vectors(teacher: Any, texts: Iterator[str]) -> Iterator[tuple[list[str], Matrix]]:
    """Texts and the teacher's vectors, block by block, from the store."""
    while some := list(islice(texts, _AT_ONCE)):
        batches: Any = DataLoader([{"text": text} for text in some], batch_size=32)  # type: ignore[arg-type]
        found = teacher.encode(batches, task_metadata=_METADATA, hf_split="train", hf_subset="default", show_progress_bar=False)
        yield some, np.asarray(found, np.float32)


def _targets(job: Job, prepared: Prepared, teacher: Any) -> tuple[tuple[TrainSet, ...], Matrix]:
    """The table of texts with their projected vectors, and the projection."""
    folder, settings = job.out / "pairs", job.settings
    width = settings.width or 0
    projection = projection_of(
        (found for _, found in _vectors(teacher, texts_of(prepared, folder))), width, settings.pca_sample, settings.pca_batch
    )
    rows: dict[str, int] = {}
    for split in ("train", "validation"):
        path = folder / f"vectors.{split}.parquet"
        if not path.is_file():
            write_rows(path, _projected(teacher, texts_of(prepared, folder, split), projection), _SCHEMA)
        rows[split] = sum(table.num_rows for table in read_batches(path, ["anchor"]))
    one = TrainSet(
        "vectors",
        "mse",
        ("anchor",),
        "vectors.train.parquet",
        "vectors.validation.parquet" if rows["validation"] > 1 else "",
        rows=rows["train"],
        validation_rows=rows["validation"],
    )
    return (one,), projection


def _projected(teacher: Any, texts: Iterator[str], projection: Matrix) -> Iterator[dict[str, Any]]:
    for some, found in _vectors(teacher, texts):
        for text, vector in zip(some, found @ projection.T, strict=True):
            yield {"anchor": text, "label": vector.tolist()}


def train_seed(job: Job, corpus: Corpus, prepared: Prepared, seed: int, callbacks: Sequence[TrainerCallback], quiet: bool) -> Path:
    """Distil a student with one seed, and save it.

    Raises:
        DataError: the teacher has too few layers or dimensions.
    """
    set_seeds(seed)
    name = job.teacher or job.base
    teacher = load_base(name, job.settings, job.recipe.name, job.device)
    holder, layers = _layers(teacher)
    kept = kept_layers(len(getattr(holder, layers)), job.settings.layers)
    own = teacher.get_embedding_dimension() or 0
    if not job.settings.width or job.settings.width > own:
        raise DataError(
            f"the teacher has {own} dimensions, the student is to have {job.settings.width}", remedy=f"--set width={max(1, own // 2)}"
        )
    sets, projection = _targets(job, prepared, stored(load(name, device=job.device)))
    student = student_of(teacher, kept, projection)
    distilled = replace(prepared, sets=sets)
    history = run_seed(
        job, distilled, seed, student, {"vectors": make_loss("mse", student, job.settings)}, callbacks=callbacks, quiet=quiet
    )
    told = [f"layers {', '.join(map(str, kept))} of {name}"]
    return save_checkpoint(student.eval(), job, corpus, distilled, seed, history, told)
