"""Bounds and seeds of the recipe of PatenTEB."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from patent_mteb.recipes.needs import Need
from patent_mteb.recipes.parameters import Bounds, Count, Positive, Share

__all__ = ["NEEDS", "PAPER", "SAMPLE", "Params"]


NEEDS = (
    Need("title", "every text; title2full", drops="families"),
    Need(
        "abstract",
        "every text; problem2full, problem2solution, effect2full, effect2substance, para_*",
        drops="families",
    ),
    Need("claims", "every text", drops="families"),
    Need("ipc", "every table (dominant IPC3, relations of domains)", drops="families", fixed=True),
    Need("filing_date", "class_bloom", drops="families"),
    Need("citations", "retrieval_*, class_bloom, class_nli_oldnew, para_*"),
    Need("inventors", "clusters_inventor"),
)
"""What is made of which field, and what goes where a family lacks it (§3)."""


@dataclass(frozen=True)
class Params:
    """Bounds of the recipe; the defaults are the paper's unless marked "ours".

    Attributes:
        seed: seed of every draw (Table 3).
        min_year: earliest filing year of a family; one without a date passes, where filing_date is not required.
        min_cited_by: least number of citing families (§8.3).
        max_family_size: most publications of a family; ours, the paper says "manageable".
        max_words: most words of a text; the paper's 8,192 are tokens of an unnamed tokenizer, which are never fewer.
        min_class_families: least number of families with the same dominant IPC3.
        split: shares of train, validation and test.
        max_positives: most positives of a query.
        max_retrieval_rows: most rows of a symmetric retrieval set ("roughly 15,000"); whole queries are left out.
        max_train_rows: most training rows of a classification set, before the released share is taken.
        released_train: share of the training rows that is released.
        cutoff: last day whose citations are known.
        early_years: years after filing that count as early.
        decile: share of a class that counts as top, and as bottom.
        positive_share: share of positives in the paraphrase sets.
        max_paraphrase_rows: most rows of a paraphrase set (Table 1).
        ipc_clusters: least and greatest size of a cluster by IPC list.
        inventor_clusters: least and greatest size of a cluster by inventor.
        require: what a family must have, the texts in one publication; the others are waived.

    Raises:
        ValueError: the shares of the split do not add up to one, or a share that divides is zero.
    """

    seed: int = 42
    min_year: int = 1980
    min_cited_by: Count = 1
    max_family_size: Positive = 100
    max_words: Positive = 8192
    min_class_families: Count = 100
    split: tuple[Share, Share, Share] = (0.8, 0.1, 0.1)
    max_positives: Positive = 100
    max_retrieval_rows: Count = 16_000
    max_train_rows: Count = 150_000
    released_train: Share = 0.2
    cutoff: dt.date = dt.date(2023, 6, 20)
    early_years: Annotated[int, Bounds(0, 100)] = 5
    decile: Share = 0.1
    positive_share: Share = 0.14
    max_paraphrase_rows: Count = 18_750
    ipc_clusters: tuple[Count, Count] = (200, 1000)
    inventor_clusters: tuple[Count, Count] = (100, 1000)
    require: tuple[Literal["title", "abstract", "claims", "filing_date"], ...] = ("title", "abstract", "claims", "filing_date")

    def __post_init__(self) -> None:
        if not math.isclose(sum(self.split), 1.0) or min(self.split) < 0:
            raise ValueError(f"the shares of the split {self.split} do not add up to one")
        if not 0 < self.positive_share < 1 or not 0 < self.decile <= 1:
            raise ValueError(f"positive_share={self.positive_share} and decile={self.decile} must lie between 0 and 1")


PAPER = Params()
"""The settings of the paper."""

SAMPLE = replace(
    PAPER,
    min_cited_by=0,
    min_class_families=8,
    split=(0.3, 0.1, 0.6),
    released_train=0.8,
    ipc_clusters=(3, 100),
    inventor_clusters=(3, 100),
)
"""Bounds for a world of about a thousand families: lower minima, and most families in the one split that is evaluated."""
