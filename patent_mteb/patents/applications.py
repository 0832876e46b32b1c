"""Citations that go out from an application, where their source names no publication (USPTO enriched citations).

An application number may look like the number of another publication (``US12000001`` is an application of 2008 and a grant of 2024), so
it stands in a citation with a word before it until the publication is known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.patents.spool import held

__all__ = ["citing_application", "of_publications"]

_WORD = "application "


def citing_application(number: str) -> str:
    """What stands as ``Citation.citing`` for an application.

    Example:
        >>> from patent_mteb.patents.applications import citing_application
        >>> citing_application("US16123456")
        'application US16123456'
    """
    return _WORD + number


def of_publications(citations: Sequence[Citation], patents: Iterable[Patent], relations: Iterable[Relation] = ()) -> Sequence[Citation]:
    """Citations with the publication of each citing application in its place: the one before grant if there is one, else the first.

    Others pass unchanged, and so do applications of which no record or relation names a publication.

    Example:
        >>> from patent_mteb.patents.applications import citing_application, of_publications
        >>> from patent_mteb.patents.records import Citation, Patent, Relation
        >>> patents = [Patent("US11000001B2", "F1", application_number="US16123456")]
        >>> relations = [Relation("US2019000001A1", "US16123456", "application")]
        >>> [one.citing for one in of_publications([Citation(citing_application("US16123456"), "US5000000A")], patents, relations)]
        ['US2019000001A1']
    """
    if not any(one.citing.startswith(_WORD) for one in citations):
        return citations
    published: dict[str, list[str]] = {}
    for patent in patents:
        published.setdefault(citing_application(patent.application_number), []).append(patent.publication_number)
    for relation in relations:
        if relation.kind == "application":
            published.setdefault(citing_application(relation.related), []).append(relation.number)
    first = {application: min(numbers, key=_before_grant) for application, numbers in published.items()}
    named = (dataclasses.replace(one, citing=first[one.citing]) if one.citing in first else one for one in citations)
    return held(named, like=citations)


def _before_grant(number: str) -> tuple[bool, str]:
    """Publications of applications (kinds A, A1, A2, A9) first, then by number."""
    return not number.rstrip("0123456789").endswith("A"), number
