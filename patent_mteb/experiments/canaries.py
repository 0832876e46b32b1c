"""Eight fixed texts that are encoded at the start and at the end of a run: does the model give the vectors that it gave before?

They are compared with each other and, where the encoder has a store, with the vectors that the store has held since it first met the model
(it holds them like any text). Other weights under the same name and revision, another type of number and a model that is not deterministic
are found that way, for the price of two batches.

Two encodings of one text by one model rarely differ in all but their last bits, and on other hardware or in a type of few bits they differ
by more. Compared is therefore the relative distance of the two vectors of a text, |a - b| / max(|a|, |b|), in double precision:

* up to :data:`TOLERANCES` of the type of number that the model had it is rounding, and nothing is said (all-MiniLM-L6-v2 in batches of
  another size: 1e-6 in float32, 0.001 in float16, 0.009 in bfloat16);
* beyond it the figures are logged as a warning (another type: 0.0016 for float16, 0.012 for bfloat16; other hardware; a noisy service);
* beyond :data:`LARGEST` it is another model: an error.

For vectors of length 1 a distance of d is a cosine of 1 - d²/2.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import EncoderProtocol
from numpy.typing import ArrayLike

from patent_mteb.errors import ModelError, PatentMTEBError
from patent_mteb.store.encoder import StoredEncoder
from patent_mteb.store.settings import model_facts, parts_of

__all__ = ["LARGEST", "TEXTS", "TOLERANCES", "Canaries", "Drift", "drift_between"]

logger = logging.getLogger(__name__)

TEXTS = (
    "A centrifugal pump comprising a housing, an impeller mounted on a shaft for rotation within the housing, and a seal arranged between "
    "the shaft and the housing, wherein the seal has a first ring fixed to the shaft and a second ring pressed against it by a spring.",
    "A method of controlling the brakes of a vehicle, comprising measuring the speed of each wheel, estimating the slip, and lowering the "
    "pressure in the brake of a wheel whose slip exceeds a threshold.",
    "An isolated nucleic acid encoding a variant of an alpha-amylase that differs from its parent in positions 104, 181 and 261.",
    "Verfahren zur Herstellung eines Verbundwerkstoffs aus Fasern und einem Harz, das bei 180 °C ausgehärtet wird.",
    "1. A compound of formula (I), wherein R1 is C1-C6 alkyl and X is -O- or -NH-, or a salt thereof.",
    "Antenna arrangement for a mobile terminal",
    "一种锂离子电池的正极材料及其制备方法。",
    "H04L 9/32",
)
"""Longest first, as encoders order a batch."""

TOLERANCES = {"torch.float16": 0.01, "torch.bfloat16": 0.05, "float16": 0.01}
"""Largest relative distance of two vectors that is rounding, by type of number."""
_TOLERANCE = 1e-3
LARGEST = 0.1
"""Relative distance of two vectors beyond which it was another model."""

_METADATA = TaskMetadata(
    name="PatentCanaries",
    description="Fixed texts that show whether a model still gives the same vectors.",
    dataset={"path": "patent-mteb/canaries", "revision": "1"},
    type="STS",
    category="t2t",
    eval_splits=["test"],
    eval_langs=["eng-Latn"],
    main_score="cosine_spearman",
)


@dataclass(frozen=True)
class Drift:
    """How far apart two encodings of the same texts are.

    Attributes:
        distance: the largest relative distance of the two vectors of a text.
        cosine: the smallest cosine of the two vectors of a text.
        same: bit for bit.
    """

    distance: float
    cosine: float
    same: bool

    def __str__(self) -> str:
        return f"relative distance up to {self.distance:.2g}, cosine down to {self.cosine:.6f}"


def drift_between(first: ArrayLike, second: ArrayLike) -> Drift:
    """Compare two encodings, [texts, width] each.

    Raises:
        ValueError: they are no two matrices of one shape.

    Example:
        >>> from patent_mteb.experiments.canaries import drift_between
        >>> found = drift_between([[3.0, 4.0]], [[4.0, 3.0]])
        >>> round(found.distance, 6), round(found.cosine, 6), found.same
        (0.282843, 0.96, False)
    """
    ours, theirs = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if ours.shape != theirs.shape or ours.ndim != 2:
        raise ValueError(f"vectors of shape {ours.shape} and {theirs.shape}")
    lengths = np.linalg.norm(ours, axis=1), np.linalg.norm(theirs, axis=1)
    longer, product = np.maximum(*lengths), lengths[0] * lengths[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        distances = np.where(longer > 0, np.linalg.norm(ours - theirs, axis=1) / longer, 0.0)
        cosines = np.where(product > 0, (ours * theirs).sum(axis=1) / product, np.where(longer > 0, 0.0, 1.0))
    return Drift(float(distances.max(initial=0)), float(cosines.min(initial=1)), bool((ours == theirs).all()))


class Canaries:
    """The dense encoders inside a model, watched over a run; of any other model there is nothing to watch.

    An encoder whose weights are read only when a text must be encoded is looked at once they were.

    Args:
        model: any mteb model.
        encode_kwargs: what the run encodes with.

    Example:
        >>> import mteb
        >>> from patent_mteb.experiments.canaries import Canaries
        >>> canaries = Canaries(mteb.get_model("mteb/baseline-random-encoder"))
        >>> canaries.look(), canaries.look()  # at the start and at the end
        (None, None)
    """

    def __init__(self, model: Any, encode_kwargs: Mapping[str, Any] | None = None) -> None:
        self._encoders = list({id(one): one for one in _encoders(model)}.values())
        self._options = {**(encode_kwargs or {}), "show_progress_bar": False}
        self._first: dict[int, tuple[Any, float]] = {}

    def look(self) -> None:
        """Encode the texts and compare them with the first time, and the first time with the store.

        Raises:
            ModelError: the vectors are another model's; says how far apart they are.
        """
        for encoder in self._encoders:
            has_store = isinstance(encoder, StoredEncoder)
            if has_store and not encoder.loaded:
                continue
            fresh = self._encoded(encoder.model if has_store else encoder)
            if fresh is None:
                continue
            if id(encoder) in self._first:
                _judge(encoder, fresh, *self._first[id(encoder)], "at the start of the run", "they changed while it ran")
                continue
            tolerance = _tolerance(encoder)
            self._first[id(encoder)] = fresh, tolerance
            if has_store and (held := self._encoded(encoder)) is not None:
                place = f"in the store {encoder.store.path}"
                _judge(encoder, fresh, held, tolerance, place, "the store was filled by other weights or elsewhere")

    def _encoded(self, encoder: Any) -> Any | None:
        """The vectors of the texts, None of an encoder that does not take them or gives no matrix of numbers: a task says that better."""
        from datasets import Dataset
        from torch.utils.data import DataLoader

        size = self._options.get("batch_size") or len(TEXTS)
        loader: Any = DataLoader(Dataset.from_dict({"text": list(TEXTS)}), batch_size=size)
        try:
            found = encoder.encode(loader, task_metadata=_METADATA, hf_split="test", hf_subset="default", **self._options)
        except PatentMTEBError:
            return None
        except (Exception, SystemExit):
            logger.debug("%s does not encode the canary texts", encoder.mteb_model_meta.name, exc_info=True)
            return None
        if hasattr(found, "detach"):
            found = found.detach().float().cpu().numpy()
        try:
            matrix = np.asarray(found)
        except ValueError:  # rows of different lengths
            return None
        usable = matrix.ndim == 2 and len(matrix) == len(TEXTS) and matrix.dtype.kind in "fiu" and bool(np.isfinite(matrix).all())
        return matrix if usable else None


def _encoders(model: Any) -> Iterator[Any]:
    """The encoders that a model is made of; those with a store as a whole."""
    if isinstance(model, StoredEncoder):
        yield model
        return
    inside = parts_of(model)
    for part in inside:
        yield from _encoders(part)
    if not inside and isinstance(model, EncoderProtocol):
        yield model


def _tolerance(encoder: Any) -> float:
    """Of the types of number that the encoder computes in, and that its store keeps."""
    types = (*model_facts(encoder)["dtype"].split(", "), getattr(encoder, "dtype", ""))
    return max(TOLERANCES.get(str(one), _TOLERANCE) for one in types)


def _judge(encoder: Any, fresh: Any, known: Any, tolerance: float, where: str, why: str) -> None:
    """Say nothing, warn, or stop, by the distance of two encodings.

    Raises:
        ModelError: the vectors are another model's.
    """
    name = encoder.mteb_model_meta.name
    if fresh.shape != known.shape:
        raise ModelError(f"{name} gives vectors of {fresh.shape[1]} dimensions, not of {known.shape[1]} as {where}: {why}")
    drift = drift_between(fresh, known)
    if drift.distance > LARGEST:
        raise ModelError(
            f"{name} does not give the vectors that it gave {where} ({drift}): {why}. Remedy: load the model anew; "
            "other weights need a revision of their own; a store of other weights is emptied by 'patent-mteb store prune'"
        )
    if drift.distance > tolerance:
        told = "%s does not quite give the vectors that it gave %s (%s; up to %g is rounding): another type, other hardware, or noise"
        logger.warning(told, name, where, drift, tolerance)
    else:
        logger.debug("%s gives the vectors that it gave %s (%s)", name, where, drift)
