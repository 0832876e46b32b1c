"""A results folder as tidy tables: which results count, which are excluded, and the messages."""

import json

import numpy as np
import polars as pl
import pytest
from report_folders import DATE, HEADLINE, add, attest, data_revision, model_folder, sample_world, write_queries

from patent_mteb.errors import DataError
from patent_mteb.report.collect import collect
from patent_mteb.report.words import by_reason
from patent_mteb.tasks.catalogue import suite_tasks

DAPFAM = "PatentDAPFAMTACToTACRetrieval"


@pytest.fixture
def queries():
    return np.linspace(0, 1, 40)


def one_message(collected, *words):
    messages = [message for message in collected.messages if all(word in message for word in words)]
    assert len(messages) == 1, (words, collected.messages)
    return messages[0]


def test_every_number_of_a_result_is_one_row(tmp_path, queries):
    folder = model_folder(tmp_path, "acme/small")
    more = {"recall_at_10": 0.4, "nauc_ndcg_at_10_max": 0.9}
    more |= {"inscope_subclass_at_10": 0.3, "inscope_subclass_n_queries": 38}
    parts = {"ipc_g": [0.25] * 11 + [None] * 29}
    path = add(
        folder,
        HEADLINE,
        queries=queries,
        slices={"in": 0.6, "out": 0.2, "jurisdiction_cn": 0.5},
        parts=parts,
        more=more,
    )
    collected = collect(tmp_path)
    assert collected.messages == ()
    rows = {
        (name, measure): (value, n)
        for name, measure, value, n in collected.scores.select("slice", "measure", "value", "n_queries").iter_rows()
    }
    assert rows == {
        ("", "ndcg_at_10"): (0.5, 40),
        ("", "recall_at_10"): (0.4, 40),
        ("", "inscope_subclass_at_10"): (0.3, 38),
        ("in", "ndcg_at_10"): (0.6, 40),
        ("out", "ndcg_at_10"): (0.2, 40),
        ("jurisdiction_cn", "ndcg_at_10"): (0.5, 40),
        ("ipc_g", "ndcg_at_10"): (0.25, 11),
    }
    assert set(collected.scores.filter("main")["measure"]) == {"ndcg_at_10"}
    row = collected.results.row(0, named=True)
    assert (row["run"], row["data_source"], row["benchmark"], row["group"], row["plain"]) == (
        "acme/small",
        "sample",
        "WIPO-AT",
        "Retrieval",
        HEADLINE,
    )
    assert (row["value"], row["n_queries"], row["parameters"], row["prompt"]) == (0.5, 40, 22e6, "none")
    assert (row["versions"], row["date"]) == ("mteb 2.26.24, torch 2.13.0", "2025-10-09T08:53:20+00:00")
    assert row["path"] == str(path)
    assert row["queries"] == str(path.with_name(f"{HEADLINE}.sample.queries.parquet"))


def test_the_folder_of_results_may_be_named_itself(tmp_path):
    sample_world(tmp_path)
    assert collect(tmp_path / "results").results.drop("path").equals(collect(tmp_path).results.drop("path"))


def test_no_folder_and_no_results_are_errors(tmp_path):
    with pytest.raises(DataError, match="no such folder"):
        collect(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no results"):
        collect(tmp_path)


def test_data_sources_by_the_data_that_a_result_was_measured_on(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    add(folder, HEADLINE, 0.1, kind="sample")
    add(folder, HEADLINE, 0.2, kind="real")
    add(folder, HEADLINE, 0.25, kind="local")
    add(folder, DAPFAM, 0.3, kind="real")
    add(folder, "PatentDAPFAMTAToTARetrieval", 0.4, kind="local")
    collected = collect(tmp_path)
    assert dict(collected.results.select("task", "data_source").iter_rows()) == {
        f"{HEADLINE}.sample": "sample",
        HEADLINE: "real",  # the content of a licensed copy that is registered
        f"{HEADLINE}.local-bbbbbbbbbbbb": "own",
        DAPFAM: "real",
        "PatentDAPFAMTAToTARetrieval.local-bbbbbbbbbbbb": "local",
    }
    assert list(collected.data_sources) == ["real", "own", "local", "sample"]
    assert collected.data_sources["local"].results["value"].to_list() == [0.4]
    assert [view.name for view in collected.data_sources["real"].benchmarks] == ["WIPO-AT", "DAPFAM"]


@pytest.mark.parametrize(
    "content",
    [
        '{"task_name": "Pat',
        "[]",
        "null",
        '{"task_name": 1}',
        '{"dataset_revision": "x", "task_name": "PatentCitationRetrieval.sample", "scores": 3}',
    ],
)
def test_a_damaged_file_is_named_and_the_rest_is_read(tmp_path, content):
    folder = model_folder(tmp_path, "acme/small")
    damaged = add(folder, HEADLINE, 0.1)
    add(folder, "WIPOATTAToTARetrieval", 0.2)
    damaged.write_text(content)
    collected = collect(tmp_path)
    assert one_message(collected, str(damaged)).endswith("Remedy: delete the file and run the task again.")
    assert collected.results["value"].to_list() == [0.2]


def test_results_of_older_task_versions_are_left_out(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    old = add(folder, DAPFAM, 0.9, kind="real", revision="0123456789abcdef")
    sample = add(folder, HEADLINE, 0.9, revision="sample-0")
    other_main = add(folder, "PatenTEBBloom", 0.9)
    content = json.loads(other_main.read_text())
    content["scores"]["test"][0]["accuracy"] = content["scores"]["test"][0]["main_score"] = 0.8
    other_main.write_text(json.dumps(content))
    add(folder, "WIPOATTAToTARetrieval", 0.2)
    collected = collect(tmp_path)
    assert "0123456789abcdef" in one_message(collected, str(old), suite_tasks()[DAPFAM].data.revision)
    one_message(collected, str(sample), "sample-0")
    one_message(collected, str(other_main), "not macro_f1")
    assert collected.results["value"].to_list() == [0.2]


def test_a_sample_result_cannot_pass_for_a_real_one(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    path = add(folder, HEADLINE, 0.9, kind="real", revision=data_revision(HEADLINE, "sample"))
    add(folder, DAPFAM, 0.2, kind="real")
    collected = collect(tmp_path)
    one_message(collected, str(path), "built-in sample under the name of the real task")
    assert collected.results["task"].to_list() == [DAPFAM]


def test_unknown_tasks_are_counted_by_name(tmp_path):
    for model in ("acme/small", "acme/large"):
        folder = model_folder(tmp_path, model)
        path = add(folder, HEADLINE, 0.3)
        content = json.loads(path.read_text()) | {"task_name": "Banking77Classification"}
        (folder / "Banking77Classification.json").write_text(json.dumps(content))
    collected = collect(tmp_path)
    assert one_message(collected, "Banking77Classification").startswith("2 results")
    assert len(collected.results) == 2


@pytest.mark.parametrize("value", [float("nan"), None, "high"])
def test_a_main_score_that_is_no_number(tmp_path, value):
    folder = model_folder(tmp_path, "acme/small")
    path = add(folder, HEADLINE, 0.3)
    content = json.loads(path.read_text())
    content["scores"]["test"][0]["main_score"] = value
    path.write_text(json.dumps(content))
    add(folder, "WIPOATTAToTARetrieval", 0.2)
    collected = collect(tmp_path)
    one_message(collected, str(path), "not a number")
    assert collected.results["value"].to_list() == [0.2]


def test_several_local_states_stand_side_by_side_and_never_in_one_data_source(tmp_path):
    model, other = model_folder(tmp_path, "acme/model"), model_folder(tmp_path, "acme/other")
    add(model, HEADLINE, 0.9, kind="local", revision="local-111111111111", date=DATE)
    add(other, "WIPOATTAToTARetrieval", 0.8, kind="local", revision="local-111111111111", date=DATE + 1)
    add(model, HEADLINE, 0.5, kind="local", revision="local-222222222222", date=DATE + 2)
    add(model, HEADLINE, 0.7, kind="local", revision="local-333333333333", date=DATE - 1)
    add(model, DAPFAM, 0.3, kind="real")
    collected = collect(tmp_path)
    names = {name: sorted(view.results["value"]) for name, view in collected.data_sources.items()}
    assert names == {"real": [0.3], "own": [0.5], "own-2": [0.8, 0.9], "own-3": [0.7]}
    one_message(
        collected, "WIPO-AT", "'own' shows local-222222222222", "'own-2' shows local-1", "'own-3' shows local-3"
    )


def test_several_subsets_in_one_file_are_several_results(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    path = add(folder, DAPFAM, 0.3, kind="real")
    content = json.loads(path.read_text())
    (entry,) = content["scores"]["train"]
    local = data_revision(DAPFAM, "local")
    content["scores"]["train"].append(entry | {"hf_subset": local, "main_score": 0.7, "ndcg_at_100": 0.7})
    path.write_text(json.dumps(content))
    attest(path)
    assert sorted(collect(tmp_path).results.select("data_source", "value").rows()) == [("local", 0.7), ("real", 0.3)]


# --- per-query scores
# --------------------------------------------------------------------------------------------------------


def with_queries(tmp_path, queries, **changed):
    folder = model_folder(tmp_path, "acme/small")
    path = add(folder, HEADLINE, queries=queries)
    meta = json.loads((folder / "model_meta.json").read_text())
    return folder, path, meta, data_revision(HEADLINE, "sample")


def test_missing_queries(tmp_path, queries):
    folder, _, meta, revision = with_queries(tmp_path, queries)
    write_queries(folder, f"{HEADLINE}.sample", queries[:-3], revision, revision, meta)
    collected = collect(tmp_path)
    one_message(collected, "queries.parquet", "3 of 40 queries are missing", "left out")
    assert collected.results.is_empty()


def test_repeated_queries(tmp_path, queries):
    folder, *_ = with_queries(tmp_path, queries)
    path = folder / f"{HEADLINE}.sample.queries.parquet"
    table = pl.read_parquet(path).with_columns(pl.lit("q0").alias("query"))
    import pyarrow.parquet as pq

    metadata = pq.read_schema(path).metadata
    pq.write_table(table.to_arrow().replace_schema_metadata(metadata), path)
    collected = collect(tmp_path)
    one_message(collected, "queries.parquet", "39 of 40 queries are missing")


def test_a_mean_that_is_not_the_main_score(tmp_path, queries):
    folder, _, meta, revision = with_queries(tmp_path, queries)
    write_queries(folder, f"{HEADLINE}.sample", queries * 0.998, revision, revision, meta)
    collected = collect(tmp_path)
    one_message(collected, "the mean of ndcg@10 is 0.499000, but the result's main score is 0.500000", "left out")
    assert collected.results.is_empty(), "which of the two is right cannot be known"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("task", "WIPOATTAToTARetrieval.sample"),
        ("model", "acme/large"),
        ("model_revision", "r2"),
        ("dataset_revision", "sample-0"),
        ("subset", "default"),
        ("experiment", "dims_64"),
    ],
)
def test_per_query_scores_of_another_run(tmp_path, queries, field, value):
    folder, _, meta, revision = with_queries(tmp_path, queries)
    write_queries(folder, f"{HEADLINE}.sample", queries, revision, revision, meta, **{field: value})
    collected = collect(tmp_path)
    one_message(collected, "per-query scores of another run", field, value)
    assert collected.results["queries"].to_list() == [None]


def test_damaged_per_query_scores(tmp_path, queries):
    folder, *_ = with_queries(tmp_path, queries)
    path = folder / f"{HEADLINE}.sample.queries.parquet"
    path.write_bytes(path.read_bytes()[:100])
    collected = collect(tmp_path)
    one_message(collected, str(path), "corrupt per-query scores")
    assert collected.results["value"].to_list() == [0.5]


# --- models
# ------------------------------------------------------------------------------------------------------------------


def test_labels_tell_settings_and_revisions_apart(tmp_path, queries):
    add(model_folder(tmp_path, "acme/small", "r1"), HEADLINE, 0.1)
    add(model_folder(tmp_path, "acme/small", "r2"), HEADLINE, 0.2)
    add(model_folder(tmp_path, "acme/large", "r1"), HEADLINE, 0.3)
    add(model_folder(tmp_path, "acme/large", "r1", {"dims": 64}), HEADLINE, queries=queries)
    parts = [{"name": "lex/bm25", "revision": "1"}, {"name": "acme/large", "revision": "r1"}]
    add(
        model_folder(tmp_path, "hybrid/linear-0.7-bm25+large", "h", {"kind": "hybrid", "alpha": 0.7, "parts": parts}),
        HEADLINE,
        0.4,
    )
    collected = collect(tmp_path)
    assert collected.runs == (
        "acme/large",
        "acme/large (dims=64)",
        "acme/small @r1",
        "acme/small @r2",
        "hybrid/linear-0.7-bm25+large",
    )
    assert collected.results.filter(pl.col("queries").is_not_null())["run"].to_list() == ["acme/large (dims=64)"]


def test_a_missing_or_foreign_model_meta_costs_the_settings_only(tmp_path):
    first, second = model_folder(tmp_path, "acme/small"), model_folder(tmp_path, "acme/large")
    add(first, HEADLINE, 0.1)
    add(second, HEADLINE, 0.2)
    (first / "model_meta.json").unlink()
    (second / "model_meta.json").write_text(json.dumps({"name": "acme/other", "revision": "r1", "n_parameters": 5}))
    collected = collect(tmp_path)
    one_message(collected, str(first / "model_meta.json"), "missing")
    one_message(collected, str(second / "model_meta.json"), "acme/other")
    assert collected.results.sort("value").select("model", "parameters").rows() == [
        ("acme/small", None),
        ("acme/large", None),
    ]


def test_prompts_are_those_that_the_result_recorded(tmp_path):
    recorded = {"query": "a prompt of then: ", "document": ""}
    add(
        model_folder(tmp_path, "datalyes/patembed-base", use_instructions=True),
        "PatenTEBTitle2Full",
        0.1,
        more={"prompts": recorded},
    )
    add(model_folder(tmp_path, "mpi-inno-comp/paecter", use_instructions=True), "PatenTEBTitle2Full", 0.2)
    parts = {"mteb/baseline-bm25s": None, "datalyes/patembed-base": recorded}
    add(model_folder(tmp_path, "hybrid/linear-0.5-x"), "PatenTEBTitle2Full", 0.3, more={"prompts": parts})
    add(model_folder(tmp_path, "other/model", use_instructions=True), "PatenTEBTitle2Full", 0.4, more={"prompts": None})
    collected = collect(tmp_path)
    prompts = dict(collected.results.sort("value").select("value", "prompt").iter_rows())
    assert prompts == {
        0.1: '"a prompt of then: " / none',
        0.2: "none",
        0.3: 'mteb/baseline-bm25s: not recorded; datalyes/patembed-base: "a prompt of then: " / none',
        0.4: "not recorded",
    }
    assert "prompts" not in set(collected.scores["measure"])


def test_a_reason_is_said_once_with_the_number_of_files():
    paths = [f"r/org__m{number}/r1/{task}.json" for number in (1, 2) for task in ("A", "B")]
    messages = [f"{path}: measured on another revision: c1; left out. Remedy: run it again." for path in paths]
    messages += ["r/org__m1/r1/C.json: damaged. Remedy: delete it.", "3 results have no scores by query."]
    assert by_reason(messages) == [
        f"{paths[0]} and 3 more files: measured on another revision: c1; left out. Remedy: run it again.",
        "r/org__m1/r1/C.json: damaged. Remedy: delete it.",
        "3 results have no scores by query.",
    ]
    assert by_reason(messages[:2])[0].startswith(f"{paths[0]} and 1 more file: ")
    assert by_reason([]) == []


def test_results_with_limit_are_excluded_in_one_line(tmp_path):
    names = [f"{HEADLINE}.limit20", f"{DAPFAM}.limit20"]
    for model in ("acme/small", "acme/large"):
        folder = model_folder(tmp_path, model)
        path = add(folder, HEADLINE, 0.5)
        content = json.loads(path.read_text())
        for name in names[: 1 if model == "acme/large" else 2]:
            (folder / f"{name}.json").write_text(json.dumps({**content, "task_name": name}))
    collected = collect(tmp_path)
    assert one_message(collected, "limit20") == (
        "3 results of 2 tasks named <Task>.limit20 left out: --limit ran them on some queries and documents."
        " To report these tasks, run them without it."
    )
    assert len(collected.excluded) == 1 and len(collected.results) == 2
