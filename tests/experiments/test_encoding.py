"""Encoding ahead: what a run asks for is there, and shares merged are one encoding bit for bit."""

from __future__ import annotations

import pytest
from sentence_transformers import SentenceTransformer
from small_data import dapfam_tables
from small_patents import world
from store_contents import entries, vectors
from tiny_checkpoints import checkpoint

from patent_mteb import cli, recipes
from patent_mteb.errors import DataError
from patent_mteb.experiments.encoding import Job, encode_share
from patent_mteb.experiments.run import run
from patent_mteb.models.loading import load
from patent_mteb.patents.collection import Collection
from patent_mteb.recipes.dataset import Identity
from patent_mteb.store import EmbeddingStore, stored
from patent_mteb.store.merging import merge
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.frozen import FrozenTask

TASKS = ("PatentMapClmToAllRetrieval.sample",)
SMALL = ("PatentDAPFAMTAToTARetrieval", "PatentDAPFAMTACToTARetrieval", "PatentDAPFAMTAToTACRetrieval")
"""Tasks that share queries or documents."""
FOUR = {"batch_size": 4}
KINDS = (
    "PatentCitationRetrieval",
    "WIPOATEmergingClassification",
    "WIPOATEmergingClustering",
    "PatentDAPFAMTAToTARetrieval",
    "SophiaClmsRetrieval",
    "PatentMapClmToAllRetrieval",
    "PatentMapIPCClassification",
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(checkpoint(tmp_path_factory.mktemp("transformer") / "tiny", 16, "mean", layers=1))


@pytest.fixture
def small(tmp_path, monkeypatch):
    dapfam_tables(tmp_path / "data")
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "data"))


@pytest.mark.slow
def test_shares_merged_have_the_bits_of_a_run_and_a_run_encodes_nothing_more(tmp_path, small, model):
    def job(store):
        return Job(model, tmp_path / store, tasks=SMALL, encode_kwargs=FOUR)

    tasks = job("run").chosen()
    report = run(
        stored(load(model), tmp_path / "run"), tasks, tmp_path / "results", encode_kwargs=FOUR, show_progress=False
    )
    assert [outcome.status for outcome in report.outcomes] == ["scored"] * 3
    for number in (2, 3, 1):
        done = encode_share(job(f"share{number}"), (number, 3)).total
        assert 0 < done.encoded == done.ours < done.distinct < done.requested
    shares = [str(tmp_path / f"share{number}") for number in (1, 2, 3)]
    assert cli.main(["store", "merge", *shares, "--store", str(tmp_path / "merged")]) == 0
    assert vectors(tmp_path / "merged") == vectors(tmp_path / "run")
    before = entries(tmp_path / "merged")
    assert before == len(vectors(tmp_path / "merged")), "no text twice"
    encoder = stored(load(model), tmp_path / "merged")
    again = run(encoder, tasks, tmp_path / "again", encode_kwargs=FOUR, show_progress=False)
    assert entries(tmp_path / "merged") == before and encoder.stats.encoded == 0
    assert [one.scores["main_score"] for one in again.outcomes] == [one.scores["main_score"] for one in report.outcomes]


@pytest.mark.slow
def test_a_share_that_was_interrupted_goes_on_to_the_same_bits(tmp_path, small, model, monkeypatch):
    job = Job(model, tmp_path / "store", tasks=SMALL, encode_kwargs=FOUR)
    encode_share(Job(model, tmp_path / "whole", tasks=SMALL, encode_kwargs=FOUR))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(SentenceTransformer, "encode", _ending(SentenceTransformer.encode, 9))
        encode_share(job)
    done = encode_share(job).total
    assert 0 < done.stored < done.distinct == done.stored + done.encoded
    assert vectors(tmp_path / "store") == vectors(tmp_path / "whole")


def _ending(encode, calls):
    made = []

    def ended(self, *given, **kwargs):
        made.append(None)
        if len(made) > calls:
            raise KeyboardInterrupt
        return encode(self, *given, **kwargs)

    return ended


@pytest.mark.slow
def test_a_run_finds_all_texts_of_every_kind_of_task(tmp_path, monkeypatch):
    names = [f"{name}.sample" for name in KINDS]
    names += [task.metadata.name + ".sample" for task in _first_of_each_kind(catalogue.find("PatenTEB").task_classes)]
    job = Job("mteb/baseline-random-encoder", tmp_path / "store", tasks=tuple(names))
    done = encode_share(job)
    assert not done.skipped and len(done.counts) == len(names)
    before = entries(tmp_path / "store")
    for task in job.chosen():
        if isinstance(task, FrozenTask):  # its texts count here, not how long a probe takes
            monkeypatch.setattr(type(task), "score", lambda self, embeddings, data: {self.metadata.main_score: 0.5})
    encoder = job.encoder()
    report = run(encoder, job.chosen(), tmp_path / "results", show_progress=False)
    assert {outcome.status for outcome in report.outcomes} == {"scored"}, report
    assert (entries(tmp_path / "store"), encoder.stats.encoded) == (before, 0)


def _first_of_each_kind(tasks):
    return {task.metadata.type: task for task in reversed(tasks)}.values()


@pytest.mark.slow
def test_a_dry_run_counts_and_writes_no_vector(tmp_path, capsys):
    store = ["--store", str(tmp_path / "store")]
    words = ["store", "encode", "-m", "mteb/baseline-random-encoder", "-t", TASKS[0], *store]
    assert cli.main([*words, "--dry-run"]) == 0
    counted = capsys.readouterr().out.split()[-5:]
    assert entries(tmp_path / "store") == 0
    assert cli.main(words) == 0
    encoded = capsys.readouterr().out.split()[-5:]
    assert counted == [*encoded[:4], "0"] and encoded[3] == encoded[4] != "0"
    assert cli.main(words) == 0
    assert capsys.readouterr().out.split()[-5:] == [*encoded[:2], encoded[4], "0", "0"]


@pytest.mark.slow
def test_a_built_directory_is_encoded_by_its_tasks(tmp_path, capsys, monkeypatch):
    recipes.run("sophia", Collection(*world(30)), tmp_path / "mine", ["queries=10"], identity=Identity("Acme"))
    monkeypatch.setenv("PATENT_MTEB_DATA", "")
    words = f"store encode {tmp_path / 'mine'} -m mteb/baseline-random-encoder --store {tmp_path / 'store'}".split()
    assert cli.main([*words, "--shard", "1/2"]) == 0
    shown = capsys.readouterr().out
    assert "Acme" in shown and " 1/2 " in shown
    assert cli.main([*words[:2], str(tmp_path / "nowhere"), *words[3:]]) == 2
    assert "there is no such directory" in capsys.readouterr().err


def test_what_keeps_no_single_vectors_is_refused_and_what_is_not_ours_is_skipped(tmp_path, capsys):
    assert cli.main(["store", "encode", "-m", "bm25", "-t", TASKS[0], "--store", str(tmp_path / "store")]) == 2
    assert "its texts cannot be precomputed" in capsys.readouterr().err
    words = f"store encode -m mteb/baseline-random-encoder -t NFCorpus --store {tmp_path / 'store'}".split()
    assert cli.main(words) == 1
    assert "skipped: NFCorpus: it is not a task of this suite" in capsys.readouterr().err


def test_a_damaged_store_is_not_merged_and_a_merge_goes_on(tmp_path):
    job = Job("mteb/baseline-random-encoder", tmp_path / "other", tasks=TASKS[:1])
    encode_share(job)
    expected = vectors(tmp_path / "other")
    store = EmbeddingStore(tmp_path / "store")
    assert merge(store, [tmp_path / "other"]).copied == len(expected)
    assert vectors(tmp_path / "store") == expected
    (rows,) = (tmp_path / "other" / "spaces").glob("*/*.rows")
    content = bytearray(rows.read_bytes())
    content[100] ^= 1
    rows.write_bytes(bytes(content))
    fresh = EmbeddingStore(tmp_path / "fresh")
    with pytest.raises(
        DataError, match=r"a damaged store is not merged: wrong checksum .* Remedy: patent-mteb store prune --damaged"
    ):
        merge(fresh, [tmp_path / "other"])
    assert not fresh.info()
    with pytest.raises(DataError, match="into itself"):
        merge(store, [tmp_path / "store"])
    with pytest.raises(DataError, match="there is no embedding store"):
        merge(store, [tmp_path / "nowhere"])
