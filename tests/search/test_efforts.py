"""Side files of runs: what is written is read, and a line that is not valid is named."""

import json

import pytest
from search_calls import context_of, corpus_of

from patent_mteb.errors import DataError
from patent_mteb.search.stored import StoredRun
from patent_mteb.search.trec import read_efforts, side_file, total_effort, write_efforts

LINES = [
    {"query": "q1", "calls": 3, "seconds": 1.5, "cost": 0.25, "trace": [{"tool": "search"}, "read d1"]},
    {"query": "q2", "calls": 0, "seconds": 0, "cost": 0},
]


def lines_of(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "agent.v2.run"
    path.write_text("q1 Q0 d1 1 2.0 a\nq1 Q0 d2 2 1.0 a\nq2 Q0 d2 1 1.0 a\n")
    return path


def test_what_is_written_is_read(tmp_path, run):
    path = side_file(run)
    assert path == tmp_path / "agent.v2.effort.jsonl"
    efforts = {line["query"]: {name: value for name, value in line.items() if name != "query"} for line in LINES}
    write_efforts(path, efforts)
    assert read_efforts(path) == efforts
    assert total_effort(efforts) == {"calls": 3, "seconds": 1.5, "cost": 0.25}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": None}, "row 2: 'query' is not the id of a query"),
        ({"query": "q1"}, "row 2: query 'q1' is there twice"),
        ({"calls": 1.5}, r"row 2: 'calls' is 1.5, not a whole number of 0 or above"),
        ({"calls": True}, "row 2: 'calls' is True, not a whole number"),
        ({"cost": -1}, "row 2: 'cost' is -1, not a number of 0 or above"),
        ({"seconds": "4"}, "row 2: 'seconds' is '4', not a number"),
        ({"seconds": float("nan")}, "row 2: 'seconds' is nan|row 2: .*JSON"),
        ({"second": 4}, "row 2: there is no amount 'second'.*seconds"),
        ({"trace": "searched"}, "row 2: 'trace' is not a list of steps"),
        ({"output_tokens": 4}, "row 2: 'output_tokens' is in some lines only"),
    ],
)
def test_a_line_that_is_not_valid_is_named(tmp_path, change, message):
    path = lines_of(tmp_path / "a.effort.jsonl", [LINES[0], {**LINES[1], **change}])
    with pytest.raises(DataError, match=message):
        read_efforts(path)


def test_a_line_without_an_amount_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"row 1: the line has no amount. Remedy: write query, trace and some of calls"):
        read_efforts(lines_of(tmp_path / "a.effort.jsonl", [{"query": "q1"}]))


def ranked(system, queries):
    system.ensure_indexed(corpus_of({"d1": "a", "d2": "b"}), context_of())
    return system.rank(corpus_of(dict.fromkeys(queries, "text")), 10, context_of())


def test_a_stored_run_has_the_efforts_of_its_side_file(run, caplog):
    lines_of(side_file(run), LINES)
    found = ranked(StoredRun(run), ["q1", "q2"])
    assert found.effort == {"calls": 3, "seconds": 1.5, "cost": 0.25}
    assert found.efforts["q1"]["trace"] == LINES[0]["trace"]
    one = ranked(StoredRun(run), ["q2"])
    assert one.effort == {"calls": 0, "seconds": 0, "cost": 0} and "1 lines are of other queries" in caplog.text
    with pytest.raises(DataError, match=r"it states calls, seconds, cost, and so does the command"):
        StoredRun(run, effort={"seconds": 3.0})
    lines_of(side_file(run), LINES[:1])
    with pytest.raises(DataError, match="1 of 2 queries of the task have no line, the first is 'q2'"):
        ranked(StoredRun(run), ["q1", "q2"])
    side_file(run).unlink()
    assert not ranked(StoredRun(run), ["q1", "q2"]).efforts
