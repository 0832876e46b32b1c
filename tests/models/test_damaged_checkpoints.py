"""Copies of small checkpoints with one corrupt or wrongly typed file, and with missing weights: each ends in one error
that names the checkpoint or its file, with a remedy.
"""

from __future__ import annotations

import json
import logging
import shutil

import numpy as np
import pytest
import tiny_checkpoints
import tiny_colbert
from safetensors.numpy import load_file, save_file
from sentence_transformers import MultiVectorEncoder, SparseEncoder

from patent_mteb.cli import main
from patent_mteb.errors import ModelError
from patent_mteb.models import load


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    root = tmp_path_factory.mktemp("originals")
    tiny_checkpoints.checkpoint(root / "dense", 8, "mean", dense=6, layers=2)
    tiny_colbert.write_checkpoint(root / "pylate", "pylate")
    tiny_colbert.write_checkpoint(root / "stanford", "stanford")
    tiny_checkpoints.write_cross_encoder(root / "cross-encoder")
    tiny_checkpoints.bare(root / "bare", 8)
    MultiVectorEncoder(str(root / "bare"), device="cpu").save(str(root / "multi-vector"))
    SparseEncoder(str(tiny_checkpoints.bare(root / "masked", 8, head=True)), device="cpu").save(str(root / "sparse"))
    classes = {"entailment": 0, "neutral": 1, "contradiction": 2}
    config = tiny_checkpoints.write_cross_encoder(root / "nli", labels=3) / "config.json"
    named = {"label2id": classes, "id2label": {number: name for name, number in classes.items()}}
    config.write_text(json.dumps(json.loads(config.read_text()) | named))
    return root


@pytest.fixture
def damaged(originals, tmp_path):
    """Returns a copy with other bytes, another JSON document, or other values of keys in a file."""

    def change(kind, file, content=None, **values):
        folder = shutil.copytree(originals / kind, tmp_path / kind)
        path = folder / file
        if values:
            content = {**json.loads(path.read_text("utf-8")), **values}
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return folder

    return change


def refused(folder, match):
    with pytest.raises(ModelError, match=match) as caught:
        load(str(folder), device="cpu")
    assert str(folder) in str(caught.value) and "Remedy: " in str(caught.value)


CORRUPT = [
    (b"", "malformed JSON"),
    (b'{"a": ', "malformed JSON"),
    (b"[" * 100_000, "nested too deeply"),
    (b"\xff\xfe{\x00", "cannot be read"),
    (b'{"a": "\\ud800"}', "half of a surrogate pair"),
    (b"version https://git-lfs.github.com/spec/v1\n", "malformed JSON"),
    (b'"x"', "instead of"),
    (b"7", "instead of"),
    (b"NaN", "instead of"),
]
FILES = ["config.json", "config_sentence_transformers.json", "modules.json"]


@pytest.mark.parametrize("file", [*FILES, "sentence_bert_config.json", "1_Pooling/config.json"])
@pytest.mark.parametrize(("content", "said"), CORRUPT, ids=range(len(CORRUPT)))
def test_a_corrupt_file_of_a_dense_checkpoint_is_named(damaged, file, content, said):
    refused(damaged("dense", file, content), f"{file}.*{said}")


@pytest.mark.parametrize("file", ["config.json", "config_sentence_transformers.json", "modules.json"])
@pytest.mark.parametrize("content", [None, "x", 1.5, ["a"], {"a": None}, [None], [{"type": 1}], [{"type": "a.B"}]])
def test_another_json_document_in_a_file_is_refused(damaged, file, content):
    refused(damaged("pylate", file, content), "Remedy")


@pytest.mark.parametrize(
    ("kind", "file", "values"),
    [
        ("dense", "sentence_bert_config.json", {"max_seq_length": "512"}),
        ("dense", "sentence_bert_config.json", {"max_seq_length": 0}),
        ("dense", "sentence_bert_config.json", {"max_seq_length": True}),
        ("dense", "config.json", {"hidden_size": [8]}),
        ("dense", "config.json", {"num_hidden_layers": 10**12}),
        ("dense", "config.json", {"vocab_size": 10**12}),
        ("dense", "config.json", {"architectures": 1.5}),
        ("dense", "config.json", {"num_attention_heads": -1}),
        ("dense", "config_sentence_transformers.json", {"prompts": ["a"]}),
        ("dense", "config_sentence_transformers.json", {"similarity_fn_name": {}}),
        ("dense", "2_Dense/config.json", {"out_features": "6"}),
        ("cross-encoder", "config.json", {"label2id": ["LABEL_0"]}),
        ("pylate", "config_sentence_transformers.json", {"skiplist_words": [1]}),
        ("pylate", "config_sentence_transformers.json", {"query_prefix": 3}),
        ("pylate", "config_sentence_transformers.json", {"query_length": "32"}),
        ("stanford", "artifact.metadata", {"query_token_id": 1}),
        ("stanford", "artifact.metadata", {"doc_maxlen": -1}),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_named_with_its_file(damaged, kind, file, values):
    refused(damaged(kind, file, **values), f"{file}: '{next(iter(values))}' is ")


def test_a_model_that_is_loaded_but_cannot_read_a_text_is_refused_at_the_start(damaged):
    refused(damaged("dense", "2_Dense/config.json", module_input_name="x"), "loaded but cannot read a text")


def test_a_module_outside_the_checkpoint_is_refused(damaged):
    outside = [{"idx": 0, "name": "0", "path": "../other", "type": "sentence_transformers.models.Transformer"}]
    refused(damaged("dense", "modules.json", outside), "outside the checkpoint")


@pytest.mark.parametrize("kind", ["dense", "pylate", "cross-encoder"])
@pytest.mark.parametrize("content", [b"", b"\0" * 200, b"version https://git-lfs.github.com/spec/v1\n"])
@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_corrupt_weights_and_tokenizers_are_refused(damaged, kind, file, content):
    refused(damaged(kind, file, content), "Remedy")


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("dense", "encoder.layer.1."),
        ("dense", "embeddings.LayerNorm"),
        ("dense", "attention.self.query"),
        ("dense", "layer.0.output.dense.bias"),
        ("pylate", "encoder.layer.0."),
        ("cross-encoder", "classifier"),
    ],
)
def test_missing_weights_that_an_output_depends_on_are_refused(originals, tmp_path, kind, missing):
    """transformers initialises them at random and says so in a table only."""
    folder = shutil.copytree(originals / kind, tmp_path / kind)
    weights = load_file(folder / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if missing not in name}
    assert len(kept) < len(weights)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    refused(folder, r"has no weights for .*initialised at\s+random")


KINDS = ("bare", "multi-vector", "nli", "sparse", "dense", "cross-encoder", "pylate")


@pytest.mark.parametrize("kind", KINDS)
def test_an_undamaged_checkpoint_is_loaded(originals, kind):
    load(str(originals / kind), device="cpu")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cut", [None, 0, 0.5, -1], ids=["missing", "empty", "half", "one byte less"])
def test_weights_that_are_missing_or_cut_are_refused(originals, tmp_path, kind, cut):
    folder = shutil.copytree(originals / kind, tmp_path / kind)
    path = folder / "model.safetensors"
    content = path.read_bytes()
    if cut is None:
        path.unlink()
    else:
        path.write_bytes(content[: int(cut * len(content)) if cut >= 0 else cut])
    refused(folder, "Remedy: compare its files")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", ["hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings"])
def test_a_configuration_of_another_size_is_refused_with_the_sizes(originals, damaged, kind, key):
    value = json.loads((originals / kind / "config.json").read_text())[key]
    refused(damaged(kind, "config.json", **{key: 2 * value}), r"other sizes than its config.json states .*such as .*vs")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more", [1, -1])
def test_another_number_of_layers_is_refused(originals, damaged, kind, more):
    layers = json.loads((originals / kind / "config.json").read_text())["num_hidden_layers"]
    said = "has no weights for" if more > 0 else "weights of more layers than its config.json states"
    if layers + more:
        refused(damaged(kind, "config.json", num_hidden_layers=layers + more), said)


@pytest.mark.parametrize("kind", ["bare", "multi-vector", "nli", "sparse", "dense", "cross-encoder"])
@pytest.mark.parametrize(
    ("value", "said"),
    [(np.nan, "NaN or infinite"), (0, "all weights of|the same vector"), (None, "has no weights for")],
)
def test_weights_without_information_are_refused(originals, tmp_path, kind, value, said):
    folder = shutil.copytree(originals / kind, tmp_path / kind)
    weights = load_file(folder / "model.safetensors")
    made = {name: np.full_like(weight, value) for name, weight in weights.items()} if value is not None else {}
    save_file(made, folder / "model.safetensors", metadata={"format": "pt"})
    refused(folder, said)


@pytest.mark.parametrize("model_type", [None, "", "MultiVectorEncoder", "SparseEncoder", "CrossEncoder", "PyLate"])
def test_pylates_prefixes_and_another_model_type_are_refused(damaged, model_type):
    refused(damaged("pylate", "config_sentence_transformers.json", model_type=model_type), "prefixes of a PyLate")


@pytest.mark.parametrize("kind", ["bare", "nli", "cross-encoder"])
def test_what_transformers_guesses_is_said(damaged, caplog, kind):
    named = {"bare": "FooModel"}.get(kind, "RobertaForSequenceClassification")
    folder = damaged(kind, "config.json", architectures=[named])
    (folder / "tokenizer_config.json").unlink()
    load(str(folder), device="cpu")
    assert f"names the architecture {named}, but it is loaded as Bert" in caplog.text
    assert "has no tokenizer_config.json, so letter case" in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_said_of_a_complete_checkpoint(originals, caplog, kind):
    load(str(originals / kind), device="cpu")
    assert "architecture" not in caplog.text and "tokenizer_config" not in caplog.text


def test_missing_weights_are_found_where_logs_are_switched_off(originals, tmp_path):
    folder = shutil.copytree(originals / "bare", tmp_path / "bare")
    save_file({}, folder / "model.safetensors", metadata={"format": "pt"})
    logging.disable(logging.CRITICAL)
    try:
        refused(folder, "has no weights for")
        assert logging.root.manager.disable == logging.CRITICAL
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("dense", "modules.json"),
        ("multi-vector", "modules.json"),
        ("sparse", "modules.json"),
        ("multi-vector", "3_Normalize/config.json"),
        ("multi-vector", "1_Dense/config.json"),
        ("sparse", "sentence_bert_config.json"),
        ("dense", "sentence_bert_config.json"),
    ],
)
def test_a_missing_file_that_decides_what_is_computed_is_named(originals, tmp_path, kind, file):
    folder = shutil.copytree(originals / kind, tmp_path / kind)
    (folder / file).unlink()
    refused(folder, f"{file}: the file is missing")


def test_missing_weights_of_a_pooler_change_nothing(originals, tmp_path):
    folder = shutil.copytree(originals / "dense", tmp_path / "dense")
    weights = load_file(folder / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if "pooler" not in name}
    assert len(kept) < len(weights)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    before, after = (load(str(one), device="cpu").model.encode(["a pump"]) for one in (originals / "dense", folder))
    assert (before == after).all()


def test_the_command_line_says_it_in_one_line(damaged, capsys):
    folder = damaged("dense", "config.json", hidden_size=[8])
    assert main(["run", "-t", "PatenTEBEffect2Substance.sample", "-m", str(folder)]) != 0
    said = capsys.readouterr().err
    assert "config.json: 'hidden_size' is [8]" in said and "Traceback" not in said
