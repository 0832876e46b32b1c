"""Each stated number is compared with a run of exactly the stated settings, and with no other run."""

import json
from collections import defaultdict

import mteb
import numpy as np
import pytest
from datasets import Dataset
from mteb.types import PromptType
from report_folders import add, attest, model_folder
from sentence_transformers import SentenceTransformer
from tiny_checkpoints import bare
from torch.utils.data import DataLoader

from patent_mteb import cli
from patent_mteb.errors import ModelError
from patent_mteb.experiments.papers import paper_runs
from patent_mteb.models import Quantised, loading
from patent_mteb.models.loading import find_meta, load
from patent_mteb.published import expected, sizes
from patent_mteb.report.collect import collect
from patent_mteb.report.reproduce import OTHER_READING, OTHER_SETTINGS, reproduce
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.base import prompts_put
from patent_mteb.tasks.catalogue import suite_tasks

ROWS = expected()
TABLE_11 = {"query": "encode query: ", "document": "encode document: "}
PLAIN = {"query": "", "document": ""}
LONG = ("Qwen/", "Octen/", "nomic-ai/modernbert-embed", "Alibaba-NLP/gte-Qwen2")
"""Models that read more tokens than a paper states, so a run needs --max-tokens; the others read no more."""
NUMBERS = {"k1": float, "b": float, "max_tokens": int}


def settings_of(row):
    """The settings of a result of a row, as its model_meta.json holds them."""
    stated = {**row.here, **row.settings}
    stated.pop("prompts", None)
    tokens = stated.pop("max_tokens", None)
    if tokens and row.model.startswith(LONG):
        stated["max_tokens"] = tokens
    return {name: NUMBERS.get(name, str)(value) for name, value in stated.items()}


def other_settings_of(row):
    """Results that differ from that of a row in one setting: (settings, prompts, tokens read)."""
    settings, prompts, read = run_of(row)
    yield {**settings, "dims": 64}, prompts, read
    for name in row.here | row.settings:
        if name == "prompts":
            yield settings, PLAIN if prompts == TABLE_11 else TABLE_11, read
        elif name == "max_tokens":
            yield {**settings, name: 32}, prompts, "32"
            yield {key: value for key, value in settings.items() if key != name}, prompts, "32768"
        else:
            yield {key: value for key, value in settings.items() if key != name}, prompts, read
            yield {**settings, name: 9.5 if name in NUMBERS else "other"}, prompts, read


def run_of(row):
    return settings_of(row), TABLE_11 if row.settings.get("prompts") == "yes" else PLAIN, "512"


def data_counts(task):
    """The counts that identify unreleased data as the paper's."""
    spec = suite_tasks()[task]
    queries = {benchmark.name: benchmark.facts.paper_queries for benchmark in catalogue.benchmarks()}[spec.benchmark]
    counts = {size.count: size.least for size in sizes().get(task, ())}
    slices = [name.removesuffix("_n_queries") for name in counts if name.endswith("_n_queries")]
    of_slices = {f"{part}_{suite_tasks()[task].main_score}": 0.5 for part in slices}
    return {"n_queries": queries or 7, "paper_n_queries": 7} | counts | of_slices


def written(root, cases):
    """Write the results of cases [(row, settings, prompts, tokens read)], collect them, and return the run of each."""
    runs = {}
    for row, settings, prompts, read in cases:
        runs.setdefault((row.model, json.dumps(settings), json.dumps(prompts), read), []).append(row)
    for number, ((model, settings, prompts, read), rows) in enumerate(runs.items()):
        folder = model_folder(root, model, revision=f"r{number}", settings=json.loads(settings))
        scores = defaultdict(dict)
        for row in rows:
            part = next((part for part in ("in", "out", "xy", "a") if row.metric.startswith(f"{part}_")), "")
            for task in row.tasks:
                scores[task] |= {row.score: row.value} | ({f"paper_{part}_n_queries": 7} if part else {})
        for task, more in scores.items():
            main = more.get(suite_tasks()[task].main_score, 0.5)
            path = add(folder, task, main, kind="real", more=data_counts(task) | more)
            result = json.loads(path.read_text())
            (entry,) = next(iter(result["scores"].values()))
            entry["prompts"] = json.loads(prompts)
            path.write_text(json.dumps(result))
            attest(path, max_tokens=read)
    collected = collect(root)
    labels = dict(collected.results.select("revision", "run").unique().rows())
    numbers = {key: labels[f"r{number}"] for number, key in enumerate(runs)}
    return collected, [
        numbers[row.model, json.dumps(settings), json.dumps(prompts), read] for row, settings, prompts, read in cases
    ]


@pytest.mark.slow
def test_each_stated_number_is_judged_in_a_run_of_exactly_the_stated_settings(tmp_path):
    cases = [(row, *run_of(row)) for row in ROWS]
    collected, runs = written(tmp_path, cases)
    found = reproduce(collected)
    judged = {(line.run, line.cell, line.tasks): line for line in found.lines}
    others = {(line.run, line.cell, line.tasks): line for line in found.other_settings}
    for row, run in zip(ROWS, runs, strict=True):
        key = run, row.cell, row.tasks
        if row.not_run:
            assert key not in judged, row
            assert key not in others or others[key].settings == (row.not_run,), row
        else:
            assert judged[key].verdict in ("OK", OTHER_READING), row
            assert judged[key].difference == pytest.approx(0, abs=1e-9)
    assert sum((run, row.cell, row.tasks) in judged for row, run in zip(ROWS, runs, strict=True)) == 1262
    assert found.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
def test_one_changed_setting_is_never_ok(tmp_path, every):
    """Of a number for every third model, table and setting; of all numbers with -m long."""
    first = {(row.model, row.source, *sorted({**row.here, **row.settings}.items())): row for row in reversed(ROWS)}
    cases = [
        (row, *changed) for row in (ROWS if every else list(first.values())[::3]) for changed in other_settings_of(row)
    ]
    collected, runs = written(tmp_path, cases)
    found = reproduce(collected)
    judged = {(line.run, line.cell, line.tasks) for line in found.lines}
    for (row, *changed), run in zip(cases, runs, strict=True):
        assert (run, row.cell, row.tasks) not in judged, (row, changed)
    assert all(line.verdict == OTHER_SETTINGS and line.settings for line in found.other_settings)
    shown = {(line.run, line.cell, line.tasks) for line in found.other_settings}
    hidden = [row for (row, *_), run in zip(cases, runs, strict=True) if (run, row.cell, row.tasks) not in shown]
    # those that fit another row of the same score, of tables that print two settings
    assert len(cases) > (4_000 if every else 150) and len(hidden) < (0.1 if every else 0.15) * len(cases)


def test_real_models_have_the_settings_that_their_rows_state(tmp_path):
    """A model as it is loaded, against the rows of its name."""
    stated = defaultdict(list)
    for row in ROWS:
        stated[row.model].append(settings_of(row))
    for name in ("patent-mteb/bm25-dapfam", "patent-mteb/bm25-bm25s"):
        settings = load(name).mteb_model_meta.experiment_kwargs
        assert stated[name] and all(settings == one for one in stated[name])
    for name in ("colbert-ir/colbertv2.0", "jinaai/jina-colbert-v2", "answerdotai/answerai-colbert-small-v1"):
        settings = find_meta(name, None).experiment_kwargs
        assert len(stated[name]) == 20 and all(settings == one for one in stated[name])
    dense = load(str(bare(tmp_path, 8, 1)), device="cpu")
    int8 = Quantised(dense, "int8").mteb_model_meta.experiment_kwargs
    assert all(int8 == one for one in stated["Snowflake/snowflake-arctic-embed-m-v2.0"])
    capped = load(str(tmp_path), device="cpu", max_tokens=256).mteb_model_meta.experiment_kwargs
    assert capped == {"max_tokens": 256} and stated["Qwen/Qwen3-Embedding-0.6B"][0] == {"max_tokens": 8192}


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("nomic-ai/modernbert-embed-base", ["search_query: ", "search_document: "]),
        ("Octen/Octen-Embedding-8B", ["Instruct: Retrieve patents that are prior art", " "]),
    ],
)
def test_the_prompts_of_an_entry_of_mteb_can_be_left_out(tmp_path, monkeypatch, name, own):
    """As Sophia-Bench runs both: the loader of mteb's entry, with a tiny checkpoint."""
    folder = str(bare(tmp_path, 8, 1))
    meta = mteb.get_model_meta(name).model_copy(update={"name": folder, "revision": None})
    monkeypatch.setattr(loading, "find_meta", lambda *_: meta)
    task, roles = mteb.get_task("PatentDAPFAMTACToTACRetrieval").metadata, list(PromptType)
    with_prompts, without = load(name, device="cpu"), load(name, device="cpu", prompts=False)
    found = list(prompts_put(with_prompts, task, roles, "test", "default").values())
    assert all(prompt.startswith(start[:9]) for prompt, start in zip(found, own, strict=True))
    assert list(prompts_put(without, task, roles, "test", "default").values()) == ["", ""]
    assert with_prompts.mteb_model_meta.experiment_kwargs is None
    assert without.mteb_model_meta.experiment_kwargs == {"prompts": "none"}
    batch = DataLoader(Dataset.from_dict({"text": ["a rotor"]}))
    bare_vectors = SentenceTransformer(folder, device="cpu").encode(["a rotor"])
    options = {"task_metadata": task, "hf_split": "test", "hf_subset": "default", "prompt_type": PromptType.query}
    np.testing.assert_allclose(without.encode(batch, **options), bare_vectors, atol=2e-2)  # bfloat16 weights
    assert np.abs(with_prompts.encode(batch, **options) - without.encode(batch, **options)).max() > 1e-3


def test_an_instruction_model_is_run_as_patentmaps_authors_do(tmp_path, monkeypatch):
    """Their instruction before queries, a blank for [SEP], 512 tokens; in classification no instruction."""
    name, folder = "Alibaba-NLP/gte-Qwen2-7B-instruct", str(bare(tmp_path, 8, 1))
    meta = mteb.get_model_meta(name).model_copy(update={"name": folder, "revision": None})
    monkeypatch.setattr(loading, "find_meta", lambda *_: meta)
    runs = {bool(run.settings.get("input")): run for run in paper_runs("patentmap", 2, [name])}
    assert sorted(task for run in runs.values() for task in run.tasks) == [
        "PatentMapAbsToAbsRetrieval",
        "PatentMapClmToAllRetrieval",
        "PatentMapIPCClassification",
    ]
    model = load(name, device="cpu", prompts="patentmap", input="noSEP")
    settings = model.mteb_model_meta.experiment_kwargs
    assert settings == {"query_instruction": "patentmap", "input": "noSEP"}
    assert settings.items() <= runs[True].settings.items() and runs[False].settings["prompts"] == "none"
    task, roles = mteb.get_task("PatentMapAbsToAbsRetrieval").metadata, list(PromptType)
    asked = "Instruct: retrieve the most similar patent given the query patent\nQuery: "
    assert sorted(prompts_put(model, task, roles, "test", "default").values()) == ["", asked]
    batch = DataLoader(Dataset.from_dict({"text": ["a rotor [SEP] that turns"]}))
    options = {"task_metadata": task, "hf_split": "test", "hf_subset": "default"}
    network = model.model.model
    for role, text in ((PromptType.query, f"{asked}a rotor that turns"), (PromptType.document, "a rotor that turns")):
        np.testing.assert_array_equal(model.encode(batch, prompt_type=role, **options), network.encode([text]))


@pytest.mark.parametrize("name", ["allenai/specter2", "allenai/specter2_classification"])
def test_an_adapter_is_one_message_that_says_what_to_install(name):
    with pytest.raises(
        ModelError, match=r"is an adapter of allenai/specter2_base.*pip install adapters.*patent-mteb runs score"
    ):
        load(name)


@pytest.mark.slow
def test_the_command_judges_a_bm25_number_of_a_paper(tmp_path, capsys):
    """Table 17 prints .2076 for TA to TA; a run with another k1 has other settings."""
    row = next(row for row in ROWS if row.source == "DAPFAM Table 17" and row.value == 0.2076)
    cases = [(row, *run_of(row)), (row, {**settings_of(row), "k1": 1.5}, PLAIN, "")]
    written(tmp_path, cases)
    assert cli.main(["reproduce", "--results", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "1 number compared, 0 FAIL" in shown.out
    assert "k1 here: 1.5, in the paper: 1.2" in shown.err
