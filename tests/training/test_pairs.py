"""Pairs by definition: the counts of each signal, computed again naively, and no family in two splits."""

from __future__ import annotations

from collections import Counter

import pytest
from pair_counts import naive_counts

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import degree
from patent_mteb.patents.records import Citation, Claim, Description, Label, Patent
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


TAGGED = {
    "claims": ("[claim]", lambda patent: " ".join(f"{one.number}. {one.text}" for one in patent.claims)),
    "summary": ("[summary]", lambda patent: patent.description.summary),
    "background": ("[invention]", lambda patent: patent.description.background),
    "drawings": ("[drawing]", lambda patent: patent.description.drawings),
    "description": ("[description]", lambda patent: patent.description.detailed),
}
"""Sections and tags of PatentMap, appendix A."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy", ["dropout", "crop", "shuffle", "claims", "background-drawings", "summary-description"]
)
def test_views_of_patentmap(corpus, policy):
    alone = list(pairs.two_views(corpus, "train", Counter(), Settings(swap=False), policy=policy))
    turned = list(pairs.two_views(corpus, "train", Counter(), Settings(swap=True), policy=policy))
    members = {patent.publication_number: patent for patent in corpus.members("train")}
    assert len(alone) == len(turned) == sum(len(patent.abstract.split()) >= 15 for patent in members.values())
    assert all("[abstract]" in pair.positive for pair in alone), "negatives are TA"
    swapped = sum(pair.anchor != other.anchor for pair, other in zip(alone, turned, strict=True))
    same = sum(pair.anchor == pair.positive for pair in alone)
    assert abs(swapped - (len(alone) - same) / 2) < 0.1 * len(alone)
    sections = [name for name in TAGGED if name in policy.split("-")]
    if policy == "dropout":
        assert same == len(alone)
    elif "crop" in policy:
        for pair in alone:
            cut, whole = len(pair.anchor.split()), len(pair.positive.split())
            assert whole - cut == max(1, round(0.1 * len(members[pair.anchor_id].abstract.split())))
    elif policy == "shuffle":
        assert all(sorted(pair.anchor.split()) == sorted(pair.positive.split()) for pair in alone)
    else:
        expected = 0.0
        for pair in alone:
            texts = [(tag, text_of(members[pair.anchor_id]).strip()) for tag, text_of in map(TAGGED.get, sections)]
            allowed = {f"{tag} {text}" for tag, text in texts if len(text.split()) >= 15}
            assert pair.anchor in {pair.positive} | allowed
            expected += 1 / (1 + len(allowed))
        assert abs(same - expected) < 3 * len(alone) ** 0.5, "the abstract and each section have equal shares"


def test_sections_of_patentmap_without_what_appendix_a_removes():
    """Cancelled claims, summaries that list figures, sections and abstracts of fewer than 15 words."""
    import random
    from dataclasses import replace

    words = " ".join(f"word{number}" for number in range(15))
    claims = (Claim(1, "(canceled)"), Claim(2, words))
    patent = Patent("US1A1", "F", "A title", words, claims, description=Description(summary=words, background="short"))
    ta = f"A title [SEP] [abstract] {words}"
    for policy, own, view in (
        ("claims", patent, {ta, f"[claim] 2. {words}"}),
        ("summary", patent, {ta, f"[summary] {words}"}),
        ("background", patent, {ta}),
        ("claims-summary", patent, {ta, f"[claim] 2. {words}", f"[summary] {words}"}),
        (
            "summary",
            replace(patent, description=Description(summary=f"BRIEF DESCRIPTION OF THE DRAWINGS {words}")),
            {ta},
        ),
    ):
        assert {POLICIES[policy](own, random.Random(seed)) for seed in range(40)} == view
    left_out = Counter()
    few = Corpus("few", [replace(patent, abstract=words[:-7])], [], {"F": "train"})
    assert not list(pairs.two_views(few, "train", left_out, policy="claims"))
    assert left_out == {"publications without an abstract of 15 words": 1}


def test_ipc_match_shares_the_very_list(corpus):
    codes = {
        patent.publication_number: frozenset(pairs.ipc.codes_at(patent.ipc, "subgroup").codes)
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
