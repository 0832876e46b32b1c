"""Things that are connected, directly or through others (union-find)."""

from __future__ import annotations

__all__ = ["Groups"]


class Groups:
    """Groups of connected things; the first of a group, by order of text, is its name.

    Example:
        >>> from patent_mteb.patents.groups import Groups
        >>> groups = Groups()
        >>> groups.connect("c", "b")
        >>> groups.connect("a", "c")
        >>> [groups.of(thing) for thing in "abcd"]
        ['a', 'a', 'a', 'd']
    """

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def of(self, thing: str) -> str:
        """The name of the group of a thing; a thing that nothing was connected to is a group of its own."""
        parent = self._parent
        parent.setdefault(thing, thing)
        while parent[thing] != thing:
            parent[thing] = parent[parent[thing]]
            thing = parent[thing]
        return thing

    def connect(self, one: str, other: str) -> None:
        """Make the groups of two things one."""
        first, second = sorted((self.of(one), self.of(other)))
        self._parent[second] = first
