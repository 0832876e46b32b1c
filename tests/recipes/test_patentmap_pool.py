"""The search for negatives against plain sorting and plain intersection, at the borders of ties too."""

from __future__ import annotations

import random

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from patent_mteb.recipes import patentmap
from patent_mteb.recipes.patentmap import more_like_this, sharing_subclasses


@pytest.mark.parametrize("at_once", [7, 1000])
def test_like_a_query_and_of_its_subclasses(at_once, monkeypatch):
    monkeypatch.setattr(patentmap, "_TEXTS_AT_ONCE", at_once)
    draw = random.Random(1)
    keys = [f"P{number:03}" for number in range(120)]
    texts = [" ".join(draw.choices(["pump", "valve", "lens", "laser", "seal", "rotor", "blade"], k=4)) for _ in keys]
    texts[7] = "the"
    codes = [tuple(draw.sample(["A61H", "F16K", "G06F", "H04L"], draw.randrange(0, 3))) for _ in keys]
    similar = more_like_this(dict(zip(keys, texts, strict=True)), keys, 20 + 10)
    alike = sharing_subclasses(iter(codes), dict(zip(keys, codes, strict=True)))
    vectors = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit_transform(texts)
    for query in draw.sample(range(120), 15):
        likeness = (vectors @ vectors[query].T).toarray().ravel()
        order = sorted(range(120), key=lambda row, likeness=likeness: (-likeness[row], row))
        assert similar[keys[query]] == [keys[row] for row in order][: 20 + 10]
        assert alike[keys[query]].tolist() == [row for row, its in enumerate(codes) if set(its) & set(codes[query])]
