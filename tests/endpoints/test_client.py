"""A server's refusals: tried again where they may pass, else one clear sentence, and never with the key."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
import time

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


@pytest.mark.parametrize(
    ("codes", "asked"), [((408, 409, 425, 429, 500, 502, 503, 504, 529), 2), ((400, 405, 410, 413, 422, 501, 505), 1)]
)
def test_only_errors_that_may_pass_are_tried_again(codes, asked):
    """RFC 9110 and 6585: timeouts, conflicts, too early, too many requests, and failures of the server or a gateway;
    529 is "overloaded" at several vendors.
    """
    for code in codes:
        with chat_server(lambda body, code=code: (code, {}, b"")) as (url, server), pytest.raises(EndpointError):
            endpoint(url, retries=1).post_json("/x", BODY)
        assert len(server.bodies) == asked, code


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
        ((404, {}, b"?"), 1, "check the address and the name of the model"),
        ((307, {"Location": "http://127.0.0.1:1/steal"}, b""), 1, "answered 307.*the address that it redirects to"),
        ((429, {"Retry-After": "soon"}, b"slow"), 3, "answered 429: slow.*earlier answers are cached"),
        ((200, {}, b"<html>welcome"), 1, "is not a JSON object: '<html>welcome'.*usually ends with /v1"),
        ((200, {}, b"[1]"), 1, "is not a JSON object"),
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
    "url",
    [
        "localhost:8000",
        "ftp://host/v1",
        "http://",
        "https://me:secret@host/v1",
        "https://host/v1?key=secret",
        "http://[::1/v1",
    ],
)
def test_an_address_is_checked_and_holds_no_secret(url):
    with pytest.raises(EndpointError) as error:
        Endpoint(url)
    assert "secret@" not in str(error.value) and "key=secret" not in str(error.value)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0),
        ("7", 7),
        ("-5", 0),
        ("nan", 0.5),
        ("inf", 120),
        ("86400", 120),
        ("soon", 0.5),
        ("Mon, 01 Jan 99999 00:00:00 GMT", 0.5),
        ("Fri, 01 Jan 9999 00:00:00 GMT", 120),
        ("Sat, 01 Jan 2000 00:00:00 GMT", 0),
    ],
)
def test_what_a_server_says_of_waiting_is_obeyed_within_reason(monkeypatch, header, seconds):
    waited = []
    monkeypatch.setattr("patent_mteb.endpoints.client.time.sleep", waited.append)
    refusals = iter([(429, {"Retry-After": header}, b"slow")])
    with chat_server(lambda body: next(refusals, "done")) as (url, _):
        Endpoint(url, pause=0.5).post_json("/chat/completions", BODY)
    assert waited == [pytest.approx(seconds, abs=1e-9)]


def test_pauses_double(monkeypatch):
    waited = []
    monkeypatch.setattr("patent_mteb.endpoints.client.time.sleep", waited.append)
    with chat_server(lambda body: (503, {}, b"")) as (url, _), pytest.raises(EndpointError):
        Endpoint(url, pause=0.5, retries=10).post_json("/chat/completions", BODY)
    assert waited == [0.5, 1, 2, 4, 8, 16, 32, 64, 120, 120]


@pytest.mark.parametrize(
    "raw", [b'{"a":' + b"[" * 100_000, b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}", b'{"a": ' + b"9" * 5000 + b"}"]
)
def test_json_that_no_parser_reads_is_one_sentence(raw):
    with chat_server(lambda body: (200, {}, raw)) as (url, _), pytest.raises(EndpointError, match="not a JSON object"):
        endpoint(url).post_json("/x", BODY)


def test_an_answer_that_is_too_large_is_refused_without_being_read_whole():
    with chat_server(lambda body: (200, {}, b"{}" + b" " * 50_000)) as (url, server):
        with pytest.raises(EndpointError, match=r"answered more than 10000 bytes\. Remedy"):
            endpoint(url, largest=10_000).post_json("/x", BODY)
        assert endpoint(url, largest=50_002).post_json("/x", BODY) == {}
    assert len(server.bodies) == 2, "the same question would have the same answer"


@contextlib.contextmanager
def raw_server(*sent):
    """Answers each connection with pieces of bytes, half a second apart, as long as it is listened to."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        done = threading.Event()

        def serve():
            while not done.is_set():
                with contextlib.suppress(OSError), listening.accept()[0] as connection:
                    connection.recv(1 << 16)
                    for piece in sent:
                        connection.sendall(piece)
                        if done.wait(0.05):
                            break

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        done.set()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n"


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
DRIPPING = {
    "text": [HEAD, *[b"x"] * 400],
    "headers": [bytes([byte]) for byte in HEAD * 9],
    "chunks": [CHUNKED, *[b"1\r\nx\r\n"] * 400],
}


@pytest.mark.parametrize("sent", DRIPPING.values(), ids=DRIPPING)
def test_a_server_that_drips_has_a_time_for_the_whole_answer(sent):
    started = time.monotonic()
    with (
        raw_server(*sent) as url,
        pytest.raises(EndpointError, match=r"did not complete its answer in 0\.4 seconds\. Remedy"),
    ):
        endpoint(url, timeout=0.4, retries=1).post_json("/x", BODY)
    assert time.monotonic() - started < 8, "all of it takes 20 seconds"


def test_an_answer_that_breaks_off_is_asked_for_again():
    whole = b'{"choices": []}'
    with chat_server(lambda body: (200, {}, whole)) as (url, _):
        assert endpoint(url).post_json("/x", BODY) == {"choices": []}
    # The server may close before it has read the request; then the client sees a reset connection.
    broken = r"cannot be reached \((IncompleteRead|\[Errno 104\])"
    with raw_server(HEAD + whole) as url, pytest.raises(EndpointError, match=broken):
        endpoint(url, retries=1).post_json("/x", BODY)


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("http://models.example.org/v1", True),
        ("http://localhost.example.org/v1", True),
        ("https://models.example.org/v1", False),
        ("http://localhost:8000/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("http://[::1]:8000/v1", False),
    ],
)
def test_a_key_on_an_unencrypted_way_to_another_machine_is_a_warning(monkeypatch, caplog, url, warned):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Endpoint(url)
    assert not caplog.text
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    Endpoint(url)
    assert ("would expose the key in OPENAI_API_KEY" in caplog.text) == warned
    assert caplog.text.count("\n") == warned and KEY not in caplog.text


@pytest.mark.parametrize("before", ["", "B", "Be"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_the_key_is_not_shown_in_base64_either(monkeypatch, before, encode):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    refusal_text = b"bad key " + encode(f"{before}{KEY}".encode()) + b" of account 0123456789abcdef0123"
    with chat_server(lambda body: (401, {}, refusal_text)) as (url, _), pytest.raises(EndpointError) as error:
        endpoint(url).post_json("/x", BODY)
    assert "bad key ***" in str(error.value) and "of account 0123456789abcdef0123" in str(error.value)
