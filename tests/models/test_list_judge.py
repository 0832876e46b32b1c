"""A language model that ranks lists, against a loopback server that knows the right order, and naive versions."""

import random
import re
from contextlib import closing

import pytest
from chat_server import CORPUS, QUERIES, First, chat_server
from search_calls import run_of

from patent_mteb.endpoints.chat import Answers, Chat
from patent_mteb.endpoints.client import Endpoint
from patent_mteb.errors import ModelError
from patent_mteb.models.behaviour import behaviours, difference
from patent_mteb.models.judge import ListJudge, heap, numbers_in, sliding
from patent_mteb.search.rerank import Reranked

LARGE = {f"d{number}": f"rotor {number}" for number in range(60)}


def relevance(query, number):
    return (number * (37 if query == "a pump" else 23)) % 61


def shown(body):
    """The query of a question, and its documents by their numbers."""
    text = body["messages"][1]["content"]
    query = re.search(r"QUERY:\n(.*)\n", text)[1]
    return query, {int(n): int(document) for n, document in re.findall(r"DOCUMENT \[(\d+)\]:\nrotor (\d+)", text)}


def ordered(body):
    query, documents = shown(body)
    best = sorted(documents, key=lambda n: -relevance(query, documents[n]))
    return " > ".join(f"[{n}]" for n in best)


def chosen(body):
    return ordered(body).partition(" ")[0]


def judge(url, method, answers=None, meter=None, **more):
    return ListJudge(Chat(Endpoint(url, pause=0.001, retries=1), "org/model", answers, meter), method, **more)


def answered(ranking, reply):
    """The order that a ranking returns, and its questions, for replies of a function."""
    questions, answer = [], None
    while True:
        try:
            questions.append(ranking.send(answer))
        except StopIteration as done:
            return done.value, questions
        answer = reply(questions[-1])


def naive_windows(documents, window, best):
    """RankGPT's windows: from the end of the list to its beginning, half a window at a time."""
    documents = list(documents)
    end = len(documents)
    while True:
        start = max(end - window, 0)
        documents[start:end] = sorted(documents[start:end], key=best)
        if start == 0:
            return documents
        end -= window // 2


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 19, 20, 21, 60])
@pytest.mark.parametrize("window", [2, 4, 20])
def test_windows_are_those_of_a_naive_version(n, window):
    values = random.Random(n).sample(range(100), n)
    found, questions = answered(sliding(n, window), lambda group: sorted(group, key=lambda one: values[one]))
    assert found == naive_windows(range(n), window, lambda one: values[one])
    assert all(len(question) <= window for question in questions)
    if n > 1:
        assert questions[-1] and 0 in questions[0] + questions[-1], "the last window begins at the first document"
        assert found[0] == min(range(n), key=lambda one: values[one]), "the best document rises to the top"


@pytest.mark.parametrize("n", [0, 1, 2, 5, 10, 11, 60])
@pytest.mark.parametrize("size", [3, 4, 10])
def test_heap_sort_finds_the_ten_best_and_leaves_the_others_in_their_order(n, size):
    values = random.Random(100 * n + size).sample(range(100), n)
    found, questions = answered(heap(n, size), lambda group: sorted(group, key=lambda one: values[one]))
    best = sorted(range(n), key=lambda one: values[one])[:10]
    assert found == best + [one for one in range(n) if one not in best]
    assert all(2 <= len(question) <= size for question in questions)
    assert len(questions) < max(n, 1) * 8


def test_contradicting_answers_end_and_lose_no_document():
    dice = random.Random(0)
    for ranking in (sliding(30, 6), heap(30, 4)):
        found, _ = answered(ranking, lambda group: dice.sample(group, len(group)))
        assert sorted(found) == list(range(30))


@pytest.mark.parametrize(
    ("method", "answer", "window"), [("listwise", ordered, 20), ("listwise", ordered, 7), ("setwise", chosen, 4)]
)
def test_the_order_is_that_of_the_server(method, answer, window):
    with chat_server(answer) as (url, server):
        model = Reranked(First(), judge(url, method, window=window), k=50)
        run = run_of(model, LARGE, QUERIES, top_k=50)
    for query, text in QUERIES.items():
        numbers, best = list(range(50)), lambda number, text=text: -relevance(text, number)
        if method == "setwise":
            ten = sorted(numbers, key=best)[:10]
            wanted = ten + [number for number in numbers if number not in ten]
        else:
            wanted = naive_windows(numbers, window, best)
        assert [document for document, _ in run.ranking(query)] == [f"d{number}" for number in wanted]
    assert run.first_stage.k == 50 and run.effort["pairs"] == 100
    for name in ("calls", "input_tokens", "output_tokens", "seconds"):
        total = sum(effort[name] for effort in run.efforts.values())
        assert total == pytest.approx(run.effort[name], abs=1e-5) and total > 0
    assert [len(run.efforts[query]["trace"]) for query in QUERIES] == [
        sum(shown(body)[0] == text for body in server.bodies) for text in QUERIES.values()
    ]
    assert run.effort["calls"] == len(server.bodies) and run.effort["unreadable"] == run.effort["incomplete"] == 0
    assert max(len(shown(body)[1]) for body in server.bodies) == window


def test_documents_that_an_answer_leaves_out_keep_their_order_behind(caplog):
    """Window of 12 documents: repeated and unknown numbers are ignored, and such answers are counted."""
    with chat_server(lambda body: "[5] > [99] > [2] > [5] > [9] > [8] > [7] > [6]") as (url, _):
        run = run_of(Reranked(First(), judge(url, "listwise"), k=12), CORPUS, QUERIES, top_k=12)
    named = [4, 1, 8, 7, 6, 5]
    rest = [number for number in range(12) if number not in named]
    assert [document for document, _ in run.ranking("qa")] == [f"d{number}" for number in [*named, *rest]]
    assert (run.effort["incomplete"], run.effort["unreadable"]) == (2, 0)
    assert "chat/org-model-listwise: 2 answers are incomplete" in caplog.text and "unreadable" not in caplog.text


@pytest.mark.parametrize(("method", "last"), [("listwise", {8, 9, 10, 11}), ("setwise", {3, 10, 11})])
def test_an_answer_without_a_ranking_changes_nothing_is_counted_and_many_are_refused(method, last):
    """The first question of each query gets a bad answer: one nothing, the other one words."""
    good = chosen if method == "setwise" else ordered

    def answer(body):
        query, documents = shown(body)
        return good(body) if set(documents.values()) != last else "" if query == "a pump" else "All of them"

    wanted = "number of one document" if method == "setwise" else "order of the documents"
    with chat_server(answer) as (url, _):
        run = run_of(Reranked(First(), judge(url, method, window=4), k=12), CORPUS, QUERIES, top_k=12)
    assert run.effort["unreadable"] == 2 and run.effort["unreadable_kinds"] == {"empty": 1, f"no {wanted}": 1}
    for query, problem in (("qa", "empty"), ("qb", f"no {wanted}")):
        first, *others = run.efforts[query]["trace"]
        assert first == {"documents": first["documents"], "order": first["documents"], "problem": problem}
        assert {int(one[1:]) for one in first["documents"]} == last and not any(step["problem"] for step in others)
    with (
        chat_server(lambda body: "All of them, I think") as (url, _),
        pytest.raises(ModelError, match=f"6 of 6 answers of org/model have no {wanted}; the last is 'All of them"),
    ):
        run_of(Reranked(First(), judge(url, method, window=3), k=12), CORPUS, QUERIES)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (" > ".join(f"[{number}]" for number in range(11, -1, -1)), "numbers from 0"),
        ("[3]", "fewer than half of the documents"),
        ("[1] > [1] > [1]", "fewer than half of the documents"),
        ("According to the patent of 1998, [2] > [1]", "fewer than half of the documents"),
    ],
)
def test_an_answer_that_counts_from_zero_or_leaves_most_documents_out_is_not_a_ranking(answer, problem):
    with chat_server(lambda body: answer) as (url, _):
        run = run_of(Reranked(First(), judge(url, "listwise"), k=12), CORPUS, QUERIES, top_k=12)
        assert [document for document, _ in run.ranking("qa")] == [f"d{number}" for number in range(12)]
        assert run.effort["unreadable_kinds"] == {problem: 2} and not run.effort["incomplete"]
        with pytest.raises(ModelError, match="answers of org/model have no order of the documents"):
            run_of(Reranked(First(), judge(url, "listwise", window=2 * 6), k=60), LARGE, QUERIES)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[2] > [1] > [3]", [2, 1, 3]),
        ("I compared [1] and [2]. Document [1] is worse: [2] > [1]", [2, 1]),
        ("First [1] > [2] > [3], but on reflection [3] > [2] > [1].", [3, 2, 1]),
        ("2 > 1, 3", [2, 1, 3]),
        ("Ranking: 2, 1", [2, 1]),
        ("Document 3", [3]),
        ("The best is [ 4 ].", [4]),
        ("**2**", [2]),
        *(
            (other, [])
            for other in ("", "3.5", "I cannot rank 3 documents", "I cannot rank 3.", "Document A", "1 or 2")
        ),
    ],
)
def test_numbers_of_an_answer(text, wanted):
    assert numbers_in(text) == wanted


def test_two_choices_are_not_a_choice():
    with chat_server(lambda body: "[1] and [2]") as (url, _):
        run = run_of(Reranked(First(), judge(url, "setwise"), k=3), CORPUS, {"qa": "a pump"}, top_k=3)
    assert run.effort["unreadable_kinds"] == {"no number of one document": run.effort["calls"]}
    assert [document for document, _ in run.ranking("qa")] == ["d0", "d1", "d2"]


def test_hidden_documents_are_not_shown_and_keep_their_places_where_nothing_is_hidden():
    from dataclasses import replace

    from search_calls import context_of, corpus_of

    with chat_server(ordered) as (url, server):
        model = Reranked(First(), judge(url, "listwise"), k=6)
        context = replace(context_of(), hidden={"qa": {"d0", "d3"}})
        model.ensure_indexed(corpus_of(CORPUS), context)
        seen, every = model.rank_both(corpus_of({"qa": "a pump"}), 6, context)
    visible = sorted([1, 2, 4, 5, 6, 7], key=lambda number: -relevance("a pump", number))
    assert [document for document, _ in seen.ranking("qa")] == [f"d{number}" for number in visible]
    (body,) = server.bodies
    assert set(shown(body)[1].values()) == set(visible)
    rest = iter([number for number in visible if number < 6])
    places = [0, next(rest), next(rest), 3, next(rest), next(rest)]
    assert [document for document, _ in every.ranking("qa")] == [f"d{number}" for number in places]
    assert every.first_stage.k == 6 and seen.first_stage.run.to_dict().keys() == {"qa"}


def test_an_answer_that_two_queries_share_counts_for_the_first(tmp_path):
    with chat_server(ordered) as (url, server), closing(Answers(tmp_path / "answers.sqlite")) as answers:
        same = {"qa": "a pump", "qb": "a pump"}
        run = run_of(Reranked(First(), judge(url, "listwise", answers, window=6), k=12), CORPUS, same, top_k=12)
    assert run.effort["calls"] == len(server.bodies) == 3 and run.to_dict()["qa"] == run.to_dict()["qb"]
    assert [run.efforts[query]["calls"] for query in same] == [3, 0]
    assert [len(run.efforts[query]["trace"]) for query in same] == [3, 3]


def test_every_setting_is_its_identity_and_long_texts_end_with_a_word():
    with chat_server(lambda body: "[1] > [2]") as (url, server):
        texts = {"d0": "rotor blade of steel", "d1": "x" * 30}
        run_of(Reranked(First(), judge(url, "listwise", characters=12), k=2), texts, {"q": "abc " * 3000})
        text = server.bodies[0]["messages"][1]["content"]
    assert "[1]:\nrotor blade\n\n" in text and text.endswith("[2]:\n" + "x" * 12)
    assert len(re.search("QUERY:\n(.*)\n\nDOC", text)[1]) == 7999
    models = [
        judge("http://host/v1", "listwise"),
        judge("http://host/v1", "setwise"),
        judge("http://host/v1", "listwise", window=10),
        judge("http://host/v1", "listwise", characters=100),
        judge("http://other/v1", "listwise"),
    ]
    assert len({model.mteb_model_meta.revision for model in models}) == len(models)


def test_what_it_answers_to_fixed_documents_is_its_behaviour():
    with chat_server(lambda body: "[2] > [1] > [3] > [4]") as (url, server):
        first, again = (behaviours(Reranked(First(), judge(url, "listwise")))[-1] for _ in range(2))
        assert len(server.bodies) == 2 and first == {"grades": [1, 0, 2, 3], "models": ["org/model-2026"]}
        assert difference(again, first) == ""
    with chat_server(lambda body: "[4] > [3] > [2] > [1]") as (url, _):
        assert "graded fixed pairs" in difference(behaviours(judge(url, "listwise"))[0], first)


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(ModelError, match="a setwise question compares 3 documents or more, not 2"):
        judge("http://host/v1", "setwise", window=2)
    with pytest.raises(ModelError, match="there is no method 'pairwise'"):
        judge("http://host/v1", "pairwise")
    with pytest.raises(ModelError, match="ranks candidates only"):
        run_of(judge("http://host/v1", "listwise"), CORPUS, QUERIES)
