"""The contract with mteb: every private name exists, registration is complete, repeated, loud, and can be switched off."""

import importlib
import pickle
import subprocess
import sys

import mteb
import pytest

import patent_mteb
from patent_mteb import _mteb
from patent_mteb.errors import RegistrationError
from patent_mteb.tasks.catalogue import SAMPLE_TASKS, TASKS


def python(code, **env):
    import os

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_every_task_benchmark_and_model_is_known_to_mteb():
    registry = importlib.import_module("mteb.get_tasks")
    for task in TASKS:
        assert registry._TASKS_REGISTRY[task.metadata.name] is task
        assert task in registry.TASK_LIST
    for task in SAMPLE_TASKS:
        assert registry._TASKS_REGISTRY[task.metadata.name] is task
        assert task not in registry.TASK_LIST
    from patent_mteb.models.registry import METAS
    from patent_mteb.tasks.catalogue import BENCHMARKS

    for benchmark in BENCHMARKS:
        assert mteb.get_benchmark(benchmark.name) is benchmark
    for meta in METAS:
        assert mteb.get_model_meta(meta.name).name == meta.name


def test_registering_again_changes_nothing():
    registry = importlib.import_module("mteb.get_tasks")
    before = (len(registry._TASKS_REGISTRY), len(registry.TASK_LIST), len(_mteb.registered("models")))
    patent_mteb.register()
    assert (len(registry._TASKS_REGISTRY), len(registry.TASK_LIST), len(_mteb.registered("models"))) == before


def test_filters_of_mteb_find_the_suite():
    names = {
        task.metadata.name.removesuffix(".sample")
        for task in mteb.get_tasks(task_types=["Retrieval"], domains=["Legal"], languages=["eng"])
    }
    assert {task.metadata.name for task in TASKS if task.metadata.type == "Retrieval"} <= names


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("mteb.get_tasks", "_TASKS_REGISTRY"),
        ("mteb.get_tasks", "TASK_LIST"),
        ("mteb.get_tasks", "_SIMILAR_TASKS"),
        ("mteb.benchmarks.get_benchmark", "_build_registry"),
        ("mteb.models.model_implementations", "MODEL_REGISTRY"),
    ],
)
def test_a_name_that_mteb_moved_gives_one_clear_error(monkeypatch, module, name):
    monkeypatch.delattr(importlib.import_module(module), name)
    with pytest.raises(RegistrationError, match=f"mteb {mteb.__version__} has no {module}.{name}"):
        _mteb.register()


def test_a_name_that_somebody_else_owns_is_refused(monkeypatch):
    class Impostor:
        pass

    registry = importlib.import_module("mteb.get_tasks")._TASKS_REGISTRY
    monkeypatch.setitem(registry, "PatentCitationRetrieval", Impostor)
    with pytest.raises(RegistrationError, match=r"'PatentCitationRetrieval': the name is already owned by .*Impostor"):
        _mteb.register()
    monkeypatch.undo()
    models = importlib.import_module("mteb.models.model_implementations").MODEL_REGISTRY
    monkeypatch.setitem(models, "AI-Growth-Lab/PatentSBERTa", next(iter(models.values())))
    with pytest.raises(RegistrationError, match="model 'AI-Growth-Lab/PatentSBERTa'"):
        _mteb.register()


def test_task_classes_can_be_pickled_and_found_in_their_module():
    for task in (*TASKS, *SAMPLE_TASKS):
        assert pickle.loads(pickle.dumps(task)) is task
        assert task.__doc__


def test_metadata_is_complete_and_statistics_stay_out_of_mteb(tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path))
    for task in TASKS:
        meta = task.metadata
        for name in ("description", "reference", "bibtex_citation", "date", "domains", "annotations_creators", "sample_creation"):
            assert getattr(meta, name), (meta.name, name)
        assert meta.descriptive_stat_path.is_relative_to(tmp_path)
    assert len({task.metadata.name for task in TASKS}) == len(TASKS)
    assert len({task.metadata.description for task in TASKS}) == len(TASKS)


def test_importing_the_package_or_starting_the_hook_imports_next_to_nothing():
    light = "print(*[m for m in sys.modules if m.split('.')[0] in ('mteb', 'torch', 'pyarrow', 'numpy')])"
    assert python(f"import sys, patent_mteb; {light}") == []
    assert python(f"import sys, patent_mteb_autoload; {light} or print('patent_mteb' in sys.modules)") == ["False"]


ASK = "import mteb, importlib; print('PatentCitationRetrieval' in importlib.import_module('mteb.get_tasks')._TASKS_REGISTRY)"


def test_the_hook_registers_after_mteb_and_can_be_switched_off():
    assert python(f"import patent_mteb_autoload; {ASK}") == ["True"]
    assert python(f"import patent_mteb_autoload; {ASK}", PATENT_MTEB_AUTOLOAD="0") == ["False"]
    assert python(f"import patent_mteb; {ASK}", PATENT_MTEB_AUTOLOAD="0") == ["True"]


@pytest.mark.parametrize(
    "first", ["patent_mteb.tasks", "patent_mteb.tasks.benchmark", "patent_mteb.search.fusion", "patent_mteb.experiments.run"]
)
def test_any_module_may_be_imported_first(first):
    assert python(f"import {first}; {ASK}") == ["True"]
