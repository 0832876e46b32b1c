"""Families by each definition, against references that know nothing of union-find."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from patent_mteb.errors import DataError
from patent_mteb.files import write_parquet
from patent_mteb.patents import families
from patent_mteb.patents.collection import read_collection
from patent_mteb.patents.families import Groups
from patent_mteb.patents.records import Citation, Patent, Relation, write_citations, write_patents, write_relations

NUMBERS = (
    [f"US20130{number:05}A1" for number in range(1, 13)]
    + [f"US8{number:06}B2" for number in range(1, 13)]
    + ["EP1000001A1", "EP1000002B1"]
)
APPLICATIONS = [f"US13{number:06}" for number in range(1, 15)]


def _world(seed: int) -> tuple[list[Patent], list[Relation]]:
    draw = random.Random(seed)
    patents = [
        Patent(number, draw.choice(["F1", number, number]), application_number=draw.choice(["", *APPLICATIONS]))
        for number in draw.sample(NUMBERS, 18)
    ]
    relations = []
    for _ in range(14):
        kind = draw.choice(
            ["member", "pre-grant", "application", "priority", "priority", "provisional", "continuation"]
        )
        related = draw.choice(NUMBERS if kind in ("member", "pre-grant") else APPLICATIONS)
        relations.append(Relation(draw.choice(patents).publication_number, related, kind))
    return patents, relations


def _components(edges: list[tuple[str, str]], nodes: list[str]) -> dict[str, int]:
    """Connected components by SciPy."""
    names = sorted({*nodes, *(end for edge in edges for end in edge)})
    place = {name: number for number, name in enumerate(names)}
    rows, columns = [place[one] for one, _ in edges], [place[other] for _, other in edges]
    _, component = connected_components(
        coo_array((np.ones(len(edges)), (rows, columns)), shape=(len(names), len(names))), directed=False
    )
    return {name: int(component[place[name]]) for name in names}


def _edges(patents: list[Patent], relations: list[Relation], kinds: set[str]) -> list[tuple[str, str]]:
    filed = [(patent.publication_number, patent.application_number) for patent in patents if patent.application_number]
    return filed + [(relation.number, relation.related) for relation in relations if relation.kind in kinds]


def _partition(family: dict[str, object], numbers: list[str]) -> set[frozenset[str]]:
    groups: dict[object, set[str]] = {}
    for number in numbers:
        groups.setdefault(family[number], set()).add(number)
    return {frozenset(group) for group in groups.values()}


@pytest.mark.parametrize("seed", range(25))
def test_definitions_against_connected_components(seed):
    patents, relations = _world(seed)
    numbers = [patent.publication_number for patent in patents]
    per_application = _components(_edges(patents, relations, {"application", "pre-grant"}), numbers)
    extended = _components(
        _edges(patents, relations, {relation.kind for relation in relations})
        + [(patent.publication_number, f"family {patent.family_id}") for patent in patents],
        numbers,
    )
    claimed: dict[int, set[str]] = {}
    filed: dict[int, set[str]] = {}
    for patent in patents:
        filed.setdefault(per_application[patent.publication_number], set()).update(
            [patent.application_number] if patent.application_number else []
        )
    for relation in relations:
        group = per_application.get(relation.number)
        if relation.kind in ("priority", "provisional"):
            claimed.setdefault(group, set()).add(relation.related)
        elif relation.kind == "application":
            filed.setdefault(group, set()).add(relation.related)
    simple = {
        number: (frozenset(claimed.get(group, ()) or filed.get(group, ()))) or group
        for number in numbers
        for group in [per_application[number]]
    }
    for definition, expected in (("application", per_application), ("simple", simple), ("extended", extended)):
        found = families.family_ids(patents, relations, definition=definition)
        assert _partition(found, numbers) == _partition(expected, numbers), definition
        assert set(numbers) <= found.keys()
        assert set(found.values()) <= {*NUMBERS}


def test_given_families_reach_publications_without_a_record():
    patents = [Patent("EP1000000A1", "own"), Patent("US20130000001A1", "F2")]
    table = {"EP1000000A1": "19768124", "US6093011A": "19768124"}
    relations = [
        Relation("US20130000001A1", "US 8,000,001 B2", "pre-grant"),
        Relation("EP1000000A1", "US6093011A", "member"),
    ]
    assert families.family_ids(patents, relations, table) == {
        "EP1000000A1": "19768124",
        "US20130000001A1": "F2",
        "US6093011A": "19768124",
        "US8000001B2": "F2",
    }
    with pytest.raises(DataError, match="choose among given, joined, application, simple, extended"):
        families.family_ids(patents, definition="docdb")


def test_a_records_directory_is_read_as_a_whole(tmp_path):
    patents = [Patent("EP1000000A1", "a"), Patent("EP1000000B1", "b"), Patent("US6093011A", "c")]
    write_patents(tmp_path / "patents" / "one.parquet", patents[:2])
    write_patents(tmp_path / "patents" / "two.parquet", patents[2:])
    write_citations(tmp_path / "citations" / "one.parquet", [Citation("EP1000000A1", "US6093011A")])
    write_relations(tmp_path / "relations" / "one.parquet", [Relation("EP1000000B1", "EP1000000A1", "pre-grant")])
    families.write_families(tmp_path / "families.parquet", {"US6093011A": "X", "NL1010536C2": "X"})
    whole = read_collection(tmp_path)
    assert [patent.family_id for patent in whole.patents] == ["a", "b", "X"]
    assert (len(whole.citations), len(whole.relations), whole.family_definition) == (1, 1, "given")
    assert whole.families["NL1010536C2"] == "X"
    assert [patent.family_id for patent in read_collection(tmp_path, definition="application").patents] == [
        "EP1000000A1",
        "EP1000000A1",
        "US6093011A",
    ]
    assert read_collection(tmp_path / "patents", tmp_path / "citations").patents == list(whole.patents)
    with pytest.raises(DataError, match="has its own citations"):
        read_collection(tmp_path, tmp_path / "citations")
    with pytest.raises(DataError, match="the file is missing"):
        read_collection(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (
            {"publication_number": ["EP1A1", "EP1A1"], "family_id": ["F", "G"]},
            "publication_number 'EP1A1' occurs twice",
        ),
        ({"publication_number": ["EP1A1"], "family_id": [""]}, "publication 'EP1A1' has no family_id"),
        ({"publication_number": ["EP1A1"]}, "column 'family_id' is missing"),
    ],
)
def test_a_bad_table_of_families_is_named(tmp_path, table, problem):
    write_parquet(tmp_path / "families.parquet", pa.table(table))
    with pytest.raises(DataError, match=problem):
        families.read_families(tmp_path / "families.parquet")


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_the_connected_components(seed):
    dice = random.Random(seed)
    things = [f"t{number:02}" for number in range(40)]
    pairs = [(dice.randrange(40), dice.randrange(40)) for _ in range(dice.randint(0, 40))]
    groups = Groups()
    for one, other in pairs:
        groups.connect(things[one], things[other])
    graph = coo_array(([1] * len(pairs), ([one for one, _ in pairs], [other for _, other in pairs])), shape=(40, 40))
    _, component = connected_components(graph, directed=False)
    first = {
        label: min(thing for thing, its in zip(things, component, strict=True) if its == label)
        for label in set(component)
    }
    assert [groups.of(thing) for thing in things] == [first[label] for label in component]
