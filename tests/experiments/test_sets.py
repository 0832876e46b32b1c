"""Boolean hit lists next to rankings: against scikit-learn, a loop over ranks, and resampling in the test."""

from __future__ import annotations

import json
import random
import re

import numpy as np
import openpyxl
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from patent_mteb.cli import main
from patent_mteb.errors import DataError
from patent_mteb.experiments.evaluate import rank, retrieval_task
from patent_mteb.experiments.sets import compare_sets, saved_runs
from patent_mteb.metrics.significance import counts
from patent_mteb.models import bm25
from patent_mteb.search.stored import StoredRun

TASK = "PatentCitationRetrieval.sample"


@pytest.fixture(scope="module")
def task():
    found = retrieval_task(TASK)
    found.load_data()
    return found


@pytest.fixture(scope="module")
def qrels(task):
    return {q: {d for d, gain in judged.items() if gain > 0} for q, judged in task.tables.qrels.items()}


@pytest.fixture(scope="module")
def ranking():
    return {query: list(found) for query, found in rank(bm25("dapfam"), TASK).to_dict().items()}


def spelled(number):
    """``EP3000000A1`` as ``EP 3000000 A1``."""
    return " ".join(re.fullmatch(r"([A-Z]{2})(.+?)([A-Z]\d?)", number).groups())


@pytest.fixture(scope="module")
def hits(task, qrels):
    """Sets with some relevant documents and some others; every fifth is empty."""
    dice, documents, found = random.Random(5), sorted(task.tables.corpus), {}
    for place, query in enumerate(sorted(task.tables.queries)):
        relevant = sorted(qrels.get(query, ()))
        some = set(
            dice.sample(relevant, dice.randint(0, min(3, len(relevant)))) + dice.sample(documents, dice.randint(0, 9))
        )
        found[query] = some - set(task.tables.hidden.get(query, ())) if place % 5 else set()
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory, hits, ranking):
    folder = tmp_path_factory.mktemp("sets")
    book = openpyxl.Workbook()
    book.active.append(["Suchauftrag", "Treffer", "Titel"])
    for query, found in hits.items():
        for document in sorted(found) or [""]:
            book.active.append([spelled(query), spelled(document) if document else None, "Pumpe"])
    book.save(folder / "Trefferliste.xlsx")
    lines = [
        f"{q} Q0 {d} {place} {-place} bm25\n" for q, found in ranking.items() for place, d in enumerate(found, start=1)
    ]
    (folder / "bm25.run").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def compared(files):
    sets = StoredRun(files / "Trefferliste.xlsx", order="none")
    return compare_sets(sets, {"bm25": StoredRun(files / "bm25.run")}, retrieval_task(TASK))


def test_sets_score_as_scikit_learn_says(task, hits, qrels, compared):
    documents, scored = sorted(task.tables.corpus), compared[0]
    judged = [query for query in hits if qrels.get(query)]
    values = []
    for query in judged:
        truth, found = ([one in some for one in documents] for some in (qrels[query], hits[query]))
        values.append([measure(truth, found, zero_division=0) for measure in (precision_score, recall_score, f1_score)])
    means = np.mean(values, axis=0)
    assert [scored.precision.value, scored.recall.value, scored.f1.value] == pytest.approx(means)
    assert (scored.queries, scored.empty) == (len(judged), sum(not hits[query] for query in judged))
    assert scored.size == pytest.approx(np.mean([len(hits[query]) for query in judged]))
    assert scored.precision.low < scored.precision.value < scored.precision.high and not scored.small


def test_rankings_are_cut_at_the_size_and_at_the_recall_of_the_sets(hits, qrels, ranking, compared):
    scored, (ranked,) = compared
    judged = [query for query in hits if qrels.get(query)]

    def recall(found, query):
        return len(qrels[query].intersection(found)) / len(qrels[query])

    at_size = {query: ranking[query][: len(hits[query])] for query in judged}
    assert ranked.recall.value == pytest.approx(np.mean([recall(at_size[query], query) for query in judged]))
    precisions = [len(qrels[q].intersection(at_size[q])) / len(at_size[q]) if at_size[q] else 0 for q in judged]
    assert ranked.precision.value == pytest.approx(np.mean(precisions))
    assert ranked.difference.value == pytest.approx(ranked.recall.value - scored.recall.value)
    depth = 0
    while np.mean([recall(ranking[query][:depth], query) for query in judged]) < scored.recall.value - 1e-12:
        depth += 1
    assert ranked.depth.value == depth and ranked.depth.low <= depth <= ranked.depth.high
    fewer = more = 0
    for query in judged:
        wanted, needed = len(qrels[query] & hits[query]), 0
        while needed < len(ranking[query]) and len(qrels[query].intersection(ranking[query][:needed])) < wanted:
            needed += 1
        reached = len(qrels[query].intersection(ranking[query][:needed])) >= wanted
        fewer += reached and needed < len(hits[query])
        more += not reached or needed > len(hits[query])
    assert (ranked.fewer, ranked.more) == (fewer, more)


def test_the_interval_of_the_depth_is_that_of_resampled_queries(task, hits, qrels, ranking, compared):
    """A loop over 300 resamples; queries of one family are drawn together, as in the tests of models."""
    judged = [query for query in hits if qrels.get(query)]
    families = task.tables.query_families
    groups = list(dict.fromkeys(families.get(query) or query for query in judged))
    curves = np.zeros((len(judged), 200))
    for row, query in enumerate(judged):
        found = [document in qrels[query] for document in ranking[query][:200]]
        curves[row, : len(found)] = np.cumsum(found) / len(qrels[query])
        curves[row, len(found) :] = curves[row, len(found) - 1] if found else 0
    recalls = np.array([len(qrels[q] & hits[q]) / len(qrels[q]) for q in judged])
    member = np.array([groups.index(families.get(query) or query) for query in judged])
    depths = []
    for drawn in next(counts(len(groups), 300)):
        weights = drawn[member]
        reached = weights @ curves >= weights @ recalls - 1e-9
        depths.append(int(reached.argmax()) + 1)
    low, high = np.quantile(depths, [0.025, 0.975])
    ranked = compared[1][0]
    assert (ranked.depth.low, ranked.depth.high) == (pytest.approx(low, abs=1), pytest.approx(high, abs=1))


def test_a_german_workbook_is_compared_from_the_command_line(files, tmp_path, capsys, compared):
    words = [
        "runs",
        "score",
        str(files / "Trefferliste.xlsx"),
        "-t",
        TASK,
        "--order",
        "none",
        "--against",
        str(files / "bm25.run"),
    ]
    assert main([*words, "--out", str(tmp_path / "results"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)["result"]
    assert answer["sets"]["recall"]["value"] == pytest.approx(compared[0].recall.value)
    assert [one["name"] for one in answer["rankings"]] == ["bm25"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "run/Trefferliste" in said and "depth of equal recall" in said and "sets are empty" in said
    assert not (tmp_path / "results").exists(), "a set has no ranking, so no result is saved"


def test_a_ranking_that_ends_early_is_said(files, tmp_path, hits, capsys):
    lines = [line for line in (files / "bm25.run").read_text().splitlines(keepends=True) if line.split()[3] == "1"]
    (tmp_path / "short.run").write_text("".join(lines))
    words = ["runs", "score", str(files / "Trefferliste.xlsx"), "-t", TASK, "--order", "none"]
    assert main([*words, "--against", str(tmp_path / "short.run")]) == 0
    said = capsys.readouterr()
    assert "not within 1" in said.out and "the ranking has fewer documents than the set" in " ".join(said.err.split())


def test_a_set_is_never_scored_as_a_ranking(files, tmp_path, capsys):
    with pytest.raises(DataError, match="a set of documents has no ranking"):
        rank(StoredRun(files / "Trefferliste.xlsx", order="none"), TASK)
    words = ["runs", "score", str(files / "Trefferliste.xlsx"), "-t", TASK, "--out", str(tmp_path / "results")]
    assert main(words) == 2 and "no column is a score or a rank" in capsys.readouterr().err
    assert main([*words, "--against", str(files / "bm25.run")]) == 2


def test_saved_runs_are_named_by_their_models(tmp_path):
    for place in ("acme__one/abc", "acme__two/abc", "acme__two/def/experiments/fast"):
        (folder := tmp_path / "runs" / place).mkdir(parents=True)
        (folder / "Task.local-1.run").write_text("q Q0 d 1 1 x")
    names = saved_runs([tmp_path / "runs", tmp_path / "runs/acme__one/abc/Task.local-1.run"], "Task.local-1")
    assert list(names) == ["acme/one", "acme/two abc", "acme/two def experiments fast", "Task.local-1"]
    with pytest.raises(DataError, match="the folder has no run of Other"):
        saved_runs([tmp_path], "Other")


def test_a_list_of_numbers_is_the_set_of_its_names_query(tmp_path, hits, qrels, capsys):
    query = next(query for query, found in hits.items() if found & qrels.get(query, set()))
    (path := tmp_path / f"{query}.txt").write_text("".join(f"{spelled(one)}\n" for one in sorted(hits[query])))
    assert main(["runs", "score", str(path), "-t", TASK, "--order", "none", "--allow-missing", "--json"]) == 0
    sets, n = json.loads(capsys.readouterr().out)["result"]["sets"], len([q for q in qrels if qrels[q]])
    assert sets["empty"] == n - 1
    assert sets["recall"]["value"] == pytest.approx(len(hits[query] & qrels[query]) / len(qrels[query]) / n)
