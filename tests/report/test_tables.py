"""The tables of a report: right numbers in every form, marks, letters, missing means, and the papers' rows."""

import csv
import io
import json
import re

import numpy as np
import polars as pl
import pytest
from report_folders import DIAGONAL, HEADLINE, add, place, sample_world

from patent_mteb import published, report
from patent_mteb.metrics.significance import bootstrap, holm
from patent_mteb.report import cells, forms, tables
from patent_mteb.report import published as papers
from patent_mteb.report.collect import ReportError, collect, suite_tasks
from patent_mteb.report.statistics import Statistics, statistics

DAPFAM = "PatentDAPFAMTACToTACRetrieval"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return sample_world(tmp_path_factory.mktemp("world"))


def mains(root):
    """Main scores by task and model, read from the result files by hand."""
    found = {}
    for path in root.glob("results/*/*/*.json"):
        if path.name != "model_meta.json":
            (entries,) = json.loads(path.read_text())["scores"].values()
            found[path.stem, path.parts[-3].replace("__", "/")] = entries[0]
    return found


def build(root, baseline=None):
    collected = collect(root)
    found = statistics(collected, baseline) if baseline else Statistics()
    return {table.name: table for table in tables.build(collected, found)}


def column(table, key):
    place_of = [column.key for column in table.columns].index(key)
    return {row[0].value: row[place_of] for row in table.rows}


def test_means_are_missing_not_smaller(world):
    tables = build(world)
    overall, family = tables["sample-overall"], tables["sample-patenteb"]
    scores = mains(world)
    tasks = [name for name, spec in suite_tasks().items() if spec.family == "PatenTEB"]
    for model in ("acme/small", "acme/large"):
        mean = np.mean([scores[f"{task}.sample", model]["main_score"] for task in tasks])
        assert column(overall, "patenteb")[model].value == pytest.approx(mean, abs=1e-12)
        assert column(family, "overall")[model].value == pytest.approx(mean, abs=1e-12)
    assert column(overall, "patenteb")["lex/bm25"].value is None
    assert column(family, "overall")["lex/bm25"].value is None
    retrieval = [task for task in tasks if suite_tasks()[task].kind == "Retrieval"]
    mean = np.mean([scores[f"{task}.sample", "lex/bm25"]["main_score"] for task in retrieval])
    assert column(family, "retrieval")["lex/bm25"].value == pytest.approx(mean, abs=1e-12)
    assert column(family, "mean_of_8_common")["lex/bm25"].value == pytest.approx(mean, abs=1e-12)
    assert column(family, "classification")["lex/bm25"].value is None
    assert all(cell.value is None for cell in column(overall, "overall").values())
    assert all(cell.value is None for cell in column(overall, "wipo-at").values())  # three of its tasks were measured
    assert column(overall, "tasks")["lex/bm25"].value == f"11 of {len(suite_tasks())}"


def test_in_beside_out_with_the_relative_gap(world):
    tables = build(world)
    keys = [column.key for column in tables["sample-wipo-at"].columns]
    assert keys[keys.index("headline") : keys.index("headline") + 4] == ["headline", "in", "out", "gap_percent"]
    for model in ("lex/bm25", "acme/small", "acme/large"):
        entry = mains(world)[f"{HEADLINE}.sample", model]
        inside, outside = entry["in_ndcg_at_10"], entry["out_ndcg_at_10"]
        row = {key: column(tables["sample-wipo-at"], key)[model].value for key in ("headline", "in", "out", "gap_percent")}
        assert row == {"headline": entry["main_score"], "in": inside, "out": outside, "gap_percent": 100 * (inside - outside) / inside}
    domains = tables["sample-wipo-at-domains"]
    assert [row[0].value for row in domains.rows] == [task for task in DIAGONAL for _ in range(3)]
    entry = mains(world)["PatenTEBRetrievalIN.sample", "acme/small"]
    assert column(tables["sample-patenteb"], "in")["acme/small"].value == entry["main_score"]


def test_gap_of_nothing_is_missing(tmp_path):
    folder = place(tmp_path, "acme/small")
    add(folder, HEADLINE, 0.1, slices={"in": 0.0, "out": 0.0})
    add(place(tmp_path, "acme/large"), HEADLINE, 0.2, slices={"in": 0.4})
    table = build(tmp_path)["sample-wipo-at"]
    assert {model: cell.value for model, cell in column(table, "gap_percent").items()} == {"acme/small": None, "acme/large": None}
    assert column(table, "out")["acme/large"].value is None


def test_marks_go_by_what_is_shown():
    cells = [cells.Cell(value) for value in (0.50001, 0.49996, 0.3, None, 0.4, 0.1)]
    assert cells.mark(cells) == ["best", "best", "", "", "second", ""]
    assert cells.mark([cells.Cell(0.5), cells.Cell(None)]) == ["", ""]


def test_marks_within_each_task_of_the_domains_table(world):
    table = build(world)["sample-wipo-at-domains"]
    for task in DIAGONAL:
        rows = [row for row in table.rows if row[0].value == task]
        for place_of in (2, 3, 4):
            ranked = sorted(rows, key=lambda row: -row[place_of].value)
            assert [row[place_of].mark for row in ranked] == ["best", "second", ""]
        assert {row[5].mark for row in rows} == {""}


def test_letters_are_the_paired_bootstrap_with_holms_correction(tmp_path):
    rng = np.random.default_rng(5)
    easy = rng.random(200) * 0.6
    models = {"base/line": 0.0, "acme/equal": 0.001, "acme/better": 0.03, "acme/best": 0.1, "acme/worse": -0.1}
    queries = {model: np.clip(easy + gain + 0.15 * rng.standard_normal(200), 0, 1) for model, gain in models.items()}
    for model, values in queries.items():
        add(place(tmp_path, model), HEADLINE, queries=values)
    found = statistics(collect(tmp_path), "base/line")
    order = sorted(queries)
    by_name = sorted(range(200), key=lambda number: f"q{number}")  # the report puts the queries in the order of their names
    direct = bootstrap(np.column_stack([queries[model] for model in order])[by_name])
    at = order.index("base/line")
    others = [place_of for place_of in range(len(order)) if place_of != at]
    corrected = holm(direct.p_values()[at][others])
    expected = {
        order[place_of]: p < 0.05 and direct.means[place_of] > direct.means[at] for place_of, p in zip(others, corrected, strict=True)
    }
    assert {model: found.scores[f"{HEADLINE}.sample", model].better for model in expected} == expected
    assert (expected["acme/best"], expected["acme/equal"], expected["acme/worse"]) == (True, False, False)
    for place_of, p in zip(others, corrected, strict=True):
        score = found.scores[f"{HEADLINE}.sample", order[place_of]]
        assert [score.low, score.high] == pytest.approx(direct.intervals()[place_of], abs=1e-9)
        assert (score.p, score.p_holm) == (direct.p_values()[at][place_of], p)
    assert found.scores[f"{HEADLINE}.sample", "base/line"].p is None
    table = build(tmp_path, "base/line")["sample-wipo-at-tasks"]
    letters = {column.key: cell.letters for column, cell in zip(table.columns, table.rows[0], strict=True)}
    assert {model: letters[model] == "a" for model in expected} == expected
    assert any(note.startswith("a: significantly better than base/line") for note in table.notes)


def test_no_letters_without_baseline(world):
    assert not any(cell.letters for table in build(world).values() for row in table.rows for cell in row)
    assert not any(note.startswith("a:") for table in build(world).values() for note in table.notes)


def test_other_queries_are_not_compared(tmp_path):
    rng = np.random.default_rng(0)
    for model in ("base/line", "acme/small"):
        add(place(tmp_path, model), HEADLINE, queries=rng.random(50))
    add(place(tmp_path, "acme/other"), HEADLINE, queries=rng.random(49))
    found = statistics(collect(tmp_path), "base/line")
    assert set(found.scores) == {(f"{HEADLINE}.sample", "base/line"), (f"{HEADLINE}.sample", "acme/small")}
    (message,) = found.messages
    assert "acme/other" in message
    assert HEADLINE in message


def test_the_baseline_must_be_clear(tmp_path):
    add(place(tmp_path, "acme/small", "r1"), HEADLINE, 0.1)
    add(place(tmp_path, "acme/small", "r2"), HEADLINE, 0.2)
    collected = collect(tmp_path)
    with pytest.raises(ReportError, match=r"acme/small @r1; acme/small @r2"):
        statistics(collected, "acme/small")
    with pytest.raises(ReportError, match="no results of a model 'nobody'"):
        statistics(collected, "nobody")
    assert statistics(collected, "acme/small @r2").baseline == "acme/small @r2"


# --- forms -------------------------------------------------------------------------------------------------------------------


def of_markdown(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip().replace("\\", "") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [[re.sub(r"\*\*|</?u>|<sup>.*?</sup>", "", cell) for cell in row] for row in rows[2:]]


def of_latex(text):
    body = text.partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    rows = [line.removesuffix(r"\\").split(" & ") for line in body.strip().splitlines()]
    return [
        [re.sub(r"\\textbf\{(.*?)\}|\\underline\{(.*?)\}", r"\1\2", cell).replace("$^{a}$", "").replace("\\", "").strip() for cell in row]
        for row in rows
    ]


def of_terminal(table):
    from rich.console import Console

    console = Console(width=250, record=True, file=io.StringIO())
    console.print(forms.as_terminal(table))
    return console.export_text()


@pytest.mark.parametrize("baseline", [None, "lex/bm25"])
def test_every_form_shows_the_numbers_of_the_result_files(world, baseline):
    table = build(world, baseline)["sample-patenteb-tasks"]
    scores = mains(world)
    models = [column.key for column in table.columns[3:]]
    assert sorted(models) == ["acme/large", "acme/small", "lex/bm25"]
    expected = []
    for group, task, measure, *_ in table.rows:
        found = [scores.get((f"{task.value}.sample", model), {}).get("main_score") for model in models]
        expected.append([group.value, task.value, measure.value, *found])
    assert len(expected) == 15

    def rounded(missing):
        return [[*row[:3], *(missing if value is None else f"{value:.4f}" for value in row[3:])] for row in expected]

    assert of_markdown(forms.as_markdown(table)) == rounded("–")
    assert of_latex(forms.as_latex(table)) == rounded("--")
    lines = of_terminal(table).splitlines()
    for row in rounded("–"):
        (line,) = [line for line in lines if f" {row[1]} " in line]
        assert [word for word in line.split() if word != "a"] == row
    read = list(csv.DictReader(io.StringIO(forms.as_csv(table))))
    assert [[float(row[model]) if row[model] else None for model in models] for row in read] == [row[3:] for row in expected]
    if baseline:
        assert {row["acme/large_better_than_baseline"] for row in read if row["group"] == "Retrieval"} == {"a"}
        assert "<sup>a</sup>" in forms.as_markdown(table)
        assert "$^{a}$" in forms.as_latex(table)


def test_marks_in_every_form(tmp_path):
    for value, model in ((0.3, "acme/a_b"), (0.2, "acme/b|c"), (0.1, "acme/<c>&%")):
        add(place(tmp_path, model), HEADLINE, value, slices={"in": value, "out": value / 2})
    table = build(tmp_path)["sample-wipo-at"]
    markdown, latex = forms.as_markdown(table), forms.as_latex(table)
    assert "| acme/a\\_b | " in markdown
    assert "**0.3000**" in markdown
    assert "<u>0.2000</u>" in markdown
    assert "acme/b\\|c" in markdown
    assert "acme/\\<c\\>&%" in markdown
    assert all(len(row) == len(table.columns) for row in of_markdown(markdown))
    assert r"acme/a\_b" in latex
    assert r"\textbf{0.3000}" in latex
    assert r"\underline{0.2000}" in latex
    assert r"\&\%" in latex
    from rich.console import Console

    console = Console(width=250, force_terminal=True, color_system="standard", file=io.StringIO())
    console.print(forms.as_terminal(table))
    text = console.file.getvalue()
    assert "\x1b[1m0.3000\x1b[0m" in text
    assert "\x1b[4m0.2000\x1b[0m" in text


def test_sample_and_local_tables_carry_a_banner_and_real_ones_none(tmp_path):
    folder = place(tmp_path, "acme/small")
    add(folder, HEADLINE, 0.1)
    add(folder, DAPFAM, 0.2, kind="real")
    add(folder, "PatentDAPFAMTAToTARetrieval", 0.3, kind="local")
    tables = build(tmp_path)
    assert set(tables) == {
        *("real-overall", "real-dapfam", "real-dapfam-tasks", "local-overall", "local-dapfam", "local-dapfam-tasks"),
        *("sample-overall", "sample-wipo-at", "sample-wipo-at-tasks"),
    }
    for name, table in tables.items():
        assert bool(table.banner) == (not name.startswith("real"))
        for form in (forms.as_markdown(table), forms.as_latex(table), of_terminal(table)):
            assert ("Built-in sample" in form) == name.startswith("sample")
            assert ("Local copies" in form) == name.startswith("local")
    assert [row[1].value for row in tables["real-dapfam-tasks"].rows] == [DAPFAM]
    assert [row[1].value for row in tables["local-dapfam-tasks"].rows] == ["PatentDAPFAMTAToTARetrieval"]


def test_many_models_are_spread_over_several_tables_and_marked_across_them(tmp_path):
    for number in range(8):
        add(place(tmp_path, f"acme/m{number}"), HEADLINE, 0.1 * (number + 1))
    tables = build(tmp_path)
    first, second = tables["sample-wipo-at-tasks-1"], tables["sample-wipo-at-tasks-2"]
    shown = {column.key: cell.mark for table in (first, second) for column, cell in zip(table.columns[3:], table.rows[0][3:], strict=True)}
    assert shown == {f"acme/m{number}": {7: "best", 6: "second"}.get(number, "") for number in range(8)}


@pytest.mark.parametrize(
    ("task", "name"),
    [
        (HEADLINE, "TAC→TAC"),
        ("WIPOATClaim1ToDWPIFullRetrieval.sample", "Claim1→DWPIFull"),
        ("PatentDAPFAMTAToTACInRetrieval", "TA→TAC IN"),
        ("PatenTEBRetrievalIN", "RetrievalIN"),
        ("PatenTEBTitle2Full", "Title2Full"),
        ("SophiaTacdRetrieval", "Tacd"),
        ("WIPOATEmergingClustering.NoDWPI", "EmergingClustering.NoDWPI"),
    ],
)
def test_short_names(task, name):
    assert cells.short(task) == name


def test_short_names_are_distinct_within_a_family():
    for family in {spec.family for spec in suite_tasks().values()}:
        names = [cells.short(name) for name, spec in suite_tasks().items() if spec.family == family]
        assert len(set(names)) == len(names)


# --- beside the papers -------------------------------------------------------------------------------------------------------


def row_of(table, name):
    return {column.key: cell for column, cell in zip(table.columns, next(row for row in table.rows if row[0].value == name), strict=True)}


def test_a_measured_row_among_the_papers_rows(tmp_path):
    folder = place(tmp_path, "acme/small")
    scores = {"PatenTEBTitle2Full": 0.7475, "PatenTEBRetrievalOUT": 0.9, "PatenTEBParaProblem": 0.01}
    for task, value in scores.items():
        add(folder, task, value, kind="real")
    (table,), messages = papers.beside(collect(tmp_path))
    assert messages == ()
    printed = published.printed("patenteb", 15)
    assert len(table.rows) == len(printed) + 1
    ours = row_of(table, "▸ acme/small")
    assert ours["source"].value == "measured here"
    for key, value in (("title2full", 0.7475), ("retrieval_out", 0.9), ("para_problem", 0.01)):
        assert ours[key].value == value
        assert ours[key].rank == 1 + (printed[key] > round(value, 3)).sum()
    assert ours["title2full"].rank == 3  # 0.748 is printed for patembed-nano: a tie at the printed digits
    assert ours["class_bloom"].value is None
    assert ours["class_bloom"].rank is None
    for row in printed.iter_rows(named=True):
        found = row_of(table, row["model"])
        assert found["source"].value == "paper"
        assert (found["title2full"].value, found["retrieval_out"].value) == (row["title2full"], row["retrieval_out"])
        assert all(cell.rank is None for cell in found.values())
    assert [row[0].value for place_of, row in enumerate(table.rows) if place_of in table.emphasised] == ["▸ acme/small"]
    assert ours["retrieval_out"].mark == "best"
    assert "0.010 (9)" in forms.as_markdown(table)
    assert next(csv.DictReader(io.StringIO(forms.as_csv(table))))["title2full_rank"] == ""


def test_rows_by_task_and_slices(tmp_path):
    folder = place(tmp_path, "acme/small")
    add(folder, DAPFAM, 0.3055, kind="real", slices={"in": 0.36, "out": 0.01}, more={"recall_at_100": 0.2})
    (table,), _ = papers.beside(collect(tmp_path))
    ours = row_of(table, "▸ acme/small")
    assert ours["task"].value == DAPFAM
    printed = pl.concat([published.printed("dapfam", number).filter(pl.col("task") == DAPFAM) for number in (17, 19)])
    assert len(table.rows) == len(printed) + 1
    for key, value in (("ndcg_all", 0.3055), ("ndcg_in", 0.36), ("ndcg_out", 0.01), ("recall_all", 0.2)):
        assert (ours[key].value, ours[key].rank) == (value, 1 + (printed[key] > value).sum())


def test_percent_and_the_mean_of_the_print(tmp_path):
    folder = place(tmp_path, "acme/small")
    add(folder, "PatentMapAbsToAbsRetrieval", 0.5, kind="real", more={"recall_at_20": 0.3})
    tables, _ = papers.beside(collect(tmp_path))
    ours = row_of(tables[0], "▸ acme/small")
    assert ours["abs_to_abs_recall_at_100"].value == 50.0
    assert ours["abs_to_abs_recall_at_20"].value == 30.0

    wide = place(tmp_path / "wipo", "acme/small")
    views = [row["task"] for row in published.table("wipo_at", 4).filter(pl.col("kind") == "score").unique("task").iter_rows(named=True)]
    assert len(views) == 6
    for step, task in enumerate(sorted(views)):
        add(wide, task, 0.15 + 0.01 * step, kind="real", more={"n_queries": 46_069})
    tables, _ = papers.beside(collect(tmp_path / "wipo"))
    table = next(table for table in tables if table.name == "published-wipo-at-4")
    assert row_of(table, "▸ acme/small")["mean"].value == pytest.approx(0.175)
    assert row_of(table, "Qwen3-8B")["mean"].value == 0.1808
    assert [row[0].value for row in table.rows].index("▸ acme/small") + 1 == row_of(table, "▸ acme/small")["mean"].rank


def test_other_data_is_never_ranked_among_the_papers(tmp_path):
    folder = place(tmp_path, "acme/small")
    add(folder, HEADLINE, 0.9, kind="real", more={"n_queries": 1101})
    add(folder, DAPFAM, 0.9, kind="local")
    add(folder, "PatenTEBTitle2Full", 0.9)
    tables, messages = papers.beside(collect(tmp_path))
    assert tables == []
    (message,) = messages
    assert "1,101 queries" in message
    assert "46,069" in message


def test_every_printed_score_of_a_task_has_a_counterpart_in_a_result():
    ours = {"ndcg_at_10", "ndcg_at_100", "recall_at_10", "recall_at_20", "recall_at_50", "recall_at_100", "macro_f1", "v_measure"}
    ours |= (
        {f"knn_precision_at_{k}" for k in (1, 3, 5)}
        | {f"mlp_precision_at_{k}" for k in (1, 3, 5)}
        | {"cosine_pearson", "knn_macro_f1", "ari"}
    )
    ours |= {f"inscope_{level}_at_{k}" for level in ("section", "subclass", "subgroup") for k in (10, 100)}
    for descriptor in published.tables():
        rows = published.table(descriptor.paper, descriptor.table).filter((pl.col("kind") == "score") & (pl.col("task") != ""))
        for metric in rows["metric"].unique():
            assert papers.METRICS.get(metric, metric) in ours | {"map"}
        assert set(rows["task"]) <= set(suite_tasks())


# --- the whole report --------------------------------------------------------------------------------------------------------


def test_report_writes_what_was_asked_for(world, tmp_path):
    outcome = report.run(world, formats=report.FORMATS, out=tmp_path, published=True, baseline="lex/bm25")
    names = {path.relative_to(tmp_path).as_posix() for path in outcome.files}
    assert {"report.md", "tables.tex", "csv/scores.csv", "csv/results.csv", "csv/sample-patenteb.csv"} <= names
    assert all(path.is_file() for path in outcome.files)
    assert any("beside the papers" in message for message in outcome.messages)
    from rich.console import Console

    console = Console(width=200, file=io.StringIO())
    outcome.print(console)
    assert "PatenTEB (sample)" in console.file.getvalue()
    tidy = pl.read_csv(tmp_path / "csv" / "scores.csv").filter(pl.col("slice").fill_null("") == "")
    scores = mains(world)
    main = tidy.filter(pl.col("main"))
    assert len(main) == len(scores)
    for task, run, value in main.select("task", "run", "value").iter_rows():
        assert value == scores[task, run]["main_score"]
    assert not pl.read_csv(tmp_path / "csv" / "results.csv")["path"].str.contains(str(world)).any()


def test_text_is_printed_without_a_folder(world):
    outcome = report.run(world, formats=("csv",))
    assert outcome.files == ()
    assert any(item.startswith("model,overall") for item in outcome.printed)


def test_what_report_refuses(world, tmp_path):
    with pytest.raises(ReportError, match="unknown format pdf"):
        report.run(world, formats=("pdf",))
    with pytest.raises(ReportError, match="--out"):
        report.run(world, html=True)
    bad = add(place(tmp_path, "acme/small"), HEADLINE, 0.1)
    bad.write_text("{")
    with pytest.raises(ReportError, match="damaged result file"):
        report.run(tmp_path)
