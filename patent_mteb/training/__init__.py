"""Train embedding models on patents, with a leak check against every test set (:mod:`.jobs`)."""

from __future__ import annotations

# mteb is imported first: its import triggers the registration, which needs fully imported modules of this package.
import mteb  # noqa: F401
