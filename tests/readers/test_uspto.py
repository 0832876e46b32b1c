"""USPTO full text: real files, and their texts against another parser's. ``test_counts.py`` has the counts."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest
from bulk_counts import BULK, plain, raw_documents

from patent_mteb.patents import ipc
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import uspto
from patent_mteb.readers.items import Skipped

USPTO = BULK / "uspto"
GRANTS = BULK.parent / "uspto" / "patents.jsonl.gz"
UTILITY, EVERY = uspto.READERS
pytestmark = pytest.mark.skipif(not USPTO.is_dir(), reason="shared/data/bulk is not here")


def of(items, kind):
    return [item for item in items if isinstance(item, kind)]


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
        assert set(ipc.codes_at(patent.ipc, "subclass").codes) == set(ipc.codes_at(row["ipc"], "subclass").codes)
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
@pytest.mark.parametrize("name", [path.name for path in sorted(USPTO.glob("*.xml")) if path.stat().st_size > 27_000])
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
