"""The tasks of the suite: a module for each benchmark, and :mod:`.catalogue` with all that mteb's registry gets."""

from __future__ import annotations

# mteb comes first: the registration that follows its import must not meet half-imported modules of this package.
import mteb  # noqa: F401
