"""Tasks on own data under the data set's name: found by mteb, described as what they are, scored as independent
references score them.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

import mteb
import numpy as np
import pyarrow.parquet as pq
import pytest
from mteb.cli.build_cli import main as mteb_command
from small_patents import Words, evaluate, world

from patent_mteb import _mteb, recipes
from patent_mteb.data.loading import DATA_VARIABLE, Own, Root
from patent_mteb.errors import DataError
from patent_mteb.models.prompts import prompt_for
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.records import Label
from patent_mteb.recipes import dataset
from patent_mteb.recipes.dataset import Identity
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.own_data import own_data_benchmark, own_data_task

ACME = Own("Acme", "3", "Acme Corp.", "MIT", ("seed=7 (default 42)",))


@pytest.fixture
def topics(tmp_path):
    """A landscape of fifteen topics without any citation: 240 families, every third with a second topic."""
    draw = np.random.default_rng(5)
    patents = []
    for number, patent in enumerate(world(240)[0]):
        chosen = draw.choice(15, 2 if number % 3 == 0 else 1, replace=False)
        labels = tuple(Label("Topics", f"topic {topic:02}") for topic in chosen)
        words = " ".join(f"word{topic}" for topic in chosen)
        patents.append(replace(patent, labels=labels, title=f"{patent.title} {words}", ipc=()))
    root = tmp_path / "root"
    recipes.run("wipo_at", Collection(patents, []), root, ["fine_documents=1000"], Identity("Acme", owner="Acme Corp."))
    return root


def mteb_runs(out: Path, model: Words, *tasks: str) -> dict[str, dict]:
    """Scores of the unmodified mteb command by plain name of the task."""
    meta = model.mteb_model_meta.model_copy(update={"loader": lambda *_, **__: model, "framework": ["NumPy"]})
    _mteb.register_models([meta])
    words = ["run", "-t", *tasks, "-m", meta.name, "--output-folder", str(out), "--no-co2-tracker"]
    with mock.patch("sys.argv", ["mteb", *words]):
        mteb_command()
    found = [json.loads(path.read_text()) for path in out.rglob("*.json") if path.name != "model_meta.json"]
    return {result["task_name"].partition(".")[0]: result["scores"]["test"][0] for result in found}


@pytest.mark.slow
def test_a_landscape_without_citations_runs_by_plain_mteb(topics, tmp_path, monkeypatch):
    """test_wipo_at_labels.py has the reference of these scores."""
    files = Root(topics, dataset.read(topics)).files("WIPO-AT")
    assert "labels/Topics.parquet" in files and "corpus.jsonl" not in files
    monkeypatch.setenv(DATA_VARIABLE, str(topics))
    catalogue.enter_own()
    model = Words("test/own-words", 64)
    scores = mteb_runs(tmp_path / "out", model, "AcmeTopicsClassification", "AcmeTopicsClustering")
    for name, main in (("AcmeTopicsClassification", "macro_f1"), ("AcmeTopicsClustering", "v_measure")):
        assert scores[name]["main_score"] == scores[name][main] > 0
        assert scores[name]["data_set"]["owner"] == "Acme Corp."
    assert len([key for key in scores["AcmeTopicsClassification"] if key.startswith("f1_topic ")]) == 15


@pytest.mark.slow
def test_a_process_that_imports_mteb_alone_knows_the_tasks(acme):
    code = (
        "import mteb; print(mteb.get_task('AcmeCitationRetrieval').metadata.name, *[b.name for b in"
        " mteb.get_benchmarks(['Acme'])])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split()[0].startswith("AcmeCitationRetrieval.local-") and done.stdout.split()[1] == "Acme", (
        done.stderr
    )


@pytest.fixture
def acme(tmp_path, monkeypatch):
    root = tmp_path / "acme"
    recipes.run("wipo_at", Collection(*world()), root, [], Identity("Acme", "3", "Acme Corp.", "MIT"))
    monkeypatch.setenv(DATA_VARIABLE, str(root))
    catalogue.enter_own()
    yield root
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    catalogue.enter_own()


def test_mteb_knows_the_tasks_and_the_benchmark_as_long_as_the_variable_names_them(acme, monkeypatch):
    (task,) = mteb.get_tasks(["AcmeCitationRetrieval"])
    assert task.metadata.name.startswith("AcmeCitationRetrieval.local-") and task.metadata.license == "mit"
    names = [one.metadata.name for one in catalogue.find("Acme").task_classes]
    views = pq.read_schema(acme / "WIPO-AT" / "views.parquet").names
    grid = [(q, c) for q in ("TA", "TAC", "Abstract", "Claim1", "Claims") for c in ("TA", "TAC", "Claim1", "Abstract")]
    assert len(names) == sum(q in views and c in views for q, c in grid) == 20
    assert {name.partition(".")[0] for name in names} == {
        "AcmeCitationRetrieval" if q == c == "TAC" else f"Acme{q}To{c}Retrieval" for q, c in grid
    }
    assert mteb.get_benchmark("Acme").name == "Acme" and type(mteb.get_task("PatentCitationRetrieval")) is type(task)
    assert prompt_for("AcmeCitationRetrieval.local-0123456789ab") == prompt_for("PatentCitationRetrieval")
    monkeypatch.delenv(DATA_VARIABLE)
    catalogue.enter_own()
    with pytest.raises(KeyError):
        mteb.get_task("AcmeCitationRetrieval")
    assert mteb.get_task("PatentCitationRetrieval").metadata.name == "PatentCitationRetrieval.sample"


def test_the_scores_are_those_of_the_same_tables_without_a_name(acme, tmp_path, monkeypatch):
    mine = evaluate(mteb.get_task("AcmeTAToTARetrieval"), Words())
    (acme / "dataset.json").unlink()
    catalogue.enter_own()
    nameless = evaluate(mteb.get_task("WIPOATTAToTARetrieval"), Words())
    numbers = {key: value for key, value in mine.items() if isinstance(value, float)}
    np.testing.assert_equal({key: nameless[key] for key in numbers}, numbers)
    assert numbers["ndcg_at_10"] > 0
    assert mine["data_set"]["task"] == "WIPOATTAToTARetrieval" and "data_set" not in nameless


def test_nothing_of_the_paper_is_said_of_own_data():
    for benchmark in catalogue.benchmarks():
        for task in benchmark.task_classes:
            meta = own_data_task(task, ACME, None).metadata
            said = json.dumps([meta.name, meta.description, meta.prompt, meta.dataset], default=str)
            assert meta.name.startswith("Acme") and "assistive" not in said and "WIPO" not in said
            assert "seed=7" in meta.description and "Acme Corp" in meta.description
            assert (meta.reference, meta.bibtex_citation) == (None, "") and own_data_task(
                task, ACME, None
            ).facts.paper == ""
    names = [own_data_task(task, ACME, None).metadata.name for task in catalogue.tasks()]
    assert len(set(names)) == len(names) and not set(names) & {task.metadata.name for task in catalogue.tasks()}
    for name in (
        "AcmeCitationRetrieval",
        "AcmeDAPFAMTACToTACRetrieval",
        "AcmePatenTEBRetrievalIN",
        "AcmePatentMapAbsToAbsRetrieval",
    ):
        assert name in names


def test_a_broken_record_stops_the_task_and_not_mteb(acme, caplog):
    (acme / "dataset.json").write_text("{")
    catalogue.enter_own()
    assert "malformed JSON" in caplog.text and "not known to mteb" in caplog.text
    assert mteb.get_task("STS22").metadata.name == "STS22"
    task = mteb.get_task("PatentCitationRetrieval")
    with pytest.raises(DataError, match=r"dataset\.json.*malformed JSON"):
        task.load_data()


def test_a_name_that_another_task_has_is_a_warning(tmp_path, monkeypatch, caplog):
    recipes.run("wipo_at", Collection(*world()), tmp_path, [], Identity("Acme"))
    taken = mteb.get_task("STS22").metadata.name
    benchmark = own_data_benchmark(Root(tmp_path, dataset.read(tmp_path)), catalogue.find("WIPO-AT"))
    monkeypatch.setattr(benchmark.task_classes[0].metadata, "name", taken)
    monkeypatch.setattr(catalogue, "own_benchmarks", lambda: (benchmark,))
    catalogue.enter_own()
    assert f"the name '{taken}' belongs to another" in caplog.text
    assert mteb.get_task(taken).__class__.__module__.startswith("mteb.")


def test_tables_written_by_hand_get_a_name_by_two_fields(topics, monkeypatch):
    (topics / "dataset.json").write_text('{"schema": 1, "name": "Byhand"}')
    monkeypatch.setenv(DATA_VARIABLE, str(topics))
    (benchmark,) = catalogue.own_benchmarks()
    assert [task.metadata.name for task in benchmark.task_classes] == [
        "ByhandTopicsClassification",
        "ByhandTopicsClustering",
    ]
