"""The tasks of the suite: one module a benchmark, each a table of specs; :mod:`.catalogue` lists what mteb gets to know."""

from __future__ import annotations

import mteb  # noqa: F401  (first: the registration that follows its import must not meet half-imported modules of this room)
