"""The built-in sample: records of invented patents, generated from a grammar and a vocabulary.

The sample has about 1,000 families with 1,500 publications of 17 offices and a citation graph. They were published in
2005 to 2025 in 29 technical fields of all eight IPC sections, most of them in assistive technology. Every task can run
on it without a licence and without a network. Its scores say nothing about the published benchmarks. No patent, person
or company is real.

The texts resemble patents in the properties that matter for a benchmark. The sections of a patent describe the same
invention in different words. Cited prior art shares problem and principle but no sentences. Citations across domains
share only the principle. Many unrelated patents share vocabulary. ``docs/sample.md`` says how difficult the tasks are.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache

from patent_mteb.patents.records import Citation, Claim, Description, MachineSummaries, Patent
from patent_mteb.sample import vocabulary as words
from patent_mteb.sample import world
from patent_mteb.sample.offices import OFFICES, publication_number, written_code
from patent_mteb.sample.prose import Prose
from patent_mteb.sample.random_choice import RandomGenerator

SAMPLE_VERSION = "2"
"""Part of the data set revision of every result on the sample. Change it when any record or table changes."""

_SEED = "sample-1"
_UPPER_CASE_TITLES = ("JP", "RU", "KR")


def _numbers(families: list[world.Family]) -> dict[tuple[int, int], str]:
    """Publication numbers by (family index, position of the member), ascending by date in each office."""
    members = {(one.index, position): member for one in families for position, member in enumerate(one.members)}
    serial: dict[tuple[str, bool], int] = defaultdict(int)
    rng = RandomGenerator(f"{_SEED}/numbers")
    numbers = {}
    for key in sorted(members, key=lambda key: (members[key].publication, key)):
        member = members[key]
        us_grant = member.office == "US" and member.kind == "B2"
        serial[member.office, us_grant] += rng.number(20, 900)
        n = serial[member.office, us_grant] + (7_000_000 if us_grant else 0)
        numbers[key] = publication_number(member.office, member.kind, member.publication.year, n)
    return numbers


def _patents(family: world.Family, numbers: dict[tuple[int, int], str], long_texts: bool) -> list[Patent]:
    prose = Prose(words.load(), family, _SEED)
    expert, keywords = prose.expert(), prose.keywords()
    claims, description, summaries = cache(prose.claims), cache(prose.description), cache(prose.summaries)
    patents = []
    for position, member in enumerate(family.members):
        office = OFFICES[member.office]
        # One office drafts all members of a family alike, so that identical texts occur within families.
        rng = RandomGenerator(f"{_SEED}/office/{family.index}/{member.office}")
        style = rng.weighted([*office.abstracts], [*office.abstracts.values()])
        title = prose.title(member.variant)
        patents.append(
            Patent(
                publication_number=numbers[family.index, position],
                family_id=family.key,
                title=title.upper() if member.office in _UPPER_CASE_TITLES else title,
                abstract=prose.abstract(style, member.variant, member.publication.year),
                claims=claims(office.claims, member.variant),
                description=description(member.variant if member.variant > 5 else 0) if long_texts else Description(),
                kind=member.kind,
                filing_jurisdiction=family.members[0].office,
                application_date=member.application,
                publication_date=member.publication,
                priority_date=family.priority,
                ipc=tuple(written_code(code, office.codes, rng) for code in family.ipc),
                cpc=tuple(written_code(code, "compact", rng) for code in (*family.ipc, *family.field.extra[:1])),
                inventors=family.inventors,
                applicants=(family.applicant,),
                labels=family.labels,
                keywords=keywords,
                expert=expert,
                summaries=summaries(member.variant) if long_texts else MachineSummaries(),
            )
        )
    return patents


@lru_cache(maxsize=2)
def _world(long_texts: bool) -> tuple[tuple[Patent, ...], tuple[Citation, ...]]:
    families = world.plan(words.load(), _SEED)
    numbers = _numbers(families)
    patents = [patent for family in families for patent in _patents(family, numbers, long_texts)]
    citations = world.edges(families, world.cite(families, _SEED), numbers, _SEED)
    return tuple(sorted(patents, key=lambda patent: patent.publication_number)), tuple(citations)


def generate(long_texts: bool = True) -> tuple[list[Patent], list[Citation]]:
    """Return all publications and citations of the sample, each sorted by publication number.

    The records are the same on every machine. They are generated once per process (about two seconds; without
    ``long_texts``, which are descriptions and machine summaries, about one).
    """
    patents, citations = _world(long_texts)
    return list(patents), list(citations)


_CENTRES = {"A": "3700", "B": "3600", "C": "1700", "D": "1700", "E": "3600", "F": "3700", "G": "2800", "H": "2800"}
"""Technology centre by section of the IPC."""


def examined() -> tuple[list[Patent], list[Citation]]:
    """Return the sample with numbered paragraphs and with office actions on US applications."""
    patents, citations = generate()
    numbered = [replace(one, paragraphs=tuple(range(1, len(one.description.lines()) + 1))) for one in patents]
    known = {patent.publication_number: patent for patent in numbered}
    return numbered, [_raised(citation, known[citation.citing], known[citation.cited]) for citation in citations]


def _raised(citation: Citation, citing: Patent, cited: Patent) -> Citation:
    """Add rejected claims, cited paragraphs, kind and date of an office action to a citation of a US application."""
    if citing.jurisdiction != "US" or citing.kind != "A1" or citing.publication_date is None or not citing.claims:
        return citation
    rng = RandomGenerator(f"{_SEED}/office actions/{citation.citing}/{citation.cited}")
    claims = rng.distinct(citing.claims, [1] * len(citing.claims), rng.number(1, 3))
    paragraphs = sorted({_nearest(claim, cited.description.lines()) for claim in claims} - {0})
    return replace(
        citation,
        claims=tuple(sorted(claim.number for claim in claims)),
        passages=tuple(f"paragraph [{number:04}]" for number in paragraphs),
        phase="CTNF" if rng.chance(0.7) else "CTFR",
        office="US",
        date=citing.publication_date + dt.timedelta(days=rng.number(100, 700)),
        unit=_CENTRES.get(citing.ipc[0][:1], "3600") if citing.ipc else "3600",
    )


def _nearest(claim: Claim, paragraphs: Sequence[str]) -> int:
    """Return the number of the first paragraph with the most words of a claim, 0 without paragraphs."""
    words = set(re.findall(r"\w{4,}", claim.text.lower()))
    shared = [len(words & set(re.findall(r"\w{4,}", paragraph.lower()))) for paragraph in paragraphs]
    return shared.index(max(shared)) + 1 if shared else 0
