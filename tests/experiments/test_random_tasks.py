"""Tasks of mteb that draw documents at random: a score is that of a new task object, whatever was evaluated before."""

import re
from pathlib import Path

import datasets
import mteb
import pytest
from mteb.abstasks import AbsTaskClustering, AbsTaskMultilabelClassification
from mteb.mocks.mock_tasks import MockMultilabelClassification, MockMultilingualClusteringFastTask
from mteb.models.model_meta import ModelMeta
from small_data import HashEncoder

import patent_mteb
from patent_mteb import _mteb
from patent_mteb.experiments.run import run

CLASSES = ("A61K", "B60W", "G06F", "H04L")
WORDS = ("tablet", "gearbox", "cache", "router", "coating", "clutch", "kernel", "packet")


def patents(n, of_class):
    """Texts of a few words, of which only some are of their class."""
    rows = []
    for row in range(n):
        section = row % len(CLASSES)
        words = [WORDS[section], *(WORDS[(row * step + step) % len(WORDS)] for step in (3, 5, 7))]
        rows.append((f"A {words[row % 3]} with a {words[3 - row % 3]} and {row % 11} pins", of_class(section, row)))
    return dict(zip(("text", "label"), map(list, zip(*rows, strict=True)), strict=True))


class Technologies(AbsTaskClustering):
    """As ``BigPatentClustering.v2``: a part of the documents, in several random sets."""

    metadata = MockMultilingualClusteringFastTask.metadata.model_copy(
        update={"name": "TechnologiesClustering", "eval_langs": {name: ["eng-Latn"] for name in ("patents", "models")}}
    )
    input_column_name, label_column_name = "text", "label"
    max_fraction_of_documents_to_embed, max_documents_per_cluster, n_clusters = 0.3, 20, 2

    def load_data(self, num_proc=None, **kwargs):
        rows = datasets.Dataset.from_dict(patents(240, lambda section, row: section))
        self.dataset = {name: datasets.DatasetDict(test=rows) for name in ("patents", "models")}
        self.data_loaded = True


class Subclasses(AbsTaskMultilabelClassification):
    """As ``SwedishPatentCPCSubclassClassification``: training texts that are drawn for each label."""

    metadata = MockMultilabelClassification.metadata.model_copy(update={"name": "SubclassesClassification"})
    samples_per_label, n_experiments = 3, 2

    def load_data(self, num_proc=None, **kwargs):
        rows = patents(160, lambda section, row: [section] if row % 5 else [section, (section + 1) % 4])
        rows = datasets.Dataset.from_dict(rows)
        self.dataset = {
            "default": datasets.DatasetDict(train=rows.select(range(120)), test=rows.select(range(120, 160)))
        }
        self.data_loaded = True


def named(name):
    model = HashEncoder()
    model.mteb_model_meta = ModelMeta.create_empty({"name": f"tests/{name}", "revision": "1"})
    return model


def fresh(task):
    """The scores of a new object of the task's class, which is what one process for each model gives."""
    found = mteb.evaluate(named("alone"), type(task)(), cache=None, co2_tracker=False, show_progress_bar=False)
    return {entry["hf_subset"]: entry["main_score"] for entry in found.task_results[0].scores["test"]}


@pytest.mark.parametrize("kind", [Technologies, Subclasses])
def test_equal_models_have_equal_scores_in_one_evaluation(kind):
    task = kind()
    table = patent_mteb.evaluate([named("first"), named("second")], task)
    for model in ("first", "second"):
        values = table.filter(model=f"tests/{model}")["value"].to_list()
        assert values == list(fresh(task).values()), model


@pytest.mark.parametrize("kind", [Technologies, Subclasses])
def test_a_run_after_another_stores_the_scores_of_a_run_of_its_own(kind, tmp_path):
    tasks = [kind()]
    for model in ("first", "second"):
        run(named(model), tasks, tmp_path, show_progress=False)
    for path in sorted(tmp_path.rglob(f"{tasks[0].metadata.name}.json")):
        entries = mteb.results.TaskResult.from_disk(path).scores["test"]
        assert {entry["hf_subset"]: entry["main_score"] for entry in entries} == pytest.approx(
            fresh(tasks[0]), abs=1e-6
        ), path


def test_a_run_that_goes_on_with_the_second_subset_has_the_scores_of_one_that_was_not_stopped(tmp_path, monkeypatch):
    """mteb stores a result after each subset, and draws the documents of one after those of the other."""

    def stopped(self, model, split="test", subsets_to_run=None, **options):
        if subsets_to_run == ["models"]:
            raise KeyboardInterrupt
        return AbsTaskClustering.evaluate(self, model, split, subsets_to_run, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Technologies, "evaluate", stopped)
        assert run(named("first"), [Technologies()], tmp_path, show_progress=False).interrupted
    (path,) = tmp_path.rglob("TechnologiesClustering.json")
    assert len(mteb.results.TaskResult.from_disk(path).scores["test"]) == 1
    run(named("first"), [Technologies()], tmp_path, show_progress=False)
    entries = mteb.results.TaskResult.from_disk(path).scores["test"]
    assert {entry["hf_subset"]: entry["main_score"] for entry in entries} == pytest.approx(
        fresh(Technologies()), abs=1e-6
    )


def test_the_subtasks_of_an_aggregated_task_draw_as_new_objects_do():
    parts = [Technologies(), Subclasses()]
    task = Technologies()
    task.metadata = type("Metadata", (), {"tasks": parts})
    new = {kind: (kind().rng_state.random(), kind().np_rng.random()) for kind in (Technologies, Subclasses)}
    for member in (task, *parts):
        member.rng_state.random(), member.np_rng.random()
    _mteb.restart_generators(task)
    for member in (task, *parts):
        assert (member.rng_state.random(), member.np_rng.random()) == new[type(member)]


def test_one_function_evaluates_with_mteb():
    """It restarts the generators of the task; a second way to ``mteb.evaluate`` would not."""
    calls = {
        path.name
        for path in Path(patent_mteb.__file__).parent.rglob("*.py")
        if re.search(r"(?<!`)\bmteb\.evaluate\(", path.read_text("utf-8"))
    }
    assert calls == {"run.py"}
