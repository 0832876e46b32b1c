"""Counts that are too small for a score, at their limits."""

import pytest

from patent_mteb.metrics.significance import explained, too_small


@pytest.mark.parametrize(
    ("scores", "part", "said"),
    [
        ({"n_queries": 50}, "", ""),
        ({"n_queries": 49}, "", "49 queries"),
        ({"n_queries": 49.0, "in_n_queries": 0, "out_n_queries": 1}, "in", "0 queries"),
        ({"n_queries": 1, "out_n_queries": 50}, "out", ""),
        ({"out_n_queries": 1}, "out", "1 query"),
        ({"n_test": 30, "n_classes": 2}, "", ""),
        ({"n_test": 29, "n_classes": 2}, "", "29 test rows"),
        ({"n_test": 1, "n_classes": 1}, "", "1 test row, 1 class"),
        ({"n_test": 500, "ipc3_a61_n_pairs": 30, "ipc3_a61_n_classes": 1}, "ipc3_a61", "1 class"),
        ({"n_test": 500, "ipc3_a61_n_pairs": 29, "ipc3_a61_n_classes": 2}, "ipc3_a61", "29 test rows"),
        ({"n_test": 90, "n_classes": 6, "n_effective": 11.9}, "", "11 effective test rows"),
        ({"n_test": 90, "n_classes": 6, "n_effective": 12.0}, "", ""),
        ({"n_test": 90, "n_classes": 2, "n_rarer_label": 1}, "", "1 pair of one label"),
        ({"n_test": 90, "n_classes": 2, "n_rarer_label": 2}, "", ""),
        ({"macro_f1": 1.0}, "", ""),
    ],
)
def test_too_small(scores, part, said):
    assert too_small(scores, part) == said


def test_the_explanation_names_the_limits():
    assert all(
        limit in explained()
        for limit in ("queries (< 50)", "test rows (< 30)", "effective test rows (< 12)", "classes (< 2)")
    )
