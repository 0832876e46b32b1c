"""Every switch of the environment understands the same words."""

from pathlib import Path

import pytest

from patent_mteb.data.loading import TRUNCATED_VARIABLE, DataSet, Source, switched_on
from patent_mteb.errors import DataError
from patent_mteb.search.engine import FAST_VARIABLE, on_arrays
from patent_mteb.tasks.checks import refuse_truncated

ON, OFF = ("1", "true", "True", "yes", "on", " ON "), ("0", "false", "FALSE", "no", "off", " Off")


@pytest.mark.parametrize("word", ON + OFF)
def test_words(monkeypatch, sizes_of_releases, word):
    for variable in ("PATENT_MTEB_INSCOPE", TRUNCATED_VARIABLE, FAST_VARIABLE):
        monkeypatch.setenv(variable, word)
    assert switched_on("PATENT_MTEB_INSCOPE") == on_arrays() == (word in ON)
    short = Source(DataSet("datalyes/class_bloom", "patenteb", "62c95f3"), "hub", "62c95f3", Path("copy"))
    if word in ON:
        refuse_truncated(short, "test/data.parquet", 40)
    else:
        with pytest.raises(DataError, match="40 rows, its release 7347"):
            refuse_truncated(short, "test/data.parquet", 40)


@pytest.mark.parametrize("empty", ["", " ", None])
def test_what_is_not_set_has_the_default(monkeypatch, empty):
    monkeypatch.delenv(FAST_VARIABLE, raising=False)
    if empty is not None:
        monkeypatch.setenv(FAST_VARIABLE, empty)
    assert on_arrays() and switched_on(FAST_VARIABLE, default=True) and not switched_on(FAST_VARIABLE)


def test_other_words_are_refused(monkeypatch):
    monkeypatch.setenv(FAST_VARIABLE, "maybe")
    with pytest.raises(DataError, match=r"PATENT_MTEB_FAST=maybe is neither yes nor no. Remedy: set it to 1 or 0"):
        on_arrays()
