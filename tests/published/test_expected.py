"""Expected scores: what the printed tables state for a model, a task and a metric."""

import csv
from collections import Counter
from fnmatch import fnmatchcase
from importlib.resources import files

import polars as pl
import pytest

from patent_mteb import published
from patent_mteb.published import METRICS, expected
from patent_mteb.tasks.suite import suite_tasks

PAPERS = {
    "PatenTEB": "patenteb",
    "DAPFAM": "dapfam",
    "Sophia": "sophia",
    "WIPO-AT": "wipo_at",
    "PatentMap": "patentmap",
}
ROWS = expected()
COUNTS = {
    "PatenTEB Table 15": 120,
    "DAPFAM Table 17": 96,
    "DAPFAM Table 19": 54,
    "Sophia Table 3": 72,
    "Sophia Table 2": 96,
    "Sophia Table 4": 72,
    "WIPO-AT Table 8": 105,
    "WIPO-AT Table 9": 105,
    "WIPO-AT Table 10": 8,
    "WIPO-AT Table 19": 12,
    "WIPO-AT Table 25": 105,
    "WIPO-AT Table 26": 105,
    "PatentMap Table 2": 81,
    "PatentMap Table 3": 33,
    "PatentMap Table 5": 6,
    "PatenTEB Table 16; texts as in Sophia Table 5": 96,
}


def printed(source):
    """{(model, task, metric): numbers} of one table."""
    name, number = source.split(";")[0].split(" Table ")
    found = {}
    for row in (
        published.table(PAPERS[name], int(number)).filter(kind="score").drop_nulls("value").iter_rows(named=True)
    ):
        model = "patent-mteb/bm25-dapfam" if row["model_id"] == "mteb/baseline-bm25s" else row["model_id"]
        metric = METRICS.get(row["metric"], row["metric"])
        metric = f"{row['slice']}_{metric}" if row["slice"] else metric
        value = row["value"] / (100 if row["unit"] == "percent" else 1)
        found.setdefault((model, row["task"], metric), []).append(value)
    return found


def test_every_table_states_its_number_of_scores():
    """Counted in the list that was written by hand before the scores were read from the tables."""
    assert dict(Counter(row.source for row in ROWS)) == COUNTS
    assert list(dict.fromkeys(row.source for row in ROWS)) == list(COUNTS)


@pytest.mark.parametrize("source", COUNTS)
def test_every_value_is_printed_for_this_model_task_and_metric(source):
    table = printed(source)
    rows = [row for row in ROWS if row.source == source]
    assert rows
    for row in rows:
        task = row.tasks[0] if len(row.tasks) == 1 else ""
        assert any(value == pytest.approx(row.value, abs=1e-9) for value in table[row.model, task, row.metric]), row


def test_a_joined_score_without_an_expected_one_has_a_reason():
    """No released weights, an excluded row, or the same score in a table before."""
    with files("patent_mteb.published").joinpath("expected_settings.csv").open(encoding="utf-8", newline="") as file:
        excluded = [rule for rule in csv.DictReader(file) if rule["excluded"]]
    stated = {(row.model, row.tasks, row.score) for row in ROWS}
    missing = Counter()
    for descriptor in published.tables():
        table = published.table(descriptor.paper, descriptor.table)
        for cell in (
            table.filter((pl.col("kind") == "score") & (pl.col("task") != "")).drop_nulls("value").iter_rows(named=True)
        ):
            model = "patent-mteb/bm25-dapfam" if descriptor.paper == "dapfam" and cell["model"] == "bm25" else None
            key = (
                model or cell["model_id"],
                (cell["task"],),
                published.score_name(cell["metric"], cell["slice"]),
            )
            if key in stated:
                continue
            reasons = {
                rule["excluded"]
                for rule in excluded
                if (rule["paper"], rule["table"]) == (cell["paper"], str(cell["table"]))
                and fnmatchcase(cell["model_id"], rule["models"])
            }
            assert reasons or not cell["model_id"], cell
            missing[reasons.pop() if reasons else "no weights"] += 1
    assert missing["zero-shot classification, not a linear probe"] == 20
    assert missing["the settings of BM25 are not stated"] == 15


def test_tasks_metrics_and_tolerances():
    tasks = suite_tasks()
    for row in ROWS:
        kinds = {tasks[task].kind for task in row.tasks}
        two = kinds == {"Retrieval"} or row.tasks == ("PatentMapIPCClassification",)
        assert row.score.startswith("paper_") == two, row
        assert 0.01 * row.value < row.tolerance < 0.01 * row.value + 0.00061, row
        assert row.settings.keys() <= {"max_tokens", "prompts", "precision"}
    assert len({(row.model, row.tasks, row.metric, *row.settings.items()) for row in ROWS}) == len(ROWS)


def test_the_values_that_a_reader_looks_for_first():
    """PaECTER in PatenTEB: Table 15, and Table 16 without prompts."""
    mine = [row for row in ROWS if row.model == "mpi-inno-comp/paecter"]
    assert [
        (row.value, row.tolerance, row.settings)
        for name in ("IN", "MIXED", "OUT")
        for row in mine
        if row.tasks == (f"PatenTEBRetrieval{name}",)
    ] == [
        (0.421, 0.00471, {"max_tokens": "8192"}),
        (0.356, 0.00406, {"max_tokens": "8192"}),
        (0.12, 0.0017, {"max_tokens": "8192"}),
    ]
    means = {row.metric: row for row in mine if len(row.tasks) == 6 and row.settings["prompts"] == "none"}
    assert [means[f"{part}ndcg_at_100"].value for part in ("", "in_", "out_")] == [0.343, 0.387, 0.06]


def test_a_misprint_is_corrected_in_one_place(monkeypatch):
    """A number of a printed table that changes is the expected one."""
    shown = published.table("wipo_at", 10)
    changed = shown.with_columns(
        value=pl.when(pl.col("model") == "BGE-M3").then(pl.lit(0.1234)).otherwise(pl.col("value"))
    )
    assert changed["value"].to_list() != shown["value"].to_list()
    monkeypatch.setattr(
        published,
        "table",
        lambda paper, number, table=published.table: (
            changed if (paper, number) == ("wipo_at", 10) else table(paper, number)
        ),
    )
    row = next(row for row in expected.__wrapped__() if (row.model, row.source) == ("BAAI/bge-m3", "WIPO-AT Table 10"))
    assert (row.value, row.tolerance) == (0.1234, 0.00128)
