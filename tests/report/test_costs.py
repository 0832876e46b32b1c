"""What the report says of costs, against sums of the result files."""

import json

import mteb
import pytest
from small_world import Words

from patent_mteb.experiments.run import run
from patent_mteb.report.collect import collect
from patent_mteb.report.costs import costs
from patent_mteb.store import stored

TASK = "PatentMapAbsToAbsRetrieval.sample"


def test_hours_a_million_texts_come_from_what_reached_the_model_in_all_tasks(tmp_path):
    for name in ("test/one", "test/two"):
        model = stored(Words(name, dims=64), tmp_path / "store")
        run(model, [mteb.get_task(TASK)], tmp_path / "results", show_progress=False)
    view = collect(tmp_path / "results").worlds["sample"].benchmark("PatentMap")
    found = {(row["model"], row["what"]): row["cost"] for row in costs(view).iter_rows(named=True)}
    paths = sorted((tmp_path / "results").rglob("PatentMapAbs*.sample.json"))
    assert len(paths) == 2
    for path in paths:
        ((entry,),) = json.loads(path.read_text("utf-8"))["scores"].values()
        (run_name,) = {model for model, _ in found if path.parents[1].name.rpartition("__")[2] in model}
        cost = entry["evidence"]["cost"]
        assert found[run_name, "CPU-hours a million texts"] == pytest.approx(cost["phases"]["encode"] / cost["encoded"] * 1e6 / 3600)
        assert found[run_name, "index (MB)"] == cost["index_mb"]
        assert found[run_name, "highest memory of the process (MB)"] == cost["peak_memory_mb"]
    assert not any("billion" in what for _, what in found)  # nobody counted tokens
