"""Intervals and letters from the per-query scores, and what may not be compared."""

import numpy as np
import pytest
from report_folders import HEADLINE, add, built_tables, model_folder, sample_world

from patent_mteb.metrics.significance import bootstrap, holm
from patent_mteb.report.collect import ReportError, collect
from patent_mteb.report.statistics import Score, statistics

DAPFAM = "PatentDAPFAMTACToTACRetrieval"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return sample_world(tmp_path_factory.mktemp("world"))


def test_letters_are_the_paired_bootstrap_with_holms_correction(tmp_path):
    rng = np.random.default_rng(5)
    easy = rng.random(200) * 0.6
    models = {"base/line": 0.0, "acme/equal": 0.001, "acme/better": 0.03, "acme/best": 0.1, "acme/worse": -0.1}
    queries = {model: np.clip(easy + gain + 0.15 * rng.standard_normal(200), 0, 1) for model, gain in models.items()}
    for model, values in queries.items():
        add(model_folder(tmp_path, model), HEADLINE, queries=values)
    compared = statistics(collect(tmp_path), "base/line")
    order = sorted(queries)
    by_name = sorted(range(200), key=lambda number: f"q{number}")  # the report puts the queries in the order of their names
    direct = bootstrap(np.column_stack([queries[model] for model in order])[by_name])
    at = order.index("base/line")
    others = [position for position in range(len(order)) if position != at]
    corrected = holm(direct.p_values()[at][others])
    expected = {
        order[position]: p < 0.05 and direct.means[position] > direct.means[at] for position, p in zip(others, corrected, strict=True)
    }
    assert {model: compared.of("sample", f"{HEADLINE}.sample", model).better for model in expected} == expected
    assert (expected["acme/best"], expected["acme/equal"], expected["acme/worse"]) == (True, False, False)
    for position, p in zip(others, corrected, strict=True):
        score = compared.of("sample", f"{HEADLINE}.sample", order[position])
        assert [score.low, score.high] == pytest.approx(direct.intervals()[position], abs=1e-9)
        assert (score.p, score.p_holm) == (direct.p_values()[at][position], p)
    assert compared.of("sample", f"{HEADLINE}.sample", "base/line").p is None
    table = built_tables(tmp_path, "base/line")["sample-wipo-at-tasks"]
    letters = {column.key: cell.letters for column, cell in zip(table.columns, table.rows[0], strict=True)}
    assert {model: letters[model] == "a" for model in expected} == expected
    assert any(note.startswith("a: significantly better than base/line") for note in table.notes)


def test_a_probe_brings_its_interval_and_is_not_compared(tmp_path):
    task = "WIPOATEmergingClassification"
    add(model_folder(tmp_path, "acme/sure"), task, 0.6, more={"macro_f1_low": 0.55, "macro_f1_high": 0.64, "knn_macro_f1_low": 0.1})
    add(model_folder(tmp_path, "acme/bare"), task, 0.5)
    compared = statistics(collect(tmp_path), "acme/bare")
    assert compared.scores == {("sample", f"{task}.sample", "acme/sure"): Score(0.55, 0.64)}
    (row,) = built_tables(tmp_path, "acme/bare")["sample-wipo-at-tasks"].rows
    assert [cell.text for cell in row[-2:]] == ["0.6000", "0.5000"] and not any(cell.letters for cell in row)


def test_no_letters_without_baseline(world):
    assert not any(cell.letters for table in built_tables(world).values() for row in table.rows for cell in row)
    assert not any(note.startswith("a:") for table in built_tables(world).values() for note in table.notes)


def test_other_queries_are_not_compared(tmp_path):
    rng = np.random.default_rng(0)
    for model in ("base/line", "acme/small"):
        add(model_folder(tmp_path, model), HEADLINE, queries=rng.random(50))
    add(model_folder(tmp_path, "acme/other"), HEADLINE, queries=rng.random(49))
    compared = statistics(collect(tmp_path), "base/line")
    assert set(compared.scores) == {("sample", f"{HEADLINE}.sample", "base/line"), ("sample", f"{HEADLINE}.sample", "acme/small")}
    (message,) = compared.messages
    assert "acme/other" in message
    assert HEADLINE in message


def test_the_baseline_must_be_clear(tmp_path):
    add(model_folder(tmp_path, "acme/small", "r1"), HEADLINE, 0.1)
    add(model_folder(tmp_path, "acme/small", "r2"), HEADLINE, 0.2)
    collected = collect(tmp_path)
    with pytest.raises(ReportError, match=r"acme/small @r1; acme/small @r2"):
        statistics(collected, "acme/small")
    with pytest.raises(ReportError, match="no results of a model 'nobody'"):
        statistics(collected, "nobody")
    assert statistics(collected, "acme/small @r2").baseline == "acme/small @r2"


def test_worlds_are_never_compared(tmp_path):
    """A local copy and the published data have tasks and queries of the same names."""
    rng = np.random.default_rng(1)
    easy = rng.random(100) * 0.5
    add(model_folder(tmp_path, "base/line"), DAPFAM, kind="real", queries=easy)
    add(model_folder(tmp_path, "acme/small"), DAPFAM, kind="real", queries=easy - 0.2)
    add(model_folder(tmp_path / "other", "base/line"), DAPFAM, kind="real", queries=easy)
    add(model_folder(tmp_path / "other", "acme/small"), DAPFAM, kind="real", queries=easy - 0.2)
    for model, gain in (("base/line", -0.1), ("acme/large", 0.3)):
        add(model_folder(tmp_path, model, "r2"), DAPFAM, kind="local", queries=easy + gain)
    alone = statistics(collect(tmp_path / "other"), "base/line").scores
    together = statistics(collect(tmp_path), "base/line @r1").scores
    local = f"{DAPFAM}.local-bbbbbbbbbbbb"
    assert set(together) == {
        ("real", DAPFAM, "base/line @r1"),
        ("local", local, "base/line @r2"),
        ("real", DAPFAM, "acme/small"),
        ("local", local, "acme/large"),
    }
    assert together["real", DAPFAM, "acme/small"] == alone["real", DAPFAM, "acme/small"]
    assert together["local", local, "acme/large"].p is None
