"""Recipes make the same tables of records in memory and of records of which only the names are; keywords as scikit-learn finds them."""

from __future__ import annotations

import hashlib
import random

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from patent_mteb import recipes, sample
from patent_mteb.patents.collection import Collection, read_collection
from patent_mteb.patents.records import Patent, write_citations, write_patents
from patent_mteb.recipes.dapfam_keywords import keywords_of
from patent_mteb.recipes.parameters import settings_of, written


def _hashes(root):
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("recipe", recipes.RECIPES)
def test_the_same_tables_of_records_in_memory_and_in_files(tmp_path, recipe):
    patents, citations = sample.generate()
    patents = patents[:500]
    for number in range(2):
        write_patents(tmp_path / f"records/patents/{number}.parquet", patents[number::2])
        write_citations(tmp_path / f"records/citations/{number}.jsonl", citations[number::2])
    small = recipes.find(recipe).SAMPLE
    settings = [f"{one.name}={written(getattr(small, one.name))}" for one in settings_of(type(small))]
    in_memory = Collection([*patents[::2], *patents[1::2]], [*citations[::2], *citations[1::2]])
    in_files = read_collection(tmp_path / "records")
    made = []
    for name, collection in (("a", in_memory), ("b", in_files)):
        recipes.run_on(recipe, collection, tmp_path / name / "Mine", [*settings, "match=family", "twins=merge"])
        made.append({file: content for file, content in _hashes(tmp_path / name / "Mine").items() if file != "dataset.json"})
    assert made[0] == made[1]
    assert len(made[0]) >= 3


def test_keywords_are_those_of_tf_idf_over_all_abstracts():
    draw = random.Random(0)
    words = [f"{stem}{end}" for stem in ("pump", "valve", "lens", "laser", "seal", "rotor") for end in ("", "s", "ing", "ed")]
    abstracts = [" ".join(draw.choices([*words, "the", "of"], k=12)) for _ in range(80)]
    queries = {f"F{number}": Patent(f"US{number}A", "F", abstract=text) for number, text in enumerate(abstracts[:20])}
    queries["own"] = Patent("US99A", "F", abstract="A pump.", keywords=("steel", "water"))
    found = keywords_of(queries, lambda: [*abstracts, ""], 3)
    vectorizer = TfidfVectorizer(stop_words="english").fit(abstracts)
    terms = vectorizer.get_feature_names_out()
    for key, patent in queries.items():
        row = vectorizer.transform([patent.abstract])
        best = sorted(zip(-row.data, terms[row.indices], strict=True))[:3]
        assert found[key] == ("steel, water" if key == "own" else ", ".join(term for _, term in best))
    assert keywords_of({"F": Patent("US1A", "F")}, lambda: pytest.fail("no abstract is needed"), 3) == {"F": ""}


def test_abstracts_without_a_word_give_no_keywords():
    queries = {key: Patent(key, "F", abstract=abstract) for key, abstract in (("one", "- !"), ("two", "of the"), ("three", ""))}
    assert keywords_of(queries, lambda: ["- !", "of the"], 3) == dict.fromkeys(queries, "")
