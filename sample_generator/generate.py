"""Generate the built-in sample: python -m sample_generator.generate

The records are written to ``patent_mteb/sample``, as compressed JSON lines. They are the same on every machine.

The texts resemble patents in the properties that matter for a benchmark. The sections of a patent describe the same
invention in different words. Cited prior art shares problem and principle but no sentences. Citations across domains
share only the principle. Many unrelated patents share vocabulary.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import pyarrow as pa

import patent_mteb
from patent_mteb.files import replacing
from patent_mteb.patents.records import Citation, Claim, Patent
from sample_generator import vocabulary as words
from sample_generator import world
from sample_generator.offices import OFFICES, publication_number, written_code
from sample_generator.prose import Prose
from sample_generator.random_choice import RandomGenerator

FOLDER = Path(patent_mteb.__file__).with_name("sample")
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


def _patents(family: world.Family, numbers: dict[tuple[int, int], str]) -> list[Patent]:
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
                description=description(member.variant if member.variant > 5 else 0),
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
                summaries=summaries(member.variant),
            )
        )
    return patents


def generate() -> tuple[list[Patent], list[Citation]]:
    """Return all publications and citations of the sample, each sorted by publication number."""
    families = world.plan(words.load(), _SEED)
    numbers = _numbers(families)
    patents = [patent for family in families for patent in _patents(family, numbers)]
    citations = world.edges(families, world.cite(families, _SEED), numbers, _SEED)
    return sorted(patents, key=lambda patent: patent.publication_number), citations


_CENTRES = {"A": "3700", "B": "3600", "C": "1700", "D": "1700", "E": "3600", "F": "3700", "G": "2800", "H": "2800"}
"""Technology centre by section of the IPC."""


def with_office_actions(patents: Sequence[Patent], citations: Sequence[Citation]) -> list[Citation]:
    """Return the citations of the sample, those of US applications as office actions raised them."""
    known = {patent.publication_number: patent for patent in patents}
    return [_raised(citation, known[citation.citing], known[citation.cited]) for citation in citations]


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


def write(name: str, records: Iterable[Patent | Citation]) -> None:
    """Write records as JSON lines without empty fields."""
    rows = ({key: value for key, value in asdict(record).items() if value} for record in records)
    text = "".join(json.dumps(row, ensure_ascii=False, default=dt.date.isoformat) + "\n" for row in rows)
    with replacing(FOLDER / name) as partial:
        partial.write_bytes(pa.Codec("zstd", 19).compress(text.encode(), asbytes=True))


if __name__ == "__main__":
    patents, citations = generate()
    write("patents.jsonl.zst", patents)
    write("citations.jsonl.zst", with_office_actions(patents, citations))
