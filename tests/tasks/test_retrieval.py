"""Evaluation on arrays and by mteb's machinery: the same results, per-query files and runs, key by key, for every
composition.
"""

import dataclasses
import json
import math
from itertools import product

import mteb
import numpy as np
import pytest
from mteb.models.model_meta import ModelMeta
from mteb.timing import TimingStack
from small_data import FixedSearch, HashEncoder, Letters, dapfam_tables, unmeasured
from small_patents import OFFICES, Words, evaluate, patent

from patent_mteb.data import loading
from patent_mteb.data.loading import plain_name
from patent_mteb.errors import ModelError
from patent_mteb.experiments.sweep import Corpora, Timed
from patent_mteb.models import Hybrid, Passages, Reranked, Truncated, bm25, stored
from patent_mteb.patents.records import Citation
from patent_mteb.recipes import patentmap as patentmap_recipe
from patent_mteb.recipes import wipo_at as wipo_at_recipe
from patent_mteb.search.cache import Cached
from patent_mteb.search.engine import FAST_VARIABLE
from patent_mteb.search.passages import TokenWindows
from patent_mteb.tasks import retrieval
from patent_mteb.tasks.perquery import receiving


@pytest.fixture
def on_arrays(monkeypatch):
    """The tasks that were scored on arrays, one entry an evaluation."""
    scored = []
    real = retrieval.retrieval_scores
    monkeypatch.setattr(
        retrieval, "retrieval_scores", lambda docs, *rest: scored.append(len(docs)) or real(docs, *rest)
    )
    return scored


# ---------------------------------------------------------------- every composition, in a world with families to hide


class Tokenised(Words):
    """Keeps the vectors of texts, which passages and stores ask for again and again; no prompts."""

    _vectors: dict = {}  # noqa: RUF012

    def vector(self, text):
        key = (self.dims, text)
        if key not in self._vectors:
            self._vectors[key] = super().vector(text)
        return self._vectors[key]


class Overlap:
    """A search model of somebody else: words in common over the square root of the length, so that near-ties are
    frequent.
    """

    mteb_model_meta = ModelMeta.create_empty({"name": "tests/overlap", "revision": "1"})

    def index(self, corpus, **context):
        self.corpus = {key: text.split() for key, text in zip(corpus["id"], corpus["text"], strict=True)}

    def search(self, queries, *, top_k, top_ranked=None, **context):
        found = {}
        for query, text in zip(queries["id"], queries["text"], strict=True):
            wanted = set(text.split())
            scores = {key: len(wanted & set(words)) / math.sqrt(len(words)) for key, words in self.corpus.items()}
            found[query] = dict(sorted(scores.items(), key=lambda one: one[::-1], reverse=True)[:top_k])
        return found


def hybrid(method="linear", **settings):
    return Hybrid(bm25("dapfam"), Tokenised(), method, **settings)


def windows(model):
    return Passages(model, splitter=TokenWindows(7))


COMPOSITIONS = {
    "stored encoder": lambda folder: stored(Tokenised(), folder / "store"),
    "truncated": lambda folder: Truncated(Tokenised(), 200),
    "bm25": lambda folder: bm25("dapfam"),
    "foreign": lambda folder: Overlap(),
    "mteb's baseline": lambda folder: mteb.get_model("mteb/baseline-bm25s"),
    "hybrid linear": lambda folder: hybrid(alpha=0.7, depth=80),
    "hybrid rrf": lambda folder: hybrid("rrf", k=30, depth=80),
    "hybrid of hybrid": lambda folder: Hybrid(hybrid(alpha=0.7, depth=80), Overlap(), "rrf", depth=80),
    "cached hybrid": lambda folder: Cached(hybrid(alpha=0.7, depth=80)),
    "reranked bm25": lambda folder: Reranked(bm25("dapfam"), Letters(), k=25, max_length=None),
    "reranked hybrid": lambda folder: Reranked(hybrid(alpha=0.7), Letters(), k=25, max_length=None),
    "cached reranked": lambda folder: Cached(Reranked(Overlap(), Letters(), k=25, max_length=None)),
    "passages": lambda folder: windows(Tokenised()),
    "hybrid of passages": lambda folder: Hybrid(windows(bm25("dapfam")), windows(Tokenised()), alpha=0.6, depth=80),
    "sweep's clock on a cache": lambda folder: Timed(Cached(Tokenised()), Corpora()),
}
TASKS = {"PatentCitationRetrieval": 20, "PatentMapAbsToAbsRetrieval": 20, "PatentMapClmToAllRetrieval": 20}
"""Task -> depth of its rankings, small enough that no system runs out of documents."""


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    """90 patents in 30 families of three, which share their words: each would find its own family first."""
    root = tmp_path_factory.mktemp("families")
    patents = [patent(i, year=2016 + i % 10, office=OFFICES[(i // 2) % 6], family_id=f"F{i % 30}") for i in range(90)]
    names = [one.publication_number for one in patents]
    citations = [Citation(names[i], names[i - 6], "X", "examiner") for i in range(6, 90)]
    citations += [Citation(names[i], names[i - 12], "A", "examiner") for i in range(12, 90)]
    wipo_at_recipe.build(patents, citations, root)
    free = {f"{kind}_{name}": None for kind in ("query", "ipc") for name in ("first_year", "last_year")}
    settings = {"query_offices": (), "ipc_offices": (), **free}
    patentmap_recipe.build(
        patents, citations, root, patentmap_recipe.Params(queries=12, small=3, mlt=30, same_subclass=5, **settings)
    )
    contents = root / patentmap_recipe.DATA_SET / "perf200" / "content"
    with (contents / "documents.json").open("a") as documents:  # so that every query is in its own corpus
        documents.write((contents / "queries.json").read_text())
    return root


WAYS = ("on arrays", "by mteb", "with predictions")


def three_ways(monkeypatch, folder, name, make):
    """Scores and evaluation of a task under each way; the model is made anew each time, as a user of that way makes
    it.
    """
    found = {}
    for way in WAYS:
        monkeypatch.setenv(FAST_VARIABLE, "0" if way == "by mteb" else "1")
        task = mteb.get_task(name)
        task.k_values = (*(k for k in task.k_values if k < TASKS[name]), TASKS[name])
        task._top_k = TASKS[name]
        task.metadata = task.metadata.model_copy(update={"main_score": f"ndcg_at_{TASKS[name]}"})
        options = {"prediction_folder": folder / "predictions"} if way == "with predictions" else {}
        evaluations = []
        with receiving(evaluations.append):
            (scores,) = task.evaluate(make(folder / way), task.split, encode_kwargs={}, **options).values()
        (evaluation,) = evaluations
        found[way] = scores, evaluation, task
    return found


@pytest.fixture
def local(families, monkeypatch):
    monkeypatch.setenv(loading.DATA_VARIABLE, str(families))


def assert_alike(ours, theirs):
    """mteb's rounded scores to the last digit, MRR, nAUC and the means of slices but for the last digits of a sum."""
    assert list(ours) == list(theirs)
    rounded = [
        key
        for key in ours
        if key.startswith(("ndcg_at", "map_at", "recall_at", "precision_at", "hit_rate_at", "accuracy"))
    ]
    assert len(rounded) > 20
    for key, value in theirs.items():
        if key in rounded:
            assert ours[key] == value, key
        elif key == "evidence":
            assert unmeasured(ours[key]) == unmeasured(value)
        else:
            assert ours[key] == pytest.approx(value, abs=1e-9, nan_ok=True), key


BY_SECTION = ("stored encoder", "foreign", "cached hybrid", "reranked bm25", "passages")
"""Compositions that stand for the others where documents are searched by section."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "composition"),
    [
        *product(["PatentCitationRetrieval"], COMPOSITIONS),
        *product(["PatentMapClmToAllRetrieval"], BY_SECTION),
        ("PatentMapAbsToAbsRetrieval", "reranked hybrid"),
    ],
)
def test_every_composition_scores_the_same_whoever_evaluates(
    monkeypatch, on_arrays, tmp_path, local, name, composition
):
    found = three_ways(monkeypatch, tmp_path, name, COMPOSITIONS[composition])
    assert len(on_arrays) == 1  # of the three
    scores, evaluation, task = found["on arrays"]
    by_section = "ClmToAll" in name and not composition.startswith("passages")  # those read the whole document as it is
    assert 0 < scores["main_score"] <= 1
    for way in WAYS[1:]:
        others, other, _ = found[way]
        assert_alike(others, scores)
        np.testing.assert_array_equal(other.run.docs, evaluation.run.docs)
        np.testing.assert_allclose(other.run.scores, evaluation.run.scores, atol=1e-6)
        assert (other.run.parts is None) == (evaluation.run.parts is None) == (not by_section)
        if other.run.parts is not None:
            np.testing.assert_array_equal(other.run.parts, evaluation.run.parts)
        assert other.table().equals(evaluation.table(), check_metadata=True)
    hidden = task.tables.hidden
    assert max(map(len, hidden.values())) == (3 if name == "PatentCitationRetrieval" else 1)
    for way, (_, each, _) in found.items():
        assert plain_name(each.run.task) == name
        for query, documents in each.run.to_dict().items():
            assert hidden[query]
            assert not documents.keys() & hidden[query], way
            if not (by_section and "reranked" in composition):  # there the 25 that are ranked anew are sections
                assert len(documents) == TASKS[name]  # hidden documents took no place
    predicted = json.loads(next((tmp_path / "predictions").rglob("*.json")).read_text())[task.source.subset][task.split]
    assert {query: list(documents) for query, documents in predicted.items()} == {
        query: list(documents) for query, documents in evaluation.run.to_dict().items()
    }
    assert any("first_stage" in key for key in scores) == ("reranked" in composition and "ClmToAll" not in name)


@pytest.mark.slow
def test_a_cache_around_a_fusion_changes_nothing(monkeypatch, tmp_path, local):
    """Review A2: the fusion in a cache left the own family out after it had normalised its scores, and only on
    arrays.
    """
    plain, cached = (
        three_ways(monkeypatch, tmp_path / name, "PatentCitationRetrieval", COMPOSITIONS[name])
        for name in ("hybrid linear", "cached hybrid")
    )
    for way in WAYS:
        assert_alike(cached[way][0], plain[way][0])
        np.testing.assert_array_equal(cached[way][1].run.docs, plain[way][1].run.docs)
        np.testing.assert_array_equal(cached[way][1].run.scores, plain[way][1].run.scores)


@pytest.mark.slow
def test_a_fusion_normalises_what_is_left_without_the_own_family(monkeypatch, tmp_path, local):
    """The expected run is worked out on dictionaries from the full rankings of both systems."""
    evaluation, task = three_ways(monkeypatch, tmp_path, "PatentCitationRetrieval", COMPOSITIONS["hybrid linear"])[
        "on arrays"
    ][1:]
    rankings = []
    for model in (bm25("dapfam"), Tokenised()):
        whole = mteb.get_task("PatentCitationRetrieval")
        whole.load_data()
        whole.tables = dataclasses.replace(whole.tables, hidden={})
        rankings.append(whole.rank(model).to_dict())
    for query, found in evaluation.run.to_dict().items():
        fused = {}
        for weight, ranking in zip((0.3, 0.7), rankings, strict=True):
            seen = {key: score for key, score in ranking[query].items() if key not in task.tables.hidden[query]}
            best = dict(sorted(seen.items(), key=lambda one: one[::-1], reverse=True)[:80])
            low, high = min(best.values()), max(best.values())
            for key, score in best.items():
                fused[key] = fused.get(key, 0.0) + weight * (score - low) / (high - low)
        expected = sorted(fused, key=lambda key: (np.float32(fused[key]), key), reverse=True)[:20]
        assert found == pytest.approx({key: fused[key] for key in expected}, abs=1e-6)


@pytest.mark.slow
def test_rank_gives_the_run_that_the_scores_are_computed_on(monkeypatch, tmp_path, local):
    for name in ("PatentCitationRetrieval", "PatentMapClmToAllRetrieval"):
        _, evaluation, task = three_ways(monkeypatch, tmp_path, name, COMPOSITIONS["reranked bm25"])["on arrays"]
        run = task.rank(COMPOSITIONS["reranked bm25"](tmp_path))
        assert plain_name(run.task) == name
        assert run.depth <= TASKS[name]
        np.testing.assert_array_equal(run.docs, evaluation.run.docs)
        np.testing.assert_array_equal(run.scores, evaluation.run.scores)
        assert (run.first_stage is None) == (evaluation.run.first_stage is None)


@pytest.mark.slow
def test_the_first_stages_recall_is_that_of_its_own_ranking(monkeypatch, tmp_path, local):
    found = three_ways(monkeypatch, tmp_path, "PatentCitationRetrieval", COMPOSITIONS["reranked bm25"])
    task = found["on arrays"][2]
    for scores, evaluation, _ in found.values():
        stage = evaluation.run.first_stage
        assert stage.k == 25
        hits = [
            len(evaluation.qrels[query].keys() & ranked.keys()) / len(evaluation.qrels[query])
            for query, ranked in stage.run.to_dict().items()
        ]
        assert scores["first_stage_recall_at_25"] == pytest.approx(np.mean(hits), abs=1e-12)
        assert not any(ranked.keys() & task.tables.hidden[query] for query, ranked in stage.run.to_dict().items())


@pytest.mark.slow
@pytest.mark.parametrize("composition", ["truncated", "cross-encoder", "hybrid rrf"])
def test_given_candidates_are_reranked_the_same_whoever_evaluates(monkeypatch, tmp_path, local, composition):
    """mteb turns a task into one of reranking the predictions of an earlier run."""
    first = mteb.get_task("PatentCitationRetrieval")
    first.evaluate(bm25("dapfam"), first.split, encode_kwargs={}, prediction_folder=tmp_path / "first")
    make = {"cross-encoder": Letters, "truncated": lambda: Truncated(Tokenised(), 300)}
    found = {}
    for way in ("1", "0"):
        monkeypatch.setenv(FAST_VARIABLE, way)
        task = mteb.get_task("PatentCitationRetrieval").convert_to_reranking(tmp_path / "first", top_k=8)
        model = make[composition]() if composition in make else COMPOSITIONS[composition](tmp_path / way)
        evaluations = []
        with receiving(evaluations.append):
            (scores,) = task.evaluate(model, task.split, encode_kwargs={}).values()
        found[way] = scores, evaluations[0].run
        given = task.dataset[task.source.subset][task.split]["top_ranked"]
        assert {query: set(documents) for query, documents in evaluations[0].run.to_dict().items()} == {
            query: set(documents) for query, documents in given.items()
        }
        assert scores["previous_results_model_meta"]["model_name"] == "patent-mteb/bm25-dapfam"
        np.testing.assert_array_equal(task.rank(model).docs, evaluations[0].run.docs)
    ours, theirs = (
        {key: value for key, value in scores.items() if key != "previous_results_model_meta"}
        for scores, _ in found.values()
    )
    assert_alike(ours, theirs)
    np.testing.assert_array_equal(found["1"][1].docs, found["0"][1].docs)


# ---------------------------------------------------------------- ties, and what mteb keeps to itself


@pytest.fixture
def dapfam(tmp_path, monkeypatch):
    dapfam_tables(tmp_path / "data", n_documents=60)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "data"))
    return "PatentDAPFAMTAToTACRetrieval"


class Coarse(HashEncoder):
    """Few different scores, so that most documents are tied with others."""

    def vector(self, text):
        return np.sign(super().vector(text)[:6])


@pytest.mark.slow
@pytest.mark.parametrize("make", [Coarse, lambda: Cached(HashEncoder())], ids=["ties", "cached"])
def test_both_ways_with_ties_and_short_corpora(monkeypatch, dapfam, make):
    found = {}
    for way in ("1", "0"):
        monkeypatch.setenv(FAST_VARIABLE, way)
        evaluations = []
        with receiving(evaluations.append):
            found[way] = evaluate(mteb.get_task(dapfam), make()), evaluations[0]
    (scores, evaluation), (reference, other) = found.values()
    assert list(scores) == list(reference)
    for key, value in reference.items():
        if key == "evidence":
            assert scores[key]["texts"] == value["texts"] and scores[key]["data"] == value["data"]
        elif "_std" not in key:  # which of two deviations is greater depends on the order of a sum
            assert scores[key] == pytest.approx(value, abs=1e-6, nan_ok=True), key
    np.testing.assert_array_equal(evaluation.run.docs, other.run.docs)
    assert evaluation.table().equals(other.table(), check_metadata=True)


@pytest.mark.parametrize("way", ["1", "0"])
def test_scores_that_single_precision_does_not_tell_apart_are_tied(monkeypatch, dapfam, way):
    """Review A5: such documents go by id in every measure, whatever order the model gives them."""
    monkeypatch.setenv(FAST_VARIABLE, way)
    documents = [f"{i:03}-d" for i in range(60)]

    class Near(FixedSearch):
        def search(self, queries, *, top_k, **kwargs):
            return {
                query: {key: 1.0 + 1e-12 * (60 - place) for place, key in enumerate(documents[:top_k])}
                for query in queries["id"]
            }

    evaluations = []
    with receiving(evaluations.append):
        scores = evaluate(mteb.get_task(dapfam), Near({}))
    (evaluation,) = evaluations
    for query, found in evaluation.run.to_dict().items():
        assert list(found) == documents[::-1]
        best = min(
            documents[::-1].index(document) + 1
            for document in evaluation.qrels[query]
            if evaluation.qrels[query][document]
        )
        assert evaluation.per_query.scores["mrr@1000"][evaluation.per_query.queries.index(query)] == pytest.approx(
            1 / best
        )
    assert scores["mrr_at_1000"] == pytest.approx(evaluation.per_query.scores["mrr@1000"].mean(), abs=1e-9)
    assert scores["hit_rate_at_1"] == pytest.approx(scores["mrr_at_1"], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("attribute", ["skip_first_result", "ignore_identical_ids"])
def test_tasks_that_mteb_treats_in_a_special_way_are_left_to_it(monkeypatch, on_arrays, dapfam, attribute):
    task = mteb.get_task(dapfam)
    evaluate(task, Words())
    assert len(on_arrays) == 1
    monkeypatch.setattr(task, attribute, True)
    evaluate(task, Words())
    assert len(on_arrays) == 1


@pytest.mark.parametrize(
    ("make", "phases"),
    [
        (Words, ["Encoding queries", "Encoding corpus", "Computing similarity", "Scoring"]),
        (lambda: bm25("dapfam"), ["Encoding corpus", "Encoding queries", "Scoring"]),
    ],
    ids=["encoder", "bm25"],
)
def test_phases_of_mtebs_timer(dapfam, make, phases):
    task, timer = mteb.get_task(dapfam), TimingStack()
    task.evaluate(make(), task.split, encode_kwargs={}, timer=timer)
    assert [phase["name"] for phase in timer.phases] == phases
    assert all(phase["end"] >= phase["start"] for phase in timer.phases)


def test_a_broken_model_is_named(dapfam):
    class Broken(Words):
        def vector(self, text):
            return np.full(8, math.nan)

    task = mteb.get_task(dapfam)
    with pytest.raises(ModelError, match=r"test/words on task PatentDAPFAMTAToTACRetrieval.local-\w+ gave NaN"):
        task.evaluate(Broken(), task.split, encode_kwargs={})
