"""The Sophia recipe: representations, extraction patterns, relevance, sampling."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import mteb
import pyarrow.parquet as pq
import pytest
from small_patents import OFFICES, patent, world

from patent_mteb import files
from patent_mteb.data import loading
from patent_mteb.errors import DataError, NotThereError
from patent_mteb.patents import views
from patent_mteb.patents.records import Citation, Description, MachineSummaries, Patent
from patent_mteb.recipes import beir
from patent_mteb.recipes.sophia import REPRESENTATIONS, Params, advantages_and_disadvantages, build, object_of_invention


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("It is an object of the present invention to provide a pump.", True),
        ("The objective of the invention is to save energy.", True),
        ("A further object is to reduce noise.", True),
        ("The present disclosure aims to reduce noise.", True),
        ("The technical problem to be solved by the invention is to provide a pump.", True),
        ("The invention is based on the task of reducing noise.", True),
        ("OBJECTS OF THE INVENTION ARE MANY.", True),
        ("The object to be measured is on the table.", False),
        ("The objective lens is made of glass.", False),
        ("It is aimed at the target.", False),
    ],
)
def test_object_patterns(sentence, found):
    text = f"Pumps are known. {sentence} They turn."
    assert object_of_invention(text) == (sentence if found else "")


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("The invention has the advantage that it is light.", True),
        ("It is therefore advantageous to use glass.", True),
        ("A disadvantage of the prior art is its weight.", True),
        ("Known pumps suffer from the drawback of noise.", True),
        ("A beneficial effect is silence.", True),
        ("This application claims the benefit of U.S. application 1.", False),
        ("The pump is made of glass, e.g. Pyrex.", False),
    ],
)
def test_advantage_patterns(sentence, found):
    text = f"Pumps are known. {sentence} They turn."
    assert advantages_and_disadvantages(text) == (sentence if found else "")


def test_sentences_keep_their_order_and_abbreviations():
    text = (
        "An object of the invention is shown in Fig. 1 of the drawings. No more. Another object is peace, e.g. Quiet."
    )
    assert (
        object_of_invention(text)
        == "An object of the invention is shown in Fig. 1 of the drawings. Another object is peace, e.g. Quiet."
    )


def test_representations_of_one_patent():
    one = patent(7)
    texts = {name: text_of(one) for name, text_of in REPRESENTATIONS.items()}
    assert texts == {
        "Clms": (
            "1. A pump comprising part7. 2. The pump of claim 1, wherein part7 is blue. 3. A method of using part7."
        ),
        "Ab": "A pump with part7 and spring.",
        "Iclms": "1. A pump comprising part7. 3. A method of using part7.",
        "Obj": "It is an object of the invention to provide a quiet pump.",
        "Desc": (
            "Known pump devices exist. A disadvantage of them is noise7. It is an object of the invention to provide a"
            " quiet pump. This has the advantage that part7 lasts. The pump 10 of Fig. 1 has part7."
        ),
        "Adb": "A disadvantage of them is noise7. This has the advantage that part7 lasts.",
        "AiAb": "ab of pump part7",
        "AiFeatures": "feat of pump part7",
        "AiClaimSummary": "clm of pump part7",
        "AiAdv": "adv of pump part7",
        "AiObj": "obj of pump part7",
    }


def rows(path):
    return pq.read_table(path).to_pylist()


def test_written_tables(tmp_path):
    patents, citations = world()
    log = build(patents, citations, tmp_path, Params(queries=20))
    folder = tmp_path / "Sophia"
    assert log.files == [
        f"Sophia/{name}"
        for name in (
            "citations.parquet",
            "corpus.jsonl",
            "metadata.parquet",
            "qrels/test.tsv",
            "queries.jsonl",
            "queries.parquet",
        )
    ]
    tables = beir.read_beir(folder)
    assert len(tables.queries) == 20 and len(tables.corpus) <= 60 and not tables.counts
    names = {p.publication_number: p for p in patents}
    edges: dict[str, set[tuple[str, str, str]]] = {}
    for citation in citations:
        edges.setdefault(citation.citing, set()).add((citation.cited, "cited", citation.category))
        edges.setdefault(citation.cited, set()).add((citation.citing, "citing", citation.category))
    for query, judged in tables.qrels.items():
        assert judged == {other: 1 for other, _, _ in edges[query]}
    listed: dict[str, set[tuple[str, str, str]]] = {}
    for row in rows(folder / "citations.parquet"):
        listed.setdefault(row["query-id"], set()).add((row["corpus-id"], row["direction"], row["category"]))
    assert listed == {query: edges[query] for query in tables.queries}
    metadata = files.table_rows(tables.metadata)
    assert metadata.keys() == tables.corpus.keys() | tables.queries.keys()
    for key, row in metadata.items():
        one = names[key]
        assert row == {
            "family_id": one.family_id,
            "jurisdiction": one.jurisdiction,
            "publication_year": one.publication_date.year,
            "ipc": list(one.ipc),
        }
    for key, (title, text) in tables.corpus.items():
        assert f"{title} {text}" == views.VIEWS["Tacd"](names[key])
    assert tables.queries == {query: views.VIEWS["Tacd"](names[query]) for query in tables.queries}
    for row in rows(folder / "queries.parquet"):
        one = names[row.pop("_id")]
        assert row == {name: text_of(one) for name, text_of in REPRESENTATIONS.items()}


def test_same_input_same_bytes_in_any_order(tmp_path):
    patents, citations = world()
    build(patents, citations, tmp_path / "a", Params(queries=13))
    build(patents[::-1], citations[::-1], tmp_path / "b", Params(queries=13))
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert files
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


def test_years_are_even_and_strata_proportional(tmp_path):
    patents, citations = world(240)
    build(patents, citations, tmp_path, Params(queries=100))
    metadata = files.table_rows(beir.read_beir(tmp_path / "Sophia").metadata)
    asked = [metadata[query] for query in beir.read_beir(tmp_path / "Sophia").queries]
    assert Counter(row["publication_year"] for row in asked) == dict.fromkeys(range(2016, 2026), 10)
    assert {row["ipc"][0][0] for row in asked} == set("BFHCGD")
    assert {row["jurisdiction"] for row in asked} == set(OFFICES)
    build(patents, citations, tmp_path / "late", Params(queries=100, first_year=2024, last_year=2024))
    late = files.table_rows(beir.read_beir(tmp_path / "late" / "Sophia").metadata)
    queries = beir.read_beir(tmp_path / "late" / "Sophia").queries
    assert {late[query]["publication_year"] for query in queries} == {2024} and len(queries) == 24


def test_corpus_has_every_relevant_document_and_its_size(tmp_path):
    patents, citations = world(120)
    build(patents, citations, tmp_path, Params(queries=10, corpus=50))
    tables = beir.read_beir(tmp_path / "Sophia")
    relevant = {document for judged in tables.qrels.values() for document in judged}
    assert relevant <= tables.corpus.keys() and len(tables.corpus) == 50
    assert not (tables.queries.keys() - relevant) & tables.corpus.keys()


def test_a_family_is_one_document(tmp_path):
    patents, citations = world()
    german = patent(20, office="DE", year=2014, filing_jurisdiction="DE", claims=(), family_id="F20")
    english = patent(920, topic=20 % 6, office="WO", year=2019, family_id="F20", filing_jurisdiction="DE")
    patents = [p for p in patents if p.family_id != "F20"] + [german, english]
    citations += [
        Citation("WO920A1", patents[0].publication_number, "Y"),
        Citation("DE20A1", patents[1].publication_number, "A"),
        Citation("DE20A1", "WO920A1", "X"),
    ]
    build(patents, citations, tmp_path, Params(queries=60))
    tables = beir.read_beir(tmp_path / "Sophia")
    assert "WO920A1" in tables.corpus and "DE20A1" not in tables.corpus
    row = files.table_rows(tables.metadata)["WO920A1"]
    assert row["jurisdiction"] == "DE" and row["publication_year"] == 2019
    first, second = (patents[0].publication_number, patents[1].publication_number)
    assert tables.qrels["WO920A1"] == {first: 1, second: 1}


def _fields(record: Patent) -> dict:
    return {name: getattr(record, name) for name in Patent.__slots__}


def test_citations_that_are_not_used_are_counted(tmp_path):
    patents, citations = world()
    citations += [
        Citation(patents[0].publication_number, patents[1].publication_number, "Q"),
        Citation(patents[0].publication_number, patents[2].publication_number, ""),
        Citation(patents[0].publication_number, "XX1", "X"),
    ]
    log = build(patents, citations, tmp_path)
    (step,) = [step for step in log.steps if step.name == "citations with a category"]
    assert step.rows_in - step.rows_out == 3
    for what in (
        "1 with a category that no search report uses",
        "1 without a category X, Y or A",
        "1 of or by publications",
    ):
        assert what in step.note


def test_missing_representations_are_null_and_counted(tmp_path):
    patents, citations = world()
    patents = [
        Patent(**{**_fields(p), "summaries": MachineSummaries("a", "b", "c", "", "e")}) if i % 2 else p
        for i, p in enumerate(patents)
    ]
    log = build(patents, citations, tmp_path, Params(queries=1000))
    texts = rows(tmp_path / "Sophia" / "queries.parquet")
    missing = [row["_id"] for row in texts if row["AiAdv"] is None]
    assert 0 < len(missing) < len(texts) and all(row["AiObj"] for row in texts)
    (step,) = [step for step in log.steps if step.name == "representation AiAdv"]
    assert step.note == f"{len(missing)} queries without" and step.rows_in - step.rows_out == len(missing)


def test_no_query(tmp_path):
    patents, citations = world()
    with pytest.raises(
        DataError, match=r"0 of 60 families left are with 2 relevant documents .*Remedy: add citations with categories"
    ):
        build(patents, [], tmp_path)
    early = [Patent(**{**_fields(p), "publication_date": dt.date(1999, 1, 1)}) for p in patents]
    with pytest.raises(
        DataError, match=r"with ipc: 60 -> 60; published in the years: 60 -> 0\). Remedy: set first_year=None"
    ):
        build(early, citations, tmp_path)


def test_what_is_missing_can_be_waived(tmp_path, monkeypatch):
    """Review §2: no claims, no description, no date and no letter; the links of the whole set are all found, in one
    grade.
    """
    patents, citations = world()
    none = {"claims": (), "description": Description(), "publication_date": None}
    bare = [Patent(**{**_fields(p), **none}) for p in patents]
    with pytest.raises(
        DataError,
        match=r"0 have claims, 0 have description, 0 have publication_date.*require=title,abstract,ipc,category",
    ):
        build(bare, citations, tmp_path)
    plain = [Citation(one.citing, one.cited) for one in citations]
    log = build(bare, plain, tmp_path / "bare", Params(require=("title", "abstract", "ipc")))
    build(patents, citations, tmp_path / "whole")
    assert log.deviations == [
        f"{len(citations)} of {len(citations)} citations have no category: they are relevant in one grade, 'cited'",
    ]
    one, other = (beir.read_beir(tmp_path / name / "Sophia") for name in ("bare", "whole"))
    assert {query: one.qrels[query] for query in other.qrels} == other.qrels and other.qrels
    edges = rows(tmp_path / "bare" / "Sophia" / "citations.parquet")
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "bare"))
    with pytest.raises(NotThereError, match="no query has the representation Clms"):
        mteb.get_task("SophiaClmsRetrieval").load_tables()
    assert mteb.get_task("SophiaAbRetrieval").load_tables().qrels == one.qrels
    assert {edge["category"] for edge in edges} == {""} and {edge["direction"] for edge in edges} == {"cited", "citing"}
