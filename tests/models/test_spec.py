"""What is asked for when a model is loaded, and what goes with what."""

from __future__ import annotations

import pytest

from patent_mteb.errors import ModelError
from patent_mteb.models import load
from patent_mteb.models.spec import PRECISIONS, ModelSpec

SETTINGS = {
    "prompts": False,
    "precision": "bfloat16",
    "max_tokens": 8,
    "layers": 1,
    "input": "noSEP",
    "backend": "onnx",
    "attention": "eager",
}
ALLOWED = {
    ("dense",): set(SETTINGS),
    ("late-interaction",): {"prompts"},
    ("sparse",): {"prompts"},
    ("cross-encoder",): {"prompts"},
    ("served",): set(),
}


@pytest.mark.parametrize("kinds", ALLOWED)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_a_model_does_not_have_is_refused_with_its_option(kinds, name):
    spec = ModelSpec("org/model", **{name: SETTINGS[name]})
    assert spec.settings() == [name]
    if name in ALLOWED[kinds]:
        spec.refuse_for(set(kinds))
        return
    option = {"prompts": "--no-prompts", "max_tokens": "--max-tokens"}.get(name, f"--{name}")
    with pytest.raises(
        ModelError, match=rf"'org/model' is .*, so it has no {name}. Remedy: leave out {option}.$|tokens"
    ):
        spec.refuse_for(set(kinds))


def test_the_settings_of_a_model_as_it_is_are_no_settings():
    spec = ModelSpec("org/model", "main", precision="float32", backend="torch", server="http://localhost")
    assert spec.settings() == []
    for kinds in ALLOWED:
        spec.refuse_for(set(kinds))


def test_token_vectors_are_stored_as_bytes_only():
    ModelSpec("org/colbert", precision="int8").refuse_for({"late-interaction"})
    for precision in set(PRECISIONS) - {"float32", "int8"}:
        with pytest.raises(ModelError, match="has no precision"):
            ModelSpec("org/colbert", precision=precision).refuse_for({"late-interaction"})


def test_several_settings_are_one_sentence():
    with pytest.raises(ModelError, match=r"has no max_tokens or layers. Remedy: leave out --max-tokens and --layers.$"):
        load("bm25-dapfam", max_tokens=8, layers=1)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"max_tokens": "512", "k1": "1.2"}, {"max_tokens": 512}),
        ({"prompts": "none"}, {"prompts": False}),
        ({"prompts": "yes"}, {}),
        ({"prompts": {"query": "of a served model: "}}, {}),
        ({"query_instruction": "patentmap", "layers": 3}, {"prompts": "patentmap", "layers": 3}),
        ({"vectors": "int8", "calibration": "sample"}, {"precision": "int8"}),
        ({"precision": "bfloat16-autocast", "input": "noSEP"}, {"precision": "bfloat16-autocast", "input": "noSEP"}),
    ],
)
def test_the_settings_of_a_result_or_a_paper_are_a_specification(stated, expected):
    assert ModelSpec.stated("org/model", stated) == ModelSpec("org/model", **expected)


def test_a_specification_opens_the_model_that_its_settings_open():
    spec = ModelSpec("mteb/baseline-random-encoder")
    assert load(spec).mteb_model_meta == load("mteb/baseline-random-encoder").mteb_model_meta
    with pytest.raises(ModelError, match=r"unknown precision 'float8'.*float32, bfloat16"):
        load(spec, precision="float8")
