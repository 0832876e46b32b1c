"""Shares and stratified draws, by hand and against the exact proportion."""

import random
from collections import Counter

import pytest

from patent_mteb import sample
from patent_mteb.recipes.sampling import sample_others, sample_queries, shares, stratified, stratum
from patent_mteb.recipes.steps import BuildLog


def test_shares_by_hand():
    sizes = {("a",): 50, ("b",): 30, ("c",): 1, ("d",): 19}
    assert shares(sizes, 10) == {("a",): 4, ("b",): 3, ("c",): 1, ("d",): 2}
    assert shares(sizes, 2) == {("a",): 1, ("b",): 1, ("c",): 0, ("d",): 0}
    assert shares(sizes, 1000) == sizes


def test_a_draw_has_every_stratum_in_its_proportion_and_grows_by_adding():
    patents = sample.load()[0]
    strata = {one.publication_number: stratum(one) for one in patents}
    sizes = Counter(strata.values())
    chosen = {total: stratified(strata, total, seed=1) for total in (300, 600, 10**6)}
    for total in (300, 600):
        assert len(chosen[total]) == total
        got = Counter(strata[key] for key in chosen[total])
        assert got.keys() == sizes.keys()
        for group, number in got.items():
            assert number - 1 == pytest.approx(
                (total - len(sizes)) * (sizes[group] - 1) / (len(strata) - len(sizes)), abs=1
            )
    assert set(chosen[300]) < set(chosen[600]) < set(chosen[10**6]) == set(strata)
    assert stratified(strata, 300, seed=2) != chosen[300]


def test_a_draw_does_not_depend_on_the_order_or_on_other_strata():
    strata = {f"US{number}A": (str(2000 + number % 3), "ABC"[number % 2]) for number in range(60)}
    shuffled = list(strata.items())
    random.Random(0).shuffle(shuffled)
    assert stratified(dict(shuffled), 12, 5) == stratified(strata, 12, 5)
    one = {key: group for key, group in strata.items() if group == ("2000", "A")}
    of_all = [key for key in stratified(strata, 30, 5) if key in one]
    assert stratified(one, len(of_all), 5) == of_all


def test_a_draw_is_a_step_of_the_log():
    log = BuildLog("mine")
    assert sample_queries({"b": ("1",), "a": ("2",)}, None, 0, log) == ["a", "b"] and not log.steps
    assert len(sample_queries({"b": ("1",), "a": ("2",)}, 1, 0, log)) == 1
    assert (log.steps[0].rows_in, log.steps[0].rows_out, log.steps[0].note) == (2, 1, "2 strata, by hash")


def test_drawing_from_all_but_some_is_drawing_from_a_list_of_the_others():
    draw = random.Random(3)
    for _ in range(50):
        gaps = sorted(draw.sample(range(200), draw.randrange(0, 30)))
        left = [place for place in range(200) if place not in gaps]
        seed = draw.random()
        drawn = sample_others(random.Random(seed), 200, gaps, 20)
        assert drawn == random.Random(seed).sample(left, 20)
        assert sorted(sample_others(draw, 200, gaps, len(left))) == left
