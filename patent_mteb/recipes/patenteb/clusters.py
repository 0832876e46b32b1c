"""The two clustering tables of PatenTEB: families with the same list of IPC codes, or with the same inventor (§3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from patent_mteb.recipes.patenteb.world import Family, Row, World

__all__ = ["cluster_rows", "ipc_list"]


def cluster_rows(world: World, task: str, bounds: tuple[int, int], keys: Callable[[Family], Sequence[str]]) -> list[Row]:
    """Rows of the families whose first key of an admissible size is shared by enough of them; ids count the sorted keys.

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE, clusters, world
        >>> made = world.make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> rows = clusters.cluster_rows(made, "clusters_inventor", (3, 100), lambda family: family.inventors)
        >>> list(rows[0])
        ['q', 'text', 'cluster_id']
    """
    sizes = Counter(key for family in world.filtered.values() for key in keys(family))
    admitted = {key for key, size in sizes.items() if bounds[0] <= size <= bounds[1]}
    first = {name: key for name, family in world.filtered.items() if (key := next(filter(admitted.__contains__, keys(family)), ""))}
    final = Counter(first.values())
    kept = sorted(key for key in final if final[key] >= bounds[0])
    number = {key: rank for rank, key in enumerate(kept)}
    rows = [{"q": name, "text": world.filtered[name].text, "cluster_id": number[key]} for name, key in first.items() if key in number]
    world.log.step(task, len(world.filtered), len(rows), f"{len(kept)} clusters of {bounds[0]} to {bounds[1]} families")
    return rows


def ipc_list(family: Family) -> Sequence[str]:
    """The family's list of IPC codes as one key, none if there is no code.

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE, clusters, world
        >>> made = world.make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> [clusters.ipc_list(family) for family in made.families.values()][0]
        ('G09B21/00 G09B21/02',)
    """
    return (" ".join(sorted(family.codes)),) if family.codes else ()
