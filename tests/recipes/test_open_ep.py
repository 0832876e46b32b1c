"""The cross-lingual tables, worked out by hand on twelve publications in three languages."""

import datetime as dt
import hashlib

import open_ep_patents as world
import pytest
from open_ep_patents import D1, D2, D4, D6, QD, QE, QF

from patent_mteb import recipes
from patent_mteb.errors import DataError
from patent_mteb.files import read_jsonl
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.on_disk import DiskList, stored
from patent_mteb.patents.records import Citation
from patent_mteb.readers import ops
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.open_ep import KINDS, LANGUAGES, read_languages, text_folder

RULES = ("first=2020-01-01", "last=2020-12-31")


def built(folder, collection=None):
    log = recipes.run("open_ep", collection or world.collection(), folder, RULES)
    return log, folder / "PatentOpenEP"


def test_every_table_is_the_one_worked_out_by_hand(tmp_path):
    log, place = built(tmp_path)
    claims = layout.read_subset(place / "claims")
    assert claims.qrels == world.CLAIMS
    assert claims.queries[f"{QD}#2"] == "Rotor. Rotor nach Anspruch 1, bemalt."
    assert read_languages(place) == world.SPOKEN
    for kind in KINDS:
        for language in LANGUAGES:
            rows = {
                row["_id"]: row["text"]
                for _, row in read_jsonl(
                    place / text_folder(kind, language) / "corpus.jsonl", ("_id", "text"), ("title",)
                )
            }
            assert set(rows) == {f"{document}#{language}" for document in world.VERSIONS[kind][language]}
            if kind == "Claims" and language == "fr":
                assert rows[f"{D1}#fr"] == "1. moyeu. 2. moyeu selon la revendication 1, peint. 3. moyeu moyeu.", (
                    "of its grant"
                )
    dates = layout.read_dates(place)
    assert dates.public[D1] == dt.date(2010, 3, 3), "the family is public from its first publication on"
    notes = {step.name: step.note for step in log.steps}
    assert "1 citations of documents that were not public before the query's priority date" in notes["citations"]
    assert layout.read_subset(place / "passages", place / "claims").qrels[f"{QD}#1"] == {f"{D1}#2": 3, f"{D1}#3": 3}


PAIRS = "<category>X</category><rel-claims>1,2</rel-claims>"
FORMS = {
    "DOCDB": f"<rel-passage><passage><para>2-3</para></passage>{PAIRS}</rel-passage><category>X</category>",
    "OPS": f"{PAIRS}<rel-passage><passage>* paragraphs [0002] - [0003] *</passage></rel-passage>",
    "schema": f"<rel-passage><passage>* paragraphs [0002] - [0003] *</passage></rel-passage>{PAIRS}",
    "inside": f"<rel-passage>{PAIRS}<passage>paragraphs 2-3</passage></rel-passage>",
}


@pytest.mark.parametrize("form", FORMS)
def test_search_reports_in_each_form_of_the_office_give_the_same_passages(tmp_path, form):
    def document_id(number):
        return f"<document-id><country>EP</country><doc-number>{number[2:-2]}</doc-number><kind>A1</kind></document-id>"

    (tmp_path / "report.xml").write_text(
        f"""<exchange-documents><exchange-document country="EP" doc-number="{QD[2:-2]}" kind="A1"><bibliographic-data>
<references-cited><citation cited-phase="SEA"><patcit>{document_id(D1)}</patcit>{FORMS[form]}</citation></references-cited>
</bibliographic-data></exchange-document></exchange-documents>""",
        "utf-8",
    )
    read = [one for one in ops.READER.read(tmp_path / "report.xml") if isinstance(one, Citation)]
    others = [one for one in world.CITATIONS if (one.citing, one.cited) != (QD, D1)]
    _, place = built(tmp_path / "edition", world.collection(citations=[*read, *others]))
    assert layout.read_subset(place / "claims").qrels == world.CLAIMS
    qrels = layout.read_subset(place / "passages", place / "claims").qrels
    assert {query: qrels[query] for query in (f"{QD}#1", f"{QD}#2")} == {
        f"{QD}#1": {f"{D1}#2": 3, f"{D1}#3": 3},
        f"{QD}#2": {f"{D1}#2": 3, f"{D1}#3": 3},
    }


def test_the_window_is_of_the_publications_that_the_citations_came_with(tmp_path):
    collection = world.collection(citations=[one for one in world.CITATIONS if one.citing not in (QD, QE, QF)])
    with pytest.raises(DataError, match="no application has an X or Y citation in a search report of the window"):
        built(tmp_path, collection)


def test_the_same_tables_of_records_in_files_in_another_order(tmp_path):
    found = []
    in_files = Collection(stored(iter(world.PATENTS[::-1])), DiskList(world.CITATIONS[::-1]))
    for name, collection in (("one", world.collection()), ("two", in_files)):
        _, place = built(tmp_path / name, collection)
        found.append(
            {
                path.relative_to(place): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in place.rglob("*")
                if path.is_file()
            }
        )
    assert found[0] == found[1]
    assert len(found[0]) > 15


def test_what_is_left_out_is_counted(tmp_path):
    import dataclasses

    spanish = dataclasses.replace(world.PATENTS[8].languages, claims="es")
    patents = [
        dataclasses.replace(one, languages=spanish) if one.publication_number == D4 else one for one in world.PATENTS
    ]
    log, place = built(tmp_path, world.collection(patents))
    note = next(step.note for step in log.steps if step.name == "texts in languages")
    assert "1 texts in es (dropped)" in note
    assert {D2, D6} <= {
        row["_id"].partition("#")[0]
        for _, row in read_jsonl(place / "claim_texts/de/corpus.jsonl", ("_id", "text"), ("title",))
    }
    assert not any(
        row["_id"].startswith(D4)
        for _, row in read_jsonl(place / "claim_texts/fr/corpus.jsonl", ("_id", "text"), ("title",))
    )
