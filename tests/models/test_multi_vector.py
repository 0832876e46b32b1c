"""ColBERT models by their names on the hub: exact MaxSim from the command line, with weights that replace
theirs.
"""

import json
from dataclasses import replace

import mteb
import numpy as np
import pytest
from datasets import Dataset
from tiny_colbert import write_checkpoint

from patent_mteb import cli
from patent_mteb._mteb import registered
from patent_mteb.models import load
from patent_mteb.models.loading import exact, find_meta
from patent_mteb.search import late_interaction as li

NAMES = [
    "jinaai/jina-colbert-v2",
    "colbert-ir/colbertv2.0",
    "answerdotai/answerai-colbert-small-v1",
    "lightonai/GTE-ModernColBERT-v1",
]


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Every ColBERT name leads to one small checkpoint."""
    folder = write_checkpoint(tmp_path / "colbert", "pylate")
    inspect, load_encoder = li.inspect_checkpoint, li.load_encoder
    monkeypatch.setattr(
        li,
        "inspect_checkpoint",
        lambda name, revision: replace(inspect(folder), source=name, name=name, revision=revision),
    )

    def encoder(checkpoint, overrides, backend, device, revision):
        own = replace(overrides, query_marker=None, document_marker=None)
        return load_encoder(replace(checkpoint, source=str(folder)), own, backend, device, None)

    monkeypatch.setattr(li, "load_encoder", encoder)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_the_models_of_the_papers_are_searched_exactly(hub, name):
    meta = find_meta(name)
    model = load(name)
    assert isinstance(model, li.LateInteraction)
    for found in (meta, model.mteb_model_meta):
        assert (found.name, found.revision) == (name, mteb.get_model_meta(name).revision)
        assert found.experiment_kwargs == {"dtype": "float32", "maxsim": "exact"}
    if name == NAMES[0]:
        assert li.KNOWN_SETTINGS[name].trust_remote_code


def test_scores_are_maxsim_token_by_token(hub):
    model = load("colbert-ir/colbertv2.0")
    queries, documents = ["rotor blade", "valve"], ["pump valve seal", "rotor stator blade", "lens laser"]
    tokens = [model.encode_tokens(texts, is_query=asked) for texts, asked in ((queries, True), (documents, False))]
    expected = [
        [sum(max(float(np.dot(q, d)) for d in document) for q in query) for document in tokens[1]]
        for query in tokens[0]
    ]
    where = {
        "task_metadata": mteb.get_task("NFCorpus").metadata,
        "hf_split": "test",
        "hf_subset": "default",
        "encode_kwargs": {},
    }
    rows = [
        {"id": [f"{kind}{i}" for i in range(len(texts))], "text": texts}
        for kind, texts in (("q", queries), ("d", documents))
    ]
    model.index(Dataset.from_dict(rows[1]), **where)
    found = model.search(Dataset.from_dict(rows[0]), top_k=3, **where)
    for query, scores in enumerate(expected):
        assert [found[f"q{query}"][f"d{place}"] for place in range(3)] == pytest.approx(scores, abs=1e-5)


@pytest.mark.slow
def test_from_the_command_line(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_STORE", str(tmp_path / "store"))
    task = "PatentMapAbsToAbsRetrieval.sample"
    options = ["-t", task, "--out", str(tmp_path / "results"), "--no-store", "-v", "0"]
    for name in (NAMES[1], str(hub)):
        assert cli.main(["run", "-m", name, *options]) == 0
    scores = [
        json.loads(path.read_text())["scores"]["test"][0]["main_score"]
        for path in (tmp_path / "results").rglob(f"{task}.json")
    ]
    assert len(scores) == 2 and scores[0] == scores[1] > 0


def test_other_models_are_left_as_they_are():
    others = (
        "sentence-transformers/all-MiniLM-L6-v2",
        "vidore/colpali-v1.3",
        "DataScience-UIBK/uibk-embedding-v1",
        "mteb/baseline-bm25s",
    )
    for meta in map(mteb.get_model_meta, others):
        assert exact(meta) is meta
    assert registered("models")["colbert-ir/colbertv2.0"].experiment_kwargs is None  # the plain mteb command's
