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
    write_beir(
        tmp_path,
        CORPUS,
        QUERIES,
        QRELS,
        pa.table({"_id": ["d1"], "family_id": ["F"]}),
        pa.table({"_id": ["d1"], "TA": ["x"]}),
    )
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


def edit(folder, name, old, new, encoding="utf-8"):
    path = folder / name
    path.write_bytes(path.read_text("utf-8").replace(old, new).encode(encoding))


BROKEN = {
    "missing qrels": (lambda f: (f / "qrels/test.tsv").unlink(), r"qrels/test.tsv: the file is missing"),
    "missing corpus": (lambda f: (f / "corpus.jsonl").unlink(), r"corpus.jsonl: the file is missing"),
    "duplicate document": (
        lambda f: edit(f, "corpus.jsonl", '"d2"', '"d1"'),
        r"corpus.jsonl, row 2: document id 'd1' occurs twice",
    ),
    "duplicate query": (
        lambda f: edit(f, "queries.jsonl", '"d2"', '"q1"'),
        r"queries.jsonl, row 2: query id 'q1' occurs twice",
    ),
    "unknown document": (
        lambda f: edit(f, "qrels/test.tsv", "q1\td2", "q1\td9"),
        r"test.tsv, row 3: judgement of the unknown document 'd9'",
    ),
    "unknown query": (
        lambda f: edit(f, "qrels/test.tsv", "q1\td1", "q9\td1"),
        r"test.tsv, row 2: judgement for the unknown query 'q9'",
    ),
    "judged twice": (
        lambda f: edit(f, "qrels/test.tsv", "q1\td2\t0", "q1\td1\t0"),
        r"test.tsv, row 3: the pair 'q1', 'd1' occurs twice \(first in row 2\)",
    ),
    "empty corpus": (lambda f: (f / "corpus.jsonl").write_text(""), r"corpus.jsonl: the corpus is empty"),
    "no queries": (lambda f: (f / "queries.jsonl").write_text("\n"), r"queries.jsonl: there are no queries"),
    "nothing relevant": (
        lambda f: (f / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t0\n"),
        r"no judgement is positive",
    ),
    "malformed JSON": (
        lambda f: edit(f, "corpus.jsonl", '{"_id": "d2"', '{"_id": "d2'),
        r"corpus.jsonl, row 2: malformed JSON",
    ),
    "not an object": (lambda f: (f / "queries.jsonl").write_text('["q1"]\n'), r"queries.jsonl, row 1: a JSON list"),
    "missing field": (
        lambda f: edit(f, "queries.jsonl", '"text"', '"txt"'),
        r"queries.jsonl, row 1: field 'text' is missing",
    ),
    "wrong type": (
        lambda f: edit(f, "corpus.jsonl", '"d1"', "17"),
        r"corpus.jsonl, row 1: field '_id' is a int \(17\), not a string",
    ),
    "not UTF-8": (
        lambda f: edit(f, "corpus.jsonl", "x", "x", "latin-1"),
        r"corpus.jsonl, row 2: not valid UTF-8 \(byte 0xb5",
    ),
    "no header": (lambda f: edit(f, "qrels/test.tsv", "query-id", "qid"), r"test.tsv, row 1: the header is"),
    "two columns": (
        lambda f: edit(f, "qrels/test.tsv", "q1\td1\t1", "q1\td1"),
        r"test.tsv, row 2: 2 columns instead of 3",
    ),
    "score no integer": (
        lambda f: edit(f, "qrels/test.tsv", "q1\td1\t1", "q1\td1\tyes"),
        r"test.tsv, row 2: the score 'yes' is not an integer",
    ),
    "metadata twice": (
        lambda f: pq.write_table(pa.table({"_id": ["d1", "d1"]}), f / "metadata.parquet"),
        r"metadata.parquet, row 2: _id 'd1' occurs twice",
    ),
    "metadata type": (
        lambda f: pq.write_table(pa.table({"_id": [1]}), f / "metadata.parquet"),
        r"metadata.parquet: column '_id' has type int64, expected string",
    ),
    "views damaged": (
        lambda f: (f / "views.parquet").write_bytes(b"PAR1 nothing"),
        r"views.parquet: not a readable parquet file",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_cannot_be_used_is_named(folder, kind):
    breaks, message = BROKEN[kind]
    breaks(folder)
    with pytest.raises(DataError, match=message) as caught:
        read_beir(folder)
    assert caught.value.remedy


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
    assert not list(tmp_path.iterdir())


def test_read_parquet_names_a_missing_column(tmp_path):
    pq.write_table(pa.table({"a": [1], "b": [["x"]]}), tmp_path / "t.parquet")
    read_parquet(tmp_path / "t.parquet", {"a": pa.int32(), "b": pa.list_(pa.string())})
    with pytest.raises(DataError, match="column 'c' is missing"):
        read_parquet(tmp_path / "t.parquet", ["c"])
    with pytest.raises(DataError, match=r"column 'b' has type list<.*, expected list<item: int64>"):
        read_parquet(tmp_path / "t.parquet", {"b": pa.list_(pa.int64())})
