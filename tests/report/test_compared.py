"""All pairs, tiers and the detectable difference, as a reader and a program get them."""

import numpy as np
import pytest
from report_folders import HEADLINE, add, built_tables, model_folder
from scipy import stats

from patent_mteb.metrics.paired import detectable
from patent_mteb.report.collect import collect
from patent_mteb.report.compared import PAIRS_SCHEMA, holm_of_pairs, pairs_table
from patent_mteb.report.statistics import statistics

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


def test_all_pairs_are_scipys_t_tests_with_holms_correction_over_all_of_them(measured):
    root, values = measured
    frame = pairs_table(statistics(collect(root), test="t"))
    assert frame.columns == list(PAIRS_SCHEMA) and len(frame) == 6
    ps = {}
    for row in frame.iter_rows(named=True):
        first, second = values[row["first"]], values[row["second"]]
        assert row["difference"] == pytest.approx(first.mean() - second.mean()) and row["difference"] >= 0
        assert row["p"] == pytest.approx(stats.ttest_rel(first, second, alternative="greater").pvalue, rel=1e-6)
        assert row["effect"] == pytest.approx((first - second).mean() / (first - second).std(ddof=1))
        assert row["n"] == 90
        ps[row["first"], row["second"]] = row["p"]
    ranked = sorted(ps, key=ps.get)
    stepped = np.maximum.accumulate([min(1, ps[pair] * (6 - place)) for place, pair in enumerate(ranked)])
    found = {(row["first"], row["second"]): row["p_holm"] for row in frame.iter_rows(named=True)}
    assert [found[pair] for pair in ranked] == pytest.approx(stepped.tolist())


def test_the_table_numbers_the_models_and_says_whom_each_beats(measured):
    root, _ = measured
    table = built_tables(root, "acme/d")["sample-wipo-at-statistics"]
    keys = [column.key for column in table.columns]
    rows = {row[keys.index("model")].value: row for row in table.rows}
    assert list(rows) == ["1 acme/a", "2 acme/b", "3 acme/c", "4 acme/d"]
    assert [row[keys.index("better_than")].value for row in rows.values()] == ["3–4", "3–4", "4", ""]
    assert [row[keys.index("tier")].text for row in rows.values()] == ["1", "1", "2", "3"]
    assert {row[keys.index("n")].text for row in rows.values()} == {"90"}
    pairs = statistics(collect(root)).pairs["sample", f"{HEADLINE}.sample"]
    assert (holm_of_pairs(pairs) == holm_of_pairs(pairs).T).all()


def test_what_a_task_can_tell_apart(measured):
    root, values = measured
    (row,) = built_tables(root, "acme/d")["sample-wipo-at-detectable"].rows
    assert [cell.text for cell in (row[0], row[1], row[2], row[4], row[5])] == [HEADLINE, "90", "4", "acme/a", "2"]
    assert row[3].value == pytest.approx(detectable(np.column_stack(list(values.values()))))
    marked = built_tables(root, "acme/d")["sample-wipo-at-tasks"]
    assert [cell.behind.strip() for cell in marked.rows[0][3:]] == ["", "≈", "", ""]
    assert any(note.startswith("≈: not significantly different") for note in marked.notes)
