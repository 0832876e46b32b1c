"""Texts in columns against plain dictionaries: the same texts in the same order, over the borders of blocks, and no
needless copy.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from patent_mteb.patents import corpus
from patent_mteb.patents.corpus import Texts, TitledTexts, changed, release_pages, text_column
from patent_mteb.patents.views import join_sections

WORDS = ("pump", " a lens ", "", "Wärme 5 µm", "日本語の特許", "\u2003wide blank\u2003", "two\nlines", " ")
TEXTS = {f"d{number}": word * (number % 3 + 1) for number, word in enumerate(WORDS * 3)}
TITLED = {
    "plain": ("Pump", "It pumps."),
    "no title": ("", "A lens."),
    "no text": ("Pump", ""),
    "nothing": ("", ""),
    "blanks outside": (" Pump ", " It pumps. "),
    "blank title": ("  ", "It pumps."),
    "blanks inside": ("A  pump", "with  a  valve"),
}


@pytest.fixture(params=[1, 3, 10_000])
def rows_at_once(request, monkeypatch):
    monkeypatch.setattr(corpus, "ROWS_AT_ONCE", request.param)
    return request.param


def addresses(column: pa.ChunkedArray) -> list[int]:
    return [chunk.buffers()[2].address for chunk in column.chunks]


def test_texts_are_a_mapping(rows_at_once):
    texts = Texts.collected(TEXTS.items())
    assert texts == TEXTS and list(texts) == list(TEXTS) and list(texts.values()) == list(TEXTS.values())
    assert texts.column.num_chunks == -(-len(TEXTS) // rows_at_once)
    assert "missing" not in texts and texts.get("missing", "") == ""
    with pytest.raises(KeyError):
        texts["missing"]


def test_a_block_ends_by_characters(monkeypatch):
    monkeypatch.setattr(corpus, "_CHARACTERS_AT_ONCE", 10)
    assert [len(chunk) for chunk in text_column(["x" * 4] * 7 + ["x" * 100] * 2).chunks] == [3, 3, 2, 1]


def test_no_texts_are_a_column_of_texts():
    assert text_column([]).type == pa.large_string() and dict(Texts.of({})) == {}


def test_existing_columns_are_not_copied():
    texts = Texts.collected(TEXTS.items())
    assert Texts.of(texts) is texts and texts.ordered(list(TEXTS)) is texts
    backwards = texts.ordered(list(reversed(TEXTS)))
    assert list(backwards.items()) == list(reversed(TEXTS.items()))


def test_only_changed_chunks_are_copied(monkeypatch):
    monkeypatch.setattr(corpus, "ROWS_AT_ONCE", 2)
    column = text_column(["a", "b", " c ", "d", "e"])
    after = changed(column, str.strip)
    assert after.to_pylist() == ["a", "b", "c", "d", "e"]
    assert [first == second for first, second in zip(addresses(column), addresses(after), strict=True)] == [
        True,
        False,
        True,
    ]


def test_titled_texts_give_their_parts_and_their_view(rows_at_once):
    documents = TitledTexts(TITLED.items())
    assert documents == TITLED and list(documents) == list(TITLED)
    assert dict(documents.joined()) == {key: join_sections(parts) for key, parts in TITLED.items()}


def test_the_view_of_ordinary_documents_is_no_copy():
    documents = TitledTexts((f"d{number}", (f"Title {number}", "Text.")) for number in range(10))
    assert addresses(documents.joined().column) == addresses(documents.joined().column)


def test_a_large_column_is_mapped_from_a_file(monkeypatch):
    """Columns above 1 kB go to a file here; released pages are loaded again."""
    texts = [f"text {number} ä " * (number % 7) if number % 11 else None for number in range(500)]
    inside = text_column(texts)
    monkeypatch.setattr(corpus, "_BYTES_IN_MEMORY", 1_000)
    monkeypatch.setattr(corpus, "_CHARACTERS_AT_ONCE", 500)
    monkeypatch.setattr(corpus, "_READS_PER_RELEASE", 10)
    outside = text_column(texts)
    assert outside.num_chunks > 3
    for _ in range(2):
        assert outside.to_pylist() == inside.to_pylist() == texts
        release_pages()
    assert outside.nbytes - inside.nbytes < 5_000 and len(corpus._MAPPED) > 0
    held = Texts([str(number) for number in range(500)], outside)
    assert [held[str(number)] for number in (499, 12, 250)] == [texts[499], texts[12], texts[250]]
    assert changed(outside, lambda text: (text or "").upper()).to_pylist() == [(text or "").upper() for text in texts]
