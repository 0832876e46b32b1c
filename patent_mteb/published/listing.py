"""The printed tables that are stored, and which of their scores are set beside results, as a page.

python -m patent_mteb.published.listing > docs/published.md
"""

from __future__ import annotations

from patent_mteb import published

__all__ = ["not_joined", "page"]

_PROTOCOLS = {"paper": "the paper's own evaluator (`paper_…`)", "same": "the task's one protocol"}


def not_joined(paper: str) -> dict[str, list[int]]:
    """The tables of a paper no score of which is set beside results, by the reason.

    Example:
        >>> from patent_mteb.published.listing import not_joined
        >>> not_joined("wipo_at")["the query text is not stated"][:2]
        [4, 6]
    """
    found: dict[str, list[int]] = {}
    for table in published.tables(paper):
        if table.not_joined:
            found.setdefault(table.not_joined, []).append(table.table)
    return found


def page() -> str:
    """The page in Markdown.

    Example:
        >>> from patent_mteb.published.listing import page
        >>> page().splitlines()[0]
        '# The published tables'
    """
    lines = ["# The published tables", ""]
    lines += [
        "Made from `patent_mteb/published/tables.csv` by `python -m patent_mteb.published.listing`. A table whose scores are set beside"
    ]
    lines += ["results (`report --published`, `reproduce`) says under which protocol they were computed, any other why it is not."]
    for paper in published.papers():
        lines += ["", f"## [{paper.title}]({paper.url})", "", "| table | what | set beside results |", "|---|---|---|"]
        for table in published.tables(paper.paper):
            joined = f"no: {table.not_joined}" if table.not_joined else f"yes, under {_PROTOCOLS[table.protocol]}"
            lines.append(f"| {table.table} | {table.caption} | {joined} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
