"""Where the papers contradict themselves: ``contradictions.csv`` as a page.

One row a contradiction: the subject, two places with what each says, and what the suite does. A place that is a cell of a stored table
names it as ``table:model:column``, so that a test holds the value against the table.

    python -m patent_mteb.published.contradictions > docs/contradictions.md
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import polars as pl

from patent_mteb import published

__all__ = ["Contradiction", "contradictions", "page"]


@dataclass(frozen=True)
class Contradiction:
    """Two places of one paper that cannot both be right as they are read first."""

    paper: str
    subject: str
    first: str
    first_cell: str
    first_value: str
    second: str
    second_cell: str
    second_value: str
    ours: str


@lru_cache
def contradictions() -> tuple[Contradiction, ...]:
    """All rows.

    Example:
        >>> from patent_mteb.published.contradictions import contradictions
        >>> sorted({row.paper for row in contradictions()})
        ['patentmap', 'wipo_at']
    """
    content = files("patent_mteb.published").joinpath("contradictions.csv").read_bytes()
    table = pl.read_csv(content, infer_schema=False).with_columns(pl.all().fill_null(""))
    return tuple(Contradiction(**row) for row in table.iter_rows(named=True))


def page() -> str:
    """The page in Markdown.

    Example:
        >>> from patent_mteb.published.contradictions import page
        >>> page().splitlines()[0]
        '# Where the papers contradict themselves'
    """
    titles = {paper.paper: f"[{paper.title}]({paper.url})" for paper in published.papers()}
    lines = ["# Where the papers contradict themselves", ""]
    lines += ["Made from `patent_mteb/published/contradictions.csv` by `python -m patent_mteb.published.contradictions`."]
    for paper, title in titles.items():
        rows = [row for row in contradictions() if row.paper == paper]
        if rows:
            lines += ["", f"## {title}", "", "| what | one place | says | another | says | here |", "|---|---|---|---|---|---|"]
            lines += [
                f"| {row.subject} | {row.first} | {row.first_value} | {row.second} | {row.second_value} | {row.ours} |" for row in rows
            ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
