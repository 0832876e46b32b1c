"""The statistics that the package brings along are those of the data."""

import json

import mteb
import pytest

from patent_mteb.report.upstream import describe
from patent_mteb.tasks.base import shipped


@pytest.mark.parametrize("name", ["PatentMapAbsToAbsRetrieval", "PatenTEBParaProblem", "WIPOATEmergingClassification"])
def test_the_shipped_statistics_are_those_of_the_data(name):
    kind = type(mteb.get_task(f"{name}.sample"))
    found = json.loads(json.dumps(describe([kind])))
    assert found[f"{name}.sample"] == shipped()[f"{name}.sample"]
