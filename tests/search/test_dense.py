"""Exact dense search: equal to mteb's own search of encoders and to a naive one, with ties, hidden documents, any
similarity.
"""

from itertools import product

import numpy as np
import pytest
import scipy.sparse
import torch
from datasets import Dataset
from mteb.models import SearchEncoderWrapper
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.timing import TimingStack
from search_calls import context_of, corpus_of, left_out, mock_scores, ranking, run_of

from patent_mteb.errors import ModelError
from patent_mteb.search import dense, nearest
from patent_mteb.search.bm25 import bm25
from patent_mteb.search.dense import DenseSearch
from patent_mteb.search.engine import MtebSearch
from patent_mteb.search.memory_cache import RankingCache
from patent_mteb.search.run import TopK, ranked_ids


class Given(AbsEncoder):
    """An encoder whose vectors are given, text -> vector."""

    def __init__(self, vectors, similarity=ScoringFunction.COSINE, make=np.asarray):
        self.vectors, self.make = vectors, make
        meta = {"name": "tests/given", "revision": "1", "similarity_fn_name": similarity}
        self.mteb_model_meta = ModelMeta.create_empty(meta)
        self.batches = []

    def encode(self, inputs, *, prompt_type=None, **kwargs):
        batches = [dict(batch) for batch in inputs]
        self.batches += [(prompt_type, batch) for batch in batches]
        return self.make(np.stack([self.vectors[text] for batch in batches for text in batch["text"]]))


def vectors_of(n, dims, seed, common=0.7):
    """Vectors that point more or less the same way, as those of a real model do."""
    draw = np.random.default_rng(seed)
    scale = np.arange(1, dims + 1) ** -0.5
    return (draw.standard_normal((n, dims)) * scale + common * np.random.default_rng(99).standard_normal(dims)).astype(
        np.float32
    )


def small(n_docs=150, n_queries=12, dims=16, **settings):
    docs = {f"d{i}": f"document {i}" for i in range(n_docs)}
    queries = {f"q{i}": f"query {i}" for i in range(n_queries)}
    table = dict(zip([*docs.values(), *queries.values()], vectors_of(n_docs + n_queries, dims, 1), strict=True))
    return docs, queries, table


def scaled(a, b):
    return 20 * torch.nn.functional.cosine_similarity(
        torch.as_tensor(a)[:, None].float(), torch.as_tensor(b)[None].float(), dim=-1
    )


def manhattan(a, b):
    return -(torch.as_tensor(a)[:, None] - torch.as_tensor(b)[None]).abs().sum(dim=-1)


def assert_same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for query, found in theirs.items():
        assert ours[query] == pytest.approx(found, abs=2e-6), query
        assert list(ours[query]) == sorted(ours[query], key=lambda name: (ours[query][name], name), reverse=True)


FORMS = {
    "array": np.asarray,
    "double": np.float64,
    "tensor": torch.as_tensor,
    "bfloat16": lambda v: torch.as_tensor(v).bfloat16(),
}
FUNCTIONS = (ScoringFunction.COSINE, ScoringFunction.DOT_PRODUCT, None)
OWN = {"meta": None, "scaled": scaled, "manhattan": manhattan}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("meta", "own", "form"),
    [
        *product(FUNCTIONS[:1], ["meta"], FORMS),
        *product(FUNCTIONS[1:], ["meta"], ["array"]),
        *product(FUNCTIONS[:1], ["scaled", "manhattan"], ["array"]),
    ],
    ids=str,
)
def test_rankings_are_mtebs(meta, own, form):
    docs, queries, table = small()
    model = Given(table, meta, FORMS[form])
    if OWN[own]:
        model.similarity = OWN[own]
    ours = ranking(DenseSearch(model), docs, queries, top_k=20)
    assert_same(ours, ranking(SearchEncoderWrapper(model), docs, queries, top_k=20))
    assert {len(found) for found in ours.values()} == {20}


@pytest.mark.parametrize("make", FORMS.values(), ids=FORMS)
def test_the_index_is_vectors_in_single_precision_whatever_the_model_gives(make):
    docs, queries, table = small()
    search = DenseSearch(Given(table, make=make))
    ranking(search, docs, queries)
    assert search.index_bytes == len(docs) * 16 * 4


def test_the_similarity_is_the_models_own_not_what_its_metadata_says():
    docs, queries, table = small()
    for name in docs.values():
        table[name] = table[name] / np.linalg.norm(table[name])
    table["document 7"] = table["document 7"] * 3  # the only one by which cosine and inner product differ
    model = Given(table, ScoringFunction.COSINE)
    model.similarity = lambda a, b: torch.as_tensor(a) @ torch.as_tensor(b).T
    ours = ranking(DenseSearch(model), docs, queries, top_k=150)
    naive = {query: {name: float(table[text] @ table[docs[name]]) for name in docs} for query, text in queries.items()}
    for query, found in naive.items():
        assert ours[query] == pytest.approx(found, abs=1e-5)


def test_documents_of_one_score_go_by_id_and_the_best_ids_are_kept():
    docs = {f"d{i}": "same" for i in (3, 10, 2, 9, 1)}
    docs["x"] = "other"
    model = Given({"same": np.array([1.0, 0]), "other": np.array([0, 1.0]), "query": np.array([1.0, 0.1])})
    assert list(ranking(DenseSearch(model), docs, {"q": "query"}, top_k=3)["q"]) == ["d9", "d3", "d2"]


@pytest.mark.parametrize("own", [None, manhattan], ids=["product", "own"])
def test_hidden_documents_cost_no_depth(own):
    docs, queries, table = small()
    model = Given(table)
    if own:
        model.similarity = own
    everything = ranking(SearchEncoderWrapper(model), docs, queries, top_k=150)
    hidden = {query: {*list(found)[:4], "nowhere"} for query, found in everything.items() if query != "q3"}
    expected = left_out(everything, hidden, 30)
    system = DenseSearch(model)
    for searched in (system, MtebSearch(SearchEncoderWrapper(model))):
        found = run_of(searched, docs, queries, 30, hidden=hidden).to_dict()
        assert_same(found, expected)
        assert {len(documents) for documents in found.values()} == {30}
    few = {"q0": {"d1", "d2"}, "q1": {"d3"}}  # what one search hides is nothing to the next one on the same system
    assert_same(run_of(system, docs, queries, 30, hidden=few).to_dict(), left_out(everything, few, 30))
    assert_same(run_of(system, docs, queries, 30).to_dict(), left_out(everything, {}, 30))


@pytest.mark.parametrize("own", [None, manhattan], ids=["product", "own"])
def test_candidates_of_a_reranking_task(own):
    docs, queries, table = small()
    model = Given(table)
    if own:
        model.similarity = own
    given = {query: [f"d{(7 * i + place) % 150}" for i in range(place % 9)] for place, query in enumerate(queries)}
    given.pop("q5")
    ours = ranking(DenseSearch(model), docs, queries, top_k=5, top_ranked=given)
    assert_same(ours, ranking(SearchEncoderWrapper(model), docs, queries, top_k=5, top_ranked=given))
    assert ours["q5"] == {}
    assert {len(found) for found in ours.values()} == {0, 1, 2, 3, 4, 5}
    fewer = run_of(DenseSearch(model), docs, queries, 5, hidden={"q4": {given["q4"][0]}}, top_ranked=given).to_dict()
    assert_same(fewer, ours | {"q4": {name: score for name, score in ours["q4"].items() if name != given["q4"][0]}})
    assert given["q4"][0] in ours["q4"]


@pytest.mark.parametrize("vectors_mb", [0, 1e-3, 2048])
def test_chunks_and_held_vectors_change_nothing(monkeypatch, vectors_mb):
    docs, queries, table = small()
    reference = ranking(DenseSearch(Given(table)), docs, queries, top_k=20)
    monkeypatch.setattr(dense, "CHUNK_DOCUMENTS", 13)
    assert_same(ranking(DenseSearch(Given(table), vectors_mb=vectors_mb), docs, queries, top_k=20), reference)


@pytest.mark.parametrize(
    "titles", [None, [f"t{i}" for i in range(150)], ["t", "", *["t"] * 148]], ids=["none", "all", "some"]
)
def test_the_model_reads_what_mteb_gives_it(titles):
    docs, queries, _ = small()
    corpus = corpus_of({name: f" {text}" for name, text in docs.items()}, **({"title": titles} if titles else {}))
    spoken = corpus_of(queries, instruction=[f"please {i}" for i in range(len(queries))])
    seen = []
    for wrap in (DenseSearch, SearchEncoderWrapper):
        model = Given(_Anything())
        ranking(wrap(model), corpus, spoken, top_k=3, batch_size=16)
        seen.append(model.batches)
    *batches, again = seen[0]
    assert batches == seen[1]
    assert len(batches) == 1 + 10
    assert again[1]["id"] == ["d149", "d99", "d49", "d0"]  # see patent_mteb.store.company


class _Anything(dict):
    def __missing__(self, text):
        return np.random.default_rng(len(text)).standard_normal(8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v if len(v) == 12 else v[:, :3], "16 dimensions for queries and 3 for documents"),
        (lambda v: v * 1e20, "NaN or infinite vectors for 12 of 12"),
    ],
    ids=range(2),
)
def test_unusable_vectors(change, message):
    docs, queries, table = small()
    with pytest.raises(ModelError, match=message):
        ranking(DenseSearch(Given(table, ScoringFunction.DOT_PRODUCT, change)), docs, queries)


def test_unusable_similarities():
    docs, queries, table = small()
    model = Given(table)
    model.similarity = lambda a, b: torch.full((len(a), len(b)), torch.nan)
    with pytest.raises(ModelError, match="not a finite number"):
        ranking(DenseSearch(model), docs, queries)
    model.similarity = lambda a, b: torch.zeros(len(a))
    with pytest.raises(ModelError, match="similarities of shape"):
        ranking(DenseSearch(model), docs, queries)
    with pytest.raises(ModelError, match="not an encoder"):
        DenseSearch(bm25())
    long = torch.full((2, 3), 1e20)
    with pytest.raises(ModelError, match="beyond single precision"):
        nearest.add_nearest(TopK(["p", "q"], ["a", "b"], 1), long, long, np.arange(2))


def test_phases_of_the_timer():
    docs, queries, table = small()
    system, timer = DenseSearch(Given(table)), TimingStack()
    system.timer = timer
    ranking(system, docs, queries)
    assert [phase["name"] for phase in timer.phases] == ["Encoding queries", "Encoding corpus", "Computing similarity"]
    assert {(phase["split"], phase["subset"]) for phase in timer.phases} == {("test", "default")}


@pytest.mark.slow
def test_it_holds_mtebs_protocol():
    assert all(0 <= score <= 1 for score in mock_scores(DenseSearch(Given(_Anything()))).values())


@pytest.mark.parametrize("empty", ["docs", "queries"])
def test_nothing_to_search(empty):
    docs, queries, table = small()
    nothing = Dataset.from_dict({"id": [], "text": []})
    corpus, asked = (
        nothing if empty == name else corpus_of(rows) for name, rows in (("docs", docs), ("queries", queries))
    )
    search = DenseSearch(Given(table))
    context = context_of()
    search.ensure_indexed(corpus, context)
    run = search.search_run(asked, 5, context)
    assert run.docs.shape == (len(asked), 0)


# The blocked search itself, on sizes where it samples.

N_DOCUMENTS, N_QUERIES, WIDTH = 9_000, 150, 48
COMMON = {"spread": 0.0, "usual": 0.7, "narrow": 50.0}
"""How far all vectors point the same way."""


def big(seed=0, common=0.7):
    """Vectors with duplicates by the hundred, a zero query and a zero document, and hidden pairs among the best
    documents.
    """
    docs, queries = vectors_of(N_DOCUMENTS, WIDTH, seed, common), vectors_of(N_QUERIES, WIDTH, seed + 1, common)
    docs[100:1000:3] = docs[100]
    docs[5], queries[4] = 0, 0
    queries[7] = docs[100]
    best = np.argsort(-(queries @ docs.T), axis=1)[:, :12]
    ends = np.arange(0, best.size + 1, best.shape[1])
    hidden = scipy.sparse.csr_matrix((np.ones(best.size, bool), best.ravel(), ends), shape=(N_QUERIES, N_DOCUMENTS))
    return torch.as_tensor(queries), torch.as_tensor(docs), hidden


def exhaustive(queries, docs, numbers, hidden, ids, k):
    best = TopK([str(i) for i in range(len(queries))], ids, k)
    best.add(slice(0, len(queries)), (queries @ docs.T).numpy(), numbers, None if hidden is None else ~hidden.toarray())
    return best.run()


def assert_same_run(ours, theirs, tolerance):
    """Equal, but for the order of documents whose scores differ by less than the rounding of a sum."""
    assert np.abs(ours.scores - theirs.scores).max() <= tolerance
    for row in np.flatnonzero((ours.docs != theirs.docs).any(axis=1)):
        score = dict(zip(theirs.docs[row].tolist(), theirs.scores[row].tolist(), strict=True))
        for document, value in zip(ours.docs[row].tolist(), ours.scores[row].tolist(), strict=True):
            assert score.get(document, theirs.scores[row, -1]) == pytest.approx(value, abs=2 * tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "spread", "half"),
    [*product((10,), COMMON, (False, True)), *product((1, 120), ["usual"], (False, True))],
)
def test_the_blocked_search_is_exact(monkeypatch, half, spread, k):
    monkeypatch.setattr(nearest, "_QUERIES_AT_ONCE", 64)
    monkeypatch.setattr(nearest, "_LEAST_SPAN", 25)
    queries, docs, hidden = big(common=COMMON[spread])
    numbers = np.random.default_rng(3).permutation(N_DOCUMENTS)
    ids = ranked_ids(f"d{i:05}" for i in range(N_DOCUMENTS))
    best = TopK([str(i) for i in range(N_QUERIES)], ids, k)
    nearest.add_nearest(best, queries, docs, numbers, hidden, half)
    longest = float((queries.norm(dim=1).max() * docs.norm(dim=1).max()).item())
    assert_same_run(best.run(), exhaustive(queries, docs, numbers, hidden, ids, k), 4e-7 * longest)


def test_half_precision_does_what_it_claims(monkeypatch):
    """The usual vectors are ranked from bfloat16 candidates, few of them and with every best document; narrow ones are
    not.
    """
    queries, docs, _ = big()
    queries, docs = torch.nn.functional.normalize(queries[8:]), torch.nn.functional.normalize(docs[1000:])
    docs = torch.cat([docs, torch.nn.functional.normalize(torch.as_tensor(vectors_of(2000, WIDTH, 9)))])
    numbers, ids = np.arange(len(docs)), ranked_ids(f"d{i:05}" for i in range(len(docs)))
    rescored = []
    scores = nearest.Half.scores

    def spy(self, rows, found):
        rescored.append(np.bincount(found.query, minlength=rows.stop - rows.start))
        exact = (queries[rows] @ docs.T).numpy()
        kth = np.partition(exact, -50, axis=1)[:, -50]
        pairs = set(zip(found.query.tolist(), found.document.tolist(), strict=True))
        done = np.flatnonzero(rescored[-1])
        assert all(
            (query, document) in pairs
            for query in done
            for document in np.flatnonzero(exact[query] > kth[query] + 1e-6)
        )
        return scores(self, rows, found)

    monkeypatch.setattr(nearest.Half, "scores", spy)
    best = TopK([str(i) for i in range(len(queries))], ids, 50)
    nearest.add_nearest(best, queries, docs, numbers, None, half=True)
    counts = np.concatenate(rescored)
    assert (counts >= 50).mean() > 0.9
    assert counts.max() < 400


def test_the_bound_of_half_precision_holds_and_is_needed():
    """A product in bfloat16 is within the bound of the true one, and often off by more than the documents' distance."""
    queries, docs, _ = big()
    half = nearest.Half(docs)
    half.ask(queries)
    keys = half.keys(slice(0, 4000))[:, 8:108]
    computed = nearest._value(keys)
    centred = docs.double() - half._mean.double()
    exact = (centred / centred.norm(dim=1).max()) @ torch.nn.functional.normalize(queries.double()[8:108], dim=1).T
    error = np.abs(computed - exact[:4000].numpy())
    bound = half._error[None, 8:108] + np.abs(computed) * nearest._HALF_STEP
    assert (error <= bound).all()
    assert error.max() > 0.05 * bound.max()


def test_what_half_precision_leaves_out_cannot_be_among_the_best():
    queries, docs, _ = big()
    half, step = nearest.Half(docs), nearest._HALF_STEP
    half.ask(queries)
    reached = np.random.default_rng(0).integers(0x3A00, 0x3F80, N_QUERIES).astype(np.int16)  # 0.0005 to 1
    floor = half.floor(slice(0, N_QUERIES), reached)
    known = floor < half.highest
    assert 50 < known.sum() < N_QUERIES
    least = nearest._value(reached) * (1 - step) - half._error
    most = nearest._value(floor - 1) * (1 + step) + half._error
    assert (most < least)[known].all()
    assert (nearest._value(floor + 1) * (1 + step) + half._error >= least)[known].all()
    assert (nearest._value(reached) < 4 * half._error)[~known].all()


@pytest.mark.parametrize(("half", "raised"), [(False, np.float32(0.5)), (True, np.int16(16)), (False, np.float32(0))])
def test_a_query_that_the_floor_fails_is_ranked_in_full(monkeypatch, half, raised):
    """Too few documents reach a floor that is too high; and of a query without direction, all reach it."""
    queries, docs, hidden = big()
    numbers, ids = np.arange(N_DOCUMENTS), ranked_ids(f"d{i:05}" for i in range(N_DOCUMENTS))
    floor_of, rank_all, in_full = nearest._Search._floor, nearest._Search._rank_all, []

    def too_high(self, scorer, rows, hidden):
        floor = floor_of(self, scorer, rows, hidden)
        return np.where(floor < scorer.highest, floor + raised, floor)

    monkeypatch.setattr(nearest._Search, "_floor", too_high)
    monkeypatch.setattr(
        nearest._Search,
        "_rank_all",
        lambda self, pool, first, rows: in_full.extend(rows) or rank_all(self, pool, first, rows),
    )
    best = TopK([str(i) for i in range(N_QUERIES)], ids, 40)
    nearest.add_nearest(best, queries, docs, numbers, hidden, half)
    assert 4 in in_full
    assert (5 < len(in_full) < N_QUERIES) if raised else len(in_full) < 5
    assert_same_run(best.run(), exhaustive(queries, docs, numbers, hidden, ids, 40), 1e-4)


def test_documents_come_in_parts():
    queries, docs, hidden = big()
    numbers, ids = np.arange(N_DOCUMENTS), ranked_ids(f"d{i:05}" for i in range(N_DOCUMENTS))
    best = TopK([str(i) for i in range(N_QUERIES)], ids, 30)
    for part in (slice(0, 8500), slice(8500, N_DOCUMENTS)):
        nearest.add_nearest(best, queries, docs[part], numbers[part], hidden[:, part], half=False)
    assert_same_run(best.run(), exhaustive(queries, docs, numbers, hidden, ids, 30), 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-22, 1e-3, 1e15])
def test_the_length_of_vectors_does_not_matter(scale):
    queries, docs, hidden = big()
    queries, docs = queries * scale, docs * scale
    numbers, ids = np.arange(N_DOCUMENTS), ranked_ids(f"d{i:05}" for i in range(N_DOCUMENTS))
    best = TopK([str(i) for i in range(N_QUERIES)], ids, 30)
    nearest.add_nearest(best, queries, docs, numbers, hidden, half=True)
    expected = exhaustive(queries, docs, numbers, hidden, ids, 30)
    assert_same_run(best.run(), expected, 1e-6 * max(expected.scores.max(), 1e-37))


def test_other_vectors_hidden_documents_names_depths_and_similarities_are_searched_again(monkeypatch):
    monkeypatch.setattr(dense, "RANKINGS", RankingCache(1 << 28))
    docs, queries, table = small()
    changed = {**table, "query 3": -table["query 3"]}
    longer = {**table, "document 5": 2 * table["document 5"]}
    renamed = {f"e{number}": text for number, text in enumerate(reversed(docs.values()))}
    hidden = {"q1": {"d1", "d2"}}

    def found(vectors, corpus=docs, top_k=5, kind=ScoringFunction.COSINE, **context):
        return run_of(DenseSearch(Given(vectors, kind)), corpus, queries, top_k, **context).to_dict()

    def expected(*arguments, **options):
        with monkeypatch.context() as alone:
            alone.setattr(dense, "RANKINGS", RankingCache(0))
            return found(*arguments, **options)

    for arguments, options in (
        ((table,), {}),
        ((table,), {"hidden": hidden}),
        ((table,), {}),
        ((changed,), {}),
        ((longer,), {"kind": ScoringFunction.DOT_PRODUCT}),
        ((longer,), {}),
        ((table, renamed), {}),
        ((table,), {"top_k": 9}),
    ):
        assert found(*arguments, **options) == expected(*arguments, **options)
    monkeypatch.setattr(nearest, "add_nearest", lambda *arguments, **options: pytest.fail("it is there"))
    found(table)
