"""A second reading of bulk files of the USPTO and the EPO: XPath and regular expressions on a plain parse.

It shares nothing with the readers. Texts are compared without blanks (:func:`dense`), and numbers in the normal form of
``patents/numbers.py``, which :func:`publication` and :func:`application` state again for the forms of these files.
"""

from __future__ import annotations

import html
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers.items import Note, Skipped

BULK = Path(__file__).resolve().parents[3] / "shared" / "data" / "bulk"
Fields = dict[str, object]
_STRAY = re.compile(rb"<(?![A-Za-z/?!])|<(?=[^<>]*<)")

GREEK = dict(
    zip(re.split(" ", "a b g d e z ee th i k l m n x o p r s t u ph kh ps oh"), "αβγδεζηθικλμνξοπρστυφχψω", strict=True)
)  # ISO 8879 ISOgrk1: &agr; is alpha, &Dgr; is Delta


def raw_documents(path: Path) -> list[bytes]:
    """The documents of a file or of the XML files in a zip file."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            contents = [archive.read(name) for name in archive.namelist() if name.endswith(".xml")]
    else:
        contents = [path.read_bytes()]
    return [part for content in contents for part in re.split(rb"(?=<\?xml )", content) if part.strip()]


def plain(content: bytes) -> etree._Element:
    """The root element without the document type, with named entities as characters and stray & and < escaped."""

    def character(found: re.Match[bytes]) -> bytes:
        name = found[1].decode()
        greek = GREEK.get(name.removesuffix("gr").lower()) if name.endswith("gr") else None
        text = (greek.upper() if name[0].isupper() else greek) if greek else html.unescape(f"&{name};")
        return text.replace("&", "&amp;").encode("ascii", "xmlcharrefreplace")

    content = re.sub(rb"<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>", b"", content.strip(), flags=re.DOTALL)
    content = re.sub(rb"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z0-9]+);", character, content)
    content = re.sub(rb"&(?![A-Za-z0-9]+;|#)", b"&amp;", _STRAY.sub(b"&lt;", content))
    return etree.fromstring(content, etree.XMLParser(huge_tree=True))


def kind_of(content: bytes) -> str:
    """The letter of the kind code of a document of the USPTO, empty for those of others."""
    found = re.search(rb"<us-patent.*?<kind>\s*(\w)|<kind-code>\s*(\w)|<B130>\s*<PDAT>(\w)", content, re.DOTALL)
    return next(filter(None, found.groups())).decode() if found else ""


def kinds(path: Path) -> Counter[bool]:
    """The number of utility patents (True) and of other documents of the USPTO in a file."""
    return Counter(kind in "AB" for kind in map(kind_of, raw_documents(path)) if kind)


def dense(text: str) -> str:
    """A text without blanks, which the two readings set differently, and without invisible characters."""
    return "".join(one for one in text if not one.isspace() and unicodedata.category(one) != "Cf")


def at(element: etree._Element, path: str) -> list[etree._Element]:
    """The elements at a path of local names below an element; ``//`` starts at any depth."""
    steps = [step if step in (".", "*", "..") else f"*[local-name()='{step}']" for step in path.lstrip("/").split("/")]
    return element.xpath(("./" if not path.startswith("//") else ".//") + "/".join(steps))


def words(element: etree._Element, without: str = "") -> str:
    """The text of an element without comments, and without the elements of one name."""
    return " ".join("".join(element.xpath(f".//text()[not(ancestor::*[local-name()='{without}'])]")).split())


def value(element: etree._Element, path: str) -> str:
    return words(found[0]) if (found := at(element, path)) else ""


def day(text: str) -> str:
    """``20000517`` as ``2000-05-17``; the day 00 is the first."""
    digits = re.sub(r"\D", "", text)[:8]
    return f"{digits[:4]}-{digits[4:6]}-{'01' if digits.endswith('00') else digits[6:]}" if digits else ""


def publication(office: str, written: str, kind: str = "") -> str:
    """The normal form of a publication number: office, serial without separators, kind."""
    text = re.sub(rf"^{office or '([A-Z]{2})'}[-/ ]*(?=\d)", "", written)
    groups = re.findall(r"\d+", text)
    digits = "".join(groups)
    if office == "US" and len(digits) == 11 and digits[:2] == "20":  # 2007/0140112
        digits = digits[:4] + digits[5:]
    elif office == "US":
        digits = digits.lstrip("0") if len(groups) < 2 and not digits.startswith("0193250") else digits
        digits = re.sub(r"[^A-Z]", "", text.upper()) + digits  # D, RE, PP
    elif office == "EP":
        digits = digits.zfill(7)
    elif office == "BR":
        digits = re.sub(r"[^A-Z]", "", text) + digits  # MU, PI
    elif office == "WO" and len(digits) != 9:  # of nine digits it is unclear how many are the year
        year = groups[0] if len(groups) > 1 else digits[: 4 if len(digits) > 9 else 2]
        serial = digits[len(year) :]
        digits = (year if len(year) == 4 else f"{19 if year > '77' else 20}{year}") + serial[-6:].zfill(6)
    elif office == "JP" and (
        len(groups) > 1 or (len(digits) in (7, 8) and kind in ("A", "U") and digits[:2] not in ("19", "20"))
    ):
        year = (
            groups[0] if len(groups) > 1 else digits[: 2 if len(digits) == 8 or digits[0] == "0" or kind == "U" else 1]
        )
        serial = digits[len(year) :].lstrip("0")
        if found := re.match(r"[HS]", text):  # the era, then two digits of the year
            year, serial = ("".join(groups)[:2], "".join(groups)[2:].lstrip("0"))
        era = found[0] if found else "H" if int(year) < 12 else "S"
        digits = f"{year}{serial:0>6}" if len(year) == 4 else f"{era}{int(year):02}{serial}"
    elif office == "KR" and len(groups) > 2:
        digits = "".join(groups[1:])
    elif office in ("DE", "FR", "CA", "CN", "GB") or (office == "JP" and (kind or len(digits) != 7)):
        digits = digits.lstrip("0")
    return office + digits + kind


def application(office: str, written: str, date: str = "") -> str:
    """The normal form of an application number. The year of a number that has none, or an imperial one, is its day's."""
    if pct := re.search(r"PCT/?([A-Z]{2})((?:\d\d)?\d\d)/?(\d+)$", written):
        year = pct[2] if len(pct[2]) == 4 else f"{19 if pct[2] > '77' else 20}{pct[2]}"
        return f"WO{year}{pct[1]}{pct[3].lstrip('0'):0>6}"
    bare = re.sub(r"[^A-Z0-9]", "", re.sub(r"\.\d$", "", written).upper().removeprefix(office))
    year, digits = date[:4], re.sub(r"\D", "", bare)
    if office == "US":
        if len(digits) in (11, 12) and digits[:2] in ("19", "20"):  # EPODOC writes the year first
            bare = digits[4:] if len(digits) == 12 else digits[:4] + digits[5:]
        return office + bare
    if office == "JP" and year:
        serial = re.split(r"\D", written)[-1]
        if len(digits) > 9:  # with a year in front
            year, serial = digits[:4], digits[4:]
        elif digits.endswith(year[2:]) and serial == written:  # DOCDB writes the serial and the year
            serial = digits[:-2]
        return f"{office}{year}{serial.lstrip('0'):0>6}"
    if office == "GB" and len(digits) in (9, 11) and digits.startswith(year):
        return f"{office}{year[2:]}{digits[4:].lstrip('0'):0>5}"
    return office + bare


def code(text: str) -> str:
    """An IPC or CPC code: subclass, group without zeros, slash, subgroup; what follows is not of the code."""
    found = re.match(r"\s*\d?([A-HY]\s?\d\d[A-Z])(?:\s*0*(\d+)\s*/\s*(\d+))?", text)
    assert found, text
    return dense(found[1]) + (f"{found[2]}/{found[3]}" if found[2] else "")


_UNIQUE = dict.fromkeys
_REFERS = re.compile(
    r"(?:claims?|Anspr(?:uch|üchen?|uches|uchs)|revendications?)((?:(?:to|through|bis|à|or|oder|ou|and|und|et|,|-|–|claims?)*\d+)+)",
    re.IGNORECASE,
)
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_ALL_BEFORE = re.compile(
    r"(?:preceding|previous|foregoing|above)claims?|(?:vorstehenden|vorhergehenden|vorangegangenen|vorgehenden|voranstehenden)Anspr|"
    r"revendications?(?:précé[dc]entes?)",
    re.IGNORECASE,
)


def referred(text: str, number: int) -> tuple[int, ...]:
    """The claims that a claim names, in English, German and French."""
    text = dense(text)
    found = set(range(1, number)) if _ALL_BEFORE.search(text) else set()
    for ordinals in re.findall(rf"((?:(?:{'|'.join(_ORDINALS)})(?:or)?)+)claim", text):
        found |= {place for place, word in enumerate(_ORDINALS, start=1) if word in ordinals}
    for names in _REFERS.findall(text.replace("claimIw", "claim1w")):  # a scan
        for first, last in re.findall(r"(\d+)(?:(?:to|through|bis|à|-|–)(?:claims?)?(\d+))?", names):
            found |= set(range(int(first), int(last or first) + 1))
    return tuple(sorted(found - {number}))


Claims = list[tuple[int, str, tuple[int, ...]]]


def claims(elements: list[etree._Element], number: str = "num", refers: str = ".//claim-ref/@idref") -> Claims:
    """Number, text and references of claims. Cancelled claims are none. Without markup in a set the words count."""
    found = []
    for place, one in enumerate(elements, start=1):
        text = words(one)
        its = int(re.findall(r"\d+", one.get(number) or str(place))[-1])
        if text and not re.search(r"\(cancel\w*\)\s*\.?$", text):
            found.append((its, re.sub(r"^\d+\s*[.)]+\s+", "", text), [int(ref[-5:]) for ref in one.xpath(refers)]))
    marked = any(refs for *_, refs in found)
    return [
        (its, dense(text), tuple(sorted({*refs} - {its})) if marked else referred(text, its))
        for its, text, refs in found
    ]


def lines(elements: list[etree._Element], number: str = "num", without: str = "") -> list[tuple[int, str]]:
    """Printed number (0 if none) and text of the paragraphs and headings that have a text."""
    found = []
    for one in elements:
        printed = value(one, number).strip("[]") if without else one.get(number, "")
        if text := words(one, without):
            found.append(
                (int(printed) if printed.isdigit() and etree.QName(one).localname in "p paragraph" else 0, dense(text))
            )
    return found


def earliest(*dates: str) -> str:
    return min(filter(None, dates), default="")


def found(items: list[object]) -> dict[str, Fields]:
    """The records of a reader, with the fields of the second reading."""
    fields: dict[str, Fields] = {}
    for one in (item for item in items if isinstance(item, Patent)):
        own = one.publication_number
        texts = [(getattr(one.languages, name), name, getattr(one, name)) for name in ("title", "abstract", "claims")]
        texts += [
            (other.language, name, getattr(other, name))
            for other in one.translations
            for name in ("title", "abstract", "claims")
        ]
        described = {
            "before": f"{one.description.background}\n{one.description.summary}",
            "drawings": one.description.drawings,
            "detailed": one.description.detailed,
        }
        numbers = iter(one.paragraphs or [0] * len(one.description.lines()))
        fields[own] = {
            "title": {lang: text for lang, name, text in texts if name == "title" and text},
            "abstract": {lang: dense(text) for lang, name, text in texts if name == "abstract" and text},
            "claims": {
                lang: [(claim.number, dense(claim.text), claim.depends_on) for claim in text]
                for lang, name, text in texts if name == "claims" and text
            },
            "description": {
                section: [(next(numbers), dense(line)) for line in text.split("\n") if line.strip()]
                for section, text in described.items()
            },
            "translated": {other.language: dense(other.description) for other in one.translations if other.description},
            "dates": [str(date or "") for date in (one.publication_date, one.application_date, one.priority_date)],
            "first office": one.filing_jurisdiction,
            "kind": one.kind,
            "application": one.application_number,
            "family": one.family_id,
            "ipc": list(one.ipc),
            "cpc": list(one.cpc),
            "inventors": list(one.inventors),
            "applicants": list(one.applicants),
            "relations": sorted((item.kind, item.related) for item in items if isinstance(item, Relation) and item.number == own),
            "citations": sorted(
                (item.cited, item.category, item.origin, item.phase, item.office, item.claims, item.passages)
                for item in items if isinstance(item, Citation) and item.citing == own
            ),
            "skipped": Counter(item.reason for item in items if isinstance(item, Skipped) and item.number == own),
            "combinations": sum(item.what == "a combination set of CPC codes, not read" and item.example == own
                                for item in items if isinstance(item, Note)),
        }  # fmt: skip
    return fields


LITERATURE, REPEATED = "a citation of other literature than patents", "a repeated citation"
UNPUBLISHED = "a citation of an application that names no publication"
FURTHER = "a further set of claims in the same language (other contracting states)"


def record(
    number: str, cited: list[tuple[object, ...]], skipped: dict[str, int], **fields: object
) -> tuple[str, Fields]:
    """The number and the fields of a publication: empty ones, distinct citations, counts of what is skipped."""
    counts = Counter({REPEATED: len(cited) - len(set(cited))}) + Counter(skipped)
    empty: Fields = {"translated": {}, "first office": "", "cpc": [], "combinations": 0}
    fields["dates"] = [*fields["dates"][:2], earliest(*fields["dates"][1:])]  # type: ignore[index]
    names = {name: list(_UNIQUE(filter(None, fields[name]))) for name in ("inventors", "applicants", "ipc")}  # type: ignore[call-overload]
    names["cpc"] = list(_UNIQUE(fields.get("cpc", ())))  # type: ignore[call-overload]
    fields["relations"] = sorted({*fields["relations"]} - {("application", "")})  # type: ignore[misc]
    return number, empty | fields | names | {"citations": sorted(set(cited)), "skipped": +counts}


def expected(path: Path) -> Iterator[tuple[str, Fields]]:
    """The number and the fields of each utility patent of a file, a repeated document once."""
    if path.suffix == ".txt":
        yield from _of_tsv(path.read_text("utf-8"))
        return
    for root in map(plain, raw_documents(path)):
        tag = etree.QName(root).localname
        if tag == "world-patent-data":
            yield from (
                exchange(one) for name in ("exchange-document", "fulltext-document") for one in at(root, f"//{name}")
            )
        elif tag in _FORMS:
            number, fields = _FORMS[tag](root)
            if fields["kind"][:1] in ("A", "B"):  # type: ignore[index]
                yield number, fields


_ORIGINS = {"cited by examiner": "examiner", "cited by applicant": "applicant"}
_KINDS = ("continuation", "continuation-in-part", "division", "reissue")
_SECTIONS = {
    "before": "BRFSUM RELAPP GOVINT summary-of-invention cross-reference-to-related-applications background-of-invention"
    " federal-research-statement",
    "drawings": "DRWDESC brief-description-of-drawings",
    "detailed": "DETDESC detailed-description",
}
_SECTION = {name: section for section, names in _SECTIONS.items() for name in names.split()}


def _symbol(one: etree._Element) -> str:
    section, cls, subclass, group, subgroup = (
        value(one, part) for part in ("section", "class", "subclass", "main-group", "subgroup")
    )
    return code(f"{section}{cls}{subclass}{group}/{subgroup}" if group else f"{section}{cls}{subclass}")


def _modern(root: etree._Element) -> tuple[str, Fields]:
    biblio = next(one for one in root if "bibliographic-data" in one.tag)
    published, filed = "publication-reference/document-id/", "application-reference/document-id/"
    own = publication(*(value(biblio, published + name) for name in ("country", "doc-number", "kind")))
    number, applied = application("US", value(biblio, filed + "doc-number")), day(value(biblio, filed + "date"))

    def person(one: etree._Element) -> str:
        names = (value(one, f"//{name}") for name in ("first-name", "middle-name", "last-name"))
        return value(one, "//orgname") or " ".join(filter(None, names))

    def filed_as(kind: str, one: etree._Element) -> tuple[str, str, str]:
        date = day(value(one, "date"))
        return kind, application(value(one, "country"), value(one, "doc-number"), date), date

    related = [filed_as("priority", one) for one in at(biblio, "priority-claims/priority-claim")]
    foreign = sorted((one[2], one[1][:2]) for one in related)
    for one in at(biblio, "us-related-documents/*"):
        kind = one.tag if one.tag in _KINDS else "provisional" if "provisional" in one.tag else "parent"
        related += [filed_as(kind, other) for other in at(one, "relation/parent-doc/document-id")]
        if one.tag == "us-provisional-application":
            related += [filed_as(kind, other) for other in at(one, "document-id")]
    related += [filed_as("parent", one) for one in at(biblio, "pct-or-regional-filing-data/document-id")]
    publications = [
        (kind, publication(*(value(one, name) for name in ("country", "doc-number", "kind"))))
        for kind, path in (
            ("pre-grant", "us-related-documents/related-publication"),
            ("member", "pct-or-regional-publishing-data"),
        )
        for one in at(biblio, f"{path}/document-id")
    ]
    entries = at(biblio, "references-cited/citation") + at(biblio, "us-references-cited/us-citation")
    cited = [
        (publication(*(value(one, f"patcit/document-id/{name}") for name in ("country", "doc-number", "kind"))),
         "", _ORIGINS.get(value(one, "category"), ""), "", "", (), ())
        for one in entries if at(one, "patcit")
    ]  # fmt: skip
    sections: dict[str, list[etree._Element]] = {"before": [], "drawings": [], "detailed": []}
    section = "before"
    for one in root.xpath("description/node()[self::* or self::processing-instruction()]"):
        if not isinstance(one.tag, str):
            section = _SECTION.get(one.target, section)
        else:
            sections["drawings" if one.tag == "description-of-drawings" else section] += (
                list(one) if len(one) and one.tag == "description-of-drawings" else [one]
            )
    parties = at(biblio, "us-parties/us-applicants/us-applicant") or at(biblio, "assignees/assignee")
    inventors = at(biblio, "us-parties/inventors/inventor") or biblio.xpath(
        "parties/applicants/applicant[@app-type='applicant-inventor']"
    )
    old = "classification-ipc/main-classification", "classification-ipc/further-classification"
    return record(
        own,
        cited,
        {LITERATURE: sum(bool(at(one, "nplcit")) for one in entries)},
        kind=value(biblio, published + "kind"),
        title={"en": value(biblio, "invention-title")},
        abstract={"en": dense(value(root, "abstract"))} if value(root, "abstract") else {},
        claims={"en": found} if (found := claims(at(root, "claims/claim"))) else {},
        description={name: lines([one for one in some if isinstance(one.tag, str)]) for name, some in sections.items()},
        dates=[day(value(biblio, published + "date")), applied, *(date for *_, date in related)],
        application=number,
        family=number,
        ipc=[_symbol(one) for one in at(biblio, "classifications-ipcr/classification-ipcr")]
        + [code(words(one)) for path in old for one in at(biblio, path)],
        cpc=[_symbol(one) for one in at(biblio, "classifications-cpc/*/classification-cpc")],
        combinations=len(at(biblio, "//combination-set")),
        inventors=[person(one) for one in inventors],
        applicants=[person(one) for one in parties],
        relations=[("application", number), *(one[:2] for one in related), *publications],
        **{"first office": foreign[0][1] if foreign else ""},
    )


def _patdoc(root: etree._Element) -> tuple[str, Fields]:
    def document(one: etree._Element) -> tuple[str, str, str, str]:
        office, number, kind, date = (value(one, name) for name in ("CTRY", "DNUM", "KIND", "DATE"))
        return office or "US", number, kind, day(date)

    def name(one: etree._Element) -> str:
        return value(one, "//ONM") or " ".join(filter(None, (value(one, "//FNM"), value(one, "//SNM"))))

    def filed_as(kind: str, one: etree._Element) -> tuple[str, str, str]:
        office, number, _, date = document(one)
        return kind, application(office, number, date), date

    number, applied = application("US", value(root, "//B210")), day(value(root, "//B220"))
    related = [
        (
            "priority",
            application(value(one, "B330"), value(one, "B310"), day(value(one, "B320"))),
            day(value(one, "B320")),
        )
        for one in at(root, "//B300")
    ]
    foreign = sorted((one[2], one[1][:2]) for one in related)
    names = {"B620": "division", "B631": "continuation", "B632": "continuation-in-part", "B640": "reissue"}
    for one in at(root, "//B600//PARENT-US/PDOC/DOC") or root.xpath("//B600//PARENT-US/PDOC/DOC"):
        above = [element.tag for element in one.iterancestors()]
        related.append(filed_as(next((names[tag] for tag in above if tag in names), "parent"), one))
    related += [filed_as("provisional", one) for one in at(root, "//B680US/DOC")]
    related += [filed_as("parent", one) for one in at(root, "//B861/DOC")]
    publications = [
        (kind, publication(*document(one)[:3]))
        for kind, path in (("pre-grant", "//B690US/DOC"), ("member", "//B871/DOC"))
        for one in at(root, path)
    ]
    cited = [
        (
            publication(*document(at(one, "PCIT/DOC")[0])[:3]),
            "",
            "examiner" if at(one, "CITED-BY-EXAMINER") else "",
            "",
            "",
            (),
            (),
        )
        for one in at(root, "//B560/B561")
    ]
    sections: dict[str, list[etree._Element]] = {"before": [], "drawings": [], "detailed": []}
    for one in at(root, "SDODE/*"):
        sections[_SECTION[one.tag]] += at(one, "BTEXT/*")
    return record(
        publication("US", value(root, "//B110"), value(root, "//B130")),
        cited,
        {LITERATURE: len(at(root, "//B560/B562"))},
        kind=value(root, "//B130"),
        title={"en": value(root, "//B540")},
        abstract={"en": dense(value(root, "SDOAB"))} if at(root, "SDOAB") else {},
        claims={"en": claims(at(root, "SDOCL/CL/CLM"), "ID", ".//CLREF/@ID")},
        description={section: lines(some) for section, some in sections.items()},
        dates=[day(value(root, "//B140")), applied, *(date for *_, date in related)],
        application=number,
        family=number,
        # Columns without a slash; the last two digits are the subgroup.
        ipc=[f"{text[:4]}{text[4:-2].strip()}/{text[-2:]}" for path in ("B511", "B512") for one in at(root, f"//B510/{path}")
             for text in ["".join(one.itertext()).strip()]],
        inventors=[name(one) for one in at(root, "//B721")],
        applicants=[name(one) for one in at(root, "//B731")],
        relations=[("application", number), *(one[:2] for one in related), *publications],
        **{"first office": foreign[0][1] if foreign else ""},
    )  # fmt: skip


def _application_of_2001(root: etree._Element) -> tuple[str, Fields]:
    biblio = at(root, "subdoc-bibliographic-information")[0]

    def name(one: etree._Element) -> str:
        parts = ("given-name", "middle-name", "family-name", "name-suffix")
        return value(one, "organization-name") or " ".join(filter(None, (value(one, f"name/{part}") for part in parts)))

    number = application("US", value(biblio, "domestic-filing-data/application-number"))
    applied = day(value(biblio, "domestic-filing-data/filing-date"))
    related = [
        ("priority", application(value(one, "country-code"), value(one, "priority-application-number"), date), date)
        for one in at(biblio, "foreign-priority-data")
        for date in [day(value(one, "filing-date"))]
    ]
    foreign = sorted((one[2], one[1][:2]) for one in related)
    names = {"continuation-of": "continuation", "continuation-in-part-of": "continuation-in-part", "division-of": "division",
             "reissue-of": "reissue", "non-provisional-of-provisional": "provisional"}  # fmt: skip
    for one in biblio.xpath(
        "continuity-data//parent/document-id | continuity-data/non-provisional-of-provisional/document-id"
    ):
        kind = next((names[above.tag] for above in one.iterancestors() if above.tag in names), "parent")
        date = day(value(one, "document-date"))
        related.append((kind, application(value(one, "country-code") or "US", value(one, "doc-number"), date), date))
    sections: dict[str, list[etree._Element]] = {"before": [], "drawings": [], "detailed": []}
    for one in at(root, "subdoc-description/*"):
        sections[_SECTION[one.tag]] += one.xpath(".//heading | .//paragraph")
    abstract = " ".join(words(one, "number") for one in at(root, "subdoc-abstract/paragraph"))
    return record(
        publication("US", value(biblio, "document-id/doc-number"), value(biblio, "document-id/kind-code")),
        [],
        {},
        kind=value(biblio, "document-id/kind-code"),
        title={"en": value(biblio, "technical-information/title-of-invention")},
        abstract={"en": dense(abstract)},
        claims={"en": found}
        if (found := claims(at(root, "subdoc-claims/claim"), "id", ".//dependent-claim-reference/@depends_on"))
        else {},
        description={section: lines(some, "number", "number") for section, some in sections.items()},
        dates=[day(value(biblio, "document-id/document-date")), applied, *(date for *_, date in related)],
        application=number,
        family=number,
        ipc=[code(words(one)) for one in at(biblio, "technical-information/classification-ipc/*/ipc")],
        inventors=[name(one) for one in at(biblio, "inventors/*")],
        applicants=[name(one) for one in at(biblio, "assignee")],
        relations=[("application", number), *(one[:2] for one in related)],
        **{"first office": foreign[0][1] if foreign else ""},
    )


def main_language(own: str, languages: list[str]) -> str:
    return next((one for one in ("en", own, *languages) if one in languages), "")


def _named(text: str) -> tuple[str, str, str]:
    """Office, number and kind of ``EP-A1- 0 444 678``, ``US-E- R E36 154`` and ``US5948634A``."""
    found = re.fullmatch(r"([A-Z]{2})-([A-Z]\d?)-?\s*(.+)", text)
    if found:
        return found[1], re.sub(r"(?<=\d) (?=\d)|(?<=R) (?=E)", "", found[3]), found[2]
    found = re.fullmatch(r"([A-Z]{2})(.+?)([A-Z]\d?)?", text)
    assert found, text
    return found[1], found[2], found[3] or ""


def _european(root: etree._Element) -> tuple[str, Fields]:
    biblio = at(root, "SDOBI")[0]
    number, applied = application("EP", value(biblio, "B200/B210")), day(value(biblio, "B200/B220"))
    parts = [at(biblio, f"B300/{path}") for path in ("B310", "B320/date", "B330/ctry")]
    related = [
        ("priority", application(words(office), words(text), day(words(date))), day(words(date)))
        for text, date, office in zip(*parts, strict=True)
    ]
    foreign = sorted((one[2], one[1][:2]) for one in related)
    for kind, path in (("division", "B600/B620/parent/pdoc"), ("parent", "B800/B860/B861")):
        for one in at(biblio, path):
            text, date = value(one, "dnum/anum"), day(value(one, "date"))
            text = (
                application("EP", text)
                if kind == "division"
                else application(
                    "",
                    f"PCT/{text[:2]}{text[2:-6] if len(text) > 11 else text[2:4]}/{text[-6:] if len(text) > 11 else text[4:]}",
                )
            )
            related.append((kind, text, date))
    publications = [
        ("member", publication("WO", value(one, "dnum/pnum").removeprefix("WO")))
        for one in at(biblio, "B800/B870/B871")
    ]
    cited = [
        (publication(*_named(words(one))), "", "examiner", "search", "EP", (), ())
        for one in at(biblio, "B500/B560/B561/text")
    ]
    named = {
        one.get("dnum"): one.get("dnum-type")
        for part in ("description", "ep-reference-list")
        for one in at(root, part)
        for one in at(one, "//patcit")
    }
    cited += [
        (publication(*_named(one)), "", "applicant", "", "", (), ()) for one, type_ in named.items() if type_ != "L"
    ]
    titles = at(biblio, "B500/B540/*")
    descriptions = {one.get("lang"): lines(at(one, "*")) for one in at(root, "description")}
    sets: dict[str, list[etree._Element]] = {}
    for one in at(root, "claims"):
        sets.setdefault(one.get("lang"), at(one, "claim"))
    main = main_language(root.get("lang"), list(descriptions))
    return record(
        publication("EP", root.get("doc-number"), root.get("kind")),
        cited,
        {
            LITERATURE: len(at(biblio, "B500/B560/B562")),
            UNPUBLISHED: sum(type_ == "L" for type_ in named.values()),
            FURTHER: len(at(root, "claims")) - len(sets),
        },
        kind=root.get("kind"),
        title={words(language): words(text) for language, text in zip(titles[::2], titles[1::2], strict=True)},
        abstract={one.get("lang"): text for one in at(root, "abstract") if (text := dense(words(one)))},
        claims={language: claims(some) for language, some in sets.items()},
        description={"": descriptions.get(main, [])},
        translated={
            language: "".join(text for _, text in some) for language, some in descriptions.items() if language != main
        },
        dates=[day(root.get("date-publ")), applied, *(date for *_, date in related)],
        application=number,
        family=number,
        ipc=[code(words(one)) for one in at(biblio, "B500/B510EP/classification-ipcr/text")]
        + [
            code(words(one))
            for one in biblio.xpath("B500/B510/*[self::B511 or self::B512 or self::B513 or self::B514]")
        ],
        cpc=[code(words(one)) for one in at(biblio, "B500/B520EP/classifications-cpc/classification-cpc/text")],
        inventors=[value(one, "snm") for one in at(biblio, "B700/B720/B721")],
        applicants=[value(one, "snm") for path in ("B710/B711", "B730/B731") for one in at(biblio, f"B700/{path}")],
        relations=[("application", number), *(one[:2] for one in related), *publications],
        **{"first office": foreign[0][1] if foreign else ""},
    )


_PHASES = {"national-search-report": "search", "national-examination": "examination"}


def exchange(document: etree._Element) -> tuple[str, Fields]:
    """A document of OPS. Where it has several identifiers, DOCDB's comes first, then EPODOC's."""
    biblio = at(document, "bibliographic-data")[0]

    def identifier(one: etree._Element) -> tuple[str, str, str, str]:
        ids = {other.get("document-id-type") or one.get("data-format"): other for other in at(one, "document-id")}
        best = next(ids[form] for form in ("docdb", "epodoc") if form in ids)
        date = next((text for other in (best, *ids.values()) if (text := value(other, "date"))), "")
        return value(best, "country"), value(best, "doc-number"), value(best, "kind"), day(date)

    def filed_as(one: etree._Element) -> tuple[str, str]:
        office, text, kind, date = identifier(one)
        office = office or text[:2]
        if office == "US" and kind and len(text) < 9 and text.endswith(date[2:4]):  # DOCDB: serial and year
            return f"US{date[:4]}{text[:-2]:0>6}", date
        if office == "WO":  # WO2003US21714
            return application("", re.sub(r"WO(\d{4})([A-Z]{2})(\d+).*", r"PCT/\2\1/\3", text)), date
        return application(office, text, date), date

    def people(role: str) -> list[str]:
        names: dict[str, list[str]] = {}
        for one in at(biblio, f"parties/{role}s/{role}"):
            name = re.sub(r"[\s,]*(?:\[[A-Z]{2}\])?$", "", value(one, f"{role}-name/name"))
            names.setdefault(one.get("data-format"), []).append(name)
        kept: list[str] = []
        for name in names.get("original") or names.get("epodoc") or []:  # two spellings of a name are one
            letters = re.sub(r"\W", "", name).upper()
            if not any(
                letters.startswith(other) or other.startswith(letters)
                for other in (re.sub(r"\W", "", one).upper() for one in kept)
            ):
                kept.append(name)
        return kept

    (office, text, kind, published), applied = (
        identifier(at(biblio, "publication-reference")[0]),
        at(biblio, "application-reference"),
    )
    own = publication(office, text, kind)
    number, filed = filed_as(applied[0]) if applied else ("", "")
    related = [("priority", *filed_as(one)) for one in at(biblio, "priority-claims/priority-claim")]
    foreign = sorted((one[2], one[1][:2]) for one in related)
    cited = []
    for one in at(biblio, "references-cited/citation"):
        phase = _PHASES[one.get("cited-phase")]
        origin = {"examiner": "examiner"}.get(one.get("cited-by"), "")
        category, its_claims = value(one, "category"), value(one, "rel-claims")
        numbers = [
            range(int(first), int(last or first) + 1) for first, last in re.findall(r"(\d+)(?:-(\d+))?", its_claims)
        ]
        passages = tuple(words(passage) for passage in at(one, "rel-passage/passage"))
        cited.append(
            (
                publication(*identifier(at(one, "patcit")[0])[:3]),
                category,
                origin,
                phase,
                office,
                tuple(n for some in numbers for n in some),
                passages,
            )
        )
    written = {
        one.get("lang").lower(): "\n".join("".join(text.itertext()) for text in at(one, "//claim-text"))
        for one in at(document, "claims")
    }
    sets = {}
    for language, text in written.items():
        pieces = re.split(r"^\s*(\d+)\. ", text, flags=re.MULTILINE)[1:]
        sets[language] = [
            (int(n), dense(its), referred(its, int(n))) for n, its in zip(pieces[::2], pieces[1::2], strict=True)
        ]
    paragraphs = [re.fullmatch(r"\[(\d{4})\]\s+(.*)", words(one)) for one in at(document, "description/p")]
    ipc = at(biblio, "classifications-ipcr/classification-ipcr/text") or at(biblio, "classification-ipc/text")
    return record(
        own,
        cited,
        {},
        kind=kind,
        title={one.get("lang"): words(one) for one in at(biblio, "invention-title")},
        abstract={one.get("lang"): dense(words(one)) for one in at(document, "abstract")},
        claims=sets,
        description={"": [(int(one[1]), dense(one[2])) for one in paragraphs if one]},
        dates=[published, filed, *(date for *_, date in related)],
        application=number,
        family=document.get("family-id") or number or own,
        ipc=[code(words(one)) for one in ipc],
        cpc=[
            _symbol(one) for one in at(biblio, "patent-classifications/patent-classification")
            if at(one, "classification-scheme")[0].get("scheme").startswith("CPC")
        ],
        combinations=len(at(biblio, "//combination-set")),
        inventors=people("inventor"),
        applicants=people("applicant"),
        relations=[("application", number), *(one[:2] for one in related)],
        **{"first office": foreign[0][1] if foreign else ""},
    )  # fmt: skip


def _of_tsv(text: str) -> Iterator[tuple[str, Fields]]:
    rows: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
    for office, serial, kind, date, language, type_, content in (line.split("\t", 6) for line in text.splitlines()):
        rows.setdefault((office, serial, kind, date), {}).setdefault(type_, {})[language] = content
    for (office, serial, kind, date), texts in rows.items():
        read = {
            (type_, language): plain(f"<t>{content}</t>".encode())
            for type_, some in texts.items()
            if type_ != "PDFEP"
            for language, content in some.items()
        }
        own = publication(office, serial, kind)
        yield record(
            own,
            [],
            {"a text without a field in records (PDFEP)": len(texts.get("PDFEP", ()))},
            kind=kind,
            title={language: words(one) for (type_, language), one in read.items() if type_ == "TITLE"},
            abstract={language: dense(words(one)) for (type_, language), one in read.items() if type_ == "ABSTR"},
            claims={language: claims(at(one, "claim")) for (type_, language), one in read.items() if type_ == "CLAIM"},
            description={"": [line for (type_, _), one in read.items() if type_ == "DESCR" for line in lines(at(one, "*"))]},
            dates=[date, ""],
            application="", family=own, ipc=[], inventors=[], applicants=[], relations=[],
        )  # fmt: skip


_FORMS = {
    "us-patent-grant": _modern,
    "us-patent-application": _modern,
    "PATDOC": _patdoc,
    "patent-application-publication": _application_of_2001,
    "ep-patent-document": _european,
}
