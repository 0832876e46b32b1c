"""EPO full text: each real file against counts by XPath and regular expressions; the TSV written by the test in its
published form.
"""

from __future__ import annotations

import re

import pytest
from bulk_counts import BULK, plain

from patent_mteb.errors import DataError
from patent_mteb.patents.ipc import subclass
from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import epo
from patent_mteb.readers.items import Note, Skipped

EPS = BULK / "eps"
XML, TSV = epo.READERS
real = pytest.mark.skipif(not EPS.is_dir(), reason="shared/data/bulk is not here")
NAMES = sorted(path.name for path in EPS.glob("*.xml"))

# file: claims of the main text, of translations; documents of the search report, of the description; IPC codes
HOLDS = {
    "application_v1-0-A1.xml": (7, 0, 0, 0, 2),
    "application_v1-0-A2.xml": (19, 0, 0, 0, 1),
    "application_v1-01-A1.xml": (0, 0, 0, 0, 1),
    "application_v1-01-A2.xml": (0, 0, 0, 0, 1),
    "application_v1-1-A1.xml": (6, 0, 0, 0, 4),
    "application_v1-1-A2.xml": (0, 0, 0, 0, 1),
    "application_v1-2-A1.xml": (11, 0, 0, 2, 3),
    "application_v1-2-A2.xml": (17, 0, 0, 1, 2),
    "application_v1-3-A1.xml": (0, 0, 0, 0, 1),
    "application_v1-3-A2.xml": (3, 0, 0, 2, 2),
    "application_v1-4-A1-1.xml": (0, 0, 0, 0, 5),
    "application_v1-4-A1.xml": (6, 0, 0, 0, 2),
    "application_v1-4-A2.xml": (15, 0, 0, 3, 1),
    "application_v1-5-1-A1-1.xml": (0, 0, 0, 0, 3),
    "application_v1-5-1-A1-2.xml": (17, 0, 0, 0, 1),
    "application_v1-5-A1.xml": (12, 0, 0, 0, 2),
    "application_v1-5-A2.xml": (0, 0, 0, 0, 21),
    "grant_v1-0-B1.xml": (3, 6, 2, 0, 2),
    "grant_v1-0-B2.xml": (5, 10, 5, 0, 5),
    "grant_v1-1-B1.xml": (29, 58, 5, 0, 3),
    "grant_v1-1-B2.xml": (32, 64, 2, 0, 2),
    "grant_v1-2-B1.xml": (14, 28, 3, 5, 4),
    "grant_v1-2-B2.xml": (4, 8, 1, 3, 1),
    "grant_v1-3-B1.xml": (32, 64, 2, 1, 1),
    "grant_v1-3-B2.xml": (1, 2, 14, 6, 1),
    "grant_v1-4-B1.xml": (12, 24, 1, 1, 2),
    "grant_v1-4-B2.xml": (9, 18, 6, 6, 4),
    "grant_v1-5-1-B1.xml": (8, 16, 6, 2, 5),
    "grant_v1-5-1-B2.xml": (4, 8, 7, 1, 1),
    "grant_v1-5-B1.xml": (12, 24, 4, 3, 2),
    "grant_v1-5-B2.xml": (13, 26, 5, 1, 3),
}
UNESCAPED = {
    "application_v1-2-A1.xml",
    "application_v1-4-A1-1.xml",
    "application_v1-4-A1.xml",
    "application_v1-5-1-A1-2.xml",
}


def of(items, kind):
    return [item for item in items if isinstance(item, kind)]


@real
def test_every_file_has_its_row():
    assert list(HOLDS) == NAMES


@real
@pytest.mark.parametrize("name", NAMES)
def test_a_file_gives_what_xpath_counts(name):
    content = (EPS / name).read_bytes()
    items = list(XML.read(EPS / name))
    (patent,) = of(items, Patent)
    citations = of(items, Citation)
    translated = sum(len(one.claims) for one in patent.translations)
    searched = [one for one in citations if one.origin == "examiner"]
    described = [one for one in citations if one.origin == "applicant"]
    assert (len(patent.claims), translated, len(searched), len(described), len(patent.ipc)) == HOLDS[name]

    root = plain(content)
    main = "en" if root.xpath("//claims[@lang='en']") else root.get("lang")
    marked = {one[0] for one in re.findall(rb'<patcit[^>]*dnum="([^"]+)"(?![^>]*dnum-type="L")([^>]*)>', content)}
    codes = root.xpath("//classification-ipcr/text | //B510/B511 | //B510/B512 | //B510/B513 | //B510/B514")
    assert HOLDS[name] == (
        root.xpath(f"count(//claims[@lang='{main}']/claim)"),
        root.xpath(f"count(//claims[@lang!='{main}']/claim)"),
        len({"".join("".join(one.itertext()).split()) for one in root.xpath("//B561/text")}),
        len(marked),
        len({"".join("".join(one.itertext()).split())[:10] for one in codes}),
    )
    assert patent.publication_number == f"EP{root.get('doc-number')}{root.get('kind')}"
    assert bool(of(items, Note) and "unescaped" in of(items, Note)[0].what) == (name in UNESCAPED)
    assert all(subclass(one) for one in patent.ipc)


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


@real
def test_dependence_is_the_same_in_three_languages():
    """Translations of one set refer to the same claims; two translators of the files chose other words."""
    same = total = 0
    for path in sorted(EPS.glob("grant*.xml")):
        (patent,) = of(XML.read(path), Patent)
        main = {claim.number: claim.depends_on for claim in patent.claims}
        for translation in patent.translations:
            for claim in translation.claims:
                total += 1
                same += claim.depends_on == main.get(claim.number)
    assert total > 300
    assert same / total > 0.98


@real
def test_relations_name_the_application_priorities_parents_and_the_international_publication():
    relations = {(one.number, one.kind, one.related) for name in NAMES for one in of(XML.read(EPS / name), Relation)}
    assert {
        ("EP3383757B1", "application", "EP16849316"),
        ("EP3383757B1", "priority", "US14865040"),
        ("EP3383757B1", "parent", "WO2016US049186"),
        ("EP3383757B1", "member", "WO2017053015"),
        ("EP2716170B2", "division", "EP12184383"),
    } <= relations
    claimed = sum(plain((EPS / name).read_bytes()).xpath("count(//B310)") for name in NAMES)
    assert sum(kind == "priority" for _, kind, _ in relations) == claimed


ROWS = """\
EP\t1234567\tB1\t2010-05-12\ten\tTITLE\tPump "quoted
EP\t1234567\tB1\t2010-05-12\tde\tTITLE\tPumpe
EP\t1234567\tB1\t2010-05-12\ten\tDESCR\t<heading>Background</heading><p id="p1">Pumps leak.</p><heading>Summary</heading><p>No\tmore.</p>
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
