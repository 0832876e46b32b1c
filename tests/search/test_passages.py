import functools

import numpy as np
import pytest
from mteb.models import SearchEncoderWrapper, SentenceTransformerEncoderWrapper
from search_calls import corpus_of, ranking
from sentence_transformers import SentenceTransformer
from small_data import HashEncoder
from tiny_checkpoints import checkpoint
from tiny_colbert import write_tokenizer
from transformers import AutoTokenizer

from patent_mteb.errors import DataError, ModelError
from patent_mteb.search.bm25 import BM25Index, bm25
from patent_mteb.search.fusion import Hybrid
from patent_mteb.search.passages import (
    AGGREGATES,
    ModelTokenizer,
    Passages,
    TokenWindows,
    WordTokenizer,
    aggregate,
    windows,
)


class Encoder(HashEncoder):
    """Remembers the vectors of all texts, for speed."""

    @staticmethod
    @functools.cache
    def remembered(dims, text):
        return HashEncoder(dims=dims).vector(text)

    def vector(self, text):
        return self.remembered(self.dims, text)


def hashed(tokens=3, aggregate="maxP", stride=None, encoder=None, **settings):
    return Passages(encoder or Encoder(), aggregate=aggregate, splitter=TokenWindows(tokens, stride), **settings)


def random_corpus(seed, n=40, longest=30):
    draw = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(25)])
    return {f"d{i:03}": " ".join(draw.choice(words, draw.integers(0, longest))) for i in range(n)}


QUERIES = random_corpus(99, 7, 6) | {"q": "w1 w2"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_aggregations_worked_out(dtype):
    #                   document 0       1      2           3
    scores = np.array([[3, 1, 2, 6, -4, 5, 7, 1, -1, -2, -3, -9]], dtype)
    starts = np.array([0, 5, 6, 8])
    expected = {
        "maxP": [6, 5, 7, -1],
        "avg_top3": [(6 + 3 + 2) / 3, 5, (7 + 1) / 2, (-1 - 2 - 3) / 3],
        "avgP": [8 / 5, 5, 4, -15 / 4],
        "sumP": [8, 5, 8, -15],
        "firstP": [3, 5, 7, -1],
    }
    assert expected.keys() == AGGREGATES.keys()
    for name, values in expected.items():
        found = aggregate(name, scores, starts)
        np.testing.assert_allclose(found, [values], rtol=1e-6)
        assert found.dtype == dtype


def test_aggregation_refuses_what_it_cannot_do():
    assert aggregate("maxP", np.empty((2, 0)), np.empty(0, int)).shape == (2, 0)
    for name, starts, message in [
        ("best", [0], "maxP, avg_top3"),
        ("maxP", [0, 2, 2], "at least one"),
        ("maxP", [1], "first document"),
    ]:
        with pytest.raises(ValueError, match=message):
            aggregate(name, np.ones((1, 4)), np.array(starts))


@pytest.mark.parametrize(
    ("n_tokens", "size", "stride", "expected"),
    [
        (0, 4, 4, [(0, 0)]),
        (3, 4, 4, [(0, 3)]),
        (4, 4, 4, [(0, 4)]),
        (5, 4, 4, [(0, 4), (4, 5)]),
        (8, 4, 4, [(0, 4), (4, 8)]),
        (10, 4, 4, [(0, 4), (4, 8), (8, 10)]),
        (8, 4, 2, [(0, 4), (2, 6), (4, 8)]),
        (9, 4, 2, [(0, 4), (2, 6), (4, 8), (6, 9)]),
        (9, 4, 3, [(0, 4), (3, 7), (6, 9)]),
        (3, 1, 1, [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_windows(n_tokens, size, stride, expected):
    assert windows(n_tokens, size, stride) == expected


def test_windows_are_substrings_that_lose_nothing():
    text = "  (1) A rotor-blade,  of 20 °C; for\ta “wind”\n turbine!! "
    row = {"id": "d", "text": text, "title": ""}
    assert WordTokenizer().starts(["a b-cd", "", "..."])[0].tolist() == [0, 2, 4]
    for size in (1, 2, 3, 5, 100):
        passages = TokenWindows(size)([row])[0]
        assert all(passage in text for passage in passages)
        assert "".join("".join(passages).split()) == "".join(text.split())
        assert len(passages) == -(-11 // size)
    assert TokenWindows(4, 2)([{"id": "d", "title": "One two", "text": "three, four five."}])[0] == [
        "One two three, four",
        "three, four five.",
    ]
    assert TokenWindows(4)([{"id": "d", "text": ""}, {"id": "e", "text": " — "}]) == [[""], ["—"]]


def test_windows_of_a_wordpiece_tokenizer(tmp_path):
    write_tokenizer(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    text = (
        "An electromagnetically shielded rotor — blade pitch-control unit (10): a café-style µ-actuator, 3.5 mm. " * 3
    )
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    for size in (7, 64):
        passages = TokenWindows(size, None, ModelTokenizer(tokenizer))([{"id": "d", "text": text}])[0]
        assert len(passages) == -(-len(ids) // size)
        assert all(passage in text for passage in passages)
        assert "".join("".join(passages).split()) == "".join(text.split())
    words = [{"id": "d", "text": "rotor blade pump valve heat ."}]
    assert TokenWindows(2, None, ModelTokenizer(tokenizer))(words)[0] == ["rotor blade", "pump valve", "heat ."]


def test_windows_that_the_model_cuts_are_a_warning(tmp_path, caplog):
    model = SentenceTransformerEncoderWrapper(SentenceTransformer(str(checkpoint(tmp_path / "tiny", 8, "mean"))))
    model.mteb_model_meta = Encoder().mteb_model_meta
    Passages(model, 510)
    assert not caplog.records
    Passages(model, 511)
    assert "reads 510 tokens" in caplog.text


def test_windows_of_a_tokenizers_tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers

    plain = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    plain.enable_truncation(3)
    plain.enable_padding(length=9)
    assert TokenWindows(2, None, ModelTokenizer(plain))([{"id": "d", "text": "a b, c d e"}]) == [["a b,", "c d", "e"]]
    assert plain.truncation["max_length"] == 3
    with pytest.raises(ModelError, match="WordTokenizer"):
        ModelTokenizer(object())


def naive(encoder, corpus, queries, name, size, stride):
    """Scores of all documents, passage by passage."""
    loops = {
        "maxP": max,
        "avg_top3": lambda scores: np.mean(sorted(scores)[-3:]),
        "avgP": np.mean,
        "sumP": sum,
        "firstP": lambda scores: scores[0],
    }
    scores = {}
    for query, text in queries.items():
        vector = encoder.vector(text)
        scores[query] = {}
        for document, content in corpus.items():
            words = content.split()
            parts = [" ".join(words[start:stop]) for start, stop in windows(len(words), size, stride)]
            vectors = [encoder.vector(part) for part in parts]
            cosines = [float(v @ vector / np.linalg.norm(v) / np.linalg.norm(vector)) for v in vectors]
            scores[query][document] = loops[name](cosines)
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("name", list(AGGREGATES))
@pytest.mark.parametrize("stride", [3, 2])
def test_an_encoder_equals_a_loop_however_it_is_chunked(name, stride):
    corpus = random_corpus(1, 12)
    expected = naive(Encoder(), corpus, QUERIES, name, 3, stride)
    for chunk_passages, score_mb in [(16_384, 128), (5, 1e-9)]:
        model = hashed(3, name, stride, chunk_passages=chunk_passages, score_mb=score_mb)
        found = ranking(model, corpus, QUERIES, len(corpus))
        assert found == {query: pytest.approx(scores, abs=1e-5) for query, scores in expected.items()}
        few = ranking(model, corpus, QUERIES, 4)
        assert few == {query: dict(list(scores.items())[:4]) for query, scores in found.items()}


@pytest.mark.parametrize(
    ("name", "function"), [("maxP", np.max), ("avg_top3", lambda scores: np.sort(scores)[-3:].mean())]
)
def test_bm25_equals_a_loop(name, function):
    corpus = random_corpus(2)
    cut = TokenWindows(4, 2)([{"id": document, "text": text} for document, text in corpus.items()])
    index = BM25Index([passage for passages in cut for passage in passages], bm25("dapfam").settings)
    found = ranking(Passages(bm25("dapfam"), 4, name, stride=2, score_mb=1e-3), corpus, QUERIES, len(corpus))
    for query, text in QUERIES.items():
        scores, position, expected = index.scores([text]).toarray()[0], 0, {}
        for document, passages in zip(corpus, cut, strict=True):
            part = scores[position : position + len(passages)]
            position += len(passages)
            if (value := function(part)) > 0:
                expected[document] = float(value)
        assert found[query] == pytest.approx(expected, rel=1e-5)
    assert any(len(scores) not in (0, len(corpus)) for scores in found.values())


def test_one_window_for_everything_is_document_retrieval():
    corpus = random_corpus(3)
    documents = ranking(SearchEncoderWrapper(Encoder()), corpus, QUERIES, len(corpus))
    assert ranking(hashed(1000), corpus, QUERIES, len(corpus)) == {
        q: pytest.approx(found, abs=1e-6) for q, found in documents.items()
    }
    assert ranking(Passages(bm25(), 1000), corpus, QUERIES) == {
        query: pytest.approx(found) for query, found in ranking(bm25(), corpus, QUERIES).items()
    }


@pytest.mark.parametrize("make", [lambda: hashed(3), lambda: Passages(bm25(), 3)])
def test_only_candidates_of_a_reranking_task_are_ranked(make):
    corpus = random_corpus(4) | {"d000": "w1 w9", "d001": "w2"}
    candidates = {"q": ["d001", "d000"], next(iter(QUERIES)): []}
    found, everything = (
        ranking(make(), corpus, QUERIES, 100, top_ranked=candidates),
        ranking(make(), corpus, QUERIES, 100),
    )
    assert {query: set(documents) for query, documents in found.items() if documents} == {"q": {"d000", "d001"}}
    assert found.keys() == QUERIES.keys()
    if isinstance(make().model, HashEncoder):
        assert found["q"] == pytest.approx({document: everything["q"][document] for document in found["q"]}, abs=1e-6)
        model = make()
        ranking(model, corpus, QUERIES, 1, top_ranked=candidates)
        assert sorted(model.model.texts[len(QUERIES) :]) == ["w1 w9", "w2"]  # no other document is encoded
    with pytest.raises(DataError, match="'zz'"):
        ranking(make(), corpus, QUERIES, top_ranked={"q": ["zz"]})


@pytest.mark.slow
def test_a_sweep_encodes_every_passage_once():
    corpus, encoder = random_corpus(5, 12), Encoder()
    models = Passages.sweep(encoder, aggregates=list(AGGREGATES), splitter=TokenWindows(3))
    for model in models:
        assert ranking(model, corpus, QUERIES) == ranking(hashed(3, model.aggregate), corpus, QUERIES)
    n_passages = sum(len(windows(len(text.split()), 3, 3)) for text in corpus.values())
    again = 4  # of a large call, see patent_mteb.store.company
    assert len(encoder.texts) == n_passages + len(QUERIES) + again
    assert len({model.mteb_model_meta.name for model in models}) == len(AGGREGATES)
    ranking(models[1], random_corpus(6), QUERIES)
    assert len(encoder.texts) > n_passages + len(QUERIES) + again
    lexical = Passages.sweep(bm25(), 3)
    for seed in (5, 6):
        for model in lexical:
            expected = ranking(Passages(bm25(), 3, model.aggregate), random_corpus(seed), QUERIES)
            assert ranking(model, random_corpus(seed), QUERIES) == expected


def test_memory_is_bounded_by_the_chunk():
    class Watched(Encoder):
        def encode(self, inputs, **kwargs):
            vectors = super().encode(inputs, **kwargs)
            sizes.append(len(vectors))
            return vectors

        def similarity(self, one, two):
            scores = super().similarity(one, two)
            blocks.append(scores.shape[0] * scores.shape[1])
            return scores

    sizes, blocks = [], []
    ranking(hashed(1, encoder=Watched(), chunk_passages=50, score_mb=4 * 150 / 1e6), random_corpus(7, 60), QUERIES)
    assert len(sizes) > 10
    assert max(sizes[1:]) < 50 + 30  # a chunk ends with the document that fills it
    assert max(blocks) <= 150


def test_prompts_and_arguments_reach_the_encoder():
    seen = []

    class Watched(Encoder):
        def encode(self, inputs, *, prompt_type, task_metadata, hf_split, hf_subset, **kwargs):
            seen.append(
                (
                    str(prompt_type),
                    task_metadata.name,
                    hf_split,
                    hf_subset,
                    kwargs,
                    inputs.batch_size,
                    "text" in inputs.dataset.features,
                )
            )
            return super().encode(inputs)

    ranking(hashed(encoder=Watched()), {"d": "a b"}, {"q": "a"}, batch_size=5)
    arguments = {"show_progress_bar": False, "batch_size": 5}
    assert seen == [
        (kind, "MockRetrievalTask", "test", "default", arguments, 5, True) for kind in ("query", "document")
    ]


def test_identity_holds_every_setting():
    models = [
        hashed(3),
        hashed(4),
        hashed(4, stride=2),
        hashed(4, "avgP"),
        hashed(4, encoder=Encoder(dims=32)),
        Passages(bm25(), 4),
        Passages(bm25("dapfam"), 4),
    ]
    assert len({model.mteb_model_meta.revision for model in models}) == len(models)
    assert models[2].mteb_model_meta.name == "passages/4s2-maxP-hash-encoder"
    assert models[5].mteb_model_meta.name == "passages/4-maxP-bm25-bm25s"
    assert models[5].mteb_model_meta.experiment_kwargs["tokenizer"] == "words"
    assert hashed(4, chunk_passages=7).mteb_model_meta == models[1].mteb_model_meta


def test_bad_settings_are_refused():
    encoder = Encoder()
    for call, message in [
        (lambda: hashed(0), "the length of a window is a whole number from 1, not 0"),
        (lambda: hashed(4, stride=5), "text would be skipped"),
        (lambda: hashed(4, "best"), "maxP, avg_top3"),
        (lambda: Passages(encoder, 4, splitter=TokenWindows(4)), "not both"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ModelError, match="no tokenizer"):
        Passages(encoder, 4)
    with pytest.raises(ModelError, match="only encoders and BM25"):
        Passages(Hybrid(bm25(), encoder), 4)
    broken = Encoder()
    broken.vector = lambda text: np.full(64, np.nan, np.float32)
    with pytest.raises(ModelError, match="gave NaN or infinite vectors for 1 of 1 texts"):
        ranking(hashed(encoder=broken), {"d": "a"}, {"q": "a"})


def test_corpus_columns_are_untouched():
    corpus = corpus_of({"a": "w1", "b": "w2"}, title=["", "w3"])
    assert list(ranking(Passages(bm25(), 1), corpus, {"q": "w3"})["q"]) == ["b"]
