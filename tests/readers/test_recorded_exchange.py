"""Every element and attribute of the recorded exchange documents (DOCDB, OPS) is read, or listed here as ignored.

An element is read if its removal changes what the reader gives of a recorded file. An ignored one changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import etree
from paths import SHARED

from patent_mteb.readers.items import Skipped
from patent_mteb.readers.ops import READER

INVENTED = Path(__file__).parent / "recorded" / "docdb.xml"
REAL = [
    *SHARED.glob("offices/docdb/*.xml"),
    *(path for path in SHARED.glob("bulk/**/ops/*.xml") if path.read_bytes().lstrip()[:1] == b"<"),
]
FILES = [INVENTED, *sorted(REAL)]

IGNORED = """
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
"""
"""What is not read, with all below it. (Of other literature, nplcit, the citation is counted.)"""

ELSEWHERE = """
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
"""
"""What is read, but changes no recorded file without it: the same is elsewhere in it, or only literature has it."""


def parts(root: etree._Element) -> Iterator[tuple[str, etree._Element, str]]:
    """Path, element and name of attribute (empty for the element itself) of all below the exchange documents."""
    for document in root.iter("{*}exchange-document"):
        waiting = [("", document)]
        while waiting:
            above, element = waiting.pop()
            yield from (
                (f"{above}/@{etree.QName(name).localname}".lstrip("/"), element, name) for name in element.attrib
            )
            for child in element.iterchildren("{*}*"):
                path = f"{above}/{etree.QName(child).localname}".lstrip("/")
                yield path, child, ""
                waiting.append((path, child))


def without(content: bytes, path: str) -> bytes:
    root = etree.fromstring(content)
    for element, attribute in [(element, attribute) for one, element, attribute in parts(root) if one == path]:
        if attribute:
            del element.attrib[attribute]
        elif (above := element.getparent()) is not None:
            above.remove(element)
    return etree.tostring(root)


def given(path: Path) -> list[str]:
    return [re.sub(r"\(.*", "", one.reason) if isinstance(one, Skipped) else repr(one) for one in READER.read(path)]


def is_below(path: str, others: set[str]) -> bool:
    steps = path.split("/")
    return any("/".join(steps[:n]) in others for n in range(1, len(steps) + 1))


def read_and_not(files: list[Path], folder: Path) -> tuple[set[str], set[str]]:
    """The paths whose removal changes what a file gives, and the others."""
    read: set[str] = set()
    every: set[str] = set()
    for file in files:
        content = re.sub(rb"<!DOCTYPE[^>]*>|&(?!#|(?:amp|lt|gt|quot|apos);)", b"", file.read_bytes())
        (folder / "whole.xml").write_bytes(content)
        whole = given(folder / "whole.xml")
        for path in sorted({path for path, _, _ in parts(etree.fromstring(content))}):
            every.add(path)
            (folder / "less.xml").write_bytes(without(content, path))
            if given(folder / "less.xml") != whole:
                read.add(path)
    return read, every - read


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="needs ../shared")
def test_each_element_of_a_recorded_exchange_document_is_read_or_ignored(tmp_path):
    ignored = set(IGNORED.split())
    read, unread = read_and_not(FILES, tmp_path)
    assert {path for path in unread if not is_below(path, ignored | set(ELSEWHERE.split()))} == set()
    assert {path for path in ignored if path in read} == set()


def test_each_element_of_the_invented_exchange_document_is_listed(tmp_path):
    _, unread = read_and_not([INVENTED], tmp_path)
    alternatives = "@(?:lang|data-format|document-id-type)$|publication-reference$|/rel-passage/category|/citation/category|/patcit/document-id/kind"
    unread = {path for path in unread if not re.search(alternatives, path)}
    assert {path for path in unread if not is_below(path, set((IGNORED + ELSEWHERE).split()))} == set()
