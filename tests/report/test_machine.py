"""The files for machines: their columns are those of the documentation, whatever was measured, and other libraries read
them.
"""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from report_folders import HEADLINE, add, main_scores, model_folder

from patent_mteb import cli, report
from patent_mteb.report.collect import collect
from patent_mteb.tasks.catalogue import suite_tasks

DOCUMENT = Path(__file__).parents[2] / "docs" / "report.md"


def documented(name):
    """The columns that the documentation lists for a file."""
    section = DOCUMENT.read_text().partition(f"### `{name}.csv`")[2].partition("###")[0]
    return re.findall(r"^\| `(\w+)` \|", section, flags=re.M)


@pytest.mark.slow
def test_columns_are_the_documented_ones_whatever_was_measured(world, tmp_path):
    alone = tmp_path / "alone"
    add(model_folder(alone, "acme/only"), HEADLINE, 0.1)
    for results, out in ((world, tmp_path / "a"), (alone, tmp_path / "b")):
        report.run(results, formats=["csv"], out=out)
        for name in ("scores", "results", "pairs"):
            assert pl.read_csv(out / "csv" / f"{name}.csv").columns == documented(name), name
        wide = pl.read_csv(out / "csv" / "wide.csv")
        assert wide.columns == [*documented("wide"), *suite_tasks()]
    scores = main_scores(world)
    wide = pl.read_csv(tmp_path / "a" / "csv" / "wide.csv")
    found = {
        (f"{task}.sample", row["run"]): row[task]
        for row in wide.iter_rows(named=True)
        for task in suite_tasks()
        if row[task] is not None
    }
    assert found == {key: entry["main_score"] for key, entry in scores.items()}


def test_json_holds_the_same_numbers(world, capsys):
    assert cli.main(["report", str(world), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["result"]
    assert {(row["task"], row["run"]): row["value"] for row in document["results"]} == {
        key: entry["main_score"] for key, entry in main_scores(world).items()
    }
    assert set(document["scores"][0]) == set(documented("scores")) and document["reproduction"] == []
    assert all(
        row["low"] - 1e-9 <= row["value"] <= row["high"] + 1e-9 for row in document["scores"] if row["low"] is not None
    )
    assert document["messages"] == list(collect(world).messages)
