"""Families, twins and matching before every recipe, through ``recipes.run`` and the command line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_data import TEN_CITATIONS, TEN_PATENTS

from patent_mteb import cli, recipes, sample
from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import write_families
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.records import Citation, write_citations, write_patents
from patent_mteb.recipes.beir import read_beir
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.preparation import Common, prepare


def steps(log):
    return {step.name: step for step in log.steps}


@pytest.fixture(scope="module")
def some():
    patents, citations = sample.generate()
    patents = [replace(one, labels=()) for one in patents[:300]]
    numbers = {one.publication_number for one in patents}
    return patents, [one for one in citations if {one.citing, one.cited} <= numbers]


def without_kind(text):
    return read_number(text).key


@pytest.mark.slow
def test_numbers_without_kind_code_are_counted_and_matched_on_request(some, tmp_path):
    """Review §6: "no citation connects two families. Remedy: add citations" was said of citations that were all
    there.
    """
    patents, citations = some
    blurred = [Citation(one.citing, without_kind(one.cited)) for one in citations]
    with pytest.raises(DataError, match=r"0 links of \d+ citations by number.* more with match=kind.*--set match=kind"):
        recipes.run("wipo_at", patents, blurred, tmp_path / "none")
    log = recipes.run("wipo_at", patents, blurred, tmp_path / "kind", ["match=kind"])
    whole = recipes.run("wipo_at", patents, citations, tmp_path / "whole")
    assert read_beir(tmp_path / "kind/WIPO-AT").qrels == read_beir(tmp_path / "whole/WIPO-AT").qrels
    assert log.deviations == [f"citations find also another publication of the same application: its number without kind code, its "
                              f"pre-grant publication, its grant: {len(citations)} links of {len(citations)} citations"]  # fmt: skip
    assert steps(log)["citations matched by kind"].rows_out == steps(whole)["citations matched by number"].rows_out
    assert whole.deviations == []


@pytest.mark.slow
def test_lost_citations_are_a_step_with_reasons(some, tmp_path):
    """Review §1: "0.5 citation graph 52645 -> 291" and nothing else."""
    patents, citations = some
    odd = [
        Citation("US9999999B2", patents[0].publication_number),
        Citation(patents[0].publication_number, "XX no number"),
        *citations[:1],
    ]
    log = recipes.run("wipo_at", patents, [*citations, *odd], tmp_path)
    step = steps(log)["citations matched by number"]
    assert (step.rows_in, step.rows_out) == (len(citations) + 3, len(citations))
    for reason in (
        "1 of unknown documents",
        "1 to unknown ones",
        "1 repeated",
        "1 numbers unreadable",
        "XX no number have no record",
    ):
        assert reason in step.note


def test_twins_are_counted_and_kept_merged_or_dropped(tmp_path):
    twin = replace(TEN_PATENTS[4], publication_number="CN9A", family_id="F9")
    patents = [*TEN_PATENTS, twin]
    found = {}
    for twins in ("keep", "merge", "drop"):
        log = BuildLog("mine")
        collection, _ = prepare(Collection(patents, TEN_CITATIONS), Common(twins=twins), log)
        step = steps(log)[f"twins: {twins}"]
        assert step.note.startswith("2 publications share title and abstract with one of another family and ")
        assert bool(log.deviations) == (twins != "keep")
        found[twins] = step.rows_out, len({one.family_id for one in collection.patents})
    assert found == {"keep": (11, 9), "merge": (11, 8), "drop": (10, 8)}


def test_families_by_another_definition(tmp_path):
    """One application number for two publications of two given families."""
    patents = [
        replace(one, application_number="DE20100004" if one.family_id in ("F4", "F5") else "") for one in TEN_PATENTS
    ]
    log = recipes.run("wipo_at", patents, TEN_CITATIONS, tmp_path, ["families=application"])
    assert (steps(log)["families: application"].rows_in, steps(log)["families: application"].rows_out) == (8, 9)
    assert log.deviations == ["patent families are publications of one application"]
    assert "FR5A" not in read_beir(tmp_path / "WIPO-AT").qrels["DE4A"]


def test_a_records_directory_and_patents_without_citations(tmp_path, capsys):
    """Families with members that have no record: a citation of the member finds the record, where asked."""
    records, root = tmp_path / "records", tmp_path / "root"
    write_patents(records / "patents/one.parquet", TEN_PATENTS)
    write_citations(records / "citations/one.parquet", [Citation("US1A", "EP7777777A1")])
    write_families(
        records / "families.parquet",
        {**{one.publication_number: one.family_id for one in TEN_PATENTS}, "EP7777777A1": "F7"},
    )
    assert cli.main(["data", "build", "wipo_at", str(records), str(root), "--set", "match=family"]) == 0
    printed = capsys.readouterr().out
    assert (
        "citations matched by family" in printed
        and "differs from the paper: citations find also another member" in printed
    )
    assert read_beir(root / "WIPO-AT").qrels == {query: {"BR7A": 1} for query in ("US1A", "JP1A")}
    write_patents(tmp_path / "patents.jsonl", TEN_PATENTS)
    assert cli.main(["data", "build", "wipo_at", str(tmp_path / "patents.jsonl"), str(tmp_path / "labels")]) == 0
    assert (
        not (tmp_path / "labels/WIPO-AT/corpus.jsonl").exists()
        and (tmp_path / "labels/WIPO-AT/labels/Emerging.parquet").exists()
    )
    write_citations(tmp_path / "citations.jsonl", TEN_CITATIONS)
    pair = [str(tmp_path / "patents.jsonl"), str(tmp_path / "citations.jsonl")]
    assert cli.main(["data", "build", "wipo_at", *pair, "--out", str(tmp_path / "out")]) == 0
    assert len(read_beir(tmp_path / "out/WIPO-AT").queries) == 5


def test_settings_of_every_recipe_are_listed_and_checked(capsys):
    for recipe in recipes.RECIPES:
        assert [one.name for one in recipes.settings(recipe)][-3:] == ["match", "families", "twins"]
        with pytest.raises(
            DataError,
            match=f"setting match of recipe {recipe} cannot be 'kinds', expected: one of number, kind, family",
        ):
            recipes.check_settings(recipe, ["match=kinds"])
        with pytest.raises(DataError, match=r"has no setting 'mach'.*choose among .*, match, families, twins"):
            recipes.check_settings(recipe, ["mach=kind"])
    assert cli.main(["data", "build", "sophia", "--settings"]) == 0
    printed = capsys.readouterr().out
    assert "one of keep, merge, drop" in printed and "require" in printed
