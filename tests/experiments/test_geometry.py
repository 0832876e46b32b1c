"""The geometry of an encoder on the texts of a task, by the measures that tests/metrics/test_geometry.py checks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from small_patents import Words, world

from patent_mteb.errors import ModelError
from patent_mteb.experiments.embedding_geometry import geometry, save
from patent_mteb.metrics.embedding_geometry import alignment, ida_ratio, spectrum_divergence, uniformity
from patent_mteb.models.variants import with_section_tags
from patent_mteb.recipes import beir
from patent_mteb.recipes import patentmap as build_patentmap
from patent_mteb.recipes import sophia as build_sophia
from patent_mteb.tasks import patentmap, sophia
from patent_mteb.tasks.patentmap import read_search

CLM = next(task for task in patentmap.BENCHMARK.task_classes if "ClmToAll" in task.metadata.name)
ABSTRACTS = sophia.BENCHMARK.task_classes[2]
FREE = {
    "query_offices": (), "query_first_year": None, "query_last_year": None,
    "ipc_offices": (), "ipc_first_year": None, "ipc_last_year": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    patents, citations = world(60)
    root = tmp_path_factory.mktemp("built")
    build_sophia.build(patents, citations, root, build_sophia.Params(queries=15))
    params = build_patentmap.Params(queries=8, small=2, mlt=9, same_subclass=3, **FREE)
    build_patentmap.build(patents, citations, root, params)
    return root


@pytest.fixture
def root(built, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_DATA", str(built))
    return built


def pooled(groups):
    """The vectors of documents with several sections, and the number of the document of each."""
    return np.concatenate(list(map(np.stack, groups))), np.repeat(np.arange(len(groups)), list(map(len, groups)))


def long_enough(texts, least=6):
    return [text for text in texts if len(text.split()) >= least]


@pytest.mark.parametrize("least", [6, 7])
def test_a_task_without_sections(root, monkeypatch, least):
    model = Words()
    task = ABSTRACTS()
    if least != 6:
        monkeypatch.setattr("patent_mteb.experiments.embedding_geometry.MIN_WORDS", least)
    found = geometry(model, task, pairs=20_000)
    tables = beir.read_beir(root / "Sophia")
    documents = {key: model.vector(" ".join(parts)).astype(np.float64) for key, parts in tables.corpus.items()}
    import pyarrow.parquet as pq

    texts = pq.read_table(root / "Sophia" / "queries.parquet")
    queries = {
        key: model.vector(text) for key, text in zip(texts["_id"].to_pylist(), texts["Ab"].to_pylist(), strict=True)
    }
    pairs = [(queries[query], documents[document]) for query, judged in tables.qrels.items() for document in judged]
    asked = dict(zip(texts["_id"].to_pylist(), texts["Ab"].to_pylist(), strict=True))
    both = long_enough((asked[query] for query in tables.qrels), least)
    assert len(both) == (15 if least == 6 else 0)  # abstracts of six words
    both += long_enough((" ".join(parts) for parts in tables.corpus.values()), least)
    everything = np.stack([model.vector(text).astype(np.float64) for text in both])
    assert found["alignment"] == pytest.approx(alignment(*zip(*pairs, strict=True)), abs=1e-6)
    assert found["ssd"] == pytest.approx(spectrum_divergence(everything), abs=1e-6)
    assert found["uniformity"] == pytest.approx(uniformity(everything, pairs=None), abs=0.02)
    assert found["n_pairs"] == len(pairs) and found["n_documents"] == len(documents) and found["n_texts"] == len(both)
    assert not any(name.startswith("ida") for name in found)


@pytest.mark.slow
def test_sections(root):
    model = Words()
    found = geometry(model, CLM(), pairs=100_000)
    search = read_search(CLM().source)
    names = ("abstract", "claim", "invention")
    vectors = {
        key: [model.vector(content.section(name, False)).astype(np.float64) for name in names]
        for key, content in search.documents.items()
    }
    asking = {
        query: [model.vector(search.queries[query].section(name, False)) for name in names] for query in search.gains
    }
    for column, name in enumerate(names):
        texts = long_enough(
            content.section(name, False) for content in (*search.queries.values(), *search.documents.values())
        )
        own = np.stack([model.vector(text).astype(np.float64) for text in texts])
        assert found[f"ssd_{name}"] == pytest.approx(spectrum_divergence(own), abs=1e-6)
        assert found[f"uniformity_{name}"] == pytest.approx(uniformity(own, pairs=None), abs=0.02)
        same = [
            (asking[query][column], vectors[document][column])
            for query, judged in search.gains.items()
            for document in judged
        ]
        assert found[f"alignment_{name}"] == pytest.approx(alignment(*zip(*same, strict=True)), abs=1e-6)
        every = [
            (one, vectors[document][column])
            for query, judged in search.gains.items()
            for document in judged
            for one in asking[query]
        ]
        assert found[f"alignment_to_{name}"] == pytest.approx(alignment(*zip(*every, strict=True)), abs=1e-6)
    assert found["alignment"] == found["alignment_claim"]  # the section of the query
    whole = ida_ratio(*pooled(list(vectors.values())), pairs=None)
    two = ida_ratio(*pooled([[sections[0], sections[2]] for sections in vectors.values()]), pairs=None)
    assert found["ida_ratio"] == pytest.approx(whole.ratio, abs=0.01)
    assert found["ida_ratio_abstract_invention"] == pytest.approx(two.intra / whole.random, abs=0.01)
    assert abs(two.intra / whole.random - two.ratio) > 0.02  # a baseline of its own would be another number
    assert found["ida_ratio"] < 1 and found["n_ida_documents"] == len(vectors)
    assert geometry(with_section_tags(Words()), CLM())["alignment"] != found["alignment"]


def test_what_one_model_reads_is_nothing_to_the_next_one(root):
    """A task keeps no state of a model: section tags are in the texts of the models that read them, whoever came
    before.
    """
    task, model = CLM(), Words()
    plain = geometry(model, task, max_documents=10, pairs=50)
    tagged = geometry(with_section_tags(Words()), task, max_documents=10, pairs=50)
    assert geometry(Words(), task, max_documents=10, pairs=50) == plain != tagged
    assert not any("[claim]" in text for text in model.seen)


def test_large_corpora_are_sampled(root):
    model = Words()
    found = geometry(model, ABSTRACTS(), max_documents=10, pairs=5)
    assert found["n_documents"] == 10 and found["n_pairs"] == 5
    assert len(model.seen) <= 25
    assert geometry(Words(), ABSTRACTS(), max_documents=10, pairs=5) == found


def test_models_without_geometry(root):
    class Nothing(Words):
        def vector(self, text):
            return np.eye(8, dtype=np.float32)[len(text) % 8] * (len(text) % 2)

    with pytest.raises(
        ModelError, match=r"geometry of test/words on SophiaAbRetrieval.local-.* cannot be measured: .*rows of zeros"
    ):
        geometry(Nothing(), ABSTRACTS())
    with pytest.raises(ModelError, match="object does not embed texts"):
        geometry(object(), ABSTRACTS())


def test_a_geometry_is_kept_beside_the_results_with_its_identity(root, tmp_path):
    model, task = Words(), ABSTRACTS()
    path = save({"ssd": 0.25}, model, task, tmp_path / "out", pairs=7)
    assert path == tmp_path / "out" / "results" / "test__words" / "1" / f"{task.metadata.name}.geometry.jsonl"
    save({"ssd": 0.5}, model, task, tmp_path / "out", pairs=9)
    (line,) = map(json.loads, path.read_text().splitlines())
    assert line == {
        "task": task.metadata.name,
        "model": "test/words",
        "model_revision": "1",
        "experiment": None,
        "dataset_revision": task.metadata.revision,
        "subset": task.source.subset,
        "settings": {"pairs": 9},
        "measures": {"ssd": 0.5},
    }
    other = json.dumps({**line, "dataset_revision": "another"})
    path.write_text(other + "\n")
    save({"ssd": 0.5}, model, task, tmp_path / "out", pairs=9)
    assert [json.loads(row)["dataset_revision"] for row in path.read_text().splitlines()] == [
        "another",
        task.metadata.revision,
    ]
    assert save({"ssd": 0.5}, Words(setting=2), task, tmp_path / "out").parent.name == "setting_2"
