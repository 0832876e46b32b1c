"""The PatentMap recipe: queries, pools, gold relations and the classification split."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import mteb
import pandas as pd
import pytest
from small_patents import patent, world

from patent_mteb.data import loading
from patent_mteb.errors import DataError, NotThereError
from patent_mteb.patents.records import Citation
from patent_mteb.recipes.patentmap import DATA_SET, Params, build
from patent_mteb.tasks.patentmap import read_search

FREE = {
    "query_offices": (), "query_first_year": None, "query_last_year": None,
    "ipc_offices": (), "ipc_first_year": None, "ipc_last_year": None,
}  # fmt: skip


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def folder_of(root, name="perf200"):
    base = root / DATA_SET / name
    queries, documents = (
        {row["dnum"]: row["Content"] for row in lines(base / "content" / f"{file}.json")}
        for file in ("queries", "documents")
    )
    return queries, documents, json.loads((base / "mapping" / "gold.json").read_text())


def test_files_have_the_published_form(tmp_path):
    patents, citations = world()
    log = build(patents, citations, tmp_path, Params(queries=12, small=4, mlt=5, same_subclass=2, **FREE))
    assert log.files == sorted(
        [
            f"{DATA_SET}/{name}/{file}"
            for name in ("perf20", "perf200")
            for file in ("content/documents.json", "content/queries.json", "mapping/gold.json")
        ]
        + [f"{DATA_SET}/IPC-Classification/{part}_512.csv" for part in ("test", "train")]
    )
    for name in log.files:
        assert (tmp_path / name).is_file()
    queries, documents, gold = folder_of(tmp_path)
    assert len(queries) == 12 and gold.keys() == queries.keys()
    known = {p.publication_number: p for p in patents}
    expected: dict[str, dict[str, str]] = {}
    for citation in citations:
        expected.setdefault(citation.citing, {})[citation.cited] = citation.category
    for query, entries in gold.items():
        assert {entry["cited_id"]: entry["type"] for entry in entries} == expected[query]
        assert {entry["cited_id"] for entry in entries} <= documents.keys()
    for key, content in (queries | documents).items():
        one = known[key]
        assert content == {
            "title": one.title,
            "pa01": one.abstract,
            **{f"c-en-000{claim.number}": claim.text for claim in one.claims},
            "p0001": one.description.background,
            "p0002": one.description.summary,
            "p0003": one.description.detailed,
        }
    small, _, _ = folder_of(tmp_path, "perf20")
    assert len(small) == 4 and small.keys() <= queries.keys()


def test_pool_is_positives_and_the_three_kinds_of_negatives(tmp_path):
    patents, citations = world(120)
    build(patents, citations, tmp_path, Params(queries=1, small=1, mlt=3, same_subclass=4, **FREE))
    _, documents, gold = folder_of(tmp_path)
    ((query, entries),) = gold.items()
    positives = {entry["cited_id"] for entry in entries}
    cites: dict[str, set[str]] = {}
    for citation in citations:
        cites.setdefault(citation.citing, set()).add(citation.cited)
    further = {key for direct in positives for key in cites.get(direct, ())} - positives
    subclass = {p.publication_number: p.ipc[0][:4] for p in patents}
    rest = documents.keys() - positives - further
    assert query not in documents and positives | further <= documents.keys()
    assert 4 <= len(rest) <= 7  # four of the same subclass and three alike, which may coincide
    assert sum(subclass[key] == subclass[query] for key in rest) >= 4


def test_queries_are_spread_over_sections_and_bounded(tmp_path):
    patents, citations = world(120)
    build(patents, citations, tmp_path, Params(**{**FREE, "queries": 12, "mlt": 1, "query_offices": ("EP", "US")}))
    queries, _, _ = folder_of(tmp_path)
    known = {p.publication_number: p for p in patents}
    sections = Counter(known[key].ipc[0][0] for key in queries)
    assert {known[key].jurisdiction for key in queries} == {"EP", "US"}
    assert set(sections) == {known[key].ipc[0][0] for key in known if known[key].jurisdiction in ("EP", "US")}
    build(
        patents,
        citations,
        tmp_path / "late",
        Params(**{**FREE, "mlt": 1, "query_first_year": 2021, "query_last_year": 2022}),
    )
    queries, _, _ = folder_of(tmp_path / "late")
    assert {known[key].application_date.year for key in queries} == {2021, 2022} and len(queries) == 24


def test_new_second_level_citations_come_first(tmp_path):
    # b cites a hub with two citations of its own; c cites a leaf. Both are candidates of one section.
    hub, leaf, far, farther = (patent(i, topic=0) for i in range(4))
    b, c = patent(10, topic=0), patent(5, topic=0)
    more = [patent(i, topic=0) for i in range(20, 40)]
    links = [(b, hub), (c, leaf), (hub, far), (hub, farther)]
    citations = [Citation(one.publication_number, other.publication_number, "A") for one, other in links]
    build([hub, leaf, far, farther, b, c, *more], citations, tmp_path, Params(**{**FREE, "queries": 1, "mlt": 1}))
    queries, _, _ = folder_of(tmp_path)
    assert list(queries) == [b.publication_number]


def test_own_family_stays_out_of_the_pool(tmp_path):
    patents, citations = world()
    twins = [patent(i, office="WO", year=2018, family_id=f"F{i}", topic=i % 6) for i in range(40, 60)]
    build([*patents, *twins], citations, tmp_path, Params(queries=10, mlt=50, same_subclass=50, **FREE))
    queries, documents, gold = folder_of(tmp_path)
    family = {p.publication_number: p.family_id for p in [*patents, *twins]}
    cited = {entry["cited_id"] for entries in gold.values() for entry in entries}
    assert not {family[key] for key in queries} & {family[key] for key in documents.keys() - cited}


def test_citations_that_are_not_used_are_counted(tmp_path):
    patents, citations = world()
    one, two, three = (p.publication_number for p in patents[:3])
    odd = [(two, "Q"), (three, "L"), ("XX1", "X"), (two, "PY"), (two, "A")]
    citations += [Citation(one, cited, category) for cited, category in odd]
    log = build(patents, citations, tmp_path, Params(mlt=1, **FREE))
    (step,) = [step for step in log.steps if step.name == "citations X, Y or A"]
    assert step.rows_in - step.rows_out == 3
    assert (
        "1 of unknown publications, 1 with a category that no search report uses, 1 other or within a family"
        in step.note
    )
    _, _, gold = folder_of(tmp_path)
    assert gold[one] == [{"cited_id": two, "type": "Y"}]


def test_classification_parts(tmp_path):
    patents, citations = world(120)
    twins = [patent(i, office="WO", family_id=f"F{i}", year=2019) for i in range(60)]
    params = Params(mlt=1, ipc_per_year=15, **{**FREE, "ipc_first_year": 2016, "ipc_last_year": 2020})
    build([*patents, *twins], citations, tmp_path, params)
    folder = tmp_path / DATA_SET / "IPC-Classification"
    parts = {part: pd.read_csv(folder / f"{part}_512.csv").to_dict("records") for part in ("train", "test")}
    known: dict[str, list] = {}
    for p in [*patents, *twins]:
        known.setdefault(f"{p.title} [SEP] {p.abstract}", []).append(p)
    families = {part: {known[row["text"]][0].family_id for row in rows} for part, rows in parts.items()}
    assert not families["train"] & families["test"]
    share = len(families["test"]) / (len(families["train"]) + len(families["test"]))
    assert share == pytest.approx(0.15, abs=0.01)
    assert max(Counter(row["text"] for rows in parts.values() for row in rows).values()) == 2  # a patent and its twin
    assert 15 * 5 - 15 <= sum(map(len, parts.values())) <= 15 * 5
    for row in parts["test"]:
        one = known[row["text"]][0]
        codes = " ".join(repr(code.replace(" ", "")) for code in one.ipc)
        assert row == {"text": f"{one.title} [SEP] {one.abstract}", "ipcr_labels": f"[{codes}]", "section": "abstract"}


def test_same_input_same_bytes_in_any_order(tmp_path):
    patents, citations = world()
    params = Params(queries=9, small=3, mlt=5, same_subclass=2, **FREE)
    build(patents, citations, tmp_path / "a", params)
    build(patents[::-1], citations[::-1], tmp_path / "b", params)
    for path in (tmp_path / "a").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes(), path


def test_without_citations_there_is_classification_and_without_codes_in_the_years_retrieval(tmp_path):
    patents, citations = world()
    log = build(patents, [], tmp_path / "labels", Params(**FREE))
    assert log.files == [f"{DATA_SET}/IPC-Classification/{part}_512.csv" for part in ("test", "train")]
    (step,) = [step for step in log.steps if step.name == "retrieval"]
    assert step.note.startswith(
        "no tables: PatentMap: 0 of 60 publications left are citing another as X, Y or A (in order: with abstract"
    )
    log = build(
        patents, citations, tmp_path / "links", Params(mlt=1, **{**FREE, "ipc_first_year": 1900, "ipc_last_year": 1901})
    )
    assert len(log.files) == 6 and not any("IPC" in name for name in log.files)
    (step,) = [step for step in log.steps if step.name == "IPC classification"]
    assert "filed in the years 1900 to 1901: 60 -> 0" in step.note and "set ipc_first_year=None" in step.note


def test_nothing_to_build(tmp_path):
    patents, _ = world()
    with pytest.raises(
        DataError, match=r"citing another as X, Y or A: 60 -> 0\); and .*Remedy: add citations.*ipc_offices"
    ):
        build(patents, [], tmp_path, Params(**{**FREE, "ipc_offices": ("XX",)}))


def test_what_is_missing_can_be_waived(tmp_path, monkeypatch):
    """Review §2: no claims, no date and no letter: the same links, in the one grade "cited", which no slice of letters
    holds.
    """
    patents, citations = world()
    bare = [
        replace(one, claims=(), application_date=None, priority_date=None, publication_date=None) for one in patents
    ]
    plain = [Citation(one.citing, one.cited) for one in citations]
    log = build(
        bare,
        plain,
        tmp_path / "bare",
        Params(queries=12, mlt=5, require=("abstract", "ipc"), query_offices=(), ipc_offices=()),
    )
    assert log.deviations[-1].endswith("citations have no category: they are relevant in one grade, 'cited'")
    assert any("IPC" in name for name in log.files)
    _, _, gold = folder_of(tmp_path / "bare")
    expected: dict[str, set[str]] = {}
    for citation in citations:
        expected.setdefault(citation.citing, set()).add(citation.cited)
    assert {query: {entry["cited_id"] for entry in entries} for query, entries in gold.items()} == {
        key: expected[key] for key in gold
    }
    assert {entry["type"] for entries in gold.values() for entry in entries} == {"cited"}
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "bare"))
    task = mteb.get_task("PatentMapAbsToAbsRetrieval")
    found = read_search(task.source)
    assert {gain for judged in found.gains.values() for gain in judged.values()} == {1}
    assert task.load_tables().slices == {}
    with pytest.raises(NotThereError, match="no query has the section claim"):
        mteb.get_task("PatentMapClmToAllRetrieval").load_tables()
