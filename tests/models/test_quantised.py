"""Quantised vectors against sentence-transformers' own quantisation, and scores that no chunk, order or store
changes.
"""

import mteb
import numpy as np
import pytest
from datasets import Dataset
from mteb.models import CompressionWrapper
from mteb.types import OutputDType, PromptType
from sentence_transformers import quantize_embeddings
from small_data import HashEncoder, dapfam_tables, scores_of
from tiny_checkpoints import checkpoint
from torch.utils.data import DataLoader

from patent_mteb.data import loading
from patent_mteb.errors import ModelError
from patent_mteb.models import Passages, Quantised, Truncated, load, stored
from patent_mteb.models.quantised import calibration_texts
from patent_mteb.models.spec import VECTOR_PRECISIONS
from patent_mteb.search.passages import TokenWindows

WHERE = {"task_metadata": mteb.get_task("NFCorpus").metadata, "hf_split": "test", "hf_subset": "default"}
TEXTS = [f"a pump number {i} with a valve {i % 7}" for i in range(60)]


def encode(model, texts, **kwargs):
    return model.encode(DataLoader(Dataset.from_dict({"text": texts}), batch_size=8), **WHERE, **kwargs)


def numbers(task, model):
    """The scores that are numbers: some of mteb's are not."""
    return {name: value for name, value in scores_of(task, model).items() if value == value}


def ranges(vectors):
    """Mean and four standard deviations, value by value."""
    lows, highs = [], []
    for column in vectors.astype(np.float64).T:
        mean = sum(column) / len(column)
        deviation = (sum((value - mean) ** 2 for value in column) / len(column)) ** 0.5
        lows.append(mean - 4 * deviation)
        highs.append(mean + 4 * deviation)
    return np.array([lows, highs], np.float32)


@pytest.mark.parametrize("precision", ["int8", "uint8"])
def test_codes_are_those_of_sentence_transformers(precision):
    plain = HashEncoder()
    vectors = encode(plain, TEXTS)
    calibrated = ranges(np.concatenate([encode(plain, calibration_texts())] * 2))
    expected = quantize_embeddings(vectors, precision, ranges=calibrated).astype(np.int64)
    model = Quantised(HashEncoder(), precision)
    codes = model.codes(vectors).astype(np.int64) + (128 if precision == "uint8" else 0)
    assert (
        np.abs(codes - expected).max() <= 1 and (codes != expected).mean() < 1e-3
    )  # a sum in another order moves a border
    steps = (calibrated[1] - calibrated[0]) / 255
    inside = (vectors > calibrated[0]) & (vectors < calibrated[1])
    assert inside.mean() > 0.9
    assert (np.abs(encode(model, TEXTS) - vectors) <= 0.501 * steps + 1e-5)[inside].all()


def test_binary_scores_are_those_of_equal_bits():
    model = Quantised(HashEncoder(), "binary")
    vectors = encode(model, TEXTS)
    bits = np.unpackbits(quantize_embeddings(encode(HashEncoder(), TEXTS), "ubinary"), axis=1)
    equal = (bits[:, None, :] == bits[None, :, :]).sum(axis=2)
    np.testing.assert_allclose(np.asarray(model.similarity(vectors, vectors)), (2 * equal - 64) / 64, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("precision", VECTOR_PRECISIONS)
def test_vectors_depend_on_no_other_text_of_a_call(precision):
    model, other = Quantised(HashEncoder(), precision), Quantised(HashEncoder(), precision)
    whole = encode(model, TEXTS)
    backwards = np.concatenate([encode(other, [text]) for text in reversed(TEXTS)])[::-1]
    np.testing.assert_array_equal(whole, backwards)


def test_the_calibration_is_encoded_in_both_roles_and_once():
    model = Quantised(HashEncoder(), "int8")
    encode(model, TEXTS, prompt_type=PromptType.query)
    encode(model, TEXTS, prompt_type=PromptType.document)
    assert model.model.texts == [*calibration_texts(), *calibration_texts(), *TEXTS, *TEXTS]


@pytest.fixture
def dapfam(tmp_path, monkeypatch):
    dapfam_tables(tmp_path / "data")
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    return mteb.get_task("PatentDAPFAMTAToTACRetrieval")


def test_scores_are_the_similarity_of_the_quantised_vectors(dapfam):
    run = dapfam.rank(model := Quantised(HashEncoder(), "int8"))
    corpus, queries = dapfam.tables.corpus, dapfam.tables.queries
    ours, theirs = (encode(model, list(texts)).astype(np.float64) for texts in (queries.values(), corpus.values()))
    ours, theirs = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (ours, theirs))
    cosines = ours @ theirs.T
    number = {document: place for place, document in enumerate(corpus)}
    for row, query in enumerate(queries):
        for document, score in run.ranking(query):
            assert score == pytest.approx(cosines[row, number[document]], abs=1e-6)
        assert sorted(cosines[row], reverse=True) == pytest.approx([score for _, score in run.ranking(query)], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("precision", VECTOR_PRECISIONS)
def test_a_store_keeps_a_byte_a_number_and_changes_no_score(dapfam, tmp_path, precision):
    encoder = HashEncoder()
    kept = stored(Quantised(encoder, precision), tmp_path / "store")
    assert kept.mteb_model_meta == Quantised(encoder, precision).mteb_model_meta
    first = numbers(dapfam, kept)
    assert first == numbers(dapfam, Quantised(HashEncoder(), precision))
    encoder.texts.clear()
    again = stored(Quantised(encoder, precision), tmp_path / "store")
    assert numbers(dapfam, again) == first
    assert not encoder.texts
    spaces = {info.dtype: info for info in again._store.info()}
    assert spaces["int8"].texts == 48 and spaces["int8"].nbytes < 48 * 64 * 3  # 64 numbers a text, and its keys
    assert again._store.verify().ok


def test_each_precision_is_an_identity_of_its_own():
    encoder = HashEncoder()
    models = [encoder, *(Quantised(encoder, precision) for precision in VECTOR_PRECISIONS)]
    models += [Truncated(Quantised(encoder), 8), Quantised(Truncated(encoder, 8))]
    names = [
        (model.mteb_model_meta.name, model.mteb_model_meta.experiment_name, model.mteb_model_meta.embed_dim)
        for model in models
    ]
    assert len(set(names)) == len(models)
    assert encoder.mteb_model_meta.experiment_kwargs is None


def test_mtebs_wrapper_cannot_rename_a_model_of_the_suite(tmp_path):
    model = stored(HashEncoder(), tmp_path)
    before = model.mteb_model_meta
    with pytest.raises(ModelError, match=r"Quantised\(model, 'int8'\)"):
        CompressionWrapper(model, OutputDType.INT8)
    assert model.mteb_model_meta == before


@pytest.mark.parametrize("precision", ["int8", "binary"])
def test_precision_among_encode_kwargs_is_answered(dapfam, tmp_path, precision):
    with pytest.raises(ModelError, match=r"ranges of their own.*Quantised"):
        mteb.evaluate(stored(HashEncoder(), tmp_path / "s"), dapfam, cache=None, encode_kwargs={"precision": precision})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Quantised(HashEncoder(), "int4"), "unknown precision 'int4'.*one of int8, uint8, binary"),
        (lambda: Quantised(Quantised(HashEncoder())), "already quantised"),
        (lambda: Quantised(Passages(HashEncoder(), splitter=TokenWindows(4))), "not an encoder"),
        (lambda: Quantised(HashEncoder()).with_store("store", "float16"), "keeps quantised vectors as bytes"),
        (lambda: stored(HashEncoder(), "store", "int8"), "only quantised vectors are stored as bytes"),
    ],
)
def test_what_cannot_be_is_refused(build, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=message):
        build()


def test_the_cli_name_loads_it(tmp_path):
    tiny = str(checkpoint(tmp_path / "tiny", 16, "mean", layers=1))
    model, plain = load(tiny, precision="int8"), load(tiny)
    assert model.mteb_model_meta.experiment_kwargs["vectors"] == "int8"
    found = encode(model, TEXTS[:5])
    np.testing.assert_array_equal(found, encode(Quantised(plain, "int8"), TEXTS[:5]))
    assert not np.array_equal(found, encode(plain, TEXTS[:5]))
