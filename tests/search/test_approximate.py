"""Approximate search: with every group probed it is the exact one; with few it says what it misses, and is never filed
as exact.
"""

import datetime as dt
import logging
import re
from dataclasses import replace

import mteb
import numpy as np
import pytest
from datasets import Dataset
from mteb.mocks.mock_tasks import MockRetrievalTask
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction

from patent_mteb.errors import ModelError
from patent_mteb.identity import identity_of
from patent_mteb.models.composition import compose
from patent_mteb.search.base import Gate, SearchContext
from patent_mteb.search.dense import DenseSearch

pytest.importorskip("faiss", reason="the extra ann (faiss-cpu) is not installed")
from patent_mteb.search.dense import Approximate

DRAWN = np.random.default_rng(0).standard_normal((430, 8)).astype(np.float32)
CORPUS = Dataset.from_dict({"id": [f"d{row:03d}" for row in range(400)], "text": [str(row) for row in range(400)]})
QUERIES = Dataset.from_dict({"id": [f"q{row:02d}" for row in range(30)], "text": [str(row) for row in range(400, 430)]})
CONTEXT = SearchContext(MockRetrievalTask.metadata, "test", "default", {})


class Rows(AbsEncoder):
    def __init__(self):
        self.mteb_model_meta = ModelMeta.create_empty(
            {"name": "test/rows", "revision": "1", "similarity_fn_name": ScoringFunction.COSINE}
        )

    def encode(self, inputs, **kwargs):
        return DRAWN[[int(text) for text in inputs.dataset["text"][:]]]


def ranked(search, context=CONTEXT, k=10):
    search.ensure_indexed(CORPUS, context)
    return search.rank(QUERIES, k, context)


def test_all_groups_probed_is_the_exact_search_with_hidden_documents():
    exact = ranked(DenseSearch(Rows()))
    hidden = {query: set(ranking) - set(list(ranking)[3:]) for query, ranking in exact.to_dict().items()}
    context = replace(CONTEXT, hidden=hidden)
    expected, found = (
        ranked(DenseSearch(Rows()), context).to_dict(),
        ranked(Approximate(Rows(), 400), context).to_dict(),
    )
    for query, ranking in expected.items():
        assert list(found[query]) == list(ranking) and not hidden[query] & found[query].keys()
        assert found[query] == pytest.approx(ranking, abs=1e-6)


def test_few_groups_say_their_recall_and_leave_exact_rankings_alone(caplog):
    exact = ranked(DenseSearch(Rows())).to_dict()
    with caplog.at_level(logging.WARNING):
        found = ranked(Approximate(Rows(), 2)).to_dict()
    stated = float(re.search(r"recall@10 .*: ([0-9.]+) of the exact", caplog.text)[1])
    assert stated == pytest.approx(
        np.mean([len(exact[query].keys() & found[query].keys()) / 10 for query in exact]), abs=1e-4
    )
    assert 0 < stated < 1
    assert ranked(DenseSearch(Rows())).to_dict() == exact


def test_identity_and_what_is_refused():
    names = {
        str(identity_of(search.mteb_model_meta))
        for search in (DenseSearch(Rows()), Approximate(Rows(), 2), Approximate(Rows(), 3))
    }
    assert len(names) == 3
    day = dt.date(2020, 1, 1)
    gate = Gate(dict.fromkeys(CORPUS["id"], day), dict.fromkeys(QUERIES["id"], day))
    with pytest.raises(ModelError, match="behind a priority gate"):
        ranked(Approximate(Rows(), 2), replace(CONTEXT, gate=gate))
    with pytest.raises(ModelError, match="--ann needs an encoder and searches whole texts"):
        compose(mteb.get_model("mteb/baseline-random-encoder"), ann=4, passages=32)
