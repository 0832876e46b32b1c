"""Candidates that were written down give a reranker what the first stage itself gives it, and nothing else is taken for
them.
"""

import json
import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import mteb
import numpy as np
import pytest
from tiny_checkpoints import write_cross_encoder

from patent_mteb import cli
from patent_mteb.errors import DataError
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.experiments.rankings import candidates
from patent_mteb.models import Hybrid, Reranked, bm25
from patent_mteb.search.candidates import Candidates
from patent_mteb.search.engine import engine

K, DEPTH = 30, 8


def limited():
    return retrieval_task("PatentDAPFAMTitleToTARetrieval.sample").limit_to(15)


@pytest.fixture(scope="module")
def task():
    return limited()


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    return write_cross_encoder(tmp_path_factory.mktemp("reranker") / "tiny")


@pytest.fixture(scope="module")
def made(task, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "candidates"
    candidates(bm25("dapfam"), [task], folder, K)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return Path(copytree(made, tmp_path / "candidates"))


def rankings(model, task):
    system, queries, context = task.searching(model)
    return [run.to_dict() for run in system.rank_both(queries, DEPTH, context)]


@pytest.mark.slow
def test_a_reranker_finds_the_same_over_files_as_over_the_search(task, folder, cross_encoder):
    direct, stored = (Reranked(first, cross_encoder, DEPTH) for first in (bm25("dapfam"), Candidates(folder)))
    assert rankings(stored, task) == rankings(direct, task)
    assert any(task.tables.hidden.values()), "both protocols differ"
    assert direct.mteb_model_meta.revision != stored.mteb_model_meta.revision
    assert stored.mteb_model_meta.name == "reranked/8-candidates-30-bm25-dapfam+tiny"
    run = task.rank(stored)
    assert run.first_stage.k == DEPTH and run.effort["pairs"] == 15 * DEPTH and run.effort["seconds"] > 0


def test_both_protocols_of_a_fusion_come_from_the_files(task, tmp_path):
    """A fusion normalises its scores over what is not hidden: neither ranking can be read off the other."""
    model = Hybrid(bm25("dapfam"), bm25("bm25s"), alpha=0.5)
    candidates(model, [task], tmp_path / "hybrid", K)
    assert rankings(Candidates(tmp_path / "hybrid"), task) == rankings(model, task)


def test_recall_is_the_share_of_the_relevant_documents_that_are_there(task, folder):
    manifest = json.loads(next(folder.glob("*.json")).read_text())
    system, queries, context = task.searching(bm25("dapfam"))
    found = system.rank(queries, K, context).to_dict()
    relevant = {
        query: {document for document, gain in judged.items() if gain > 0}
        for query, judged in task.tables.qrels.items()
    }
    naive = [len(relevant[query] & set(found[query])) / len(relevant[query]) for query in queries["id"]]
    assert manifest["recall"] == pytest.approx(np.mean(naive), abs=1e-12)
    assert (
        manifest["k"] == K
        and manifest["system"]["name"] == "patent-mteb/bm25-dapfam"
        and manifest["data"]["queries"]["n"] == 15
    )


def test_what_is_there_is_kept_and_what_a_kill_left_is_done_again(task, folder, monkeypatch):
    (manifest,) = folder.glob("*.json")
    before = manifest.read_bytes()
    model = bm25("dapfam")
    with monkeypatch.context() as patched:
        patched.setattr(type(engine(model)), "search_run", lambda *_: pytest.fail("searched again"))
        (again,) = candidates(model, [task], folder, K)
    assert again.existing and manifest.read_bytes() == before
    manifest.unlink()
    (again,) = candidates(model, [task], folder, K)
    assert not again.existing and json.loads(manifest.read_bytes())["files"] == json.loads(before)["files"]
    assert len(list(folder.iterdir())) == 3, "two runs and the manifest"
    next(folder.glob("*.whole.run")).unlink()
    (again,) = candidates(model, [task], folder, K)
    assert not again.existing and len(list(folder.iterdir())) == 3


def test_two_at_once_leave_one_whole_folder(task, tmp_path):
    with ThreadPoolExecutor(2) as pool:
        done = list(
            pool.map(lambda one: candidates(bm25("dapfam"), [one], tmp_path / "both", K), [limited(), limited()])
        )
    assert not any(one.reason for found in done for one in found)
    assert rankings(Candidates(tmp_path / "both"), task) == rankings(bm25("dapfam"), task)


def test_one_folder_is_of_one_system_and_depth(task, folder):
    for model, k in ((bm25("bm25s"), K), (bm25("dapfam"), K + 1)):
        with pytest.raises(
            DataError, match=r"candidates of another system, depth or --limit \(candidates/30-bm25-dapfam\)"
        ):
            candidates(model, [task], folder, k)
    with pytest.raises(DataError, match="the number of candidates is 0"):
        candidates(bm25("dapfam"), [task], folder, 0)
    (one,) = candidates(bm25("dapfam"), ["PatentMapIPCClassification.sample"], folder / "others", K)
    assert "not a retrieval task" in one.reason


def test_candidates_of_other_data_are_refused(task, folder):
    system, queries, context = task.searching(Candidates(folder))
    assert system.rank(queries, DEPTH, context).depth == DEPTH
    for other, words in (
        (replace(context, hidden={}), "other hidden documents"),
        (
            replace(
                context,
                task_metadata=context.task_metadata.model_copy(update={"dataset": {"path": "x", "revision": "y"}}),
            ),
            "another rev",
        ),
    ):
        with pytest.raises(DataError, match=words):
            system.rank(queries, DEPTH, other)
    with pytest.raises(DataError, match="other queries"):
        system.rank(queries.select(range(5)), DEPTH, context)
    with pytest.raises(DataError, match="the best 30, and 31 are requested"):
        system.rank(queries, K + 1, context)
    system.index(system.corpus.select(range(20)), **context.encoding(), encode_kwargs={})
    with pytest.raises(DataError, match="another corpus"):
        system.rank(queries, DEPTH, context)
    with pytest.raises(DataError, match=r"there are no candidates of PatentDAPFAMTitleToTARetrieval\.sample"):
        retrieval_task("PatentDAPFAMTitleToTARetrieval.sample").rank(Candidates(folder))


def test_an_edited_run_and_a_broken_manifest_are_refused(task, folder, tmp_path):
    run = next(path for path in folder.glob("*.run") if ".whole" not in path.name)
    run.write_text(run.read_text().replace(" 1 ", " 2 ", 1))
    with pytest.raises(DataError, match="is not the file that the candidates' manifest names"):
        task.rank(Reranked(Candidates(folder), mteb.get_model_meta("mteb/baseline-random-cross-encoder"), DEPTH, None))
    (manifest,) = folder.glob("*.json")
    manifest.write_text('{"format": 1}')
    with pytest.raises(DataError, match="not a manifest of candidates"):
        Candidates(folder)
    with pytest.raises(DataError, match="there are no candidates"):
        Candidates(tmp_path / "nothing")


EDITS = {
    "system: {}": lambda one: one.update(system={}),
    "no revision": lambda one: one["system"].pop("revision"),
    "a number as name": lambda one: one["system"].update(name=7),
    "an empty name": lambda one: one["system"].update(name=""),
    "a word as dimension": lambda one: one["system"].update(embed_dim="wide"),
    "files: {}": lambda one: one.update(files={}),
    "files: []": lambda one: one.update(files=[]),
    "run: null": lambda one: one["files"].update(run=None),
    "run without name": lambda one: one["files"]["run"].pop("name"),
    "a number as file": lambda one: one["files"]["whole_run"].update(name=3),
    "k: null": lambda one: one.update(k=None),
    "a word as recall": lambda one: one.update(recall="much"),
    "data: []": lambda one: one.update(data=[]),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_manifests_are_refused(folder, edit):
    (path,) = folder.glob("*.json")
    manifest = json.loads(path.read_text())
    EDITS[edit](manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(
        DataError, match=r"not a manifest of candidates: its '\w+' is invalid\. Remedy: write them again"
    ):
        Candidates(folder)


@pytest.mark.slow
def test_every_command_refuses_an_edited_manifest(folder, cross_encoder, capsys):
    (path,) = folder.glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"system": {}}))
    rerank = ["run", "-m", str(cross_encoder), "--candidates", str(folder), "--rerank-depth", "8"]
    for words in (rerank, ["candidates", "-m", "bm25-dapfam", "--top", str(K)]):
        words += ["--out", str(folder), "-t", "PatentDAPFAMTitleToTARetrieval.sample", "--limit", "15", "--no-store"]
        assert cli.main([*words, "-v", "0"]) != 0
        said = " ".join(capsys.readouterr().err.split())
        assert "not a manifest of candidates" in said and "please report it" not in said and "Traceback" not in said


def test_the_remedy_for_missing_candidates_of_a_limited_task_can_be_typed(folder):
    other = retrieval_task("PatentDAPFAMTitleToTARetrieval.sample").limit_to(10)
    with pytest.raises(DataError, match=r"Remedy: write them: (.*)\.$") as error:
        other.rank(Candidates(folder))
    command = error.value.remedy.partition(": ")[2]
    assert command == "patent-mteb runs candidates -t PatentDAPFAMTitleToTARetrieval.sample --limit 10"
    words = shlex.split(command)[1:]
    assert cli.main([*words, "-m", "bm25-dapfam", "--top", str(K), "--out", str(folder), "--no-store", "-v", "0"]) == 0
    system, queries, context = other.searching(Candidates(folder))
    assert system.rank(queries, K, context).query_ids


def whole_and_limited(task, folder, queries=7):
    """Candidates of a whole task, the limited task, and what a naive restriction of the whole search finds."""
    candidates(bm25("dapfam"), [task], folder, K)
    small = retrieval_task(task.metadata.name).limit_to(queries)
    system, whole, context = task.searching(bm25("dapfam"))
    both = [run.to_dict() for run in system.rank_both(whole, K, context)]
    small.load_data()
    known = set(small.tables.corpus)
    naive = [
        {query: {key: score for key, score in run[query].items() if key in known} for query in small.tables.scored}
        for run in both
    ]
    return small, naive, both


def test_candidates_of_a_whole_task_serve_a_limited_one(tmp_path, caplog):
    task = retrieval_task("PatentDAPFAMTitleToTARetrieval.sample")
    small, naive, both = whole_and_limited(task, tmp_path)
    assert any(len(found) < K for found in naive[0].values()), "the restriction drops some"
    caplog.clear()
    system, queries, context = small.searching(Candidates(tmp_path))
    found = [run.to_dict() for run in system.rank_both(queries, K, context)]
    assert found == naive and len(found[0]) == 7
    first = system.rank(queries, 5, context).to_dict()
    assert first == {query: dict(list(kept.items())[:5]) for query, kept in naive[0].items()}, "cut behind the drop"
    dropped = sum(len(both[0][query]) - len(kept) for query, kept in naive[0].items())
    least, most = min(map(len, naive[0].values())), max(map(len, naive[0].values()))
    assert f"{dropped} candidates that are not documents of {small.metadata.name} are dropped" in caplog.text
    assert f"its queries have {least} to {most} of them" in caplog.text
    with pytest.raises(DataError, match="other hidden documents"):
        one = next(iter(found[0]))
        system.rank(queries, K, replace(context, hidden={one: {next(iter(found[0][one]))}}))
    other = context.task_metadata.model_copy(update={"dataset": {"path": "x", "revision": "y"}})
    with pytest.raises(DataError, match="another revision of the data"):
        system.rank(queries, K, replace(context, task_metadata=other))


def test_candidates_of_all_relations_serve_in_and_out_of_domain_and_their_limited_tasks(tmp_path):
    every = retrieval_task("PatentDAPFAMTitleToTARetrieval.sample")
    candidates(bm25("dapfam"), [every], tmp_path, K)
    for domain in ("In", "Out"):
        task = retrieval_task(f"PatentDAPFAMTitleToTA{domain}Retrieval.sample")
        assert rankings(Candidates(tmp_path), task) == rankings(bm25("dapfam"), task)
        small = retrieval_task(task.metadata.name).limit_to(3)
        assert small.metadata.whole == (task.metadata.name, every.metadata.name)
        assert len(rankings(Candidates(tmp_path), small)[0]) == 3
    with pytest.raises(DataError, match="there are no candidates of PatentDAPFAMTitleToTACRetrieval"):
        retrieval_task("PatentDAPFAMTitleToTACRetrieval.sample").limit_to(3).rank(Candidates(tmp_path))


def test_candidates_of_whole_and_of_limited_tasks_share_no_result_and_no_folder(tmp_path, folder):
    task = retrieval_task("PatentDAPFAMTitleToTARetrieval.sample")
    with pytest.raises(DataError, match="another system, depth or --limit"):
        candidates(bm25("dapfam"), [task], folder, K)
    candidates(bm25("dapfam"), [task], tmp_path / "whole", K)
    metas = [Candidates(one).mteb_model_meta for one in (folder, tmp_path / "whole")]
    assert metas[0].revision != metas[1].revision
    for path in (tmp_path / "whole").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    with pytest.raises(DataError, match="of several systems, depths or --limits"):
        Candidates(folder)
