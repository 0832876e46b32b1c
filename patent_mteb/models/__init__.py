"""Models and model wrappers, for use with mteb.

The names below can be combined, and are imported on first use::

    from patent_mteb.models import Hybrid, Passages, Reranked, Truncated, bm25, load, stored

    Hybrid(bm25("dapfam"), stored(load("sentence-transformers/all-MiniLM-L6-v2")), alpha=0.7)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# mteb is imported first: its import triggers the registration, which needs fully imported modules of this package.
import mteb  # noqa: F401

if TYPE_CHECKING:
    from patent_mteb.model_identity.loaded import changed
    from patent_mteb.models.composition import Truncated, compose
    from patent_mteb.models.loading import load
    from patent_mteb.models.quantised import Quantised
    from patent_mteb.search.bm25 import bm25
    from patent_mteb.search.fusion import RRF, Hybrid, Linear
    from patent_mteb.search.passages import Passages
    from patent_mteb.search.rerank import Reranked
    from patent_mteb.store import stored

_NAMES = {
    "search.fusion": ("RRF", "Hybrid", "Linear"),
    "search.passages": ("Passages",),
    "models.quantised": ("Quantised",),
    "search.rerank": ("Reranked",),
    "search.bm25": ("bm25",),
    "models.composition": ("Truncated", "compose"),
    "models.loading": ("load",),
    "model_identity.loaded": ("changed",),
    "store": ("stored",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["RRF", "Hybrid", "Linear", "Passages", "Quantised", "Reranked", "Truncated"]
__all__ += ["bm25", "changed", "compose", "load", "stored"]


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"patent_mteb.{_MODULES[name]}"), name)
