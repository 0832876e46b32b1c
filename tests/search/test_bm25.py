import gc
import math
import re
import weakref
from collections import Counter

import bm25s
import numpy as np
import pytest
import Stemmer
from datasets import Dataset
from search_calls import METADATA, ranking

import patent_mteb
from patent_mteb.errors import DataError, ModelError
from patent_mteb.search import bm25 as bm25_module
from patent_mteb.search.base import document_text, query_texts
from patent_mteb.search.bm25 import BM25, BM25_METAS, SETTINGS, BM25Index, BM25Settings, bm25

WORDS = [
    "rotor",
    "blades",
    "Blade",
    "rotating",
    "the",
    "of",
    "x",
    "2024",
    "µm",
    "Straße",
    "İstanbul",
    "foo_bar",
    "don't",
]


def zipf_texts(n, seed, longest=60):
    draw = np.random.default_rng(seed)
    vocabulary = WORDS + [f"word{i}ing" for i in range(80)]
    weights = 1 / np.arange(1, len(vocabulary) + 1)
    return [
        " ".join(draw.choice(vocabulary, draw.integers(0, longest), p=weights / weights.sum()))
        + draw.choice(["", ".", " — ", "\x1f\u2028"])
        for _ in range(n)
    ]


def library(corpus, queries, settings):
    """Scores [queries, documents] of the bm25s library itself."""
    stemmer = Stemmer.Stemmer(settings.stemmer) if settings.stemmer else None
    options = {"stopwords": settings.stopwords, "stemmer": stemmer, "show_progress": False}
    retriever = bm25s.BM25(k1=settings.k1, b=settings.b, method="lucene")
    retriever.index(bm25s.tokenize(corpus, **options), show_progress=False)
    tokens = bm25s.tokenize(queries, return_ids=False, **options)
    scores = [retriever.get_scores(query) if query else np.zeros(len(corpus)) for query in tokens]
    return np.array(scores), retriever


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS["dapfam"],
        SETTINGS["bm25s"],
        BM25Settings(k1=0.9, b=0.4, stemmer=None),
        BM25Settings(stopwords=None, stemmer="german"),
    ],
)
def test_scores_are_those_of_the_library(settings, monkeypatch):
    monkeypatch.setattr(bm25_module, "_DOCUMENTS_AT_ONCE", 100)
    corpus, queries = zipf_texts(250, 1), zipf_texts(20, 2)
    expected, retriever = library(corpus, queries, settings)
    index = BM25Index(corpus, settings)
    ((_, weights),) = index.weights
    np.testing.assert_array_equal(np.sort(weights.data), np.sort(retriever.scores["data"]))
    np.testing.assert_allclose(index.scores(queries).toarray(), expected, rtol=2e-6, atol=1e-6)
    assert expected.max() > 1


@pytest.mark.parametrize(("documents", "characters"), [(1, 1 << 24), (7, 1 << 24), (2048, 300)])
def test_weights_do_not_depend_on_blocks(documents, characters, monkeypatch):
    texts = zipf_texts(150, seed=5)
    ((_, whole),) = BM25Index(texts, SETTINGS["dapfam"]).weights
    monkeypatch.setattr(bm25_module, "_DOCUMENTS_AT_ONCE", documents)
    monkeypatch.setattr(bm25_module, "_CHARACTERS_AT_ONCE", characters)
    ((_, parts),) = BM25Index(texts, SETTINGS["dapfam"]).weights
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(parts, name), getattr(whole, name)), name


def test_frequencies_beyond_a_byte_and_two_count_in_full():
    settings = BM25Settings(k1=1e6, b=0, stemmer=None)
    index = BM25Index(["pump " * times for times in (200, 300, 70_000)], settings)
    expected = np.log(1 + 0.5 / 3.5) * np.array([times / (1e6 + times) for times in (200, 300, 70_000)])
    assert index.scores(["pump"]).toarray()[0] == pytest.approx(expected, rel=1e-6)


def test_a_case_worked_out():
    # Three documents of 2, 2 and 4 tokens ("the" is a stop word, "blades" and "blade" are one term), mean length 8 / 3.
    corpus = {"d1": "the blade rotor", "d2": "wind wind", "d3": "rotor blades blade tower"}
    found = ranking(bm25("dapfam"), corpus, {"q": "Blade"})["q"]
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    short = 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / (8 / 3)))
    long = 2 / (2 + 1.2 * (0.25 + 0.75 * 4 / (8 / 3)))
    assert list(found) == ["d3", "d1"]  # d2 shares no term and is not returned
    assert found == pytest.approx({"d1": idf * short, "d3": idf * long}, rel=1e-6)
    twice = ranking(bm25("dapfam"), corpus, {"q": "blade blades"})["q"]
    assert twice == pytest.approx({document: 2 * score for document, score in found.items()}, rel=1e-6)


def test_tokens_are_those_of_the_regular_expression():
    for text in [*zipf_texts(20, 3), "a bb c_d _ __ 1 22 x1", "ÀÉ éa ﬁ ²³ ١٢", "\u2160\u216f İ K ſ", ""]:
        expected = bm25s.tokenize([text], stopwords=None, return_ids=False, show_progress=False)[0]
        index = BM25Index([text], BM25Settings(stopwords=None, stemmer=None))
        assert index.terms([]).shape[1] == len(set(expected))
        scored = {word: index.scores([word])[0, 0] for word in set(expected)}
        assert all(score > 0 for score in scored.values()), text


def test_another_token_pattern_is_used():
    model = BM25(BM25Settings(token_pattern=r"\S+", stemmer=None))
    assert list(ranking(model, {"d1": "a-b", "d2": "a b"}, {"q": "a-b"})["q"]) == ["d1"]


def test_ties_go_by_document_id_descending_also_at_the_end():
    corpus = {f"d{i}": "rotor" for i in (3, 1, 4, 5, 2)} | {"e": "tower"}
    assert list(ranking(bm25(), corpus, {"q": "rotor"}, top_k=3)["q"]) == ["d5", "d4", "d3"]


def test_a_query_without_known_terms_has_an_empty_ranking():
    found = ranking(bm25(), {"d": "rotor"}, {"q1": "zebra", "q2": "", "q3": "the", "q4": "rotor"})
    assert {query: list(documents) for query, documents in found.items()} == {"q1": [], "q2": [], "q3": [], "q4": ["d"]}


@pytest.mark.parametrize("texts", [[""], ["the", "of"], []])
def test_a_corpus_without_terms(texts):
    index = BM25Index(texts, SETTINGS["bm25s"])
    assert index.scores(["rotor"]).shape == (1, len(texts))
    assert index.scores(["rotor"]).nnz == 0


@pytest.mark.slow
def test_the_texts_of_an_indexed_corpus_can_go():
    corpus = Dataset.from_dict({"id": ["d1", "d2"], "text": ["a pump", "a lens"]})
    model, held = bm25("dapfam"), weakref.ref(corpus)
    where = {"task_metadata": METADATA, "hf_split": "test", "hf_subset": "default", "encode_kwargs": {}}
    with pytest.raises(ModelError, match="before index"):
        model.search(corpus, top_k=2, **where)
    model.index(corpus, **where)
    assert model.corpus is corpus
    del corpus
    gc.collect()
    assert held() is None and model.corpus is None
    assert list(model.search(Dataset.from_dict({"id": ["q"], "text": ["lens"]}), top_k=2, **where)["q"]) == ["d2"]


def test_threads_do_not_change_the_ranking():
    corpus = {f"d{i}": text for i, text in enumerate(zipf_texts(300, 4))}
    queries = {f"q{i}": text for i, text in enumerate(zipf_texts(150, 5))}
    rankings = [ranking(BM25(SETTINGS["dapfam"], threads=threads), corpus, queries) for threads in (1, 4)]
    assert [list(found.items()) for found in rankings[0].values()] == [
        list(found.items()) for found in rankings[1].values()
    ]
    assert list(rankings[0]) == list(queries)


def test_only_candidates_of_a_reranking_task_are_ranked():
    corpus = {"d1": "rotor rotor", "d2": "rotor tower", "d3": "rotor", "d4": "wind"}
    found = ranking(bm25(), corpus, {"q1": "rotor", "q2": "rotor"}, top_k=1, top_ranked={"q1": ["d2", "d4"]})
    assert {query: list(documents) for query, documents in found.items()} == {"q1": ["d2"], "q2": []}
    with pytest.raises(DataError, match="'d9'"):
        ranking(bm25(), corpus, {"q1": "rotor"}, top_ranked={"q1": ["d9"]})


def test_texts_are_read_as_mteb_reads_them():
    from datasets import Dataset
    from mteb._create_dataloaders import create_dataloader
    from mteb.types import PromptType

    corpus = Dataset.from_dict(
        {"id": ["a", "b", "c"], "title": ["A title", "", " t "], "text": [" a text ", "text only ", ""]}
    )
    queries = Dataset.from_dict({"id": ["a", "b"], "text": ["q1", "q2 "], "instruction": ["do", ""]})
    talks = Dataset.from_dict(
        {
            "id": ["a", "b"],
            "text": [
                [{"role": "user", "content": "hi"}, {"role": "system", "content": "yes"}],
                [{"role": "u", "content": "x"}],
            ],
        }
    )
    for rows, kind, ours in [
        (corpus, PromptType.document, [document_text(row) for row in corpus]),
        (queries, PromptType.query, query_texts(queries)),
        (talks, PromptType.query, query_texts(talks)),
    ]:
        loader = create_dataloader(rows, task_metadata=METADATA, prompt_type=kind)
        assert ours == [text for batch in loader for text in batch["text"]]


def test_identity():
    metas = [
        bm25(*arguments, **changes).mteb_model_meta
        for arguments, changes in [
            ((), {}),
            (("dapfam",), {}),
            ((), {"k1": 1.2}),
            ((), {"stemmer": None}),
            ((), {"stopwords": None}),
            ((), {"token_pattern": r"\S+"}),
        ]
    ]
    assert len({(meta.name, meta.revision, meta.experiment_name) for meta in metas}) == len(metas)
    assert metas[1].name == "patent-mteb/bm25-dapfam"
    assert re.fullmatch(r"bm25s-[\d.]+_pystemmer-[\d.]+_snowball-[\d.]+", metas[1].revision)
    assert metas[1].experiment_kwargs["k1"] == 1.2
    loaded = BM25_METAS[0].load_model()
    assert loaded.settings == SETTINGS["dapfam"]
    assert loaded.mteb_model_meta.experiment_name == metas[1].experiment_name


def test_bad_settings_are_refused():
    for call, message in [
        (lambda: bm25("lucene"), "dapfam, bm25s"),
        (lambda: bm25(k2=1), "k2"),
        (lambda: bm25(b=2), "b of BM25 is a number from 0 to 1, not 2"),
        (lambda: BM25Index([], BM25Settings(stemmer="klingon")), "klingon"),
        (lambda: BM25Index([], BM25Settings(stopwords="xx")), "xx"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ModelError, match="before index"):
        bm25().search([], task_metadata=METADATA, hf_split="test", hf_subset="default", top_k=1, encode_kwargs={})
    with pytest.raises(DataError, match="'d' occurs twice"):
        from datasets import Dataset

        ranking(bm25(), Dataset.from_dict({"id": ["d", "d"], "text": ["a", "b"]}), {"q": "a"})


@pytest.mark.slow
def test_tasks_on_one_view_share_an_index_and_one_with_fewer_queries_reads_their_rankings(monkeypatch):
    """One index and two searches for four tasks of DAPFAM; every ranking as by a model of its own, to the last bit."""
    made = Counter()

    class Counted(BM25Index):
        def __init__(self, texts, settings):
            made["indices"] += 1
            super().__init__(texts, settings)

        def terms(self, texts):
            made["queries"] += len(texts)
            return super().terms(texts)

    monkeypatch.setattr(bm25_module, "BM25Index", Counted)
    names = [f"PatentDAPFAM{query}ToTA{part}Retrieval.sample" for part in ("", "In") for query in ("TA", "Title")]
    shared = bm25("dapfam")
    for name in names:
        apart = patent_mteb.rank(bm25("dapfam"), name)
        before = Counter(made)
        together = patent_mteb.rank(shared, name)
        assert made["indices"] - before["indices"] == (name == names[0])
        assert (made["queries"] > before["queries"]) == ("In" not in name)
        assert (together.query_ids, together.doc_ids) == (apart.query_ids, apart.doc_ids)
        assert np.array_equal(together.docs, apart.docs) and np.array_equal(together.scores, apart.scores)


def test_another_text_of_a_query_a_deeper_search_and_another_setting_are_searched_again():
    texts = zipf_texts(40, 1)
    model, corpus = BM25(BM25Settings()), Dataset.from_dict({"id": [f"d{n}" for n in range(40)], "text": texts})

    def found(queries, top_k):
        return ranking(model, corpus, dict(queries), top_k)

    def expected(queries, top_k):
        fresh = BM25(model.settings)
        return ranking(fresh, corpus, dict(queries), top_k)

    for queries, top_k in (
        ({"q1": "rotor blades", "q2": "word1ing"}, 5),
        ({"q2": "word1ing"}, 5),
        ({"q2": "word2ing"}, 5),
        ({"q2": "word1ing", "q1": "rotor blades"}, 3),
        ({"q1": "rotor blades"}, 30),
        ({"q1": "rotor blades", "q2": "word1ing", "q3": "foo_bar"}, 5),
    ):
        assert found(queries, top_k) == expected(queries, top_k)
    model.settings = BM25Settings(k1=0.5)
    model.corpus = None
    assert found({"q1": "rotor blades", "q2": "word1ing"}, 5) == expected({"q1": "rotor blades", "q2": "word1ing"}, 5)
