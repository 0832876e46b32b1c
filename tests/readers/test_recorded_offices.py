"""Recorded files of offices and databases, read a second way: XPath that is written here, on a plain parse.

Each record is compared field by field. The small files in ``recorded`` have the forms of the real ones with invented
details; the real ones are in ``../shared/data`` and are skipped without it. An element of a recorded file that the
reader neither reads nor lists as ignored fails the test.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from lxml import etree
from paths import SHARED

from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import READERS, markup, recognise
from patent_mteb.readers.items import Note, Skipped

HERE = Path(__file__).parent / "recorded"
REAL = {
    "jpo": sorted(SHARED.glob("offices/jpo/*.xml")),
    "cnipa": sorted(SHARED.glob("offices/cnipa/cn_new*.xml")),
    "cnipa-st36": sorted(SHARED.glob("offices/cnipa/cn_old*.xml")),
    "st96": sorted(SHARED.glob("offices/st96/*.xml")),
    "patsnap-xml": sorted(SHARED.glob("exports/patsnap-xml/*.xml")),
    "docdb": sorted(SHARED.glob("offices/docdb/*.xml")),
}
CASES = [
    *(pytest.param(path.stem, path, id=f"invented {path.stem}") for path in sorted(HERE.glob("*.xml"))),
    *(pytest.param(form, path, id=path.stem) for form, paths in REAL.items() for path in paths),
]
READER = {"docdb": "ops"}


def plain(path):
    """The root of a file, parsed without the readers: entities that are not XML's are kept as their names."""
    content = re.sub(rb"<!DOCTYPE[^>]*>", b"", path.read_bytes())
    content = re.sub(rb"&(?!#|(?:amp|lt|gt|quot|apos);)", b"&amp;", content)
    return etree.fromstring(content, etree.XMLParser(remove_comments=True, huge_tree=True))


def at(element, path):
    """The elements at a path of local names; ``//`` starts anywhere below."""
    steps = "/".join(
        step if re.search(r"^[.*]?$|::", step) else f"*[local-name()='{step}']" for step in path.split("/")
    )
    return element.xpath(steps if not path.startswith("//") else f".{steps}")


def dense(text):
    """A text without blanks, which the two ways set differently."""
    return "".join(text.split())


def content(element):
    return dense("".join(element.itertext()))


def value(element, path):
    found = at(element, path)
    return " ".join("".join(found[0].itertext()).split()) if found else ""


def names(root, path):
    return [" ".join(" ".join(one.itertext()).split()) for one in at(root, path)]


def iso(text):
    return text if "-" in text or not text else f"{text[:4]}-{text[4:6]}-{text[6:]}"


def symbol(text):
    one = re.match(r"([A-HY]\d\d[A-Z])\s*(\d+)/(\d+)", text)
    return f"{one[1]}{one[2]}/{one[3]}"


def of_jpo(root):
    biblio = at(root, "bibliographic-data")[0]
    reference = "document-id/{}".format
    cited = {value(one, "text") for one in at(at(root, "description")[0], "//patcit")}
    return {
        "number": f"JP{value(biblio, 'publication-reference/' + reference('doc-number'))}{root.get('kind-of-st16')}",
        "date": iso(value(biblio, "publication-reference/document-id/date")),
        "filed": iso(value(biblio, "application-reference/document-id/date")),
        "application": value(biblio, "application-reference/document-id/doc-number"),
        "title": value(biblio, "invention-title"),
        "abstract": content(at(root, "abstract")[0]),
        "ipc": [symbol(value(one, ".")) for one in at(biblio, "classification-ipc/*")[1:]],
        "inventors": names(biblio, "parties/inventors/inventor/addressbook/name"),
        "applicants": names(biblio, "//applicant/addressbook[1]/name") or names(biblio, "//applicant/addressbook/name"),
        "claims": [(int(one.get("num")), content(one)) for one in at(root, "claims/claim")],
        "paragraphs": [content(one) for one in at(at(root, "description")[0], "//p")],
        "numbers": [int(one.get("num")) for one in at(at(root, "description")[0], "//p") if content(one)],
        "priorities": len(at(biblio, "priority-claims/priority-claim")),
        "cited": len(cited),
    }


def claims_without_numbers(claims):
    """Claims of CNIPA print their number before the text."""
    return [(number, re.sub(rf"^{number}[.．、]", "", text)) for number, text in claims]


def of_cnipa(root):
    biblio = at(root, "BibliographicData")[0]
    published = at(biblio, "PublicationReference")[0]
    original = [one for one in at(biblio, "PriorityDetails/Priority") if one.get("dataFormat") == "original"]
    paragraphs = list(at(at(root, "Description")[0], "//Paragraphs"))
    claims = [(int(one.get("num")), content(one)) for one in at(root, "Claims/Claim")]
    return {
        "number": "CN" + value(published, "DocumentID/DocNumber") + value(published, "DocumentID/Kind"),
        "date": iso(value(published, "DocumentID/Date")),
        "filed": iso(value(biblio, "ApplicationReference/DocumentID/Date")),
        "application": value(biblio, "ApplicationReference/DocumentID/DocNumber").split(".")[0],
        "title": value(biblio, "InventionTitle"),
        "abstract": content(at(root, "Abstract")[0]),
        "ipc": [symbol(value(one, "Text")) for one in at(biblio, "ClassificationIPCRDetails/ClassificationIPCR")],
        "inventors": names(biblio, "//Inventor/AddressBook/Name"),
        "applicants": names(biblio, "//Applicant/AddressBook/Name"),
        "claims": claims_without_numbers(claims),
        "paragraphs": [content(one) for one in paragraphs],
        "numbers": [int(one.get("num").lstrip("n")) for one in paragraphs if one.get("num")],
        "priorities": len(original),
        "cited": len(at(biblio, "ReferencesCited/Citation/ApplicationCitation")),
    }


def of_cnipa_st36(root):
    biblio = at(root, "cn-bibliographic-data")[0]
    published = at(biblio, "cn-publication-reference/document-id")[0]
    paragraphs = at(root, "application-body/description/p")
    claims = [(int(one.get("num")), content(one)) for one in at(root, "application-body/claims/claim")]
    return {
        "number": "CN" + value(published, "doc-number") + value(published, "kind"),
        "date": iso(value(published, "date")),
        "filed": iso(value(biblio, "application-reference/document-id/date")),
        "application": value(biblio, "application-reference/document-id/doc-number").split(".")[0],
        "title": value(biblio, "invention-title"),
        "abstract": content(at(biblio, "abstract")[0]),
        "ipc": [symbol(value(one, ".")) for one in at(biblio, "classifications-ipcr/classification-ipcr/text")],
        "inventors": names(biblio, "//cn-inventor/name"),
        "applicants": names(biblio, "//cn-applicant/addressbook/name"),
        "claims": claims_without_numbers(claims),
        "paragraphs": [content(one) for one in paragraphs],
        "numbers": [int(one.get("num")) for one in paragraphs if content(one)],  # others are images
        "priorities": 0,
        "cited": 0,
    }


def of_st96(root):
    biblio = at(root, "BibliographicData")[0]
    published = at(biblio, "PatentPublicationIdentification")[0]
    description = at(root, "Description")[0]
    paragraphs = list(description.iter("{*}P", "{*}Heading"))
    parts = ("Class", "Subclass", "MainGroup", "Subgroup")

    def symbols(path, section):
        found = ([value(one, section), *(value(one, part) for part in parts)] for one in at(biblio, path))
        return [f"{''.join(one[:3])}{one[3]}/{one[4]}" for one in found]

    return {
        "number": value(published, "IPOfficeCode")
        + value(published, "PublicationNumber").lstrip("0")
        + value(published, "PatentDocumentKindCode"),
        "date": value(published, "PublicationDate"),
        "filed": value(biblio, "ApplicationIdentification/FilingDate"),
        "application": value(biblio, "ApplicationIdentification/ApplicationNumber/ApplicationNumberText"),
        "title": value(biblio, "InventionTitleBag/InventionTitle"),
        "abstract": content(at(root, "Abstract")[0]),
        "ipc": symbols("PatentClassificationBag/IPCRClassificationBag/IPCRClassification", "Section"),
        "cpc": symbols("PatentClassificationBag/CPCClassificationBag/*/CPCClassification", "CPCSection"),
        "inventors": names(biblio, "PartyBag/InventorBag/Inventor/PublicationContact/Name"),
        "applicants": names(biblio, "PartyBag/ApplicantBag/Applicant/PublicationContact/Name"),
        "claims": [
            (number := int(value(one, "ClaimNumber")), content(at(one, "ClaimText")[0]).removeprefix(f"{number}."))
            for one in at(root, "Claims/Claim")
        ],
        "depends": [
            tuple(int(ref.xpath("string(@*[local-name()='idrefs'])")[4:]) for ref in at(one, "//ClaimReference"))
            for one in at(root, "Claims/Claim")
        ],
        "paragraphs": [content(one) for one in paragraphs],
        "numbers": [int(number) for one in paragraphs if (number := one.xpath("string(@*[local-name()='pNumber'])"))],
        "priorities": len(at(biblio, "PriorityClaimBag/PriorityClaim")),
        "cited": len(at(biblio, "ReferenceCitationBag/ReferenceCitation/PatentCitation")),
        "other literature": len(at(biblio, "ReferenceCitationBag/ReferenceCitation/NPLCitation")),
    }


def of_marec(root):
    biblio = at(root, "bibliographic-data")[0]
    technical = at(biblio, "technical-data")[0]
    english = next(one for one in at(root, "claims") if one.get("lang") == "EN")
    return {
        "number": root.get("country") + root.get("doc-number") + root.get("kind"),
        "date": iso(root.get("date")),
        "filed": iso(value(biblio, "application-reference/document-id/date")),
        "application": value(biblio, "application-reference/document-id/doc-number"),
        "family": root.get("family-id"),
        "title": next(value(one, ".") for one in at(technical, "invention-title") if one.get("lang") == "EN"),
        "abstract": "",
        "ipc": [symbol(value(one, ".")) for one in at(technical, "classification-ipc/*")[1:]],
        "inventors": names(biblio, "parties/inventors/inventor/addressbook/last-name"),
        "applicants": names(biblio, "parties/applicants/applicant/addressbook/last-name")[1:],
        "claims": [(int(one.get("num")), content(one).partition(".")[2]) for one in at(english, "claim")],
        "paragraphs": [content(one) for one in at(root, "description/p")] + ["TechnischesGebiet"],
        "numbers": [int(one.get("num")) for one in at(root, "description/p")],
        "priorities": len(at(biblio, "priority-claims/priority-claim")),
        "citations": [
            (value(one, "document-id/country") + value(one, "document-id/doc-number") + value(one, "document-id/kind"),
             one.xpath("string(.//@category)"), "", 0, "")
            for one in at(technical, "citations/patent-citations/patcit")
        ],
    }  # fmt: skip


def of_patsnap(root):
    cells = {one.get("name"): " ".join((one.text or "").split()) for one in root.iter("str")}

    def listed(name):
        return [text.strip() for text in cells.get(name, "").split("|") if text.strip()]

    number = cells["Patent Number"]
    if number[-1].isdigit() and not re.search(r"[A-Z]\d$", number):
        number += cells["Kind Code"]
    us = re.fullmatch(r"US(20\d\d)0(\d{6})(A\d)", number)  # US20030071122A1 is US2003071122A1
    return {
        "number": f"US{us[1]}{us[2]}{us[3]}" if us else number,
        "date": cells["Publication Date"],
        "filed": cells["Application Date"],
        # EP20110765643 is EP11765643, the form of DOCDB; EP1981304493 stays, its form is unclear.
        "application": re.sub(r"^20(\d\d)0(\d{6})$", r"\1\2", re.sub(r"\D", "", cells["Application Number"])),
        "title": (listed("Title") or [""])[0],
        "abstract": dense((listed("Abstract") or [""])[0]),
        "ipc": [symbol(text) for text in listed("All IPC")],
        "inventors": listed("Inventor(s)"),
        "applicants": list(dict.fromkeys(listed("Assignee(s)"))),
        "claims": [],
        "paragraphs": [],
        "numbers": [],
        "earliest": min([*listed("Priority Date"), cells["Application Date"]]),
        "cited": len(set(listed("Cites"))),
    }


def of_docdb(root):
    document = at(root, "exchange-document")[0]
    biblio = at(document, "bibliographic-data")[0]
    docdb = next(one for one in at(biblio, "application-reference") if one.get("data-format") == "docdb")
    titles = {one.get("lang"): " ".join("".join(one.itertext()).split()) for one in at(biblio, "invention-title")}
    abstracts = {one.get("lang"): content(one) for one in at(document, "abstract")}
    citations = []
    for one in at(biblio, "references-cited/citation"):
        for patent in at(one, "patcit/document-id"):
            number = value(patent, "country") + value(patent, "doc-number") + value(patent, "kind")
            pairs = [
                (value(category, "."), value(category, "following-sibling::*[1]"))
                for category in at(one, "rel-passage/category")
            ]
            for pair in pairs or [("", "")]:
                citations.append((number, *pair, len(at(one, "rel-passage/passage")), one.get("cited-date") or ""))

    def people(role):
        found = [one for one in at(biblio, f"parties/{role}s/{role}") if one.get("data-format") == "docdb"]
        return [value(one, f"{role}-name/name") for one in found]

    return {
        "number": document.get("country") + document.get("doc-number") + document.get("kind"),
        "date": iso(document.get("date-publ")),
        "filed": iso(value(docdb, "document-id/date")),
        "family": document.get("family-id"),
        "title": titles["en"],
        "abstract": abstracts["en"],
        "ipc": [symbol(value(one, "text")) for one in at(biblio, "classifications-ipcr/classification-ipcr")],
        "cpc": list(
            dict.fromkeys(
                symbol(value(one, "classification-symbol"))
                for one in at(biblio, "patent-classifications/patent-classification")
                if at(one, "classification-scheme")[0].get("scheme").startswith("CPC")
            )
        ),
        "inventors": people("inventor"),
        "applicants": people("applicant"),
        "claims": [],
        "paragraphs": [],
        "numbers": [],
        "citations": sorted(citations),
        "other literature": len(at(biblio, "references-cited/citation/nplcit")),
        "combinations": len(at(biblio, "patent-classifications/combination-set")),
    }


SECOND_WAY = {
    "jpo": of_jpo,
    "cnipa": of_cnipa,
    "cnipa-st36": of_cnipa_st36,
    "st96": of_st96,
    "marec": of_marec,
    "patsnap-xml": of_patsnap,
    "docdb": of_docdb,
}


def in_record(items, expected):
    """The fields of the only record of a file, in the form of the second way."""
    (patent,) = (one for one in items if isinstance(one, Patent))
    cited = [one for one in items if isinstance(one, Citation)]
    relations = [one for one in items if isinstance(one, Relation)]
    literature = [one for one in items if isinstance(one, Skipped) and "other literature" in one.reason]
    lines = [dense(line) for line in patent.description.lines()]
    every = {
        "number": patent.publication_number,
        "date": str(patent.publication_date or ""),
        "filed": str(patent.application_date or ""),
        "application": re.sub(r"^[A-Z]+", "", patent.application_number),
        "family": patent.family_id,
        "title": patent.title,
        "abstract": dense(patent.abstract),
        "ipc": list(patent.ipc),
        "cpc": list(patent.cpc),
        "inventors": list(patent.inventors),
        "applicants": list(patent.applicants),
        "claims": [(one.number, dense(one.text)) for one in patent.claims],
        "depends": [one.depends_on for one in patent.claims],
        "paragraphs": lines,
        "numbers": [number for number in patent.paragraphs if number],
        "priorities": sum(one.kind == "priority" for one in relations),
        "earliest": str(patent.priority_date),
        "cited": len(cited),
        "citations": sorted(
            (one.cited, one.category, one.claims, len(one.passages), (one.date and f"{one.date:%Y%m%d}") or "")
            for one in cited
        ),
        "other literature": len(literature),
        "combinations": sum(isinstance(one, Note) and "combination set" in one.what for one in items),
    }
    return {field: every[field] for field in expected}


def written_claims(text):
    """The claims of a search report, such as ``1-3,7``."""
    ranges = (one.partition("-") for one in text.split(",") if one)
    return tuple(number for first, _, last in ranges for number in range(int(first), int(last or first) + 1))


@pytest.mark.parametrize(("form", "path"), CASES)
def test_every_field_of_a_recorded_file_is_the_one_of_a_second_reading(form, path, compared):
    reader = recognise(path)
    assert reader.name == READER.get(form, form)
    expected = SECOND_WAY[form](plain(path))
    found = in_record(list(reader.read(path)), expected)
    if "citations" in expected:
        expected["citations"] = sorted(
            (number, category, written_claims(claims), passages, day)
            for number, category, claims, passages, day in expected["citations"]
        )
    expected["paragraphs"], found["paragraphs"] = (sorted(filter(None, one["paragraphs"])) for one in (expected, found))
    expected["applicants"] = list(dict.fromkeys(expected["applicants"]))
    expected["ipc"] = list(dict.fromkeys(expected["ipc"]))
    different = {name: (found[name], expected[name]) for name in expected if found[name] != expected[name]}
    if path.is_relative_to(SHARED):
        compared(str(path.relative_to(SHARED)), 1, len(expected), len(expected) - len(different))
    assert not different
    assert expected["number"] and expected["date"]


def covered(form):
    """The paths that a format reads or ignores, without alternatives and conditions."""
    fields = [form[name] for name in form if (isinstance(form[name], str) and "/" in form[name]) or name == "abstract"]
    inner = ("country", "number", "kind", "date")
    paths = {
        path.strip()
        for field in [*fields, *(form[name] for name in form if name in ("title", "description", "claim"))]
        for one in str(field).split(" | ")
        for path in one.split(" + ")
    }
    whole = [one for one in paths if not any(form.get(name) == one for name in IDENTIFIED)]
    for name in IDENTIFIED:
        for path in form.get(name, "").replace(" + ", " | ").split(" | "):
            parts = [part for key in inner for part in form.get(key, "").split(" | ") if part]
            whole += [f"{path}/{part}" for part in parts if path]
    return {re.sub(r"\[.*?\]", "", path) for path in [*whole, *form["ignored"]]}


IDENTIFIED = ("publication", "application", "priority", "parent", "member", "division")


@pytest.mark.parametrize(("form", "path"), [case for case in CASES if case.values[0] in markup.FORMS])
def test_each_element_of_a_recorded_file_is_read_or_listed_as_ignored(form, path):
    known = covered(markup.FORMS[form])
    unknown = Counter()

    def walk(element, above):
        for one in element.iterchildren("{*}*"):
            here = f"{above}/{etree.QName(one).localname}".lstrip("/")
            if here in known:
                continue
            if not any(other.startswith(f"{here}/") for other in known):
                unknown[here] += 1
                continue
            walk(one, here)

    walk(plain(path), "")
    assert not unknown


def test_each_format_has_a_recorded_form_and_is_listed():
    assert {path.stem for path in HERE.glob("*.xml")} == set(SECOND_WAY)
    assert set(markup.FORMS) <= READERS.keys()
    assert set(markup.FORMS) <= set(SECOND_WAY)


def test_the_page_of_the_readers_names_each_source():
    page = (Path(__file__).parents[2] / "docs" / "readers.md").read_text("utf-8")
    assert [name for name in READERS if f"`{name}`" not in page] == []
