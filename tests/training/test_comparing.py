"""Before and after: known items against a naive search, differences against resamples drawn here."""

from __future__ import annotations

import numpy as np
import pytest

from patent_mteb.training.comparing import change, known_item
from patent_mteb.training.pairs import Pair, write_pairs


class Fixed:
    """Encodes a text as the vector that stands in it."""

    def encode(self, texts, normalize_embeddings, show_progress_bar, convert_to_numpy):
        rows = np.array([[float(word) for word in text.split()] for text in texts])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_known_items_against_a_naive_search(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"{value:.4f}" for value in row) for row in rng.normal(size=(80, 3))]
    families = [f"F{place % 17}" for place in range(40)]
    pairs = [Pair(texts[n], texts[40 + n], f"{n}", f"{n}", family, family, "x") for n, family in enumerate(families)]
    write_pairs(tmp_path / "test.parquet", pairs)
    found = known_item(Fixed(), tmp_path / "test.parquet")
    vectors = Fixed().encode(texts, True, False, True)
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
    assert found.p == pytest.approx(np.mean(drawn < 0), abs=0.01)
    assert change("task", "x", before, after[:1]).spread is None
