"""WIPO-AT tasks: hand-worked scores of a ten-publication world, and stable identities."""

from dataclasses import replace

import mteb
import numpy as np
import pyarrow.parquet as pq
import pytest
from small_data import TEN_CITATIONS, TEN_PATENTS, FixedSearch, scores_of

from patent_mteb.data import loading
from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation
from patent_mteb.recipes import wipo_at as recipe
from patent_mteb.tasks import wipo_at


@pytest.fixture(scope="module")
def ten(tmp_path_factory):
    root = tmp_path_factory.mktemp("ten")
    recipe.build(TEN_PATENTS, TEN_CITATIONS, root)
    return root


@pytest.fixture
def local(ten, monkeypatch):
    monkeypatch.setenv(loading.DATA_VARIABLE, str(ten))
    return ten


RANKINGS = {
    "US1A": ["US1A", "JP1A", "CN3A", "DE4A", "WO2A"],  # own family first, then VISION (OUT) at 1, MOBILITY (IN) at 3
    "JP1A": ["WO2A", "CN3A"],
    "CN3A": ["RU6A", "FR5A", "BR7A"],
    "DE4A": ["FR5A", "JP1A", "ES8A", "US1A"],
    "BR7A": ["US1A"],
}


def dcg(*ranks):
    return sum(1 / np.log2(rank + 1) for rank in ranks)


def test_hand_worked_scores(local):
    found = scores_of(mteb.get_task("PatentCitationRetrieval"), FixedSearch(RANKINGS))
    us1, jp1 = dcg(1, 3) / dcg(1, 2), 1.0
    cn3, de4, br7 = dcg(1, 3) / dcg(1, 2), dcg(1, 2, 4) / dcg(1, 2, 3), 0.0
    assert found["n_queries"] == 5
    assert found["ndcg_at_10"] == pytest.approx(np.mean([us1, jp1, cn3, de4, br7]), abs=1e-5)
    assert found["main_score"] == found["ndcg_at_10"]
    # IN: US1A->WO2A (Mobility) at 3, JP1A->WO2A at 1, CN3A->BR7A (Vision) at 3, DE4A->FR5A (G06) at 1, BR7A->ES8A
    # (Vision) missed
    assert found["in_ndcg_at_10"] == pytest.approx(np.mean([dcg(3), 1, dcg(3), 1, 0]), abs=1e-5)
    assert found["in_n_queries"] == 5
    # OUT: US1A->CN3A at 1, JP1A->CN3A at 2, DE4A->{US1A, JP1A} (Mobility) at 4 and 2; CN3A->RU6A has no domain and is
    # in neither
    assert found["out_ndcg_at_10"] == pytest.approx(np.mean([1, dcg(2), dcg(2, 4) / dcg(1, 2)]), abs=1e-5)
    assert found["out_n_queries"] == 3
    assert found["jurisdiction_en_ndcg_at_10"] == pytest.approx((us1 + jp1) / 2, abs=1e-5)
    assert found["jurisdiction_cn_ndcg_at_10"] == pytest.approx(cn3, abs=1e-5)
    assert found["jurisdiction_de_ndcg_at_10"] == pytest.approx(de4, abs=1e-5)
    assert {name for name in found if name.startswith("jurisdiction") and name.endswith("n_queries")} == {
        "jurisdiction_en_n_queries",
        "jurisdiction_cn_n_queries",
        "jurisdiction_de_n_queries",
    }
    assert found["recall_at_10"] == pytest.approx(np.mean([1, 1, 1, 1, 0]), abs=1e-5)
    assert found["mrr_at_10"] == pytest.approx(np.mean([1, 1, 1, 1, 0]), abs=1e-5)


def test_the_grid_has_32_tasks_and_one_stored_text_a_view(local):
    assert len(wipo_at.RETRIEVAL_TASKS) == len({task.metadata.name for task in wipo_at.RETRIEVAL_TASKS}) == 32
    rows = {row["_id"]: row for row in pq.read_table(local / "WIPO-AT" / "views.parquet").to_pylist()}
    for task in wipo_at.RETRIEVAL_TASKS:
        tables = task().load_tables()
        assert tables.corpus == {key: rows[key][task.cell.corpus] for key in tables.corpus}
        assert tables.queries == {key: rows[key][task.cell.query] for key in tables.queries}


def test_other_data_never_answers_with_a_cached_score(local, tmp_path, monkeypatch):
    cache = mteb.ResultCache(tmp_path / "results")

    def run(model):
        return mteb.evaluate(
            model, mteb.get_task("PatentCitationRetrieval"), cache=cache, show_progress_bar=False
        ).task_results[0]

    first = run(FixedSearch(RANKINGS))
    again = run(FixedSearch({}))
    assert again.scores["test"][0]["main_score"] == first.scores["test"][0]["main_score"] > 0, (
        "the same data and model: from the cache"
    )
    recipe.build(TEN_PATENTS, TEN_CITATIONS[:-1], tmp_path / "other")
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "other"))
    second = run(FixedSearch({}))
    assert second.dataset_revision != first.dataset_revision
    assert second.scores["test"][0]["main_score"] == 0
    names = [f"PatentCitationRetrieval.{result.dataset_revision}" for result in (first, second)]
    assert sorted(path.stem for path in cache.cache_path.rglob("Patent*.json")) == sorted(names), (
        "nothing was overwritten"
    )
    loaded = {
        result.task_name: result.get_score()
        for model in cache.load_results().model_results
        for result in model.task_results
    }
    assert loaded == {name: result.get_score() for name, result in zip(names, (first, second), strict=True)}
    assert len(cache.load_results(tasks=names[:1]).model_results[0].task_results) == 1


@pytest.mark.parametrize(
    ("suffix", "has_expert", "has_public"), [("", True, True), (".DWPIOnly", True, False), (".NoDWPI", False, True)]
)
def test_text_variants(suffix, has_expert, has_public):
    data = mteb.get_task(f"WIPOATEmergingClassification{suffix}").load_split()
    fields = wipo_at.VARIANTS[suffix]
    assert len(fields) == 6 * has_expert + 4 * has_public
    folder = loading.resolve(wipo_at.DATA).path()
    rows = {row["_id"]: row for row in pq.read_table(folder / "fields.parquet").to_pylist()}
    labelled = [
        row for row in pq.read_table(folder / "labels" / "Emerging.parquet").to_pylist() if row["split"] == "test"
    ]
    assert data.texts["test"] == [
        " ".join(filter(None, (rows[row["_id"]][name] for name in fields))) for row in labelled
    ]
    assert data.labels["test"] == [row["labels"] for row in labelled]


def test_an_empty_split_is_refused(local):
    with pytest.raises(DataError, match=r"split '\w+' is empty"):
        mteb.get_task("WIPOATEmergingVisionClassification").load_data()


def test_a_domain_that_the_judged_pairs_lack_is_told_apart_from_one_that_nobody_has(tmp_path, monkeypatch):
    """Review §3: "no document has a coarse label or an IPC code" was said where nearly all had one."""
    pair = {"CN3A", "RU6A"}
    patents = [replace(one, labels=(), ipc=() if one.publication_number in pair else one.ipc) for one in TEN_PATENTS]
    recipe.build(patents, [Citation("CN3A", "RU6A")], tmp_path)
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path))
    task = mteb.get_task("PatentCitationRetrieval")
    assert (
        task.load_tables().unformed["in, out"]
        == "no judged pair has a coarse label or an IPC code on both sides in metadata.parquet (7 of 9 rows have one)"
    )
