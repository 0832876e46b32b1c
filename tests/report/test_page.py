"""The static page: its numbers, its safety, and its behaviour in a real browser on a wide and a phone-sized screen."""

import base64
import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from report_folders import HEADLINE, add, model_folder, sample_world

from patent_mteb import report
from patent_mteb.report import cells, tables
from patent_mteb.report.collect import collect
from patent_mteb.report.page import page, payload
from patent_mteb.report.statistics import statistics
from patent_mteb.report.suite import suite_tasks
from patent_mteb.tasks import catalogue

EVIL = "evil/</script><img src=x onerror=alert(1)>&\"'"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = sample_world(tmp_path_factory.mktemp("world"))
    add(model_folder(root, EVIL), HEADLINE, 0.01, slices={"in": 0.02, "out": 0.01})
    own = {"paper_n_queries": 7, "paper_ndcg_at_100": 0.31}
    add(model_folder(root, "acme/large"), "PatentDAPFAMTACToTACRetrieval", 0.31, kind="real", slices={"in": 0.35, "out": 0.05}, more=own)
    return root


@pytest.fixture(scope="module")
def made(world, tmp_path_factory):
    """The page of the world, with the papers' rows, as ``patent-mteb report --html --published`` writes it."""
    out = tmp_path_factory.mktemp("page")
    report.run(world, formats=(), html=out, published=True, baseline="lex/bm25")
    return out / "index.html"


def test_payload_holds_the_numbers_of_the_result_files(world):
    collected = collect(world)
    compared = statistics(collected, "lex/bm25")
    content = payload(collected, compared, tables.build(collected, compared))
    checked = 0
    for tab in content["tabs"]:
        if tab["kind"] != "benchmark":
            continue
        for run, name in enumerate(tab["runs"]):
            for at, task in enumerate(tab["tasks"]):
                if tab["provenance"][run][at] is None:
                    assert tab["values"][""][run][at] is None
                    continue
                source = content["provenance"][tab["provenance"][run][at]]
                assert source["task"] == task["name"]
                assert source["model"] == name
                path = world / "results" / name.replace("/", "__").replace(" ", "_") / "r1" / f"{task['name']}.json"
                result = json.loads(path.read_text())
                (entries,) = result["scores"].values()
                assert tab["values"][""][run][at] == entries[0]["main_score"]
                assert source["data_revision"] == result["dataset_revision"]
                if f"in_{task['measure']}" in entries[0]:
                    inside, outside = (entries[0][f"{part}_{task['measure']}"] for part in ("in", "out"))
                    assert tab["values"]["in"][run][at] == inside
                    assert tab["values"]["gap"][run][at] == pytest.approx(100 * (inside - outside) / inside)
                    assert tab["counts"]["out"][run][at] == 77
                score = compared.of(tab["id"].partition("-")[0], task["name"], name)
                expected = None if score is None else [score.low, score.high, score.p_holm, score.better]
                assert tab["statistics"][run][at] == expected
                checked += 1
    assert checked == len(collected.results)


def test_tabs_keep_sample_and_real_apart(world):
    collected = collect(world)
    content = payload(collected, statistics(collected), tables.build(collected, statistics(collected)))
    labels = [tab["label"] for tab in content["tabs"]]
    assert labels == ["All benchmarks", "DAPFAM", "All benchmarks (sample)", "WIPO-AT (sample)", "PatenTEB (sample)"]
    for tab in content["tabs"]:
        assert bool(tab["banner"]) == ("sample" in tab["label"])
        if tab["kind"] == "benchmark":
            assert all(task["name"].endswith(".sample") == ("sample" in tab["label"]) for task in tab["tasks"])


def test_page_is_self_contained_and_escaped(made):
    text = made.read_text()
    outside = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.S)
    assert "http://" not in outside
    assert "https://" not in outside
    assert "default-src 'none'" in text
    assert "onerror=alert" in text  # the name is there
    assert "<img src=x" not in text  # but not as markup
    assert len(re.findall("</script>", text)) == 2
    content = json.loads(re.search(r'id="payload">(.*?)</script>', text, re.S)[1])
    sources = [plot["source"] for tab in content["tabs"] for plot in tab["plots"]]
    assert sources
    for source in sources:
        assert base64.b64decode(source.removeprefix("data:image/svg+xml;base64,")).lstrip().startswith(b"<?xml")


def test_numbers_that_json_cannot_hold(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    add(folder, HEADLINE, 0.1, slices={"in": float("nan"), "out": 0.1})
    collected = collect(tmp_path)
    compared = statistics(collected)
    text = page(collected, compared, tables.build(collected, compared))
    content = json.loads(re.search(r'id="payload">(.*?)</script>', text, re.S)[1])
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

HARNESS = Path(__file__).with_name("report_browser.js").read_text()


@pytest.fixture(scope="module")
def browser():
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    if executable is None:
        pytest.skip("no Chromium is installed (on Debian: apt-get install chromium)")
    return executable


@pytest.fixture(scope="module")
def observed(browser, made, tmp_path_factory):
    """What a reader sees who uses the page in a wide window and in one of 390 pixels (headless Chromium has no window so narrow,
    a frame has the same layout)."""
    folder = tmp_path_factory.mktemp("browser")
    source = html.escape(made.read_text().replace("<head>", "<head>" + RECORDER, 1))
    frames = "".join(
        f'<iframe id="{name}" width="{width}" height="844" srcdoc="{source}"></iframe>' for name, width in (("wide", 1280), ("phone", 390))
    )
    wrapper = folder / "wrapper.html"
    wrapper.write_text(
        f'<!doctype html><meta charset="utf-8"><title>running</title>{frames}<pre id="observed"></pre><script>{HARNESS}</script>'
    )
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}"]
    command += ["--window-size=1400,1000", "--virtual-time-budget=60000", "--enable-logging=stderr", "--dump-dom", wrapper.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    text = re.search(r'<pre id="observed">(.*?)</pre>', done.stdout, re.S)
    assert text, done.stderr[-2000:]
    seen = json.loads(html.unescape(text[1]))
    seen["console"] = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return seen


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
    assert seen["tabs"] == ["All benchmarks", "DAPFAM", "All benchmarks (sample)", "WIPO-AT (sample)", "PatenTEB (sample)"]
    for label in seen["tabs"]:
        tab = seen[label]
        assert tab["heading"] == label
        assert tab["selected"] == [label]
        assert tab["banner"].startswith("Built-in sample") == ("sample" in label)
        assert tab["loaded"]
        assert tab["hash"].startswith("#sample" if "sample" in label else "#real")
    assert seen["WIPO-AT (sample)"]["images"] == 5
    assert seen["DAPFAM"]["tables"] == 2
    assert "acme/large" in seen["published"]
    assert "measured here" in seen["published"]
    assert seen["keyboardTab"] == "DAPFAM"


def test_sorting(world, seen):
    letters = {name: "a" for name in main_scores(world) if name.startswith("acme")}
    ordered = sorted(main_scores(world).items(), key=lambda item: -item[1])
    expected = [f"{value:.4f}{letters.get(name, '')}" for name, value in ordered]
    assert seen["descending"] == expected
    assert seen["ascending"] == expected[::-1]
    assert seen["sorted"] == "descending"


def test_filtering(seen):
    assert seen["filtered"] == ["acme/small"]
    assert seen["none"] == ["No row fits the filter."]
    assert EVIL in seen["names"]


def test_judgements_and_slices(world, seen):
    values = main_scores(world)
    ascending = sorted(values, key=values.get)
    shown = {part: [main_scores(world, f"{part}_")[name] for name in seen["names"]] for part in ("in", "out")}
    assert sorted(seen["names"]) == sorted(ascending)
    assert seen["IN"] == [f"{value:.4f}" for value in shown["in"]]
    assert seen["OUT"] == [f"{value:.4f}" for value in shown["out"]]
    assert seen["Gap"] == [f"{100 * (i - o) / i:.1f}%" for i, o in zip(shown["in"], shown["out"], strict=True)]
    assert [value.rstrip("a") for value in seen["All"]] == [f"{values[name]:.4f}" for name in seen["names"]]
    assert seen["slices"][1:] == [f"jurisdiction_{name}" for name in ("cn", "de", "en", "es", "fr", "jp", "ru")]
    expected = {name: "–" if value is None else f"{value:.4f}" for name, value in main_scores(world, "jurisdiction_jp_").items()}
    assert seen["slice"] == expected


def test_interval_and_provenance_of_a_number(world, seen):
    first = seen["names"][0]
    score = statistics(collect(world), "lex/bm25").of("sample", f"{HEADLINE}.sample", first)
    for words in (
        f"{first}: TAC→TAC",
        f"{HEADLINE}.sample",
        f"{main_scores(world)[first]:.4f} (ndcg_at_10)",
        f"{score.low:.4f} to {score.high:.4f}",
    ):
        assert words in seen["tip"]
    for words in ("Model revision\nr1", "WIPO-AT at sample-", "Prompt\nnone", "mteb 2.26.24, torch 2.13.0", "2025-10-09", "Queries\n60"):
        assert words in re.sub(r"\s*\n\s*", "\n", seen["tip"].replace("\t", "\n"))
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


def test_tasks_of_the_page_are_those_of_the_suite(world, seen):
    measured = set(collect(world).results.filter(benchmark="WIPO-AT")["plain"])
    titles = [cells.short(name, catalogue.find("WIPO-AT").facts) for name in suite_tasks() if name in measured]
    assert [head.removeprefix("Retrieval") for head in seen["heads"] if head.startswith("Retrieval")][-len(titles) :] == titles
