"""Values by text against a dictionary that knows nothing of hashes."""

from __future__ import annotations

import random

import polars as pl
import pytest

from patent_mteb.patents import keyed
from patent_mteb.patents.keyed import Keyed, Some, by_itself

TEXTS = ["b", "", "a", "é", "\U0001f600", "zz", "yy"]


@pytest.fixture(params=["hashes", "few hashes"])
def of_any_hash(request, monkeypatch):
    """With the hashes of Python, and with collisions."""
    if request.param == "few hashes":
        monkeypatch.setattr(keyed, "hash", len, raising=False)


def test_texts_by_themselves(of_any_hash):
    assert dict(by_itself(TEXTS)) == dict(zip(TEXTS, TEXTS, strict=True)) and "none" not in by_itself(TEXTS)


@pytest.mark.parametrize("hold", [list, pl.Series])
def test_a_mapping_is_that_of_a_dictionary(hold, of_any_hash):
    expected = {text: f"value of {text}" for text in TEXTS}
    found = Keyed(iter(expected), hold(list(expected.values())))
    assert found == expected and len(found) == len(expected)
    assert (list(found), list(found.items()), list(found.values())) == (
        list(expected),
        list(expected.items()),
        list(expected.values()),
    )
    keys = [*expected] * 2
    random.Random(0).shuffle(keys)
    assert [found[key] for key in keys] == [expected[key] for key in keys]
    assert [found.row(key) for key in (*TEXTS, "c", "zzz", "B")] == [*range(len(TEXTS)), -1, -1, -1]
    assert all(text in found for text in TEXTS) and "c" not in found and 3 not in found and found.get("c") is None
    with pytest.raises(KeyError):
        found["c"]
    empty = Keyed((), ())
    assert "a" not in empty and list(empty.items()) == []


def test_some_items_are_those_of_their_rows():
    some = Some("abcd", pl.Series([3, 1, 3]))
    assert list(some) == [some[0], some[1], some[2]] == ["d", "b", "d"] and len(some) == 3


def test_a_text_is_found_while_another_thread_reads():
    class Interrupted:
        """A column during whose reading another thread looks up another text."""

        def __init__(self, texts):
            self.texts = texts

        def __len__(self):
            return len(self.texts)

        def __iter__(self):
            return iter(self.texts)

        def __getitem__(self, row):
            found._next = 0
            return self.texts[row]

    found = Keyed("abc", range(3))
    assert found["a"] == 0
    found.texts = Interrupted(found.texts)
    assert found["b"] == 1
