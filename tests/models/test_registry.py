"""Loaders of the patent models: stand-ins with the published module structures, judged by what reaches the
tokenizer.
"""

from __future__ import annotations

import logging

import mteb
import numpy as np
import pytest
import torch
from datasets import Dataset
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.abs_encoder import get_prompt
from mteb.models.model_implementations import MODEL_REGISTRY
from mteb.models.models_protocols import EncoderProtocol
from mteb.types import PromptType
from patenteb_prompts import EXPECTED
from sentence_transformers import SentenceTransformer
from tiny_checkpoints import VOCABULARY, bare, checkpoint
from torch.utils.data import DataLoader
from transformers import AutoModel, AutoTokenizer

from patent_mteb.errors import ModelError
from patent_mteb.models.checkpoints import CHECKPOINTS
from patent_mteb.models.prompts import TABLE_11, TASK_PROMPTS
from patent_mteb.models.registry import METAS, PatentEncoder, load_plain
from patent_mteb.models.variants import section_tags, with_settings

QUERY, DOCUMENT = PromptType.query, PromptType.document
NESTED = {
    row: {"q_text": prompt.query} | ({"pos_text": prompt.document} if prompt.document else {})
    for row, prompt in TABLE_11.items()
}
BY_NAME = {meta.name: meta for meta in METAS}


def metadata(name: str, task_type: str = "Retrieval") -> TaskMetadata:
    return TaskMetadata.model_construct(name=name, type=task_type, modalities=["text"], prompt=None)


def loader(*texts: str) -> DataLoader:
    return DataLoader(Dataset.from_dict({"text": list(texts)}), batch_size=2)


def encode(model, task: str, role: PromptType | None, *texts: str, task_type: str = "Retrieval") -> np.ndarray:
    found = model.encode(
        loader(*texts),
        task_metadata=metadata(task, task_type),
        hf_split="test",
        hf_subset="default",
        prompt_type=role,
        show_progress_bar=False,
    )
    return np.asarray(found)


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A directory of stand-ins under the hub ids, in the published structures (mean, mean + Dense, CLS, bare MLM)."""
    root = tmp_path_factory.mktemp("models")
    checkpoint(root / "datalyes/patembed-base", 16, "mean", dense=768, prompts=NESTED, layers=3)
    checkpoint(root / "datalyes/patembed-large_no_prompts", 1024, "mean", prompts=NESTED, layers=1)
    checkpoint(root / "datalyes/patembed-base_long_1024", 768, "cls", prompts=NESTED, layers=1)
    checkpoint(root / "AI-Growth-Lab/PatentSBERTa", 768, "cls", layers=1)
    bare(root / "anferico/bert-for-patents", 1024, 1, head=True)
    bare(root / "ZoeYou/PatentMap-V0-SecPair-Claim", 1024, 1)
    return root


@pytest.fixture(autouse=True)
def local_models(hub, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_MODELS", str(hub))


@pytest.fixture(scope="module")
def patembed(hub):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATENT_MTEB_MODELS", str(hub))
        return load_plain("datalyes/patembed-base", device="cpu")


@pytest.mark.parametrize("task", ["PatenTEBTitle2Full", "PatenTEBRetrievalIN", "PatenTEBNLIOldNew"])
@pytest.mark.parametrize("role", [QUERY, DOCUMENT])
def test_the_right_prefix_reaches_the_tokenizer(patembed, seen, task, role):
    encode(patembed, task, role, "a rotor", "a blade [SEP] of steel")
    prefix = EXPECTED[task][0 if role is QUERY else 1]
    assert sorted(seen)[-2:] == sorted([prefix + "a rotor", prefix + "a blade [SEP] of steel"])
    assert patembed.prompts_used[task, role.value] == prefix


@pytest.mark.parametrize("task", ["PatenTEBBloom", "PatenTEBParaProblem", "PatenTEBFullIPCClustering"])
def test_single_texts_are_prefixed_without_a_role(patembed, seen, task):
    encode(patembed, task, None, "a rotor", task_type="Classification")
    assert seen[-1] == EXPECTED[task][0] + "a rotor"
    assert patembed.prompts_used[task, None] == EXPECTED[task][0]


@pytest.mark.slow
def test_prompts_are_there_before_anything_is_encoded(hub):
    """Whoever looks prompts up without encoding (a store, a report) finds the same ones; unprompted models have
    none.
    """
    name = "PatenTEBTitle2Full"
    for settings in ({}, {"input": "noSEP"}):
        model = load_plain("datalyes/patembed-base", device="cpu", **settings)
        assert get_prompt(model.model_prompts, metadata(name), DOCUMENT) == EXPECTED[name][1]
        assert get_prompt(model.model_prompts, metadata("BigPatentClustering.v2", "Clustering"), None) is not None
    late = load_plain("datalyes/patembed-base", device="cpu")
    key = late.get_prompt_name(metadata("SophiaNewRetrieval"), QUERY)
    assert late.model_prompts[key] == EXPECTED["PatenTEBRetrievalMIXED"][0]
    plain = load_plain("datalyes/patembed-base", device="cpu", prompts="none")
    assert plain.model_prompts is None
    assert plain.get_prompt_name(metadata(name), DOCUMENT) is None


def test_two_sided_tasks_refuse_an_unknown_side(patembed):
    with pytest.raises(ModelError, match="prompt type"):
        encode(patembed, "PatenTEBNLIOldNew", None, "a rotor")


def test_unrelated_tasks_get_no_prompt(patembed, seen):
    encode(patembed, "ArguAna", QUERY, "a rotor")
    assert seen[-1] == "a rotor"
    assert patembed.prompts_used["ArguAna", "query"] == ""


def test_prompts_change_the_vectors_as_a_prefix_does(patembed, hub):
    plain = SentenceTransformer(str(hub / "datalyes/patembed-base"), device="cpu")
    plain.prompts = {}
    prefix = EXPECTED["PatenTEBTitle2Full"][0]
    ours = encode(patembed, "PatenTEBTitle2Full", QUERY, "a rotor")
    np.testing.assert_allclose(ours, plain.encode([prefix + "a rotor"]), atol=1e-6)
    assert np.abs(ours - plain.encode(["a rotor"])).max() > 1e-3


def test_switching_prompts_off_is_another_identity(seen):
    on = BY_NAME["datalyes/patembed-base"].load_model(device="cpu")
    off = with_settings(BY_NAME["datalyes/patembed-base"], prompts="none").load_model(device="cpu")
    also = BY_NAME["datalyes/patembed-base"].load_model(device="cpu", prompts="none")
    for model in (off, also):
        seen.clear()
        encode(model, "PatenTEBTitle2Full", QUERY, "a rotor")
        assert seen[-1] == "a rotor"
        assert model.prompts_used == {("PatenTEBTitle2Full", "query"): ""}
        assert model.mteb_model_meta.experiment_kwargs == {"prompts": "none"}
    assert on.mteb_model_meta.experiment_kwargs is None
    assert isinstance(on, EncoderProtocol)
    assert on.mteb_model_meta.name == "datalyes/patembed-base"


def test_the_unprompted_ablation_needs_no_switch(seen):
    model = load_plain("datalyes/patembed-large_no_prompts", device="cpu")
    encode(model, "PatenTEBTitle2Full", QUERY, "a rotor")
    assert seen[-1] == "a rotor"
    prompted = load_plain("datalyes/patembed-large_no_prompts", device="cpu", prompts=True)
    encode(prompted, "PatenTEBTitle2Full", QUERY, "a rotor")
    assert seen[-1] == EXPECTED["PatenTEBTitle2Full"][0] + "a rotor"


def states_of(folder, text):
    """The last hidden states of a text, by transformers alone."""
    tokens = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.no_grad():
        return AutoModel.from_pretrained(folder).eval()(**tokens).last_hidden_state[0]


@pytest.mark.parametrize("name", ["datalyes/patembed-base_long_1024", "AI-Growth-Lab/PatentSBERTa"])
def test_cls_models_give_the_first_token(hub, name):
    model = load_plain(name, device="cpu", prompts="none")
    first = states_of(hub / name, "a rotor")[0]
    np.testing.assert_allclose(encode(model, "ArguAna", QUERY, "a rotor")[0], first.numpy(), atol=1e-5)


def test_a_bare_masked_language_model_is_mean_pooled(hub):
    name = "anferico/bert-for-patents"
    model = load_plain(name, device="cpu")
    mean = states_of(hub / name, "a rotor blade").mean(0)
    np.testing.assert_allclose(encode(model, "ArguAna", QUERY, "a rotor blade")[0], mean.numpy(), atol=1e-5)
    assert model.model.max_seq_length == 512


def test_section_tags_of_the_vocabulary_are_tokens_of_their_own(tmp_path, monkeypatch):
    """As the PatentMap authors evaluate bert-for-patents; a tag that the vocabulary lacks stays what it was."""
    monkeypatch.setattr("tiny_checkpoints.VOCABULARY", [*VOCABULARY, "[claim]", "[invention]"])
    bare(tmp_path / "anferico/bert-for-patents", 1024, 1)
    monkeypatch.setenv("PATENT_MTEB_MODELS", str(tmp_path))
    tokenizer = load_plain("anferico/bert-for-patents", device="cpu").model.tokenizer
    assert tokenizer.tokenize("[claim] a") == ["[claim]", "a"] and tokenizer.tokenize("[abstract] a")[0] == "["
    assert len(tokenizer) == len(VOCABULARY) + 2


def test_mean_and_dense(hub):
    folder = hub / "datalyes/patembed-base"
    model = load_plain("datalyes/patembed-base", device="cpu", prompts="none")
    projected = states_of(folder, "a rotor").mean(0) @ model.model[2].linear.weight.T
    np.testing.assert_allclose(encode(model, "ArguAna", QUERY, "a rotor")[0], projected.detach().numpy(), atol=1e-5)


@pytest.mark.slow
def test_patentmap_texts_are_tagged_and_cls_pooled(hub, seen):
    name = "ZoeYou/PatentMap-V0-SecPair-Claim"
    model = load_plain(name, device="cpu")
    vector = encode(model, "PatentMapAbsToAbsRetrieval", QUERY, "pump [SEP] a pump. [SEP] 1. a pump")[0]
    assert seen[-1] == "pump [SEP] [abstract] a pump. [SEP] [claim] 1. a pump"
    np.testing.assert_allclose(vector, states_of(hub / name, seen[-1])[0].numpy(), atol=1e-5)
    assert model.prompts_used == {("PatentMapAbsToAbsRetrieval", "query"): ""}


@pytest.mark.parametrize(
    ("text", "tagged"),
    [
        ("pump [SEP] a pump", "pump [SEP] [abstract] a pump"),
        ("pump [SEP] [abstract] a pump", "pump [SEP] [abstract] a pump"),
        ("[claim] 1. a pump [SEP] x", "[claim] 1. a pump [SEP] x"),
        ("just a pump", "just a pump"),
    ],
)
def test_section_tags(text, tagged):
    assert section_tags(text) == tagged


@pytest.mark.parametrize(
    ("task", "role", "text", "tagged"),
    [
        ("PatenTEBTitle2Full", DOCUMENT, "a pump. [SEP] 1. a pump", "[abstract] a pump. [SEP] [claim] 1. a pump"),
        ("PatenTEBTitle2Full", QUERY, "pump", "pump"),
        ("PatenTEBProblem2Full", DOCUMENT, "pump [SEP] a pump.", "pump [SEP] [abstract] a pump."),
        ("PatenTEBProblem2Solution", DOCUMENT, "a pump [SEP] a valve", "a pump [SEP] a valve"),
        (
            "PatenTEBBloom",
            None,
            "pump [SEP] a pump. [SEP] 1. a pump",
            "pump [SEP] [abstract] a pump. [SEP] [claim] 1. a pump",
        ),
        ("PatenTEBParaProblem", None, "a pump leaks", "a pump leaks"),
        ("SophiaClmsRetrieval", QUERY, "1. a pump", "[claim] 1. a pump"),
        ("SophiaAbRetrieval", QUERY, "a pump.", "[abstract] a pump."),
        ("SophiaAbRetrieval", DOCUMENT, "pump a pump. 1. a pump", "pump a pump. 1. a pump"),
        ("PatentDAPFAMAbstractToDescriptionRetrieval", DOCUMENT, "pumps are old.", "[invention] pumps are old."),
        ("WIPOATClaim1ToAbstractRetrieval", QUERY, "a pump", "[claim] a pump"),
        ("WIPOATClaim1ToAbstractRetrieval", DOCUMENT, "a pump.", "[abstract] a pump."),
        ("PatentMapClmToAllRetrieval", QUERY, "[claim] 1. a pump", "[claim] 1. a pump"),
    ],
)
def test_patentmap_checkpoints_read_the_tags_of_the_tasks_sections(task, role, text, tagged, tagging, seen):
    tagging.encode(
        loader(text),
        task_metadata=mteb.get_task(f"{task}.sample").metadata,
        hf_split="test",
        hf_subset="default",
        prompt_type=role,
    )
    assert seen[-1] == tagged


@pytest.fixture(scope="module")
def tagging(hub):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATENT_MTEB_MODELS", str(hub))
        return load_plain("ZoeYou/PatentMap-V0-SecPair-Claim", device="cpu")


def test_settings_reach_model_and_identity(seen):
    meta = BY_NAME["datalyes/patembed-base"]
    model = meta.load_model(device="cpu", layers=2, input="noSEP+trim[-1]")
    encode(model, "PatenTEBRetrievalIN", DOCUMENT, "pump [SEP] a pump. [SEP] 1. a pump")
    assert seen[-1] == EXPECTED["PatenTEBRetrievalIN"][1] + "pump a pump."
    assert model.mteb_model_meta.experiment_kwargs == {"layers": 2, "input": "noSEP+trim[-1]"}


class TestRefusals:
    def test_offline(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATENT_MTEB_MODELS", str(tmp_path))
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        for name in ("mpi-inno-comp/paecter", "anferico/bert-for-patents"):
            meta = BY_NAME[name]
            with pytest.raises(ModelError, match="PATENT_MTEB_MODELS") as caught:
                meta.load_model(device="cpu")
            message = str(caught.value)
            assert f"hf download {name} --revision {meta.revision}" in message
            assert "patent-mteb run -m DIR" in message

    def test_missing_modules(self, monkeypatch, tmp_path):
        bare(tmp_path / "mpi-inno-comp/paecter", 1024, 1)
        monkeypatch.setenv("PATENT_MTEB_MODELS", str(tmp_path))
        with pytest.raises(ModelError, match=r"modules\.json"):
            load_plain("mpi-inno-comp/paecter", device="cpu")

    def test_another_model_under_the_name(self, monkeypatch, tmp_path):
        checkpoint(tmp_path / "datalyes/patembed-nano", 16, "mean", dense=64)
        monkeypatch.setenv("PATENT_MTEB_MODELS", str(tmp_path))
        with pytest.raises(ModelError, match="64 dimensions, 'datalyes/patembed-nano' has 128"):
            load_plain("datalyes/patembed-nano", device="cpu")

    def test_unexpected_pooling_is_reported(self, monkeypatch, tmp_path, caplog):
        checkpoint(tmp_path / "datalyes/patembed-nano", 16, "cls", dense=128)
        monkeypatch.setenv("PATENT_MTEB_MODELS", str(tmp_path))
        with caplog.at_level(logging.WARNING):
            load_plain("datalyes/patembed-nano", device="cpu")
        assert "pools by" in caplog.text

    @pytest.mark.parametrize("settings", [{"prompts": "tabel11"}, {"embed_dim": 64}])
    def test_bad_settings(self, settings):
        with pytest.raises(ModelError):
            load_plain("datalyes/patembed-base", device="cpu", **settings)

    def test_unknown_name(self):
        with pytest.raises(ModelError, match="not a registered"):
            load_plain("datalyes/patembed-huge")


class TestMetas:
    @pytest.mark.slow
    def test_names_are_ours_alone(self):
        names = [meta.name for meta in METAS]
        assert len(names) == len(set(names)) == len(CHECKPOINTS) == 27
        foreign = {name: meta for name, meta in MODEL_REGISTRY.items() if meta not in METAS}
        assert not set(names) & set(foreign)

    def test_what_is_not_zero_shot(self):
        """By PatenTEB §4.3 and §7.1: 13 training tasks, without classification 10, retrieval only 8; clustering
        never.
        """
        seen = {name: BY_NAME[f"datalyes/patembed-{name}"].training_datasets for name in ("large", "nano")}
        assert seen["large"] == seen["nano"] == {name for name in TASK_PROMPTS if "Clustering" not in name}
        assert len(BY_NAME["datalyes/patembed-large_all_no_classif"].training_datasets) == 10
        assert len(BY_NAME["datalyes/patembed-large_all_ret_only"].training_datasets) == 8
        assert BY_NAME["mpi-inno-comp/paecter"].training_datasets == set()
        assert BY_NAME["AAUBS/PatentSBERTa_V2"].training_datasets is None
        large = BY_NAME["datalyes/patembed-large"]
        assert large.is_zero_shot_on(["PatenTEBInventorClustering"])
        assert not large.is_zero_shot_on(["PatenTEBTitle2Full"])

    def test_mteb_finds_and_loads_them(self, monkeypatch):
        monkeypatch.setitem(MODEL_REGISTRY, "datalyes/patembed-base", BY_NAME["datalyes/patembed-base"])
        model = mteb.get_model("datalyes/patembed-base", device="cpu")
        assert isinstance(model, PatentEncoder)
        assert model.mteb_model_meta.revision.startswith("local-")
