"""The datasheet and the Croissant metadata of an edition: counts of its files, rules, sources, licences and power."""

from __future__ import annotations

import hashlib
import json
import statistics

import numpy as np
import open_us_patents as world
import pytest

from patent_mteb.experiments import datasheet, editions
from patent_mteb.metrics.significance import detectable, smallest_difference
from patent_mteb.tasks import catalogue

SOURCES = [
    {"file": "ipa230105.zip", "kind": "uspto", "bytes": 812, "sha256": "ab" * 32, "day": "2026-01-02"},
    {"file": "actions.jsonl", "kind": "uspto-citations", "bytes": 99, "sha256": "cd" * 32, "day": "2026-01-03"},
]


@pytest.fixture
def edition(tmp_path):
    root = tmp_path / "edition"
    editions.build(world.collection(), root, world.WINDOW, licence="CC BY 4.0", sources=SOURCES)
    return root, json.loads((root / "manifest" / "edition.json").read_text("utf-8"))


def rows(path):
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()[1:]]


def test_the_notes_count_the_files(edition):
    root, head = edition
    folder = root / "PatentOpenUS"
    texts = {
        "documents": folder / "corpus.jsonl",
        "applications": folder / "queries.jsonl",
        "claims": folder / "claims" / "queries.jsonl",
        "passages": folder / "passages" / "corpus.jsonl",
    }
    assert head["notes"]["texts"] == {part: len(path.read_text("utf-8").splitlines()) for part, path in texts.items()}
    for part, found in head["notes"]["judgements"].items():
        pairs = rows(folder / {"documents": ""}.get(part, part) / "qrels" / "test.tsv")
        relevant = [pair for pair in pairs if int(pair[2]) > 0]
        queries = len({query for query, *_ in relevant})
        assert (found["queries"], found["judged"], found["relevant"]) == (queries, len(pairs), len(relevant))
        assert found["smallest_difference"] == (round(smallest_difference(queries, 0.25), 4) if queries > 1 else None)
    assert set(head["notes"]["judgements"]) == {"documents", "claims", "passages"}


def test_the_smallest_difference_is_that_of_scores_with_this_spread():
    values = np.random.default_rng(0).normal(0.5, 0.2, (87, 2))
    spread = statistics.stdev((values[:, 0] - values[:, 1]).tolist())
    assert smallest_difference(87, spread) == pytest.approx(detectable(values))
    # the normal quantiles of 97.5% and 80%, as in tables of statistics
    assert smallest_difference(10**6, 0.1) == pytest.approx((1.959964 + 0.841621) * 0.1 / 1000, rel=1e-5)


def test_the_datasheet_states_rules_sources_licences_and_limits(edition):
    root, head = edition
    text = (root / "manifest" / "datasheet.md").read_text("utf-8")
    lines = text.splitlines()
    assert lines[0] == f"# {head['edition']}"
    for rule, value in head["rules"].items():
        assert f"| {rule} | {value} |" in lines
    for step, count in head["notes"]["counts"].items():
        assert f"| {step} | {count} |" in lines
    for one in SOURCES:
        assert f"| {one['file']} | {one['kind']} | {one['day']} | {one['bytes']} | {one['sha256']} |" in lines
    assert "| uspto | https://creativecommons.org/publicdomain/mark/1.0/ |" in lines
    assert "The edition as a whole: CC BY 4.0." in text and "## Limits" in lines
    assert "rotor" not in text.lower(), "no text of a patent"


def test_the_licence_is_that_of_all_parts():
    kinds = [{"kind": "uspto"}, {"kind": "uspto-citations"}, {"kind": "epo"}, {"kind": "hupd"}]
    assert datasheet.licence_of(kinds[3:]) == "cc-by-sa-4.0"
    assert datasheet.licence_of(kinds[:2]) == "multiple"
    assert datasheet.licence_of(kinds) == ""  # one publisher states none for all
    assert datasheet.licence_of([]) == ""


@pytest.mark.parametrize(
    ("licence", "known"),
    [("CC BY 4.0", "cc-by-4.0"), ("multiple", "multiple"), ("https://example.org/terms", "https://example.org/terms")],
)
def test_the_licence_is_in_the_metadata_of_the_tasks(tmp_path, monkeypatch, licence, known):
    editions.build(world.collection(), tmp_path / "edition", world.WINDOW, licence=licence)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "edition"))
    (benchmark,) = catalogue.own_benchmarks()
    assert {str(task.metadata.license) for task in benchmark.task_classes} == {known}


def test_croissant_names_every_table_with_its_hash(edition):
    root, head = edition
    found = json.loads((root / "croissant.json").read_text("utf-8"))
    assert (found["name"], found["license"]) == (head["edition"], "CC BY 4.0")
    named = {one["contentUrl"]: one["sha256"] for one in found["distribution"]}
    for name, checksum in named.items():
        assert hashlib.sha256((root / name).read_bytes()).hexdigest() == checksum
    assert set(head["tables"]) | {"manifest/edition.json", "manifest/patents.parquet"} <= set(named)


def test_croissant_is_valid_and_reads_every_table(edition):
    mlcroissant = pytest.importorskip("mlcroissant")
    found = mlcroissant.Dataset(jsonld=edition[0] / "croissant.json")
    assert not found.metadata.ctx.issues.errors and not found.metadata.ctx.issues.warnings
    counts = {one.uuid.removesuffix("#rows"): len(list(found.records(one.uuid))) for one in found.metadata.record_sets}
    assert counts["PatentOpenUS/corpus.jsonl"] == edition[1]["notes"]["texts"]["documents"]
    assert counts["manifest/patents.parquet"] > 0
