"""Each real file of the USPTO and the EPO, read a second way: every field of every record (``second_reading.py``)."""

from __future__ import annotations

import json

import pytest
from second_reading import BULK, at, expected, found, kinds, plain, publication, raw_documents, value

from patent_mteb.patents.records import Patent, Relation
from patent_mteb.readers import recognise
from patent_mteb.readers.items import Skipped

pytestmark = pytest.mark.skipif(not BULK.is_dir(), reason="shared/data/bulk is not here")
FAMILY = BULK / "ops" / "family_input.xml"
SEARCH = BULK / "ops" / "search_result.xml"  # a search in OPS, which patent_client stores as JSON
NO_RECORD = BULK / "ops" / "ep1000000_description_result.xml"  # paragraphs without a number, which patent_client stores
FILES = sorted(
    path
    for path in BULK.rglob("*")
    if path.suffix in (".xml", ".zip", ".txt") and path not in (FAMILY, SEARCH, NO_RECORD)
)
SLOW = 100_000
"""Bytes from which on a file takes longer than a fast test may."""


def case(path):
    marks = [pytest.mark.slow] if path.stat().st_size > SLOW else []
    return pytest.param(path, id=f"{path.parent.name}/{path.name}", marks=marks)


@pytest.mark.parametrize("path", [case(path) for path in FILES])
def test_every_field_of_a_file_is_the_one_of_a_second_reading(path, compared):
    given, wanted = found(list(recognise(path).read(path))), dict(expected(path))
    assert given.keys() == wanted.keys()
    for number, fields in wanted.items():
        if list(fields["description"]) == [""]:  # without marks of sections: the lines in any order
            lines = (line for some in given[number]["description"].values() for line in some)
            given[number]["description"] = {"": sorted(lines)}
            fields["description"] = {"": sorted(fields["description"][""])}
    different = {
        (number, name): (given[number][name], value)
        for number, fields in wanted.items()
        for name, value in fields.items()
        if given[number][name] != value
    }
    count = sum(map(len, wanted.values()))
    compared(str(path.relative_to(BULK.parent)), len(wanted), count, count - len(different))
    assert not different
    assert all(fields.keys() == given[number].keys() for number, fields in wanted.items())


@pytest.mark.parametrize("path", [case(path) for path in FILES if path.parent.name == "uspto"])
def test_documents_of_the_uspto_are_read_or_counted_as_other_kinds(path):
    items = list(recognise(path).read(path))
    others = [item for item in items if isinstance(item, Skipped) and item.reason.startswith("not a utility patent")]
    assert (sum(isinstance(item, Patent) for item in items), len(others)) == (kinds(path)[True], kinds(path)[False])


def test_the_members_of_a_family_are_its_relations(compared):
    """An answer with numbers only; applications of Germany, Austria and the Netherlands are as written."""
    (root,) = map(plain, raw_documents(FAMILY))
    wanted, (requested, *_) = [], at(root, "//publication-reference")

    def number(one, *parts):
        return [
            value(next(i for i in at(one, "document-id") if i.get("document-id-type") == "docdb"), part)
            for part in parts
        ]

    own = publication(*number(requested, "country", "doc-number", "kind"))
    for member in at(root, "//family-member"):
        its = publication(*number(at(member, "publication-reference")[0], "country", "doc-number", "kind"))
        office, serial, date = number(at(member, "application-reference")[0], "country", "doc-number", "date")
        wanted += [(own, "member", its)] if its != own else []
        wanted.append((its, "application", f"US{date[:4]}{serial[:-2]:0>6}" if office == "US" else office + serial))
        wanted += [
            (its, "priority", "".join(number(one, "country", "doc-number"))) for one in at(member, "priority-claim")
        ]
    items = list(recognise(FAMILY).read(FAMILY))
    assert [(one.number, one.kind, one.related) for one in items] == wanted and all(
        isinstance(one, Relation) for one in items
    )
    compared(str(FAMILY.relative_to(BULK.parent)), len(wanted), 3 * len(wanted), 3 * len(wanted))


def test_the_results_of_a_search_are_records(compared):
    results = json.loads(SEARCH.read_text("utf-8"))["results"]
    items = list(recognise(SEARCH).read(SEARCH))
    found = [(one.publication_number, one.kind, one.family_id) for one in items if isinstance(one, Patent)]
    assert found == [(one["docdb_number"], one["kind"], one["family_id"]) for one in results]
    assert not [one for one in items if isinstance(one, Relation)]
    compared(str(SEARCH.relative_to(BULK.parent)), len(found), 3 * len(found), 3 * len(found))


def test_a_file_without_publications_is_not_recognised():
    assert recognise(NO_RECORD) is None
