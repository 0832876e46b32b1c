"""PATENT_MTEB_DATA: missing tables stay missing, and a wrong directory is refused with the right one."""

import mteb
import pytest
from small_patents import world

from patent_mteb import recipes
from patent_mteb.data import loading
from patent_mteb.errors import DataError, NotThereError
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.records import Patent, write_records
from patent_mteb.recipes.dataset import Identity
from patent_mteb.tasks import patenteb, sophia, wipo_at

OTHERS = [wipo_at.DATA, patenteb.BENCHMARK.data_sets[0]]


@pytest.fixture
def acme(tmp_path, monkeypatch):
    root = tmp_path / "root"
    recipes.run("sophia", Collection(*world()), root, ["queries=20"], Identity("Acme"))
    monkeypatch.setenv(loading.DATA_VARIABLE, str(root))
    return root


@pytest.mark.parametrize("data", OTHERS)
@pytest.mark.parametrize("asked_for_samples", ["0", "1"])
def test_what_was_not_built_is_neither_fetched_nor_invented(acme, data, asked_for_samples, monkeypatch):
    monkeypatch.setenv(loading.SAMPLE_VARIABLE, asked_for_samples)
    with pytest.raises(NotThereError, match=f"not built for the data set Acme.*patent-mteb data build {data.recipe}"):
        loading.resolve(data)
    task = mteb.get_task("PatentCitationRetrieval")
    with pytest.raises(NotThereError, match="not built"):
        task.load_data()
    assert loading.resolve(data, sample=True).kind == "sample", "a sample that is asked for by name is one"


def test_a_table_that_is_gone_is_missing(acme):
    (acme / "Sophia").rename(acme / "elsewhere")
    with pytest.raises(DataError, match="Sophia of the data set Acme is missing"):
        loading.resolve(sophia.DATA)


def test_a_copy_next_to_own_data_stays_a_copy(acme):
    (acme / "WIPO-AT").mkdir()
    (acme / "WIPO-AT" / "corpus.jsonl").write_text("")
    assert loading.resolve(wipo_at.DATA).own is None, "dataset.json does not list it"
    assert loading.resolve(sophia.DATA).own.name == "Acme"


def test_a_registered_copy_is_the_published_data(acme, monkeypatch):
    revision = loading.resolve(sophia.DATA).revision
    monkeypatch.setitem(loading.REGISTERED, "Sophia", frozenset({revision.removeprefix("local-")}))
    assert loading.resolve(sophia.DATA).own is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("root/Sophia", "is a folder inside a data set.*name .*root"),
        ("", "holds no benchmark's data.*name .*root"),
        ("empty", "holds no benchmark's data.*correct --data"),
        ("records", "is records.*build a benchmark of them first"),
        ("alone", "the folder of one benchmark, not the one that holds it.*as WIPO-AT"),
        ("file", "no such folder of data"),
    ],
)
def test_a_directory_given_wrongly_is_refused_with_a_remedy(acme, tmp_path, monkeypatch, inside, message):
    for name in ("empty", "alone/qrels", "records/patents"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file").write_text("")
    (tmp_path / "alone" / "corpus.jsonl").write_text("")
    write_records(tmp_path / "records" / "patents" / "1.parquet", Patent, world(3)[0])
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / inside))
    with pytest.raises(DataError, match=message):
        loading.resolve(wipo_at.DATA)
