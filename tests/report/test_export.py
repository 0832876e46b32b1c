"""Exported and refused results, the reasons, and the written files."""

import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from report_folders import HEADLINE, add, attest, built_tables, commit, model_folder
from small_bases import write_static

from patent_mteb.errors import DataError
from patent_mteb.identity import content_revision
from patent_mteb.metrics.significance import bootstrap
from patent_mteb.models.registry import suite_metas
from patent_mteb.report.collect import ReportError, collect
from patent_mteb.report.export import check_board, prepare
from patent_mteb.tasks.catalogue import suite_tasks

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "8b3219a92973c328a8e22fadcfa821b5dc75636a"
DAPFAM = "PatentDAPFAMTACToTACRetrieval"


def test_a_result_that_names_a_branch_is_left_out_and_one_that_names_its_commit_is_exported(tmp_path):
    folder, _ = complete(tmp_path / "in")
    add(folder, "PatenTEBNLIOldNew", 0.5, kind="real", revision="main")
    outcome = prepare(tmp_path / "in", tmp_path / "out")
    assert (outcome.exported, outcome.refused) == (14, ())
    (message,) = [message for message in outcome.messages if "PatenTEBNLIOldNew" in message]
    assert "measured on data revision main, which says no commit; left out. Remedy: run the task again" in message
    add(folder, "PatenTEBNLIOldNew", 0.5, kind="real", revision="d" * 40)
    outcome = prepare(tmp_path / "in", tmp_path / "out")
    assert (outcome.exported, outcome.refused) == (15, ())
    card = (tmp_path / "out" / "model_cards" / "sentence-transformers__all-MiniLM-L6-v2.md").read_text()
    assert "d" * 40 in card


def complete(root, model=MINILM, revision=REVISION, base=0.5):
    folder = model_folder(root, model, revision)
    tasks = [name for name, spec in suite_tasks().items() if spec.benchmark == "PatenTEB"]
    for step, task in enumerate(tasks):
        listed(folder, task, base + 0.01 * step)
    return folder, tasks


def listed(folder, task, value, n=60, **more):
    """A result with per-query scores, as a board asks for."""
    return add(folder, task, queries=np.full(n, value), **{"kind": "real", **more})


def test_model_card_has_a_model_index_that_the_hub_reads(tmp_path):
    import yaml
    from huggingface_hub.repocard_data import model_index_to_eval_results

    _, tasks = complete(tmp_path / "in")
    prepare(tmp_path / "in", tmp_path / "out")
    text = (tmp_path / "out" / "model_cards" / "sentence-transformers__all-MiniLM-L6-v2.md").read_text()
    _, front, body = text.split("---\n", 2)
    name, results = model_index_to_eval_results(yaml.safe_load(front)["model-index"])
    assert name == "all-MiniLM-L6-v2"
    assert len(results) == 15
    for step, result in enumerate(results):
        spec = suite_tasks()[tasks[step]]
        assert (result.dataset_name, result.metric_type, result.metric_value) == (
            spec.name,
            spec.main_score,
            pytest.approx(0.5 + 0.01 * step),
        )
        assert (result.dataset_type, result.dataset_revision, result.dataset_split, result.task_type) == (
            spec.data.key,
            commit(spec.data),
            "test",
            spec.kind,
        )
    assert "| PatenTEB | PatenTEBTitle2Full | nDCG@10 | 0.5300 |" in body
    assert REVISION in body


def test_a_board_grows_model_by_model(tmp_path):
    out = tmp_path / "out"
    complete(tmp_path / "first")
    assert prepare(tmp_path / "first", out, upstream=False).messages == ()
    folder = model_folder(tmp_path / "second", "intfloat/multilingual-e5-large", "abc")
    listed(folder, "PatenTEBTitle2Full", 0.9)
    prepare(tmp_path / "second", out, upstream=False)
    folder = model_folder(tmp_path / "third", "intfloat/multilingual-e5-large", "abc")
    path = listed(folder, DAPFAM, 0.25)
    prepare(tmp_path / "third", out, upstream=False)
    place = out / "results" / "intfloat__multilingual-e5-large" / "abc"
    assert (place / path.name).read_text() == path.read_text()
    settings = [json.loads(line)["task"] for line in (place / "run_settings.jsonl").read_text().splitlines()]
    assert settings == ["PatenTEBTitle2Full", DAPFAM], "the lines of earlier results stay"
    assert (place / f"{DAPFAM}.queries.parquet").is_file()
    board = (out / "leaderboard.md").read_text()
    overall, dapfam, patenteb = board.split("\n## ")
    assert dapfam.startswith("DAPFAM")
    assert "MiniLM" not in dapfam
    lines = [line.split(" | ") for line in patenteb.split("### ")[0].splitlines() if "@" in line]
    assert [(*line[:3], line[-1]) for line in lines] == [
        (f"| {MINILM} @{REVISION[:12]}", "1", "0.5700", "15 of 15 |"),
        (
            "| intfloat/multilingual-e5-large @abc",
            "not ranked",
            "–",
            "1 of 15 |",
        ),  # a part is not a mean over the whole
    ]
    assert "| Overall |" not in overall, "no model has it"
    assert collect(out).results.height == 17, "it is a results folder"


def test_a_board_ranks_as_the_page_does(tmp_path):
    """Complete models and one with the headline alone are ranked by that headline."""
    mixed = "PatenTEBRetrievalMIXED"
    for model, revision, base in ((MINILM, REVISION, 0.5), ("intfloat/multilingual-e5-large", "abc", 0.2)):
        complete(tmp_path / "in", model, revision, base)
    listed(model_folder(tmp_path / "in", "datalyes/patembed-base", "abc"), mixed, 0.9)
    prepare(tmp_path / "in", tmp_path / "out", upstream=False)
    boards = (tmp_path / "out" / "leaderboard.md").read_text().split("## ")
    built = built_tables(tmp_path / "in")
    for board, table in ((boards[1], built["real-overall"]), (boards[2], built["real-patenteb"])):
        lines = (re.sub(r"\*|</?u>", "", line) for line in board.splitlines())
        rows = [line.split(" | ")[:3] for line in lines if " @" in line]
        shown = [(re.search(r"[\w/.-]+", label)[0], int(rank), float(score)) for label, rank, score in rows]
        wanted = [(cells[0].value, cells[1].value, round(cells[2].value, 4)) for cells in table.rows]
        assert shown == wanted
        assert [run for run, *_ in shown] == ["datalyes/patembed-base", MINILM, "intfloat/multilingual-e5-large"]


def refusals(tmp_path, expected=0):
    outcome = prepare(tmp_path / "in", tmp_path / "out")
    assert outcome.exported == expected
    if not expected:
        assert outcome.files == ()
        assert not (tmp_path / "out").exists()
    return [str(refusal) for refusal in outcome.refused]


def test_sample_results_are_refused(tmp_path):
    add(model_folder(tmp_path / "in", MINILM, REVISION), HEADLINE, 0.5)
    (refused,) = refusals(tmp_path)
    assert refused.startswith(f"{HEADLINE}.sample of {MINILM}: measured on the built-in sample")


@pytest.mark.parametrize("task", [HEADLINE, DAPFAM])
def test_local_data_is_refused(tmp_path, task):
    add(model_folder(tmp_path / "in", MINILM, REVISION), task, 0.5, kind="local")
    (refused,) = refusals(tmp_path)
    assert "local-" in refused
    assert "others do not have" in refused


def test_a_registered_copy_of_unreleased_data_is_real(tmp_path):
    add(model_folder(tmp_path / "in", MINILM, REVISION), HEADLINE, 0.5, kind="real")
    assert refusals(tmp_path, expected=1) == []


@pytest.mark.parametrize(
    ("model", "revision", "reason"),
    [
        (MINILM, "no_revision_available", "no revision"),
        ("local/checkpoint", "0123456789abcdef", "a local checkpoint"),
        ("no_model_name__available", "no_revision_available", "a local checkpoint"),
        ("acme/unheard-of", "abc", "mteb does not know the model"),
        ("hybrid/linear-0.7-x+y", "abc", "mteb does not know the model"),
    ],
)
def test_models_that_others_cannot_repeat_are_refused(tmp_path, model, revision, reason):
    folder = model_folder(tmp_path / "in", model, revision)
    add(folder, DAPFAM, 0.5, kind="real")
    (refused,) = refusals(tmp_path)
    assert reason in refused
    assert "Remedy" in refused


def test_the_rest_is_exported(tmp_path):
    folder = model_folder(tmp_path / "in", MINILM, REVISION)
    path = add(folder, DAPFAM, 0.3, kind="real")
    add(folder, "PatenTEBTitle2Full", 0.5)
    content = json.loads(path.read_text())
    (entry,) = content["scores"]["train"]
    content["scores"]["train"].append(
        entry | {"hf_subset": "local-bbbbbbbbbbbb", "main_score": 0.7, "ndcg_at_100": 0.7}
    )
    path.write_text(json.dumps(content))
    reasons = refusals(tmp_path, expected=1)
    assert len(reasons) == 2
    (written,) = (tmp_path / "out" / "results").rglob(f"{DAPFAM}.json")
    assert [entry["main_score"] for entry in json.loads(written.read_text())["scores"]["train"]] == [0.3]


def test_settings_keep_their_place(tmp_path):
    listed(model_folder(tmp_path / "in", MINILM, REVISION, {"dims": 64}), DAPFAM, 0.3)
    listed(model_folder(tmp_path / "in", MINILM, REVISION), DAPFAM, 0.4)
    assert prepare(tmp_path / "in", tmp_path / "out", upstream=False).exported == 2
    rows = (tmp_path / "out" / "leaderboard.md").read_text().split("## DAPFAM")[1].split("### ")[0].splitlines()
    assert ["0.3" in row for row in rows if "(dims=64)" in row] == [True]
    assert ["0.4" in row for row in rows if MINILM in row and "dims" not in row] == [True]
    assert len(list((tmp_path / "out" / "results").rglob(f"{DAPFAM}.json"))) == 2


def test_one_model_of_several(tmp_path):
    add(model_folder(tmp_path / "in", MINILM, REVISION), DAPFAM, 0.3, kind="real")
    add(model_folder(tmp_path / "in", "intfloat/multilingual-e5-large", "abc"), DAPFAM, 0.4, kind="real")
    assert prepare(tmp_path / "in", tmp_path / "out", MINILM).exported == 1
    assert [path.name for path in (tmp_path / "out" / "results").iterdir()] == [
        "sentence-transformers__all-MiniLM-L6-v2"
    ]
    with pytest.raises(ReportError, match="intfloat/multilingual-e5-large; sentence-transformers"):
        prepare(tmp_path / "in", tmp_path / "out", "acme/unknown")
    with pytest.raises(DataError, match="no such folder"):
        prepare(tmp_path / "nowhere", tmp_path / "out")


def upstream_problems(root):
    """What the results repository's own tests look for, by their rules: structure, names, descriptions, settings,
    models that mteb has.
    """
    from mteb.models.model_implementations import MODEL_REGISTRY
    from mteb.results import TaskResult

    ours = {meta.name for meta in suite_metas()}
    problems = []
    for meta_path in root.rglob("model_meta.json"):
        meta = json.loads(meta_path.read_text())
        if meta_path.parent != root / meta["name"].replace(" ", "_").replace("/", "__") / meta["revision"]:
            problems.append(f"{meta_path}: place")
        if meta["name"] not in MODEL_REGISTRY or meta["name"] in ours:
            problems.append(f"{meta_path}: mteb has no {meta['name']}")
    for path in root.rglob("*.json"):
        if path.name == "model_meta.json":
            continue
        result = TaskResult.from_disk(path)
        if (
            path.stem != result.task_name
            or not (path.parent / "model_meta.json").is_file()
            or result.mteb_version < "2"
        ):
            problems.append(f"{path}: name, description or version")
        lines = [json.loads(line) for line in (path.parent / "run_settings.jsonl").read_text().splitlines()]
        covered = {
            (line["task"], split, subset) for line in lines for split in line["splits"] for subset in line["subsets"]
        }
        scored = {
            (result.task_name, split, entry["hf_subset"])
            for split, entries in result.scores.items()
            for entry in entries
        }
        if not scored <= covered:
            problems.append(f"{path}: no settings of {scored - covered}")
    folders = {path.parent for path in root.rglob("*") if path.is_file()}
    return problems + [
        f"{folder}: more than results"
        for folder in folders
        for path in folder.iterdir()
        if path.suffix not in (".json", ".jsonl")
    ]


def test_an_exported_folder_passes_the_rules_of_the_results_repository(tmp_path):
    folder, tasks = complete(tmp_path / "in")
    add(folder, HEADLINE, 0.5)  # the sample: its settings are not for others either
    add(model_folder(tmp_path / "in", "intfloat/multilingual-e5-large", "abc"), DAPFAM, 0.4, kind="real")
    add(model_folder(tmp_path / "in", "datalyes/patembed-base", "abc"), DAPFAM, 0.4, kind="real")
    outcome = prepare(tmp_path / "in", tmp_path / "out")
    assert outcome.exported == 16
    assert [refusal.task for refusal in outcome.refused] == [DAPFAM, "PatentCitationRetrieval.sample"]
    assert "mteb does not know the model" in outcome.refused[0].reason, "it does with this suite only"
    assert upstream_problems(tmp_path / "out" / "results") == []
    target = tmp_path / "out" / "results" / MINILM.replace("/", "__") / REVISION
    assert all((target / f"{task}.json").read_bytes() == (folder / f"{task}.json").read_bytes() for task in tasks)
    lines = (
        (tmp_path / "out" / "results" / MINILM.replace("/", "__") / REVISION / "run_settings.jsonl")
        .read_text()
        .splitlines()
    )
    assert sorted(json.loads(line)["task"] for line in lines) == sorted(tasks)
    (tmp_path / "out" / "results" / MINILM.replace("/", "__") / REVISION / "run_settings.jsonl").unlink()
    with pytest.raises(FileNotFoundError):
        upstream_problems(tmp_path / "out" / "results")


def test_a_result_without_the_settings_of_its_run_is_refused(tmp_path):
    folder = model_folder(tmp_path / "in", MINILM, REVISION)
    add(folder, DAPFAM, 0.4, kind="real")
    add(folder, "PatenTEBTitle2Full", 0.5, kind="real")
    lines = (folder / "run_settings.jsonl").read_text().splitlines()
    (folder / "run_settings.jsonl").write_text("\n".join(line for line in lines if DAPFAM not in line))
    (refused,) = refusals(tmp_path, expected=1)
    assert f"there are no settings of the run of {DAPFAM} on train/default" in refused
    (folder / "run_settings.jsonl").write_text("no JSON")
    assert all(
        "run_settings.jsonl, row 1: invalid line of run settings" in reason for reason in refusals_only(tmp_path)
    )


def refusals_only(tmp_path):
    return [refusal.reason for refusal in prepare(tmp_path / "in", tmp_path / "elsewhere").refused]


def own_result(folder, value, content, n=4):
    """A result on own data with a name, as a task of these files it."""
    path = listed(folder, HEADLINE, value, n=n, kind="local", revision=f"local-{content}")
    whose = {"name": "Acme", "version": "1", "owner": "", "licence": "", "benchmark": "WIPO-AT", "task": HEADLINE}
    text = path.read_text().replace(HEADLINE, "AcmeCitationRetrieval")
    result = json.loads(text)
    result["scores"]["test"][0]["data_set"] = whose
    path.unlink()
    renamed = path.with_name(path.name.replace(HEADLINE, "AcmeCitationRetrieval"))
    renamed.write_text(json.dumps(result))
    attest(renamed, {"scoring": suite_tasks()[HEADLINE].scoring})
    queries = path.with_name(f"{path.stem}.queries.parquet")
    table = pq.read_table(queries)
    identity = table.schema.metadata[b"patent_mteb"].replace(HEADLINE.encode(), b"AcmeCitationRetrieval")
    pq.write_table(table.replace_schema_metadata({"patent_mteb": identity}), renamed.with_suffix(".queries.parquet"))
    queries.unlink()
    (folder / "run_settings.jsonl").write_text(
        (folder / "run_settings.jsonl").read_text().replace(f'"{HEADLINE}.local', '"AcmeCitationRetrieval.local')
    )


def test_a_board_lists_local_checkpoints_under_the_name_that_the_user_gives(tmp_path):
    checkpoint = tmp_path / "ours"
    write_static(checkpoint)
    content = content_revision(checkpoint)
    for revision, value in ((content, 0.5), ("0" * 16, 0.4)):
        own_result(model_folder(tmp_path / "in", "local/ours", revision), value, "a" * 12, n=60)

    def prepared(**names):
        return prepare(tmp_path / "in", tmp_path / "out", upstream=False, names=names)

    assert all("--name 'local/ours=NAME'" in refusal.reason for refusal in prepared().refused)
    outcome = prepared(**{str(checkpoint): "Ours | v3"})
    assert (outcome.exported, len(outcome.refused)) == (1, 1), "the other content is another checkpoint"
    board = (tmp_path / "out" / "leaderboard.md").read_text()
    (row,) = (line for line in board.split("### ")[0].splitlines() if "local checkpoint" in line)
    assert rf"Ours \| v3 (local checkpoint) @{content[:12]}" in row and "0.5000" in row
    (path,) = (tmp_path / "out" / "results" / "local__ours").rglob("Acme*.json")
    assert path.parent.name == content
    assert prepared(**{"local/ours": "Ours"}).exported == 2
    for name in (MINILM, "acme/ours", " "):
        with pytest.raises(ReportError, match="cannot be the name of a model of this board"):
            prepared(**{"local/ours": name})
    write_static(checkpoint, seed=5)
    with pytest.raises(ReportError, match="there are: local/ours"):
        prepared(**{str(checkpoint): "Ours v3"})
    assert prepare(tmp_path / "in", tmp_path / "up").exported == 0


def test_a_board_lists_a_vendor_under_the_name_that_the_user_gives(tmp_path):
    """The result of 'runs score --name'; others cannot repeat it, which its label says."""
    digest = "0123456789abcdef"
    own_result(model_folder(tmp_path / "in", "run/Vendor-3.1", digest), 0.5, "a" * 12)
    for names, label in (({}, "Vendor-3.1"), ({"run/Vendor-3.1": "Vendor 3.1 of May"}, "Vendor 3.1 of May")):
        outcome = prepare(tmp_path / "in", tmp_path / label, upstream=False, names=names)
        assert (outcome.exported, outcome.refused) == (1, ())
        board = (tmp_path / label / "leaderboard.md").read_text()
        assert f"| {label} (stored ranking) @{digest[:12]}" in board and "0.5000" in board
        assert not check_board(tmp_path / label).problems
        assert "## Patent embedding leaderboard" not in board, "a table without rows"
        assert board.startswith("## Acme") and " – |" not in board, "no empty line first, no column of dashes"
        (line,) = (one for one in board.split("### AcmeCitationRetrieval")[1].splitlines() if label in one)
        row = line.strip("| ").split(" | ")
        (queries,) = (tmp_path / label).rglob("*.queries.parquet")
        values = pq.read_table(queries)["ndcg@10"].to_numpy()[:, None]
        low, high = bootstrap(values).intervals()[0]
        assert row[1:4] == ["0.5000†", rf"\[{low:.4f}, {high:.4f}\]", str(len(values))], "4 queries are few"
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", row[4])
    (refused,) = prepare(tmp_path / "in", tmp_path / "up").refused
    assert "measured on local data" in refused.reason


def test_a_leaderboard_of_ones_own_takes_named_data_and_models_of_the_suite(tmp_path):
    own_result(model_folder(tmp_path / "in", MINILM, REVISION), 0.5, "a" * 12)
    own_result(model_folder(tmp_path / "in", "datalyes/patembed-base", "abc"), 0.6, "b" * 12)
    listed(model_folder(tmp_path / "in", "datalyes/patembed-large", "abc"), DAPFAM, 0.4)
    add(model_folder(tmp_path / "in", MINILM, REVISION), HEADLINE, 0.9)
    assert prepare(tmp_path / "in", tmp_path / "up").exported == 0
    outcome = prepare(tmp_path / "in", tmp_path / "out", upstream=False)
    assert outcome.exported == 3 and [refusal.task for refusal in outcome.refused] == [f"{HEADLINE}.sample"]
    board = (tmp_path / "out" / "leaderboard.md").read_text()
    titles = [line for line in board.splitlines() if line.startswith("## ")]
    assert titles == [
        "## Patent embedding leaderboard",
        "## DAPFAM",
        *(f"## Acme (own data, version 1, content {one * 12})" for one in "ab"),
    ]
    first, second = board.split("## Acme (")[1:]
    assert "0.5000" in first and "0.6000" not in first and "0.6000" in second and "0.5000" not in second
    assert "say nothing about the published benchmark" in first
    assert "0.9000" not in board
    assert "patembed-base" not in board.split("## DAPFAM")[0], "it has no result on published data"
    (copy,) = (tmp_path / "out" / "results" / "datalyes__patembed-base").rglob("*.queries.parquet")
    assert not {"q0", "q1", "q2", "q3"} & set(pq.read_table(copy)["query"].to_pylist()), "digests of the numbers"
    assert check_board(tmp_path / "out").by_query == 3
