"""The rules that decide what an open benchmark judges, each worked out by hand on the twelve publications."""

import datetime as dt
from dataclasses import replace

import open_us_patents as world
import pytest
from open_us_patents import D1, D2, D3, D4, D5, D6, D7, Q1, Q2, citation

from patent_mteb.errors import DataError
from patent_mteb.experiments import editions
from patent_mteb.models import bm25
from patent_mteb.patents.collection import citing_application
from patent_mteb.patents.records import Citation, Claim
from patent_mteb.recipes.open_us import ancestors
from patent_mteb.tasks import catalogue


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Build an edition and load a task of it by its queries and documents."""

    def build(citations, patents=world.PATENTS, task="TACToTAC", window=world.WINDOW, settings=()):
        root = tmp_path / "-".join([*window.split(":"), *settings]).replace("=", "-")
        log, _ = editions.build(world.collection(patents, citations), root, window, settings=settings)
        monkeypatch.setenv("PATENT_MTEB_DATA", str(root))
        (benchmark,) = catalogue.own_benchmarks()
        (kind,) = [
            one for one in benchmark.task_classes if one.metadata.name.split(".")[0].endswith(f"{task}Retrieval")
        ]
        loaded = kind()
        loaded.load_data()
        return loaded, {step.name: step.note for step in log.steps}

    return build


def with_changes(**changes):
    """Return the publications with other dates, claims or numbers."""
    return [replace(one, **changes.get(one.publication_number, {})) for one in world.PATENTS]


def test_documents_of_a_parent_claim_are_unjudged_for_its_dependents(built):
    claims = (Claim(1, "A rotor."), Claim(2, "It, red.", (1,)), Claim(3, "It, round.", (2,)), Claim(4, "A method."))
    citations = [
        citation(1, D1, "X", (1,)),
        citation(1, D2, "Y", (2,)),
        citation(1, D3, "Y", (3,)),
        citation(1, D7, "X", (4,)),
        citation(1, D6, "X", ()),  # against claims that the source does not name
    ]
    task, notes = built(citations, with_changes(**{Q1: {"claims": claims}}), "ClaimToTAC")
    assert "4 documents cited without a claim, unjudged; 3 documents of a parent claim, unjudged" in notes["claims"]
    assert task.tables.qrels == {
        f"{Q1}#1": {D1: 3, D2: 0, D3: 0, D7: 0},  # what only dependents needed is not relevant to the parent
        f"{Q1}#2": {D2: 2, D3: 0, D7: 0},
        f"{Q1}#3": {D3: 2, D7: 0},
        f"{Q1}#4": {D1: 0, D2: 0, D3: 0, D7: 3},
    }
    assert task.tables.qrels.keys() == task.tables.queries.keys()


def test_ancestors_are_found_over_several_parents_and_in_a_circle():
    assert ancestors({1: (), 2: (1,), 3: (1,), 4: (2, 3)}, 4) == {1, 2, 3}
    assert ancestors({1: (2,), 2: (1,)}, 1) == {2}


def test_rejections_by_statute_are_slices(built):
    def listed(document, statute):
        """What the Office Action Citations API gives: no category, claim or date."""
        return Citation(citing_application("US17000001"), document, statutes=(statute,))

    citations = [
        replace(citation(1, D1, "X", (1, 2)), statutes=("102",)),
        replace(citation(1, D2, "Y", (1,)), statutes=("103",)),
        citation(1, D3, "A", (3,)),
        listed(D3, "103"),
        citation(1, D6, "X", (3,)),
        listed(D6, "102"),
        listed(D6, "103"),
        citation(1, D7, "Y", (3,)),  # no source names the statute
        listed(D5, "102"),  # without a category it does not count
    ]
    task, _ = built(citations)
    slices = task.tables.slices
    assert slices["statute_102"] == {Q1: {D1: 3, D6: 3}}
    assert slices["statute_103"] == {Q1: {D2: 2, D3: 1, D6: 3}}
    claims, _ = built(citations, task="ClaimToTAC")
    assert claims.tables.slices["statute_102"] == {f"{Q1}#1": {D1: 3}, f"{Q1}#2": {D1: 3}, f"{Q1}#3": {D6: 3}}
    assert claims.tables.slices["statute_103"] == {f"{Q1}#1": {D2: 2}, f"{Q1}#3": {D3: 1, D6: 3}}


ACTIONS = [
    citation(1, D1, "X", (1,), day="2021-05-01"),
    citation(1, D3, "A", (3,), day="2021-05-01"),
    citation(1, D2, "Y", (1,), day="2021-11-01"),  # the final rejection
    citation(2, D7, "A", (1,), day="2021-12-01"),  # a first action without X or Y
    citation(2, D4, "X", (1,), day="2022-02-01"),
    replace(citation(1, D1, "X", (1,), day="2021-11-15"), citing=citing_application("US16000005")),  # D5
]


@pytest.mark.slow
def test_with_first_action_windows_share_no_query(built):
    windows = ("2021-01-01:2021-06-30", "2021-07-01:2021-12-31", "2022-01-01:2022-06-30")
    usual = [set(built(ACTIONS, window=one)[0].tables.queries) for one in windows[:2]]
    assert usual == [{Q1}, {Q1, D5}]
    first = [set(built(ACTIONS, window=one, settings=["first_action=true"])[0].tables.queries) for one in windows[:2]]
    assert first == [{Q1}, {D5}]
    with pytest.raises(DataError, match="no application has an X or Y citation in their first office action"):
        built(ACTIONS, window=windows[2], settings=["first_action=true"])


def test_what_the_first_action_raised_is_a_slice(built):
    task, _ = built(ACTIONS)
    assert task.tables.qrels == {Q1: {D1: 3, D3: 1, D2: 2}, Q2: {D7: 1, D4: 3}, D5: {D1: 3}}
    assert task.tables.slices["first_action"] == {Q1: {D1: 3, D3: 1}, Q2: {D7: 1}, D5: {D1: 3}}


PCT = "WO2019000006A1"
FILED_EARLIER = [
    citation(1, D1, "X", (1,)),
    citation(1, D4, "X", (1,)),  # US, filed 2017-12-01, published on the priority day of Q1, 2019-07-01
    citation(1, D5, "Y", (2,)),  # US, filed 2018-08-01, published 2020-02-06
    citation(1, PCT, "X", (1,)),  # PCT, filed 2018-06-01, published 2019-12-01
    citation(1, D7, "X", (1,)),  # the same days, of the EPO
    citation(1, D3, "X", (1,)),  # US, filed 2019-07-01 itself
]
LATE = {"publication_date": dt.date(2019, 12, 1), "priority_date": dt.date(2018, 6, 1)}
LATER = with_changes(
    **{
        D6: {"publication_number": PCT, **LATE},
        D7: LATE,
        D3: {"publication_date": dt.date(2020, 12, 1), "priority_date": dt.date(2019, 7, 1)},
    }
)


def test_the_effective_gate_admits_what_was_filed_before(built):
    published, notes = built(FILED_EARLIER, LATER)
    assert "5 citations of documents that were not public before the query's priority date" in notes["citations"]
    assert published.tables.qrels == {Q1: {D1: 3}}
    assert "earlier_filed" not in published.tables.slices
    assert not any(published.tables.gate.admits(Q1, one) for one in published.tables.corpus if one != D1 and one != D2)
    effective, notes = built(FILED_EARLIER, LATER, settings=["gate=effective"])
    assert "2 citations of documents that were neither public nor filed before" in notes["citations"]
    assert effective.tables.qrels == {Q1: {D1: 3, D4: 3, D5: 2, PCT: 3}}
    assert effective.tables.slices["earlier_filed"] == {Q1: {D4: 3, D5: 2, PCT: 3}}
    ranked = effective.rank(bm25()).to_dict()[Q1]
    assert {D1, D4, D5} <= set(ranked)
    assert not {D3, D7} & set(ranked)
