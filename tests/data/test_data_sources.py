"""Which data source a result belongs to, and that it belongs to one or to none."""

import sys

import pytest

from patent_mteb.data.data_source import DATA_SOURCES, data_source_named, data_source_of
from patent_mteb.data.loading import REGISTERED, DataSet, resolve, sample_revision
from patent_mteb.errors import DataError
from patent_mteb.sample import SAMPLE_VERSION

RELEASED = DataSet("org/data", "dapfam", "0123456789abcdef")
BRANCH = DataSet("org/moving", "patentmap", "main")
UNRELEASED = DataSet("WIPO-AT", "wipo_at")
OUTSIDE = DataSet("org/outside", "small_recipe")
WITHOUT = DataSet("org/without", "")
PRESENT = f"sample-{SAMPLE_VERSION}"


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """The module of a recipe outside the package."""
    (tmp_path / "small_recipe.py").write_text("SAMPLE = None\ndef build(patents, citations, root, params): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    sample_revision.cache_clear()
    yield
    sys.modules.pop("small_recipe", None)
    sample_revision.cache_clear()


@pytest.mark.parametrize(
    ("data", "revision", "sample", "name"),
    [
        (RELEASED, RELEASED.revision, False, "real"),
        (RELEASED, RELEASED.revision.ljust(40, "0"), False, "real"),  # the full commit of a short hash
        (BRANCH, "d" * 40, False, "real"),
        (RELEASED, "local-aaaaaaaaaaaa", False, "local"),
        (RELEASED, PRESENT, True, "sample"),
        (UNRELEASED, "local-bbbbbbbbbbbb", False, "own"),  # anybody's tables in the layout of the benchmark
        (UNRELEASED, "local-aaaaaaaaaaaa", False, "real"),  # the content of a licensed copy that is registered
        (RELEASED, "local-cccccccccccc", False, "real"),
        (UNRELEASED, PRESENT, True, "sample"),
    ],
)
def test_data_sources_go_by_the_data(data, revision, sample, name, monkeypatch):
    monkeypatch.setitem(REGISTERED, UNRELEASED.key, frozenset({"aaaaaaaaaaaa"}))
    monkeypatch.setitem(REGISTERED, RELEASED.key, frozenset({"cccccccccccc"}))
    assert data_source_of(data, revision, sample=sample) is DATA_SOURCES[name]


def test_earlier_states_of_the_data_are_data_sources_of_their_own():
    assert [DATA_SOURCES["local"].earlier(states).name for states in range(3)] == ["local", "local-2", "local-3"]
    assert data_source_named("local-3") == DATA_SOURCES["local"].earlier(2) != DATA_SOURCES["local"]
    orders = [kind.earlier(states).order for kind in DATA_SOURCES.values() for states in range(3)]
    assert orders == sorted(set(orders))
    assert all(
        "earlier" in kind.earlier(1).banner and "earlier" in kind.earlier(1).titled("Title")
        for kind in DATA_SOURCES.values()
    )
    for name in ("", "reall", "local-x", "-2"):
        with pytest.raises(DataError, match="unknown data source"):
            data_source_named(name)


@pytest.mark.parametrize(
    ("data", "revision", "sample", "problem"),
    [
        (RELEASED, "fedcba9876543210", False, "stands for 0123456789abcdef .an older task version"),
        (RELEASED, "d" * 40, False, "stands for 0123456789abcdef .an older task version"),
        (BRANCH, "main", False, "data revision main, which says no commit"),
        (UNRELEASED, "fedcba9876543210", False, "stands for a local directory"),
        (
            UNRELEASED,
            "",
            False,
            "stands for a local directory",
        ),  # no revision is not the pinned one of a set without a pin
        (RELEASED, PRESENT, False, "built-in sample under the name of the real task"),
        (UNRELEASED, PRESENT, False, "built-in sample under the name of the real task"),
        (RELEASED, "sample-0", True, f"sample-0, but the present sample is {PRESENT}"),
        (RELEASED, RELEASED.revision, True, f"the present sample is {PRESENT}"),
        (RELEASED, "local-aaaaaaaaaaaa", True, f"the present sample is {PRESENT}"),
        (WITHOUT, PRESENT, True, "the present sample is none"),
        (WITHOUT, "", True, "the present sample is none"),
    ],
)
def test_what_belongs_to_no_data_source_is_refused_with_its_reason(data, revision, sample, problem):
    with pytest.raises(DataError, match=problem) as refused:
        data_source_of(data, revision, sample=sample)
    assert refused.value.remedy


def test_every_source_of_a_data_set_has_a_data_source(tmp_path, monkeypatch):
    sources = {"real": resolve(RELEASED), "sample": resolve(UNRELEASED, True)}
    (tmp_path / RELEASED.key).mkdir(parents=True)
    (tmp_path / RELEASED.key / "corpus.jsonl").write_text("{}")
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path))
    sources["local"] = resolve(RELEASED)
    (tmp_path / UNRELEASED.key).mkdir()
    (tmp_path / UNRELEASED.key / "corpus.jsonl").write_text("{}")
    sources["own"] = resolve(UNRELEASED)
    for name, source in sources.items():
        assert data_source_of(source.data, source.revision, sample=source.kind == "sample") is DATA_SOURCES[name]


def test_the_sample_of_a_recipe_outside_the_package_goes_by_its_own_revision(recipe):
    revision = resolve(OUTSIDE, True).revision
    assert revision.startswith(f"{PRESENT}-")
    assert data_source_of(OUTSIDE, revision, sample=True) is DATA_SOURCES["sample"]
    for other in (PRESENT, f"{PRESENT}-000000000000"):
        with pytest.raises(DataError, match=f"the present sample is {revision}"):
            data_source_of(OUTSIDE, other, sample=True)


def test_a_recipe_that_is_gone_leaves_its_results_without_a_data_source():
    with pytest.raises(DataError, match="nowhere_recipe"):
        data_source_of(DataSet("org/gone", "nowhere_recipe"), PRESENT, sample=True)


def test_only_the_real_data_source_needs_no_warning():
    assert list(DATA_SOURCES) == ["real", "own", "local", "sample"]
    assert [name for name, kind in DATA_SOURCES.items() if not kind.banner] == ["real"]
    titles = ["Title", "Title (own data)", "Title (local copy)", "Title (sample)"]
    assert [kind.titled("Title") for kind in DATA_SOURCES.values()] == titles
