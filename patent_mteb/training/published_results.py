"""What the papers print of their own training: mean and standard deviation over three seeds (WIPO-AT Tables 13, 14 and
20).

Tables 11, 12, 19 and 24 (single runs, differences from R0 with p) are in :mod:`patent_mteb.published` too.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from patent_mteb import published

_TABLES = (13, 14, 20)

_SPREAD = "_std"


@dataclass(frozen=True)
class Printed:
    """A mean over seeds with its standard deviation, None where the paper prints one run only."""

    table: int
    model: str
    measure: str
    slice: str
    mean: float
    spread: float | None


def printed_of(recipe: str) -> list[Printed]:
    """The printed means of a recipe, by table and model; none for a recipe of another paper."""
    label = recipe.removeprefix("wipo-").replace("r", "R", 1)
    found = []
    for number in _TABLES:
        rows = published.table("wipo_at", number).filter(pl.col("recipe") == label)
        spreads = {
            (row["model"], row["column"]): row["value"] for row in rows.iter_rows(named=True) if row["kind"] == "spread"
        }
        for row in rows.filter(pl.col("kind") != "spread").iter_rows(named=True):
            spread = spreads.get((row["model"], row["column"] + _SPREAD))
            found.append(
                Printed(number, row["model"], row["metric"].replace("_at_", "@"), row["slice"], row["value"], spread)
            )
    return found
