"""What each recipe needs: the table is that of the settings, of the docs and of what a recipe does; filters against a
naive count.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from needs_table import PAGE, with_table
from small_patents import part_of_the_sample

from patent_mteb import recipes
from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.records import Description
from patent_mteb.recipes.steps import FIELDS, BuildLog, Filter, Funnel, deviations, required

BLANK = {
    "title": {"title": ""},
    "abstract": {"abstract": ""},
    "claims": {"claims": ()},
    "description": {"description": Description()},
    "ipc": {"ipc": ()},
    "filing_date": {"application_date": None, "priority_date": None},
    "publication_date": {"publication_date": None},
    "date": {"application_date": None, "priority_date": None, "publication_date": None},
}
FREE = {
    "patentmap": ["query_offices=", "ipc_offices=XX"],
    "dapfam": ["min_citations=1"],
    "patenteb": ["min_class_families=1"],
}
DROPPING = [
    (recipe, need)
    for recipe in recipes.RECIPES
    for need in recipes.needs(recipe)
    if need.drops and need.field in FIELDS
]


@pytest.fixture(scope="module")
def some():
    return part_of_the_sample(100)


@pytest.mark.parametrize("recipe", recipes.RECIPES)
def test_the_needs_are_those_of_the_settings(recipe):
    needs = recipes.needs(recipe)
    fields = [need.field for need in needs]
    assert len(set(fields)) == len(fields) and set(fields) <= {*FIELDS, "citations", "category"}
    assert recipes.find(recipe).Params().require == required(needs)
    assert deviations(recipes.find(recipe).Params(), needs) == []


def test_the_table_in_the_docs_is_that_of_the_recipes():
    page = PAGE.read_text("utf-8")
    assert page == with_table(page), "write it again: python tests/helpers/needs_table.py"


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "need"), DROPPING, ids=[f"{recipe}-{need.field}" for recipe, need in DROPPING])
def test_a_field_that_no_record_has_is_named(recipe, need, some, tmp_path):
    patents, citations = some
    bare = [replace(one, **BLANK[need.field]) for one in patents]
    with pytest.raises(DataError) as caught:
        recipes.run(recipe, Collection(bare, citations), tmp_path, FREE.get(recipe, []))
    if need.field == "date":  # what has none is in no year
        assert "filed in the years 2021 to 2022: 100 -> 0" in caught.value.problem
    else:
        assert f"0 have {need.field}" in caught.value.problem and f"with {need.field}: " in caught.value.problem
        assert f"add {need.field}" in caught.value.remedy and ("--set require=" in caught.value.remedy) == (
            not need.fixed
        )


def test_filters_are_counted_one_after_the_other_and_the_last_is_explained():
    log = BuildLog("mine")
    items, number = pl.DataFrame({"number": range(60)}), pl.col("number")
    even, third = (Filter(f"divisible by {by}", number % by == 0, f"add some {by}") for by in (2, 3))
    funnel = Funnel(log, "numbers", prefix="one: ")
    left = funnel(items, [even, third])
    assert left["number"].to_list() == list(range(0, 60, 6))
    steps = [(step.name, step.rows_in, step.rows_out) for step in log.steps]
    assert steps == [("one: divisible by 2", 60, 30), ("one: divisible by 3", 30, 10)]
    with pytest.raises(DataError) as caught:
        funnel(left, [Filter("above 60", number > 60, "add greater ones")])
    assert (
        caught.value.problem
        == "mine: 0 of 10 numbers left are above 60 (in order: divisible by 2: 60 -> 30; divisible by 3: 30 -> 10;"
        " above 60: 10 -> 0)"
    )
    assert caught.value.remedy == "add greater ones"
    with pytest.raises(DataError, match="mine: there are no numbers"):
        funnel(items.clear(), [even])


def test_missing_fields_are_all_named_with_the_rest_to_require():
    names = ("title", "claims", "date", "ipc")
    has = [Filter(f"with {name}", pl.col(name), field=name) for name in names]
    rows = pl.DataFrame([(True, False, False, True), (True, False, False, False)], names, orient="row")
    with pytest.raises(DataError) as caught:
        Funnel(BuildLog("mine"), "families", ("title", "claims", "date"))(rows, has)
    assert (
        "0 of 2 families have all that is required: 2 have title, 0 have claims, 0 have date, 1 have ipc"
        in caught.value.problem
    )
    assert (
        caught.value.remedy
        == "add claims and date, or waive the missing fields in 'data build' with --set require=title"
    )


def test_dapfam_names_the_most_citations_and_draws_queries(some, tmp_path):
    """Review §2: "no family has 0 citations within the 2176 families. Remedy: lower min_citations"."""
    patents, citations = some
    message = r"with at least 100 citations: \d+ -> 0\).*lower min_citations \(the most that a family has is \d+\)"
    with pytest.raises(DataError, match=message):
        recipes.run("dapfam", Collection(patents, citations), tmp_path)
    log = recipes.run("dapfam", Collection(patents, citations), tmp_path, ["min_citations=1", "queries=10"])
    (step,) = [step for step in log.steps if step.name == "queries, stratified by year and IPC section"]
    assert step.rows_in > step.rows_out == 10 and "min_citations is 1 instead of 100" in log.deviations
