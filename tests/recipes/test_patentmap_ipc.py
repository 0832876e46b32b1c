"""The published files of IPC-Classification are read as pandas reads them, and errors name their line."""

from __future__ import annotations

import pandas as pd
import pytest

from patent_mteb.errors import DataError
from patent_mteb.recipes.patentmap import read_labelled, write_labelled

HEADER = "text,ipcr_labels,section\n"


def write(folder, body):
    path = folder / "test_512.csv"
    path.write_text(body, "utf-8")
    return path


def test_what_pandas_wrote_is_read(tmp_path):
    rows = [
        ('A "pump", of kind 1 [SEP] [abstract] It\npumps.', "['F04B1/02' 'F04B9/00'\n 'H04L12/28']", "abstract"),
        ("Brake [SEP] It brakes.", "['B60T8/17', 'B60T8/32']", "abstract"),
        ("[claim] 1. A brake.", "['B60T8/17']", "claim"),
        ("Lens [SEP] It is clear.", "['G02B3/00']", "abstract"),
        ("Nothing known", "[]", "abstract"),
        ("Nothing printed", None, "abstract"),
        (None, "['G02B3/00']", "abstract"),
    ]
    path = tmp_path / "train_512.csv"
    pd.DataFrame(rows, columns=["text", "ipcr_labels", "section"]).to_csv(path, index=False)
    assert [(one.text, one.labels) for one in read_labelled(path)] == [
        ('A "pump", of kind 1 [SEP] It\npumps.', ("F04B", "H04L")),
        ("Brake [SEP] It brakes.", ("B60T",)),
        ("Lens [SEP] It is clear.", ("G02B",)),
    ]


def test_what_is_left_out_is_counted(tmp_path, caplog):
    path = write(
        tmp_path, HEADER + "a,['F04B1/02'],claim\n,['F04B1/02'],abstract\nc,['x'],abstract\nd,['F04B1/02'],abstract\n\n"
    )
    assert [one.text for one in read_labelled(path)] == ["d"]
    for text in (
        "1 rows are of another section",
        "1 IPC codes cannot be read",
        "2 patents have no text or no subclass",
    ):
        assert text in caplog.text


def test_pandas_reads_what_we_write(tmp_path):
    path = tmp_path / "train_512.csv"
    texts = ['A "pump", [SEP] It pumps.', "Lens [SEP] clear\nor not"]
    write_labelled(path, zip(texts, (["F04B1/02", "H04L12/28"], ["G02B3/00"]), strict=True))
    table = pd.read_csv(path)
    assert table["text"].tolist() == texts and table["section"].tolist() == ["abstract"] * 2
    assert table["ipcr_labels"].tolist() == ["['F04B1/02' 'H04L12/28']", "['G02B3/00']"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            HEADER + "a,['F04B'],abstract\n\"b\nb\",['F04B,abstract\n",
            r"row 3: ipcr_labels \"\['F04B\" is not a list of quoted codes",
        ),
        (HEADER + "a,F04B,abstract\n", "row 2: ipcr_labels 'F04B' is not a list"),
        (HEADER + "a,\"['F04B' F04C]\",abstract\n", "row 2: ipcr_labels .* is not a list"),
        (HEADER + "a,\"['F04B''F04C']\",abstract\n", "row 2: ipcr_labels .* is not a list"),
        (HEADER + "a,b,['F04B'],abstract\n", "row 2: 4 cells where the header names 3 columns"),
        (HEADER + 'a,"b\n', r"row 2: malformed CSV \(unexpected end of data\)"),
        ("text,labels,section\n", r"row 1: column 'ipcr_labels' is missing \(columns: text, labels, section\)"),
        ("", "the file is empty"),
    ],
)
def test_malformed_files_are_refused_by_line(tmp_path, body, message):
    with pytest.raises(DataError, match=message):
        read_labelled(write(tmp_path, body))
