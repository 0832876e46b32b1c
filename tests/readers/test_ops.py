"""Exchange documents: the real answers of OPS against counts by XPath, and DOCDB's form of citations written by the
test.
"""

from __future__ import annotations

import collections
import datetime as dt
import gc
import tracemalloc
from pathlib import Path

import pytest
from second_reading import BULK

from patent_mteb.errors import DataError
from patent_mteb.patents.locations import paragraphs_in
from patent_mteb.patents.records import Citation, Patent, Relation, read_records
from patent_mteb.readers import ops, xml
from patent_mteb.readers.importing import import_files
from patent_mteb.readers.items import Note, Skipped
from patent_mteb.readers.records_directory import read_accounts

OPS = BULK / "ops"
READER = ops.READER
real = pytest.mark.skipif(not OPS.is_dir(), reason="shared/data/bulk is not here")


def of(items, kind):
    return [item for item in items if isinstance(item, kind)]


@real
def test_answers_with_texts_join_the_record_of_their_number(tmp_path):
    names = ("full_cycle_example.xml", "description_example.xml", "claims_example.xml")
    records = []
    for order in (names, names[::-1]):
        import_files([BULK / "more" / "ops" / name for name in order], tmp_path / order[0])
        records.append({one.publication_number: one for one in read_records(tmp_path / order[0] / "patents", Patent)})
    first, second = (found["EP1000000A1"] for found in records)
    assert first == second
    got = (first.title, first.family_id)
    assert got == ("Apparatus for manufacturing green bricks for the brick manufacturing industry", "19768124")
    assert [claim.depends_on for claim in first.claims][:5] == [(), (1,), (1, 2), (1, 2, 3), (4,)]
    assert first.paragraphs == tuple(range(1, 23))
    assert first.description.detailed.startswith("The invention relates to an apparatus")


@real
def test_a_search_report_keeps_letter_claims_passage_and_phase():
    items = list(READER.read(OPS / "ep1000000_full_cycle_result.xml"))
    assert of(items, Citation)[0] == Citation(
        "EP1000000A1", "DE3546191A1", "A", "examiner", (1, 2, 3, 8), ("* the whole document *",), "search", "EP"
    )
    first, second = of(items, Patent)
    assert (first.family_id, second.family_id, first.publication_date) == ("19768124", "19768124", dt.date(2000, 5, 17))
    assert {one.language for one in first.translations} == {"de", "fr"}


DOCDB = """<?xml version="1.0" encoding="UTF-8"?>
<exch:exchange-documents xmlns:exch="http://www.epo.org/exchange">
<exch:exchange-document country="EP" doc-number="2000000" kind="A1" family-id="77" date-publ="20081210">
<exch:bibliographic-data>
<exch:publication-reference data-format="docdb"><document-id><country>EP</country>
<doc-number>2000000</doc-number>
<kind>A1</kind>
</document-id></exch:publication-reference>
<exch:classifications-ipcr><classification-ipcr sequence="1"><text>A61K  31/12        20060101AFI20051108RMEP</text></classification-ipcr>
</exch:classifications-ipcr>
<exch:patent-classifications><patent-classification><classification-scheme office="EP" scheme="CPCI"/>
<classification-symbol>A61K  31/12</classification-symbol></patent-classification></exch:patent-classifications>
<exch:application-reference data-format="docdb"><document-id><country>EP</country>
<doc-number>07000001</doc-number><kind>A</kind><date>20070102</date>
</document-id></exch:application-reference>
<exch:references-cited>
<exch:citation cited-phase="SEA" sequence="1"><patcit num="1"><document-id><country>US</country>
<doc-number>2007140112</doc-number><kind>A1</kind>
</document-id></patcit>
<exch:rel-passage>
<exch:category>X</exch:category><exch:rel-claims>1-3</exch:rel-claims><exch:passage>page 4</exch:passage></exch:rel-passage>
<exch:rel-passage><exch:category>Y</exch:category><exch:rel-claims>4,7</exch:rel-claims></exch:rel-passage></exch:citation>
<exch:citation cited-phase="OPP" sequence="2"><nplcit><text>A book.</text></nplcit></exch:citation>
<exch:citation cited-phase="APP" sequence="3"><patcit><document-id><country>EP</country>
<doc-number>0680812</doc-number><kind>A1</kind></document-id>
</patcit></exch:citation>
</exch:references-cited>
</exch:bibliographic-data></exch:exchange-document>
<exch:exchange-document country="EP" kind="A1"><exch:bibliographic-data/></exch:exchange-document>
</exch:exchange-documents>
"""


def test_docdb_categories_have_their_own_claims_and_passages(tmp_path):
    (path := tmp_path / "docdb.xml").write_text(DOCDB, "utf-8")
    items = list(READER.read(path))
    (patent,) = of(items, Patent)
    assert (patent.family_id, patent.ipc, patent.cpc, patent.application_number) == (
        "77",
        ("A61K31/12",),
        ("A61K31/12",),
        "EP07000001",
    )
    assert of(items, Citation) == [
        Citation("EP2000000A1", "US2007140112A1", "X", "examiner", (1, 2, 3), ("page 4",), "search", "EP"),
        Citation("EP2000000A1", "US2007140112A1", "Y", "examiner", (4, 7), (), "search", "EP"),
        Citation("EP2000000A1", "EP0680812A1", "", "applicant", (), (), "application", "EP"),
    ]
    assert [(one.place, one.reason) for one in of(items, Skipped)] == [
        ("document 1, exchange document 1", "a citation of other literature than patents"),
        ("document 2, exchange document 1", "no publication number"),
    ]


def exchange(number, *, text="", end="</exch:exchange-document>"):
    return f"""<exch:exchange-document country="EP" doc-number="{number}" kind="A1" family-id="{number}" date-publ="20081210">
<exch:bibliographic-data/>{text}{end}
"""


HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<exch:exchange-documents xmlns:exch="http://www.epo.org/exchange">\n'
TAIL = "</exch:exchange-documents>\n"


@pytest.mark.parametrize("chunk", [1 << 20, 251])
def test_errors_in_a_docdb_file_affect_one_document(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(xml, "_CHUNK", chunk)
    good = [exchange(2000000 + number) for number in range(3)]
    torn = exchange(2000100, text="<exch:abstract>torn")
    endless = exchange(2000200, end="")
    path = tmp_path / "docdb.xml"
    path.write_text(
        HEAD + good[0] + torn + good[1] + endless + "stray" + good[2] + TAIL + HEAD + exchange(3000000) + TAIL, "utf-8"
    )
    items = list(READER.read(path))
    assert [one.publication_number for one in of(items, Patent)] == [
        f"EP{number}A1" for number in (2000000, 2000001, 2000002, 3000000)
    ]
    assert [(one.place, one.reason.partition(" (")[0]) for one in of(items, Skipped)] == [
        ("document 2", "not well-formed XML"),
        ("document 4", "not well-formed XML"),
    ]
    assert "2000100" in of(items, Skipped)[0].text and "stray" in of(items, Skipped)[1].text
    path.write_text(HEAD + good[0] + exchange(2000300)[:150], "utf-8")
    items = list(READER.read(path))
    assert [one.publication_number for one in of(items, Patent)] == ["EP2000000A1"]
    assert [one.place for one in of(items, Skipped)] == ["document 2"]
    bomb = HEAD.replace("<exch:", '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><exch:', 1)
    path.write_text(bomb + good[0] + good[1] + TAIL, "utf-8")
    items = list(READER.read(path))
    assert {one.reason for one in items} == {"its document type defines entities: an entity bomb?"} and len(items) == 2


@pytest.mark.slow
def test_a_large_docdb_file_needs_no_more_memory_than_a_document(tmp_path, monkeypatch):
    monkeypatch.setattr(xml, "_CHUNK", 1 << 16)
    path = tmp_path / "docdb.xml"
    text = f'<exch:abstract lang="en"><exch:p>{"pump" * 10_000}</exch:p></exch:abstract>'
    with path.open("w", encoding="utf-8") as out:
        out.write(HEAD)
        out.writelines(exchange(2000000 + number, text=text) for number in range(600))
        out.write(TAIL)
    size = path.stat().st_size
    collections.deque(READER.read(path), maxlen=0)  # imports and remembers what it needs
    gc.collect()
    tracemalloc.start()
    count = sum(isinstance(item, Patent) for item in READER.read(path))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (count, size > 24e6) == (600, True)
    assert most < size / 5, "free lists of CPython and remembered numbers take up to 4 MB, whatever the size"


def docdb(path, *documents):
    """A DOCDB file of exchange documents, each with its attributes and the content of its search report."""
    text = "".join(
        f"""<exch:exchange-document country="EP" doc-number="{number}" kind="A1" family-id="7" date-publ="20081210" {more}>
<exch:bibliographic-data><exch:invention-title lang="en">{title}</exch:invention-title>
<exch:references-cited>{cited}</exch:references-cited></exch:bibliographic-data></exch:exchange-document>
"""
        for number, title, more, cited in documents
    )
    path.write_text(HEAD + text + TAIL, "utf-8")
    return path


def cited_entry(content, attributes='cited-phase="SEA"', number="0680812"):
    return f"""<exch:citation {attributes} sequence="1"><patcit num="1" dnum="EP{number}A1" dnum-type="publication number">
<document-id doc-id="1"><country>EP</country><doc-number>{number}</doc-number><kind>A1</kind><name>PUMP AG</name>
<date>19951108</date></document-id></patcit>{content}</exch:citation>"""


FIRST, SECOND = (
    "<category>X</category><rel-claims>1-3</rel-claims>",
    "<category>Y</category><rel-claims>4,7</rel-claims>",
)
BLOCK = "<passage>* paragraphs [0008] - [0010] *</passage><passage>* figure 2 *</passage>"
OTHER = "<passage>* the whole document *</passage>"
FORMS = {
    "DOCDB": f"<rel-passage>{BLOCK}{FIRST}{SECOND}</rel-passage><category>XY</category>",
    "OPS": f"{FIRST}{SECOND}<rel-passage>{BLOCK}</rel-passage>",
    "schema": f"<rel-passage>{BLOCK}</rel-passage>{FIRST}{SECOND}",
    "in blocks": f"<rel-passage>{FIRST}{BLOCK}</rel-passage><rel-passage>{SECOND}{BLOCK}</rel-passage>",
    "two blocks of OPS": f"{FIRST}<rel-passage>{BLOCK}</rel-passage>{SECOND}<rel-passage>{BLOCK}</rel-passage>",
    "two blocks of the schema": f"<rel-passage>{BLOCK}</rel-passage>{FIRST}<rel-passage>{BLOCK}</rel-passage>{SECOND}",
    "twice": f"<rel-passage>{BLOCK}{FIRST}{SECOND}</rel-passage><rel-passage>{BLOCK}{FIRST}</rel-passage>",
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_citation_gives_the_same_records(tmp_path, form):
    items = list(READER.read(docdb(tmp_path / "d.xml", ("2000000", "Pump", "", cited_entry(FORMS[form])))))
    passages = ("* paragraphs [0008] - [0010] *", "* figure 2 *")
    assert of(items, Citation) == [
        Citation("EP2000000A1", "EP0680812A1", "X", "examiner", (1, 2, 3), passages, "search", "EP"),
        Citation("EP2000000A1", "EP0680812A1", "Y", "examiner", (4, 7), passages, "search", "EP"),
    ]


def test_a_block_belongs_to_the_categories_since_the_previous_block(tmp_path):
    content = f"{FIRST}<rel-passage>{BLOCK}</rel-passage>{SECOND}<rel-passage>{OTHER}</rel-passage>"
    first, second = of(READER.read(docdb(tmp_path / "d.xml", ("2000000", "Pump", "", cited_entry(content)))), Citation)
    assert (first.category, first.passages[1:], second.category, second.passages) == (
        *("X", ("* figure 2 *",)),
        *("Y", ("* the whole document *",)),
    )


def test_a_category_outside_counts_if_there_is_no_other(tmp_path):
    summary = cited_entry("<category>XY</category>")
    passages_only = cited_entry(f"<rel-passage>{OTHER}</rel-passage>", number="0680813")
    found = of(READER.read(docdb(tmp_path / "d.xml", ("2000000", "Pump", "", summary + passages_only))), Citation)
    assert [(one.category, one.claims, one.passages) for one in found] == [
        ("XY", (), ()),
        ("", (), ("* the whole document *",)),
    ]


def test_the_day_and_the_office_of_a_search_are_read(tmp_path):
    entry = cited_entry(FORMS["DOCDB"], 'cited-phase="ISR" cited-date="20080930" srep-office="AT"')
    first, _ = of(READER.read(docdb(tmp_path / "d.xml", ("2000000", "Pump", "", entry))), Citation)
    assert (first.date, first.office, first.phase) == (dt.date(2008, 9, 30), "AT", "international-search")


PASSAGES = [  # as DOCDB writes them, words and paragraphs by hand
    ("<para>8-10, 24</para><example>1-3</example>", "paragraphs 8-10, 24, examples 1-3", (8, 9, 10, 24)),
    ("<paraf>8</paraf><paral>10</paral>", "paragraph 8 - paragraph 10", (8, 9, 10)),
    (
        "<pp>17</pp><line>10</line><ppl>19</ppl><linel>5</linel>",
        "page 17, line 10 - page 19, line 5",
        (),
    ),
    ("<ppf>3</ppf><ppl>5</ppl>", "page 3 - page 5", ()),
    ("<column>2</column><linef>4</linef><linel>20</linel>", "column 2, line 4 - line 20", ()),
    ("<colf>2</colf><coll>4</coll>", "column 2 - column 4", ()),
    ("<pp>A</pp><claim>1-8</claim>", "abstract, claims 1-8", ()),
    ("<pp>W</pp>e.g. paragraphs 12-14", "the whole document e.g. paragraphs 12-14", (12, 13, 14)),
    ("<pp>7</pp><table>2</table>Compounds: 4,7", "page 7, table 2 Compounds: 4,7", ()),
    ("<figure>1-2</figure><para>3.2</para>", "figures 1-2, paragraphs 3.2", ()),
    ("* paragraph [0010] *", "* paragraph [0010] *", (10,)),
]


@pytest.mark.parametrize(("content", "words", "paragraphs"), PASSAGES)
def test_structured_passages_become_words(tmp_path, content, words, paragraphs):
    entry = cited_entry(f"<rel-passage><passage>{content}</passage>{FIRST}</rel-passage>")
    (cited,) = of(READER.read(docdb(tmp_path / "d.xml", ("2000000", "Pump", "", entry))), Citation)
    assert (cited.passages, paragraphs_in(cited.passages)) == ((words,), paragraphs)


def test_deleted_publications_are_skipped_and_withdrawn_ones_counted(tmp_path):
    states = ("C", "D", "A", "CV", "DV")
    rows = [(str(2000000 + n), "Pump", f'status="{status}"', "") for n, status in enumerate(states)]
    items = list(READER.read(docdb(tmp_path / "d.xml", *rows)))
    assert [one.publication_number for one in of(items, Patent)] == ["EP2000000A1", "EP2000002A1", "EP2000003A1"]
    deleted = [one.number for one in of(items, Skipped) if one.reason == "a publication that DOCDB has deleted"]
    assert deleted == ["EP2000001A1", "EP2000004A1"]
    assert [one.example for one in of(items, Note) if "withdrawn" in one.what] == ["EP2000003A1"]


@pytest.mark.parametrize("newest", [0, 1, 2])
def test_the_latest_exchange_of_a_document_counts(tmp_path, newest):
    days = ["20230219", "20230226", "20230305"]
    days = days[newest:] + days[:newest]
    rows = [("2000000", f"Pump of {day}", f'status="A" date-of-last-exchange="{day}"', "") for day in days]
    items = list(READER.read(docdb(tmp_path / "d.xml", *rows, ("2000001", "Valve", 'status="C"', ""))))
    assert [one.title for one in of(items, Patent)] == ["Pump of 20230305", "Valve"]
    assert [one.reason for one in of(items, Skipped)] == ["an earlier exchange of a document"] * 2


def test_a_document_that_a_later_exchange_deletes_gives_no_record(tmp_path):
    rows = [
        ("2000000", "Pump", f'status="{status}" date-of-last-exchange="{day}"', "")
        for status, day in (("C", "20230219"), ("D", "20230226"))
    ]
    assert not of(READER.read(docdb(tmp_path / "d.xml", *rows)), Patent)


@pytest.mark.parametrize("together", [True, False], ids=["one import", "an import each"])
@pytest.mark.parametrize("newest_first", [True, False])
def test_of_several_files_the_one_that_was_exchanged_last_counts(tmp_path, newest_first, together):
    def delivery(name, day, *rows):
        rows = [
            (number, title, f'status="{status}" date-of-last-exchange="{day}"', cited)
            for number, title, status, cited in rows
        ]
        return docdb(tmp_path / name, *rows)

    cited = cited_entry(FORMS["DOCDB"])
    files = [
        delivery("a.xml", "20230219", ("2000000", "Pump", "C", ""), ("2000001", "Valve", "C", cited), ("2000002", "Rotor", "C", "")),
        delivery("b.xml", "20230226", ("2000000", "Pump, amended", "A", ""), ("2000001", "", "D", "")),
        delivery("c.xml", "20230305", ("2000002", "Rotor, amended", "A", "")),
    ]  # fmt: skip
    root = tmp_path / "records"
    for some in (
        [files[::-1] if newest_first else files]
        if together
        else [[one] for one in (files[::-1] if newest_first else files)]
    ):
        import_files(some, root)
    patents = {one.publication_number: one.title for one in read_records(root / "patents", Patent)}
    assert patents == {"EP2000000A1": "Pump, amended", "EP2000002A1": "Rotor, amended"}
    assert list(read_records(root / "citations", Citation)) == []
    reasons = {reason for one in read_accounts(root).values() for reason in one.left_out}
    assert "a file of a later exchange deletes the publication (DOCDB)" in reasons


@pytest.mark.parametrize("together", [True, False], ids=["one import", "an import each"])
@pytest.mark.parametrize("newest_first", [True, False])
def test_an_amended_record_has_nothing_of_its_earlier_exchange(tmp_path, newest_first, together):
    def delivery(name, day, abstract, *numbers):
        cited = "".join(cited_entry(FIRST, number=number) for number in numbers)
        path = docdb(tmp_path / name, ("2000000", "Pump", f'date-of-last-exchange="{day}"', cited))
        path.write_text(path.read_text().replace("</exch:bibliographic-data>", f"</exch:bibliographic-data>{abstract}"))
        return path

    abstract = '<exch:abstract lang="en"><exch:p>Of another patent.</exch:p></exch:abstract>'
    files = [
        delivery("a.xml", "20230219", abstract, "0680812", "0680813"),
        delivery("b.xml", "20230226", "", "0680813"),
    ]
    files = files[::-1] if newest_first else files
    for some in [files] if together else [[one] for one in files]:
        import_files(some, tmp_path / "records")
    (patent,) = read_records(tmp_path / "records" / "patents", Patent)
    cited = [one.cited for one in read_records(tmp_path / "records" / "citations", Citation)]
    assert (patent.abstract, cited) == ("", ["EP0680813A1"])
    counts = {Path(one.path).name: one for one in read_accounts(tmp_path / "records").values()}
    assert counts["a.xml"].records["citations"] == 0
    assert [why for why in counts["a.xml"].left_out if "later exchange has" in why]


APPLICATIONS = [  # office, number, day, normal form
    ("US", "2366704", "20041228", "US2004023667"),
    ("US", "10029102", "20021024", "US2002100291"),
    ("JP", "8000290", "19900327", "JP1990080002"),
    ("US", "10029102", "20040101", "US10029102"),
]


@pytest.mark.parametrize(("office", "serial", "day", "normal"), APPLICATIONS)
def test_the_day_of_filing_tells_a_serial_with_its_year(tmp_path, office, serial, day, normal):
    row = docdb(tmp_path / "d.xml", ("2000000", "Pump", "", "")).read_text()
    filed = f"<document-id><country>{office}</country><doc-number>{serial}</doc-number><kind>A</kind><date>{day}</date></document-id>"
    (tmp_path / "d.xml").write_text(
        row.replace("<exch:references-cited>", f'<exch:application-reference data-format="docdb">{filed}</exch:application-reference><exch:references-cited>')
    )  # fmt: skip
    (patent,) = of(READER.read(tmp_path / "d.xml"), Patent)
    assert patent.application_number == normal


def test_published_equivalents_are_members_of_the_family(tmp_path):
    def reference(number, more=""):
        return f"<publication-reference><document-id>{more}<doc-number>{number}</doc-number></document-id></publication-reference>"

    numbers = ("EP2000000", "US2008012345", "CA2744000")
    results = "".join(f"<ops:inquiry-result>{reference(number)}</ops:inquiry-result>" for number in numbers)
    (path := tmp_path / "e.xml").write_text(
        '<ops:world-patent-data xmlns="http://www.epo.org/exchange" xmlns:ops="http://ops.epo.org"><ops:equivalents-inquiry>'
        f"<ops:publication-reference><document-id><country>EP</country><doc-number>2000000</doc-number><kind>A1</kind>"
        f"</document-id></ops:publication-reference>{results}</ops:equivalents-inquiry></ops:world-patent-data>",
        "utf-8",
    )
    assert list(READER.read(path)) == [
        Relation("EP2000000A1", "US2008012345", "member"),
        Relation("EP2000000A1", "CA2744000", "member"),
    ]


def test_an_answer_to_a_search_without_bibliographic_data_gives_numbers_with_families(tmp_path):
    results = "".join(
        f'<ops:publication-reference system="ops.epo.org" family-id="{family}"><document-id document-id-type="docdb">'
        f"<country>{office}</country><doc-number>{number}</doc-number><kind>A1</kind></document-id></ops:publication-reference>"
        for office, number, family in (("CA", "3237800", "78617200"), ("US", "2024158100", "88510800"))
    )
    (path := tmp_path / "search.xml").write_text(
        '<ops:world-patent-data xmlns="http://www.epo.org/exchange" xmlns:ops="http://ops.epo.org"><ops:biblio-search>'
        f'<ops:query syntax="CQL">ti=pump</ops:query><ops:search-result>{results}</ops:search-result></ops:biblio-search>'
        "</ops:world-patent-data>"
    )
    found = [(one.publication_number, one.family_id) for one in of(READER.read(path), Patent)]
    assert found == [("CA3237800A1", "78617200"), ("US2024158100A1", "88510800")]


def test_a_file_that_gives_no_record_is_refused(tmp_path):
    (path := tmp_path / "numbers.xml").write_text(
        '<ops:world-patent-data xmlns:ops="http://ops.epo.org"><ops:meta/><ops:register-search/></ops:world-patent-data>'
    )
    with pytest.raises(DataError, match=r"no patent, citation or relation was read .*register-search"):
        import_files([path], tmp_path / "records")
