"""Families by each definition, against references that know nothing of union-find."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from family_ids import family_ids, joined_families
from family_tables import write_families
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from patent_mteb.errors import DataError
from patent_mteb.files import write_parquet
from patent_mteb.patents import families
from patent_mteb.patents.collection import Collection, read_collection, with_families
from patent_mteb.patents.records import Citation, Patent, Relation, write_records

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
        found = family_ids(patents, relations, definition=definition)
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
    assert family_ids(patents, relations, table) == {
        "EP1000000A1": "19768124",
        "US20130000001A1": "F2",
        "US6093011A": "19768124",
        "US8000001B2": "F2",
    }
    with pytest.raises(DataError, match="choose among given, joined, application, simple, extended"):
        with_families(Collection(patents, []), "docdb")


@pytest.mark.parametrize("definition", families.DEFINITIONS)
def test_records_of_one_publication_in_two_spellings_are_one_family(definition):
    patents = [Patent("US8000001B2", "1"), Patent("US 8,000,001 B2", "2"), Patent("EP1000000A1", "3")]
    found = with_families(Collection(patents), definition)[0].patents
    first, second, other = (patent.family_id for patent in found)
    assert first == second != other


def test_a_records_directory_is_read_as_a_whole(tmp_path):
    patents = [Patent("EP1000000A1", "a"), Patent("EP1000000B1", "b"), Patent("US6093011A", "c")]
    write_records(tmp_path / "patents" / "one.parquet", Patent, patents[:2])
    write_records(tmp_path / "patents" / "two.parquet", Patent, patents[2:])
    write_records(tmp_path / "citations" / "one.parquet", Citation, [Citation("EP1000000A1", "US6093011A")])
    write_records(
        tmp_path / "relations" / "one.parquet", Relation, [Relation("EP1000000B1", "EP1000000A1", "pre-grant")]
    )
    write_families(tmp_path / "families.parquet", {"US6093011A": "X", "NL1010536C2": "X"})
    whole = read_collection(tmp_path)
    assert [patent.family_id for patent in whole.patents] == ["a", "b", "X"]
    assert (len(whole.citations), len(whole.relations), whole.family_definition) == (1, 1, "given")
    assert dict(whole.families.iter_rows())["NL1010536C2"] == "X"
    assert [patent.family_id for patent in read_collection(tmp_path, definition="application").patents] == [
        "EP1000000A1",
        "EP1000000A1",
        "US6093011A",
    ]
    assert list(read_collection(tmp_path / "patents", tmp_path / "citations").patents) == list(whole.patents)
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


def _grouped(patents: list[Patent], relations: list[Relation] = (), table: dict[str, str] | None = None) -> list[str]:
    """Return the joined families of the records as words of their publications; any order must give the same."""
    found = joined_families(patents, relations, table)
    for seed in range(4):
        draw = random.Random(seed)
        shuffled = [draw.sample(list(one), len(one)) for one in (patents, relations)]
        assert joined_families(*shuffled, table) == found
    groups: dict[str, list[str]] = {}
    for patent in patents:
        groups.setdefault(found[0][patent.publication_number], []).append(patent.publication_number)
    return sorted(" ".join(sorted(group)) for group in groups.values())


def _alone(*numbers: str, **fields: str) -> list[Patent]:
    """Return records as a list without a family column gives them."""
    return [Patent(number, number, **fields) for number in numbers]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("EP3000000A1", "EP3000000A9", True),
        ("EP3000000A1", "EP3000000B1", True),
        ("EP3000000B1", "EP3000000B2", True),
        ("EP3000000A2", "EP3000000A3", True),
        ("EP 3 000 000 A1", "EP3000000B1", True),
        ("EP3000000", "EP3000000B1", True),
        ("EP3000000A1", "EP3000001A1", False),
        ("WO2019123456A1", "WO2019123456A8", True),
        ("DE102006031298A1", "DE102006031298B4", True),
        ("DE60012345D1", "DE60012345T2", True),
        ("DE112014001234T5", "DE112014001234B4", True),  # the German text of a PCT application, and its patent
        ("SE9812345L", "SE9812345D0", True),
        ("NO20051234D0", "NO20051234A", True),
        ("US2013000001A1", "US2013000001A9", True),
        ("US8930553B2", "US8930553C1", True),
        ("US8930553B2", "USD930553S1", False),
        ("DE1912345U", "DE1912345A1", False),  # a utility model of 1965 and an application of 1970
        ("KR20040032451A", "KR20040032451U", False),
        ("CN101123456A", "CN101123456B", True),
        ("CN1100000A", "CN1100000C", False),  # until 2007 patents had numbers of their own
        ("JPH0812345A", "JPH0812345B2", False),
        ("JP2000123456A", "JP2000123456U", False),
        ("PL213456A1", "PL213456B1", False),
        ("AU512385A", "AU512385B2", False),
        ("AU2004201234A1", "AU2004201234B2", True),
        ("case 17", "case 18", False),
    ],
)
def test_publications_of_one_application_by_number(one, other, same):
    patents = _alone(one, other)
    for definition in ("joined", "application", "simple", "extended"):
        found = family_ids(patents, definition=definition)
        assert (found[one] == found[other]) == same, definition
    assert _grouped(patents) == sorted([" ".join(sorted([one, other]))] if same else [one, other])


def test_all_kinds_of_one_application_are_one_family_and_it_is_counted():
    kinds = _alone("EP3000000A1", "EP3000000A9", "EP3000000B1", "EP3000000B2", "EP3000001A1")
    found, joined_by = joined_families(kinds)
    assert found == dict.fromkeys([f"EP3000000{kind}" for kind in ("A1", "A9", "B1", "B2")], "EP3000000A1") | {
        "EP3000001A1": "EP3000001A1"
    }
    assert joined_by == {"application": 3, "priorities": 0, "members": 0}


def test_one_serial_of_several_applications_joins_nothing():
    """The third has no application number, so it could be of either."""
    patents = [
        *_alone("ES2000001A1", application_number="ES200001234"),
        *_alone("ES2000001B1", application_number="ES201809876"),
        *_alone("ES2000001B2"),
    ]
    assert _grouped(patents) == ["ES2000001A1", "ES2000001B1", "ES2000001B2"]
    national = [
        *_alone("EP3000000A1", application_number="PCT/EP2019/012345"),
        *_alone("EP3000000B1", application_number="19712345.6"),
    ]
    assert _grouped(national) == ["EP3000000A1 EP3000000B1"]  # a PCT application has a national number too


def test_one_serial_of_several_applications_that_only_relations_know_joins_nothing():
    filed = {"ES2000001A1": "ES200001234", "ES2000001B1": "ES201809876"}
    relations = [Relation(number, application, "application") for number, application in filed.items()]
    assert _grouped(_alone(*filed), relations) == sorted(filed)


def test_a_number_without_kind_code_is_the_only_publication_that_it_can_be():
    known = ["EP1000000A1", "EP 1 000 000 A1", "US8000001B1", "US8000001B2"]
    written = ["EP 1000000", "EP1000000B1", "US8,000,001", "US8000001B2", "FR3000000", " case 17 "]
    expected = ["EP1000000A1", "EP1000000B1", "US8000001", "US8000001B2", "FR3000000", "case 17"]
    numbers, of_known = (families.parsed(pl.Series(one)) for one in (written, known))
    assert list(families.completed(numbers, of_known)["name"]) == expected


def test_application_numbers_join_within_an_office_only():
    patents = [
        *_alone("EP3000000A1", application_number="EP19712345.6"),
        *_alone("EP3000009B1", application_number="19712345"),
        *_alone("KR20190012345A", application_number="?"),
        *_alone("KR20190012346A", application_number="?"),
        *_alone("FR3000000A1", application_number="no. 77"),
        *_alone("IT3000000A1", application_number="no. 77"),
    ]
    assert _grouped(patents) == [
        "EP3000000A1 EP3000009B1",
        "FR3000000A1",
        "IT3000000A1",
        "KR20190012345A",
        "KR20190012346A",
    ]


def test_lists_of_members_that_overlap_are_one_family():
    lists = {
        "EP3000000A1": ["US2018000001A1", "JP2018000001A"],
        "CN109000001A": ["KR20180000001A", "JP2018000001A"],  # overlaps the first in a publication without a record
        "US2018000001A1": ["EP3000000A1"],
        "DE102018000001A1": ["FR3000001A1"],
    }
    relations = [Relation(number, member, "member") for number, members in lists.items() for member in members]
    # as the reader of tables does: the family is named after the first of the list
    patents = [Patent(number, min(number, *members)) for number, members in lists.items()]
    assert _grouped(patents, relations) == ["CN109000001A EP3000000A1 US2018000001A1", "DE102018000001A1"]
    found, joined_by = joined_families(patents, relations)
    assert found["JP2018000001A"] == found["KR20180000001A"] == "CN109000001A"
    assert joined_by == {"application": 0, "priorities": 0, "members": 1}
    # the same lists leave the families of a source as they are
    stated = [Patent(number, f"{row // 2}") for row, number in enumerate(lists)]
    assert _grouped(stated, relations) == ["CN109000001A EP3000000A1", "DE102018000001A1 US2018000001A1"]


def _claims(**priorities: list[str]) -> tuple[list[Patent], list[Relation]]:
    relations = [Relation(number, one, "priority") for number, claimed in priorities.items() for one in claimed]
    return _alone(*priorities), relations


def test_exactly_the_same_priorities_are_one_family():
    german, american = "DE102017123456", "US62600123"
    patents, relations = _claims(
        EP3000000A1=[german, american],
        US2018000001A1=["US 62/600,123", "DE 10 2017 123 456"],
        CN109000001A=[german],
        KR20180000001A=["DE 10 2017 123 456.1"],
        JP2018000001A=["2017-12-15"],  # neither dates nor numbers without an office say that two are the same
        FR3000001A1=["2017-12-15"],
        IT3000001A1=[],
        GB3000001A=[],
    )
    patents += _alone("DE102017123456A1", application_number=german)  # the first filing
    expected = [
        "CN109000001A DE102017123456A1 KR20180000001A",
        "EP3000000A1 US2018000001A1",
        "FR3000001A1",
        "GB3000001A",
        "IT3000001A1",
        "JP2018000001A",
    ]
    assert _grouped(patents, relations) == expected
    assert joined_families(patents, relations)[1] == {"application": 0, "priorities": 3, "members": 0}


def test_the_regional_phase_of_a_pct_application_is_of_its_family_by_priorities_only():
    filed = {"WO2019123456A1": "PCT/EP2018/012345", "EP3700000A1": "EP18812345", "EP3700000B1": ""}
    patents = [Patent(number, number, application_number=application) for number, application in filed.items()]
    assert _grouped(patents) == ["EP3700000A1 EP3700000B1", "WO2019123456A1"]
    priorities = [Relation(number, "DE102017123456", "priority") for number in list(filed)[:2]]
    assert _grouped(patents, priorities) == ["EP3700000A1 EP3700000B1 WO2019123456A1"]
    assert _grouped(patents, priorities[:1]) == ["EP3700000A1 EP3700000B1", "WO2019123456A1"]


def test_families_of_the_source_are_joined_by_their_applications_only():
    claimed = [Relation(number, "US62600123", "priority") for number in ("EP1000000A1", "US2018000001A1", "CN109000A")]
    patents = [Patent("EP1000000A1", "71"), Patent("EP1000000B1", "72"), Patent("US2018000001A1", "73")]
    assert _grouped(patents, claimed) == ["EP1000000A1 EP1000000B1", "US2018000001A1"]
    assert joined_families(patents)[0]["EP1000000B1"] == "71"
    # one without a family joins the only family with its priorities, and none of two
    alone = Patent("CN109000A", "CN109000A")
    assert _grouped([*patents, alone], claimed) == ["CN109000A", "EP1000000A1 EP1000000B1", "US2018000001A1"]
    assert _grouped([*patents[:2], alone], claimed) == ["CN109000A EP1000000A1 EP1000000B1"]
    # a table of families is the source's as well
    table = {"US2018000001A1": "71", "CN109000A": "80", "KR20180000001A": "80"}
    assert _grouped([*patents, alone], claimed, table) == ["CN109000A", "EP1000000A1 EP1000000B1 US2018000001A1"]
    assert joined_families([alone], claimed, table)[0]["KR20180000001A"] == "80"


@pytest.mark.parametrize("seed", range(25))
def test_joined_families_against_connected_components(seed):
    patents, relations = _world(seed)
    numbers = [patent.publication_number for patent in patents]
    states = {patent.publication_number for patent in patents if patent.family_id == "F1"}
    lists = [one for one in relations if one.kind == "member" and one.number not in states]
    per_application = _components(_edges(patents, relations, {"application", "pre-grant"}), [*NUMBERS])
    settled = {per_application[number] for number in {*states, *(one.number for one in lists)}}
    claimed: dict[int, set[str]] = {}
    filed: dict[int, set[str]] = {}
    for patent in patents:
        if patent.application_number:
            filed.setdefault(per_application[patent.publication_number], set()).add(patent.application_number)
    for one in relations:
        target = claimed if one.kind in ("priority", "provisional") else filed
        if one.kind in ("priority", "provisional", "application"):
            target.setdefault(per_application[one.number], set()).add(one.related)
    basis = {**filed, **claimed}

    def nodes(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(f"group {per_application[one]}", f"group {per_application[other]}") for one, other in pairs]

    edges = [(f"group {per_application[patent.publication_number]}", patent.family_id) for patent in patents]
    # a publication without a record is of the family of the last publication that names it
    further = {
        one.related: next(p.family_id for p in patents if p.publication_number == one.number)
        for one in relations
        if one.kind in ("member", "pre-grant") and one.related not in numbers
    }
    edges += [(f"group {per_application[number]}", family) for number, family in further.items()]
    before = _components(edges, [f"group {group}" for group in per_application.values()])
    equal = [(one, other) for one in basis for other in basis if one < other and basis[one] == basis[other]]
    for one, other in equal:
        rivals = {before[f"group {group}"] for group in basis if group in settled and basis[group] == basis[one]}
        if not {one, other} <= settled and (not {one, other} & settled or len(rivals) == 1):
            edges.append((f"group {one}", f"group {other}"))
    edges += nodes([(one.number, one.related) for one in lists])
    expected = _components(edges, [])
    found = family_ids(patents, relations, definition="joined")
    assert _partition(found, numbers) == _partition(
        {number: expected[f"group {per_application[number]}"] for number in numbers}, numbers
    )
    assert {found[number] for number in numbers} <= {patent.family_id for patent in patents}
