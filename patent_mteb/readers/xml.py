"""Read the documents of XML files and zip files, parse them safely, and extract their items and texts.

Bulk files are zip files with thousands of complete documents one after another, each with an XML declaration. They are
read as a stream: at most one document is in memory and nothing is unpacked to disk. Files are not trusted:

* A document type is never loaded. One that defines entities with a text (an entity bomb) is refused. Named SGML
  entities (``&mgr;``) are replaced by their characters before parsing.
* A document must be UTF-8, ASCII, ISO 8859 or Windows 125x, and at most :data:`LONGEST_DOCUMENT` bytes long.
* A file in a zip may unpack to :data:`LARGEST_RATIO` times its size, or to 16 MiB. A file whose path leads out of the
  zip is skipped, although nothing is written.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from html.entities import html5
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, TypeAlias, cast

from lxml import etree

from patent_mteb.errors import DataError, readable, refuse_other_forms
from patent_mteb.files import LARGEST_RATIO, unpacks_too_far
from patent_mteb.readers.items import Item, Note, Skipped, without_repeats
from patent_mteb.readers.values import CODES

_GREEK = dict(pair.split("=") for pair in CODES["greek"].split())
_REFERENCE = re.compile(rb"&([A-Za-z][A-Za-z0-9.]*);")


def _character(match: re.Match[bytes]) -> bytes:
    """The numeric form of a named entity; unknown names become text."""
    name = match[1]
    if name in (b"amp", b"lt", b"gt", b"quot", b"apos"):
        return match[0]
    text = name.decode()
    characters = _GREEK.get(text) or html5.get(f"{text};")
    return b"".join(b"&#%d;" % ord(one) for one in characters) if characters else b"&amp;" + name + b";"


Element: TypeAlias = etree._Element
Split: TypeAlias = Callable[[IO[bytes]], Iterator[bytes]]
LONGEST_DOCUMENT = 1 << 29
"""Bytes of one document. The largest documents of an office (sequence listings) have about a tenth of it."""

_CHUNK = 1 << 20  # bytes that are parsed at a time
_SMALL_CHUNK = 1 << 12  # bytes, enough for the root element of most files
_BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError)
_XML_NAMES = (".xml", ".sgml", ".sgm")
_ZIP_NAME = ".zip"
_IN_MEMORY = 1 << 26  # bytes of a zip file in a zip file; a larger one is a temporary file


class MalformedError(ValueError):
    """A document cannot be read."""


_DECLARATION = re.compile(rb"<\?xml[ \t\r\n]")
_LONGEST_START = 100  # bytes of a tag up to the end of its name


def split_before(stream: IO[bytes], start: re.Pattern[bytes] = _DECLARATION) -> Iterator[bytes]:
    """Yield the text of a stream in pieces, split before each match; a piece that is too long ends early."""
    buffer = bytearray()
    searched = 1
    while chunk := stream.read(_CHUNK):
        buffer += chunk
        while match := start.search(buffer, searched):
            yield bytes(buffer[: match.start()])
            del buffer[: match.start()]
            searched = 1
        if len(buffer) > LONGEST_DOCUMENT:
            yield bytes(buffer)
            buffer.clear()
        searched = max(1, len(buffer) - _LONGEST_START)
    yield bytes(buffer)


_MARK = b"\xef\xbb\xbf"
_END_OF_DOS = b"\x1a"
_ZEROS = "zero bytes where text should be (is the file complete?)"


def _numbered(stream: IO[bytes], place: str, split: Split) -> Iterator[tuple[str, bytes] | Skipped]:
    """Yield documents without the marks between joined files, and report zeros after a document."""
    number = 0
    for content in split(stream):
        text = content.rstrip(b"\0")
        document = text.removeprefix(_MARK)
        if (end := text.rstrip()).endswith((_MARK, _END_OF_DOS)):
            document = end.removeprefix(_MARK).removesuffix(_END_OF_DOS).removesuffix(_MARK)
        if document.strip():
            number += 1
            yield f"{place}document {number}", document
        if len(text) < len(content):
            yield Skipped("", f"{place}after document {number}", _ZEROS)


def documents(path: Path, split: Split) -> Iterator[tuple[str, bytes] | Skipped]:
    """Yield the position and the bytes of each document of an XML file, or of the XML files in a zip file."""
    with readable(path), path.open("rb") as stream:
        start = stream.read(4)
        if not start:
            raise DataError("the file is empty", path=path, remedy="download it again")
        stream.seek(0)
        if start.startswith(b"PK"):
            yield from _zipped(stream, path, split)
        else:
            refuse_other_forms(path, start)
            yield from _numbered(stream, "", split)


def _zipped(
    stream: IO[bytes], path: Path, split: Split, *, inner: bool = False
) -> Iterator[tuple[str, bytes] | Skipped]:
    """Yield the documents of a zip file and of the zip files in it; those in an ``inner`` one are not opened."""
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, ValueError) as error:
        raise DataError(f"not a complete zip file ({error})", path=path, remedy="download it again") from error
    for member in archive.infolist():
        if member.is_dir():
            continue
        if reason := _refusal(member, inner=inner):
            yield Skipped("", member.filename, reason)
            continue
        if PurePosixPath(member.filename).suffix.lower() == _ZIP_NAME:
            yield from _inner_zip(archive, member, path, split)
            continue
        try:
            with archive.open(member) as file:
                yield from _numbered(file, f"{member.filename}, ", split)
        except _BROKEN_ZIP as error:
            yield Skipped("", member.filename, f"the rest of a file in the zip cannot be read ({type(error).__name__})")


def _inner_zip(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, split: Split
) -> Iterator[tuple[str, bytes] | Skipped]:
    """Yield the documents of a zip file in a zip file, in which the EPO delivers national full texts."""
    try:
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy, archive.open(member) as file:
            shutil.copyfileobj(file, copy)
            for one in _zipped(cast(IO[bytes], copy), path, split, inner=True):
                if isinstance(one, Skipped):
                    yield replace(one, place=f"{member.filename}, {one.place}")
                else:
                    yield f"{member.filename}, {one[0]}", one[1]
    except (*_BROKEN_ZIP, DataError) as error:
        yield Skipped("", member.filename, f"a zip file in the zip cannot be read ({type(error).__name__})")


def _refusal(member: zipfile.ZipInfo, *, inner: bool) -> str:
    """The reason to skip a file of a zip file, empty if there is none."""
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts:
        return "its path leads out of the zip"
    if path.suffix.lower() not in (_XML_NAMES if inner else (*_XML_NAMES, _ZIP_NAME)):
        return f"not XML, by its name ({path.suffix.lower() or 'none'})"
    if member.flag_bits & 1:
        return "encrypted"
    if unpacks_too_far(member.compress_size, member.file_size):
        return f"unpacks to more than {LARGEST_RATIO} times its size: a zip bomb?"
    return ""


_PROLOG = re.compile(
    rb"\s*(?:<\?.*?\?>|<!--.*?-->|(?P<doctype><!DOCTYPE(?:[^\[>\"']|\"[^\"]*\"|'[^']*')*(?:\[(?P<subset>.*?)\]\s*)?>))",
    re.DOTALL,
)

_DEFINED = re.compile(rb"<!ENTITY\s+(?:%\s*)?[^\s\"']+\s*[\"']")
_ENCODING = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)")
_ENCODINGS = re.compile(rb"utf-?8|us-ascii|ascii|iso-8859-\d+|latin1|windows-125\d", re.IGNORECASE)
_BOMB = "its document type defines entities: an entity bomb?"


def _without_doctype(content: bytes) -> bytes:
    """Remove the document type; refuse one that defines entities with a text."""
    position = 0
    while match := _PROLOG.match(content, position):
        if match["doctype"]:
            if _DEFINED.search(match["subset"] or b""):
                raise MalformedError(_BOMB)
            content = content[: match.start("doctype")] + content[match.end("doctype") :]
            position = match.start("doctype")
        else:
            position = match.end()
    if b"<!ENTITY" in content:
        raise MalformedError(_BOMB)
    return content


def parse(content: bytes) -> tuple[Element, bool]:
    """Return the root element without comments and document type, and whether & or < had to be escaped."""
    content = content.strip()
    if len(content) > LONGEST_DOCUMENT:
        raise MalformedError(f"longer than {LONGEST_DOCUMENT >> 20} MiB")
    declared = _ENCODING.match(content)
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:4]
    if wide or (declared and not _ENCODINGS.fullmatch(declared[1])):
        raise MalformedError("neither UTF-8 nor ISO 8859 nor Windows 125x")
    if not content.removeprefix(b"\xef\xbb\xbf").startswith(b"<"):
        raise MalformedError("not XML")
    content = _REFERENCE.sub(_character, _without_doctype(content).strip())
    try:
        return _element(content), False
    except (etree.XMLSyntaxError, ValueError) as error:
        escaped = _BARE_LESS.sub(b"&lt;", _BARE_AMPERSAND.sub(b"&amp;", content))
        if escaped != content:
            with contextlib.suppress(etree.XMLSyntaxError, ValueError):
                return _element(escaped), True
        # The kind of the error, without positions and names, so that equal errors are counted together.
        code = getattr(error, "code", None)
        kind = etree.ErrorTypes._getName(code) if code else None
        raise MalformedError(f"not well-formed XML ({kind or type(error).__name__})") from error


_BARE_AMPERSAND = re.compile(rb"&(?![A-Za-z]+;|#[0-9]+;|#x[0-9A-Fa-f]+;)")
_BARE_LESS = re.compile(rb"<(?=[^<>!?]*<)")


def _element(content: bytes) -> Element:
    safe = {"load_dtd": False, "no_network": True, "resolve_entities": False}
    return etree.fromstring(content, etree.XMLParser(**safe, huge_tree=True, remove_comments=True))


def first_start(path: Path) -> bytes:
    """Return the start of the first document of a file or a zip file, empty if there is none."""
    return next((one[1] for one in documents(path, _start) if not isinstance(one, Skipped)), b"")


def first_root(path: Path) -> str:
    """Return the name of the first root element of a file or a zip file, without namespace; empty if there is none."""
    return _root(first_start(path))


def first_roots(path: Path) -> Iterator[str]:
    """Yield the names of the roots of the first documents, for deliveries that start with a list of contents."""
    starts = (one[1] for one in documents(path, _start) if not isinstance(one, Skipped))
    return map(_root, islice(starts, _FIRST))


_FIRST = 3  # documents by which the kind of a file is recognised


def _root(start: bytes) -> str:
    position = 0
    while match := _PROLOG.match(start, position):
        position = match.end()
    root = re.match(rb"\s*<(?:[\w.-]+:)?([\w.-]+)", start[position:])
    return root[1].decode("ascii", "replace") if root else ""


def _start(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the start of a stream, up to an error."""
    start = bytearray()
    with contextlib.suppress(*_BROKEN_ZIP):
        while len(start) < _CHUNK and (chunk := stream.read(_SMALL_CHUNK)):
            start += chunk
    yield bytes(start)


_BLOCKS = frozenset(CODES["blocks"].split())


def text_of(element: Element | None, without: Iterable[str] = ()) -> str:
    """Return the text of an element in one line; block elements (paragraphs, cells, list items) separate words."""
    if element is None:
        return ""
    if not len(element):
        return " ".join((element.text or "").split())
    skipped = frozenset(without)
    parts: list[str] = []
    depth = 0
    for event, node in etree.iterwalk(element, events=("start", "end", "comment", "pi")):
        if event in ("comment", "pi"):
            parts.append((node.tail or "") if not depth else "")
            continue
        tag = node.tag.rpartition("}")[2]
        if event == "start":
            depth += tag in skipped
            parts += (" " if tag in _BLOCKS else "", (node.text or "") if not depth else "")
        else:
            depth -= tag in skipped
            parts += (" " if tag in _BLOCKS else "", (node.tail or "") if not depth and node is not element else "")
    return " ".join("".join(parts).split())


def text_at(element: Element, path: str) -> str:
    """Return the text of the first element at a path, empty if there is none."""
    return text_of(element.find(path))


def read_bulk(
    path: Path, make: Callable[[Element, str], Iterator[Item]], split: Split = split_before
) -> Iterator[Item]:
    """Yield the items that ``make`` gives for each document of an XML file or a zip file and its position."""

    def items() -> Iterator[tuple[str, Item]]:
        for document in documents(path, split):
            if isinstance(document, Skipped):
                yield document.place, document
                continue
            place, content = document
            try:
                root, repaired = parse(content)
                made = list(make(root, place))
            except MalformedError as error:
                text = content.decode("utf-8", "backslashreplace")
                made, repaired = [Skipped("", place, str(error), text)], False
            if repaired:
                yield place, Note("an unescaped & or < was escaped", place)
            yield from ((place, item) for item in made)

    return without_repeats(items())
