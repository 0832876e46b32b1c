"""The three classification tables of PatenTEB: dominant IPC3, time of the citations, older or newer (§3)."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from patent_mteb.recipes.patenteb.world import Row, World
from patent_mteb.recipes.sampling import random_key

__all__ = ["bloom_labels", "bloom_rows", "old_new_rows", "released", "text2ipc3_rows"]


def _stratified(world: World, rows: Sequence[Row], label: str, share: float, purpose: str) -> list[Row]:
    """A share of the rows of each label, at least one, in the rows' order."""
    numbers: dict[Any, dict[str, int]] = defaultdict(dict)
    for number, row in enumerate(rows):
        numbers[row[label]]["\t".join((row["q"], row.get("t", "")))] = number
    kept = [
        number_of[key] for number_of in numbers.values() for key in world.order(number_of, purpose)[: max(1, round(share * len(number_of)))]
    ]
    return [rows[number] for number in sorted(kept)]


def released(world: World, task: str, rows: list[Row]) -> list[Row]:
    """The share of the training rows of a table that is released, drawn label by label.

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE, labels, world
        >>> made = world.make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> rows = labels.text2ipc3_rows(made, "train")
        >>> len(rows), len(labels.released(made, "class_text2ipc3", rows))
        (296, 237)
    """
    share = min(1.0, world.params.max_train_rows / max(1, len(rows))) * world.params.released_train
    kept = _stratified(world, rows, "label", share, f"train {task}")
    world.log.step(f"{task} train, released share", len(rows), len(kept))
    return kept


def text2ipc3_rows(world: World, split: str) -> list[Row]:
    """Every family of a split with its dominant IPC3.

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE, labels, world
        >>> made = world.make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> list(labels.text2ipc3_rows(made, "test")[0])
        ['first_ipcr3', 'first_ipcr3_count', 'label', 'q', 'text']
    """
    return [
        {**world.class_of(name), "label": world.families[name].dominant, "q": name, "text": world.families[name].text}
        for name in world.members(split)
    ]


def _years_later(day: dt.date, years: int) -> dt.date:
    try:
        return day.replace(year=day.year + years)
    except ValueError:  # 29 February
        return day.replace(year=day.year + years, day=28)


def bloom_labels(world: World) -> dict[str, str]:
    """``early``, ``late`` or ``normal`` for every retained family filed before the cutoff, within its dominant IPC3.

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE, labels, world
        >>> made = world.make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> sorted(set(labels.bloom_labels(made).values()))
        ['early', 'late', 'normal']
    """
    params = world.params
    counts: dict[str, tuple[int, int]] = {}
    for name, family in world.families.items():
        if family.filed < params.cutoff:
            soon = min(_years_later(family.filed, params.early_years), params.cutoff)
            days = [world.dated[citing] for citing in world.graph.cited_by.get(name, ()) if citing in world.dated]
            counts[name] = sum(day <= soon for day in days), sum(day <= params.cutoff for day in days)
    classes: dict[str, list[str]] = defaultdict(list)
    for name in counts:
        classes[world.families[name].dominant].append(name)
    labels: dict[str, str] = {}
    for members in classes.values():
        rank = math.ceil(params.decile * len(members)) - 1
        early, lifetime = (sorted((counts[name][which] for name in members), reverse=True) for which in (0, 1))
        for name in members:
            five_years, total = counts[name]
            if five_years >= max(early[rank], 1):
                labels[name] = "early"
            elif total >= max(lifetime[rank], 1) and five_years <= early[-1 - rank]:
                labels[name] = "late"
            else:
                labels[name] = "normal"
    return labels


def bloom_rows(world: World, labels: Mapping[str, str], split: str) -> list[Row]:
    """The families of a split that bloom early or late, and some of the others.

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE, labels, world
        >>> made = world.make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> list(labels.bloom_rows(made, labels.bloom_labels(made), "test")[0])
        ['q', 'text', 'label']
    """
    members = [name for name in world.members(split) if name in labels]
    sizes = Counter(labels[name] for name in members)
    normal = world.order((name for name in members if labels[name] == "normal"), "bloom")
    kept = {*normal[: max(sizes["early"], sizes["late"])], *(name for name in members if labels[name] != "normal")}
    rows = [{"q": name, "text": world.families[name].text, "label": labels[name]} for name in members if name in kept]
    note = ", ".join(f"{label} {count}" for label, count in sorted(Counter(row["label"] for row in rows).items()))
    world.log.step(f"class_bloom {split}", len(members), len(rows), note)
    return rows


def old_new_rows(world: World, split: str) -> list[Row]:
    """One row a citation between two families of a split, turned at random: which is the newer one?

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE, labels, world
        >>> made = world.make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> sorted({row["label"] for row in labels.old_new_rows(made, "test")})
        ['newer', 'older']
    """
    members = set(world.members(split))
    links = sorted((citing, cited) for citing in members for cited in world.graph.cites.get(citing, ()) if cited in members)
    rows: list[Row] = []
    mutual = 0
    for citing, cited in links:
        if citing in world.graph.cites.get(cited, ()):
            mutual += 1
            continue
        newer = random_key(world.params.seed, "direction", citing, cited) % 2 == 0
        query, target = (citing, cited) if newer else (cited, citing)
        rows.append(
            {
                **world.class_of(query),
                "label": "newer" if newer else "older",
                "q": query,
                "t": target,
                "q_text": world.families[query].text,
                "t_text": world.families[target].text,
            }
        )
    world.log.step(f"class_nli_oldnew {split}", len(links), len(rows), f"{mutual} links go both ways")
    return rows
