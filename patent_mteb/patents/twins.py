"""Texts that stand in several patent families: publications with one title and abstract (US continuations above all)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import age
from patent_mteb.patents.groups import Groups
from patent_mteb.patents.records import Patent
from patent_mteb.patents.stored import only, publications, with_family
from patent_mteb.patents.text import text_key

__all__ = ["TWINS", "drop_twins", "leaking_twins", "merge_twins", "twin_groups", "twin_key", "with_twins"]

TWINS = {"keep": "stay", "merge": "become one patent family", "drop": "are left out but for the earliest"}
"""What becomes of publications of different families with one text, by the name of the setting."""


def twin_groups(patents: Sequence[Patent]) -> list[list[Patent]]:
    """Publications of different families with one title and abstract, case and white space apart; records without abstract have none.
    Of patents that are not in memory the outlines.

    Example:
        >>> from patent_mteb.patents.twins import twin_groups
        >>> from patent_mteb.patents.records import Patent
        >>> patents = [Patent("US1A1", "F1", "Pump", "A pump."), Patent("US2A1", "F2", "PUMP", "A  pump."), Patent("US3A1", "F3", "Pump")]
        >>> [[patent.publication_number for patent in group] for group in twin_groups(patents)]
        [['US1A1', 'US2A1']]
    """
    return _of_several_families(zip(map(twin_key, patents), publications(patents), strict=True))


def twin_key(patent: Patent) -> bytes:
    """What publications with one title and abstract share, case and white space apart; empty for a record without abstract.

    Example:
        >>> from patent_mteb.patents.twins import twin_key
        >>> from patent_mteb.patents.records import Patent
        >>> twin_key(Patent("US1A1", "F1", "Pump", "A pump.")) == twin_key(Patent("US2A1", "F2", "PUMP", "A  pump."))
        True
    """
    title, abstract = (" ".join(text.casefold().split()) for text in (patent.title, patent.abstract))
    return text_key(title, abstract) if abstract else b""


def _of_several_families(keyed: Iterable[tuple[bytes, Patent]]) -> list[list[Patent]]:
    """Groups of patents with one key that is not empty."""
    first: dict[bytes, Patent] = {}
    groups: dict[bytes, list[Patent]] = {}
    for key, patent in keyed:
        if key and first.setdefault(key, patent) is not patent:
            groups.setdefault(key, [first[key]]).append(patent)
    order = {key: number for number, key in enumerate(first) if key in groups}
    found = (groups[key] for key in sorted(groups, key=order.__getitem__))
    return [group for group in found if len({patent.family_id for patent in group}) > 1]


def merge_twins(collection: Collection, twins: Iterable[Sequence[Patent]]) -> Collection:
    """The collection with families that share a text made one, under the name of the first.

    Args:
        twins: as :func:`twin_groups` gives them.

    Example:
        >>> from patent_mteb.patents.collection import Collection
        >>> from patent_mteb.patents.twins import merge_twins, twin_groups
        >>> from patent_mteb.patents.records import Patent
        >>> patents = [Patent("US1A1", "F1", "Pump", "A pump."), Patent("US2A1", "F2", "Pump", "A pump.")]
        >>> merged = merge_twins(Collection(patents), twin_groups(patents))
        >>> [patent.family_id for patent in merged.patents], merged.family_definition
        (['F1', 'F1'], 'given, twins merged')
    """
    groups = Groups()
    for first, *others in twins:
        for other in others:
            groups.connect(first.family_id, other.family_id)
    return replace(
        collection,
        patents=with_family(collection.patents, lambda patent: groups.of(patent.family_id)),
        families={number: groups.of(family) for number, family in collection.families.items()},
        family_definition=f"{collection.family_definition}, twins merged",
    )


def drop_twins(collection: Collection, twins: Iterable[Sequence[Patent]]) -> Collection:
    """The collection without publications whose text a publication of another family had before (by date, then by number).

    Args:
        twins: as :func:`twin_groups` gives them.

    Example:
        >>> from patent_mteb.patents.collection import Collection
        >>> from patent_mteb.patents.twins import drop_twins, twin_groups
        >>> from patent_mteb.patents.records import Patent
        >>> patents = [Patent("US1A1", "F1", "Pump", "A pump."), Patent("US2A1", "F2", "Pump", "A pump.")]
        >>> left = drop_twins(Collection(patents), twin_groups(patents))
        >>> [patent.publication_number for patent in left.patents], left.family_definition
        (['US1A1'], 'given, twins left out')
    """
    dropped: set[str] = set()
    for group in twins:
        earliest = min(group, key=age)
        dropped |= {patent.publication_number for patent in group if patent.family_id != earliest.family_id}
    return replace(
        collection,
        patents=only(collection.patents, lambda patent: patent.publication_number not in dropped),
        family_definition=f"{collection.family_definition}, twins left out",
    )


def with_twins(collection: Collection, setting: str, twins: Sequence[Sequence[Patent]] | None = None) -> Collection:
    """The collection after a setting of :data:`TWINS`.

    Args:
        twins: as :func:`twin_groups` gives them, where they are known already.

    Raises:
        DataError: an unknown setting.

    Example:
        >>> from patent_mteb.patents.collection import Collection
        >>> from patent_mteb.patents.twins import with_twins
        >>> with_twins(Collection([]), "keep") == Collection([])
        True
    """
    if setting not in TWINS:
        raise DataError(f"twins cannot be '{setting}'", remedy=f"choose among {', '.join(TWINS)}")
    if setting == "keep":
        return collection
    found = twin_groups(collection.patents) if twins is None else twins
    return merge_twins(collection, found) if setting == "merge" else drop_twins(collection, found)


def leaking_twins(keyed: Iterable[tuple[bytes, Patent]], split: Mapping[str, str]) -> dict[str, int]:
    """Documents of each other split whose text stands in ``train`` under another family: their labels can be looked up there.

    Args:
        keyed: patents with their :func:`twin_key`.
        split: split by patent family.

    Example:
        >>> from patent_mteb.patents.twins import leaking_twins, twin_key
        >>> from patent_mteb.patents.records import Patent
        >>> patents = [Patent("US1A1", "F1", "Pump", "A pump."), Patent("US2A1", "F2", "Pump", "A pump.")]
        >>> leaking_twins([(twin_key(patent), patent) for patent in patents], {"F1": "train", "F2": "test"})
        {'test': 1}
    """
    counts: dict[str, int] = {}
    for group in _of_several_families(keyed):
        trained = {patent.family_id for patent in group if split[patent.family_id] == "train"}
        for patent in group:
            part = split[patent.family_id]
            if part != "train" and trained - {patent.family_id}:
                counts[part] = counts.get(part, 0) + 1
    return counts
