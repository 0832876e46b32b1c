"""Print a page of the docs: ``python -m patent_mteb.published scores`` or ``contradictions``."""

from __future__ import annotations

import sys

from patent_mteb.published import contradictions_page, scores_page

PAGES = {"scores": scores_page, "contradictions": contradictions_page}

if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    if name not in PAGES:
        sys.exit(f"usage: python -m patent_mteb.published {{{','.join(PAGES)}}}")
    print(PAGES[name](), end="")
