"""Detect the encoding of a text table, and read its lines.

A file that is not UTF-8 is UTF-16, or in one of :data:`ENCODINGS`: the one in which the largest share of its non-ASCII
characters is in daily use. charset-normalizer is not used: with the few such characters of a short list it
names other encodings (``für Öl`` in Windows-1252: cp850, ``一种泵`` in GBK: Big5).
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from patent_mteb.errors import DataError, readable
from patent_mteb.files import open_binary, text_lines

_WESTERN = frozenset("äöüßÄÖÜéèêëàâçîïôùûœñáíóúåøæÅØÆÉÈÀÇÑãõ’‘“”„–—…•€£§°®™©±²³µ×½¼¾´·«»\u00a0")

_HANGUL = frozenset("는을를의에은하이로고가")
"""The commonest syllables of Korean; their bytes are rare characters in Chinese."""


# The double-byte standards list the characters in daily use first.
ENCODINGS: dict[str, tuple[str, bytes]] = {
    "cp1252": ("Windows-1252", b"[" + re.escape("".join(_WESTERN).encode("cp1252")) + b"]"),
    "gb18030": ("GBK/GB 18030", rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xff]"),
    "cp932": ("Shift-JIS", rb"[\x81-\x83].|\x88[\x9f-\xff]|[\x89-\x97].|\x98[\x00-\x72]"),
    "cp949": ("EUC-KR", rb"[\xa1\xa3\xb0-\xc8][\xa1-\xff]"),
    "big5": ("Big5", rb"[\xa1\xa2].|\xa4[\x40-\xff]|[\xa5-\xc5].|\xc6[\x00-\x7e]"),
}
"""Codec -> its name for the user, and a pattern of the characters in daily use. Of equal ones, the first is taken."""

_CLEAR = 0.8
_SAMPLE = 1 << 20
_CHUNK = 1 << 20


def encoding_of(path: Path) -> tuple[str, str]:
    """Return the codec of a text file and its name for the user; UTF-8 if no other one is clear."""
    with readable(path):
        found = path.stat()
    return _encoding_of(path, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=64)
def _encoding_of(path: Path, size: int, changed: int) -> tuple[str, str]:
    with readable(path), open_binary(path) as stream:
        start = stream.read(_CHUNK)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16", "UTF-16"
        if half := _utf_16(start):
            return half, "UTF-16"
        decoder = codecs.getincrementaldecoder("utf-8")()
        sample, chunk, is_utf_8 = b"", start, True
        while chunk:
            if is_utf_8:
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError:
                    is_utf_8 = False
            if not chunk.isascii():
                sample += b"\n".join(line for line in chunk.split(b"\n") if not line.isascii()) + b"\n"
            if not is_utf_8 and len(sample) > _SAMPLE:
                break
            if is_utf_8:
                sample = sample[-_SAMPLE:]
            chunk = stream.read(_CHUNK)
    return ("utf-8", "UTF-8") if is_utf_8 else _clearest(sample[:_SAMPLE])


def _utf_16(start: bytes) -> str:
    """Return the codec of UTF-16 without a byte order mark: every second byte of a Latin header is zero."""
    head = start[:200]
    zeros = head[1::2].count(0), head[::2].count(0)
    enough = len(head) // 4
    return "utf-16-le" if zeros[0] > enough >= zeros[1] else "utf-16-be" if zeros[1] > enough >= zeros[0] else ""


def _clearest(sample: bytes) -> tuple[str, str]:
    shares = {codec: _share(sample, codec, common) for codec, (_, common) in ENCODINGS.items()}
    best = max(shares, key=lambda codec: shares[codec])
    if best == "gb18030" and shares["cp949"] == shares[best]:  # all bytes of Hangul are bytes of Chinese too
        best = "cp949" if set(sample.decode("cp949", "ignore")) & _HANGUL else best
    return (best, ENCODINGS[best][0]) if shares[best] >= _CLEAR else ("utf-8", "UTF-8")


def _share(sample: bytes, codec: str, common: bytes) -> float:
    """The share of the non-ASCII characters that are in daily use; 0 if the sample cannot be decoded."""
    try:
        text = sample.decode(codec)
    except UnicodeDecodeError as error:
        if error.start < len(sample) - 4:  # the end may be within a character
            return 0.0
        text = sample[: error.start].decode(codec)
    found = [character.encode(codec) for character in text if character > "\x7f"]
    return sum(bool(re.fullmatch(common, one, re.DOTALL)) for one in found) / len(found) if found else 0.0


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a text file in its encoding, from 1, as :func:`patent_mteb.files.text_lines`."""
    codec, name = encoding_of(path)
    with readable(path), open_binary(path) as stream:
        start = stream.read(_CHUNK)
    end = "\r" if b"\r" in start and b"\n" not in start else "\n"  # old Macs
    if codec == "utf-8" and end == "\n":
        yield from text_lines(path)
        return
    with readable(path), open_binary(path) as stream:
        try:
            for number, line in enumerate(io.TextIOWrapper(stream, codec, newline=end), start=1):
                yield number, line.removeprefix("\ufeff").rstrip("\r\n")
        except UnicodeError as error:
            raise DataError(f"not valid {name} ({error})", path=path, remedy="save the file as UTF-8") from error
