"""The static page: its numbers, its safety, and its behaviour in a real browser on a wide and a phone-sized screen."""

import io
import json
import re
from pathlib import Path

import polars as pl
import pytest
from browser import observe
from many_models import MANY, many_models
from report_folders import DIAGONAL, HEADLINE, add, attest, model_folder, payload_of, sample_world
from rich.console import Console
from rich.text import Text

from patent_mteb import report
from patent_mteb.data.loading import Own
from patent_mteb.report import geometries, tables
from patent_mteb.report.collect import collect
from patent_mteb.report.model_facts import facts_of_runs
from patent_mteb.report.page import page, payload
from patent_mteb.report.published import tables_with_measured_rows
from patent_mteb.report.statistics import Statistics, statistics
from patent_mteb.report.view import read_queries
from patent_mteb.report.words import REDEFINED
from patent_mteb.tasks.benchmark import BY_TITLE
from patent_mteb.tasks.catalogue import suite_tasks

EVIL = "evil/</script><img src=x onerror=alert(1)>&\"'"
SORTED = ["Sort patents into classes", "Map a landscape"]
TABS = ["All benchmarks", "DAPFAM", "All benchmarks (sample)", "WIPO-AT (sample)", "PatenTEB (sample)"]


def facts(meta):
    return {"license": "mit", "release_date": "2024-05-01", "max_tokens": 512, "training_datasets": meta}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = sample_world(tmp_path_factory.mktemp("world"))
    add(model_folder(root, EVIL), HEADLINE, 0.01, slices={"in": 0.02, "out": 0.01})
    own = {"paper_n_queries": 7, "paper_ndcg_at_100": 0.31}
    large = model_folder(root, "acme/large", n_parameters=335_000_000, **facts([HEADLINE]))
    add(large, "PatentDAPFAMTACToTACRetrieval", 0.31, kind="real", slices={"in": 0.35, "out": 0.05}, more=own)
    return root


def test_a_term_has_the_meaning_that_a_difference_states_and_no_phrase_is_parsed(world, monkeypatch):
    (known,) = REDEFINED
    own = Own("name", "1", "owner", "licence", ("texts are cut: TA is title", known))
    collected = collect(world)
    for view in (view for source in collected.data_sources.values() for view in source.benchmarks):
        monkeypatch.setattr(view.benchmark.task_classes[0], "own", own)
    front, *others = payload(collected, Statistics(), tables.build(collected, Statistics()))["tabs"]
    assert front["terms"] == {"TAC": "title and abstract"} and front["banner"].count("TAC") == 1
    assert "TA is title" not in front["banner"] and others[0]["terms"] == front["terms"]


@pytest.fixture(scope="module")
def made(world, tmp_path_factory):
    """The page of the world, with the papers' rows, as ``patent-mteb report --html --published`` writes it."""
    out = tmp_path_factory.mktemp("page")
    report.run(world, formats=(), html=out, published=True, baseline="lex/bm25")
    return out / "index.html"


@pytest.mark.slow
def test_facts_of_models(world):
    collected = collect(world)
    content = payload(collected, Statistics(), tables.build(collected, Statistics()))
    keys = [fact["key"] for fact in content["facts"]]
    known = {run["label"]: dict(zip(keys, run["facts"], strict=True)) for run in content["runs"]}
    large = known["acme/large"]
    assert (large["parameters"], large["dims"], large["tokens"], large["licence"]) == (335_000_000, 64, 512, "mit")
    assert (large["date"], large["prompt"], large["trained"]) == ("2024-05-01", "none", "WIPO-AT (1)")
    assert known["lex/bm25"]["trained"] == "not stated"
    tab = next(tab for tab in content["tabs"] if tab["id"] == "sample-wipo-at")
    place = [content["runs"][number]["label"] for number in tab["runs"]].index("acme/large")
    assert [tab["tasks"][at]["name"] for at in tab["trained"][place]] == [f"{HEADLINE}.sample"]


def test_a_run_has_one_name_in_every_form_and_the_facts_of_the_run(tmp_path):
    """One run of a model with settings: the card says 256 tokens and 384 dimensions, the run read 128 and kept 64."""
    label = "acme/small (max_tokens=128, dims=64)"
    settings = {"max_tokens": 128, "dims": 64}
    folder = model_folder(tmp_path, "acme/small", settings=settings, max_tokens=256, embed_dim=384)
    add(folder, HEADLINE, queries=[0.25, 0.5] * 30)
    add(model_folder(tmp_path, "lex/bm25", max_tokens=None), HEADLINE, queries=[0.5, 0.25] * 30)
    printed = report.run(tmp_path, formats=("terminal", "markdown", "latex", "csv"), every_table=True).printed
    console = Console(width=300, file=io.StringIO())
    for item in printed:
        console.print(Text(item) if isinstance(item, str) else item, soft_wrap=isinstance(item, str))
    shown = console.file.getvalue()
    terminal, rest = shown.partition("\n## ")[::2]
    assert terminal.count(label) >= 4
    assert rest.count(label.replace("_", "\\_")) >= 4 and rest.count(f'"{label}"') >= 4  # markdown, then csv
    assert "acme/small (max\\_tokens=128, dims=64) & " in rest.replace(r"\allowbreak{}", "")
    collected = collect(tmp_path)
    content = payload(collected, Statistics(), tables.build(collected, Statistics()))
    (run,) = [run for run in content["runs"] if run["label"] == label]
    assert (run["name"], run["settings"]) == ("acme/small", " (max_tokens=128, dims=64)")
    assert run["short"] == "small (max_tokens=128, dims=64)"
    facts = dict(zip([fact["key"] for fact in content["facts"]], run["facts"], strict=True))
    assert (facts["tokens"], facts["dims"]) == (128, 64)


def test_latex_leaves_out_columns_without_numbers_and_csv_keeps_them(tmp_path):
    """No model has hours."""
    for name in ("acme/one", "lex/bm25"):
        add(model_folder(tmp_path, name), HEADLINE, queries=[0.25, 0.5] * 30)
    latex, csv = ("".join(report.run(tmp_path, formats=[form], every_table=True).printed) for form in ("latex", "csv"))
    assert "cpu_hours" in csv and "CPU hours" not in latex and "Searches" in latex


@pytest.mark.parametrize(
    ("said", "settings", "expected"),
    [
        (["128"], {"max_tokens": 512}, 128),  # the evidence before the settings
        (["128", "128"], None, 128),
        ([""], {"max_tokens": 512}, 512),  # a model that is said to read nothing of its own
        ([], None, 256),  # results of older versions
        (["128, 512"], None, None),  # the parts of a composed model differ
        (["128", "512"], None, None),
    ],
)
def test_tokens_are_those_that_the_run_read(tmp_path, said, settings, expected):
    folder = model_folder(tmp_path, "acme/small", settings=settings, max_tokens=256)
    for task, tokens in zip(DIAGONAL, said or [None], strict=False):
        attest(add(folder, task, 0.5), max_tokens=tokens)
    collected = collect(tmp_path)
    facts, _ = facts_of_runs(collected)
    assert [one["tokens"] for one in facts.values()] == [expected]


@pytest.mark.slow
def test_columns_of_numbers_hold_numbers_and_columns_of_texts_texts(world, tmp_path):
    sections = many_models(tmp_path, 2, queries=60, only="PatentMapClmToAllRetrieval")
    for root, baseline in ((world, "lex/bm25"), (sections, None)):
        collected = collect(root)
        found = statistics(collected, baseline)
        built = [
            *tables.build(collected, found),
            *geometries.tables(geometries.read(collected)[0]),
            *tables_with_measured_rows(collected)[0],
        ]
        for table in built:
            for place, column in enumerate(table.columns):
                values = [row[place].value for row in table.rows]
                kind = int | float | None if column.numeric else str | None
                assert all(isinstance(value, kind) for value in values), (table.name, column.key, values)


@pytest.mark.slow
def test_measures_are_words_and_in_and_out_are_named_after_their_tasks(world):
    collected = collect(world)
    compared = statistics(collected)
    content = payload(collected, compared, tables.build(collected, compared))
    notes = [note for tab in content["tabs"] for box in (tab, *tab.get("further", ())) for note in box["notes"]]
    assert any("TAC→TAC is PatentCitationRetrieval.sample (nDCG@10)" in note for note in notes)
    assert not [note for note in notes if re.search(r"_at_\d|macro_f1|v_measure", note)]
    titles = {chart["title"] for tab in content["tabs"] for chart in tab.get("charts", ())}
    assert {"IN and OUT of domain: TAC→TAC", "IN and OUT of domain: RetrievalIN and RetrievalOUT"} <= titles


@pytest.mark.slow
def test_page_is_self_contained_and_escaped(made):
    text = made.read_text()
    outside = re.sub(r'<script type="text/plain".*?</script>', "", text, flags=re.S).replace(
        "http://www.w3.org/2000/svg", ""
    )
    assert "http://" not in outside
    assert "https://" not in outside
    assert "default-src 'none'" in text
    assert "onerror=alert" not in text  # the name is in the packed payload alone
    assert EVIL in [run["label"] for run in payload_of(text)["runs"]]
    assert text.count("†") <= 4  # what the mark means is said once, by the payload
    assert "@@" not in text


def test_numbers_that_json_cannot_hold(tmp_path):
    add(model_folder(tmp_path, "acme/small"), HEADLINE, 0.1, slices={"in": float("nan"), "out": 0.1})
    collected = collect(tmp_path)
    content = payload_of(page(payload(collected, Statistics(), tables.build(collected, Statistics()))))
    assert content["tabs"][1]["values"]["in"] == [[None]]
    assert content["tabs"][1]["values"]["gap"] == [[None]]


# --- in a browser
# ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def observed(browser, made, tmp_path_factory):
    return observe(browser, made.read_text(), "report_browser.js", tmp_path_factory.mktemp("browser"))


@pytest.fixture(params=["wide", "phone"])
def seen(request, observed):
    frame = observed[request.param]
    assert "failed" not in frame, frame
    return frame


@pytest.mark.slow
def test_a_link_restores_what_was_chosen(browser, made, tmp_path):
    seen = observe(browser, made.read_text(), "report_state.js", tmp_path, widths={"wide": 1280, "again": 1280})
    for frame in ("wide", "again"):
        assert "failed" not in seen[frame], seen[frame]
        assert seen[frame]["problems"] == []
    assert seen["again"]["defaults"] == "#real-overall"  # no choice is written that is the default
    link = seen["wide"]["link"]
    assert link.startswith("#sample-wipo-at?") and seen["again"]["link"] == link
    keys = {"filter", "digits", "show", "slice", "sort", "columns", "slices", "queries", "task", "first", "second"}
    assert {pair.partition("=")[0] for pair in link.partition("?")[2].split("&")} == {*keys, "query"}
    state = seen["wide"]["state"]
    assert seen["again"]["state"] == state
    assert state["fields"] == ["acme", "model 1", "jurisdiction_jp", "1", "2", "0"]
    assert "descending" in state["sorted"] and len(state["rows"]) == 2
    assert state["open"][:2] == ["By slice", "Query by query"]


def main_scores(world, part=""):
    scores = {}
    for path in (world / "results").glob(f"*/r1/{HEADLINE}.sample.json"):
        (entry,) = json.loads(path.read_text())["scores"]["test"]
        name = json.loads(path.with_name("model_meta.json").read_text())["name"]
        scores[name] = entry.get(f"{part}ndcg_at_10")
    return scores


def test_page_loads_without_errors(observed, seen):
    assert seen["problems"] == []
    assert observed["console"] == []


def test_every_tab_opens(seen):
    assert seen["tabs"] == TABS
    for label in TABS:
        tab = seen[label]
        assert tab["heading"] == label
        assert tab["selected"] == [label]
        assert tab["banner"].startswith("Built-in sample") == ("sample" in label)
        assert tab["hash"].startswith("#sample" if "sample" in label else "#real")
    assert seen["WIPO-AT (sample)"]["charts"] == 4
    jobs = ["", " in the same field", " in other fields"]
    assert seen["All benchmarks (sample)"]["jobs"] == [*(f"Find prior art{job}" for job in jobs), BY_TITLE, *SORTED]
    assert seen["published"]["folded"]
    assert "acme/large" in seen["published"]["text"]
    assert "measured here" in seen["published"]["text"]
    assert seen["keyboardTab"] == "DAPFAM"
    assert {"IN", "OUT", "TAC", "nDCG@10"} <= set(seen["terms"]), "the words of a tab are explained in it"
    assert seen["trained"] == ["acme/large"], "a score on a task of the training data is marked"


def test_every_number_says_what_is_known_of_it(seen):
    assert seen["unsaid"] == []
    assert seen["said"] > 100


def test_sorting(world, seen):
    ordered = sorted(main_scores(world).items(), key=lambda item: -item[1])
    expected = [f"{value:.4f}" for _, value in ordered]
    assert seen["descending"] == expected
    assert seen["ascending"] == expected[::-1]
    assert seen["sorted"] == "descending"


def test_filters_are_followed_by_tables_cards_and_charts(seen):
    assert seen["filtered"] == ["acme/small"]
    assert seen["none"] == ["No row fits the filter."]
    assert EVIL in seen["names"]
    assert seen["licensed"] == ["acme/large"]
    assert seen["drawn"] == {"all": 3, "licensed": 1}
    assert "Max tokens" in seen["choosable"]


def test_judgements_and_slices(world, seen):
    shown = {part: [main_scores(world, f"{part}_")[name] for name in seen["names"]] for part in ("in", "out")}
    assert sorted(seen["names"]) == sorted(main_scores(world))
    assert seen["IN"] == [f"{value:.4f}" for value in shown["in"]]
    assert seen["OUT"] == [f"{value:.4f}" for value in shown["out"]]
    assert seen["Gap"] == [f"{100 * (i - o) / i:.1f}%" for i, o in zip(shown["in"], shown["out"], strict=True)]
    assert seen["All"] == [f"{main_scores(world)[name]:.4f}" for name in seen["names"]]
    assert seen["slices"][1:] == [f"jurisdiction_{name}" for name in ("cn", "de", "en", "es", "fr", "jp", "ru")]
    expected = {
        name: "–" if value is None else f"{value:.4f}" for name, value in main_scores(world, "jurisdiction_jp_").items()
    }
    assert seen["slice"] == expected
    office = {
        name: f"{value:.4f}" for name, value in main_scores(world, "jurisdiction_ru_").items() if value is not None
    }
    assert {name: value for name, value in seen["bySlice"].items() if value != "–"} == office


def test_interval_and_provenance_of_a_number(world, seen):
    first = seen["names"][0]
    score = statistics(collect(world), "lex/bm25").of("sample", f"{HEADLINE}.sample", first)
    for words in (
        f"{first}: TAC→TAC",
        f"{HEADLINE}.sample",
        f"{main_scores(world)[first]:.4f} (nDCG@10)",
        f"{score.low:.4f} to {score.high:.4f}",
    ):
        assert words in seen["tip"]
    for words in (
        "Model revision\nr1",
        "WIPO-AT at sample-",
        "Prompt\nnone",
        "mteb 2.26.24, torch 2.13.0",
        "2025-10-09",
        "Queries\n60",
    ):
        assert words in re.sub(r"\s*\n\s*", "\n", seen["tip"].replace("\t", "\n"))
    assert f"[{score.low:.3f}, {score.high:.3f}]" in seen["withInterval"]
    assert seen["tipShown"]
    assert seen["tipInside"]
    assert seen["moved"] == 1
    assert seen["tipMoved"] != seen["tip"]
    assert seen["tipClosed"]
    assert seen["tipHover"]


def test_readable_at_every_width(observed, seen):
    assert max(seen["overflow"]) <= 0
    assert observed["phone"]["wider"]  # the table is wider than a phone, so that the next line means something
    assert seen["small"] == []
    assert seen["tiny"] == []
    assert all(seen["ownBox"])
    assert seen["cutText"] == []


def test_a_number_opens_its_queries(world, seen):
    assert seen["explored"]["open"]
    assert seen["explored"]["queries"] >= 1
    names = [f"acme/{name}" for name in ("large", "small")]
    collected = collect(world)
    first, other = seen["explored"]["models"]
    assert first == names[0]
    paths = [
        collected.results.filter(task=f"{HEADLINE}.sample", run=name)["queries"].item() for name in (names[0], other)
    ]
    first, second = (read_queries(Path(path), "ndcg@10").parts[""] for path in paths)
    won, lost = int((first > second).sum()), int((first < second).sum())
    assert seen["explored"]["wins"] == [60, won, 60 - won - lost, lost]


# --- many models
# -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, MANY, pytest.param(25, marks=pytest.mark.long)])
def test_page_of_many_models_is_light_and_no_tab_is_endless(browser, report_of_many, tmp_path, count):
    out = tmp_path / "out"
    if count > 1:
        _, out = report_of_many(count)
    else:  # without scores by query
        report.run(many_models(tmp_path / "many", count), formats=("csv",), out=out, html=out)
    shown = [task for task in suite_tasks().values() if task.data.recipe]
    assert len(pl.read_csv(out / "csv" / "results.csv")) == count * len(shown)
    text = (out / "index.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 2_000_000
    seen = observe(browser, text, "report_heights.js", tmp_path)
    for frame in ("wide", "phone"):
        assert "failed" not in seen[frame], seen[frame]
        assert seen[frame]["problems"] == []
        assert len(seen[frame]["tabs"]) == 1 + len({task.benchmark for task in shown})
        for tab in seen[frame]["tabs"]:
            assert tab["screens"] < 10, tab
            assert tab["overflow"] <= 0, tab
            assert tab["cutText"] == [], tab
            assert tab["rows"] == count, tab
            assert tab["alive"] == tab["tables"], "tables of tabs that were left are destroyed"
        assert seen[frame]["tabs"][0]["answered"] <= 844, "best, A or B, cost and number of searches: one screen"
        assert max(tab["lines"] for tab in seen[frame]["tabs"]) == min(count, 8), "more lines are not readable"
        drawn = [title.partition(":")[0] for tab in seen[frame]["tabs"] for title in tab["charts"]]
        assert {"Alignment and uniformity", "Geometry by section"} <= set(drawn)
        assert ("Query types on common queries" in drawn) == (count > 1)
