"""Write an Excel list of 351 invented patents, as a patent department keeps one, to try everything on.

python examples/excel_list.py list.xlsx
patent-mteb try list.xlsx
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import openpyxl

from patent_mteb.patents.claims import claims_text
from patent_mteb.sample import load

HEADER = ("Publication Number", "Title", "Abstract", "Claims", "IPC", "Publication Date", "Family ID")
FURTHER = ("Cited Patents", "Topic")


def main(path: Path) -> None:
    patents, citations = load(long_texts=False)
    cited = defaultdict(list)
    for citation in citations:
        cited[citation.citing].append(citation.cited)
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.append(HEADER + FURTHER)
    for patent in patents:
        if patent.jurisdiction in ("US", "EP"):
            number, topics = patent.publication_number, (label.coarse for label in patent.labels)
            texts = (number, patent.title, patent.abstract, claims_text(patent.claims), "; ".join(patent.ipc))
            sheet.append(
                [*texts, patent.publication_date, patent.family_id, "; ".join(cited[number]), "; ".join(topics)]
            )
    workbook.save(path)
    print(f"wrote {sheet.max_row - 1} patents to {path}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/excel_list.py FILE.xlsx")
    main(Path(sys.argv[1]))
