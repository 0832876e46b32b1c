"""The sentences that are titles of charts say what their numbers say."""

import polars as pl
import pytest

from patent_mteb.report import findings
from patent_mteb.report.charts import CHARTS


def table(*rows, columns="model x value"):
    return pl.DataFrame(rows, columns.split(), orient="row")


SENTENCES = {
    "domains": (
        table(("a", "IN", 0.5), ("a", "OUT", 0.4), ("b", "IN", 0.4), ("b", "OUT", 0.1), columns="model group value"),
        "From IN to OUT of domain scores change by −75% to −20%",
    ),
    "firsts": (
        table(
            ("a", "x", 1.0),
            ("b", "x", 2.0),
            ("a", "y", 2.0),
            ("b", "y", 1.0),
            ("a", "z", 1.0),
            columns="model group value",
        ),
        "a is first in 2 of 3 groups",
    ),
    "found": (
        table(("a", 10, 0.9), ("a", 100, 0.55), ("b", 100, 0.62), ("b", 1000, 0.99)),
        "b finds 62 of 100 relevant documents among the first 100",
    ),
    "highest_group": (
        table(("a", "A", 0.3, False), ("a", "B", 0.2, False), ("a", "C", 0.9, True), columns="model group value small"),
        "Scores are highest on A, lowest on B",
    ),
    "fusion": (
        table(("a", 0.0, 0.3), ("a", 0.5, 0.35), ("a", 1.0, 0.34), ("b", 0.5, 0.9)),
        "Fusion gains 0.010 on the better system alone (α 0.5)",
    ),
    "retained": (
        table(("a", 64, 80.0), ("a", 128, 95.0), ("b", 64, 99.0), ("b", 128, 91.4), ("b", 256, 100.0)),
        "128 dimensions keep 91% of the score or more",
    ),
    "sizes": (table(("a", 1e6, 0.5), ("b", 2e6, 0.4)), "The best, a, is not the largest"),
    "costs": (table(("a", 30.0, 0.5), ("b", 2.0, 0.4)), "a is the best and costs 15 times as much as b"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_says_the_numbers_of_its_table(name):
    frame, sentence = SENTENCES[name]
    assert getattr(findings, name)(frame) == sentence


def test_where_the_numbers_say_nothing_there_is_no_sentence():
    assert findings.fusion(table(("a", 0.5, 0.9))) == "", "no system alone"
    assert findings.fusion(table(("a", 0.0, 0.3), ("a", 0.5, 0.2), ("a", 1.0, 0.1))).startswith("No fusion is better")
    assert findings.found(table(("a", 1000, 0.9))) == ""
    assert findings.retained(table(("a", 64, 80.0))) == ""
    assert findings.domains(table(("a", "IN", 0.0), ("a", "OUT", 0.0), columns="model group value")) == ""
    assert findings.costs(table(("a", 0.0, 0.5), ("b", 2.0, 0.4))) == "a is the best and the cheapest"
    assert findings.sizes(table(("a", 1e6, 0.3), ("b", 2e6, 0.4))) == "The largest model is the best"


def test_every_sentence_has_a_chart():
    assert {chart.finding.__name__ for chart in CHARTS if chart.finding} == set(SENTENCES)
