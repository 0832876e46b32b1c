"""Tables in forms that were found in files of others or written without a look at the readers; all details are invented."""

import csv
import datetime as dt
import io
import json
import zipfile

import openpyxl
import pytest
from openpyxl.styles import Font

from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import recognise
from patent_mteb.readers.sheets import open_sheet
from patent_mteb.readers.tables import preview

DAY = dt.date


def items(path, content):
    """Write rows, text or bytes to a file and return its patents and citations."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows(content)
    found = list(recognise(path).read(path))
    return [one for one in found if isinstance(one, Patent)], [one for one in found if isinstance(one, Citation)]


def table(tmp_path, *rows, name="export.csv"):
    return items(tmp_path / name, rows)


def test_main_and_further_classes_of_two_columns_are_read(tmp_path):
    rows = [["Veröffentlichungsnummer", "Titel", "Hauptklasse IPC", "Nebenklassen"]]
    rows += [["DE102015001234A1", "Pumpe", "F04D 1/00", "F04D 29/22; F01P 5/10"]]
    rows += [["DE102015001235A1", "Ventil", "F16K 1/00", ""]]
    (pump, valve), _ = table(tmp_path, *rows)
    assert (pump.ipc, valve.ipc) == (("F04D1/00", "F04D29/22", "F01P5/10"), ("F16K1/00",))


def test_one_date_column_settles_the_order_of_another(tmp_path):
    rows = [["Publication number", "Filing date", "Publication date"], ["FR3012345A1", "13/06/2014", "01/05/2015"]]
    ((patent,), _) = table(tmp_path, *rows)
    assert patent.publication_date == DAY(2015, 5, 1)
    rows[1][1] = "03/06/2014"
    ((patent,), _) = table(tmp_path, *rows)
    assert patent.publication_date is None, "no column settles it"


def test_a_title_of_several_lines_is_one_line(tmp_path):
    ((patent,), _) = table(tmp_path, ["Publication number", "Title"], ["US9000001B2", "Pump\r\nfor oil"])
    assert patent.title == "Pump for oil"


def test_the_original_title_counts_before_that_of_derwent(tmp_path):
    header = ["Publication Number", "DWPI Title", "Title", "DWPI Abstract", "Abstract"]
    rows = [["US9000001B2", "Pump for oil, has wheel", "Pump", "NOVELTY - A wheel. USE - Oil.", "A pump with a wheel."]]
    ((patent,), _) = table(tmp_path, header, *rows)
    assert (patent.title, patent.abstract) == ("Pump", "A pump with a wheel.")
    ((patent,), _) = table(tmp_path, header[:2], rows[0][:2])
    assert patent.title == "Pump for oil, has wheel"


def test_claims_and_passages_of_a_search_report_are_read_from_their_columns(tmp_path):
    header = ["Publication", "Cited document", "Category", "Relevant to claim", "Relevant passages"]
    rows = [
        ["EP2000002A1", "EP1000000A1", "X", "1-3,5", "page 4, line 7"],
        ["EP2000002A1", "US7123456B2", "Y", "4", ""],
    ]
    _, citations = table(tmp_path, header, *rows)
    assert citations == [
        Citation("EP2000002A1", "EP1000000A1", "X", claims=(1, 2, 3, 5), passages=("page 4, line 7",)),
        Citation("EP2000002A1", "US7123456B2", "Y", claims=(4,)),
    ]


def test_offices_in_brackets_behind_a_class_are_not_classes(tmp_path):
    ((patent,), _) = table(
        tmp_path, ["Publication number", "CPC"], ["US9000001B2", "F03D1/0608 (EP,US)\nF05B2240/30 (EP)"]
    )
    assert patent.cpc == ("F03D1/0608", "F05B2240/30")


def test_the_kind_code_behind_the_check_letter_of_singapore_is_not_a_category(tmp_path):
    rows = [["Publication number", "Citations"], ["SG 10201401234X A", ""], ["EP2000002A1", "SG 11201803052Q A"]]
    patents, citations = table(tmp_path, *rows)
    assert [one.publication_number for one in patents] == ["SG10201401234XA", "EP2000002A1"]
    assert [(one.cited, one.category) for one in citations] == [("SG11201803052QA", "")]


def test_numbers_under_the_names_of_patentsview_are_of_the_united_states(tmp_path):
    header = ["patent_id", "patent_title", "patent_abstract", "patent_date", "num_claims"]
    rows = [["9000001", "Pump", "A pump.", "2015-04-07", "3"], ["D712345", "Bottle", "", "2014-09-02", "1"]]
    patents, _ = table(tmp_path, header, *rows)
    assert [(one.publication_number, one.title) for one in patents] == [("US9000001", "Pump"), ("USD712345", "Bottle")]
    assert (patents[0].abstract, patents[0].publication_date) == ("A pump.", DAY(2015, 4, 7))
    path = tmp_path / "export.csv"
    assert preview(path, recognise(path)).columns[0][-1] == "the map patentsview-columns"


def test_first_and_last_are_a_name(tmp_path):
    rows = [{"publication_number": "US9000001B2", "title": "Pump", "inventors": [{"first": "Ann", "last": "Lee"}]}]
    ((patent,), _) = items(tmp_path / "export.json", json.dumps(rows))
    assert patent.inventors == ("Ann Lee",)


def test_a_table_of_an_old_mac_is_read_in_its_encoding(tmp_path):
    text = "Publication Number,Title\rUS9000001B2,Pumpe für Öl – größer\rEP2000002A1,Válvula\r"
    patents, _ = items(tmp_path / "mac.csv", text.encode("mac-roman"))
    assert [one.title for one in patents] == ["Pumpe für Öl – größer", "Válvula"]


@pytest.mark.parametrize(
    ("claims", "parents"),
    [
        (
            "1. Bomba que compreende uma roda.\n2. Bomba de acordo com a reivindicação 1.\n"
            "3. Bomba de acordo com qualquer uma das reivindicações anteriores.\n"
            "4. Bomba de acordo com qualquer uma das reivindicações 1 a 3.",
            [(), (1,), (1, 2), (1, 2, 3)],
        ),
        (
            "1. Pompa comprendente una girante.\n2. Pompa secondo la rivendicazione 1.\n"
            "3. Pompa secondo una qualsiasi delle rivendicazioni precedenti.\n"
            "4. Pompa secondo una o più delle rivendicazioni da 1 a 3.\n5. Pompa secondo la rivendicazione 1 o 2.",
            [(), (1,), (1, 2), (1, 2, 3), (1, 2)],
        ),
    ],
    ids=["Portuguese", "Italian"],
)
def test_portuguese_and_italian_claims_depend_on_those_they_name(tmp_path, claims, parents):
    ((patent,), _) = table(tmp_path, ["Publication number", "Claims"], ["EP2000003B1", claims])
    assert [one.depends_on for one in patent.claims] == parents


def related(path):
    return [(one.related, one.kind) for one in recognise(path).read(path) if isinstance(one, Relation)]


def test_a_legal_form_behind_a_comma_belongs_to_the_company(tmp_path):
    header = ["id", "title", "assignee", "inventor/author", "priority date", "filing/creation date", "publication date"]
    row = ["US-9000001-B2", "Pump", "Acme Co., Ltd., Bolt, Inc., Nut GmbH & Co. KG, Acme Co., Ltd."]
    ((patent,), _) = table(tmp_path, header, [*row, "Ann Lee, Bo Ray, III", "2011-06-22", "2012-05-17", "2015-04-07"])
    assert patent.applicants == ("Acme Co., Ltd.", "Bolt, Inc.", "Nut GmbH & Co. KG")
    assert patent.inventors == ("Ann Lee", "Bo Ray, III")


def test_countries_behind_names_are_not_of_the_name(tmp_path):
    header = ["Record Number", "Title", "Inventors", "Current Assignee"]
    ((patent,), _) = table(tmp_path, header, ["EP2000002A1", "Valve", "LEE ANN  (FI); RAY BO [US]", "ACME OY  ( FI )"])
    assert (patent.inventors, patent.applicants) == (("LEE ANN", "RAY BO"), ("ACME OY",))


def test_members_of_a_family_are_split_at_lines_and_slashes(tmp_path):
    members = "US9000001B2 / US2012123456A1\n SG155408 A1\n GB2462380A / GB2462380B"
    table(tmp_path, ["Record Number", "Title", "Simple Family Members"], ["EP2000002A1", "Valve", members])
    numbers = ["US9000001B2", "US2012123456A1", "SG155408A1", "GB2462380A", "GB2462380B"]
    assert related(tmp_path / "export.csv") == [(one, "member") for one in numbers]


@pytest.mark.parametrize(
    ("header", "number", "read"),
    [
        ("US Patent Number", "9000001", "US9000001"),
        ("pgpub_id", "20130123456", "US2013123456"),
        ("EP publication number", "2000002", "EP2000002"),
    ],
)
def test_an_office_in_the_name_of_a_column_is_that_of_its_numbers(tmp_path, header, number, read):
    ((patent,), _) = table(tmp_path, [header, "Title"], [number, "Pump"])
    assert patent.publication_number == read


def test_a_number_without_an_office_has_that_of_its_application(tmp_path):
    header = ["Patent Number", "Application Number", "Title of Invention"]
    rows = [["291162", "10300/DELNP/2012", "Pump"], ["291163", "unknown", "Valve"]]
    patents, _ = table(tmp_path, header, *rows)
    assert [one.publication_number for one in patents] == ["IN291162", "IN291163"], "the table has one office"
    patents, _ = table(tmp_path, header, *rows, ["9000001", "US 13/123456", "Gear"])
    assert [one.publication_number for one in patents] == ["IN291162", "291163", "US9000001"], "it has two"


def test_numbers_and_kind_codes_in_two_columns_are_parallel(tmp_path):
    rows = [["CC", "PN", "KD", "PD", "AN", "AD", "TI", "CL"]]
    rows += [
        [
            "CN",
            "CN220463693",
            "U",
            "2024-02-09",
            "CN202322116133U",
            "2023-08-08",
            "[EN] TOOL",
            "[CN] 1.一种电化学气体传感器工装，其特征在于，包括底座和紧配柱。",
        ]
    ]
    family = ["EP\nUS", "EP3835772\nUS2021164929", "A1\nA1", "2021-06-16\n2021-06-03", "EP20190847207\nUS20210267060"]
    rows += [
        [
            *family,
            "2019-07-25\n2019-07-25",
            "[EN] GAS DETECTOR",
            "[EN] 1. A detector of gas, comprising a housing and a sensor.",
        ]
    ]
    (tool, detector), _ = table(tmp_path, *rows)
    assert (tool.publication_number, detector.publication_number) == ("CN220463693U", "EP3835772A1")
    assert (detector.publication_date, detector.application_date) == (DAY(2021, 6, 16), DAY(2019, 7, 25))
    assert (tool.title, len(tool.claims), len(detector.claims)) == ("TOOL", 1, 1)
    assert ("US2021164929A1", "member") in related(tmp_path / "export.csv")


def test_codes_in_brackets_without_quotes_are_a_list(tmp_path):
    header = ["patentID", "patentTitle", "ipcs", "references"]
    ((patent,), citations) = table(
        tmp_path, header, ["MX-358542-B", "Pump", "[F04B1/00, F16K 3/02]", "[US-9000001-B2]"]
    )
    assert patent.ipc == ("F04B1/00", "F16K3/02")
    assert [one.cited for one in citations] == ["US9000001B2"]


def test_the_tags_of_derwents_index_are_read_as_families(tmp_path):
    rows = [["PN", "TI", "AU", "AE", "GA", "AB", "IP", "PD", "AD", "PI"]]
    numbers = "CN115536205-A; CN209383619-U"
    days = "CN115536205-A 30 Dec 2022 C02F-009/14 202313 Chinese; CN209383619-U 13 Sep 2019 202313"
    filed = "CN115536205-A CN10733357 30 Jun 2021"
    rows += [
        [
            numbers,
            "Water recycling system",
            "LU J;ZENG J",
            "ACME (ACME-C)",
            "202304506Q",
            "NOVELTY - A system.",
            "C02F-009/14",
            days,
            filed,
            "CN10733357 30 Jun 2021",
        ]
    ]
    ((patent,), _) = table(tmp_path, *rows)
    assert (patent.publication_number, patent.family_id, patent.ipc) == ("CN115536205A", "202304506Q", ("C02F9/14",))
    assert patent.inventors == ("LU J", "ZENG J")
    days = (patent.publication_date, patent.application_date, patent.priority_date)
    assert days == (DAY(2022, 12, 30), DAY(2021, 6, 30), DAY(2021, 6, 30))
    assert ("CN10733357", "priority") in related(tmp_path / "export.csv")


def test_priorities_of_patentscope_have_date_and_office_behind(tmp_path):
    header = ["Application Id", "Application Number", "Application Date", "Country", "Title", "Priorities Data"]
    row = [
        "WO2018048995",
        "PCT/US2017/050419",
        "07.09.2017",
        "WO",
        "Pump",
        "15/259,754 2016-09-08 US; 60377957 07.05.2002 US",
    ]
    ((patent,), _) = table(tmp_path, header, row)
    assert patent.priority_date == DAY(2002, 5, 7)
    wanted = [("US15259754", "priority"), ("US60377957", "priority")]
    assert [one for one in related(tmp_path / "export.csv") if one[1] == "priority"] == wanted


def test_auspat_has_the_number_of_the_application(tmp_path):
    header = ["IDENTIFIER", "AU APPLICATION NUMBER", "TITLE", "FILING DATE", "EARLIEST PRIORITY DATE", "INVENTORS"]
    ((patent,), _) = table(
        tmp_path, header, ["2024227540", "2024227540", "Tool", "2024-10-22", "2018-01-19", "LEE, Ann; RAY, Bo"]
    )
    assert (patent.publication_number, patent.inventors) == ("AU2024227540", ("LEE, Ann", "RAY, Bo"))


KIPRIS = [
    ["한국특허정보원"],
    ["검색식 : IPC=[G06V10/00]"],
    [
        "순번",
        "발명의명칭(영문)",
        "IPC분류",
        "출원번호",
        "출원일자",
        "출원인",
        "등록번호",
        "등록일자",
        "공개번호",
        "공개일자",
        "발명자",
    ],
    [
        *("1", "Pump", "G06V 10/40(2022.01)|G06T 7/00(2017.01)", "1020120148449", "2012.12.18"),
        *("펌프주식회사(경기도 수원시 영통구...)", "1020419840000", "2019.11.01", "1020140079012", "2014.06.26"),
        "홍길동(서울특별시 서초구...)|김철수(일본 요코하마시 *-* 연구소)",
    ],
    [
        "2",
        "Valve",
        "H02S 50/00(2014.01)",
        "1020230135709",
        "2023.10.12",
        "밸브주식회사",
        "1026230870000",
        "2024.01.04",
        "",
        "",
        "",
    ],
]


def test_numbers_of_kipris_are_korean_and_its_names_without_addresses(tmp_path):
    (pump, valve), _ = table(tmp_path, *KIPRIS)
    assert (pump.publication_number, valve.publication_number) == ("KR20140079012", "KR102623087")
    assert (pump.application_number, pump.ipc) == ("KR20120148449", ("G06V10/40", "G06T7/00"))
    assert (pump.applicants, pump.inventors) == (("펌프주식회사",), ("홍길동", "김철수"))
    assert (pump.publication_date, valve.publication_date) == (DAY(2014, 6, 26), DAY(2024, 1, 4))
    assert ("KR102041984", "member") in related(tmp_path / "export.csv")


def test_a_workbook_with_an_invalid_colour_is_read(tmp_path):
    book, content = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["Publication Number", "Title", "Publication Date"])
    book.active.append(["US9000001B2", "Pump", dt.datetime(2015, 4, 7)])
    book.active["A1"].font = Font(color="FF123456")
    book.save(content)
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(tmp_path / "kipris.xlsx", "w") as new:
        for part in old.infolist():
            new.writestr(part, old.read(part).replace(b'rgb="FF123456"', b'rgb="-1000000f"'))
    with pytest.raises(ValueError, match="stylesheet"):
        openpyxl.load_workbook(tmp_path / "kipris.xlsx")
    ((_, row),) = open_sheet(tmp_path / "kipris.xlsx").rows
    assert row["Publication Date"] == dt.datetime(2015, 4, 7)


def test_a_full_group_among_groups_filled_with_zeros_is_a_group(tmp_path):
    classes = "H04W00520254 | H04M225012 | Y02D007000"
    ((patent,), _) = table(tmp_path, ["Publication Number", "CPC - Current - DWPI"], ["US9000001B2", classes])
    assert patent.cpc == ("H04W52/0254", "H04M2250/12", "Y02D70/00")


def test_the_keys_of_lens_are_priorities(tmp_path):
    rows = [
        {
            "displayKey": "WO 2008/080153 A2",
            "title": "Pump",
            "publicationDate": "2008-07-03",
            "priorityFilingKeysActive": ["US 87165806 P 20061222"],
        }
    ]
    ((patent,), _) = items(tmp_path / "lens.json", json.dumps(rows))
    assert patent.publication_number == "WO2008080153A2"
    assert ("US2006871658", "priority") in related(tmp_path / "lens.json")


def test_publications_that_a_search_of_ops_found_are_read_without_their_answer(tmp_path):
    number = {
        "@document-id-type": "docdb",
        "country": {"$": "US"},
        "doc-number": {"$": "2024319688"},
        "kind": {"$": "A1"},
    }
    rows = [{"@system": "ops.epo.org", "@family-id": "80113672", "document-id": number}]
    ((patent,), _) = items(tmp_path / "search.json", json.dumps(rows))
    assert (patent.publication_number, patent.family_id) == ("US2024319688A1", "80113672")


def test_british_numbers_with_a_zero_in_front_are_ambiguous_without_a_kind_code(tmp_path):
    rows = [["Publication number", "Citations"], ["EP2000002A1", "GB0113770; GB 0113770 A; GB0113770D0; GB2345678"]]
    _, citations = table(tmp_path, *rows)
    assert [one.cited for one in citations] == ["GB0113770", "GB113770A", "GB0113770D0", "GB2345678"]


def test_the_marks_of_sgml_in_abstracts_of_patentscope_are_not_text(tmp_path):
    header = ["Application Id", "Title", "Country", "Abstract", "Applicants"]
    rows = [["JP2000100001", "Needle", "JP", '<SDOAB LA="E"><P>A needle.</P><P>COPYRIGHT: JPO</P></SDOAB>', "Doe"]]
    rows += [["EP1300001", "Tool", "EP", "A tool with an <image> token. <IMAGE></IMAGE>", "Doe"]]
    (needle, tool), _ = table(tmp_path, header, *rows)
    assert (needle.abstract, tool.abstract) == ("A needle.\nCOPYRIGHT: JPO", "A tool with an <image> token.")
