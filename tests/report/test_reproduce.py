"""Stated numbers and measured ones: which are compared, and how the difference is explained."""

import json

import pytest
from report_folders import HEADLINE, add, attest, model_folder

from patent_mteb import cli
from patent_mteb.published import Expected, expected
from patent_mteb.report.collect import collect
from patent_mteb.report.reproduce import reproduce, table

PAECTER = "mpi-inno-comp/paecter"
SIX = [f"PatentDAPFAM{query}To{corpus}Retrieval" for query in ("TA", "TAC") for corpus in ("TA", "TAC", "FullText")]


def measured(folder, task, value, *, suite=0.9, kind="real", more=None, prompts=None, tokens="512"):
    """A result of a model that reads 512 tokens, without prompts."""
    path = add(folder, task, suite, kind=kind, more=more or {"paper_n_queries": 7, "paper_ndcg_at_10": value})
    return noted(path, prompts or {"query": "", "document": ""}, max_tokens=tokens)


def test_each_number_is_compared_under_the_papers_protocol(tmp_path):
    folder = model_folder(tmp_path, PAECTER)
    for task, value in (
        ("PatenTEBRetrievalIN", 0.4234),
        ("PatenTEBRetrievalMIXED", 0.364),
        ("PatenTEBRetrievalOUT", 0.15),
    ):
        measured(folder, task, value)
    measured(folder, "PatenTEBParaProblem", 0.714, suite=0.714, more={"cosine_pearson": 0.714})
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
    shown = " ".join(lines["PatenTEBRetrievalOUT"].settings)
    assert (
        "prompt here: none, in the paper: none" in shown
        and "max_tokens here: 512, in the paper: 8192" in shown
        and "datalyes/retrieval_OUT@" in shown
    )


def test_patentmap_is_compared_by_its_authors_protocol(tmp_path):
    suite = {"knn_precision_at_1": 0.9, "mlp_precision_at_1": 0.9}
    authors = {"paper_knn_precision_at_1": 0.61, "paper_mlp_precision_at_1": 0.5}
    add(model_folder(tmp_path, PAECTER), "PatentMapIPCClassification", 0.9, kind="real", more=suite | authors)
    found = {line.metric: line.here for line in reproduce(collect(tmp_path)).lines}
    assert found == {"knn_precision_at_1": 0.61, "mlp_precision_at_1": 0.5}


def noted(path, prompts=None, **model):
    """Write into a result what a run of today records of its prompts, its model and its machine."""
    result = json.loads(path.read_text())
    (entry,) = next(iter(result["scores"].values()))
    if prompts is not None:
        entry["prompts"] = prompts
    path.write_text(json.dumps(result))
    return attest(path, **model)


def test_prompts_device_type_and_settings_are_those_that_the_result_recorded(tmp_path):
    """Of a model whose prompts the paper does not state."""
    folder = model_folder(tmp_path, "Qwen/Qwen3-Embedding-0.6B", settings={"max_tokens": 8192})
    noted(
        measured(folder, "PatenTEBRetrievalOUT", 0.15),
        {"query": "search_query: ", "document": ""},
        device="cuda (NVIDIA H100)",
        dtype="torch.bfloat16",
        settings="0f1e2d3c",
        weights="aa",
        max_tokens="8192",
    )
    attest(measured(folder, "PatenTEBRetrievalIN", 0.4234), device="", dtype="", settings="", max_tokens="8192")
    lines = {line.tasks[0]: line.settings for line in reproduce(collect(tmp_path)).lines}
    shown = lines["PatenTEBRetrievalOUT"]
    assert 'prompt here: "search_query: " / none, in the paper: not stated' in shown
    for said in (
        "device here: cuda (NVIDIA H100)",
        "type of number here: torch.bfloat16",
        "settings (digest) here: 0f1e2d3c",
        "max_tokens here: 8192, in the paper: 8192",
    ):
        assert said in shown
    assert not any(said.startswith("device") for said in lines["PatenTEBRetrievalIN"])


@pytest.mark.parametrize(
    ("prompts", "compared"),
    [
        ([{"query": "q: ", "document": "d: "}] * 6, {"yes"}),
        ([{"query": "", "document": ""}] * 6, {"none"}),
        ([{"query": "q: ", "document": ""}, *[{"query": "", "document": ""}] * 5], set()),
        ([{"query": None, "document": None}] * 6, set()),
    ],
)
def test_the_recorded_prompts_decide_which_of_two_printed_settings_is_compared(tmp_path, prompts, compared):
    folder = model_folder(tmp_path, PAECTER)
    for task, put in zip(SIX, prompts, strict=True):
        measured(folder, task, 0, more={"paper_n_queries": 7, "paper_ndcg_at_100": 0.343}, prompts=put)
    rows = [row for row in expected() if row.model == PAECTER and row.metric == "ndcg_at_100" and len(row.tasks) == 6]
    assert {row.settings["prompts"] for row in rows} == {"yes", "none"}
    lines = reproduce(collect(tmp_path), rows=rows).lines
    assert {line.settings[0].rpartition(": ")[2] for line in lines} == compared


def test_a_mean_needs_all_of_its_tasks(tmp_path):
    folder = model_folder(tmp_path, PAECTER)
    own = {"paper_n_queries": 7, "paper_ndcg_at_100": 0.343, "paper_in_n_queries": 7, "paper_in_ndcg_at_100": 0.4}
    for task in SIX[:-1]:
        measured(folder, task, 0, more=own)
    assert not [line for line in reproduce(collect(tmp_path)).lines if len(line.tasks) > 1]
    measured(folder, SIX[-1], 0, more={**own, "paper_ndcg_at_100": 0.349})
    rows = [row for row in expected() if len(row.tasks) == 6]
    found = {line.metric: line for line in reproduce(collect(tmp_path), rows=rows).lines}
    assert found["ndcg_at_100"].here == pytest.approx((5 * 0.343 + 0.349) / 6)
    assert (found["ndcg_at_100"].paper, found["ndcg_at_100"].verdict) == (
        0.343,
        "OK",
    )  # the row without prompts, as this run
    assert (found["in_ndcg_at_100"].paper, found["in_ndcg_at_100"].verdict) == (0.387, "OKISH")


@pytest.mark.parametrize(
    ("settings", "kind", "value"),
    [({"dims": 64}, "real", 0.421), (None, "sample", 0.421), (None, "local", 0.421), (None, "real", None)],
)
def test_what_is_unlike_is_not_compared(tmp_path, settings, kind, value):
    """A truncated model, the sample, a local copy, a result without the paper's protocol."""
    folder = model_folder(tmp_path, PAECTER, settings=settings)
    more = {} if value is None else {"paper_n_queries": 7, "paper_ndcg_at_10": value}
    measured(folder, "PatenTEBRetrievalIN", 0, suite=0.421, kind=kind, more=more or {"map_at_10": 0.1})
    found = reproduce(collect(tmp_path))
    assert found.lines == ()
    assert found.messages
    assert any(
        "(dims=64): 1 number not compared, for other settings than the paper's: dims here: 64, in the paper: not"
        in message
        for message in found.messages
    ) == bool(settings)


def test_unreleased_data_is_the_papers_only_with_its_number_of_queries(tmp_path):
    row = Expected("acme/small", (HEADLINE,), "paper_ndcg_at_10", 0.5, 0.01, "a table", {})
    for queries, lines in ((1101, 0), (10_511, 0), (46_069, 1)):
        root = tmp_path / str(queries)
        more = {"n_queries": queries, "paper_n_queries": queries, "paper_ndcg_at_10": 0.5}
        add(model_folder(root, "acme/small"), HEADLINE, 0.9, kind="real", more=more)
        found = reproduce(collect(root), rows=[row])
        assert len(found.lines) == lines
        assert any("the export of the test split" in message for message in found.messages) == (queries == 10_511)


def test_the_command_prints_lines_and_says_by_its_status_whether_all_is_well(tmp_path, capsys):
    folder = model_folder(tmp_path, PAECTER)
    measured(folder, "PatenTEBRetrievalIN", 0.421)
    assert cli.main(["reproduce", "--results", str(tmp_path)]) == 0
    assert "1 number compared, 0 FAIL" in capsys.readouterr().out
    measured(folder, "PatenTEBRetrievalOUT", 0.2)
    assert cli.main(["reproduce", "-m", PAECTER, "--results", str(tmp_path), "--json"]) == 1
    lines = json.loads(capsys.readouterr().out)["result"]["lines"]
    assert [(line["tasks"], line["verdict"]) for line in lines] == [
        (["PatenTEBRetrievalIN"], "OK"),
        (["PatenTEBRetrievalOUT"], "FAIL"),
    ]
    assert cli.main(["reproduce", "-m", "another/model", "--results", str(tmp_path)]) == 1
    assert "No stated number has a measured one" in capsys.readouterr().err


def test_a_printed_interval_is_shown_and_decides_nothing(tmp_path):
    """Table 23 prints 0.1301 to 0.1344 for BGE-M3 on the TAC corpus, Table 10 the number 0.1490."""
    values = {"BAAI/bge-m3": 0.134, "intfloat/multilingual-e5-large-instruct": 0.163}
    for model, value in values.items():
        more = {"n_queries": 46_069, "paper_n_queries": 46_069, "paper_ndcg_at_10": value}
        add(model_folder(tmp_path, model), HEADLINE, 0.9, kind="real", more=more)
    found = reproduce(collect(tmp_path))
    assert {line.model: (line.interval, line.inside, line.verdict) for line in found.lines} == {
        "BAAI/bge-m3": ((0.1301, 0.1344), True, "FAIL"),
        "intfloat/multilingual-e5-large-instruct": ((0.1565, 0.1611), False, "OK"),
    }
    shown = table(found)
    assert [[cell.text for cell in row][6:9] for row in shown.rows] == [
        ["FAIL", "0.1301 to 0.1344", "yes"],
        ["OK", "0.1565 to 0.1611", "no"],
    ]
    assert shown.rows[0][-1].value.startswith("prompt here: none") and shown.rows[1][-1].value is None
    assert shown.notes[0].startswith("1 FAIL, 1 OK. ")


def test_the_nearer_of_two_readings_is_judged(tmp_path):
    """PatenTEB's Table 16 prints .343 for PaECTER: TAC to TAC alone, or the mean of six pairs."""
    folder = model_folder(tmp_path, PAECTER)
    for task, value in zip(SIX, (0.30, 0.30, 0.30, 0.30, 0.343, 0.30), strict=True):
        measured(folder, task, 0, more={"paper_n_queries": 7, "paper_ndcg_at_100": value})
    found = reproduce(collect(tmp_path))
    assert [(len(line.tasks), line.verdict) for line in found.lines] == [(1, "OK"), (6, "other reading")]
    assert found.failed == 0
    assert "1 OK, 1 other reading. " in table(found).notes[0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.1028, "differs from print, agrees with 1 independent harness"),
        (0.1038, "differs from print, agrees with 1 independent harness"),  # .1028 + 1% + half a unit
        (0.1039, "FAIL"),
        (0.1017, "FAIL"),
        (0.1195, "OK"),
    ],
)
def test_a_number_that_another_harness_measured_too_is_no_failure(tmp_path, value, said):
    """pateval measures .1028 for PaECTER on retrieval_OUT, the paper prints .120 and allows .0017."""
    measured(model_folder(tmp_path, PAECTER), "PatenTEBRetrievalOUT", value)
    found = reproduce(collect(tmp_path))
    (line,) = found.lines
    assert (line.verdict, line.others, found.failed) == (said, ("pateval 0.1028",), int(said == "FAIL"))


def test_the_interval_of_another_harness_is_shown_and_decides_nothing(tmp_path):
    """pateval measures .3654 [.3506, .3776] for patembed-base with prompts; the paper prints .370 and allows .0042."""
    prompts = {"query": "encode query for mixed document retrieval: ", "document": "encode document: "}
    for value, said in ((0.3654, "differs from print, agrees with 1 independent harness"), (0.3510, "FAIL")):
        folder = model_folder(tmp_path / str(value), "datalyes/patembed-base")
        more = {"paper_n_queries": 7, "paper_ndcg_at_100": value}
        measured(folder, "PatentDAPFAMTACToTACRetrieval", 0, more=more, prompts=prompts)
        found = reproduce(collect(tmp_path / str(value)))
        (line,) = found.lines
        assert (line.verdict, line.others) == (said, ("pateval 0.3654 [0.3506, 0.3776]",))
        assert [cell.text for cell in table(found).rows[0]][10] == "pateval 0.3654 [0.3506, 0.3776]"


def test_a_limit_of_tokens_that_no_result_recorded_is_not_the_stated_one(tmp_path):
    path = measured(model_folder(tmp_path, PAECTER), "PatenTEBRetrievalIN", 0.421)
    attest(path, max_tokens="")
    found = reproduce(collect(tmp_path))
    assert found.lines == ()
    assert found.other_settings[0].settings == ("max_tokens here: not recorded, in the paper: 8192",)


def test_every_stated_number_would_be_found_in_a_result():
    names = {row.metric for row in expected() if row.score.startswith("paper_")}
    assert names <= {
        f"{part}{name}"
        for part in ("", "in_", "out_", "xy_", "a_")
        for name in ("ndcg_at_10", "ndcg_at_100", *(f"recall_at_{k}" for k in (10, 20, 50, 100)))
    } | {f"{probe}_precision_at_{k}" for probe in ("knn", "mlp") for k in (1, 3, 5)} | {
        f"inscope_{level}_at_{k}" for level in ("section", "subclass", "subgroup") for k in (10, 100)
    }
