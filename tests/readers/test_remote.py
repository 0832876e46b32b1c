"""Inputs at an address: a server that states the tag of a file, and one that states nothing."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from patent_mteb.cli import main
from patent_mteb.errors import DataError
from patent_mteb.readers.remote import local_files

LIST = b"publication_number,title,abstract\nEP1000001A1,A pump,It pumps.\nEP1000002A1,A valve,It closes.\n"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self, body=True):
        content = self.server.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        if content is not None and self.server.tagged:
            self.send_header("ETag", f'"{hash(content)}"')
        self.end_headers()
        if body and content is not None:
            self.server.fetched.append(self.path)
            self.wfile.write(content[: len(content) - self.server.cut])

    def do_HEAD(self):
        self.do_GET(body=False)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    pytest.importorskip("aiohttp")
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        found.files, found.tagged, found.fetched, found.cut = {"/a/list.csv": LIST}, True, [], 0
        found.address = f"http://127.0.0.1:{found.server_port}"
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


def test_a_list_at_an_address_gives_the_records_of_the_file(server, tmp_path):
    assert main(["data", "import", f"{server.address}/a/list.csv", "--out", str(tmp_path / "far"), "--quiet"]) == 0
    (tmp_path / "list.csv").write_bytes(LIST)
    assert main(["data", "import", str(tmp_path / "list.csv"), "--out", str(tmp_path / "near"), "--quiet"]) == 0
    far, near = (
        {path.name: path.read_bytes() for path in (tmp_path / name / "patents").iterdir()} for name in ("far", "near")
    )
    assert far == near and len(far) == 1
    (account,) = json.loads((tmp_path / "far" / "import.json").read_text())["inputs"]
    assert account["path"].endswith("/list.csv") and account["records"]["patents"] == 2


def test_try_reads_a_list_at_an_address(server, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # the second call continues in the same folder
        assert main(["try", f"{server.address}/a/list.csv"]) == 2
        said = capsys.readouterr()
        assert f"1 of 4: read {server.address}/a/list.csv" in said.out
        assert "list.csv: the list has no citations" in said.err
    assert (tmp_path / "list-try" / "records" / "import.json").is_file()


@pytest.mark.parametrize(("tagged", "fetched"), [(True, 2), (False, 3)])
def test_a_file_is_fetched_again_if_it_has_changed_or_may_have(server, tagged, fetched):
    server.tagged = tagged
    contents = []
    for content in (LIST, LIST, LIST.replace(b"valve", b"hinge")):
        server.files["/a/list.csv"] = content
        (path,) = local_files(f"{server.address}/a/list.csv")
        contents.append(path.read_bytes() == content)
    assert contents == [True, True, True] and len(server.fetched) == fetched


def test_an_incomplete_answer_is_an_error_and_leaves_the_earlier_copy(server):
    (path,) = local_files(f"{server.address}/a/list.csv")
    server.files["/a/list.csv"], server.cut = LIST * 2, 10
    with pytest.raises(DataError, match=r"list\.csv cannot be read"):
        list(local_files(f"{server.address}/a/list.csv"))
    assert path.read_bytes() == LIST
    server.cut = 0
    assert [path.read_bytes() for path in local_files(f"{server.address}/a/list.csv")] == [LIST * 2]


def test_stars_are_all_files_that_match(tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    for name in ("b.csv", "a.csv", "c.txt"):
        (tmp_path / name).write_bytes(name.encode())
    found = [path.read_text() for path in local_files(f"file://{tmp_path}/*.csv")]
    assert found == ["a.csv", "b.csv"]


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        pytest.param("{0}/none.csv", "there is no file at http", id="missing"),
        pytest.param("file:///nowhere/*.csv", "there is no file at file:///nowhere", id="no match"),
        pytest.param("nosuch://bucket/list.csv", "cannot be read .*nosuch", id="unknown protocol"),
    ],
)
def test_an_address_that_gives_nothing_is_named(server, capsys, tmp_path, address, problem):
    address = address.format(server.address)
    assert main(["data", "import", address, "--out", str(tmp_path / "records")]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert re.search(problem, message) and "Remedy:" in message


def test_a_protocol_without_its_package_names_the_extra(monkeypatch):
    import fsspec

    def lacking(address):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", lacking)
    with pytest.raises(DataError, match=r"Install s3fs to access S3.*\[remote\]"):
        list(local_files("s3://bucket/list.csv"))
