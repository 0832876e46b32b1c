"""The table of ``benchmarks/calibration.py`` for a few cells: intervals contain the score that such test sets have."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "calibration.py"


@pytest.fixture(scope="module")
def calibration():
    spec = importlib.util.spec_from_file_location("calibration", PATH)
    module = sys.modules["calibration"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.TRUTH = 400
    yield module
    del sys.modules["calibration"]


@pytest.mark.parametrize(
    ("name", "n", "marked"),
    [
        ("macro F1, 109 classes", 120, 0),
        ("macro F1, 30 classes", 50, 0),
        ("macro F1, 15 labels, the rarest 1 in 200", 50, 1),
        ("V-measure, 30 classes, 70% right", 120, 0),
        pytest.param("V-measure, 100 classes, 70% right", 300, 0, marks=pytest.mark.slow),
        ("Pearson .90, half of the pairs similar", 50, 0),
        ("P@1 .9", 30, 0),
        ("macro F1, 40 labels", 30, 0),
    ],
)
def test_intervals_of_documents_are_wrong_in_few_sets(calibration, name, n, marked):
    """5% are expected of 400 sets, and 8.5% or fewer in 99.9% of cases; a mark says that too few documents decide."""
    wrong, share_marked, width = calibration.labelled_sets(name, n, seed=5, sets=400)
    if marked:
        assert share_marked > 0.6
    else:
        assert wrong <= 0.085 and share_marked < 0.05 and 0 < width < 0.5


@pytest.mark.slow
def test_statements_on_queries_are_wrong_in_few_sets(calibration, monkeypatch):
    """60 sets of 120 queries, of which 14% are above zero, for 22 equal models."""
    monkeypatch.setattr(calibration, "QUERIES", 20_000)
    found = calibration._sets("nDCG@10 OUT of domain, mean .08, 86% zeros", 120, 3, 60)
    share = {what: count / 60 for what, count in found.items()}
    assert share["interval misses the mean"] < 0.09 and share["interval misses the gap"] < 0.09
    assert max(share[what] for what in ("a pair differs", "some of 22 differ", "a rank of 5 equal is missed")) <= 0.15
    assert share["found, a pair"] > 0.05
    assert share["found with the needed queries"] > 0.6


def test_what_decides_a_score_decides_the_mark(calibration, monkeypatch):
    """Intervals without a mark are wrong in few sets of random populations, those with one in many."""
    monkeypatch.setattr(calibration, "RANDOM", (12, 40, 200))
    found = [calibration.random_sets(seed) for seed in range(12)]
    for name, marked in (("n_effective", 3), ("n_rarer_label", 1)):
        sets, wrong = sum(one[name] for one in found).T
        assert wrong[marked:].sum() / sets[marked:].sum() < 0.055
        assert wrong[:marked].sum() / sets[:marked].sum() > 0.06


@pytest.mark.parametrize("grouped", [False, True])
def test_real_scores_are_drawn_by_group(calibration, tmp_path, grouped):
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(60), 4)
    values = np.clip(rng.normal(0.5, 0.2, (60, 1))[groups] + rng.normal(0, 0.1, (240, 3)), 0, 1)
    table, head = (np.column_stack([groups, values]), "group,a,b,c") if grouped else (values, "a,b,c")
    np.savetxt(tmp_path / "scores.csv", table, delimiter=",", header=head, comments="")
    scores = calibration.population(str(tmp_path / "scores.csv"), 0)
    assert scores == pytest.approx(values)
    drawn = calibration._drawing(str(tmp_path / "scores.csv"), scores)(2000, rng)
    assert drawn.shape == (2000, 3) and drawn.mean() == pytest.approx(values.mean(), abs=0.02)
    independent = values.reshape(60, 4, 3).mean(axis=1) if grouped else values
    assert drawn.std() == pytest.approx(independent.std(), rel=0.04)
