import dataclasses
import datetime as dt

import pyarrow as pa
import pytest

from patent_mteb.patents.records import arrow_schema, record_reader


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    sizes: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Thing:
    key: str
    number: int
    day: dt.date | None = None
    parts: tuple[Part, ...] = ()
    main: Part = dataclasses.field(default_factory=lambda: Part(""))


def test_the_schema_is_that_of_the_annotations():
    part = pa.struct([("name", pa.string()), ("sizes", pa.list_(pa.int32()))])
    expected = pa.schema(
        [
            pa.field("key", pa.string(), nullable=False),
            pa.field("number", pa.int32(), nullable=False),
            ("day", pa.date32()),
            ("parts", pa.list_(part)),
            ("main", part),
        ]
    )
    schema = arrow_schema(Thing, 7)
    assert schema.equals(expected)
    assert schema.metadata == {b"patent_mteb.records": b"7"}


def test_what_arrow_writes_is_read_back():
    things = [Thing("a", 1, dt.date(2020, 2, 29), (Part("x", (1, 2)), Part("y")), Part("z", (3,))), Thing("b", -5)]
    table = pa.Table.from_pylist([dataclasses.asdict(thing) for thing in things], schema=arrow_schema(Thing, 1))
    assert [record_reader(Thing)(row) for row in table.to_pylist()] == things


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"number": 1}, "field 'key' is missing"),
        ({"key": None, "number": 1}, "field 'key' is missing"),
        ({"key": "a", "number": "1"}, "field 'number' holds a str where an integer is expected"),
        ({"key": "a", "number": 2**31}, "field 'number' holds the integer 2147483648"),
        ({"key": "a", "number": 1, "day": 20190101}, "field 'day' holds a int where a date is expected"),
        ({"key": "a", "number": 1, "day": "2019-02-30"}, "field 'day': "),
        (
            {"key": "a", "number": 1, "parts": {"name": "x"}},
            "field 'parts' holds a dict where a list of objects is expected",
        ),
        ({"key": "a", "number": 1, "parts": [{"sizes": [1]}]}, "field 'parts.name' is missing"),
        (
            {"key": "a", "number": 1, "parts": [{"name": "x", "sizes": [None]}]},
            "field 'parts.sizes' holds a null in its list",
        ),
        ({"key": "a", "number": 1, "main": {"name": "x", "colour": 1}}, "there is no field 'main.colour'"),
        ({"key": "a", "number": 1, "main": "x"}, "field 'main' holds a str where an object is expected"),
    ],
)
def test_what_does_not_fit_is_named(row, problem):
    with pytest.raises(ValueError, match=problem):
        record_reader(Thing)(row)
