"""The statistics that are shipped are those of the data; sizes come from them, or from what a paper or card says."""

import re

import mteb

from patent_mteb.tasks.catalogue import find, sample_tasks
from patent_mteb.tasks.sizes import Sizes, shipped, sizes


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
    assert sizes(find("WIPO-AT").task_classes[0]).queries == 46_069
    bloom = next(task for task in find("PatenTEB").task_classes if re.search("Bloom", task.metadata.name))
    assert sizes(bloom) == Sizes(None, 7_347 + 11_636), "Table 1 and the data card"
