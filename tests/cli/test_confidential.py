"""Which files hold texts, numbers and names: docs/confidential.md, and the line of each command, compared with files."""

from __future__ import annotations

import gzip
import json
import re
import stat
import zipfile
from pathlib import Path

import mteb
import pyarrow.parquet as pq
import pytest
from marked_list import write_list
from report_folders import payload_of
from small_bases import write_static

import patent_mteb
from patent_mteb import cli, files
from patent_mteb.endpoints.chat import Answers
from patent_mteb.experiments.anonymous import copy_results, key_path
from patent_mteb.models import bm25

MARKERS = {"texts": "zzqtext", "numbers": "us7712", "names": "zzqperson"}
TASK = "OursCitationRetrieval"
DOCS = Path(__file__).parents[2] / "docs" / "confidential.md"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with the output of every command, named as the rows of the page, and what each printed."""
    root = tmp_path_factory.mktemp("confidential")
    said = {}
    with pytest.MonkeyPatch.context() as patch, pytest.MonkeyPatch.context() as data:
        patch.chdir(root)
        patch.setenv("PATENT_MTEB_CACHE", str(root / "cache"))
        write_list(root / "list.csv")
        write_static(root / "model")

        def run(line, *folders):
            with (root / "said.txt").open("w") as out, pytest.MonkeyPatch.context() as streams:
                streams.setattr(cli.common, "console", cli.common.Terminal(file=out, width=500))
                assert cli.main([*line.split(), "-v", "0"]) == 0, line
            said[line] = (root / "said.txt").read_text(), folders

        run("data import list.csv --out records")
        run("data build wipo_at records built --name Ours --data-version v7")
        data.setenv("PATENT_MTEB_DATA", "built")
        run(f"run -t {TASK} -m bm25 --out results --save-runs runs", "results", "runs")
        run(f"run -t {TASK} -m model --out results --save-runs runs --store store", "results", "runs")
        run(f"runs candidates -t {TASK} -m bm25 --top 5 --out candidates", "candidates")
        run("report results --html page --format csv markdown latex --out tables", "page", "tables")
        run("report results --html anonymous-page --anonymous", "anonymous-page")
        run("publish board results board --name model=Ours", "board")
        run("publish anonymous results anonymous", "anonymous")
        run("publish anonymous runs anonymous-runs", "anonymous-runs")
        run(f"publish beir {TASK} beir", "beir")
        (root / "said.txt").unlink()
        yield root, said


def content(path):
    """What a file holds, unpacked, in small letters."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return f"{table.schema.metadata}{table.to_pylist()}".lower()
    if path.suffix == ".html":
        text = path.read_text("utf-8")
        return (text + json.dumps(payload_of(text))).lower()
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            raw += b"".join(map(archive.read, archive.namelist()))
    return raw.decode("latin-1").lower()


def held(folder):
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    assert files, folder
    texts = list(map(content, files))
    return {kind: any(marker in text for text in texts) for kind, marker in MARKERS.items()}


def rows():
    """The rows of the table of the page: the folder, and whether it holds each kind."""
    found = re.findall(
        r"^\| `([\w-]+)` \|.*\| (yes|no)\b[^|]*\| (yes|no)\b[^|]*\| (yes|no)\b[^|]*\|$", DOCS.read_text(), re.M
    )
    return {name: dict(zip(MARKERS, (one == "yes" for one in values), strict=True)) for name, *values in found}


@pytest.mark.slow
def test_the_page_says_what_every_written_folder_holds(written):
    root, _ = written
    folders = {path.name for path in root.iterdir() if path.is_dir()} - {"model"}
    assert {name: held(root / name) for name in sorted(folders)} == rows()


def test_the_private_parts_of_the_cache_are_listed_unreadable_for_others_and_removable(tmp_path, monkeypatch):
    """Plain mteb saves per-query scores there, and a language model may quote a text in its answer."""
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PATENT_MTEB_QUERY_SCORES", raising=False)
    (task,) = patent_mteb.get_tasks("PatentMap", types=["Retrieval"], sample=True)[:1]
    mteb.evaluate(bm25("dapfam"), task, cache=None, co2_tracker=False, show_progress_bar=False)
    answers = Answers(files.cache_root() / files.ANSWERS)
    answers.put("key", {"text": MARKERS["texts"]})
    answers.close()
    scores, stored = (tmp_path / "cache" / name for name in ("query_scores", "answers.sqlite"))
    assert any(path.is_file() for path in scores.rglob("*.parquet"))
    assert [stat.S_IMODE(path.stat().st_mode) for path in (scores, stored)] == [0o700, 0o600]
    listed = set(re.findall(r"^\| `cache/([\w.]+)` \|", DOCS.read_text(), re.M))
    assert listed == {"inputs", "query_scores", "answers.sqlite"}
    assert cli.main(["data", "forget"]) == 0
    assert not scores.exists() and stored.exists(), "answers were paid"
    assert cli.main(["data", "forget", "--answers"]) == 0
    assert not stored.exists()


def test_the_security_policy_names_options_that_commands_have():
    root = Path(__file__).parents[2]
    known = "".join(path.read_text("utf-8") for path in (root / "tests" / "golden" / "help").glob("*.txt"))
    named = set(re.findall(r"--[a-z][\w-]+", (root / "SECURITY.md").read_text("utf-8")))
    assert {name for name in named if name not in known} == set()


@pytest.mark.slow
def test_each_command_says_what_its_files_hold(written):
    root, said = written
    for command, (text, folders) in said.items():
        sentences = re.findall(r"^These files hold (.*) \(docs/confidential.md\)\.$", text, re.M)
        assert len(sentences) == bool(folders), command
        there = [held(root / folder) for folder in folders]
        for sentence in sentences:
            assert any(one["texts"] for one in there) == ("the texts" in sentence), command
            numbers = re.search(r"(?<!no )(?<!digests of )(?:the )?patent numbers", sentence) is not None
            assert numbers or not any(one["numbers"] for one in there), command
            assert not any(one["names"] for one in there), command


@pytest.mark.slow
def test_runs_without_numbers_have_the_same_scores_and_cannot_be_guessed(written, tmp_path, monkeypatch):
    import ir_measures
    from ir_measures import nDCG

    root, _ = written
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(root / "cache"))
    scores = []
    for folder in ("runs", "anonymous-runs"):
        (run,) = (path for path in (root / folder).rglob("*.run") if "bm25" in str(path))
        (qrels,) = run.parent.glob("*.qrels")
        ranked = [line.split() for line in run.read_text().splitlines()]
        assert [line[0] for line in ranked] == sorted(line[0] for line in ranked) or folder == "runs"
        # by rank, because equal scores are ordered by id
        read = [ir_measures.ScoredDoc(line[0], line[2], -int(line[3])) for line in ranked]
        scores.append(ir_measures.calc_aggregate([nDCG @ 10], list(ir_measures.read_trec_qrels(str(qrels))), read))
    assert scores[0][nDCG @ 10] == pytest.approx(scores[1][nDCG @ 10], abs=1e-12)
    first = sorted(path.read_bytes() for path in (root / "anonymous").rglob("*.parquet"))
    copy_results(root / "results", tmp_path / "again")
    assert first == sorted(path.read_bytes() for path in (tmp_path / "again").rglob("*.parquet")), "one key, one digest"
    assert key_path().stat().st_mode & 0o777 == 0o600
    key_path().unlink()
    copy_results(root / "results", tmp_path / "other")
    others = {
        query for path in (tmp_path / "other").rglob("*.parquet") for query in pq.read_table(path)["query"].to_pylist()
    }
    ours = {
        query for path in (tmp_path / "again").rglob("*.parquet") for query in pq.read_table(path)["query"].to_pylist()
    }
    assert len(ours) == len(others) >= 50 and not ours & others, "another key, other digests"
