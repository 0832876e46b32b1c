import gzip
import json
from pathlib import Path

import pytest

from patent_mteb.patents import ipc

DATA = Path(__file__).parents[3] / "shared" / "data"

FORMS = {
    "A61F0002/06": ("A", "A61", "A61F", "A61F2", "A61F2/06"),
    "G06Q-010/026": ("G", "G06", "G06Q", "G06Q10", "G06Q10/026"),
    "B08B5/00": ("B", "B08", "B08B", "B08B5", "B08B5/00"),
    "H04L 12/28 (2006.01)": ("H", "H04", "H04L", "H04L12", "H04L12/28"),
    "H04L 12/28 (2006.01) I": ("H", "H04", "H04L", "H04L12", "H04L12/28"),
    "H04L12/28 20060101AFI20051008RMEP": ("H", "H04", "H04L", "H04L12", "H04L12/28"),
    "H04L  12/28        20060101AFI...": ("H", "H04", "H04L", "H04L12", "H04L12/28"),
    "H01L 21/02 (20060101)": ("H", "H01", "H01L", "H01L21", "H01L21/02"),
    "a61f   2/06": ("A", "A61", "A61F", "A61F2", "A61F2/06"),
    "A 61 F 2 / 06": ("A", "A61", "A61F", "A61F2", "A61F2/06"),
    " A61F 2/06; ": ("A", "A61", "A61F", "A61F2", "A61F2/06"),
    "A61F0002060000": ("A", "A61", "A61F", "A61F2", "A61F2/06"),
    "A61F0002000000": ("A", "A61", "A61F", "A61F2", "A61F2/00"),
    "A61K0031443900": ("A", "A61", "A61K", "A61K31", "A61K31/4439"),
    "A61K-0031/4439": ("A", "A61", "A61K", "A61K31", "A61K31/4439"),
    "Y02E 10/50": ("Y", "Y02", "Y02E", "Y02E10", "Y02E10/50"),
    "B60K2001/0405": ("B", "B60", "B60K", "B60K2001", "B60K2001/0405"),
    "G05B2219/31120": ("G", "G05", "G05B", "G05B2219", "G05B2219/31120"),
    "A61F0002": ("A", "A61", "A61F", "A61F2", None),
    "A61F 2": ("A", "A61", "A61F", "A61F2", None),
    "C08L101": ("C", "C08", "C08L", "C08L101", None),
    "H01L 21302": ("H", "H01", "H01L", None, None),  # 21/302, but 2/1302 reads the same
    "C07C24900": ("C", "C07", "C07C", None, None),
    "A47C 754": ("A", "A47", "A47C", None, None),
    "A61F": ("A", "A61", "A61F", None, None),
    "H04L 20060101": ("H", "H04", "H04L", None, None),
    "A61": ("A", "A61", None, None, None),
    "a": ("A", None, None, None, None),
    "A61K31/505[I,2006.01]": ("A", "A61", "A61K", "A61K31", "A61K31/505"),
    "G06F 17/30 (2006.01.01)": ("G", "G06", "G06F", "G06F17", "G06F17/30"),
    "H04L 67/10 (2013.01 EP US)": ("H", "H04", "H04L", "H04L67", "H04L67/10"),
    "A61K   9/08        20060101C I20051008RMEP        ": ("A", "A61", "A61K", "A61K9", "A61K9/08"),
    "A61K 9:08": ("A", "A61", "A61K", "A61K9", "A61K9/08"),  # an indexing code, until 2005
    "A61K0031-505": ("A", "A61", "A61K", "A61K31", "A61K31/505"),  # STN
    "G06K000701": ("G", "G06", "G06K", "G06K7", "G06K7/01"),  # Derwent
    "G06F 9/00,330@A": ("G", "G06", "G06F", "G06F9", "G06F9/00"),  # FI
    "G06F21 /20 144C": ("G", "G06", "G06F", "G06F21", "G06F21/20"),  # FI in PATSTAT
    "F16K1/00A": ("F", "F16", "F16K", "F16K1", "F16K1/00"),
}


@pytest.mark.parametrize("code", FORMS)
def test_every_level_of_every_form(code):
    for level, expected in zip(ipc.LEVELS, FORMS[code], strict=True):
        if expected is None:
            with pytest.raises(ValueError, match="coarser than a"):
                ipc.at(code, level)
        else:
            assert ipc.at(code, level) == expected
    levels = tuple(filter(None, FORMS[code]))
    assert ipc.parse(code) == levels == ipc.parse(levels[-1])


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "I61F",  # no such section
        "X",
        "A6",
        "A00",  # classes start at 01
        "61F",
        "AA1F",
        "A61F2/",
        "A61F2/6",  # a subgroup has two digits at least; 6 may stand for 06 or 60
        "A61F0/00",
        "A61F12345/00",
        "A61F00020",
        "A61F0000060000",
        "A61F2/06; A61F2/07",
        "A61F2/06 and more",
        "A61F٢/06",  # digits, but not ASCII ones
        "A met",  # a word is not a qualifier of a section
        "US2019012345A1",
        "nan",
    ],
)
def test_what_is_no_code(text):
    with pytest.raises(ValueError, match="not an IPC or CPC code"):
        ipc.parse(text)


def test_codes_at_keeps_the_order_and_counts_what_it_cannot_use():
    codes = ["H04L 12/28", "A61F2/06", "h04l 29/06", "", "A61F 9/00", "G06", "", "Y02E 10/50"]
    assert ipc.codes_at(codes[:3], "subclass") == (("H04L", "A61F"), ())
    got = ipc.codes_at(iter(codes), "subclass")
    assert got.codes == ("H04L", "A61F", "Y02E")
    assert got.unusable == ("", "G06", "")
    assert ipc.codes_at([], "group") == ((), ())


def test_codes_at_refuses_an_unknown_level():
    with pytest.raises(ValueError, match="unknown level 'class'"):
        ipc.codes_at([], "class")


@pytest.mark.parametrize(
    ("field", "codes"),
    [
        ("A61K 31/505, 31/506; C07D 401/14", "A61K31/505 A61K31/506 C07D401/14"),
        ("A61K 31/505, 9/08 // C07D 401/14, (A61K 31/505, 31:415)", "A61K31/505 A61K9/08 C07D401/14 A61K31/415"),
        ("Int.Cl.7 H01L 21/00", "H01L21/00"),
        ("(51) Int. Cl.⁶ : A61K 31/505 A61P 35/00", "A61K31/505 A61P35/00"),
        ("(IPC1-7): A61K31/505; A61K9/08", "A61K31/505 A61K9/08"),
        ("ICM A61K031-505 ICS A61K009-08", "A61K31/505 A61K9/08"),
        ("A61K 31/505 (2006.01) I, A61P 35/00 (2006.01) I", "A61K31/505 A61P35/00"),
        ("H01L21/302,101@C,F16K3/02B", "H01L21/302 F16K3/02"),
        ("F04B1/00@A,F04B3/00@B", "F04B1/00 F04B3/00"),
        ("G06K0019073 | G06K000701 | H04B00013883", "G06K19/073 G06K7/01 H04B1/3883"),
        ("F16H 1/28 - Toothed gearings", "F16H1/28"),
        ("F16H 1/28 - Toothed gearings, with planets; F04B 1/00: Pumps", "F16H1/28 F04B1/00"),
        ("A61K 31/505 (Pyrimidines; their salts (acids)); F04B 1/00 (2006.01) (Pumps)", "A61K31/505 F04B1/00"),
        ("F04B 1/00 Multi-cylinder machines or pumps; F16K Valves", "F04B1/00 F16K"),
        ("A61K 31/505（嘧啶）", "A61K31/505"),
        ("F16K - Valves", "F16K"),
        ("A61K31/505 (2013.01 - EP US)", "A61K31/505"),
        ("Ａ６１Ｋ３１／５０５", "A61K31/505"),
        ("A61K31/505\nA61K31/505", "A61K31/505"),
        ("", ""),
    ],
)
def test_a_field_may_have_several_codes(field, codes):
    assert ipc.read_codes([field]) == tuple(codes.split())
    assert all(map(ipc.is_code, codes.split()))


@pytest.mark.parametrize(
    ("field", "codes", "unread"),
    [
        ("A61K 31/505; 514/256", ["A61K31/505"], ["514/256"]),  # a US class is no group of A61K
        ("G06F17/30T2P4", [], ["G06F17/30T2P4"]),  # ECLA
        ("2B003AA01", [], ["2B003AA01"]),  # an F-term
        ("A61F 2/6, A61F 2/07 2", [], ["A61F 2/6", "A61F 2/07 2"]),
        ("mechanical", [], ["mechanical"]),
    ],
)
def test_what_is_no_code_in_a_field_stays_to_be_counted(field, codes, unread):
    found = ipc.read_codes([field])
    assert [code for code in found if ipc.is_code(code)] == codes
    assert [code for code in found if not ipc.is_code(code)] == unread


def test_a_long_field_is_read_in_linear_steps():
    assert ipc.read_codes([" " * 300_000, "(" * 300_000, "A61K 31/505, " * 30_000]) == ("A61K31/505",)


@pytest.mark.skipif(not DATA.is_dir(), reason="the folder with real patents is not here")
def test_real_subclasses_parse():
    with gzip.open(DATA / "uspto" / "patents.jsonl.gz", "rt", encoding="utf-8") as lines:
        codes = [code for line in lines for code in json.loads(line)["ipc"]]
    assert len(codes) == 408
    assert sum("/" in code for code in codes) == 5
    assert sum(len(code) > 4 and "/" not in code for code in codes) == 28  # group and subgroup run together
    for code in codes:
        levels = ipc.parse(code)
        assert levels[:3] == (code[0], code[:3], code[:4])
        assert (len(levels) == len(ipc.LEVELS)) == ("/" in code)
    assert len(ipc.codes_at(codes, "ipc3").codes) == len({code[:3] for code in codes})
