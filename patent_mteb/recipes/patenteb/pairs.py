"""The tables of PatenTEB that pair texts: fragments with what they come from, and paraphrases (§3.2)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from patent_mteb.patents.views import SEPARATOR, join_sections
from patent_mteb.recipes.fragments import Role, remove_fragment
from patent_mteb.recipes.patenteb.world import Row, World
from patent_mteb.recipes.sampling import random_key

__all__ = ["fragment_rows", "paraphrase_rows"]

_DRAWS = 64
"""Draws at random for each pair that is wanted."""


def fragment_rows(world: World, task: str, query: Role | Literal["title"], target: Role | None, split: str = "test") -> list[Row]:
    """One row a family of a split that has the query fragment; the target is a fragment, or (None) the full text.

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE, pairs, world
        >>> made = world.make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> list(pairs.fragment_rows(made, "problem2solution", "problem", "solution")[0])
        ['first_ipcr3', 'first_ipcr3_count', 'q', 'problem', 'solution']
    """
    rows: list[Row] = []
    members = world.members(split)
    absent = emptied = 0
    for name in members:
        family = world.families[name]
        fragment = family.title if query == "title" else family.abstract.get(query)
        if not fragment or (target is not None and not family.abstract.get(target)):
            absent += 1
            continue
        if target is not None:
            sections: Sequence[str] = (family.abstract.get(target),)
        elif query == "title":
            sections = family.sections()[1:]
        else:
            sections = family.sections(without=(query,))
        rest = join_sections((remove_fragment(section, fragment) for section in sections), SEPARATOR)
        if not rest:
            emptied += 1
            continue
        rows.append({**world.class_of(name), "q": name, query: fragment, target or "full_text": rest})
    world.log.step(task, len(members), len(rows), f"{absent} without the fragments, {emptied} without anything else")
    return rows


def _unlike_pairs(world: World, names: Sequence[str], wanted: int, purpose: str) -> list[tuple[str, str]]:
    """Up to ``wanted`` different pairs of unlinked families from disjoint domains, drawn at random."""
    rng = random.Random(random_key(world.params.seed, purpose))
    pairs: dict[tuple[str, str], None] = {}
    for _ in range(_DRAWS * wanted if len(names) > 1 else 0):
        if len(pairs) == wanted:
            break
        first, second = rng.sample(names, 2)
        unlike = world.relation(first, second) == "OUT"
        if unlike and second not in world.graph.linked(first) and (second, first) not in pairs:
            pairs[first, second] = None
    return list(pairs)


def paraphrase_rows(world: World, task: str, role: Role, split: str = "test") -> list[Row]:
    """Pairs of fragments of the families of a split: linked ones of the same domain (label 1), unlinked ones of disjoint domains (label 0).

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE, pairs, world
        >>> made = world.make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> sorted({row["label"] for row in pairs.paraphrase_rows(made, "para_problem", "problem")})
        [0, 1]
    """
    share = world.params.positive_share
    names = [name for name in world.members(split) if world.families[name].abstract.get(role)]
    having = set(names)
    links = sorted(
        (name, other)
        for name in names
        for other in world.graph.cites.get(name, ())
        if other in having and world.relation(name, other) == "IN" and not (other < name and name in world.graph.cites.get(other, ()))
    )
    named = {"\t".join(link): link for link in links}
    chosen = world.order(named, f"{task} positives")[: round(world.params.max_paraphrase_rows * share)]
    negatives = _unlike_pairs(world, names, round(len(chosen) * (1 - share) / share), f"{task} negatives")
    chosen = chosen[: round(len(negatives) * share / (1 - share))]
    labelled = [(*named[name], 1) for name in chosen] + [(*pair, 0) for pair in negatives]
    rows = [
        {
            **world.class_of(query),
            "label": label,
            "q": query,
            "t": target,
            "text1": world.families[query].abstract.get(role),
            "text2": world.families[target].abstract.get(role),
        }
        for query, target, label in sorted(labelled)
    ]
    world.log.step(task, len(links), len(rows), f"{len(names)} families have a {role}; {len(chosen)} positives")
    return rows
