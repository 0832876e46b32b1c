"""A server's refusals: tried again where they may pass, else one clear sentence, and never with the key."""

from __future__ import annotations

import socket
import threading

import pytest
from chat_server import KEY, chat_server

from patent_mteb.endpoints.client import Endpoint, EndpointError

BODY = {"model": "m", "messages": []}


def endpoint(url: str, **more) -> Endpoint:
    return Endpoint(url, pause=0.001, **more)


def test_what_may_pass_is_tried_again_and_the_key_goes_with_each_request(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    refusals = iter([(429, {"Retry-After": "0"}, b"slow"), (503, {}, b""), (500, {}, b"x")])
    with chat_server(lambda body: next(refusals, "done")) as (url, server):
        assert endpoint(url).post_json("/chat/completions", BODY)["choices"][0]["message"]["content"] == "done"
    assert server.bodies == [BODY] * 4
    assert server.keys == [f"Bearer {KEY}"] * 4


def test_other_variables_hold_other_keys_and_none_is_sent_without(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MINE", "other")
    with chat_server(lambda body: "done") as (url, server):
        endpoint(url, key_variable="MINE").post_json("/chat/completions", BODY)
        endpoint(url, key_variable="NOT_SET").post_json("/chat/completions", BODY)
    assert server.keys == ["Bearer other", None]


@pytest.mark.parametrize(
    ("answer", "asked", "words"),
    [
        ((401, {}, f"no such key {KEY}".encode()), 1, r"answered 401: no such key \*\*\*.*OPENAI_API_KEY"),
        ((404, {}, b"?"), 1, "check address and name of the model"),
        ((307, {"Location": "http://127.0.0.1:1/steal"}, b""), 1, "answered 307.*the address that it redirects to"),
        ((429, {"Retry-After": "soon"}, b"slow"), 3, "answered 429: slow.*what was answered is kept"),
        ((200, {}, b"<html>welcome"), 1, "answered no JSON object: '<html>welcome'.*usually ends with /v1"),
        ((200, {}, b"[1]"), 1, "answered no JSON object"),
    ],
)
def test_a_refusal_is_one_sentence_without_the_key(answer, asked, words, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with chat_server(lambda body: answer) as (url, server), pytest.raises(EndpointError, match=words) as error:
        endpoint(url, retries=2).post_json("/chat/completions", BODY)
    assert len(server.bodies) == asked
    assert KEY not in str(error.value)


@pytest.mark.parametrize("sign", ["\n", "\u2026"])
def test_a_key_that_no_request_can_hold_is_refused_and_not_shown(monkeypatch, sign):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}{sign}x")
    with (
        chat_server(lambda body: "done") as (url, server),
        pytest.raises(EndpointError, match=r"the key in OPENAI_API_KEY has.*Remedy") as error,
    ):
        endpoint(url).post_json("/chat/completions", BODY)
    assert server.bodies == [] and KEY not in str(error.value)


def test_a_refusal_that_breaks_off_is_a_refusal_still():
    """The server promises more than it sends, and is silent then."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"

        def refuse():
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 999\r\n\r\n")
                done.wait(10)

        done = threading.Event()
        thread = threading.Thread(target=refuse)
        thread.start()
        with pytest.raises(EndpointError, match="answered 400: "):
            endpoint(url, timeout=0.3).post_json("/x", BODY)
        done.set()
        thread.join()


def test_no_server():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(EndpointError, match="cannot be reached"):
        endpoint(f"http://127.0.0.1:{port}/v1", retries=1).post_json("/x", BODY)


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host/v1", "http://", "https://me:secret@host/v1", "https://host/v1?key=secret", "http://[::1/v1"]
)
def test_an_address_is_checked_and_holds_no_secret(url):
    with pytest.raises(EndpointError) as error:
        Endpoint(url)
    assert "secret@" not in str(error.value) and "key=secret" not in str(error.value)
