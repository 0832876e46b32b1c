"""Office actions of the sample: rejected claims, cited paragraphs, kind and date for citations of US applications."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from collections.abc import Sequence

from patent_mteb.patents.records import Citation, Claim, Patent
from patent_mteb.sample import generate
from patent_mteb.sample.random_choice import RandomGenerator

_CENTRES = {"A": "3700", "B": "3600", "C": "1700", "D": "1700", "E": "3600", "F": "3700", "G": "2800", "H": "2800"}
"""Technology centre by section of the IPC."""
_SEED = "sample-1/office actions"


def examined() -> tuple[list[Patent], list[Citation]]:
    """Return the sample with numbered paragraphs and with office actions on US applications."""
    patents, citations = generate()
    numbered = [
        dataclasses.replace(one, paragraphs=tuple(range(1, len(one.description.lines()) + 1))) for one in patents
    ]
    known = {patent.publication_number: patent for patent in numbered}
    return numbered, [_raised(citation, known[citation.citing], known[citation.cited]) for citation in citations]


def _raised(citation: Citation, citing: Patent, cited: Patent) -> Citation:
    if citing.jurisdiction != "US" or citing.kind != "A1" or citing.publication_date is None or not citing.claims:
        return citation
    rng = RandomGenerator(f"{_SEED}/{citation.citing}/{citation.cited}")
    claims = rng.distinct(citing.claims, [1] * len(citing.claims), rng.number(1, 3))
    paragraphs = sorted({_nearest(claim, cited.description.lines()) for claim in claims} - {0})
    return dataclasses.replace(
        citation,
        claims=tuple(sorted(claim.number for claim in claims)),
        passages=tuple(f"paragraph [{number:04}]" for number in paragraphs),
        phase="CTNF" if rng.chance(0.7) else "CTFR",
        office="US",
        date=citing.publication_date + dt.timedelta(days=rng.number(100, 700)),
        unit=_CENTRES.get(citing.ipc[0][:1], "3600") if citing.ipc else "3600",
    )


def _nearest(claim: Claim, paragraphs: Sequence[str]) -> int:
    """The number of the first paragraph with the most words of a claim, 0 if there are no paragraphs."""
    words = set(re.findall(r"\w{4,}", claim.text.lower()))
    shared = [len(words & set(re.findall(r"\w{4,}", paragraph.lower()))) for paragraph in paragraphs]
    return shared.index(max(shared)) + 1 if shared else 0
