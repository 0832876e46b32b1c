"""PatenTEB's training tables: their counts are right, they have no leaks, and no test family."""

from __future__ import annotations

from collections import Counter

import pytest

from patent_mteb.errors import DataError
from patent_mteb.training import multitask
from patent_mteb.training.corpus import read_corpus
from patent_mteb.training.multitask import TASKS, prepare
from patent_mteb.training.pairs import read_pairs
from patent_mteb.training.preparing import Job
from patent_mteb.training.recipes import find_recipe, settings_for


@pytest.mark.slow
def test_tables_of_the_sample(tmp_path, monkeypatch):
    """The grammar words some families alike: a leak, which stops or is dropped; rows are those that are left."""
    corpus, recipe = read_corpus("sample"), find_recipe("patembed-multitask")
    settings, world = settings_for(recipe, ["batch=16"]), multitask.world_of(corpus)
    monkeypatch.setattr(multitask, "world_of", lambda corpus: world)
    with pytest.raises(
        DataError, match=r"leak into test sets \(the test split of PatenTEB's tables: \d+ by text\).*--drop-leaks"
    ):
        prepare(Job(recipe=recipe, settings=settings, base="base", out=tmp_path), corpus)
    prepared = prepare(Job(recipe=recipe, settings=settings, base="base", out=tmp_path, drop_leaks=True), corpus)
    held = {path.name: list(read_pairs(path)) for path in (tmp_path / "pairs").glob("*.parquet")}
    assert prepared.leaks.dropped and prepared.leaks.leaking > 0
    for one in prepared.sets:
        assert one.rows == prepared.counts[one.name] == len(held[one.train]) >= 16
        assert one.validation_rows == (len(held[one.validation]) if one.validation else 0)
        for file in (one.train, one.validation):
            labels = Counter(pair.label for pair in held.get(file, ()))
            assert (
                not file
                or one.kind not in ("triplet", "contrastive")
                or sum(number > 1 for number in labels.values()) > 1
            )
    skipped = {what.split()[2].rstrip(",") for what in prepared.left_out["train"]}
    assert skipped | {one.name for one in prepared.sets} == TASKS.keys() and skipped.isdisjoint(
        one.name for one in prepared.sets
    )
    test_families = set(world.members("test"))
    trained = {
        family
        for one in prepared.sets
        for pair in held[one.train]
        for family in (pair.anchor_family, pair.positive_family)
    }
    assert trained and not trained & test_families
