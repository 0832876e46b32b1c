"""One form and one order of rankings: against sorting, pytrec_eval and dictionaries, in files and in the cache."""

import numpy as np
import pytest
import pytrec_eval

from patent_mteb.errors import DataError, ModelError
from patent_mteb.metrics.measures import Judged
from patent_mteb.search import trec
from patent_mteb.search.cache import RunCache
from patent_mteb.search.run import FirstStage, Run, pairs_matrix, ranked_ids

DOCS = ranked_ids(f"d{i}" for i in range(30))


def drawn(seed, n_queries=25, values=None):
    """Rankings of 0 to 30 documents; with ``values`` scores are drawn from these, so that many are tied."""
    draw = np.random.default_rng(seed)
    results = {}
    for i in range(n_queries):
        chosen = draw.permutation(DOCS)[: draw.integers(0, 31)].tolist()
        scores = (
            draw.choice(values, len(chosen))
            if values is not None
            else draw.standard_normal(len(chosen)) * 10.0 ** draw.integers(-30, 30)
        )
        results[f"q{i}"] = dict(zip(chosen, scores.astype(np.float32).tolist(), strict=True))
    return results


NEAR = 1 + np.array([0, 1, 2, 3]) * 2.0**-25
"""Of these four numbers single precision distinguishes two: the first three are equal (the third is rounded to
even)."""


def by_rule(results):
    """The one order: scores in single precision, descending, then ids, descending."""
    return {
        query: sorted(found, key=lambda name: (np.float32(found[name]), name), reverse=True)
        for query, found in results.items()
    }


@pytest.mark.parametrize(
    "values", [None, np.array([0.0, -0.0, 1e-45, -1e-45, 0.5]), np.array([3, 1, 2]), NEAR], ids=range(4)
)
def test_every_run_is_in_one_order(values):
    for seed in range(5):
        results = drawn(seed, values=values)
        run = Run.from_dict(results, list(results), DOCS)
        assert {query: list(found) for query, found in run.to_dict().items()} == by_rule(results)
        assert run.to_dict() == results
        assert run.scores.dtype == np.float32
        assert run.docs.dtype == np.int32
        assert run.ordered() is run


def scrambled(run, seed):
    """The run with each row in a random order, gaps among its documents."""
    draw = np.random.default_rng(seed)
    width = run.depth + 4
    docs, scores = np.full((len(run.docs), width), -1, np.int32), np.zeros((len(run.docs), width), np.float32)
    parts = docs.copy()
    for row in range(len(docs)):
        places = draw.permutation(width)[: run.depth]
        docs[row, places], scores[row, places] = run.docs[row], run.scores[row]
        parts[row, places] = np.where(run.docs[row] >= 0, run.docs[row] % 3, -1)
    return Run(run.query_ids, run.doc_ids, docs, scores, parts, task="T")


@pytest.mark.parametrize("values", [None, np.array([-1.0, 0.0, 2.0])], ids=["spread", "tied"])
def test_documents_of_a_run_are_put_in_order_with_their_parts(values):
    results = drawn(2, values=values)
    run = Run.from_dict(results)
    mixed = scrambled(run, 3)
    before = mixed.docs.copy()
    found = mixed.ordered()
    assert found.to_dict() == run.to_dict()
    assert [list(names) for names in found.to_dict().values()] == [list(names) for names in run.to_dict().values()]
    np.testing.assert_array_equal(found.parts, np.where(found.docs >= 0, found.docs % 3, -1))
    np.testing.assert_array_equal(mixed.docs, before)
    assert found.task == "T"
    assert found.ordered() is found


def test_hidden_documents_leave_a_run_and_the_others_move_up():
    results = drawn(4)
    run = Run.from_dict(results, list(results), DOCS)
    run = Run(
        run.query_ids, DOCS, run.docs, run.scores, np.where(run.docs >= 0, run.docs % 5, -1).astype(np.int32), task="T"
    )
    draw = np.random.default_rng(5)
    hidden = {query: {*draw.choice(DOCS, 6).tolist(), "nowhere"} for query in results if query != "q3"} | {
        "stranger": {"d1"}
    }
    before = run.docs.copy()
    found = run.without(hidden)
    kept = {
        query: {name: score for name, score in own.items() if name not in hidden.get(query, ())}
        for query, own in results.items()
    }
    assert found.to_dict() == kept
    assert {query: list(names) for query, names in found.to_dict().items()} == by_rule(kept)
    np.testing.assert_array_equal(found.parts, np.where(found.docs >= 0, found.docs % 5, -1))
    assert (found.scores[found.docs < 0] == 0).all()
    assert (found.depth, found.task) == (run.depth, "T")
    np.testing.assert_array_equal(run.docs, before)
    assert run.without({}).to_dict() == results


def test_pairs_outside_the_corpus_are_left_out():
    pairs = pairs_matrix({"q": ["b", "x"], "p": [], "o": ["a"]}, ["p", "q"], ["b", "a"])
    assert pairs.toarray().tolist() == [[False, False], [True, False]]
    assert pairs_matrix({}, [], []).shape == (0, 0)


def test_the_first_documents_keep_what_a_search_learned():
    run = Run.from_dict(drawn(6))
    whole = Run(run.query_ids, run.doc_ids, run.docs, run.scores, run.docs % 2, FirstStage(run, 30), "T")
    few = whole.top(3)
    assert few.to_dict() == {query: dict(list(found.items())[:3]) for query, found in whole.to_dict().items()}
    np.testing.assert_array_equal(few.parts, whole.parts[:, :3])
    assert (few.first_stage, few.task, few.depth) == (whole.first_stage, "T", 3)
    assert whole.top(99) is whole


def test_the_ranking_of_one_query():
    run = Run.from_dict({"p": {"a": 1.0, "b": 2.0}, "q": {"a": 0.5, "b": 0.5}, "r": {}})
    assert run.ranking("p") == [("b", 2.0), ("a", 1.0)]
    assert run.ranking("q") == [("b", 0.5), ("a", 0.5)]
    assert run.ranking("r") == []
    with pytest.raises(DataError, match=r"no query 'x'.*one of its 3 queries"):
        run.ranking("x")


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ({}, "no ranking for 1 of 1 queries, the first is 'q'"),
        ({"q": {"zz": 1.0}}, "document 'zz', which is not in the corpus"),
        ({"q": {"d1": float("nan")}}, "not a finite number"),
        ({"q": {"d1": float("inf")}}, "not a finite number"),
        ({"q": {"d1": 1e39}}, "not a finite number"),
    ],
    ids=range(5),
)
def test_rankings_that_are_none_are_refused(results, message):
    with pytest.raises(ModelError, match=message), np.errstate(over="ignore"):
        Run.from_dict(results, ["q"], DOCS)


def test_a_document_that_occurs_twice_is_refused():
    with pytest.raises(DataError, match="'d1' occurs twice"):
        ranked_ids(["d1", "d2", "d1"])


@pytest.mark.parametrize("values", [None, np.array([0.1, 0.2, 1 / 3]), NEAR], ids=["spread", "tied", "near"])
def test_a_run_file_gives_back_the_run(tmp_path, values):
    results = {query: found for query, found in drawn(7, values=values).items() if found}
    run = Run.from_dict(results)
    run.save(tmp_path / "deep" / "x.run", "tag")
    again = Run.load(tmp_path / "deep" / "x.run")
    assert again.to_dict() == run.to_dict()
    assert {query: list(found) for query, found in again.to_dict().items()} == by_rule(results)
    again.save(tmp_path / "y.run", "tag")
    assert (tmp_path / "y.run").read_bytes() == (tmp_path / "deep" / "x.run").read_bytes()
    lines = [line.split() for line in (tmp_path / "y.run").read_text().splitlines()]
    assert {len(line) for line in lines} == {6}
    assert {(line[1], line[5]) for line in lines} == {("Q0", "tag")}
    for query, found in run.to_dict().items():
        assert [(line[2], int(line[3])) for line in lines if line[0] == query] == list(
            zip(found, range(1, 99), strict=False)
        )


def test_a_run_file_is_in_the_order_that_the_measures_see(tmp_path):
    """Review A5: near-ties had another order in the run file than in the score."""
    draw = np.random.default_rng(8)
    results = {f"q{i}": dict(zip(DOCS, draw.choice(NEAR, 30).tolist(), strict=True)) for i in range(20)}
    qrels = {query: dict.fromkeys(draw.choice(DOCS, 4, replace=False).tolist(), 1) for query in results}
    in_double = {
        query: sorted(found, key=lambda name: (found[name], name), reverse=True) for query, found in results.items()
    }
    assert in_double != by_rule(results)
    run = Run.from_dict(results)
    run.save(tmp_path / "x.run")
    trec.write_qrels(tmp_path / "x.qrels", qrels)
    ours = Judged(run.docs, qrels, run.query_ids, run.doc_ids).scores(["ndcg@10", "mrr@30"])
    with (tmp_path / "x.run").open() as file, (tmp_path / "x.qrels").open() as judgements:
        from_file, judged_in_file = pytrec_eval.parse_run(file), pytrec_eval.parse_qrel(judgements)
    assert judged_in_file == qrels
    for rankings in (from_file, results):  # trec_eval reads the doubles as single precision itself
        found = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recip_rank"}).evaluate(rankings)
        for name, measure in (("ndcg@10", "ndcg_cut_10"), ("mrr@30", "recip_rank")):
            theirs = [found[query][measure] for query in ours.queries]
            np.testing.assert_allclose(ours.scores[name], theirs, atol=1e-12)
    lines = [line.split() for line in (tmp_path / "x.run").read_text().splitlines()]
    for query, judged in qrels.items():
        best = min(int(line[3]) for line in lines if line[0] == query and line[2] in judged)
        assert ours.scores["mrr@30"][ours.queries.index(query)] == pytest.approx(1 / best)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q Q0 d 1 0.5\n", "row 1: 5 columns instead of 6.*Remedy: write: query Q0 document rank score tag"),
        ("q Q0 d 1 0.5 t\n\nq Q0 e 2 high t\n", "row 3: the score 'high' is not a finite number"),
        ("q Q0 d 1 nan t\n", "row 1: the score 'nan' is not a finite number"),
        ("q Q0 d 1 1_0 t\n", "row 1: the score '1_0' is not a finite number"),
        ("q Q0 d 1 \uff11 t\n", "row 1: the score '\uff11' is not a finite number"),
        ("q Q0 d 1 0.5 t\nq Q0 d 2 0.4 t\n", "row 2: query 'q' has document 'd' twice"),
    ],
)
def test_run_files_that_cannot_be_read_are_named(tmp_path, text, message):
    path = tmp_path / "x.run"
    path.write_text(text)
    with pytest.raises(DataError, match=rf"x\.run, {message}"):
        Run.load(path)


@pytest.mark.parametrize(
    ("order", "ranking", "scores"),
    [("score", "bca", [0.75, 0.25, 0.25]), ("-score", "cab", [-0.25, -0.25, -0.75]), ("rank", "abc", [-1, -2, -3])],
)
def test_ranks_of_a_run_file_that_contradict_its_scores_need_a_word_on_what_decides(tmp_path, order, ranking, scores):
    path = tmp_path / "x.run"
    path.write_text("q Q0 a 1 0.25 t\nq Q0 b 2 0.75 t\np Q0 c 7 1e-3 t\nq Q0 c 3 0.25 t\n")
    with pytest.raises(DataError, match=r"x\.run, row 2: .* 1 of 2 pairs .*query 'q'.* --order rank, --order score"):
        Run.load(path)
    found = Run.load(path, order=order).to_dict()
    of_c = {"score": 1e-3, "-score": -1e-3, "rank": -7}[order]
    assert found == {"q": dict(zip(ranking, scores, strict=True)), "p": {"c": pytest.approx(of_c)}}
    assert "".join(found["q"]) == ranking


def test_all_that_a_run_holds_counts_for_the_memory_of_the_cache():
    docs, scores = np.zeros((1, 1000), np.int32), np.zeros((1, 1000), np.float32)
    plain = Run(["q"], DOCS, docs, scores)
    whole = Run(
        ["q"], DOCS, docs, scores, docs, FirstStage(plain, 1000)
    )  # 8 kB, 4 kB of parts, 8 kB of the first stage
    cache = RunCache(30_000)
    for key in "ab":
        cache.put(key, 1000, whole)
    assert cache.get("a", 1) is None
    cache.put("c", 1000, plain)
    assert cache.get("b", 1) is not None
