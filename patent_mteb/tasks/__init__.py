"""The tasks of the suite: one module per benchmark, and their :mod:`.catalogue`."""

from __future__ import annotations

# mteb comes first: the registration that follows its import must not meet half-imported modules of this package.
import mteb  # noqa: F401
