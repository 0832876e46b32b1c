"""The tables of a report: right numbers, marks, missing means, short names."""

import numpy as np
import pytest
from report_folders import DIAGONAL, HEADLINE, add, built_tables, main_scores, model_folder

from patent_mteb.report import cells
from patent_mteb.report.rendering import as_csv, as_latex, as_markdown
from patent_mteb.report.tables import ranking
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.catalogue import suite_tasks


def column(table, key):
    position = [column.key for column in table.columns].index(key)
    return {row[0].value: row[position] for row in table.rows}


def test_means_are_missing_not_smaller(world):
    tables = built_tables(world)
    overall, patenteb = tables["sample-overall"], tables["sample-patenteb"]
    scores = main_scores(world)
    tasks = [name for name, spec in suite_tasks().items() if spec.benchmark == "PatenTEB"]
    for model in ("acme/small", "acme/large"):
        mean = np.mean([scores[f"{task}.sample", model]["main_score"] for task in tasks])
        assert column(overall, "patenteb")[model].value == pytest.approx(mean, abs=1e-12)
        assert column(patenteb, "overall")[model].value == pytest.approx(mean, abs=1e-12)
    assert column(overall, "patenteb")["lex/bm25"].value is None
    assert column(patenteb, "overall")["lex/bm25"].value is None
    retrieval = [task for task in tasks if suite_tasks()[task].kind == "Retrieval"]
    mean = np.mean([scores[f"{task}.sample", "lex/bm25"]["main_score"] for task in retrieval])
    assert column(patenteb, "retrieval")["lex/bm25"].value == pytest.approx(mean, abs=1e-12)
    assert column(patenteb, "score")["lex/bm25"].value == pytest.approx(mean, abs=1e-12)
    assert column(patenteb, "classification")["lex/bm25"].value is None
    assert all(cell.value is None for cell in column(overall, "overall").values())
    assert all(cell.value is None for cell in column(overall, "wipo-at").values())  # three of its tasks were measured
    assert column(overall, "tasks")["lex/bm25"].value == f"11 of {len(catalogue.total().task_classes)}"


def test_in_next_to_out_with_the_relative_gap(world):
    tables = built_tables(world)
    keys = [column.key for column in tables["sample-wipo-at"].columns]
    assert keys[keys.index("headline") : keys.index("headline") + 4] == [
        "headline",
        "headline_in",
        "headline_out",
        "headline_gap_percent",
    ]
    for model in ("lex/bm25", "acme/small", "acme/large"):
        entry = main_scores(world)[f"{HEADLINE}.sample", model]
        inside, outside = entry["in_ndcg_at_10"], entry["out_ndcg_at_10"]
        row = [column(tables["sample-wipo-at"], key)[model].value for key in keys[keys.index("headline") :][:4]]
        assert row == [entry["main_score"], inside, outside, 100 * (inside - outside) / inside]
    domains = tables["sample-wipo-at-domains"]
    assert [row[0].value for row in domains.rows] == [task for task in DIAGONAL for _ in range(3)]
    entry = main_scores(world)["PatenTEBRetrievalIN.sample", "acme/small"]
    assert column(tables["sample-patenteb"], "headline_in")["acme/small"].value == entry["main_score"]


def test_scores_on_too_little_are_in_no_mean_and_never_best(tmp_path):
    """PatentMap's three tasks, one on 25 queries; the other two make the mean, which says what it is without."""
    for model, few, many, share in (("acme/large", 0.9, 0.5, 0.25), ("acme/small", 0.1, 0.4, 0.5)):
        folder = model_folder(tmp_path, model)
        add(
            folder,
            "PatentMapAbsToAbsRetrieval",
            few,
            more={"n_queries": 25, "recall_at_100_low": few - 0.1, "recall_at_100_high": few + 0.1},
        )
        add(folder, "PatentMapClmToAllRetrieval", many, more={"n_queries": 50})
        add(folder, "PatentMapIPCClassification", share, more={"n_test": 30})
    tables = built_tables(tmp_path)
    table = tables["sample-patentmap"]
    assert {model: cell.value for model, cell in column(table, "overall").items()} == {
        "acme/large": 0.375,
        "acme/small": 0.45,
    }
    assert {cell.small for cell in column(table, "overall").values()} == {"without PatentMapAbsToAbsRetrieval"}
    assert {model: cell.value for model, cell in column(table, "retrieval").items()} == {
        "acme/large": 0.5,
        "acme/small": 0.4,
    }
    assert {cell.small for cell in column(table, "classification").values()} == {""}
    assert {model: cell.value for model, cell in column(tables["sample-overall"], "patentmap").items()} == {
        "acme/large": 0.375,
        "acme/small": 0.45,
    }
    few, many, _ = tables["sample-patentmap-tasks"].rows
    assert [(cell.small, cell.interval, cell.mark) for cell in few[3:]] == [
        ("25 queries", (pytest.approx(value - 0.1), pytest.approx(value + 0.1)), "") for value in (0.9, 0.1)
    ]
    assert [(cell.small, cell.mark) for cell in many[3:]] == [("", "best"), ("", "second")]
    shown = tables["sample-patentmap-tasks"]
    assert "| 0.9000†\N{NO-BREAK SPACE}\\[0.80," in as_markdown(shown) and "**0.9000" not in as_markdown(shown)
    assert "0.9000\\textdagger{}~{[}" in as_latex(shown) and "25 queries" in as_csv(shown)
    assert any(note.startswith("†: too few queries (< 50)") for note in table.notes)


def test_two_summaries_with_one_label_are_two_rows():
    rows = [("acme/small @abc", {"PatentMapAbsToAbsRetrieval": value, "Other": 1.0}) for value in (0.1, 0.3)]
    table = ranking(catalogue.find("PatentMap"), rows, name="board", title="Board")
    assert [[cell.value for cell in row[:3]] for row in table.rows] == [
        ["acme/small @abc #2", 1, 0.3],
        ["acme/small @abc", 2, 0.1],
    ]
    assert {row[-1].value for row in table.rows} == {"1 of 3"}


def test_gap_of_nothing_is_missing(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    add(folder, HEADLINE, 0.1, slices={"in": 0.0, "out": 0.0})
    add(model_folder(tmp_path, "acme/large"), HEADLINE, 0.2, slices={"in": 0.4})
    table = built_tables(tmp_path)["sample-wipo-at"]
    assert {model: cell.value for model, cell in column(table, "headline_gap_percent").items()} == {
        "acme/small": None,
        "acme/large": None,
    }
    assert column(table, "headline_out")["acme/large"].value is None


def test_marks_go_by_what_is_shown():
    row = [cells.Cell(value) for value in (0.50001, 0.49996, 0.3, None, 0.4, 0.1)]
    assert cells.mark(row) == ["best", "best", "", "", "second", ""]
    assert cells.mark([cells.Cell(0.5), cells.Cell(None)]) == ["", ""]


def test_marks_within_each_task_of_the_domains_table(world):
    table = built_tables(world)["sample-wipo-at-domains"]
    for task in DIAGONAL:
        rows = [row for row in table.rows if row[0].value == task]
        for position in (2, 3, 4):
            ranked = sorted(rows, key=lambda row: -row[position].value)
            assert [row[position].mark for row in ranked] == ["best", "second", ""]
        assert {row[5].mark for row in rows} == {""}


def test_many_models_stand_in_one_table_that_is_shown_in_parts_and_marked_across_them(tmp_path):
    for number in range(8):
        add(model_folder(tmp_path, f"acme/m{number}"), HEADLINE, 0.1 * (number + 1))
    table = built_tables(tmp_path)["sample-wipo-at-tasks"]
    first, second = table.parts()
    assert [len(part.columns) for part in (first, second)] == [9, 5]
    assert (
        [column.key for column in first.columns[:3]]
        == [column.key for column in second.columns[:3]]
        == ["group", "task", "measure"]
    )
    assert (first.title, second.title) == (f"{table.title}, 1 to 6 of 8", f"{table.title}, 7 to 8 of 8")
    shown = {
        column.key: cell.mark
        for part in (first, second)
        for column, cell in zip(part.columns[3:], part.rows[0][3:], strict=True)
    }
    assert shown == {f"acme/m{number}": {7: "best", 6: "second"}.get(number, "") for number in range(8)}


@pytest.mark.parametrize(
    ("benchmark", "task", "name"),
    [
        ("WIPO-AT", HEADLINE, "TAC→TAC"),
        ("WIPO-AT", "WIPOATClaim1ToDWPIFullRetrieval.sample", "Claim1→DWPIFull"),
        ("DAPFAM", "PatentDAPFAMTAToTACInRetrieval", "TA→TAC IN"),
        ("Sophia", "SophiaTacdRetrieval", "Tacd"),
        ("WIPO-AT", "WIPOATEmergingClustering.NoDWPI", "EmergingClustering.NoDWPI"),
    ],
)
def test_short_names(benchmark, task, name):
    (facts,) = (one.facts for one in catalogue.benchmarks() if one.name == benchmark)
    assert cells.short(task, facts) == name


def test_short_names_are_distinct_within_a_benchmark():
    for benchmark in catalogue.benchmarks():
        names = [cells.short(task.metadata.name, benchmark.facts) for task in benchmark.task_classes]
        assert len(set(names)) == len(names)


def test_no_two_columns_of_a_table_have_one_key(world, tmp_path):
    """DAPFAM has groups that are called IN and OUT, as the sides of the headline task are."""
    folder = model_folder(tmp_path, "acme/small")
    for task in ("PatentDAPFAMTACToTACRetrieval", "PatentDAPFAMTACToTACInRetrieval"):
        add(folder, task, 0.3, kind="real", slices={"in": 0.4, "out": 0.1})
    tables = [*built_tables(world).values(), *built_tables(tmp_path).values()]
    assert any({"in", "headline_in"} <= {column.key for column in table.columns} for table in tables)
    for table in tables:
        keys = [column.key for column in table.columns]
        assert len(set(keys)) == len(keys), (table.name, keys)


def test_delta_dwpi_is_the_task_minus_its_twin_without(tmp_path):
    """WIPO-AT eq. 4, in retrieval as in Table 15 (DWPI-F minus TAC); what lacks one of the two has no difference."""
    first, second = model_folder(tmp_path, "acme/large"), model_folder(tmp_path, "acme/small")
    for folder, task, value in (
        (first, "WIPOATEmergingClassification", 0.75),
        (first, "WIPOATEmergingClassification.NoDWPI", 0.5),
        (first, "WIPOATEmergingClassification.DWPIOnly", 0.1),
        (first, "WIPOATEmergingClustering", 0.25),
        (second, "WIPOATEmergingClustering", 0.25),
        (second, "WIPOATEmergingClustering.NoDWPI", 0.375),
        (second, "WIPOATConventionalClustering", 0.3),
        (first, "PatentCitationRetrieval", 0.25),
        (first, "WIPOATTACToDWPIFullRetrieval", 0.3125),
        (first, "WIPOATTACToDWPITARetrieval", 0.9),
        (second, "WIPOATTACToDWPIFullRetrieval", 0.5),
        (second, "WIPOATTAToDWPIFullRetrieval", 0.5),
    ):
        add(folder, task, value)
    table = built_tables(tmp_path)["sample-wipo-at-delta-dwpi"]
    assert "ΔDWPI" in table.title
    assert [column.key for column in table.columns] == [
        "model",
        "WIPOATTACToDWPIFullRetrieval",
        "WIPOATEmergingClassification",
        "WIPOATEmergingClustering",
    ]
    assert {row[0].value: [cell.value for cell in row[1:]] for row in table.rows} == {
        "acme/large": [0.0625, 0.25, None],
        "acme/small": [None, None, -0.125],
    }
    limits = {"macro_f1_low": 0.625, "macro_f1_high": 0.8125, "n_test": 29}
    add(first, "WIPOATEmergingClassification", 0.75, more=limits)
    add(
        first,
        "WIPOATEmergingClassification.NoDWPI",
        0.5,
        more={"macro_f1_low": 0.375, "macro_f1_high": 0.75, "n_test": 40},
    )
    (cell,) = [
        row[2] for row in built_tables(tmp_path)["sample-wipo-at-delta-dwpi"].rows if row[0].value == "acme/large"
    ]
    assert cell.interval == pytest.approx((0.25 - np.hypot(0.125, 0.25), 0.25 + np.hypot(0.0625, 0.125)))
    assert (cell.small, cell.ranked) == ("29 test rows", False)
    add(first, "PatentDAPFAMTAToTARetrieval", 0.5)
    assert "sample-dapfam-delta-dwpi" not in built_tables(tmp_path)
