"""Machine-readable files: ``patent-mteb report --format csv`` writes them next to the tables, ``--json`` prints them.

Their columns depend on the version of the package alone (``docs/report.md`` lists them), never on the results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from patent_mteb.identity import version
from patent_mteb.report.statistics import Statistics, scores_with
from patent_mteb.report.tables import pairs_table
from patent_mteb.tasks.suite import suite_tasks

if TYPE_CHECKING:
    from patent_mteb.report.collect import Collected
    from patent_mteb.report.reproduce import Reproduction


SCHEMA_VERSION = 1
"""Version of the JSON document; it changes with the meaning of a column or key."""

_RUN = ("data_source", "run", "model", "revision", "experiment", "settings", "parameters", "dims")


def tidy(collected: Collected, compared: Statistics) -> dict[str, pl.DataFrame]:
    """Return the frames by file name.

    A row is a number in ``scores``, a result in ``results``, a run in ``wide``, a pair of runs on a task in ``pairs``.
    """
    within = collected.results.with_columns(pl.col("path", "queries").str.strip_prefix(f"{collected.folder}/"))
    return {
        "scores": scores_with(collected, compared),
        "results": within,
        "wide": wide(collected),
        "pairs": pairs_table(compared),
    }


def wide(collected: Collected) -> pl.DataFrame:
    """Return one row a run and data source, with the main score of each task as a column.

    The columns are all tasks of the suite, measured or not, then those of own data.
    """
    known = [*suite_tasks(), *collected.results["plain"].unique(maintain_order=True)]
    runs = collected.results.group_by(_RUN, maintain_order=True).agg()
    values = collected.results.pivot("plain", index=["data_source", "run"], values="value", aggregate_function="first")
    absent = [name for name in dict.fromkeys(known) if name not in values.columns]
    values = values.with_columns(pl.lit(None, pl.Float64).alias(name) for name in absent)
    return runs.join(values, on=["data_source", "run"], maintain_order="left").select(*_RUN, *dict.fromkeys(known))


def as_json(
    frames: Mapping[str, pl.DataFrame], reproduction: Reproduction, messages: tuple[str, ...]
) -> dict[str, Any]:
    """Return all data of a report as JSON-like values; numbers that are not finite are null."""
    from patent_mteb.report import reproduce

    def finite(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {
        "schema": SCHEMA_VERSION,
        "version": version(),
        **{
            name: [{key: finite(value) for key, value in row.items()} for row in frames[name].iter_rows(named=True)]
            for name in ("results", "scores", "pairs")
        },
        "reproduction": reproduce.as_json(reproduction)["lines"],
        "messages": list(messages),
    }
