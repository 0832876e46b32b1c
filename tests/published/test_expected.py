"""Expected values: each is a number of a stored table, for the model, the task and the metric that it names."""

import pytest

from patent_mteb import published
from patent_mteb.published import expected
from patent_mteb.report.published import METRICS
from patent_mteb.tasks.suite import suite_tasks

PAPERS = {
    "PatenTEB": "patenteb",
    "DAPFAM": "dapfam",
    "Sophia": "sophia",
    "WIPO-AT": "wipo_at",
    "PatentMap": "patentmap",
}
ROWS = expected()


def printed(source):
    """{(model, task, metric): numbers} of one table, and its scores of one model by column."""
    name, number = source.split(";")[0].split(" Table ")
    found = {}
    for row in (
        published.table(PAPERS[name], int(number)).filter(kind="score").drop_nulls("value").iter_rows(named=True)
    ):
        model = "patent-mteb/bm25-dapfam" if row["model_id"] == "mteb/baseline-bm25s" else row["model_id"]
        metric = METRICS.get(row["metric"], row["metric"]).removeprefix("paper_")
        metric = f"{row['slice']}_{metric}" if row["slice"] else metric
        value = row["value"] / (100 if row["unit"] == "percent" else 1)
        found.setdefault((model, row["task"], metric), []).append(value)
    return found


@pytest.mark.parametrize("source", sorted({row.source for row in ROWS}))
def test_every_value_is_printed_for_this_model_task_and_metric(source):
    table = printed(source)
    rows = [row for row in ROWS if row.source == source]
    assert rows
    for row in rows:
        task = row.tasks[0] if len(row.tasks) == 1 else ""
        assert any(value == pytest.approx(row.value, abs=1e-9) for value in table[row.model, task, row.metric]), row


def test_tasks_metrics_and_tolerances():
    tasks = suite_tasks()
    for row in ROWS:
        kinds = {tasks[task].kind for task in row.tasks}
        two = kinds == {"Retrieval"} or row.tasks == ("PatentMapIPCClassification",)
        assert row.protocol == ("paper" if two else "same"), row
        assert 0.01 * row.value < row.tolerance < 0.01 * row.value + 0.00061, row
        assert row.settings.keys() <= {"max_tokens", "prompts", "precision"}
    assert len({(row.model, row.tasks, row.metric, *row.settings.items()) for row in ROWS}) == len(ROWS)


def test_the_values_that_a_reader_looks_for_first():
    """PaECTER in PatenTEB: Table 15, and Table 16 without prompts."""
    mine = [row for row in ROWS if row.model == "mpi-inno-comp/paecter"]
    assert [
        row.value for name in ("IN", "MIXED", "OUT") for row in mine if row.tasks == (f"PatenTEBRetrieval{name}",)
    ] == [
        0.421,
        0.356,
        0.12,
    ]
    means = {row.metric: row for row in mine if len(row.tasks) == 6 and row.settings["prompts"] == "none"}
    assert [means[f"{part}ndcg_at_100"].value for part in ("", "in_", "out_")] == [0.343, 0.387, 0.06]
