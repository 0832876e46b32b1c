"""Questions are asked once, in order, several at a time, and never beyond the budget."""

from __future__ import annotations

import json
import threading
from contextlib import closing

import pytest
from chat_server import KEY, chat_server

from patent_mteb.endpoints.chat import (
    Answers,
    Budget,
    BudgetError,
    Chat,
    Meter,
    Prices,
    Usage,
    models_and_days,
    usage_of,
)
from patent_mteb.endpoints.client import Endpoint, EndpointError
from patent_mteb.errors import DataError

QUESTIONS = [("Say it again.", f"text {number}") for number in range(20)]


def echo(body):
    return body["messages"][1]["content"].upper()


def chat(url, answers=None, **more):
    return Chat(Endpoint(url, pause=0.001, retries=1), "m", answers, **more)


def test_answers_come_in_order_from_several_requests_at_once():
    together = threading.Barrier(4)

    def answer(body):
        together.wait(timeout=10)
        return echo(body)

    with chat_server(answer) as (url, server):
        found = list(chat(url, at_once=4).ask_all(QUESTIONS))
    assert [one.text for one in found] == [text.upper() for _, text in QUESTIONS]
    assert server.most_under_way == 4
    assert {one.model for one in found} == {"m-2026"} and all(one.usage.output_tokens == 2 for one in found)
    assert all(body["temperature"] == 0 for body in server.bodies)


def test_only_equal_messages_wait_for_each_other(monkeypatch, tmp_path):
    """Even where digests are much alike."""
    monkeypatch.setattr(
        "patent_mteb.endpoints.chat.digest", lambda asked, length: f"{asked[2]:0>{length}}".replace(" ", "0")
    )
    together = threading.Barrier(2)

    def answer(body):
        together.wait(timeout=10)
        return echo(body)

    with chat_server(answer) as (url, server), closing(Answers(tmp_path / "answers.sqlite")) as answers:
        found = list(chat(url, answers, at_once=4).ask_all([question for question in QUESTIONS[:2] for _ in range(2)]))
    assert [one.text for one in found] == ["TEXT 0", "TEXT 0", "TEXT 1", "TEXT 1"]
    assert [one.cached for one in found].count(False) == len(server.bodies) == 2


def test_a_budget_stops_cleanly_and_a_second_run_asks_only_the_rest(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with chat_server(echo) as (url, server), closing(Answers(tmp_path / "answers.sqlite")) as answers:
        with pytest.raises(
            BudgetError,
            match=r"budget of 7 calls is spent \(calls 7, tokens \d+\).* cached answers are not requested again",
        ):
            list(chat(url, answers, meter=Meter(Budget(calls=7))).ask_all(QUESTIONS))
        assert len(server.bodies) == len(answers) == 7
        found = list(chat(url, answers).ask_all(QUESTIONS * 2))
        assert sorted(body["messages"][1]["content"] for body in server.bodies) == sorted(
            text for _, text in QUESTIONS
        ), "each once"
        assert [one.text for one in found] == [text.upper() for _, text in QUESTIONS] * 2
        again = chat(url, answers, meter=Meter(Budget(calls=0)))
        assert all(one.cached for one in again.ask_all(QUESTIONS))
        for other in (chat(url, answers, settings={"max_tokens": 5}), Chat(Endpoint(url), "other", answers)):
            assert not other.ask(*QUESTIONS[0]).cached, "another model and other settings send again"
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("budget", "asked"),
    [(Budget(tokens=27), 3), (Budget(cost=0.00003), 2), (Budget(calls=100, tokens=1), 1), (Budget(), 20)],
)
def test_budgets_in_tokens_and_money(budget, asked):
    """Each question reads 11 tokens and writes 2: at 1 and 5 a million that is 21 millionths."""
    with chat_server(echo) as (url, server):
        asking = chat(url, meter=Meter(budget, Prices(1, 5)), at_once=1)
        if asked < len(QUESTIONS):
            with pytest.raises(BudgetError):
                list(asking.ask_all(QUESTIONS))
        else:
            list(asking.ask_all(QUESTIONS))
    assert len(server.bodies) == asked
    spent = asking.meter.spent
    assert (spent.calls, spent.input_tokens, spent.output_tokens) == (asked, 11 * asked, 2 * asked)
    assert spent.cost(Prices(1, 5)) == pytest.approx(21e-6 * asked)


def test_an_error_ends_it_and_keeps_what_was_answered(tmp_path):
    def answer(body):
        return (400, {}, b"too long") if body["messages"][1]["content"] == "text 5" else echo(body)

    with chat_server(answer) as (url, server), closing(Answers(tmp_path / "answers.sqlite")) as answers:
        with pytest.raises(EndpointError, match="answered 400: too long"):
            list(chat(url, answers, at_once=1).ask_all(QUESTIONS))
        assert len(answers) >= 5 and len(server.bodies) <= 8


@pytest.mark.parametrize(
    "raw", [b"{}", b'{"choices": []}', b'{"choices": [{"message": {"content": null}}]}', b'{"choices": 3}']
)
def test_what_is_no_completion_is_named_and_not_kept(raw, tmp_path):
    with chat_server(lambda body: (200, {}, raw)) as (url, _), closing(Answers(tmp_path / "answers.sqlite")) as answers:
        with pytest.raises(EndpointError, match=r"answered without a completion: \{"):
            chat(url, answers).ask("a", "b")
        assert len(answers) == 0


def test_settings_that_cannot_be(tmp_path):
    with pytest.raises(EndpointError, match="cannot hold messages, stream"):
        chat("http://localhost/v1", settings={"stream": True, "messages": []})
    with pytest.raises(EndpointError, match="needs prices"):
        Meter(Budget(cost=1.0))
    with pytest.raises(EndpointError, match="does not count tokens"):
        Meter(Budget(tokens=10)).charged(lambda: {"choices": []})
    (tmp_path / "no.sqlite").write_bytes(b"something else, and longer than a header of SQLite" * 100)
    with pytest.raises(DataError, match="not a file of cached answers"):
        Answers(tmp_path / "no.sqlite")


def test_a_damaged_file_and_a_full_disk_are_said(tmp_path):
    path = tmp_path / "answers.sqlite"
    with closing(Answers(path)) as answers:
        for number in range(30):
            answers.put(f"{number:03}", {"text": "x" * 500})
        answers._base.execute("PRAGMA max_page_count = 1")  # no further page, as on a full disk
        with pytest.raises(
            DataError, match=r"cannot be read or written \(database or disk is full\).*free space of the disk"
        ):
            answers.put("more", {"text": "x" * 5000})
        assert answers.get("007") == {"text": "x" * 500}
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))  # all but the page that says what the file is
    with closing(Answers(path)) as answers, pytest.raises(DataError, match="cannot be read or written"):
        answers.get("007")


def completion(content, finish="stop", **message):
    """A raw answer of the server."""
    choices = [{"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}]
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    return 200, {}, json.dumps({"model": "m-1", "choices": choices, "usage": usage}).encode()


@pytest.mark.parametrize(
    ("answers", "asked", "text", "fault"),
    [
        ([completion("A pu", "length"), "never"], 1, "A pu", "cut off"),
        ([completion("", "content_filter"), "A pump."], 2, "A pump.", ""),
        (["I'm sorry, but I can't help with that.", "A pump."], 2, "A pump.", ""),
        (["<think>Okay, the user", "<think>x</think>A pump."], 2, "A pump.", ""),
        (["I'm sorry.", "I'm sorry.", "never"], 2, "I'm sorry.", "refused"),
        (["<think>Okay", "<think>Okay", "never"], 2, "", "thinking aloud without end"),
        ([completion(None, "length")], 1, "", "cut off"),
        ([completion(None, None, refusal="No."), completion(None, None, refusal="No.")], 2, "", "refused"),
        ([completion("3\ud800")], 1, "3\ufffd", ""),
    ],
)
def test_an_answer_with_a_fault_is_asked_for_once_more_and_kept_with_its_fault(tmp_path, answers, asked, text, fault):
    given = iter(answers)
    with chat_server(lambda body: next(given)) as (url, server), closing(Answers(tmp_path / "answers.sqlite")) as kept:
        meter = Meter()
        found = chat(url, kept, meter=meter).ask("a", "b")
        again = chat(url, kept).ask("a", "b")
        assert len(server.bodies) == asked == found.usage.calls == meter.spent.calls
    assert (found.text, found.fault, found.cached) == (text, fault, False)
    assert (again.text, again.fault, again.usage, again.cached) == (text, fault, found.usage, True)
    assert found.usage.input_tokens == meter.spent.input_tokens


def test_an_answer_that_was_kept_without_its_end_is_asked_for_again(tmp_path):
    with chat_server(echo) as (url, server), closing(Answers(tmp_path / "answers.sqlite")) as answers:
        asking = chat(url, answers)
        asking.ask("a", "b")
        key = asking.ask("a", "b").key
        answers.put(key, {name: value for name, value in answers.get(key).items() if name != "finish"})
        assert not asking.ask("a", "b").cached and asking.ask("a", "b").cached
        assert len(server.bodies) == 2


IMPOSSIBLE = [(-1_000_000, 1), (True, True), (5, -1), (5, True), (5, 1.5), ("5", 1), (10**30, 1), (None, 1)]


@pytest.mark.parametrize("counts", IMPOSSIBLE)
def test_numbers_of_tokens_that_cannot_be_are_not_believed(counts):
    assert usage_of({"usage": dict(zip(("prompt_tokens", "completion_tokens"), counts, strict=True))}) is None
    with pytest.raises(EndpointError, match="does not count tokens"):
        answer = {"usage": {"prompt_tokens": counts[0], "completion_tokens": counts[1]}}
        Meter(Budget(tokens=10)).charged(lambda: answer)


def test_numbers_of_tokens():
    assert usage_of({"usage": {"prompt_tokens": 0}}) == Usage(1, 0, 0)
    assert usage_of({"usage": {"prompt_tokens": 7, "completion_tokens": None}}) == Usage(1, 7, 0)


def test_several_models_behind_one_name_are_a_warning(caplog):
    days = [("m-1", "2026-01-02"), ("m-2", "2026-06-01"), ("m-1", "2026-01-01")]
    assert models_and_days("m", days[::2]) == {"models": {"m-1": 2}, "days": ["2026-01-01", "2026-01-02"]}
    assert not caplog.text
    assert models_and_days("m", days) == {"models": {"m-1": 2, "m-2": 1}, "days": ["2026-01-01", "2026-06-01"]}
    assert "m: 2 models answered under this name, from 2026-01-01 to 2026-06-01: m-1 2 times, m-2 1" in caplog.text
    assert models_and_days("m", []) == {}
