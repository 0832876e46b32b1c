"""One small file writer for each source, for documents that a test then breaks."""

from __future__ import annotations

import csv
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

DECLARED = '<?xml version="1.0" encoding="UTF-8"?>\n'
DATE = "20150106"


@dataclass(frozen=True)
class Source:
    """A source of records.

    Attributes:
        form: what its files are: ``xml``, ``docdb`` (one document of many), ``json`` lines, ``csv``, ``tables`` (joined
            ones), ``rows`` of texts.
        file: the name of a file of it.
        document: one document by its serial number; a title, a date and claims without numbers where the source has
            such.
        whole: the file of some documents.
        kind: of its records, which are counted.
    """

    form: str
    file: str
    document: Callable[..., str]
    whole: Callable[[Iterable[str]], str] = "".join
    kind: str = "patents"


def grant(serial: str, title: str = "Pump", date: str = DATE, claims: int = 0) -> str:
    number = f"<document-id><country>US</country><doc-number>{serial}</doc-number><kind>B2</kind><date>{date}</date></document-id>"
    texts = "<claim><claim-text>A pump.</claim-text></claim>" * claims
    biblio = f"<publication-reference>{number}</publication-reference><invention-title>{title}</invention-title>"
    inside = f"<us-bibliographic-data-grant>{biblio}</us-bibliographic-data-grant><claims>{texts}</claims>"
    return f'{DECLARED}<us-patent-grant lang="EN">{inside}</us-patent-grant>\n'


def patdoc(serial: str, title: str = "Pump", date: str = DATE, claims: int = 0) -> str:
    number = f"<B110><DNUM><PDAT>{serial}</PDAT></DNUM></B110><B130><PDAT>B1</PDAT></B130><B140><DATE><PDAT>{date}</PDAT></DATE></B140>"
    texts = "<CLM><PARA><PTEXT><PDAT>A pump.</PDAT></PTEXT></PARA></CLM>" * claims
    biblio = f"<B100>{number}<B190><PDAT>US</PDAT></B190></B100><B500><B540><STEXT><PDAT>{title}</PDAT></STEXT></B540></B500>"
    return f'{DECLARED}<PATDOC DTD="2.4"><SDOBI>{biblio}</SDOBI><SDOCL><CL>{texts}</CL></SDOCL></PATDOC>\n'


def european(serial: str, title: str = "Pump", date: str = DATE, claims: int = 0) -> str:
    texts = "<claim><claim-text>A pump.</claim-text></claim>" * claims
    biblio = f"<SDOBI><B500><B540><B541>en</B541><B542>{title}</B542></B540></B500></SDOBI>"
    names = f'lang="en" country="EP" doc-number="{serial}" kind="B1" date-publ="{date}"'
    return f'{DECLARED}<ep-patent-document {names}>{biblio}<claims lang="en">{texts}</claims></ep-patent-document>\n'


def exchange(serial: str, title: str = "Pump", date: str = DATE) -> str:
    names = f'country="EP" doc-number="{serial}" kind="A1" family-id="7{serial}" date-publ="{date}"'
    biblio = f'<x:bibliographic-data><x:invention-title lang="en">{title}</x:invention-title></x:bibliographic-data>'
    return f"<x:exchange-document {names}>{biblio}</x:exchange-document>\n"


def exchanges(documents: Iterable[str]) -> str:
    return (
        f"{DECLARED}<x:exchange-documents"
        f' xmlns:x="http://www.epo.org/exchange">\n{"".join(documents)}</x:exchange-documents>\n'
    )


def lines(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False) + "\n"


def enriched(serial: str, title: str = "US7000001B2", date: str = DATE) -> str:
    given = {
        "patentApplicationNumber": serial,
        "citedDocumentIdentifier": title,
        "countryCode": "US",
        "officeActionDate": date,
    }
    return lines({**given, "citationCategoryCode": "X", "qualitySummaryText": "AOK", "nplIndicator": False})


def lens(serial: str, title: str = "Pump", date: str = DATE, claims: int = 0) -> str:
    names = {"lens_id": f"1-{serial}", "jurisdiction": "US", "doc_number": serial, "kind": "B2", "date_published": date}
    texts = [{"lang": "en", "claims": [{"claim_text": ["A pump."]}] * claims}]
    return lines({**names, "biblio": {"invention_title": [{"lang": "en", "text": title}]}, "claims": texts})


def hupd(serial: str, title: str = "Pump", date: str = DATE) -> str:
    names = {
        "application_number": f"1{serial}",
        "publication_number": f"US2016{serial}A1" if serial else "",
        "decision": "ACCEPTED",
    }
    return lines({**names, "title": title, "date_published": date, "full_description": "Pumps leak."})


def google(serial: str, title: str = "Pump", date: str = DATE) -> str:
    names = {
        "publication_number": f"US-{serial}-B2" if serial else "",
        "family_id": f"7{serial}",
        "publication_date": date,
    }
    texts = {"title_localized": [{"text": title, "language": "en"}], "abstract_localized": [], "claims_localized": []}
    return lines({**names, **texts, "country_code": "US", "kind_code": "B2", "ipc": [], "cpc": [], "citation": []})


def cells(values: Iterable[str], delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerow(values)
    return out.getvalue()


def table(header: str, delimiter: str = ",") -> Callable[[Iterable[str]], str]:
    return lambda documents: cells(header.split(), delimiter) + "".join(documents)


def own(serial: str, title: str = "Pump", date: str = DATE) -> str:
    return cells((f"US{serial}B2" if serial else "", title, date))


def patentsview(serial: str, title: str = "Pump", date: str = DATE) -> str:
    return cells((serial, "utility", date, title, "B2", "0"), "\t")


def patstat(serial: str, title: str = "", date: str = DATE) -> str:
    return cells((serial[-3:] or "9", "EP", serial, "A1", "1", date, title))


def texts(serial: str, title: str = "Pump", date: str = DATE) -> str:
    return f"EP\t{serial}\tB1\t{date}\ten\tTITLE\t{title}\n"


SOURCES = {
    "uspto": Source("xml", "ipg.xml", grant),
    "uspto of 2001": Source("xml", "pg.xml", patdoc),
    "epo": Source("xml", "ep.xml", european),
    "ops": Source("docdb", "docdb.xml", exchange, exchanges),
    "uspto-citations": Source("json", "oa.jsonl", enriched, kind="citations"),
    "lens-json": Source("json", "lens.jsonl", lens),
    "hupd": Source("json", "hupd.jsonl", hupd),
    "bigquery": Source("json", "google.jsonl", google),
    "table": Source("csv", "mine.csv", own, table("publication_number title publication_date")),
    "patentsview": Source(
        "tables",
        "g_patent.tsv",
        patentsview,
        table("patent_id patent_type patent_date patent_title wipo_kind withdrawn", "\t"),
    ),
    "patstat-tables": Source(
        "tables",
        "tls211_part01.csv",
        patstat,
        table("pat_publn_id publn_auth publn_nr publn_kind appln_id publn_date publn_title"),
    ),
    "epo-tsv": Source("rows", "ep.txt", texts),
}
FORMS = {source.form for source in SOURCES.values()}


def zipped(files: Iterable[tuple[str, str | bytes]]) -> bytes:
    with zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            with warnings.catch_warnings(action="ignore"):  # two files of one name
                archive.writestr(name, content)
    return out.getvalue()
