"""Citing applications find the publication that an examiner had before them."""

from __future__ import annotations

import datetime as dt

import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents.collection import citing_application, of_publications, read_collection
from patent_mteb.patents.matching import match
from patent_mteb.patents.records import Citation, Patent, Relation, write_records


def test_the_publication_before_grant_goes_before_the_grant():
    patents = [
        Patent("US11000001B2", "F1", application_number="US16123456"),
        Patent("US10000001B1", "F2", application_number="US15000001"),
        Patent("US12000001B2", "F3"),
    ]
    relations = [
        Relation("US2019000001A1", "US16123456", "application"),
        Relation("US11000001B2", "US16123456", "application"),
        Relation("US2019000009A1", "US15000001", "continuation"),
    ]
    day = dt.date(2019, 5, 17)
    said = Citation(
        citing_application("US16123456"), "EP1000000A1", "X", "examiner", (1,), ("page 4",), "examination", "US", day
    )
    others = [Citation(citing_application(number), "EP1000000A1") for number in ("US15000001", "US12000001")]
    found = of_publications([said, *others, Citation("US12000001", "EP1A")], patents, relations)
    assert [one.citing for one in found] == ["US2019000001A1", "US10000001B1", "application US12000001", "US12000001"]
    assert (found[0].claims, found[0].passages, found[0].date) == (said.claims, said.passages, said.date)


def test_a_collection_matches_what_an_application_cites(tmp_path):
    """``US12000001`` is an application here and another patent's number there: they are not taken for each other."""
    patents = [
        Patent("US2010000001A1", "F1", application_number="US12000001"),
        Patent("US12000001B2", "F2"),
        Patent("EP1000000A1", "F3"),
    ]
    write_records(tmp_path / "patents.parquet", Patent, patents)
    said = [Citation(citing_application(number), "EP1000000A1", "X") for number in ("US12000001", "US16999999")]
    write_records(tmp_path / "citations.parquet", Citation, said)
    links, report = match(read_collection(tmp_path).citations, read_collection(tmp_path))
    assert [(one.citing, one.cited, one.category) for one in links] == [("US2010000001A1", "EP1000000A1", "X")]
    assert report.unknown_citing == 1


@pytest.mark.parametrize("others", [("citations",), ("citations", "relations"), ("families",)])
def test_a_records_directory_without_patents_is_said(tmp_path, others):
    for name in others:
        (tmp_path / f"{name}.parquet").write_bytes(b"")
    with pytest.raises(DataError, match=f"the directory has {' and '.join(others)}, but no patents. Remedy: restore"):
        read_collection(tmp_path)
