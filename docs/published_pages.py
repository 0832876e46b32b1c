"""Write the pages on the papers, and print two tables of docs/reproduce.md, from the data of patent_mteb/published.

python docs/published_pages.py              # docs/published.md and docs/contradictions.md
python docs/published_pages.py coverage     # or independent
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

from patent_mteb.published import Independent, excluded, expected, independent, papers, tables


def _markdown(title: str, source: str, intro: list[str], rows: dict[str, list[str]], head: str) -> str:
    """Return a page with a table for each paper that has rows."""
    made = f"Made from `patent_mteb/published/{source}` by `python docs/published_pages.py`."
    lines = [f"# {title}", "", made, *intro]
    for paper in papers():
        if found := rows[paper.paper]:
            rule = "---".join("|" * head.count("|"))
            lines += ["", f"## [{paper.title}]({paper.url})", "", head, rule, *found]
    return "\n".join(lines) + "\n"


def contradictions() -> list[SimpleNamespace]:
    """Return the rows of ``contradictions.csv``."""
    with (files("patent_mteb.published") / "contradictions.csv").open(encoding="utf-8", newline="") as lines:
        return [SimpleNamespace(**row) for row in csv.DictReader(lines)]


def contradictions_page() -> str:
    """Return the page in Markdown."""
    rows: dict[str, list[str]] = {paper.paper: [] for paper in papers()}
    for row in contradictions():
        said = (row.subject, row.first, row.first_value, row.second, row.second_value, row.ours)
        rows[row.paper].append(f"| {' | '.join(said)} |")
    head = "| what | one place | says | another | says | here |"
    return _markdown("Where the papers contradict themselves", "contradictions.csv", [], rows, head)


def coverage() -> str:
    """Return a table in Markdown: how many stated numbers can be compared, and why the others cannot."""
    rows = expected()
    reasons = Counter(row.not_run for row in rows if row.not_run).most_common()
    lines = [
        ("stated for a model of this package or of mteb", len(rows)),
        ("compared with a run with the stated settings", sum(not row.not_run for row in rows)),
        *((f"cannot be run: {reason}", count) for reason, count in reasons),
        *((f"not stated for a run: {reason}", count) for reason, count in Counter(excluded()).most_common()),
    ]
    return "\n".join(("| numbers | count |", "|---|---|", *(f"| {what} | {count:,} |" for what, count in lines)))


def independent_table() -> str:
    """Return the scores of other harnesses as a table in Markdown."""

    def line(row: Independent) -> str:
        interval = f" [{row.interval[0]:.4f}, {row.interval[1]:.4f}]" if row.interval else ""
        settings = "; ".join((*(f"{name} {value}" for name, value in row.settings.items()), row.protocol))
        names = (row.model, " ".join(row.tasks), row.score, f"{row.value:.4f}{interval}")
        return f"| {' | '.join((*names, settings, f'{row.harness}, {row.source}'))} |"

    head = ("| model | task | score | value, 95% interval | settings | harness |", "|---|---|---|---|---|---|")
    return "\n".join((*head, *map(line, independent())))


_PROTOCOLS = {"paper": "the paper's own evaluator (`paper_…`)", "same": "the task's one protocol"}


def scores_page() -> str:
    """Return the page in Markdown."""
    intro = [
        "`report --published` and `reproduce` compare the scores of some tables with results: the page states their",
        "protocol, or the reason why a table is not compared.",
    ]
    rows: dict[str, list[str]] = {paper.paper: [] for paper in papers()}
    for table in tables():
        joined = f"no: {table.not_joined}" if table.not_joined else f"yes, under {_PROTOCOLS[table.protocol]}"
        rows[table.paper].append(f"| {table.table} | {table.caption} | {joined} |")
    head = "| table | what | compared with results |"
    return _markdown("The published tables", "tables.csv", intro, rows, head)


if __name__ == "__main__":
    if sys.argv[1:]:
        print({"coverage": coverage, "independent": independent_table}[sys.argv[1]]())
    else:
        folder = Path(__file__).parent
        (folder / "published.md").write_text(scores_page(), "utf-8")
        (folder / "contradictions.md").write_text(contradictions_page(), "utf-8")
