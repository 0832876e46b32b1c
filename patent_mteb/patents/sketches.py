"""Patents of which a sketch is in memory: everything but the texts, of which it says that they are there, not what they say.

Most of what a recipe decides (which publications qualify, who cites whom, what is drawn) needs no text. It is decided on sketches, and the
whole record is read from a temporary file when its row is written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import TypeVar

from patent_mteb.patents.records import Claim, Description, ExpertSummary, MachineSummaries, Patent, TextLanguages
from patent_mteb.patents.spool import Spool

__all__ = ["Sketched", "sketch"]

_Texts = TypeVar("_Texts", Description, ExpertSummary, MachineSummaries)
_SHARED: dict[object, object] = {}
"""The few values that parts of a sketch can have, each once: which texts are there."""
_SOME = "x"


def sketch(patent: Patent) -> Patent:
    """The record with title and abstract cut to their first characters, every other text to a mark, and claims to one; what else is long
    is left out.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.sketches import sketch
        >>> sketch(Patent("US1A", "F1", title="Pump", ipc=("F04B",))) == Patent("US1A", "F1", title="P", ipc=("F04B",))
        True
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
    """That a text is there, or nothing but blanks: not its letter, for as many parts would differ as there are letters of all fields."""
    return _SOME if text.strip() else text and " "


def _claims(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """A claim with a text if there is one, else a claim if there is one."""
    first = next((claim for claim in claims if claim.text.strip()), next(iter(claims), None))
    return () if first is None else _shared((Claim(1, _mark(first.text)),))


def _marks(texts: _Texts) -> _Texts:
    return _shared(replace(texts, **{one.name: _mark(getattr(texts, one.name)) for one in fields(texts)}))


class Sketched(Mapping[str, Patent]):
    """Sketches of patents by publication number, in the order in which they came.

    Args:
        patents: read once and not kept.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.sketches import Sketched
        >>> patents = Sketched([Patent("US1A", "F1", title="Pump"), Patent("EP2A", "F2")])
        >>> patents["US1A"].title, patents.whole("US1A").title, list(patents)
        ('P', 'Pump', ['US1A', 'EP2A'])
    """

    def __init__(self, patents: Iterable[Patent]) -> None:
        self._whole: Spool[Patent] = Spool()
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
