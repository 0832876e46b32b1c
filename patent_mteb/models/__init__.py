"""Model wrappers: mteb models with identities of their own.

The names below are what a user combines, from here or from their modules::

    from patent_mteb.models import Hybrid, Passages, Reranked, Truncated, bm25, load, stored

    Hybrid(bm25("dapfam"), stored(load("sentence-transformers/all-MiniLM-L6-v2")), alpha=0.7)

They are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import mteb  # noqa: F401  (first, so that the registration that follows it does not meet half-imported modules of ours)

if TYPE_CHECKING:
    from patent_mteb.models.composition import compose
    from patent_mteb.models.fusion import RRF, Hybrid, Linear
    from patent_mteb.models.lexical import bm25
    from patent_mteb.models.loading import load
    from patent_mteb.models.passages import Passages, Sections
    from patent_mteb.models.rerank import Reranked
    from patent_mteb.models.truncation import Truncated
    from patent_mteb.store import stored

_HOMES = {
    "RRF": "models.fusion",
    "Hybrid": "models.fusion",
    "Linear": "models.fusion",
    "Passages": "models.passages",
    "Reranked": "models.rerank",
    "Sections": "models.passages",
    "Truncated": "models.truncation",
    "bm25": "models.lexical",
    "compose": "models.composition",
    "load": "models.loading",
    "stored": "store",
}

__all__ = [
    "RRF",
    "Hybrid",
    "Linear",
    "Passages",
    "Reranked",
    "Sections",
    "Truncated",
    "bm25",
    "compose",
    "load",
    "stored",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"patent_mteb.{_HOMES[name]}"), name)
