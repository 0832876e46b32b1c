"""Texts on which a pattern may look back again and again: 50 kB of them are read in a moment."""

from __future__ import annotations

import time

import pytest

from patent_mteb.endpoints.chat import fault_of, visible_answer
from patent_mteb.experiments.summarising import Extracts
from patent_mteb.models.judge import grade_in
from patent_mteb.patents.claims import split_claims
from patent_mteb.patents.records import Claim, Description, Patent
from patent_mteb.recipes.sophia import advantages_and_disadvantages, object_of_invention

SIZE = 50_000
SECONDS = 1.25
"""Of processor time: linear code takes a tenth of it on a slow machine, quadratic code took four seconds and more."""


def text(start, word, end=""):
    return start + word * (SIZE // len(word)) + end


def within_bounds(function, *args):
    started = time.process_time()
    result = function(*args)
    assert time.process_time() - started < SECONDS
    return result


CLAIMS = [
    "according to any of claims 1 to ",
    "of claim 1 ",
    "claim 1. The ",
    "A b.\n",
    "a\n",
    "1. A pump. ",
    "* ",
    "*",
    " ",
]
CLAIMS += ["2. (canceled) ", "claim ", "claims of any one of ", "any of the preceding claims ", "1 to ", "("]
CLAIMS += ["the method of claim, wherein "]


@pytest.mark.slow
@pytest.mark.parametrize("start", ["", "1. A pump of claim 1. "])
@pytest.mark.parametrize("word", CLAIMS)
def test_claims(start, word):
    within_bounds(split_claims, text(start, word, "x"))


ANSWERS = [" ", "-= ", "= ", ":", "_", "\n", "a", "a ", "3 ", "Grade: ", "<think>", "</think>", "<think></think>"]
ANSWERS += ["<think> 3</think>"]


@pytest.mark.parametrize("start", ["", "Grade"])
@pytest.mark.parametrize("word", ANSWERS)
def test_answers(start, word):
    answer = text(start, word, "x")
    assert within_bounds(grade_in, answer) is None
    within_bounds(lambda: fault_of(visible_answer(answer), "stop"))


def test_a_grade_among_blanks_is_read():
    assert within_bounds(grade_in, text("", " ", "3") + text("", "\n")) == 3
    assert within_bounds(grade_in, text("Grade", " -", "= 2")) == 2
    assert within_bounds(grade_in, text("<think>", "x </think> <think>", "</think> 1")) == 1
    assert within_bounds(grade_in, text("", "<think>x</think> ", "1")) == 1


SENTENCES = [
    "technical ",
    "basic underlying ",
    "the problem ",
    "an object ",
    "object of the ",
    "it is the a ",
    ". ",
    "of ",
]
SENTENCES += ["invention aims "]


@pytest.mark.slow
@pytest.mark.parametrize("word", SENTENCES)
def test_descriptions(word):
    description = text("Pumps are known. ", word, "x")
    within_bounds(object_of_invention, description)
    within_bounds(advantages_and_disadvantages, description)
    patent = Patent("US1A", "F1", claims=(Claim(1, text("", word)),), description=Description(detailed=description))
    within_bounds(lambda: list(Extracts().write([("features", patent), ("abstract", patent), ("objectives", patent)])))


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("The technical problem to be solved is leakage.", True),
        ("A basic underlying task addressed here is leakage.", True),
        ("The problem underlying the invention is leakage.", True),
        ("The technical means are known.", False),
    ],
)
def test_the_problem_is_found_with_and_without_its_adjectives(sentence, wanted):
    assert object_of_invention(f"Pumps are known. {sentence}") == (sentence if wanted else "")


def test_a_cancelled_range_that_runs_backwards_is_no_error():
    assert [claim.number for claim in split_claims("1. A pump. 7 to 3 (canceled) 8. The pump of claim 1.")] == [1, 8]
