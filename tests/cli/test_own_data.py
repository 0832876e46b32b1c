"""Two own data sets, two versions of one, and a copy of a released set in one results folder: all are kept and stand
side by side.
"""

import json
from dataclasses import replace

import mteb
import polars as pl
import pytest
from report_folders import payload_of
from small_data import dapfam_tables
from small_patents import world

from patent_mteb import cli
from patent_mteb.patents.records import Citation, Patent, write_records
from patent_mteb.report.collect import collect

MODEL = "mteb/baseline-bm25s"


@pytest.fixture
def results(tmp_path, monkeypatch):
    """P in two versions, S, and a local copy of DAPFAM, each built and run by the command line into one folder."""
    monkeypatch.delenv("PATENT_MTEB_QUERY_SCORES")
    patents, citations = world()
    write_records(tmp_path / "c.parquet", Citation, citations)
    for name, folder, kept in (("P", "p", 60), ("P", "p", 54), ("S", "s", 48)):
        write_records(tmp_path / "p.parquet", Patent, patents[:kept])
        words = [str(tmp_path / one) for one in ("p.parquet", "c.parquet", folder)]
        assert (
            cli.main(["data", "build", "-v", "0", "wipo_at", *words, "--name", name, "--data-version", str(kept)]) == 0
        )
        monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / folder))
        run = ["run", "-v", "0", "-m", MODEL, "--out", str(tmp_path / "results")]
        assert cli.main([*run, "-t", f"{name}CitationRetrieval", "WIPOATTAToTARetrieval"]) == 0
    dapfam_tables(tmp_path / "copy")
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "copy"))
    assert cli.main([*run, "-t", "PatentDAPFAMTAToTARetrieval", "PatentCitationRetrieval.sample"]) == 0
    monkeypatch.delenv("PATENT_MTEB_DATA")
    return tmp_path / "results"


@pytest.mark.slow
def test_all_results_are_kept_loaded_and_reported_under_their_names(results, tmp_path, capsys):
    files = [path for path in results.rglob("*.json") if path.name != "model_meta.json"]
    filed = {path.name.removesuffix(".json"): json.loads(path.read_text())["scores"] for path in files}
    names = {name.partition(".local-")[0] for name in filed}
    own = {"PCitationRetrieval", "PTAToTARetrieval", "SCitationRetrieval", "STAToTARetrieval"}
    assert names == own | {"PatentDAPFAMTAToTARetrieval", "PatentCitationRetrieval.sample"}
    assert len(filed) == 8, "two of each task of P, whose versions differ, and one of all others"
    assert all(path.with_suffix(".queries.parquet").exists() for path in files)

    loaded = mteb.ResultCache(results).load_results(models=[MODEL], only_main_score=False, require_model_meta=False)
    assert {result.task_name for model in loaded.model_results for result in model.task_results} == set(filed)

    collected = collect(results)
    rows = {row["task"]: row for row in collected.results.iter_rows(named=True)}
    assert {name: row["value"] for name, row in rows.items()} == {
        name: next(iter(s.values()))[0]["main_score"] for name, s in filed.items()
    }
    assert all(row["queries"] for row in rows.values()), "per-query scores of each"
    names = {name: [view.name for view in source.benchmarks] for name, source in collected.data_sources.items()}
    assert names == {"own": ["P", "S"], "own-2": ["P"], "local": ["DAPFAM"], "sample": ["WIPO-AT"]}
    assert set(collected.results.filter(pl.col("data_source").str.starts_with("own"))["data"]) == {"P", "S"}

    capsys.readouterr()
    out = str(tmp_path / "tables")
    assert cli.main(["report", str(results), "--format", "markdown", "--out", out, "--html", out, "--published"]) == 0
    text = (tmp_path / "tables" / "report.md").read_text()
    own_part = text[: text.index("(local copy)")]
    assert "P (own data)" in own_part and "S (own data)" in own_part and "P (own data, earlier data 2)" in own_part
    assert "Own data: these scores say nothing about the published benchmark." in own_part
    assert "WIPO-AT" not in own_part and "paper" not in own_part
    assert "P (own data)" in {
        tab["label"] for tab in payload_of((tmp_path / "tables" / "index.html").read_text())["tabs"]
    }


@pytest.mark.slow
def test_the_page_says_what_views_hold_and_on_how_many_searches_it_rests(tmp_path, monkeypatch):
    """Also where the data are not: a result records how its data differ from the rules that they follow."""
    patents, citations = world()
    write_records(tmp_path / "p.parquet", Patent, [replace(patent, claims=()) for patent in patents])
    write_records(tmp_path / "c.parquet", Citation, citations)
    words = [str(tmp_path / one) for one in ("p.parquet", "c.parquet", "data")]
    assert cli.main(["data", "build", "-v", "0", "wipo_at", *words, "--name", "Acme"]) == 0
    run = ["run", "-v", "0", "-m", MODEL, "--out", str(tmp_path / "results"), "--data", str(tmp_path / "data")]
    assert cli.main([*run, "-t", "AcmeCitationRetrieval"]) == 0
    monkeypatch.delenv("PATENT_MTEB_DATA", raising=False)
    assert cli.main(["report", "-v", "0", str(tmp_path / "results"), "--html", str(tmp_path)]) == 0
    front, benchmark = payload_of((tmp_path / "index.html").read_text())["tabs"]
    assert front["banner"].endswith(" No patent has claims: TAC is title and abstract.")
    assert front["terms"] == benchmark["terms"] == {"TAC": "title and abstract"}
    assert "no patent has claims: TAC is title and abstract" in benchmark["about"]
    (entries,) = json.loads(next((tmp_path / "results").rglob("AcmeCitationRetrieval*.json")).read_text())[
        "scores"
    ].values()
    place = front["jobs"]["keys"].index("queries")
    assert front["jobs"]["rows"][0][place][0] == entries[0]["n_queries"] > 0


@pytest.mark.slow
def test_list_shows_own_tasks_and_what_was_not_built(tmp_path, monkeypatch, capsys):
    patents, citations = world()
    write_records(tmp_path / "p.parquet", Patent, patents)
    write_records(tmp_path / "c.parquet", Citation, citations)
    words = [str(tmp_path / one) for one in ("p.parquet", "c.parquet", "acme data")]
    assert cli.main(["data", "build", "-v", "0", "wipo_at", *words]) == 0
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "acme data"))
    capsys.readouterr()
    assert cli.main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("AcmeDataCitationRetrieval ") and "local-" in line for line in lines)
    assert any(line.startswith("PatenTEBBloom ") and line.rstrip().endswith("not built") for line in lines)
    assert cli.main(["list", "benchmarks"]) == 0
    assert "AcmeData" in capsys.readouterr().out
    assert cli.main(["list", "-b", "AcmeData", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["result"]) == 20
