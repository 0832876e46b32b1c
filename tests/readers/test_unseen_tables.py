"""Tables in forms that were found in files of others or written without a look at the readers; all details are invented."""

import csv
import datetime as dt
import json

import pytest

from patent_mteb.patents.records import Citation, Patent
from patent_mteb.readers import recognise
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
