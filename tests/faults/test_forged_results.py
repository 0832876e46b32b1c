"""A score needs values of every query behind it, in the range of its measure; a board also covers the model's facts."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from report_folders import add, model_folder
from small_data import HashEncoder

import patent_mteb
from patent_mteb.cli import main
from patent_mteb.experiments.anonymous import copy_results
from patent_mteb.experiments.run import run
from patent_mteb.models import bm25
from patent_mteb.report.collect import collect
from patent_mteb.tasks import perquery
from patent_mteb.tasks.evidence import checksum

TASK = "PatentDAPFAMTitleToTARetrieval.sample"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Results of two models, as a run leaves them."""
    folder = tmp_path_factory.mktemp("measured")
    tasks = patent_mteb.get_tasks("DAPFAM", sample=True)
    (task,) = (one for one in tasks if one.metadata.name == TASK)
    for model in (bm25("bm25s"), HashEncoder()):
        assert run(model, [task], folder, show_progress=False).exit_status == 0
    return folder


@pytest.fixture
def results(measured, tmp_path):
    return shutil.copytree(measured, tmp_path / "results_of_others")


def forged(folder, scores=None, change=None, model="bm25"):
    """Change scores with a right seal, and the table of the per-query scores."""
    (path,) = [path for path in folder.rglob(f"{TASK}.json") if model in str(path)]
    document = json.loads(path.read_text())
    (entry,) = next(iter(document["scores"].values()))
    entry |= scores or {}
    entry["evidence"]["seal"] = checksum(entry)
    path.write_text(json.dumps(document))
    if change:
        place = path.with_name(f"{TASK}.queries.parquet")
        table = pq.read_table(place)
        pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), place)
    return path


def column(name, values):
    def change(table):
        made = pa.array(values(table) if callable(values) else [values] * len(table), pa.float64())
        return table.set_column(table.schema.get_field_index(name), name, made)

    return change


def best(name):
    """One query with 0.99 and no value of the others."""
    return column(name, lambda table: [0.99, *[None] * (len(table) - 1)])


MAIN = {"main_score": 0.99, "ndcg_at_100": 0.99}
FORGED = {
    "null": (MAIN, column("ndcg@100", None), "values of 'ndcg@100' are missing or not numbers"),
    "NaN": (MAIN, column("ndcg@100", float("nan")), "values of 'ndcg@100' are missing or not numbers"),
    "one value": (MAIN, best("ndcg@100"), "values of 'ndcg@100' are missing or not numbers"),
    "1.5": (
        {"main_score": 1.5, "ndcg_at_100": 1.5},
        column("ndcg@100", 1.5),
        "ndcg_at_100 is 1.5, outside the range of its measure",
    ),
    "-0.5": ({"main_score": -0.5, "ndcg_at_100": -0.5}, column("ndcg@100", -0.5), "outside the range of its measure"),
    "1.5 of queries": ({}, column("ndcg@100", lambda table: swung(table["ndcg@100"])), "'ndcg@100' has values outside"),
    "another measure": ({"recall_at_100": 7.0}, None, "recall_at_100 is 7.0, outside the range"),
    "slice null": ({"in_ndcg_at_100": 0.99}, column("score:in", None), "values of 'score:in' are missing"),
    "slice one value": ({"in_ndcg_at_100": 0.99}, best("score:in"), "'score:in' are missing or not numbers"),
    "slice without column": (
        {"in_ndcg_at_100": 0.99},
        lambda table: table.drop(["score:in"]),
        "the column 'score:in' is missing, but the result has in_ndcg_at_100",
    ),
    "slice without members": (
        {"in_ndcg_at_100": 0.99},
        lambda table: table.drop(["slice:in"]),
        "the column 'slice:in' is missing",
    ),
    "smaller slice": (
        {"in_ndcg_at_100": 1.0},
        lambda table: column("score:in", lambda table: [1.0, *[None] * (len(table) - 1)])(
            table.set_column(
                table.schema.get_field_index("slice:in"), "slice:in", [[True] + [False] * (len(table) - 1)]
            )
        ),
        "'score:in' is not of the",
    ),
}


def exchanged(table):
    """The rows with the queries in another order: every mean stays as it is."""
    order = table["query"].to_pylist()
    return table.set_column(table.schema.get_field_index("query"), "query", pa.array([*order[1:], order[0]]))


FORGED["exchanged"] = ({}, exchanged, "values or queries were changed")


def swung(values):
    """Values with the same mean, of which two are out of range."""
    values = values.to_numpy().copy()
    values[0], values[1] = values[0] + 2, values[1] - 2
    return values.tolist()


def test_results_as_they_were_measured_have_no_message(results):
    assert [one for one in collect(results).messages if "Results on" not in one] == []


@pytest.mark.parametrize("case", FORGED)
def test_a_score_without_evidence_is_left_out(results, case):
    scores, change, said = FORGED[case]
    path = forged(results, scores, change)
    found = collect(results)
    assert str(path) not in set(found.results["path"])
    assert any(said in message for message in found.excluded), found.excluded


def test_a_run_measures_such_a_task_again(results, caplog, monkeypatch):
    monkeypatch.delenv(perquery.VARIABLE, raising=False)
    forged(results, MAIN, column("ndcg@100", None))
    (task,) = [one for one in patent_mteb.get_tasks("DAPFAM", sample=True) if one.metadata.name == TASK]
    (outcome,) = run(bm25("bm25s"), [task], results, show_progress=False).outcomes
    assert outcome.main != 0.99 and not outcome.cached
    assert "it is renamed to" in caplog.text


@pytest.mark.parametrize(
    "facts",
    [{"n_parameters": 1}, {"n_parameters": "x"}, {"training_datasets": ["A"]}, {"license": "mit", "embed_dim": 1}],
)
def test_edited_facts_of_a_model_are_not_shown(results, facts):
    (path,) = [path for path in results.rglob("model_meta.json") if "hash" in str(path)]
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))
    found = collect(results)
    (message,) = found.excluded
    assert str(path) in message and "its facts are not those that were recorded with the results" in message
    card = json.loads(found.results.filter(found.results["model"].str.contains("hash"))["card"][0])
    assert not facts.keys() & card.keys()


def board(tmp_path):
    """A board of one model on published data."""
    folder = model_folder(
        tmp_path / "in", "sentence-transformers/all-MiniLM-L6-v2", "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
    )
    add(folder, TASK.removesuffix(".sample"), kind="real", queries=np.linspace(0, 1, 60))
    assert main(["publish", "board", str(tmp_path / "in"), str(tmp_path / "board")]) == 0
    return tmp_path / "board"


def test_a_board_says_what_is_wrong_with_its_models_and_names(tmp_path, capsys):
    folder = board(tmp_path)
    assert main(["publish", "check", str(folder)]) == 0
    for content in ("[1]", "{", '{"a": 1}', "null"):
        (folder / "names.json").write_text(content)
        capsys.readouterr()
        assert main(["publish", "check", str(folder)]) == 2
        said = capsys.readouterr().err
        assert "names.json" in said and "Remedy" in said and "report it" not in said
    (folder / "names.json").unlink()
    (path,) = folder.rglob("model_meta.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "n_parameters": 1, "training_datasets": []}))
    assert main(["publish", "check", str(folder)]) == 1
    assert "its facts are not those that were recorded" in capsys.readouterr().err


def test_a_board_refuses_scores_of_other_queries_and_an_older_table(tmp_path, capsys):
    folder = board(tmp_path)
    (path,) = folder.rglob("*.queries.parquet")
    table = pq.read_table(path)
    identity = json.loads(table.schema.metadata[b"patent_mteb"])
    pq.write_table(exchanged(table), path)
    assert main(["publish", "check", str(folder)]) == 1
    assert "values or queries were changed" in capsys.readouterr().err
    identity.pop("rows", None)
    pq.write_table(exchanged(table).replace_schema_metadata({"patent_mteb": json.dumps(identity)}), path)
    assert main(["publish", "check", str(folder)]) == 1
    assert "no digest of their rows" in capsys.readouterr().err
    pq.write_table(table, path)
    assert main(["publish", "check", str(folder)]) == 0


def test_other_forms_of_the_same_rows_are_accepted(measured, tmp_path):
    folder = shutil.copytree(measured, tmp_path / "copy")
    for path in folder.rglob("*.queries.parquet"):
        table = pq.read_table(path)
        form = table.select(table.column_names[::-1]).take(list(range(len(table)))[::-1])
        pq.write_table(form.cast(pa.schema(list(form.schema), table.schema.metadata)), path)
    assert [one for one in collect(folder).messages if "Results on" not in one] == []
    done = copy_results(folder, tmp_path / "digests")
    assert done.files and not collect(tmp_path / "digests").excluded


def test_digests_instead_of_numbers_do_not_hide_an_exchange(results, tmp_path):
    forged(results, None, exchanged)
    copy_results(results, tmp_path / "digests")
    assert any("values or queries were changed" in one for one in collect(tmp_path / "digests").excluded)


@pytest.mark.parametrize("name", ["names.json", "elsewhere", "results/further"])
def test_a_board_has_no_links(tmp_path, capsys, name):
    folder = board(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "names.json").write_text("{}")
    (folder / name).symlink_to(tmp_path / ("names.json" if name == "names.json" else "elsewhere"))
    assert main(["publish", "check", str(folder)]) == 1
    assert f"{folder / name}: a symbolic link" in capsys.readouterr().err


def test_per_query_scores_behind_a_link_are_not_published(tmp_path, capsys):
    folder = board(tmp_path)
    (path,) = (tmp_path / "in").rglob("*.queries.parquet")
    shutil.move(path, tmp_path / "elsewhere.parquet")
    path.symlink_to(tmp_path / "elsewhere.parquet")
    shutil.rmtree(folder)
    assert main(["publish", "board", str(tmp_path / "in"), str(folder)]) == 1
    assert "a symbolic link" in capsys.readouterr().err and not list(folder.rglob("*.parquet"))


@pytest.mark.parametrize("content", ["[1]", "{", '{"a": 1}', "null", "\udcff"])
def test_a_report_refuses_names_that_are_not_names(tmp_path, capsys, content):
    folder = board(tmp_path)
    assert main(["report", str(folder)]) == 0
    (folder / "names.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    assert main(["report", str(folder)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert str(folder / "names.json") in said and "Remedy" in said and "report it" not in said


@pytest.mark.parametrize(
    "line", ["no JSON", "[1]", '{"task": 1}', '{"splits": []}', "[" * 100_000, "\udcff", "version"]
)
def test_a_report_refuses_damaged_settings_of_runs(tmp_path, capsys, line):
    folder = board(tmp_path)
    (path,) = folder.rglob("run_settings.jsonl")
    settings = path.read_text().rstrip("\n")
    line = json.dumps({**json.loads(settings), "version": 1}) if line == "version" else line
    path.write_bytes(f"{settings}\n\n{line}\n".encode("utf-8", "surrogateescape"))
    assert main(["report", str(folder)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"{path}, row 3" in said and "Remedy" in said and "report it" not in said


def changed(folder, change):
    (path,) = folder.rglob("PatentDAPFAMTitleToTARetrieval.json")
    document = json.loads(path.read_text())
    change(document["scores"])
    path.write_text(json.dumps(document))


def test_a_board_refuses_what_nothing_checks(tmp_path, capsys):
    folder = board(tmp_path)
    (split,) = json.loads(next(folder.rglob("PatentDAPFAM*.json")).read_text())["scores"]
    changed(folder, lambda scores: scores.update(other=[{**scores[split][0], "main_score": 0.99}]))
    assert main(["publish", "check", str(folder)]) == 1
    assert "scores of another split, 'other'" in capsys.readouterr().err
    changed(folder, lambda scores: scores.pop("other"))
    changed(folder, lambda scores: scores[split].append(scores[split][0]))
    assert main(["publish", "check", str(folder)]) == 1
    assert "has two results of the subset" in capsys.readouterr().err
    changed(folder, lambda scores: scores[split].pop())
    assert main(["publish", "check", str(folder)]) == 0
    (path,) = folder.rglob("model_meta.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "experiment_kwargs": {"layers": 3}}))
    assert main(["publish", "check", str(folder)]) == 1
    assert "its settings are not those of the folder" in capsys.readouterr().err
