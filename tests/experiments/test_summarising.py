"""The five AI queries on one's own patents: by a loopback language model, or as extracts that pass for nothing else."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from chat_server import KEY, chat_server

from patent_mteb.cli import main
from patent_mteb.experiments import summarising
from patent_mteb.experiments.summarising import PROMPTS, Extracts, summarise_patents
from patent_mteb.patents.records import Citation, Claim, Description, MachineSummaries, Patent, write_records
from patent_mteb.patents.summaries import EXTRACT, KINDS, MODEL, read_summaries, write_summaries

DESCRIPTION = (
    "Pumps move water. A pump with a rotor moves much water. It is an object of the invention to save water. "
    "An advantage is that the rotor lasts. Zebras graze."
)


def patent(number, **more):
    claims = (
        Claim(1, "A pump, comprising: a rotor; and a valve."),
        Claim(2, "The pump of claim 1, wherein the rotor is red.", (1,)),
    )
    return Patent(f"US{number}A", f"F{number}", title=f"Pump {number}", abstract="A pump.", claims=claims, **more)


@pytest.fixture
def records(tmp_path):
    write_records(path := tmp_path / "records" / "patents.jsonl", Patent, [patent(n) for n in range(4)])
    return path


def said(capsys):
    found = capsys.readouterr()
    return " ".join(f"{found.out} {found.err}".split())


def test_extracts_are_the_patents_own_words():
    found = summarise_patents(
        [patent(1, description=Description(detailed=DESCRIPTION)), Patent("US2A", "F2")], Extracts()
    )
    texts = {row.kind: row.text for row in found.rows}
    assert texts["features"] == "a rotor; and a valve"
    assert texts["claims"] == "A pump, comprising: a rotor; and a valve."
    assert texts["advantages"] == "An advantage is that the rotor lasts."
    assert texts["objectives"] == "It is an object of the invention to save water."
    assert texts["abstract"] == DESCRIPTION, "all of it has room"
    assert {row.how for row in found.rows} == {EXTRACT} and found.missing == dict.fromkeys(KINDS, 1)
    long = Description(
        detailed=" ".join(f"The rotor turns the pump number{n}." for n in range(40)) + " Zebras graze elsewhere daily."
    )
    (short,) = summarise_patents([patent(1, description=long)], Extracts(), ["abstract"]).rows
    assert 100 < len(short.text.split()) <= 150 and "Zebras" not in short.text


def test_a_run_that_was_stopped_asks_only_the_rest_and_each_text_says_where_it_is_from(
    records, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("MY_KEY", KEY)
    wanted = {(kind, n) for kind in KINDS for n in range(4)}

    def about(body):
        text = body["messages"][1]["content"]
        return next(kind for kind, prompt in PROMPTS.items() if text.startswith(prompt)), int(
            re.search(r"Pump (\d)", text)[1]
        )

    def answer(body):
        return f"<think>Hm.</think> {about(body)[0]} of {about(body)[1]}. "

    out, answers = tmp_path / "summaries.jsonl", tmp_path / "answers.sqlite"
    with chat_server(answer) as (url, server):
        words = f"summarise {records} --endpoint {url} --model llm --out {out} --answers {answers}".split()
        words += ["--key-variable", "MY_KEY", "--at-once", "3"]
        assert main([*words, "--budget-calls", "7"]) == 2
        assert "the budget of 7 calls is spent" in said(capsys) and not out.exists() and len(server.bodies) == 7
        assert main(words) == 0
        assert "20 summaries in" in (told := said(capsys)) and "20 answers" in told and "13 new" in told
        assert set(map(about, server.bodies)) == wanted and max(Counter(map(about, server.bodies)).values()) == 1
    assert set(server.keys) == {f"Bearer {KEY}"}
    rows = read_summaries(out)
    assert {(row.publication_number, row.kind, row.text) for row in rows} == {
        (f"US{n}A", kind, f"{kind} of {n}.") for kind, n in wanted
    }
    assert {(row.how, row.model) for row in rows} == {(MODEL, "llm-2026")} and all(
        re.fullmatch(r"\d{4}-\d\d-\d\d", row.day) for row in rows
    )
    assert len({row.prompt for row in rows}) == 5, "one a kind"
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_bad_options_end_with_one_message(records, tmp_path, capsys):
    for words, told in (
        (["--endpoint", "http://localhost/v1"], "no model is named"),
        (["--extractive", "--kinds", "novelty"], "there is no kind of summary 'novelty'"),
        (["--endpoint", "http://localhost/v1", "--model", "m", "--request", "{"], "--request is not JSON"),
        (["--endpoint", "http://localhost/v1", "--model", "m", "--budget-cost", "1"], "a budget in money needs prices"),
        (["--extractive", "--queries", str(tmp_path)], "the file is missing"),
    ):
        assert main(["data", "summarise", str(records), "--out", str(tmp_path / "x"), *words]) == 2
        assert told in said(capsys)


@pytest.mark.slow
def test_a_build_with_extracts_says_so_in_dataset_json_and_in_its_tasks(tmp_path, capsys, monkeypatch):
    from patent_mteb import sample

    monkeypatch.chdir(tmp_path)
    patents, citations = sample.load()
    bare = [replace(one, summaries=MachineSummaries()) for one in patents[:250]]
    write_records("patents.parquet", Patent, bare)
    write_records("citations.parquet", Citation, citations)
    build = ["data", "build", "sophia", "patents.parquet", "citations.parquet", "root", "--name", "Acme"]
    assert main(build) == 0
    assert (
        main(["data", "summarise", "patents.parquet", "--extractive", "--queries", "root", "--out", "mine.jsonl"]) == 0
    )
    rows = read_summaries(Path("mine.jsonl"))
    queries = {json.loads(line)["_id"] for line in Path("root/Sophia/queries.jsonl").read_text().splitlines()}
    assert {row.publication_number for row in rows} == queries, "its queries only"
    write_records("fewer.parquet", Patent, [one for one in bare if one.publication_number != min(queries)])
    with monkeypatch.context() as patched:
        patched.setattr(summarising, "summarise_patents", lambda *given, **more: pytest.fail("a patent was read"))
        assert main(["data", "summarise", "fewer.parquet", "--extractive", "--queries", "root"]) == 2
    assert f"1 queries of root are not among the records, such as {min(queries)}" in said(capsys)
    write_summaries(
        Path("mine.jsonl"),
        [*rows, replace(rows[0], publication_number="US1A"), replace(rows[1], publication_number="US1A")],
    )
    capsys.readouterr()
    assert main([*build, "--set", "summaries=mine.jsonl"]) == 0
    phrase = "extracts of the patents’ own sentences, no machine summaries"
    assert phrase in (told := said(capsys)) and "2 of patents that are not queries" in told
    (built,) = json.loads(Path("root/dataset.json").read_text())["recipes"].values()
    assert any(phrase in one for one in built["deviations"])
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "root"))
    from patent_mteb.tasks.selection import choose

    (task,) = choose(names=["AcmeSophiaAiAbRetrieval"])
    assert phrase in task.metadata.description
    task.load_data()
    own = {row.publication_number: row.text for row in rows if row.kind == "abstract"}
    assert {key: task.tables.queries[key] for key in own} == own
