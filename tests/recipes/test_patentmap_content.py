"""The sections of PatentMap's patents as models read them, and files that cannot be used."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from patent_mteb.errors import DataError
from patent_mteb.recipes.patentmap import Content, cut, read_content, unescaped


def content_of(row) -> Content:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        path.write_text(json.dumps({"dnum": "1", "Content": row}) + "\n\n")
        return read_content(path)["1"]


def test_sections_are_cut_to_500_pieces():
    row = {
        "title": "T " * 600,
        "pa01": "a " * 600,
        "c-en-0002": "d e",
        "c-en-0001": "b c\n" * 249 + "x",
        "p0010": "last",
        "p0002": "g " * 498,
        "p0001": "f",
        "other": "no",
        "page": "no",
    }
    content = content_of(row)
    assert content.paper_section("abstract", True) == " ".join(["T"] * 600) + " [SEP] [abstract] " + " ".join(
        ["a"] * 500
    )
    assert content.paper_section("claim", False) == "b c\n" * 249 + "x\nd e"  # 251 pieces: a line break parts none
    assert content.paper_section("invention", True) == "[invention] f " + " ".join(
        ["g"] * 498
    )  # the blank after the last g is a piece
    assert content.section("claim", False) == " ".join(["b c"] * 249 + ["x d"])
    assert content.section("invention", False) == "f " + " ".join(["g"] * 498)


def test_missing_sections():
    content = content_of({"title": "T"})
    assert content.section("abstract", True) == "T" and content.section("claim", True) == ""
    assert (
        content.paper_section("abstract", True) == "T [SEP] [abstract]"
        and content.paper_section("abstract", False) == "T [SEP]"
    )
    assert content.paper_section("claim", True) == "[claim]" and content.paper_section("invention", False) == ""
    assert content_of({"pa01": "a", "title": None}).section("abstract", False) == "a"


def test_the_two_readings_agree_where_nothing_is_missing():
    content = content_of({"title": "T", "pa01": "a", "c-en-0001": "b", "p0001": "c"})
    for name in ("abstract", "claim", "invention"):
        assert content.section(name, True) == content.paper_section(name, True)
        assert content.section(name, False) == content.paper_section(name, False)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("plain é ≤", "plain é ≤"),
        (r"and\/or \"so\"", 'and/or "so"'),
        (r"a\nb\tc \u0022d\u0022", 'a\nb\tc "d"'),
        (r"caf\xc3\xa9", "café"),
        (r"é \u2264 \x4 \d", "é 2264  "),  # beyond Latin-1: cannot be resolved, so what escapes nothing goes
    ],
)
def test_escapes(text, read):
    assert unescaped(text) == read


def test_markup_remnants_go():
    assert cut("a --> b -->") == "a b"
    assert content_of({"title": "T", "c-en-0001": "a --> b"}).section("claim", False) == "a b"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"row 1: malformed JSON"),
        ('{"Content": {}}', "row 1: .*'dnum' is missing"),
        ('{"dnum": 7.5, "Content": {}}', "row 1: .*dnum is neither a text nor a number"),
        ('{"dnum": "7", "Content": {"pa01": ["x"]}}', "row 1: .*'pa01' is not a text"),
        (
            '{"dnum": "7", "Content": {}}\n{"dnum": "7", "Content": {"title": "x"}}',
            r"row 2: '7' occurs twice \(first in row 1\)",
        ),
        ("", "the file is empty"),
    ],
)
def test_content_that_cannot_be_used(tmp_path, line, message):
    path = tmp_path / "documents.json"
    path.write_text(line + "\n")
    with pytest.raises(DataError, match=message):
        read_content(path)
