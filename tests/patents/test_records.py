import dataclasses
import datetime as dt
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents import records
from patent_mteb.patents.records import (
    Citation,
    Claim,
    Description,
    ExpertSummary,
    Label,
    MachineSummaries,
    Patent,
    Relation,
    TextLanguages,
    Translation,
    arrow_schema,
    record_reader,
)

FULL = Patent(
    publication_number="US2019012345A1",
    family_id="F1",
    title="Hand orthosis — with “quotes”\nand a second line",
    abstract="An orthosis … 10 µm, H₂O.",
    claims=(
        Claim(1, "An orthosis."),
        Claim(2, "The orthosis of claim 1.", (1,)),
        Claim(4, "A kit of claims 1 and 2.", (1, 2)),
    ),
    description=Description("background", "summary", "drawings", "detailed"),
    kind="A1",
    filing_jurisdiction="JP",
    application_date=dt.date(2018, 2, 28),
    publication_date=dt.date(2019, 1, 10),
    priority_date=dt.date(1999, 12, 31),
    ipc=("A61F0002/06", "A61H 1/02"),
    cpc=("A61F2005/0155",),
    inventors=("Ito, Aiko", "Öz, C."),
    applicants=("Acme",),
    labels=(Label("conventional", "Mobility", "Orthoses"), Label("emerging", "Mobility")),
    keywords=("hand", "orthosis"),
    expert=ExpertSummary("t", "d", "n", "u", "a", "f"),
    summaries=MachineSummaries("a", "f", "c", "ad", "o"),
    application_number="US16123456",
    languages=TextLanguages("en", "en", "en", "en"),
    translations=(
        Translation(
            "de", "Handorthese", "Eine Orthese.", (Claim(1, "Orthese."), Claim(2, "Orthese nach Anspruch 1.", (1,)))
        ),
    ),
    source="by hand",
)
BARE = Patent("EP1A1", "F2")
CITATIONS = [
    Citation(
        "US2019012345A1",
        "EP1A1",
        "X",
        "examiner",
        (1, 2),
        ("page 4, lines 1-9", "claim 3"),
        "search",
        "EP",
        dt.date(2020, 2, 29),
    ),
    Citation("EP1A1", "WO3A1"),
]
RELATIONS = [Relation("US2019012345A1", "JP1999123456", "priority"), Relation("US2019012345A1", "EP1A1", "member")]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_round_trip(tmp_path, suffix):
    path = tmp_path / "below" / f"patents.{suffix}"
    records.write_records(path, Patent, [FULL, BARE])
    assert list(records.read_records(path, Patent)) == [FULL, BARE]
    assert list(records.read_records(str(path), Patent)) == [FULL, BARE]
    path = tmp_path / f"citations.{suffix}"
    records.write_records(path, Citation, CITATIONS)
    assert list(records.read_records(path, Citation)) == CITATIONS
    path = tmp_path / f"relations.{suffix}"
    records.write_records(path, Relation, RELATIONS)
    assert list(records.read_records(path, Relation)) == RELATIONS


def test_a_folder_of_parts_reads_as_one_file(tmp_path):
    folder = tmp_path / "patents"
    records.write_records(folder / "b.parquet", Patent, [FULL])
    records.write_records(folder / "a.jsonl", Patent, [BARE])
    (folder / "c.jsonl.gz").write_bytes(
        gzip.compress(json.dumps({"publication_number": "CN9A", "family_id": "F9"}).encode())
    )
    (folder / "notes.txt").write_text("not a part")
    assert list(records.read_records(folder, Patent)) == [BARE, FULL, Patent("CN9A", "F9")]
    records.write_records(folder / "d.parquet", Patent, [Patent("CN8A", "F9"), BARE])
    with pytest.raises(
        DataError, match=r"d\.parquet, row 2: publication number 'EP1A1' occurs twice \(first in row 1 of a\.jsonl\)"
    ):
        list(records.read_records(folder, Patent))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="contains no table of records"):
        list(records.read_records(tmp_path / "empty", Patent))


def test_a_packed_file_that_is_cut_off_is_named(tmp_path):
    packed = gzip.compress(
        b"".join(json.dumps({"citing": f"A{number}", "cited": "B"}).encode() + b"\n" for number in range(5000))
    )
    for name, content in (
        ("cut", packed[:-500]),
        ("flipped", packed[:200] + bytes(200) + packed[400:]),
        ("plain", b'{"citing": "A"}'),
    ):
        path = tmp_path / f"{name}.jsonl.gz"
        path.write_bytes(content)
        with pytest.raises(
            DataError, match=rf"{name}\.jsonl\.gz.*(cut off|incomplete or corrupt|cannot be read|malformed|UTF-8)"
        ):
            list(records.read_records(path, Citation))


def test_files_without_later_fields_are_read(tmp_path):
    path = tmp_path / "c.parquet"
    first = pa.Table.from_pylist([{"citing": "A", "cited": "B", "category": "X", "origin": None}])
    pq.write_table(first, path)
    assert list(records.read_records(path, Citation)) == [Citation("A", "B", "X")]


def test_tables_of_other_forms_are_sent_to_the_import(tmp_path):
    """Review of own data, §6: "row 1: not a JSON object. Remedy: mend the line" for a table of a spreadsheet."""
    for name in ("export.csv", "export.XLSX", "ipg260113.zip"):
        (tmp_path / name).write_bytes(b"Publication Number,Title")
        with pytest.raises(
            DataError,
            match=rf"{name}: records are read from .*Remedy: make records of it: patent-mteb data import .*{name}",
        ):
            list(records.read_records(tmp_path / name, Patent))


def test_relations_are_of_a_known_kind(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"number": "EP1A1", "related": "US1", "kind": "cousin"}\n')
    with pytest.raises(DataError, match=r"row 1: unknown relation 'cousin'.*member"):
        list(records.read_records(path, Relation))
    path.write_text('{"number": "EP1A1", "related": "", "kind": "member"}\n')
    with pytest.raises(DataError, match=r"row 1: number or related is empty"):
        list(records.read_records(path, Relation))


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_empty_files_give_no_records(tmp_path, suffix):
    records.write_records(tmp_path / f"p.{suffix}", Patent, [])
    records.write_records(tmp_path / f"c.{suffix}", Citation, [])
    assert list(records.read_records(tmp_path / f"p.{suffix}", Patent)) == []
    assert list(records.read_records(tmp_path / f"c.{suffix}", Citation)) == []


def test_fields_left_out_or_null_get_their_defaults(tmp_path):
    row = dict.fromkeys((field.name for field in dataclasses.fields(Patent)), None) | {
        "publication_number": "A1",
        "family_id": "F",
    }
    rows = [
        row,
        {"publication_number": "A2", "family_id": "F", "expert": {"use": None, "novelty": "new"}, "claims": []},
    ]
    path = tmp_path / "p.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    first, second = list(records.read_records(path, Patent))
    assert [getattr(first, name) for name in ("title", "claims", "description", "application_date", "keywords")] == [
        "",
        (),
        Description(),
        None,
        (),
    ]
    assert second == Patent("A2", "F", expert=ExpertSummary(novelty="new"))

    partial = pa.Table.from_pylist([{"publication_number": "A1", "family_id": "F", "title": None, "ipc": None}])
    pq.write_table(partial, tmp_path / "p.parquet")
    read = list(records.read_records(tmp_path / "p.parquet", Patent))
    assert (read[0].title, read[0].ipc) == ("", ())


GOOD = {"publication_number": "A1", "family_id": "F"}


@pytest.mark.parametrize(
    ("lines", "row", "problem"),
    [
        (
            [json.dumps(GOOD), "{not json"],
            2,
            "malformed JSON (Expecting property name enclosed in double quotes at column 2)",
        ),
        ([json.dumps(GOOD), "[1, 2]"], 2, "a JSON list where an object is expected"),
        ([json.dumps({"publication_number": "A1"})], 1, "family_id"),
        ([json.dumps(GOOD | {"publication_number": ""})], 1, "publication_number or family_id is empty"),
        ([json.dumps(GOOD | {"family_id": None})], 1, "field 'family_id' is missing"),
        ([json.dumps(GOOD), json.dumps(GOOD | {"family_id": "G"})], 2, "'A1' occurs twice (first in row 1)"),
        ([json.dumps(GOOD | {"titel": "x"})], 1, "titel"),
        ([json.dumps(GOOD | {"title": 5})], 1, "'title' holds a int where a string is expected"),
        ([json.dumps(GOOD | {"ipc": "A61F"})], 1, "'ipc' holds a str where a list of strings is expected"),
        ([json.dumps(GOOD | {"application_date": "10.01.2019"})], 1, "does not fit the schema"),
        ([json.dumps(GOOD | {"claims": [{"text": "A device."}]})], 1, "number"),
        ([json.dumps(GOOD | {"claims": [{"number": "one", "text": "A device."}]})], 1, "does not fit the schema"),
        ([json.dumps(GOOD | {"expert": {"nowelty": "x"}})], 1, "nowelty"),
        ([json.dumps(GOOD | {"expert": "x"})], 1, "does not fit the schema"),
    ],
)
def test_errors_name_file_row_and_remedy(tmp_path, lines, row, problem):
    path = tmp_path / "patents.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(records.read_records(path, Patent))
    assert caught.value.row == row
    assert caught.value.path == path
    assert caught.value.remedy
    assert problem in str(caught.value)
    assert f"patents.jsonl, row {row}: " in str(caught.value)


def test_missing_and_unreadable_files(tmp_path):
    for kind in (Patent, Citation):
        with pytest.raises(DataError, match=r"none\.jsonl: the file is missing"):
            list(records.read_records(tmp_path / "none.jsonl", kind))
        broken = tmp_path / "broken.parquet"
        broken.write_bytes(b"this is no parquet file")
        with pytest.raises(DataError, match="not a readable parquet file"):
            list(records.read_records(broken, kind))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"publication_number": "A\xff", "family_id": "F"}', Patent),
        (json.dumps(GOOD | {"claims": [{"number": 1, "text": None}]}).encode(), Patent),
        (json.dumps(GOOD | {"claims": [{"number": 2, "text": "a", "depends_on": "12"}]}).encode(), Patent),
        (json.dumps(GOOD | {"translations": [None]}).encode(), Patent),
        (b'{"citing": "A"}', Citation),
        (b'{"citing": "", "cited": "B"}', Citation),
        (b'{"citing": "A", "cited": "B", "claims": [1, true]}', Citation),
        (b'{"citing": "A", "cited": "B", "claims": [1.0]}', Citation),
        (b'{"citing": "A", "cited": "B", "claims": [4294967296]}', Citation),
        (b'{"citing": "A", "cited": "B", "date": "2019-01"}', Citation),
    ],
)
def test_wrong_types_deep_inside_a_record(tmp_path, line, kind):
    path = tmp_path / "records.jsonl"
    path.write_bytes(line)
    with pytest.raises(DataError, match=r"row 1"):
        list(records.read_records(path, kind))


def test_rows_count_the_lines_of_the_file(tmp_path):
    path = tmp_path / "patents.jsonl"
    path.write_text(json.dumps(GOOD) + "\n\n\n" + json.dumps(GOOD), encoding="utf-8")
    with pytest.raises(DataError, match=r"row 4: .*first in row 1"):
        list(records.read_records(path, Patent))


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
        ({"key": "a", "number": 1, "main": {"name": "x", "colour": 1}}, "unknown field 'main.colour'"),
        ({"key": "a", "number": 1, "main": "x"}, "field 'main' holds a str where an object is expected"),
    ],
)
def test_invalid_fields_are_named(row, problem):
    with pytest.raises(ValueError, match=problem):
        record_reader(Thing)(row)
