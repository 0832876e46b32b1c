"""A truncated, a half-downloaded and a re-published release: where their scores end, online, offline and as a copy."""

from __future__ import annotations

import csv
import json

import mteb
import pytest
import released_layouts
from huggingface_hub import constants, snapshot_download
from released_layouts import DAPFAM, PATENTMAP

from patent_mteb import cli
from patent_mteb.data import hub as asked
from patent_mteb.data import loading, releases
from patent_mteb.experiments.run import run
from patent_mteb.report.collect import collect
from patent_mteb.report.export import prepare
from patent_mteb.report.reproduce import reproduce
from patent_mteb.tasks import dapfam, patentmap

MODEL = "patent-mteb/bm25-bm25s"
RETRIEVAL, CLASSES = "PatentMapAbsToAbsRetrieval", "PatentMapIPCClassification"
TAC = "PatentDAPFAMTACToTACRetrieval"


def offline(monkeypatch):
    """As a process that starts without a network."""
    asked.forget()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def outcome(folder, task, model=MODEL):
    for reader in (dapfam.read_tables, patentmap.read_search, patentmap.read_classification):
        reader.cache_clear()
    (found,) = run(mteb.get_model(model), mteb.get_tasks(tasks=[task]), folder, show_progress=False).outcomes
    return found


@pytest.mark.slow
@pytest.mark.parametrize("task", [RETRIEVAL, CLASSES])
def test_a_truncated_release_is_named_and_compared_with_nothing(
    hub, releases_of_any_size, monkeypatch, tmp_path, capsys, task
):
    """40 patents in the place of 48,110, and 40 rows in the place of 25,500."""
    released_layouts.publish(hub, PATENTMAP)
    monkeypatch.setattr(releases, "ROWS", releases_of_any_size)
    model = MODEL if task == RETRIEVAL else "mteb/baseline-random-encoder"
    said = "the file has 40 rows, its release " + ("48110" if task == RETRIEVAL else "25500")
    with monkeypatch.context() as accepting:  # everything is in the cache afterwards
        accepting.setenv(loading.TRUNCATED_VARIABLE, "1")
        assert outcome(tmp_path, task, model).status == "scored"
    for network in (True, False):
        if not network:
            offline(monkeypatch)
        refused = outcome(tmp_path, task, model)
        assert refused.status == "skipped" and said in refused.reason
    collected = collect(tmp_path)
    assert set(collected.results["data_source"]) == {"local"}
    found = reproduce(collected)
    assert not (found.lines or found.other_settings) and "No result on published data" in found.messages[-1]
    assert prepare(tmp_path, tmp_path / "export").exported == 0
    assert cli.main(["report", str(tmp_path), "--format", "csv", "--published", "--out", str(tmp_path / "out")]) == 0
    tables = {path.stem for path in (tmp_path / "out").rglob("*.csv")} - {"results", "scores", "wide", "pairs"}
    assert tables and all(name.startswith("local-") for name in tables)
    capsys.readouterr()
    assert cli.main(["report", str(tmp_path), "--format", "markdown"]) == 0
    assert "not comparable with published scores" in capsys.readouterr().out


@pytest.mark.slow
def test_a_copy_of_another_known_commit_is_local_and_the_message_knows_it(hub, monkeypatch, tmp_path, caplog):
    other = next(one for one in releases.FACTS if one.fact == "commit" and one.value.startswith("a59a74ce"))
    released_layouts.publish(hub, DAPFAM)
    hub.repositories[DAPFAM].commit(released_layouts.dapfam_files(), sha=other.value)
    root = tmp_path / "data"
    snapshot_download(DAPFAM, repo_type="dataset", revision=other.value, local_dir=root / DAPFAM)
    monkeypatch.setenv(loading.DATA_VARIABLE, str(root))
    offline(monkeypatch)
    assert outcome(tmp_path / "results", TAC).status == "scored"
    assert "is commit a59a74ce3138 of datalyes/DAPFAM_patent, not 780f4011d602 (known from pateval" in caplog.text
    collected = collect(tmp_path / "results")
    assert set(collected.results["data_source"]) == {"local"} and not reproduce(collected).lines


def independent_facts(folder, key):
    """Counted from the invented tables themselves, not from the files."""
    if key == DAPFAM:
        tables = released_layouts.dapfam()
        texts = ("title_en", "abstract_en", "claims_text", "description_en")
        return {
            ("corpus.parquet", "rows"): "50",
            ("queries.parquet", "rows"): "10",
            ("qrels_all.parquet", "rows"): "120",
            ("corpus.parquet", "empty values"): str(
                sum(not value for name in texts for value in tables["corpus"][name])
            ),
            ("", "queries in the corpus"): "0",
            ("", "self-judgements"): "0",
        }
    found = released_layouts.patentmap()
    return {
        ("perf200/content/documents.json", "rows"): "40",
        ("perf200/content/queries.json", "rows"): "8",
        ("perf200/mapping/gold.json", "rows"): str(sum(map(len, found["gold"].values()))),
        ("IPC-Classification/train_512.csv", "rows"): "40",
        ("", "queries in the corpus"): "0",
    }


@pytest.mark.slow
@pytest.mark.parametrize("key", [DAPFAM, PATENTMAP])
def test_a_copy_is_certified_without_a_text_and_compared_with_its_release(
    hub, releases_of_any_size, tmp_path, capsys, key
):
    commit = released_layouts.publish(hub, key)
    root = tmp_path / "data"
    snapshot_download(key, repo_type="dataset", revision=commit, local_dir=root / key)
    assert cli.main(["data", "validate", str(root), "--certify", str(tmp_path / "facts.csv")]) == 0
    shown = capsys.readouterr().out
    with (tmp_path / "facts.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    facts = {(row["file"], row["fact"]): row["value"] for row in rows}
    assert facts["", "commit"] == commit and {row["data"] for row in rows} == {key}
    assert independent_facts(root, key).items() <= facts.items()
    assert not any(word in (tmp_path / "facts.csv").read_text() for word in released_layouts.WORDS)
    file, rows_released = ("corpus.parquet", 45336) if key == DAPFAM else ("perf200/content/documents.json", 48110)
    assert f"{file}: rows {facts[file, 'rows']}, of its release {rows_released}" in shown.replace("\n", " ")


def test_ids_decide_a_digest_and_their_order_does_not(tmp_path):
    def digests(tables):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for name, content in released_layouts.dapfam_files(**tables).items():
            (folder / name).write_bytes(content)
        return {
            (one.file, one.fact): one.value
            for one in releases.certify(DAPFAM, folder, "")
            if one.fact.startswith(("ids", "self", "queries"))
        }

    tables = released_layouts.dapfam()
    plain = digests(tables)
    turned = {name: {column: values[::-1] for column, values in table.items()} for name, table in tables.items()}
    assert digests(turned) == plain
    own = json.loads(json.dumps(tables))
    own["qrels_all"]["query_id"][0] = own["qrels_all"]["relevant_id"][0]
    own["queries"]["query_id"][0] = own["corpus"]["relevant_id"][0]
    changed = digests(own)
    differing = {name for name in plain if changed[name] != plain[name]}
    assert ("", "self-judgements") in differing and ("", "queries in the corpus") in differing
    assert ("queries.parquet", "ids of query_id") in differing and (
        "corpus.parquet",
        "ids of relevant_id",
    ) not in differing
    assert changed["", "self-judgements"] == changed["", "queries in the corpus"] == "1"
