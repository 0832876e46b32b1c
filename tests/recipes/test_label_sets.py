"""The label files of a directory and the names of their tasks."""

from __future__ import annotations

import re

import pytest

from patent_mteb.errors import DataError
from patent_mteb.files import write_text
from patent_mteb.recipes.label_sets import label_files


def named(root, *names):
    for name in names:
        write_text(root / "labels" / f"{name}.parquet", "")
    return root


def test_files_are_found_by_the_names_of_their_tasks(tmp_path):
    assert label_files(named(tmp_path, "Emerging", "green energy", "self-care")) == {
        "Emerging": "Emerging",
        "GreenEnergy": "green energy",
        "SelfCare": "self-care",
    }


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("green-energy", "greenEnergy"), "green-energy and greenEnergy would both be named GreenEnergy"),
        (("--",), "no task can be named after this label set"),
    ],
)
def test_ambiguous_and_empty_names_are_refused(tmp_path, names, message):
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        label_files(named(tmp_path, *names))
    assert caught.value.path == tmp_path / "labels" / f"{names[-1]}.parquet"
