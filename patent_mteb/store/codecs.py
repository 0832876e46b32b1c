"""Codecs: vectors as one byte a value (``code``), and their decoded values (``value``).

Codes equal those of sentence-transformers' ``quantize_embeddings`` with the same ranges. Similarities are computed on
decoded values, so a dimension with a wide range keeps its weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

_STEPS = 255  # of one byte
_LOWEST = -128  # of int8
_HIGHEST = 127  # of int8; -128 is not used, so that a scale is symmetric


@dataclass(frozen=True)
class Levels:
    """``int8``: 255 equal steps between ``lowest`` and ``highest`` [width] of each dimension.

    A value is decoded as the middle of its step, an outlier as the end of the range. ``uint8`` counts the same steps
    from 0 instead of -128, so that scores are those of ``int8``.
    """

    lowest: NDArray[Any]
    highest: NDArray[Any]
    settings: Mapping[str, Any]

    @property
    def steps(self) -> NDArray[np.float32]:
        span = (self.highest.astype(np.float32) - self.lowest.astype(np.float32)) / _STEPS
        return np.where(span == 0, np.float32(1), span)

    def code(self, vectors: NDArray[Any]) -> NDArray[np.int8]:
        levels = np.clip(np.floor((vectors - self.lowest.astype(np.float32)) / self.steps), 0, _STEPS)
        return (levels + _LOWEST).astype(np.int8)

    def value(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        middles = codes.astype(np.float32) - _LOWEST + np.float32(0.5)
        middles *= self.steps
        middles += self.lowest.astype(np.float32)
        return middles


@dataclass(frozen=True)
class Signs:
    """``binary``: the sign of each value, as -1 or 1; 0 counts as negative."""

    settings: Mapping[str, Any]

    def code(self, vectors: NDArray[Any]) -> NDArray[np.int8]:
        return np.where(vectors > 0, np.int8(1), np.int8(-1))

    def value(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        return codes.astype(np.float32)


@dataclass(frozen=True)
class Scaled:
    """Token vectors, not calibrated: each in 127 steps of its largest value, which precedes the codes (float32).

    The error of a value is at most half a step, that of a vector v of d dimensions at most max|v| * sqrt(d) / 254.
    """

    settings: ClassVar[Mapping[str, Any]] = {"codec": "int8, a scale for each vector"}

    def code(self, vectors: NDArray[Any]) -> NDArray[np.int8]:
        steps = (np.abs(vectors).max(axis=1, keepdims=True, initial=0) / _HIGHEST).astype("<f4")
        levels = np.rint(vectors / np.where(steps == 0, np.float32(1), steps)).astype(np.int8)
        return np.concatenate([steps.view(np.int8), levels], axis=1)

    def value(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        steps = np.ascontiguousarray(codes[:, :4]).view("<f4")
        values: NDArray[np.float32] = codes[:, 4:] * steps.astype(np.float32)
        return values


Codec = Levels | Signs | Scaled  # converts vectors to bytes and back; ``settings`` identify it
