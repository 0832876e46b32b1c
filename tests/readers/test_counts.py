"""What each reader of bulk files gives of each real file, against counts by other code, field by field."""

from __future__ import annotations

import csv
import gzip
import json
import re

import pytest
from bulk_counts import BULK, FAMILY_FILE, SEARCH_FILE, expected, found, kinds, plain, squeezed

from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import recognise
from patent_mteb.readers.items import Skipped

pytestmark = pytest.mark.skipif(not BULK.is_dir(), reason="shared/data/bulk is not here")
NOT_PUBLICATIONS = {
    "adjustment.json", "app_1_input.json", "assignment.json", "attorney.json", "documents.json", "transactions.json",
    "ep1000000_description_result.xml",
}  # fmt: skip
"""Files that no reader recognises: adjustments, assignments, attorneys and events of applications, and the retired PEDS."""
FILES = sorted(path for path in BULK.rglob("*") if path.is_file() and path.name not in NOT_PUBLICATIONS)
DATA = BULK.parent
READ_ELSEWHERE = ("office-actions/parsed_CTNF", "office-actions/benchmark")
"""Answers of examiners, which are not patents; tests/patents/test_claim_languages.py uses their claims."""
PARTS = ("country", "doc-number", "kind")
SLOW = 100_000
"""Bytes from which on a file takes longer than a fast test may."""


def case(path):
    marks = [pytest.mark.slow] if path.stat().st_size > SLOW else []
    return pytest.param(path, id=f"{path.parent.name}/{path.name}", marks=marks)


@pytest.mark.parametrize("path", [case(path) for path in FILES])
def test_a_file_gives_what_other_code_counts(path):
    items = list(recognise(path).read(path))
    if path.name == FAMILY_FILE:
        members = plain(path.read_bytes()).xpath("//*[local-name()='family-member']")
        numbers = {tuple(squeezed(one.find(f"*/*/{{*}}{part}")) for part in PARTS) for one in members}
        assert all(isinstance(item, Relation) for item in items)
        assert {item.related for item in items if item.kind == "member"} == {"".join(number) for number in numbers} - {
            items[0].number
        }
        return
    if path.name == SEARCH_FILE:
        results = json.loads(path.read_text("utf-8"))["results"]
        records = [(item.publication_number, item.family_id) for item in items if isinstance(item, Patent)]
        assert [one[1] for one in records] == [one["family_id"] for one in results]
        return
    wanted = expected(path)
    given = [{name: one[name] for name in other} for one, other in zip(found(items).values(), wanted, strict=True)]
    assert given == wanted


@pytest.mark.parametrize("path", [case(path) for path in FILES if path.parent.name == "uspto"])
def test_documents_of_the_uspto_are_read_or_counted_as_other_kinds(path):
    items = list(recognise(path).read(path))
    others = [item for item in items if isinstance(item, Skipped) and item.reason.startswith("not a utility patent")]
    assert (sum(isinstance(item, Patent) for item in items), len(others)) == (kinds(path)[True], kinds(path)[False])


@pytest.mark.parametrize("name", sorted(NOT_PUBLICATIONS))
def test_files_without_publications_are_not_recognised(name):
    (path,) = BULK.rglob(name)
    assert recognise(path) is None


def _lines(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()]


def _short(number):
    """A US number without the zeros that fill it up to 8 or, after the year, 7 digits."""
    return re.sub(r"^US(?:0(?=\d{7}$)|(\d{4})0(?=\d{6}(?:A\d)?$))", r"US\1", number)


def _given(record, name):
    value = record.get(name)
    return len(dict.fromkeys(value)) if isinstance(value, list) else int(bool(value))


@pytest.mark.slow
def test_tables_of_patents_give_what_json_counts():
    for folder in ("uspto", "pap2pat"):
        path = DATA / folder / "patents.jsonl.gz"
        lines = _lines(path)
        items = list(recognise(path).read(path))
        patents = [item for item in items if isinstance(item, Patent)]
        for name in ("title", "abstract", "ipc", "inventors"):
            fields = [getattr(patent, name) for patent in patents]
            got = [len(one) if isinstance(one, tuple) else int(bool(one)) for one in fields]
            assert got == [_given(line, name) for line in lines], name
        assert [patent.publication_number for patent in patents] == [
            _short(re.sub("^US(PP|RE|D|H)0+", r"US\1", one["publication_number"])) for one in lines
        ]
        assert [" ".join(one.title.split()) for one in patents] == [" ".join(one["title"].split()) for one in lines]
        cited = [item for item in items if isinstance(item, Citation)]
        assert len(cited) == sum(len(line.get("cites", ())) for line in lines)


@pytest.mark.slow
def test_pairs_papers_and_records_of_examination_give_what_csv_and_json_count():
    with (DATA / "pap2pat" / "pairs.tsv").open(encoding="utf-8") as stream:
        pairs = [(row["query-id"], _short(row["corpus-id"])) for row in csv.DictReader(stream, delimiter="\t")]
    path = DATA / "pap2pat" / "pairs.tsv"
    assert [(item.citing, item.cited) for item in recognise(path).read(path) if isinstance(item, Citation)] == pairs
    path = DATA / "pap2pat" / "papers.jsonl.gz"
    papers = _lines(path)
    patents = [item for item in recognise(path).read(path) if isinstance(item, Patent)]
    counts = [(one.publication_number, bool(one.title), bool(one.abstract)) for one in patents]
    assert counts == [(one["paper_id"], bool(one["title"]), bool(one["abstract"])) for one in papers]
    for path in sorted((DATA / "office-actions" / "record").glob("*.json")):
        record = json.loads(path.read_text("utf-8"))
        (patent,) = (item for item in recognise(path).read(path) if isinstance(item, Patent))
        assert (patent.title, str(patent.application_date)) == (record["title"], record["filingDate"])
        assert patent.publication_number in (record["patentNumber"], record.get("earliestPublicationNumber"))


@pytest.mark.slow
def test_no_file_of_patents_is_without_a_count():
    counted = {*FILES, *(path for path in BULK.rglob("*") if path.name in NOT_PUBLICATIONS)}
    counted |= {
        *(DATA / "pap2pat").iterdir(),
        *(DATA / "uspto").iterdir(),
        *(DATA / "office-actions" / "record").iterdir(),
    }
    rest = [path for path in DATA.rglob("*") if path.is_file() and path not in counted]
    others = [path for path in rest if path.relative_to(DATA).as_posix().startswith(READ_ELSEWHERE)]
    assert all(recognise(path) is None for path in others)
    assert {path.name for path in rest if path not in others} == {"README.md", "LICENSE.PANORAMA"}
