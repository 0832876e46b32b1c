"""The priority gate: every system ranks what brute force leaves of its full ranking, and no two gates share a
ranking.
"""

import datetime as dt
import logging
from dataclasses import replace
from operator import itemgetter

import numpy as np
import pytest
import torch
from mteb.models import SearchEncoderWrapper
from search_calls import Counting, Cross, context_of, corpus_of
from small_data import HashEncoder
from tiny_colbert import write_checkpoint

from patent_mteb.experiments.sweep import Corpora, Timed
from patent_mteb.search import colbert
from patent_mteb.search.base import Gate
from patent_mteb.search.bm25 import bm25
from patent_mteb.search.cache import Cached, content_of, search_key
from patent_mteb.search.dense import DenseSearch
from patent_mteb.search.engine import FAST_VARIABLE, MtebSearch, engine
from patent_mteb.search.fusion import RRF, Hybrid, Linear, fuse
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.search.nearest import add_nearest
from patent_mteb.search.passages import BestSection, Passages, TokenWindows
from patent_mteb.search.rerank import Reranked
from patent_mteb.search.run import Run, TopK, ranked_ids
from patent_mteb.search.stored import FusedRuns, StoredRun

WORDS = ("rotor", "stator", "blade", "valve", "pump", "shaft", "bearing", "seal", "gear", "motor", "sensor", "lens")
DRAW = np.random.default_rng(5)
CORPUS = {f"d{number:02}": " ".join(DRAW.choice(WORDS, 9)) for number in range(60)}
QUERIES = {f"q{number}": " ".join(DRAW.choice(WORDS, 4)) for number in range(8)}
FIRST = dt.date(2010, 1, 1)
GATE = Gate(
    {
        name: FIRST + dt.timedelta(days=int(DRAW.integers(0, 40))) for name in list(CORPUS)[:-2]
    },  # the last two have no date
    {
        name: FIRST + dt.timedelta(days=day) for name, day in zip(QUERIES, (0, 1, 5, 12, 20, 33, 99), strict=False)
    },  # the last has none
)
HIDDEN = {"q3": {"d03", "d04"}, "q7": {"d09"}, "q5": {"d11"}}
TOP = 7


def visible(query, document):
    """The rule, once more: public on an earlier day; without a day only for queries without one."""
    if document in HIDDEN.get(query, ()):
        return False
    if query not in GATE.queries:
        return True
    return document in GATE.documents and GATE.documents[document].isoformat() < GATE.queries[query].isoformat()


def brute(results, top=TOP):
    """Full rankings without what a query may not see."""
    kept = {query: [one for one in found.items() if visible(query, one[0])] for query, found in results.items()}
    return {query: dict(sorted(found, key=itemgetter(1, 0), reverse=True)[:top]) for query, found in kept.items()}


def ranked(system, top, **context):
    corpus, queries = corpus_of(CORPUS, sections=[[text, text[:20]] for text in CORPUS.values()]), corpus_of(QUERIES)
    given = replace(
        context_of(context.pop("hidden", None), context.pop("top_ranked", None)), gate=context.pop("gate", None)
    )
    system.ensure_indexed(corpus, given)
    run = system.rank(queries, top, given)
    system.ensure_indexed(corpus, given)
    return run, system.rank_both(queries, top, given)


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    if not colbert.available_backends():
        pytest.skip("neither sentence-transformers >= 6 nor PyLate is installed")
    return LateInteraction(write_checkpoint(tmp_path_factory.mktemp("gate") / "late", "both"))


SYSTEMS = {
    "dense": lambda late: DenseSearch(HashEncoder()),
    "dense, few vectors held": lambda late: DenseSearch(HashEncoder(), vectors_mb=0.001),
    "bm25": lambda late: bm25(),
    "late interaction": lambda late: late,
    "passages": lambda late: Passages(HashEncoder(), splitter=TokenWindows(5)),
    "passages of bm25": lambda late: Passages(bm25(), splitter=TokenWindows(5)),
    "sections": lambda late: BestSection(bm25()),
    "sections of a foreign model": lambda late: BestSection(Counting()),
    "reranked": lambda late: Reranked(bm25(), Cross(), k=60, max_length=None),
    "cached": lambda late: Cached(HashEncoder()),
    "sweep's clock": lambda late: Timed(HashEncoder(), Corpora()),
    "foreign": lambda late: MtebSearch(Counting()),
    "mteb's encoder search": lambda late: MtebSearch(SearchEncoderWrapper(HashEncoder())),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_ranks_what_brute_force_leaves(name, late):
    whole, _ = ranked(SYSTEMS[name](late), len(CORPUS))
    run, both = ranked(SYSTEMS[name](late), TOP, gate=GATE, hidden=HIDDEN)
    expected = brute(whole.to_dict())
    assert {query: list(found) for query, found in run.to_dict().items()} == {
        query: list(found) for query, found in expected.items()
    }
    for query, found in expected.items():
        assert run.to_dict()[query] == pytest.approx(found, abs=1e-6)
    assert both[0].to_dict() == run.to_dict()
    assert all(GATE.admits(query, document) for query, found in both[1].to_dict().items() for document in found)
    assert run.to_dict()["q0"] == {}
    assert len(run.to_dict()["q7"]) == TOP or name.endswith("bm25")


@pytest.mark.parametrize("setting", [{"alpha": 0.3}, {"method": "rrf"}])
def test_fused_are_rankings_that_were_gated_before(setting):
    depth = len(CORPUS)
    parts = [
        Run.from_dict(brute(ranked(engine(model), depth)[0].to_dict(), depth), doc_ids=ranked_ids(CORPUS))
        for model in (bm25(), HashEncoder())
    ]
    expected = fuse(*parts, RRF() if "method" in setting else Linear(0.3), TOP)
    run, _ = ranked(Hybrid(bm25(), HashEncoder(), **setting), TOP, gate=GATE, hidden=HIDDEN)
    assert run.to_dict() == expected.to_dict()


@pytest.mark.parametrize("name", ["dense", "bm25", "late interaction", "passages", "foreign"])
def test_candidates_that_are_too_late_are_no_candidates(name, late):
    candidates = {query: sorted(CORPUS)[number : number + 40] for number, query in enumerate(QUERIES)}
    whole, _ = ranked(SYSTEMS[name](late), len(CORPUS), top_ranked=candidates)
    run, _ = ranked(SYSTEMS[name](late), TOP, top_ranked=candidates, gate=GATE, hidden=HIDDEN)
    assert {query: list(found) for query, found in run.to_dict().items()} == {
        q: list(found) for q, found in brute(whole.to_dict()).items()
    }


def test_a_foreign_model_is_asked_deeper_only_for_the_queries_that_lack_documents():
    model = Counting()
    ranked(
        MtebSearch(model),
        TOP,
        gate=Gate(dict.fromkeys(CORPUS, FIRST), dict.fromkeys(QUERIES, FIRST + dt.timedelta(days=1))),
    )
    assert set(model.asked) == {TOP}
    model = Counting()
    run, _ = ranked(MtebSearch(model), TOP, gate=GATE)
    assert sorted(set(model.asked)) == [TOP, 8 * TOP, len(CORPUS)]
    assert run.query_ids == list(QUERIES)


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("spread", ["even", "few early", "most too late"])
def test_large_blocks_of_dense_search_are_gated_exactly(half, spread):
    draw = np.random.default_rng(3)
    n, n_queries, k = 13_000, 150, 20
    documents, queries = (
        torch.tensor(draw.standard_normal((size, 24)), dtype=torch.float32) for size in (n, n_queries)
    )
    seen = {
        "even": draw.integers(0, n + 1, n_queries),
        "few early": np.full(n_queries, n),
        "most too late": draw.integers(0, 50, n_queries),
    }[spread]
    seen[:4] = 0, 3, k, n
    best = TopK([str(row) for row in range(n_queries)], ranked_ids(f"{number:05}" for number in range(n)), k)
    add_nearest(best, queries, documents, np.arange(n), None, half, seen)
    scores = (queries @ documents.T).numpy()
    for row, found in enumerate(best.run().docs):
        expected = np.lexsort((np.arange(seen[row]), -scores[row, : seen[row]]))[:k]
        assert found[found >= 0].tolist() == expected.tolist()


def test_a_stored_run_is_checked_and_later_documents_are_reported(tmp_path, caplog):
    whole, _ = ranked(bm25(), len(CORPUS))
    whole.save(tmp_path / "all.run")
    run, _ = ranked(StoredRun(tmp_path / "all.run"), TOP, gate=GATE, hidden=HIDDEN)
    assert run.to_dict() == brute(whole.to_dict())
    late = sum(
        query in GATE.queries and not GATE.admits(query, document)
        for query, found in whole.without(HIDDEN).to_dict().items()
        for document in found
    )
    assert f"{late} documents that were not public before the priority date of their query are removed" in caplog.text
    whole.without({query: set(list(found)[::2]) for query, found in whole.to_dict().items()}).save(
        tmp_path / "half.run"
    )
    fused = FusedRuns([StoredRun(tmp_path / f"{name}.run") for name in ("all", "half")], RRF(60), len(CORPUS))
    found, _ = ranked(fused, TOP, gate=GATE, hidden=HIDDEN)
    assert all(visible(query, document) for query, documents in found.to_dict().items() for document in documents)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        ranked(StoredRun(tmp_path / "all.run"), TOP)
    assert "priority date" not in caplog.text


def test_no_two_gates_share_a_kept_ranking(monkeypatch):
    later = Gate(GATE.documents, {query: day + dt.timedelta(days=3) for query, day in GATE.queries.items()})
    gates = (None, GATE, later, None, GATE)
    queries = corpus_of(QUERIES)
    keys = [
        search_key(bm25().mteb_model_meta, content_of(corpus_of(CORPUS)), queries, replace(context_of(), gate=gate))
        for gate in gates
    ]
    assert keys[0] == keys[3]
    assert keys[1] == keys[4]
    assert len(set(keys)) == 3
    for way in ("1", "0"):
        monkeypatch.setenv(FAST_VARIABLE, way)
        for model in (bm25(), Cached(bm25()), Cached(HashEncoder())):
            corpus, system = corpus_of(CORPUS), engine(model)
            found = []
            for gate in gates:  # one system, whose memory all of them share
                context = replace(context_of(), gate=gate)
                system.ensure_indexed(corpus, context)
                found.append(system.rank(queries, TOP, context).to_dict())
            assert found[0] == found[3] != found[1] == found[4] != found[2]


def test_how_many_documents_are_kept_out():
    expected = [
        sum(query in GATE.queries and not GATE.admits(query, document) for document in CORPUS) for query in QUERIES
    ]
    assert GATE.n_excluded(list(QUERIES), list(CORPUS)).tolist() == expected
    assert expected[0] == len(CORPUS)
    assert expected[-1] == 0
