"""Any mteb model as a search on arrays, and a search on arrays in mteb's own evaluation."""

import mteb
import pytest
from mteb.models import SearchEncoderWrapper
from search_calls import METADATA, Counting, Cross, context_of, corpus_of, left_out, ranking, run_of
from small_data import HashEncoder

from patent_mteb.errors import DataError, ModelError
from patent_mteb.experiments.sweep import Corpora, Timed
from patent_mteb.search.base import ArraySearch
from patent_mteb.search.bm25 import bm25
from patent_mteb.search.cache import Cached
from patent_mteb.search.dense import DenseSearch
from patent_mteb.search.engine import FAST_VARIABLE, AsMteb, MtebSearch, engine
from patent_mteb.search.fusion import Hybrid
from patent_mteb.search.passages import BestSection
from patent_mteb.search.rerank import Reranked
from patent_mteb.search.run import Run, ranked_ids

CORPUS = {f"d{i:02}": " ".join(["rotor"] * (i % 7) + ["blade"] * (i % 5) + ["tower"]) for i in range(30)}
QUERIES = {"q": "rotor blade", "p": "tower", "o": "blade"}
HIDDEN = {"q": {"d06", "d13"}, "p": {"d29", "d28", "d27", "nowhere"}}


def test_every_kind_of_model_becomes_a_search_on_arrays(monkeypatch):
    encoder, ours = HashEncoder(), bm25()
    for way, kind in (("1", DenseSearch), ("0", MtebSearch)):
        monkeypatch.setenv(FAST_VARIABLE, way)
        assert engine(ours) is ours
        assert type(engine(encoder)) is kind
        assert engine(encoder).model is encoder or isinstance(engine(encoder).model, SearchEncoderWrapper)
        for model in (Counting(), Cross()):
            assert type(engine(model)) is MtebSearch
        for model in (encoder, ours, Counting(), Cross()):
            assert isinstance(engine(model), ArraySearch)
            assert engine(model).mteb_model_meta is model.mteb_model_meta
    with pytest.raises(ModelError, match="object is neither an encoder, nor a cross-encoder, nor a search model"):
        engine(object())


def test_a_foreign_ranking_is_taken_over_as_it_is():
    model = Counting()
    run = run_of(model, CORPUS, QUERIES, 8)
    assert run.to_dict() == ranking(Counting(), CORPUS, QUERIES, 8)
    assert (run.query_ids, run.doc_ids) == (list(QUERIES), ranked_ids(CORPUS))
    assert model.asked == [8]


def test_of_a_foreign_model_more_documents_are_asked_for_than_are_hidden():
    model = Counting()
    run = run_of(model, CORPUS, QUERIES, 8, hidden=HIDDEN)
    assert model.asked == [8 + 4]
    assert run.to_dict() == left_out(ranking(Counting(), CORPUS, QUERIES, 30), HIDDEN, 8)
    assert run.depth == 8
    assert (run.docs >= 0).all()


def test_a_foreign_model_is_indexed_again_for_every_corpus_and_every_search():
    """mteb's wrapper of encoders lets its corpus go after each search, so that the same corpus must be given to it
    again.
    """
    system, context = engine(Counting()), context_of()
    for texts in (CORPUS, CORPUS, {"x": "rotor", "y": "blade"}):
        system.ensure_indexed(corpus_of(texts), context)
        assert set(system.rank(corpus_of({"q": "rotor"}), 99, context).to_dict()["q"]) == set(texts)
    assert system.model.indexed == 3
    wrapped = MtebSearch(SearchEncoderWrapper(HashEncoder()))
    corpus = corpus_of(CORPUS)
    first, second = (run_of(wrapped, corpus, QUERIES, 5).to_dict() for _ in range(2))
    assert first == second == ranking(SearchEncoderWrapper(HashEncoder()), CORPUS, QUERIES, 5)


WRAPPED = {
    "alone": engine,
    "hybrid": lambda model: Hybrid(model, bm25(), alpha=0.5),
    "cached": Cached,
    "reranked": lambda model: Reranked(model, Cross(), k=5, max_length=None),
    "sections": BestSection,
    "sweep's clock": lambda model: Timed(model, Corpora()),
}


@pytest.mark.parametrize("wrap", WRAPPED)
def test_a_foreign_model_is_indexed_once_a_search_whatever_is_around_it(wrap):
    model = Counting()
    corpus = corpus_of(CORPUS, sections=[[text, text.split()[0]] for text in CORPUS.values()])
    run_of(WRAPPED[wrap](model), corpus, QUERIES, 5, hidden=HIDDEN)
    assert model.indexed == 1


def test_no_more_documents_come_back_than_were_asked_for():
    """A model may return what it likes; a ranking from the cache was cut and the same one from the model was not."""

    class Generous(Counting):
        def search(self, queries, *, top_k, **context):
            return super().search(queries, top_k=1000, **context)

    expected = {
        query: dict(list(found.items())[:4]) for query, found in ranking(Counting(), CORPUS, QUERIES, 30).items()
    }
    assert run_of(Generous(), CORPUS, QUERIES, 4).to_dict() == expected
    corpus, cached = corpus_of(CORPUS), Cached(Generous())
    assert [run_of(cached, corpus, QUERIES, 4).to_dict() for _ in range(2)] == [expected, expected]


def test_a_corpus_that_could_not_be_indexed_is_refused_again():
    twice = corpus_of(CORPUS).select([0, 1, 0])
    for system in (bm25(), engine(HashEncoder()), engine(Counting())):
        system.ensure_indexed(corpus_of(CORPUS), context_of())
        for _ in range(2):
            with pytest.raises(DataError, match="'d00' occurs twice"):
                system.ensure_indexed(twice, context_of())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: {"q": found["q"]}, "no ranking for 2 of 3 queries, the first is 'p'"),
        (
            lambda found: {query: {**one, "elsewhere": 1.0} for query, one in found.items()},
            "'elsewhere', which is not in the corpus",
        ),
        (
            lambda found: {query: dict.fromkeys(one, float("nan")) for query, one in found.items()},
            "not a finite number",
        ),
    ],
    ids=range(3),
)
def test_a_foreign_ranking_that_is_none_is_refused(change, message):
    with pytest.raises(ModelError, match=message):
        run_of(Counting(change), CORPUS, QUERIES)


def test_a_cross_encoder_scores_given_pairs():
    given = {"q": ["d01", "d02"], "p": ["d06", "d03", "d05"], "o": []}
    found = run_of(Cross(), CORPUS, QUERIES, 5, top_ranked=given).to_dict()
    assert found == {query: {name: -float(len(CORPUS[name])) for name in names} for query, names in given.items()}
    assert run_of(Cross(), CORPUS, QUERIES, 5, top_ranked=given, hidden={"p": {"d03"}}).to_dict()["p"].keys() == {
        "d06",
        "d05",
    }


def test_candidates_that_the_corpus_lacks_are_refused():
    for model in (HashEncoder(), bm25()):
        with pytest.raises(DataError, match="candidate document 'zz' of a reranking task is not in the corpus"):
            run_of(model, CORPUS, QUERIES, top_ranked={"q": ["d01"], "p": ["zz"]})


def test_hidden_documents_are_counted_by_the_query_that_has_most():
    assert context_of().most_hidden == 0
    assert context_of(HIDDEN).most_hidden == 4
    assert "hidden" not in context_of(HIDDEN).as_kwargs()


@pytest.mark.parametrize(
    "make", [HashEncoder, Counting, lambda: bm25("dapfam"), lambda: Cached(HashEncoder())], ids=range(4)
)
def test_mtebs_evaluation_searches_without_hidden_documents(make):
    listening = AsMteb(engine(make()), HIDDEN)
    assert listening.run is None
    found = ranking(listening, CORPUS, QUERIES, 8)
    assert found == left_out(ranking(engine(make()), CORPUS, QUERIES, 30), HIDDEN, 8)
    assert listening.run.to_dict() == found
    assert isinstance(listening.run, Run)
    assert listening.run.task == METADATA.name
    assert listening.mteb_model_meta is not None
    assert isinstance(listening, mteb.models.SearchProtocol)
