"""USPTO full text: real files, and their texts against another parser's. ``test_recorded_bulk.py`` compares each field."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest
from second_reading import BULK, plain, raw_documents

from patent_mteb.patents import ipc
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import uspto
from patent_mteb.readers.items import Skipped

USPTO = BULK / "uspto"
GRANTS = BULK.parent / "uspto" / "patents.jsonl.gz"
UTILITY, EVERY = uspto.READERS
real = pytest.mark.skipif(not USPTO.is_dir(), reason="shared/data/bulk is not here")


def of(items, kind):
    return [item for item in items if isinstance(item, kind)]


def every(kind, reader=UTILITY):
    return [item for path in sorted(USPTO.iterdir()) for item in of(reader.read(path), kind)]


def letters(text):
    return "".join(character for character in text.lower() if character.isalnum())


@real
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


@real
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


@real
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


def test_an_application_of_2001_names_its_international_application(tmp_path):
    (path := tmp_path / "pap.xml").write_text(
        """<patent-application-publication><subdoc-bibliographic-information><document-id><doc-number>20010000001</doc-number>
        <kind-code>A1</kind-code></document-id><continuity-data><a-371-of-international><parent-child><child/><parent>
        <document-id><doc-number>PCT/US97/05183</doc-number><document-date>19970328</document-date>
        <country-code>US</country-code></document-id></parent></parent-child></a-371-of-international></continuity-data>
        </subdoc-bibliographic-information><subdoc-abstract><heading>Abstract of Disclosure</heading>
        <paragraph><number>[0001]</number> A pump.</paragraph></subdoc-abstract></patent-application-publication>"""
    )
    items = list(UTILITY.read(path))
    (patent,) = of(items, Patent)
    assert (patent.abstract, str(patent.priority_date)) == ("A pump.", "1997-03-28")
    assert of(items, Relation) == [Relation("US2001000001A1", "WO1997US005183", "parent")]


def test_the_lines_of_a_marked_summary_keep_their_order(tmp_path):
    lines = [
        "BACKGROUND ART",
        "Pumps leak.",
        "DISCLOSURE OF THE INVENTION",
        "Problems to be Solved by the Invention",
        "No more.",
    ]
    text = "".join(f"<heading>{one}</heading>" if one[-1] != "." else f"<p>{one}</p>" for one in lines)
    (path := tmp_path / "grant.xml").write_text(
        f"""<us-patent-grant lang="EN"><us-bibliographic-data-grant><publication-reference><document-id><country>US</country>
        <doc-number>08000001</doc-number><kind>B2</kind></document-id></publication-reference></us-bibliographic-data-grant>
        <description><?BRFSUM end="lead"?>{text}<?BRFSUM end="tail"?></description></us-patent-grant>"""
    )
    (patent,) = of(UTILITY.read(path), Patent)
    assert patent.description.lines() == lines
