"""Answers of the EPO's open patent services in JSON, as the same elements as in XML.

OPS writes attributes as members with ``@``, text as ``$``, and elements of one name as a list, so the order of elements
with different names is lost. Where it matters, it is restored: each category of a citation is before its claims.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from lxml import etree

from patent_mteb.readers.answers import holds, read_json_documents
from patent_mteb.readers.items import Item
from patent_mteb.readers.xml import Element

_ANSWER = "world-patent-data"
_DOCUMENTS = {"exchange-documents", "exchange-document"}
_NAME = re.compile(r"(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def _is_answer(row: Mapping[str, Any]) -> bool:
    return any(_local(name) == _ANSWER for name in row) or bool(_DOCUMENTS & row.keys()) or _is_result(row)


def _is_result(row: Mapping[str, Any]) -> bool:
    """Whether an object is a publication that a search found, without its answer around it."""
    return row.get("@system") == "ops.epo.org" and "document-id" in row


def is_ops_json(path: Path) -> bool:
    return holds(path, _is_answer)


def read_ops_json(path: Path, documents: Callable[[Element, str], Iterator[Item]]) -> Iterator[Item]:
    """Yield the items that ``documents`` gives for the root element of each answer and its position."""

    def read(row: Mapping[str, Any], place: str) -> Iterator[Item]:
        answer = {"search-result": {"publication-reference": row}} if _is_result(row) else row
        return documents(element_of("answer", answer), place)

    return read_json_documents(path, read, _is_answer)


def _local(name: str) -> str:
    """The name without its prefix, empty if it cannot be the name of an element."""
    match = _NAME.fullmatch(name)
    return match[1] if match else ""


def element_of(name: str, value: Any) -> Element:
    element = etree.Element(name)
    if not isinstance(value, dict):
        element.text = _text(value)
        return element
    for key, member in value.items():
        if key == "$":
            element.text = _text(member)
        elif key.startswith("@") and not isinstance(member, dict | list) and (attribute := _local(key[1:])):
            element.set(attribute, _text(member))
    element.extend(element_of(child, member) for child, member in _children(value))
    return element


def _children(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    lists = {
        local: member if isinstance(member, list) else [member]
        for name, member in value.items()
        if name[:1] not in "@$" and (local := _local(name))
    }
    categories, claims = lists.get("category", []), lists.get("rel-claims", [])
    if len(categories) == len(claims) > 1:
        pairs = ((("category", one), ("rel-claims", other)) for one, other in zip(categories, claims, strict=True))
        yield from chain.from_iterable(pairs)
        del lists["category"], lists["rel-claims"]
    for name, members in lists.items():
        yield from ((name, member) for member in members)


def _text(value: Any) -> str:
    return "" if value is None else _NOT_IN_XML.sub(" ", str(value))
