"""The split of records: by family, by the shares that are asked for."""

from __future__ import annotations

import pytest

from patent_mteb.cli import main
from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.sample import load
from patent_mteb.training.corpus import of_records, read_corpus


@pytest.mark.slow
@pytest.mark.parametrize(("shares", "parts"), [((0.7726, 0.0), (806, 0)), ((0.1, 0.8), (104, 835))])
def test_shares_are_those_of_families(shares, parts):
    """1,043 families, none of which shares title and abstract with another."""
    corpus = of_records(Collection(*load()), "mine", shares=shares)
    assert tuple(corpus.sizes().values()) == (*parts, 1043 - sum(parts))
    assert all(abs(1043 * share - part) <= 1 for share, part in zip(shares, parts, strict=True))
    members = [{one.family_id for one in corpus.members(split)} for split in ("train", "validation", "test")]
    assert not (members[0] & members[1] or members[0] & members[2] or members[1] & members[2])


def test_data_with_a_split_of_their_own_take_no_other():
    with pytest.raises(DataError, match=r"sample already has a split\. Remedy: leave out --split"):
        read_corpus("sample", (0.5, 0.1))


@pytest.mark.parametrize("text", ["0.8", "0.8,0.2", "0.7,0.3", "1,0", "a,b", "0,0.5", "nan,0.1"])
def test_shares_that_are_none(text, capsys):
    assert main(["train", "wipo-r3", "records", "-m", "base", "--out", "out", "--split", text]) == 2
    assert "write --split 0.8,0.1" in capsys.readouterr().err
