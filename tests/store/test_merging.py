"""Stores put together: the same model only, and nothing copied before all was compared."""

from __future__ import annotations

import numpy as np
import pytest
from small_data import HashEncoder

from patent_mteb.cli import main
from patent_mteb.errors import DataError
from patent_mteb.models.behaviour import Canaries
from patent_mteb.store import EmbeddingStore, hash_texts, stored
from patent_mteb.store.merging import merge

IDENTITY = {"model": "acme/small", "revision": "1"}


def vectors_of(texts, width=8, seed=0):
    return np.stack([np.random.default_rng([seed, int(text)]).standard_normal(width) for text in texts]).astype(
        np.float32
    )


def filled(path, texts, width=8, seed=0, dtype="float32", identity=None, noise=0.0):
    store, names = EmbeddingStore(path), [str(text) for text in texts]
    vectors = vectors_of(names, width, seed)
    vectors *= 1 + noise * np.random.default_rng(1).standard_normal(vectors.shape).astype(np.float32)
    store.space(identity or IDENTITY, dtype).append(hash_texts(names), vectors)
    return store


def held(store, texts, dtype="float32"):
    space = EmbeddingStore(store.path).space(IDENTITY, dtype)
    keys = hash_texts([str(text) for text in texts])
    return int(space.contains(keys).sum())


def test_another_models_vectors_are_refused_and_nothing_is_copied(tmp_path):
    store = filled(tmp_path / "store", range(100))
    other = filled(tmp_path / "other", range(50, 250), seed=1)
    with pytest.raises(
        DataError,
        match=r"acme/small at revision 1: other vectors for the same texts .* nothing of this store was copied",
    ):
        merge(store, [other.path])
    assert held(store, range(250)) == 100


def test_one_space_of_another_model_keeps_the_others_out_too(tmp_path):
    store = filled(tmp_path / "store", range(10))
    fine = {"model": "acme/other", "revision": "1"}
    filled(tmp_path / "other", range(10), seed=1)
    other = filled(tmp_path / "other", range(10), identity=fine)
    with pytest.raises(DataError, match="acme/small"):
        merge(store, [other.path])
    assert [info.model for info in store.info() if info.texts] == ["acme/small"]


@pytest.mark.parametrize(
    ("noise", "dtype", "refused"), [(1e-6, "float32", False), (0.01, "float32", True), (0.003, "float16", False)]
)
def test_rounding_is_not_another_model(tmp_path, noise, dtype, refused):
    store, other = (
        filled(tmp_path / "store", range(50), dtype=dtype),
        filled(tmp_path / "other", range(100), dtype=dtype, noise=noise),
    )
    if refused:
        with pytest.raises(DataError, match="other vectors"):
            merge(store, [other.path])
    else:
        assert merge(store, [other.path]).copied == 50
    assert held(store, range(100), dtype) == (50 if refused else 100)


def test_another_width_is_named(tmp_path):
    store, other = filled(tmp_path / "store", range(10)), filled(tmp_path / "other", range(20, 30), width=16)
    with pytest.raises(DataError, match="vectors of 16 dimensions, where the store has 8"):
        merge(store, [other.path])


def test_token_vectors_and_scores_of_pairs_are_compared(tmp_path):
    stores = [EmbeddingStore(tmp_path / name) for name in ("store", "same", "other", "longer")]
    keys, draw = hash_texts(["a", "b"]), np.random.default_rng(0)
    rows = draw.standard_normal((5, 8)).astype(np.float32)
    for store, values, lengths in zip(stores, (rows, rows, -rows, rows), ([2, 3], [2, 3], [2, 3], [3, 2]), strict=True):
        store.space(IDENTITY, "float32", ragged=True).append(keys, values, np.array(lengths))
    assert merge(stores[0], [stores[1].path]).known == 2
    for wrong, why in zip(stores[2:], ("other vectors", "another number of vectors"), strict=True):
        with pytest.raises(DataError, match=why):
            merge(stores[0], [wrong.path])
    pairs = [EmbeddingStore(tmp_path / f"pairs{number}") for number in range(3)]
    scores = np.array([[5.0], [1e-7]], np.float32)
    for store, values in zip(pairs, (scores, scores + np.float32(1e-6), scores[::-1]), strict=True):
        store.space(IDENTITY).append(keys, values)
    assert merge(pairs[0], [pairs[1].path]).known == 2, "a score near 0 has no relative distance of its own"
    with pytest.raises(DataError, match="other vectors"):
        merge(pairs[0], [pairs[2].path])


def test_shares_that_two_models_encoded_are_not_put_together(tmp_path):
    """Of disjoint texts: the fixed ones are in both."""

    class Other(HashEncoder):
        def vector(self, text):
            return super().vector(text)[::-1].copy()

    HashEncoder.stored_as = Other.stored_as = "tests.HashEncoder"
    try:
        for number, model in enumerate((HashEncoder(), Other(), HashEncoder())):
            encoder = stored(model, tmp_path / f"share{number}")
            Canaries(encoder).look()
        store = EmbeddingStore(tmp_path / "store")
        assert merge(store, [tmp_path / "share0", tmp_path / "share2"]).uncompared == 1
        with pytest.raises(DataError, match="other vectors for the same texts"):
            merge(store, [tmp_path / "share1"])
    finally:
        del HashEncoder.stored_as, Other.stored_as


def test_what_could_not_be_compared_or_is_cut_is_said(tmp_path, capsys):
    store, other = filled(tmp_path / "store", range(10)), filled(tmp_path / "other", range(20, 40))
    filled(tmp_path / "other", range(40, 60))
    index = max((tmp_path / "other").rglob("*.index"), key=lambda path: path.stat().st_size)
    index.write_bytes(index.read_bytes()[:-7])
    assert main(["store", "merge", str(other.path), "--store", str(store.path)]) == 0
    said = capsys.readouterr().out
    assert "1 spaces share no text with the store" in said
    assert f"note {next((tmp_path / 'other').rglob('*.rows')).parent}" in said and "copied without it" in said
