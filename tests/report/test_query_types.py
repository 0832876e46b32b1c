"""Comparison of query types: the models and slices, and their numbers as means of the written scores."""

import math
from collections import Counter
from statistics import mean

import polars as pl
import pytest
from query_types import RUNS, TYPES, of_slice, written
from report_folders import add, built_tables, model_folder

from patent_mteb.report.charts import Chart, by_part, by_type, inscope
from patent_mteb.report.collect import collect
from patent_mteb.report.figures import on_page, page_rows
from patent_mteb.report.findings import lowest


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two runs with all types, a third with one; the values as written, the view, the table."""
    root = tmp_path_factory.mktemp("sophia")
    found = written(root)
    levels = {
        f"inscope_{level}_at_{k}": 0.9 / (k * place)
        for place, level in ((1, "section"), (2, "subgroup"))
        for k in (1, 10)
    }
    levels |= {f"inscope_{level}_n_queries": 39 for level in ("section", "subgroup")} | {
        "inscope_subclass_at_1": math.nan
    }
    add(model_folder(root, "acme/part"), "SophiaTacdRetrieval", queries=[0.5] * 40, more=levels)
    return (
        found,
        collect(root).data_sources["sample"].benchmark("Sophia"),
        built_tables(root)["sample-sophia-query-types"],
    )


def on_common(found, run, task, part):
    return mean(score for score in found[run, f"{task}.sample", part][:33] if score is not None)


def test_the_table_has_each_type_and_their_mean_with_all_citations_and_by_category(made):
    found, _, table = made
    titles = [column.title for column in table.columns]
    assert titles == ["Model", "Relevant", "n", "Tacd", "Ab", "AiAb", "Mean"]
    parts = {"all citations": "", "X and Y": "xy", "A": "a"}
    assert [row[1].text for row in table.rows] == [title for title in parts for _ in RUNS]
    for row in table.rows:
        run, part = row[0].text, parts[row[1].text]
        expected = [on_common(found, run, task, part) for task in TYPES]
        assert [cell.value for cell in row[3:]] == pytest.approx([*expected, mean(expected)])
        assert row[2].value == sum(not part or of_slice(part, number) for number in range(33))
    assert "33 for all citations" in table.notes[0]


def test_charts_of_types_and_of_parts(made):
    found, view, _ = made
    for name, kind, judgements, value, _ in by_type(view).iter_rows():
        task = next(task for task in TYPES if task == f"Sophia{kind}Retrieval")
        part = {"all citations": "", "X and Y": "xy", "A": "a"}[judgements]
        assert value == pytest.approx(on_common(found, name, task, part))
    parts = {(name, part, kind): value for name, part, kind, value, _ in by_part(view).iter_rows()}
    assert set(parts) == {
        (name, *part)
        for name in RUNS
        for part in (("A", "IPC section"), ("H", "IPC section"), ("2020", "year of publication"))
    }
    for (name, part, kind), value in parts.items():
        column = {"IPC section": f"ipc_{part.lower()}", "year of publication": f"year_{part}"}[kind]
        assert value == pytest.approx(mean(on_common(found, name, task, column) for task in TYPES))


@pytest.mark.parametrize("lower", [False, True])
def test_the_models_of_a_heatmap_stand_best_first_in_each_facet(lower):
    rows = [
        ("a", "x", 3, "one"),
        ("b", "x", 5, "one"),
        ("a", "y", 1, "one"),
        ("b", "y", 2, "one"),
        ("a", "x", 9, "two"),
        ("b", "x", 4, "two"),
    ]
    frame = pl.DataFrame(rows, schema=["model", "group", "value", "show"], orient="row")
    rows = page_rows(
        Chart("ranks", "ranks", lambda view: frame, lowest, kind="heat", facet="show", lower=lower), frame, {}
    )
    assert [show for *_, show in rows] == ["one"] * 4 + ["two"] * 2
    drawn = [(model, group) for model, group, _, show in rows if show == "one"]
    assert drawn == [(model, group) for model in ("ab" if lower else "ba") for group in "xy"]
    assert [model for model, _, _, show in rows if show == "two"] == list("ba" if lower else "ab")


def test_inscope_by_level_and_k(made):
    _, view, _ = made
    rows = {(name, k, level): value for name, k, value, level in inscope(view).iter_rows()}
    assert rows == {
        ("acme/part", k, level): pytest.approx(0.9 / (k * place))
        for place, level in ((1, "section"), (2, "subgroup"))
        for k in (1, 10)
    }
    drawn = {one["title"]: one for one in on_page(view, {run: place for place, run in enumerate(view.runs)})}
    types = drawn["Query types on common queries: Tacd"]
    shown = Counter(row[3] for row in types["rows"])
    assert shown == {"all citations": 6, "X and Y": 6, "A": 6, "IPC section": 4, "year of publication": 2}
    assert {row[3] for row in drawn["InScope@k: Tacd"]["rows"]} == {"section", "subgroup"}
