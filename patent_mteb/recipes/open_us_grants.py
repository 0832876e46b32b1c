"""Recipe of PatentOpenUSGrants: PatentOpenUS from the citations of grants, without office actions.

Grants say who cited a document, not how relevant it is: documents cited by the examiner are relevant, in one grade.
Queries are the applications as filed of grants that were published in the window. The benchmark has neither claims nor
passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes.open_us import COMMON, EACH_CITATION, Params, build_as, sample_records
from patent_mteb.recipes.steps import BuildLog, Need

__all__ = ["COMMON", "EACH_CITATION", "NAME", "NEEDS", "SAMPLE", "Params", "build", "sample_records"]
NAME = "PatentOpenUSGrants"

NEEDS = (
    Need("title", "TAC"),
    Need("abstract", "TAC, Abstract"),
    Need("claims", "TAC, Claims"),
    Need("ipc", "IN and OUT, sampling"),
    Need("citations", "every table", drops="queries", fixed=True),
)

SAMPLE = Params()


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = SAMPLE) -> BuildLog:
    """Write ``root/PatentOpenUSGrants``."""
    return build_as(NAME, patents, citations, root, params, graded=False)
