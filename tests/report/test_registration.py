"""A benchmark that is registered at run time is one like the others: its tab, its tables, its plots, its column over
all.
"""

import numpy as np
import pytest
from report_folders import HEADLINE, add, built_tables, model_folder

from patent_mteb.data.loading import DataSet
from patent_mteb.models import prompts
from patent_mteb.report.collect import collect
from patent_mteb.report.export import prepare
from patent_mteb.report.page import payload
from patent_mteb.report.statistics import statistics
from patent_mteb.report.tables import build
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.base import make_task
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.frozen import FrozenTask
from patent_mteb.tasks.retrieval import PatentRetrieval

DATA = DataSet("org/known", "dapfam", "0123456789abcdef0123456789abcdef01234567")
FACTS = Facts(
    name="Known Items",
    description="A benchmark of a test.",
    reference=None,
    bibtex="",
    license="not specified",
    date=("2005-01-01", "2025-12-31"),
    split="validation",
    spread=True,
    prefix="Known",
    headline="KnownByKeywords",
    short_names={"KnownTypes": "type"},
    section_grid={"KnownByTitle": ("Title", "Abstract"), "KnownByKeywords": ("Keywords", "Abstract")},
)


def task(base, name, kind, main_score):
    return make_task(type(f"Base{name}", (base,), {}), FACTS, DATA, name, kind, "A task of a test.", main_score)


SEARCH = tuple(task(PatentRetrieval, name, "Retrieval", "ndcg_at_10") for name in ("KnownByTitle", "KnownByKeywords"))
LABELS = (task(FrozenTask, "KnownTypes", "Classification", "macro_f1"),)
KNOWN = PatentBenchmark(FACTS, {"Search": SEARCH, "Labels": LABELS})


@pytest.fixture
def fresh_catalogue(monkeypatch):
    """What a test registers is forgotten after it."""
    for module, name in ((catalogue, "_BENCHMARKS"), (catalogue, "_SAMPLE_TASKS"), (prompts, "_ROWS")):
        monkeypatch.setattr(module, name, dict(getattr(module, name)))


@pytest.fixture
def registered(fresh_catalogue):
    catalogue.add(KNOWN)


@pytest.fixture
def measured(registered, tmp_path):
    """One model on the new benchmark only, one on all of it and on a task of WIPO-AT."""
    for level, model in enumerate(("acme/small", "acme/large")):
        folder = model_folder(tmp_path, model, n_parameters=10 ** (7 + level))
        for shift, name in enumerate(("KnownByTitle", "KnownByKeywords")):
            queries = np.linspace(0, 0.5, 50) + 0.2 * level + 0.1 * shift
            mean = float(queries.mean())
            add(
                folder,
                name,
                queries=queries,
                slices={"in": mean, "out": mean / 2},
                more={"recall_at_1": 0.1, "recall_at_100": 0.4},
            )
        add(folder, "KnownTypes", 0.4 + level / 10)
    add(model_folder(tmp_path, "acme/large", n_parameters=10**8), HEADLINE, 0.3)
    return tmp_path


def test_its_results_are_unknown_before_and_known_after(fresh_catalogue, tmp_path):
    catalogue.add(KNOWN)
    path = add(model_folder(tmp_path, "acme/small"), "KnownTypes", 0.5)
    add(model_folder(tmp_path, "acme/small"), HEADLINE, 0.5)
    del catalogue._BENCHMARKS[FACTS.name]
    before = collect(tmp_path)
    assert set(before.results["benchmark"]) == {"WIPO-AT"}
    assert before.messages[0] == "1 result of KnownTypes.sample left out: the suite has no task of this name."
    catalogue.add(KNOWN)
    after = collect(tmp_path)
    assert set(after.results["benchmark"]) == {"WIPO-AT", "Known Items"}
    assert str(path) in after.results["path"].to_list()


def test_it_has_tables_of_its_own(measured):
    tables = built_tables(measured, "acme/small")
    assert set(tables) == {
        *("sample-jobs", "sample-overall", "sample-wipo-at", "sample-wipo-at-tasks"),
        *("sample-known-items", "sample-known-items-tasks", "sample-known-items-domains"),
        *("sample-known-items-statistics", "sample-known-items-detectable"),
    }
    table = tables["sample-known-items"]
    assert table.title == "Known Items (sample)"
    titles = [column.title for column in table.columns]
    assert titles[:3] == ["Model", "Rank", "Overall"]
    assert titles[3:] == ["Spread", "Search", "Labels", "ByKeywords", "IN", "OUT", "Gap", "Tasks"]
    best, second = ([cell.value for cell in row] for row in table.rows)
    assert best == ["acme/large", 1, *map(pytest.approx, (0.5, 0.1, 0.5, 0.5, 0.55, 0.55, 0.275, 50)), "3 of 3"]
    assert second == ["acme/small", 2, *map(pytest.approx, (1 / 3, 0.15, 0.3, 0.4, 0.35, 0.35, 0.175, 50)), "3 of 3"]
    assert table.rows[0][6].letters == "a"
    assert [row[1].value for row in tables["sample-known-items-tasks"].rows] == [
        "KnownByTitle",
        "KnownByKeywords",
        "KnownTypes",
    ]
    assert [column.key for column in tables["sample-known-items-tasks"].columns[3:]] == ["acme/large", "acme/small"]


def test_it_has_a_column_over_all_benchmarks_and_does_not_count_in_the_overall_score(measured):
    table = built_tables(measured)["sample-overall"]
    five = ["WIPO-AT", "DAPFAM", "PatenTEB", "Sophia", "PatentMap"]
    leading = ["Model", "Rank", "Headline", "Overall"]
    assert [column.title for column in table.columns] == [*leading, *five, "Known Items", "Tasks"]
    rows = {row[0].value: row for row in table.rows}
    size = len(catalogue.total().task_classes) + 3
    for model, mean, count in (("acme/large", 0.5, 4), ("acme/small", 1 / 3, 3)):
        assert [cell.value for cell in rows[model][3:]] == [None] * 6 + [pytest.approx(mean), f"{count} of {size}"]
    assert {model: row[1].text for model, row in rows.items()} == {"acme/large": "1", "acme/small": "not ranked"}
    assert "Overall is the PatentMTEB score; Known Items does not count towards it." in table.notes


def test_without_results_it_is_not_mentioned(registered, tmp_path):
    add(model_folder(tmp_path, "acme/small"), HEADLINE, 0.3)
    table = built_tables(tmp_path)["sample-overall"]
    assert "Known Items" not in [column.title for column in table.columns]
    assert table.rows[0][-1].value == f"1 of {len(catalogue.total().task_classes)}"
    assert len(table.notes) == 1


@pytest.mark.slow
def test_it_has_a_tab_with_its_short_names_and_plots(measured):
    pytest.importorskip("vl_convert")
    from patent_mteb.report.figures import draw

    collected = collect(measured)
    compared, drawn = statistics(collected, "acme/small"), draw(collected)
    content = payload(collected, compared, build(collected, compared))
    assert [tab["label"] for tab in content["tabs"]] == [
        "All benchmarks (sample)",
        "WIPO-AT (sample)",
        "Known Items (sample)",
    ]
    tab = content["tabs"][-1]
    assert [(one["short"], one["group"]) for one in tab["tasks"]] == [
        ("ByTitle", "Search"),
        ("ByKeywords", "Search"),
        ("type", "Labels"),
    ]
    assert tab["values"]["in"] == [
        [pytest.approx(0.45), pytest.approx(0.55), None],
        [pytest.approx(0.25), pytest.approx(0.35), None],
    ]
    kinds = {plot.name.removeprefix("sample-known-items-") for plot in drawn if "-known-items-" in plot.name}
    assert kinds >= {"in-out", "sections", "ranks", "recall"}
    (sections,) = (plot.figure for plot in drawn if plot.name == "sample-known-items-sections")
    assert sections["concat"][0]["encoding"]["y"]["scale"]["domain"] == ["Title", "Keywords"]
    assert {chart["title"].split(":")[0] for chart in tab["charts"]} >= {
        "IN and OUT of domain",
        "Query section and corpus view",
        "Recall@k",
    }


def test_its_headline_task_may_have_any_name(measured):
    view = collect(measured).data_sources["sample"].benchmark("Known Items")
    assert view.headline.plain == view.domain_headline.plain == "KnownByKeywords"
    for path in measured.rglob("KnownByKeywords.sample.json"):
        path.unlink()
    view = collect(measured).data_sources["sample"].benchmark("Known Items")
    assert view.headline.plain == view.domain_headline.plain == "KnownByTitle"


def test_a_selection_of_known_tasks_is_a_benchmark_too(measured):
    """A task of two benchmarks is shown under both, in the groups of each."""
    wipo_at = catalogue.find("WIPO-AT")
    (headline,) = (kind for kind in wipo_at.task_classes if kind.metadata.name == HEADLINE)
    facts = Facts("Selection", "A selection.", None, "", None, ("2005-01-01", "2025-12-31"), headline="KnownTypes")
    catalogue.add(PatentBenchmark(facts, {"First": LABELS, "Second": (headline,)}))
    tables = built_tables(measured)
    assert [[cell.value for cell in row[:2]] for row in tables["sample-selection-tasks"].rows] == [
        ["First", "KnownTypes"],
        ["Second", HEADLINE],
    ]
    values = {row[0].value: [cell.value for cell in row[1:5]] for row in tables["sample-selection"].rows}
    assert values == {"acme/large": [1, pytest.approx(0.4), 0.5, 0.3], "acme/small": [None, None, 0.4, None]}
    assert tables["sample-wipo-at-tasks"].rows[0][0].value == "Retrieval"
    assert tables["sample-overall"].rows[0][-1].value == f"4 of {len(catalogue.total().task_classes) + 3}"


@pytest.mark.parametrize(
    ("macro", "overall", "note"), [(False, 0.5, "all 3 tasks"), (True, 0.525, "all 2 groups, each the mean")]
)
def test_the_note_says_what_the_overall_score_is(registered, tmp_path, monkeypatch, macro, overall, note):
    monkeypatch.setattr(KNOWN, "macro", macro)
    for kind, value in zip((*SEARCH, *LABELS), (0.4, 0.5, 0.6), strict=True):
        add(model_folder(tmp_path, "acme/small"), kind.metadata.name, value)
    table = built_tables(tmp_path)["sample-known-items"]
    assert table.rows[0][2].value == pytest.approx(overall)
    assert note in table.notes[0]


def test_it_can_be_published(registered, tmp_path):
    folder = model_folder(tmp_path / "in", "sentence-transformers/all-MiniLM-L6-v2", "abc")
    for kind in (*SEARCH, *LABELS):
        add(folder, kind.metadata.name, kind="real", queries=np.full(60, 0.5))
    assert prepare(tmp_path / "in", tmp_path / "out", upstream=False).exported == 3
    overall, known = (tmp_path / "out" / "leaderboard.md").read_text().split("\n## ")
    assert "| Known Items | Tasks |" in overall and "| PatentMap |" not in overall, "no model has it"
    assert known.startswith("Known Items")
    assert "| 0.5000 | 0.5000 | 0.5000 | 3 of 3 |" in known
