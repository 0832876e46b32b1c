import json
import math
from itertools import pairwise

import numpy as np
import pytest
from mteb.models import SearchEncoderWrapper
from mteb.models.model_meta import ModelMeta
from search_calls import METADATA, corpus_of, left_out, ranking, run_of
from small_data import HashEncoder

from patent_mteb.errors import ModelError, SettingError
from patent_mteb.identity import compose_meta
from patent_mteb.search.bm25 import bm25
from patent_mteb.search.cache import Cached, RunCache
from patent_mteb.search.fusion import RRF, Hybrid, Linear, fuse, min_max, sweep, sweep_scores
from patent_mteb.search.passages import Passages, TokenWindows
from patent_mteb.search.run import Run, TopK, ranked_ids
from patent_mteb.search.stored import Weighted, fuse_all

DOCS = ranked_ids(f"d{i}" for i in range(40))


class Fixed:
    """A search model with given rankings that counts how often it is asked."""

    def __init__(self, results, name="tests/fixed"):
        self.results, self.asked = results, []
        self.mteb_model_meta = ModelMeta.create_empty({"name": name, "revision": "1"})

    def index(self, corpus, **context):
        self.corpus = corpus

    def search(self, queries, *, top_k, top_ranked=None, **context):
        self.asked.append(top_k)
        results = {}
        for query in queries["id"]:
            allowed = None if top_ranked is None else set(top_ranked.get(query, ()))
            kept = [
                (score, document)
                for document, score in self.results[query].items()
                if allowed is None or document in allowed
            ]
            results[query] = {document: score for score, document in sorted(kept, reverse=True)[:top_k]}
        return results


ODD = [
    math.nan,
    math.inf,
    -math.inf,
    -1,
    "1",
    None,
    True,
    [1],
    10**400,
    1e308,
    np.float32("nan"),
    np.array([0.5, 1]),
    1j,
]
MADE_OF = {
    "k of reciprocal rank fusion": RRF,
    "alpha": Linear,
    "a weight": lambda value: Weighted((value, 0.5)),
    "k1 of BM25": lambda value: bm25(k1=value),
    "b of BM25": lambda value: bm25(b=value),
    "depth": lambda value: Hybrid(bm25(), bm25("dapfam"), depth=value),
    "the length of a window": TokenWindows,
    "the stride of a window": lambda value: TokenWindows(8, value),
}


@pytest.mark.parametrize("name", MADE_OF)
@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
def test_a_setting_that_is_not_a_number_of_its_range_is_refused_by_name(name, value):
    if value is None and "stride" in name:
        pytest.skip("windows without overlap")
    with pytest.raises(SettingError, match=f"^{name} is a (whole )?number from [01].*, not "):
        MADE_OF[name](value)


@pytest.mark.parametrize("name", ["depth", "the length of a window", "the stride of a window"])
@pytest.mark.parametrize("value", [0, 2.5, -0.0, np.float64(3)])
def test_a_count_is_a_whole_number(name, value):
    with pytest.raises(SettingError, match=f"^{name} is a whole number from 1, not "):
        MADE_OF[name](value)


def test_equal_settings_have_one_identity():
    pairs = [(-0.0, 0.0), (np.float32(0.5), 0.5), (np.array(0.5), 0.5)]
    for value, plain in pairs:
        one, other = (bm25(k1=setting, b=setting).mteb_model_meta for setting in (value, plain))
        assert one.experiment_name == other.experiment_name
    assert bm25(k1=2).mteb_model_meta.experiment_kwargs["k1"] == 2, "as in the results so far"


def naive(first, second, setting):
    """The equations of the papers, written document by document."""
    fused = {}
    for document in first.keys() | second.keys():
        parts = []
        for results in (first, second):
            ordered = sorted(results, key=lambda d: (results[d], d), reverse=True)
            if document not in results:
                parts.append(0.0)
            elif isinstance(setting, RRF):
                parts.append(1 / (setting.k + ordered.index(document) + 1))
            else:
                low, high = min(results.values()), max(results.values())
                parts.append(1.0 if low == high else (results[document] - low) / (high - low))
        fused[document] = (
            sum(parts) if isinstance(setting, RRF) else (1 - setting.alpha) * parts[0] + setting.alpha * parts[1]
        )
    return fused


def random_results(seed, n_queries=12, ties=False):
    draw = np.random.default_rng(seed)
    results = {}
    for query in range(n_queries):
        chosen = draw.choice(DOCS, draw.integers(0, 25), replace=False)
        if ties == "zeros":
            scores = draw.choice([-0.0, 0.0, 1.0, -1.0, -1e-30], len(chosen))
        elif ties:
            scores = draw.integers(0, 4, len(chosen))
        else:
            scores = draw.normal(size=len(chosen)) * 10.0 ** draw.integers(-3, 4)
        results[f"q{query}"] = dict(zip(chosen.tolist(), scores.astype(np.float32).tolist(), strict=True))
    return results


def as_run(results):
    return Run.from_dict(results, list(results), DOCS)


def single(results):
    """Scores worked out in double precision as a run keeps them: rounded once, at the end."""
    return {document: float(np.float32(score)) for document, score in results.items()}


SETTINGS = [*(Linear(alpha) for alpha in (0, 0.1, 0.5, 0.7, 1)), *(RRF(k) for k in (0, 10, 30, 60, 100))]


@pytest.mark.parametrize("ties", [False, True, "zeros"])
def test_equals_the_equations_written_naively(ties):
    first, second = random_results(1, ties=ties), random_results(2, ties=ties)
    for setting, run in zip(SETTINGS, sweep(as_run(first), as_run(second), SETTINGS, threads=2), strict=True):
        for query, found in run.to_dict().items():
            expected = single(naive(first[query], second[query], setting))
            assert found.keys() == expected.keys()
            assert found == pytest.approx(expected, rel=0, abs=1e-9)
            values = list(found.items())
            assert all(a[1] > b[1] or (a[1] == b[1] and a[0] > b[0]) for a, b in pairwise(values))
            best = sorted(expected.items(), key=lambda item: (item[1], item[0]), reverse=True)[:5]
            assert list(fuse(as_run(first), as_run(second), setting, 5).to_dict()[query]) == [
                document for document, _ in best
            ]


def test_a_negative_zero_is_a_score_like_any_other():
    """A file writes -0.0 for a small negative number; its document was dropped from interpolations."""
    first = {"q": {"d1": 0.9, "d2": 0.5}}
    for zero in (0.0, -0.0):
        second = as_run({"q": {"d4": 1.0, "d3": zero, "d1": 0.0}})
        assert list(fuse(as_run(first), second, Linear(0.5)).to_dict()["q"]) == ["d4", "d1", "d3", "d2"]
        weighted = fuse_all([as_run(first), second], Weighted((1, 1))).to_dict()["q"]
        assert list(weighted) == ["d4", "d1", "d3", "d2"]
        (scores,) = sweep_scores(as_run(first), second, [Linear(0.5)], {"q": {"d3": 1}}, ["mrr@10"])
        assert scores.scores["mrr@10"].tolist() == [1 / 3]
    assert Linear(-0.0) == Linear(0) and Linear(-0.0).tag == "linear-0"


def test_empty_places_of_a_fused_run_have_no_document_and_score_0():
    first = {"few": {"d1": 2.0}, "many": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    run = fuse(as_run(first), as_run({"few": {"d1": 5.0}, "many": {"d4": 5.0}}), Linear(0.5))
    assert (run.docs >= 0).sum(axis=1).tolist() == [1, 4]
    assert run.scores[run.docs < 0].tolist() == [0.0] * 3


def test_equal_scores_are_all_the_best():
    first, second = {"q": {"d1": 5.0}}, {"q": {"d2": 2.0, "d3": 2.0, "d4": 2.0}}
    assert fuse(as_run(first), as_run(second), Linear(0.25)).to_dict()["q"] == {
        "d1": 0.75,
        "d4": 0.25,
        "d3": 0.25,
        "d2": 0.25,
    }
    np.testing.assert_array_equal(min_max(as_run(second)), [[1, 1, 1]])
    assert fuse(as_run({"q": {}}), as_run({"q": {}}), Linear(0.5)).to_dict() == {"q": {}}
    last = fuse(as_run({"q": {}}), as_run(second), RRF(0)).to_dict()["q"]
    assert last == pytest.approx(single({"d4": 1, "d3": 1 / 2, "d2": 1 / 3}), abs=1e-9)


def test_runs_of_other_queries_or_corpora_are_refused():
    run = as_run({"q": {"d1": 1.0}})
    for other in [Run(["x"], run.doc_ids, run.docs, run.scores), Run(run.query_ids, DOCS[1:], run.docs, run.scores)]:
        with pytest.raises(ModelError, match="same queries"):
            fuse(run, other, RRF())


def test_top_k_over_blocks_is_exact_among_ties_and_negative_scores():
    draw = np.random.default_rng(6)
    scores = draw.choice(np.array([-2.5, -0.0, 0.0, 1e-30, -1e-30, 3.25], np.float32), (7, 40))
    scores[3, :] = np.float32(0)
    best = TopK([f"q{i}" for i in range(7)], DOCS, 9)
    for start in range(0, 40, 6):
        docs = np.arange(start, min(start + 6, 40))[::-1]
        best.add(slice(0, 4), scores[:4, docs], docs)
        best.add(slice(4, 7), scores[4:, docs], docs, allowed=docs[None].repeat(3, 0) != 17)
    for row, (query, found) in enumerate(best.run().to_dict().items()):
        pool = [(score, DOCS[doc]) for doc, score in enumerate(scores[row].tolist()) if row < 4 or doc != 17]
        assert query == f"q{row}"
        assert list(found.items()) == [(document, score) for score, document in sorted(pool, reverse=True)[:9]]
    for odd in (np.nan, np.inf, -np.inf, 1e39):
        with pytest.raises(ModelError, match="not a finite number"):
            best.add(slice(0, 1), np.array([[odd]]), np.array([0]))


CORPUS = {
    f"d{i}": text
    for i, text in enumerate(
        ["rotor blade", "wind rotor tower", "tower", "blade tower wind", "solar cell", "cell rotor"]
    )
}
QUERIES = {"q1": "rotor tower", "q2": "solar wind", "q3": "blade"}


def test_hybrid_fuses_what_its_systems_return():
    encoder = HashEncoder()
    lexical, dense = (
        ranking(bm25("dapfam"), CORPUS, QUERIES, 1000),
        ranking(SearchEncoderWrapper(encoder), CORPUS, QUERIES, 1000),
    )
    for setting in (Linear(0.7), Linear(0.2), RRF(30)):
        found = ranking(Hybrid(bm25("dapfam"), encoder, **setting.settings), CORPUS, QUERIES)
        assert found == {
            query: pytest.approx(single(naive(lexical[query], dense[query], setting)), abs=1e-9) for query in QUERIES
        }
    assert ranking(Hybrid(bm25(), encoder, alpha=0.7), CORPUS, QUERIES) != ranking(
        Hybrid(encoder, bm25(), alpha=0.7), CORPUS, QUERIES
    )


def test_depth_not_the_task_decides_how_deep_the_systems_rank():
    results = {"q": {"d0": 4.0, "d1": 3.0, "d2": 2.0, "d3": 0.0}}
    other = {"q": {"d5": 1.0, "d4": 0.5, "d3": 0.0}}
    systems = Fixed(results), Fixed(other, "tests/other")
    for top_k in (2, 10):
        found = ranking(Hybrid(*systems, alpha=0.5, depth=3), CORPUS, {"q": ""}, top_k)["q"]
        assert found["d0"] == found["d5"] == 0.5
        assert len(found) == min(top_k, 6)
    assert found["d1"] == pytest.approx(0.25)  # between d0 (4) and d2 (2), the third and last
    assert systems[0].asked == systems[1].asked == [3, 3]


def test_candidates_of_reranking_reach_both_systems():
    found = ranking(
        Hybrid(bm25(), HashEncoder()), CORPUS, QUERIES, top_ranked={"q1": ["d1", "d4"], "q2": ["d2"], "q3": []}
    )
    assert {query: set(documents) for query, documents in found.items()} == {
        "q1": {"d1", "d4"},
        "q2": {"d2"},
        "q3": set(),
    }


def test_hidden_documents_are_left_out_before_normalisation():
    first = Fixed({"q": {"d0": 100.0, "d1": 3.0, "d2": 2.0, "d3": 1.0}})
    second = Fixed({"q": {"d0": 9.0, "d2": 4.0, "d1": 3.0, "d4": 2.0}}, "tests/other")
    model, hidden = Hybrid(first, second, alpha=0.5, depth=3), {"q": {"d0"}}
    found = run_of(model, CORPUS, {"q": ""}, hidden=hidden).to_dict()["q"]
    assert found == pytest.approx({"d1": 0.5 + 0.25, "d2": 0.25 + 0.5, "d3": 0.0, "d4": 0.0})
    assert "d0" in run_of(model, CORPUS, {"q": ""}).to_dict()["q"]  # the model itself leaves nothing out
    nested = Hybrid(model, second, alpha=0.5, depth=3)
    inner = {"q": {"d1": 0.75, "d2": 0.75, "d4": 0.0}}  # d4 before d3, which ties with it
    expected = ranking(Hybrid(Fixed(inner), Fixed(left_out(second.results, hidden, 9)), depth=3), CORPUS, {"q": ""})
    assert run_of(nested, CORPUS, {"q": ""}, hidden=hidden).to_dict() == {"q": pytest.approx(expected["q"])}


def test_a_sweep_runs_each_system_once_for_each_task():
    results = {query: {document: float(i + j) for i, document in enumerate(CORPUS)} for j, query in enumerate(QUERIES)}
    systems = Fixed(results), Fixed({query: {"d1": 1.0} for query in QUERIES}, "tests/other")
    models = Hybrid.sweep(*systems, SETTINGS)
    assert len({model.mteb_model_meta.revision for model in models}) == len(SETTINGS)
    for model, setting in zip(models, SETTINGS, strict=True):
        assert ranking(model, CORPUS, QUERIES) == ranking(
            Hybrid(*(Fixed(s.results) for s in systems), **setting.settings), CORPUS, QUERIES
        )
        assert model.mteb_model_meta.name == Hybrid(*systems, **setting.settings).mteb_model_meta.name
    assert systems[0].asked == systems[1].asked == [1000]
    ranking(models[0], {**CORPUS, "d5": "changed"}, QUERIES)
    ranking(models[1], CORPUS, {**QUERIES, "q3": "changed"})
    ranking(models[2], CORPUS, QUERIES, precision="int8")
    ranking(models[3], CORPUS, QUERIES, batch_size=7)
    assert systems[0].asked == [1000] * 4


def test_models_that_share_a_system_do_not_mix_up_corpora():
    shared = bm25()
    one, two = Hybrid(shared, HashEncoder(), alpha=0.0), Cached(shared)
    context = {"task_metadata": METADATA, "hf_split": "test", "hf_subset": "default", "encode_kwargs": {}}
    one.index(corpus_of({"a": "rotor", "b": "wind"}), **context)
    two.index(corpus_of({"x": "rotor", "y": "wind"}), **context)
    queries = corpus_of({"q": "wind"})
    for _ in range(2):
        found = one.search(queries, top_k=2, **context)["q"]
        assert max(found, key=found.get) == "b"
        assert list(two.search(queries, top_k=2, **context)["q"]) == ["y"]


def test_a_cache_serves_lesser_depths_of_the_same_model_only():
    system, cache = Fixed({query: {"d1": 1.0, "d0": 0.5} for query in QUERIES}), RunCache()
    expected = ranking(Cached(system, cache), CORPUS, QUERIES, 5)
    assert ranking(Cached(system, cache), CORPUS, QUERIES, 5) == expected
    assert ranking(Cached(system, cache), CORPUS, QUERIES, 1) == {query: {"d1": 1.0} for query in QUERIES}
    assert system.asked == [5]
    ranking(Cached(system, cache), CORPUS, QUERIES, 6)
    ranking(Cached(Fixed(system.results, "tests/other"), cache), CORPUS, QUERIES, 5)
    assert system.asked == [5, 6]


def test_every_setting_has_its_own_identity():
    encoder, other = HashEncoder(), HashEncoder(dims=32)
    windows = TokenWindows(4)
    models = [
        Hybrid(bm25("dapfam"), encoder, alpha=0.7),
        Hybrid(bm25("dapfam"), encoder, alpha=0.7, depth=100),
        Hybrid(encoder, bm25("dapfam"), alpha=0.7),
        Hybrid(bm25("dapfam", stemmer=None), encoder, alpha=0.7),
        Hybrid(bm25("dapfam"), other, alpha=0.7),  # differs in the revision only
        Hybrid(bm25("dapfam"), encoder, "rrf"),
        Hybrid(bm25("dapfam"), encoder, "rrf", k=10),
        Hybrid(bm25("dapfam"), Passages(encoder, aggregate="avgP", splitter=windows)),
        Hybrid(Hybrid(bm25(), encoder), other),
        Hybrid(bm25(), Hybrid(encoder, other)),
    ]
    metas = [model.mteb_model_meta for model in models]
    assert len({meta.revision for meta in metas}) == len(models)
    assert metas[0].name == "hybrid/linear-0.7-bm25-dapfam+hash-encoder"
    assert metas[5].name == "hybrid/rrf-60-bm25-dapfam+hash-encoder"
    assert metas[7].name == "hybrid/linear-0.5-bm25-dapfam+passages-4-avgP-hash-encoder"
    assert metas[8].name == "hybrid/linear-0.5-hybrid-linear-0.5-bm25-bm25s+hash-encoder+hash-encoder"
    assert metas[0].experiment_kwargs["parts"][0]["k1"] == 1.2
    json.dumps(metas[9].to_dict(), default=str)
    deep = metas[0]
    for _ in range(12):
        deep = compose_meta("hybrid", [deep, metas[1]], {"alpha": 0.5})
    assert len(deep.model_name_as_path()) < 200


def test_nameless_models_and_bad_settings_are_refused():
    nameless = HashEncoder()
    nameless.mteb_model_meta = ModelMeta.create_empty()
    with pytest.raises(ModelError, match="without a name"):
        Hybrid(bm25(), nameless)
    for arguments, message in [
        ({"method": "rrf", "alpha": 0.5}, "alpha belongs"),
        ({"k": 60}, "k belongs"),
        ({"method": "max"}, "'linear' or 'rrf'"),
        ({"alpha": 1.5}, "from 0 to 1"),
        ({"method": "rrf", "k": -1}, "is a number from 0"),
        ({"method": "rrf", "k": math.nan}, "is a number from 0 to 1,000,000, not nan"),
        ({"method": "rrf", "k": math.inf}, "not inf"),
        ({"method": "rrf", "k": 1e7}, "not 10000000.0"),
        ({"method": "linear", "alpha": math.nan}, "alpha is a number from 0 to 1, not nan"),
        ({"depth": 0}, "depth"),
    ]:
        with pytest.raises(ValueError, match=message):
            Hybrid(bm25(), HashEncoder(), **arguments)


def test_a_nested_system_leaves_documents_out_before_it_fuses_in_a_sweep_too():
    first = Fixed({"q": {"d0": 10.0, "d1": 3.0, "d2": 2.0, "d3": 1.0}}, "tests/a")
    second = Fixed({"q": {"d0": 9.0, "d3": 5.0, "d4": 4.0, "d1": 1.0}}, "tests/b")
    third = Fixed({"q": {"d4": 2.0, "d1": 1.0}}, "tests/c")
    inner = Hybrid(first, second, alpha=0.5)
    (swept,) = Hybrid.sweep(inner, third, [Linear(0.5)])
    expected = run_of(Hybrid(inner, third, alpha=0.5), CORPUS, {"q": ""}, hidden={"q": {"d0"}}).to_dict()["q"]
    assert run_of(swept, CORPUS, {"q": ""}).to_dict()["q"]["d0"] > 0
    assert run_of(swept, CORPUS, {"q": ""}, hidden={"q": {"d0"}}).to_dict()["q"] == pytest.approx(expected)
    assert "d0" not in expected


def test_a_cached_fusion_leaves_documents_out_before_it_fuses():
    """Review A2: it left them out afterwards, so that the same model scored otherwise with a cache around it."""
    first = Fixed({"q": {"d0": 100.0, "d1": 3.0, "d2": 2.0, "d3": 1.0}})
    second = Fixed({"q": {"d0": 9.0, "d2": 4.0, "d3": 3.0, "d1": 2.0}}, "tests/other")
    hybrid, hidden = Hybrid(first, second, alpha=0.3), {"q": {"d0"}}
    cached = Cached(hybrid)
    expected = run_of(hybrid, CORPUS, {"q": ""}, hidden=hidden).to_dict()
    afterwards = left_out(run_of(hybrid, CORPUS, {"q": ""}).to_dict(), hidden, 10)
    assert afterwards["q"] != pytest.approx(expected["q"])
    for _ in range(2):  # from the model, and from the cache
        assert run_of(cached, CORPUS, {"q": ""}, hidden=hidden).to_dict() == expected
    assert run_of(cached, CORPUS, {"q": ""}).to_dict() == run_of(hybrid, CORPUS, {"q": ""}).to_dict()
