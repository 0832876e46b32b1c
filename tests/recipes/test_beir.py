"""The local layout: round trip, BEIR's own loader, and one clear error for everything that cannot be used."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from patent_mteb.errors import DataError
from patent_mteb.files import read_parquet
from patent_mteb.recipes.beir import read_beir, view_rows, write_beir, write_qrels

CORPUS = {"d1": ("Walking frame", "A frame with a brake."), "d2": ("", "An untitled hearing aid, 5 µm.")}
QUERIES = {"q1": "brake for a frame", "d2": "hearing"}
QRELS = {"q1": {"d1": 1, "d2": 0}, "d2": {"d1": 2}}


@pytest.fixture
def folder(tmp_path):
    write_beir(tmp_path, CORPUS, QUERIES, QRELS, pa.table({"_id": ["d1"], "family_id": ["F"]}))
    pq.write_table(pa.table({"_id": ["d1"], "TA": ["x"]}), tmp_path / "views.parquet")
    return tmp_path


def test_round_trip(folder):
    tables = read_beir(folder)
    assert (tables.corpus, tables.queries, tables.qrels) == (CORPUS, QUERIES, QRELS)
    assert tables.metadata.to_pylist() == [{"_id": "d1", "family_id": "F"}]
    assert tables.views == ("TA",) and list(view_rows(folder, "TA")) == [("d1", "x")]
    assert tables.counts == {"judgements with a score above 1 (gains of graded relevance)": 1}


def test_beir_reads_what_we_write(folder):
    from beir.datasets.data_loader import GenericDataLoader

    corpus, queries, qrels = GenericDataLoader(str(folder)).load(split="test")
    assert {key: (row["title"], row["text"]) for key, row in corpus.items()} == CORPUS
    assert queries == QUERIES
    assert qrels == QRELS


def edit(folder, name, old, new):
    path = folder / name
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


CORPUS_FILE, QUERY_FILE, QRELS_FILE = "corpus.jsonl", "queries.jsonl", "qrels/test.tsv"


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (CORPUS_FILE, '"d2"', '"d1"', "row 2: document id 'd1' occurs twice"),
        (QUERY_FILE, '"d2"', '"q1"', "row 2: query id 'q1' occurs twice"),
        (QRELS_FILE, "q1\td2", "q1\td9", "row 3: judgement of the unknown document 'd9'"),
        (QRELS_FILE, "q1\td1", "q9\td1", "row 2: judgement for the unknown query 'q9'"),
        (QRELS_FILE, "q1\td2\t0", "q1\td1\t0", r"row 3: the pair 'q1', 'd1' occurs twice \(first in row 2\)"),
        (CORPUS_FILE, '{"_id": "d2"', '{"_id": "d2', "row 2: malformed JSON"),
        (QUERY_FILE, '"text"', '"txt"', "row 1: field 'text' is missing"),
        (CORPUS_FILE, '"d1"', "17", r"row 1: field '_id' is a int \(17\), not a string"),
        (QRELS_FILE, "query-id", "qid", "row 1: the header is"),
        (QRELS_FILE, "q1\td1\t1", "q1\td1", "row 2: 2 columns instead of 3"),
        (QRELS_FILE, "q1\td1\t1", "q1\td1\tyes", "row 2: the score 'yes' is not an integer"),
        (QRELS_FILE, "q1\td1\t1", "q1\td1\t1_0", "row 2: the score '1_0' is not an integer"),
        (QRELS_FILE, "q1\td1\t1", "q1\td1\t\u0661", "row 2: the score '\u0661' is not an integer"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(folder, name, old, new, message):
    edit(folder, name, old, new)
    with pytest.raises(DataError, match=f"{name.rpartition('/')[2]}, {message}") as caught:
        read_beir(folder)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (QRELS_FILE, None, "the file is missing"),
        (CORPUS_FILE, None, "the file is missing"),
        (CORPUS_FILE, b"", "the corpus is empty"),
        (QUERY_FILE, b"\n", "there are no queries"),
        (QUERY_FILE, b'["q1"]\n', "row 1: a JSON list"),
        (CORPUS_FILE, b'{"_id": "d1", "text": "\xb5"}', r"row 1: not valid UTF-8 \(byte 0xb5"),
        (QRELS_FILE, b"query-id\tcorpus-id\tscore\nq1\td1\t0\n", "no judgement is positive"),
        ("metadata.parquet", {"_id": ["d1", "d1"]}, "row 2: _id 'd1' occurs twice"),
        ("metadata.parquet", {"_id": [1]}, "column '_id' has type int64, expected string"),
        ("views.parquet", b"PAR1 nothing", "not a readable parquet file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(folder, name, content, message):
    (folder / name).unlink(missing_ok=True)
    if isinstance(content, bytes):
        (folder / name).write_bytes(content)
    elif content:
        pq.write_table(pa.table(content), folder / name)
    with pytest.raises(DataError, match=message) as caught:
        read_beir(folder)
    assert caught.value.remedy and name.rpartition("/")[2] in str(caught.value)


def test_what_is_odd_is_counted_and_the_rest_goes_on(folder):
    edit(folder, "corpus.jsonl", "A frame with a brake.", "")
    edit(folder, "corpus.jsonl", "Walking frame", "")
    with (folder / "qrels/test.tsv").open("a") as out:
        out.write("d2\td2\t1\n")
    with (folder / "queries.jsonl").open("a") as out:
        out.write(json.dumps({"_id": "q3", "text": " "}) + "\n")
    pq.write_table(pa.table({"_id": ["d1", "zz"]}), folder / "metadata.parquet")
    tables = read_beir(folder)
    assert tables.counts == {
        "judgements with a score above 1 (gains of graded relevance)": 1,
        "judgements of a document for itself (ignored)": 1,
        "documents with an empty text": 1,
        "queries with an empty text": 1,
        "queries without a positive judgement (not scored)": 1,
        "rows of metadata.parquet for unknown ids": 1,
    }
    assert tables.qrels == QRELS


def test_ids_that_a_qrels_file_cannot_carry_are_refused(tmp_path):
    with pytest.raises(DataError, match="tab or a line break"):
        write_beir(tmp_path, {"a\tb": ("", "x")}, QUERIES, {})
    with pytest.raises(DataError, match="tab or a line break"):
        write_beir(tmp_path, CORPUS, QUERIES, {"q1": {"d\r1": 1}})
    with pytest.raises(DataError, match="tab or a line break"):
        write_qrels(tmp_path / "test.tsv", {"q\n1": {"d1": 1}})
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_read_parquet_names_a_missing_column(tmp_path):
    pq.write_table(pa.table({"a": [1], "b": [["x"]]}), tmp_path / "t.parquet")
    read_parquet(tmp_path / "t.parquet", {"a": pa.int32(), "b": pa.list_(pa.string())})
    with pytest.raises(DataError, match="column 'c' is missing"):
        read_parquet(tmp_path / "t.parquet", ["c"])
    with pytest.raises(DataError, match=r"column 'b' has type list<.*, expected list<item: int64>"):
        read_parquet(tmp_path / "t.parquet", {"b": pa.list_(pa.int64())})
