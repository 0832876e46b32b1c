"""The three symmetric retrieval tables of PatenTEB: citations as positives, hard negatives of the same domain category (§3)."""

from __future__ import annotations

import random
from collections import defaultdict

from patent_mteb.recipes.patenteb.world import Relation, Row, World
from patent_mteb.recipes.sampling import random_key

__all__ = ["OBJECTIVES", "retrieval_rows"]

OBJECTIVES: dict[str, tuple[frozenset[Relation], tuple[frozenset[Relation], ...]]] = {
    "IN": (frozenset({"IN"}), (frozenset({"FULL_MIX", "PART_MIX"}),)),
    "MIXED": (frozenset({"FULL_MIX", "PART_MIX"}), (frozenset({"PART_MIX"}), frozenset({"FULL_MIX"}))),
    "OUT": (frozenset({"OUT"}), (frozenset({"OUT"}),)),
}
"""Objective -> relations of its positives, relations of its negatives in order of preference (§3, hard negative mining)."""
_DRAWS = 64
"""Draws at random before all families are looked through."""


class _Negatives:
    """Draws hard negatives for the queries of one split."""

    def __init__(self, world: World, split: str) -> None:
        self.world = world
        self.members = world.members(split)
        self.by_class: dict[str, list[str]] = defaultdict(list)
        for name in self.members:
            for code in world.families[name].ipc3:
                self.by_class[code].append(name)

    def draw(self, query: str, positive: str, relations: frozenset[Relation]) -> str | None:
        """A family of the split with one of the relations to the query, outside the citations of query and positive."""
        world = self.world
        query_classes = world.families[query].ipc3
        if relations == {"PART_MIX"} and len(query_classes) == 1:
            return None  # a single class is contained in every set that it meets
        excluded = world.graph.linked(query) | world.graph.linked(positive) | {query, positive}
        pools = [self.members] if "OUT" in relations else [self.by_class[code] for code in sorted(query_classes)]

        def fits(name: str) -> bool:
            return name not in excluded and world.relation(query, name) in relations

        rng = random.Random(random_key(world.params.seed, "negative", query, positive, *sorted(relations)))
        for _ in range(_DRAWS):
            if fits(name := rng.choice(rng.choice(pools))):
                return name
        rest = [name for name in sorted({name for pool in pools for name in pool}) if fits(name)]
        return rng.choice(rest) if rest else None


def _positives(world: World, query: str, relations: frozenset[Relation]) -> list[str]:
    split = world.split[query]
    linked = [name for name in world.graph.linked(query) if world.split.get(name) == split and world.relation(query, name) in relations]
    return sorted(world.order(linked, f"positives {query}")[: world.params.max_positives])


def retrieval_rows(world: World, objective: str, split: str = "test") -> list[Row]:
    """Triplets (query, positive, negative) of a symmetric retrieval table: one for each positive of a query.

    Args:
        objective: one of :data:`OBJECTIVES`.

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE, retrieval, world
        >>> made = world.make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> row = retrieval.retrieval_rows(made, "OUT")[0]
        >>> row["neg_computed_domain"], row["pos_link_type"]
        ('OUT', 'CITED_BY')
    """
    relations, preferences = OBJECTIVES[objective]
    positives = {query: _positives(world, query, relations) for query in world.members(split)}
    chosen: list[str] = []
    rows_left = world.params.max_retrieval_rows
    for query in world.order((query for query in positives if positives[query]), f"queries {objective}"):
        if len(positives[query]) <= rows_left:
            chosen.append(query)
            rows_left -= len(positives[query])
    negatives = _Negatives(world, split)
    rows: list[Row] = []
    fallbacks = missing = 0
    for query in sorted(chosen):
        for positive in positives[query]:
            drawn = ((choice, negatives.draw(query, positive, wanted)) for choice, wanted in enumerate(preferences))
            choice, negative = next(((choice, name) for choice, name in drawn if name is not None), (0, None))
            if negative is None:
                missing += 1
                continue
            fallbacks += choice > 0
            families = world.families
            rows.append(
                {
                    "q": query,
                    "neg": negative,
                    "pos": positive,
                    "pos_link_type": "CITES" if positive in world.graph.cites.get(query, ()) else "CITED_BY",
                    "neg_computed_domain": world.relation(query, negative),
                    "objective": objective,
                    "q_text": families[query].text,
                    "pos_text": families[positive].text,
                    "neg_text": families[negative].text,
                }
            )
    world.log.step(
        f"retrieval_{objective}",
        sum(map(len, positives.values())),
        len(rows),
        f"{len(chosen)} queries, {missing} pairs without a negative, {fallbacks} negatives of second choice",
    )
    return rows
