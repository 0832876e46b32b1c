"""The tasks of the suite: one module a benchmark, each a table of specs; :mod:`.catalogue` lists what mteb gets to
know.
"""

from __future__ import annotations

# mteb comes first: the registration that follows its import must not meet half-imported modules of this package.
import mteb  # noqa: F401
