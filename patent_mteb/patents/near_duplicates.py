"""Texts that stand in several patent families: publications with one title and abstract (US continuations above
all).

Patents of which a sketch is in memory: everything but the texts, of which it says that they are there, not what they
say.

Most of what a recipe decides (which publications qualify, who cites whom, what is drawn) needs no text. It is decided
on sketches, and the whole record is read from a temporary file when its row is written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import Groups, age
from patent_mteb.patents.on_disk import DiskList, only, publications, with_family
from patent_mteb.patents.records import Claim, Description, ExpertSummary, MachineSummaries, Patent, TextLanguages
from patent_mteb.patents.text import text_key

_Texts = TypeVar("_Texts", Description, ExpertSummary, MachineSummaries)

_SHARED: dict[object, object] = {}
"""The few values that parts of a sketch can have, each once: which texts are there."""

_SOME = "x"


def sketch(patent: Patent) -> Patent:
    """The record with title and abstract cut to their first characters, every other text to a mark, and claims to one;
    what else is long is left out.
    """
    return replace(
        patent,
        title=_first_letter(patent.title),
        abstract=_first_letter(patent.abstract),
        claims=_claims(patent.claims),
        description=_marks(patent.description),
        expert=_marks(patent.expert),
        summaries=_marks(patent.summaries),
        languages=_shared(TextLanguages()),
        ipc=tuple(map(sys.intern, patent.ipc)),
        cpc=(),
        inventors=(),
        applicants=(),
        labels=(),
        keywords=(),
        translations=(),
        paragraphs=(),
        source="",
    )


_Value = TypeVar("_Value")


def _shared(value: _Value) -> _Value:
    return _SHARED.setdefault(value, value)  # type: ignore[return-value]


def _first_letter(text: str) -> str:
    """A blank only where there is nothing else."""
    return text.lstrip()[:1] or text[:1]


def _mark(text: str) -> str:
    """That a text is there, or nothing but blanks: not its letter, for as many parts would differ as there are letters
    of all fields.
    """
    return _SOME if text.strip() else text and " "


def _claims(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """A claim with a text if there is one, else a claim if there is one."""
    first = next((claim for claim in claims if claim.text.strip()), next(iter(claims), None))
    return () if first is None else _shared((Claim(1, _mark(first.text)),))


def _marks(texts: _Texts) -> _Texts:
    return _shared(replace(texts, **{one.name: _mark(getattr(texts, one.name)) for one in fields(texts)}))


class Sketched(Mapping[str, Patent]):
    """Sketches of patents by publication number, in the order in which they came."""

    def __init__(self, patents: Iterable[Patent]) -> None:
        self._whole: DiskList[Patent] = DiskList()
        self._sketches: dict[str, Patent] = {}
        self._places: dict[str, int] = {}
        for place, patent in enumerate(patents):
            self._sketches[patent.publication_number] = sketch(patent)
            self._places[patent.publication_number] = place
            self._whole.append(patent)

    def __getitem__(self, number: str) -> Patent:
        return self._sketches[number]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sketches)

    def __len__(self) -> int:
        return len(self._sketches)

    def whole(self, number: str) -> Patent:
        """The record itself."""
        return self._whole[self._places[number]]


NEAR_DUPLICATES = {"keep": "stay", "merge": "become one patent family", "drop": "are left out but for the earliest"}
"""What becomes of publications of different families with one text, by the name of the setting."""


def near_duplicate_groups(patents: Sequence[Patent]) -> list[list[Patent]]:
    """Publications of different families with one title and abstract, case and white space apart; records without
    abstract have none. Of patents that are not in memory the outlines.
    """
    return _of_several_families(zip(map(near_duplicate_key, patents), publications(patents), strict=True))


def near_duplicate_key(patent: Patent) -> bytes:
    """What publications with one title and abstract share, case and white space apart; empty for a record without
    abstract.
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


def merge_near_duplicates(collection: Collection, twins: Iterable[Sequence[Patent]]) -> Collection:
    """The collection with families that share a text made one, under the name of the first."""
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


def drop_near_duplicates(collection: Collection, twins: Iterable[Sequence[Patent]]) -> Collection:
    """The collection without publications whose text a publication of another family had before (by date, then by
    number).
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


def with_near_duplicates(
    collection: Collection, setting: str, twins: Sequence[Sequence[Patent]] | None = None
) -> Collection:
    """The collection after a setting of :data:`NEAR_DUPLICATES`."""
    if setting not in NEAR_DUPLICATES:
        raise DataError(f"twins cannot be '{setting}'", remedy=f"choose among {', '.join(NEAR_DUPLICATES)}")
    if setting == "keep":
        return collection
    found = near_duplicate_groups(collection.patents) if twins is None else twins
    return merge_near_duplicates(collection, found) if setting == "merge" else drop_near_duplicates(collection, found)


def leaking_near_duplicates(keyed: Iterable[tuple[bytes, Patent]], split: Mapping[str, str]) -> dict[str, int]:
    """Documents of each other split whose text stands in ``train`` under another family: their labels can be looked up
    there.
    """
    counts: dict[str, int] = {}
    for group in _of_several_families(keyed):
        trained = {patent.family_id for patent in group if split[patent.family_id] == "train"}
        for patent in group:
            part = split[patent.family_id]
            if part != "train" and trained - {patent.family_id}:
                counts[part] = counts.get(part, 0) + 1
    return counts
