"""The MLP probe of PatentMap (appendix C.1): one hidden layer on frozen embeddings, classes ranked by score.

The paper and the authors' code use 1,024 hidden units, ReLU, sigmoid outputs with binary cross-entropy, Adam at 3e-4
and batches of 256. Training stops after five epochs without a lower validation loss, and the weights of the best epoch
are used. The authors train for at most 100 epochs, which are 8,500 steps with their data; smaller datasets get as many
steps. :data:`PAPER_SETTINGS` adds what only their code shows: weight decay, clipped gradients, no incomplete batches.

**Threads.** Short matrix products are faster on one thread (:func:`one_thread`): on two busy cores, the MLP probe of
1,200 x 256 embeddings takes 5 s of processor time on one thread and 38 s on two. On one thread, the last digits of a
score do not depend on the number of cores either.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from patent_mteb.metrics import embedding_matrix
from patent_mteb.protocols import Split, label_matrix

SMALL_EMBEDDINGS = 1 << 22  # maximum size of a matrix of embeddings for one thread, in numbers: 16 MiB


@contextlib.contextmanager
def one_thread(wanted: bool = True) -> Iterator[None]:
    """Let BLAS, OpenMP and torch work on one thread inside the block, if ``wanted``."""
    if not wanted:
        yield
        return
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    with threadpool_limits(1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


@dataclass(frozen=True)
class Settings:
    hidden: int = 1024
    learning_rate: float = 3e-4
    batch_size: int = 256
    max_epochs: int = 100  # training ends after this number of epochs, but not before ``least_steps``
    least_steps: int = 8500
    patience: int = 5  # epochs without a lower validation loss that end the training
    seed: int = 42
    weight_decay: float = 0.0  # of torch's Adam
    clip: float = 0.0  # largest norm of gradients; 0 for no limit
    whole_batches: bool = False  # whether an epoch skips the rows that do not fill a batch

    def batches(self, rows: int) -> int:
        return max(1, rows // self.batch_size) if self.whole_batches else math.ceil(rows / self.batch_size)

    def epochs(self, rows: int) -> int:
        return max(self.max_epochs, math.ceil(self.least_steps / self.batches(rows)))


_SMALL_STEP = 1 << 28  # multiplications of a forward pass below which a second thread is slower (measured on 2 cores)
PAPER_SETTINGS = Settings(weight_decay=1e-5, clip=1.0, whole_batches=True)  # the authors' training


@dataclass(frozen=True)
class MLPProbe:
    epoch: int  # the epoch, from 1, with the best weights
    validation_losses: tuple[float, ...]  # mean binary cross-entropy after each epoch
    stopped_early: bool  # before the maximum number of epochs
    steps: int  # of the optimiser
    scores: NDArray[np.float32]  # [n test, L] probabilities


def held_out(n: int, *, share: float = 0.15, seed: int = 42) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Random rows of a training and a validation part of n rows, both sorted; the paper has 85 and 15 percent."""
    if not 0 < round(n * share) < n:
        raise ValueError(f"a share of {share} leaves one of the two parts of {n} rows empty")
    rows = np.random.default_rng(seed).permutation(n)
    return np.sort(rows[round(n * share) :]), np.sort(rows[: round(n * share)])


def mlp_probe(train: Split, validation: Split, test: ArrayLike, *, settings: Settings = Settings()) -> MLPProbe:
    """Train on the first split, stop by the second, and score the classes of the test embeddings.

    Embeddings are not scaled. On the CPU the same seed gives the same result on the same machine and number of threads,
    of which a small probe uses one. torch's own random state does not change.
    """
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    tensors = []
    width, classes = None, None
    for name, (embeddings, labels) in (("train", train), ("validation", validation)):
        x = embedding_matrix(embeddings, name=f"{name} embeddings", width=width)
        y = label_matrix(labels, rows=len(x), name=f"{name} labels", classes=classes)
        width, classes = x.shape[1], y.shape[1]
        tensors += [torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)]
    x_train, y_train, x_held, y_held = tensors
    x_test = torch.tensor(embedding_matrix(test, name="test embeddings", width=width), dtype=torch.float32)

    step = settings.batch_size * settings.hidden * (x_train.shape[1] + y_train.shape[1])
    with torch.random.fork_rng(devices=[]), one_thread(step < _SMALL_STEP):
        torch.manual_seed(settings.seed)
        model = torch.nn.Sequential(
            torch.nn.Linear(x_train.shape[1], settings.hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(settings.hidden, y_train.shape[1]),
        )
        optimiser = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
        losses: list[float] = []
        best, kept = 0, {}
        batches = settings.batches(len(x_train))
        for epoch in range(settings.epochs(len(x_train))):
            for rows in torch.split(torch.randperm(len(x_train)), settings.batch_size)[:batches]:
                optimiser.zero_grad()
                torch.autograd.backward(binary_cross_entropy_with_logits(model(x_train[rows]), y_train[rows]))
                if settings.clip:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
                optimiser.step()
            with torch.no_grad():
                losses.append(binary_cross_entropy_with_logits(model(x_held), y_held).item())
            if not math.isfinite(losses[-1]):
                raise ValueError(
                    f"training diverged in epoch {epoch + 1}; the embeddings reach {abs(x_train).max():.3g}"
                )
            if epoch == 0 or losses[-1] < losses[best]:
                best, kept = epoch, {name: value.clone() for name, value in model.state_dict().items()}
            if epoch - best == settings.patience:
                break
    model.load_state_dict(kept)
    with torch.no_grad():
        scores = torch.sigmoid(model(x_test)).numpy()
    return MLPProbe(
        epoch=best + 1,
        validation_losses=tuple(losses),
        stopped_early=len(losses) - 1 - best == settings.patience,
        steps=len(losses) * batches,
        scores=scores,
    )
