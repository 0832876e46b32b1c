"""EPO full text: real files, and the TSV written by the test in its published form. ``test_recorded_bulk.py`` compares each field."""

from __future__ import annotations

import pytest
from second_reading import BULK, dense, plain, words

from patent_mteb.errors import DataError
from patent_mteb.patents.locations import paragraphs_in
from patent_mteb.patents.records import Patent, Relation
from patent_mteb.readers import epo
from patent_mteb.readers.items import Note, Skipped
from patent_mteb.recipes import open_layout as layout

EPS = BULK / "eps"
XML, TSV = epo.READERS
real = pytest.mark.skipif(not EPS.is_dir(), reason="shared/data/bulk is not here")
NAMES = sorted(path.name for path in EPS.glob("*.xml"))

UNESCAPED = {
    "application_v1-2-A1.xml",
    "application_v1-4-A1-1.xml",
    "application_v1-4-A1.xml",
    "application_v1-5-1-A1-2.xml",
}


def of(items, kind):
    return [item for item in items if isinstance(item, kind)]


@real
def test_an_unescaped_sign_is_noted():
    noted = {name for name in NAMES if any("unescaped" in one.what for one in of(XML.read(EPS / name), Note))}
    assert noted == UNESCAPED


@real
def test_passages_of_citations_find_the_paragraphs():
    """What an examiner cites as paragraph [0036] is the paragraph with this number, in every file with a description."""
    numbered = 0
    for name in NAMES:
        (patent,) = of(XML.read(EPS / name), Patent)
        paragraphs = layout.numbered_paragraphs(patent)
        for one in plain((EPS / name).read_bytes()).xpath("/*/description/p[@num]"):
            if letters := dense(words(one)):
                (number,) = paragraphs_in([f"* paragraph [{one.get('num')}] *"])
                assert letters.startswith("".join(paragraphs[number].split())[:80]), (name, number)
                numbered += 1
    assert numbered == 1424, "of 1,429 paragraphs five have no text"


@real
def test_titles_and_claims_have_their_languages():
    (patent,) = of(XML.read(EPS / "grant_v1-5-1-B1.xml"), Patent)
    assert (patent.title, patent.languages.title) == ("SCREW-TYPE CLOSURE SYSTEMS WITH MAGNETIC FEATURE", "en")
    german, french = patent.translations
    assert (german.language, german.title) == ("de", "SCHRAUBVERSCHLUSSSYSTEME MIT MAGNETISCHEM MERKMAL")
    assert (french.language, french.claims[1].depends_on) == ("fr", (1,))
    assert [claim.depends_on for claim in german.claims] == [claim.depends_on for claim in patent.claims]


@real
def test_the_language_of_the_document_counts_where_there_is_no_english():
    (patent,) = of(XML.read(EPS / "application_v1-4-A2.xml"), Patent)
    assert (patent.languages.description, patent.languages.claims, patent.languages.title) == ("de", "de", "en")
    dependent = [claim for claim in patent.claims if not claim.independent]
    assert len(dependent) == sum("nspr" in claim.text for claim in patent.claims)


def test_codes_of_the_editions_before_2006_and_priorities_of_japan_are_read(tmp_path):
    (path := tmp_path / "old.xml").write_text(
        """<ep-patent-document country="EP" doc-number="0449582" kind="B1" lang="en"><SDOBI><B200><B210>91302636.5</B210></B200>
        <B300><B310>8000290</B310><B320><date>19900327</date></B320><B330><ctry>JP</ctry></B330></B300>
        <B500><B510><B511> 7C 07C  29/44   A</B511><B513>2A 01N 43/08 -</B513></B510></B500></SDOBI></ep-patent-document>"""
    )
    items = list(XML.read(path))
    assert of(items, Patent)[0].ipc == ("C07C29/44", "A01N43/08")
    assert [one.related for one in of(items, Relation) if one.kind == "priority"] == ["JP1990080002"]


ROWS = """\
EP\t1234567\tB1\t2010-05-12\ten\tTITLE\tPump "quoted
EP\t1234567\tB1\t2010-05-12\tde\tTITLE\tPumpe
EP\t1234567\tB1\t2010-05-12\ten\tDESCR\t<heading>Background</heading><p id="p1" num="0001">Pumps leak.</p><heading>Summary</heading><p num="0002">No\tmore.</p>
EP\t1234567\tB1\t2010-05-12\ten\tCLAIM\t<claim id="c-en-1" num="0001"><claim-text>A pump.</claim-text></claim><claim num="0002">\
<claim-text>The pump of claim 1.</claim-text></claim>
EP\t1234567\tB1\t2010-05-12\tde\tCLAIM\t<claim num="0001"><claim-text>Pumpe.</claim-text></claim><claim num="0002">\
<claim-text>Pumpe nach Anspruch 1.</claim-text></claim>
EP\t1234567\tB1\t2010-05-12\txx\tPDFEP\thttps://data.epo.org/publication-server/pdf-document
EP\t1234568\tA1\t2010-05-12\tfr\tABSTR\t<p>Une pompe.</p>
EP\t1234568\tA1\t2010-05-12\tfr\tTITLE\tPompe <b>broken
EP\t1234567\tB1\t2010-05-12\tfr\tTITLE\tPompe
"""


def test_rows_of_the_tsv_are_joined_to_publications(tmp_path):
    (path := tmp_path / "EP1234567.txt").write_text(ROWS, "utf-8")
    assert TSV.sniff(path)
    items = list(TSV.read(path))
    pump, pompe = of(items, Patent)
    assert (pump.publication_number, pump.title, pump.languages.title) == ("EP1234567B1", 'Pump "quoted', "en")
    assert (pump.description.background, pump.description.summary) == ("Background\nPumps leak.", "Summary\nNo more.")
    assert pump.paragraphs == (0, 1, 0, 2)
    assert (
        [claim.depends_on for claim in pump.claims]
        == [claim.depends_on for claim in pump.translations[0].claims]
        == [(), (1,)]
    )
    assert (pompe.abstract, pompe.languages.abstract, pompe.title) == ("Une pompe.", "fr", "")
    assert [(one.number, one.place, one.reason.partition(" (")[0], bool(one.text)) for one in of(items, Skipped)] == [
        ("EP1234567B1", "row 6", "a text without a field in records", False),
        ("EP1234568A1", "row 8", "not well-formed XML", True),
        ("EP1234567B1", "row 9", "another document of a number that was read before", False),
    ]


def test_a_row_without_its_columns_is_named(tmp_path):
    (path := tmp_path / "EP1234567.txt").write_text(ROWS + "EP\t1234569\tB1\ten\tTITLE\tPump\n", "utf-8")
    with pytest.raises(DataError, match=r"row 10: 6 columns where .* has 7"):
        list(TSV.read(path))
