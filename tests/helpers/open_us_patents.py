"""Twelve publications, ten families and thirteen citations: every table of the open benchmark by hand."""

from __future__ import annotations

import datetime as dt

from patent_mteb.patents.collection import Collection, citing_application, of_publications
from patent_mteb.patents.records import Citation, Claim, Description, Patent

Q1, Q2 = "US2021000001A1", "US2021000002A1"
D1, D2, D3, D4 = "US2010000001A1", "US2015000002A1", "US9000003B2", "US2019000004A1"
D5, D6, D7 = "US2020000005A1", "US2005000006A1", "EP1000007A1"
WORDS = {Q1: "rotor", Q2: "valve", D1: "rotor blade", D2: "rotor hub", D3: "tower", D4: "rotor valve"}
WORDS |= {D5: "rotor", D6: "lens", D7: "valve seat"}


def publication(number, application, public, priority, ipc="F03D 1/06", paragraphs=0, words=""):
    words = words or WORDS[number]
    lines = [f"Paragraph {place} of the {words}." for place in range(1, paragraphs + 1)]
    claims = (
        Claim(1, f"A {words}."),
        Claim(2, f"The {words} of claim 1, painted.", (1,)),
        Claim(3, f"A method of making a {words}."),
    )
    return Patent(
        number,
        f"family of {application}",
        title=words.capitalize(),
        abstract=f"A {words} is shown.",
        claims=claims,
        description=Description(background="BACKGROUND", detailed="\n".join(lines)),
        application_number=application,
        publication_date=dt.date.fromisoformat(public),
        priority_date=dt.date.fromisoformat(priority),
        ipc=(ipc,),
        cpc=(ipc,),
        paragraphs=(0, *range(1, paragraphs + 1)) if paragraphs else (),
    )


PATENTS = [
    publication(Q1, "US17000001", "2021-01-07", "2019-07-01"),
    publication("US11500001B2", "US17000001", "2022-11-15", "2019-07-01", words="rotor"),
    publication(Q2, "US17000002", "2021-09-02", "2020-03-01", ipc="F16K 1/00"),
    publication(
        "US11500003B2", "US17000003", "2022-12-20", "2020-01-01", words="lens"
    ),  # its application was not published
    publication(D1, "US12000001", "2010-01-07", "2008-07-01", paragraphs=4),
    publication("US8000001B2", "US12000001", "2012-01-03", "2008-07-01", paragraphs=4, words="rotor blade"),
    publication(D2, "US14000002", "2015-05-07", "2013-11-01", paragraphs=3),
    publication(D3, "US14000003", "2016-06-07", "2014-01-01", ipc="E04H 12/00"),
    publication(D4, "US16000004", "2019-07-01", "2017-12-01", paragraphs=2),  # public on the priority day of Q1
    publication(D5, "US16000005", "2020-02-06", "2018-08-01", paragraphs=2),  # public later
    publication(D6, "US10000006", "2005-03-03", "2003-09-01"),
    publication(D7, "EP07000007", "2008-08-06", "2007-01-10", ipc="F16K 1/00"),
]


def citation(
    application, cited, letter, claims, passages=(), day="2021-05-01", phase="CTNF", origin="examiner", unit="2800"
):
    citing = citing_application(f"US1700000{application}")
    return Citation(citing, cited, letter, origin, claims, passages, phase, "US", dt.date.fromisoformat(day), unit)


CITATIONS = [
    citation(1, D1, "X", (1, 2), ("page 2 paragraphs [0002]-[0003]",)),
    citation(1, D1, "A", (3,), ("[0004]",), "2021-11-01", "CTFR"),
    citation(1, D2, "Y", (1,), ("[0001]",)),
    citation(1, D3, "A", (3,), ("column 5, lines 1-9",), origin="applicant"),
    citation(1, D4, "X", (1,), ("[0001]",)),  # too late
    citation(1, D5, "X", (2,), ("[0001]",)),  # too late
    citation(2, D4, "X", (1,), ("[0001]",), "2022-02-01", unit="3700"),
    citation(2, D7, "A", (1,), (), "2022-02-01", unit="3700"),
    citation(3, D6, "X", (1,)),  # of an application that was not published before its grant
    citation(
        1, "US8000001B2", "Y", (3,), ("[0001]",)
    ),  # the same family, another publication: no paragraph of the document
    citation(2, D2, "", (1,)),  # no letter
    citation(2, D1, "X", (9,), ("[0001]",), "2022-02-01"),  # a claim that the application did not have
    citation(2, D6, "X", (1,), (), "2025-01-01"),  # after the window
]

WINDOW = "2021-01-01:2023-12-31"
QRELS = {Q1: {D1: 3, D2: 2, D3: 1}, Q2: {D1: 3, D4: 3, D7: 1}}
CLAIMS = {
    f"{Q1}#1": {D1: 3, D2: 2, D3: 0},
    f"{Q1}#2": {D1: 3, D3: 0},  # D2, cited against its parent claim, is unjudged
    f"{Q1}#3": {D1: 2, D2: 0, D3: 1},
    f"{Q2}#1": {D1: 0, D4: 3, D7: 1},
}
PASSAGES = {
    f"{Q1}#1": {f"{D1}#2": 3, f"{D1}#3": 3, f"{D2}#1": 2},
    f"{Q1}#2": {f"{D1}#2": 3, f"{D1}#3": 3},
    f"{Q2}#1": {f"{D4}#1": 3},
}
SEEN = {Q1: {D1, D2, D3, D6, D7}, Q2: {D1, D2, D3, D4, D5, D6, D7}}
"""What each application may see: Q1 nothing of its priority day or later."""


def collection(patents=PATENTS, citations=CITATIONS) -> Collection:
    return Collection(patents, of_publications(citations, patents))
