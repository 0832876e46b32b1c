"""Record types and their tables: the Arrow schema of a dataclass, and its objects from rows, both read off its annotations.

=====================  ===================  ==================================================================
annotation             Arrow                read from
=====================  ===================  ==================================================================
``str``                string               a string; a null is ``""``
``int``                int32                an integer of 32 bits
``datetime.date | None``  date32            a date, ISO 8601 text, a null or ``""``
``tuple[X, ...]``      list of X            a list without nulls; a null is ``()``
a dataclass            struct of its fields  an object without further fields; a null is the dataclass of its defaults
=====================  ===================  ==================================================================
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import pyarrow as pa

__all__ = ["arrow_schema", "record_reader"]

_DATE = dt.date | None
_INT32 = range(-(2**31), 2**31)

_Reader = Callable[[Any, str], Any]


def arrow_schema(record: type, version: int) -> pa.Schema:
    """The schema of a table of such records, which says its version; fields without a default may not be null.

    Example:
        >>> from patent_mteb.patents.records import Claim
        >>> from patent_mteb.patents.schema import arrow_schema
        >>> print(arrow_schema(Claim, 1).field("depends_on").type)
        list<item: int32>
    """
    hints = get_type_hints(record)
    fields = [pa.field(one.name, _arrow(hints[one.name]), nullable=not _required(one)) for one in dataclasses.fields(record)]
    return pa.schema(fields, {"patent_mteb.records": str(version)})


def _arrow(annotation: Any) -> pa.DataType:
    if get_origin(annotation) is tuple:
        return pa.list_(_arrow(get_args(annotation)[0]))
    if dataclasses.is_dataclass(annotation):
        hints = get_type_hints(annotation)
        return pa.struct([(one.name, _arrow(hints[one.name])) for one in dataclasses.fields(annotation)])
    return {str: pa.string(), int: pa.int32(), _DATE: pa.date32()}[annotation]


def _required(one: dataclasses.Field[Any]) -> bool:
    return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING


def record_reader(record: type) -> Callable[[dict[str, Any]], Any]:
    """A function that makes a record of a row, and raises ValueError at what does not fit; names the field.

    Example:
        >>> from patent_mteb.patents.records import Citation
        >>> from patent_mteb.patents.schema import record_reader
        >>> record_reader(Citation)({"citing": "US1A", "cited": "EP2B", "category": None}).category
        ''
    """
    read = _reader(record)
    return lambda row: read(row, "")


@cache
def _reader(annotation: Any) -> _Reader:
    if get_origin(annotation) is tuple:
        return _list(get_args(annotation)[0])
    if dataclasses.is_dataclass(annotation):
        return _object(annotation)
    return {str: _string, int: _integer, _DATE: _date}[annotation]


def _wrong(name: str, value: Any, expected: str) -> ValueError:
    return ValueError(f"field '{name}' holds a {type(value).__name__} where {expected} is expected")


def _string(value: Any, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(name, value, "a string")
    return value


def _integer(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, value, "an integer")
    if value not in _INT32:
        raise ValueError(f"field '{name}' holds the integer {value}, which needs more than 32 bits")
    return value


def _date(value: Any, name: str) -> dt.date | None:
    if value is None or value == "":
        return None
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, str):
        try:
            return dt.date.fromisoformat(value)
        except ValueError as error:
            raise ValueError(f"field '{name}': {error}") from error
    if not isinstance(value, dt.date):
        raise _wrong(name, value, "a date")
    return value


def _list(annotation: Any) -> _Reader:
    read = _reader(annotation)
    expected = {str: "a list of strings", int: "a list of integers"}.get(annotation, "a list of objects")

    def items(value: Any, name: str) -> tuple[Any, ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            raise _wrong(name, value, expected)
        if None in value:
            raise ValueError(f"field '{name}' holds a null in its list")
        return tuple(read(item, name) for item in value)

    return items


def _object(record: Any) -> _Reader:
    hints = get_type_hints(record)
    fields = dataclasses.fields(record)
    readers = {one.name: _reader(hints[one.name]) for one in fields}
    required = [one.name for one in fields if _required(one)]

    def build(value: Any, name: str) -> Any:
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise _wrong(name, value, "an object")
        path = f"{name}." if name else ""
        if strange := next((key for key in value if key not in readers), None):
            raise ValueError(f"there is no field '{path}{strange}'")
        if missing := next((key for key in required if value.get(key) is None), None):
            raise ValueError(f"field '{path}{missing}' is missing")
        return record(**{key: readers[key](item, f"{path}{key}") for key, item in value.items() if item is not None})

    return build
