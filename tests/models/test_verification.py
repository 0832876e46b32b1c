"""``models verify``: a registered checkpoint against copies that are right, and that differ in one fact each."""

import json

import pytest
from tiny_checkpoints import checkpoint

from patent_mteb import cli
from patent_mteb.errors import ModelError
from patent_mteb.models import verification
from patent_mteb.models.checkpoints import CHECKPOINTS

NAME = "datalyes/patembed-nano"
PROMPTS = {"retrieval_IN": {"q_text": "encode query for same document retrieval:", "pos_text": ""}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_MODELS", str(tmp_path))
    return checkpoint(tmp_path / NAME, 256, "mean", dense=CHECKPOINTS[NAME].dim, prompts=PROMPTS)


def edit(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def verdicts():
    return {fact.property: fact.verdict for fact in verification.verify(NAME)}


def test_a_right_copy_equals_the_registry(folder, capsys):
    found = verdicts()
    assert found.pop("commit") == "not stated"  # neither pinned nor known of a local copy
    assert set(found.values()) == {"equal"}, found
    assert cli.main(["models", "verify", NAME]) == 0
    assert "pooling" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "changes", "property_"),
    [
        ("1_Pooling/config.json", {"pooling_mode": "cls"}, "pooling"),
        ("2_Dense/config.json", {"out_features": 64}, "dimensions"),
        ("sentence_bert_config.json", {"max_seq_length": 256}, "tokens"),
        ("config_sentence_transformers.json", {"similarity_fn_name": "dot"}, "similarity"),
        ("config_sentence_transformers.json", {"prompts": {"query": "query: "}}, "prompts"),
        ("config_sentence_transformers.json", {"prompts": {}}, "prompts"),
    ],
)
def test_one_other_fact_is_named_and_ends_with_1(folder, capsys, file, changes, property_):
    edit(folder / file, **changes)
    assert {name for name, verdict in verdicts().items() if verdict == "differs"} == {property_}
    assert cli.main(["models", "verify", NAME]) == 1
    assert "differs" in capsys.readouterr().out


def test_a_missing_head_is_named(folder):
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([one for one in modules if not one["type"].endswith("Dense")]))
    assert {name for name, verdict in verdicts().items() if verdict == "differs"} == {"head", "dimensions"}


def test_files_without_a_fact_state_nothing(folder):
    (folder / "config_sentence_transformers.json").unlink()
    assert {name for name, verdict in verdicts().items() if verdict == "not stated"} >= {"similarity", "prompts"}


def test_unknown_names_and_missing_files_are_said(monkeypatch):
    monkeypatch.delenv("PATENT_MTEB_MODELS", raising=False)
    with pytest.raises(ModelError, match="did you mean 'datalyes/patembed-nano'"):
        verification.verify("datalyes/patembed-nan")
    with pytest.raises(ModelError, match="were not found"):
        verification.verify(NAME)
