"""What ``patent-mteb doctor`` finds, and what it mends."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import mteb
import numpy as np
import pytest
from small_data import unmeasured

from patent_mteb import cli
from patent_mteb.errors import DataError
from patent_mteb.experiments import doctor, run
from patent_mteb.experiments.results_folder import QUARANTINED
from patent_mteb.identity import content_hash
from patent_mteb.models import bm25
from patent_mteb.store import EmbeddingStore, hash_texts

TASK = "PatentMapAbsToAbsRetrieval.sample"


@pytest.fixture(scope="module")
def whole_results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("doctor") / "results"
    run.run(bm25("dapfam"), [mteb.get_task(TASK)], folder, show_progress=False)
    return folder


@pytest.fixture
def results(whole_results, tmp_path):
    return Path(shutil.copytree(whole_results, tmp_path / "results"))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def old(path):
    os.utime(path, (0, 0))
    return path


def problems(findings):
    return [str(finding) for finding in findings]


@pytest.mark.slow
def test_a_hook_that_is_alive_off_or_missing(monkeypatch, python_without_mteb):
    way = ["python -m mteb"]
    assert doctor.check_registration(python_without_mteb) == [], "in both ways"
    monkeypatch.setenv("PATENT_MTEB_AUTOLOAD", "0")
    (finding,) = doctor.check_registration(python_without_mteb, way)
    assert "unset PATENT_MTEB_AUTOLOAD" in finding.remedy and "does not know the suite" in finding.problem
    monkeypatch.delenv("PATENT_MTEB_AUTOLOAD")
    monkeypatch.setattr(doctor, "_COMMANDS", {"without site-packages": ("-S", "-c", "import mteb")})
    (finding,) = doctor.check_registration(commands=["without site-packages"])
    assert "No module named 'mteb'" in finding.problem and "pip" in finding.remedy
    assert doctor.check_registration(str(Path(sys.executable).with_name("no-python")), ["without site-packages"])


def test_all_is_well(results, cache, without_hook, tmp_path, capsys):
    EmbeddingStore(cache / "store").space({"model": "m", "revision": "1"}).append(
        hash_texts(["a"]), np.ones((1, 4), np.float32)
    )
    assert content_hash(results)
    assert cli.main(["doctor", str(results)]) == 0
    assert "all is well" in capsys.readouterr().out


def test_places(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    places = {
        "cache": tmp_path / "new" / "cache",
        "results": tmp_path / "file",
        "embedding store": tmp_path / "file" / "store",
    }
    found = problems(doctor.check_folders(places))
    assert (
        len(found) == 2 and "results folder is a file" in found[0] and f"below the file {tmp_path / 'file'}" in found[1]
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]

    def refused(**options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refused)
    assert "cannot be written (Permission denied)" in problems(doctor.check_folders({"cache": tmp_path}))[0]


FILED = (f"{TASK}.json", "model_meta.json")
UNREADABLE = (b"", b"{", b"[]", b"\xff\xfe", b'{"scores": {}}')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "left"), [(FILED[0], left) for left in UNREADABLE] + [(FILED[1], b"{"), (FILED[1], b"[]")]
)
def test_results_that_cannot_be_read_are_set_aside_and_made_again(results, cache, without_hook, capsys, left, name):
    (path,) = results.rglob(name)
    before = json.loads(path.read_text())
    path.write_bytes(left)
    assert cli.main(["doctor", str(results)]) == 1
    assert str(path) in (said := capsys.readouterr().out) and said.startswith("error") and path.read_bytes() == left
    assert cli.main(["doctor", str(results), "--fix"]) == 1
    assert capsys.readouterr().out.startswith("mended")
    assert not path.exists() and path.with_name(f"{name}{QUARANTINED}").read_bytes() == left
    assert cli.main(["doctor", str(results)]) == 0
    run.run(bm25("dapfam"), [mteb.get_task(TASK)], results, show_progress=False)
    after = json.loads(path.read_text())
    assert unmeasured(after["scores"]) == unmeasured(before["scores"]) if "scores" in before else after == before


def test_per_query_scores_that_cannot_be_read(results):
    path = results / "some.queries.parquet"
    path.write_bytes(b"PAR1")
    assert [finding.place for finding in doctor.check_results(results)] == [str(path)]


def test_damaged_memos(cache, tmp_path, monkeypatch):
    folder = cache / "hashes"
    folder.mkdir(parents=True)
    for name, content in {"0" * 32: b"0" * 32, "1" * 32: b"", "2" * 32: b"\xff" * 65, "3" * 32: b"/" * 32}.items():
        (folder / name).write_bytes(content)
    assert len(doctor.check_hashes()) == 4 and len(list(folder.iterdir())) == 4
    assert all(finding.fixed for finding in doctor.check_hashes(fix=True))
    assert list(folder.iterdir()) == [] and doctor.check_hashes() == []


def test_leftovers(results, cache):
    ended, living = "4194305", str(os.getpid())
    lost, kept = [], []
    for place in (results, cache, cache / "hashes"):
        place.mkdir(parents=True, exist_ok=True)
        for process, into in ((ended, lost), (living, kept)):
            path = place / f".scores.json.{process}.0123abcd.partial"
            path.write_text("{")
            into.append(old(path))
    fresh = results / f".fresh.json.{ended}.0123abcd.partial"
    fresh.write_text("written to a moment ago, perhaps by a process of another container")
    kept.append(fresh)
    for process, into in ((ended, lost), (living, kept)):
        folder = results / f".building-{process}-sophia-abcdefgh"
        (folder / "new").mkdir(parents=True)
        old(folder / "new")
        into.append(old(folder))
    sample = cache / "sample" / "1-0123456789ab"
    (sample / "wipo_at").mkdir(parents=True)
    kept.append(old(sample / "wipo_at"))
    (sample / "wipo_at.x1y2z3_4").mkdir()
    lost.append(old(sample / "wipo_at.x1y2z3_4"))
    found = doctor.check_leftovers([results, cache])
    assert sorted(finding.place for finding in found) == sorted(map(str, lost)) and all(path.exists() for path in lost)
    assert all(finding.fixed for finding in doctor.check_leftovers([results, cache], fix=True))
    assert not any(path.exists() for path in lost) and all(path.exists() for path in kept)


def test_a_damaged_store(cache, without_hook, capsys):
    store = EmbeddingStore(cache / "store")
    space = store.space({"model": "m", "revision": "1"})
    for word in ("a", "b"):
        space.append(hash_texts([word]), np.ones((1, 4), np.float32))
    space.close()
    (rows,) = space.directory.glob("*.rows")
    content = bytearray(rows.read_bytes())
    content[3] ^= 1
    rows.write_bytes(content)
    left = cache / "store" / "spaces" / f"{space.directory.name}.0123.pruned"
    left.mkdir()
    assert cli.main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert rows.name in said and left.name in said and "2 findings" in said
    assert cli.main(["doctor", "--fix"]) == 1
    assert capsys.readouterr().out.count("mended") == 2
    assert cli.main(["doctor"]) == 0
    assert EmbeddingStore(cache / "store").space({"model": "m", "revision": "1"}).contains(
        hash_texts(["a", "b"])
    ).tolist() == [False, True]


def test_a_store_of_a_later_format_is_a_finding(cache, without_hook, capsys):
    (cache / "store").mkdir(parents=True)
    (cache / "store" / "store.json").write_text('{"format": 99}')
    assert cli.main(["doctor", "--fix"]) == 1
    assert "format 99" in capsys.readouterr().out


def test_a_results_folder_that_is_none_is_an_unusable_argument(tmp_path, without_hook, capsys):
    assert cli.main(["doctor", str(tmp_path / "typo")]) == 2
    assert "there is no results folder" in capsys.readouterr().err
    with pytest.raises(DataError):
        doctor.examine(tmp_path / "typo")
