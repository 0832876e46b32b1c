"""Documents that stand in one large document: cut out one by one, so that no more than one of them is in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

from patent_mteb.readers import xml

__all__ = ["split_inside"]

_CHUNK = 1 << 20
_MOST_OF_A_TAG = 4096
_NAME = rb"<%s(?:[\w.-]+:)?%s(?=[\s/>])[^>]*>"


def split_inside(container: str, name: str) -> xml.Split:
    """Cuts a stream of XML into a document for each element of a name in a container; what stands between them is a document too.

    Each has the start of the file down to the tag of the container before it, so that encoding, namespaces and whatever is refused in a
    document type are the same. An element that does not end goes down to the start of the next.

    Example:
        >>> import io
        >>> from patent_mteb.readers.inner import split_inside
        >>> split = split_inside("all", "one")
        >>> list(split(io.BytesIO(b"<?xml ?><all><one>a</one> <one>b</one></all>")))
        [b'<?xml ?><all><one>a</one></all>', b'<?xml ?><all><one>b</one></all>']
    """

    def split(stream: IO[bytes]) -> Iterator[bytes]:
        return _Cutter(container, name).documents(stream)

    return split


class _Cutter:
    def __init__(self, container: str, name: str) -> None:
        outer, inner = container.encode(), name.encode()
        self._opens = re.compile(_NAME % (b"", outer))
        self._begins = re.compile(_NAME % (b"", inner))
        self._begins_or_ends = re.compile(rb"(?P<ends>" + _NAME % (b"/", inner) + rb")|" + _NAME % (b"", inner))
        self._closes = re.compile(_NAME % (b"/", outer))
        self._head = b""
        self._tail = b""

    def documents(self, stream: IO[bytes]) -> Iterator[bytes]:
        held = bytearray()
        searched = 0
        while chunk := stream.read(_CHUNK):
            held += chunk
            while (found := self._next(held, searched)) is not None:
                document, end = found
                yield from document
                del held[:end]
                searched = 0
            if len(held) > xml.LONGEST_DOCUMENT:
                yield self._head + bytes(held)
                held.clear()
            searched = max(0, len(held) - _MOST_OF_A_TAG)
        yield from self._between(bytes(held)) if not self._begins.match(held) else [self._whole(self._closes.sub(b"", bytes(held)))]

    def _next(self, held: bytearray, searched: int) -> tuple[list[bytes], int] | None:
        """What is whole at the start of what is held, and where it ends; None if nothing is."""
        begun = self._begins.match(held)
        if begun is None:
            start = self._begins.search(held, searched)
            return None if start is None else (self._between(bytes(held[: start.start()])), start.start())
        if begun[0].endswith(b"/>"):
            return [self._whole(begun[0])], begun.end()
        stop = self._begins_or_ends.search(held, max(begun.end(), searched))
        if stop is None:
            return None
        end = stop.end() if stop["ends"] else stop.start()
        return [self._whole(bytes(held[:end]))], end

    def _whole(self, element: bytes) -> bytes:
        return self._head + element + self._tail

    def _between(self, text: bytes) -> list[bytes]:
        """What stands between two elements: the start of a container is kept for what follows, its end and blanks are nothing."""
        opened = list(self._opens.finditer(text))
        if not opened:
            left = self._closes.sub(b"", text).strip()
            return [left] if left else []
        before = self._between(self._closes.split(text, maxsplit=1)[0]) if self._head and self._closes.search(text) else []
        start = 0 if not self._head else text.rfind(b"<?xml", 0, opened[-1].start())
        self._head = text[max(start, 0) : opened[-1].end()].strip()
        tag = re.match(rb"<([\w.:-]+)", opened[-1][0])
        assert tag is not None
        self._tail = b"</" + tag[1] + b">"
        return before
