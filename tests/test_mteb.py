"""The contract with mteb: every private name exists, registration is complete, repeated, loud, and can be switched
off.
"""

import ast
import functools
import importlib
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import mteb
import pytest

import patent_mteb
from patent_mteb import _mteb, published
from patent_mteb.errors import RegistrationError
from patent_mteb.tasks.catalogue import mteb_benchmarks, sample_tasks, tasks

TASKS, SAMPLE_TASKS = tasks(), sample_tasks()


def python(code, program=sys.executable, **env):
    done = subprocess.run([program, "-c", code], capture_output=True, text=True, env={**os.environ, **env}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def started(python_without_mteb):
    """The same as :func:`python`, in a process that has imported what mteb imports."""
    return functools.partial(python, program=python_without_mteb)


def test_every_task_benchmark_and_model_is_known_to_mteb():
    registry = importlib.import_module("mteb.get_tasks")
    for task in TASKS:
        assert registry._TASKS_REGISTRY[task.metadata.name] is task
        assert (task in registry.TASK_LIST) is task.data.released
    for task in SAMPLE_TASKS:
        assert registry._TASKS_REGISTRY[task.metadata.name] is task
        assert task not in registry.TASK_LIST
    from patent_mteb.models.registry import METAS

    for benchmark in mteb_benchmarks():
        assert mteb.get_benchmark(benchmark.name) is benchmark
    for meta in METAS:
        assert mteb.get_model_meta(meta.name).name == meta.name


def test_registering_again_changes_nothing():
    registry = importlib.import_module("mteb.get_tasks")
    before = (len(registry._TASKS_REGISTRY), len(registry.TASK_LIST), len(_mteb.registered("models")))
    patent_mteb.register()
    assert (len(registry._TASKS_REGISTRY), len(registry.TASK_LIST), len(_mteb.registered("models"))) == before


def test_mteb_lists_no_task_on_invented_data():
    ours = [task for task in mteb.get_tasks() if type(task) in TASKS]
    assert len(ours) > 80 and {task.source.kind for task in ours} == {"hub"}
    assert mteb.get_task("PatentCitationRetrieval").metadata.name == "PatentCitationRetrieval.sample"


@pytest.mark.slow
def test_mteb_lists_a_task_on_own_data(started, tmp_path):
    """A process of its own: registration reads ``PATENT_MTEB_DATA``."""
    (tmp_path / "Sophia").mkdir()
    code = "import mteb; print(*sorted(x.metadata.name for x in mteb.get_tasks() if type(x).__name__.startswith('Sophia')))"
    listed = started(code, PATENT_MTEB_DATA=str(tmp_path))
    assert len(listed) == 12 and all(".local-" in name for name in listed), listed


def imported_names():
    """Every name of mteb that the code of the package imports, or reads from the module ``mteb``."""
    found = set()
    for path in Path(patent_mteb.__file__).parent.rglob("*.py"):
        source = path.read_text("utf-8")
        if not re.search(r"\b(?:from|import) mteb\b", source):
            continue
        tree = ast.parse(source)
        plain = any(one.name == "mteb" for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "mteb":
                found |= {(node.module, one.name) for one in node.names}
            elif plain and isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "mteb":
                found.add(("mteb", node.attr))
    return found


LISTED = sorted((module, name) for module, names in _mteb.NAMES.items() for name in names.split())


def test_the_contract_lists_every_name_that_the_suite_imports():
    assert set(LISTED) == imported_names()


PRIVATE = [
    ("mteb.get_tasks", "_TASKS_REGISTRY"),
    ("mteb.get_tasks", "TASK_LIST"),
    ("mteb.get_tasks", "_SIMILAR_TASKS"),
    ("mteb.benchmarks.get_benchmark", "_build_registry"),
    ("mteb.models.model_implementations", "MODEL_REGISTRY"),
]
"""Names of mteb that registration changes."""


@pytest.mark.parametrize(("module", "name"), sorted({*PRIVATE, *dict(LISTED).items()}))
def test_a_name_that_mteb_moved_gives_one_clear_error(monkeypatch, module, name):
    """The private ones, and one of each module that the suite imports from."""
    monkeypatch.delattr(importlib.import_module(module), name)
    with pytest.raises(RegistrationError, match=rf"mteb {mteb.__version__} has no {module}.{name}. Remedy: install"):
        patent_mteb.register()


def test_a_name_that_somebody_else_owns_is_refused(monkeypatch):
    class Impostor:
        pass

    registry = importlib.import_module("mteb.get_tasks")._TASKS_REGISTRY
    monkeypatch.setitem(registry, "PatentCitationRetrieval", Impostor)
    with pytest.raises(RegistrationError, match=r"'PatentCitationRetrieval': the name already belongs to .*Impostor"):
        patent_mteb.register()
    monkeypatch.undo()
    models = importlib.import_module("mteb.models.model_implementations").MODEL_REGISTRY
    monkeypatch.setitem(models, "AI-Growth-Lab/PatentSBERTa", next(iter(models.values())))
    with pytest.raises(RegistrationError, match="model 'AI-Growth-Lab/PatentSBERTa'"):
        patent_mteb.register()


def test_task_classes_can_be_pickled_and_found_in_their_module():
    for task in (*TASKS, *SAMPLE_TASKS):
        assert pickle.loads(pickle.dumps(task)) is task
        assert task.__doc__


def test_metadata_is_complete_and_statistics_stay_out_of_mteb(tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path))
    for task in TASKS:
        meta = task.metadata
        for name in (
            "description",
            "reference",
            "bibtex_citation",
            "date",
            "domains",
            "annotations_creators",
            "sample_creation",
        ):
            assert getattr(meta, name), (meta.name, name)
        assert meta.descriptive_stat_path.is_relative_to(tmp_path)
    assert len({task.metadata.name for task in TASKS}) == len(TASKS)
    assert len({task.metadata.description for task in TASKS}) == len(TASKS)


def test_importing_the_package_or_starting_the_hook_imports_next_to_nothing():
    light = "print(*[m for m in sys.modules if m.split('.')[0] in ('mteb', 'torch', 'pyarrow', 'numpy')])"
    assert python(f"import sys, patent_mteb; {light}") == []
    assert python(f"import sys, patent_mteb_autoload; {light} or print('patent_mteb' in sys.modules)") == ["False"]


ASK = (
    "import mteb, importlib; print('PatentCitationRetrieval' in"
    " importlib.import_module('mteb.get_tasks')._TASKS_REGISTRY)"
)
AGAIN = f"import sys; del sys.modules['mteb']; {ASK}"


@pytest.mark.slow
def test_the_hook_registers_after_mteb_and_can_be_switched_off(started):
    assert started(f"import patent_mteb_autoload; {ASK}") == ["True"]
    assert started(f"import patent_mteb_autoload; {ASK}; import patent_mteb; {AGAIN}", PATENT_MTEB_AUTOLOAD="0") == [
        "False",
        "True",
    ]


@pytest.mark.parametrize(("word", "hooks"), [("1", 1), ("0", 0), ("No", 0)])
def test_words_that_switch_the_hook_off(word, hooks):
    code = (
        "import patent_mteb_autoload as one, sys; print(sum(getattr(f, 'mark', '') == one.MARK for f in sys.meta_path))"
    )
    assert python(code, PATENT_MTEB_AUTOLOAD=word) == [str(hooks)]


@pytest.mark.slow
def test_the_unmodified_command_knows_the_suite_every_way(started, tmp_path):
    """``python -m mteb`` looks for the package before it imports it; so may anybody else."""
    looked_for = f"import importlib.util; importlib.util.find_spec('mteb'); {ASK}"
    reloaded = "importlib.reload(mteb); print(len(mteb.get_tasks(['SophiaAbRetrieval'])))"
    assert started(f"{looked_for}; {AGAIN}; {reloaded}") == ["True", "True", "1"]
    command = [sys.executable, "-I", "-m", "mteb", "available-tasks"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PatentMapAbsToAbsRetrieval" in done.stdout


@pytest.mark.slow
def test_a_registration_that_failed_is_said_at_every_import(started):
    code = """
import patent_mteb_autoload, sys
patent_mteb_autoload.CALLED = "patent_mteb.errors:refuse"
import patent_mteb.errors as errors
def refuse():
    raise errors.RegistrationError("mteb has moved something")
errors.refuse = refuse
patent_mteb_autoload.install()
for _ in range(2):
    try:
        import mteb
        print("silent")
    except errors.RegistrationError as error:
        print("said")
"""
    assert started(code) == ["said", "said"]


@pytest.mark.slow
def test_a_half_removed_package_breaks_neither_python_nor_mteb(started, tmp_path):
    """What a cut-off uninstall leaves behind: the hook without the package, or the .pth file alone."""
    import shutil

    import patent_mteb_autoload

    shutil.copy(patent_mteb_autoload.__file__, tmp_path)
    code = f"""
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "mark", "") != "patent_mteb_autoload"]
sys.modules.pop("patent_mteb_autoload", None)
sys.path.insert(0, {str(tmp_path)!r})
import patent_mteb_autoload
patent_mteb_autoload.CALLED = "patent_mteb_gone:register"
patent_mteb_autoload.install()
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import mteb
print(len(mteb.get_tasks(tasks=["SciFact"])), sum("half removed" in str(one.message) for one in said))
"""
    assert started(code, PATENT_MTEB_AUTOLOAD="0") == ["1", "1"]
    line = (Path(patent_mteb.__file__).parents[1] / "patent_mteb_autoload.pth").read_text()
    assert line.startswith("import ") and line.count("\n") == 1, "one line that Python runs at its start"
    alone = f"import sys; sys.modules['patent_mteb_autoload'] = None; exec({line!r}); print('runs')"
    assert python(alone) == ["runs"]


PUBLIC = (
    "patent_mteb",
    "patent_mteb.experiments.run",
    "patent_mteb.models",
    "patent_mteb.search.fusion",
    "patent_mteb.model_identity.loaded",
    "patent_mteb.tasks.base",
    "patent_mteb.report.collect",
)
"""One module of each room that imports mteb, or that a user imports by its name."""


@pytest.mark.slow
@pytest.mark.parametrize("autoload", ["1", "0"])
def test_everything_is_registered_whatever_is_imported_first(started, autoload):
    """Every public module as the first, and one of them and mteb after ``patent_mteb``, the only one that does not
    import mteb: with mteb imported nothing is left for an order to change. Each order has a fork of its own of a
    process that has loaded what others wrote already. Without the hook one module stands for all that import mteb.
    """
    firsts = PUBLIC[1:] if autoload == "1" else PUBLIC[2:3]
    code = f"""
import importlib, os, sys
import datasets, polars, scipy.stats, sentence_transformers, sklearn.cluster, sklearn.linear_model, torch, transformers
assert "mteb" not in sys.modules
orders = [(first,) for first in {firsts!r}] + [("patent_mteb", second) for second in {(PUBLIC[1], "mteb")!r}]
failed = []
for order in [*orders, ("mteb", "patent_mteb")]:
    child = os.fork()
    if not child:
        try:
            for name in (*order, "mteb", "patent_mteb"):
                importlib.import_module(name)
            registry = importlib.import_module("mteb.get_tasks")._TASKS_REGISTRY
            os._exit(0 if {{"PatentCitationRetrieval", "PatentCitationRetrieval.sample", "SophiaAbRetrieval"}} <= registry.keys() else 3)
        except BaseException as error:
            print(*order, repr(error), file=sys.stderr, flush=True)
            os._exit(4)
    if os.waitpid(child, 0)[1]:
        failed.append(order)
print(len(failed), failed)
"""
    assert started(code, PATENT_MTEB_AUTOLOAD=autoload) == ["0", "[]"]


def test_a_paper_has_one_citation_key_in_mteb_and_the_suite():
    """mteb's tests refuse a title with two keys in its tasks, models and benchmarks."""
    cited = [task.metadata.bibtex_citation for task in (*mteb.get_tasks(), *TASKS)]
    cited += [meta.citation for meta in mteb.get_model_metas()] + [found.citation for found in mteb.get_benchmarks()]
    keys = {}
    for entry in re.split(r"(?m)^(?=@)", "\n".join(filter(None, cited))):
        title = re.search(r"\btitle\s*=\s*\{(.*?)\},?\s*$", entry, re.MULTILINE | re.DOTALL)
        if title:
            keys.setdefault(" ".join(title[1].lower().split()), set()).add(re.match(r"@\w+\{([^,]+)", entry)[1])
    ours = {re.match(r"@\w+\{([^,]+)", entry)[1] for entry in published._citations().values()}
    assert {title: found for title, found in keys.items() if found & ours and len(found) > 1} == {}
    assert len([title for title, found in keys.items() if found & ours]) > 10


ASKED_BY_THREADS = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
sys.setswitchinterval(1e-5)
import mteb
together = threading.Barrier(8)
def names(_):
    together.wait()
    return {benchmark.name for benchmark in mteb.get_benchmarks()}
with ThreadPoolExecutor(8) as pool:
    seen = [*pool.map(names, range(8)), {benchmark.name for benchmark in mteb.get_benchmarks()}]
assert all({"PatentMTEB", "DAPFAM.sample", "MTEB(eng, v2)"} <= names for names in seen), list(map(len, seen))
"""


@pytest.mark.slow
def test_threads_that_ask_for_the_benchmarks_first_lose_none(started):
    """mteb caches its registry without a lock, so that each thread of the first call may create one of its own. Here
    threads of a child that was forked before the first call and of a spawned one ask, then those of the process itself,
    which forks while they do.
    """
    code = f"""
import mteb, multiprocessing, os, sys, threading
for method in ("fork", "spawn"):
    child = multiprocessing.get_context(method).Process(target=exec, args=({ASKED_BY_THREADS!r}, {{}}))
    child.start()
    child.join()
    print(method, child.exitcode)
asked = threading.Thread(target=exec, args=({ASKED_BY_THREADS!r}, {{}}))
asked.start()
child = os.fork()
if not child:
    os._exit(0 if "PatentMTEB" in {{benchmark.name for benchmark in mteb.get_benchmarks()}} else 3)
print("during", os.waitpid(child, 0)[1])
asked.join()
exec({ASKED_BY_THREADS!r}, {{}})
"""
    assert started(code) == ["fork", "0", "spawn", "0", "during", "0"]


def test_a_data_set_that_did_not_change_is_not_registered_again(monkeypatch):
    """Another thread may look for one of its tasks at that moment."""

    class Registry(dict):
        def pop(self, name, default=None):
            raise AssertionError(f"{name} leaves the registry")

    registry = importlib.import_module("mteb.get_tasks")
    task = type(
        "OwnTask", (SAMPLE_TASKS[0],), {"metadata": SAMPLE_TASKS[0].metadata.model_copy(update={"name": "Own"})}
    )
    _mteb.replace_registered([task], [])
    try:
        monkeypatch.setattr(registry, "_TASKS_REGISTRY", Registry(registry._TASKS_REGISTRY))
        _mteb.replace_registered([task], [])
        assert registry._TASKS_REGISTRY["Own"] is task
    finally:
        monkeypatch.undo()
        _mteb.replace_registered([], [])
    assert "Own" not in registry._TASKS_REGISTRY


@pytest.mark.parametrize("method", sorted(_mteb.METHODS))
def test_a_step_of_a_task_that_mteb_moved_gives_one_clear_error(monkeypatch, method):
    """Without the check a renamed step would be left out in silence, and a query's own family would stay in its
    ranking.
    """
    module, kind, name = method
    owner = getattr(importlib.import_module(module), kind)
    if name in vars(owner):
        monkeypatch.delattr(owner, name)
    for base in owner.__mro__[1:]:
        if name in vars(base):
            monkeypatch.delattr(base, name)
    with pytest.raises(RegistrationError, match=rf"has no mteb\.abstasks\.\w+\.\w+\.{name}"):
        patent_mteb.register()


def test_a_step_whose_parameters_mteb_changed_gives_one_clear_error(monkeypatch):
    from mteb.abstasks.retrieval import AbsTaskRetrieval

    def renamed(self, model, data, *, encode_kwargs, hf_split, hf_subset, prediction_folder, num_proc, timer):
        raise AssertionError

    monkeypatch.setattr(AbsTaskRetrieval, "_evaluate_subset", renamed)
    with pytest.raises(RegistrationError, match="_evaluate_subset with the parameter data_split"):
        patent_mteb.register()


def test_the_hooks_stand_before_the_steps_of_mteb():
    """mteb calls its own names; each must lead to the step of the suite, which may call mteb's."""
    from mteb.abstasks import AbsTask

    for task in TASKS:
        order = task.__mro__
        assert order.index(_mteb.TaskHooks) < order.index(AbsTask)
        for _, kind, name in _mteb.METHODS:
            owner = next((base for base in order if name in vars(base)), None)
            if any(base.__name__ == kind for base in order):
                assert owner in (_mteb.TaskHooks, _mteb.PairHooks), (task.metadata.name, name)
