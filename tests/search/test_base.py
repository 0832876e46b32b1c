"""Texts of a corpus read piece by piece against row by row, in every form that a data set can have."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from datasets import Dataset

from patent_mteb.patents.corpus import text_dataset
from patent_mteb.search import base, dense
from patent_mteb.search.base import document_text, document_texts, span_end, text_bytes
from patent_mteb.search.cache import content_of

ROWS = [
    {"id": f"d{number}", "title": title, "text": text}
    for number, (title, text) in enumerate(
        [("Pump", "It pumps."), ("", " A lens. "), (None, "日本語"), ("Title", ""), ("  ", "x"), ("Wärme", "5 µm\n")]
        * 3
    )
]


def sets(rows):
    whole = Dataset.from_list(rows)
    yield "as it is", whole, rows
    yield "64-bit offsets", text_dataset({name: [row[name] for row in rows] for name in rows[0]}), rows
    yield "some rows", whole.select([4, 1, 7, 2]), [rows[number] for number in (4, 1, 7, 2)]
    yield "no rows", whole.select([]), []


@pytest.mark.parametrize("columns", [("id", "text"), ("id", "title", "text")])
@pytest.mark.parametrize("at_once", [2, 1000])
def test_texts_sizes_and_tables_are_those_of_the_rows(columns, at_once, monkeypatch):
    monkeypatch.setattr(base, "TEXTS_AT_ONCE", at_once)
    for what, data, rows in sets([{name: row[name] for name in columns} for row in ROWS]):
        texts = [document_text(row) for row in rows]
        assert list(document_texts(data)) == texts, what
        assert text_bytes(data).tolist() == [len(row["text"].encode()) for row in rows], what
        table = dense._corpus_table(data)
        assert (table["id"][:], table["text"][:], table["body"][:]) == (
            [r["id"] for r in rows],
            texts,
            [r["text"] for r in rows],
        ), what
        assert ("title" in table.column_names) == ("title" in columns and None not in [row["title"] for row in rows]), (
            what
        )


def test_texts_that_are_read_as_they_are_are_not_copied():
    data = text_dataset({"id": ["a", "b"], "text": ["one", "two"]})
    address = data.data.column("text").chunk(0).buffers()[2].address
    table = dense._corpus_table(data.select(range(2))).data
    assert {table.column(name).chunk(0).buffers()[2].address for name in ("text", "body")} == {address}


def test_conversations_have_no_size():
    assert text_bytes(Dataset.from_dict({"text": [["a", "b"], ["c"]]})).tolist() == [0, 0]


def test_spans_cover_everything_within_their_limits():
    sizes = np.random.default_rng(1).integers(0, 50, 200)
    end, spans = 0, []
    while end < len(sizes):
        start, end = end, span_end(sizes, end, 10, 100)
        spans.append(sizes[start:end])
    assert sum(map(len, spans)) == 200 and all(
        len(span) <= 10 and (span.sum() <= 100 or len(span) == 1) for span in spans
    )


def test_the_hash_of_a_corpus_does_not_depend_on_chunks():
    texts = [f"text {number}" for number in range(50)]
    ids = [str(number) for number in range(50)]
    pieces = pa.chunked_array([pa.array(texts[:7], pa.large_string()), pa.array(texts[7:], pa.large_string())])
    assert content_of(text_dataset({"id": ids, "text": texts})) == content_of(text_dataset({"id": ids, "text": pieces}))
