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
