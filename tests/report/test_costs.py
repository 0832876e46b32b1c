"""What the report says of costs, against sums of the result files."""

import json
import math
from shutil import copytree

import mteb
import pytest
from small_patents import Words

from patent_mteb.experiments.run import run
from patent_mteb.report.collect import collect
from patent_mteb.report.series import costs
from patent_mteb.store import stored
from patent_mteb.tasks.evidence import checksum

TASKS = ("PatentMapAbsToAbsRetrieval.sample", "PatentMapClmToAllRetrieval.sample")
"""The first is the headline."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Two models on two tasks, and the records of what each cost, by model and task."""
    root = tmp_path_factory.mktemp("costs")
    for name in ("one", "two"):
        model = stored(Words(f"test/{name}", dims=64), root / "store")
        run(model, [mteb.get_task(task) for task in TASKS], root / "results", show_progress=False)
    return root / "results", {path: entry_of(path)["evidence"]["cost"] for path in files_of(root)}


def files_of(root):
    return sorted(path for task in TASKS for path in root.rglob(f"{task}.json"))


def entry_of(path):
    ((entry,),) = json.loads(path.read_text("utf-8"))["scores"].values()
    return entry


def shown(root):
    view = collect(root).data_sources["sample"].benchmark("PatentMap")
    return {(row["model"], row["what"]): row["x"] for row in costs(view).iter_rows(named=True)}


@pytest.mark.slow
def test_hours_a_million_texts_come_from_what_reached_the_model_in_all_tasks(measured):
    root, recorded = measured
    found = shown(root)
    for model in {model for model, _ in found}:
        own = {path.name: cost for path, cost in recorded.items() if path.parents[1].name.rpartition("__")[2] in model}
        head, other = (own[f"{task}.json"] for task in TASKS)
        assert head["encoded"] and other["encoded"]
        seconds, texts = (
            one + two
            for one, two in zip(*((cost["phases"]["encode"], cost["encoded"]) for cost in (head, other)), strict=True)
        )
        assert found[model, "CPU-hours a million texts"] == pytest.approx(seconds / texts * 1e6 / 3600)
        assert found[model, "index (MB)"] == head["index_mb"]
        assert found[model, "highest memory of the process (MB)"] == head["peak_memory_mb"]
    assert len({model for model, _ in found}) == 2
    assert not any("billion" in what for _, what in found)  # tokens are not counted


@pytest.mark.parametrize(
    "wrong",
    [
        {"phases": [1.0], "encoded": "many", "peak_memory_mb": -1, "index_mb": math.nan},
        {"phases": {"encode": math.nan}, "encoded": 10, "peak_memory_mb": None, "index_mb": math.inf},
    ],
)
def test_costs_that_are_no_numbers_are_not_drawn(measured, tmp_path, wrong):
    root = copytree(measured[0], tmp_path / "results")
    for path in files_of(root):
        result = json.loads(path.read_text("utf-8"))
        ((entry,),) = result["scores"].values()
        entry["evidence"] |= {"cost": wrong, "texts": ["no texts"]}
        entry["evidence"]["seal"] = checksum(entry)
        path.write_text(json.dumps(result), "utf-8")
    assert {what for _, what in shown(root)} == {"seconds of the evaluation"}
