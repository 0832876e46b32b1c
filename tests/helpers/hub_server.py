"""A server on 127.0.0.1 that speaks the data hub's protocol: files, commits, branches, gates, faults.

``Hub`` holds repositories and answers as the real one does, status and headers included: a full commit, a branch, a
tag; a short hash only where the repository is lenient; 401 or 403 with ``GatedRepo`` at a gate, 404 with
``RepoNotFound``, ``RevisionNotFound`` or ``EntryNotFound`` (which names the commit), and any status that a test wants.
``Hub.log`` has every request.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import huggingface_hub.utils._http as client
from huggingface_hub import constants

from patent_mteb.data import hub as asked
from patent_mteb.data import loading, releases

TOKEN = "hf_granted"


@dataclass
class Repository:
    """A data set: its commits (hash -> files) in order, and where its branches stand."""

    gated: bool = False
    lenient: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)

    def commit(self, files: dict[str, bytes], sha: str = "", branch: str = "main") -> str:
        """Add a commit of these files; a short ``sha`` is filled up."""
        made = hashlib.sha1(repr((len(self.commits), sorted(files))).encode(), usedforsecurity=False).hexdigest()
        sha = sha + made[len(sha) :]
        self.commits[sha] = dict(files)
        self.branches[branch] = sha
        return sha

    def resolve(self, revision: str) -> str | None:
        if revision in self.commits:
            return revision
        if revision in self.branches:
            return self.branches[revision]
        found = [sha for sha in self.commits if self.lenient and len(revision) >= 7 and sha.startswith(revision)]
        return found[0] if len(found) == 1 else None


class Hub:
    """A running hub; a context manager, so that a test leaves none behind."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.log: list[tuple[str, str]] = []
        self.status: int | None = None
        self.delay = 0.0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Hub:
        self.thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, path: str, token: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a request."""
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        interface = parts[0] == "api"
        if parts[interface : interface + 1] != ["datasets"]:
            return _error(404, "RepoNotFound")
        parts = parts[interface + 1 :]
        key, rest = "/".join(parts[:2]), parts[2:]
        repository = self.repositories.get(key)
        if repository is None:
            return _error(404 if token else 401, "RepoNotFound")
        if interface:
            return _interface(repository, key, rest)
        if repository.gated and token != TOKEN:
            return _error(403 if token else 401, "GatedRepo", f"Access to dataset {key} is restricted.")
        if rest[:1] != ["resolve"] or len(rest) < 3:
            return _error(404, "EntryNotFound")
        commit = repository.resolve(rest[1])
        if commit is None:
            return _error(404, "RevisionNotFound", f"Invalid rev id: {rest[1]}")
        content = repository.commits[commit].get("/".join(rest[2:]))
        if content is None:
            status, headers, body = _error(404, "EntryNotFound", "Entry not found")
            return status, {**headers, "X-Repo-Commit": commit}, body
        headers = {"X-Repo-Commit": commit, "ETag": f'"{_blob(content)}"', "Content-Type": "application/octet-stream"}
        if _large(content):
            headers |= {"X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Linked-Size": str(len(content))}
        return 200, headers, content


def _large(content: bytes) -> bool:
    """Whether a file lies in git's large file storage; parquet files do on the real hub."""
    return content.startswith(b"PAR1")


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _error(status: int, code: str, message: str = "") -> tuple[int, dict[str, str], bytes]:
    return status, {"X-Error-Code": code, "X-Error-Message": message or code}, b""


def _json(content: object) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Type": "application/json"}, json.dumps(content).encode()


def _interface(repository: Repository, key: str, rest: list[str]) -> tuple[int, dict[str, str], bytes]:
    """What the hub's interface says of a data set: itself at a revision, its commits, its files."""
    what, revision = (*rest, "", "")[:2]
    commit = repository.resolve(revision or "main")
    if commit is None:
        return _error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
    files = repository.commits[commit]
    if what in ("", "revision"):
        described = {"id": key, "sha": commit, "private": False, "tags": [], "downloads": 0, "likes": 0}
        return _json(
            {**described, "siblings": [{"rfilename": name} for name in files], "gated": repository.gated and "manual"}
        )
    if what == "commits":
        shown = [
            {"id": sha, "title": "a commit", "message": "", "authors": [], "date": "2026-01-01T00:00:00.000Z"}
            for sha in repository.commits
        ]
        return _json(shown[::-1])
    if what == "tree":
        return _json([_entry(name, content) for name, content in files.items()])
    return _error(404, "EntryNotFound")


def _entry(name: str, content: bytes) -> dict[str, object]:
    entry: dict[str, object] = {"type": "file", "path": name, "size": len(content), "oid": _blob(content)}
    if _large(content):
        entry["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
    return entry


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.reply(body=False)

        def do_GET(self) -> None:
            self.reply(body=True)

        def reply(self, body: bool) -> None:
            hub.log.append((self.command, self.path))
            time.sleep(hub.delay)
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            status, headers, content = hub.answer(self.path, token) if hub.status is None else (hub.status, {}, b"")
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if body:
                    self.wfile.write(content)
            except OSError:
                pass  # the client has given up

        def log_message(self, *arguments: object) -> None:
            pass

    return Handler


@contextmanager
def running(cache, patch) -> Iterator[Hub]:
    """A hub, and the client with a fresh cache, a token that opens the gates, and no patience."""
    with Hub() as made:
        patch.setattr(constants, "ENDPOINT", made.address)
        patch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{made.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        )
        patch.setattr(constants, "HF_HUB_CACHE", str(cache))
        patch.setattr(constants, "HF_HUB_OFFLINE", False)
        patch.setattr(client, "time", SimpleNamespace(**{**vars(time), "sleep": lambda seconds: None}))
        patch.setenv("HF_TOKEN", TOKEN)
        patch.setattr(releases, "ROWS", {})  # what is served has the layout of the releases, not their size
        patch.delenv(loading.DATA_VARIABLE, raising=False)
        asked.forget()
        yield made
    asked.forget()
