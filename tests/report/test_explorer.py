"""Query by query: the queries that are shown, the wins of each model, and the texts and documents of the queries."""

import json
from itertools import combinations

import numpy as np
import pytest
from report_folders import HEADLINE, add, model_folder

from patent_mteb.report import explorer
from patent_mteb.report.collect import collect
from patent_mteb.report.explorer import Explorer, TaskTexts
from patent_mteb.report.page import may_show
from patent_mteb.search import trec


def explored(root, texts=None):
    collected = collect(root)
    views = collected.data_sources["sample"].benchmarks
    made = Explorer(
        {run: number for number, run in enumerate(collected.runs)}, lambda view, task: texts or TaskTexts(), views
    )
    view = collected.data_sources["sample"].benchmark("WIPO-AT")
    return made, made.of(view), collected


def values_of(collected, task, run):
    import pyarrow.parquet as pq

    (path,) = collected.results.filter(task=task, run=run)["queries"]
    table = pq.ParquetFile(path).read()
    return dict(zip(table["query"].to_pylist(), table["ndcg@10"].to_pylist(), strict=True))


@pytest.mark.slow
def test_wins_and_queries_are_those_of_the_files(world):
    made, tabs, collected = explored(world)
    assert tabs[0]["task"] == f"{HEADLINE}.sample"
    assert made.excluded == 0
    for tab in tabs:
        scores = [values_of(collected, tab["task"], collected.runs[number]) for number in tab["runs"]]
        (whole,) = (group for group in tab["groups"] if group["title"] == "")
        assert whole["n"] == len(scores[0]) == 60
        for (first, second), (won, lost) in zip(combinations(scores, 2), whole["wins"], strict=True):
            assert won == sum(first[query] > second[query] for query in first)
            assert lost == sum(first[query] < second[query] for query in first)
            widest = max(first, key=lambda query: first[query] - second[query])
            if first[widest] > second[widest]:
                assert widest in tab["queries"]
        for row, known in zip(tab["scores"], scores, strict=True):
            assert row == [round(known[query] * 1e4) for query in tab["queries"]]


def test_texts_lengths_and_first_documents(tmp_path):
    queries = [0.9, 0.1, 0.5, 0.4]
    for name, shift in (("acme/a", 0.0), ("acme/b", 0.3)):
        folder = model_folder(tmp_path, name)
        add(folder, HEADLINE, queries=list(np.clip(np.array(queries) + shift * np.array([-1, 1, 1, 0]), 0, 1)))
        ranking = {f"q{number}": {f"d{rank}": 10.0 - rank for rank in range(8)} for number in range(4)}
        trec.write_run(folder / f"{HEADLINE}.sample.run", ranking, tag="x")
        trec.write_qrels(folder / f"{HEADLINE}.sample.qrels", {"q0": {"d1": 1, "d2": 0}, "q1": {"d7": 1}})
    texts = TaskTexts({f"q{number}": "word " * (number + 1) for number in range(4)}, {"d1": "a  document\n of lines"})
    _, (tab,), _ = explored(tmp_path, texts)
    assert tab["queries"] == ["q0", "q1", "q2"]  # the models agree on q3
    assert tab["texts"][1] == "word word"
    assert tab["top"][0][0] == [["d0", 0], ["d1", 1], ["d2", 0], ["d3", 0], ["d4", 0]]
    assert [gain for _, gain in tab["top"][1][1]] == [0] * 5
    assert tab["documents"] == {"d1": "a document of lines"}
    halves = {group["title"]: (group["n"], list(group["wins"][0])) for group in tab["groups"]}
    assert halves == {"": (4, [1, 2]), "length_short": (2, [1, 1]), "length_long": (2, [0, 1])}


def test_a_damaged_run_is_named(tmp_path):
    for name, values in (("acme/a", [0.1, 0.2]), ("acme/b", [0.2, 0.1])):
        folder = model_folder(tmp_path, name)
        add(folder, HEADLINE, queries=values)
        (folder / f"{HEADLINE}.sample.run").write_text("q0 no run\n")
    made, (tab,), _ = explored(tmp_path)
    assert tab["top"] == []
    assert len(made.messages) == 2
    assert "row 1" in made.messages[0]


def test_what_does_not_fit_is_counted_and_headlines_come_first(world, monkeypatch):
    every, _, collected = explored(world)
    views = collected.data_sources["sample"].benchmarks
    whole = {tab["task"]: len(json.dumps(tab, ensure_ascii=False)) for view in views for tab in every.of(view)}
    heads = [view.headline.name for view in views]
    needed = sum(whole[head] for head in heads)
    monkeypatch.setattr(explorer, "BUDGET", needed + min(whole.values()) - 1)
    made, _, _ = explored(world)
    assert [tab["task"] for view in views for tab in made.of(view)] == heads
    assert (made.excluded, made.left) == (len(whole) - len(heads), min(whole.values()) - 1)


def test_texts_of_closed_data_are_not_shown():
    assert may_show("sample", None)
    assert may_show("real", "cc-by-4.0")
    for world, licence in (("real", None), ("real", "not specified"), ("own", "mit"), ("local", "cc-by-4.0")):
        assert not may_show(world, licence)
