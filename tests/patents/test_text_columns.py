"""Columns of texts against lists and dictionaries that know nothing of hashes."""

from __future__ import annotations

import datetime as dt
import random

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from patent_mteb.patents import text_columns
from patent_mteb.patents.families import Groups
from patent_mteb.patents.matching import _RowsOf
from patent_mteb.patents.text_columns import (
    Keyed,
    TextIndex,
    TextMap,
    by_itself,
    coded,
    coded_in_order,
    codes_of,
    column,
    renamed,
    values_of,
)

TEXTS = ["b", "", "a", "é", "b", "\U0001f600", "zz", "a", "b"]


@pytest.fixture(params=["hashes", "few hashes", "blocks"])
def of_any_hash(request, monkeypatch):
    """With the hashes of Python, with collisions, and with blocks of two texts."""
    if request.param == "few hashes":
        monkeypatch.setattr(text_columns, "hash", len, raising=False)
    if request.param == "blocks":
        monkeypatch.setattr(text_columns, "_AT_ONCE", 2)


def test_a_column_has_the_texts(of_any_hash):
    assert list(values_of(column(TEXTS))) == list(values_of(column(iter(TEXTS)))) == TEXTS
    assert list(values_of(coded(TEXTS))) == list(values_of(coded_in_order(TEXTS))) == TEXTS
    assert coded(TEXTS).dictionary.to_pylist() == list(dict.fromkeys(TEXTS))
    assert coded_in_order(coded(TEXTS)).dictionary.to_pylist() == sorted(set(TEXTS))
    assert list(values_of(column(()))) == list(values_of(coded_in_order(()))) == []


@pytest.mark.parametrize("size", [2, 10_000])
def test_values_are_those_of_the_array(size, monkeypatch):
    monkeypatch.setattr(text_columns, "_AT_ONCE", size)
    days = [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]
    for values in (days, ["a", None, "a"], [3, None, 2**40], [[1], None, []], [True, False, True], []):
        one = pa.array(values)
        assert list(values_of(one)) == list(values_of(pa.chunked_array([one[:1], one[1:]], one.type))) == values
        coded_values = (
            list(values_of(one.dictionary_encode())) if values and not isinstance(values[0], list) else values
        )
        assert coded_values == values
    assert list(values_of(np.arange(5))) == [0, 1, 2, 3, 4]


def test_texts_by_themselves(of_any_hash):
    texts = list(dict.fromkeys(TEXTS))
    assert dict(by_itself(texts)) == dict(zip(texts, texts, strict=True)) and "none" not in by_itself(texts)


def test_an_index_finds_all_rows_in_order(of_any_hash):
    index = TextIndex(column(TEXTS))
    unknown = ["c", "zzz", "B"]
    for text in (*TEXTS, *unknown):
        rows = [row for row, other in enumerate(TEXTS) if other == text]
        assert index.rows(text) == rows and index.row(text) == (rows[0] if rows else -1)
    wanted = [*TEXTS[::-1], *unknown]
    assert index.rows_of(column(wanted)).tolist() == [index.row(text) for text in wanted]
    empty = TextIndex(column(()))
    assert (empty.row("a"), empty.rows_of(column(["a"])).tolist()) == (-1, [-1])


def test_a_mapping_is_that_of_a_dictionary(of_any_hash):
    expected = {text: f"value of {text}" for text in TEXTS}
    found = TextMap.of(expected)
    assert found == expected and TextMap.of(found) is found
    assert (list(found), list(found.items()), list(found.values())) == (
        list(expected),
        list(expected.items()),
        list(expected.values()),
    )
    assert list(found.in_order().items()) == sorted(expected.items())
    keys = [*expected] * 2
    random.Random(0).shuffle(keys)
    assert [found[key] for key in keys] == [expected[key] for key in keys]
    assert all(text in found for text in TEXTS) and "c" not in found and 3 not in found and found.get("c") is None
    with pytest.raises(KeyError):
        found["c"]
    numbered = Keyed(column(expected), range(len(expected)))
    assert dict(numbered) == {text: row for row, text in enumerate(expected)}
    some = numbered.at(np.array([2, 0], np.int32))
    assert list(some.items()) == [("a", 2), ("b", 0)] and [some["b"], some.by_row[0], len(some.by_row)] == [0, 2, 2]


def test_renamed_texts_that_become_equal_have_one_number():
    found = renamed(coded(TEXTS), {"b": "a", "zz": "new"})
    assert list(values_of(found)) == [{"b": "a", "zz": "new"}.get(text, text) for text in TEXTS]
    assert len(set(found.dictionary.to_pylist())) == len(found.dictionary)
    assert len(np.unique(codes_of(found))) == len(set(values_of(found)))


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_connected_components(seed):
    rng = np.random.default_rng(seed)
    ones, others = rng.integers(0, 40, (2, 25)).astype(np.int32)
    groups = Groups(40)
    groups.connect_all(ones, others)
    _, component = connected_components(coo_array((np.ones(25), (ones, others)), (40, 40)), directed=False)
    least = [int(np.flatnonzero(component == component[member])[0]) for member in range(40)]
    assert groups.of_all().tolist() == [groups.of(member) for member in range(40)] == least
    rows_of = _RowsOf(component.astype(np.int32))
    assert [rows_of(group) for group in range(-1, 40)] == [
        np.flatnonzero(component == group).tolist() for group in range(-1, 40)
    ]


def test_a_column_may_be_longer_than_32_bit_offsets_allow():
    assert column(TEXTS).type == coded(TEXTS).dictionary.type == pa.large_string()


def test_a_text_is_found_while_another_thread_reads():
    class Interrupted:
        """A column during whose reading another thread looks up another text."""

        def __init__(self, texts):
            self.texts = texts

        def __len__(self):
            return len(self.texts)

        def __getitem__(self, row):
            found._next = 0
            return self.texts[row]

    found = Keyed(column("abc"), range(3))
    assert found["a"] == 0
    found.column = Interrupted(found.column)
    assert found["b"] == 1
