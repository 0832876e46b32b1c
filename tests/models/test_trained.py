"""A checkpoint that was trained here takes the record of its leak check into its results and the report."""

from __future__ import annotations

import json

import mteb
import pytest
from small_bases import write_static

import patent_mteb  # noqa: F401
from patent_mteb.experiments.run import run
from patent_mteb.files import write_json
from patent_mteb.models import load
from patent_mteb.models.folders import RECORD
from patent_mteb.report.collect import collect
from patent_mteb.report.model_facts import facts_of_runs

FOUND = "3 of 90 pairs removed (WIPO-AT: 2 publications; 4 test sets checked, 1 unreadable, 9 absent)"


@pytest.mark.slow
def test_the_leak_record_reaches_the_report(tmp_path):
    trained, plain = (write_static(tmp_path / name, seed=seed) for seed, name in enumerate(("trained", "plain")))
    write_json(trained / RECORD, {"contamination": FOUND})
    for folder in (trained, plain):
        run(load(str(folder)), [mteb.get_task("PatenTEBEffect2Full.sample")], tmp_path / "results")
    metas = [json.loads(path.read_text()) for path in sorted((tmp_path / "results").rglob("model_meta.json"))]
    assert {meta["name"].rpartition("/")[2]: meta.get("contamination") for meta in metas} == {
        "trained": FOUND,
        "plain": None,
    }
    displayed = {
        name.rpartition("/")[2]: facts["trained"]
        for name, facts in facts_of_runs(collect(tmp_path / "results"))[0].items()
    }
    assert displayed == {"trained": f"not stated; leak check: {FOUND}", "plain": "not stated"}
