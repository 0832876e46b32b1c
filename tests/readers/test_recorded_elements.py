"""Every element and attribute of a recorded document in XML is read, or listed here as ignored.

An element is read if its removal changes what the reader gives of a recorded file. All ignored ones together change
nothing. Texts are elements of their own: what is in a paragraph or a claim is its text.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from lxml import etree
from paths import SHARED
from second_reading import kind_of, plain, raw_documents

from patent_mteb.readers import recognise
from patent_mteb.readers.items import Skipped

INVENTED = Path(__file__).parent / "recorded" / "docdb.xml"


class Form(NamedTuple):
    """``ignored``: steps of paths that are not read, with all below them. ``elsewhere``: what is read, but changes no
    recorded file without it, because the same is elsewhere in it."""

    files: list[Path]
    ignored: str
    elsewhere: str


def at(*patterns: str) -> list[Path]:
    return sorted(
        path for pattern in patterns for path in SHARED.glob(pattern) if path.read_bytes().lstrip()[:1] in b"<P"
    )


OF_THE_USPTO = """
@country @date-produced @date-publ @dtd-version @file @id @status @level @designation @rep-type
@sequence @appl-type us-bibliographic-data-application/@lang us-bibliographic-data-application/@country @applicant-authority-category abstract/p/@num
drawings us-claim-statement us-application-series-code us-exemplary-claim figures examiners agents number-of-claims
us-term-of-grant us-botanic correspondence-address us-publication-filing-type us-math us-chemistry us-sequence-list-doc
address nationality residence role edition assignee/role
classification-national field-of-search us-field-of-classification-search classification-cpc-text
action-date classification-data-source classification-level classification-status classification-value generating-office
cpc-version-indicator ipc-version-indicator scheme-origination-code symbol-position
combination-rank combination-set/group-number
us-371c12-date child-doc parent-grant-document parent-pct-document parent-status us-provisional-application-status
related-publication/document-id/date pct-or-regional-publishing-data/document-id/date
priority-claim/@kind us-provisional-application/document-id/kind relation/parent-doc/document-id/kind
pct-or-regional-filing-data/document-id/kind
patcit/@num nplcit/@num patcit/document-id/date patcit/document-id/name othercit
"""
ELSEWHERE_OF_THE_USPTO = """
claim/@num @app-type publication-reference/document-id/country application-reference/document-id/country
pct-or-regional-publishing-data/document-id/country pct-or-regional-filing-data/document-id
relation/parent-doc/document-id assignees classification-ipc/further-classification us-provisional-application
priority-claims classifications-cpc
"""
FORMS = {
    "exchange-document": Form(
        [INVENTED, *at("offices/docdb/*.xml", "bulk/**/ops/*.xml")],
        """
@date-added-docdb @doc-id @is-representative @originating-office @system
abstract/@abstract-source abstract/@data-format
bibliographic-data/application-reference/@doc-id
bibliographic-data/application-reference/@is-representative
bibliographic-data/classifications-ipcr/classification-ipcr/@sequence
bibliographic-data/dates-of-public-availability
bibliographic-data/designation-of-states
bibliographic-data/extended-kind-code
bibliographic-data/invention-title/@data-format
bibliographic-data/language-of-filing
bibliographic-data/parties/applicants/applicant/@sequence
bibliographic-data/parties/applicants/applicant/residence
bibliographic-data/parties/inventors/inventor/@sequence
bibliographic-data/parties/inventors/inventor/residence
bibliographic-data/patent-classifications/combination-set/@sequence
bibliographic-data/patent-classifications/combination-set/combination-rank
bibliographic-data/patent-classifications/combination-set/group-number
bibliographic-data/patent-classifications/patent-classification/@sequence
bibliographic-data/patent-classifications/patent-classification/action-date
bibliographic-data/patent-classifications/patent-classification/classification-data-source
bibliographic-data/patent-classifications/patent-classification/classification-scheme/@office
bibliographic-data/patent-classifications/patent-classification/classification-scheme/date
bibliographic-data/patent-classifications/patent-classification/classification-status
bibliographic-data/patent-classifications/patent-classification/classification-value
bibliographic-data/patent-classifications/patent-classification/generating-office
bibliographic-data/patent-classifications/patent-classification/symbol-position
bibliographic-data/priority-claims/priority-claim/@kind
bibliographic-data/priority-claims/priority-claim/@sequence
bibliographic-data/priority-claims/priority-claim/priority-active-indicator
bibliographic-data/references-cited/citation/@sequence
bibliographic-data/references-cited/citation/nplcit
bibliographic-data/references-cited/citation/patcit/@dnum
bibliographic-data/references-cited/citation/patcit/@dnum-type
bibliographic-data/references-cited/citation/patcit/@num
bibliographic-data/references-cited/citation/patcit/document-id/@doc-id
bibliographic-data/references-cited/citation/patcit/document-id/date
bibliographic-data/references-cited/citation/patcit/document-id/name
""",
        """
@country @doc-number @kind @date-publ @date-of-last-exchange @status
bibliographic-data/application-reference/@data-format
bibliographic-data/classification-ipc
bibliographic-data/priority-claims/priority-claim/document-id/@document-id-type
bibliographic-data/priority-claims/priority-claim/document-id/kind
bibliographic-data/publication-reference/@data-format
bibliographic-data/publication-reference/document-id
bibliographic-data/references-cited/citation/rel-passage/passage/column
bibliographic-data/references-cited/citation/rel-passage/passage/figure
bibliographic-data/references-cited/citation/rel-passage/passage/paral
bibliographic-data/references-cited/citation/rel-passage/passage/table
""",
    ),
    "us-patent-grant": Form(at("bulk/uspto/*"), OF_THE_USPTO, ELSEWHERE_OF_THE_USPTO),
    "us-patent-application": Form(at("bulk/uspto/*"), OF_THE_USPTO, ELSEWHERE_OF_THE_USPTO),
    "PATDOC": Form(
        at("bulk/uspto/*"),
        """
        @DTD @STATUS @LVL SDODR SDOCL/H SDOBI/B200/B211US SDOBI/B400 B510/B516 B520 B560/B561/PCIT/DOC/DATE PCIT/PARTY-US
        PCIT/PNC NCIT CITED-BY-OTHER B570 B580 B590 PARENT-US/CDOC PARENT-US/PSTA B690US/DOC/DATE ADR B730/B732US B740 B745 B864US
        B871/DOC/DATE SDOBI/B100/B190 PARA/@ID PARA/@LVL
        """,
        "B861/DOC B871/DOC/CTRY PDOC/DOC CLM/@ID",
    ),
    "patent-application-publication": Form(
        at("bulk/uspto/*"),
        """
        @lvl @align paragraph/@id subdoc-drawings subdoc-claims/heading subdoc-abstract/heading assignee-type parent-child/child
        parent-patent parent-status correspondence-address application-number-series-code inventors/first-named-inventor/address
        authority-applicant name-prefix residence publication-filing-type classification-ipc-edition classification-us
        """,
        "parent/document-id",
    ),
    "ep-patent-document": Form(
        at("bulk/eps/*.xml"),
        """
        @dtd-version @file @id @status SDOBI/@lang SDOBI/B000 B120 B190 B240 B250 B251EP B260 B400 B510/B516 B517EP @sequence
        B562/text B565EP B590 parent/pdoc/date parent/pdoc/dnum/pnum B620EP adr iid irf B740 B780 B840 B844EP B848EP B860/B861/date B862
        B871/bnum B871/date B880 abstract/p/@num drawings ep-reference-list/heading ep-reference-list/p/@num search-report-data style
        """,
        "SDOBI/B100 @country @kind @date-publ @doc-number @lang ep-reference-list",
    ),
}
TEXTS = {"p", "CWU", "heading", "claim", "PARA", "CLM", "H", "paragraph"}


def parts(root: etree._Element) -> Iterator[tuple[str, etree._Element, str]]:
    """Path, element and name of attribute (empty for the element itself) of all below each document of a file."""
    for document in list(root.iter("{*}exchange-document")) or [root]:
        waiting = [("", document)]
        while waiting:
            above, element = waiting.pop()
            yield from (
                (f"{above}/@{etree.QName(name).localname}".lstrip("/"), element, name) for name in element.attrib
            )
            for child in () if element.tag in TEXTS else element.iterchildren("{*}*"):
                path = f"{above}/{etree.QName(child).localname}".lstrip("/")
                yield path, child, ""
                waiting.append((path, child))


def is_listed(path: str, steps: str) -> bool:
    return any(f"/{one}/" in f"/{path}/" for one in steps.split())


def without(root: etree._Element, paths: set[str]) -> etree._Element:
    root = copy.deepcopy(root)
    for _, element, attribute in [part for part in parts(root) if part[0] in paths]:
        if attribute:
            del element.attrib[attribute]
        elif (above := element.getparent()) is not None:
            element.tail = None
            above.remove(element)
    return root


def given(root: etree._Element, folder: Path) -> list[str]:
    (path := folder / "document.xml").write_bytes(etree.tostring(root))
    reader = recognise(path)
    items = reader.read(path) if reader else []
    return [re.sub(r"\(.*", "", one.reason) if isinstance(one, Skipped) else repr(one) for one in items]


def documents(form: str, files: list[Path]) -> list[etree._Element]:
    """The recorded documents of a form, the shortest first. Of the USPTO those that are utility patents."""
    found = [one for file in files for one in raw_documents(file) if kind_of(one) in ("", "A", "B")]
    roots = [plain(one) for one in sorted(found, key=len)]
    return [one for one in roots if one.tag == form or any(True for _ in one.iter(f"{{*}}{form}"))]


def unread(form: str, files: list[Path], folder: Path) -> set[str]:
    """The paths that no document of a form reads, and that are not listed."""
    lists = FORMS[form].ignored + FORMS[form].elsewhere
    every: set[str] = set()
    read: set[str] = set()
    for root in documents(form, files):
        whole, paths = given(root, folder), {path for path, *_ in parts(root) if not is_listed(path, lists)}
        every |= paths
        read |= {path for path in sorted(paths - read) if given(without(root, {path}), folder) != whole}
    return every - read


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
@pytest.mark.parametrize("form", FORMS)
def test_each_element_of_a_recorded_document_is_read_or_listed(form, tmp_path):
    assert unread(form, FORMS[form].files, tmp_path) == set()


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_what_is_ignored_changes_nothing(form, tmp_path):
    for root in documents(form, FORMS[form].files):
        ignored = {path for path, *_ in parts(root) if is_listed(path, FORMS[form].ignored)}
        assert given(without(root, ignored), tmp_path) == given(root, tmp_path)


def test_each_element_of_the_invented_exchange_document_is_listed(tmp_path):
    alternatives = "@(?:lang|data-format|document-id-type)$|publication-reference$|/rel-passage/category|/citation/category|/patcit/document-id/kind"
    found = unread("exchange-document", [INVENTED], tmp_path)
    assert not [path for path in found if not re.search(alternatives, path)]


def every(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def members(value: Any, above: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """Path, object and name of each member below a document, named as its element in XML."""
    for one in every(value):
        for name in one if isinstance(one, dict) else ():
            if name != "$":
                path = f"{above}/{name.rpartition(':')[2]}".lstrip("/")
                yield path, one, name
                yield from members(one[name], path)


def test_each_member_of_an_answer_in_json_is_read_or_listed(tmp_path):
    lists = FORMS["exchange-document"].ignored + FORMS["exchange-document"].elsewhere
    whole = json.loads((INVENTED.with_name("ops-biblio.json")).read_text("utf-8"))

    def items(content: Any) -> list[str]:
        (path := tmp_path / "one.json").write_text(json.dumps(content))
        reader = recognise(path)
        return [one.reason if isinstance(one, Skipped) else repr(one) for one in reader.read(path)]

    def documents(content: Any) -> Any:
        return content["ops:world-patent-data"]["exchange-documents"]["exchange-document"]

    unread = set()
    for path in {path for path, *_ in members(documents(whole))}:
        less = copy.deepcopy(whole)
        for _, one, name in [part for part in members(documents(less)) if part[0] == path]:
            one.pop(name, None)
        if items(less) == items(whole) and not is_listed(path, lists):
            unread.add(path)
    assert not {
        one
        for one in unread
        if not re.search(
            r"@(?:document-id-type|data-format|cited-by)$|publication-reference$|/kind$|/classification-symbol$", one
        )
    }
