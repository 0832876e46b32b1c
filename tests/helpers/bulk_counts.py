"""Counts of bulk files by XPath and regular expressions on a plain parse, independent of the readers."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from lxml import etree

BULK = Path(__file__).resolve().parents[3] / "shared" / "data" / "bulk"

_XPATHS = {
    "us-patent-grant": {
        "claims": "//claims/claim",
        "cited": "//us-citation/patcit/document-id | //references-cited/citation/patcit/document-id",
        "ipc": (
            "//classification-ipcr | //us-bibliographic-data-grant/classification-ipc/main-classification"
            " | //us-bibliographic-data-grant/classification-ipc/further-classification"
        ),
        "depends": "//claims/claim[.//claim-ref]",
    },
    "us-patent-application": {
        "claims": "//claims/claim[not(contains(., '(cancel'))]",
        "cited": "//nothing",
        "ipc": (
            "//classification-ipcr | //classification-ipc/main-classification |"
            " //classification-ipc/further-classification"
        ),
        "depends": "//claims/claim[.//claim-ref]",
    },
    "PATDOC": {
        "claims": "//CLM",
        "cited": "//B561/PCIT/DOC",
        "ipc": "//B510/B511 | //B510/B512",
        "depends": "//CLM[.//CLREF]",
    },
    "patent-application-publication": {
        "claims": "//subdoc-claims/claim",
        "cited": "//nothing",
        "ipc": "//classification-ipc//ipc",
        "depends": "//claim[.//dependent-claim-reference]",
    },
}


def raw_documents(path: Path) -> list[bytes]:
    """The documents of a file or of the XML files in a zip file."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            contents = [archive.read(name) for name in archive.namelist() if name.endswith(".xml")]
    else:
        contents = [path.read_bytes()]
    return [part for content in contents for part in re.split(rb"(?=<\?xml )", content) if part.strip()]


def plain(content: bytes) -> etree._Element:
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, huge_tree=True)
    return etree.fromstring(content.strip(), parser)


def squeezed(element: etree._Element) -> str:
    return "".join("".join(element.itertext()).split())


def counted(content: bytes) -> dict[str, int | str]:
    """What one document of the USPTO holds."""
    root = plain(content)
    found = {name: root.xpath(path) for name, path in _XPATHS[root.tag].items()}
    cited = {squeezed_number(one) for one in found["cited"]}
    codes = {code(one) for one in found["ipc"]}
    kind = re.search(rb"<kind>\s*(\w+)|<kind-code>\s*(\w+)|<B130>\s*<PDAT>(\w+)", content)
    return {
        "kind": next(filter(None, kind.groups())).decode(),
        "claims": len(found["claims"]),
        "depends": len(found["depends"]),
        "cited": len(cited),
        "ipc": len(codes),
    }


def squeezed_number(document: etree._Element) -> tuple[str, ...]:
    """What tells one cited document from another: its office, number, kind, and who cited it."""
    names = ("doc-number", "country", "kind") if document.tag == "document-id" else ("DNUM", "CTRY", "KIND")
    who = document.xpath("string(ancestor::*[self::us-citation or self::citation]/category)") or len(
        document.xpath("../../CITED-BY-EXAMINER")
    )
    return (*("".join(document.xpath(f"string({name})").split()) for name in names), str(who).strip())


def code(one: etree._Element) -> str:
    if one.tag == "classification-ipcr":
        return "/".join(
            one.xpath(f"string({part})").strip() for part in ("section", "class", "subclass", "main-group", "subgroup")
        )
    return squeezed(one)
