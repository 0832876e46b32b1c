"""Rankings of other systems in tables: names of columns, forms of files, and what is refused."""

from __future__ import annotations

import csv
import json

import openpyxl
import pytest

from patent_mteb.errors import DataError
from patent_mteb.search.trec import read_run

ROWS = [("q1", "d1", 1, 0.9), ("q1", "d2", 2, 0.5), ("q2", "d1", 1, 0.75)]
RANKED = {"q1": ["d1", "d2"], "q2": ["d1"]}


def order_of(run):
    return {query: sorted(found, key=lambda one: -found[one]) for query, found in run.items()}


def write(path, header, rows, delimiter=",", encoding="utf-8"):
    with path.open("w", encoding=encoding, newline="") as out:
        csv.writer(out, delimiter=delimiter).writerows([header, *rows])
    return path


@pytest.mark.parametrize(
    "names",
    [
        ["query", "document", "rank", "score"],
        ["Query ID", "Doc ID", "Rank", "Score"],
        ["qid", "docno", "rank", "sim"],
        ["topic", "docId", "Position", "Relevance (%)"],
        ["Search request", "Hit", "Rank no.", "Similarity score"],
        ["QueryPatent", "RetrievedDoc", "Rang", "cosine_similarity"],
        ["Query publication number", "Publication Number", "Rank", "Confidence"],
        ["Citing patent", "Cited patent", "rank", "weight"],
        ["Anfrage", "Treffer", "Rang", "Relevanz"],
        ["Anfrage-Nr.", "Veröffentlichungsnummer", "Platz", "Ähnlichkeit"],
        ["Suchauftrag", "Schrift", "Rangfolge", "Punktzahl"],
        ["Recherche", "Dokument Nr.", "Position", "Bewertung"],
        ["Zitierende Schrift", "Zitierte Schrift", "Rang", "Wert"],
        ["Requête", "Résultat", "Rang", "Pertinence"],
        ["Consulta", "Documento", "Posición", "Puntuación"],
    ],
)
def test_columns_are_recognised_by_their_names(tmp_path, names):
    rows = [(*row, "Pump; valve") for row in ROWS]
    assert order_of(read_run(write(tmp_path / "a.csv", [*names, "Title"], rows))) == RANKED


@pytest.mark.parametrize("form", ["comma", "semicolon", "tab", "xlsx", "jsonl"])
def test_forms_of_files(tmp_path, form):
    header = ["Anfrage", "Treffer", "Score"]
    rows = [(query, document, score) for query, document, _, score in ROWS]
    path = tmp_path / "hits"
    if form == "xlsx":
        book = openpyxl.Workbook()
        for row in [header, *rows]:
            book.active.append(row)
        book.save(path := path.with_suffix(".xlsx"))
    elif form == "jsonl":
        path.write_text("".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in rows))
    elif form == "semicolon":
        write(path, header, [(*row[:2], str(row[2]).replace(".", ",")) for row in rows], ";", "cp1252")
    else:
        write(path, header, rows, {"comma": ",", "tab": "\t"}[form])
    assert order_of(read_run(path)) == RANKED


def test_a_rank_alone_and_the_order_of_the_rows_are_rankings(tmp_path):
    by_rank = write(tmp_path / "a.csv", ["query", "hit", "rank"], [(q, d, f"{rank}.") for q, d, rank, _ in ROWS[::-1]])
    assert order_of(read_run(by_rank)) == RANKED
    path = write(tmp_path / "b.csv", ["query", "hit"], [row[:2] for row in ROWS])
    assert order_of(read_run(path, order="rank")) == RANKED
    listed = write(tmp_path / "c.csv", ["query", "hits"], [("q1", "d1; d2"), ("q2", "d1")])
    assert order_of(read_run(listed, order="rank")) == RANKED


def test_a_set_has_no_order_and_may_be_empty(tmp_path, caplog):
    rows = [("q1", "d1|d2"), ("q1", "d2"), ("q2", "d1"), ("q3", "")]
    found = read_run(write(tmp_path / "a.csv", ["query", "hits"], rows), order="none")
    assert {query: set(documents) for query, documents in found.items()} == {
        "q1": {"d1", "d2"},
        "q2": {"d1"},
        "q3": set(),
    }
    assert "1 rows repeat a document of their query" in caplog.text


def test_the_only_other_column_of_publication_numbers_is_the_missing_one(tmp_path):
    rows = [("EP 3000000 A1", "US 9,000,000 B2", 1), ("EP 3000001 A1", "US 9,000,000 B2", 1)]
    found = read_run(write(tmp_path / "a.csv", ["Akte", "Treffer", "Rang"], rows))
    assert list(found) == ["EP 3000000 A1", "EP 3000001 A1"]


@pytest.mark.parametrize(
    ("header", "order", "problem"),
    [
        (["query", "hit"], None, r"no column is a score or a rank \(columns: 'query', 'hit'\)"),
        (["query", "hit", "distance"], None, "small or great values of 'distance'"),
        (["query", "hit", "document", "score"], None, "2 columns may have the document: 'hit', 'document'"),
        (["query", "title", "score"], None, "no column names the documents"),
        (["query", "hit", "rank"], "score", "no column has scores"),
    ],
)
def test_what_is_unclear_is_refused_with_a_remedy(tmp_path, header, order, problem):
    path = write(tmp_path / "a.csv", header, [("q1", "d1", 1, 1)[: len(header)]])
    with pytest.raises(DataError, match=problem):
        read_run(path, order=order)


def test_a_row_without_its_query_and_a_bad_score_name_their_row(tmp_path):
    header = ["query", "document", "score"]
    with pytest.raises(DataError, match="row 3: the query is missing"):
        read_run(write(tmp_path / "a.csv", header, [("q1", "d1", 1), ("", "d2", 0)]))
    with pytest.raises(DataError, match="row 2: the score 'high' is not a finite number"):
        read_run(write(tmp_path / "b.csv", header, [("q1", "d1", "high")]))


def test_distances_need_an_order(tmp_path):
    path = write(
        tmp_path / "a.csv", ["query", "document", "Abstand"], [("q1", "d1", 0.1), ("q1", "d2", 0.2), ("q2", "d1", 1)]
    )
    assert order_of(read_run(path, order="-score")) == RANKED


@pytest.mark.parametrize(
    ("scores", "is_refused"),
    [
        (["1,010", "1,000", "999"], True),
        (["1.010", "1.000", "999"], True),
        (["12,345", "1,288", "1,001"], False),  # all thousands or all decimals: the order is the same
        (["1,010", "1,0005", "0"], False),
        (["2,125", "1,5", "1"], False),
        (["0,912", "0,500", "0"], False),
        (["1010", "1000", "999"], False),
    ],
)
def test_a_score_that_is_a_thousand_or_a_decimal_is_refused_among_whole_numbers(tmp_path, scores, is_refused):
    rows = [["EP1000000A1", f"US800000{place}B2", score] for place, score in enumerate(scores)]
    path = write(tmp_path / "a.csv", ["query", "document", "score"], rows, delimiter=";")
    if is_refused:
        with pytest.raises(DataError, match=rf"a\.csv, row 2: the score '{scores[0]}' is a thousand or a decimal"):
            read_run(path)
    else:
        assert order_of(read_run(path)) == {"EP1000000A1": [row[1] for row in rows]}
    ranked = write(
        tmp_path / "b.csv", ["query", "document", "score", "rank"], [[*row, place] for place, row in enumerate(rows, 1)]
    )
    assert order_of(read_run(ranked, order="rank")) == {"EP1000000A1": [row[1] for row in rows]}
