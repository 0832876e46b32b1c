"""The command as a user calls it: scores, skipped tasks, exit status, and one message for what cannot be used."""

import datetime as dt
import json
import re
import subprocess

import pytest
from small_patents import world

from patent_mteb import cli
from patent_mteb.data import loading
from patent_mteb.recipes.beir import write_beir

CORPUS = {
    "d1": ("Walking frame", "A walking frame with a brake."),
    "d2": ("Hearing aid", "A hearing aid with noise reduction."),
}


@pytest.fixture
def hand(tmp_path, monkeypatch):
    """Two documents, one query, written by hand."""
    write_beir(tmp_path / "data" / "WIPO-AT", CORPUS, {"q1": "brake for a walking frame"}, {"q1": {"d1": 1}})
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    monkeypatch.delenv("PATENT_MTEB_QUERY_SCORES")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return cli.main(["run", "-v", "1", *arguments])


def test_a_hand_written_directory_runs_and_leaves_a_result(hand, capsys):
    assert run("-t", "PatentCitationRetrieval", "-m", "mteb/baseline-bm25s") == 0
    printed = capsys.readouterr().out
    assert "PatentCitationRetrieval" in printed and "1.0000" in printed
    assert "ran on local data" in printed
    (path,) = (hand / "results").rglob("PatentCitationRetrieval.local-*[0-9a-f].json")
    result = json.loads(path.read_text())
    assert result["scores"]["test"][0]["ndcg_at_10"] == 1
    assert result["dataset_revision"].startswith("local-")
    assert path.with_suffix(".queries.parquet").exists()


def test_tasks_that_cannot_be_done_are_skipped_with_their_reason(hand, capsys):
    tasks = ("WIPOATEmergingClassification", "PatentCitationRetrieval", "WIPOATTAToTARetrieval", "PatenTEBTitle2Full")
    assert run("-t", *tasks, "-m", "mteb/baseline-bm25s") == 1
    streams = capsys.readouterr()
    assert "1.0000" in streams.out
    assert "3 of 4 tasks have no score" in streams.err
    said = re.sub(r"\.local-\w+", "", streams.err)
    assert "WIPOATEmergingClassification: unable: mteb/baseline-bm25s does not embed texts" in said
    assert "WIPOATTAToTARetrieval: skipped:" in said and "the text view TA is missing" in streams.err
    for name in ("datalyes/title2full", "HF_TOKEN", "PATENT_MTEB_DATA/datalyes/title2full", "PATENT_MTEB_SAMPLE=1"):
        assert name in streams.err
    assert "Traceback" not in streams.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("breaks", "message"),
    [
        (lambda f: (f / "qrels/test.tsv").unlink(), "qrels/test.tsv: the file is missing"),
        (lambda f: (f / "corpus.jsonl").write_bytes(b'{"_id": "d1", "text": "\xe9"}\n'), "row 1: not valid UTF-8"),
    ],
)
def test_bad_data_gives_one_message_and_a_bad_exit_status(hand, capsys, breaks, message):
    breaks(hand / "data" / "WIPO-AT")
    assert run("-t", "PatentCitationRetrieval", "-m", "mteb/baseline-bm25s") == 1
    streams = capsys.readouterr()
    assert message in streams.err.replace("\n", "")
    assert "Traceback" not in streams.err
    assert not list(hand.rglob("PatentCitationRetrieval.local-*[0-9a-f].json"))
    assert cli.main(["data", "validate", str(hand / "data")]) == 2
    assert message in capsys.readouterr().out


def test_validate_says_what_loads_and_what_is_odd(hand, capsys):
    assert cli.main(["data", "validate", str(hand / "data" / "WIPO-AT")]) == 0, (
        "missing tasks that need views are not an error"
    )
    printed = capsys.readouterr().out
    assert "1 tasks load (PatentCitationRetrieval)" in printed
    assert "note" in printed and "in, out cannot be formed" in printed
    assert cli.main(["data", "validate", str(hand)]) == 2
    assert "holds no benchmark's data" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("-t", "PatentCitationRetrival", "-m", "mteb/baseline-bm25s"),
            "there is no task 'PatentCitationRetrival' (did you mean 'PatentCit",
        ),
        (("-b", "PatentMap", "--task-types", "Retreival", "-m", "bm25"), "there is no task type 'Retreival' (did you"),
        (("-b", "PatentMap", "-l", "egn", "-m", "bm25"), "there is no language 'egn' (did you mean"),
        (("-b", "PatentMap", "--categories", "t2x", "-m", "bm25"), "there is no category 't2x' (did you mean"),
        (("-b", "PatentMap", "--eval-splits", "foo", "-m", "bm25"), "none of 3 tasks fits"),
        (("-m", "mteb/baseline-bm25s"), "no task was chosen"),
        (("-t", "PatentCitationRetrieval", "-m", "./nowhere/at/all"), "there is no directory ./nowhere/at/all"),
        (("-t", "PatentCitationRetrieval", "-m", "paecter"), "(did you mean 'mpi-inno-comp/paecter'"),
        (("-t", "PatentCitationRetrieval", "-m", "mteb/baseline-bm25s", "--alpha", "0.5"), "need a second model"),
        (("-t", "PatentCitationRetrieval", "-m", "mteb/baseline-bm25s", "--dims", "8"), "does not embed texts"),
    ],
)
def test_wrong_arguments_are_named(hand, capsys, arguments, message):
    assert run(*arguments) == 2
    streams = capsys.readouterr()
    assert message in streams.err.replace("\n", " ")
    assert "Traceback" not in streams.err


def test_an_interrupted_run_keeps_what_is_done(hand, capsys, monkeypatch):
    from patent_mteb.experiments import run as experiment

    real = experiment.mteb.evaluate
    calls = []

    def evaluate(model, task, **kwargs):
        calls.append(task.metadata.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(model, task, **kwargs)

    monkeypatch.setattr(experiment.mteb, "evaluate", evaluate)
    assert (
        run("-t", "PatentCitationRetrieval", "PatenTEBBloom", "PatenTEBTitle2Full", "-m", "mteb/baseline-bm25s") == 130
    )
    streams = capsys.readouterr()
    assert "1.0000" in streams.out
    assert "interrupted" in streams.err
    assert list(hand.rglob("PatentCitationRetrieval.local-*[0-9a-f].json"))


@pytest.mark.slow
def test_two_local_checkpoints_never_share_a_result(hand, tmp_path):
    from tiny_checkpoints import checkpoint

    for name, seed in (("a/model", 1), ("b/model", 2)):
        checkpoint(tmp_path / name, 8, "mean", seed=seed)
        assert run("-t", "PatentCitationRetrieval", "-m", str(tmp_path / name), "--store", str(tmp_path / "store")) == 0
    paths = sorted(
        path.relative_to(hand / "results" / "results")
        for path in (hand / "results").rglob("PatentCitationRetrieval.local-*[0-9a-f].json")
    )
    assert len({path.parts[0] for path in paths}) == 2
    assert len({path.parts[1] for path in paths}) == 2


@pytest.mark.slow
def test_filters_narrow_a_benchmark_down(hand, monkeypatch, capsys):
    monkeypatch.setenv(loading.SAMPLE_VARIABLE, "1")
    monkeypatch.delenv(loading.DATA_VARIABLE)
    chosen = "-b PatentMap --task-types Retrieval MultilabelClassification -t PatentMapAbsToAbsRetrieval -m bm25"
    assert run(*chosen.split(), "--json", "-l", "eng", "--eval-splits", "test") == 0
    (task,) = json.loads(capsys.readouterr().out)["result"]["tasks"]
    assert task["task"] == "PatentMapAbsToAbsRetrieval.sample"


@pytest.mark.slow
def test_what_a_kind_of_model_cannot_do_is_no_failure_and_a_reason_takes_one_line(hand, monkeypatch, capsys):
    monkeypatch.delenv(loading.DATA_VARIABLE)
    assert run("-b", "PatentMap.sample", "-m", "bm25") == 0
    streams = capsys.readouterr()
    assert "PatentMapIPCClassification.sample: unable: patent-mteb/bm25-auto does not embed texts" in streams.err
    day = dt.datetime.now(dt.UTC).date().isoformat()
    assert run("-b", "PatentMap.sample", "-m", "bm25", "--json") == 0
    found = {task["task"]: task for task in json.loads(capsys.readouterr().out)["result"]["tasks"]}
    assert (
        found["PatentMapAbsToAbsRetrieval.sample"]["cached"] == day
        and found["PatentMapIPCClassification.sample"]["cached"] is None
    )
    assert run("-b", "PatentMap.sample", "-m", "bm25") == 0
    printed = capsys.readouterr().out
    assert printed.count(f"of {day}") == 2 and "2 of 2 were there already" in printed
    assert run("-b", "WIPO-AT.sample", "--task-types", "Clustering", "-m", "bm25") == 1, "nothing was scored"
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "unable" in line]
    assert line.count(".sample") == 3 and "and 12 more: unable: " in line


def test_words_that_are_near_are_named(capsys):
    for words, near in (
        (["rnu"], '"run"'),
        (["run", "-m", "x", "--pasages", "4"], "--passages"),
        (["list", "task"], '"tasks"'),
        (["data", "imprt"], '"import"'),
    ):
        with pytest.raises(SystemExit) as stopped:
            cli.main(words)
        assert stopped.value.code == 2
        assert f"Did you mean {near}?" in capsys.readouterr().err


@pytest.mark.slow
def test_a_quiet_run_prints_nothing_but_its_scores(hand, python_without_mteb):
    """In a process of its own: bm25s reads once, when it is imported, whether bars are wanted."""
    words = ["run", "-v", "0", "-t", "PatentCitationRetrieval", "-m", "mteb/baseline-bm25s"]
    done = subprocess.run([python_without_mteb, "-m", "patent_mteb.cli", *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and "1.0000" in done.stdout


@pytest.mark.slow
def test_shells_complete_commands_and_options(capsys):
    for shell in ("bash", "zsh"):
        with pytest.raises(SystemExit) as stopped:
            cli.main(["--print-completion", shell])
        script = capsys.readouterr().out
        assert not stopped.value.code and all(word in script for word in ("reproduce", "--published", "--dry-run"))


def test_lists_for_programs(capsys):
    assert cli.main(["list", "-b", "PatentMap.sample", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["result"]
    assert [row["task"] for row in rows] == [
        f"PatentMap{name}.sample" for name in ("AbsToAbsRetrieval", "ClmToAllRetrieval", "IPCClassification")
    ]
    assert {row["benchmark"] for row in rows} == {"PatentMap"} and all(
        row["queries"] and row["texts"] for row in rows[:2]
    )
    for what, name in (("benchmarks", "benchmark"), ("models", "model")):
        assert cli.main(["list", what, "--json"]) == 0
        assert len({row[name] for row in json.loads(capsys.readouterr().out)["result"]}) > 5
    assert cli.main(["list", "-b", "DAPFAM", "--json"]) == 0
    assert "hub datalyes/DAPFAM_patent@780f401" in capsys.readouterr().out
    assert cli.main(["list", "-b", "PatentMop"]) == 2
    assert "(did you mean 'PatentMap'" in capsys.readouterr().err


@pytest.mark.slow
def test_build_makes_a_root_that_runs(tmp_path, monkeypatch, capsys):
    from patent_mteb.patents.records import Citation, Patent, write_records

    patents, citations = world()
    write_records(tmp_path / "patents.jsonl", Patent, patents)
    write_records(tmp_path / "citations.parquet", Citation, citations)
    inputs = (str(tmp_path / "patents.jsonl"), str(tmp_path / "citations.parquet"), str(tmp_path / "root"))
    assert cli.main(["data", "build", "wipo_at", *inputs, "--set", "seed=7", "--set", "fine_documents=40"]) == 0
    assert "0.9 quality assurance" in capsys.readouterr().out
    assert cli.main(["data", "build", "wipo_at", *inputs, "--set", "sead=7"]) == 2
    assert "has no setting 'sead'" in capsys.readouterr().err
    assert cli.main(["data", "build", "wipo_at", *inputs, "--set", "train=1.5"]) == 2
    assert "number from 0 to 1" in capsys.readouterr().err
    assert cli.main(["data", "build", "wipoat", *inputs]) == 2
    assert "'wipoat'" in capsys.readouterr().err
    assert cli.main(["data", "validate", str(tmp_path / "root")]) == 0
    printed = capsys.readouterr().out
    assert "tasks load (RootCitationRetrieval" in printed and "there are no label sets" in printed
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "root"))
    assert cli.main(["list", "--json"]) == 0
    rows = {row["task"]: row for row in json.loads(capsys.readouterr().out)["result"]}
    published = rows["PatentCitationRetrieval"]
    assert published["data from"].endswith("(as RootCitationRetrieval)") and published["queries"] is None
    assert rows["RootCitationRetrieval"]["data from"].startswith("local ")
    assert rows["WIPOATEmergingClustering"]["data from"] == "not built" and "RootEmergingClustering" not in rows


@pytest.mark.parametrize("name", ["dapfam", "WIPO-AT"])
def test_build_lists_the_settings_of_a_recipe(capsys, name):
    from patent_mteb import recipes

    assert cli.main(["data", "build", name, "--settings"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == ["setting", "type", "default", "description"]
    settings = recipes.settings(name)
    assert settings
    for setting in settings:
        assert any(line.split()[0] == setting.name for line in lines if line.strip()), setting


def test_store_info_verify_and_prune(tmp_path, capsys):
    import numpy as np

    from patent_mteb.store import EmbeddingStore, hash_texts

    store = EmbeddingStore(tmp_path / "store")
    space = store.space({"model": "org/model", "revision": "r1"}, "float32")
    space.append(hash_texts(["a", "b"]), np.eye(2, 4, dtype=np.float32))
    del space
    where = ("--store", str(tmp_path / "store"))
    assert cli.main(["store", "info", *where]) == 0
    assert [row.split() for row in capsys.readouterr().out.splitlines()][-1][:4] == ["org/model", "r1", "float32", "2"]
    assert cli.main(["store", "verify", *where]) == 0
    assert "2 texts in 1 spaces" in capsys.readouterr().out
    assert cli.main(["store", "prune", *where]) == 2
    assert "say what to remove" in capsys.readouterr().err
    assert cli.main(["store", "prune", *where, "--model", "org/model", "--dry-run"]) == 0
    assert "would free" in capsys.readouterr().out
    (shard,) = [
        path
        for path in (tmp_path / "store").rglob("*")
        if path.is_file() and path.stat().st_size >= 32 and path.suffix != ".json"
    ][:1]
    damaged = bytearray(shard.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    shard.write_bytes(bytes(damaged))
    assert cli.main(["store", "verify", *where]) == 1
    assert "damaged" in capsys.readouterr().out
    assert cli.main(["store", "prune", *where, "--model", "org/model"]) == 0
    assert cli.main(["store", "info", *where]) == 0
    assert "org/model" not in capsys.readouterr().out.split("store in", 1)[1].split("\n", 1)[1]


@pytest.mark.slow
def test_a_board_of_nothing_is_a_bad_exit_status(tmp_path, capsys):
    from report_folders import HEADLINE, add, model_folder

    add(model_folder(tmp_path, "acme/small"), HEADLINE, 0.5)
    assert cli.main(["publish", "results", str(tmp_path / "results"), str(tmp_path / "exported")]) == 1
    streams = capsys.readouterr()
    assert "0 results exported" in streams.out and "measured on the built-in sample" in streams.err


@pytest.mark.slow
def test_a_report_prints_answers_and_all_tables_where_they_are_wanted(tmp_path, capsys):
    from report_folders import sample_world

    root = str(sample_world(tmp_path / "results"))
    assert cli.main(["report", root, "--format", "terminal", "csv", "--out", str(tmp_path / "out")]) == 0
    short = capsys.readouterr().out
    assert cli.main(["report", root, "--every-table"]) == 0
    whole = capsys.readouterr().out
    titles = [line for line in whole.splitlines() if line.endswith("(sample)")]
    assert not [title for title in titles if title in short.splitlines()]
    assert whole.startswith(short.partition("\n\n")[0]), "the answers come first in both"
    assert f"{len(titles)} tables: --every-table prints them" in short and "prints them" not in whole
    assert len([path for path in (tmp_path / "out" / "csv").iterdir() if path.name.startswith("sample-")]) == len(
        titles
    )


@pytest.mark.slow
def test_geometry(hand, capsys, monkeypatch):
    from tiny_checkpoints import checkpoint

    monkeypatch.setenv(loading.SAMPLE_VARIABLE, "1")
    checkpoint(hand / "model", 8, "mean")
    arguments = f"geometry -m {hand / 'model'} --store {hand / 'store'} --out {hand / 'kept'} -t".split()
    assert cli.main([*arguments, "SophiaAbRetrieval", "--max-documents", "20"]) == 0
    printed = capsys.readouterr().out
    assert "SophiaAbRetrieval.sample" in printed and "alignment" in printed and "uniformity" in printed
    (kept,) = (hand / "kept").rglob("SophiaAbRetrieval.sample.geometry.jsonl")
    assert kept.name in printed and json.loads(kept.read_text())["settings"] == {"max_documents": 20}
    assert cli.main([*arguments, "PatenTEBBloom"]) == 2
    assert "is not a retrieval task of the suite" in capsys.readouterr().err
    assert cli.main([*arguments, "SophiaAbRetrival"]) == 2
    assert "(did you mean 'SophiaAbRetrieval'" in capsys.readouterr().err
    assert cli.main(["geometry", "-m", "bm25", "-t", "SophiaAbRetrieval"]) == 2
    assert "does not embed texts" in capsys.readouterr().err


@pytest.mark.slow
def test_sweep(tmp_path, capsys, monkeypatch):
    from small_data import dapfam_tables
    from tiny_checkpoints import checkpoint

    dapfam_tables(tmp_path / "data")
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    monkeypatch.setenv("PATENT_MTEB_STORE", str(tmp_path / "default"))
    checkpoint(tmp_path / "model", 8, "mean")
    matrix = f"runs sweep dapfam --queries TA --corpora TA --out {tmp_path / 'table.csv'} -v 1".split()
    model = ["-m", str(tmp_path / "model"), "--batch-size", "4"]
    assert cli.main([*matrix, *model, "--no-store"]) == 0
    assert not (tmp_path / "default").exists()
    header, *rows, legend, last = capsys.readouterr().out.splitlines()
    assert header.split()[:4] == ["backend", "granularity", "query", "corpus"]
    assert legend.startswith("†: too few queries (< 50)") and all("†" in row for row in rows)
    assert {row.split()[0] for row in rows} == {"bm25", "dense"}
    assert last == f"2 runs in {tmp_path / 'table.csv'}"
    precisions = ["--precision", "float32", "int8"]
    assert cli.main([*matrix, *model, "--backends", "dense", *precisions, "--store", str(tmp_path / "store")]) == 0
    shown = capsys.readouterr().out
    assert "3 runs in" in shown and "printed" in shown and "sample" not in shown
    assert (tmp_path / "store").exists() and not (tmp_path / "default").exists()
    matrix[matrix.index("--out") + 1] = str(tmp_path / "other.csv")
    assert cli.main([*matrix, "--backends", "dense"]) == 2
    assert "name one with -m" in capsys.readouterr().err
    assert cli.main(["runs", "sweep", "dapfam", "--paper", "--list"]) == 0
    assert "249 runs" in capsys.readouterr().out
    assert cli.main(["runs", "sweep", "dapfam", "--paper", "--lengths", "64"]) == 2
    assert "--lengths has no effect" in capsys.readouterr().err
    monkeypatch.setenv("PATENT_MTEB_SAMPLE", "1")
    monkeypatch.delenv(loading.DATA_VARIABLE)
    assert cli.main([*matrix, "--backends", "bm25"]) == 0
    assert "say nothing about the published benchmark" in capsys.readouterr().out


@pytest.mark.slow
def test_the_bar_of_the_store_is_for_those_who_want_progress(hand, capsys, monkeypatch):
    from tiny_checkpoints import checkpoint

    from patent_mteb.store import encoder

    monkeypatch.setattr(encoder, "LOG_SECONDS", 0)
    checkpoint(hand / "model", 8, "mean")
    shown = {}
    for verbosity in ("1", "2"):
        words = f"run -m model -t PatentCitationRetrieval --out results{verbosity} --store store{verbosity}".split()
        assert cli.main([*words, "-v", verbosity]) == 0
        shown[verbosity] = capsys.readouterr().err
    assert "to_go=0" in shown["2"] and "text/s" not in shown["1"]


def test_prune_passes_every_option_on(tmp_path, monkeypatch, capsys):
    from patent_mteb.store import EmbeddingStore

    seen = []
    prune = EmbeddingStore.prune
    monkeypatch.setattr(EmbeddingStore, "prune", lambda self, **given: seen.append(given) or prune(self, **given))
    EmbeddingStore(tmp_path)
    words = ["-m", "a/model", "--older-than", "3", "--damaged", "--dry-run", "--force"]
    assert (
        cli.main(["store", "prune", "--store", str(tmp_path), *words]) == 0 and "would free" in capsys.readouterr().out
    )
    assert seen == [{"model": "a/model", "older_than_days": 3, "damaged": True, "dry_run": True, "force": True}]
