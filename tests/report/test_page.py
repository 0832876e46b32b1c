"""The static page: its numbers, its safety, and its behaviour in a real browser on a wide and a phone-sized screen."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from many import many_models
from report_folders import HEADLINE, add, model_folder, payload_of, sample_world

from patent_mteb import report
from patent_mteb.report import cells, geometry, tables
from patent_mteb.report.collect import collect
from patent_mteb.report.page import page
from patent_mteb.report.payload import payload
from patent_mteb.report.queries import read_queries
from patent_mteb.report.statistics import Statistics, statistics
from patent_mteb.report.suite import suite_tasks
from patent_mteb.tasks import catalogue

EVIL = "evil/</script><img src=x onerror=alert(1)>&\"'"
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


@pytest.fixture(scope="module")
def made(world, tmp_path_factory):
    """The page of the world, with the papers' rows, as ``patent-mteb report --html --published`` writes it."""
    out = tmp_path_factory.mktemp("page")
    report.run(world, formats=(), html=out, published=True, baseline="lex/bm25")
    return out / "index.html"


def result_of(world, name, task):
    path = world / "results" / name.replace("/", "__").replace(" ", "_") / "r1" / f"{task}.json"
    result = json.loads(path.read_text())
    (entries,) = result["scores"].values()
    return result, entries[0]


def test_payload_holds_the_numbers_of_the_result_files(world):
    collected = collect(world)
    compared = statistics(collected, "lex/bm25")
    content = payload(collected, compared, tables.build(collected, compared))
    metrics = {task: spec.main_score for task, spec in suite_tasks().items()}
    checked = 0
    for tab in (tab for tab in content["tabs"] if tab["kind"] == "benchmark"):
        for place, number in enumerate(tab["runs"]):
            name = content["runs"][number]["label"]
            for at, task in enumerate(tab["tasks"]):
                if tab["found"][place][at] is None:
                    assert tab["values"][""][place][at] is None
                    continue
                result, entry = result_of(world, name, task["name"])
                assert tab["values"][""][place][at] == pytest.approx(entry["main_score"], abs=1e-6)
                assert content["texts"][task["data"]].endswith(f"at {result['dataset_revision']}")
                assert content["texts"][tab["found"][place][at][0]] == name
                measure = metrics[task["name"].removesuffix(".sample")]
                if f"in_{measure}" in entry:
                    inside, outside = (entry[f"{part}_{measure}"] for part in ("in", "out"))
                    assert tab["values"]["in"][place][at] == pytest.approx(inside, abs=1e-6)
                    assert tab["values"]["gap"][place][at] == pytest.approx(100 * (inside - outside) / inside, abs=1e-3)
                    counted = tab["counts"]["out"]
                    assert (counted[place][at] if isinstance(counted[0], list) else counted[at]) == 77
                score = compared.of(tab["world"], task["name"], name)
                shown = tab["intervals"][""][place][at]
                assert (shown is None) == (score is None)
                if score:
                    assert shown[:2] == pytest.approx([score.low, score.high], abs=1e-6)
                    said = [*shown, *[None] * (7 - len(shown))]
                    assert [bool(said[2]), said[4], bool(said[5])] == [score.tied, score.tier, score.better]
                    assert said[3::3] == [p and pytest.approx(p, abs=1e-4) for p in (score.p_best_holm, score.p_holm)]
                checked += 1
    assert checked == len(collected.results)


def test_front_has_a_headline_a_benchmark_and_the_means_of_common_tasks(world):
    collected = collect(world)
    content = payload(collected, Statistics(), tables.build(collected, Statistics()))
    front = next(tab for tab in content["tabs"] if tab["id"] == "sample-overall")
    names = [content["runs"][number]["label"] for number in front["runs"]]
    headlines = {head["title"]: dict(zip(names, head["values"], strict=True)) for head in front["headlines"]}
    assert list(headlines) == ["WIPO-AT", "PatenTEB"]
    scores = {name: result_of(world, name, f"{HEADLINE}.sample")[1]["main_score"] for name in names}
    assert headlines["WIPO-AT"] == pytest.approx(scores)
    assert names == ["acme/large", "acme/small", "lex/bm25", EVIL]  # the last has one headline of two
    assert front["ranks"] == [1, 2, 3, 4]
    assert [(one["title"], one["of"], one["counts"]) for one in front["coverage"]] == [
        ("WIPO-AT", len(catalogue.find("WIPO-AT").task_classes), [3, 3, 3, 1]),
        ("PatenTEB", 15, [15, 15, 8, 0]),
    ]
    assert front["common"] == []  # of all four only one task


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


def test_the_words_of_a_tab_are_explained_in_it(seen):
    assert {"IN", "OUT", "TAC", "nDCG@10"} <= set(seen["terms"])


def test_a_score_on_a_task_of_the_training_data_is_marked(seen):
    assert seen["trained"] == ["acme/large"]


def test_measures_are_words_and_in_and_out_are_named_after_their_tasks(world):
    collected = collect(world)
    compared = statistics(collected)
    content = payload(collected, compared, tables.build(collected, compared))
    notes = [note for tab in content["tabs"] for box in (tab, *tab.get("further", ())) for note in box["notes"]]
    assert any("TAC→TAC is PatentCitationRetrieval.sample (nDCG@10)" in note for note in notes)
    assert not [note for note in notes if re.search(r"_at_\d|macro_f1|v_measure", note)]
    titles = {chart["title"] for tab in content["tabs"] for chart in tab.get("charts", ())}
    assert {"IN and OUT of domain: TAC→TAC", "IN and OUT of domain: RetrievalIN and RetrievalOUT"} <= titles


def test_tabs_keep_sample_and_real_apart(world):
    collected = collect(world)
    content = payload(collected, Statistics(), tables.build(collected, Statistics()))
    assert [tab["label"] for tab in content["tabs"]] == TABS
    for tab in content["tabs"]:
        assert bool(tab["banner"]) == ("sample" in tab["label"])
        if tab["kind"] == "benchmark":
            assert all(task["name"].endswith(".sample") == ("sample" in tab["label"]) for task in tab["tasks"])


def test_page_is_self_contained_and_escaped(made):
    text = made.read_text()
    outside = re.sub(r'<script type="text/plain".*?</script>', "", text, flags=re.S).replace("http://www.w3.org/2000/svg", "")
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
    content = payload_of(page(collected, Statistics(), tables.build(collected, Statistics())))
    assert content["tabs"][1]["values"]["in"] == [[None]]
    assert content["tabs"][1]["values"]["gap"] == [[None]]


# --- in a browser ------------------------------------------------------------------------------------------------------------

RECORDER = """<script>
window.problems = [];
addEventListener("error", (event) => problems.push(String(event.message || event.target.src)), true);
addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => problems.push("blocked " + event.blockedURI));
for (const level of ["error", "warn"]) console[level] = (...words) => problems.push(words.join(" "));
</script>"""

COMMON = Path(__file__).with_name("browser.js").read_text()


@pytest.fixture(scope="module")
def browser():
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    if executable is None:
        pytest.skip("no Chromium is installed (on Debian: apt-get install chromium)")
    return executable


def observe(browser, text, harness, folder):
    """What a script sees that uses the page in a wide window and in one of 390 pixels (headless Chromium has no window so narrow,
    a frame has the same layout)."""
    source = html.escape(text.replace("<head>", "<head>" + RECORDER, 1))
    frames = "".join(
        f'<iframe id="{name}" width="{width}" height="844" srcdoc="{source}"></iframe>' for name, width in (("wide", 1280), ("phone", 390))
    )
    script = COMMON + Path(__file__).with_name(harness).read_text()
    wrapper = folder / "wrapper.html"
    wrapper.write_text(
        f'<!doctype html><meta charset="utf-8"><title>running</title>{frames}<pre id="observed"></pre><script>{script}</script>'
    )
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}"]
    command += ["--window-size=1720,1000", "--virtual-time-budget=900000", "--enable-logging=stderr", "--dump-dom", wrapper.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r'<pre id="observed">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stderr[-2000:]
    assert found[1], done.stderr[-2000:]
    seen = json.loads(html.unescape(found[1]))
    seen["console"] = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return seen


@pytest.fixture(scope="module")
def observed(browser, made, tmp_path_factory):
    return observe(browser, made.read_text(), "report_browser.js", tmp_path_factory.mktemp("browser"))


@pytest.fixture(params=["wide", "phone"])
def seen(request, observed):
    frame = observed[request.param]
    assert "failed" not in frame, frame
    return frame


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
    assert seen["WIPO-AT (sample)"]["charts"] == 5
    assert seen["All benchmarks (sample)"]["cards"] == ["WIPO-AT", "PatenTEB"]
    assert seen["published"]["folded"]
    assert "acme/large" in seen["published"]["text"]
    assert "measured here" in seen["published"]["text"]
    assert seen["keyboardTab"] == "DAPFAM"


def test_every_number_of_the_page_is_that_of_a_result_file(world, seen):
    checked = 0
    for label, rows in seen["numbers"].items():
        for name, task, shown in rows:
            _, entry = result_of(world, name, task)
            assert shown == f"{entry['main_score']:.4f}", (label, name, task)
            checked += 1
    assert checked == len(collect(world).results)


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
    expected = {name: "–" if value is None else f"{value:.4f}" for name, value in main_scores(world, "jurisdiction_jp_").items()}
    assert seen["slice"] == expected
    office = {name: f"{value:.4f}" for name, value in main_scores(world, "jurisdiction_ru_").items() if value is not None}
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
    for words in ("Model revision\nr1", "WIPO-AT at sample-", "Prompt\nnone", "mteb 2.26.24, torch 2.13.0", "2025-10-09", "Queries\n60"):
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


def test_tasks_of_the_page_are_those_of_the_suite(world, seen):
    measured = set(collect(world).results.filter(benchmark="WIPO-AT")["plain"])
    titles = [cells.short(name, catalogue.find("WIPO-AT").facts) for name in suite_tasks() if name in measured]
    assert [head.removeprefix("Retrieval") for head in seen["heads"] if head.startswith("Retrieval")][-len(titles) :] == titles


def test_a_number_opens_its_queries(world, seen):
    assert seen["explored"]["open"]
    assert seen["explored"]["queries"] >= 1
    names = [f"acme/{name}" for name in ("large", "small")]
    collected = collect(world)
    assert seen["explored"]["models"][0] == "large"
    other = next(name for name in (*names, "lex/bm25") if name.endswith(seen["explored"]["models"][1]))
    paths = [collected.results.filter(task=f"{HEADLINE}.sample", run=name)["queries"].item() for name in (names[0], other)]
    first, second = (read_queries(Path(path), "ndcg@10").parts[""] for path in paths)
    won, lost = int((first > second).sum()), int((first < second).sum())
    assert seen["explored"]["wins"] == [60, won, 60 - won - lost, lost]


# --- many models -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 25])
def test_page_of_many_models_is_light_and_no_tab_is_endless(browser, tmp_path, count):
    root = many_models(tmp_path / "many", count, queries=60 if count == 25 else 0)
    collected = collect(root)
    compared = statistics(collected, test="t")
    shown = [task for task in suite_tasks().values() if task.data.recipe]
    assert len(collected.results) == count * len(shown)
    text = page(collected, compared, tables.build(collected, compared), geometries=geometry.read(collected)[0])
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
        drawn = [title.partition(":")[0] for tab in seen[frame]["tabs"] for title in tab["charts"]]
        assert {"Alignment and uniformity", "Geometry by section"} <= set(drawn)
        assert ("Query types on common queries" in drawn) == (count == 25)
