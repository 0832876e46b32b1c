"""The whole report: what it writes where, what it prints, what it refuses."""

import io

import polars as pl
import pytest
from report_folders import HEADLINE, add, main_scores, model_folder

from patent_mteb import report
from patent_mteb.report import figures
from patent_mteb.report.collect import ReportError


@pytest.mark.slow
def test_report_writes_what_was_asked_for(world, tmp_path):
    outcome = report.run(
        world, formats=report.FORMATS, out=tmp_path, published=True, baseline="lex/bm25", every_table=True
    )
    names = {path.relative_to(tmp_path).as_posix() for path in outcome.files}
    assert {"report.md", "tables.tex", "csv/scores.csv", "csv/results.csv", "csv/sample-patenteb.csv"} <= names
    assert all(path.is_file() for path in outcome.files)
    assert any("papers' scores" in message for message in outcome.messages)
    from rich.console import Console

    console = Console(width=200, file=io.StringIO())
    outcome.print(console)
    assert "PatenTEB (sample)" in console.file.getvalue()
    tidy = pl.read_csv(tmp_path / "csv" / "scores.csv").filter(pl.col("slice").fill_null("") == "")
    scores = main_scores(world)
    main = tidy.filter(pl.col("main"))
    assert len(main) == len(scores)
    for task, run, value in main.select("task", "run", "value").iter_rows():
        assert value == scores[task, run]["main_score"]
    assert not pl.read_csv(tmp_path / "csv" / "results.csv")["path"].str.contains(str(world)).any()


@pytest.mark.slow
def test_tables_and_page_go_to_folders_of_their_own(world, tmp_path):
    out, page = tmp_path / "tables", tmp_path / "site" / "page"
    outcome = report.run(world, formats=("markdown", "csv"), out=out, html=page)
    assert outcome.printed == ()
    assert {path.relative_to(tmp_path).parts[0] for path in outcome.files} == {"tables", "site"}
    assert sorted(path.name for path in out.iterdir()) == ["csv", "report.md"]
    assert [path.name for path in page.iterdir()] == ["index.html"]
    assert set(outcome.files) == {path for path in tmp_path.rglob("*") if path.is_file()}


def test_a_page_alone_leaves_the_tables_to_the_terminal(world, tmp_path):
    outcome = report.run(world, formats=("markdown",), html=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    assert any(item.startswith("## All benchmarks (sample)") for item in outcome.printed)


@pytest.mark.slow
@pytest.mark.parametrize("folders", [("out",), ("html",), ("out", "html")])
def test_plots_go_to_the_folder_of_the_tables_else_of_the_page(world, tmp_path, folders, monkeypatch):
    pytest.importorskip("vl_convert")
    monkeypatch.setattr(figures, "CHARTS", [chart for chart in figures.CHARTS if chart.name == "in-out"])
    outcome = report.run(world, formats=(), plots=True, **{name: tmp_path / name for name in folders})
    images = [path for path in outcome.files if path.suffix == ".png"]
    assert len(images) == 2
    assert {path.parent for path in images} == {tmp_path / folders[0] / "plots"}
    assert (tmp_path / "html" / "index.html").is_file() == ("html" in folders)


def test_what_report_refuses(world, tmp_path):
    with pytest.raises(ReportError, match="unknown format pdf"):
        report.run(world, formats=("pdf",))
    with pytest.raises(ReportError, match="--out"):
        report.run(world, plots=True)
    bad = add(model_folder(tmp_path, "acme/small"), HEADLINE, 0.1)
    bad.write_text("{")
    with pytest.raises(ReportError, match="damaged result file"):
        report.run(tmp_path)
