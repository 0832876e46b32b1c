"""The split of records: by family, by the shares that are asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from patent_mteb.cli import main
from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.on_disk import StoredPatents, stored
from patent_mteb.patents.text import clean_patent
from patent_mteb.patents.views import VIEWS
from patent_mteb.sample import load
from patent_mteb.training.corpus import of_records, read_corpus
from patent_mteb.training.pairs import SIGNALS
from patent_mteb.training.recipes import Settings


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


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["co-label", "view:claims-summary", "citations-and-self"])
def test_pairs_of_stored_records_are_those_of_records_in_memory(signal):
    """300 patents with a copy of one, whose text its family has already."""
    patents, citations = load()
    some = [replace(one, description=replace(one.description, summary=one.abstract)) for one in patents[:300]]
    some.append(replace(some[0], publication_number="XX999A1"))
    both = [of_records(Collection(records, citations), "mine") for records in (some, stored(some))]
    assert isinstance(both[0].patents, StoredPatents) and both[0].revision == both[1].revision
    first = {}  # naive: the earliest publication of each text of a family
    for one in sorted(
        map(clean_patent, some), key=lambda one: (str(one.publication_date or "9999"), one.publication_number)
    ):
        first.setdefault((one.family_id, VIEWS["TAC"](one)), one)
    kept = sorted(first.values(), key=lambda one: one.publication_number)
    naive = replace(both[0], patents=kept)
    excluded = {"publications whose text another of their family has": len(some) - len(kept)}
    assert len(kept) < 300 and all(list(one.patents) == kept and one.left_out == excluded for one in both)
    settings = Settings(self_share=0.2)
    pairs = [list(SIGNALS[signal](corpus, "train", Counter(), settings)) for corpus in (*both, naive)]
    assert pairs[0] == pairs[1] == pairs[2] and pairs[0]
    number = some[5].publication_number
    assert "none" not in naive.records and both[1].records[number] == naive.records[number]
