"""Cells in the forms that exports write: dates against datetime, lists against what they were joined of."""

import datetime as dt
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patent_mteb.readers.values import claim_numbers, flat, has_day, listed, read_date, text_of, unpacked

FORMS = ("%Y-%m-%d", "%Y%m%d", "%d.%m.%Y", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S", "%d %B %Y", "%b %d, %Y", "%d-%b-%Y")


@given(st.dates(dt.date(1836, 1, 1), dt.date(2100, 12, 31)), st.sampled_from(FORMS))
@settings(max_examples=200)
def test_every_day_is_read_in_every_form(day, form):
    assert read_date(day.strftime(form)) == day


@given(st.dates(dt.date(1836, 1, 1), dt.date(2100, 12, 31)))
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
    ],
)
def test_dates_of_exports(value, day, whole):
    assert (str(read_date(value)), has_day(value)) == (day, whole)


@pytest.mark.parametrize("value", [0, "0", "", None, "9999-12-31", 99991231, dt.date(9999, 12, 31), float("nan")])
def test_what_stands_for_no_date(value):
    assert read_date(value) is None


@pytest.mark.parametrize("value", ["soon", "2019-13-01", "20190230", 43466, "01/02/2019"])
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
