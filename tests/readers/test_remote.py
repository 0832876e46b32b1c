"""Inputs at an address: a server that states the tag of a file, and one that states nothing."""

from __future__ import annotations

import gzip
import json
import logging
import re
import stat
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from patent_mteb.cli import main
from patent_mteb.errors import DataError
from patent_mteb.readers.remote import local_files

LIST = b"publication_number,title,abstract\nEP1000001A1,A pump,It pumps.\nEP1000002A1,A valve,It closes.\n"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self, body=True):
        if answer := ANSWERS.get(self.path.partition("?")[0].split("/")[1]):
            answer(self, body)
            return
        content = self.server.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        if content is not None and self.server.tagged:
            self.send_header("ETag", f'"{hash(content)}"')
        self.end_headers()
        if body and content is not None:
            self.server.fetched.append(self.path)
            self.wfile.write(content[: len(content) - self.server.cut])
            self.close_connection = bool(self.server.cut)

    def do_HEAD(self):
        self.do_GET(body=False)

    def log_message(self, *_):
        pass


def begin(handler, status=200, **headers):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def chunked(handler, body):
    begin(handler, Transfer_Encoding="chunked")
    if body:
        for start in range(0, len(LIST), 50):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(LIST[start : start + 50]), LIST[start : start + 50]))
        handler.wfile.write(b"0\r\n\r\n")


def packed(handler, body):
    content = gzip.compress(LIST)
    begin(handler, Content_Encoding="gzip", Content_Length=len(content))
    handler.wfile.write(content if body else b"")


def unsized(handler, body):
    begin(handler, Connection="close")
    handler.wfile.write(LIST if body else b"")
    handler.close_connection = True


def zero(handler, body):
    """States nothing about the file before the file itself, as some servers of one page do."""
    begin(handler, Content_Length=len(LIST) if body else 0)
    handler.wfile.write(LIST if body else b"")


def nonsense(handler, body):
    handler.wfile.write(b"220 mail.example.org ESMTP\r\n")
    handler.close_connection = True


def in_part(handler, body):
    begin(handler, 206, Content_Length=100, Content_Range=f"bytes 0-99/{len(LIST)}")
    handler.wfile.write(LIST[:100] if body else b"")


def part_of_get(handler, body):
    """States the whole file before it gives a part."""
    begin(handler, 206 if body else 200, Content_Length=len(LIST))
    handler.wfile.write(LIST if body else b"")


def later(handler, body):
    content = b"come back later"
    begin(handler, 202, Content_Length=len(content))
    handler.wfile.write(content if body else b"")


def unchanged(handler, body):
    begin(handler, 304, Content_Length=0)


def nowhere(handler, body):
    begin(handler, 302, Content_Length=0)


def encoded(content, encoding="gzip"):
    def answer(handler, body):
        begin(handler, Content_Encoding=encoding, Content_Length=len(content))
        handler.wfile.write(content if body else b"")

    return answer


GZIP = gzip.compress(LIST * 50)
CUT = {
    "cut_half": encoded(GZIP[: len(GZIP) // 2]),
    "cut_end": encoded(GZIP[:-1]),
    "cut_sum": encoded(GZIP[:-8]),
    "cut_head": encoded(GZIP[:5]),
    "cut_all": encoded(b""),
    "other_sum": encoded(GZIP[:-8] + b"12345678"),
    "not_gzip": encoded(LIST),
    "brotli": encoded(LIST, "br"),
    "bomb": encoded(gzip.compress(b"0" * (1 << 25))),
}


def slow(handler, body):
    begin(handler, Content_Length=len(LIST))
    if body:
        handler.wfile.write(LIST[:20])
        handler.wfile.flush()
        time.sleep(1.5)
        handler.wfile.write(LIST[20:])


def moved(handler, body):
    begin(handler, 302, Location=f"http://localhost:{handler.server.server_port}/a/list.csv", Content_Length=0)


def refusing(status):
    return lambda handler, body: begin(handler, status, Content_Length=0)


ANSWERS = {
    answer.__name__: answer
    for answer in (chunked, packed, unsized, zero, nonsense, slow, moved, in_part, part_of_get, later)
}
ANSWERS |= CUT | {"unchanged": unchanged, "nowhere": nowhere}
ANSWERS |= {str(status): refusing(status) for status in (401, 403, 410, 418, 429, 500, 503)}


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
    with pytest.raises(DataError, match=r"list\.csv cannot be read .the answer ended early"):
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
        pytest.param(
            "http://127.0.0.1:1/list.csv", "cannot be read .Cannot connect to host 127.0.0.1", id="closed port"
        ),
        pytest.param("http://127.0.0.1:99999/list.csv", "cannot be read .Port out of range", id="no port"),
        pytest.param("http://nohost.invalid/list.csv", "cannot be read .Cannot connect to host nohost", id="no host"),
        pytest.param("{0}/nonsense/list.csv", "cannot be read .the answer is not HTTP.", id="no HTTP"),
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


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("in_part", "the server answers 206, Partial Content"),
        ("part_of_get", "the server answers 206, Partial Content"),
        ("later", "the server answers 202, Accepted"),
        ("unchanged", "the server answers 304, Not Modified"),
        ("nowhere", "the server answers 302, Found"),
        ("brotli", "the answer has the encoding 'br'"),
        ("bomb", "a gzip bomb"),
        *dict.fromkeys((name for name in CUT if name not in ("brotli", "bomb")), "cannot be read").items(),
    ],
)
def test_a_part_of_a_file_is_an_error_and_is_not_kept(server, tmp_path, way, reason):
    with pytest.raises(DataError, match=reason) as refused:
        list(local_files(f"{server.address}/{way}/list.csv"))
    assert "Remedy" in str(refused.value) and ".partial" not in str(refused.value)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


@pytest.mark.parametrize("way", ["chunked", "packed", "unsized", "zero"])
def test_an_answer_without_its_length_is_read(server, way):
    assert [path.read_bytes() for path in local_files(f"{server.address}/{way}/list.csv")] == [LIST]


def test_the_protocol_of_an_address_may_be_in_capital_letters(server):
    server.files["/a/list.csv"] = LIST
    address = server.address.replace("http", "HTTP")
    assert [path.read_bytes() for path in local_files(f"{address}/a/list.csv")] == [LIST]


@pytest.mark.parametrize(
    "rest", ["/403/li\nst.csv?sig=S3CRETSIG", "/403/list.csv;jsessionid=S3CRETSIG", "/403/a\tb.csv#S3CRETSIG"]
)
def test_white_space_and_parameters_of_an_address_hide_no_secret_from_its_message(server, rest):
    with pytest.raises(DataError) as refused:
        list(local_files(f"{server.address}{rest}"))
    assert "S3CRETSIG" not in str(refused.value) and "403" in str(refused.value)


@pytest.mark.slow
def test_a_download_has_no_limit_in_total(server, monkeypatch):
    """The limit of aiohttp, five minutes, is one second here. The answer takes longer."""
    import aiohttp

    monkeypatch.setattr(aiohttp.client, "DEFAULT_TIMEOUT", aiohttp.ClientTimeout(total=1))
    assert [path.read_bytes() for path in local_files(f"{server.address}/slow/list.csv")] == [LIST]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        pytest.param(401, r"answers 401, Unauthorized\).*password", id="401"),
        pytest.param(403, r"answers 403, Forbidden\).*newer signature", id="403"),
        pytest.param(410, "there is no file at", id="410"),
        pytest.param(429, r"answers 429, Too Many Requests", id="429"),
        pytest.param(500, r"answers 500, Internal Server Error", id="500"),
        pytest.param(503, r"answers 503, Service Unavailable", id="503"),
    ],
)
def test_the_status_of_a_refusal_is_said(server, status, words):
    with pytest.raises(DataError, match=words) as refused:
        list(local_files(f"{server.address}/{status}/list.csv?sig=S3CRETSIG"))
    assert "S3CRETSIG" not in str(refused.value)


SECRETS = ("S3CRETPW", "bob", "S3CRETSIG")


@pytest.mark.parametrize("path", ["a/list.csv", "none.csv", "401/list.csv", "500/list.csv"])
@pytest.mark.parametrize("command", ["data import", "try"])
def test_no_secret_of_an_address_is_printed_or_kept(server, tmp_path, monkeypatch, capsys, caplog, path, command):
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG, "patent_mteb")
    server.files["/a/list.csv?sig=S3CRETSIG&x=1"] = LIST
    host = server.address.removeprefix("http://")
    main([*command.split(), f"http://bob:S3CRETPW@{host}/{path}?sig=S3CRETSIG&x=1", "--out", "out", "-v", "3"])
    said = capsys.readouterr()
    text = said.out + said.err + caplog.text
    text += "".join(f"{file}{file.read_bytes()}" for file in tmp_path.rglob("*") if file.is_file())
    assert "list" in text or "none.csv" in text
    assert not [secret for secret in SECRETS if secret in text]


def test_the_commands_by_hand_have_no_secret():
    from patent_mteb.cli.options import SESSION
    from patent_mteb.cli.trial import Steps

    steps = Steps(SESSION)
    steps.run("data", "import", "https://bob:S3CRETPW@host/list.csv?sig=S3CRETSIG", done=True)
    assert steps.lines == ["patent-mteb data import 'https://…@host/list.csv?…'"]


def test_copies_are_private_and_can_be_removed(server, capsys):
    (path,) = local_files(f"{server.address}/a/list.csv")
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]
    assert main(["data", "forget"]) == 0
    assert "1 files removed" in capsys.readouterr().out and not path.parent.parent.exists()
    assert main(["data", "forget"]) == 0


@pytest.mark.parametrize(
    "name", ["a" * 400 + ".csv.gz", "ü" * 200 + ".csv", "..", ".state.json", "b" * 300], ids=lambda name: name[-9:]
)
def test_a_file_may_have_any_name(server, name):
    from urllib.parse import quote

    server.files |= {f"/a/{quote(name)}": LIST, "/": LIST}
    (path,) = local_files(f"{server.address}/a/{quote(name)}")
    assert path.read_bytes() == LIST and path.parent.parent.name == "inputs"
    assert path.name.endswith(".csv.gz") == name.endswith(".csv.gz")


def test_another_server_that_answers_is_named(server, caplog):
    (path,) = local_files(f"{server.address}/moved/list.csv")
    assert path.read_bytes() == LIST
    assert "is answered by another server, localhost" in caplog.text
    caplog.clear()
    list(local_files(f"{server.address}/a/list.csv"))
    assert "another server" not in caplog.text


def test_files_of_this_computer_are_not_copied(tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "list.csv").write_bytes(LIST)
    assert list(local_files(f"file://{tmp_path}/list.csv")) == [tmp_path / "list.csv"]
    assert not (tmp_path / "cache").exists()
