"""Where data comes from, and that different data never share an identity."""

import hashlib
import importlib
import re
import shutil
import sys

import pytest

from patent_mteb import sample
from patent_mteb.data import loading
from patent_mteb.errors import DataError
from patent_mteb.sample import SAMPLE_VERSION

RELEASED = loading.DataSet("org/data", "dapfam", "a" * 40, gated=True)
UNRELEASED = loading.DataSet("Own", "wipo_at")


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path))
    monkeypatch.setitem(loading.KEYS, UNRELEASED.key, ())
    return tmp_path


def place(root, data, text="x"):
    folder = root / data.key
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file").write_text(text)
    return folder


def test_without_anything_released_data_is_on_the_hub_and_the_rest_is_the_sample():
    hub, built_in = loading.resolve(RELEASED), loading.resolve(UNRELEASED)
    assert (hub.kind, hub.revision, hub.subset, hub.task_suffix) == ("hub", "a" * 40, "default", "")
    assert (built_in.kind, built_in.task_suffix) == ("sample", ".sample")
    assert built_in.revision == built_in.subset == f"sample-{SAMPLE_VERSION}"


def test_sample_variable_and_forced_sample(monkeypatch, root):
    place(root, UNRELEASED)
    monkeypatch.setenv(loading.SAMPLE_VARIABLE, "1")
    assert loading.resolve(RELEASED).kind == "sample"
    assert loading.resolve(UNRELEASED).kind == "local"
    assert loading.resolve(UNRELEASED, sample=True).kind == "sample"
    monkeypatch.setenv(loading.SAMPLE_VARIABLE, "maybe")
    with pytest.raises(DataError, match="neither yes nor no"):
        loading.resolve(RELEASED)


def test_a_local_copy_wins_and_its_content_is_its_identity(root):
    folder = place(root, RELEASED)
    first = loading.resolve(RELEASED)
    assert (first.kind, first.task_suffix) == ("local", f".{first.revision}")
    assert first.revision.startswith("local-") and first.subset == first.revision
    assert first.path("file") == folder / "file"
    place(root, RELEASED, "changed")
    assert loading.resolve(RELEASED).revision != first.revision
    place(root, RELEASED, "x")
    assert loading.resolve(RELEASED).revision == first.revision


def test_a_download_of_the_pinned_commit_counts_as_the_hub(root):
    notes = place(root, RELEASED) / ".cache" / "huggingface" / "download"
    notes.mkdir(parents=True)
    etag = hashlib.sha1(b"blob 1\0x").hexdigest()
    (notes / "file.metadata").write_text("a" * 40 + f"\n{etag}\n0\n")
    assert loading.resolve(RELEASED).subset == "default"
    (notes / "file.metadata").write_text("b" * 40 + f"\n{etag}\n0\n")
    assert loading.resolve(RELEASED).subset.startswith("local-")


def test_a_data_set_without_sample_can_be_listed_and_says_what_is_missing_when_it_is_read():
    source = loading.resolve(loading.DataSet("Theirs", ""))
    assert (source.kind, source.revision) == ("local", "missing")
    assert str(source.path("corpus.jsonl")) == "$PATENT_MTEB_DATA/Theirs/corpus.jsonl"
    released = loading.DataSet("org/theirs", "", "c" * 40)
    assert loading.resolve(released, sample=True).kind == "hub"


@pytest.mark.slow
def test_the_sample_is_built_once(monkeypatch, tmp_path):
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path))
    loading.sample_root.cache_clear()
    first = loading.sample_root("wipo_at")
    stamp = (first / "WIPO-AT" / "corpus.jsonl").stat().st_mtime_ns
    loading.sample_root.cache_clear()
    assert loading.sample_root("wipo_at") == first
    assert (first / "WIPO-AT" / "corpus.jsonl").stat().st_mtime_ns == stamp
    assert [path.name for path in first.parent.iterdir()] == ["wipo_at"]
    loading.sample_root.cache_clear()


RECIPE = """
from pathlib import Path
from patent_mteb.recipes import BuildLog

SAMPLE = "{word}"

def build(patents, citations, root, params=None):
    (root / "Outside").mkdir()
    (root / "Outside" / "table").write_text(f"{{params}} {{len(patents)}} {{len(citations)}}")
    return BuildLog("Outside")
"""


@pytest.fixture
def outside(monkeypatch, tmp_path):
    """Write a recipe outside the package as an importable module, and clear the caches of the previous one."""
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)

    def write(text, name="my_recipes.outside"):
        file = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        importlib.invalidate_caches()
        for module in ("my_recipes", name):
            monkeypatch.delitem(sys.modules, module, raising=False)
        shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
        forget()
        return loading.DataSet("Outside", name)

    def forget():
        loading.sample_root.cache_clear()
        loading.sample_revision.cache_clear()

    yield write
    forget()


def test_a_benchmark_outside_the_package_has_its_own_sample(outside):
    patents, citations = sample.load()
    first = loading.resolve(outside(RECIPE.format(word="first")))
    assert (first.kind, first.subset, first.task_suffix) == ("sample", first.revision, ".sample")
    assert re.fullmatch(rf"sample-{SAMPLE_VERSION}-[0-9a-f]{{12}}", first.revision)
    assert first.path("table").read_text() == f"first {len(patents)} {len(citations)}"
    folder = first.path()
    again = loading.resolve(outside(RECIPE.format(word="first")))
    assert again == first and again.path() == folder
    changed = loading.resolve(outside(RECIPE.format(word="second")))
    assert changed.revision != first.revision and changed.path().parent != folder.parent
    assert changed.path("table").read_text().startswith("second ") and (folder / "table").read_text().startswith(
        "first "
    )


def test_the_main_module_can_be_the_recipe(outside, monkeypatch, tmp_path):
    outside(RECIPE.format(word="main"), "script")
    monkeypatch.setitem(sys.modules, "__main__", importlib.import_module("script"))
    source = loading.resolve(loading.DataSet("Outside", "__main__"))
    assert source.path("table").read_text().startswith("main ")
    assert source.path().parent.name.startswith("__main__-")
    loading.sample_revision.cache_clear()
    monkeypatch.delattr(sys.modules["__main__"], "__file__")
    with pytest.raises(DataError, match="has no file"):
        loading.resolve(source.data)


@pytest.mark.parametrize("name", ["my_recipes.nothing", "nothing.at.all", "wipoat"])
def test_a_recipe_that_is_not_there_is_named(outside, name):
    outside(RECIPE.format(word="x"))
    with pytest.raises(DataError, match=f"there is no recipe '{name}'"):
        loading.resolve(loading.DataSet("Outside", name))


def test_a_module_that_is_no_recipe_is_refused_and_leaves_nothing(outside, tmp_path):
    source = loading.resolve(outside("SAMPLE = None"))
    with pytest.raises(DataError, match=r"my_recipes\.outside is not a recipe: it has no build"):
        source.path("table")
    assert not [path for path in (tmp_path / "cache" / "sample").rglob("*") if "my_recipes" in path.name]


def test_a_shortened_release_that_is_accepted_is_a_local_state(monkeypatch):
    data = loading.DataSet("datalyes/class_bloom", "patenteb", "62c95f3")
    assert loading.resolve(data).revision == "62c95f3"
    monkeypatch.setenv(loading.TRUNCATED_VARIABLE, "1")
    found = loading.resolve(data)
    assert found.kind == "hub" and found.task_suffix == f".{found.revision}" and found.revision.startswith("local-")
    assert not data.holds(found.revision)
