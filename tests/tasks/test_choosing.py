"""What is chosen by names, benchmarks and filters together, and tasks on a part of their queries."""

import mteb
import pytest

from patent_mteb.errors import DataError
from patent_mteb.tasks.selection import choose, limited


def names(**said):
    return [task.metadata.name for task in choose(**said)]


@pytest.mark.slow
def test_everything_that_is_said_narrows_down():
    whole = names(benchmarks=["PatenTEB.sample"])
    assert len(whole) == 15
    for kind in ("Retrieval", "Classification", "STS", "Clustering"):
        by_hand = [
            task.metadata.name for task in mteb.get_benchmark("PatenTEB.sample").tasks if task.metadata.type == kind
        ]
        assert names(benchmarks=["PatenTEB.sample"], types=[kind]) == by_hand != []
    assert names(benchmarks=["PatenTEB.sample"], categories=["t2c"]) == [
        name for name in whole if mteb.get_task(name).metadata.category == "t2c"
    ]
    assert names(benchmarks=["PatenTEB.sample"], names=["PatenTEBBloom"]) == ["PatenTEBBloom.sample"]
    assert names(benchmarks=["PatenTEB.sample", "PatenTEB.sample"]) == whole, "each once"
    assert names(names=["PatenTEBBloom.sample", "PatentMapAbsToAbsRetrieval.sample"], types=["Retrieval"]) == [
        "PatentMapAbsToAbsRetrieval.sample"
    ]
    with pytest.raises(
        DataError, match=r"none of 15 tasks fits. Remedy: there are tasks of type Classification, .* on the splits test"
    ):
        names(benchmarks=["PatenTEB.sample"], languages=["deu"])


def texts_of(task):
    return task.texts_evidence(task.dataset[task.source.subset][task.split])


def test_a_limited_task_keeps_what_is_judged_and_is_another_task():
    (task,) = limited(choose(names=["PatentCitationRetrieval.sample"]), 7)
    whole = mteb.get_task("PatentCitationRetrieval.sample")
    assert limited([whole], 7)[0] is not whole, "the benchmarks' own tasks stay as they are"
    task.load_data(), whole.load_data()
    part, all_of_it = task.tables, whole.tables
    assert (
        task.metadata.name == "PatentCitationRetrieval.sample.limit7"
        and whole.metadata.name == "PatentCitationRetrieval.sample"
    )
    assert len(part.qrels) == len(part.queries) == 7
    assert all(part.qrels[query] == all_of_it.qrels[query] for query in part.qrels)
    judged = {document for query in part.qrels for document in part.qrels[query]}
    assert judged <= set(part.corpus) and len(part.corpus) == len(judged) + 140 < len(all_of_it.corpus)
    assert set(part.slices) == set(all_of_it.slices)
    for name, qrels in part.slices.items():
        assert qrels == {query: found for query, found in all_of_it.slices[name].items() if query in part.queries}
    assert all(part.hidden[query] == all_of_it.hidden[query] & set(part.corpus) for query in part.hidden)
    seen = texts_of(whole)
    again = whole.limit_to(7)
    again.load_data()
    assert texts_of(again) == texts_of(task) != seen, "nothing of the whole task is taken for the limited one's"
    with pytest.raises(DataError, match="only retrieval tasks"):
        limited(choose(names=["PatenTEBBloom.sample"]), 7)
