"""An encoder behind a loopback server: its vectors in order, retries, prompts, identity, and a stop that costs no text
twice.
"""

from __future__ import annotations

import json

import mteb
import numpy as np
import pytest
from chat_server import chat_server
from datasets import Dataset
from mteb.types import PromptType
from small_patents import Words, evaluate
from torch.utils.data import DataLoader

from patent_mteb.cli import main
from patent_mteb.endpoints.client import Endpoint, EndpointError
from patent_mteb.experiments.plan import plan
from patent_mteb.models.served import Served
from patent_mteb.store import stored

WHERE = {"task_metadata": mteb.get_task("STSBenchmark").metadata, "hf_split": "test", "hf_subset": "default"}
WORDS = Words(dims=32)


def embeddings(body, change=None):
    vectors = (WORDS.vector(text).tolist() for text in body["input"])
    rows = [{"index": number, "embedding": vector} for number, vector in enumerate(vectors)]
    document = {"data": rows[::-1]}  # the protocol does not promise an order
    return 200, {}, json.dumps(change(document) if change else document).encode()


def encode(model, texts, side=None):
    return model.encode(DataLoader(Dataset.from_dict({"text": texts}), batch_size=4), prompt_type=side, **WHERE)


def served(url, **more):
    return Served(Endpoint(url, pause=0.001, retries=2), "org/words", "1", **more)


@pytest.mark.slow
def test_scores_are_those_of_the_same_model_here():
    task = mteb.get_task("PatentMapAbsToAbsRetrieval.sample")
    with chat_server(embeddings) as (url, server):
        there = evaluate(task, served(url, texts_at_once=50))
    here = evaluate(task, Words(dims=32))
    numbers = {name: value for name, value in here.items() if isinstance(value, float)}
    assert {name: there[name] for name in numbers} == pytest.approx(numbers, rel=0, abs=0, nan_ok=True)
    assert 1 < server.most_under_way <= 4 or len(server.bodies) < 4


def test_vectors_stand_in_the_order_of_the_texts_with_their_prompt():
    texts = [f"text {number}" for number in range(11)]
    with chat_server(embeddings) as (url, server):
        model = served(url, texts_at_once=4, prompts={"query": "find: "})
        found = encode(model, texts, PromptType.query)
    np.testing.assert_allclose(found, [WORDS.vector(f"find: {text}") for text in texts], rtol=1e-6)
    assert sorted(len(body["input"]) for body in server.bodies) == [3, 4, 4]
    assert {body["model"] for body in server.bodies} == {"org/words"} and not len(encode(model, []))


def test_a_refusal_that_lasts_keeps_what_was_encoded_and_the_next_run_asks_for_the_rest(tmp_path):
    texts, asked = [f"text {number}" for number in range(24)], []

    def limited(body):
        if len(asked) >= 8:
            return 503, {}, b"busy"
        asked.extend(body["input"])
        return embeddings(body)

    with chat_server(limited) as (url, _), pytest.raises(EndpointError, match="503"):
        encode(stored(served(url, texts_at_once=4, at_once=1), tmp_path, chunk_texts=4), texts)
    assert len(asked) == 8
    refusals = iter([(429, {"Retry-After": "0"}, b"slow")])
    with chat_server(lambda body: next(refusals, None) or embeddings(body)) as (url, server):
        found = encode(stored(served(url, texts_at_once=4), tmp_path), texts)
    np.testing.assert_allclose(found, [WORDS.vector(text) for text in texts], rtol=1e-6)
    rest = {text for body in server.bodies for text in body["input"]}
    assert rest == set(texts) - set(asked)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: {"data": document["data"][1:]},
        lambda document: {"data": [*document["data"], {"index": 9, "embedding": [0.0] * 32}]},
        lambda document: {"data": [{**row, "embedding": "abc"} for row in document["data"]]},
        lambda document: {
            "data": [{**row, "embedding": row["embedding"][: 3 + row["index"]]} for row in document["data"]]
        },
        lambda document: {
            "data": [{**row, "embedding": [x > 0 for x in row["embedding"]]} for row in document["data"]]
        },
        lambda document: {"data": [{**row, "embedding": list(map(str, row["embedding"]))} for row in document["data"]]},
        lambda document: {"data": [{**row, "embedding": [None, 1.0]} for row in document["data"]]},
        lambda document: {"data": [{**row, "index": row["index"] + 0.5} for row in document["data"]]},
        lambda document: {"data": [{**row, "index": str(row["index"])} for row in document["data"]]},
        lambda document: {"error": "no"},
    ],
)
def test_an_answer_that_is_not_one_vector_a_text_is_refused(change):
    with (
        chat_server(lambda body: embeddings(body, change)) as (url, _),
        pytest.raises(EndpointError, match=r"org/words.*Remedy"),
    ):
        encode(served(url), ["a pump", "a valve"])


def test_identity_holds_model_settings_and_a_revision_or_else_the_address():
    one, other = (Endpoint(f"http://{host}/v1") for host in ("a", "b"))

    def identity(*arguments, **more):
        meta = Served(*arguments, **more).mteb_model_meta
        return meta.name, meta.revision, json.dumps(meta.experiment_kwargs)

    assert identity(one, "m", "1") == identity(other, "m", "1", at_once=9, texts_at_once=2)
    assert identity(one, "m") == identity(Endpoint("http://a/v1/"), "m", at_once=9)
    different = [
        identity(one, "m"),
        identity(other, "m"),
        identity(one, "n"),
        identity(one, "m", "2"),
    ]
    assert len({*different, identity(one, "m", prompts={"query": "q: "})}) == 5


def test_a_plan_states_the_tokens_of_a_server_and_their_price(tmp_path, monkeypatch, capsys):
    """The server counts words. 64 of the texts are asked for once; the rest is estimated by their characters."""

    def counted(body):
        return embeddings(
            body, lambda document: document | {"usage": {"prompt_tokens": sum(map(words, body["input"]))}}
        )

    def words(text):
        return len(text.split())

    task = mteb.get_task("PatentMapAbsToAbsRetrieval.sample")
    with chat_server(counted) as (url, server):
        found = plan(stored(served(url), tmp_path), [task], tmp_path / "results")
        asked = [text for body in server.bodies for text in body["input"]]
        other = [
            "run",
            "-m",
            "org/words",
            "--server",
            url,
            "-t",
            task.metadata.name,
            "--out",
            str(tmp_path / "results"),
        ]
        assert main([*other, "--store", str(tmp_path / "other"), "--dry-run", "--price-input", "0.5"]) == 0
    assert len(asked) == len(set(asked)) == 64
    task.load_data()
    every = {
        text
        for part in task.texts_to_encode(served("http://localhost:1/v1"))
        for texts in part.values()
        for text in texts
    }
    exact = sum(map(words, every))
    assert found.tokens == pytest.approx(exact, rel=0.05) and found.tokens == pytest.approx(
        sum(map(words, asked)) * sum(map(len, every)) / sum(map(len, asked)), abs=1
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert f"about {found.tokens:,} tokens" in shown and f"{found.tokens / 2e6:,.2f} at 0.5 a million" in shown


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": None},
        {"prompt_tokens": -1_000_000},
        {"prompt_tokens": 0},
        {"prompt_tokens": True},
        {"prompt_tokens": 12.5},
        {"prompt_tokens": "12"},
        {"prompt_tokens": 10**30},
        {"prompt_tokens": 10**9},
        [12],
    ],
)
def test_a_plan_does_not_believe_impossible_numbers_of_tokens(tmp_path, caplog, usage):
    task = mteb.get_task("PatentMapAbsToAbsRetrieval.sample")
    with chat_server(lambda body: embeddings(body, lambda document: document | {"usage": usage})) as (url, _):
        found = plan(stored(served(url), tmp_path), [task], tmp_path / "results")
    assert found.tokens is None and "gives no possible number of tokens" in caplog.text


def test_a_plan_does_not_estimate_tokens_that_are_counted_for_some_requests_only(tmp_path, caplog):
    counted = iter([True])
    task = mteb.get_task("PatentMapAbsToAbsRetrieval.sample")

    def answer(body):
        return embeddings(body, lambda found: found | {"usage": {"prompt_tokens": 9} if next(counted, False) else None})

    with chat_server(answer) as (url, _):
        found = plan(stored(served(url, texts_at_once=8), tmp_path), [task], tmp_path / "results")
    assert found.tokens is None and "gives no possible number of tokens" in caplog.text


@pytest.mark.parametrize("zero", [0, 2, None], ids=["first", "third", "all"])
def test_vectors_of_zeros_are_refused(tmp_path, zero):
    texts = [f"text {number}" for number in range(8)]

    def zeros(document):
        for row in document["data"]:
            if zero is None or row["index"] == zero:
                row["embedding"] = [0.0] * len(row["embedding"])
        return document

    with chat_server(lambda body: embeddings(body, zeros)) as (url, _):
        model = stored(served(url), tmp_path)
        with pytest.raises(EndpointError, match=r"answered vectors of zeros for \d of 8 texts by org/words. Remedy"):
            encode(model, texts)
    with chat_server(embeddings) as (url, server):
        encode(stored(served(url), tmp_path), texts)
    assert len(server.bodies) == 1  # nothing was stored


def test_a_vector_of_zeros_of_an_empty_text_is_accepted():
    def zeros(document):
        document["data"][0]["embedding"] = [0.0] * len(document["data"][0]["embedding"])
        return document

    with chat_server(lambda body: embeddings(body, zeros)) as (url, _):
        assert not encode(served(url), ["text", " "])[1].any()
