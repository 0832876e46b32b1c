"""A task written as a BEIR folder, read and evaluated by BEIR itself."""

import json

import pytest
from beir.datasets.data_loader import GenericDataLoader
from beir.retrieval.evaluation import EvaluateRetrieval

import patent_mteb
from patent_mteb.cli import main
from patent_mteb.errors import DataError
from patent_mteb.experiments.bridges import write_task
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.models import bm25

TASKS = ["PatentDAPFAMTitleToTARetrieval.sample", "WIPOATAbstractToTARetrieval.sample"]


def excluded(folder):
    rows = [line.split("\t") for line in (folder / "excluded.tsv").read_text().splitlines()]
    assert rows[0] == ["query-id", "corpus-id"]
    return {tuple(row) for row in rows[1:]}


def measured(qrels, results, folder):
    hidden = excluded(folder)
    seen = {q: {d: s for d, s in found.items() if (q, d) not in hidden} for q, found in results.items()}
    ndcg, average, recall, _ = EvaluateRetrieval.evaluate(qrels, seen, [10, 100], ignore_identical_ids=False)
    return {
        "ndcg_at_10": ndcg["NDCG@10"],
        "ndcg_at_100": ndcg["NDCG@100"],
        "map_at_100": average["MAP@100"],
        "recall_at_100": recall["Recall@100"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_beir_gives_the_scores_of_the_task(tmp_path, name):
    note = write_task(name, tmp_path / "beir")
    corpus, queries, qrels = GenericDataLoader(str(tmp_path / "beir")).load(split="test")
    assert (len(corpus), len(queries)) == (note["documents"], note["queries"]) and set(queries) == set(qrels)
    run = patent_mteb.rank(bm25("dapfam"), name)
    frame = patent_mteb.evaluate([bm25("dapfam")], name)
    ours = {row["measure"]: row["value"] for row in frame.iter_rows(named=True) if row["slice"] in ("", "all", None)}
    theirs = measured(qrels, run.to_dict(), tmp_path / "beir")
    compared = {measure: value for measure, value in theirs.items() if measure in ours}
    assert compared and all(value == pytest.approx(ours[measure], abs=1e-5) for measure, value in compared.items())


def test_the_folder_holds_the_texts_and_the_hidden_documents_of_the_task(tmp_path):
    write_task(TASKS[0], tmp_path / "beir")
    corpus, queries, qrels = GenericDataLoader(str(tmp_path / "beir")).load(split="test")
    task = retrieval_task(TASKS[0])
    task.load_data()
    tables = task.tables
    assert {key: document["text"] for key, document in corpus.items()} == {
        key: tables.corpus[key] for key in tables.corpus
    }
    assert queries == {key: tables.queries[key] for key in qrels}
    assert excluded(tmp_path / "beir") == {
        (query, document) for query in qrels for document in tables.hidden.get(query, ()) if document in tables.corpus
    }


def test_the_command_writes_it_and_replaces_only_its_own(tmp_path, capsys):
    folder = tmp_path / "beir"
    assert main(["publish", "beir", TASKS[0], str(folder)]) == 0
    note = json.loads((folder / "task.json").read_text())
    assert note["task"] == TASKS[0] and note["data_revision"].startswith("sample-")
    assert f"{note['documents']} documents, {note['queries']} queries" in capsys.readouterr().out
    (folder / "stale").write_text("x")
    assert main(["publish", "beir", TASKS[0], str(folder)]) == 0
    assert not (folder / "stale").exists()
    (folder / "task.json").unlink()
    assert main(["publish", "beir", TASKS[0], str(folder)]) == 2
    assert "the folder contains other files" in capsys.readouterr().err
    assert (folder / "corpus.jsonl").is_file()


def test_documents_of_several_texts_and_other_tasks_are_refused(tmp_path):
    with pytest.raises(DataError, match="one text a document"):
        write_task("PatentMapClmToAllRetrieval.sample", tmp_path / "beir")
    with pytest.raises(DataError, match="not a retrieval task"):
        write_task("PatenTEBBloom.sample", tmp_path / "beir")
    assert not (tmp_path / "beir").exists()


@pytest.mark.slow
def test_dates_of_a_gated_task_are_written(tmp_path):
    write_task("PatentOpenUSClaimToPassageRetrieval.sample", tmp_path / "beir")
    header, *rows = [line.split("\t") for line in (tmp_path / "beir" / "dates.tsv").read_text().splitlines()]
    assert header == ["role", "id", "day"]
    days = {(role, key): day for role, key, day in rows}
    judged = [line.split("\t") for line in (tmp_path / "beir" / "qrels" / "test.tsv").read_text().splitlines()[1:]]
    assert len(judged) > 200
    assert all(days["document", document] < days["query", query] for query, document, _ in judged)
