"""Whole experiments: runs of models over tasks, sweeps, comparisons, geometry, checks on data."""

from __future__ import annotations

import mteb  # noqa: F401  (first: the registration that follows its import must not meet half-imported modules of this room)
