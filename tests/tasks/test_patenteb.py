"""PatenTEB tasks against independent references on the same embeddings, and the benchmark's overall score."""

import itertools

import mteb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytrec_eval
from scipy.stats import pearsonr
from sklearn.cluster import MiniBatchKMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, v_measure_score
from small_data import HashEncoder, scores_of

from patent_mteb.data import loading
from patent_mteb.errors import DataError
from patent_mteb.tasks import patenteb


@pytest.fixture(autouse=True)
def sample(monkeypatch):
    monkeypatch.setenv(loading.SAMPLE_VARIABLE, "1")


@pytest.fixture(scope="module")
def folder():
    return loading.sample_root("patenteb") / "datalyes"


def rows(folder, table, split="test"):
    return pq.read_table(folder / table / split / "data.parquet").to_pylist()


def unit(model, texts):
    matrix = np.stack([model.vector(text) for text in texts]).astype(float)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def reference_ndcg(model, queries, corpus, qrels, forbidden=lambda query, document: False):
    names = list(corpus)
    similarity = unit(model, queries.values()) @ unit(model, corpus.values()).T
    run = {
        query: {name: float(value) for name, value in zip(names, line, strict=True) if not forbidden(query, name)}
        for query, line in zip(queries, similarity, strict=True)
    }
    found = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
    return {query: values["ndcg_cut_10"] for query, values in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("spec", patenteb.RETRIEVAL[:3], ids=lambda spec: spec.name)
def test_citation_retrieval_equals_a_naive_ranking(folder, spec):
    data, model = rows(folder, spec.table), HashEncoder()
    queries = {row["q"]: row["q_text"] for row in data}
    corpus = {row[side]: row[f"{side}_text"] for side in ("pos", "neg") for row in data}
    qrels = {query: {row["pos"]: 1 for row in data if row["q"] == query} for query in queries}
    expected = reference_ndcg(model, queries, corpus, qrels, lambda query, document: query == document)
    found = scores_of(mteb.get_task(spec.name), model)
    assert found["n_queries"] == len(queries)
    assert found["main_score"] == pytest.approx(np.mean(list(expected.values())), abs=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("spec", patenteb.RETRIEVAL[3:], ids=lambda spec: spec.name)
def test_fragment_retrieval_equals_a_naive_ranking(folder, spec):
    data, model = rows(folder, spec.table), HashEncoder()
    assert len({row["q"] for row in data}) == len(data)
    queries = {row["q"]: row[spec.query] for row in data}
    corpus = {row["q"]: row[spec.document] for row in data}
    expected = reference_ndcg(model, queries, corpus, {query: {query: 1} for query in queries})
    found = scores_of(mteb.get_task(spec.name), model)
    assert found["main_score"] == pytest.approx(np.mean(list(expected.values())), abs=2e-5)
    if "first_ipcr3" in data[0]:
        for code in {row["first_ipcr3"] for row in data}:
            members = [expected[row["q"]] for row in data if row["first_ipcr3"] == code]
            assert found[f"ipc3_{code.lower()}_ndcg_at_10"] == pytest.approx(np.mean(members), abs=2e-5)
            assert found[f"ipc3_{code.lower()}_n_queries"] == len(members)


@pytest.mark.slow
@pytest.mark.parametrize("spec", patenteb.CLASSES, ids=lambda spec: spec.name)
def test_classification_equals_scikit_learn(folder, spec):
    model = HashEncoder(dims=32)
    data = {split: rows(folder, spec.table, split) for split in ("train", "test")}
    x = {
        split: np.hstack([np.stack([model.vector(row[column]) for row in found]) for column in spec.texts])
        for split, found in data.items()
    }
    y = {split: [row["label"] for row in found] for split, found in data.items()}
    predicted = (
        LogisticRegression(C=1.0, max_iter=10_000, tol=1e-4, random_state=0)
        .fit(x["train"], y["train"])
        .predict(x["test"])
    )
    found = scores_of(mteb.get_task(spec.name), model)
    assert found["main_score"] == pytest.approx(f1_score(y["test"], predicted, average="macro"), abs=1e-5)
    assert found["accuracy"] == pytest.approx(np.mean(predicted == np.array(y["test"])), abs=1e-5)


def test_the_pair_task_encodes_each_side_with_its_own_prompt_side():
    class Sides(HashEncoder):
        def encode(self, inputs, *, prompt_type=None, **kwargs):
            self.seen = [*getattr(self, "seen", []), prompt_type and prompt_type.value]
            return super().encode(inputs)

    model = Sides()
    scores_of(mteb.get_task("PatenTEBNLIOldNew"), model)
    sides = [side for side, _ in itertools.groupby(model.seen)]
    assert sides[:2] == ["query", "document"], "before the fixed texts of its evidence"


@pytest.mark.parametrize("spec", patenteb.PARAPHRASES, ids=lambda spec: spec.name)
def test_paraphrase_equals_scipy(folder, spec):
    data, model = rows(folder, spec.table), HashEncoder()
    cosines = (unit(model, [row["text1"] for row in data]) * unit(model, [row["text2"] for row in data])).sum(axis=1)
    labels = np.array([float(row["label"]) for row in data])
    found = scores_of(mteb.get_task(spec.name), model)
    assert found["main_score"] == pytest.approx(pearsonr(cosines, labels)[0], abs=1e-5)
    assert found["n_rarer_label"] == min((labels == 0).sum(), (labels == 1).sum())
    codes = np.array([row["first_ipcr3"].lower() for row in data])
    checked = 0
    for code in set(codes):
        part = codes == code
        if labels[part].std():
            assert found[f"ipc3_{code}_cosine_pearson"] == pytest.approx(
                pearsonr(cosines[part], labels[part])[0], abs=1e-5
            )
            checked += 1
    assert checked


@pytest.mark.slow
@pytest.mark.parametrize("spec", patenteb.CLUSTERS, ids=lambda spec: spec.name)
def test_clustering_equals_scikit_learn(folder, spec):
    data, model = rows(folder, spec.table), HashEncoder()
    labels = [row["cluster_id"] for row in data]
    x = np.stack([model.vector(row["text"]) for row in data])
    of_seeds = [
        v_measure_score(
            labels,
            MiniBatchKMeans(len(set(labels)), batch_size=16_384, random_state=seed, n_init="auto").fit_predict(x),
        )
        for seed in range(42, 47)
    ]
    found = scores_of(mteb.get_task(spec.name), model)
    assert found["main_score"] == pytest.approx(of_seeds[0], abs=1e-5)
    assert found["v_measure_seeds_mean"] == pytest.approx(np.mean(of_seeds), abs=1e-5)
    assert found["v_measure_seeds_std"] == pytest.approx(np.std(of_seeds, ddof=1), abs=1e-5)
    assert found["n_clusters"] == len(set(labels))


def test_repeated_ids_and_texts(tmp_path, monkeypatch, caplog):
    place = tmp_path / "datalyes" / "effect2full" / "test"
    place.mkdir(parents=True)
    table = {
        "q": ["1", "1", "2", "3", "3"],
        "effect": ["red", "red", "green", "blue", "blue"],
        "full_text": ["a red thing", "a red thing", "a green thing", "a blue thing", "a green thing"],
    }
    pq.write_table(pa.table(table), place / "data.parquet")
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path))
    tables = mteb.get_task("PatenTEBEffect2Full").load_tables()
    assert tables.corpus == {"1": "a red thing", "2": "a green thing", "3": "a blue thing", "3#2": "a green thing"}
    assert tables.queries == {"1": "red", "2": "green", "3": "blue"}
    assert tables.qrels == {"1": {"1": 1}, "2": {"2": 1}, "3": {"3": 1, "3#2": 1}}
    assert "1 of 4 documents repeat the text of another one" in caplog.text


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"q": ["1"], "effect": ["x"]}, "column 'full_text' is missing"),
        ({"q": ["1"], "effect": [""], "full_text": ["x"]}, "row 1: column 'effect' is empty"),
        ({"q": ["1"], "effect": [5], "full_text": ["x"]}, "row 1: column 'effect' does not hold strings"),
        (
            {
                "q": pa.array([], pa.string()),
                "effect": pa.array([], pa.string()),
                "full_text": pa.array([], pa.string()),
            },
            "the table is empty",
        ),
    ],
)
def test_bad_tables_are_named(tmp_path, monkeypatch, columns, message):
    place = tmp_path / "datalyes" / "effect2full" / "test"
    place.mkdir(parents=True)
    pq.write_table(pa.table(columns), place / "data.parquet")
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path))
    with pytest.raises(DataError, match=message):
        mteb.get_task("PatenTEBEffect2Full").load_data()
