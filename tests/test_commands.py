"""Every command that README, CONTRIBUTING, docs and helps print is run, in a directory where what it names lies.

What is not run as it stands is said in the tables below, with the reason; a new command that is in none of them has to
run.
"""

from __future__ import annotations

import os
import runpy
import shlex
import shutil
import sys
from pathlib import Path
from unittest import mock

import pytest
from command_inputs import FILES, MINILM
from documented_commands import printed
from paths import SHARED

from patent_mteb import cli

COMMANDS = printed()
SAME = {"ORG/NAME": "MODEL", "path/to/checkpoint": "MODEL", "records": "RECORDS", "'": '"'}
"""Names for one thing: of commands that differ in them only, one is run."""
_TRAINING = "trains for minutes; tests/training runs its parts, examples/train.py the whole"
_CLUSTER = "needs directories that a cluster shares; tests/test_ray.py runs both on one"
_LEAKS = "tests/training/test_contamination.py runs it"
_DOCTOR = "starts fresh processes; tests/experiments/test_doctor.py runs both"
_HERE = "runs these tests"
_RERANKED = "needs a reranker or a server; tests/cli/test_candidates.py runs the way from candidates to report"
_SUMMARIES = "needs a server, or two builds; tests/experiments/test_summarising.py runs them"
_SERVED = "needs a server; tests/models/test_served.py encodes through one"
_REMOVAL = "needs an earlier import of the same list: tests/readers/test_removal.py"
_PANORAMA = "needs PANORAMA; tests/experiments/test_label_audit.py reads its real sample"
_EUROPE = "needs files of the EPO; tests/experiments/test_editions_ep.py goes the way on real ones"
_SCORED = "tests/cli/test_score.py runs it"
_SETS = "tests/experiments/test_sets.py compares such a workbook"
_INCLUDED = "tests/cli/test_include.py runs it, in a process that ends with its benchmark"
_PUBLISHED_MODEL = "tests/training/test_options.py runs it on a checkpoint"
_TABLES = "tests/data/test_paper_tables.py runs tables on a loopback hub"
NOT_RUN = {
    "patent-mteb run -t PatentCitationRetrieval -m bm25": ("tests/test_readme.py runs it and compares what it prints"),
    "patent-mteb run -t PatentCitationRetrieval.sample -m mteb/baseline-bm25s": "the same task, by its own name",
    "patent-mteb runs sweep dapfam --paper -m MODEL": (
        "249 runs; tests/experiments/test_sweep.py has parts of them, --paper --list is run here"
    ),
    "patent-mteb runs fuse bm25.run dense.run -t PatentDAPFAMTACToTACRetrieval --grid": "stands with --table in the README",
    "patent-mteb edition baselines edition": "MiniLM takes ten seconds; with other models it is run here",
    "patent-mteb try list.xlsx": "tests/cli/test_try.py runs it",
    "patent-mteb try list.xlsx citations.csv": "the same, of two files",
    "patent-mteb try list.xlsx citations.csv -m ORG/NAME": "the same, with a model",
    "patent-mteb try list.xlsx citations.csv --out FOLDER -m sentence-transformers/all-MiniLM-L6-v2": "tests/cli/test_try.py runs it",
    "patent-mteb publish board results BOARD --name 'path/to/checkpoint=Ours v3'": "tests/report/test_export.py names one",
    "patent-mteb data inspect patents.parquet citations.parquet": "stands with RECORDS in the README",
    "patent-mteb models verify datalyes/patembed-base": "needs its files; tests/models/test_verification.py lays them",
    "patent-mteb models verify NAME": "the same",
    "patent-mteb doctor results --fix": _DOCTOR,
    "patent-mteb doctor results": _DOCTOR,
    "patent-mteb doctor --fix": _DOCTOR,
    "patent-mteb train RECIPE DATA -m BASE --out DIR": _TRAINING,
    "patent-mteb train wipo-r3 sample -m MODEL --out trained --seeds 42,7,13 --set accumulation=1 --evaluate WIPO-AT.sample": (
        _TRAINING
    ),
    "patent-mteb train wipo-r3 sample -m ORG/NAME --out trained --seeds 42,7,13 --set lr=1e-4 --evaluate WIPO-AT.sample": (
        _TRAINING
    ),
    "patent-mteb train wipo-r3 records -m ORG/NAME --out trained --drop-leaks --lora": _TRAINING,
    "patent-mteb train wipo-r3 pap2pat -m wordllama --out words --split 0.7726,0 --seeds 42,7,13 --set lr=0.01 --set accumulation=1 --set checks=1": (
        _TRAINING
    ),
    "patent-mteb publish model trained/models/CHECKPOINT --name ORG/NAME": _PUBLISHED_MODEL,
    "patent-mteb publish model CHECKPOINT --name ORG/NAME": _PUBLISHED_MODEL,
    "patent-mteb contamination records": _LEAKS,
    "patent-mteb contamination texts.parquet --index leak-index": _LEAKS,
    "patent-mteb contamination ORG/NAME": _LEAKS,
    "patent-mteb contamination --write leak-index": _LEAKS,
    "patent-mteb --include examples/add_a_benchmark.py run -t KnownAbstractByTitle.sample -m bm25": _INCLUDED,
    "patent-mteb --include examples/add_a_benchmark.py list tasks -b KnownAbstract": _INCLUDED,
    "patent-mteb --include examples/add_a_benchmark.py report results": _INCLUDED,
    "python examples/static_model.py wordllama": "tests/test_examples.py runs it",
    "RAY_ADDRESS=auto patent-mteb data import grants/ --out /shared/records --engine ray": _CLUSTER,
    "RAY_ADDRESS=auto patent-mteb store encode /shared/mine -m MODEL --store /shared/store --engine ray": _CLUSTER,
    "python -m pytest -n 2 --dist loadfile": _HERE,
    "python -m pytest tests/search": _HERE,
    'python -m pytest -n 2 --dist loadfile -m "slow and not long"': _HERE,
    "python tests/golden/golden.py": "tests/test_golden.py compares the parts",
    "patent-mteb runs candidates -t PatentCitationRetrieval -m bm25-dapfam --out candidates": _RERANKED,
    "patent-mteb run -t PatentCitationRetrieval -m CROSS_ENCODER --candidates candidates": _RERANKED,
    "patent-mteb data summarise records --endpoint URL --model NAME --out summaries.jsonl": _SUMMARIES,
    'patent-mteb runs score vendor.run -t PatentDAPFAMTACToTACRetrieval --name "Vendor 3.1" --seconds 5400 --cost 12.50': (
        _SCORED
    ),
    "patent-mteb runs score hits.xlsx -t PatentDAPFAMTACToTACRetrieval --order none --against runs": _SETS,
    "patent-mteb runs score hits.xlsx -t PatentDAPFAMTACToTACRetrieval --order none --against bm25.run": _SETS,
    "patent-mteb runs score hits.xlsx -t PatentCitationRetrieval.sample --order none --against runs": _SETS,
    "patent-mteb runs candidates -t PatentCitationRetrieval -m bm25-dapfam --top 1000 --out candidates": _RERANKED,
    "patent-mteb run -t PatentCitationRetrieval -m CROSS_ENCODER --candidates candidates --rerank-depth 100": _RERANKED,
    "patent-mteb run -t PatentCitationRetrieval -m NAME --chat-endpoint http://localhost:8000/v1 --candidates candidates --rerank-depth 20": (
        _RERANKED
    ),
    "patent-mteb data build sophia records ROOT": _SUMMARIES,
    "patent-mteb data summarise records --queries ROOT --endpoint http://localhost:8000/v1 --model NAME --out summaries.jsonl": (
        _SUMMARIES
    ),
    "patent-mteb data build sophia records ROOT --set summaries=summaries.jsonl": _SUMMARIES,
    "patent-mteb run -t PatentCitationRetrieval -m NAME --chat-endpoint http://localhost:8000/v1 --candidates DIR --budget-calls 1000": (
        _RERANKED
    ),
    "patent-mteb runs candidates -t PatentCitationRetrieval.sample -m bm25-dapfam --top 100 --out candidates": _RERANKED,
    "patent-mteb run -t PatentCitationRetrieval.sample -m path/to/cross-encoder --candidates candidates": _RERANKED,
    "patent-mteb data summarise records --endpoint http://localhost:8000/v1 --model NAME --queries ROOT --out summaries.jsonl": (
        _SUMMARIES
    ),
    "patent-mteb data summarise records --extractive --out summaries.jsonl": _SUMMARIES,
    "patent-mteb run -b PatenTEB -m ORG/MODEL --model-revision v1-bf16 --server http://host:8000/v1": _SERVED,
    "patent-mteb data import list-2.xlsx --replace list.xlsx --out records": _REMOVAL,
    "patent-mteb data import --remove list.xlsx US10123456B2 --out records": _REMOVAL,
    "patent-mteb data import EP*.xml --out records": _EUROPE,
    "patent-mteb data import tls212_part01.csv --out records": _EUROPE,
    "patent-mteb edition audit PANORAMA": _PANORAMA,
    "patent-mteb edition audit PANORAMA --edition edition": _PANORAMA,
    "patent-mteb edition build open-ep records edition --window 2020Q1": _EUROPE,
    "patent-mteb run -m MODEL -b PatentOpenEP2020Q1 --data edition --out results": _EUROPE,
    "patent-mteb data build novelty records tables --set truth=test.jsonl --set documents=100000": (
        "tests/tasks/test_novelty.py builds it"
    ),
    "patent-mteb data import pap2pat/patents.jsonl.gz --out pap2pat": "tests/readers/test_recorded_rows.py reads the file",
    **dict.fromkeys(
        (
            "patent-mteb compare A B",
            "patent-mteb compare bm25 ORG/NAME",
            "patent-mteb compare bm25 MODEL --results results",
            "patent-mteb compare bm25 MODEL -t PatentDAPFAMTACToTACRetrieval --slice out",
        ),
        "tests/report/test_comparison.py compares two models with results",
    ),
    "python -m pytest -m long": "runs for hours",
    "python tests/environments.py": "builds seven environments",
    "python -m sample_generator.generate": "tests/sample/test_sample.py compares what it makes",
    "python examples/publish_sample.py DIRECTORY": "tests/test_examples.py runs it",
    "patent-mteb reproduce --paper dapfam --table 17": _TABLES,
    "patent-mteb reproduce --paper dapfam --table 17 -m bm25-dapfam": _TABLES,
    "patent-mteb reproduce --paper patenteb --dry-run": _TABLES,
    "python -m venv .venv && . .venv/bin/activate": "makes the environment that these tests run in",
    "python docs/outputs.py example": "MiniLM takes minutes; tests/test_outputs.py looks at what it made",
    "python docs/outputs.py": "tests/test_outputs.py compares what it writes",
    "python docs/published_pages.py": "tests/published/test_listing.py compares what it writes",
    "python -m sphinx docs site": "tests/test_docs.py runs it",
    "python tests/compare_scores.py COMMIT": "runs the suite of another commit, for half an hour",
}
QUICKER = {
    "patent-mteb run -b PatenTEB -m path/to/checkpoint": "-t PatenTEBTitle2Full PatenTEBBloom PatenTEBParaProblem",
    'patent-mteb run -b "PatenTEB(retrieval)" -m MODEL --limit 100': "-t PatenTEBTitle2Full PatenTEBEffect2Full",
    "patent-mteb run -b WIPO-AT --task-types Clustering -m MODEL --json": "-t WIPOATEmergingClustering",
    "patent-mteb run -t PatentCitationRetrieval -m MODEL --dims 256 --rerank CROSS_ENCODER": "--limit 3",
    "patent-mteb run -b PatenTEB -m MODEL --layers 12 --input noSEP+trim[1]": "-t PatenTEBTitle2Full --limit 5",
    "patent-mteb run -b Sophia -m MODEL --max-tokens 512": "-t SophiaAbRetrieval --limit 5",
    "patent-mteb runs sweep dapfam -m MODEL --out sweep.csv": "--queries TA --corpora TAC",
    "patent-mteb run -m MODEL -b PatenTEB --store store": "-t PatenTEBEffect2Substance",
    "patent-mteb run -m MODEL -b DAPFAM --store store": "-t PatentDAPFAMTAToTARetrieval",
}
"""Words that are added, so that it takes seconds."""

STANDS_FOR = {
    "patent-mteb run -b PatenTEB -m MODEL --layers 12 --input noSEP+trim[1]": {"MODEL": "LAYERED"},
    "patent-mteb run -b Sophia -m MODEL --max-tokens 512": {"MODEL": "LAYERED"},
    "patent-mteb store encode -b DAPFAM": {"DAPFAM": "PatentMap"},
    "patent-mteb publish results": {"ORG/NAME": MINILM},
    "patent-mteb publish board": {"ORG/NAME": MINILM},
    "patent-mteb data build BENCHMARK": {"BENCHMARK": "wipo_at"},
    "mteb run": {"MODEL": "mteb/baseline-random-encoder"},
}
"""What is put for a word, by how the command begins."""

LIES_THERE = {
    "patent-mteb edition build open-us records edition": {"records": "ACTED-UPON"},
    "patent-mteb edition rebuild": {"records": "ACTED-UPON"},
    "patent-mteb data import --merge --out records": {"records": "one"},
    "patent-mteb store": {"store-of-the-user": "a"},
    "patent-mteb run -t GrantsPatenTEBTitle2Full": {"mine": "GRANTS"},
}
"""What lies under a name, where it is something else than usual, by how the command begins."""

_UNPUBLISHED = (1, "PATENT_MTEB_DATA")
STATUS = {
    "patent-mteb run -b PatentMTEB -m MODEL --dry-run": _UNPUBLISHED,
    "patent-mteb run -b PatentMTEB -m ORG/NAME": _UNPUBLISHED,
    "patent-mteb publish mteb DIR --count": _UNPUBLISHED,
    "patent-mteb reproduce --results results": (1, "nothing to compare"),
}
"""What ends otherwise than with 0 where the published data are not, and what it says then."""

WRITTEN_BEHIND = {"--out", "--html", "--table", "--save-runs", "--store"}
WRITTEN = {
    "data build": {"ROOT", "mine"},
    "edition build": {"edition"},
    "edition rebuild": {"edition"},
    "publish beir": {"DIR"},
    "publish board": {"BOARD"},
    "publish mteb": {"DIR"},
    "publish results": {"DIR"},
}
"""Names that a command makes itself: behind these options, and by how it begins."""


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """A function that gives what a name stands for, made once."""
    folder, made = tmp_path_factory.mktemp("shelf"), {}

    def get(name):
        make = FILES[name]
        if make not in made:
            made[make] = folder / f"{len(made)}" / Path(name).name
            made[make].parent.mkdir()
            make(made[make])
        return made[make]

    return get


def of(table, line, default):
    """The entry of a table whose key begins the command."""
    return next((value for begin, value in table.items() if line.startswith(begin)), default)


def read_by(words):
    """The names among the words of a command that have to be there."""
    command = " ".join(words)
    written = of(WRITTEN, command, set())
    return [
        word
        for before, word in zip(["", *words], words, strict=False)
        if word in FILES and word not in written and before not in WRITTEN_BEHIND
    ]


def lay(folder, things, shelf):
    """Copies of things under their names."""
    for name, what in things.items():
        place, thing = folder / name.rstrip("/"), shelf(what)
        place.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if thing.is_dir() else shutil.copy)(thing, place)


def execute(words):
    """Run a command in this process and return its exit status."""
    if words[0] == "patent-mteb":
        return cli.main(words[1:])
    from mteb.cli.build_cli import main

    with mock.patch.object(sys, "argv", words[:1] + words[3:] if words[0] == "python" else words):
        runpy.run_module(words[2], run_name="__main__") if words[0] == "python" else main()
    return 0


def one_of_each_form():
    """The first printed command of each form, without the forms that are not run."""
    forms = {}
    for line in COMMANDS:
        form = line
        for name, same in SAME.items():
            form = form.replace(name, same)
        forms.setdefault(form, []).append(line)
    return [lines[0] for lines in forms.values() if not NOT_RUN.keys() & lines]


def test_what_the_tables_name_is_printed():
    begins = [*STANDS_FOR, *LIES_THERE, *QUICKER, *STATUS]
    assert set(NOT_RUN) <= set(COMMANDS)
    assert not [begin for begin in begins if not any(line.startswith(begin) for line in COMMANDS)]
    assert len(COMMANDS) > 80


@pytest.mark.slow
@pytest.mark.parametrize("line", one_of_each_form())
def test_a_printed_command_runs(line, tmp_path, monkeypatch, shelf, without_hook, capsys):
    if "bulk/" in line and not (SHARED / "bulk").is_dir():
        pytest.skip("shared/data/bulk is not here")
    monkeypatch.chdir(tmp_path)
    swap = of(STANDS_FOR, line, {})
    command, _, into = line.partition(" > ")
    words = [swap.get(word, word) for word in [*shlex.split(command), *QUICKER.get(line, "").split()]]
    folders = {"MTEB_CACHE": tmp_path / "mteb", "PATENT_MTEB_STORE": tmp_path / "store-of-the-user"}
    with mock.patch.dict(
        os.environ, {"PATENT_MTEB_SAMPLE": "1", **{name: str(path) for name, path in folders.items()}}
    ):
        lay(tmp_path, {name: name for name in read_by(words[1:])} | of(LIES_THERE, line, {}), shelf)
        capsys.readouterr()
        status, said = STATUS.get(line, (0, ""))
        assert execute(words) == status
    streams = capsys.readouterr()
    assert said in streams.out + streams.err
    assert words[0] != "patent-mteb" or "Traceback" not in streams.err
    if into:
        assert streams.out and into in FILES
