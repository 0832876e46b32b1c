"""What bulk files hold, counted by XPath, regular expressions and json on a plain parse, independent of the readers.

:func:`expected` and :func:`found` describe publications in the same fields: counts, printed numbers of paragraphs, and
days as texts.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from pathlib import Path

from lxml import etree

from patent_mteb.patents.records import Citation, Patent, Relation

BULK = Path(__file__).resolve().parents[3] / "shared" / "data" / "bulk"
MORE = BULK / "more"
FAMILY_FILE = "family_input.xml"
"""An answer of OPS with the members of a family, which are relations and not records."""


SEARCH_FILE = "search_result.xml"
"""A search in OPS, which patent_client stores as JSON."""
SCANNED = {"US-3857398-A": 11}
"""Claims of a scanned patent: 12 are printed, but the scan lost the stop before claim 7; patent_client splits 10."""


def found(items) -> dict[str, dict[str, object]]:
    """The fields of the records of a reader, by publication number."""
    fields = {}
    for patent in (item for item in items if isinstance(item, Patent)):
        own = patent.publication_number
        cited = [item for item in items if isinstance(item, Citation) and item.citing == own]
        days = (patent.publication_date, patent.application_date, patent.priority_date)
        texts = [patent, *patent.translations]
        kinds = Counter(item.kind for item in items if isinstance(item, Relation) and item.number == own)
        fields[own] = {
            "titles": sum(bool(one.title) for one in texts),
            "abstracts": sum(bool(one.abstract) for one in texts),
            "claims": sum(len(one.claims) for one in texts),
            "paragraphs": sorted(filter(None, patent.paragraphs)),
            "inventors": len(patent.inventors),
            "applicants": len(patent.applicants),
            "citations": Counter(one.category for one in cited),
            "examiner": sum(one.origin == "examiner" for one in cited),
            "ipc": len(patent.ipc),
            "cpc": len(patent.cpc),
            "priorities": kinds["priority"],
            "family": re.sub(r"\D", "", patent.family_id)[-8:],
            "days": [str(one or "").replace("-", "") for one in days],
        }
    return fields


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


def expected(path: Path) -> list[dict[str, object]]:
    """The fields of each utility patent of a file, without its number."""
    if path.suffix == ".json":
        return _of_json(json.loads(path.read_text("utf-8")))
    if path.suffix == ".txt":
        return _of_tsv(path.read_text("utf-8"))
    counts = []
    for root in map(plain, raw_documents(path)):
        tag = etree.QName(root).localname
        if tag == "world-patent-data":
            counts += [_exchange(one) for one in root.iter("{*}exchange-document", "{*}fulltext-document")]
        elif tag == "ep-patent-document":
            counts.append(_european(root))
        elif tag != "sequence-cwu" and (
            found := {"PATDOC": _grant_of_2001, "patent-application-publication": _application_of_2001}.get(
                tag, _modern
            )(root)
        ):
            counts.append(found)
    return counts


def kinds(path: Path) -> Counter[bool]:
    """The number of utility patents (True) and of other documents of the USPTO in a file."""
    pattern = rb"<kind>\s*(\w+)|<kind-code>\s*(\w+)|<B130>\s*<PDAT>(\w+)"
    found = (re.search(pattern, content) for content in raw_documents(path))
    return Counter(next(filter(None, one.groups()))[:1] in (b"A", b"B") for one in found if one)


def squeezed(element: etree._Element | None) -> str:
    return "" if element is None else "".join("".join(element.itertext()).split())


def _texts(root: etree._Element, path: str) -> set[str]:
    return {text for one in root.xpath(path) if (text := squeezed(one))}


def _first(root: etree._Element, path: str) -> str:
    return squeezed(next(iter(root.xpath(path)), None))


def _day(text: str) -> str:
    text = text.replace("-", "")[:8]
    return f"{text[:6]}01" if text.endswith("00") else text


def _earliest(*days: str) -> str:
    return min(filter(None, map(_day, days)), default="")


def _numbers(root: etree._Element, path: str) -> list[int]:
    numbers = (one.get("num", "") for one in root.xpath(path) if squeezed(one))
    return sorted(int(one) for one in numbers if one.isdecimal() and int(one))


def _european(root: etree._Element) -> dict[str, object]:
    languages = [one.get("lang") for one in root.xpath("/*/description")]
    main = "en" if "en" in languages else root.get("lang") if root.get("lang") in languages else "".join(languages[:1])
    searched = _texts(root, "//B561/text")
    content = etree.tostring(root)
    described = set(re.findall(rb'<patcit(?![^>]*dnum-type="L")[^>]*dnum="([^"]+)"', content))
    ipc = "//classification-ipcr/text | //B510/B511 | //B510/B512 | //B510/B513 | //B510/B514"
    related = "//B320/date | //B620//pdoc/date | //B861/date"
    return {
        "titles": len(_texts(root, "//B541")),
        "abstracts": len({one.get("lang") for one in root.xpath("/*/abstract") if squeezed(one)}),
        "claims": sum(
            len(root.xpath(f"/*/claims[@lang='{lang}'][1]/claim")) for lang in set(root.xpath("/*/claims/@lang"))
        ),
        "paragraphs": _numbers(root, f"/*/description[@lang='{main}'][1]/p"),
        "inventors": len(root.xpath("//B721/snm")),
        "applicants": len(_texts(root, "//B711/snm | //B731/snm")),
        "citations": Counter({"": len(searched) + len(described)} if searched or described else {}),
        "examiner": len(searched),
        "ipc": len({text[:10].partition("2006")[0] for text in _texts(root, ipc)}),
        "cpc": len({re.split(r"\s\d{8}\s", one.text)[0] for one in root.xpath("//classification-cpc/text")}),
        "priorities": len(_texts(root, "//B310")),
        "family": re.sub(r"\D", "", _first(root, "//B210"))[:8],
        "days": [
            _day(root.get("date-publ")),
            _day(_first(root, "//B220/date")),
            _earliest(_first(root, "//B220/date"), *_texts(root, related)),
        ],
    }


def _exchange(document: etree._Element) -> dict[str, object]:
    def all_of(path: str) -> list[etree._Element]:
        steps = "/".join(f"*[local-name()='{step}']" for step in path.split("/"))
        return document.xpath(f".//{steps}")

    def number(one: etree._Element) -> str:
        return squeezed(one.find("{*}document-id[@document-id-type='docdb']"))

    citations: set[tuple[str, ...]] = set()
    for one in all_of("references-cited/citation"):
        if (patent := one.find("{*}patcit")) is not None:
            phase = (one.get("cited-phase") or "", one.get("cited-by") or "")
            categories = [squeezed(each) for each in one.iter("{*}category")] or [""]
            citations |= {(number(patent), category, *phase) for category in categories}
    search = ("search", "national-search-report", "international-search-report", "supplementary-search-report")
    persons = {}
    for role in ("inventor", "applicant"):
        forms: dict[str, set[str]] = {}
        for one in all_of(f"{role}s/{role}"):
            forms.setdefault(one.get("data-format"), set()).add(re.sub(r"\W|\[.*", "", squeezed(one)).upper())
        names = sorted(forms.get("original", next(iter(forms.values()), set())))
        persons[role] = sum(not any(other != name and name.startswith(other) for other in names) for name in names)
    claims = "\n".join("".join(one.itertext()) for one in all_of("claims/claim/claim-text"))
    ipc = all_of("classifications-ipcr/classification-ipcr/text") or all_of("classification-ipc/text")
    cpc = ("section", "class", "subclass", "main-group", "subgroup")
    cpcs = [
        "/".join(squeezed(one.find(f"{{*}}{part}")) for part in cpc)
        for one in all_of("patent-classifications/patent-classification")
        if one.find("{*}classification-scheme").get("scheme").startswith("CPC")
    ]
    filed = [squeezed(one) for one in all_of("application-reference/document-id/date")]
    claimed = all_of("priority-claims/priority-claim")
    dates = [squeezed(date) for one in claimed for date in one.iter("{*}date")]
    published_as = next((squeezed(one) for one in all_of("publication-reference/document-id")), "")
    published_as = "".join(document.get(name) or "" for name in ("country", "doc-number", "kind")) or published_as
    published = [squeezed(one) for one in all_of("publication-reference/document-id/date")]
    return {
        "titles": len({one.get("lang") for one in all_of("bibliographic-data/invention-title")}),
        "abstracts": len({one.get("lang") for one in document.iterfind("{*}abstract")}),
        "claims": len(re.findall(r"^\s*\d+\. ", claims, re.MULTILINE)),
        "paragraphs": [int(one) for one in re.findall(r"\[(\d{4})\] ", "".join(document.itertext()))],
        "inventors": persons["inventor"],
        "applicants": persons["applicant"],
        "citations": Counter(category for _, category, *_ in citations),
        "examiner": sum(phase.lower() in search or by == "examiner" for _, _, phase, by in citations),
        "ipc": len({squeezed(one)[:10] for one in ipc}),
        "cpc": len(set(cpcs)),
        "family": re.sub(r"\D", "", document.get("family-id") or published_as)[-8:],
        "priorities": len({squeezed(one.find("{*}document-id[@document-id-type='docdb']"))
                           or squeezed(one.find("{*}document-id[@document-id-type='epodoc']/{*}doc-number"))
                           for one in claimed}),
        "days": [_day("".join(published[:1])), _earliest(*filed[:1]), _earliest(*filed[:1], *dates)],
    }  # fmt: skip


def _modern(root: etree._Element) -> dict[str, object] | None:
    kind = _first(root, "//publication-reference/document-id/kind")
    if kind[:1] not in ("A", "B"):
        return None
    cited = root.xpath("//us-citation[patcit] | //references-cited/citation[patcit]")
    pairs = {(squeezed(one.find("patcit/document-id").find("doc-number")),
              squeezed(one.find("patcit/document-id").find("country")),
              squeezed(one.find("patcit/document-id").find("kind")), _first(one, "category")) for one in cited}  # fmt: skip
    parts = ("section", "class", "subclass", "main-group", "subgroup")
    codes = [
        {tuple(_first(one, part) for part in parts) for one in root.xpath(path)}
        for path in ("//classification-ipcr", "//classifications-cpc/*/classification-cpc")
    ]
    old = "/*/*/classification-ipc/main-classification | /*/*/classification-ipc/further-classification"
    filed = _first(root, "//application-reference/document-id/date")
    related = (
        "//priority-claim/date | //us-related-documents//relation/parent-doc/document-id/date |"
        " //us-related-documents/*[not(self::related-publication)]/document-id/date |"
        " //pct-or-regional-filing-data/document-id/date"
    )
    return {
        "titles": len(_texts(root, "//invention-title")),
        "abstracts": len(_texts(root, "/*/abstract")),
        "claims": len(root.xpath("/*/claims/claim[not(contains(., '(cancel'))]")),
        "paragraphs": _numbers(root, "/*/description/p | /*/description/description-of-drawings/p"),
        "inventors": len(root.xpath("//us-parties/inventors/inventor | //applicant[@app-type='applicant-inventor']")),
        "applicants": len(
            _texts(root, "//us-applicants/us-applicant/addressbook/*[self::orgname or self::last-name]")
            or _texts(root, "//assignees/assignee//*[self::orgname or self::last-name]")
        ),
        "citations": Counter({"": len(pairs)} if pairs else {}),
        "examiner": sum(category == "citedbyexaminer" for *_, category in pairs),
        "ipc": len(codes[0]) + len(_texts(root, old)),
        "cpc": len(codes[1]),
        "family": re.sub(r"\D", "", _first(root, "//application-reference/document-id/doc-number"))[-8:].zfill(8),
        "priorities": len({(_first(one, "doc-number"), _first(one, "country")) for one in
                           root.xpath("//priority-claims/priority-claim")}),
        "days": [
            _day(_first(root, "//publication-reference/document-id/date")),
            _day(filed),
            _earliest(filed, *_texts(root, related)),
        ],
    }  # fmt: skip


def _grant_of_2001(root: etree._Element) -> dict[str, object] | None:
    if _first(root, "//B130")[:1] not in ("A", "B"):
        return None
    cited = {
        (*(_first(one, f"PCIT/DOC/{name}") for name in ("DNUM", "CTRY", "KIND")), len(one.xpath("CITED-BY-EXAMINER")))
        for one in root.xpath("//B560/*[PCIT/DOC]")
    }
    related = "//B320 | //B600//PARENT-US/PDOC/DOC/DATE | //B680US/DOC/DATE | //B861/DOC/DATE"
    return {
        "titles": len(_texts(root, "//B540")),
        "abstracts": len(_texts(root, "/*/SDOAB")),
        "claims": len(root.xpath("//CLM")),
        "paragraphs": [],
        "inventors": len(root.xpath("//B721")),
        "applicants": len(_texts(root, "//B731//NAM")),
        "citations": Counter({"": len(cited)} if cited else {}),
        "examiner": sum(by for *_, by in cited),
        "ipc": len(_texts(root, "//B510/B511 | //B510/B512")),
        "cpc": 0,
        "priorities": len(_texts(root, "//B300/B310")),
        "family": re.sub(r"\D", "", _first(root, "//B210"))[-8:].zfill(8),
        "days": [_day(_first(root, "//B140")), _day(_first(root, "//B220")),
                 _earliest(_first(root, "//B220"), *_texts(root, related))],
    }  # fmt: skip


def _application_of_2001(root: etree._Element) -> dict[str, object]:
    biblio = "/*/subdoc-bibliographic-information"
    brackets = re.compile(r"\[|\]|&[lr]sqb;")
    numbers = (brackets.sub("", _first(one, "number")) for one in root.xpath("//subdoc-description//paragraph"))
    filed = _first(root, f"{biblio}/domestic-filing-data/filing-date")
    related = (
        f"{biblio}/foreign-priority-data/filing-date |"
        f" {biblio}/continuity-data//*[self::parent-child/parent or self::document-id]//document-date |"
        f" {biblio}/continuity-data//parent-child/parent//document-date"
    )
    return {
        "titles": len(_texts(root, "//title-of-invention")),
        "abstracts": len(_texts(root, "/*/subdoc-abstract")),
        "claims": len(root.xpath("//subdoc-claims/claim[not(contains(., '(cancel'))]")),
        "paragraphs": sorted(int(one) for one in numbers if one.isdecimal()),
        "inventors": len(root.xpath(f"{biblio}/inventors/*")),
        "applicants": len(_texts(root, f"{biblio}/assignee/organization-name")),
        "citations": Counter(),
        "examiner": 0,
        "ipc": len(_texts(root, "//classification-ipc/*/ipc")),
        "cpc": 0,
        "priorities": len(_texts(root, f"{biblio}/foreign-priority-data/priority-application-number")),
        "family": _first(root, f"{biblio}/domestic-filing-data/application-number").zfill(8),
        "days": [_day(_first(root, f"{biblio}/document-id/document-date")), _day(filed),
                 _earliest(filed, *_texts(root, related))],
    }  # fmt: skip


_NOTHING = {"inventors": 0, "applicants": 0, "citations": Counter(), "examiner": 0, "ipc": 0, "cpc": 0, "priorities": 0}


def _of_tsv(text: str) -> list[dict[str, object]]:
    publications: dict[str, Counter[str]] = {}
    for office, serial, kind, date, _, type_, content in (line.split("\t", 6) for line in text.splitlines()):
        counts = publications.setdefault(f"{office}{serial}{kind}{date}", Counter())
        counts[type_] += len(re.findall("<claim[ >]", content)) if type_ == "CLAIM" else 1
        if type_ == "DESCR":
            counts |= {int(number): 1 for number in re.findall(r'<p [^>]*num="(\d+)"', content)}
    return [
        _NOTHING
        | {
            "titles": counts["TITLE"],
            "abstracts": counts["ABSTR"],
            "claims": counts["CLAIM"],
            "paragraphs": sorted(one for one in counts if isinstance(one, int)),
            "days": [key[-10:].replace("-", ""), "", ""],
        }
        for key, counts in publications.items()
    ]


def _of_json(document) -> list[dict[str, object]]:
    if isinstance(document, list):
        return [_stored(one) for one in document if re.fullmatch(r"US-\d+-[AB]\d?", one["guid"])]
    if "patentBag" in document:
        return [_file_wrapper(one) for one in document["patentBag"] if one.get("earliestPublicationNumber")]
    return [_result(one) for one in document.get("patents") or document["docs"]]


def _stored(one) -> dict[str, object]:
    """A document of Patent Public Search as patent_client stores it, with claims that it has split."""
    document = one["document"]
    texts = [document[name] or "" for name in ("background", "brief", "description")]
    printed = [int(number) for text in texts for number in re.findall(r"^\[(\d{4})\] ", text, re.MULTILINE)]
    cited = {(one["publication_number"], "US", one["cited_by_examiner"]) for one in one["us_references"]}
    cited |= {(re.sub(r"\W", "", one["patent_number"]).removeprefix(one["country_code"]), one["country_code"],
               one["cited_by_examiner"]) for one in one["foreign_references"]}  # fmt: skip
    earlier = [each["filing_date"] for each in one["related_apps"]]
    earlier += [each["app_filing_date"] for each in one["foreign_priority"]]
    filed = one["app_filing_date"] or ""
    return {
        "titles": int(not one["patent_title"].startswith("OCR ")),
        "abstracts": int(bool(document["abstract"])),
        "claims": SCANNED.get(one["guid"])
        or sum("cancel" not in " ".join(each["limitations"]).lower() for each in document["claims"]),
        "paragraphs": printed,
        "inventors": len({each["name"] for each in one["inventors"]}),
        "applicants": len({each["name"] for each in one["applicants"] or one["assignees"]} - {None, "N/A"}),
        "citations": Counter({"": len(cited)} if cited else {}),
        "examiner": sum(by for *_, by in cited),
        "ipc": len(set(one["intl_class_issued"])),
        "cpc": len({each["cpc_class"] + each["cpc_subclass"] for each in one["cpc_inventive"] + one["cpc_additional"]}),
        "priorities": len({each["app_number"] for each in one["foreign_priority"]}),
        "days": [_day(one["publication_date"]), _day(filed), _earliest(filed, *filter(None, earlier))],
    }


def _result(one) -> dict[str, object]:
    """A result of Patent Public Search, as the office or as patent_client writes it."""
    raw = "inventionTitle" in one
    filed = _day((one["applicationFilingDate"] or [""])[0] if raw else one["app_filing_date"])
    cpc = [one[name] or "" for name in ("cpcInventiveFlattened", "cpcAdditionalFlattened")] if raw else []
    cited = set(one.get("urpn") or ())
    return _NOTHING | {
        "titles": 1,
        "abstracts": 0,
        "claims": 0,
        "paragraphs": [],
        "applicants": len(set(one["applicantName" if raw else "applicant_names"] or
                              one["assigneeName" if raw else "assignee_names"] or ())),
        "citations": Counter({"": len(cited)} if cited else {}),
        "ipc": len(set((one["ipcCodeFlattened"] or "").split(";")) - {""}) if raw else len(set(one["ipc_code"])),
        "cpc": len({code for codes in cpc for code in codes.split(";")} - {""}),
        "days": [_day(one["datePublished" if raw else "publication_date"]), filed,
                 _earliest(filed, *(one.get("relatedApplFilingDate") or ()))],
    }  # fmt: skip


def _file_wrapper(one) -> dict[str, object]:
    parents = one.get("continuityBag", {}).get("parentContinuityBag", [])
    return _NOTHING | {
        "titles": 1,
        "abstracts": 0,
        "claims": 0,
        "paragraphs": [],
        "inventors": len(one["inventorBag"]),
        "applicants": 1,
        "cpc": len(set(one["cpcClassificationBag"])),
        "days": [_day(one["earliestPublicationDate"]), _day(one["filingDate"]),
                 _earliest(one["filingDate"], *(each["filingDate"] for each in parents))],
    }  # fmt: skip
