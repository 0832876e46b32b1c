"""Texts of one view that several tasks of a benchmark read: composed once, as long as they are small."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from patent_mteb.data.sources import Source
from patent_mteb.memory import portion
from patent_mteb.patents.corpus import Texts
from patent_mteb.search.recent import Recent

__all__ = ["composed"]

_MOST_BYTES = 1 << 28
_HELD: Recent[tuple[Source, Hashable], Texts] = Recent(_MOST_BYTES)


def composed(source: Source, view: Hashable, compose: Callable[[], Texts]) -> Texts:
    """The texts of a view, as they were composed for the last tasks that read them, else composed now.

    At most 256 MB are held, and at most a sixteenth of a stated memory. A source that is changed while it is read makes every task on it
    stop (:meth:`~patent_mteb.data.sources.Source.verify`), so what is held is of its revision.

    Args:
        view: which of the source's texts, and how they are composed.

    Example:
        >>> from patent_mteb.patents.corpus import Texts
        >>> from patent_mteb.tasks.catalogue import find
        >>> from patent_mteb.tasks.composed import composed
        >>> source = find("DAPFAM").task_classes[0]().source
        >>> first = composed(source, "an example", lambda: Texts.of({"d": "A pump."}))
        >>> composed(source, "an example", dict) is first
        True
    """
    known = _HELD.get((source, view))
    if known is None:
        known = compose()
        _HELD.most_bytes = portion(1 / 16, _MOST_BYTES)
        _HELD.keep((source, view), known, known.column.nbytes)
    return known
