"""Shared shingles against plain sets of words."""

from __future__ import annotations

import random

from patent_mteb.training.shingles import FEWEST, THRESHOLD, WIDTH, ShingleIndex


def naive(text):
    words = text.lower().split()
    return {tuple(words[place : place + WIDTH]) for place in range(max(1, len(words) - WIDTH + 1))}


def test_the_most_alike_is_found_with_its_share():
    rng = random.Random(0)
    words = [f"w{number}" for number in range(60)]
    texts = {f"d{number}": " ".join(rng.choices(words, k=rng.randint(15, 60))) for number in range(40)}
    index = ShingleIndex(texts.items())
    hits = 0
    for key in list(texts):
        told = [word if rng.random() > rng.choice([0.02, 0.1, 0.4]) else "other" for word in texts[key].split()]
        text = " ".join(told[: rng.randint(12, 60)])
        mine = naive(text)
        shares = {name: len(mine & naive(other)) / min(len(mine), len(naive(other))) for name, other in texts.items()}
        best = max(shares.values())
        found = index.like(text)
        if best >= THRESHOLD and len(mine) >= FEWEST:
            hits += 1
            assert found is not None and abs(found[1] - best) < 1e-12 and shares[found[0]] == best
        else:
            assert found is None
    assert 5 < hits < 40


def test_short_texts_are_alike_only_if_equal():
    index = ShingleIndex([("a", "A walking aid"), ("b", "")])
    assert index.like("a WALKING aid!") == ("a", 1.0)
    assert index.like("A walking aid, too") is None and index.like("") is None and len(index) == 1
