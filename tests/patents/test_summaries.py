"""Machine summaries: the cache, the bookkeeping of what is missing, and the example against a local server."""

from __future__ import annotations

import importlib.util
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents.records import Claim, MachineSummaries, Patent, read_patents, write_patents
from patent_mteb.patents.summaries import KINDS, SummaryCache, SummaryError, summarise

EXAMPLE = Path(__file__).parents[2] / "examples" / "summarise_openai.py"


def patent(number: str, **fields) -> Patent:
    return Patent(number, f"F{number}", title=f"Title {number}", abstract=f"Abstract {number}", claims=(Claim(1, "A thing."),), **fields)


class Recorder:
    """A summariser that writes down what it was asked, and fails on the texts it is told to."""

    def __init__(self, identity: str = "recorder", fails_on: str = "\0", answer: str | None = None) -> None:
        self.identity, self.fails_on, self.answer = identity, fails_on, answer
        self.asked: list[tuple[str, str]] = []

    def __call__(self, kind: str, text: str) -> str:
        self.asked.append((kind, text))
        if self.fails_on in text:
            raise RuntimeError("no luck")
        return f" {kind} of {text[:9]} " if self.answer is None else self.answer


def test_every_summary_is_made_once_and_kept(tmp_path):
    patents = [patent("EP1"), patent("EP2")]
    first, second = Recorder(), Recorder()
    with SummaryCache(tmp_path / "deep" / "cache.sqlite") as cache:
        done = summarise(patents, first, cache)
    assert [p.publication_number for p in done] == ["EP1", "EP2"]
    assert done[1].summaries == MachineSummaries(**{kind: f"{kind} of Title EP2" for kind in KINDS})
    assert len(first.asked) == 10 and {text for _, text in first.asked} == {
        "Title EP1 Abstract EP1 1. A thing.",
        "Title EP2 Abstract EP2 1. A thing.",
    }
    with SummaryCache(tmp_path / "deep" / "cache.sqlite") as cache:
        assert len(cache) == 10
        assert summarise(patents, second, cache) == done
    assert second.asked == []


def test_another_summariser_or_text_is_another_entry(tmp_path):
    with SummaryCache(tmp_path / "cache") as cache:
        summarise([patent("EP1")], Recorder("a"), cache, kinds=["abstract"])
        other = Recorder("b")
        summarise([patent("EP1")], other, cache, kinds=["abstract"])
        changed = Recorder("a")
        summarise([patent("EP1", keywords=("x",))], changed, cache, kinds=["abstract"])
        assert len(other.asked) == 1 and changed.asked == []
        summarise([patent("EP3")], changed, cache, kinds=["abstract"])
        assert len(changed.asked) == 1


def test_what_the_record_has_is_kept(tmp_path):
    have = patent("EP1", summaries=MachineSummaries(abstract="mine"))
    asked = Recorder()
    with SummaryCache(tmp_path / "cache") as cache:
        (done,) = summarise([have], asked, cache, kinds=["abstract", "claims"])
    assert done.summaries.abstract == "mine" and done.summaries.claims.startswith("claims of")
    assert [kind for kind, _ in asked.asked] == ["claims"]


def test_a_failure_is_never_silent_and_the_next_run_continues(tmp_path, caplog):
    patents = [patent("EP1"), patent("EP2"), patent("EP3")]
    with SummaryCache(tmp_path / "cache") as cache:
        with pytest.raises(SummaryError, match=r"1 summaries missing \(2 made.*abstract of EP2: no luck"):
            summarise(patents, Recorder(fails_on="EP2"), cache, kinds=["abstract"])
        again = Recorder(fails_on="EP2")
        done = summarise(patents, again, cache, kinds=["abstract"], allow_missing=True)
    assert [bool(p.summaries.abstract) for p in done] == [True, False, True]
    assert len(again.asked) == 1 and "1 summaries missing" in caplog.text


def test_gives_up_when_the_server_is_down(tmp_path):
    broken = Recorder(fails_on="EP")
    with SummaryCache(tmp_path / "cache") as cache, pytest.raises(SummaryError, match="gave up with 3"):
        summarise([patent(f"EP{i}") for i in range(9)], broken, cache, give_up_after=3, allow_missing=True)
    assert len(broken.asked) == 3


@pytest.mark.parametrize("answer", ["", "  \n"])
def test_an_empty_answer_is_a_failure_and_is_not_kept(tmp_path, answer):
    with SummaryCache(tmp_path / "cache") as cache:
        with pytest.raises(SummaryError, match="gave no text"):
            summarise([patent("EP1")], Recorder(answer=answer), cache, kinds=["claims"])
        assert len(cache) == 0


def test_bad_input(tmp_path):
    with SummaryCache(tmp_path / "cache") as cache:
        with pytest.raises(SummaryError, match="claims of EP9: the patent has no text"):
            summarise([Patent("EP9", "F9")], Recorder(), cache, kinds=["claims"])
        with pytest.raises(ValueError, match="unknown kinds of summary: poem"):
            summarise([], Recorder(), cache, kinds=["poem"])
    (tmp_path / "other").write_text("this is no database, only a text of some length" * 50)
    with pytest.raises(DataError, match="not a cache of summaries"):
        SummaryCache(tmp_path / "other")


def test_two_processes_share_a_cache(tmp_path):
    with SummaryCache(tmp_path / "cache") as one, SummaryCache(tmp_path / "cache") as two:
        one.put("x", "claims", "t", "s")
        assert two.get("x", "claims", "t") == "s" and two.get("x", "abstract", "t") is None


# --- the example -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("summarise_openai", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server():
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            held = self.server
            held.seen.append((self.path, self.headers.get("Authorization"), body))
            status, answer = held.script.pop(0) if held.script else (200, None)
            if answer is None:
                content = f"summary {len(held.seen)}"
                answer = {"choices": [{"message": {"role": "assistant", "content": content}}]}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.seen, server.script = [], []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def url(server) -> str:
    return f"http://127.0.0.1:{server.server_port}/v1"


def test_example_speaks_the_chat_protocol(example, server):
    ours = example.OpenAISummariser(url(server) + "/", "llm", "secret", max_characters=20)
    assert ours("advantages", "x" * 50) == "summary 1"
    ((path, key, body),) = server.seen
    assert path == "/v1/chat/completions" and key == "Bearer secret"
    assert body["model"] == "llm" and body["temperature"] == 0
    assert body["messages"][1]["content"] == example.PROMPTS["advantages"] + "\n\n" + "x" * 20
    assert set(example.PROMPTS) == set(KINDS)
    assert ours.identity != example.OpenAISummariser(url(server), "llm", max_characters=21).identity
    assert ours.identity != example.OpenAISummariser(url(server), "other", max_characters=20).identity


def test_example_tries_again_only_where_it_may_help(example, server):
    ours = example.OpenAISummariser(url(server), "llm", retries=2, pause=0.001)
    server.script = [(503, {}), (429, {}), (200, None)]
    assert ours("claims", "text") == "summary 3"
    server.script = [(401, {"error": "wrong key"})]
    with pytest.raises(ValueError, match=r"answered 401: .*wrong key"):
        ours("claims", "text")
    server.script = [(500, {})] * 3
    with pytest.raises(ValueError, match="answered 500"):
        ours("claims", "text")
    assert len(server.seen) == 7
    server.script = [(200, {"choices": []})]
    with pytest.raises(ValueError, match="gave no chat completion"):
        ours("claims", "text")


def test_example_run_cut_off_is_continued(example, server, tmp_path, capsys):
    source, target = tmp_path / "patents.jsonl", tmp_path / "out.jsonl"
    write_patents(source, [patent("EP1"), patent("EP2")])
    command = [str(source), str(target), "--base-url", url(server), "--model", "llm"]
    server.script = [(200, None)] * 7 + [(400, {})] * 3
    assert example.main(command) == 2
    assert not target.exists() and "3 summaries missing (7 made" in capsys.readouterr().err
    assert example.main(command) == 0
    assert len(server.seen) == 13
    written = [p.summaries for p in read_patents(target)]
    assert written[0] == MachineSummaries(*(f"summary {i}" for i in range(1, 6)))
    assert all(getattr(written[1], kind) for kind in KINDS)


def test_example_without_a_server(example):
    ours = example.OpenAISummariser("http://127.0.0.1:9", "llm", retries=1, pause=0.001)
    with pytest.raises(ValueError, match="cannot be reached"):
        ours("claims", "text")
