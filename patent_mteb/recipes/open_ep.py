"""Recipe of PatentOpenEP: a cross-lingual citation benchmark from the EPO's full text and the letters of its search reports.

Texts come from EP full text (XML of the publication server, or the TSV for text analytics), letters and claims from PATSTAT (``tls212``
with ``tls215``, ``tls211``) or DOCDB, whose citations name the publication of the search report. Queries, documents, grades, gate and
sampling are those of :mod:`patent_mteb.recipes.open_us`: applications as filed at the EPO, families in the words of their earliest
publication; the window is of the publications that the citations came with, where they have no date of their own. To them come the texts of
documents in German, English and French (:mod:`patent_mteb.recipes.open_languages`).

A claim asks in the language of the proceedings, the one that the application was published in. Applications that the EPO did not publish
(Euro-PCT) have no application as filed among its texts: their citations are counted as left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes import open_us
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.open_languages import write_languages

__all__ = ["EACH_CITATION", "NAME", "NEEDS", "SAMPLE", "Params", "build"]

NAME = "PatentOpenEP"
EACH_CITATION = True
NEEDS = open_us.NEEDS


@dataclass(frozen=True)
class Params(open_us.Params):
    """Settings of the recipe.

    Attributes:
        first: first day of the window of search reports; None: no limit.
        last: last day of the window; None: no limit.
        offices: offices whose applications are queries.
        queries: most queries, stratified by year and IPC section; None: all.
        documents: size of the corpus: all that is judged, and others by hash of their number; None: all.
        passages: whose paragraphs are documents: those of the documents that are judged for a claim, or of the whole corpus.
        seed: of every draw.

    Raises:
        ValueError: the window ends before it begins.
    """

    offices: tuple[str, ...] = ("EP",)


SAMPLE = Params()


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = SAMPLE) -> BuildLog:
    """Write ``root/PatentOpenEP``.

    Raises:
        DataError: no application has a usable X or Y citation in a search report of the window.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.recipes import open_ep
        >>> open_ep.build([], [], Path("tables"))
        Traceback (most recent call last):
        patent_mteb.errors.DataError: no application has an X or Y citation in a search report of the window ... Remedy: ...
    """
    return open_us.build_as(NAME, patents, citations, root, params, open_us.Source(reports=True, parts=write_languages))
