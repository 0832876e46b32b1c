"""What the files of a checkpoint say is what the loaded model has."""

import json

import numpy as np
import pytest
from mteb.models.model_meta import ScoringFunction
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tiny_checkpoints import checkpoint
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from patent_mteb.errors import ModelError
from patent_mteb.models import Truncated, load
from patent_mteb.models.folders import folder_facts
from patent_mteb.store import stored


def facts_in(folder):
    meta = load(str(folder)).mteb_model_meta
    return {
        name: getattr(meta, name)
        for name in ("embed_dim", "max_tokens", "n_parameters", "n_embedding_parameters", "memory_usage_mb")
    }


def test_a_transformer(tmp_path):
    folder = checkpoint(tmp_path / "model", 16, "mean", layers=1)
    model = load(str(folder)).model
    assert facts_in(folder) == {
        "embed_dim": model.encode("a pump").shape[0],
        "max_tokens": model.max_seq_length,
        "n_parameters": sum(weight.numel() for weight in model.parameters()),
        "n_embedding_parameters": model[0].auto_model.embeddings.word_embeddings.weight.numel(),
        "memory_usage_mb": pytest.approx(sum(weight.numel() * 4 for weight in model.parameters()) / 2**20, abs=0.1),
    }


def test_a_table_of_word_vectors(tmp_path):
    words = Tokenizer(WordLevel({"[UNK]": 0, "pump": 1}, unk_token="[UNK]"))
    model = SentenceTransformer(modules=[StaticEmbedding(words, embedding_dim=6)], similarity_fn_name="dot")
    model.save(str(tmp_path / "words"))
    assert facts_in(tmp_path / "words")["embed_dim"] == model.encode("a pump").shape[0] == 6
    assert load(str(tmp_path / "words")).mteb_model_meta.similarity_fn_name is ScoringFunction.DOT_PRODUCT
    (tmp_path / "words" / "model.safetensors").write_bytes(b"torn")
    assert folder_facts(tmp_path / "words") == {"similarity_fn_name": ScoringFunction.DOT_PRODUCT}


@pytest.mark.parametrize("name", ["cosine", "dot", "euclidean", None])
def test_pairs_are_compared_as_the_checkpoint_says(tmp_path, name):
    folder = checkpoint(tmp_path / "model", 8, "mean")
    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "similarity_fn_name": name}))
    a, b = np.random.default_rng(0).normal(size=(2, 5, 8))
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    expected = {"dot": (a * b).sum(1), "euclidean": -np.linalg.norm(a - b, axis=1)}.get(name, (a * b).sum(1) / norms)
    model = load(str(folder))
    for encoder in (model, stored(model, tmp_path / "store")):
        assert np.asarray(encoder.similarity_pairwise(a, b)) == pytest.approx(expected)
        assert np.diag(np.asarray(encoder.similarity(a, b))) == pytest.approx(expected)


def test_what_is_not_said_is_left_out(tmp_path):
    assert folder_facts(tmp_path) == {}
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 8}))
    assert folder_facts(tmp_path) == {"embed_dim": 8}


def test_more_dimensions_than_there_are_stop_at_the_start(tmp_path):
    checkpoint(tmp_path / "model", 8, "mean")
    model = load(str(tmp_path / "model"))
    for encoder in (model, stored(model, tmp_path / "store")):
        assert Truncated(encoder, 8).dims == 8
        with pytest.raises(ModelError, match="cannot keep 9 of 8 dimensions"):
            Truncated(encoder, 9)
