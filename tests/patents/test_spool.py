"""Records in a temporary file are the records that were put there, in any order of reading, and leave no file behind."""

from __future__ import annotations

import random

import pytest

from patent_mteb import sample
from patent_mteb.patents.spool import Spool


@pytest.fixture(scope="module")
def patents():
    return sample.generate()[0][:300]


def test_what_is_read_is_what_was_written(patents, tmp_path):
    spool = Spool(patents[:200], tmp_path)
    places = random.Random(0).sample(range(200), 50)
    assert [spool[place] for place in places] == [patents[place] for place in places]
    for patent in patents[200:]:
        spool.append(patent)
    assert spool == patents
    assert list(spool) == list(spool) == patents
    assert spool[-1] == patents[-1]
    assert spool[10:20] == patents[10:20]
    assert spool != patents[:-1]
    with pytest.raises(IndexError):
        spool[300]
    assert not list(tmp_path.iterdir())


def test_records_larger_than_a_block_and_none_at_all():
    texts = ["a" * 3_000_000, "", "b" * 10, "c" * 1_500_000]
    assert list(Spool(texts)) == texts
    assert list(Spool()) == []
