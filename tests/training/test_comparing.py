"""Before and after: known items against a naive search, differences against resamples drawn here."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import DataError
from patent_mteb.tasks.perquery import path_of
from patent_mteb.training.comparing import change, compare_tasks, known_item
from patent_mteb.training.pairs import Pair


class Fixed:
    """Encodes a text as the vector that it spells out."""

    def encode(self, texts, show_progress_bar, convert_to_numpy):
        return np.array([[float(word) for word in text.split()] for text in texts], np.float32)


def test_known_items_against_a_naive_search():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"{value:.4f}" for value in row) for row in rng.normal(size=(80, 3))]
    families = [f"F{place % 17}" for place in range(40)]
    pairs = [Pair(texts[n], texts[40 + n], f"{n}", f"{n}", family, family, "x") for n, family in enumerate(families)]
    found = known_item(Fixed(), pairs, "the model", "the pairs", {})
    vectors = Fixed().encode(texts, False, True).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for place, family in enumerate(families):
        scores = {other: vectors[place] @ vectors[40 + other] for other in range(40) if families[other] != family}
        rank = 1 + sum(score >= vectors[place] @ vectors[40 + place] for score in scores.values())
        assert found["ndcg@10"][place] == pytest.approx(1 / np.log2(1 + rank) if rank <= 10 else 0)
        assert found["p@1"][place] == (rank == 1)


def test_a_change_and_its_interval():
    """Mean and standard deviation over seeds by hand; interval and p from plain resamples, within their own noise."""
    rng = np.random.default_rng(1)
    before = rng.random(120)
    after = [np.clip(before + rng.normal(0.03, 0.2, 120), 0, 1) for _ in range(3)]
    found = change("task", "ndcg@10", before, after)
    scores = [values.mean() for values in after]
    assert found.after == pytest.approx(np.mean(scores)) and found.spread == pytest.approx(np.std(scores, ddof=1))
    gained = np.mean(after, axis=0) - before
    drawn = gained[rng.integers(0, 120, (20_000, 120))].mean(axis=1)
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])), abs=0.002)
    apart = np.abs(drawn - gained.mean())
    assert found.p == pytest.approx(np.mean(apart >= abs(gained.mean())), abs=0.01)
    assert change("task", "x", before, after[:1]).spread is None


TASK = "MyCitationRetrieval"


def filed(results, scores, revision, settings=None, **stated):
    """A file of scores by query as a run writes it, and whose it is."""
    meta = ModelMeta.create_empty({"name": "my/model", "revision": revision, "experiment_kwargs": settings})
    known = {
        "task": TASK,
        "main_score": "ndcg_at_10",
        "model": "my/model",
        "model_revision": revision,
        "subset": "default",
    }
    known |= {"experiment": meta.experiment_name, "dataset_revision": "local-a"} | stated
    table = pa.table({"query": [f"q{n}" for n in range(len(scores))], "ndcg@10": scores})
    path = path_of(results, meta, TASK, ".queries.parquet")
    path.parent.mkdir(parents=True)
    pq.write_table(table.replace_schema_metadata({"patent_mteb": json.dumps(known)}), path)
    return meta


def test_results_of_one_name_differ_by_revision_and_settings(tmp_path):
    base = filed(tmp_path, [0.1, 0.2, 0.6], "r0")
    seeds = [filed(tmp_path, scores, f"r{n}") for n, scores in enumerate(([0.4, 0.5, 0.9], [0.2, 0.3, 0.7]), start=1)]
    filed(tmp_path, [0.0, 0.0, 0.0], "r1", {"dims": 64})
    (found,) = compare_tasks(tmp_path, base, seeds, {TASK: None})
    assert (found.before, found.seeds, found.n_queries) == (pytest.approx(0.3), pytest.approx((0.6, 0.4)), 3)
    (part,) = compare_tasks(tmp_path, base, seeds[:1], {TASK: frozenset({"q0", "q2", "elsewhere"})})
    assert (part.before, part.after, part.n_queries) == (pytest.approx(0.35), pytest.approx(0.65), 2)
    assert compare_tasks(tmp_path, base, seeds, {"OtherRetrieval": None}) == []


@pytest.mark.parametrize(
    ("scores", "stated", "problem"),
    [
        ([0.1, 0.2], {"model_revision": "r0"}, "another run .model_revision 'r0' instead of 'r1'"),
        ([0.1, 0.2], {"dataset_revision": "local-b"}, "different data or queries .local-b and local-a."),
        ([0.1, 0.2, 0.3], {}, "different data or queries"),
    ],
)
def test_scores_that_cannot_be_compared_are_refused(tmp_path, scores, stated, problem):
    base = filed(tmp_path, [0.1, 0.2], "r0")
    trained = filed(tmp_path, scores, "r1", **stated)
    with pytest.raises(DataError, match=problem):
        compare_tasks(tmp_path, base, [trained], {TASK: None})
