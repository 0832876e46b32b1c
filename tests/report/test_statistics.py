"""Intervals and letters from the per-query scores, and what may not be compared."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from report_folders import HEADLINE, add, attest, built_tables, model_folder

from patent_mteb.metrics.significance import TESTS, bootstrap, by_group, needed_queries
from patent_mteb.report import statistics as module
from patent_mteb.report.cells import Score
from patent_mteb.report.collect import ReportError, collect
from patent_mteb.report.statistics import scores_with, statistics
from patent_mteb.tasks.evidence import identity_of, with_identity

DAPFAM = "PatentDAPFAMTACToTACRetrieval"


def test_letters_are_the_paired_bootstrap_of_all_pairs_together(tmp_path):
    rng = np.random.default_rng(5)
    easy = rng.random(200) * 0.6
    models = {"base/line": 0.0, "acme/equal": 0.001, "acme/better": 0.03, "acme/best": 0.1, "acme/worse": -0.1}
    queries = {model: np.clip(easy + gain + 0.15 * rng.standard_normal(200), 0, 1) for model, gain in models.items()}
    for model, values in queries.items():
        add(model_folder(tmp_path, model), HEADLINE, queries=values)
    compared = statistics(collect(tmp_path), "base/line")
    order = sorted(queries)
    by_name = sorted(
        range(200), key=lambda number: f"q{number}"
    )  # the report puts the queries in the order of their names
    direct = bootstrap(np.column_stack([queries[model] for model in order])[by_name])
    at = order.index("base/line")
    joint = {position: p for position, p in enumerate(direct.joint()[at]) if position != at}
    expected = {
        order[position]: p < 0.05 and direct.means[position] > direct.means[at] for position, p in joint.items()
    }
    assert {model: compared.of("sample", f"{HEADLINE}.sample", model).better for model in expected} == expected
    assert (expected["acme/best"], expected["acme/equal"], expected["acme/worse"]) == (True, False, False)
    for position, p in joint.items():
        score = compared.of("sample", f"{HEADLINE}.sample", order[position])
        assert [score.low, score.high] == pytest.approx(direct.intervals()[position], abs=1e-9)
        assert (score.p_baseline, score.p_baseline_joint) == (direct.p_values()[at][position], p)
    assert compared.of("sample", f"{HEADLINE}.sample", "base/line").p_baseline is None
    table = built_tables(tmp_path, "base/line")["sample-wipo-at-tasks"]
    letters = {column.key: cell.letters for column, cell in zip(table.columns, table.rows[0], strict=True)}
    assert {model: letters[model] == "a" for model in expected} == expected
    assert any(note.startswith("a: significantly better than base/line") for note in table.notes)


def test_a_probe_brings_its_interval_and_is_not_compared(tmp_path):
    task = "WIPOATEmergingClassification"
    add(
        model_folder(tmp_path, "acme/sure"),
        task,
        0.6,
        more={"macro_f1_low": 0.55, "macro_f1_high": 0.64, "knn_macro_f1_low": 0.1},
    )
    add(model_folder(tmp_path, "acme/bare"), task, 0.5)
    compared = statistics(collect(tmp_path), "acme/bare")
    assert compared.scores == {("sample", f"{task}.sample", "", "acme/sure"): Score(0.55, 0.64)}
    (row,) = built_tables(tmp_path, "acme/bare")["sample-wipo-at-tasks"].rows
    assert [cell.text for cell in row[-2:]] == ["0.6000", "0.5000"] and not any(cell.letters for cell in row)


@pytest.mark.slow
def test_no_letters_without_baseline(world):
    assert not any(cell.letters for table in built_tables(world).values() for row in table.rows for cell in row)
    assert not any(note.startswith("a:") for table in built_tables(world).values() for note in table.notes)


def test_other_queries_are_not_compared(tmp_path):
    rng = np.random.default_rng(0)
    for model in ("base/line", "acme/small"):
        add(model_folder(tmp_path, model), HEADLINE, queries=rng.random(50))
    add(model_folder(tmp_path, "acme/other"), HEADLINE, queries=rng.random(49))
    compared = statistics(collect(tmp_path), "base/line")
    assert set(compared.scores) == {
        ("sample", f"{HEADLINE}.sample", "", "base/line"),
        ("sample", f"{HEADLINE}.sample", "", "acme/small"),
    }
    (message,) = compared.messages
    assert "acme/other" in message
    assert HEADLINE in message


def test_the_baseline_must_be_clear(tmp_path):
    add(model_folder(tmp_path, "acme/small", "r1"), HEADLINE, 0.1)
    add(model_folder(tmp_path, "acme/small", "r2"), HEADLINE, 0.2)
    collected = collect(tmp_path)
    with pytest.raises(ReportError, match=r"acme/small @r1; acme/small @r2"):
        statistics(collected, "acme/small")
    with pytest.raises(ReportError, match="no results of a model 'unknown'; there are"):
        statistics(collected, "unknown")
    with pytest.raises(ReportError, match=r"'acme/smaal' \(did you mean 'acme/small'"):
        statistics(collected, "acme/smaal")
    with pytest.raises(ReportError, match=r"'small' may be any of these: acme/small @r1; acme/small @r2"):
        statistics(collected, "small")
    assert statistics(collected, "acme/small @r2").baseline == "acme/small @r2"


def test_data_sources_are_never_compared(tmp_path):
    """A local copy and the published data have tasks and queries of the same names."""
    rng = np.random.default_rng(1)
    easy = 0.2 + rng.random(100) * 0.5
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
        ("real", DAPFAM, "", "base/line @r1"),
        ("local", local, "", "base/line @r2"),
        ("real", DAPFAM, "", "acme/small"),
        ("local", local, "", "acme/large"),
    }
    assert together["real", DAPFAM, "", "acme/small"] == alone["real", DAPFAM, "", "acme/small"]
    assert together["local", local, "", "acme/large"].p_baseline is None


def sliced(root, seed=7, n=120):
    """Four models with scores of their own on IN (half of the queries) and OUT (a third), and a wrong slice mean in
    one.
    """
    rng = np.random.default_rng(seed)
    easy, values = rng.random(n), {}
    for model, gain in (("acme/best", 0.2), ("acme/near", 0.19), ("acme/low", 0.05), ("acme/last", 0.0)):
        whole = np.clip(0.5 * easy + gain + 0.05 * rng.standard_normal(n), 0, 1)
        inside = [float(v) + 0.1 if q % 2 else None for q, v in enumerate(whole)]
        outside = [float(v) / 2 if q % 3 == 0 else None for q, v in enumerate(whole)]
        values[model] = {"": whole, "in": np.array(inside, float), "out": np.array(outside, float)}
        add(model_folder(root, model), HEADLINE, queries=whole, parts={"in": inside, "out": outside})
    return values


@pytest.mark.parametrize("test", ["bootstrap", "t", "permutation"])
def test_every_slice_has_interval_p_position_effect_and_n_from_its_own_scores(tmp_path, test):
    values = sliced(tmp_path)
    compared = statistics(collect(tmp_path), "acme/last", test)
    order = sorted(values)
    by_name = sorted(range(120), key=lambda number: f"q{number}")
    for part in ("", "in", "out"):
        matrix = np.column_stack([values[model][part] for model in order])[by_name]
        matrix = matrix[~np.isnan(matrix).any(axis=1)]
        direct = TESTS[test](matrix)
        best = int(np.argmax(matrix.mean(axis=0)))
        p, joint = direct.p_values()[best], direct.joint()[best]
        position = {model: number for number, model in enumerate(np.argsort(-matrix.mean(axis=0)), start=1)}
        for place, model in enumerate(order):
            score = compared.of("sample", f"{HEADLINE}.sample", model, part)
            assert (score.n, score.position) == (len(matrix), position[place])
            assert (score.low, score.high) == pytest.approx(tuple(direct.intervals()[place]), abs=1e-9)
            assert score.tied_with_best == (joint[place] >= 0.05)
            if place != best:
                gap = matrix[:, place] - matrix[:, best]
                assert (score.p_best, score.p_best_joint) == pytest.approx((p[place], joint[place]), abs=1e-12)
                assert score.effect == pytest.approx(gap.mean() / gap.std(ddof=1))
    assert (
        compared.of("sample", f"{HEADLINE}.sample", "acme/near").tied_with_best
        and not compared.of("sample", f"{HEADLINE}.sample", "acme/low").tied_with_best
    )
    assert compared.of("sample", f"{HEADLINE}.sample", "acme/low", "in").better


@pytest.mark.slow
def test_tables_of_other_sizes_and_of_another_group_change_nothing(tmp_path, monkeypatch):
    """Two tasks of 120 queries, and slices of 60 and 40, are resampled by size, in one group and in groups of one."""
    values = sliced(tmp_path)
    for model, own in values.items():
        add(model_folder(tmp_path, model), DAPFAM, queries=own[""][::-1].copy())
    collected = collect(tmp_path)
    together = statistics(collected)
    monkeypatch.setattr(module, "_TABLES", 1)
    alone = statistics(collected)
    assert list(alone.scores) == list(together.scores) and repr(alone.scores) == repr(together.scores)
    assert list(alone.pairs) == list(together.pairs) and len(alone.pairs) == 2
    order = sorted(values)
    for task, step in ((HEADLINE, 1), (DAPFAM, -1)):
        by_name = sorted(range(120), key=lambda number: f"q{number}")
        direct = bootstrap(np.column_stack([values[model][""][::step] for model in order])[by_name]).intervals()
        for model, limits in zip(order, direct, strict=True):
            score = together.of("sample", f"{task}.sample", model)
            assert (score.low, score.high) == pytest.approx(tuple(limits), abs=1e-9)


def test_queries_of_one_application_are_resampled_together(tmp_path):
    """Two models, 120 queries of 40 applications: the statistics are those of one row an application, slices too."""
    values = sliced(tmp_path)
    of_query = {f"q{number}": number // 3 for number in range(120)}
    for path in tmp_path.rglob("*.queries.parquet"):
        table = pq.read_table(path)
        group = pa.array([of_query[query] for query in table["query"].to_pylist()])
        pq.write_table(with_identity(table.append_column("group", group), identity_of(table.schema)), path)
    compared, order = statistics(collect(tmp_path), "acme/last"), sorted(values)
    by_name = sorted(range(120), key=lambda number: f"q{number}")
    for part in ("", "in", "out"):
        matrix = np.column_stack([values[model][part] for model in order])[by_name]
        defined = ~np.isnan(matrix).any(axis=1)
        groups = np.array(by_name)[defined] // 3
        direct = bootstrap(by_group(matrix[defined], groups))
        for place, model in enumerate(order):
            score = compared.of("sample", f"{HEADLINE}.sample", model, part)
            assert (score.low, score.high) == pytest.approx(tuple(direct.intervals()[place]), abs=1e-9)
            assert score.n == defined.sum()
    pairs = compared.pairs["sample", f"{HEADLINE}.sample"]
    independent = by_group(np.column_stack([values[model][""] for model in order]), np.arange(120) // 3)
    assert (pairs.n, pairs.independent, pairs.needed) == (120, 40, needed_queries(independent))


def test_scores_of_a_slice_that_are_not_the_results_are_not_used(tmp_path):
    sliced(tmp_path)
    path = next(tmp_path.rglob(f"acme__low/**/{HEADLINE}.sample.json"))
    attest(path, scores={"in_ndcg_at_10": 0.111})
    collected = collect(tmp_path)
    compared = statistics(collected)
    where = "sample", f"{HEADLINE}.sample"
    assert compared.of(*where, "acme/low", "in") is None and compared.of(*where, "acme/near", "in") is not None
    assert compared.of(*where, "acme/low", "out") is None, "the result as a whole cannot be trusted"
    assert any("but in_ndcg_at_10 of the result is 0.111" in message for message in collected.messages)


def test_the_tidy_table_says_it_of_every_main_score_and_of_nothing_else(tmp_path):
    sliced(tmp_path)
    collected = collect(tmp_path)
    compared = statistics(collected, "acme/last")
    frame = scores_with(collected, compared)
    assert len(frame) == len(collected.scores)
    known = frame.filter(pl.col("position").is_not_null())
    assert set(known["main"]) == {True} and len(known) == 12
    for row in known.iter_rows(named=True):
        score = compared.of(row["data_source"], row["task"], row["run"], row["slice"])
        wanted = (score.low, score.high, score.p_best, score.p_baseline_joint, score.position, score.tied_with_best)
        wanted += (score.tied_with, score.n)
        names = ("low", "high", "p_best", "p_baseline_joint", "position", "tied_with_best", "tied_with", "n")
        assert tuple(row[name] for name in names) == wanted
        assert row["low"] < row["value"] < row["high"]
