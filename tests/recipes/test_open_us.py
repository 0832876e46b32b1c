"""The open benchmark's tables, worked out by hand on twelve publications."""

import datetime as dt
from dataclasses import replace

import open_us_patents as world
import pytest
from open_us_patents import D1, D2, D3, D4, D5, D6, D7, Q1, Q2

from patent_mteb import recipes
from patent_mteb.errors import DataError
from patent_mteb.patents import tables
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.on_disk import DiskList, stored
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.beir import read_beir
from patent_mteb.recipes.open_citations import Rules, read_headers, usable_citations, with_prior_art

RULES = ("first=2021-01-01", "last=2023-12-31", "match=family")


def built(folder, settings=RULES, recipe="open_us", **records):
    log = recipes.run(recipe, world.collection(**records), folder, settings)
    return log, folder / recipes.find(recipe).NAME


def test_every_table_is_the_one_worked_out_by_hand(tmp_path):
    log, place = built(tmp_path)
    tables = read_beir(place)
    assert tables.qrels == world.QRELS
    assert set(tables.corpus) == {D1, D2, D3, D4, D5, D6, D7}  # in the words of the first publication of each family
    assert tables.corpus[D1] == (
        "Rotor blade",
        (
            "A rotor blade is shown. 1. A rotor blade. 2. The rotor blade of claim 1, painted. 3. A method of making a"
            " rotor blade."
        ),
    )
    claims = layout.read_subset(place / "claims")
    assert claims.qrels == world.CLAIMS
    assert claims.queries[f"{Q1}#2"] == "A rotor. The rotor of claim 1, painted."
    passages = layout.read_subset(place / "passages", place / "claims")
    assert passages.qrels == world.PASSAGES
    assert {layout.document_of(key) for key in passages.documents} == {
        D1,
        D2,
        D4,
    }  # judged for a claim, with numbered paragraphs
    assert passages.documents[f"{D1}#3"] == "Paragraph 3 of the rotor blade."
    dates = layout.read_dates(place)
    assert (dates.public[D4], dates.priority[Q1]) == (dt.date(2019, 7, 1), dt.date(2019, 7, 1))
    notes = {step.name: step.note for step in log.steps}
    for reason in (
        "2 citations of documents that were not public before the query's priority date",
        "1 citations of applications without a publication before grant",
        "1 citations without a letter X, Y or A",
        "1 citations after the window",
    ):
        assert reason in notes["citations"]
    assert notes["queries"].endswith("citation in an office action of the window 2021-01-01 to 2023-12-31")
    assert notes["corpus"] == "5 judged; 3 were not public before the latest priority date of a query"
    assert "1 rejected claims that the application did not have as filed" in notes["claims"]
    assert "1 documents of a parent claim, unjudged" in notes["claims"]
    assert "9 numbered paragraphs of 3 documents; 3 citations name none of them" in notes["passages"]
    assert notes["locations"] == "citations with passages, 86% of them with paragraphs: 1 columns; 6 paragraphs"


@pytest.mark.parametrize("first", range(0, 12, 2))
def test_any_publication_may_come_first(tmp_path, first):
    _, place = built(tmp_path, patents=[*world.PATENTS[first:], *world.PATENTS[:first]])
    tables = read_beir(place)
    assert (tables.qrels, set(tables.corpus)) == (world.QRELS, {D1, D2, D3, D4, D5, D6, D7})


def test_what_is_known_of_each_judgement(tmp_path):
    _, place = built(tmp_path)
    said = layout.read_judgements(place, set(world.QRELS))
    row = said[Q1, D1]
    got = (row["letter"], row["origins"], row["phases"], row["units"])
    assert got == ("X", ["examiner"], ["CTFR", "CTNF"], ["2800"])
    assert (said[Q1, D3]["letter"], said[Q1, D3]["origins"]) == ("A", ["applicant"])
    assert said[Q2, D7]["units"] == ["3700"]
    of_claims = layout.read_judgements(place / "claims", {f"{Q1}#3"})
    assert {document: row["letter"] for (_, document), row in of_claims.items()} == {D1: "Y", D3: "A"}


def test_queries_need_an_office_action_in_the_window(tmp_path):
    _, place = built(tmp_path / "early", ("first=2021-01-01", "last=2021-12-31", "match=family"))
    assert set(read_beir(place).qrels) == {Q1}
    _, place = built(tmp_path / "day", ("first=2021-05-01", "last=2021-05-01", "match=family"))
    assert set(read_beir(place).qrels) == {Q1}
    with pytest.raises(DataError, match="no application has an X or Y citation in an office action of the window"):
        built(tmp_path / "none", ("first=2030-01-01", "match=family"))
    with pytest.raises(DataError, match="the window ends on 2020-01-01, before it begins on 2021-01-01"):
        built(tmp_path / "wrong", ("first=2021-01-01", "last=2020-01-01"))


def test_without_letters_what_examiners_cited_on_grants_counts_in_one_grade(tmp_path):
    cited = [
        replace(one, citing="US11500001B2", category="", claims=(), passages=(), date=None)
        for one in world.CITATIONS[:6]
    ]
    _, place = built(tmp_path, ("first=2022-01-01", "last=2022-12-31"), "open_us_grants", citations=cited)
    assert read_beir(place).qrels == {Q1: {D1: 1, D2: 1}}  # D3 was cited by the applicant, D4 and D5 came too late
    assert not (place / "claims").exists()


def test_samples_depend_on_numbers_only_and_records_may_be_in_files(tmp_path):
    rules = (*RULES, "documents=5", "queries=1")
    _, place = built(tmp_path / "one", rules)
    turned = world.collection(world.PATENTS[::-1], world.CITATIONS[::-1])
    in_files = Collection(stored(iter(turned.patents)), DiskList(turned.citations))
    recipes.run("open_us", in_files, tmp_path / "two", rules)
    again = tmp_path / "two" / place.name
    files = {path.relative_to(place): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert len(files) > 5
    assert files == {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()}
    tables = read_beir(place)
    assert len(tables.queries) == 1
    assert len(tables.corpus) == 5
    assert set(next(iter(tables.qrels.values()))) <= set(tables.corpus)


def test_the_application_as_filed_is_the_first_publication_before_grant():
    def of_publications(patents):
        return dict(read_headers(patents).drop_nulls("filed").select("number", "filed").iter_rows())

    found = of_publications(world.PATENTS)
    assert found["US11500001B2"] == found[Q1] == Q1
    assert "US11500003B2" not in found
    alone = [replace(one, application_number="", family_id="F") for one in world.PATENTS[:2]]
    assert of_publications(alone)["US11500001B2"] == Q1


def test_a_document_is_the_first_publication_of_its_family_with_a_date_and_a_text():
    text, day = {"abstract": "A pump."}, {"publication_date": dt.date(2010, 1, 1)}
    later = {"publication_date": dt.date(2012, 1, 1)}
    patents = [
        Patent("US2010000001A1", "F", **day),
        Patent("US2010000002A1", "F", **text),
        Patent("US2012000001A1", "F", **text, **later),
        Patent("US2012000002A1", "F", **text, **later),
        Patent("US2010000003A1", "WITHOUT TEXT", title="Pump", **day),
        Patent("US2010000004A1", "WITHOUT DATE", **text),
    ]
    assert set(read_headers(patents)["document"].drop_nulls()) == {"US2012000001A1"}


@pytest.mark.parametrize(
    ("rules", "counted", "day"),
    [
        (Rules((), True, None), ["EARLY"], None),
        (Rules((), True, None, reports=True), ["EARLY"], dt.date(2020, 6, 1)),
        (Rules((), True, None, effective=True), ["EARLY", "FILED"], None),
    ],
)
def test_rules_on_days_of_documents_and_of_citations_without_a_date(rules, counted, day):
    """A citation of a report has the report's day; with the effective gate a document counts from its filing on."""

    def patent(number, family, filed, public):
        days = {"priority_date": dt.date.fromisoformat(filed), "publication_date": dt.date.fromisoformat(public)}
        return Patent(number, family, abstract="A pump.", **days)

    patents = [
        patent("US2019000001A1", "FILED", "2017-12-01", "2019-06-01"),  # public after the query's priority
        patent("US2017000001A1", "EARLY", "2015-12-01", "2017-06-01"),
        patent("US2021000001A1", "LATER", "2019-06-01", "2020-12-01"),
        patent("US2020000001A1", "QUERY", "2019-01-01", "2020-06-01"),
    ]
    headers = with_prior_art(read_headers(patents), rules)
    citations = [Citation("US2020000001A1", one.publication_number, "X") for one in patents[:3]]
    found, counts = usable_citations(citations, headers, rules)
    families = {one.publication_number: one.family_id for one in patents}
    assert sorted(families[one.document] for one in found) == counted and sum(counts.values()) == 3 - len(counted)
    assert {one.day for one in found} == {day} and {one.first for one in found} == {day is not None}


@pytest.mark.parametrize("at_once", [2, 10_000])
def test_only_citations_without_claims_give_their_statutes_to_others_of_the_pair(at_once, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", at_once)
    query, cited, other = (
        Patent(f"US20{year}000001A1", family, abstract="A pump.", publication_date=dt.date(2000 + year, 1, 1))
        for year, family in ((20, "Q"), (10, "D"), (11, "E"))
    )
    patents = [replace(query, priority_date=dt.date(2019, 1, 1)), cited, other]

    def citation(one, claims=(), statutes=()):
        return Citation(query.publication_number, one.publication_number, "X", claims=claims, statutes=statutes)

    citations = [
        citation(cited, (1,)),
        citation(cited, (), ("103",)),
        citation(cited, (), ("102",)),
        citation(cited, (2,), ("101",)),
        citation(other, (1,)),
        citation(other, (2,), ("103",)),
    ]
    rules = Rules((), True, None)
    headers = with_prior_art(read_headers(patents), rules)
    found, _ = usable_citations(citations, headers, rules)
    assert [one.statutes for one in found] == [("102", "103"), ("103",), ("102",), ("101",), (), ("103",)]


def test_ids_that_a_qrels_file_cannot_carry_are_refused(tmp_path):
    with pytest.raises(DataError, match="tab or a line break"):
        layout.write_documents(tmp_path, {"US1\tA": world.PATENTS[0]}, ["US1\tA"], {}, [])
    with pytest.raises(DataError, match="tab or a line break"):
        layout.write_passages(tmp_path, [], {"US1\n#1": {"US2#1": 1}})
    assert not (tmp_path / "corpus.jsonl").exists()
