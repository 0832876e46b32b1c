"""Every example runs offline, as its first lines say, and prints what it promises."""

import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest

import patent_mteb
from patent_mteb.data import loading

EXAMPLES = Path(__file__).parents[1] / "examples"
RETRIEVAL = "PatenTEBEffect2Full.sample"


@pytest.fixture(scope="session")
def words(tmp_path_factory):
    """The directory of a cheap static model, written by the example that does so."""
    pytest.importorskip("wordllama")
    folder = tmp_path_factory.mktemp("models") / "words"
    _run("static_model", folder)
    return folder


@pytest.fixture
def example(tmp_path, monkeypatch, capsys):
    """Runs an example in an empty directory and returns what it prints; what it changes in the environment is changed
    back.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PATENT_MTEB_QUERY_SCORES")
    monkeypatch.setenv(loading.DATA_VARIABLE, "")

    def call(name, *arguments):
        capsys.readouterr()
        _run(name, *arguments)
        return capsys.readouterr().out

    return call


def _run(name, *arguments):
    before = sys.argv, list(sys.path)
    sys.argv = [f"{name}.py", *map(str, arguments)]
    sys.path.insert(0, str(EXAMPLES))
    try:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    except SystemExit as stopped:
        assert not stopped.code, stopped.code
    finally:
        sys.argv, sys.path[:] = before


def numbers(text):
    return [float(number) for number in re.findall(r"\b[01]\.\d{4}\b", text)]


def test_every_example_is_run_here():
    tested = {"quickstart", "own_patents", "hybrid_sweep", "passages", "add_a_benchmark"}
    tested |= {"static_model", "publish_sample", "excel_list"}
    elsewhere = {"real_patents", "train"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == tested | elsewhere


@pytest.mark.slow
def test_quickstart(example, tmp_path):
    printed = example("quickstart")
    assert "PatentCitationRetrieval.sample: nDCG@10 = 0." in printed
    assert re.search(r"^  out +0\.\d{4} over \d+ queries$", printed, re.MULTILINE)
    assert re.search(r"^  year_2020 +0\.\d{4}", printed, re.MULTILINE)
    assert len(list(tmp_path.glob("results/**/*.sample.json"))) == 2


@pytest.mark.slow
def test_publish_sample(example, tmp_path):
    example("publish_sample", tmp_path / "sample")
    described = json.loads((tmp_path / "sample" / "croissant.json").read_text())
    files = {one["contentUrl"]: one["sha256"] for one in described["distribution"] if "contentUrl" in one}
    assert len(files) > 40 and (tmp_path / "sample" / "README.md").is_file()
    for name, checksum in files.items():
        assert hashlib.sha256((tmp_path / "sample" / name).read_bytes()).hexdigest() == checksum


def test_excel_list(example, tmp_path):
    assert example("excel_list", tmp_path / "list.xlsx") == f"wrote 351 patents to {tmp_path / 'list.xlsx'}\n"
    sheet = openpyxl.load_workbook(tmp_path / "list.xlsx").active
    assert sheet.max_row == 352 and [cell.value for cell in sheet[1]][:2] == ["Publication Number", "Title"]


@pytest.mark.slow
def test_own_patents(example):
    printed = example("own_patents")
    assert printed.count("$ patent-mteb") == 3
    assert "53 tasks load" in printed, "two label sets of so few patents cannot be scored, and validate says why"
    assert printed.count("error ") == 2 and "all 1 rows have the same label" in printed
    assert re.search(r"^DataCitationRetrieval\.local-\w+\s+nDCG@10\s+0\.\d{4}", printed, re.MULTILINE)


@pytest.mark.slow
def test_own_patents_from_files(example, tmp_path):
    from small_patents import world

    from patent_mteb.patents.records import Citation, Patent, write_records

    patents, citations = world()
    write_records(tmp_path / "patents.parquet", Patent, patents)
    write_records(tmp_path / "citations.jsonl", Citation, citations)
    options = ("--model", "patent-mteb/bm25-dapfam", "--set", "seed=7")
    example("own_patents", "patents.parquet", "citations.jsonl", "out", *options)
    (result,) = (tmp_path / "out").rglob("DataCitationRetrieval.local-*[0-9a-f].json")
    assert '"local-' in result.read_text()


@pytest.mark.slow
def test_hybrid_sweep(example, words, tmp_path):
    pytest.importorskip("vl_convert")
    printed = example("hybrid_sweep", words, "--task", RETRIEVAL, "--store", tmp_path / "store", "--plot", "alpha")
    rows = dict(re.findall(r"^0?(\.\d{4}|1\.0000)  (\S+)", printed, re.MULTILINE))
    assert len(re.findall(r"^[01]\.\d{4}  (linear|rrf)-", printed, re.MULTILINE)) == 15
    assert len(rows) > 3, "the weight matters"
    assert (tmp_path / "alpha.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "alpha.svg").read_text()


@pytest.mark.slow
def test_passages(example, words, tmp_path):
    printed = example(
        "passages", "--task", RETRIEVAL, "--model", words, "--store", tmp_path / "store", "--tokens", "32"
    )
    rows = {
        line[:28].strip(): numbers(line[28:]) for line in printed.splitlines() if re.match("document|passages of", line)
    }
    assert list(rows) == ["document", "passages of 32, maxP", "passages of 32, avg_top3"]
    assert all(len(row) == 8 for row in rows.values())
    assert len({tuple(row) for row in rows.values()}) == 3


@pytest.mark.slow
def test_passages_of_real_patents(example, real_data):
    printed = example("passages", "--real", real_data / "pap2pat", "--first", "12", "--tokens", "256", "1024")
    assert "taken: 12 patents, 12 papers" in printed
    rows = [numbers(line) for line in printed.splitlines() if re.match("document|passages of", line)]
    assert len(rows) == 5
    assert all(0.9 < ndcg <= recall for ndcg, recall in rows)


def _forked(python, tmp_path, *arguments):
    """In a process of its own: a benchmark that is registered stays so."""
    paths = os.pathsep.join(
        [str(EXAMPLES), str(Path(patent_mteb.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    environment = {name: value for name, value in os.environ.items() if name != "PATENT_MTEB_QUERY_SCORES"} | {
        "PYTHONPATH": paths
    }
    done = subprocess.run(
        [python, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_add_a_benchmark(python, tmp_path):
    """One file outside the package: sample, results, report tab, prompts and validation, and nothing else is
    touched.
    """
    printed = _forked(python, tmp_path, str(EXAMPLES / "add_a_benchmark.py"))
    by_title, by_keywords = re.findall(r"^KnownAbstractBy\w+\.sample: ndcg_at_10 = (0\.\d{4})$", printed, re.MULTILINE)
    assert by_title != by_keywords
    assert printed.count("ipc_g_ndcg_at_10: 0.") == 2
    assert len(list(tmp_path.glob("results/**/KnownAbstractBy*.queries.parquet"))) == 2

    report = _forked(
        python,
        tmp_path,
        "-c",
        "import add_a_benchmark; from patent_mteb.cli import main; main(['report', 'results', '--format', 'markdown',"
        " '--out', 'out'])",
    )
    text = (tmp_path / "out" / "report.md").read_text()
    assert "report.md" in report
    assert "KnownAbstract (sample)" in text and "ByTitle" in text and by_title in text and by_keywords in text

    found = _forked(
        python,
        tmp_path,
        "-c",
        "import add_a_benchmark as one; from pathlib import Path; from patent_mteb import sample;from patent_mteb.cli"
        " import main; from patent_mteb.models.prompts import prompt_for;one.build(*sample.load(), Path('data'));"
        " main(['data', 'validate', 'data']); main(['data', 'validate',"
        " 'data/KnownAbstract']);print(prompt_for('KnownAbstractByTitle').side('query'))",
    )
    assert found.count("2 tasks load (KnownAbstractByTitle, KnownAbstractByKeywords)") == 2
    assert "encode title query for document retrieval:" in found


@pytest.mark.slow
def test_real_patents_give_twenty_cells(example, tmp_path, real_data):
    from patent_mteb.data.loading import Source
    from patent_mteb.identity import content_hash
    from patent_mteb.tasks import wipo_at

    example("real_patents", real_data / "pap2pat", "out")
    folder = tmp_path / "out" / "WIPO-AT"
    source = Source(wipo_at.DATA, "local", f"local-{content_hash(folder)}", folder)
    cells = [
        kind
        for kind in wipo_at.RETRIEVAL_TASKS
        if not kind.cell.corpus.startswith("DWPI") and not kind.cell.query.startswith("DWPI")
    ]
    assert len(cells) == 20
    for kind in cells[:2] + cells[-1:]:
        task = kind(source=source)
        task.load_data()
        assert len(task.tables.queries) == len(task.tables.corpus) == 1813
        assert all(text.strip() for text in (*task.tables.queries.values(), *task.tables.corpus.values()))
        task.unload_data()


def _slurm(python, tmp_path, shares, *words):
    """Run the Slurm script once for each share; the last time as the script that was submitted for it alone."""
    paths = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    for share in range(1, shares + 1):
        count = {"SHARES": str(shares)} if share == shares else {"SLURM_ARRAY_TASK_COUNT": str(shares)}
        surroundings = os.environ | {"PATH": paths, "SLURM_ARRAY_TASK_ID": str(share)} | count
        script = ["bash", str(EXAMPLES / "slurm.sh"), *map(str, words)]
        subprocess.run(script, cwd=tmp_path, env=surroundings, check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the script is for a shell")
def test_the_shares_of_a_slurm_array_are_the_whole(python, tmp_path, words, monkeypatch, capsys):
    from patent_mteb import cli

    monkeypatch.chdir(tmp_path)
    (tmp_path / "files").mkdir()
    for place in range(3):
        rows = (f"US{10_000_000 + 3 * row + place}B2,Pump {row}" for row in range(4))
        (tmp_path / "files" / f"{place}.csv").write_text("\n".join(["publication_number,title", *rows]) + "\n", "utf-8")
    _slurm(python, tmp_path, 2, "import", "records", "files")
    assert cli.main(["data", "import", "--merge", "--out", "records"]) == 0
    assert cli.main(["data", "import", "files", "--out", "whole"]) == 0
    merged, whole = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*.parquet")}
        for root in (tmp_path / "records", tmp_path / "whole")
    )
    assert merged == whole and len(merged) > 2

    chosen = ["-t", "PatentMapAbsToAbsRetrieval.sample", "-m", str(words)]
    _slurm(python, tmp_path, 2, "encode", "stores", *chosen)
    assert cli.main(["store", "merge", "stores/1", "stores/2", "--store", "store"]) == 0
    capsys.readouterr()
    assert cli.main(["store", "encode", *chosen, "--store", "store", "--dry-run"]) == 0
    _, counts = capsys.readouterr().out.splitlines()
    texts, distinct, stored, *_ = map(int, counts.split()[2:])
    assert texts > distinct == stored > 100
