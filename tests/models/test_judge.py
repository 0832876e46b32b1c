"""A language model as a reranker, against a loopback server whose grades are known."""

import json
import re
import time
from collections import Counter
from contextlib import closing

import pytest
from chat_server import CORPUS, KEY, QUERIES, First, chat_server
from search_calls import ranking as ranked
from search_calls import run_of

from patent_mteb.endpoints.chat import Answers, Budget, BudgetError, Chat, Meter, Prices
from patent_mteb.endpoints.client import Endpoint
from patent_mteb.errors import ModelError
from patent_mteb.models.behaviour import behaviours, difference
from patent_mteb.models.judge import Judge, grade_in
from patent_mteb.search.rerank import Reranked


def said(body):
    """What a request is about: (query, number of the document)."""
    query, document = re.search(r"QUERY:\n(.*)\n\nDOCUMENT:\nrotor (\d+)", body["messages"][1]["content"]).groups()
    return query, int(document)


def grade(query, number):
    return (number * (3 if query == "a pump" else 5)) % 5


def judge(url, answers=None, **more):
    return Judge(Chat(Endpoint(url, pause=0.001, retries=1), "org/model", answers, more.pop("meter", None)), **more)


def test_grades_order_the_documents_and_the_first_stage_those_of_one_grade():
    with chat_server(lambda body: f"Grade: {grade(*said(body))}") as (url, server):
        model = Reranked(First(), judge(url), k=10)
        run = run_of(model, CORPUS, QUERIES, top_k=10)
    for query, text in QUERIES.items():
        wanted = sorted(range(10), key=lambda number: (-grade(text, number), number))
        assert [document for document, _ in run.ranking(query)] == [f"d{number}" for number in wanted]
    assert len(server.bodies) == 20
    assert model.mteb_model_meta.name == "reranked/10-first+org-model"
    effort = run.effort
    assert (effort["pairs"], effort["calls"], effort["unreadable"], effort["output_tokens"]) == (20, 20, 0, 40)
    assert effort["seconds"] > 0 and "cost" not in effort


def test_the_best_grade_of_the_chunks_of_a_document_counts():
    corpus = {"d0": "rotor 1 rotor 7", "d1": "rotor 2 rotor 3", "d2": "rotor 5"}
    with chat_server(lambda body: f"Grade: {grade(*said(body))}") as (url, server):
        run = run_of(Reranked(First(), judge(url), k=3, chunk_tokens=2), corpus, {"qa": "a pump"}, top_k=3)
    assert [document for document, _ in run.ranking("qa")] == ["d1", "d0", "d2"]  # grades 1 and 4, 3 and 1, 0
    assert len(server.bodies) == run.effort["pairs"] == run.effort["calls"] == 5


def test_a_spent_budget_a_second_run_and_a_third(tmp_path, monkeypatch):
    """Nothing is asked twice, the effort of a result is that of all its answers, and the key is in no file."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with (
        chat_server(lambda body: str(grade(*said(body)))) as (url, server),
        closing(Answers(tmp_path / "answers.sqlite")) as answers,
    ):
        with pytest.raises(BudgetError, match="budget of 7 calls is spent"):
            run_of(Reranked(First(), judge(url, answers, meter=Meter(Budget(calls=7))), k=10), CORPUS, QUERIES)
        assert len(server.bodies) == 7
        runs = [
            run_of(Reranked(First(), judge(url, answers, meter=Meter(prices=Prices(1, 1))), k=10), CORPUS, QUERIES)
            for _ in range(2)
        ]
    assert len(server.bodies) == 20 and max(Counter(map(said, server.bodies)).values()) == 1
    assert server.keys == [f"Bearer {KEY}"] * 20
    assert runs[0].to_dict() == runs[1].to_dict() and runs[0].effort == runs[1].effort
    effort = runs[0].effort
    assert effort["calls"] == 20 and effort["cost"] == pytest.approx(
        (effort["input_tokens"] + effort["output_tokens"]) / 1e6, abs=1e-6
    )
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_hidden_documents_are_not_asked_about_twice():
    with chat_server(lambda body: str(grade(*said(body)))) as (url, server):
        run = run_of(Reranked(First(), judge(url), k=5), CORPUS, {"qa": "a pump"}, top_k=5, hidden={"qa": {"d0", "d3"}})
    assert {document for document, _ in run.ranking("qa")} == {"d1", "d2", "d4", "d5", "d6"}
    assert max(Counter(map(said, server.bodies)).values()) == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("4", 4), ("0.", 0), ("**3**", 3), ('{"grade": 2}', 2), ("Relevance: 1/4", 1), ("<think>4? no, 2</think>\n2", 2)]
    + [
        (other, None)
        for other in ("", "5", "-", "3.5", "12", "2 or 3", "I cannot grade 3 documents", "Grade 3 because it is close")
    ],
)
def test_an_answer_is_a_grade_or_none(text, wanted):
    assert grade_in(text) == wanted


def test_answers_without_a_grade_are_counted_and_too_many_are_refused():
    with chat_server(lambda body: "no idea" if said(body)[1] == 4 else "3") as (url, _):
        run = run_of(Reranked(First(), judge(url), k=10), CORPUS, QUERIES, top_k=10)
    assert run.effort["unreadable"] == 2 and run.ranking("qa")[-1][0] == "d4"
    with (
        chat_server(lambda body: "As an assistant I like rotors") as (url, _),
        pytest.raises(
            ModelError, match=r"6 of 6 answers of .* have no grade from 0 to 4; the last is 'As an assistant"
        ),
    ):
        run_of(Reranked(First(), judge(url), k=10), CORPUS, QUERIES)


def test_a_refused_ranking_asks_no_more_and_leaves_nothing_to_the_next():
    """Its 8 requests under way are finished; its counts do not enter the next ranking's effort or share of
    unreadable answers.
    """
    talking = [True]
    corpus = {f"d{number}": f"rotor {number}" for number in range(60)}

    def answer(body):
        if talking[0] and said(body)[1] > 5:
            time.sleep(0.5)
        return "As an assistant I like rotors" if talking[0] else str(grade(*said(body)))

    with chat_server(answer) as (url, server):
        model = Reranked(First(), judge(url), k=60)
        with pytest.raises(ModelError, match="6 of 6 answers of"):
            run_of(model, corpus, {"qa": "a pump"}, top_k=60)
        talking[0] = False
        run = run_of(model, CORPUS, {"qb": "a valve"}, top_k=12)
    assert len(server.bodies) <= 6 + 8 + 12, "what waited behind the requests under way is not asked"
    assert (run.effort["pairs"], run.effort["calls"], run.effort["unreadable"]) == (12, 12, 0)


def test_its_texts_and_instruction_are_its_identity():
    with chat_server(lambda body: "3") as (url, server):
        ranked(Reranked(First(), judge(url, characters=3), k=1), CORPUS, {"q": "abcdef"})
        body = server.bodies[0]
    assert "QUERY:\nabc\n\nDOCUMENT:\nrot" in body["messages"][1]["content"] and body["temperature"] == 0
    chats = [
        judge("http://host/v1"),
        judge("http://other/v1"),
        judge("http://host/v1", characters=9),
        Judge(Chat(Endpoint("http://host/v1"), "org/model", settings={"max_tokens": 4})),
        Judge(Chat(Endpoint("http://host/v1"), "model")),
    ]
    assert len({(one.mteb_model_meta.name, one.mteb_model_meta.revision) for one in chats}) == len(chats)


@pytest.mark.parametrize(
    ("query", "characters", "read"),
    [
        ("a rotor blade", 13, "a rotor blade"),
        ("a rotor blade", 12, "a rotor"),
        ("a rotor blade", 6, "a"),
        ("rotorblade", 5, "rotor"),  # one word, or a script without blanks
    ],
)
def test_long_texts_are_cut_at_the_end_of_a_word(query, characters, read):
    with chat_server(lambda body: "3") as (url, server):
        ranked(Reranked(First(), judge(url, characters=characters), k=1), CORPUS, {"q": query})
        assert f"QUERY:\n{read}\n\nDOCUMENT:" in server.bodies[0]["messages"][1]["content"]


def test_what_a_name_answers_now_is_compared_with_what_it_answered_then():
    names = iter(["llm-2026-01"] * 8 + ["llm-2026-06"] * 4)

    def answer(body):
        text = "3" if len(body["messages"][1]["content"]) % 2 else "1"
        return (
            200,
            {},
            json.dumps(
                {"model": next(names), "choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
            ).encode(),
        )

    with chat_server(answer) as (url, server):
        first, again, moved = (behaviours(judge(url))[0] for _ in range(3))
    assert len(server.bodies) == 12 and first["models"] == ["llm-2026-01"] and len(first["grades"]) == 4
    assert difference(again, first) == ""
    assert difference(moved, first) == "llm-2026-01 answered then, llm-2026-06 answers now"
    assert "graded fixed pairs" in difference({**first, "grades": [0, 4, 0, 4]}, first)


def test_a_spent_budget_leaves_its_behaviour_unknown():
    with chat_server(lambda body: "3") as (url, _):
        model = judge(url, meter=Meter(Budget(calls=2)))
        assert behaviours(model) == [None]
