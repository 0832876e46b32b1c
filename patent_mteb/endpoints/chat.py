"""Send messages to a language model behind ``/chat/completions``, with a cache and a budget.

Answers are cached on disk, so that an interrupted run sends no message twice. Reasoning is removed from an answer;
truncated answers and refusals are marked as faults. A meter counts calls, tokens and cost.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import logging
import operator
import re
import sqlite3
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

from patent_mteb.endpoints.client import Endpoint, EndpointError
from patent_mteb.errors import DataError
from patent_mteb.identity import digest

logger = logging.getLogger(__name__)
CUT, UNFINISHED, REFUSED, EMPTY = "cut off", "thinking aloud without end", "refused", "empty"
_REASONING = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_COMPLETE = frozenset(("", "stop", "eos", "eos_token", "end_turn", "stop_sequence"))
_FILTERED = frozenset(("content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocklist"))
_REFUSALS = (
    *("i'm sorry", "i am sorry", "sorry, ", "sorry. ", "sorry but", "i apologize", "i apologise", "my apologies"),
    *("i can't", "i cannot", "i can not", "i'm unable", "i am unable", "i'm not able", "i am not able", "i won't"),
    *("i will not", "i don't have", "i do not have", "i must decline", "i'd be happy to", "unfortunately, i"),
    *("please provide", "please share", "as an ai language", "as an ai assistant", "as an ai model", "as an ai, "),
    *("as a language model", "as a large language model", "抱歉", "很抱歉", "对不起", "我无法", "我不能", "申し訳"),
)


def visible_answer(text: str) -> str | None:
    """Remove the reasoning (``<think>``) from an answer; None if the reasoning does not end."""
    if not all(match[1] for match in _REASONING.finditer(text)):
        return None
    return _REASONING.sub("", text).rpartition("</think>")[2]


def well_formed(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fault_of(text: str | None, finish: str) -> str:
    """The reason not to use an answer; empty for a usable one. ``text`` is None if its reasoning does not end."""
    finish = finish.lower()
    if finish in _FILTERED:
        return REFUSED
    if finish not in _COMPLETE:
        return CUT
    if text is None:
        return UNFINISHED
    opening = text[:200].strip(" \n\t\"'*#").lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if opening.startswith(_REFUSALS):
        return REFUSED
    return "" if text.strip() else EMPTY


class Answers:
    """JSON answers by key, in one SQLite file that threads and processes may share. Each is committed at once."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError):  # an answer may quote a text: only the owner reads the file
            self.path.touch(mode=0o600, exist_ok=True)
        self._lock = threading.Lock()
        try:
            self._base = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            self._base.execute("CREATE TABLE IF NOT EXISTS answer (key TEXT PRIMARY KEY, document TEXT NOT NULL)")
        except sqlite3.DatabaseError as error:
            problem = f"not a file of cached answers ({error})"
            raise DataError(problem, path=self.path, remedy="delete the file or name another") from error

    def get(self, key: str) -> dict[str, Any] | None:
        row = self._row("SELECT document FROM answer WHERE key = ?", key)
        return None if row is None else dict(json.loads(row[0]))

    def put(self, key: str, answer: dict[str, Any]) -> None:
        self._row("INSERT OR REPLACE INTO answer VALUES (?, ?)", key, json.dumps(answer))

    def __len__(self) -> int:
        return int(self._row("SELECT count(*) FROM answer")[0])

    def _row(self, command: str, *values: str) -> Any:
        try:
            with self._lock:
                return self._base.execute(command, values).fetchone()
        except sqlite3.DatabaseError as error:
            problem = f"cached answers cannot be read or written ({error})"
            remedy = "check the free space of the disk, then run again; if the file is corrupt, name another"
            raise DataError(problem, path=self.path, remedy=remedy) from error

    def close(self) -> None:
        self._base.close()


_MOST_TOKENS = 1_000_000_000  # far above any context: a larger number is an error of the server


class BudgetError(EndpointError):
    """The next call would exceed the budget."""


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens, in any currency."""

    input: float = 0.0
    output: float = 0.0


@dataclass(frozen=True)
class Budget:
    """Limits of calls, of input and output tokens together, and of cost. None means unlimited.

    Failed requests that are repeated do not count as calls.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Usage:
    """Calls, tokens and seconds of one or more answers."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(operator.add, astuple(self), astuple(other)))

    def cost(self, prices: Prices) -> float:
        return (self.input_tokens * prices.input + self.output_tokens * prices.output) / 1_000_000


def usage_of(answer: dict[str, Any], seconds: float = 0.0) -> Usage | None:
    """Return the tokens that the server counts for an answer; None if the counts are missing or invalid."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return None
    read: Any = usage.get("prompt_tokens")
    written: Any = usage.get("completion_tokens")
    written = 0 if written is None else written
    return Usage(1, read, written, seconds) if is_count(read) and is_count(written) else None


def is_count(tokens: Any, most: int = _MOST_TOKENS) -> bool:
    return type(tokens) is int and 0 <= tokens <= most  # a bool is not a count


class Meter:
    """Counts calls and refuses those beyond the budget; several threads may share it.

    Calls in progress when tokens or cost run out are finished and counted.
    """

    def __init__(self, budget: Budget | None = None, prices: Prices | None = None) -> None:
        self.budget = budget or Budget()
        self.prices = prices or Prices()
        if self.budget.cost is not None and not (self.prices.input or self.prices.output):
            raise EndpointError("a budget in money needs prices", remedy="give the price of a million tokens")
        self.spent = Usage()
        self._started = 0
        self._lock = threading.Lock()

    def charged(self, call: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], Usage]:
        """Make a call within the budget. Returns its answer and usage."""
        with self._lock:
            self._check_budget()
            self._started += 1
        started = time.monotonic()
        try:
            answer = call()
        except BaseException:
            with self._lock:
                self._started -= 1
            raise
        seconds = time.monotonic() - started
        counted = usage_of(answer, seconds)
        usage = counted or Usage(1, seconds=seconds)
        with self._lock:
            self.spent += usage
        if counted is None and (self.budget.tokens is not None or self.budget.cost is not None):
            raise EndpointError("the server does not count tokens", remedy="limit the number of calls instead")
        return answer, usage

    def _check_budget(self) -> None:
        tokens = self.spent.input_tokens + self.spent.output_tokens
        limits = (
            (self._started, self.budget.calls, "{:d} calls"),
            (tokens, self.budget.tokens, "{:d} tokens"),
            (self.spent.cost(self.prices), self.budget.cost, "a cost of {:g}"),
        )
        for used, limit, words in limits:
            if limit is not None and used >= limit:
                raise BudgetError(
                    f"the budget of {words.format(limit)} is spent (calls {self._started}, tokens {tokens})",
                    remedy="raise it and run again; cached answers are not requested again",
                )


_PATH = "/chat/completions"
_TOO_LONG = ("length", "max_tokens", "model_length")


@dataclass(frozen=True)
class Answer:
    """An answer of a language model."""

    text: str  # without reasoning; lone surrogates are replaced
    usage: Usage  # of the original call, also for a cached answer
    model: str  # as the server names it
    day: str  # of the original call, ISO 8601
    key: str = ""  # digest of the model's identity and the message
    cached: bool = False  # whether it comes from disk
    fault: str = ""  # see fault_of


def models_and_days(name: str, answers: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Count answers (model, day) by model, and return the first and last day. Several models cause a warning."""
    pairs = Counter(answers)
    models, days = Counter[str](), sorted({day for _, day in pairs})
    for (model, _), n in pairs.items():
        models[model] += n
    if len(models) > 1:
        shares = ", ".join(f"{model} {n} times" for model, n in sorted(models.items()))
        message = "%s: %d models answered under this name, from %s to %s: %s"
        logger.warning(message, name, len(models), days[0], days[-1], shares)
    return {"models": dict(sorted(models.items())), "days": [days[0], days[-1]]} if days else {}


class Chat:
    """A language model that answers one message under one instruction, at temperature 0.

    A message is sent again once if its answer has a fault other than its length. The second answer is cached, with the
    usage of both.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,  # its name at the server
        answers: Answers | None = None,  # cache of answers; None sends every message again
        meter: Meter | None = None,
        *,
        settings: Mapping[str, Any] | None = None,  # further fields of the request's body, such as {"max_tokens": 8}
        at_once: int = 8,  # number of parallel requests
    ) -> None:
        if reserved := {"model", "messages", "stream", "n"} & set(settings or {}):
            names = ", ".join(sorted(reserved))
            raise EndpointError(f"the settings of a request cannot hold {names}", remedy="leave that out")
        if at_once < 1:
            raise EndpointError(f"cannot send {at_once} requests at once", remedy="give a positive number")
        self.endpoint, self.model, self.answers = endpoint, model, answers
        self.meter = meter or Meter()
        self.settings = {"temperature": 0, **(settings or {})}
        self.at_once = at_once
        self._guard = threading.Lock()
        self._pending: weakref.WeakValueDictionary[str, threading.Lock] = weakref.WeakValueDictionary()

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that an answer depends on, except for the messages."""
        return {"server": self.endpoint.url, "model": self.model, "settings": self.settings}

    def ask(self, instruction: str, message: str) -> Answer:
        """Answer a message, from the cache if possible. Threads that send the same message wait for each other."""
        key = digest([self.identity, instruction, message], 64)
        with self._guard:
            lock = self._pending.setdefault(key, threading.Lock())
        with lock:
            cached = None if self.answers is None else self.answers.get(key)
            if cached is not None and "finish" in cached:  # the first version did not record the finish reason
                return self._answer(cached, key, cached=True)
            record = self._request(instruction, message)
            if self._answer(record, key).fault and record["finish"] not in _TOO_LONG:
                first, record = record, self._request(instruction, message)
                record["usage"] = asdict(Usage(**first["usage"]) + Usage(**record["usage"]))
            if self.answers is not None:
                self.answers.put(key, record)
            return self._answer(record, key)

    def ask_now(self, instruction: str, message: str) -> Answer:
        """Answer a message without the cache."""
        return self._answer(self._request(instruction, message), "")

    def _answer(self, record: Mapping[str, Any], key: str, *, cached: bool = False) -> Answer:
        text, usage = visible_answer(record["text"]), Usage(**record["usage"])
        fault = fault_of(text, record["finish"])
        return Answer(well_formed(text or ""), usage, record["model"], record["day"], key, cached, fault)

    def ask_all(self, questions: Iterable[tuple[str, str]]) -> Generator[Answer]:
        """Yield the answers in the order of the questions, which are read lazily.

        An error or closing the generator ends it: requests in progress are finished and cached, no further ones sent.
        """
        futures: deque[Future[Answer]] = deque()
        with ThreadPoolExecutor(self.at_once) as pool:
            try:
                for question in questions:
                    if len(futures) >= 2 * self.at_once:
                        yield futures.popleft().result()
                    futures.append(pool.submit(self.ask, *question))
                while futures:
                    yield futures.popleft().result()
            finally:
                for future in futures:
                    future.cancel()

    def _request(self, instruction: str, message: str) -> dict[str, Any]:
        """Send a message. Returns the record for the cache."""
        messages = [{"role": "system", "content": instruction}, {"role": "user", "content": message}]
        body = {"model": self.model, **self.settings, "messages": messages}
        document, usage = self.meter.charged(lambda: self.endpoint.post_json(_PATH, body))
        try:
            choice = document["choices"][0]
            text, refusal = choice["message"]["content"], choice["message"].get("refusal")
            finish = choice.get("finish_reason") or ("refusal" if refusal and not text else "")
        except (KeyError, IndexError, TypeError, AttributeError):
            text, finish = None, ""
        if text is None and isinstance(finish, str) and fault_of("", finish) != EMPTY:
            text = ""
        if not isinstance(text, str) or not isinstance(finish, str):
            raise EndpointError(
                f"{self.endpoint.url}{_PATH} answered without a completion:"
                f" {self.endpoint.without_key(str(document))[:300]}",
                remedy="check that the server speaks the OpenAI protocol and that the model writes text",
            )
        model = document.get("model")
        return {
            "text": text,
            "finish": finish,
            "usage": asdict(usage),
            "model": well_formed(model) if model and isinstance(model, str) else self.model,
            "day": dt.datetime.now(dt.UTC).date().isoformat(),
        }
