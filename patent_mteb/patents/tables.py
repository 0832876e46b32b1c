"""Tables of a collection, as frames of polars: one row for each publication or each citation.

A recipe decides on these tables which publications qualify, who cites whom and which are drawn, by filters and joins.
The texts stay on disk. A recipe reads each of them when it writes its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl

from patent_mteb.memory import ROWS_AT_ONCE
from patent_mteb.patents.records import Citation


def frame_of(rows: Iterable[Sequence[Any]], schema: Mapping[str, Any]) -> pl.DataFrame:
    """Build a frame from rows as they come."""
    stream = iter(rows)
    blocks = iter(lambda: list(islice(stream, ROWS_AT_ONCE)), [])
    return pl.concat([pl.DataFrame(schema=schema), *(pl.DataFrame(some, schema, orient="row") for some in blocks)])


def column_of(texts: Iterable[str | None]) -> pl.Series:
    """Return texts as one column; few of them are Python strings at a time."""
    stream = iter(texts)
    blocks = iter(lambda: list(islice(stream, ROWS_AT_ONCE)), [])
    return pl.concat([pl.Series(dtype=pl.String), *(pl.Series(some, dtype=pl.String) for some in blocks)], rechunk=True)


def links_of(citations: Iterable[Citation], *fields: str) -> pl.DataFrame:
    """Return ``citing`` and ``cited`` number of each citation, in order, and further fields that are texts."""
    names = ("citing", "cited", *fields)
    return frame_of(map(attrgetter(*names), citations), dict.fromkeys(names, pl.String))


def with_families_of_ends(links: pl.DataFrame, publications: pl.DataFrame) -> pl.DataFrame:
    """Add the families of both ends of each link, ``citing_family`` and ``cited_family``, null if unknown."""
    for end in ("citing", "cited"):
        known = publications.select(pl.col("number").alias(end), pl.col("family").alias(f"{end}_family"))
        links = links.join(known, on=end, how="left")
    return links


def by_age(publications: pl.DataFrame, *groups: str) -> pl.DataFrame:
    """Sort publications from the earliest, within groups: by day (unknown days last), then by number."""
    return publications.sort(*groups, "day", "number", nulls_last=True)


def first_of_connected(groups: pl.DataFrame) -> pl.DataFrame:
    """Return each member of some groups with the alphabetically first that it is connected with, also through others.

    Args:
        groups: a row for each ``member`` of a ``group``; a member can be in several groups.

    Returns:
        The distinct members in order, and the ``first`` of each.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.patents.tables import first_of_connected
        >>> first_of_connected(pl.DataFrame({"group": [1, 1, 2, 2], "member": ["b", "c", "c", "a"]})).rows()
        [('a', 'a'), ('b', 'a'), ('c', 'a')]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    codes = groups.select(pl.all().rank("dense") - 1)
    size = [0 if groups.is_empty() else int(column.max()) + 1 for column in codes]  # type: ignore[arg-type]
    ends = codes["group"].to_numpy(), codes["member"].to_numpy() + size[0]
    links = coo_array((np.ones(len(groups), bool), ends), shape=(sum(size), sum(size)))
    _, component = connected_components(links, directed=False)
    members = groups.select(pl.col("member").unique().sort())
    return members.with_columns(first=pl.col("member").min().over(pl.Series(component[size[0] :])))
