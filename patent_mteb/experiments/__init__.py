"""Experiments: runs of models over tasks, sweeps, fusion, candidates, geometry, and checks of data."""

from __future__ import annotations

# mteb comes first: the registration that follows its import must not meet half-imported modules of this package.
import mteb  # noqa: F401
