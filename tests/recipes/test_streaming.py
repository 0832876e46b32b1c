"""Recipes make the same tables of records in memory and of records of which only the names are; keywords as
scikit-learn finds them.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from patent_mteb import files, recipes, sample
from patent_mteb.patents.collection import Collection, read_collection
from patent_mteb.patents.on_disk import DiskList
from patent_mteb.patents.records import Citation, Patent, write_records
from patent_mteb.recipes.dapfam import keywords_of
from patent_mteb.recipes.parameters import settings_of, written

_PATENTS = 400


def _hashes(root):
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and path.name != "dataset.json"
    }


def _sample_settings(recipe: str) -> list[str]:
    small = recipes.find(recipe).SAMPLE
    return [f"{one.name}={written(getattr(small, one.name))}" for one in settings_of(type(small))]


@pytest.fixture(scope="module")
def records(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    patents, citations = sample.load()
    for number in range(2):
        write_records(folder / f"patents/{number}.parquet", Patent, patents[:_PATENTS][number::2])
        write_records(folder / f"citations/{number}.jsonl", Citation, citations[number::2])
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("recipe", recipes.RECIPES)
def test_records_in_files_give_the_same_tables_and_stay_there(records, tmp_path, recipe, monkeypatch):
    """Whenever a table is begun or ended, and now and then while records are put away, few of them are in memory."""
    patents, citations = sample.load()
    patents = patents[:_PATENTS]
    settings = [*_sample_settings(recipe), "match=family", "twins=merge"]
    in_memory = Collection([*patents[::2], *patents[1::2]], [*citations[::2], *citations[1::2]])
    recipes.run(recipe, in_memory, tmp_path / "memory" / "Mine", settings)
    seen: list[int] = []
    write, append = files.replacing, DiskList.append

    def count() -> None:
        seen.append(sum(type(one) is Patent and len(one.abstract) > 1 for one in gc.get_objects()))

    @contextlib.contextmanager
    def replacing(path: Path) -> Iterator[Path]:
        count()
        with write(path) as partial:
            yield partial
            count()

    def appended(self: DiskList[Any], record: Any) -> None:
        append(self, record)
        if len(self) % 100 == 0:
            count()

    monkeypatch.setattr(files, "replacing", replacing)
    monkeypatch.setattr(DiskList, "append", appended)
    gc.collect()
    gc.freeze()  # only objects created from now on are counted
    try:
        recipes.run(recipe, read_collection(records), tmp_path / "files" / "Mine", settings)
    finally:
        gc.unfreeze()
    assert len(seen) > 10 and max(seen) < 30
    made = [_hashes(tmp_path / name / "Mine") for name in ("memory", "files")]
    assert made[0] == made[1]
    assert len(made[0]) >= 3


def test_keywords_are_those_of_tf_idf_over_all_abstracts():
    draw = random.Random(0)
    words = [
        f"{stem}{end}" for stem in ("pump", "valve", "lens", "laser", "seal", "rotor") for end in ("", "s", "ing", "ed")
    ]
    abstracts = [" ".join(draw.choices([*words, "the", "of"], k=12)) for _ in range(80)]
    queries = {
        f"F{number}": {"abstract_en": text, "abstract_keywords": ""} for number, text in enumerate(abstracts[:20])
    }
    queries["own"] = {"abstract_en": "A pump.", "abstract_keywords": "steel, water"}
    found = keywords_of(queries, lambda: [*abstracts, ""], 3)
    vectorizer = TfidfVectorizer(stop_words="english").fit(abstracts)
    terms = vectorizer.get_feature_names_out()
    for key, family in queries.items():
        row = vectorizer.transform([family["abstract_en"]])
        best = sorted(zip(-row.data, terms[row.indices], strict=True))[:3]
        assert found[key] == ("steel, water" if key == "own" else ", ".join(term for _, term in best))
    empty = {"F": {"abstract_en": "", "abstract_keywords": ""}}
    assert keywords_of(empty, lambda: pytest.fail("no abstract is needed"), 3) == {"F": ""}


def test_abstracts_without_a_word_give_no_keywords():
    queries = {
        key: {"abstract_en": abstract, "abstract_keywords": ""}
        for key, abstract in (("one", "- !"), ("two", "of the"), ("three", ""))
    }
    assert keywords_of(queries, lambda: ["- !", "of the"], 3) == dict.fromkeys(queries, "")
