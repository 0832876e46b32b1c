"""Expected scores: what the printed tables state for a model, a task and a metric."""

import csv
from collections import Counter
from fnmatch import fnmatchcase
from importlib.resources import files

import polars as pl
import pytest

from patent_mteb import published
from patent_mteb.published import METRICS, expected, independent
from patent_mteb.sample import SAMPLE_VERSION
from patent_mteb.tasks.catalogue import suite_tasks

PAPERS = {
    "PatenTEB": "patenteb",
    "DAPFAM": "dapfam",
    "Sophia": "sophia",
    "WIPO-AT": "wipo_at",
    "PatentMap": "patentmap",
}
BM25 = {"dapfam": "patent-mteb/bm25-dapfam", "patentmap": "patent-mteb/bm25-bm25s", "wipo_at": "mteb/baseline-bm25s"}
ROWS = expected()
COUNTS = {
    "PatenTEB Table 15": 120,
    "DAPFAM Table 17": 96,
    "DAPFAM Table 19": 54,
    "Sophia Table 3": 72,
    "Sophia Table 2": 96,
    "Sophia Table 4": 72,
    "WIPO-AT Table 8": 105,
    "WIPO-AT Table 9": 105,
    "WIPO-AT Table 10": 8,
    "WIPO-AT Table 19": 12,
    "WIPO-AT Table 25": 105,
    "WIPO-AT Table 26": 105,
    "PatentMap Table 2": 96,
    "PatentMap Table 3": 36,
    "PatentMap Table 5": 6,
    "PatenTEB Table 16; texts TAC to TAC": 96,
    "PatenTEB Table 16; texts as in Sophia Table 5": 96,
}


def printed(source):
    """{(model, task, metric): numbers} of one table."""
    name, number = source.split(";")[0].split(" Table ")
    found = {}
    for row in (
        published.table(PAPERS[name], int(number)).filter(kind="score").drop_nulls("value").iter_rows(named=True)
    ):
        model = BM25[row["paper"]] if row["model_id"] == "mteb/baseline-bm25s" else row["model_id"]
        metric = METRICS.get(row["metric"], row["metric"])
        metric = f"{row['slice']}_{metric}" if row["slice"] else metric
        value = row["value"] / (100 if row["unit"] == "percent" else 1)
        found.setdefault((model, row["task"], metric), []).append(value)
    return found


def test_every_table_states_its_number_of_scores():
    """Counted in the list that was written by hand before the scores were read from the tables."""
    assert dict(Counter(row.source for row in ROWS)) == COUNTS
    assert list(dict.fromkeys(row.source for row in ROWS)) == list(COUNTS)


@pytest.mark.parametrize("source", COUNTS)
def test_every_value_is_printed_for_this_model_task_and_metric(source):
    table = printed(source)
    rows = [row for row in ROWS if row.source == source]
    assert rows
    for row in rows:
        task = "" if "Table 16" in source else row.tasks[0]
        assert any(value == pytest.approx(row.value, abs=1e-9) for value in table[row.model, task, row.metric]), row


def test_a_joined_score_without_an_expected_one_has_a_reason():
    """No released weights, an excluded row, or the same score in a table before."""
    with files("patent_mteb.published").joinpath("expected.csv").open(encoding="utf-8", newline="") as file:
        excluded = [rule for rule in csv.DictReader(file) if rule["excluded"]]
    stated = {(row.model, row.tasks, row.score) for row in ROWS}
    missing = Counter()
    for descriptor in published.tables():
        table = published.table(descriptor.paper, descriptor.table)
        for cell in (
            table.filter((pl.col("kind") == "score") & (pl.col("task") != "")).drop_nulls("value").iter_rows(named=True)
        ):
            key = (
                BM25[cell["paper"]] if cell["model_id"] == "mteb/baseline-bm25s" else cell["model_id"],
                (cell["task"],),
                published.score_name(cell["metric"], cell["slice"]),
            )
            if key in stated:
                continue
            reasons = {
                rule["excluded"]
                for rule in excluded
                if (rule["paper"], rule["table"]) == (cell["paper"], str(cell["table"]))
                and fnmatchcase(cell["model_id"], rule["models"])
            }
            assert reasons or not cell["model_id"], cell
            missing[reasons.pop() if reasons else "no weights"] += 1
    assert missing["zero-shot classification, not a linear probe"] == 20
    assert missing["rank-bm25, whose idf is another one and whose tokens are not stated"] == 3


def test_tasks_metrics_and_tolerances():
    tasks = suite_tasks()
    for row in ROWS:
        kinds = {tasks[task].kind for task in row.tasks}
        two = kinds == {"Retrieval"} or row.tasks == ("PatentMapIPCClassification",)
        assert row.score.startswith("paper_") == two, row
        assert 0.01 * row.value < row.tolerance < 0.01 * row.value + 0.00061, row
        assert not row.settings.keys() & row.here.keys()
    assert len({(row.model, row.tasks, row.metric, *row.settings.items()) for row in ROWS}) == len(ROWS)


def test_settings_are_those_of_the_papers():
    """PatenTEB §5.2 and §5.4, DAPFAM §5.3, Sophia §4.2, WIPO-AT §3.8, and the public code of PatentMap's authors."""
    words = {"method": "lucene", "stopwords": "en", "stemmer": "english", "token_pattern": r"\w\w+"}
    found = {}
    for row in ROWS:
        found.setdefault(row.source.partition(";")[0], {}).setdefault(str((row.settings, dict(row.here))), set()).add(
            row.model
        )
    none, colberts = str(({}, {})), str(({}, {"dtype": "float32", "maxsim": "exact"}))
    assert found["DAPFAM Table 17"].keys() == {str(({"k1": "1.2", "b": "0.75"}, words))}
    assert found["DAPFAM Table 19"].keys() == {str(({"vectors": "int8"}, {"calibration": f"sample-{SAMPLE_VERSION}"}))}
    bm25 = {"method": "lucene", "k1": "1.5", "b": "0.75"} | {name: words[name] for name in list(words)[1:]}
    assert found["PatentMap Table 2"][str((bm25, {}))] == {"patent-mteb/bm25-bm25s"}
    for table in (8, 9, 25, 26):
        assert found[f"WIPO-AT Table {table}"].keys() == {none, colberts}
        assert len(found[f"WIPO-AT Table {table}"][colberts]) == 3
    capped = {"max_tokens": "8192"}
    assert found["PatenTEB Table 15"] == {
        str(({**capped, "prompts": "yes"}, {})): {f"datalyes/patembed-{name}" for name in ("large", "base", "nano")},
        str((capped, {})): {"Qwen/Qwen3-Embedding-0.6B"},  # an instruction model: whether with one is not stated
        str(({**capped, "prompts": "none"}, {})): {
            "Alibaba-NLP/gte-modernbert-base",
            "mpi-inno-comp/paecter",
            "anferico/bert-for-patents",
            "nlpaueb/legal-bert-base-uncased",
        },
    }
    for table in (2, 3, 4):
        sophia = found[f"Sophia Table {table}"]
        assert sophia.pop(str(({"max_tokens": "512", "prompts": "yes"}, {}))) == {"datalyes/patembed-large"}
        assert sophia.keys() == {str(({"max_tokens": "512", "prompts": "none"}, {}))}
    assert found["WIPO-AT Table 19"][str(({"prompts": "none"}, {}))] == {"datalyes/patembed-base"}


def test_two_readings_of_one_table_share_its_cells():
    one, six = (
        [row for row in ROWS if row.source.startswith("PatenTEB Table 16") and len(row.tasks) == n] for n in (1, 6)
    )
    assert {row.tasks for row in one} == {("PatentDAPFAMTACToTACRetrieval",)}
    assert [(row.cell, row.value, row.settings) for row in one] == [(row.cell, row.value, row.settings) for row in six]
    assert len({row.cell for row in one}) == len(one) == 96


def test_scores_of_other_harnesses():
    """Written down from the README of pateval at commit 4039df42, and from a comment of its code (OUT)."""
    known = {(row.model, row.score, row.settings["prompts"]): row for row in independent()}
    assert len(known) == len(independent()) == 19
    paecter = known["mpi-inno-comp/paecter", "paper_ndcg_at_100", "none"]
    assert (paecter.value, paecter.interval, paecter.tolerance) == (0.3424, (0.3278, 0.3548), 0.00347)
    assert known["datalyes/patembed-large", "paper_ndcg_at_100", "yes"].value == 0.3721
    assert known["mpi-inno-comp/paecter", "paper_ndcg_at_10", "none"].value == 0.1028
    stated = {(row.model, row.tasks, row.score) for row in ROWS}
    assert all((row.model, row.tasks, row.score) in stated for row in independent())
    assert {row.harness for row in independent()} == {"pateval"}


def test_the_values_that_a_reader_looks_for_first():
    """PaECTER in PatenTEB: Table 15, and Table 16 without prompts."""
    mine = [row for row in ROWS if row.model == "mpi-inno-comp/paecter"]
    assert [
        (row.value, row.tolerance, row.settings)
        for name in ("IN", "MIXED", "OUT")
        for row in mine
        if row.tasks == (f"PatenTEBRetrieval{name}",)
    ] == [
        (0.421, 0.00471, {"max_tokens": "8192", "prompts": "none"}),
        (0.356, 0.00406, {"max_tokens": "8192", "prompts": "none"}),
        (0.12, 0.0017, {"max_tokens": "8192", "prompts": "none"}),
    ]
    means = {row.metric: row for row in mine if len(row.tasks) == 6 and row.settings["prompts"] == "none"}
    assert [means[f"{part}ndcg_at_100"].value for part in ("", "in_", "out_")] == [0.343, 0.387, 0.06]
