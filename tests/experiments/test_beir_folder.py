"""A task written as a BEIR folder, read and evaluated by BEIR itself."""

import hashlib
import json

import numpy as np
import pytest
from beir.datasets.data_loader import GenericDataLoader
from beir.retrieval.evaluation import EvaluateRetrieval

import patent_mteb
from patent_mteb.cli import main
from patent_mteb.errors import DataError
from patent_mteb.experiments.bridges import write_task
from patent_mteb.models import bm25

TASKS = ["PatentDAPFAMTitleToTARetrieval.sample", "WIPOATAbstractToTARetrieval.sample", "SophiaTacdRetrieval.sample"]


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


def words(text, width=4096):
    vector = np.zeros(width)
    for word in text.lower().split():
        vector[int(hashlib.md5(word.encode()).hexdigest(), 16) % width] += 1
    return vector / max(np.linalg.norm(vector), 1e-9)


@pytest.mark.slow
def test_a_search_by_hand_over_the_folder_sees_what_the_task_sees(tmp_path):
    """Bags of words over what BEIR loads, with the pairs of excluded.tsv taken out, against the texts and hidden
    documents of the task.
    """
    name = TASKS[0]
    folder = tmp_path / "beir"
    write_task(name, folder)
    corpus, queries, qrels = GenericDataLoader(str(folder)).load(split="test")
    matrix = np.stack([words(document["text"]) for document in corpus.values()])
    results = {q: dict(zip(corpus, map(float, matrix @ words(text)), strict=True)) for q, text in queries.items()}
    theirs = measured(qrels, results, folder)

    task = patent_mteb.get_tasks("DAPFAM", sample=True)
    task = next(one for one in task if one.metadata.name == name)
    task.load_data()
    tables = task.tables
    hidden = {(q, d) for q in qrels for d in tables.hidden.get(q, ()) if d in tables.corpus}
    assert hidden == excluded(folder)
    direct = np.stack([words(tables.corpus[key]) for key in tables.corpus])
    again = {
        q: {
            d: s
            for d, s in zip(tables.corpus, map(float, direct @ words(tables.queries[q])), strict=True)
            if d not in tables.hidden.get(q, ())
        }
        for q in qrels
    }
    ndcg, _, recall, _ = EvaluateRetrieval.evaluate(
        task.dataset[task.source.subset][task.split]["relevant_docs"], again, [100], ignore_identical_ids=False
    )
    assert (theirs["ndcg_at_100"], theirs["recall_at_100"]) == (ndcg["NDCG@100"], recall["Recall@100"])


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
