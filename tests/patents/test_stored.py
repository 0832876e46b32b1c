"""Patents of which only the names are in memory: other families, some of them, and what is read then."""

from __future__ import annotations

from dataclasses import replace

from patent_mteb import sample
from patent_mteb.patents.on_disk import in_order, only, outline, publications, stored, with_family

PATENTS = sample.generate()[0][:60]


def test_only_names_are_held():
    assert publications(stored(PATENTS)) == [outline(patent) for patent in PATENTS]
    assert publications(PATENTS) is PATENTS
    assert stored(PATENTS) == PATENTS
    assert stored(PATENTS)[7] == PATENTS[7]


def test_other_families_and_a_choice_are_those_of_a_list():
    def family(patent):
        return patent.family_id if patent.jurisdiction == PATENTS[0].jurisdiction else f"new {patent.family_id}"

    def old(patent):
        return patent.publication_number < PATENTS[20].publication_number

    expected = [replace(patent, family_id=family(patent)) for patent in PATENTS]
    assert len({patent.family_id for patent in expected} & {patent.family_id for patent in PATENTS}) > 0
    for hold in (list, stored):
        moved = with_family(hold(PATENTS), family)
        assert list(moved) == expected
        kept = only(moved, old)
        assert list(kept) == [patent for patent in expected if old(patent)]
        assert 0 < len(kept) < len(PATENTS)
        assert [kept[place] for place in (0, -1)] == [*kept][:: len(kept) - 1]


def test_patents_in_an_order_are_those_of_a_list():
    def key(patent):
        return patent.publication_number[::-1]

    expected = sorted(PATENTS, key=key)
    for hold in (list, stored):
        found = in_order(hold(PATENTS), key)
        assert list(found) == expected, "one after the other"
        assert [found[place] for place in range(len(found))] == expected, "each by its place"
        assert [one.publication_number for one in publications(found)] == [one.publication_number for one in expected]
        assert list(with_family(found, lambda patent: "F")) == [replace(one, family_id="F") for one in expected]
