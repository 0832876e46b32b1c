"""ColBERT models by their names on the hub: exact MaxSim from the command line, with weights that replace
theirs.
"""

from dataclasses import replace

import mteb
import pytest
from tiny_colbert import write_checkpoint

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
