"""The scripts of ``benchmarks/`` run, and what they compare is the same; how long they take is not looked at."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
QUICK = ("exact search", "bm25", "leak", "ranks under", "all scores", "bootstrap", "knn", "maxsim", "store")


@pytest.mark.slow
def test_the_growth_table_is_made_and_its_results_agree(python):
    command = [python, str(ROOT / "benchmarks" / "all.py"), "--quick", "--only", *QUICK]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert all(any(name in row[0].lower() for row in rows) for name in QUICK)
    assert all(float(row[-1]) < 1e-3 for row in rows)
