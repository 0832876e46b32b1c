"""Pairs of models, searches and environments that differ in one thing: which share a result and stored vectors, and
which do not.

A pair that may change a score has two identities; one that cannot has one. What the user said differs on purpose even
where these texts do not show it: another name, another prompt, another similarity, weights of a word that does not
occur.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager

import mteb
import numpy as np
import pytest
import tiny_checkpoints
import torch
from datasets import Dataset
from mteb.types import PromptType
from safetensors.torch import load_file, save_file
from sentence_transformers.sentence_transformer.modules import Dense, Normalize
from tokenizers import normalizers, processors
from torch.utils.data import DataLoader

import patent_mteb
from patent_mteb.errors import ModelError
from patent_mteb.model_identity.loaded import check, with_arguments
from patent_mteb.models import Hybrid, Passages, Quantised, Truncated, bm25, changed, load, stored
from patent_mteb.models.variants import with_section_tags
from patent_mteb.search.dense import Approximate
from patent_mteb.tasks.evidence import ranking_digest

TASK, SMALLEST = "PatentMapAbsToAbsRetrieval.sample", "PatenTEBEffect2Substance.sample"
TEXTS = (
    "A Device for Walking, with a HANDLE and wheels",
    "a wheel chair with motor",
    "prompt prompt prompt",
    "x",
    "The pump (10) comprises a rotor [SEP] and a stator",
    "Ünïcode text für Pumpen",
    "long " * 200,
)
APART, SHARED, ON_PURPOSE = "apart", "shared", "apart on purpose"


def network(model):
    return model.model[0].auto_model


def embeddings(model):
    return network(model).embeddings.word_embeddings.weight


def set_on(find, name, value):
    def change(model):
        setattr(find(model), name, value)

    return change


def weights(change):
    def changed(model):
        with torch.no_grad():
            change(model)

    return changed


def noise(model):
    for parameter in model.model.parameters():
        parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))


def permuted(model):
    rows = embeddings(model)
    rows.copy_(rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))])


def one_row(model):
    embeddings(model)[40] += 1.0


def one_element(model):
    embeddings(model).view(-1)[1281] += 5.0


def half_a_buffer(model):
    name = next(name for name, _ in network(model).named_buffers() if "position_ids" in name)
    buffer = dict(network(model).named_buffers())[name]
    buffer.copy_(buffer.flip(-1))


def swapped_layers(model):
    layers = network(model).encoder.layer
    layers[0], layers[1] = layers[1], layers[0]


def other_activation(model):
    for layer in network(model).encoder.layer:
        layer.intermediate.intermediate_act_fn = torch.nn.ReLU()


def backend(model):
    return model.model.tokenizer.backend_tokenizer


def without_markers(model):
    plain = processors.TemplateProcessing(single="$A", pair="$A $B:1", special_tokens=[])
    backend(model).post_processor = plain


def more_tokens(model):
    torch.manual_seed(0)
    model.model.tokenizer.add_tokens(["device"])
    network(model).resize_token_embeddings(len(model.model.tokenizer))


def dense_on_top(model):
    torch.manual_seed(1)
    model.model.append(Dense(16, 16))


def eager(model):
    network(model).set_attn_implementation("eager")


def positions_swapped(model):
    rows = network(model).embeddings.position_embeddings.weight
    rows.copy_(rows.flip(0))


class _Adapter(torch.nn.Module):
    """A linear layer with a low-rank update, as adapters add it."""

    def __init__(self, linear, scale):
        super().__init__()
        draw = torch.Generator().manual_seed(0)
        self.linear, self.scale = linear, scale
        self.down = torch.nn.Parameter(torch.randn((2, linear.in_features), generator=draw))
        self.up = torch.nn.Parameter(torch.randn((linear.out_features, 2), generator=draw))

    def forward(self, x):
        return self.linear(x) + self.scale * (x @ self.down.T @ self.up.T)


def adapted(model, scale=0.5):
    attention = network(model).encoder.layer[0].attention.self
    attention.query = _Adapter(attention.query, scale)


def quantised(model):
    torch.ao.quantization.quantize_dynamic(network(model).encoder, {torch.nn.Linear}, inplace=True)


def copied_weights(model):
    for module in model.model.modules():
        for name, weight in list(module.named_parameters(recurse=False)):
            setattr(module, name, torch.nn.Parameter(weight.detach().clone()))


def changed_back(model):
    model.model.max_seq_length, before = 8, model.model.max_seq_length
    with torch.no_grad():
        embeddings(model).mul_(2.0).mul_(0.5)
    model.model.max_seq_length = before


def exchanged(model):
    layer = network(model).encoder.layer[0].intermediate
    draw = torch.Generator().manual_seed(0)
    layer.dense.weight = torch.nn.Parameter(torch.randn(layer.dense.weight.shape, generator=draw))


def dropout_rates(model):
    for module in model.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5


def heads(model):
    for layer in network(model).encoder.layer:
        attention = layer.attention.self
        attention.num_attention_heads //= 2
        attention.attention_head_size *= 2


def default_prompt(model):
    model.model.prompts, model.model.default_prompt_name = {"mine": "m: "}, "mine"


def core(model):
    return model.model


def tokenizer(model):
    return model.model.tokenizer


OBJECTS = {
    "loaded twice": (None, SHARED),
    "max_seq_length": (set_on(core, "max_seq_length", 16), APART),
    "bfloat16": (lambda model: model.model.bfloat16(), APART),
    "truncate_dim": (set_on(core, "truncate_dim", 8), APART),
    "pooling": (lambda model: setattr(model.model[1], "pooling_mode", "max"), APART),
    "all weights": (weights(noise), APART),
    "embeddings permuted": (weights(permuted), APART),
    "one embedding": (weights(one_row), ON_PURPOSE),
    "one element": (weights(one_element), ON_PURPOSE),
    "a buffer": (weights(half_a_buffer), APART),
    "layers swapped": (swapped_layers, APART),
    "activation": (other_activation, APART),
    "normaliser": (
        lambda model: setattr(backend(model), "normalizer", normalizers.BertNormalizer(lowercase=False)),
        APART,
    ),
    "post-processor": (without_markers, APART),
    "padding side": (set_on(tokenizer, "padding_side", "left"), APART),
    "model_max_length": (set_on(tokenizer, "model_max_length", 20), APART),
    "tokens added": (more_tokens, APART),
    "train mode": (lambda model: model.model.train(), SHARED),
    "eager attention": (eager, SHARED),
    "normalised": (lambda model: model.model.append(Normalize()), APART),
    "similarity": (set_on(core, "similarity_fn_name", "dot"), ON_PURPOSE),
    "prompts of roles that the wrapper hides": (set_on(core, "prompts", {"document": "doc: ", "query": "q: "}), SHARED),
    "prompt in pooling": (
        lambda model: (
            setattr(model, "model_prompts", {"document": "a: "}),
            model.model.set_pooling_include_prompt(False),
        ),
        APART,
    ),
    "prompt": (set_on(lambda model: model, "model_prompts", {"document": "a: "}), APART),
    "blanks of a prompt": (set_on(lambda model: model, "model_prompts", {"document": "  "}), ON_PURPOSE),
    "lower case in the module": (lambda model: setattr(model.model[0], "do_lower_case", True), ON_PURPOSE),
    "positions swapped": (weights(positions_swapped), APART),
    "a module that changes nothing": (lambda model: model.model.append(torch.nn.Identity()), ON_PURPOSE),
    "a low-rank adapter": (adapted, APART),
    "an adapter of zeros": (lambda model: adapted(model, 0.0), ON_PURPOSE),
    "quantised": (quantised, APART),
    "compiled": (lambda model: network(model).compile(backend="eager"), SHARED),
    "float64": (lambda model: model.model.double(), ON_PURPOSE),
    "weights tied to their copies": (copied_weights, SHARED),
    "without gradients": (lambda model: [p.requires_grad_(False) for p in model.model.parameters()], SHARED),
    "changed and changed back": (changed_back, SHARED),
    "evaluated twice": (lambda model: vectors(model, {}), SHARED),
    "weights scaled by a view of NumPy": (lambda model: embeddings(model).detach().numpy().__imul__(1.5), APART),
    "weights scaled by .data": (lambda model: embeddings(model).data.mul_(1.5), APART),
    "one weight exchanged": (exchanged, APART),
    "dropout rates": (dropout_rates, ON_PURPOSE),
    "eps of a layer norm": (set_on(lambda model: network(model).embeddings.LayerNorm, "eps", 0.5), APART),
    "heads": (heads, APART),
    "the bias of a norm": (weights(lambda model: network(model).embeddings.LayerNorm.bias.add_(0.5)), APART),
    "query prompt": (set_on(lambda model: model, "model_prompts", {"query": "q: "}), ON_PURPOSE),
    "both prompts exchanged": (
        set_on(lambda model: model, "model_prompts", {"query": "d: ", "document": "q: "}),
        APART,
    ),
    "prompt under the name of a passage": (set_on(core, "prompts", {"passage": "p: "}), ON_PURPOSE),
    "prompt of a task that no task has": (set_on(core, "prompts", {"query": "", "document": "", "sts": "s: "}), SHARED),
    "default prompt": (default_prompt, ON_PURPOSE),
    "truncation side": (set_on(tokenizer, "truncation_side", "left"), APART),
    "an attribute of a subclass": (lambda model: setattr(model.model, "_note", "mine"), SHARED),
}

LOADED = {
    "bfloat16 / float16": ({"precision": "bfloat16"}, {"precision": "float16"}, APART),
    "bfloat16 / its products": ({"precision": "bfloat16"}, {"precision": "bfloat16-autocast"}, APART),
    "eager": ({}, {"attention": "eager"}, APART),
    "tokens": ({"max_tokens": 16}, {"max_tokens": 32}, APART),
    "one layer": ({}, {"layers": 1}, APART),
    "all layers": ({}, {"layers": 2}, SHARED),
    "noSEP": ({}, {"input": "noSEP"}, APART),
    "sections": ({"input": "trim[1]"}, {"input": "trim[-1]"}, APART),
    "torch": ({}, {"backend": "torch"}, SHARED),
    "dimensions": ({}, {"truncate_dim": 8}, APART),
    "similarity": ({}, {"similarity_fn_name": "dot"}, ON_PURPOSE),
    "eps in config_kwargs": ({}, {"config_kwargs": {"layer_norm_eps": 0.5}}, APART),
    "padding in processor_kwargs": ({}, {"processor_kwargs": {"padding_side": "left"}}, APART),
    "device": ({}, {"device": "cpu"}, SHARED),
    "more tokens than it reads": ({}, {"max_tokens": 4096}, SHARED),
    "no prompts where there are none": ({}, {"prompts": True}, SHARED),
    "whole number of tokens": ({"max_tokens": 16}, {"max_tokens": 16, "backend": "torch"}, SHARED),
    "bytes / bits": ({"precision": "int8"}, {"precision": "binary"}, APART),
    "layers and tokens": ({"layers": 1}, {"layers": 1, "max_tokens": 16}, APART),
}

ENCODED = {
    "normalised": ({}, {"normalize_embeddings": True}, APART),
    "dimensions": ({}, {"truncate_dim": 8}, APART),
    "8 / 16 dimensions": ({"truncate_dim": 8}, {"truncate_dim": 16}, APART),
    "length": ({}, {"processing_kwargs": {"text": {"max_length": 12, "truncation": True}}}, APART),
    "tensor": ({}, {"convert_to_tensor": True}, SHARED),
    "batch": ({}, {"batch_size": 2}, SHARED),
    "float32": ({}, {"precision": "float32"}, SHARED),
}


def edited(name, **values):
    def edit(folder):
        path = folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    return edit


def written(name, content="other"):
    return lambda folder: (folder / name).write_text(content)


def unread(folder):
    names = ("README.md", "LICENSE", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json")
    for name in (*names, "training_args.bin", "events.out.tfevents.1", ".gitattributes"):
        (folder / name).write_text("{}")


def rewritten(name):
    return lambda folder: (folder / name).write_text(json.dumps(json.loads((folder / name).read_text()), indent=7))


def sharded(folder):
    weights, index = load_file(folder / "model.safetensors"), {}
    names = sorted(weights)
    for number, part in enumerate((names[: len(names) // 2], names[len(names) // 2 :]), start=1):
        file = f"model-0000{number}-of-00002.safetensors"
        save_file({name: weights[name] for name in part}, folder / file, {"format": "pt"})
        index |= dict.fromkeys(part, file)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))


def case_in_file(folder):
    path = folder / "tokenizer.json"
    document = json.loads(path.read_text())
    document["normalizer"]["lowercase"] = False
    path.write_text(json.dumps(document))


FILES = {
    "a copy": (lambda folder: None, SHARED),
    "max_seq_length": (edited("sentence_bert_config.json", max_seq_length=16), APART),
    "prompts": (edited("config_sentence_transformers.json", prompts={"document": "d: "}), APART),
    "case in tokenizer.json": (case_in_file, APART),
    "eps in config.json": (edited("config.json", layer_norm_eps=0.5), APART),
    "pooling": (edited("1_Pooling/config.json", pooling_mode="cls"), APART),
    "what no model reads": (unread, SHARED),
    "a file that nobody knows": (written("weights_map.json", "{}"), ON_PURPOSE),
    "sharded": (sharded, ON_PURPOSE),
    "prompts of the roles under other names": (
        edited("config_sentence_transformers.json", prompts={"search_query": "q: ", "passage": "d: "}),
        APART,
    ),
    "an empty prompt": (edited("config_sentence_transformers.json", prompts={"document": ""}), ON_PURPOSE),
    "positions of config.json": (edited("config.json", max_position_embeddings=512), ON_PURPOSE),
    "other blanks in a file of JSON": (rewritten("config.json"), ON_PURPOSE),
    "hidden files": (written(".gitignore"), SHARED),
    "truncation of the tokenizer": (edited("tokenizer_config.json", truncation_side="left"), APART),
    "similarity": (edited("config_sentence_transformers.json", similarity_fn_name="dot"), ON_PURPOSE),
}


def of_bm25(**settings):
    return lambda tiny: bm25("dapfam", **settings)


def hybrid(*arguments, **settings):
    return lambda tiny: Hybrid(bm25("dapfam"), tiny, *arguments, **settings)


def passages(*arguments, **settings):
    return lambda tiny: Passages(tiny, *arguments, **settings)


def itself(tiny):
    return tiny


SEARCHES = {
    "k1": (of_bm25(k1=1.2), of_bm25(k1=1.9), APART),
    "k1 in its last digits": (of_bm25(k1=1.2), of_bm25(k1=1.2 + 1e-9), ON_PURPOSE),
    "stemmer": (of_bm25(stemmer="english"), of_bm25(stemmer=None), APART),
    "stop words": (of_bm25(stopwords="en"), of_bm25(stopwords=None), APART),
    "token pattern": (of_bm25(token_pattern=r"\w\w*"), of_bm25(token_pattern=r"\w\w?"), APART),
    "BM25 of a paper / of bm25s": (of_bm25(), lambda tiny: bm25("bm25s"), APART),
    "BM25 twice": (of_bm25(), of_bm25(), SHARED),
    "alpha": (hybrid(alpha=0.5), hybrid(alpha=0.7), APART),
    "alpha in its last digits": (hybrid(alpha=0.7), hybrid(alpha=0.7000001), ON_PURPOSE),
    "linear / RRF": (hybrid(alpha=0.5), hybrid("rrf", k=60), APART),
    "order of a fusion": (hybrid(alpha=0.3), lambda tiny: Hybrid(tiny, bm25("dapfam"), alpha=0.3), APART),
    "depth of a fusion": (hybrid(alpha=0.5), hybrid(alpha=0.5, depth=20), APART),
    "length of passages": (passages(32, "maxP"), passages(64, "maxP"), APART),
    "aggregation": (passages(32, "maxP"), passages(32, "avgP"), APART),
    "stride": (passages(32, "maxP"), passages(32, "maxP", stride=16), APART),
    "passages of two BM25": (
        lambda tiny: Passages(bm25("dapfam"), 32, "maxP"),
        lambda tiny: Passages(bm25("bm25s"), 32, "maxP"),
        APART,
    ),
    "dimensions": (lambda tiny: Truncated(tiny, 4), lambda tiny: Truncated(tiny, 8), APART),
    "bytes, signed or not": (lambda tiny: Quantised(tiny, "int8"), lambda tiny: Quantised(tiny, "uint8"), ON_PURPOSE),
    "bytes / bits": (lambda tiny: Quantised(tiny, "int8"), lambda tiny: Quantised(tiny, "binary"), APART),
    "bytes": (itself, lambda tiny: Quantised(tiny, "int8"), APART),
    "section tags": (itself, with_section_tags, APART),
    "probes": (lambda tiny: Approximate(tiny, 1), lambda tiny: Approximate(tiny, 4), APART),
    "approximate": (itself, lambda tiny: Approximate(tiny, 4), APART),
}

ENVIRONMENT = {"PATENT_MTEB_FAST": ("1", "0"), "OMP_NUM_THREADS": ("1", "2"), "LC_ALL": ("C", "de_DE.UTF-8")}

COUNTS = {"pairs": 0, "share wrongly": 0, "split needlessly": 0, "apart on purpose": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    made = tiny_checkpoints.checkpoint(root / "first" / "tiny", 16, "mean")
    edited("sentence_bert_config.json", max_seq_length=128)(made)
    return made


@pytest.fixture(scope="module", autouse=True)
def printed(counted):
    yield
    counted("pairs of settings", COUNTS["pairs"], **{key.replace(" ", "_"): COUNTS[key] for key in tuple(COUNTS)[1:]})


@contextmanager
def matmul_precision(name):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def vectors(model, options):
    task = mteb.get_task(TASK).metadata
    loader = DataLoader(Dataset.from_dict({"text": list(TEXTS)}), batch_size=8)
    where = {"task_metadata": task, "hf_split": "test", "hf_subset": "default", "prompt_type": PromptType.document}
    found = model.encode(loader, **where, **{"show_progress_bar": False, **options})
    return np.asarray(found.detach().float().cpu() if hasattr(found, "detach") else found, dtype=np.float32)


def identity(model, options=None):
    meta = with_arguments(model, options).mteb_model_meta
    return meta.name, meta.revision, meta.experiment_name


def judged(first, second, differ, wanted):
    """Whether the identities of a pair are as wanted; ``differ`` if the pair shows other vectors or another ranking."""
    shared = first == second
    COUNTS["pairs"] += 1
    COUNTS["share wrongly"] += shared and (differ or wanted != SHARED)
    COUNTS["split needlessly"] += not shared and wanted == SHARED
    COUNTS["apart on purpose"] += wanted == ON_PURPOSE
    assert shared == (wanted == SHARED)
    assert not (shared and differ)
    assert differ or wanted != APART, "the pair shows nothing: it is no test"


def compared(make, wanted, tmp_path, options=({}, {})):
    found = []
    for number, one in enumerate(make):
        model = one()
        who, plain = identity(model, options[number]), vectors(model, options[number])
        through = vectors(stored(model, tmp_path / "store"), options[number])
        assert through.shape == plain.shape and np.allclose(through, plain, atol=1e-5), (
            "the store gave vectors of another model"
        )
        found.append((who, plain))
    (first, ours), (second, theirs) = found
    least = 5e-7 if first == second else 1e-7  # the last bits of one model differ with the batch on some processors
    judged(first, second, ours.shape != theirs.shape or bool(np.abs(ours - theirs).max() > least), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("name", OBJECTS)
def test_a_model_that_was_changed_after_it_was_loaded(folder, tmp_path, name):
    change, wanted = OBJECTS[name]

    def other():
        model = load(str(folder))
        if change is not None:
            change(model)
        if wanted == SHARED:
            check(model, whole=True)
        else:
            with pytest.raises(ModelError, match=r"changed after the model was loaded.*Remedy"):
                check(model, whole=True)
        return changed(model)

    if name == "eager attention":  # rounding: fixed texts and the tolerance of canaries decide, as on another processor
        assert identity(load(str(folder))) == identity(other())
        COUNTS["pairs"] += 1
    else:
        compared((lambda: load(str(folder)), other), wanted, tmp_path)


def test_code_that_no_digest_reads_is_seen_by_what_it_does(folder, tmp_path):
    from patent_mteb.models.behaviour import Behaviour, behaviours

    plain, other = load(str(folder)), load(str(folder))
    kind = type(network(other))
    same = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    forward = lambda self, *args, **kwargs: _shifted(kind.forward(self, *args, **kwargs))  # noqa: E731
    network(other).__class__ = type(kind.__name__, (kind,), {**same, "forward": forward})
    ours, theirs = (Behaviour.read(behaviours(model)[0]) for model in (plain, other))
    assert identity(plain) == identity(other) and not ours.same(theirs)
    COUNTS["pairs"] += 1


def _shifted(output):
    output.last_hidden_state = output.last_hidden_state.flip(-1)
    return output


@pytest.mark.slow
@pytest.mark.parametrize("name", LOADED)
def test_options_of_loading(folder, tmp_path, name):
    first, second, wanted = LOADED[name]
    if name == "eager" or "attention" in name:
        COUNTS["pairs"] += 1
        assert identity(load(str(folder), **first)) != identity(load(str(folder), **second))
        return
    compared((lambda: load(str(folder), **first), lambda: load(str(folder), **second)), wanted, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODED)
def test_arguments_of_encode(folder, tmp_path, name):
    first, second, wanted = ENCODED[name]
    compared((lambda: load(str(folder)),) * 2, wanted, tmp_path, (first, second))


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_files_of_a_checkpoint(folder, tmp_path, name):
    edit, wanted = FILES[name]
    copy = tmp_path / "tiny"
    shutil.copytree(folder, copy)
    edit(copy)
    compared((lambda: load(str(folder)), lambda: load(str(copy))), wanted, tmp_path)


def test_another_name_is_another_model(folder, tmp_path):
    copy = tmp_path / "other"
    shutil.copytree(folder, copy)
    compared((lambda: load(str(folder)), lambda: load(str(copy))), ON_PURPOSE, tmp_path)


def test_settings_of_torch(folder, tmp_path):
    def loaded_in(precision):
        def make():
            torch.set_float32_matmul_precision(precision)
            return load(str(folder))

        return make

    with matmul_precision("highest"):
        first = identity(loaded_in("highest")())
        second = identity(loaded_in("medium")())
    COUNTS["pairs"] += 1
    assert first != second


@pytest.fixture(scope="module")
def ranked(folder, tmp_path_factory):
    tiny = stored(load(str(folder)), tmp_path_factory.mktemp("store"))

    def rank(make, task=SMALLEST):
        model = make(tiny)
        return identity(model), ranking_digest(patent_mteb.rank(model, task).top(30))

    return rank


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_settings_of_a_search(ranked, name):
    first, second, wanted = SEARCHES[name]
    task = TASK if name == "section tags" else SMALLEST  # whose texts have no sections
    (ours, ranking), (theirs, other) = ranked(first, task), ranked(second, task)
    judged(ours, theirs, ranking != other, wanted)


@pytest.mark.slow
def test_the_store_is_no_setting_but_for_its_type(folder, ranked, tmp_path):
    plain = ranked(itself)
    assert ranked(lambda tiny: load(str(folder))) == plain
    assert ranked(lambda tiny: stored(load(str(folder)), tmp_path / "half", "float16"))[0] != plain[0]
    COUNTS["pairs"] += 2


@pytest.mark.slow
@pytest.mark.parametrize("variable", ENVIRONMENT)
def test_the_environment_changes_no_ranking(ranked, monkeypatch, variable):
    found = []
    for value in ENVIRONMENT[variable]:
        monkeypatch.setitem(os.environ, variable, value)
        found.append(ranked(of_bm25()))
    judged(*(who for who, _ in found), found[0][1] != found[1][1], SHARED)
