"""Publication and application numbers: real strings with their normal forms, and every number of the real files next
to the project.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patent_mteb.patents.numbers import Number, read_application, read_number
from patent_mteb.sample import load

DATA = Path(__file__).parents[3] / "shared" / "data"

# (text, office and kind in other fields, normal form)
PUBLISHED = [
    # facts/frontier.md §0.3: one application in the styles of five publishers, one grant in three
    ("20250226285", "US", "A1", "US2025226285A1"),
    ("US-2025226285-A1", "", "", "US2025226285A1"),
    ("US 2025/0226285 A1", "", "", "US2025226285A1"),
    ("08930553", "US", "B2", "US8930553B2"),
    ("8930553", "US", "", "US8930553"),
    ("JP1997508542A", "", "", "JPH09508542A"),
    ("JPH09508542A", "", "", "JPH09508542A"),
    ("US-7650331-B1", "", "", "US7650331B1"),
    ("US 2007/0261094  A1", "", "", "US2007261094A1"),
    ("US2007\u200b0261094\u00ad A1\ufeff", "", "", "US2007261094A1"),
    ("DE602012050916T2", "", "", "DE602012050916T2"),
    ("D0982278", "US", "S1", "USD982278S1"),
    ("RE049257", "US", "E1", "USRE49257E1"),
    ("PP034694", "US", "P2", "USPP34694P2"),
    # KIPRIS: grants of 13 digits; the United Kingdom: applications of kind D
    ("KR 10-1234567-0000", "", "", "KR101234567"),
    ("1007215150000", "KR", "B1", "KR100721515B1"),
    ("1012345670000", "KR", "", "KR101234567"),
    ("KR2004567890000Y1", "", "", "KR200456789Y1"),
    ("10-2012-0100000", "KR", "", "KR20120100000"),
    ("GB0612345D0", "", "", "GB0612345D0"),
    ("0612345", "GB", "D0", "GB0612345D0"),
    ("0612345", "GB", "A", "GB612345A"),
    # web addresses
    ("https://patents.google.com/patent/US9000001B2/en?oq=US9000001B2", "", "", "US9000001B2"),
    ("https://www.google.com/patents/US9000001", "", "", "US9000001"),
    (
        "https://worldwide.espacenet.com/patent/search/family/012345678/publication/EP1000000A1?q=x",
        "",
        "",
        "EP1000000A1",
    ),
    ("https://www.freepatentsonline.com/9000001.html", "", "", "US9000001"),
    ("https://www.freepatentsonline.com/EP1000000A1.html", "", "", "EP1000000A1"),
    ("https://patents.justia.com/patent/20120123456", "", "", "US2012123456"),
    ("https://www.lens.org/lens/patent/US_9000001_B2", "", "", "US9000001B2"),
    ("https://patentimages.storage.googleapis.com/ab/cd/US9000001.pdf", "", "", "US9000001"),
    # data/bulk/uspto
    ("2007/0140112", "US", "A1", "US2007140112A1"),
    ("RE46828", "US", "", "USRE46828"),
    ("WO 02/44593", "WO", "A1", "WO2002044593A1"),
    ("WO-9319583", "WO", "A1", "WO1993019583A1"),
    ("WO-03071858", "WO", "A1", "WO2003071858A1"),
    ("WO/2006/001333", "WO", "A1", "WO2006001333A1"),
    ("WO2016/191867", "WO", "A", "WO2016191867A"),
    ("WO99/20849", "", "", "WO1999020849"),
    ("2018049532", "WO", "", "WO2018049532"),
    ("0 906 947", "EP", "A1", "EP0906947A1"),
    ("2 796 893", "FR", "A", "FR2796893A"),
    ("102009041527", "DE", "A1", "DE102009041527A1"),
    ("101363353", "CN", "A", "CN101363353A"),
    ("11-167215", "JP", "A", "JPH11167215A"),
    ("4 257759", "JP", "A", "JPH04257759A"),
    ("H04257759", "JP", "A", "JPH04257759A"),
    ("H054529", "JP", "A", "JPH054529A"),
    ("S59 101565", "JP", "A", "JPS59101565A"),
    ("2007-88222", "JP", "A", "JP2007088222A"),
    ("09154408", "JP", "A", "JPH09154408A"),
    ("10-2004-0032451", "KR", "", "KR20040032451"),
    ("10 2005-0116274", "KR", "", "KR20050116274"),
    ("1996-0011082", "KR", "A", "KR19960011082A"),
    ("19970070422", "KR", "A", "KR19970070422A"),
    ("0172685", "KR", "B1", "KR0172685B1"),
    # data/bulk/eps and ops
    ("1325900", "EP", "A1", "EP1325900A1"),
    ("WO9106571A", "", "", "WO1991006571A"),
    ("JP58181591A", "", "", "JPS58181591A"),
    ("JP4365581A", "", "", "JPH04365581A"),
    ("DE9216791", "", "", "DE9216791"),
    ("GB693448A", "", "", "GB693448A"),
    # data/uspto and data/pap2pat
    ("US07521044", "", "", "US7521044"),
    ("US20130014305A1", "", "", "US2013014305A1"),
    ("USPP018398", "", "", "USPP18398"),
    ("USH0002140", "", "", "USH2140"),
    ("WO200121446", "", "", "WO2001021446"),
    ("2000344083", "JP", "A", "JP2000344083A"),
    ("US20130210636", "", "", "US2013210636"),
    ("WO 95 13889", "US", "", "WO1995013889"),
    ("JPWO2004012345A1", "", "", "JPWO2004012345A1"),  # a PCT application that Japan published again
    ("JP WO 2004/012345 A1", "", "", "JPWO2004012345A1"),
    ("361118513", "JP", "", "JPS61118513"),
    ("P2001-118988", "JP", "", "JP2001118988"),
    ("A-10-100907", "JP", "", "JPH10100907A"),
    ("JP-A- 7300979", "JP", "", "JPH07300979A"),
    ("US-E- RE36154", "US", "", "USRE36154E"),
    ("FR-E- 84247", "", "", "FR84247E"),
    ("A-18524/99", "AU", "", "AU1852499A"),
    ("1020040004797", "KR", "", "KR20040004797"),
    ("197 14 381", "DE", "", "DE19714381"),
    # styles that the issue names
    ("EP 1 234 567 A1", "", "", "EP1234567A1"),
    ("EP680812 (A1)", "", "", "EP0680812A1"),
    ("WO 2019/123456 A1", "", "", "WO2019123456A1"),
    ("WO9912345", "", "", "WO1999012345"),
    ("JP 4365581 B2", "", "", "JP4365581B2"),
    ("us 8,930,553 b2", "", "", "US8930553B2"),
    ("PCT/EP2019/012345", "", "", "WO2019EP012345W"),
    ("PCT/US01/13682", "US", "", "WO2001US013682W"),
    ("MXPA04001234A", "", "", "MXPA04001234A"),
    ("PA04001234", "MX", "A", "MXPA04001234A"),
    ("TWI234567B", "", "", "TWI234567B"),
    ("US-1-A1", "", "", "US1A1"),
    # Singapore since 2014 (EPO, Asian patent information, 14 March 2014): a check letter, P to Y
    ("SG11201803052QA", "", "", "SG11201803052QA"),
    ("SG-11201803052Q-A", "", "", "SG11201803052QA"),
    ("SG 10201300005Y", "", "", "SG10201300005Y"),
    ("SG 10201401234X A", "", "", "SG10201401234XA"),
    ("SG186842A1", "", "", "SG186842A1"),
    # India (EPO, Numbering system - India): one form for the spellings of the office, CAS, Google and DOCDB
    ("IN 1671/KOLNP/2003 A", "", "", "IN2003KN01671A"),
    ("1671/KOL-NP/2003", "", "", "IN2003KN01671"),
    ("IN1604DELNP2013A", "", "", "IN2013DN01604A"),
    ("IN3104DEN2014A", "", "", "IN2014DN03104A"),
    ("IN 2007MU00001 A", "", "", "IN2007MU00001A"),
    ("IN/PCT/2002/00123/DEL", "", "", "IN2002DN00123"),
    ("IN 1234/DEL/2004", "", "", "IN2004DE01234"),
    ("IN201641012345A", "", "", "IN201641012345A"),
    # DEPATISnet: twelve places filled with zeros
    ("EP000001234567A1", "", "", "EP1234567A1"),
    ("US020170285092A1", "", "", "US2017285092A1"),
    ("WO002006095001A1", "", "", "WO2006095001A1"),
    ("JP002011251389A", "", "", "JP2011251389A"),
    ("JP00000S602468B2", "", "", "JPS602468B2"),
    ("JP08007001AA", "", "", "JPH087001A"),
    ("IT000001259603B", "", "", "IT1259603B"),
    ("ITVR0020130124A", "", "", "ITVR20130124A"),
    ("AR000000071041A1", "", "", "AR071041A1"),
    ("BR000PI0507004A", "", "", "BRPI0507004A"),
    ("MX00PA05006297A", "", "", "MXPA05006297A"),
    ("GE00P200503700B", "", "", "GEP20053700B"),
    ("SE00523007C2", "", "", "SE523007C2"),
    # Japanese grants filled to eight digits; names and eras as printed
    ("JP04219000B2", "", "", "JP4219000B2"),
    ("JP03212345U", "", "", "JP3212345U"),
    ("JP05142789A", "", "", "JPH05142789A"),
    ("特公平7-123456", "", "", "JPH07123456B"),
    ("特許第3123456号", "", "", "JP3123456B"),
    ("実公平7-12345", "", "", "JPH0712345Y"),
    ("登録実用新案第3123456号", "", "", "JP3123456U"),
    ("再公表特許WO2004/012345", "", "", "JPWO2004012345A1"),
    ("JP S64-4995 B2", "", "", "JPS644995B2"),
    ("JP H01-4995 B2", "", "", "JPH014995B2"),
    ("JP HEI 3-53606 A", "", "", "JPH0353606A"),
    # check digits, national parts of European patents, offices of their own forms
    ("DE 10 2007 056 527.8", "", "", "DE102007056527"),
    ("BR 10 2012 012345 6 A2", "", "", "BR102012012345A2"),
    ("BR1020120123456A2", "", "", "BR102012012345A2"),
    ("PI 0507004-8 A2", "", "", "BRPI0507004A2"),
    ("SE 9812345-6 A", "", "", "SE9812345A"),
    ("DK/EP 1234567 T3", "", "", "DK1234567T3"),
    ("NO/EP2345678B1", "", "", "NO2345678B1"),
    ("DK PA 2005 01234", "", "", "DK200501234"),
    ("MX/a/2008/001234", "", "", "MX2008001234A"),
    ("PA/a/2004/001234", "", "", "MXPA04001234"),
    ("CL 1234-2004", "", "", "CL2004001234"),
    ("CL202101234", "", "", "CL2021001234"),
    ("EA12345B1", "", "", "EA012345B1"),
    ("AT E 512345", "", "", "ATE512345"),
    ("AT GM 12345 U1", "", "", "AT12345U1"),
    ("GE U 2005 1210", "", "", "GEU20051210"),
    ("IT102017000012345", "", "", "IT201700012345"),
    ("CW2015000001A1", "", "", "CW2015000001A1"),
    # Derwent, Lens, Orbit, US texts, web addresses
    ("KR832860-B1", "", "", "KR100832860B1"),
    ("KR488013-Y1", "", "", "KR200488013Y1"),
    ("KR99085154-A", "", "", "KR19990085154A"),
    ("EP 1357170 B9 20061018", "", "", "EP1357170B9"),
    ("EP 1 234 567 A1 vom 28.08.2002", "", "", "EP1234567A1"),
    ("CN107823639         A  2018-03-23 [CN107823639]", "", "", "CN107823639A"),
    ("U.S. Pat. No. 6,123,456", "", "", "US6123456"),
    ("U.S. Patent Application Publication No. 2007/0123456", "", "", "US2007123456"),
    ("US49033E1", "", "", "USRE49033E1"),
    ("US000000024087E", "", "", "USRE24087E"),
    ("FR FR2434232", "", "", "FR2434232"),
    ("WOPCT/EP02/07746", "", "", "WO2002EP007746W"),
    ("PCT/US1999/9417", "", "", "WO1999US009417W"),
    ("PI 20055283", "MY", "", "MYPI20055283"),  # Malaysian, and no Brazilian number of a year and a check digit
    ("https://patentscope.wipo.int/search/en/detail.jsf?docId=WO2006095001", "", "", "WO2006095001"),
]

FILED = [
    ("09/742,144", "US", "", "US09742144"),
    ("10909766", "US", "", "US10909766"),
    ("62/982,464", "US", "", "US62982464"),
    ("202062962762 P", "US", "", "US62962762P"),
    ("9742144", "US", "", "US09742144"),
    ("20685698", "US", "A", "US1998206856A"),
    ("US19980206856", "", "", "US1998206856"),
    ("01963450.0", "EP", "", "EP01963450"),
    ("EP19990203729", "", "", "EP99203729"),
    ("99203729", "EP", "A", "EP99203729A"),
    ("PCT/IB2019/057948", "WO", "00", "WO2019IB057948W"),
    ("PCTEP9906456", "EP", "", "WO1999EP006456W"),
    ("PCT/JP98/04545", "", "", "WO1998JP004545W"),
    ("2007050881", "EP", "W", "WO2007EP050881W"),
    ("WO2019EP12345", "", "", "WO2019EP012345W"),
    ("102006031298", "DE", "", "DE102006031298"),
    ("DE200610031298", "", "", "DE102006031298"),  # EPODOC writes the year first
    ("DE 10 2006 031 298.7", "", "", "DE102006031298"),
    ("2000273711", "JP", "", "JP2000273711"),
    ("H10-123456", "JP", "", "JP1998123456"),
    ("201810358967", "CN", "", "CN201810358967"),
    ("ZL 2018 1 0358967.5", "CN", "", "CN201810358967"),
    ("10-2004-0085675", "KR", "", "KR20040085675"),
    ("0320567.3", "GB", "", "GB0320567"),
    ("GB20030020567", "", "", "GB0320567"),
    ("1010536", "NL", "A", "NL1010536A"),
    ("201810788", "GB", "", "GB1810788"),
    ("8000290", "JP", "", "JP1996000290"),
]

NEITHER = [
    ("", "US"),
    ("08930553", ""),  # no office
    ("0193250", "US"),  # with kind A1: a publication without its year (data/bulk/uspto/go_application_v4-0-A2_1.xml)
    ("030253087", "WO"),  # no year (data/bulk/eps/grant_v1-3-B2.xml)
    ("1175565", "JP"),  # with kind A: H1-175565 or H11-75565
    ("JP0231557", ""),  # H02-31557, or a number that is filled
    ("0 870 827", "US"),
    ("2001-001765", "US"),
    ("11-167215", "US"),
    ("116-530-185-733-934", ""),  # a Lens id
    ("EP00000000", ""),
    ("XX1234567", ""),
    ("99", "WO"),
    ("JPWO", ""),
    ("US", ""),
    ("PCTX", ""),
    ("not a number", "EP"),
    # applications, which have a check digit after a point, or the series of the USPTO
    ("GB0012345.6", ""),
    ("CN 200810012345.6", ""),
    ("CN 2015 2 0123456.X", ""),
    ("EP15712345.6", ""),
    ("US 15/123,456", ""),
    # ambiguous: a grant filled with a zero or a document of an imperial year; two years; a type of grant
    ("JP05012345B2", ""),
    ("JP03123456U", ""),
    ("JP07123456", ""),
    ("CL 1999-2004", ""),
    ("PI0-01-0000", "AG"),  # a serial that only Brazil uses
    ("KR185000-B1", ""),
    ("KR1020120100000", ""),  # the publication 10-2012-0100000 or the grant 10-2012010
    ("https://register.epo.org/application?number=EP05123456", ""),
    ("https://www.lens.org/135-683-171-372-265", ""),
    ("US" + "1" * 61, ""),
]


@pytest.mark.parametrize(("text", "office", "kind", "expected"), PUBLISHED)
def test_publication_numbers(text, office, kind, expected):
    number = read_number(text, office, kind)
    assert number is not None
    assert number.docdb == expected
    assert number.docdb == number.office + number.serial + number.kind
    assert read_number(expected) == number


@pytest.mark.parametrize(("text", "office", "kind", "expected"), FILED)
def test_application_numbers(text, office, kind, expected):
    number = read_application(text, office, kind)
    assert number is not None
    assert number.docdb == expected
    assert read_application(expected) == number


@pytest.mark.parametrize(("text", "office"), NEITHER)
def test_invalid_numbers_are_none(text, office):
    assert read_number(text, office, "A1" if office in ("US", "WO", "JP") else "") is None


def test_the_two_years_of_1989_in_japan_are_one_series():
    printed, corrected, christian = map(read_number, ("特公昭64-4995", "特公平1-4995", "JP1989-004995B2"))
    assert printed and corrected and christian
    assert printed.key == corrected.key == christian.key == "JPH014995"


@st.composite
def numbers(draw: st.DrawFn) -> tuple[str, str, str]:
    office = draw(
        st.sampled_from(
            sorted(
                [
                    "US",
                    "EP",
                    "WO",
                    "JP",
                    "KR",
                    "DE",
                    "CN",
                    "MX",
                    "IN",
                    "AU",
                    "SG",
                    "BR",
                    "CL",
                    "SE",
                    "DK",
                    "AR",
                    "EA",
                    "GE",
                    "IT",
                    "AT",
                ]
            )
        )
    )
    groups = draw(st.lists(st.text("0123456789", min_size=1, max_size=8), min_size=1, max_size=3))
    front = draw(
        st.sampled_from(
            [
                "",
                "",
                "",
                "D",
                "RE",
                "H",
                "S",
                "P",
                "PA",
                "PI",
                "EP",
                "A-",
                "10-",
                "2004",
                "1998/",
                "PCT/EP",
                "/a/2008/",
                "0000",
            ]
        )
    )
    return (
        front + draw(st.sampled_from(["", "-", "/", " ", ",", "."])).join(groups),
        office,
        draw(st.sampled_from(["", "A", "A1", "B2", "U", "E1", "Y", "00"])),
    )


@pytest.mark.slow
@given(numbers())
def test_the_normal_form_is_read_as_itself(number):
    for read in (read_number, read_application):
        if (once := read(*number)) is not None:
            assert read(once.docdb) == once
            assert read(once.serial, once.office, once.kind) in (once, None) or once.office == "WO"


@pytest.mark.slow
@given(st.text(max_size=30), st.sampled_from(["", "US", "JP", "KR", "XX"]), st.text(max_size=3))
def test_no_text_is_too_strange(text, office, kind):
    for read in (read_number, read_application):
        once = read(text, office, kind)
        assert once is None or read(once.docdb) == once


def test_every_number_of_the_sample_is_read_and_none_meets_another():
    names = [patent.publication_number for patent in load()[0]]
    read = [read_number(name) for name in names]
    assert None not in read
    assert len({number.docdb for number in read if number}) == len(names)


def _documents() -> Iterator[tuple[str, str]]:
    for path in sorted(path for path in DATA.glob("bulk/*/*") if path.is_file()):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                yield from (
                    (path.name, archive.read(name).decode()) for name in archive.namelist() if name.endswith(".xml")
                )
        else:
            yield path.name, path.read_text("utf-8", errors="replace")


def _field(name: str, text: str) -> str:
    found = re.search(rf"<(?:\w+:)?{name}>\s*([^<]*?)\s*<", text)
    return found[1] if found else ""


_FILED_AS = (
    "application-reference|parent-doc|child-doc|child|parent|priority-claim|us-provisional-application"
    "|non-provisional-of-provisional|pct-or-regional-filing-data|parent-pct-document"
)


def _written_numbers() -> Iterator[tuple[str, tuple[str, str, str], Number | None]]:
    """(file, what stands there, how it is read) for every number in the XML files."""
    for name, text in _documents():
        home = "US" if (DATA / "bulk" / "uspto" / name).exists() else ""
        for match in re.finditer(r"<(?:\w+:)?document-id\b([^>]*)>(.*?)</(?:\w+:)?document-id>", text, re.DOTALL):
            parent = re.findall(r"<([\w:-]+)[^>]*>\s*$", text[max(0, match.start() - 300) : match.start()])
            written = tuple(_field(field, match[2]) for field in ("country", "doc-number", "kind"))
            filed = re.fullmatch(_FILED_AS, parent[0]) if parent else None
            if "original" not in match[1]:
                number = (read_application if filed else read_number)(written[1], written[0] or home, written[2])
                yield name, written, number
        for dnum in re.findall(r'dnum="([^"]*)"', text):
            yield name, (dnum, "", ""), read_number(dnum)
        for office, digits, kind in re.findall(
            r'<ep-patent-document[^>]*country="(\w+)" doc-number="(\w+)" kind="(\w+)"', text
        ):
            yield name, (office, digits, kind), read_number(digits, office, kind)
        for filing in re.findall(r"<B210>(\d+\.\d)</B210>", text):
            yield name, (filing, "EP", ""), read_application(filing, "EP")


@pytest.mark.skipif(not (DATA / "bulk").is_dir(), reason="the bulk files are not next to the project")
def test_every_number_of_the_bulk_files_is_read_but_these():
    seen = set(_written_numbers())
    assert len({written for _, written, _ in seen}) > 1_300
    unread = {(name, written) for name, written, number in seen if number is None}
    assert unread == {
        ("go_application_v4-0-A2_1.xml", ("US", "0193250", "A1")),  # the year is missing
        ("grant_v1-3-B2.xml", ("WO", "030253087", "A")),  # a digit too many
        ("grant_v1-3-B2.xml", ("WO030253087A", "", "")),
        (
            "ep1000000_full_cycle_result.xml",
            ("", "EP19990203729", ""),
        ),  # an application where a publication is expected
    }
