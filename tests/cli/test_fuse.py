"""``patent-mteb run --save-runs`` and ``patent-mteb runs fuse`` from the command line."""

import polars as pl
import pytest
from small_data import dapfam_tables

from patent_mteb import cli
from patent_mteb.data import loading

TASKS = ["PatentDAPFAMTAToTACRetrieval", "PatentDAPFAMTACToTARetrieval"]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    dapfam_tables(tmp_path / "data")
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", "-m", "bm25-dapfam", "-t", *TASKS, "--out", "first", "--save-runs", "runs", "-v", "0"]) == 0
    return [str(next((tmp_path / "runs").rglob(f"{task}.*run"))) for task in TASKS]


@pytest.mark.slow
def test_a_grid_with_table_and_curves(runs, tmp_path, capsys):
    capsys.readouterr()
    words = ["--grid", "--table", "fused.csv", "--plot", "curves", "-v", "0"]
    assert cli.main(["runs", "fuse", *runs, "-t", TASKS[0], *words]) == 0
    shown = capsys.readouterr().out
    assert "rrf-30" in shown and "linear-0.7" in shown and "gain" in shown
    assert "†" in shown and "†: too few queries (< 50)" in shown and "best" not in shown.partition("†")[0]
    table = pl.read_csv(tmp_path / "fused.csv")
    assert table.height == 2 + 4 + 11 and "out_ratio_recall_at_100" in table.columns
    assert (tmp_path / "curves.png").stat().st_size > 1000 and "</svg>" in (tmp_path / "curves.svg").read_text("utf-8")
    assert len(list((tmp_path / "results").rglob(f"{TASKS[0]}.*json"))) == 15


@pytest.mark.slow
def test_options(runs, capsys):
    assert cli.main(["runs", "fuse", *runs, "-t", TASKS[0], "-v", "0"]) == 0
    assert "rrf-60" in capsys.readouterr().out
    assert cli.main(["runs", "fuse", *runs, "-t", TASKS[0], "--weights", "1", "3", "--alpha", "0.5", "-v", "0"]) == 0
    shown = capsys.readouterr().out
    assert "linear-1-3" in shown and "linear-0.5" in shown
    for words, message in (
        (["--alpha", "2"], "alpha is a number from 0 to 1, not 2.0"),
        (["--weights", "1", "2", "3"], "3 weights for 2 runs"),
        (["--weights", "0", "0"], "weights must not be all 0"),
    ):
        assert cli.main(["runs", "fuse", *runs, "-t", TASKS[0], *words, "-v", "0"]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert message in said and said.count("Remedy") == 1
    assert cli.main(["runs", "fuse", runs[0], "-t", TASKS[0], "-v", "0"]) == 2
    assert "two or more different runs" in capsys.readouterr().err
    assert cli.main(["runs", "fuse", runs[0], "nowhere.run", "-t", TASKS[0], "-v", "0"]) == 2
    assert "nowhere.run" in capsys.readouterr().err
