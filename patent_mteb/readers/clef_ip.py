"""CLEF-IP 2013, claims to passages: topics, documents and judgements of the collection as distributed.

Topics are separated by empty lines and have the fields ``<tid>``, ``<tfile>`` (an application in XML), ``<tclaims>``
(XPaths) and ``<tfam-docs>``. A judgement is ``topic,document,XPath`` of a relevant passage. Documents are unpacked, in
any folders.

The layout is that of the release of TU Wien (10.48436, CC BY-NC-SA 3.0), taken from a public loader; it was
not checked on the files. A passage is a paragraph of an abstract or a description, or a claim. Its XPath
counts elements of one name from 1, and ``/p`` is ``/p[1]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from patent_mteb.errors import DataError, NotThereError
from patent_mteb.files import text_lines
from patent_mteb.readers.xml import Element, MalformedError, parse, text_of

LANGUAGES = ("EN", "DE", "FR")
_TEST = Path("02_topics/clef-ip-2013-clms-psg-TEST")
_QRELS = "02_topics/2013-clef-ip-clsm-to-psg-qrels/2013-clef-ip-QRELS-{}-claims-to-passages.txt"
_DOCUMENTS = "01_document_collection"
_REMEDY = "unpack the collection of TU Wien again; if it is complete, its layout has changed: report it"
_FIELD = re.compile(r"<(tid|tfile|tclaims|tfam-docs)>\s*(.*?)\s*</\1>", re.DOTALL)
_STEP = re.compile(r"([A-Za-z-]+)(?:\[(\d+)\])?")
_PASSAGES = (("abstract", "p"), ("description", "p"), ("claims", "claim"))


@dataclass(frozen=True, slots=True)
class Topic:
    topic: str
    document: str
    claims: str


def full_path(xpath: str) -> str:
    """Return an XPath with the number of every step below the root."""
    root, *steps = [step for step in xpath.strip().split("/") if step]
    found = [_STEP.fullmatch(step) for step in steps]
    if not all(found) or not steps:
        raise ValueError(f"'{xpath}' is not a path of numbered steps")
    return "/".join(["", root, *(f"{step[1]}[{step[2] or 1}]" for step in found if step)])


def _root(path: Path) -> Element:
    if not path.is_file():
        raise NotThereError("the file is missing", path=path, remedy=_REMEDY)
    try:
        return parse(path.read_bytes())[0]
    except MalformedError as error:
        raise DataError(str(error), path=path, remedy=_REMEDY) from error


def _at(root: Element, xpath: str) -> str:
    """The text at a path, empty if there is no element."""
    steps = [step.partition("[") for step in full_path(xpath).split("/")[2:]]
    found = root.xpath("/".join(f"*[local-name()='{name}'][{number}" for name, _, number in steps))
    return text_of(found[0]) if found else ""


def topics(folder: Path) -> Iterator[Topic]:
    path = folder / _TEST / "clef-ip-2013-clms-psg-TEST.txt"
    block: list[str] = []
    first = 1
    for row, line in [*text_lines(path), (-1, "")]:
        if line.strip():
            first = first if block else row
            block.append(line)
        elif block:
            yield _topic(folder, path, first, dict(_FIELD.findall("\n".join(block))))
            block = []


def _topic(folder: Path, path: Path, row: int, fields: dict[str, str]) -> Topic:
    if missing := [name for name in ("tid", "tfile", "tclaims") if not fields.get(name)]:
        raise DataError(f"the topic has no <{missing[0]}>", path=path, row=row, remedy=_REMEDY)
    file = folder / _TEST / "tfiles" / fields["tfile"]
    root = _root(file)
    try:
        claims = [text for xpath in fields["tclaims"].split() if (text := _at(root, xpath))]
    except ValueError as error:
        raise DataError(str(error), path=path, row=row, remedy=_REMEDY) from error
    if not claims:
        problem = f"topic {fields['tid']} names no claim that {file.name} has"
        raise DataError(problem, path=path, row=row, remedy=_REMEDY)
    return Topic(fields["tid"], file.stem, " ".join(claims))


def judgements(folder: Path, language: str) -> dict[str, dict[str, set[str]]]:
    """Return the relevant passages (full paths) of a language by topic and document; none if the file is missing."""
    path = folder / _QRELS.format(language)
    found: dict[str, dict[str, set[str]]] = {}
    for row, line in text_lines(path) if path.exists() else ():
        cells = [cell.strip() for cell in line.split(",")]
        if cells == [""]:
            continue
        try:
            topic, document, xpath = cells
            found.setdefault(topic, {}).setdefault(document, set()).add(full_path(xpath))
        except ValueError:
            raise DataError("the row is not topic, document and path", path=path, row=row, remedy=_REMEDY) from None
    return found


def document_files(folder: Path) -> list[Path]:
    """Return the documents, sorted by name."""
    place = folder / _DOCUMENTS
    files = sorted(place.rglob("*.xml"), key=lambda path: (path.stem, path))
    if not files:
        remedy = "unpack the archives of the document collection there"
        raise NotThereError("there is no document", path=place, remedy=remedy)
    for one, following in pairwise(files):
        if one.stem == following.stem:
            raise DataError(f"the document occurs twice, also as {one}", path=following, remedy="keep one of them")
    return files


def passages(path: Path) -> Iterator[tuple[str, str]]:
    """Yield path and text of each non-empty passage of a document."""
    root = _root(path)
    for section, part in _PASSAGES:
        for place, element in enumerate(root.iterfind(section), start=1):
            for number, one in enumerate(element.iterfind(part), start=1):
                if text := text_of(one):
                    yield f"/patent-document/{section}[{place}]/{part}[{number}]", text
