"""Print a page of the docs, or a table of one: ``python -m patent_mteb.published scores``."""

from __future__ import annotations

import sys

from patent_mteb.published import contradictions_page, coverage, independent_table, scores_page

PAGES = {
    "scores": scores_page,
    "contradictions": contradictions_page,
    "coverage": coverage,
    "independent": independent_table,
}

if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    if name not in PAGES:
        sys.exit(f"usage: python -m patent_mteb.published {{{','.join(PAGES)}}}")
    print(PAGES[name]().rstrip("\n"))
