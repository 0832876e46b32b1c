"""Large calls: some of their texts are encoded again, so that faults that the fixed texts cannot show are refused."""

from __future__ import annotations

import logging

import mteb
import numpy as np
import pytest
from mteb.types import PromptType
from small_data import HashEncoder

import patent_mteb
from patent_mteb.errors import ModelError
from patent_mteb.models import stored
from patent_mteb.store.batches import text_loader
from patent_mteb.store.company import check_company
from patent_mteb.tasks.frozen import encode_texts

TASK = "PatentMapAbsToAbsRetrieval.sample"
TEXTS = [f"A pump with a seal of number {number} and of size {number * number}" for number in range(200)]


class Changed(HashEncoder):
    def __init__(self, change):
        super().__init__("tests/changed")
        self.change = change

    def encode(self, inputs, **kwargs):
        return self.change(super().encode(inputs, **kwargs))


FAULTS = {
    "sorted above 64 texts": lambda found: found[np.argsort(found[:, 0])] if len(found) > 64 else found,
    "only the first 32 texts": lambda found: np.where(np.arange(len(found))[:, None] < 32, found, 0),
    "the last 32 texts first": lambda found: np.roll(found, 32, axis=0) if len(found) > 64 else found,
    "mean of large calls": lambda found: found - found.mean(axis=0) if len(found) > 64 else found,
}


def given(texts):
    return lambda rows: [texts[row] for row in rows]


def by_mteb(model):
    mteb.evaluate(model, mteb.get_tasks([TASK]), cache=None, show_progress_bar=False)


def frozen(model):
    encode_texts(model, TEXTS, mteb.get_task(TASK).metadata, "test", "default", {})


@pytest.mark.parametrize("encode", [by_mteb, frozen, lambda model: patent_mteb.evaluate(model, TASK)])
@pytest.mark.parametrize("fault", FAULTS)
def test_vectors_of_a_large_call_that_depend_on_it_are_refused(fault, encode):
    with pytest.raises(ModelError, match=r"gives a text another vector in another call"):
        encode(Changed(FAULTS[fault]))


@pytest.mark.parametrize("fault", FAULTS)
def test_no_vector_of_such_a_call_is_stored(fault, tmp_path):
    encoder = stored(Changed(FAULTS[fault]), tmp_path / "store")
    task = mteb.get_task(TASK).metadata
    where = {"hf_split": "test", "hf_subset": "default", "prompt_type": PromptType.document}
    with pytest.raises(ModelError, match=r"gives a text another vector in another call"):
        encoder.encode(text_loader(TEXTS, 128), task_metadata=task, **where)
    assert encoder.stats.encoded == 0
    assert not encoder.lookup(text_loader(TEXTS, 128), task_metadata=task, **where)[1].any()


def test_other_dimensions_in_another_call_are_refused():
    with pytest.raises(ModelError, match="gave vectors of 3 dimensions, and of 2 in another call"):
        check_company(np.ones((100, 3)), given(TEXTS), lambda rows: np.ones((len(rows), 2)), "m")


@pytest.mark.parametrize(("groups", "warned"), [(100, False), (95, False), (50, True)])
def test_equal_vectors_of_different_texts_are_counted(groups, warned, caplog):
    vectors = np.eye(100)[np.arange(100) % groups]
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        check_company(vectors, given(TEXTS), lambda rows: vectors[rows], "m")
    assert ("50 different vectors for 100 different texts" in caplog.text) == warned
    caplog.clear()
    check_company(vectors, given([f"text {row % groups}" for row in range(100)]), lambda rows: vectors[rows], "m")
    assert not caplog.text
