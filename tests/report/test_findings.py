"""The sentences that are titles of charts say what their numbers say."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from patent_mteb.report import findings
from patent_mteb.report.charts import CHARTS


def table(*rows, columns="model x value"):
    return pl.DataFrame(rows, columns.split(), orient="row")


SIZES = "model x value group"
LARGER = (("a", 1e6, 0.3), ("b", 2e6, 0.4))
SENTENCES = {
    "domains": (
        table(("a", "IN", 0.5), ("a", "OUT", 0.4), ("b", "IN", 0.4), ("b", "OUT", 0.1), columns="model group value"),
        "From IN to OUT of domain scores change by −75% to −20%",
    ),
    "lowest": (
        table(
            ("a", "x", 1.0),
            ("b", "x", 2.0),
            ("a", "y", 2.0),
            ("b", "y", 1.0),
            ("a", "z", 1.0),
            columns="model group value",
        ),
        "a is first in 2 of 3",
    ),
    "found": (
        table(("a", 10, 0.9), ("a", 100, 0.55), ("b", 100, 0.62), ("b", 1000, 0.99)),
        "b finds 62 of 100 relevant documents among the first 100",
    ),
    "highest_group": (
        table(("a", "A", 0.3, False), ("a", "B", 0.2, False), ("a", "C", 0.9, True), columns="model group value small"),
        "Scores are highest on A, lowest on B",
    ),
    "highest": (
        table(("a", "x", 0.1), ("b", "x", 0.2), ("a", "y", 0.3), ("b", "y", 0.4), columns="model group value"),
        "b is highest in 2 of 2",
    ),
    "years": (
        table(("a", 2001, 0.3), ("b", 2001, 0.1), ("a", 2002, 0.1)),
        "Scores are highest in 2001, lowest in 2002",
    ),
    "sections": (
        table(("a", "Title", "TAC", 0.2), ("a", "Claims", "TA", 0.3), columns="model query corpus value"),
        "The score is highest for the query Claims and the corpus TA",
    ),
    "in_scope": (
        table(
            ("a", 5, 0.9, "section"),
            ("a", 10, 0.7, "section"),
            ("b", 10, 0.6, "section"),
            columns="model x value level",
        ),
        "a: 70% of the first 10 share the query's section",
    ),
    "added": (table(("a", -0.01), ("b", 0.0204), columns="model value"), "They change scores by −0.010 to +0.020"),
    "disagreement": (
        table(
            *((model, "x", value) for model, value in zip("abc", (1.0, 2.0, 3.0), strict=True)),
            *((model, "y", value) for model, value in zip("abc", (1.0, 2.0, 3.0), strict=True)),
            *((model, "z", value) for model, value in zip("abc", (3.0, 1.0, 2.0), strict=True)),
            columns="model group value",
        ),
        "x and z agree least (ρ −0.50)",
    ),
    "zeros": (
        table(
            *(("a", "ALL", value) for value in (0.0, 1.0, 1.0, 0.0)),
            *(("b", "ALL", value) for value in (0.1, 0.1, 0.1, 0.1)),
            ("b", "IN", 1.0),
            columns="model part value",
        ),
        "a scores 0 on 50% of the queries",
    ),
    "constants": (
        table(("a", 10, 0.5), ("a", 60, 0.53), ("b", 10, 0.1), ("b", 60, 0.1)),
        "The choice of k changes a score by at most 0.030",
    ),
    "passages": (table(("a", 128.0, 0.5), ("a", 256.0, 0.4)), "a is best with passages of 128 tokens"),
    "truncated": (
        table(
            *(("a", 32, 0.1, False), ("a", 64, 0.3, False), ("a", 128, 0.4, True)),
            *(("b", 64, 0.35, False), ("b", None, 0.36, True)),
            columns="model x value full",
        ),
        "Cut to 64 dimensions, scores change by −0.100 to −0.010",
    ),
    "separation": (
        table(("a", 0.5, 0.3), ("b", 0.4, 0.6), columns="model ssd score"),
        "a has the highest SSD / log d, b the highest score",
    ),
    "last_step": (
        table(("a", 0, 2.0), ("a", 50, -0.25), ("b", 50, 0.5)),
        "The lowest value, −0.25, is that of a at step 50",
    ),
    "fusion": (
        table(("a", 0.0, 0.3), ("a", 0.5, 0.35), ("a", 1.0, 0.34), ("b", 0.5, 0.9)),
        "Fusion gains 0.010 on the better system alone (α 0.5)",
    ),
    "retained": (
        table(("a", 64, 80.0), ("a", 128, 95.0), ("b", 64, 99.0), ("b", 128, 91.4), ("b", 256, 100.0)),
        "128 dimensions keep 91% of the score or more",
    ),
    "sizes": (table(("a", 1e6, 0.5, "A"), ("b", 2e6, 0.4, "A"), columns=SIZES), "The best, a, is not the largest"),
    "costs": (table(("a", 30.0, 0.5), ("b", 2.0, 0.4)), "a is the best and costs 15 times as much as b"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_says_the_numbers_of_its_table(name):
    frame, sentence = SENTENCES[name]
    assert getattr(findings, name)(frame) == sentence


def test_where_the_numbers_say_nothing_there_is_no_sentence():
    assert findings.highest(table(("a", "x", 0.3), ("b", "x", 0.2), columns="model group value")) == "", "one group"
    assert findings.in_scope(table(("a", 100, 0.9, "section"), columns="model x value level")) == ""
    assert findings.disagreement(table(("a", "x", 0.3), ("a", "y", 0.3), columns="model group value")) == ""
    assert findings.zeros(table(("a", "IN", 0.3), columns="model part value")) == ""
    assert findings.truncated(table(("a", 64, 0.3, False), columns="model x value full")) == ""
    assert findings.fusion(table(("a", 0.5, 0.9))) == "", "no system alone"
    assert findings.fusion(table(("a", 0.0, 0.3), ("a", 0.5, 0.2), ("a", 1.0, 0.1))).startswith("No fusion is better")
    assert findings.found(table(("a", 1000, 0.9))) == ""
    assert findings.retained(table(("a", 64, 80.0))) == ""
    assert findings.domains(table(("a", "IN", 0.0), ("a", "OUT", 0.0), columns="model group value")) == ""
    assert findings.costs(table(("a", 0.0, 0.5), ("b", 2.0, 0.4))) == "a is the best and the cheapest"
    assert findings.sizes(table(*((*row, "A") for row in LARGER), columns=SIZES)) == "The largest model is the best"


def test_panels_together_have_one_sentence():
    rows = (
        ("a", "Title", "TAC", 0.2),
        ("a", "Claims", "TA", 0.3),
        ("b", "Title", "TAC", 0.6),
        ("b", "Claims", "TA", 0.5),
    )
    grid = table(*rows, ("c", "Title", "TAC", 0.1), columns="model query corpus value")
    assert findings.sections(grid) == "The score is highest for the query Title and the corpus TAC for 2 of 3 models"
    groups = table(*((*row, "A") for row in LARGER), ("a", 1e6, 0.4, "B"), ("b", 2e6, 0.3, "B"), columns=SIZES)
    assert findings.sizes(groups) == "The largest model is the best in 1 of 2 groups"


def test_every_chart_has_a_sentence_and_every_sentence_a_chart():
    assert {chart.finding.__name__ for chart in CHARTS} == set(SENTENCES)


def test_agreement_is_spearmans_of_scipy():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 6, (12, 4)) / 5  # with ties
    rows = [(f"m{row}", f"g{column}", float(value)) for (row, column), value in np.ndenumerate(values)]
    found = findings.rank_agreements(table(*rows, columns="model group value"))
    expected = spearmanr(values).statistic.ravel()
    assert np.allclose(found["value"].to_numpy(), expected) and len(found) == 16
