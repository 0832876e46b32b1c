"""Stated numbers beside measured ones: which are compared, and what is said of the difference."""

import json

import pytest
from report_folders import HEADLINE, add, model_folder

from patent_mteb import cli
from patent_mteb.published.expected import Expected, expected
from patent_mteb.report.collect import collect
from patent_mteb.report.reproduce import reproduce

PAECTER = "mpi-inno-comp/paecter"
SIX = [f"PatentDAPFAM{query}To{corpus}Retrieval" for query in ("TA", "TAC") for corpus in ("TA", "TAC", "FullText")]


def measured(folder, task, value, *, suite=0.9, **how):
    return add(folder, task, suite, kind=how.get("kind", "real"), more={"paper_n_queries": 7, "paper_ndcg_at_10": value})


def test_each_number_is_compared_under_the_papers_protocol(tmp_path):
    folder = model_folder(tmp_path, PAECTER)
    for task, value in (("PatenTEBRetrievalIN", 0.4234), ("PatenTEBRetrievalMIXED", 0.364), ("PatenTEBRetrievalOUT", 0.15)):
        measured(folder, task, value)
    add(folder, "PatenTEBParaProblem", 0.714, kind="real")
    found = reproduce(collect(tmp_path))
    lines = {line.tasks[0]: line for line in found.lines}
    assert {task: (line.paper, line.here, line.verdict) for task, line in lines.items()} == {
        "PatenTEBRetrievalIN": (0.421, 0.4234, "OK"),
        "PatenTEBRetrievalMIXED": (0.356, 0.364, "OKISH"),
        "PatenTEBRetrievalOUT": (0.12, 0.15, "FAIL"),
        "PatenTEBParaProblem": (0.714, 0.714, "OK"),
    }
    assert lines["PatenTEBRetrievalOUT"].difference == pytest.approx(0.03)
    assert found.failed == 1
    told = " ".join(lines["PatenTEBRetrievalOUT"].settings)
    assert "prompt here: none" in told and "max_tokens in the paper: 8192" in told and "datalyes/retrieval_OUT@" in told


def test_patentmap_is_compared_by_its_authors_protocol(tmp_path):
    suite = {"knn_precision_at_1": 0.9, "mlp_precision_at_1": 0.9}
    authors = {"paper_knn_precision_at_1": 0.61, "paper_mlp_precision_at_1": 0.5}
    add(model_folder(tmp_path, PAECTER), "PatentMapIPCClassification", 0.9, kind="real", more=suite | authors)
    found = {line.metric: line.here for line in reproduce(collect(tmp_path)).lines}
    assert found == {"knn_precision_at_1": 0.61, "mlp_precision_at_1": 0.5}


def test_a_mean_needs_all_of_its_tasks(tmp_path):
    folder = model_folder(tmp_path, PAECTER)
    own = {"paper_n_queries": 7, "paper_ndcg_at_100": 0.343, "paper_in_n_queries": 7, "paper_in_ndcg_at_100": 0.4}
    for task in SIX[:-1]:
        add(folder, task, 0.9, kind="real", more=own)
    assert reproduce(collect(tmp_path)).lines == ()
    add(folder, SIX[-1], 0.9, kind="real", more={**own, "paper_ndcg_at_100": 0.349})
    found = {line.metric: line for line in reproduce(collect(tmp_path)).lines}
    assert found["ndcg_at_100"].here == pytest.approx((5 * 0.343 + 0.349) / 6)
    assert (found["ndcg_at_100"].paper, found["ndcg_at_100"].verdict) == (0.343, "OK")  # the row without prompts, as this run
    assert (found["in_ndcg_at_100"].paper, found["in_ndcg_at_100"].verdict) == (0.387, "OKISH")


@pytest.mark.parametrize(
    ("settings", "kind", "value"),
    [({"dims": 64}, "real", 0.421), (None, "sample", 0.421), (None, "local", 0.421), (None, "real", None)],
)
def test_what_is_unlike_is_not_compared(tmp_path, settings, kind, value):
    """A truncated model, the sample, a local copy, a result without the paper's protocol."""
    folder = model_folder(tmp_path, PAECTER, settings=settings)
    more = {} if value is None else {"paper_n_queries": 7, "paper_ndcg_at_10": value}
    add(folder, "PatenTEBRetrievalIN", 0.421, kind=kind, more=more)
    found = reproduce(collect(tmp_path))
    assert found.lines == ()
    assert found.messages


def test_unreleased_data_is_the_papers_only_with_its_number_of_queries(tmp_path):
    row = Expected("acme/small", (HEADLINE,), "ndcg_at_10", "paper", 0.5, 0.01, "a table", {})
    for queries, lines in ((1101, 0), (46_069, 1)):
        root = tmp_path / str(queries)
        more = {"n_queries": queries, "paper_n_queries": queries, "paper_ndcg_at_10": 0.5}
        add(model_folder(root, "acme/small"), HEADLINE, 0.9, kind="real", more=more)
        assert len(reproduce(collect(root), rows=[row]).lines) == lines


def test_the_command_prints_lines_and_says_by_its_status_whether_all_is_well(tmp_path, capsys):
    folder = model_folder(tmp_path, PAECTER)
    measured(folder, "PatenTEBRetrievalIN", 0.421)
    assert cli.main(["reproduce", "--results", str(tmp_path)]) == 0
    assert "1 numbers compared, 0 FAIL" in capsys.readouterr().out
    measured(folder, "PatenTEBRetrievalOUT", 0.2)
    assert cli.main(["reproduce", PAECTER, "--results", str(tmp_path), "--json"]) == 1
    lines = json.loads(capsys.readouterr().out)
    assert [(line["tasks"], line["verdict"]) for line in lines] == [(["PatenTEBRetrievalIN"], "OK"), (["PatenTEBRetrievalOUT"], "FAIL")]
    assert cli.main(["reproduce", "another/model", "--results", str(tmp_path)]) == 1
    assert "No stated number has a measured one" in capsys.readouterr().err


def test_every_stated_number_would_be_found_in_a_result():
    names = {row.metric for row in expected() if row.protocol == "paper"}
    assert names <= {
        f"{part}{name}"
        for part in ("", "in_", "out_", "xy_", "a_")
        for name in ("ndcg_at_10", "ndcg_at_100", *(f"recall_at_{k}" for k in (10, 20, 50, 100)))
    } | {f"{probe}_precision_at_{k}" for probe in ("knn", "mlp") for k in (1, 3, 5)} | {
        f"inscope_{level}_at_{k}" for level in ("section", "subclass", "subgroup") for k in (10, 100)
    }
