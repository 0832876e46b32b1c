"""USPTO full text: what each real file holds, counted a second time by XPath; texts against another parser's."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest
from bulk_counts import BULK, counted, plain, raw_documents

from patent_mteb.patents.ipc import subclass
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import uspto
from patent_mteb.readers.items import Note, Skipped

USPTO = BULK / "uspto"
GRANTS = BULK.parent / "uspto" / "patents.jsonl.gz"
UTILITY, EVERY = uspto.READERS
pytestmark = pytest.mark.skipif(not USPTO.is_dir(), reason="shared/data/bulk is not here")

# file: utility patents, others, claims, dependent claims, citations, IPC codes
HOLDS = {
    "go_application_v1-5-A1_1.xml": (1, 0, 0, 0, 0, 1),
    "go_application_v1-5-A1_2.xml": (1, 0, 33, 25, 0, 1),
    "go_application_v4-0-A1.xml": (1, 0, 0, 0, 0, 1),
    "go_application_v4-0-A2_1.xml": (1, 0, 0, 0, 0, 1),
    "go_application_v4-4-A1.xml": (1, 0, 20, 17, 0, 4),
    "go_application_v4-4-A2.xml": (1, 0, 23, 20, 0, 1),
    "go_application_v4-5-A1.xml": (1, 0, 6, 5, 0, 1),
    "go_application_v4-5-A2.xml": (1, 0, 8, 7, 0, 2),
    "go_grant_v2-5-B1.xml": (1, 0, 31, 29, 14, 1),
    "go_grant_v2-5-B2.xml": (1, 0, 20, 16, 33, 1),
    "go_grant_v2-5-S1.xml": (0, 1, 0, 0, 0, 0),
    "go_grant_v4-0-B2.xml": (1, 0, 6, 3, 8, 1),
    "go_grant_v4-5-B1.xml": (1, 0, 20, 17, 24, 6),
    "go_grant_v4-5-B2.xml": (1, 0, 9, 8, 41, 3),
    "go_test.xml": (2, 0, 29, 26, 60, 7),
    "ipgb20221025_wk43.zip": (5, 6, 0, 0, 130, 13),
    "ipgb20230404_wk14.zip": (1, 2, 0, 0, 17, 2),
    "pap_US20010000044A1.xml": (1, 0, 21, 18, 0, 1),
    "pap_US20010000943A1.xml": (1, 0, 13, 9, 0, 1),
    "pap_US20010009014A1.xml": (1, 0, 55, 41, 0, 1),
    "sgml_US06336130.xml": (1, 0, 22, 19, 6, 2),
    "sgml_US06337117.xml": (1, 0, 39, 34, 2, 1),
    "sgml_USD435854S1.xml": (0, 1, 0, 0, 0, 0),
    "xml2004_US06859910.xml": (1, 0, 2, 1, 8, 4),
    "xml2004_US06970935.xml": (1, 0, 30, 27, 11, 1),
    "xml2006_US07272630B2.xml": (1, 0, 17, 14, 78, 1),
    "xml2014_US08926509.xml": (1, 0, 31, 25, 129, 14),
    "xml2014_US08927118.xml": (1, 0, 45, 41, 76, 9),
    "xml2014_US08930553.xml": (1, 0, 8, 6, 16, 1),
    "xmlApp2004_US20050004437A1.xml": (1, 0, 10, 9, 0, 1),
    "xmlApp2004_US20050004974A1.xml": (1, 0, 21, 19, 0, 1),
}
WITHOUT_MARKED_REFERENCES = "pap_US20010000044A1.xml"


def of(items, kind):
    return [item for item in items if isinstance(item, kind)]


def test_every_file_has_its_row():
    assert HOLDS.keys() == {path.name for path in USPTO.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLDS)
def test_a_file_gives_what_xpath_counts(name):
    path = USPTO / name
    items = list(UTILITY.read(path))
    patents = of(items, Patent)
    others = [item for item in of(items, Skipped) if item.reason.startswith("not a utility patent")]
    claims = [claim for patent in patents for claim in patent.claims]
    dependent = sum(not claim.independent for claim in claims)
    codes = sum(len(patent.ipc) for patent in patents)
    assert (len(patents), len(others), len(claims), dependent, len(of(items, Citation)), codes) == HOLDS[name]
    documents = [counted(content) for content in raw_documents(path)]
    utility = [one for one in documents if one["kind"][0] in "AB"]
    sums = [sum(one[what] for one in utility) for what in ("claims", "depends", "cited", "ipc")]
    if name == WITHOUT_MARKED_REFERENCES:
        sums[1] = path.read_bytes().count(b" of claim ")
    assert (len(utility), len(documents) - len(utility), *sums) == HOLDS[name]
    assert all(subclass(one) for patent in patents for one in patent.ipc)
    assert {patent.source for patent in patents} <= {"uspto"}


def every(kind, reader=UTILITY):
    return [item for path in sorted(USPTO.iterdir()) for item in of(reader.read(path), kind)]


def letters(text):
    return "".join(character for character in text.lower() if character.isalnum())


@pytest.mark.slow
@pytest.mark.skipif(not GRANTS.is_file(), reason="shared/data/uspto is not here")
def test_texts_codes_and_citations_agree_with_another_parser():
    """shared/data/uspto was parsed by other hands; 16 of its documents are among the files."""
    patents = {read_number(patent.publication_number).key: patent for patent in every(Patent)}
    cited = Counter(citation.citing for citation in set(every(Citation)))
    repeated = Counter(one.number for one in every(Skipped) if one.reason == "a repeated citation")
    compared = 0
    for row in map(json.loads, gzip.decompress(GRANTS.read_bytes()).splitlines()):
        number = read_number(row["publication_number"], "US")
        if number is None or number.key not in patents:
            continue
        patent = patents[number.key]
        compared += 1
        assert letters(patent.title) == letters(row["title"])
        assert letters(patent.abstract).startswith(letters(row["abstract"]))
        theirs = row["claims"].replace("1-18. (canceled)", "")
        assert letters("".join(f"{claim.number} {claim.text}" for claim in patent.claims)).startswith(letters(theirs))
        assert {subclass(one) for one in patent.ipc} == {subclass(one) for one in row["ipc"]}
        assert cited[patent.publication_number] + repeated[patent.publication_number] == len(row["cites"])
    assert compared == 16


def test_all_kinds_are_read_on_request():
    path = USPTO / "ipgb20221025_wk43.zip"
    items = list(EVERY.read(path))
    assert len(raw_documents(path)) == 11
    assert Counter(patent.kind for patent in of(items, Patent)) == {"B2": 5, "E1": 3, "S1": 1, "P2": 1}
    assert [item.number for item in of(items, Skipped) if item.reason == "the same document once more"] == [
        "USD967598S1"
    ]
    left_out = Counter(item.reason for item in of(UTILITY.read(path), Skipped) if "citation" not in item.reason)
    assert left_out == {
        "not a utility patent (design)": 2,
        "not a utility patent (plant)": 1,
        "not a utility patent (reissue)": 3,
        "not XML, by its name (.txt)": 1,
        "not XML, by its name (.html)": 1,
    }


@pytest.mark.slow
def test_relations_name_parents_priorities_and_pre_grant_publications():
    relations = {(one.number, one.kind, one.related) for one in every(Relation)}
    assert {
        ("US7272630B2", "application", "US10991571"),
        ("US7272630B2", "division", "US09876376"),
        ("US7272630B2", "pre-grant", "US2005097148A1"),
        ("US2005004974A1", "provisional", "US60319622"),
        ("US2001000943A1", "continuation", "WO2000JP002182"),
        ("US6334226B1", "member", "WO1999020849A"),
        ("US6336130B1", "continuation", "WO1998NO000107"),
    } <= relations
    for path in sorted(USPTO.glob("xml*.xml")):
        root = plain(path.read_bytes())
        kinds = Counter(one.kind for one in of(UTILITY.read(path), Relation))
        for tag, kind in (
            ("continuation", "continuation"),
            ("us-provisional-application", "provisional"),
            ("division", "division"),
        ):
            assert kinds[kind] == root.xpath(f"count(//us-related-documents/{tag})"), path.name
        assert kinds["priority"] == root.xpath("count(//priority-claims/priority-claim)")


def test_origins_are_those_of_the_categories():
    for path in sorted(USPTO.glob("xml20*.xml")):
        root = plain(path.read_bytes())
        citations = of(UTILITY.read(path), Citation)
        by_examiner = {
            one.text for one in root.xpath("//*[category='cited by examiner']/patcit/document-id/doc-number")
        }
        assert sum(one.origin == "examiner" for one in citations) == len(by_examiner), path.name
        assert {one.origin for one in citations} <= {"examiner", "applicant", ""}


def test_processing_instructions_tell_the_sections():
    (patent,) = of(UTILITY.read(USPTO / "xml2014_US08930553.xml"), Patent)
    sections = patent.description
    assert sections.background.startswith("FIELD OF THE INVENTION\nThe present invention relates to computer networks")
    assert sections.summary.startswith("SUMMARY OF THE INVENTION\nIn one aspect")
    assert sections.drawings.startswith("BRIEF DESCRIPTION OF THE DRAWINGS\nThe invention will be understood")
    root = plain((USPTO / "xml2014_US08930553.xml").read_bytes())
    blocks = root.xpath("count(//description/p | //description/heading | //description-of-drawings/*)")
    texts = (sections.background, sections.summary, sections.drawings, sections.detailed)
    assert sum(len(text.splitlines()) for text in texts) == blocks


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in HOLDS if name.endswith("xml") and HOLDS[name][2]])
def test_no_paragraph_of_a_description_is_lost(name):
    *_, content = raw_documents(USPTO / name)
    root = plain(content)
    said = root.xpath("//description//p | //SDODE//PARA | //subdoc-description//paragraph")
    *_, patent = of(UTILITY.read(USPTO / name), Patent)
    sections = patent.description
    held = letters(sections.background + sections.summary + sections.drawings + sections.detailed)
    words = [
        word for one in said for word in "".join(one.xpath(".//text()[not(parent::number)]")).split() if word.isalpha()
    ]
    missing = [word for word in set(words) if letters(word) not in held]
    assert len(words) > 500
    assert not missing


def test_entities_of_the_old_files_become_characters():
    (patent,) = of(UTILITY.read(USPTO / "sgml_US06337117.xml"), Patent)
    sections = patent.description
    text = "".join((sections.background, sections.summary, sections.drawings, sections.detailed, patent.abstract))
    raw = (USPTO / "sgml_US06337117.xml").read_text("utf-8")
    for name, character in (("lgr", "λ"), ("mgr", "μ"), ("deg", "°"), ("ldquo", "“")):
        assert text.count(character) + sum(claim.text.count(character) for claim in patent.claims) == raw.count(
            f"&{name};"
        ), name


def test_weekly_files_of_two_weeks_repeat_nothing():
    assert not [item for item in every(Note) if "cannot be read" in item.what]
