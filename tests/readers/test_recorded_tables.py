"""Real exports, and invented ones of the same forms, read a second way: every field of every record is compared.

The files of ``../shared/data/exports`` are real, with invented words. They are read here with the csv module and
python-calamine, never with the readers of the package. A column that is neither compared nor listed as unused fails.
"""

import csv
import datetime as dt
import re
from dataclasses import dataclass, field

import openpyxl
import pytest
from paths import SHARED
from python_calamine import CalamineWorkbook

from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import recognise

EXPORTS = SHARED / "exports"
EMPTY = ("", "NA", "None")


def rows_of(path, encoding="utf-8-sig", above=0):
    """The header and the rows of a file, as texts and dates."""
    if path.suffix == ".csv":
        text = path.read_bytes().decode(encoding)
        lines = [row for row in csv.reader(re.split(r"(?<=[\r\n])", text.replace("\r\n", "\n"))) if row][above:]
    else:
        lines = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python(skip_empty_area=False)
    header = [str(name).strip() for name in lines[0]]
    rows = [dict(zip(header, row, strict=False)) for row in lines[1:] if any(cell != "" for cell in row)]
    return header, [row for row in rows if len(row) == len(header)]  # the last row of a cut file has fewer


def plain(value):
    if isinstance(value, dt.date):
        return value.isoformat()[:10]
    if isinstance(value, float):
        return str(int(value))
    text = str(value).strip()
    return "" if text in EMPTY else text


def number(text, office="", kind=""):
    """A number without separators and zeros that DOCDB does not write; with a date behind it cut off."""
    text = re.sub(r"(?<=[A-Z\d]) (?:19|20)\d{6}$", "", text.strip())
    bare = office + re.sub(r"[^A-Z\d]", "", text.upper()) + kind
    bare = re.sub(r"^(US20\d\d)0(\d{6})", r"\1\2", bare)
    bare = re.sub(r"^KR10(?=0\d{6}B)", "KR", bare)
    bare = re.sub(r"^JPH0?(?=\d)", "JP", re.sub(r"^(KR20\d\d)0+", r"\1", bare))  # eras are of tests/patents
    return re.sub(r"^([A-Z]{2})0+", r"\1", bare)


def code(text):
    """A symbol without blanks, hyphens and leading zeros of the group."""
    found = re.match(r"([A-HY]\d\d[A-Z])[\s-]*0*(\d*)(/\d+)?", text)
    return "".join(part or "" for part in found.groups()) if found else text


def day(text, form="%Y-%m-%d"):
    return dt.datetime.strptime(text, form).date() if text else None


def numbers(text, mark):
    return [number(one) for one in text.split(mark) if one.strip()]


@dataclass(frozen=True)
class Form:
    """How a file is read the second way: field -> function of a row; the columns that are compared are named in it."""

    fields: dict
    unused: str | tuple = ()
    encoding: str = "utf-8-sig"
    above: int = 0
    columns: set = field(default_factory=set)


def text(name):
    return [name], lambda row: " ".join(plain(row[name]).split())


def dated(name, form="%Y-%m-%d"):
    return [name], lambda row: day(plain(row[name]), form)


def listed(name, mark):
    return [name], lambda row: list(dict.fromkeys(one.strip() for one in plain(row[name]).split(mark) if one.strip()))


def people(name, mark):
    """Names without the country behind them."""
    return [name], lambda row: list(
        dict.fromkeys(
            re.sub(r"\s*\[[A-Z]{2}\]$", "", one.strip()) for one in plain(row[name]).split(mark) if one.strip()
        )
    )


def codes(name, mark):
    return [name], lambda row: list(
        dict.fromkeys(code(one.strip()) for one in plain(row[name]).split(mark) if one.strip())
    )


def related(name, mark):
    return [name], lambda row: sorted(set(numbers(plain(row[name]), mark)))


SEMICOLON = "; "
LENS = {
    "publication_number": (["Publication Number", "Kind"], lambda row: number(row["Publication Number"])),
    "title": text("Title"),
    "applicants": listed("Applicants", ";;"),
    "inventors": listed("Inventors", ";;"),
    "ipc": codes("IPCR Classifications", ";;"),
    "cpc": codes("CPC Classifications", ";;"),
    "n_priorities": (
        ["Priority Numbers"],
        lambda row: len({one.strip() for one in row["Priority Numbers"].split(";;") if one.strip()}),
    ),
    "has_application": (["Application Number"], lambda row: bool(row["Application Number"].strip())),
}
WIPS = {
    "publication_number": (
        ["국가코드", "문헌종류 코드", "공개번호/공표/재공표", "등록번호"],
        lambda row: number(
            row["공개번호/공표/재공표"] or row["등록번호"], row["국가코드"].strip(), row["문헌종류 코드"].strip()
        ),
    ),
    "title": text("발명의 명칭"),
    "abstract": text("요약"),
    "has_claims": (["대표청구항"], lambda row: bool(plain(row["대표청구항"]))),
    "application_date": dated("출원일"),
    "publication_date": dated("공개일"),
    "ipc": codes("Original IPC All", "|"),
    "cpc": codes("Original CPC All[US]", "|"),
    "applicants": listed("출원인", "|"),
    "inventors": listed("발명자/고안자", "|"),
    "has_application": (["출원번호"], lambda row: bool(plain(row["출원번호"]))),
}
WIPS_UNUSED = """DB종류|특허/실용 구분|청구항 수|공고번호|공고일|등록일|Original CPC Main[US]|Original IPC Main|Original US Class Main[US]
Original US Class All[US]|Original FI[JP]|Original Theme Code [JP]|Original F-term[JP]|출원인 국적|출원인 식별기호[JP]|출원인 대표명화 코드
출원인 대표명화 명칭(영문)|출원인 대표명화 명칭(국문)[KR]|발명자/고안자 국적|대리인|우선권 국가|우선권 번호|우선권 주장일|국제 출원번호|국제 출원일
국제 공개번호|국제 공개일|지정국 코드|WIPS ON key"""
FORMS = {
    "vantagepoint-synbio.xlsx": Form(
        {
            "publication_number": (["publication_number"], lambda row: number(row["publication_number"])),
            "title": (
                ["title_original_english_cleaned", "title_original_cleaned"],
                lambda row: " ".join((plain(row["title_original_english_cleaned"]) or plain(row["title_original_cleaned"])).split()),
            ),
            "abstract": text("abstract"),
            "has_claims": (["claims_first"], lambda row: bool(plain(row["claims_first"]))),
            "application_date": dated("application_dates"),
            "publication_date": dated("publication_date"),
            "priority_date": dated("priority_date_earliest"),
            "ipc": codes("international_classifications_codes", SEMICOLON),
            "cpc": codes("cpc_codes", SEMICOLON),
            "applicants": listed("patent_assignees_cleaned", SEMICOLON),
            "inventors": listed("inventors_original", SEMICOLON),
            "cited": related("cited_patent_numbers", SEMICOLON),
            "citing": related("citing_patent_numbers", SEMICOLON),
            "members": related("inpadoc_family_member_numbers", SEMICOLON),
            "n_priorities": (["priority_numbers"], lambda row: len(set(filter(None, plain(row["priority_numbers"]).split("; "))))),
            "has_application": (["application_numbers"], lambda row: bool(plain(row["application_numbers"]))),
        },
        "REST",
    ),
    "dwpi-landscape.xlsx": Form(
        {
            "publication_number": (["Basic Patent Number"], lambda row: number(row["Basic Patent Number"])),
            "title": text("DWPI Title"),
            "applicants": listed("Standardized Assignee", ";"),
            "inventors": listed("Inventors", ";"),
            "priority_date": dated("Priority Year (earliest)", "%Y"),
        },
        "REST",
    ),
    "lens-2015-mac-windows1252.csv": Form(
        LENS | {"publication_date": dated("Publication Date", "%d/%m/%y"), "application_date": dated("Application Date", "%d/%m/%y")},
        "#|Jurisdiction|Publication Year|URL|Type|Full Text|Cited Count|Simple Family Size|Extended Family Size|Sequence Count|US Classifications|PubMed Id(s)|DOI(s)|Non-Patent Citations",
        "cp1252",
    ),
    "lens-2019.csv": Form(
        LENS | {"publication_date": dated("Publication Date"), "application_date": dated("Application Date"), "priority_date": dated("Earliest Priority Date")},
        "#|Jurisdiction|Lens ID|Publication Year|Owners (US)|URL|Type|Has Full Text|Cites Patent Count|Cited by Patent Count|Simple Family Size|Extended Family Size|Sequence Count|US Classifications"
        "|NPL Citation Count|NPL Resolved Citation Count|NPL Resolved Lens ID(s)|NPL Resolved External Id(s)|NPL Citations",
    ),
    "lens-cut-last-row.csv": Form(
        LENS | {
            "publication_number": (["Display Key", "Kind"], lambda row: number(row["Display Key"])),
            "abstract": text("Abstract"),
            "publication_date": dated("Publication Date"),
            "application_date": dated("Application Date"),
            "priority_date": dated("Earliest Priority Date"),
        },
        "#|Jurisdiction|Lens ID|Publication Year|Owners|URL|Document Type|Has Full Text|Cites Patent Count|Cited by Patent Count|Simple Family Size|Simple Family Members"
        "|Simple Family Member Jurisdictions|Extended Family Size|Extended Family Members|Extended Family Member Jurisdictions|Sequence Count|US Classifications|NPL Citation Count"
        "|NPL Resolved Citation Count|NPL Resolved Lens ID(s)|NPL Resolved External ID(s)|NPL Citations|Legal Status",
    ),
    "patentscope-windows1252.csv": Form(
        {
            "publication_number": (["Publication Number"], lambda row: number(row["Publication Number"])),
            "title": text("Title"),
            "publication_date": dated("Publication Date", "%d.%m.%Y"),
            "priority_date": (["Priority Data"], lambda row: min(priorities(row["Priority Data"]), default=None)),
            "ipc": codes("IPC", ";"),
            "applicants": listed("Applicants", ";"),
            "inventors": listed("Inventors", ";"),
        },
        "FP Image",
        "cp1252",
    ),
    "google-patents.csv": Form(
        {
            "publication_number": (["id"], lambda row: number(row["id"])),
            "title": text("title"),
            "applicants": listed("assignee", ", "),
            "inventors": listed("inventor/author", ", "),
            "priority_date": dated("priority date"),
            "application_date": dated("filing/creation date"),
            "publication_date": dated("publication date"),
        },
        "grant date|result link|representative figure link",
        above=1,
    ),
    "ops-monitor.csv": Form(
        {
            "publication_number": (["patent_number"], lambda row: number(row["patent_number"])),
            "title": text("title"),
            "abstract": text("abstract"),
            "applicants": people("assignee", ";"),
            "inventors": people("inventors", ";"),
            "application_date": dated("filing_date"),
            "publication_date": dated("pub_date"),
            "ipc": codes("ipc_codes", ";"),
        },
        "score|raw_score|lens_id|year|status|jurisdiction|patent_url|google_url|domain|matched_tags|must_match|citations|source|fetch_date",
    ),
    "wips-on-us.xls": Form(WIPS, WIPS_UNUSED),
    "wips-on-kr.xls": Form(WIPS, WIPS_UNUSED),
}  # fmt: skip


def priorities(value):
    """The dates within a priority (``[PA 2009 00612 14.05.2009 DK]``)."""
    days = [day(one, "%d.%m.%Y") for one in re.findall(r"(?<=\s)\d\d\.\d\d\.\d{4}(?=[\s\]])", value)]
    return days + [day(one) for one in re.findall(r"\d{4}-\d\d-\d\d(?=T)", value)]


def read(path):
    """The records of the package, in the words of a form."""
    items = list(recognise(path).read(path))
    edges = [(one.citing, one.cited) for one in items if isinstance(one, Citation)]
    related_to = [one for one in items if isinstance(one, Relation)]
    found = {}
    for one in (item for item in items if isinstance(item, Patent)):
        mine = one.publication_number
        found[number(mine)] = {
            **{name: getattr(one, name) for name in ("application_date", "publication_date", "priority_date")},
            **{name: " ".join(getattr(one, name).split()) for name in ("title", "abstract")},
            **{name: list(getattr(one, name)) for name in ("applicants", "inventors")},
            **{name: list(dict.fromkeys(map(code, getattr(one, name)))) for name in ("ipc", "cpc")},
            "publication_number": number(mine),
            "has_claims": bool(one.claims),
            "has_application": bool(one.application_number),
            "cited": sorted({number(cited) for citing, cited in edges if citing == mine}),
            "citing": sorted({number(citing) for citing, cited in edges if cited == mine}),
            "members": sorted(
                {number(mine), *(number(r.related) for r in related_to if r.number == mine and r.kind == "member")}
            ),
            "n_priorities": sum(r.number == mine and r.kind == "priority" for r in related_to),
        }
    return found


def compare(path, form):
    """Compare every field of every record; return the numbers of rows, records and equal fields, and the differences."""
    header, rows = rows_of(path, form.encoding, form.above)
    used = {name for names, _ in form.fields.values() for name in names}
    unused = set(re.split(r"[|\n]", form.unused)) if form.unused != "REST" else set(header) - used
    assert {name for name in header if name} == used | unused, set(header) ^ (used | unused)
    found, equal, wrong = read(path), 0, []
    for row in rows:
        expected = {ours: value(row) for ours, (_, value) in form.fields.items()}
        mine = found.get(expected["publication_number"])
        for ours, value in expected.items():
            got = mine and mine[ours]
            if ours == "members":
                value = sorted({expected["publication_number"], *value})
            equal += got == value
            if got != value:
                wrong.append((expected["publication_number"], ours, got, value))
    return len(rows), len(found), equal, wrong


SLOW = {"vantagepoint-synbio.xlsx", "wips-on-us.xls", "wips-on-kr.xls", "lens-2019.csv"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in FORMS])
def test_every_field_of_a_real_export_is_read(name, compared):
    if not EXPORTS.is_dir():
        pytest.skip("no ../shared/data/exports")
    _, records, equal, wrong = compare(EXPORTS / name, FORMS[name])
    compared(f"exports/{name}", records, equal + len(wrong), equal)
    assert not wrong, wrong[:5]


INVENTED = {
    "vantagepoint-synbio.xlsx": {
        "publication_number": ("EP3000000A1", "US9000000B2"),
        "publication_country": ("EP", "US"),
        "publication_date": ("2018-01-03", "2015-04-07"),
        "application_numbers": ("EP2016150000A", "US2013123456A"),
        "application_countries": ("EP", "US"),
        "application_dates": ("2016-02-01", "2013-05-06"),
        "priority_date_earliest": ("2015-02-02", "2012-05-06"),
        "priority_dates": ("2015-02-02; 2016-02-01", "2012-05-06"),
        "priority_numbers": ("DE2015102000A; EP2016150000A", "US2012600000P"),
        "cited_patent_count": (2, 0),
        "cited_patent_numbers": ("US9000000B2; EP1000000A1", "NA"),
        "citing_patent_numbers": ("NA", "EP3000000A1"),
        "citing_first_assignees_cleaned": ("NA", "ACME"),
        "inpadoc_family_member_numbers": ("DE102015102000A1; EP3000000A1", "US9000000B2"),
        "inpadoc_first_family_member_number": ("DE102015102000A1", "US9000000B2"),
        "international_classifications_codes": ("F04B-0001/00; F04B-0053/10", "F04D-0029/00"),
        "international_classifications_group_codes": ("F04B-0001; F04B-0053", "F04D-0029"),
        "cpc_codes": ("F04B1/00; F04B53/10", "F04D29/00"),
        "cpc_full_names": ("F04B1/00: pumps", "F04D29/00: details"),
        "patent_assignees_cleaned": ("ACME", "DOE LTD; ROE INC"),
        "inventors_original": ("Lee, Ann; Ray, Bo", "Doe, J."),
        "inventors_with_address": ("Lee, Ann, Ulm, DE; Ray, Bo, Ulm, DE", "Doe, J., Reno, NV, US"),
        "title_original_cleaned": ("Pumpe | Pump", "Rotor"),
        "title_original_english_cleaned": ("Pump", "NA"),
        "abstract": ("A pump with a valve that is closed by a spring.", "A rotor that is held in a housing of steel."),
        "claims_first": ("1. A pump comprising a valve and a spring.", "1. A rotor in a housing."),
    },
    "lens-2015-mac-windows1252.csv": {
        "#": ("1", "2"),
        "Jurisdiction": ("US", "EP"),
        "Kind": ("A1", "B1"),
        "Publication Number": ("US 2013/0100000 A1", "EP 2000000 B1"),
        "Publication Date": ("25/04/13", "02/05/12"),
        "Publication Year": ("2013", "2012"),
        "Application Number": ("US 201213600000 A", "EP 08150000 A"),
        "Application Date": ("22/10/12", "01/02/08"),
        "Priority Numbers": ("US 201161500000 P 20111024;;US 201213600000 A 20121022", "EP 08150000 A 20080201"),
        "Title": ("Pump for Müller", "Valve"),
        "Applicants": ("ACME; PUMPS INC", "DOE LTD;;ROE INC"),
        "Inventors": ("LEE ANN;;RAY BO", "DOE J"),
        "CPC Classifications": ("F04B1/00;;F04B53/10", "F16K1/00"),
        "IPCR Classifications": ("F04B1/00", "F16K1/00;;F16K3/02"),
        "US Classifications": ("417/53", ""),
        "Non-Patent Citations": ("Smith, J., Journal of Pumps, vol. 12, pp. 34-56, 2010, which is on pumps and on the valves of pumps and so on.", ""),
    },
    "patentscope-windows1252.csv": {
        "Publication Number": ("WO2010100000", "EP2600000"),
        "Publication Date": ("19.11.2010", "02.01.2014"),
        "Title": ("PUMP", "Valve for Øre"),
        "Priority Data": ("[PA 2009 00600 14.05.2009 DK, 200900700 2009-03-01T23:59:59.000Z DK]", "NA"),
        "IPC": ("F04B 1/00;F04B 53/10", "F16K 1/00"),
        "Applicants": ("ACME;DOE LTD", "NA"),
        "Inventors": ("LEE, Ann;RAY, Bo", "NA"),
    },
    "wips-on-kr.xls": {
        "국가코드": ("KR ", "KR "),
        "문헌종류 코드": ("A ", "A "),
        "출원번호": ("2013-7000001", "2013-7000002"),
        "출원일": ("2013-09-03", "2013-08-15"),
        "발명의 명칭": ("펌프(PUMP)", "밸브(VALVE)"),
        "요약": ("펌프에 관한 것이다.", "밸브에 관한 것이다."),
        "대표청구항": ("하우징을 포함하는 펌프.", "스프링을 포함하는 밸브."),
        "공개번호/공표/재공표": ("2015-0040001", "2015-0040002"),
        "공개일": ("2015-04-30", "2015-04-22"),
        "등록번호": ("", ""),
        "Original IPC Main": ("F04B-001/00", "F16K-001/00"),
        "Original IPC All": ("F04B-001/00 | F04B-053/10", "F16K-001/00"),
        "Original CPC All[US]": ("", ""),
        "출원인": ("가나다 | 라마바", "가나다"),
        "출원인 국적": ("KR | KR", "KR"),
        "발명자/고안자": ("김, 일 | 이, 이", "박, 삼"),
        "우선권 국가": ("JP", ""),
        "우선권 번호": ("2012-190000", ""),
        "국제 공개번호": ("WO2014-030000", ""),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", INVENTED)
def test_every_field_of_an_invented_file_of_the_same_form_is_read(tmp_path, name):
    columns = INVENTED[name]
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    path = tmp_path / name.replace(".xls", ".xlsx").replace("xlsxx", "xlsx")
    if path.suffix == ".csv":
        end = "\r" if "mac" in name else "\r\n"
        with path.open("w", newline="", encoding="cp1252") as stream:
            csv.writer(stream, lineterminator=end).writerows(rows)
    else:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    form = FORMS[name]
    _, records, _, wrong = compare(path, Form(form.fields, "REST", form.encoding))
    assert records == 2 and not wrong
