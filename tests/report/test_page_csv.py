"""Every column of every table of the page against the csv files of the same report, with 1, 3 and 25 models."""

import csv
import re

import numpy as np
import pytest
from browser import observe
from many_models import MANY
from report_folders import HEADLINE, add, model_folder, payload_of

from patent_mteb import report
from patent_mteb.report.rendering import FURTHER
from patent_mteb.report.words import measure_title

SCALES = {"k": 1e3, "M": 1e6, "B": 1e9}
FACTS = {"Parameters": "parameters", "Dimensions": "dims"}
"""The facts of a model that a csv file has."""


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def same(shown, wanted):
    """Whether the page shows what a file holds: a text, or a number to half a unit of the last digit shown."""
    if shown in ("", "–") or wanted == "":
        return shown in ("", "–") and wanted == ""
    number = re.fullmatch(r"([-+]?[\d.]+)([kMB%]?)", shown)
    if not number:
        return 0 <= float(wanted) < 0.0001 if shown == "< 0.0001" else shown == wanted
    unit = SCALES.get(number[2], 1)
    half = unit * 10 ** -len(number[1].partition(".")[2]) / 2
    return abs(float(number[1]) * unit - float(wanted)) <= half * (1 + 1e-9)


class Files:
    """The csv files of a report by name, and what they say of a column of the page."""

    def __init__(self, folder, content):
        self.content, self.tables = content, {path.stem: read(path) for path in folder.glob("*.csv")}
        self.main, self.state, self.measured = {}, {}, {}
        for row in self.tables["scores"]:
            key = row["task"], row["slice"], row["run"]
            if row["main"] == "true":
                self.main[key] = row["value"]
                compared = {"true": "tied", "false": "worse", "": "not compared"}[row["tied_with_best"]]
                self.state[key] = "small" if row["small"] else compared
            if not row["slice"]:
                self.measured[row["task"], row["run"], measure_title(row["measure"])] = row["value"]
        self.runs = {row["run"]: row for row in self.tables["results"]}

    def score(self, task, part, run):
        if part != "gap":
            return self.main.get((task, part, run), "")
        inside, outside = (self.main.get((task, side, run), "") for side in ("in", "out"))
        return str(100 * (float(inside) - float(outside)) / float(inside)) if inside and outside else ""

    def compared(self, task, part, run):
        """How a score is to be marked: a single one, and one on too few queries, not at all."""
        several = sum((task, part, other) in self.main for other in self.runs) > 1
        found = self.state.get((task, part, run), "")
        return found if found == "tied" or (found == "not compared" and several and part != "gap") else ""

    def wanted(self, tab, seen, head, run):
        """The value of a run in a column of a front page or of a benchmark's tab, and how it is to be marked.

        None for a fact that no file has.
        """
        title, part = head["title"], seen.get("slice", "")
        means = {mean["title"]: mean["key"] for mean in tab["means"]}
        summary = next(row for row in self.tables[tab["id"]] if row["model"] == run)
        if head["task"]:
            return self.score(head["task"], part, run), self.compared(head["task"], part, run)
        if title in means:
            return summary[means[title]], ""
        if title == "Tasks":
            return summary["tasks"], ""
        return (self.runs[run][FACTS[title]], "") if title in FACTS else None


def of_jobs(files, observed):
    """(key, job, shown, wanted) of the tables of jobs; a group is compared by the names that it shows."""
    short = {run["label"]: run["short"] for run in files.content["runs"]}
    fronts = {tab["label"]: tab["data_source"] for tab in files.content["tabs"] if tab["kind"] == "front"}
    for label, cells in observed["jobs"]:
        (row,) = [row for row in files.tables[f"{fronts[label]}-jobs"] if row["job"] == cells["job"]]
        for key, shown in cells.items():
            wanted = row[key]
            if key in ("helped", "hurt"):
                wanted = f"{100 * int(wanted) / int(row['queries']):.0f} of 100"
            elif key == "queries" and wanted:
                wanted = f"{int(wanted):,}"
            elif key == "measure":
                wanted = measure_title(wanted)
            elif key == "best" and wanted:
                names = [short[run] for run in wanted.split("; ")]
                wanted = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
                shown = re.sub(r" \(\d+ not compared\)$", "", shown)
            elif key == "best":
                assert shown.startswith(("not compared; highest: ", "not ranked: ")) or "(the only model)" in shown
                continue
            elif key == "cheapest" and wanted:
                shown, wanted = shown.partition(" (by ")[0], short[wanted]
            yield key, cells["job"], shown, wanted


def of_runs(files, tab, seen):
    """(column, row, shown, wanted) of a table with a run in each row."""
    for (run, _), *cells in seen["rows"]:
        assert run in files.runs
        for head, (shown, state) in zip(seen["heads"][1:], cells, strict=True):
            if found := files.wanted(tab, seen, head, run):
                yield head["title"], run, (shown, state), found


def by_slice(files, tab, seen):
    """The same of the table by slice: a run in each row for one task, or a task for one run."""
    names = {spec["short"]: spec["name"] for spec in tab["tasks"]}
    kind, _, about = seen["bySlice"].partition(" on " if seen["bySlice"].startswith("models on ") else " of ")
    families = {name: name.partition("_")[0] if "_" in name else "category" for name in tab["values"]}
    of_family = [name for name, family in families.items() if family == (seen["family"] or family)]
    slices = {name.partition("_")[2].upper() or name.upper(): name for name in of_family}
    for (first, _), *cells in seen["rows"]:
        task, run = (names[about], first) if kind == "models" else (names[first], about)
        for head, (shown, state) in zip(seen["heads"][1:], cells, strict=True):
            part = "" if head["title"] == "All" else slices[head["title"]]
            yield head["title"], first, (shown, state), (files.score(task, part, run), files.compared(task, part, run))


def as_it_is(files, tab, seen):
    """The same of a table that a csv file holds as it is, or of the measures of a task, which are in ``scores.csv``."""
    spec = next(spec for spec in (*tab.get("further", ()), *tab.get("published", ())) if spec["title"] == seen["part"])
    if spec["name"].endswith("-measures"):
        task = spec["notes"][0].partition(",")[0]
        titles, runs = [head["title"] for head in seen["heads"][1:]], [run for ((run, _), *_) in seen["rows"]]
        rows = [[run, *(files.measured.get((task, run, title), "") for title in titles)] for run in runs]
        assert len(rows) == len({run for named, run, _ in files.measured if named == task})
    else:
        table = files.tables[spec["name"]]
        further = {f"{key}_{end}" for key in table[0] for end in FURTHER}
        keys, n_heads = list[str](), len(seen["heads"])
        for key in (key for key in table[0] if key not in further):
            # the page leaves out columns of numbers without a value
            empty_there = len(keys) < n_heads and all(same(cells[len(keys)][0], "") for cells in seen["rows"])
            if empty_there or any(row[key] for row in table):
                keys.append(key)
        rows = [[row[key] for key in keys] for row in table]
    assert len(rows) == len(seen["rows"]), seen["part"]
    for row, cells in zip(rows, seen["rows"], strict=True):
        for head, wanted, (shown, state) in zip(seen["heads"], row, cells, strict=True):
            yield head["title"], row[0], (shown, state), (wanted, state)


@pytest.mark.slow
def test_a_run_is_named_with_its_settings_and_few_queries_are_neither_tied_nor_the_best(browser, tmp_path):
    """Two models on 25 queries of one task and 60 of two others, one of which has scores by query of one model only."""
    rng = np.random.default_rng(3)
    labels = ["acme/small (max_tokens=128, dims=64)", "lex/bm25"]
    for label, settings in zip(labels, ({"max_tokens": 128, "dims": 64}, None), strict=True):
        folder = model_folder(tmp_path, label.partition(" ")[0], settings=settings)
        add(folder, HEADLINE, queries=rng.random(25))
        add(folder, "WIPOATTAToTARetrieval", queries=rng.random(60))
        add(folder, "WIPOATClaim1ToClaim1Retrieval", queries=rng.random(60), save_queries=settings is not None)
        add(folder, "PatentMapAbsToAbsRetrieval", queries=rng.random(60))
    report.run(tmp_path, formats=(), html=tmp_path / "out")
    text = (tmp_path / "out" / "index.html").read_text("utf-8")
    observed = observe(browser, text, "page_tables.js", tmp_path, widths={"wide": 1280})["wide"]
    assert observed["problems"] == []
    best = {row["job"]: row["best"] for _, row in observed["jobs"]}
    assert best["Find prior art"] == "not ranked: 25 queries"
    tabs = ("All benchmarks (sample)", "WIPO-AT (sample)")
    front, scores = (seen for seen in observed["tables"] if seen["tab"] in tabs and not seen["part"])
    assert sorted(row[0][0] for row in front["rows"]) == sorted(row[0][0] for row in scores["rows"]) == labels
    places = {head["title"]: place for place, head in enumerate(scores["heads"]) if head["task"]}
    states = {title: {row[place][1] for row in scores["rows"]} for title, place in places.items()}
    assert states == {"TAC→TAC": {""}, "TA→TA": {"tied"}, "Claim1→Claim1": {"not compared"}}


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, MANY, pytest.param(25, marks=pytest.mark.long)])
def test_every_column_of_every_table_is_that_of_the_csv_files(browser, report_of_many, tmp_path, count):
    _, out = report_of_many(count)
    text = (out / "index.html").read_text("utf-8")
    observed = observe(browser, text, "page_tables.js", tmp_path, widths={"wide": 1280})["wide"]
    assert "failed" not in observed, observed
    assert observed["problems"] == []
    files = Files(out / "csv", payload_of(text))
    wrong, checked, columns = [], 0, set()
    for seen in observed["tables"]:
        if seen["part"] == "Query by query":
            continue  # of the per-query files, which no csv holds: tests/report/test_explorer.py
        tab = next(tab for tab in files.content["tabs"] if tab["label"] == seen["tab"])
        kind = by_slice if "bySlice" in seen else as_it_is if seen["part"] else of_runs
        for column, row, (shown, state), (wanted, mark) in kind(files, tab, seen):
            checked += 1
            columns.add(column)
            if not same(shown, wanted) or state != mark:
                where = seen["tab"], seen["part"], seen.get("slice", ""), column, row
                wrong.append((*where, (shown, state), (wanted, mark)))
    for key, job, shown, wanted in of_jobs(files, observed):
        checked += 1
        wrong += [] if same(shown, wanted) else [(job, key, shown, wanted)]
    assert wrong == []
    fronts = [tab for tab in files.content["tabs"] if tab["kind"] == "front"]
    assert len(observed["jobs"]) == 2 * sum(len(tab["jobs"]["rows"]) for tab in fronts) > 0
    assert len(files.content["tabs"]) == len({seen["tab"] for seen in observed["tables"]})
    assert columns >= {"Rank", "Overall", "Tasks", "Dimensions", "TAC→TAC"}
    assert count == 1 or columns >= {"Tied with", "Joint p", "#"}
    assert checked > 500 * count
