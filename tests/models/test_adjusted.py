"""Token caps, fewer layers and edited inputs of any encoder: as the model sees them, each an identity of its own."""

from __future__ import annotations

from typing import get_args

import mteb
import numpy as np
import pytest
import torch
from tiny_checkpoints import checkpoint
from transformers import AutoModel, AutoTokenizer

from patent_mteb.cli import main
from patent_mteb.cli.options import Precision
from patent_mteb.errors import ModelError
from patent_mteb.model_identity.loaded import check_identity
from patent_mteb.models import bm25, changed, load
from patent_mteb.models.registry import load_plain
from patent_mteb.models.spec import AUTOCAST, PRECISIONS

TEXT = "a b c d e f g h"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return checkpoint(tmp_path_factory.mktemp("adjusted") / "tiny", 8, "mean", layers=3)


def settings(model):
    return model.mteb_model_meta.experiment_kwargs or {}


def by_hand(folder, text, *, tokens=512, layers=3):
    """Mean of the hidden states, with transformers alone."""
    encoded = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt", truncation=True, max_length=tokens)
    with torch.no_grad():
        return (
            AutoModel.from_pretrained(folder)
            .eval()(**encoded, output_hidden_states=True)
            .hidden_states[layers][0]
            .mean(0)
            .numpy()
        )


def test_a_cap_cuts_the_text(folder):
    with pytest.raises(ModelError, match=r"the special tokens of .* alone fill 2 tokens.*give --max-tokens 3 or more"):
        load(str(folder), device="cpu", max_tokens=2)
    model = load(str(folder), device="cpu", max_tokens=4)
    np.testing.assert_allclose(model.model.encode([TEXT])[0], by_hand(folder, TEXT, tokens=4), atol=1e-5)
    assert settings(model) == {"max_tokens": 4}
    check_identity(model)


def test_a_cap_that_changes_nothing_is_no_other_model(folder):
    plain, capped = load(str(folder), device="cpu"), load(str(folder), device="cpu", max_tokens=8192)
    assert capped.mteb_model_meta.experiment_name == plain.mteb_model_meta.experiment_name
    assert capped.model.max_seq_length == plain.model.max_seq_length == 512


def test_fewer_layers(folder):
    model = load(str(folder), device="cpu", layers=1)
    np.testing.assert_allclose(model.model.encode([TEXT])[0], by_hand(folder, TEXT, layers=1), atol=1e-5)
    assert settings(model) == {"layers": 1}
    check_identity(model)


def test_products_in_bfloat16_are_torchs_autocast_and_an_identity_of_its_own(folder):
    plain, model = load(str(folder), device="cpu"), load(str(folder), device="cpu", precision=AUTOCAST)
    found = model.model.encode([TEXT])[0]
    with torch.autocast("cpu", torch.bfloat16):
        np.testing.assert_array_equal(found, by_hand(folder, TEXT).astype(np.float32))
    assert 0 < np.abs(found - plain.model.encode([TEXT])[0]).max() < 0.05
    assert {weight.dtype for weight in model.model.parameters()} == {torch.float32}
    assert settings(model) == {"precision": AUTOCAST}
    check_identity(model)
    precisions = get_args(Precision)
    assert AUTOCAST in precisions and set(precisions) == set(PRECISIONS)


def test_what_is_changed_afterwards_is_still_seen(folder):
    model = load(str(folder), device="cpu", max_tokens=6)
    model.model.max_seq_length = 4
    with pytest.raises(ModelError, match=r"max_seq_length.*changed"):
        check_identity(model)
    assert "settings" in settings(changed(model))
    check_identity(model)


@pytest.mark.slow
def test_a_registered_model_has_the_identity_that_mteb_gives_it(tmp_path, monkeypatch):
    checkpoint(tmp_path / "datalyes/patembed-nano", 16, "mean", dense=128, layers=2)
    monkeypatch.setenv("PATENT_MTEB_MODELS", str(tmp_path))
    ours = load("datalyes/patembed-nano", device="cpu", layers=1, input="noSEP")
    theirs = mteb.get_model("datalyes/patembed-nano", device="cpu", layers=1, input="noSEP")
    assert settings(ours) == settings(theirs) == {"layers": 1, "input": "noSEP"}
    plain = load_plain("datalyes/patembed-nano", device="cpu")
    assert len(plain.model[0].auto_model.encoder.layer) == 2
    assert len(ours.model.model[0].auto_model.encoder.layer) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_tokens": 0}, "cannot read 0 tokens"),
        ({"layers": 4}, "that has 3"),
        ({"input": "noTitle"}, "invalid input variant 'noTitle'"),
    ],
)
def test_settings_that_are_none(folder, given, said):
    with pytest.raises(ModelError, match=said):
        load(str(folder), device="cpu", **given)


@pytest.mark.parametrize("given", [{"max_tokens": 8}, {"layers": 1}, {"input": "noSEP"}])
def test_what_is_no_encoder_has_no_such_setting(given):
    with pytest.raises(ModelError, match="is not an encoder, so it has no"):
        load("bm25-dapfam", **given)
    assert bm25("dapfam").mteb_model_meta.experiment_kwargs == load("bm25-dapfam").mteb_model_meta.experiment_kwargs


def test_an_encoder_of_another_kind_cannot_be_capped():
    with pytest.raises(ModelError, match="not a sentence-transformers model"):
        load("mteb/baseline-random-encoder", max_tokens=8)


@pytest.mark.slow
def test_the_command_line_files_them_apart(folder, tmp_path):
    options = ("-t", "PatenTEBEffect2Substance.sample", "-m", str(folder), "--device", "cpu", "--no-store", "-v", "0")
    for extra in ((), ("--max-tokens", "4", "--layers", "1", "--input", "trim[1]")):
        assert main(["run", *options, "--out", str(tmp_path), *extra]) == 0
    plain, changed = sorted(tmp_path.rglob("PatenTEBEffect2Substance.sample.json"), key=lambda path: len(path.parts))
    assert plain.parent != changed.parent and changed.parent.parent.name == "experiments"
    assert all(name in changed.parent.name for name in ("max_tokens_4", "layers_1", "input_trim"))
