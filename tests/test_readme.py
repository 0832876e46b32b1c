"""What the README prints is so: its import paths exist, its commands are understood, its files are there."""

from __future__ import annotations

import ast
import csv
import gzip
import importlib
import itertools
import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from patent_mteb import cli
from patent_mteb.errors import DataError
from patent_mteb.patents.records import Patent, read_records

ROOT = Path(__file__).parents[1]
README, PYTHON, OWN_PATENTS = (
    (ROOT / name).read_text("utf-8") for name in ("README.md", "docs/python.md", "docs/own-patents.md")
)
CODE = "\n".join(re.findall(r"```python\n(.*?)```", PYTHON, re.DOTALL))


def test_import_paths_of_the_readme_work():
    imports = [node for node in ast.walk(ast.parse(CODE)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert len(imports) >= 3
    for node in imports:
        exec(compile(ast.Module([node], []), "README.md", "exec"), {})
    for dotted in set(re.findall(r"`(patent_mteb(?:\.\w+)+)`", README)):
        module, _, name = dotted.rpartition(".")
        assert importlib.util.find_spec(dotted) or hasattr(importlib.import_module(module), name), dotted


def test_files_that_the_readme_names_are_there():
    root = Path(__file__).parents[1]
    named = set(re.findall(r"[`(]((?:examples|docs|benchmarks|patent_mteb)/[\w./-]+)[`)]", README))
    assert named >= {"examples/add_a_benchmark.py"}
    assert not [name for name in named if not (root / name).exists()]


def test_the_citation_names_this_version_and_every_paper():
    from patent_mteb.identity import RELEASE
    from patent_mteb.tasks import catalogue

    document = yaml.safe_load((Path(__file__).parents[1] / "CITATION.cff").read_text("utf-8"))
    assert document["version"] == RELEASE and {"cff-version", "message", "title", "authors"} <= set(document)
    papers = {one["notes"]: one for one in document["references"]}
    for benchmark in (catalogue.find(name) for name in ("WIPO-AT", "DAPFAM", "PatenTEB", "Sophia", "PatentMap")):
        paper = papers.pop(benchmark.name)
        assert paper["url"] == benchmark.facts.reference and f"title = {{{paper['title']}}}" in benchmark.facts.bibtex
        assert all(author["family-names"] in benchmark.facts.bibtex for author in paper["authors"])
        assert f"year = {{{paper['year']}}}" in benchmark.facts.bibtex
    assert not papers


THREE = re.findall(r"^ {4}(.+)$", OWN_PATENTS.partition("`export` is")[0], re.MULTILINE)


def _run_as_printed(lines, monkeypatch):
    """The commands of the README, variables before them too, in the folder that the process is in."""
    for line in lines:
        words = shlex.split(line)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            monkeypatch.setenv(name, value)
        assert words.pop(0) == "patent-mteb"
        assert cli.main(words) == 0, line


def _cells(folder):
    """The cells of the section grid whose texts are there."""
    from patent_mteb.data.loading import Source
    from patent_mteb.identity import content_hash
    from patent_mteb.tasks import wipo_at

    source = Source(wipo_at.DATA, "local", f"local-{content_hash(folder)}", folder)

    def loads(kind):
        task = kind(source=source)
        try:
            task.load_data()
        except DataError:
            return False
        return bool(task.tables.queries)

    return sum(map(loads, wipo_at.RETRIEVAL_TASKS))


def _score(results):
    (file,) = [path for path in results.rglob("*CitationRetrieval.*.json") if "queries" not in path.name]
    return json.loads(file.read_text())["scores"]["test"][0]["main_score"]


def _first_rows(source, path, rows):
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        texts = list(itertools.islice(lines, rows))
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(texts), "utf-8")
    return [json.loads(text) for text in texts]


@pytest.mark.slow
def test_three_commands_on_a_csv_of_grants(tmp_path, monkeypatch, real_data):
    """225 grants as a spreadsheet would hold them. They cite nothing within, so each cites its neighbour of the same
    subclass here.
    """
    monkeypatch.chdir(tmp_path)
    rows = _first_rows(real_data / "uspto" / "patents.jsonl.gz", tmp_path / "work" / "patents.jsonl", 225)
    last: dict[str, str] = {}
    links = 0
    (tmp_path / "export").mkdir()
    with (tmp_path / "export" / "grants.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerows(
            [
                ["Our grants"],
                ["as of today"],
                ["Patent Number", "Title", "Abstract", "Claims", "IPC", "Cited Patents", "Topic"],
            ]
        )
        for row in rows:
            code = (row["ipc"] or ["none"])[0]
            near = [f"US {last[code][2:]}"] if code in last else []
            links += len(near)
            last[code] = row["publication_number"]
            cites = "; ".join([*row["cites"], *near])
            number = row["publication_number"]
            writer.writerow(
                [
                    f"{number[:2]}-{number[2:]}",
                    row["title"],
                    row["abstract"],
                    row["claims"],
                    "; ".join(row["ipc"]),
                    cites,
                    code[:1],
                ]
            )
    _run_as_printed(THREE, monkeypatch)
    assert _cells(tmp_path / "mine" / "WIPO-AT") == 20
    records = list(read_records(tmp_path / "records" / "patents", Patent))
    assert {one.title for one in records} == {row["title"].strip() for row in rows}
    assert len({one.publication_number for one in records}) == 225
    assert (
        sum(
            len(json.loads(line)["_id"]) > 0
            for line in (tmp_path / "mine" / "WIPO-AT" / "queries.jsonl").read_text().splitlines()
        )
        == links
    )
    assert 0 < _score(tmp_path / "results") < 1


@pytest.mark.slow
def test_the_first_command_prints_what_the_readme_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shown = README.partition("```text\n")[2].partition("```")[0].splitlines()
    command = re.search(r"&& (patent-mteb .*)", README)[1]
    assert cli.main(shlex.split(command)[1:]) == 0
    printed = capsys.readouterr().out.splitlines()
    seconds = re.compile(r"\s+[\d.]+$")
    assert [seconds.sub("", line) for line in printed[: len(shown)]] == [seconds.sub("", line) for line in shown]
