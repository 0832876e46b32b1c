"""Objects out of JSON: lines of one object each, a list of objects, or one object a file; text also compressed (gzip).

A line that is no object costs only itself. A file of another form than UTF-8 is refused as a whole, and so is a list or an object that is
malformed anywhere: where it goes on cannot be known.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError, parsed_json, readable, refuse_other_forms
from patent_mteb.files import load_json, text_lines
from patent_mteb.readers.items import LeftOut

__all__ = ["NO_OBJECT", "first_object", "json_documents", "json_rows"]

NO_OBJECT = "no JSON object (cut off, malformed, or another value)"
_HEAD = 1 << 22
"""Bytes in which the first object is looked for."""


def first_object(path: Path) -> Mapping[str, Any]:
    """The first object of a file, empty if there is none; no more than the start of the file is read.

    Raises:
        DataError: the file cannot be read, or is no text.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.json_documents import first_object
        >>> _ = Path("two.json").write_text('[{"lens_id": "1"},\\n {"lens_id": "2"}]')
        >>> first_object(Path("two.json"))
        {'lens_id': '1'}
    """
    with readable(path), (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
        start = stream.read(_HEAD)
    refuse_other_forms(path, start)
    text = start.decode("utf-8-sig", "ignore").lstrip().removeprefix("[").lstrip()
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The objects of JSON lines with their numbers, from 1; of a line that is no object the line. Blank lines are passed over.

    Raises:
        DataError: the file cannot be read, or is not UTF-8.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.json_documents import json_rows
        >>> _ = Path("mine.jsonl").write_text('{"no": 1}\\n\\n{"no": 2\\n')
        >>> list(json_rows(Path("mine.jsonl")))
        [(1, {'no': 1}), (3, '{"no": 2')]
    """
    for number, line in text_lines(path):
        if not line.strip():
            continue
        try:
            found = parsed_json(line.removeprefix("\ufeff"), path, number, "mend the line")
        except DataError:
            found = None
        yield number, found if isinstance(found, dict) else line


def json_documents(path: Path) -> Iterator[tuple[str, dict[str, Any]] | LeftOut]:
    """The objects of a file of any of the three forms with their places; what is no object is left out.

    Raises:
        DataError: the file cannot be read, is not UTF-8, or is a malformed list or object.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.json_documents import json_documents
        >>> _ = Path("two.json").write_text('[{"no": 1},\\n {"no": 2}]')
        >>> list(json_documents(Path("two.json")))
        [('document 1', {'no': 1}), ('document 2', {'no': 2})]
    """
    if _is_one_document(path):
        document = load_json(path)
        rows = enumerate(document if isinstance(document, list) else [document], start=1)
        found = ((f"document {number}", one) for number, one in rows)
    else:
        found = ((f"row {number}", row) for number, row in json_rows(path))
    for place, one in found:
        yield (place, one) if isinstance(one, dict) else LeftOut("", place, NO_OBJECT, str(one))


def _is_one_document(path: Path) -> bool:
    """Whether a file is a list, or an object over several lines."""
    first = next((line.strip() for _, line in text_lines(path) if line.strip()), "")
    if first.startswith("["):
        return True
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return path.suffix == ".json"
    return False
