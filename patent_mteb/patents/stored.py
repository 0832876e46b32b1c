"""Patents of which only the names are in memory: number, family, day and application; the whole record is read when it is asked for.

What decides which publications there are, of which families, and who cites whom needs their names only (:func:`publications`), so
that a collection of any size can be prepared, and a recipe reads the texts as often as it has to, one record at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import overload

from patent_mteb.patents.records import Description, ExpertSummary, MachineSummaries, Patent, TextLanguages
from patent_mteb.patents.spool import Spool

__all__ = ["StoredPatents", "in_order", "only", "outline", "publications", "stored", "with_family"]

_EMPTY = {
    "description": Description(),
    "expert": ExpertSummary(),
    "summaries": MachineSummaries(),
    "languages": TextLanguages(),
}


def outline(patent: Patent, family: str = "") -> Patent:
    """The record with nothing but its number, family, day of publication and application number.

    Args:
        family: the family, if it is to be another.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.stored import outline
        >>> outline(Patent("US1A", "F1", title="Pump")) == Patent("US1A", "F1")
        True
    """
    return Patent(
        patent.publication_number,
        family or patent.family_id,
        publication_date=patent.publication_date,
        application_number=patent.application_number,
        **_EMPTY,  # type: ignore[arg-type]
    )


class StoredPatents(Sequence[Patent]):
    """Patents in a temporary file, as :func:`stored` makes them.

    Attributes:
        publications: their outlines, which say what their families are.
    """

    def __init__(self, spool: Spool[Patent], places: Sequence[int], publications: list[Patent]) -> None:
        self._spool, self._places, self.publications = spool, places, publications

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Patent: ...
    @overload
    def __getitem__(self, place: slice) -> list[Patent]: ...
    def __getitem__(self, place: int | slice) -> Patent | list[Patent]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        return _of(self._spool[self._places[place]], self.publications[place])

    def __iter__(self) -> Iterator[Patent]:
        in_place = isinstance(self._places, range)  # all of them, as they came
        return map(_of, self._spool if in_place else map(self._spool.__getitem__, self._places), self.publications)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(one == its for one, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def reassigned(self, family_of: Callable[[Patent], str]) -> StoredPatents:
        """The same patents in other families."""
        return StoredPatents(self._spool, self._places, [outline(one, family_of(one)) for one in self.publications])

    def ordered(self, key: Callable[[Patent], str]) -> StoredPatents:
        """The same patents in the order of a key."""
        order = sorted(range(len(self.publications)), key=lambda place: key(self.publications[place]))
        return StoredPatents(self._spool, [self._places[place] for place in order], [self.publications[place] for place in order])

    def chosen(self, keeps: Callable[[Patent], bool]) -> StoredPatents:
        """Some of the patents."""
        kept = [place for place, one in enumerate(self.publications) if keeps(one)]
        return StoredPatents(self._spool, [self._places[place] for place in kept], [self.publications[place] for place in kept])


def _of(patent: Patent, known: Patent) -> Patent:
    """The record in the family that is known of it."""
    return patent if patent.family_id == known.family_id else replace(patent, family_id=known.family_id)


def stored(patents: Iterable[Patent]) -> StoredPatents:
    """Patents in a temporary file, read once and not kept.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.stored import stored
        >>> patents = stored([Patent("US1A", "F1", title="Pump")])
        >>> patents[0].title, patents.publications == [Patent("US1A", "F1")]
        ('Pump', True)
    """
    known: list[Patent] = []
    families: dict[str, str] = {}

    def noted() -> Iterator[Patent]:
        for patent in patents:
            known.append(outline(patent, families.setdefault(patent.family_id, patent.family_id)))
            yield patent

    spool = Spool(noted())
    return StoredPatents(spool, range(len(spool)), known)


def publications(patents: Sequence[Patent]) -> Sequence[Patent]:
    """What is in memory of some patents: their outlines, or the records themselves.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.stored import publications, stored
        >>> pump = Patent("US1A", "F1", title="Pump")
        >>> publications([pump])[0].title, publications(stored([pump]))[0].title
        ('Pump', '')
    """
    return patents.publications if isinstance(patents, StoredPatents) else patents


def with_family(patents: Sequence[Patent], family_of: Callable[[Patent], str]) -> Sequence[Patent]:
    """The patents in other families.

    Args:
        family_of: the family by the outline of a patent.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.stored import with_family
        >>> with_family([Patent("US1A", "F1")], lambda patent: "F2")
        [Patent(publication_number='US1A', family_id='F2', ...)]
    """
    if isinstance(patents, StoredPatents):
        return patents.reassigned(family_of)
    return [patent if patent.family_id == (family := family_of(patent)) else replace(patent, family_id=family) for patent in patents]


def only(patents: Sequence[Patent], keeps: Callable[[Patent], bool]) -> Sequence[Patent]:
    """Some of the patents.

    Args:
        keeps: whether to keep a patent, by its outline.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.stored import only
        >>> len(only([Patent("US1A", "F1"), Patent("EP2A", "F2")], lambda patent: patent.jurisdiction == "EP"))
        1
    """
    return patents.chosen(keeps) if isinstance(patents, StoredPatents) else [patent for patent in patents if keeps(patent)]


def in_order(patents: Sequence[Patent], key: Callable[[Patent], str]) -> Sequence[Patent]:
    """The patents in the order of a key, which is told from the outline of a patent.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.stored import in_order, stored
        >>> patents = stored([Patent("US2A", "F2"), Patent("US1A", "F1")])
        >>> [patent.publication_number for patent in in_order(patents, lambda patent: patent.publication_number)]
        ['US1A', 'US2A']
    """
    return patents.ordered(key) if isinstance(patents, StoredPatents) else sorted(patents, key=key)
