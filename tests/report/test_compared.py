"""All pairs, groups of tied models and the detectable difference, as a reader and a program get them."""

import numpy as np
import pytest
from classes import these_first
from many_models import many_models
from report_folders import HEADLINE, add, built_tables, model_folder
from scipy import stats

from patent_mteb.metrics.significance import detectable, needed_queries
from patent_mteb.report.collect import collect
from patent_mteb.report.statistics import statistics
from patent_mteb.report.tables import PAIRS_SCHEMA, pairs_table

GAINS = {"acme/a": 0.3, "acme/b": 0.29, "acme/c": 0.1, "acme/d": 0.0}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A folder, and the scores of its four models in the order of the report."""
    root, rng = tmp_path_factory.mktemp("pairs"), np.random.default_rng(2)
    easy = rng.random(90) * 0.5
    values = {model: np.clip(easy + gain + 0.1 * rng.standard_normal(90), 0, 1) for model, gain in GAINS.items()}
    for model, queries in values.items():
        add(model_folder(root, model), HEADLINE, queries=queries)
    by_name = sorted(range(90), key=lambda number: f"q{number}")
    return root, {model: queries[by_name] for model, queries in values.items()}


def places(text):
    """The positions in a text such as ``1–3, 5``."""
    ends = [list(map(int, part.split("–"))) for part in text.split(", ")] if text else []
    return {place for first, *last in ends for place in range(first, (last or [first])[0] + 1)}


def test_all_pairs_are_scipys_t_tests_with_holms_correction_over_all_pairs(measured):
    root, values = measured
    frame = pairs_table(statistics(collect(root), test="t"))
    assert frame.columns == list(PAIRS_SCHEMA) and len(frame) == 6
    ps = {}
    for row in frame.iter_rows(named=True):
        first, second = values[row["first"]], values[row["second"]]
        assert row["difference"] == pytest.approx(first.mean() - second.mean()) and row["difference"] >= 0
        assert row["p"] == pytest.approx(stats.ttest_rel(first, second).pvalue, rel=1e-6)
        assert row["effect"] == pytest.approx((first - second).mean() / (first - second).std(ddof=1))
        assert row["n"] == 90
        ps[row["first"], row["second"]] = row["p"]
        assert row["tied"] == (row["p_joint"] >= 0.05)
    found = {(row["first"], row["second"]): row["p_joint"] for row in frame.iter_rows(named=True)}
    ranked = sorted(ps, key=ps.get)
    stepped = np.maximum.accumulate([min(1, ps[pair] * (6 - place)) for place, pair in enumerate(ranked)])
    assert [found[pair] for pair in ranked] == pytest.approx(stepped.tolist())
    assert frame["paper_p"].null_count() == 6, "the t test is not the paper's"


def test_the_table_numbers_the_models_and_says_which_are_tied_and_which_are_worse(measured):
    root, _ = measured
    table = built_tables(root, "acme/d")["sample-wipo-at-statistics"]
    keys = [column.key for column in table.columns]
    rows = {row[keys.index("model")].value: row for row in table.rows}
    assert list(rows) == ["acme/a", "acme/b", "acme/c", "acme/d"]

    def column(key):
        return [row[keys.index(key)].value for row in rows.values()]

    assert column("position") == [1, 2, 3, 4]
    assert column("better_than") == ["3–4", "3–4", "4", ""]
    assert column("tied_with_best") == ["yes", "yes", "no", "no"]
    assert column("tied_with") == ["2", "1", None, None]
    assert {row[keys.index("n")].text for row in rows.values()} == {"90"}
    assert [row[keys.index("p_best")].text for row in rows.values()][2:] == ["< 0.0001"] * 2
    assert column("p_best")[2:] == [1 / 10_001] * 2


@pytest.mark.slow
@pytest.mark.parametrize("test", these_first(("bootstrap", "t", "permutation"), "t"))
def test_groups_of_tied_models_do_not_chain(tmp_path, test):
    """25 models, each tied with its neighbours: a group holds only models that are tied with the one it belongs to."""
    root = many_models(tmp_path, 25, queries=60, only=HEADLINE)
    compared = statistics(collect(root), test=test)
    where = "sample", f"{HEADLINE}.sample"
    pairs, frame = compared.pairs[where], pairs_table(compared)
    tied = {(row["first"], row["second"]): row["tied"] for row in frame.iter_rows(named=True)}
    groups = [places(compared.of(*where, run).tied_with) for run in pairs.runs]
    for row, run in enumerate(pairs.runs):
        score = compared.of(*where, run)
        assert score.position == row + 1
        others = {at + 1 for at, other in enumerate(pairs.runs) if tied.get((run, other)) or tied.get((other, run))}
        assert groups[row] == others
        assert score.tied_with_best == (row == 0 or row + 1 in groups[0])
        assert places(pairs.better_than(row)) == set(range(row + 2, 26)) - others
    chained = [place for place in range(2, 26) if place not in groups[0] and groups[0] & groups[place - 1]]
    assert chained, "a model that differs from the best, and is tied with one that does not"


def test_what_a_task_can_tell_apart(measured):
    root, values = measured
    (row,) = built_tables(root, "acme/d")["sample-wipo-at-detectable"].rows
    assert [cell.text for cell in (row[0], row[1], row[2], row[5], row[6])] == [HEADLINE, "90", "4", "acme/a", "2"]
    least = detectable(np.column_stack(list(values.values())))
    assert row[3].value == pytest.approx(least) and row[4].value == needed_queries(
        np.column_stack(list(values.values()))
    )
    marked = built_tables(root, "acme/d")["sample-wipo-at-tasks"]
    assert [cell.behind.strip() for cell in marked.rows[0][3:]] == ["", "≈", "", ""]
    assert any(note.startswith("≈: not distinguishable from the best") for note in marked.notes)
