"""Every case of ``../shared/cases`` ends as its README says is right. They came in wrong once."""

import pytest
from paths import SHARED

from patent_mteb.patents.collection import read_collection
from patent_mteb.patents.matching import match
from patent_mteb.patents.records import Citation, Patent, Relation, read_records
from patent_mteb.readers.importing import import_files

CASES = SHARED.parent / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="no ../shared/cases")


@pytest.fixture
def imported(tmp_path):
    def run(name):
        (account,) = import_files([CASES / name], tmp_path / "records").accounts
        read = (
            list(read_records(tmp_path / "records" / kind, type_))
            for kind, type_ in (("patents", Patent), ("citations", Citation), ("relations", Relation))
        )
        return *read, {**account.notes, **account.left_out}

    return run


def unread(notes):
    """The examples of numbers that cannot be read, without their rows."""
    tallies = [tally for what, tally in notes.items() if "a number cannot be read" in what]
    return [example.partition(": ")[2] for tally in tallies for example in tally.examples]


def test_an_answer_of_lens_gives_the_same_as_its_objects_one_a_line(imported):
    patents, citations, relations, _ = imported("k01_lens_answer.json")
    assert [one.title for one in patents] == ["Pump 1", "Pump 2", "Pump 3"]
    assert all(one.abstract.startswith("A pump with a housing") for one in patents)
    assert [[claim.depends_on for claim in one.claims] for one in patents] == [[(), (1,)]] * 3
    assert {one.ipc for one in patents} == {("F04B1/00",)}
    assert [(one.citing, one.cited) for one in citations] == [
        ("US10000002B2", "US10000001B2"),
        ("US10000003B2", "US10000001B2"),
    ]
    assert [one.kind for one in relations] == ["application"] * 3


def test_the_members_of_objects_in_lists_are_read(imported):
    patents, citations, _, _ = imported("k02_nested.json")
    assert [one.inventors for one in patents] == [(f"Ann Lee{n}", "Bo Ray") for n in (1, 2, 3)]
    assert {(one.ipc, one.cpc, one.applicants) for one in patents} == {(("F04B1/00",), ("F04B1/00",), ("Acme",))}
    assert {(one.cited, one.category) for one in citations} == {("US9000001B2", "X")}


def test_a_cell_of_64_kilobytes_is_noted_with_a_short_example(imported):
    patents, citations, _, notes = imported("k03_long_cited.csv")
    assert len(patents) == 2 and citations[-1].cited == "US10000011B2"
    assert all(len(example) < 120 for tally in notes.values() for example in tally.examples)


def test_citations_of_literature_are_not_an_abstract(imported):
    patents, _, _, notes = imported("k05_npl.csv")
    assert {one.abstract for one in patents} == {""}
    assert "'NPL Citations'" in notes["columns not read"].examples


def test_the_columns_of_wips_are_read_in_every_row(imported):
    patents, _, relations, _ = imported("k07_wips.csv")
    assert len(patents) == 230 and patents[0].publication_number == "US2012010000"
    assert {one.ipc for one in patents} == {("F04B1/00", "F04B53/10")}
    assert {(one.applicants, one.inventors) for one in patents} == {(("Acme", "Beta"), ("Lee", "Ray"))}
    members = [one for one in relations if one.kind == "member"]
    assert len(members) == 25 and (members[0].number, members[0].related) == ("US2012010205", "US9000205")


@pytest.mark.parametrize("name, links", [("k08_numbers.csv", 4), ("k09_japan.csv", 0)])
def test_cited_numbers_link_to_the_documents_that_they_name(name, links, imported, tmp_path):
    _, citations, _, notes = imported(name)
    linked, _ = match(citations, read_collection(tmp_path / "records"), by="kind")
    assert len(linked) == links
    assert unread(notes) == (["GB0012345.6"] if name == "k08_numbers.csv" else [])


def test_numbers_between_commas_are_citations(imported):
    patents, citations, _, notes = imported("k10_comma.csv")
    own = {one.publication_number for one in patents}
    assert len(citations) == 9 and sum(one.cited in own for one in citations) == 6
    assert unread(notes) == ["Miller: a survey of pumps", "Jones: valves", "Brown: lenses"]


def test_steps_within_a_chinese_claim_are_not_claims(imported):
    patents, _, _, _ = imported("k12_zh_steps.csv")
    assert [[(claim.number, claim.depends_on) for claim in one.claims] for one in patents] == [
        [(1, ()), (2, (1,)), (3, (2,))]
    ] * 2
    assert all("冷却原料" in one.claims[0].text for one in patents)


def test_class_codes_in_other_forms_are_read(imported):
    patents, _, _, _ = imported("k14_ipc.csv")
    assert [code for one in patents for code in one.ipc] == (
        ["F04B1/00", "A61K31/505", "G06F17/30", "H01L21/00", "A61K31/505", "A61K31/506", "C07D401/14"]
    )


def test_a_date_behind_a_number_is_a_remark(imported):
    patents, _, relations, notes = imported("k19_number_with_date.csv")
    assert patents[0].publication_number == "EP1357170B9" and not unread(notes)
    assert [one.related for one in relations if one.kind == "priority"] == ["US60371234", "US62123456", "US62123456"]
