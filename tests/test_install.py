"""The light installation: no command that needs no model imports torch, and its lock file is complete."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import light_requirements
import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("environments", ROOT / "tests" / "environments.py")
environments = sys.modules["environments"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(environments)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

WITHOUT_TORCH = """
import glob, importlib.util, os, sys

class Missing:  # as if these were not installed
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "sentence_transformers", "tokenizers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def find_spec(name, package=None, find=importlib.util.find_spec):
    try:
        return find(name, package)
    except ModuleNotFoundError:
        return None

sys.meta_path.insert(0, Missing())
importlib.util.find_spec = find_spec
from patent_mteb.cli import main
for line in sys.argv[1:]:
    if os.path.isdir("own"):
        os.environ["PATENT_MTEB_DATA"] = "own"
    words = [name for word in line.split() for name in sorted(glob.glob(word, recursive=True)) or [word]]
    status = main(words)
    print("status", status, *words, file=sys.stderr)
    if status:
        sys.exit(status)
"""
WORDS = ["valve", "pump", "rotor", "blade", "sensor", "cell", "battery", "anode", "polymer", "film", "lens", "laser"]
WORDS += ["mirror", "gear", "shaft", "bearing", "seal"]


def without_torch(lines, folder):
    command = [sys.executable, "-c", WITHOUT_TORCH, *lines]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def patents(path, count=40):
    """A list of patents, each of which cites the one before it and shares its words."""
    with path.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["Publication Number", "Title", "Abstract", "Claims", "IPC", "Filing Date", "Citations"])
        for number in range(count):
            text = " ".join(WORDS[(number + step) % len(WORDS)] for step in range(6))
            claims = f"1. A {text}. 2. The {text} of claim 1."
            cites = f"US{7_000_000 + number - 1}B2" if number else ""
            rows.writerow([f"US{7_000_000 + number}B2", text, text, claims, "F04B 1/00", "2015-01-05", cites])


def test_the_lock_file_is_that_of_the_installed_versions():
    rows = [line for line in light_requirements.FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert rows == light_requirements.lines(), "run python tests/helpers/light_requirements.py"
    assert not [row for row in rows if row.startswith(("torch", "transformers", "sentence-transformers", "nvidia"))]


@pytest.mark.slow
def test_everything_that_needs_no_model_works_without_torch(tmp_path):
    patents(tmp_path / "list.csv")
    run = "run -t OwnCitationRetrieval --save-runs runs --out results"
    lines = [
        "data import list.csv --out records",
        "data inspect records",
        "data build wipo_at records own",
        "data validate own",
        f"{run} -m bm25",
        "runs score runs/**/*.run -t OwnCitationRetrieval --name engine --out results",
        f"{run} -m mteb/baseline-bm25s",
        "runs fuse runs/**/*.run -t OwnCitationRetrieval --out results",
        "report results --html site",
    ]
    done = without_torch(lines, tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "runs").rglob("*.run"))) == 2
    files = [path for path in (tmp_path / "results").rglob("OwnCitationRetrieval*.json") if "queries" not in path.name]
    scores = [json.loads(path.read_text())["scores"]["test"][0]["main_score"] for path in files]
    assert len(scores) == 4 and scores == pytest.approx([0.4412] * 4, abs=0.01), "one ranking in four ways"
    assert (tmp_path / "site" / "index.html").stat().st_size > 100_000


@pytest.mark.slow
def test_a_model_that_needs_torch_says_what_to_install(tmp_path):
    done = without_torch(["run -t PatentCitationRetrieval -m intfloat/e5-small-v2"], tmp_path)
    assert done.returncode == 2
    assert "it needs torch and sentence-transformers; in a checkout, pip install -c constraints.txt ." in done.stderr


def test_the_lowest_environment_pins_the_floor_of_every_package():
    declared = {one.name: str(one.specifier).split(",") for one in map(Requirement, PROJECT["dependencies"])}
    pinned = {one.name: str(one.specifier) for one in map(Requirement, environments.lowest())}
    assert pinned.keys() == declared.keys() and len(pinned) > 20
    assert all(version.replace("==", ">=") in declared[name] for name, version in pinned.items())


def test_each_environment_has_a_row_that_says_what_was_found_or_that_it_was_not_run():
    rows = re.findall(
        r"^\| (.+) \|$", environments.PAGE.read_text("utf-8").partition("## Tested environments")[2], re.M
    )
    cells = {row.split(" | ")[0]: row.split(" | ")[1:] for row in rows[1:]}
    assert cells.keys() == environments.ENVIRONMENTS.keys()
    for name, (python, libraries, score, tests, *_) in cells.items():
        known = environments.ENVIRONMENTS[name]
        if "not run" in (score, tests):
            continue
        assert python.startswith(known.python) and "mteb 2." in libraries
        assert score.startswith(known.score) and known.note in score
        assert "passed" in tests and "failed" not in tests.lower()


def test_the_workflow_builds_every_environment():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))["jobs"]
    built = {*jobs["environments"]["strategy"]["matrix"]["environment"], "PyLate"}  # .ci/run has PyLate and light
    assert built == environments.ENVIRONMENTS.keys()
    assert "constraints-pylate.txt" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_addresses_are_set_in_one_way():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    home = PROJECT["urls"]["Homepage"]
    assert citation["url"] == citation["repository-code"] == PROJECT["urls"]["Repository"] == home
    assert all(address.startswith(home) for address in PROJECT["urls"].values())


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.models"])
def test_an_image_copies_what_its_installation_needs(name):
    lines = (ROOT / name).read_text("utf-8").splitlines()
    copied = {word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]}
    assert all((ROOT / word).exists() for word in copied)
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert copied >= {"pyproject.toml", "README.md", "LICENSE", *wheel["packages"], *wheel["force-include"]}
    (install,) = (line for line in lines if line.startswith("RUN "))
    assert all(word in copied for word in re.findall(r"-[rc] (\S+)", install))
    allowed = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert all(f"!{word}" in allowed or "!patent_mteb_autoload.*" in allowed for word in copied)


def test_the_paper_cites_what_its_bibliography_has():
    paper, bibliography = ((ROOT / name).read_text("utf-8") for name in ("paper.md", "paper.bib"))
    head = yaml.safe_load(paper.split("---")[1])
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= head.keys()
    cited = {key for group in re.findall(r"\[(@[^\]]+)\]", paper) for key in re.findall(r"@(\w+)", group)}
    assert cited == set(re.findall(r"^@\w+\{(\w+),", bibliography, re.M)) and len(cited) == 8
