"""The verbs: values are mteb's, intervals and p values those of the bootstrap on naively scored queries, explanations
those of the data.
"""

import mteb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
import pytrec_eval
from mteb.mocks.mock_tasks import MockMultilingualRetrievalTask
from mteb.models.model_meta import ModelMeta
from small_data import HashEncoder, dapfam_tables, scores_of
from small_patents import Words

import patent_mteb
from patent_mteb.data import loading
from patent_mteb.data.loading import plain_name
from patent_mteb.errors import DataError, ModelError
from patent_mteb.experiments.evaluate import _shared_level
from patent_mteb.metrics.significance import bootstrap
from patent_mteb.models import Hybrid, Quantised, Reranked, Truncated, bm25, stored
from patent_mteb.search.run import Run
from patent_mteb.tasks import patentmap
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.catalogue import tasks as all_tasks
from patent_mteb.tasks.perquery import receiving

TASK = "PatentDAPFAMTAToTACRetrieval"
MEASURES = ("recall_at_10", "map_at_1000", "ndcg_at_10")
TREC = {
    "ndcg_at_100": "ndcg_cut_100",
    "ndcg_at_10": "ndcg_cut_10",
    "recall_at_10": "recall_10",
    "map_at_1000": "map_cut_1000",
}
NAMES = {"bm25": "patent-mteb/bm25-dapfam", "words": "test/words", "hash": "tests/hash-encoder"}


def models():
    return {"bm25": bm25("dapfam"), "words": Words(), "hash": HashEncoder()}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("dapfam")
    dapfam_tables(root, n_documents=60, n_queries=25)
    return root


@pytest.fixture(autouse=True)
def local(data, monkeypatch):
    monkeypatch.setenv(loading.DATA_VARIABLE, str(data))
    return data / "datalyes" / "DAPFAM_patent"


def naive_columns(local, part):
    """Per-query scores by pytrec_eval, ``{measure: [queries, models]}``, of the rankings that mteb's own evaluation
    sees.

    Args:
        part: ``""``, ``in`` or ``out``: which of the published relations count.
    """
    relations = pq.read_table(local / "qrels_all.parquet").to_pylist()
    qrels = {}
    for row in relations:
        if row["relevance_score"] and part in ("", row["domain_rel"].lower()):
            qrels.setdefault(row["query_id"], {})[row["relevant_id"]] = 1
    columns = {measure: [] for measure in TREC}
    for model in models().values():
        ranked = patent_mteb.rank(model, TASK).to_dict()
        found = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10,100", "recall.10", "map_cut.1000"}).evaluate(ranked)
        for measure, theirs in TREC.items():
            columns[measure].append([found[query][theirs] for query in qrels])
    return {measure: np.array(values).T for measure, values in columns.items()}


@pytest.fixture(scope="module")
def table(data):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(loading.DATA_VARIABLE, str(data))
        return patent_mteb.evaluate(list(models().values()), TASK, NAMES["hash"], measures=MEASURES)


def test_the_table_has_a_row_for_each_model_slice_and_measure(table):
    assert table.columns == ["model", "task", "slice", "measure", "value", "low", "high", "n_queries", "p"]
    rows = {
        (model, plain_name(task), *more)
        for model, task, *more in table.select("model", "task", "slice", "measure").iter_rows()
    }
    assert rows == {
        (name, TASK, part, measure) for name in NAMES.values() for part in ("", "in", "out") for measure in TREC
    }
    assert table.height == len(rows)
    assert table["measure"].to_list()[0] == "ndcg_at_100"  # the task's main score comes first
    sizes = {row["slice"]: row["n_queries"] for row in table.iter_rows(named=True)}
    assert sizes == {"": 25, "in": 25, "out": 24}  # one query of these data has no citation outside its domain


def test_values_are_those_of_mtebs_result(table):
    for key, model in models().items():
        expected = scores_of(mteb.get_task(TASK), model)
        for row in table.filter(pl.col("model") == NAMES[key]).iter_rows(named=True):
            name = "_".join(filter(None, (row["slice"], row["measure"])))
            if name in expected:
                assert row["value"] == pytest.approx(expected[name], abs=1e-5), name
        main = table.filter(model=NAMES[key], slice="", measure="ndcg_at_100")["value"].item()
        assert main == pytest.approx(expected["main_score"], abs=1e-5)


@pytest.mark.parametrize("part", ["", "in", "out"])
def test_intervals_and_p_values_are_those_of_the_bootstrap_on_naively_scored_queries(table, local, part):
    columns = naive_columns(local, part)
    for measure, scores in columns.items():
        expected = bootstrap(scores)
        intervals, p_values = expected.intervals(), expected.p_values()
        for place, name in enumerate(NAMES.values()):
            (row,) = table.filter(model=name, slice=part, measure=measure).iter_rows(named=True)
            assert row["value"] == pytest.approx(scores[:, place].mean(), abs=1e-12)
            assert [row["low"], row["high"]] == pytest.approx(intervals[place].tolist(), abs=1e-9)
            assert row["low"] <= row["value"] <= row["high"]
            if name == NAMES["hash"]:
                assert row["p"] is None  # the baseline is not compared with itself
            else:
                assert row["p"] == pytest.approx(p_values[place, 2], abs=1e-12)


def test_without_a_baseline_nothing_is_compared_but_the_rest_is_the_same(table):
    alone = patent_mteb.evaluate(list(models().values()), [mteb.get_task(TASK)], measures=MEASURES)
    assert alone["p"].null_count() == alone.height
    assert alone.drop("p").equals(table.drop("p"))


@pytest.mark.slow
def test_one_model_or_task_needs_no_list_and_names_are_loaded():
    by_name = patent_mteb.evaluate("bm25-dapfam", TASK)
    assert by_name.equals(patent_mteb.evaluate([bm25("dapfam")], [TASK]))
    assert by_name["model"].unique().to_list() == [NAMES["bm25"]]
    two = patent_mteb.evaluate(bm25("dapfam"), (name for name in (TASK, "PatentMapAbsToAbsRetrieval.sample")))
    first, second = two["task"].unique(maintain_order=True)
    assert (plain_name(first), second) == (TASK, "PatentMapAbsToAbsRetrieval.sample")
    assert two.filter(task="PatentMapAbsToAbsRetrieval.sample")["measure"].unique().to_list() == ["recall_at_100"]
    for nothing in (patent_mteb.evaluate([], TASK), patent_mteb.evaluate(bm25(), [])):
        assert (nothing.height, nothing.columns) == (0, two.columns)


@pytest.mark.slow
def test_a_task_that_is_no_retrieval_has_its_main_score_alone():
    task = "PatenTEBBloom.sample"
    found = patent_mteb.evaluate(
        [HashEncoder(dims=16), Words(dims=32)], task, "test/words", measures=["recall_at_10", "accuracy"]
    )
    main = mteb.get_task(task).metadata.main_score
    assert found["measure"].to_list() == [main, "accuracy"] * 2
    assert found.select("low", "high", "n_queries", "p").null_count().row(0) == (4, 4, 4, 4)
    assert found["value"].to_list()[0] == scores_of(mteb.get_task(task), HashEncoder(dims=16))["main_score"]


@pytest.mark.slow
def test_every_subset_of_a_task_of_mteb_has_its_scores():
    task = MockMultilingualRetrievalTask()
    found = patent_mteb.evaluate(HashEncoder(), task)
    values = set(found["value"].to_list())
    for split in task.metadata.eval_splits:
        for scores in MockMultilingualRetrievalTask().evaluate(HashEncoder(), split, encode_kwargs={}).values():
            assert scores["main_score"] in values


def test_nothing_is_written_and_no_receiver_outside_is_disturbed(tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", str(tmp_path / "scores"))
    monkeypatch.setenv("PATENT_MTEB_RUNS", str(tmp_path / "runs"))
    outside = []
    with receiving(outside.append):
        patent_mteb.evaluate(bm25(), TASK)
        patent_mteb.rank(bm25(), TASK)
        assert not outside
        scores_of(mteb.get_task(TASK), bm25())
    assert len(outside) == 1
    assert not list(tmp_path.rglob("*.queries.parquet"))
    assert not (tmp_path / "runs").exists()


def test_arguments_of_encoding_reach_the_model():
    class Listening(HashEncoder):
        def encode(self, inputs, *, precision=None, **kwargs):
            seen.append((precision, inputs.batch_size))
            return super().encode(inputs)

    for verb in (patent_mteb.evaluate, patent_mteb.rank):
        seen = []
        verb(Listening(), TASK, encode_kwargs={"batch_size": 7, "precision": "float32"})
        assert set(seen) == {("float32", 7)}


# ---------------------------------------------------------------- names


def test_models_of_one_name_are_told_apart_by_their_settings():
    narrow, wide = Truncated(HashEncoder(), 8), Truncated(HashEncoder(), 16)
    found = patent_mteb.evaluate([narrow, wide, bm25()], TASK, wide)
    assert found["model"].unique(maintain_order=True).to_list() == [
        "tests/hash-encoder (dims_8)",
        "tests/hash-encoder (dims_16)",
        "patent-mteb/bm25-bm25s",
    ]
    assert found.filter(pl.col("p").is_null())["model"].unique().to_list() == ["tests/hash-encoder (dims_16)"]
    assert found.equals(patent_mteb.evaluate([narrow, wide, bm25()], TASK, "tests/hash-encoder (dims_16)"))
    with pytest.raises(ModelError, match=r"two models are named 'tests/hash-encoder \(dims_8.*\)'"):
        patent_mteb.evaluate([narrow, Truncated(HashEncoder(), 8)], TASK)


def test_models_of_one_name_and_settings_are_told_apart_by_their_revision():
    one, other = Truncated(HashEncoder(), 8), Truncated(HashEncoder(keep_space=True), 8)
    assert one.mteb_model_meta.revision != other.mteb_model_meta.revision
    found = patent_mteb.evaluate([one, other], TASK)
    assert found["model"].n_unique() == 2


def test_a_baseline_is_named_as_the_models_are_or_is_evaluated_too():
    found = patent_mteb.evaluate(["bm25", bm25("dapfam")], TASK, baseline="bm25")
    (uncompared,) = found.filter(pl.col("p").is_null())["model"].unique()
    assert uncompared == found["model"][0] and found["model"].n_unique() == 2
    more = patent_mteb.evaluate(bm25("dapfam"), TASK, baseline="bm25")
    assert more["model"].n_unique() == 2
    columns = ["model", "slice", "value", "p"]
    assert more.select(columns).sort("model", "slice").equals(found.select(columns).sort("model", "slice"))


def test_objects_are_said_in_a_line(tmp_path):
    model = Truncated(HashEncoder(), 8)
    run = patent_mteb.rank(bm25(), TASK)
    task = patent_mteb.get_tasks("PatentMap", types=["Retrieval"], sample=True)[0]
    assert repr(run).startswith("Run of ") and "queries, up to" in repr(run)
    assert "sample" in repr(task) and all(len(repr(one)) < 200 for one in (run, task, model, bm25()))
    assert dir(patent_mteb) == sorted(patent_mteb.__all__)


def test_a_baseline_that_several_models_could_be_is_refused():
    with pytest.raises(ModelError, match="dims_8"):
        patent_mteb.evaluate([Truncated(HashEncoder(), 8), Truncated(HashEncoder(), 16)], TASK, "tests/hash-encoder")


class Cross:
    mteb_model_meta = ModelMeta.create_empty({"name": "tests/cross", "revision": "1", "model_type": ["cross-encoder"]})

    def predict(self, inputs1, inputs2, **kwargs):
        return np.zeros(sum(len(batch["text"]) for batch in inputs2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: patent_mteb.evaluate(bm25(), "PatentDAPFAMTAToTACRetrival"),
            DataError,
            "PatentDAPFAMTAToTACRetrival.*patent-mteb list",
        ),
        (lambda: patent_mteb.evaluate("./nowhere", TASK), ModelError, "no directory ./nowhere"),
        (lambda: patent_mteb.evaluate(bm25(), TASK, "./nobody"), ModelError, "no directory ./nobody"),
        (lambda: patent_mteb.evaluate(bm25(), TASK, measures=["err_at_3"]), ValueError, "unknown measure 'err@3'"),
        (
            lambda: patent_mteb.rank(bm25(), "PatenTEBBloom.sample"),
            DataError,
            "'PatenTEBBloom.sample' is not a retrieval task of the suite",
        ),
    ],
    ids=["task", "model", "baseline", "measure", "no retrieval"],
)
def test_unknown_names_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: patent_mteb.evaluate(bm25(), "PatenTEBBloom.sample"), "does not embed texts"),
        (lambda: patent_mteb.evaluate(Cross(), TASK), "tests/cross is a cross-encoder"),
        (lambda: patent_mteb.rank(Cross(), TASK), "tests/cross is a cross-encoder"),
    ],
    ids=["bm25 on a classification", "cross-encoder on a retrieval", "cross-encoder ranks"],
)
def test_a_model_that_cannot_do_a_task_is_named(call, message):
    with pytest.raises(ModelError, match=message):
        call()


# ---------------------------------------------------------------- rankings


@pytest.mark.slow
def test_a_ranking_is_that_of_the_scores_and_leaves_out_what_a_query_must_not_see(tmp_path):
    hybrid = Hybrid(bm25("dapfam"), Words(), alpha=0.7)
    for model, names in (
        (bm25("dapfam"), [TASK]),
        (Words(), [TASK]),
        (hybrid, [TASK, "PatentMapAbsToAbsRetrieval.sample"]),
    ):
        for name in names:
            evaluations = []
            task = mteb.get_task(name)
            with receiving(evaluations.append):
                scores_of(task, model)
            run = patent_mteb.rank(model, name)
            assert run.task == task.metadata.name
            np.testing.assert_array_equal(run.docs, evaluations[0].run.docs)
            np.testing.assert_array_equal(run.scores, evaluations[0].run.scores)
            task.load_data()
            for query, found in run.to_dict().items():
                assert not found.keys() & task.tables.hidden.get(query, set())
    run.save(tmp_path / "x.run")
    assert Run.load(tmp_path / "x.run").to_dict() == run.to_dict()


def test_an_explanation_shows_what_the_data_says(local):
    run = patent_mteb.rank(Words(), TASK)
    documents, queries = (pq.read_table(local / f"{name}.parquet").to_pylist() for name in ("corpus", "queries"))
    texts = {
        row["relevant_id"]: " ".join(row[name] for name in ("title_en", "abstract_en", "claims_text"))
        for row in documents
    }
    gains = {}
    for row in pq.read_table(local / "qrels_all.parquet").to_pylist():
        if row["relevance_score"]:
            gains[row["query_id"], row["relevant_id"]] = 1
    for row in queries[:4]:
        query = row["query_id"]
        shown = patent_mteb.explain(run, query, k=7)
        assert shown.columns == ["rank", "id", "score", "gain", "category", "ipc", "shared", "text"]
        first, *rest = shown.rows(named=True)
        assert (first["rank"], first["id"], first["ipc"]) == (0, query, "A61F 2/06, G06F 3/01")
        assert first["text"] == f"{row['title_en']} {row['abstract_en']}"
        assert first["score"] is first["gain"] is None
        assert [(one["id"], one["score"]) for one in rest] == run.ranking(query)[:7]
        assert [one["rank"] for one in rest] == list(range(1, 8))
        for one in rest:
            assert one["text"] == texts[one["id"]]
            assert one["gain"] == gains.get((query, one["id"]))
            assert one["shared"] == "subgroup"  # all families of these data carry the same codes
    assert patent_mteb.explain(run, run.query_ids[0]).height == 11
    assert patent_mteb.explain(run, run.query_ids[0], k=999).height == 1 + 60


@pytest.mark.parametrize(
    ("codes", "level"),
    [
        (["A61F 2/06"], "subgroup"),
        (["A61F 2/07"], "group"),
        (["A61F 4/00"], "subclass"),
        (["A61B 5/00"], "ipc3"),
        (["A01B 1/00", "no code"], "section"),
        (["G06F 3/01"], ""),
        ([], ""),
    ],
)
def test_the_deepest_common_level(codes, level):
    assert _shared_level(["H04L 12/28", "A61F 2/06"], codes) == level


def test_categories_are_shown_where_they_are_known():
    run = patent_mteb.rank(Words(), "PatentMapAbsToAbsRetrieval.sample")
    task = mteb.get_task("PatentMapAbsToAbsRetrieval.sample")
    task.load_data()
    judged = 0
    for query in run.query_ids:
        for row in patent_mteb.explain(run, query, task, k=30).rows(named=True)[1:]:
            assert row["category"] == task.tables.categories[query].get(row["id"], "")
            assert (row["category"] in ("XY", "A")) == (row["gain"] == 1)
            judged += row["category"] != ""
    assert judged > 10


def test_an_explanation_of_a_run_from_a_file_needs_its_task(tmp_path):
    run = patent_mteb.rank(bm25("dapfam"), TASK)
    query = next(query for query, found in run.to_dict().items() if found)
    run.save(tmp_path / "x.run")
    loaded = Run.load(tmp_path / "x.run")
    assert patent_mteb.explain(loaded, query, TASK).equals(patent_mteb.explain(run, query))
    assert patent_mteb.explain(loaded, query, mteb.get_task(TASK)).equals(patent_mteb.explain(run, query))
    with pytest.raises(DataError, match="does not name its task"):
        patent_mteb.explain(loaded, query)
    with pytest.raises(DataError, match="the run has no query 'x'"):
        patent_mteb.explain(run, "x")
    with pytest.raises(DataError, match=r"PatentMapAbsToAbsRetrieval\.sample has no document"):
        patent_mteb.explain(loaded, query, "PatentMapAbsToAbsRetrieval.sample")
    with pytest.raises(DataError, match="is not a retrieval task"):
        patent_mteb.explain(run, query, "PatenTEBBloom.sample")
    with pytest.raises(
        DataError,
        match=r"local-0123 is a task on other data than those in PATENT_MTEB_DATA.*set PATENT_MTEB_DATA to the data",
    ):
        patent_mteb.explain(run, query, f"{TASK}.local-0123")
    strange = Run(["stranger"], run.doc_ids, run.docs[:1], run.scores[:1], task=TASK)
    with pytest.raises(DataError, match=rf"{TASK}\S* has no query 'stranger'"):
        patent_mteb.explain(strange, "stranger")


# ---------------------------------------------------------------- tasks


@pytest.mark.slow
def test_tasks_are_chosen_by_benchmark_and_type():
    chosen = patent_mteb.get_tasks("PatentMap", types=["Retrieval"])
    assert [type(task) for task in chosen] == list(patentmap.BENCHMARK.groups["Retrieval"])
    both = patent_mteb.get_tasks(["DAPFAM", "Sophia"], sample=True)
    assert len(both) == 72 + 12
    assert all(task.metadata.name.endswith(".sample") and task.source.kind == "sample" for task in both)
    assert plain_name(patent_mteb.get_tasks("DAPFAM")[0].metadata.name) == "PatentDAPFAMTAToFullTextRetrieval"
    assert len(patent_mteb.get_tasks(["Sophia", "Sophia"])) == 12
    assert len(patent_mteb.get_tasks("PatentMTEB")) <= len(patent_mteb.get_tasks()) == len(all_tasks())
    kinds = {task.metadata.type for task in patent_mteb.get_tasks(types=["Clustering", "STS"])}
    assert kinds == {"Clustering", "STS"}
    assert all(isinstance(task, PatentTask) for task in patent_mteb.get_tasks())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("DAPFARM",), "there is no benchmark 'DAPFARM'.*choose among WIPO-AT, DAPFAM, PatenTEB, Sophia, PatentMap"),
        ((["Sophia", "X"],), "there is no benchmark 'X'"),
        (("Sophia", ["Clustering"]), "no task is of type Clustering.*choose among Retrieval"),
    ],
    ids=range(3),
)
def test_unknown_benchmarks_and_types_are_refused(arguments, message):
    benchmark, types = (*arguments, None)[:2]
    with pytest.raises(DataError, match=message):
        patent_mteb.get_tasks(benchmark, types=types)


class NoMetadata:
    def encode(self, *arguments, **more):
        return np.ones((1, 2))


class OtherMetadata(NoMetadata):
    mteb_model_meta = {"name": "org/model"}  # noqa: RUF012

    def similarity(self, one, other):
        return one @ other.T

    similarity_pairwise = similarity


@pytest.mark.parametrize(
    "thing",
    [None, 3, {}, b"x", object(), len, np.ones(3), NoMetadata(), OtherMetadata(), OtherMetadata, [[None]]],
    ids=lambda thing: type(thing).__name__,
)
def test_what_is_not_a_model_is_refused_everywhere(tmp_path, thing):
    task = "PatentMapAbsToAbsRetrieval.sample"
    ways = [
        lambda model: patent_mteb.evaluate(model, task),
        lambda model: patent_mteb.rank(model, task),
        lambda model: stored(model, tmp_path),
        lambda model: Quantised(model, "int8"),
        lambda model: Truncated(model, 2),
        lambda model: Hybrid(model, model),
        lambda model: Reranked(model, model),
    ]
    for way in ways:
        with pytest.raises(ModelError, match="Remedy"):
            way(thing)
