"""Where data comes from, and that different data never share an identity."""

import pytest

from patent_mteb.data import sources
from patent_mteb.errors import AccessError, DataError
from patent_mteb.sample import SAMPLE_VERSION

RELEASED = sources.DataSet("org/data", "dapfam", "a" * 40, gated=True)
UNRELEASED = sources.DataSet("Own", "wipo_at")


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv(sources.DATA_VARIABLE, str(tmp_path))
    return tmp_path


def place(root, data, text="x"):
    folder = root / data.key
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file").write_text(text)
    return folder


def test_without_anything_released_data_is_on_the_hub_and_the_rest_is_the_sample():
    hub, sample = sources.resolve(RELEASED), sources.resolve(UNRELEASED)
    assert (hub.kind, hub.revision, hub.subset, hub.task_suffix) == ("hub", "a" * 40, "default", "")
    assert (sample.kind, sample.task_suffix) == ("sample", ".sample")
    assert sample.revision == sample.subset == f"sample-{SAMPLE_VERSION}"


def test_sample_variable_and_forced_sample(monkeypatch, root):
    place(root, UNRELEASED)
    monkeypatch.setenv(sources.SAMPLE_VARIABLE, "1")
    assert sources.resolve(RELEASED).kind == "sample"
    assert sources.resolve(UNRELEASED).kind == "local"
    assert sources.resolve(UNRELEASED, sample=True).kind == "sample"
    monkeypatch.setenv(sources.SAMPLE_VARIABLE, "maybe")
    with pytest.raises(DataError, match="neither yes nor no"):
        sources.resolve(RELEASED)


def test_a_local_copy_wins_and_its_content_is_its_identity(root):
    folder = place(root, RELEASED)
    first = sources.resolve(RELEASED)
    assert (first.kind, first.task_suffix) == ("local", "")
    assert first.revision.startswith("local-") and first.subset == first.revision
    assert first.path("file") == folder / "file"
    place(root, RELEASED, "changed")
    assert sources.resolve(RELEASED).revision != first.revision
    place(root, RELEASED, "x")
    assert sources.resolve(RELEASED).revision == first.revision


def test_a_download_of_the_pinned_commit_counts_as_the_hub(root):
    notes = place(root, RELEASED) / ".cache" / "huggingface" / "download"
    notes.mkdir(parents=True)
    (notes / "file.metadata").write_text("a" * 40 + "\netag\n0\n")
    assert sources.resolve(RELEASED).subset == "default"
    (notes / "file.metadata").write_text("b" * 40 + "\netag\n0\n")
    assert sources.resolve(RELEASED).subset.startswith("local-")


def test_a_family_without_sample_can_be_listed_and_says_what_is_missing_when_it_is_read():
    source = sources.resolve(sources.DataSet("Theirs", ""))
    assert (source.kind, source.revision) == ("local", "missing")
    assert str(source.path("corpus.jsonl")) == "$PATENT_MTEB_DATA/Theirs/corpus.jsonl"
    released = sources.DataSet("org/theirs", "", "c" * 40)
    assert sources.resolve(released, sample=True).kind == "hub"


def test_a_wrong_data_variable_is_named(monkeypatch):
    monkeypatch.setenv(sources.DATA_VARIABLE, "/nowhere/at/all")
    with pytest.raises(DataError, match="not a directory"):
        sources.resolve(UNRELEASED)


def test_without_access_the_error_says_what_to_do():
    with pytest.raises(AccessError) as caught:
        sources.resolve(RELEASED).path("test/data.parquet")
    for part in ("org/data", "HF_TOKEN", "PATENT_MTEB_DATA/org/data", "PATENT_MTEB_SAMPLE=1"):
        assert part in str(caught.value)


def test_the_sample_is_built_once(monkeypatch, tmp_path):
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path))
    sources.sample_root.cache_clear()
    first = sources.sample_root("wipo_at")
    stamp = (first / "WIPO-AT" / "corpus.jsonl").stat().st_mtime_ns
    sources.sample_root.cache_clear()
    assert sources.sample_root("wipo_at") == first
    assert (first / "WIPO-AT" / "corpus.jsonl").stat().st_mtime_ns == stamp
    assert [path.name for path in first.parent.iterdir()] == ["wipo_at"]
    sources.sample_root.cache_clear()
