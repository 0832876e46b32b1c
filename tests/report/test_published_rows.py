"""Measured rows among the papers' rows: which may join, with which numbers and ranks."""

import csv
import io

import polars as pl
import pytest
from report_folders import HEADLINE, add, model_folder

from patent_mteb import published
from patent_mteb.models.loading import load
from patent_mteb.report import published as papers
from patent_mteb.report import rendering
from patent_mteb.report.collect import collect
from patent_mteb.report.published import on_the_papers_data
from patent_mteb.tasks.catalogue import suite_tasks

DAPFAM = "PatentDAPFAMTACToTACRetrieval"


def papers_own(**scores):
    """Scores of the paper's protocol, as a result holds them."""
    return {"paper_n_queries": 77, **{f"paper_{name}": value for name, value in scores.items()}}


def row_of(table, name):
    return {
        column.key: cell
        for column, cell in zip(table.columns, next(row for row in table.rows if row[0].value == name), strict=True)
    }


def test_a_measured_row_among_the_papers_rows(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    scores = {"PatenTEBTitle2Full": 0.7475, "PatenTEBRetrievalOUT": 0.9}
    for task, value in scores.items():
        add(folder, task, 0.123, kind="real", more=papers_own(ndcg_at_10=value))
    add(folder, "PatenTEBParaProblem", 0.01, kind="real")
    (table,), messages = papers.tables_with_measured_rows(collect(tmp_path))
    assert messages == ()
    assert table.notes[-1].startswith("Printed tables that are not compared with results: ")
    printed = published.printed("patenteb", 15)
    assert len(table.rows) == len(printed) + 1
    measured = row_of(table, "acme/small")
    assert measured["source"].value == "measured here"
    for key, value in (("title2full", 0.7475), ("retrieval_out", 0.9), ("para_problem", 0.01)):
        assert measured[key].value == value
        assert measured[key].rank == 1 + (printed[key] > round(value, 3)).sum()
    assert measured["title2full"].rank == 3  # 0.748 is printed for patembed-nano: a tie at the printed digits
    assert measured["class_bloom"].value is None
    assert measured["class_bloom"].rank is None
    for row in printed.iter_rows(named=True):
        paper = row_of(table, row["model"])
        assert paper["source"].value == "paper"
        assert (paper["title2full"].value, paper["retrieval_out"].value) == (row["title2full"], row["retrieval_out"])
        assert all(cell.rank is None for cell in paper.values())
    assert [row[0].value for position, row in enumerate(table.rows) if position in table.emphasised] == ["acme/small"]
    assert measured["retrieval_out"].mark == "best"
    assert "0.010 (9)" in rendering.as_markdown(table)
    assert next(csv.DictReader(io.StringIO(rendering.as_csv(table))))["title2full_rank"] == ""


def test_a_model_with_settings_of_its_own_is_named_as_such_and_a_score_on_too_little_has_no_rank(tmp_path):
    own = papers_own(ndcg_at_10=0.7)
    for settings in (None, {"dims": 64, "precision": "int8"}, {"prompts": "none"}):
        add(model_folder(tmp_path, "acme/small", settings=settings), "PatenTEBTitle2Full", 0.1, kind="real", more=own)
    add(model_folder(tmp_path, "acme/few"), "PatenTEBTitle2Full", 0.1, kind="real", more={**own, "paper_n_queries": 49})
    (table,), _ = papers.tables_with_measured_rows(collect(tmp_path))
    sources = {row[0].value: row[1].value for row in table.rows if row[1].value.startswith("measured")}
    assert sources == {
        "acme/small": "measured here",
        "acme/small (dims=64, precision=int8)": "measured here, with dims, precision of its own",
        "acme/small (prompts=none)": "measured here",
        "acme/few": "measured here",
    }
    few, many = (row_of(table, f"acme/{name}")["title2full"] for name in ("few", "small"))
    assert (few.rank, few.small, few.ranked) == (None, "49 queries", False) and many.rank > 1


def test_bm25_with_the_settings_of_a_table_has_none_of_its_own(tmp_path):
    """DAPFAM's BM25 has k1 = 1.2; the settings of another table do not count."""
    bm25 = load("bm25-dapfam").mteb_model_meta.experiment_kwargs
    own = {"k1": 1.5, "max_tokens": 512}
    for name, settings in (("patent-mteb/bm25-dapfam", bm25), ("patent-mteb/bm25-dapfam", {**bm25, **own})):
        folder = model_folder(tmp_path, name, settings=settings)
        add(folder, DAPFAM, 0.1, kind="real", more=papers_own(ndcg_at_100=0.2))
    tables, _ = papers.tables_with_measured_rows(collect(tmp_path))
    sources = {row[2].value for table in tables for row in table.rows if "measured" in row[2].value}
    assert sources == {"measured here", "measured here, with k1, max_tokens of its own"}
    assert papers.settings_of_its_own("mpi-inno-comp/paecter", {"PatenTEBBloom"}, {"max_tokens": 512}) == ["max_tokens"]
    assert papers.settings_of_its_own("mpi-inno-comp/paecter", {"SophiaTacdRetrieval"}, {"max_tokens": 512}) == []


def test_rows_by_task_and_slices(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    own = papers_own(
        ndcg_at_100=0.3055,
        recall_at_100=0.2,
        in_ndcg_at_100=0.36,
        out_ndcg_at_100=0.01,
        in_n_queries=77,
        out_n_queries=77,
    )
    add(folder, DAPFAM, 0.99, kind="real", slices={"in": 0.98, "out": 0.97}, more={"recall_at_100": 0.96, **own})
    tables, _ = papers.tables_with_measured_rows(collect(tmp_path))
    table = next(table for table in tables if table.name == "published-dapfam-17-19")
    measured = row_of(table, "acme/small")
    assert measured["task"].value == DAPFAM
    printed = pl.concat([published.printed("dapfam", number).filter(pl.col("task") == DAPFAM) for number in (17, 19)])
    assert len(table.rows) == len(printed) + 1
    for key, value in (("ndcg_all", 0.3055), ("ndcg_in", 0.36), ("ndcg_out", 0.01), ("recall_all", 0.2)):
        assert (measured[key].value, measured[key].rank) == (value, 1 + (printed[key] > value).sum())


def test_percent_and_the_mean_of_the_print(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    add(folder, "PatentMapAbsToAbsRetrieval", 0.1, kind="real", more=papers_own(recall_at_100=0.5, recall_at_20=0.3))
    tables, _ = papers.tables_with_measured_rows(collect(tmp_path))
    measured = row_of(tables[0], "acme/small")
    assert measured["abs_to_abs_recall_at_100"].value == 50.0
    assert measured["abs_to_abs_recall_at_20"].value == 30.0

    deep = model_folder(tmp_path / "sophia", "acme/small")
    queries = [
        row["task"]
        for row in published.table("sophia", 3).filter(pl.col("kind") == "score").unique("task").iter_rows(named=True)
    ]
    assert len(queries) == 12
    for step, task in enumerate(sorted(queries)):
        counts = {"n_queries": 10_000, "xy_n_queries": 10_000, "a_n_queries": 9_196}
        parts = {"xy_ndcg_at_10": 0.5, "a_ndcg_at_10": 0.5}
        add(deep, task, 0.9, kind="real", more={**counts, **parts, **papers_own(ndcg_at_10=0.4 + 0.01 * step)})
    tables, _ = papers.tables_with_measured_rows(collect(tmp_path / "sophia"))
    table = next(table for table in tables if table.name == "published-sophia-3")
    assert row_of(table, "acme/small")["mean"].value == pytest.approx(0.455)
    assert row_of(table, "PaECTER")["mean"].value == 0.443
    assert [row[0].value for row in table.rows].index("acme/small") + 1 == row_of(table, "acme/small")["mean"].rank


def test_a_result_from_before_the_papers_protocol_stays_out_and_is_named(tmp_path):
    add(model_folder(tmp_path, "acme/small"), DAPFAM, 0.3, kind="real")
    tables, (message,) = papers.tables_with_measured_rows(collect(tmp_path))
    assert tables == []
    assert (
        message == f"DAPFAM: 1 result holds no score of the paper's protocol, first {DAPFAM} of acme/small; run again."
    )


def test_patentmaps_classification_joins_by_the_authors_protocol(tmp_path):
    task = "PatentMapIPCClassification"
    suite = {"knn_precision_at_3": 0.99, "mlp_precision_at_1": 0.98, "knn_tuned_precision_at_1": 0.97}
    authors = {"paper_knn_precision_at_1": 0.5743, "paper_knn_precision_at_3": 0.25, "paper_mlp_precision_at_1": 0.61}
    add(model_folder(tmp_path, "acme/small"), task, 0.99, kind="real", more=suite | authors)
    tables, messages = papers.tables_with_measured_rows(collect(tmp_path))
    assert messages == ()
    measured = [row_of(table, "acme/small") for table in tables]
    for key, value in (
        ("knn_precision_at_1", 57.43),
        ("knn_precision_at_3", 25.0),
        ("linear_probe_precision_at_1", 61.0),
    ):
        joined = [row[key].value for row in measured if key in row and row[key].value is not None]
        assert joined and joined == pytest.approx([value] * len(joined))

    before = tmp_path / "before"
    add(model_folder(before, "acme/small"), task, 0.99, kind="real", more=suite)
    tables, (message,) = papers.tables_with_measured_rows(collect(before))
    assert tables == []
    assert (
        message == f"PatentMap: 1 result holds no score of the paper's protocol, first {task} of acme/small; run again."
    )


def test_other_data_is_never_ranked_among_the_papers(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    add(folder, HEADLINE, 0.9, kind="real", more={"n_queries": 1101})
    add(folder, DAPFAM, 0.9, kind="local")
    add(folder, "PatenTEBTitle2Full", 0.9)
    tables, messages = papers.tables_with_measured_rows(collect(tmp_path))
    assert tables == []
    (message,) = messages
    assert "1,101 queries" in message
    assert "46,069" in message


SIZES = {"WIPOATEmergingClassification": ({"n_test": 1300, "n_classes": 6}, {"n_test": 1300, "n_classes": 5})}
SIZES["WIPOATEmergingVisionClustering.NoDWPI"] = ({"n_test": 270, "n_clusters": 14}, {"n_test": 60, "n_clusters": 14})
SIZES["WIPOATTAToTARetrieval"] = ({"n_queries": 46_069}, {"n_queries": 1102})


def test_local_data_is_compared_task_by_task_with_the_sizes_of_the_paper(tmp_path):
    """A headline task of the right size speaks for no other task."""
    for model, place in (("acme/right", 0), ("acme/wrong", 1)):
        folder = model_folder(tmp_path, model)
        add(folder, HEADLINE, 0.9, kind="real", more={"n_queries": 46_069})
        for task, counts in SIZES.items():
            add(folder, task, 0.9, kind="real", more=counts[place])
        add(folder, "WIPOATConventionalClustering", 0.5, kind="real")  # an older result, which counts nothing
    view, messages = on_the_papers_data(collect(tmp_path).data_sources["real"].benchmark("WIPO-AT"))
    kept = set(view.results.select("run", "plain").rows())
    assert kept == {("acme/right", HEADLINE), ("acme/wrong", HEADLINE), *(("acme/right", task) for task in SIZES)}
    assert set(view.scores.select("run", "plain").rows()) == kept
    text = " ".join(messages)
    for said in (
        "1,102 queries",
        "n_classes is 5, by the paper 6",
        "n_test is 60, by the paper 237 to 301",
        "n_test is not recorded",
    ):
        assert said in text
    assert "WIPOATConventionalClustering of acme/right and 1 more" in text


def test_sophias_queries_with_a_citations_are_counted_too(tmp_path):
    for model, count in (("acme/right", 9_196), ("acme/wrong", 9_000)):
        counts = {"n_queries": 10_000, "xy_n_queries": 10_000, "a_n_queries": count, "xy_ndcg_at_10": 0.4}
        counts["a_ndcg_at_10"] = 0.3
        add(model_folder(tmp_path, model), "SophiaTacdRetrieval", 0.5, kind="real", more=counts)
    view, (message,) = on_the_papers_data(collect(tmp_path).data_sources["real"].benchmark("Sophia"))
    assert set(view.results["run"]) == {"acme/right"}
    assert "a_n_queries is 9,000, by the paper 9,104 to 9,196" in message


def test_a_model_of_the_paper_is_no_rival_of_itself(tmp_path):
    """Llama-Nemotron-8B in the paper and the same model measured here are one model."""
    best = published.printed("patenteb", 15).sort("title2full", descending=True).row(0, named=True)
    for model in (best["model_id"], "acme/other"):
        add(
            model_folder(tmp_path, model),
            "PatenTEBTitle2Full",
            0.1,
            kind="real",
            more=papers_own(ndcg_at_10=best["title2full"] - 0.01),
        )
    (table,), _ = papers.tables_with_measured_rows(collect(tmp_path))
    ranks = {row[0].value: row[2].rank for row in table.rows if row[1].value == "measured here"}
    assert ranks["acme/other"] == ranks[best["model_id"]] + 1


def test_every_printed_score_of_a_task_has_a_counterpart_in_a_result():
    measured = {
        "ndcg_at_10",
        "ndcg_at_100",
        "recall_at_10",
        "recall_at_20",
        "recall_at_50",
        "recall_at_100",
        "macro_f1",
        "v_measure",
    }
    measured |= (
        {f"knn_precision_at_{k}" for k in (1, 3, 5)}
        | {f"mlp_precision_at_{k}" for k in (1, 3, 5)}
        | {"cosine_pearson", "knn_macro_f1", "ari"}
    )
    measured |= {f"inscope_{level}_at_{k}" for level in ("section", "subclass", "subgroup") for k in (10, 100)}
    for descriptor in published.tables():
        rows = published.table(descriptor.paper, descriptor.table).filter(
            (pl.col("kind") == "score") & (pl.col("task") != "")
        )
        for metric in rows["metric"].unique():
            assert published.score_name(metric).removeprefix("paper_") in measured
        assert set(rows["task"]) <= set(suite_tasks())
