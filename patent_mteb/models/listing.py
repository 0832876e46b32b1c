"""The models that a user may want to run: those of the papers, as far as they can be had, and the suite's own.

Every model that the suite adds to those of mteb.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import mteb
from mteb.models.model_meta import ModelMeta

from patent_mteb import published
from patent_mteb.models.registry import METAS
from patent_mteb.models.zero_shot import METAS as ZERO_SHOT_METAS
from patent_mteb.search.bm25 import BM25_METAS
from patent_mteb.search.late_interaction import METAS as LATE_INTERACTION_METAS

__all__ = ["suite_metas"]


def suite_metas() -> tuple[ModelMeta, ...]:
    """The metas that :func:`patent_mteb.register` enters in mteb's registry.

    Example:
        >>> from patent_mteb.models.listing import suite_metas
        >>> "patent-mteb/bm25-dapfam" in [meta.name for meta in suite_metas()]
        True
    """
    return (*METAS, *BM25_METAS, *LATE_INTERACTION_METAS, *ZERO_SHOT_METAS)


@dataclass(frozen=True)
class ModelRow:
    """One model.

    Attributes:
        model: name for ``-m`` and :func:`patent_mteb.models.load`, empty where the weights are not released.
        printed: as the WIPO-AT paper spells it (Table 3), empty where it has not measured it.
        category: in that paper, empty where it has not measured it.
        dims: width of an embedding as mteb's registry has it, None where it is not known.
        max_tokens: input limit as mteb's registry has it, None where it is not known.
        paper_dims, paper_max_tokens: what the paper prints.
        runs: ``yes`` if mteb knows how, ``by hub id`` if mteb finds out from the hub, ``no: not released``.
    """

    model: str
    printed: str
    category: str
    dims: int | None
    max_tokens: int | None
    paper_dims: int | None
    paper_max_tokens: int | None
    runs: str


def models() -> list[ModelRow]:
    """The 22 models of the WIPO-AT paper in its order, then the models of the suite that are not among them."""
    known = {str(meta.name): meta for meta in mteb.get_model_metas()}
    rows = [
        ModelRow(
            model=row["model_id"],
            printed=row["model"],
            category=row["category"],
            dims=_whole(getattr(known.get(row["model_id"]), "embed_dim", None)),
            max_tokens=_whole(getattr(known.get(row["model_id"]), "max_tokens", None)),
            paper_dims=_whole(row["dim"]),
            paper_max_tokens=_whole(row["max_tokens"]),
            runs="yes" if row["model_id"] in known else "by hub id" if row["model_id"] else "no: not released",
        )
        for row in published.printed("wipo_at", 3).iter_rows(named=True)
    ]
    printed = {row.model for row in rows}
    return rows + [
        ModelRow(str(meta.name), "", "", _whole(meta.embed_dim), _whole(meta.max_tokens), None, None, "yes")
        for meta in (*METAS, *BM25_METAS)
        if meta.name not in printed
    ]


def _whole(value: float | Sequence[int] | None) -> int | None:
    if isinstance(value, Sequence):
        return max(value, default=None)
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
