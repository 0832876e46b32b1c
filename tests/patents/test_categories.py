"""Citation categories: a table written by hand (EPO Guidelines B-X 9.2, WIPO ST.14), through each of their users."""

from __future__ import annotations

import datetime as dt

import pytest

from patent_mteb.experiments.inspection import count_categories
from patent_mteb.patents.categories import degree, is_category, phase_and_origin, split_category, strongest
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.matching import match
from patent_mteb.patents.on_disk import publications
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes import patentmap
from patent_mteb.recipes.open_citations import Rules, read_headers, usable_citations, with_prior_art
from patent_mteb.recipes.patentmap import GAINS, strongest_type
from patent_mteb.recipes.steps import BuildLog

PARTICULAR, COMBINED, BACKGROUND, SILENT = ("X", 3, "xy"), ("Y", 2, "xy"), ("A", 1, "a"), ("", None, "")
TABLE = {
    "X": PARTICULAR,  # alone takes novelty or inventive step away
    "I": PARTICULAR,  # inventive step alone
    "N": PARTICULAR,  # novelty
    "Y": COMBINED,  # with another document
    "A": BACKGROUND,
    "O": SILENT,  # not written
    "P": SILENT,  # between priority and filing
    "T": SILENT,  # theory
    "E": SILENT,  # earlier application, published later
    "D": SILENT,  # cited in the application
    "L": SILENT,  # other reasons
    "&": SILENT,  # same family
    "": SILENT,
    "XI": PARTICULAR,
    "YI": PARTICULAR,
    "Y,I": PARTICULAR,
    "NY": PARTICULAR,
    "PX": PARTICULAR,
    "X,D": PARTICULAR,
    "A;X": PARTICULAR,
    "DY": COMBINED,
    "Y; A": COMBINED,
    "A,D": BACKGROUND,
    "PA": BACKGROUND,
    "E,L": SILENT,
    "x": PARTICULAR,
    "yi": PARTICULAR,
    "y": COMBINED,
    "p,a": BACKGROUND,
}
UNKNOWN = ("Q", "XQ", "?", "Z1")
OLD = Patent("US1A1", "F1", abstract="A pump.", publication_date=dt.date(2001, 1, 1))
NEW = Patent("US2A1", "F2", abstract="A pump.", publication_date=dt.date(2005, 1, 1), priority_date=dt.date(2004, 1, 1))
NEXT = Patent("US3A1", "F3", abstract="A pump.", publication_date=dt.date(2001, 1, 1))


def cited(category: str, number: str = "US1A1") -> Citation:
    return Citation("US2A1", number, category)


@pytest.mark.parametrize("category", TABLE)
def test_the_table(category):
    name, gain, of_degree = TABLE[category]
    assert (strongest(category), degree(category)) == (name, of_degree)
    assert strongest_type(category) == name
    assert GAINS.get(name) == gain


@pytest.mark.parametrize("category", TABLE)
def test_inspect_counts_it_so(category):
    assert count_categories([cited(category)]) == {(TABLE[category][0] or ("other" if category else "")): 1}


def judged(citations, patents):
    rules = Rules((), True, None)
    return usable_citations(citations, with_prior_art(read_headers(patents), rules), rules)


@pytest.mark.parametrize("category", TABLE)
def test_the_open_benchmarks_judge_it_so(category):
    found, counts = judged([cited(category)], [OLD, NEW])
    name, gain, _ = TABLE[category]
    assert [(one.category, one.grade) for one in found] == ([(name, gain)] if name else [])
    assert counts == ({} if name else {"citations without a letter X, Y or A": 1})


@pytest.mark.parametrize("other", ["X", "Y", "A"])
@pytest.mark.parametrize("category", TABLE)
def test_patentmap_writes_the_strongest_of_a_pair(category, other):
    """Both orders of two citations of one pair."""
    known = publications([OLD, NEW])
    wanted = max((TABLE[category], TABLE[other]), key=lambda row: row[1] or 0)[0]
    for pair in ([category, other], [other, category]):
        found = patentmap._links(list(map(cited, pair)), known, True, BuildLog("PatentMap"))
        assert found.select("citing", "cited", "type").rows() == ([("US2A1", "US1A1", wanted)] if wanted else [])


@pytest.mark.parametrize("other", ["X", "A", "P", ""])
@pytest.mark.parametrize("category", TABLE)
def test_matching_keeps_the_more_relevant_of_a_pair(category, other):
    """By degree, as it documents: the first of X and Y stays."""
    order = ["xy", "a", "", None]
    place = {one: order.index(TABLE[one][2] if one else None) for one in (category, other)}
    wanted = other if place[other] < place[category] else category
    found, _ = match([cited(category), cited(other)], Collection([OLD, NEW], []))
    assert [one.category for one in found] == [wanted]


@pytest.mark.parametrize("category", UNKNOWN)
def test_unknown_categories_are_ignored_everywhere_and_counted(category):
    assert not is_category(category)
    assert {read(category) for read in (strongest, degree, strongest_type)} == {""}
    assert count_categories([cited(category)]) == {"other": 1}
    log = BuildLog("PatentMap")
    found, counts = judged([cited(category), cited("Y", "US3A1")], [OLD, NEW, NEXT])
    assert [one.category for one in found] == ["Y"]
    assert counts == {"citations with a category that no search report uses": 1}
    known = publications([OLD, NEW, NEXT])
    links = patentmap._links([cited(category), cited("Y", "US3A1")], known, True, log)
    assert links.select("citing", "cited", "type").rows() == [("US2A1", "US3A1", "Y")]
    assert "1 with a category that no search report uses" in log.steps[0].note
    kept, _ = match([cited(category), cited("A")], Collection([OLD, NEW], []))
    assert [one.category for one in kept] == ["A"]


@pytest.mark.parametrize(
    ("text", "number", "category"),
    [
        ("US20120088689 [Y]", "US20120088689", "Y"),
        ("US20120088689[X]", "US20120088689", "X"),
        ("EP1000000 [A]", "EP1000000", "A"),
        ("EP1000000A1 [I]", "EP1000000A1", "I"),
        ("EP1000000A1 [N]", "EP1000000A1", "N"),
        ("EP1000000A1 [R]", "EP1000000A1", "R"),
        ("EP1000000 [&]", "EP1000000", "&"),
        ("EP1000000A1 (A)", "EP1000000A1", "A"),
        ("US20120088689 (Y)", "US20120088689", "Y"),
        ("US20120088689 Y", "US20120088689", "Y"),
        ("US 2012/0088689 A1 XY", "US 2012/0088689 A1", "XY"),
        ("EP1000000 XP", "EP1000000", "XP"),
        ("N EP1000000A1", "EP1000000A1", "N"),
        ("X US20120088689", "US20120088689", "X"),
        ("DE4000000A1 [D,A]", "DE4000000A1", "D,A"),
        ("FR2700000A1 (X,Y;A)", "FR2700000A1", "X,Y;A"),
        ("Y,A US9000001B2", "US9000001B2", "Y,A"),
        ("A: GB2000000A", "GB2000000A", "A"),
        ("WO2006095001A1 X,Y", "WO2006095001A1", "X,Y"),
        ("EP1000001A1 - X", "EP1000001A1", "X"),
        ("EP1000002A1, A", "EP1000002A1", "A"),
        ("EP1000000A1/X", "EP1000000A1", "X"),
        ("US9000001B2 / X,P", "US9000001B2", "X,P"),
        ("EP1000000 (Cat. A)", "EP1000000", "A"),
        ("EP1000000A1 (Kategorie: Y)", "EP1000000A1", "Y"),
        ("US9000001B2 {X,P}", "US9000001B2", "X,P"),
        ("US9000001B2 (X; claims 1-3, 5)", "US9000001B2", "X"),
        ("US9000001B2 [Y: Ansprüche 4-6]", "US9000001B2", "Y"),
        ("[X] EP1000000A1", "EP1000000A1", "X"),
        ("{cat. Y} EP1000000A1", "EP1000000A1", "Y"),
        ("GB1234567/A", "GB1234567/A", ""),  # kind code
        ("WO 02/44593", "WO 02/44593", ""),
        ("PT EP1234567", "PT EP1234567", ""),  # an office
        ("GB1234567 (A)", "GB1234567 (A)", ""),  # kind code, as Espacenet writes it
        ("CN201234567 (Y)", "CN201234567 (Y)", ""),
        ("CN 201234567 Y", "CN 201234567 Y", ""),
        ("EP 1000000 A", "EP 1000000 A", ""),
        ("US 1234567 B1", "US 1234567 B1", ""),
        ("EP1000000A1", "EP1000000A1", ""),
        ("A pump", "A pump", ""),
    ],
)
def test_a_category_next_to_a_cited_number_is_no_kind_code(text, number, category):
    assert split_category(text) == (number, category)


PHASES = {  # by hand: Lens API "Cited Phase", the EPO's exchange-documents.xsd and rplus.xsd
    "SEA": ("search", "examiner"),
    "sea": ("search", "examiner"),
    "ISR": ("international-search", "examiner"),
    "SUP": ("search", "examiner"),
    "PRS": ("search", "examiner"),
    "APP": ("application", "applicant"),
    "EXA": ("examination", "examiner"),
    "OPP": ("opposition", ""),
    "APL": ("appeal", ""),
    "FOP": ("opposition", ""),
    "TPO": ("third-party", ""),
    "CH2": ("international-examination", "examiner"),
    "115": ("third-party", ""),
    "OTH": ("other", ""),
    "national-search-report": ("search", "examiner"),
    "CTNF": ("CTNF", ""),
    "": ("", ""),
}


@pytest.mark.parametrize("code", PHASES)
def test_phases_and_origins(code):
    assert phase_and_origin(code) == PHASES[code]


def test_who_cites_counts_before_the_phase():
    assert phase_and_origin("undefined", "applicant") == ("application", "applicant")
    assert phase_and_origin("examination", "third-party") == ("examination", "")
