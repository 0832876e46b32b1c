"""Families, twins and matching before every recipe, through ``recipes.run`` and the command line."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from family_ids import joined_families
from family_tables import write_families
from small_data import TEN_CITATIONS, TEN_PATENTS
from small_patents import part_of_the_sample

from patent_mteb import cli, recipes, sample
from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.on_disk import stored
from patent_mteb.patents.records import Citation, Patent, write_records
from patent_mteb.recipes import Common, prepare
from patent_mteb.recipes.beir import read_beir
from patent_mteb.recipes.steps import BuildLog


def steps(log):
    return {step.name: step for step in log.steps}


@pytest.fixture(scope="module")
def some():
    patents, citations = part_of_the_sample(100)
    return [replace(one, labels=()) for one in patents], citations


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
        recipes.run("wipo_at", Collection(patents, blurred), tmp_path / "none", ["match=number"])
    log = recipes.run("wipo_at", Collection(patents, blurred), tmp_path / "kind")
    whole = recipes.run("wipo_at", Collection(patents, citations), tmp_path / "whole")
    assert read_beir(tmp_path / "kind/WIPO-AT").qrels == read_beir(tmp_path / "whole/WIPO-AT").qrels
    assert log.deviations == [f"citations find also another publication of the same application: its number without kind code, its "
                              f"pre-grant publication, its grant: {len(citations)} links of {len(citations)} citations"]  # fmt: skip
    assert steps(log)["citations matched by kind"].rows_out == steps(whole)["citations matched by kind"].rows_out
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
    log = recipes.run("wipo_at", Collection(patents, [*citations, *odd]), tmp_path)
    step = steps(log)["citations matched by kind"]
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
    log = recipes.run("wipo_at", Collection(patents, TEN_CITATIONS), tmp_path, ["families=application"])
    assert (steps(log)["families: application"].rows_in, steps(log)["families: application"].rows_out) == (8, 9)
    assert log.deviations == ["patent families are publications of one application"]
    assert "FR5A" not in read_beir(tmp_path / "WIPO-AT").qrels["DE4A"]


PAIRS = 12


@pytest.fixture(scope="module")
def list_without_families(tmp_path_factory):
    """EP A1 with their B1 of the same words, each of which cites another; imported from a table."""
    folder = tmp_path_factory.mktemp("list")
    rows = ["Publication Number;Title;Abstract;Claims;Cited Patents"]
    for number in range(PAIRS):
        words = [f"word{number}x{place}" for place in range(12)]
        for kind, cited in (("A1", f"EP2{number:06}A1"), ("B1", "")):
            rows.append(f"EP3{number:06}{kind};{' '.join(words[:3])};{' '.join(words)};1. {kind};{cited}")
        rows.append(f"EP2{number:06}A1;{' '.join(words[:2])} old;{' '.join(words[:8])} former;;")
    (folder / "list.csv").write_text("\n".join(rows))
    assert cli.main(["data", "import", str(folder / "list.csv"), "--out", str(folder / "records")]) == 0
    return folder / "records"


@pytest.mark.slow
def test_the_own_grant_is_excluded_without_a_family_column(list_without_families, tmp_path, monkeypatch, capsys):
    """Review, own data, finding 1: .6309 = 1/log2(3), as the own B1 was the first hit and the cited one the second."""
    records = str(list_without_families)
    assert cli.main(["data", "build", "wipo_at", records, str(tmp_path / "joined"), "--name", "Mine"]) == 0
    printed = capsys.readouterr()
    assert "12 joined to another by one application" in " ".join(printed.out.split())
    assert "twins=merge" not in printed.out + printed.err
    assert read_beir(tmp_path / "joined/WIPO-AT").qrels["EP3000000B1"] == {"EP2000000A1": 1}
    given = ["data", "build", "wipo_at", records, str(tmp_path / "given"), "--name", "Mine", "--set", "families=given"]
    assert cli.main(given) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "12 of 12 citing families have the title and abstract of another family" in printed
    assert "--set twins=merge" in printed
    scores = {}
    for name in ("joined", "given"):
        monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / name))
        out = tmp_path / f"results {name}"
        assert cli.main(["run", "-t", "MineCitationRetrieval", "-m", "mteb/baseline-bm25s", "--out", str(out)]) == 0
        (path,) = out.rglob("MineCitationRetrieval*.json")
        ((entry,),) = json.loads(path.read_text())["scores"].values()
        scores[name] = entry["ndcg_at_10"], entry["n_queries"]
    assert scores == {"joined": (1.0, 2 * PAIRS), "given": (pytest.approx(1 / math.log2(3), abs=1e-5), PAIRS)}


def test_inspect_says_what_each_rule_adds(list_without_families, capsys):
    records = str(list_without_families)
    assert cli.main(["data", "inspect", records, "--most", "0"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "36 publications of 24 patent families (joined)" in page
    assert "12 given families are joined to another by one application: its number, or one office and serial" in page
    assert "by exactly the same priorities" not in page
    assert cli.main(["data", "inspect", records, "--most", "0", "--families", "given"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "36 publications of 36 patent families (given)" in page
    assert "12 given families --families joined would join to another by one application" in page


def test_citations_that_a_step_adds_are_a_deviation_only_if_there_are_any():
    """The default finds the B2 of a cited A1; a citation of the record itself needs no step."""
    patents = [Patent("EP3000000A1", "1"), Patent("EP2000000B1", "2")]
    for cited, added in (("EP 2 000 000 B1", 0), ("EP2000000A1", 1)):
        log = BuildLog("mine")
        _, report = prepare(Collection(patents, [Citation("EP3000000A1", cited)]), Common(), log)
        assert (report.links, report.through_kind, len(log.deviations)) == (1, added, added)
    by_number = Common(match="number")
    _, report = prepare(Collection(patents, [Citation("EP3000000A1", "EP2000000A1")]), by_number, BuildLog("mine"))
    assert (report.links, report.beyond()["kind"]) == (0, 1)


@pytest.mark.parametrize(("alike", "warned"), [(1, False), (2, True)])
def test_a_build_warns_of_near_duplicates_of_many_queries(alike, warned, caplog):
    """2 of 40 citing families are 5 percent, 1 is less."""
    patents = [Patent(f"US{8000000 + row}B2", f"F{row}", f"Pump {row}", f"A pump {row}.") for row in range(42)]
    citations = [Citation(one.publication_number, patents[41].publication_number) for one in patents[:40]]
    copies = [
        replace(one, publication_number=f"CN10900000{row}A", family_id=f"C{row}") for row, one in enumerate(patents)
    ]
    everything = [*patents, *copies[:alike], copies[40]]  # the last copy is of a patent that does not cite
    said = f"{alike} of 40 citing families have the title and abstract of another family"
    for hold in (list, stored):
        caplog.clear()
        log = BuildLog("mine")
        prepare(Collection(hold(everything), citations), Common(), log)
        assert any(said in record.message for record in caplog.records) == warned
        assert ("queries with twins" in steps(log)) == warned
        assert steps(log)["twins: keep"].note.startswith(f"{2 * alike + 2} publications share")
        assert not log.deviations
    assert not warned or (steps(log)["queries with twins"].rows_in, steps(log)["queries with twins"].rows_out) == (
        40,
        38,
    )
    caplog.clear()
    prepare(Collection(everything, citations), Common(twins="merge"), BuildLog("mine"))
    assert said not in caplog.text


def test_families_are_those_of_the_source_where_it_has_them():
    defaults = {}
    for recipe in (*recipes.RECIPES, *recipes.OPEN_RECIPES, *recipes.PUBLIC_RECIPES):
        of_every = {one.name: one.default for one in recipes.settings(recipe)}
        defaults[recipe] = of_every["match"], of_every["families"]
    expected = dict.fromkeys(recipes.RECIPES, ("kind", "joined"))
    expected |= dict.fromkeys(("open_ep", *recipes.PUBLIC_RECIPES), ("number", "given"))
    assert defaults == expected | dict.fromkeys(("open_us", "open_us_grants"), ("number", "extended"))
    with pytest.raises(DataError, match=r"the default is families=extended"):
        recipes.check_settings("open_us", ["families=mine"])


def test_the_sample_has_families_that_nothing_joins():
    """Its families are stated, as the papers' are, so that the default changes no table."""
    patents, _ = sample.load()
    found, joined_by = joined_families(patents)
    assert joined_by == {"application": 0, "priorities": 0, "members": 0}
    assert found == {one.publication_number: one.family_id for one in patents}


def test_a_records_directory_and_patents_without_citations(tmp_path, capsys):
    """Families with members that have no record: a citation of the member finds the record, where asked."""
    records, root = tmp_path / "records", tmp_path / "root"
    write_records(records / "patents/one.parquet", Patent, TEN_PATENTS)
    write_records(records / "citations/one.parquet", Citation, [Citation("US1A", "EP7777777A1")])
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
    write_records(tmp_path / "patents.jsonl", Patent, TEN_PATENTS)
    assert cli.main(["data", "build", "wipo_at", str(tmp_path / "patents.jsonl"), str(tmp_path / "labels")]) == 0
    assert (
        not (tmp_path / "labels/WIPO-AT/corpus.jsonl").exists()
        and (tmp_path / "labels/WIPO-AT/labels/Emerging.parquet").exists()
    )
    write_records(tmp_path / "citations.jsonl", Citation, TEN_CITATIONS)
    pair = [str(tmp_path / "patents.jsonl"), str(tmp_path / "citations.jsonl")]
    assert cli.main(["data", "build", "wipo_at", *pair, str(tmp_path / "out")]) == 0
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
