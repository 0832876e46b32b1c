"""What inspect says of records, against counts by polars and by the files that a real build writes."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import polars as pl
import pytest

from patent_mteb import recipes, sample
from patent_mteb.experiments import inspection
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import families_of
from patent_mteb.patents.matching import STEPS, match
from patent_mteb.patents.records import (
    Citation,
    Description,
    ExpertSummary,
    Patent,
    Relation,
    TextLanguages,
    write_records,
)


@pytest.fixture(scope="module")
def bare():
    """Titles, abstracts, codes, dates and cited numbers only; some without abstract or date, one cited number in five
    without its kind.
    """
    patents, citations = sample.load()
    some = [
        replace(
            patent,
            claims=(),
            description=Description(),
            expert=ExpertSummary(),
            keywords=(),
            labels=patent.labels if row % 2 else (),
            abstract="" if row % 10 == 0 else patent.abstract,
            publication_date=None if row % 7 == 0 else patent.publication_date,
            languages=TextLanguages(abstract="de" if row % 3 == 0 else ""),
        )
        for row, patent in enumerate(patents[:400])
    ]
    numbers = {patent.publication_number for patent in some}
    within = [citation for citation in citations if citation.citing in numbers]
    return Collection(
        some, [replace(link, cited=link.cited[:-2]) if row % 5 == 0 else link for row, link in enumerate(within)]
    )


def test_what_there_is(bare, tmp_path):
    found = inspection.inspect(bare, 0)
    write_records(tmp_path / "patents.parquet", Patent, bare.patents)
    table = pl.read_parquet(tmp_path / "patents.parquet")
    has = {
        "title": pl.col("title") != "",
        "abstract": pl.col("abstract") != "",
        "claims": pl.col("claims").list.len() > 0,
        "ipc": pl.col("ipc").list.len() > 0,
        "cpc": pl.col("cpc").list.len() > 0,
        "labels": pl.col("labels").list.len() > 0,
        "publication_date": pl.col("publication_date").is_not_null(),
        "inventors": pl.col("inventors").list.len() > 0,
    }
    counted = {one.what: (one.publications, one.families) for one in found.has}
    assert {name: counted[name] for name in has} == {
        name: (part.height, part["family_id"].n_unique())
        for name, asked in has.items()
        for part in [table.filter(asked)]
    }
    assert (found.publications, found.families) == (table.height, table["family_id"].n_unique())
    assert found.dates["publication_date"] == (
        str(table["publication_date"].min()),
        str(table["publication_date"].max()),
    )
    offices = table["publication_number"].str.slice(0, 2).value_counts()
    assert found.offices == dict(offices.iter_rows())
    assert found.languages == {"": 266, "de": 134}
    labels = table.select("publication_number", "labels").explode("labels").drop_nulls().unnest("labels")
    for landscape in found.landscapes:
        rows = labels.filter(pl.col("landscape") == landscape.name)
        fine = rows.filter(pl.col("fine") != "").select("coarse", "fine")
        assert (landscape.publications, landscape.coarse) == (
            rows["publication_number"].n_unique(),
            rows["coarse"].n_unique(),
        )
        assert landscape.fine == fine.n_unique()
    assert {landscape.name for landscape in found.landscapes} == set(labels["landscape"])
    assert found.matching == {step: match(bare.citations, bare, step)[1] for step in STEPS}
    assert found.matching["number"].links < found.matching["kind"].links
    assert found.step == "kind"


def test_letters_and_twins_are_counted():
    citations = [
        Citation("US1B2", f"EP{number}A1", letters)
        for number, letters in enumerate(["X", "XD", "Y", "A,D", "P", "?", "", "YA"])
    ]
    assert inspection.count_categories(citations) == {"X": 2, "Y": 2, "other": 2, "A": 1, "": 1}
    patents = [
        Patent("US1000001B2", "F1", "Pump", "A pump."),
        Patent("US1000002B2", "F2", "pump", "A  PUMP."),
        Patent("US1000003B2", "F3", "Other", "Other."),
        Patent("case 17", "F4", ipc=("A61K31/505", "mechanical"), cpc=("2B003AA01",)),
    ]
    edges = [Citation("US1000002B2", "US1000003B2"), Citation("US1000003B2", "US1000001B2")]
    found = inspection.inspect(Collection(patents, edges, families=families_of({"EP9999999A1": "F1"})), 0)
    assert found.twins == inspection.Twins(groups=1, publications=2, families=2, citing=1)
    assert (found.unreadable, found.unreadable_codes, found.members_without_record) == (1, 2, 1)


def test_each_rule_of_joined_families_is_counted():
    patents = [
        Patent("EP3000000A1", "EP3000000A1"),
        Patent("EP3000000B1", "EP3000000B1"),
        Patent("US2018000001A1", "US2018000001A1"),
        Patent("CN109000001A", "CN109000001A"),
        Patent("KR20180000001A", "KR20180000001A"),
    ]
    relations = [
        Relation("EP3000000A1", "DE102017123456", "priority"),
        Relation("US2018000001A1", "DE102017123456", "priority"),
        Relation("CN109000001A", "KR20180000001A", "member"),
    ]
    collection = Collection(patents, [Citation("CN109000001A", "EP3000000A1")], relations)
    found = inspection.inspect(collection, 0)
    assert found.joined_by == {"application": 1, "priorities": 1, "members": 1}
    assert (found.families, found.family_definition) == (2, "joined")
    given = inspection.inspect(collection, 0, "given")
    assert (given.families, given.family_definition, given.joined_by) == (5, "given", found.joined_by)
    assert found.as_json()["joined_by"] == found.joined_by


def test_a_part_is_of_whole_families_that_cite_one_another(bare):
    links, _ = match(bare.citations, bare, "kind")
    part = inspection.connected_subset(bare.patents, links, 150)
    assert 100 < len(part) <= 150
    chosen = {patent.family_id for patent in part}
    assert part == [patent for patent in bare.patents if patent.family_id in chosen]
    shuffled = random.Random(0).sample(list(bare.patents), len(bare.patents))
    assert {patent.family_id for patent in inspection.connected_subset(shuffled, links, 150)} == chosen
    numbers = {patent.publication_number for patent in part}
    density = sum(link.citing in numbers and link.cited in numbers for link in links) / len(part)
    few = {patent.publication_number for patent in bare.patents[: len(part)]}
    assert density > sum(link.citing in few and link.cited in few for link in links) / len(few)
    assert inspection.connected_subset(bare.patents, links, 400) == list(bare.patents)


@pytest.mark.slow
def test_a_benchmark_is_as_large_as_the_build_with_the_settings(bare, tmp_path):
    bare = replace(bare, patents=[replace(patent, labels=()) for patent in bare.patents[:150]])
    found = inspection.inspect(bare)
    assert found.tried_on == 150
    by_recipe = {plan.recipe: plan for plan in found.plans}
    assert by_recipe.keys() == set(recipes.RECIPES)
    links, _ = match(bare.citations, bare, found.step)

    wipo = by_recipe["wipo_at"]
    recipes.find("wipo_at").build(bare.patents, links, tmp_path, *recipes.check_settings("wipo_at", wipo.settings))
    judged = pl.read_csv(tmp_path / "WIPO-AT" / "qrels" / "test.tsv", separator="\t")
    views = pl.read_parquet(tmp_path / "WIPO-AT" / "views.parquet")
    sizes = {task.name: task for task in wipo.tasks}
    assert wipo.queries == sizes["PatentCitationRetrieval"].queries == judged[judged.columns[0]].n_unique()
    assert sizes["PatentCitationRetrieval"].texts["document"] == views.height
    cells = {name for name in sizes if name.endswith("Retrieval")}
    assert cells == {
        "PatentCitationRetrieval",
        *(
            f"WIPOAT{query}To{corpus}Retrieval"
            for query in ("TA", "TAC", "Abstract")
            for corpus in ("TA", "TAC", "Abstract")
        ),
    } - {"WIPOATTACToTACRetrieval"}
    assert wipo.distinct_texts == len({text for name in views.columns if name != "_id" for text in views[name]})
    assert wipo.lacking.keys() >= {"claims", "labels", "expert"}

    dapfam = by_recipe["dapfam"]
    assert "claims" not in dict(setting.split("=") for setting in dapfam.settings)["require"]
    recipes.find("dapfam").build(bare.patents, links, tmp_path, *recipes.check_settings("dapfam", dapfam.settings))
    relations = pl.read_parquet(tmp_path / "datalyes" / "DAPFAM_patent" / "qrels_all.parquet").filter(
        pl.col("relevance_score") > 0
    )
    assert dapfam.queries == relations["query_id"].n_unique()
    assert dapfam.attempts[0].settings == ()
    assert dapfam.attempts[0].problem


def test_what_cannot_be_is_said_with_the_reason_of_the_recipe():
    alone = [Patent(f"US{number}B2", f"F{number}", "Pump", f"Pump {number}.") for number in range(8000001, 8000011)]
    found = inspection.inspect(Collection(alone))
    assert not any(plan.possible for plan in found.plans)
    assert all(plan.problem and plan.lacking["citations"] for plan in found.plans)
    document = json.loads(json.dumps(found.as_json()))
    assert [plan["possible"] for plan in document["plans"]] == [False] * 5
    assert document["matching"]["family"]["links"] == 0
