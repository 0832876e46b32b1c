"""A loopback server for the part of the OpenAI protocol that the suite uses; it records its requests."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

from mteb.models.model_meta import ModelMeta

KEY = "sk-never-written-4711"
CORPUS = {f"d{number}": f"rotor {number}" for number in range(12)}
QUERIES = {"qa": "a pump", "qb": "a valve"}


class First:
    """Finds every document, the ones with small numbers first."""

    mteb_model_meta = ModelMeta.create_empty({"name": "test/first", "revision": "1"})

    def index(self, corpus, **kwargs):
        self.ids = list(corpus["id"])

    def search(self, queries, *, top_k, **kwargs):
        scores = {document: 100.0 - int(document[1:]) for document in self.ids}
        best = dict(sorted(scores.items(), key=lambda one: -one[1])[:top_k])
        return dict.fromkeys(queries["id"], best)


class Server:
    """``answer(body)`` gives the text of a completion, or (status, headers, raw bytes) for anything else."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self.answer = answer
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.under_way = self.most_under_way = 0
        self.lock = threading.Lock()

    def respond(self, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        found = self.answer(body)
        if not isinstance(found, str):
            return found
        usage = {"prompt_tokens": len(str(body["messages"]).split()), "completion_tokens": len(found.split())}
        choices = [{"message": {"role": "assistant", "content": found}, "finish_reason": "stop"}]
        return 200, {}, json.dumps({"model": f"{body['model']}-2026", "choices": choices, "usage": usage}).encode()


@contextlib.contextmanager
def chat_server(answer: Callable[[dict[str, Any]], Any]) -> Iterator[tuple[str, Server]]:
    state = Server(answer)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with state.lock:
                state.bodies.append(body)
                state.keys.append(self.headers.get("Authorization"))
                state.under_way += 1
                state.most_under_way = max(state.most_under_way, state.under_way)
            try:
                status, headers, raw = state.respond(body)
            finally:
                with state.lock:
                    state.under_way -= 1
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
