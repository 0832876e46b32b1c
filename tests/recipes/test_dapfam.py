"""The DAPFAM recipe on a part of the sample: relations and their domains against a naive count."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import polars as pl
import pytest
from small_patents import part_of_the_sample

from patent_mteb import recipes
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.records import Description

pytestmark = pytest.mark.slow
EVERYTHING = ["min_citations=1", "queries_per_domain=9999", "positives=9999", "negatives=3"]


@pytest.fixture(scope="module")
def records():
    return part_of_the_sample(240)


def relations(root, records, *settings):
    recipes.run("dapfam", Collection(*records), root, [*EVERYTHING, *settings])
    return list(pl.read_parquet(root / "datalyes/DAPFAM_patent/qrels_all.parquet").iter_rows())


@pytest.fixture(scope="module")
def whole(records, tmp_path_factory):
    return relations(tmp_path_factory.mktemp("dapfam"), records)


def test_families_are_related_by_citations_in_either_direction_and_by_their_ipc3(whole, records):
    patents, citations = records
    family = {one.publication_number: one.family_id for one in patents}
    ipc3 = defaultdict(set)
    for one in patents:
        ipc3[one.family_id] |= {code[:3] for code in one.ipc}
    pairs = {(family[one.citing], family[one.cited]) for one in citations}
    linked = {pair for one, other in pairs if one != other for pair in ((one, other), (other, one))}
    assert len(linked) > 50
    assert {(query, target) for query, target, score, _ in whole if score} == linked
    for query, target, score, domain in whole:
        assert domain == (("IN" if ipc3[query] & ipc3[target] else "OUT") if score else "NC")
        assert score or (query != target and (query, target) not in linked)
    assert {domain for *_, domain in whole} == {"IN", "OUT", "NC"}
    assert set(Counter(query for query, *_, domain in whole if domain == "NC").values()) == {3}


def test_what_is_missing_can_be_waived(whole, records, tmp_path):
    nothing = {"claims": (), "description": Description(), "application_date": None, "priority_date": None}
    bare = [replace(one, **nothing) for one in records[0]]
    assert relations(tmp_path, (bare, records[1]), "require=title,abstract") == whole


def test_caps(whole, records, tmp_path):
    found = relations(tmp_path, records, "positives=2", "queries_per_domain=1", "negatives=9999")
    assert max(Counter(query for query, _, score, _ in found if score).values()) == 2
    main = {one.family_id: one.ipc[0][:3] for one in records[0]}
    queries = {query for query, *_ in found}
    assert len(queries) <= len(set(main.values()))
    for asked in queries:
        linked = {target for query, target, score, _ in whole if query == asked and score}
        unlinked = {target for query, target, score, _ in found if query == asked and not score}
        assert unlinked == main.keys() - linked - {asked}, "all that no citation links, where there are fewer"
