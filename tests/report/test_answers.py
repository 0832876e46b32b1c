"""The first screen of a report on a terminal."""

import io
import re

import numpy as np
import pytest
from report_folders import HEADLINE, add, model_folder
from rich.console import Console

from patent_mteb import report

BM25 = "patent-mteb/bm25-bm25s"
MODELS = (
    BM25,
    "acme/dense-embedding-model-large",
    "acme/dense-embedding-model-small",
    "hybrid/rrf-60-bm25+dense",
    "x/y",
)
TASKS = (
    HEADLINE,
    "WIPOATClaim1ToTACRetrieval",
    "PatentDAPFAMTACToTACRetrieval",
    "PatenTEBRetrievalMIXED",
    "SophiaTacdRetrieval",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root, rng = tmp_path_factory.mktemp("answers"), np.random.default_rng(5)
    for place, model in enumerate(MODELS):
        for task in TASKS:
            values = np.clip(0.3 + 0.05 * place + rng.normal(0, 0.1, 200), 0, 1).round(3)
            parts = {"in": [value if at % 2 else None for at, value in enumerate(values)]}
            parts["out"] = [None if at % 2 else value for at, value in enumerate(values)]
            add(model_folder(root, model), task, queries=values, parts=parts if task == HEADLINE else None)
        if not model.startswith(("patent", "hybrid")):
            add(model_folder(root, model), "WIPOATEmergingClassification", 0.8, more={"n_test": 100, "n_classes": 5})
    return root


def lines_of(folder, width=80):
    console = Console(width=width, file=io.StringIO())
    report.run(folder).print(console)
    return console.file.getvalue().replace("\N{NO-BREAK SPACE}", " ").splitlines()


def test_five_systems_are_one_screen_of_eighty_columns(folder):
    lines = lines_of(folder)
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    text = " ".join(line.strip() for line in lines)
    assert "best: y 0.50" in text and "y is better than BM25: nDCG@10 0.5" in text and "over all 10 pairs" in text
    assert "Find prior art in the same field" in text and "higher in" in text
    assert "Hours and GB: of a million patents by WIPO-AT; a dash was not measured, as where the store held" in text
    assert "--every-table prints them" in lines[-1] or "--every-table prints them" in text


def test_one_model_is_described_and_not_compared(tmp_path):
    add(model_folder(tmp_path, "acme/one"), HEADLINE, queries=np.linspace(0, 1, 80))
    text = "\n".join(lines_of(tmp_path))
    assert re.search(r"one 0.50 \[0.4\d, 0.5\d\]", text) and "better" not in text and "distinguishable" not in text


def test_few_searches_and_scores_without_queries_are_said(tmp_path):
    for model in ("acme/one", "acme/two"):
        add(model_folder(tmp_path, model), HEADLINE, queries=np.linspace(0, 1, 20))
    assert "too few searches" in "\n".join(lines_of(tmp_path))


def test_scores_without_searches_are_not_compared(tmp_path):
    for model, value in (("acme/one", 0.4), ("acme/two", 0.5)):
        add(model_folder(tmp_path, model), HEADLINE, value)
    assert "highest: two 0.50, not compared" in "\n".join(lines_of(tmp_path))
