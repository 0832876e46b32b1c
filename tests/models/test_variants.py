"""Robustness settings of PatenTEB Tables 9 and 10: edited inputs as the model sees them, pruned layers against hidden
states.
"""

from __future__ import annotations

import mteb
import numpy as np
import pytest
import torch
from datasets import Dataset
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.model_meta import ModelMeta, _serialize_experiment_kwargs_to_name
from mteb.models.models_protocols import EncoderProtocol
from mteb.types import PromptType
from sentence_transformers import SentenceTransformer
from tiny_checkpoints import bare, checkpoint
from torch.utils.data import DataLoader
from transformers import AutoModel, AutoTokenizer, ModernBertConfig, ModernBertModel

from patent_mteb.errors import ModelError
from patent_mteb.models.variants import TABLE_10, InputVariant, Variant, pruned

FULL = "title [SEP] the abstract [SEP] 1. a claim"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("noSEP", "title the abstract 1. a claim"),
        ("trim[1]", "title [SEP] 1. a claim"),
        ("trim[-1]", "title [SEP] the abstract"),
        ("trim[1,-1]", "title"),
        ("noSEP+trim[1]", "title 1. a claim"),
    ],
)
def test_table_10(name, expected):
    assert name in TABLE_10
    variant = Variant.parse(name)
    assert variant(FULL) == expected
    assert variant.name == name


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("trim[1]", "only a problem", "only a problem"),
        ("trim[1]", "title [SEP] abstract", "title"),
        ("trim[-1]", "title [SEP] abstract", "title [SEP] abstract"),
        ("trim[5]", FULL, FULL),
        ("noSEP", "a [sep] b", "a [sep] b"),
    ],
)
def test_texts_with_fewer_sections(name, text, expected):
    assert Variant.parse(name)(text) == expected


@pytest.mark.parametrize(
    ("name", "parts", "text", "expected"),
    [
        ("trim[1]", ("abstract", "claim"), "the abstract [SEP] 1. a claim", "1. a claim"),
        ("trim[-1]", ("abstract", "claim"), "the abstract [SEP] 1. a claim", "the abstract"),
        ("trim[1,-1]", ("abstract", "claim"), "the abstract [SEP] 1. a claim", "the abstract [SEP] 1. a claim"),
        ("noSEP+trim[1]", ("abstract", "claim"), "the abstract [SEP] 1. a claim", "1. a claim"),
        ("trim[1]", ("problem",), "a problem [SEP] of separators", "a problem [SEP] of separators"),
        ("trim[-1]", ("title", "abstract", "claim"), "title [SEP] abstract [SEP] 1. a [SEP] b", "title [SEP] abstract"),
    ],
)
def test_the_task_says_which_sections_a_text_has(name, parts, text, expected):
    assert Variant.parse(name)(text, parts) == expected


@pytest.mark.parametrize("role", list(PromptType))
def test_title2full_documents_have_no_title(role):
    recorder = Recorder()
    model = InputVariant(recorder, "trim[1]")
    loader = DataLoader(Dataset.from_dict({"text": ["an abstract [SEP] 1. a claim"]}))
    model.encode(
        loader,
        task_metadata=mteb.get_task("PatenTEBTitle2Full.sample").metadata,
        hf_split="test",
        hf_subset="default",
        prompt_type=role,
    )
    assert recorder.texts == ["1. a claim" if role == PromptType.document else "an abstract [SEP] 1. a claim"]


@pytest.mark.parametrize("name", ["", "+", "nosep", "trim[]", "trim[0]", "trim[1],noSEP"])
def test_unknown_variants(name):
    with pytest.raises(ModelError, match="invalid input variant"):
        Variant.parse(name)


def test_names_are_read_with_blanks():
    assert Variant.parse("noSEP + trim[1, -1]").name == "noSEP+trim[1,-1]"


class Recorder:
    """An encoder that remembers what it was given and returns the length of each text."""

    def __init__(self, model_name=None, revision=None, *, device=None, **kwargs):
        self.mteb_model_meta = ModelMeta.create_empty({"name": "test/recorder", "experiment_kwargs": {"a": 1}})
        self.texts, self.calls = [], []
        self.prompts_used = {("T", "query"): "p: "}

    def encode(self, inputs, **kwargs):
        texts = [text for batch in inputs for text in batch["text"]]
        self.texts += texts
        self.calls.append(kwargs)
        return np.array([[len(text)] for text in texts])

    def similarity(self, embeddings1, embeddings2):
        return "similarity"

    def similarity_pairwise(self, embeddings1, embeddings2):
        return "pairwise"


def test_the_wrapped_model_sees_edited_texts_only():
    recorder = Recorder()
    model = InputVariant(recorder, "noSEP+trim[1]")
    rows = Dataset.from_dict({"text": [FULL, "x", "a [SEP] b [SEP] c"], "title": ["t", "t", "t"]})
    found = model.encode(
        DataLoader(rows, batch_size=2),
        task_metadata=TaskMetadata.model_construct(name="T", type="Retrieval"),
        hf_split="test",
        hf_subset="default",
        prompt_type=PromptType.query,
        batch_size=7,
    )
    assert recorder.texts == ["title 1. a claim", "x", "a c"]
    assert found.tolist() == [[16], [1], [3]]
    call = recorder.calls[0]
    assert (call["prompt_type"], call["batch_size"], call["hf_split"]) == (PromptType.query, 7, "test")
    assert isinstance(model, EncoderProtocol)
    assert (model.similarity(1, 2), model.similarity_pairwise(1, 2)) == ("similarity", "pairwise")
    assert model.prompts_used == {("T", "query"): "p: "}


def test_each_variant_is_an_identity():
    plain = Recorder()
    metas = [plain.mteb_model_meta, *(InputVariant(Recorder(), name).mteb_model_meta for name in TABLE_10)]
    assert len({_serialize_experiment_kwargs_to_name(meta.experiment_kwargs) for meta in metas}) == 8
    assert metas[1].experiment_kwargs == {"a": 1, "input": "noSEP"}
    assert plain.mteb_model_meta.experiment_kwargs == {"a": 1}


def test_variants_do_not_stack():
    with pytest.raises(ModelError, match="already"):
        InputVariant(InputVariant(Recorder(), "noSEP"), "trim[1]")


def test_inputs_without_text_are_refused():
    with pytest.raises(ModelError, match="no text column"):
        InputVariant(Recorder(), "noSEP").encode(
            DataLoader(Dataset.from_dict({"image": ["x"]})),
            task_metadata=TaskMetadata.model_construct(name="T", type="Retrieval"),
            hf_split="test",
            hf_subset="default",
        )


@pytest.fixture(scope="module")
def four_layers(tmp_path_factory):
    return checkpoint(tmp_path_factory.mktemp("pruned") / "bert", 16, "mean", dense=8, layers=4)


@pytest.mark.slow
@pytest.mark.parametrize("layers", [1, 3])
def test_pruning_equals_the_hidden_states_of_the_full_model(four_layers, layers):
    full = SentenceTransformer(str(four_layers), device="cpu")
    before = full.encode(["a rotor"])
    tokens = AutoTokenizer.from_pretrained(four_layers)("a rotor", return_tensors="pt")
    with torch.no_grad():
        states = (
            AutoModel.from_pretrained(four_layers).eval()(**tokens, output_hidden_states=True).hidden_states[layers]
        )
        expected = full[2].linear(states[0].mean(0))
    cut = pruned(full, layers)
    np.testing.assert_allclose(cut.encode(["a rotor"])[0], expected.numpy(), atol=1e-5)
    np.testing.assert_array_equal(full.encode(["a rotor"]), before)
    assert cut[0].auto_model.config.num_hidden_layers == layers


def test_pruning_modernbert(tmp_path):
    """The base of the long-context models; its final norm stays behind the last layer that is kept."""
    bare(tmp_path, 16, 1)
    torch.manual_seed(0)
    config = ModernBertConfig(
        vocab_size=90, hidden_size=16, num_hidden_layers=4, num_attention_heads=2, intermediate_size=8, pad_token_id=0
    )
    ModernBertModel(config).save_pretrained(tmp_path)
    full = SentenceTransformer(str(tmp_path), device="cpu")
    cut = pruned(full, 2)
    transformer = full[0].auto_model
    captured = []
    hook = transformer.layers[1].register_forward_hook(
        lambda module, args, out: captured.append(out if torch.is_tensor(out) else out[0])
    )
    full.encode(["a rotor"])
    hook.remove()
    with torch.no_grad():
        expected = transformer.final_norm(captured[0])[0].mean(0)
    np.testing.assert_allclose(cut.encode(["a rotor"])[0], expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("layers", [0, -1, 5])
def test_impossible_depths(four_layers, layers):
    with pytest.raises(ModelError, match="has 4"):
        pruned(SentenceTransformer(str(four_layers), device="cpu"), layers)


def test_only_transformers_are_pruned():
    words = torch.nn.Embedding(4, 2)
    with pytest.raises(ModelError, match="first module of the model is not a transformer"):
        pruned(torch.nn.Sequential(words), 1)
