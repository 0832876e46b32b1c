"""The member of a JSON object that fits a field: a name, a class code, a publication number, or a text.

The names of members are in ``codes.toml``, without the role before them (``inventor_name``, ``ipc_code``). An object
with other names gives its only member whose value is of the wanted form; else nothing, and its keys are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from patent_mteb.patents.numbers import read_number
from patent_mteb.readers.values import CODES, listed, text_of, unpacked

Wanted = Literal["name", "code", "number", "cited", "text", "word"]

_MEMBERS: Mapping[str, list[str]] = {name: words.split() for name, words in CODES["members"].items()}
_ROLE = re.compile(
    r"^(?:inventor|applicant|assignee|owner|person|party|individual|ipcr?|cpc|citation|cited|citing|patent|publication"
    r"|pub|claim)+(?=.)"
)
_CLASS = re.compile(r"[A-HY]\d\d[A-Z]\s*(?:\d{1,4}\s*/\s*\d{2,6})?.*", re.DOTALL)
_CATEGORY = re.compile(r"[XYADEOPTLIR]{1,3}")  # letters of search reports (WIPO Standard ST.14)
_DEPTH = 8  # objects in objects; deeper ones are not read
_WORDS = 3  # words of a value that is a text; fewer may be a code or a label


def _plain(key: str) -> str:
    """The letters of a key without case and without the role before them; ``$`` alone stays."""
    letters = "".join(filter(str.isalnum, key.casefold()))
    return _ROLE.sub("", letters) if letters else key


def _member(plain: Mapping[str, Any], names: str) -> Any:
    """The first member of those in ``codes.toml`` that has a value, None if there is none."""
    return next((plain[name] for name in _MEMBERS[names] if plain.get(name) not in (None, "", [], {})), None)


def member_text(value: Mapping[str, Any], names: str) -> str:
    """The text of the first member with one of the names of ``codes.toml``."""
    return text_of(_member({_plain(str(key)): member for key, member in value.items()}, names))


def holds_objects(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list | tuple) and any(map(holds_objects, value)))


def as_text(value: Any) -> str:
    """Return the text of a cell; of objects that of their text members, a line each."""
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, map(as_text, value)))
    return "\n".join(texts_in(value, "text", [])) if isinstance(value, Mapping) else text_of(value)


def texts_in(value: Any, wanted: Wanted, unread: list[str], separators: Sequence[str] = ()) -> list[str]:
    """Return the texts of a cell: what fits of each object, or the members of a list.

    An object without a fitting member gives an empty text, so that parallel lists stay aligned; its keys are added to
    ``unread``.
    """
    value = unpacked(value)
    if isinstance(value, list | tuple):
        return [text for member in value for text in texts_in(member, wanted, unread, separators)]
    if not isinstance(value, Mapping):
        return listed(value, separators)
    found = list(filter(None, _of_object(value, wanted, _DEPTH)))
    if not found and value:
        unread.append(", ".join(map(str, value)))
    return found or [""]


def _of_object(value: Any, wanted: Wanted, depth: int) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for member in value if depth else ():
            yield from _of_object(member, wanted, depth - 1)
    elif isinstance(value, Mapping):
        plain = {_plain(str(key)): member for key, member in value.items()}
        read = {"name": _names, "code": _class_codes, "number": _numbers, "cited": _cited}.get(wanted)
        yield from read(value, plain, depth) if read else _texts(plain, depth, wanted)
    else:
        yield text_of(value)


def _names(value: Mapping[str, Any], plain: Mapping[str, Any], depth: int) -> Iterator[str]:
    given, family = _member(plain, "given_name"), _member(plain, "family_name")
    full = _member(plain, "name")
    if full is None and (given or family):
        yield " ".join(filter(None, map(text_of, (given, family))))
    elif full is not None:
        yield from _of_object(full, "name", depth - 1)
    elif (text := _member(plain, "text")) is not None:
        yield from _of_object(text, "name", depth - 1)


def _class_codes(value: Mapping[str, Any], plain: Mapping[str, Any], depth: int) -> Iterator[str]:
    section, cls, subclass = (text_of(plain.get(step)) for step in ("section", "class", "subclass"))
    group, subgroup = text_of(plain.get("maingroup")), text_of(plain.get("subgroup"))
    if (code := _member(plain, "code")) is not None:
        yield from _of_object(code, "code", depth - 1)
    elif section and subclass:
        yield f"{section}{cls}{subclass}" + (f"{group}/{subgroup.lstrip('/')}" if group and subgroup else "")
    else:
        fit = [one for one in map(text_of, value.values()) if _CLASS.fullmatch(one)]
        yield from fit if len(fit) == 1 else ()


def _cited(value: Mapping[str, Any], plain: Mapping[str, Any], depth: int) -> Iterator[str]:
    """The numbers of an object, with the category of a search report if it has one (``US9000001B2 [X]``)."""
    category = text_of(_member(plain, "category"))
    mark = f" [{category}]" if _CATEGORY.fullmatch(category) else ""
    yield from (f"{number}{mark}" for number in _numbers(value, plain, depth, "cited"))


def _numbers(
    value: Mapping[str, Any], plain: Mapping[str, Any], depth: int, wanted: Wanted = "number"
) -> Iterator[str]:
    number = _member(plain, "number")
    if isinstance(number, Mapping | list):
        yield from _of_object(number, wanted, depth - 1)
    elif number is not None:
        yield _whole(text_of(number), text_of(_member(plain, "office")), text_of(_member(plain, "kind")))
    elif named := [str(key) for key in value if read_number(str(key))]:
        yield from named
    elif inner := [one for one in map(unpacked, value.values()) if holds_objects(one)]:
        yield from (text for one in inner for text in _of_object(one, wanted, depth - 1)) if depth else ()
    else:
        fit = [one for one in map(text_of, value.values()) if one[:2].isalpha() and read_number(one)]
        yield from fit if len(fit) == 1 else ()


def _whole(number: str, office: str, kind: str) -> str:
    """A number with its office and kind code, where it does not contain them."""
    start = "" if number[:2].isalpha() else office
    return start + number + ("" if number.upper().endswith(kind.upper()) else kind)


def _texts(plain: Mapping[str, Any], depth: int, wanted: Wanted) -> Iterator[str]:
    text = _member(plain, "text")
    if text is None and wanted == "word":
        text = _member(plain, "name")
    if text is not None:
        yield from _of_object(text, wanted, depth - 1)
        return
    fit = [one for one in plain.values() if isinstance(one, str) and len(one.split()) >= _WORDS]
    yield from map(text_of, fit if len(fit) == 1 else ())
