"""Leak indexes give the verdicts of the test sets they were made of, and contain none of their texts."""

from __future__ import annotations

import decimal
import json
import pickle
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from patent_mteb.cli import main
from patent_mteb.data.loading import sample_root
from patent_mteb.errors import DataError
from patent_mteb.files import write_jsonl
from patent_mteb.recipes.beir import read_beir
from patent_mteb.training.contamination import read_indexes, write_indexes
from patent_mteb.training.leaks import SKETCH, Item, MeasuredSet, Shingled, ShingleIndex, examined, find_leaks
from patent_mteb.training.training_data import TrainingData, _read
from tests.helpers.training_forms import FORMS, OTHER

CASES = [json.loads(line) for line in Path(__file__).with_name("leak_cases.jsonl").read_text("utf-8").splitlines()]
WORDS = [f"word{a}{b}{c}" for a in "abcdefghij" for b in "abcdefghij" for c in "abcdefghij"]


def stored(folder, test, name="test"):
    write_indexes(folder, [MeasuredSet(name, lambda: iter(test))])
    (found,) = read_indexes(folder)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_labelled_cases_by_a_stored_index(case, tmp_path):
    test, train = (Item(**{"family": "", "text": "", **case[side]}) for side in ("test", "train"))
    expected, _ = find_leaks(examined([train]), MeasuredSet("test", lambda: iter([test])), {})
    found, size = find_leaks(examined([train]), stored(tmp_path, [test]), {})
    assert size == 1 and bool(found) == bool(expected) == (case["leak"] and not case.get("out_of_reach"))
    assert [one.way for one in found.values()] == [one.way for one in expected.values()]


def test_a_sketch_is_the_shingles_below_its_bound_and_estimates_the_share():
    """Against Python sets: 2,000 words, of which a query has some."""
    rng = random.Random(0)
    long = " ".join(rng.choices(WORDS, k=2_000))
    whole = Shingled.of(("", "", long))
    keys, halvings = set(whole.keys.tolist()), 0
    while len(keys) >> halvings >= 2 * SKETCH:
        halvings += 1
    table = ShingleIndex([("one", "F", whole)]).sketched()
    assert table["halvings"].to_pylist() == [[0, 0, halvings]] and halvings == 4
    below = sorted(key for key in keys if key < 2**32 >> halvings)
    assert table["keys"].to_pylist() == [below] and SKETCH / 2 < len(below) < 3 * SKETCH
    index = ShingleIndex.of_sketches(table, ["one"], np.zeros(0, np.uint32))
    for share in (0.3, 0.75, 0.9, 1.0):
        part = (
            " ".join(long.split()[: int(2_000 * share)])
            + " "
            + " ".join(rng.choices(WORDS, k=int(2_000 * (1 - share))))
        )
        asked = Shingled.of(("", "", part))
        mine = {key for key in asked.keys.tolist() if key < 2**32 >> halvings}
        shared = len(mine & set(below)) / min(len(mine), len(below))
        match = index.match(asked)
        assert (match is not None) == (share > 0.5)
        assert match is None or (match.share == pytest.approx(shared) and abs(shared - share) < 0.15)


def test_an_index_holds_hashes_only_and_finds_each_way(tmp_path):
    rng = random.Random(1)
    texts = [" ".join(rng.choices(WORDS, k=300)) for _ in range(5)]
    test = [Item(f"US2019012345{row}A1", f"FAMILY{row}", text) for row, text in enumerate(texts)]
    found = stored(tmp_path, test, "WIPO-AT: a set")
    content = found.path.read_bytes()
    assert found.path.name == "WIPO-AT_a_set.parquet" and found.name == "WIPO-AT: a set"
    assert b"word" not in content and b"FAMILY" not in content and b"US2019" not in content
    train = [
        Item("US 2019/0123450 A1", "", ""),
        Item("DE999A1", "FAMILY1", ""),
        Item("US20190123452A9", "", ""),
        Item("row 4", "", texts[3]),
        Item("row 5", "", " ".join(rng.choices(WORDS, k=300))),
    ]
    leaks, size = find_leaks(examined(train), found, {})
    assert size == 5
    assert [(key, one.way) for key, one in leaks.items()] == [
        ("US 2019/0123450 A1", "number"),
        ("DE999A1", "family"),
        ("US20190123452A9", "application"),
        ("row 4", "text"),
    ]
    by_memory, _ = find_leaks(examined(train), MeasuredSet("test", lambda: iter(test)), {})
    assert {key: one.way for key, one in by_memory.items()} == {key: one.way for key, one in leaks.items()}


def test_tables_of_texts_and_what_has_none(tmp_path):
    text = "A centrifugal pump comprises a housing and an impeller on a shaft."
    write_jsonl(tmp_path / "texts.jsonl", [{"doc_id": "EP1A1", "query": "pump", "positive": text, "score": 1.5}])
    items = list(TrainingData(tmp_path / "texts.jsonl").items())
    assert [(one.id, one.text) for one in items] == [("EP1A1", ""), ("texts.jsonl, row 1, positive", text)]
    pq.write_table(pa.table({"positive": [text, None], "label": [1, 2]}), tmp_path / "more.parquet")
    (tmp_path / "README.md").write_text(text)
    data = TrainingData(tmp_path)
    assert [one.text for one in data.items()] == [text, "", text]  # in the order of the files' names
    assert data.rows == {"more.parquet": 2, "texts.jsonl": 1} and data.unread == "files not read: 1 .md"
    assert data.columns["query"] == {"short": 1} and data.columns["positive"] == {"texts": 2}
    write_jsonl(tmp_path / "none.jsonl", [{"label": 3}])
    with pytest.raises(DataError, match=r"1 rows of 1 files hold no text of five words and no number"):
        list(TrainingData(tmp_path / "none.jsonl").items())


@pytest.mark.parametrize("form", FORMS)
def test_copies_are_found_in_every_form_of_training_data(form, tmp_path, capsys):
    """Five texts, or their numbers, in the forms of public data sets."""
    rng = random.Random(3)
    texts = [" ".join(rng.choices(WORDS, k=60)) for _ in range(5)]
    numbers = [f"EP100000{row}A1" for row in range(5)]
    stored(tmp_path / "index", list(map(Item, numbers, [""] * 5, texts)))
    path = FORMS[form](tmp_path / "data", texts, numbers)
    assert main(["contamination", str(path), "--index", str(tmp_path / "index")]) == 1
    shown = capsys.readouterr().out
    assert "\n5 of " in shown and "rows of" in shown
    assert all(other not in shown for other in OTHER)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([70000150.0, None]),
        pa.array([decimal.Decimal("70000150.00"), None]),
        pa.array([[70000150.0], [1.5]]),
        pa.array(["12; 70000150", "70,000,150"]),
        pa.array(["12,70000150", "7"]),
    ],
    ids=["floats", "decimals", "lists of floats", "several", "several with commas"],
)
def test_ids_without_an_office_are_compared_in_every_type(values, tmp_path):
    pq.write_table(pa.table({"text": ["pump", "pump"], "doc_ids": values}), tmp_path / "ids.parquet")
    assert "70000150" in {one.id for one in TrainingData(tmp_path / "ids.parquet").items()}


def test_a_text_that_mentions_numbers_is_a_text():
    text = "The pump of US9876543B2; that of EP1000000A1; and a further one in the prior art are noisy in operation."
    assert [
        what for what, _ in [_read("text", text), _read("ids", text), _read("text", "US9876543B2; EP1000000A1")]
    ] == [
        "texts",
        "texts",
        "numbers",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps(["A centrifugal pump comprises a housing and an impeller on a shaft."]), "in none of the forms"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n", "a pointer of Git LFS"),
        (b'{"text": "half a \\ud800 pair"}\n{"text": "A pump."}\n', "row 1: half of a surrogate pair"),
    ],
    ids=["pickle", "Git LFS", "surrogate"],
)
def test_files_that_cannot_be_training_data_are_refused_with_their_form(content, message, tmp_path):
    (tmp_path / "train.bin").write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(TrainingData(tmp_path / "train.bin").items())


def test_columns_of_one_name_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    pq.write_table(table, tmp_path / "twice.parquet")
    with pytest.raises(DataError, match="two columns have the name 'text'"):
        list(TrainingData(tmp_path / "twice.parquet").items())


@pytest.mark.parametrize("form", ["empty folder", "archive", "tokens", "pictures"])
def test_training_data_that_hold_nothing_to_compare_are_refused(form, tmp_path, capsys):
    stored(tmp_path / "index", [Item("EP1000000A1", "", " ".join(WORDS[:60]))])
    folder = tmp_path / "data"
    folder.mkdir()
    if form == "archive":
        (folder / "shard-000000.tar").write_bytes(bytes(1024))
    elif form == "tokens":
        write_jsonl(folder / "tokens.jsonl", [{"input_ids": [101, 7592, 102], "attention_mask": [1, 1, 1]}])
    elif form == "pictures":
        pq.write_table(pa.table({"image": [{"bytes": b"\x89PNG\xff", "path": "a.png"}]}), folder / "p.parquet")
    assert main(["contamination", str(folder), "--index", str(tmp_path / "index")]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "hold no text of five words and no number" in message and "Remedy: give records" in message
    assert form != "archive" or "files not read: 1 .tar" in message


def test_a_model_is_compared_with_the_index_that_is_named(tmp_path, capsys):
    assert main(["contamination", "datalyes/patembed-base", "--index", str(tmp_path / "nowhere")]) == 2
    assert "there is no leak index" in " ".join(capsys.readouterr().err.split())
    text = " ".join(WORDS[:60])
    stored(tmp_path / "other", [Item("EP1000000A1", "", text)], "another set")
    assert main(["contamination", "datalyes/patembed-base", "--index", str(tmp_path / "other")]) == 0
    assert "0 of them tasks of the 1 test sets of the index" in " ".join(capsys.readouterr().out.split())
    stored(tmp_path / "own", [Item("EP1000000A1", "", text)], "datalyes/title2full")
    assert main(["contamination", "datalyes/patembed-base", "--index", str(tmp_path / "own")]) == 1
    assert "1 of them tasks" in " ".join(capsys.readouterr().out.split())


_META = b"patent_mteb_leak_index"


def _with(metadata):
    return lambda table: table.replace_schema_metadata({**table.schema.metadata, **metadata})


def _column(name, values):
    return lambda table: table.set_column(table.schema.get_field_index(name), name, values(table))


DAMAGES = {
    "no common": lambda table: table.replace_schema_metadata({_META: table.schema.metadata[_META]}),
    "common of 3 bytes": _with({b"common": b"abc"}),
    "broken JSON": _with({_META: b"{"}),
    "JSON list": _with({_META: b"[1]"}),
    "JSON null": _with({_META: b"null"}),
    "deep JSON": _with({_META: b"[" * 100_000}),
    "not UTF-8": _with({_META: b'{"format": 1, "name": "\xff", "items": "3"}'}),
    "no name": _with({_META: b'{"format": 1, "items": 3}'}),
    "name is a list": _with({_META: b'{"format": 1, "name": ["a"], "items": 3}'}),
    "other number of items": _with({_META: b'{"format": 1, "name": "a", "items": 4}'}),
    "repeated rows": lambda table: pa.concat_tables([table, table]),
    "fewer rows": lambda table: table.slice(0, 1),
    "numbers as text": _column("number", lambda table: pa.array(["x"] * len(table))),
    "negative numbers": _column("number", lambda table: pa.array([-1] * len(table))),
    "null keys": _column("keys", lambda table: pa.nulls(len(table))),
    "null in keys": _column("keys", lambda table: pa.array([[None]] * len(table), pa.list_(pa.uint32()))),
    "fewer fields than keys": _column("fields", lambda table: pa.array([[1]] * len(table), pa.list_(pa.uint8()))),
    "sizes of two fields": _column("sizes", lambda table: pa.array([[1, 2]] * len(table))),
    "halved 99 times": _column("halvings", lambda table: pa.array([[99, 0, 0]] * len(table))),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_refused_with_its_name(damage, tmp_path, capsys):
    found = stored(tmp_path / "index", [Item(f"EP100000{row}A1", "", " ".join(WORDS[row:][:60])) for row in range(3)])
    (tmp_path / "damaged").mkdir()
    pq.write_table(DAMAGES[damage](pq.read_table(found.path)), tmp_path / "damaged" / "test.parquet")
    write_jsonl(tmp_path / "texts.jsonl", [{"text": " ".join(WORDS[:60])}])
    assert main(["contamination", str(tmp_path / "texts.jsonl"), "--index", str(tmp_path / "damaged")]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "test.parquet" in message and "Remedy:" in message and "please report it" not in message


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("PATENT_MTEB_DATA", raising=False)
    rng = random.Random(2)
    text = " ".join(rng.choices(WORDS, k=100))
    stored(tmp_path / "index", [Item("US20190123450A1", "", text)])
    write_jsonl(tmp_path / "bad.jsonl", [{"text": text}, {"text": " ".join(rng.choices(WORDS, k=100))}])
    write_jsonl(tmp_path / "good.jsonl", [{"text": " ".join(rng.choices(WORDS, k=100))}])
    assert main(["contamination", str(tmp_path / "bad.jsonl"), "--index", str(tmp_path / "index")]) == 1
    shown = capsys.readouterr().out
    assert "1 of 2 publications or texts" in shown and "bad.jsonl, row 1, text is" in shown
    assert main(["contamination", str(tmp_path / "good.jsonl"), "--index", str(tmp_path / "index")]) == 0
    assert "0 of 1 publications or texts" in capsys.readouterr().out
    assert main(["contamination", str(tmp_path / "good.jsonl")]) == 2
    assert "nothing can be checked" in capsys.readouterr().err
    for wrong in (tmp_path / "nowhere", tmp_path):
        assert main(["contamination", str(tmp_path / "good.jsonl"), "--index", str(wrong)]) == 2
        assert "there is no leak index" in " ".join(capsys.readouterr().err.split())
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    assert main(["contamination", str(tmp_path / "good.jsonl"), "--index", str(tmp_path / "other.parquet")]) == 2
    assert "not a leak index of format 1" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_the_indexes_of_this_machine(tmp_path, capsys, monkeypatch):
    """A built directory becomes an index, in which its own test documents are found, and a foreign text is not."""
    monkeypatch.setenv("PATENT_MTEB_DATA", str(sample_root("wipo_at")))
    assert main(["contamination", "--write", str(tmp_path / "index")]) == 0
    assert "WIPO-AT" in capsys.readouterr().out
    texts = [
        row for _, row in zip(range(3), read_beir(sample_root("wipo_at") / "WIPO-AT").corpus.values(), strict=False)
    ]
    write_jsonl(tmp_path / "texts.jsonl", [{"text": f"{title} {text}"} for title, text in texts])
    assert main(["contamination", str(tmp_path / "texts.jsonl"), "--index", str(tmp_path / "index")]) == 1
    assert "3 of 3 publications or texts" in capsys.readouterr().out
    assert main(["contamination", str(tmp_path / "texts.jsonl")]) == 1
    assert "3 of 3 publications or texts" in capsys.readouterr().out


def test_what_a_model_states(capsys):
    assert main(["contamination", "datalyes/patembed-base"]) == 1
    shown = capsys.readouterr().out
    assert "PatenTEBRetrievalIN" in shown or "PatenTEB" in shown
    assert main(["contamination", "intfloat/e5-base-v2"]) == 0
    assert "states" in capsys.readouterr().out
