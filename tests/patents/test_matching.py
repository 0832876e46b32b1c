"""From cited numbers to records: a small world by hand, random ones against a naive matcher, the sample in five
styles.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from classes import these_first

from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import families_of
from patent_mteb.patents.matching import match
from patent_mteb.patents.numbers import read_application, read_number
from patent_mteb.patents.on_disk import DiskList, stored
from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.sample import load

WORLD = Collection(
    [
        Patent("EP1000000B1", "ep"),
        Patent("US08930553B2", "us"),
        Patent("DE19714381C2", "de"),
        Patent("JPH0812345A", "jp"),
        Patent("case 17", "own"),
    ],
    relations=[Relation("US8930553B2", "US20140101323A1", "pre-grant")],
    families=families_of({"NL1010536C2": "ep", "US20140101323A1": "us"}),
)
CITED = {
    "EP 1 000 000 B1": ("number", "EP1000000B1"),
    "US8930553B2": ("number", "US08930553B2"),
    "case 17": ("number", "case 17"),
    "EP1000000A1": ("kind", "EP1000000B1"),  # the A1 is cited, the B1 is there
    "US 2014/0101323 A1": ("kind", "US08930553B2"),  # the same application under another number
    "US8,930,553": ("kind", "US08930553B2"),  # without kind code
    "DE 197 14 381": ("kind", "DE19714381C2"),
    "DE19714381U1": ("", ""),  # a utility model has a series of its own
    "JPH0812345B2": ("", ""),  # Japan's B documents of a year are others than its A documents
    "NL-1010536-C2": ("family", "EP1000000B1"),  # a member without a record
    "NL1010536": ("family", "EP1000000B1"),
    "FR2796893A1": ("", ""),
    "case 18": ("", ""),
}


@pytest.mark.parametrize("by", ["number", "kind", "family"])
def test_a_small_world(by):
    steps = ["number", "kind", "family"]
    citations = [Citation("case 17" if cited != "case 17" else "EP1000000B1", cited) for cited in CITED]
    links, report = match(citations, WORLD, by)
    allowed = steps[: steps.index(by) + 1]
    expected = {record for step, record in CITED.values() if step in allowed}
    assert {citation.cited for citation in links if citation.citing == "case 17"} == expected - {"case 17"}
    found = [step for step, _ in CITED.values()]
    assert (report.exact, report.through_kind, report.through_family) == tuple(found.count(step) for step in steps)
    assert report.matched == sum(found.count(step) for step in allowed)
    assert report.unknown_cited == len(CITED) - report.matched
    assert report.unknown_citing == report.own_family == 0
    assert report.unreadable == 2
    assert report.examples == tuple(cited for cited, (step, _) in CITED.items() if step not in allowed)[:5]
    assert report.links == len(links) == report.matched - report.duplicates


def test_a_number_that_fits_records_of_two_series_is_matched_by_neither():
    records = Collection([Patent("JP3123456B2", "b"), Patent("JP3123456U", "u"), Patent("JPH07123456A", "a")])
    expected = {
        "JP3123456": "",  # a patent or a utility model
        "特許第3123456号": "JP3123456B2",
        "実用新案登録第3123456号": "JP3123456U",
        "特公平7-123456": "",  # not the unexamined document with the same number
        "JP 7-123456": "JPH07123456A",
    }
    for cited, record in expected.items():
        links, _ = match([Citation("JP3123456U" if record != "JP3123456U" else "JPH07123456A", cited)], records, "kind")
        assert [link.cited for link in links] == [record] * bool(record), cited


def test_dropped_citations_are_counted_and_the_best_category_stays():
    citations = [
        Citation("EP1000000B1", "US8930553B2", "A", claims=(3,), passages=("p. 1",), phase="search"),
        Citation("EP 1000000 B1", "US-8930553-B2", "XD", "examiner", claims=(1, 2)),
        Citation("EP1000000B1", "US8930553B2", "Y", passages=("p. 2", "p. 1")),
        Citation("EP1000000B1", "EP1000000A1"),
        Citation("EP9999999A1", "US8930553B2"),
        Citation("EP9999999A1", "US9999999B2"),
        Citation("EP1000000B1", "US9999999B2"),
    ]
    links, report = match(citations, WORLD, "kind")
    assert links == [
        Citation("EP1000000B1", "US08930553B2", "XD", "examiner", claims=(1, 2, 3), passages=("p. 1", "p. 2"))
    ]
    assert (report.citations, report.matched, report.links, report.duplicates, report.own_family) == (7, 4, 1, 2, 1)
    assert (report.unknown_citing, report.unknown_cited, report.examples) == (2, 1, ("US9999999B2",))
    assert (
        "1 links of 7 citations by kind, 2 of unknown documents, 1 to unknown ones, 1 within a family, 2 repeated"
        in str(report)
    )
    with pytest.raises(DataError, match="number, kind, family"):
        match(citations, WORLD, "docdb")


def test_each_citation_of_a_pair_stays_if_it_differs():
    one = Citation("EP1000000B1", "US8930553B2", "X", claims=(1,), passages=("p. 1",))
    exact = Citation("EP1000000B1", "US08930553B2", "X", claims=(1,), passages=("p. 1",))
    citations = [exact, replace(exact, claims=(2,)), exact, one, replace(one, passages=("p. 2",))]
    links, report = match(citations, WORLD, "kind", joined=False)
    assert [(link.claims, link.passages) for link in links] == [((1,), ("p. 1",)), ((2,), ("p. 1",)), ((1,), ("p. 2",))]
    assert {(link.citing, link.cited) for link in links} == {("EP1000000B1", "US08930553B2")}
    assert (report.links, report.duplicates) == (3, 2)


def _naive(citations: list[Citation], world: Collection, by: str) -> tuple[set[tuple[str, str]], list[int]]:
    """Pairs of families' numbers and how many citations need which step, by looking at everything each time."""
    numbers = [patent.publication_number for patent in world.patents]
    family = {patent.publication_number: patent.family_id for patent in world.patents}

    filed: dict[str, set[str]] = {read_number(p.publication_number).docdb: set() for p in world.patents}
    for number, application in [
        *((p.publication_number, p.application_number) for p in world.patents if p.application_number),
        *((relation.number, relation.related) for relation in world.relations if relation.kind == "application"),
    ]:
        filed.setdefault(read_number(number).docdb, set()).add(read_application(application).key)

    def applications(text: str) -> set[str]:
        """Those of the publication, and of the others with its serial if they do not contradict one another."""
        number = read_number(text)
        if number.docdb not in filed:
            return set()
        of_serial = {one for other in filed if read_number(other).key == number.key for one in filed[other]}
        return of_serial if len(of_serial) < 2 else filed[number.docdb]

    def candidates(text: str) -> list[list[str]]:
        number = read_number(text)
        exact = [record for record in numbers if read_number(record).docdb == number.docdb]
        kind = [record for record in numbers if read_number(record).key == number.key]
        kind = kind or [record for record in numbers if applications(record) & applications(text)]
        homes = {home for member, home in world.families.iter_rows() if read_number(member).docdb == number.docdb}
        return [exact, kind, [record for record in numbers if family[record] in homes]]

    def nearest(records: list[str], text: str) -> str:
        return sorted(records, key=lambda record: (record[:2] != text[:2], record))[0]

    needs, pairs = [0, 0, 0, 0], set()
    for citation in citations:
        ends = []
        for text in (citation.citing, citation.cited):
            step = next((rank for rank, records in enumerate(candidates(text)) if records), 3)
            ends.append((step, nearest(candidates(text)[step], text) if step < 3 else ""))
        needs[max(step for step, _ in ends)] += 1
        if max(step for step, _ in ends) <= ["number", "kind", "family"].index(by):
            pairs.add((ends[0][1], ends[1][1]))
    return {(citing, cited) for citing, cited in pairs if family[citing] != family[cited]}, needs


@pytest.mark.slow
@pytest.mark.parametrize("seed", these_first(range(15), 0, 1, 2, 3, 4))
def test_random_worlds_against_a_naive_matcher(seed):
    draw = random.Random(seed)
    serials = [f"EP{number:07}" for number in range(1000001, 1000009)] + [
        f"US{number}" for number in range(8000001, 8000009)
    ]
    names = [f"{serial}{kind}" for serial in serials for kind in ("A1" if serial < "F" else "B1", "B2")]
    chosen = draw.sample(names, 14)
    filed = {name: draw.choice(["", "", *(f"US130000{number:02}" for number in range(6))]) for name in names}
    named = {name for name in names if filed[name] and draw.random() < 0.5}
    world = Collection(
        [
            Patent(name, draw.choice("ABCDEFG"), application_number="" if name in named else filed[name])
            for name in chosen
        ],
        relations=[Relation(name, filed[name], "application") for name in sorted(named)],
        families=families_of(
            {name: draw.choice("ABCDEFG") for name in draw.sample([name for name in names if name not in chosen], 6)}
        ),
    )
    styles = (
        str,
        lambda name: f"{name[:2]}-{name[2:-2]}-{name[-2:]}",
        lambda name: f"{name[:2]} {name[2]} {name[3:6]} {name[6:9]} {name[-2:]}",
    )
    citations = [
        Citation(draw.choice(styles)(draw.choice(chosen)), draw.choice(styles)(draw.choice(names))) for _ in range(60)
    ]
    for by in ("number", "kind", "family"):
        links, report = match(citations, world, by)
        written, again = match(DiskList(citations), replace(world, patents=stored(world.patents)), by)
        assert (list(written), again) == (links, report)
        pairs, needs = _naive(citations, world, by)
        assert {(link.citing, link.cited) for link in links} == pairs
        assert [report.exact, report.through_kind, report.through_family] == needs[:3]
        assert report.citations == report.matched + report.unknown_citing + report.unknown_cited == 60
        assert report.matched == report.links + report.own_family + report.duplicates


def _five_styles(number: str, style: int) -> str:
    read = read_number(number)
    return (
        number,
        f"{read.office}-{read.serial}-{read.kind}",
        f"{read.office} {read.serial} {read.kind}",
        read.docdb.lower(),
        f"{read.docdb[: -len(read.kind)]} ({read.kind})",
    )[style]


def test_the_links_of_the_sample_survive_five_styles():
    patents, citations = load()
    rewritten = [
        replace(
            citation, citing=_five_styles(citation.citing, row % 5), cited=_five_styles(citation.cited, row // 5 % 5)
        )
        for row, citation in enumerate(citations)
    ]
    links, report = match(rewritten, Collection(patents))
    assert links == match(citations, Collection(patents))[0] == list(citations)
    assert (report.matched, report.unreadable) == (len(citations), 0)
