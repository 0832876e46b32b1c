"""Every model that the suite adds to those of mteb."""

from __future__ import annotations

from mteb.models.model_meta import ModelMeta

from patent_mteb.models.registry import METAS
from patent_mteb.models.zero_shot import METAS as ZERO_SHOT_METAS
from patent_mteb.search.bm25 import BM25_METAS
from patent_mteb.search.late_interaction import METAS as LATE_INTERACTION_METAS

__all__ = ["suite_metas"]


def suite_metas() -> tuple[ModelMeta, ...]:
    """The metas that :func:`patent_mteb.register` enters in mteb's registry.

    Example:
        >>> from patent_mteb.models.suite import suite_metas
        >>> "patent-mteb/bm25-dapfam" in [meta.name for meta in suite_metas()]
        True
    """
    return (*METAS, *BM25_METAS, *LATE_INTERACTION_METAS, *ZERO_SHOT_METAS)
