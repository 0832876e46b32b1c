"""A stored result that was edited, moved, forged or is stale, and every command that prints a number."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import product

import mteb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from classes import these_first
from mteb.cache import ResultCache
from report_folders import add, model_folder

import patent_mteb
from patent_mteb import cli
from patent_mteb.experiments import doctor, run
from patent_mteb.experiments.plan import plan
from patent_mteb.experiments.rankings import fuse_runs
from patent_mteb.models import bm25
from patent_mteb.search.fusion import RRF
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.benchmark import PatentBenchmark
from patent_mteb.tasks.evidence import checksum, with_identity

MINILM, REVISION = "sentence-transformers/all-MiniLM-L6-v2", "8b3219a92973c328a8e22fadcfa821b5dc75636a"
PAECTER = "mpi-inno-comp/paecter"
TASK, OTHER = "PatenTEBRetrievalIN", "PatenTEBRetrievalOUT"
SAMPLE, OTHER_SAMPLE = "PatentMapAbsToAbsRetrieval.sample", "PatentMapClmToAllRetrieval.sample"
WRONG = 0.98765


def _edited(path, change, *, reseal=False):
    document = json.loads(path.read_text())
    entry = next(iter(document["scores"].values()))[0]
    change(document, entry)
    if reseal:
        entry["evidence"]["seal"] = checksum(entry)
    path.write_text(json.dumps(document))


def _main_score(entry):
    return next(
        name for name in ("ndcg_at_10", "recall_at_100", "ndcg_at_100") if entry.get(name) == entry["main_score"]
    )


def _all_scores(document, entry):
    name = _main_score(entry)
    entry |= {"main_score": WRONG, name: WRONG}
    if "paper_ndcg_at_10" in entry:
        entry["paper_ndcg_at_10"] = WRONG


def main_score_alone(path, other):
    _edited(path, lambda document, entry: entry.update(main_score=WRONG))


def every_score(path, other):
    _edited(path, _all_scores)


def without_evidence(path, other):
    _edited(path, lambda document, entry: (_all_scores(document, entry), entry.pop("evidence")))


def sealed_again(path, other):
    _edited(path, _all_scores, reseal=True)


def of_another_task(path, other):
    document = json.loads(other.read_text())
    _edited(other, _all_scores, reseal=True)
    document = json.loads(other.read_text()) | {"task_name": path.stem}
    path.write_text(json.dumps(document))


def with_evidence(name, change):
    """Forged scores, sealed with evidence of something else, and without per-query scores that contradict them."""

    def forge(document, entry):
        _all_scores(document, entry)
        change(entry["evidence"])

    def edit(path, other):
        _edited(path, forge, reseal=True)
        path.with_name(f"{path.stem}.queries.parquet").unlink(missing_ok=True)

    edit.__name__ = name
    return edit


of_another_model = with_evidence("of_another_model", lambda evidence: evidence["model"].update(name="acme/better"))
of_other_data = with_evidence("of_other_data", lambda evidence: evidence["data"].update(revision="d" * 40))
of_an_older_scoring = with_evidence("of_an_older_scoring", lambda evidence: evidence.update(scoring="retrieval 0"))


def with_other_query_scores(path, other):
    """Both forged, but for the number of the slice that the file of queries has as well."""
    _edited(path, _all_scores, reseal=True)
    queries = path.with_name(f"{path.stem}.queries.parquet")
    table = pq.read_table(queries)
    values = pa.array([WRONG - 0.1] * len(table), pa.float64())
    place = next(i for i, name in enumerate(table.column_names) if "@" in name)
    pq.write_table(table.set_column(place, table.column_names[place], values), queries)


EDITS = (main_score_alone, every_score, without_evidence, sealed_again, of_another_task, of_another_model)
EDITS += (of_other_data, of_an_older_scoring, with_other_query_scores)


# --- commands that read a folder of results


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Two models on two tasks whose numbers papers state."""
    root = tmp_path_factory.mktemp("published")
    values = np.linspace(0.1, 0.72, 60)
    for model, revision in ((MINILM, REVISION), (PAECTER, "r1")):
        for task in (TASK, OTHER):
            more = {"paper_ndcg_at_10": 0.4212, "paper_n_queries": 60}
            add(model_folder(root, model, revision), task, kind="real", queries=values, more=more)
    return root


@pytest.fixture
def folder(published, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(published, "in")
    return tmp_path / "in"


def _printed(capsys, *words):
    status = cli.main([str(word) for word in words])
    found = capsys.readouterr()
    return status, found.out + found.err


def _files(*folders):
    return "".join(path.read_text(errors="replace") for one in folders for path in one.rglob("*") if path.is_file())


def report(folder, capsys):
    out = folder.parent / "out"
    _, said = _printed(
        capsys, "report", folder, "--out", out, "--html", out / "page", "--format", "terminal", "csv", "markdown"
    )
    return said, _files(out)


def report_json(folder, capsys):
    return _printed(capsys, "report", folder, "--json")[1], ""


def reproduce(folder, capsys):
    return _printed(capsys, "reproduce", "--results", folder, "--json")[1], ""


def export(folder, capsys):
    return _printed(capsys, "publish", "results", folder, folder.parent / "out")[1], _files(folder.parent / "out")


def leaderboard(folder, capsys):
    return _printed(capsys, "publish", "board", folder, folder.parent / "board")[1], _files(folder.parent / "board")


def check_up(folder, capsys):
    return "\n".join(map(str, doctor.check_results(folder))), ""


def get_score(folder, capsys):
    whole = catalogue.find("PatenTEB")
    classes = [task for task in whole.task_classes if task.metadata.name in (TASK, OTHER)]
    benchmark = PatentBenchmark(replace(whole.facts, name="Two", spread=False), {"Retrieval": classes}, published=True)
    loaded = ResultCache(folder).load_results(tasks=[TASK, OTHER], require_model_meta=False, only_main_score=False)
    return json.dumps(benchmark.get_score(loaded), default=str), ""


READERS = (report, report_json, reproduce, export, leaderboard, check_up, get_score)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "edit"),
    these_first(
        product(READERS, EDITS),
        *product((report_json, check_up, get_score), EDITS),
        *product((report, reproduce, export, leaderboard), (every_score, sealed_again, of_an_older_scoring)),
    ),
    ids=lambda one: one.__name__,
)
def test_no_command_shows_a_score_that_its_evidence_contradicts(folder, capsys, caplog, command, edit):
    if command is get_score and edit in (sealed_again, with_other_query_scores):
        pytest.skip("mteb gives results without their files: per-query scores are not there to contradict a new seal")
    for model in ("sentence-transformers__all-MiniLM-L6-v2", "mpi-inno-comp__paecter"):
        (path,) = (folder / "results" / model).rglob(f"{TASK}.json")
        edit(path, path.with_name(f"{OTHER}.json"))
    with caplog.at_level("WARNING", "patent_mteb"):
        said, written = command(folder, capsys)
    shown = [
        form
        for form in (f"{WRONG}", f"{WRONG:.4f}", "0.9876", "98.76")
        if form in said.replace(f"{WRONG:.6f}", "") + written
    ]
    if command is not check_up:
        assert not shown, said[-2000:]
    assert TASK in said + caplog.text, "nothing is left out without a word"


@pytest.mark.slow
@pytest.mark.parametrize("command", READERS, ids=lambda command: command.__name__)
def test_what_was_not_touched_is_shown(folder, capsys, command):
    said, written = command(folder, capsys)
    assert (said == "") if command is check_up else any(value in said + written for value in ("0.41", "0.4212"))


# --- commands that take a result instead of computing it


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    root = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATENT_MTEB_QUERY_SCORES", "")
        report = run.run(
            bm25("dapfam"), [mteb.get_task(SAMPLE), mteb.get_task(OTHER_SAMPLE)], root, show_progress=False
        )
    return root, [outcome.main for outcome in report.outcomes]


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_a_run_computes_again_what_it_cannot_trust(measured, tmp_path, monkeypatch, caplog, edit):
    root, (right, _) = measured
    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", "")
    shutil.copytree(root, tmp_path / "results")
    (path,) = (tmp_path / "results").rglob(f"{SAMPLE}.json")
    edit(path, path.with_name(f"{OTHER_SAMPLE}.json"))
    task = mteb.get_task(SAMPLE)
    assert plan(bm25("dapfam"), [task], root).tasks[0].status == "done"
    assert plan(bm25("dapfam"), [task], tmp_path / "results").tasks[0].status == "to do"
    only = run.run(
        bm25("dapfam"), [task], tmp_path / "results", overwrite_strategy="only-cache", show_progress=False
    ).outcomes[0]
    assert only.status == "skipped" and only.main is None
    with caplog.at_level("WARNING", "patent_mteb"):
        outcome = run.run(bm25("dapfam"), [task], tmp_path / "results", show_progress=False).outcomes[0]
    assert outcome.main == right and outcome.cached == ""
    assert path.with_name(f"{path.name}.quarantined").exists() and "the task is run again" in caplog.text
    again = run.run(bm25("dapfam"), [task], tmp_path / "results", show_progress=False).outcomes[0]
    assert again.main == right, "and what it computed is trusted"


@pytest.mark.slow
@pytest.mark.parametrize("edit", [every_score, sealed_again, of_an_older_scoring], ids=lambda edit: edit.__name__)
def test_a_fusion_and_a_scored_run_are_computed_again(tmp_path, monkeypatch, capsys, edit):
    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", "")
    for setting in ("dapfam", "bm25s"):
        patent_mteb.rank(bm25(setting), SAMPLE).save(tmp_path / f"{setting}.run")
    runs = [tmp_path / "dapfam.run", tmp_path / "bm25s.run"]
    score = ("runs", "score", runs[0], "-t", SAMPLE, "--out", tmp_path / "results")
    right, said = fuse_runs(runs, SAMPLE, [RRF(30)], tmp_path / "results"), _printed(capsys, *score)[1]
    for path in (tmp_path / "results").rglob(f"{SAMPLE}.json"):
        edit(path, path)
    assert fuse_runs(runs, SAMPLE, [RRF(30)], tmp_path / "results").equals(right)
    again = _printed(capsys, *score)[1]
    shown = [line.split()[:4] for text in (said, again) for line in text.splitlines() if line.startswith(SAMPLE)]
    assert shown[0] == shown[1], "the true score both times"


@pytest.mark.slow
def test_a_stemmer_of_another_version_is_another_score(measured, tmp_path, monkeypatch):
    from patent_mteb.tasks import evidence

    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", "")
    model, task = mteb.get_model("mteb/baseline-bm25s"), mteb.get_task(SAMPLE)
    run.run(model, [task], tmp_path, show_progress=False)
    (path,) = tmp_path.rglob(f"{SAMPLE}.json")
    before = path.stat().st_mtime_ns
    known = evidence.libraries()
    monkeypatch.setattr(evidence, "libraries", lambda: {**known, "numpy": "9"})
    assert run.run(model, [task], tmp_path, show_progress=False).outcomes[0].status == "scored"
    assert path.stat().st_mtime_ns == before, "NumPy has no part in it"
    monkeypatch.setattr(evidence, "libraries", lambda: {"bm25s": "0.2.13", "PyStemmer": "2.2.0.3", "Snowball": "2.2.0"})
    run.run(model, [task], tmp_path, show_progress=False)
    assert path.stat().st_mtime_ns != before and path.with_name(f"{path.name}.quarantined").exists()


# --- what no digest shows


@pytest.mark.slow
def test_a_forged_result_does_not_come_out_of_its_data(measured, without_hook, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", "")
    shutil.copytree(measured[0], tmp_path / "results")
    assert (
        cli.main(["doctor", str(tmp_path / "results"), "--recompute", "20%", "--store", str(tmp_path / "store")]) == 0
    )
    said = capsys.readouterr().out
    assert said.count("5 of 25 queries ranked again: the scores are correct") == 2
    (path,) = (tmp_path / "results").rglob(f"{SAMPLE}.json")
    queries = path.with_name(f"{path.stem}.queries.parquet")
    table = pq.read_table(queries)
    for place, name in enumerate(table.column_names):
        if "@" in name or name.startswith("score:"):
            ones = [None if value is None or value != value else 1.0 for value in table[name].to_pylist()]
            table = table.set_column(place, name, pa.array(ones, pa.float64()))
    pq.write_table(with_identity(table, json.loads(table.schema.metadata[b"patent_mteb"])), queries)

    def perfect(document, entry):
        for name, value in entry.items():
            if isinstance(value, float):
                entry[name] = 1.0

    _edited(path, perfect, reseal=True)
    assert doctor.check_results(tmp_path / "results") == [], "all of it agrees with all of it"
    assert (
        cli.main(["doctor", str(tmp_path / "results"), "--recompute", "0.2", "--store", str(tmp_path / "store")]) == 1
    )
    said = capsys.readouterr().out
    assert "queries have other scores, by up to" in said and f"error {path}" in said
