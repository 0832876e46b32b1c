"""Worlds: which results may stand in one table, one plot, one mean. Results of different worlds never do.

``real``    the published data at the pinned revision; for a data set that nobody has released, a local directory
``local``   a local copy of a released data set that does not carry the pinned revision
``sample``  the built-in sample
"""

from __future__ import annotations

from dataclasses import dataclass

from patent_mteb.data.sources import DataSet, sample_revision
from patent_mteb.errors import DataError

__all__ = ["WORLDS", "World", "world_of"]


@dataclass(frozen=True)
class World:
    """One world: its name, what a reader must know before its numbers, and what its titles end with."""

    name: str
    banner: str = ""
    suffix: str = ""

    def titled(self, title: str) -> str:
        """A title that says which world it is about."""
        return f"{title}{self.suffix}"


_REAL = World("real")
_LOCAL = World(
    "local",
    "Local copies of released data sets that do not carry the pinned revision: not comparable with published scores.",
    " (local copy)",
)
_SAMPLE = World("sample", "Built-in sample: these scores say nothing about the published benchmark.", " (sample)")

WORLDS: dict[str, World] = {world.name: world for world in (_REAL, _LOCAL, _SAMPLE)}
"""The worlds by name, in the order in which reports show them."""


def world_of(data: DataSet, revision: str, *, sample: bool) -> World:
    """The world that a result belongs to.

    Args:
        data: the data set of the task, as it is now.
        revision: the state of it that the result was measured on.
        sample: the result is filed under the name of the task's sample.

    Raises:
        DataError: no world: the state is neither the present sample, nor the pinned revision, nor local; or the recipe of the sample
            cannot be found.

    Example:
        >>> from patent_mteb.data.sources import DataSet
        >>> from patent_mteb.data.worlds import world_of
        >>> data = DataSet("datalyes/DAPFAM_patent", "dapfam", "780f401")
        >>> [world_of(data, revision, sample=False).name for revision in ("780f401", "local-0123456789ab")]
        ['real', 'local']
    """
    if sample:
        present = sample_revision(data.recipe) if data.recipe else None
        if revision == present:
            return _SAMPLE
        problem = f"measured on data revision {revision}, but the present sample is {present or 'none'}"
    elif revision.startswith("sample-"):
        problem = "measured on the built-in sample under the name of the real task"
    elif data.released and revision == data.revision:
        return _REAL
    elif revision.startswith("local-"):
        return _LOCAL if data.released else _REAL
    else:
        pinned = data.revision or "a local directory"
        problem = f"measured on data revision {revision}, but the task now stands for {pinned} (an older task version)"
    raise DataError(problem, remedy="run the task again with the present version of patent-mteb")
