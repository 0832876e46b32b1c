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
]


@pytest.mark.parametrize(("text", "office", "kind", "expected"), PUBLISHED)
def test_publication_numbers(text, office, kind, expected):
    number = read_number(text, office, kind)
    assert number is not None
    assert number.docdb == expected
    assert number.docdb == number.key + number.kind == number.office + number.serial + number.kind
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


@st.composite
def numbers(draw: st.DrawFn) -> tuple[str, str, str]:
    office = draw(st.sampled_from(sorted({"US", "EP", "WO", "JP", "KR", "DE", "CN", "MX", "IN", "AU"})))
    groups = draw(st.lists(st.text("0123456789", min_size=1, max_size=8), min_size=1, max_size=3))
    front = draw(st.sampled_from(["", "", "", "D", "RE", "H", "S", "P", "PA", "A-", "10-", "2004", "1998/", "PCT/EP"]))
    return (
        front + draw(st.sampled_from(["", "-", "/", " ", ",", "."])).join(groups),
        office,
        draw(st.sampled_from(["", "A", "A1", "B2", "U", "00"])),
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
