"""Cells in the forms that exports write: dates against datetime, lists against what they were joined of."""

import datetime as dt
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patent_mteb.readers.values import (
    claim_numbers,
    cleaned,
    day_order,
    flat,
    has_day,
    language,
    listed,
    read_date,
    text_of,
    unpacked,
)

FORMS = ("%Y-%m-%d", "%Y%m%d", "%d.%m.%Y", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S", "%d %B %Y", "%b %d, %Y", "%d-%b-%Y")
LAST = dt.date(dt.date.today().year + 1, 12, 31)


@given(st.dates(dt.date(1836, 1, 1), LAST), st.sampled_from(FORMS))
@settings(max_examples=200)
def test_every_day_is_read_in_every_form(day, form):
    assert read_date(day.strftime(form)) == day


@given(st.dates(dt.date(1836, 1, 1), LAST))
@settings(max_examples=200)
def test_a_day_with_slashes_is_read_if_it_can_be_one_only(day):
    for form in ("%d/%m/%Y", "%m/%d/%Y"):
        if day.day > 12 or day.day == day.month:
            assert read_date(day.strftime(form)) == day
        else:
            with pytest.raises(ValueError, match="is ambiguous"):
                read_date(day.strftime(form))
        assert read_date(day.strftime(form), (form,)) == day


@pytest.mark.parametrize(
    ("value", "day", "whole"),
    [
        (20190101, "2019-01-01", True),
        (20190101.0, "2019-01-01", True),
        ("2019-01", "2019-01-01", False),
        ("2019", "2019-01-01", False),
        ("19980800", "1998-08-01", False),
        (dt.datetime(2019, 1, 2, 3, 4), "2019-01-02", True),
        ("01.02.2019", "2019-02-01", True),
        ("02.01.19", "2019-01-02", True),
        ("02.01.85", "1985-01-02", True),
        ("7. April 2015", "2015-04-07", True),
        ("1er février 2015", "2015-02-01", True),
        ("7 de abril de 2015", "2015-04-07", True),
        ("13 de novembro de 2018", "2018-11-13", True),
        ("13 novembre 2018", "2018-11-13", True),
        ("99/12/31", "1999-12-31", True),
        ("3. März 2015", "2015-03-03", True),
        ("13-Nov-18", "2018-11-13", True),
        ("2018年11月13日", "2018-11-13", True),
        ("2018년 11월 13일", "2018-11-13", True),
        ("2018年11月", "2018-11-01", False),
        ("平成30年11月13日", "2018-11-13", True),
        ("令和元年5月1日", "2019-05-01", True),
        ("昭和64年", "1989-01-01", False),
        ("H27.4.7", "2015-04-07", True),
        (43417, "2018-11-13", True),
        ("43417", "2018-11-13", True),
        (42101.5, "2015-04-07", True),
    ],
)
def test_dates_of_exports(value, day, whole):
    assert (str(read_date(value)), has_day(value)) == (day, whole)


@pytest.mark.parametrize("value", [0, "0", "", None, "9999-12-31", 99991231, dt.date(9999, 12, 31), float("nan")])
def test_what_stands_for_no_date(value):
    assert read_date(value) is None


@pytest.mark.parametrize(
    "value",
    [
        "soon",
        "2019-13-01",
        "20190230",
        4341,
        "01/02/2019",
        "01/02/19",
        "0200-03-05",
        "2918-01-02",
        "17891231",
        "7. Brumaire 2015",
        "181113",
        99999,
    ],
)
def test_invalid_dates_are_refused(value):
    with pytest.raises(ValueError):
        read_date(value)


@given(st.lists(st.text("ABCabc0123/ .,é", min_size=1, max_size=8).map(str.strip).filter(bool), min_size=1, max_size=5))
@settings(max_examples=100)
def test_lists_come_back_from_every_separator(words):
    for separator in (";", "; ", ";;", " | ", "|", "\n"):
        assert listed(separator.join(words)) == words
    for text in (
        json.dumps(words),
        repr(words),
        repr(tuple(words)).replace("(", "[").replace(",)", "]").replace(")", "]"),
    ):
        assert listed(text) == words


def test_lists_of_numpy_and_texts_that_only_look_like_lists():
    assert unpacked(str(np.array(["A61H 3/04", "G06F"]))) == ["A61H 3/04", "G06F"]
    assert unpacked("[0012] A pump [1]") == "[0012] A pump [1]"
    assert unpacked("{not json}") == "{not json}"
    for priority in ("[US 20091030 12/609,638]", "[PA 2009 00612 14.05.2009 DK]"):
        assert unpacked(priority) == priority
    assert listed("Wang, L.; Li, M.") == ["Wang, L.", "Li, M."]


def test_dotted_names_traverse_objects_and_lists():
    row = [{"code": "A", "tree": ["x"]}, {"tree": []}, {"code": "B"}]
    assert list(flat(row, "code")) == ["A", None, "B"], "in line with the other values of the same objects"
    assert list(flat({"a": {"b": [1, [2, 3]]}}, "a.b")) == [1, 2, 3]
    assert list(flat({"a.b": 1, "a": {"b": 2}}, "a.b")) == [1]
    assert list(flat(json.dumps(row), "code")) == ["A", None, "B"]


def test_texts_and_claim_numbers():
    assert [text_of(value) for value in (1234.0, 0.5, float("nan"), True, " a ", ["a", None, 2], dt.date(2019, 1, 2))] == [
        "1234", "0.5", "", "True", "a", "a\n2", "2019-01-02",
    ]  # fmt: skip
    assert claim_numbers("1-3, 7; 9–10") == (1, 2, 3, 7, 9, 10)
    assert len(claim_numbers("1-99999999")) == 1000, "a slip of the pen fills no memory"


def test_a_year_of_two_digits_in_front_settles_the_order_of_a_column():
    column = ["99/12/31", "13/01/02", "18/11/13"]
    assert day_order(column) == "year"
    assert [str(read_date(one, (), "year")) for one in column] == ["1999-12-31", "2013-01-02", "2018-11-13"]


def test_languages_by_any_code():
    written = ["EN", "GER", "deu", "chi", "jpn", "spa", "swe", "German", "en-US", "CN", "ol", "xx", "", None]
    assert list(map(language, written)) == ["en", "de", "de", "zh", "ja", "es", "sv", "de", "en", "zh"] + [""] * 4


def test_a_column_settles_the_order_of_its_days():
    assert day_order(["01/02/2019", "11/13/2018"]) == "month"
    assert day_order(["01/02/2019", "13/11/18", None, 7]) == "day"
    assert day_order(["01/02/2019"]) == day_order(["13/11/2018", "11/13/2018"]) == "", "unclear, contradictory"
    assert [str(read_date("01/02/2019", (), order)) for order in ("day", "month")] == ["2019-02-01", "2019-01-02"]
    with pytest.raises(ValueError):
        read_date("13/13/2019", (), "day")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Pump &amp; valve &lt;5 &#176;C", "Pump & valve <5 °C"),
        ("<p>A <b>pump</b>.</p>", "A pump."),
        ('H<sub>2</sub>O<br/>in <span class="x">a</span> pipe', "H2O\nin a pipe"),
        ("&lt;p&gt;A pump&lt;/p&gt;", "A pump"),
        ("Pump [Machine Translation]", "Pump"),
        ("(Machine-translated by Google Translate, not legally binding) A pump", "A pump"),
        ("(US10123456)\nPump", "Pump"),
        ("if a <b and c> d, R&D at x&region=1 &c;", "if a <b and c> d, R&D at x&region=1 &c;"),
        ("a < b > c & d", "a < b > c & d"),
        ("(a) a pump (translated by hand)", "(a) a pump (translated by hand)"),
    ],
)
def test_markup_is_cleaned_and_other_text_stays(text, plain):
    found, what = cleaned(text)
    assert found == plain and bool(what) == (text != plain)
