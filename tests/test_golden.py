"""Scores, tables, help texts, a result and a page are those of tests/golden, or a difference has its reason in the
commit.
"""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("golden", Path(__file__).parent / "golden" / "golden.py")
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)

AGAIN = "if it is meant: python tests/golden/golden.py --write"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PATENT_MTEB_SAMPLE", "PATENT_MTEB_QUERY_SCORES", "COLUMNS"):
            patch.setenv(name, "")
        folder, tables = tmp_path_factory.mktemp("golden"), os.environ["PATENT_MTEB_CACHE"]
        golden._isolated(folder)
        patch.setenv("PATENT_MTEB_CACHE", tables)  # their folder is named after the code that builds them
        yield folder


@pytest.mark.parametrize("kind", ["tables", "result", "page"])
def test_nothing_differs(cache, kind):
    assert not golden.differences(kind, cache), AGAIN


def test_scores_of_the_quick_tasks(cache):
    found = golden.scores_of("bm25", cache, golden.FAST)
    known = golden.stored("scores.json.gz")["bm25"]
    assert len(found) >= 5 and not golden.score_differences(known, found, golden.TOLERANCE["bm25"]), AGAIN


@pytest.mark.slow
def test_all_scores_of_bm25(cache):
    found, known = golden.scores_of("bm25", cache), golden.stored("scores.json.gz")["bm25"]
    assert found.keys() == known.keys()
    assert not golden.score_differences(known, found, golden.TOLERANCE["bm25"]), AGAIN


@pytest.mark.slow
def test_all_scores_of_the_static_model(cache, scored_sample):
    """Those of the results that the documentation shows, and of the tasks that it does not run."""
    files = (scored_sample / "results").glob("results/*wordllama/*/*.sample.json")
    found = {
        path.name.removesuffix(".sample.json"): golden.numbers_of(json.loads(path.read_text())["scores"])
        for path in files
    }
    known = golden.stored("scores.json.gz")["static"]
    if not (cache / "words").exists():
        (cache / "words").symlink_to(scored_sample / "wordllama", target_is_directory=True)
    found |= golden.scores_of("static", cache, tuple(known.keys() - found.keys()))
    assert found.keys() == known.keys()
    assert not golden.score_differences(known, found, golden.TOLERANCE["static"]), AGAIN


@pytest.mark.slow
def test_help_texts(cache):
    assert not golden.differences("help", cache), AGAIN


def test_a_number_and_the_name_of_its_scoring_change_together():
    known = {"Task": {"scoring": "retrieval 1", "ndcg_at_10": 0.5}}
    differ, renamed = {"scoring": "retrieval 1", "ndcg_at_10": 0.6}, {"scoring": "retrieval 2", "ndcg_at_10": 0.5}
    number, name = golden.score_differences(known, {"Task": differ}, 1e-6)
    assert "0.5 was kept, 0.6 found" in number and "'retrieval 1' needs another name" in name
    (line,) = golden.score_differences(known, {"Task": renamed}, 1e-6)
    assert "no number differs, so the scoring is still 'retrieval 1'" in line
    assert golden.score_differences(known, {"Task": {**renamed, "ndcg_at_10": 0.6}}, 1e-6) == []
    assert golden.score_differences(known, known, 1e-6) == []
