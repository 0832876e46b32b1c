"""The statistics that are shipped are those of the data; sizes come from them, or from what a paper or card says."""

import csv
import re
from importlib.resources import files

import mteb
import pytest

from patent_mteb.published import sizes as sizes_of_the_paper
from patent_mteb.published import stated
from patent_mteb.tasks.base import Sizes, shipped, sizes
from patent_mteb.tasks.catalogue import benchmarks, find, sample_tasks

pytestmark = pytest.mark.usefixtures("sizes_of_releases")


def stated_rows():
    return list(csv.DictReader(files("patent_mteb.published").joinpath("stated.csv").read_text("utf-8").splitlines()))


def test_every_task_whose_data_is_here_has_statistics_in_mtebs_form():
    assert set(shipped()) == {task.metadata.name for task in sample_tasks()}
    for task in sample_tasks():
        counted = task.metadata.n_samples
        assert counted and all(number > 0 for number in counted.values()), task.metadata.name
        assert set(counted) >= set(task.metadata.eval_splits)


def test_sizes_by_hand():
    task = mteb.get_task("PatentMapAbsToAbsRetrieval.sample")
    task.load_data()
    assert sizes(type(task)) == Sizes(len(task.tables.qrels), len(task.tables.corpus))
    assert sizes(find("PatentMap").task_classes[0], sample=True) == sizes(type(task))
    bloom = next(task for task in find("PatenTEB").task_classes if re.search("Bloom", task.metadata.name))
    assert sizes(bloom) == Sizes(None, 7_347 + 11_636), "Table 1 and the data card"


def test_what_papers_and_releases_say_of_the_published_data():
    known = {
        task.metadata.name: (sizes(task), task.facts) for benchmark in benchmarks() for task in benchmark.task_classes
    }
    for name, (found, facts) in known.items():
        if name == facts.headline and facts.paper_queries:
            assert found.queries == facts.paper_queries, name
        for size in sizes_of_the_paper().get(name, ()):  # a tenth of the patents is the test split, give or take
            if size.count == "n_test" and found.texts:
                assert size.least < found.texts / 10 < size.most, name
    assert known["SophiaAiObjRetrieval"][0] == Sizes(None, 75_050)
    assert known["PatentMapAbsToAbsRetrieval"][0] == Sizes(200, 48_110)
    assert known["PatentOpenUSTACToTACRetrieval"][0] == Sizes(), "counted by whoever builds it"


def test_every_row_of_what_is_stated_is_some_tasks_and_names_its_source():
    names = {task.metadata.name for benchmark in benchmarks() for task in benchmark.task_classes}
    found = [stated(name) for name in names]
    assert {one.source for one in found if one.source} == {row["source"] for row in stated_rows()}
    assert all(bool(one.source) == bool(one.queries or one.texts) for one in found)
