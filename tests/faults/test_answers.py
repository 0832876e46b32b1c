"""Language models that answer badly: bad answers become neither summaries nor grades, and are counted by kind."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from chat_server import chat_server

from patent_mteb.cli import main
from patent_mteb.patents.records import Claim, Patent, write_records
from patent_mteb.patents.summaries import read_summaries

N = 25


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "records" / "patents.jsonl"
    claims = {n: (Claim(1, f"A pump with {n} rotors."),) for n in range(1, N + 1)}
    write_records(
        path, Patent, [Patent(f"US{n}A", f"F{n}", title=f"Pump {n}", claims=own) for n, own in claims.items()]
    )
    return path


def number(body):
    return int(re.search(r"Pump (\d+)", body["messages"][1]["content"])[1])


def completion(content, finish="stop", model="llm-1"):
    choices = [{"message": {"role": "assistant", "content": content}, "finish_reason": finish}]
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    return 200, {}, json.dumps({"model": model, "choices": choices, "usage": usage}).encode()


def summarised(records, tmp_path, capsys, answer, *words):
    """Exit status, the file's rows, and what was said."""
    out = tmp_path / "summaries.jsonl"
    with chat_server(answer) as (url, _):
        asked = f"data summarise {records} --endpoint {url} --model llm --kinds abstract --out {out}".split()
        capsys.readouterr()
        status = main([*asked, "--answers", str(tmp_path / "answers.sqlite"), *words])
    found = capsys.readouterr()
    said = " ".join(f"{found.out} {found.err}".split())
    assert "Traceback" not in said and "please report it" not in said
    return status, read_summaries(out), said


BAD = {
    "cut off": lambda n: completion(f"The pump {n} comprises a hou", "length"),
    "cut off by the server": lambda n: completion(f"The pump {n} comprises a hou", "abort"),
    "cut off, without a text": lambda n: completion(None, "length"),
    "thinking aloud without end": lambda n: completion(f"<think> Okay, the user wants an abstract of pump {n}"),
    "thinking aloud without end, after an answer": lambda n: completion(f"A pump {n}. <think> Hm"),
    "refused": lambda n: completion("I'm sorry, but I can't help with that."),
    "refused in its own words": lambda n: completion(f"I cannot summarise pump {n}."),
    "refused by a filter": lambda n: completion("", "content_filter"),
    "empty": lambda n: completion(" "),
    "empty behind a thought": lambda n: completion("<think>Hm.</think>"),
    "the same for many patents": lambda n: completion("This patent describes an invention."),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_answer_is_no_summary(records, tmp_path, capsys, kind):
    status, rows, said = summarised(records, tmp_path, capsys, lambda body: BAD[kind](number(body)))
    assert status == 1 and rows == []
    of = re.split(r",| after| by| in| behind", kind)[0]
    assert f"could not be made: abstract of {N}" in said and f"answers that are not used: {N} {of}" in said
    assert ("--request" in said) == kind.startswith("cut off")


def test_good_ones_among_bad_ones_are_written_and_the_rest_is_counted(records, tmp_path, capsys):
    def answer(body):
        n = number(body)
        good = completion(f"<think>x</think> A pump, {n}. \ud800")
        return BAD["cut off"](n) if n <= 3 else BAD["refused"](n) if n <= 5 else good

    wanted = {f"US{n}A": f"A pump, {n}. \N{REPLACEMENT CHARACTER}" for n in range(6, N + 1)}
    with chat_server(answer) as (url, server):
        for _ in range(2):
            status, rows, said = summarised(records, tmp_path, capsys, None, "--endpoint", url)
            assert status == 1 and {row.publication_number: row.text for row in rows} == wanted
            assert "20 summaries in" in said and "answers that are not used: 3 cut off, 2 refused" in said
    assert len(server.bodies) == N + 2, "once each, the two refusals once more, and nothing the second time"


@pytest.mark.parametrize(("families", "n"), [(4, 15), (5, 0)])
def test_siblings_of_a_family_may_have_one_summary(tmp_path, capsys, families, n):
    path = tmp_path / "records" / "patents.jsonl"
    patents = [Patent(f"US{n}A", f"F{n % families}", title=f"Pump {n}", abstract=f"{n} rotors.") for n in range(15)]
    write_records(path, Patent, patents)
    status, rows, _ = summarised(path, tmp_path, capsys, lambda body: completion("A pump of many stages."))
    assert (status == 0, len(rows)) == (n == 15, n)


def test_models_behind_one_name_are_said_and_each_summary_names_its_own(records, tmp_path, capsys):
    def answer(body):
        return completion(f"A pump, {number(body)}.", model=f"llm-2026-0{1 + number(body) % 2}")

    status, rows, said = summarised(records, tmp_path, capsys, answer)
    assert status == 0 and "llm: 2 models answered under this name" in said
    assert "llm-2026-01 12 times, llm-2026-02 13 times" in said
    assert Counter(row.model for row in rows) == {"llm-2026-01": 12, "llm-2026-02": 13}


TASK = "PatentMapAbsToAbsRetrieval.sample"
RERANK = f"run -m org/llm --rerank-depth 3 -t {TASK} --candidates candidates --out results --no-store".split()


def write_candidates():
    command = f"candidates -t {TASK} -m bm25-dapfam --top 3 --out candidates --no-store -v 0"
    assert main(command.split()) == 0


@pytest.mark.slow
def test_the_evidence_names_every_model_and_the_days(tmp_path, capsys, monkeypatch):
    """A budget stops the first command; the server has moved to another snapshot when the second goes on."""
    monkeypatch.chdir(tmp_path)
    write_candidates()
    model = ["gpt-x-2026-01"]
    with chat_server(lambda body: completion("3", model=model[0])) as (url, server):
        run = [*RERANK, "--chat-endpoint", url, "--answers", "answers.sqlite", "--at-once", "1"]
        assert main([*run, "--budget-calls", "10"]) == 1
        model[0] = "gpt-x-2026-06"
        capsys.readouterr()
        assert main(run) == 0
        asked = len(server.bodies)
    said = " ".join("".join(capsys.readouterr()).split())
    assert "org/llm: 2 models answered under this name" in said and "gpt-x-2026-01 10 times" in said
    (path,) = (one for one in tmp_path.glob(f"results/**/{TASK}.json") if "llm" in str(one))
    ((scores,),) = json.loads(path.read_text())["scores"].values()
    effort = scores["evidence"]["effort"]
    (fixed,) = scores["evidence"]["model"]["behaviour"]
    graded = asked - len(fixed["grades"])
    assert effort["models"] == {"gpt-x-2026-01": 10, "gpt-x-2026-06": graded - 10} and effort["calls"] == graded
    assert len(effort["days"]) == 2 and all(re.fullmatch(r"\d{4}-\d\d-\d\d", day) for day in effort["days"])
    assert effort["unreadable"] == 0 and "unreadable_kinds" not in effort
    assert main(["report", "results", "--format", "csv", "--out", "tables", "-v", "0"]) == 0
    assert "not those that were measured" not in "".join(capsys.readouterr())


@pytest.mark.slow
def test_a_cut_grade_is_no_grade(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_candidates()
    with chat_server(lambda body: completion("3", "length")) as (url, _):
        capsys.readouterr()
        assert main([*RERANK, "--chat-endpoint", url, "--answers", "cut.sqlite"]) == 1
    said = " ".join("".join(capsys.readouterr()).split())
    assert re.search("6 of 6 answers of .* have no grade from 0 to 4", said) and "(6 cut off)" in said
    assert "--request '{\"max_tokens\": 1024}'" in said

    def answer(body):
        with_fault = server.under_way and len(server.bodies) in (20, 40)
        return completion("<think>3") if with_fault else completion("2")

    with chat_server(answer) as (url, server):
        assert main([*RERANK, "--chat-endpoint", url, "--answers", "few.sqlite", "--at-once", "1"]) == 0
        asked = len(server.bodies)
    (path,) = (one for one in tmp_path.glob(f"results/**/{TASK}.json") if "llm" in str(one))
    ((scores,),) = json.loads(path.read_text())["scores"].values()
    (fixed,), effort = scores["evidence"]["model"]["behaviour"], scores["evidence"]["effort"]
    graded = asked - len(fixed["grades"])
    assert effort["unreadable"] == 0 and effort["calls"] == graded, "asked once more, an unfinished thought was a grade"
