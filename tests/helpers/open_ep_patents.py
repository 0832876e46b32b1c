"""Twelve publications in three languages: every cross-lingual table by hand."""

from __future__ import annotations

import datetime as dt

from patent_mteb.patents.collection import Collection
from patent_mteb.patents.records import Citation, Claim, Description, Patent, TextLanguages, Translation

QD, QE, QF = "EP3000001A1", "EP3000002A1", "EP3000003A1"
D1, D2, D3, D4, D5, D6 = "EP2000001A1", "EP2000002A1", "US9000003A1", "EP2000004A1", "EP1000005A1", "EP2000006A1"
WORDS = {
    "de": {"rotor": "Rotor", "hub": "Nabe", "valve": "Ventil", "lens": "Linse", "tower": "Turm", "blade": "Blatt"},
    "en": {word: word for word in ("rotor", "hub", "valve", "lens", "tower", "blade")},
    "fr": {"rotor": "rotor", "hub": "moyeu", "valve": "soupape", "lens": "lentille", "tower": "tour", "blade": "pale"},
}
CLAUSE = {"de": "nach Anspruch 1, bemalt", "en": "of claim 1, painted", "fr": "selon la revendication 1, peint"}


def claims(word, language):
    name = WORDS[language][word]
    return (Claim(1, f"{name}."), Claim(2, f"{name} {CLAUSE[language]}.", (1,)), Claim(3, f"{name} {name}."))


def publication(number, family, word, language, public, priority, others=(), described=True, paragraphs=0):
    lines = (
        "\n".join(f"{WORDS[language][word]} {place}." for place in range(1, (paragraphs or 1) + 1)) if described else ""
    )
    return Patent(
        number,
        family,
        title=WORDS[language][word],
        abstract=WORDS[language][word],
        claims=claims(word, language),
        description=Description(detailed=lines),
        application_number=f"EP{family}",
        publication_date=dt.date.fromisoformat(public),
        priority_date=dt.date.fromisoformat(priority),
        ipc=("F03D 1/06",),
        languages=TextLanguages(language, language, language, language if described else ""),
        translations=tuple(Translation(other, claims=claims(word, other)) for other in others),
        paragraphs=tuple(range(1, paragraphs + 1)),
    )


PATENTS = [
    publication(QD, "Q1", "rotor", "de", "2020-06-03", "2018-12-01"),
    publication("EP3000001B1", "Q1", "rotor", "de", "2022-06-01", "2018-12-01", ("en", "fr")),
    publication(QE, "Q2", "valve", "en", "2020-07-01", "2019-01-15"),
    publication(QF, "Q3", "lens", "fr", "2020-08-05", "2019-02-01"),
    publication(D1, "F1", "hub", "en", "2010-03-03", "2008-09-01", paragraphs=3),
    publication(
        "EP2000001B1", "F1", "hub", "en", "2013-03-06", "2008-09-01", ("de", "fr")
    ),  # the grant: three languages
    publication(D2, "F2", "blade", "de", "2012-05-02", "2010-11-01"),
    publication(D3, "F3", "valve", "en", "2015-01-01", "2013-07-01"),  # English for ever
    publication(D4, "F4", "tower", "fr", "2014-02-05", "2012-08-01", described=False),
    publication(D5, "F5", "lens", "de", "2019-01-20", "2017-08-01"),  # public for QF only
    publication(D6, "F6", "lens", "fr", "2011-09-07", "2010-05-01"),
    publication("EP2000006B1", "F6", "lens", "fr", "2016-09-07", "2010-05-01", ("de", "en")),
]


def citation(citing, cited, letter, numbers, passages=()):
    """As PATSTAT gives them: by the publication of the search report, without a day."""
    return Citation(citing, cited, letter, "examiner", numbers, passages, "search", "EP")


CITATIONS = [
    citation(QD, D1, "X", (1, 2), ("paragraphs [0002]-[0003]",)),
    citation(QD, D2, "A", (1,)),
    citation(QE, D3, "Y", (1,)),
    citation(QE, D4, "X", (3,)),
    citation(QE, D5, "X", (1,)),  # too late
    citation(QF, D6, "X", (1,)),
    citation("EP3000001B1", D2, "X", (3,)),  # by the publication of the grant: of the same application
    citation(D6, D1, "X", (1,)),  # outside the window
]

WINDOW = "2020"
CLAIMS = {
    f"{QD}#1": {D1: 3, D2: 1},
    f"{QD}#2": {D1: 3},  # D2, cited against its parent claim, is unjudged
    f"{QD}#3": {D1: 0, D2: 3},
    f"{QE}#1": {D3: 2, D4: 0},
    f"{QE}#3": {D3: 0, D4: 3},
    f"{QF}#1": {D6: 3},
}
SPOKEN = {QD: "de", QE: "en", QF: "fr"}
VERSIONS = {
    "Claims": {
        "de": {D1, D2, D5, D6},
        "en": {D1, D3, D6},
        "fr": {D1, D4, D6},
    },
    "Description": {"de": {D2, D5}, "en": {D1, D3}, "fr": {D6}},
}
"""Documents that have a text in a language. QD to QF are no documents: each is later than every priority date."""
SEEN = {QD: {D1, D2, D3, D4, D6}, QE: {D1, D2, D3, D4, D6}, QF: {D1, D2, D3, D4, D5, D6}}
"""What each application may see."""


def collection(patents=PATENTS, citations=CITATIONS) -> Collection:
    return Collection(patents, citations)
