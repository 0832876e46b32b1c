"""The Sophia tasks: scores against a naive evaluation, slices, InScope, missing representations, bad data."""

from __future__ import annotations

import logging
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytrec_eval
from small_patents import Words, evaluate, world

from patent_mteb import files, published
from patent_mteb.errors import DataError
from patent_mteb.patents import ipc
from patent_mteb.recipes import beir
from patent_mteb.recipes.sophia import NAME, Params, build
from patent_mteb.tasks import sophia
from patent_mteb.tasks.benchmark import group_means, summary

TASKS = sophia.BENCHMARK.task_classes
BY_NAME = {task.metadata.name: task for task in TASKS}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A directory of the family, with more than 100 queries, in $PATENT_MTEB_DATA."""
    folder = tmp_path / "data"
    build(*world(180), folder, Params(queries=130))
    monkeypatch.setenv("PATENT_MTEB_DATA", str(folder))
    return folder / NAME


def run(name: str, model=None) -> dict:
    return evaluate(BY_NAME[f"Sophia{name}Retrieval"](), model or Words())


def replace_column(path, name, values) -> None:
    table = pq.read_table(path)
    if name in table.column_names:
        table = table.drop_columns([name])
    pq.write_table(table if values is None else table.append_column(name, pa.array(values)), path)


def naive_run(root, texts: dict[str, str]) -> dict[str, dict[str, float]]:
    """Every document with its cosine to every query, own family left out."""
    model = Words()
    tables = beir.read_beir(root)
    family = {key: row["family_id"] for key, row in files.table_rows(tables.metadata).items()}
    documents = {key: model.vector(" ".join(parts)) for key, parts in tables.corpus.items()}
    return {
        query: {
            key: float(np.float32(model.vector(text) @ vector))
            for key, vector in documents.items()
            if family[key] != family[query]
        }
        for query, text in texts.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Tacd", "Iclms"])
def test_scores_are_those_of_a_naive_evaluation(root, name):
    tables = beir.read_beir(root)
    texts = dict(tables.queries)
    if name != "Tacd":
        table = pq.read_table(root / "queries.parquet")
        texts = dict(zip(table["_id"].to_pylist(), table[name].to_pylist(), strict=True))
    run_ = naive_run(root, texts)
    measures = {f"{m}.{','.join(map(str, sophia.K_VALUES))}" for m in ("ndcg_cut", "recall", "map_cut")}
    expected = pytrec_eval.RelevanceEvaluator(tables.qrels, measures).evaluate(run_)
    scores = run(name)
    for ours, theirs in (("ndcg", "ndcg_cut"), ("recall", "recall"), ("map", "map_cut")):
        for k in sophia.K_VALUES:
            mean = np.mean([values[f"{theirs}_{k}"] for values in expected.values()])
            assert scores[f"{ours}_at_{k}"] == pytest.approx(mean, abs=1e-5), (ours, k)
    ranks = pytrec_eval.RelevanceEvaluator(tables.qrels, {"recip_rank"}).evaluate(run_)
    assert scores["mrr_at_1000"] == pytest.approx(np.mean([v["recip_rank"] for v in ranks.values()]), abs=1e-5)
    assert scores["main_score"] == scores["ndcg_at_10"] and 0.02 < scores["main_score"] < 1
    assert scores["n_queries"] == 130 and scores["n_queries_left_out"] == 0
    edges = pq.read_table(root / "citations.parquet").to_pylist()
    metadata = files.table_rows(tables.metadata)
    wanted = {
        "xy": lambda q, d: any((e["query-id"], e["corpus-id"], e["category"]) == (q, d, "X") for e in edges),
        "a": lambda q, d: any((e["query-id"], e["corpus-id"], e["category"]) == (q, d, "A") for e in edges),
        "ipc_b": lambda q, d: metadata[q]["ipc"][0].startswith("B"),
        "year_2021": lambda q, d: metadata[q]["publication_year"] == 2021,
    }
    for slice_, keep in wanted.items():
        part = {
            q: kept for q, judged in tables.qrels.items() if (kept := {d: g for d, g in judged.items() if keep(q, d)})
        }
        values = pytrec_eval.RelevanceEvaluator(part, {"ndcg_cut.10", "recall.100"}).evaluate(
            {q: run_[q] for q in part}
        )
        assert scores[f"{slice_}_n_queries"] == len(part)
        assert scores[f"{slice_}_ndcg_at_10"] == pytest.approx(
            np.mean([v["ndcg_cut_10"] for v in values.values()]), abs=1e-6
        )
        assert scores[f"{slice_}_recall_at_100"] == pytest.approx(
            np.mean([v["recall_100"] for v in values.values()]), abs=1e-6
        )
    years = {f"year_{year}_ndcg_at_10" for year in range(2016, 2026)}
    assert years <= scores.keys()


@pytest.mark.slow
def test_inscope_is_that_of_a_naive_count(root):
    tables = beir.read_beir(root)
    codes = {key: row["ipc"] for key, row in files.table_rows(tables.metadata).items()}
    ranked = naive_run(root, tables.queries)
    scores = run("Tacd")
    for level in ("section", "subclass", "subgroup"):
        known = {key: set(ipc.codes_at(own, level).codes) for key, own in codes.items()}
        for k in (1, 5, 10, 20, 50, 100):
            values = []
            for query, found in ranked.items():
                top = sorted(found, key=lambda d: (found[d], d), reverse=True)[:k]
                values.append(sum(bool(known[query] & known[d]) for d in top) / k)
            assert scores[f"inscope_{level}_at_{k}"] == pytest.approx(np.mean(values), abs=1e-9), (level, k)


@pytest.mark.slow
def test_a_query_without_a_representation_leaves_that_task_only(root, caplog):
    before = run("Ab")
    path = root / "queries.parquet"
    texts = pq.read_table(path)["Obj"].to_pylist()
    replace_column(path, "Obj", [None if i < 3 else "  " if i < 5 else text for i, text in enumerate(texts)])
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        scores = run("Obj")
    assert re.search(r"SophiaObjRetrieval.local-\w+: 5 of 130 queries have no Obj and are skipped", caplog.text)
    assert scores["n_queries"] == 125 and scores["n_queries_left_out"] == 5
    assert scores["xy_n_queries"] == 125
    assert sum(scores[f"year_{year}_n_queries"] for year in range(2016, 2026)) == 125
    after = run("Ab")
    assert after["n_queries"] == 130 and after["ndcg_at_10"] == before["ndcg_at_10"]


def test_a_representation_that_nobody_has(root):
    path = root / "queries.parquet"
    replace_column(path, "AiAdv", None)
    with pytest.raises(DataError, match=r"the query representation AiAdv is missing.*write column 'AiAdv'"):
        run("AiAdv")
    replace_column(path, "AiAdv", pa.array([None] * 130, pa.string()))
    with pytest.raises(DataError, match="no query has the representation AiAdv"):
        run("AiAdv")


def test_jurisdictions_below_the_limit_are_one_row():
    offices = (
        {f"u{i}": "US" for i in range(60)} | {f"g{i}": "GB" for i in range(40)} | {f"k{i}": "KR" for i in range(99)}
    )
    offices |= {f"i{i}": "IN" for i in range(100)} | {"f": "FR", "x": ""}
    groups = sophia.jurisdictions(offices)
    assert Counter(groups.values()) == {"en": 100, "row": 100, "in": 100, None: 1}
    assert groups["g1"] == "en" and groups["k1"] == "row" and groups["f"] == "row" and groups["x"] is None


def test_odd_data_is_counted(root, caplog):
    metadata = pq.read_table(root / "metadata.parquet")
    replace_column(root / "metadata.parquet", "ipc", [["no code", "B60T 8/17"], *metadata["ipc"].to_pylist()[1:]])
    edges = pq.read_table(root / "citations.parquet")
    categories = edges["category"].to_pylist()
    replace_column(root / "citations.parquet", "category", ["Q", "Q", "D", *categories[3:]])
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        scores = run("Ab")
    assert "2 citations with a category that no search report uses" in caplog.text
    assert "1 citations without a category X, Y or A" in caplog.text
    assert "judgements without a citation of category X, Y or A" in caplog.text
    assert "IPC codes" in caplog.text
    assert scores["n_queries"] == 130


def test_without_the_optional_tables_the_slices_are_named(root, caplog):
    (root / "citations.parquet").unlink()
    (root / "metadata.parquet").unlink()
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        scores = run("Ab")
    for slice_ in ("xy", "a", "ipc_*", "jurisdiction_*", "year_*"):
        assert f"slice {slice_} cannot be formed" in caplog.text
    assert not any(name.startswith(("xy_", "year_")) for name in scores)
    assert scores["inscope_section_n_queries"] == 0


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("citations.parquet", "direction", "sideways", "row 1: direction 'sideways'"),
        ("citations.parquet", "corpus-id", "XX1", r"row 1: the pair '\w+', 'XX1' is not judged relevant"),
        ("queries.parquet", "_id", "XX1", "row 1: unknown query 'XX1'"),
    ],
)
def test_data_that_cannot_be_used(root, table, column, value, message):
    values = pq.read_table(root / table)[column].to_pylist()
    replace_column(root / table, column, [value, *values[1:]])
    with pytest.raises(DataError, match=rf"{table}, {message}.*Remedy"):
        run("Ab")


def test_wrong_types_and_repeated_queries(root):
    ids = pq.read_table(root / "queries.parquet")["_id"].to_pylist()
    replace_column(root / "queries.parquet", "_id", [ids[1], *ids[1:]])
    with pytest.raises(DataError, match=r"row 2: _id '.*' occurs twice \(first in row 1\)"):
        run("Ab")
    replace_column(root / "queries.parquet", "_id", ids)
    years = pq.read_table(root / "metadata.parquet")["publication_year"].to_pylist()
    replace_column(root / "metadata.parquet", "publication_year", [str(year) for year in years])
    with pytest.raises(DataError, match="column 'publication_year' has type string, expected int64"):
        run("Ab")


def test_the_benchmark_reproduces_average_and_spread_of_table_3():
    benchmark = sophia.BENCHMARK
    assert benchmark.facts.spread
    rows = published.printed("sophia", 3).to_dicts()
    printed = [
        *("tacd", "clms", "ab", "iclms", "obj", "desc", "adb"),
        *("ai_ab", "ai_features", "ai_claim_summary", "ai_adv", "ai_obj"),
    ]
    columns = dict(zip(printed, BY_NAME, strict=True))
    assert len(rows) == 7
    for row in rows:
        scores = {f"{name}.sample": float(row[column]) for column, name in columns.items()}
        found = summary(benchmark, scores)
        assert found["Overall"] == pytest.approx(float(row["average"]), abs=6e-4)
        assert found["Spread"] == pytest.approx(float(row["max_min"]), abs=1.1e-3)
        means = group_means(benchmark, scores)
        assert (7 * means["Structured fields"] + 5 * means["Machine summaries"]) / 12 == pytest.approx(found["Overall"])
