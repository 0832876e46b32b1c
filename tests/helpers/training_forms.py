"""Forms of training data: each function writes texts, or publication numbers, to a folder and returns what to read."""

from __future__ import annotations

import csv
import gzip
import json
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

OTHER = (
    "How is water pumped up a steep hill in a dry summer",
    "Answer in the words of a patent attorney of the office",
)
"""Texts that are in no test set."""
_ASK, _SYSTEM = OTHER
_Form = Callable[[Path, Sequence[str], Sequence[str]], Path]


def _lines(name: str, make: Callable[[str, str], Any], before: Sequence[Any] = (), folder: bool = False) -> _Form:
    """JSON lines with one row for each text and number, after other rows."""

    def write(root: Path, texts: Sequence[str], numbers: Sequence[str]) -> Path:
        root.mkdir()
        rows = [*before, *map(make, texts, numbers)]
        content = "".join(json.dumps(row) + "\n" for row in rows).encode()
        (root / name).write_bytes(gzip.compress(content) if name.lower().endswith(".gz") else content)
        return root if folder else root / name

    return write


def _document(name: str, make: Callable[[list[dict[str, str]]], Any]) -> _Form:
    def write(root: Path, texts: Sequence[str], numbers: Sequence[str]) -> Path:
        root.mkdir()
        (root / name).write_text(json.dumps(make([{"text": text} for text in texts]), indent=1))
        return root

    return write


def _parquet(make: Callable[[Sequence[str], Sequence[str]], dict[str, Any]], name: str = "train.parquet") -> _Form:
    def write(root: Path, texts: Sequence[str], numbers: Sequence[str]) -> Path:
        root.mkdir()
        pq.write_table(pa.table(make(texts, numbers)), root / name)
        return root

    return write


def _table(name: str, header: Sequence[str], folder: bool = True, **options: Any) -> _Form:
    def write(root: Path, texts: Sequence[str], numbers: Sequence[str]) -> Path:
        root.mkdir()
        with (root / name).open("w", newline="") as stream:
            rows = csv.writer(stream, **options)
            rows.writerows([header] if header else [])
            rows.writerows([_ASK, text] for text in texts)
        return root if folder else root / name

    return write


def _arrow(name: str, opened: Callable[..., Any]) -> _Form:
    def write(root: Path, texts: Sequence[str], numbers: Sequence[str]) -> Path:
        root.mkdir()
        table = pa.table({"query": [_ASK] * len(texts), "pos": [[text] for text in texts]})
        with opened(str(root / name), table.schema) as stream:
            stream.write_table(table)
        return root

    return write


def _saved(root: Path, texts: Sequence[str], numbers: Sequence[str]) -> Path:
    import datasets

    datasets.DatasetDict({"train": datasets.Dataset.from_dict({"text": list(texts)})}).save_to_disk(str(root))
    return root


def _mixed(root: Path, texts: Sequence[str], numbers: Sequence[str]) -> Path:
    _table("leaking.csv", ("query", "text"))(root, texts, numbers)
    (root / "a.jsonl").write_text(json.dumps({"text": _ASK}) + "\n")
    return root


def _beir(root: Path, texts: Sequence[str], numbers: Sequence[str]) -> Path:
    (root / "qrels").mkdir(parents=True)
    (root / "corpus.jsonl").write_text("".join(json.dumps({"_id": text[:9], "text": text}) + "\n" for text in texts))
    (root / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": _ASK}) + "\n")
    (root / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    return root


def _linked(root: Path, texts: Sequence[str], numbers: Sequence[str]) -> Path:
    """The folder of a snapshot of the hub: links to a folder of blobs, and one that leads back."""
    _lines("blob.jsonl", lambda text, number: {"text": text})(root.with_name("blobs"), texts, numbers)
    root.mkdir()
    (root / "data").symlink_to(root.with_name("blobs"))
    (root / "again").symlink_to(root)
    return root


def _twice(texts: Sequence[str]) -> list[str]:
    return [_ASK] * len(texts)


def _paragraphs(root: Path, texts: Sequence[str], numbers: Sequence[str]) -> Path:
    root.mkdir()
    (root / "a.txt").write_text("\n\n".join(textwrap.fill(text, 30) for text in texts))
    return root


def _without_header(root: Path, texts: Sequence[str], numbers: Sequence[str]) -> Path:
    """Lines with a tab, and with more commas than tabs."""
    root.mkdir()
    (root / "a.tsv").write_text("".join(f"{number}\tHow, when, and by whom is it pumped\n" for number in numbers))
    return root


_PLAIN = {"text": _ASK}
_CHAT = {"system": _SYSTEM, "conversations": []}
FORMS: dict[str, _Form] = {
    "plain": _lines("a.jsonl", lambda text, number: {"text": text}),
    "query, pos, neg": _lines("a.jsonl", lambda text, number: {"query": _ASK, "pos": [text], "neg": [_SYSTEM]}),
    "pos and neg only": _lines("a.jsonl", lambda text, number: {"pos": [text], "neg": ["y"]}),
    "chat messages": _lines(
        "a.jsonl", lambda text, number: {"system": _SYSTEM, "messages": [{"role": "user", "content": text}]}
    ),
    "null in the first rows": _lines(
        "a.jsonl", lambda text, number: {"text": "z", "abstract": text}, [{**_PLAIN, "abstract": None}] * 100
    ),
    "absent in the first rows": _lines("a.jsonl", lambda text, number: {"abstract": text}, [_PLAIN] * 100),
    "short on average": _lines("a.jsonl", lambda text, number: {"other": text}, [{"other": "x"}] * 90),
    "lists of texts": _lines("a.jsonl", lambda text, number: [_ASK, text]),
    "Tevatron": _lines(
        "a.jsonl",
        lambda text, number: {"query": _ASK, "positive_passages": [{"docid": "1", "title": "", "text": text}]},
    ),
    "a number in a list": _lines("a.jsonl", lambda text, number: {"q": _ASK, "ids": [number]}),
    "a number in any column": _lines("a.jsonl", lambda text, number: {"q": _ASK, "source": number}),
    "a number as a key": _lines("a.jsonl", lambda text, number: {number: 1.0, "q": _ASK}),
    "several numbers in a cell": _lines("a.jsonl", lambda text, number: {"cited": f"US9876543B2; {number}"}),
    "numbers in lower case with blanks": _lines(
        "a.jsonl", lambda text, number: {"cited": f"us9876543b2 {number.lower()}"}
    ),
    "many numbers in a cell": _lines(
        "a.jsonl",
        lambda text, number: {"cited": ", ".join([*(f"US 9,876,5{row} B2" for row in range(10, 40)), number])},
    ),
    "numbers in a list as text": _lines("a.jsonl", lambda text, number: {"cited": f"['US9876543B2', '{number}']"}),
    "numbers before a remark": _lines("a.jsonl", lambda text, number: {"cited": f"{number}; cited by the applicant"}),
    "texts as keys": _lines("a.jsonl", lambda text, number: {text: 1}),
    "numbers of records with other columns": _lines(
        "a.jsonl", lambda text, number: {"publication_number": number, "family_id": number, "body": _ASK}
    ),
    "upper-case suffix": _lines("A.JSONL", lambda text, number: {"text": text}, folder=True),
    "upper-case gzip": _lines("A.JSON.GZ", lambda text, number: {"text": text}, folder=True),
    "folder of json.gz": _lines("a.json.gz", lambda text, number: {"text": text}, folder=True),
    "folder of json": _document("a.json", lambda rows: rows),
    "document with a list": _document("a.json", lambda rows: {"version": "1.1", "data": rows}),
    "Parquet lists": _parquet(lambda texts, numbers: {"q": _twice(texts), "positive": [[text] for text in texts]}),
    "Parquet structs": _parquet(
        lambda texts, numbers: {"q": _twice(texts), "doc": [{"text": text, "n": 1} for text in texts]}
    ),
    "Parquet dictionary": _parquet(lambda texts, numbers: {"text": pa.array(texts).dictionary_encode()}),
    "Parquet large strings": _parquet(lambda texts, numbers: {"text": pa.array(texts, pa.large_string())}),
    "Parquet bytes": _parquet(lambda texts, numbers: {"q": _twice(texts), "text": [text.encode() for text in texts]}),
    "Parquet upper-case": _parquet(lambda texts, numbers: {"text": list(texts)}, "TRAIN.PARQUET"),
    "Parquet with times": _parquet(
        lambda texts, numbers: {"at": pa.array([1] * len(texts), pa.timestamp("ns")), "text": list(texts)}
    ),
    "csv file": _table("a.csv", ("query", "text"), folder=False),
    "folder of csv": _table("a.csv", ("query", "text")),
    "csv with semicolons": _table("a.csv", ("query", "text"), delimiter=";"),
    "tsv without header": _table("triples.tsv", (), delimiter="\t"),
    "folder of csv and jsonl": _mixed,
    "tsv without header, with commas": _without_header,
    "paragraphs of several lines": _paragraphs,
    "Arrow stream": _arrow("a.arrow", pa.ipc.new_stream),
    "Arrow file": _arrow("a.feather", pa.ipc.new_file),
    "save_to_disk": _saved,
    "BEIR folder": _beir,
    "links": _linked,
}
