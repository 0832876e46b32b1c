"""Pairs by definition: the counts of each signal, computed again naively, and no family in two splits."""

from __future__ import annotations

from collections import Counter

import pytest
from pair_counts import naive_counts

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import degree
from patent_mteb.patents.records import Citation, Claim, Label, Patent
from patent_mteb.patents.views import VIEWS
from patent_mteb.training import pairs
from patent_mteb.training.corpus import Corpus, read_corpus
from patent_mteb.training.pairs import POLICIES
from patent_mteb.training.recipes import Settings


@pytest.fixture(scope="module")
def corpus():
    return read_corpus("sample")


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_counts_of_the_wipo_recipes_are_those_of_the_definitions(corpus, split):
    made = [
        list(make(corpus, split, Counter()))
        for make in (pairs.co_labelled, pairs.citing_and_cited, pairs.abstract_and_claim)
    ]
    assert tuple(map(len, made)) == naive_counts(corpus, split)
    assert {
        corpus.split[family] for one in made for pair in one for family in (pair.anchor_family, pair.positive_family)
    } == {split}
    co_label, citations, sections = made
    labels = {patent.publication_number: {one.fine for one in patent.labels} for patent in corpus.patents}
    assert all(
        pair.anchor_family != pair.positive_family and labels[pair.anchor_id] & labels[pair.positive_id]
        for pair in co_label
    )
    cited = {(one.citing, one.cited) for one in corpus.citations}
    assert all((pair.anchor_id, pair.positive_id) in cited for pair in citations)
    assert all(pair.anchor_id == pair.positive_id and pair.anchor != pair.positive for pair in sections)


def test_matched_size_draws_what_random_draws(corpus):
    """R3-matched: the multiset of ``random.choices`` with the paper's seed, and exactly that size."""
    import random

    every = list(pairs.abstract_and_claim(corpus, "train", Counter()))
    drawn = list(pairs.matched_size(lambda: pairs.abstract_and_claim(corpus, "train", Counter()), 3001, 42))
    expected = Counter(every[place].anchor_id for place in random.Random(42).choices(range(len(every)), k=3001))
    assert len(drawn) == 3001
    assert Counter(pair.anchor_id for pair in drawn) == expected


def test_pairs_are_written_as_they_come_with_their_provenance(corpus, tmp_path):
    path = tmp_path / "pairs.parquet"
    number = pairs.write_pairs(path, pairs.citing_and_cited(corpus, "test", Counter()))
    back = list(pairs.read_pairs(path))
    assert number == len(back) and back == list(pairs.citing_and_cited(corpus, "test", Counter()))
    records = {patent.publication_number: patent for patent in corpus.patents}
    assert all(pair.anchor == VIEWS["TAC"](records[pair.anchor_id]) for pair in back)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_views_of_patentmap(corpus, policy):
    alone = list(pairs.two_views(corpus, "train", Counter(), Settings(swap=False), policy=policy))
    turned = list(pairs.two_views(corpus, "train", Counter(), Settings(swap=True), policy=policy))
    assert len(alone) == len(turned) == sum(bool(patent.abstract) for patent in corpus.members("train"))
    assert all("[abstract]" in pair.positive for pair in alone), "negatives are TA"
    swapped = sum(pair.anchor != other.anchor for pair, other in zip(alone, turned, strict=True))
    same = sum(pair.anchor == pair.positive for pair in alone)
    assert abs(swapped - (len(alone) - same) / 2) < 0.1 * len(alone)
    if policy == "dropout":
        assert same == len(alone)
    elif policy == "crop":
        words = [(len(pair.anchor.split()), len(pair.positive.split())) for pair in alone]
        titles = {patent.publication_number: patent for patent in corpus.members("train")}
        for (cut, whole), pair in zip(words, alone, strict=True):
            assert whole - cut == max(1, round(0.1 * len(titles[pair.anchor_id].abstract.split())))
    elif policy == "shuffle":
        assert all(sorted(pair.anchor.split()) == sorted(pair.positive.split()) for pair in alone)


def test_ipc_match_shares_the_very_list(corpus):
    codes = {
        patent.publication_number: frozenset(pairs.ipc.codes_at(patent.ipc, "subgroup", errors="skip").codes)
        for patent in corpus.patents
    }
    found = list(pairs.ipc_matched(corpus, "train", Counter()))
    assert all(
        codes[pair.anchor_id] == codes[pair.positive_id] and pair.anchor_family != pair.positive_family
        for pair in found
    )
    members = list(corpus.members("train"))
    having = sum(
        any(
            codes[one.publication_number] == codes[other.publication_number] and one.family_id != other.family_id
            for other in members
        )
        for one in members
        if codes[one.publication_number]
    )
    assert len(found) == having


def test_ipc_match_turns_every_second_pair_or_so_where_negatives_shall_be_of_both_kinds(corpus):
    plain, swapped = (
        list(pairs.ipc_matched(corpus, "train", Counter(), Settings(swap=swap))) for swap in (False, True)
    )
    ends = [
        {(one.anchor_id, one.positive_id), (two.anchor_id, two.positive_id)}
        for one, two in zip(plain, swapped, strict=True)
    ]
    turned = [one for one in ends if len(one) == 2]
    assert all(first == second[::-1] for first, second in map(tuple, turned))
    assert 0.3 * len(plain) < len(turned) < 0.7 * len(plain)


@pytest.mark.slow
def test_share_of_self_alignment(corpus):
    found = Counter(
        pair.signal for pair in pairs.with_self_alignment(corpus, "train", Counter(), Settings(self_share=0.25))
    )
    assert found["self-alignment"] == round(found["citations"] / 3)
    letters = {(one.citing, one.cited) for one in corpus.citations if degree(one.category)}
    cited = [
        pair
        for pair in pairs.with_self_alignment(corpus, "train", Counter(), Settings(self_share=0.25))
        if pair.signal == "citations"
    ]
    assert all((pair.anchor_id, pair.positive_id) in letters for pair in cited)


def test_what_gives_no_pair_is_counted_or_refused():
    patents = [
        Patent("US1A1", "F1", "Pump", "It pumps.", (Claim(1, "A pump."),), labels=(Label("x", "y", "z"),)),
        Patent("US2A1", "F2", "Lens", "It bends light."),
        Patent("US3B1", "F1", "Pump", "It pumps more.", (Claim(1, "A pump."),)),
    ]
    corpus = Corpus(
        "mine", patents, [Citation("US1A1", "US3B1"), Citation("US1A1", "EP9A1")], {"F1": "train", "F2": "train"}
    )
    left_out: Counter[str] = Counter()
    assert len(list(pairs.abstract_and_claim(corpus, "train", left_out))) == 2
    assert left_out == {"publications without abstract or claim": 1}
    with pytest.raises(
        DataError, match=r"no citation connects two families .*1 citations within a family.*1 citations from or to"
    ):
        list(pairs.citing_and_cited(corpus, "train", Counter()))
    with pytest.raises(DataError, match="no publication of the validation split has a fine label"):
        list(pairs.co_labelled(corpus, "validation", Counter()))
