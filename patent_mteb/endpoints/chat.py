"""Questions to a language model behind ``/chat/completions``: kept, metered, several at once, in order.

What of a language model's answer is the answer: without thinking aloud, whole, and not a refusal.

Answers of servers on disk: each question is asked once, whatever stops a run.

What asking a server may cost, and what it has cost: calls, tokens, money.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import sqlite3
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeGuard

from patent_mteb.endpoints.client import Endpoint, EndpointError
from patent_mteb.errors import DataError
from patent_mteb.identity import digest

__all__ = ["Answer", "Chat", "who_answered"]

logger = logging.getLogger(__name__)


CUT, UNFINISHED, REFUSED, EMPTY = "cut off", "thinking aloud without end", "refused", "empty"


_OPEN, _CLOSE = "<think>", "</think>"

_WHOLE = frozenset(("", "stop", "eos", "eos_token", "end_turn", "stop_sequence"))

_FILTERED = frozenset(("content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocklist"))

_REFUSALS = (
    *("i'm sorry", "i am sorry", "sorry, ", "sorry. ", "sorry but", "i apologize", "i apologise", "my apologies"),
    *("i can't", "i cannot", "i can not", "i'm unable", "i am unable", "i'm not able", "i am not able", "i won't"),
    *("i will not", "i don't have", "i do not have", "i must decline", "i'd be happy to", "unfortunately, i"),
    *("please provide", "please share", "as an ai language", "as an ai assistant", "as an ai model", "as an ai, "),
    *("as a language model", "as a large language model", "抱歉", "很抱歉", "对不起", "我无法", "我不能", "申し訳"),
)


def spoken(text: str) -> str | None:
    """An answer without what the model thinks aloud (``<think>``); None if that does not end."""
    said, place = [], 0
    while (start := text.find(_OPEN, place)) >= 0:
        said.append(text[place:start])
        end = text.find(_CLOSE, start)
        if end < 0:
            return None
        place = end + len(_CLOSE)
    said.append(text[place:])
    return "".join(said).rpartition(_CLOSE)[2]


def well_formed(text: str) -> str:
    """A text with a replacement character for each half of a surrogate pair, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fault_of(text: str | None, finish: str) -> str:
    """Why an answer is not used, empty if it is."""
    finish = finish.lower()
    if finish in _FILTERED:
        return REFUSED
    if finish not in _WHOLE:
        return CUT
    if text is None:
        return UNFINISHED
    opening = text[:200].strip(" \n\t\"'*#").lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if opening.startswith(_REFUSALS):
        return REFUSED
    return "" if text.strip() else EMPTY


class Answers:
    """JSON answers by key, in one SQLite file that threads and processes may share; each is committed when it is
    added.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        try:
            self._base = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            self._base.execute("CREATE TABLE IF NOT EXISTS answer (key TEXT PRIMARY KEY, document TEXT NOT NULL)")
        except sqlite3.DatabaseError as error:
            raise DataError(
                f"not a file of kept answers ({error})", path=self.path, remedy="delete the file or name another"
            ) from error

    def get(self, key: str) -> dict[str, Any] | None:
        """The kept answer, None if there is none."""
        row = self._row("SELECT document FROM answer WHERE key = ?", key)
        return None if row is None else dict(json.loads(row[0]))

    def put(self, key: str, answer: dict[str, Any]) -> None:
        """Keep an answer."""
        self._row("INSERT OR REPLACE INTO answer VALUES (?, ?)", key, json.dumps(answer))

    def __len__(self) -> int:
        return int(self._row("SELECT count(*) FROM answer")[0])

    def _row(self, command: str, *values: str) -> Any:
        """The first row that a command gives."""
        try:
            with self._lock:
                return self._base.execute(command, values).fetchone()
        except sqlite3.DatabaseError as error:
            remedy = "see that the disk has room, then run again; if the file is damaged, name another"
            raise DataError(
                f"kept answers cannot be read or written ({error})", path=self.path, remedy=remedy
            ) from error

    def close(self) -> None:
        self._base.close()

    def __enter__(self) -> Answers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_MILLION = 1_000_000

_MOST_TOKENS = 1_000_000_000


class BudgetError(EndpointError):
    """The next call would go beyond the budget."""


@dataclass(frozen=True)
class Prices:
    """Price of a million tokens, in any currency."""

    input: float = 0.0
    output: float = 0.0


@dataclass(frozen=True)
class Budget:
    """The most that may be spent; None is no limit.

    Attributes:
        calls: answers of the server; refusals that were tried again do not count.
        tokens: read and written together.
        cost: in the currency of the prices.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Usage:
    """What answers took: their number, tokens and seconds."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.seconds + other.seconds,
        )

    def cost(self, prices: Prices) -> float:
        return (self.input_tokens * prices.input + self.output_tokens * prices.output) / _MILLION


def usage_of(answer: dict[str, Any], seconds: float = 0.0) -> Usage | None:
    """One answer's tokens as its server counted them; None if it did not, or if they cannot be a number of tokens."""
    said = answer.get("usage")
    if not isinstance(said, dict):
        return None
    read, written = said.get("prompt_tokens"), said.get("completion_tokens")
    written = 0 if written is None else written
    return Usage(1, read, written, seconds) if _is_count(read) and _is_count(written) else None


def _is_count(said: Any) -> TypeGuard[int]:
    return type(said) is int and 0 <= said <= _MOST_TOKENS


class Meter:
    """Lets calls pass while the budget lasts, and counts them; several threads may share it.

    A call's tokens are known when it is answered: calls that are under way when tokens or cost run out are finished and
    counted.
    """

    def __init__(self, budget: Budget | None = None, prices: Prices | None = None) -> None:
        self.budget = budget or Budget()
        self.prices = prices or Prices()
        if self.budget.cost is not None and not (self.prices.input or self.prices.output):
            raise EndpointError("a budget in money needs prices. Remedy: say what a million tokens cost")
        self.spent = Usage()
        self._begun = 0
        self._lock = threading.Lock()

    def charged(self, call: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], Usage]:
        """The answer of a call with what it took."""
        with self._lock:
            self._refuse_beyond()
            self._begun += 1
        started = time.monotonic()
        try:
            answer = call()
        except BaseException:
            with self._lock:
                self._begun -= 1
            raise
        seconds = time.monotonic() - started
        usage = usage_of(answer, seconds)
        with self._lock:
            self.spent += usage or Usage(1, seconds=seconds)
        if usage is None and (self.budget.tokens is not None or self.budget.cost is not None):
            raise EndpointError("the server does not count tokens. Remedy: limit the number of calls instead")
        return answer, usage or Usage(1, seconds=seconds)

    def _refuse_beyond(self) -> None:
        tokens = self.spent.input_tokens + self.spent.output_tokens
        counted = (
            (self._begun, self.budget.calls, "{:d} calls"),
            (tokens, self.budget.tokens, "{:d} tokens"),
            (self.spent.cost(self.prices), self.budget.cost, "a cost of {:g}"),
        )
        for used, most, words in counted:
            if most is not None and used >= most:
                raise BudgetError(
                    f"the budget of {words.format(most)} is spent (calls {self._begun}, tokens {tokens}). "
                    "Remedy: raise it and run again; what was answered is kept and not asked again"
                )


_PATH = "/chat/completions"

_TOO_LONG = ("length", "max_tokens", "model_length")


@dataclass(frozen=True)
class Answer:
    """What a model wrote, with what it took then.

    Attributes:
        text: without what it thought aloud; half surrogate pairs are replaced.
        model: as the server names it.
        day: on which it was written, ISO 8601.
        key: what was asked, as a digest.
        kept: whether it was on disk already.
        fault: why it is not to be used (:func:`~patent_mteb.endpoints.chat.fault_of`), empty if it is.
    """

    text: str
    usage: Usage
    model: str
    day: str
    key: str = ""
    kept: bool = False
    fault: str = ""


def who_answered(name: str, answers: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The answers of each model that a server named, and the first and last day; more than one model is a warning."""
    pairs = Counter(answers)
    models, days = Counter[str](), sorted({day for _, day in pairs})
    for (model, _), n in pairs.items():
        models[model] += n
    if len(models) > 1:
        shares = ", ".join(f"{model} {n} times" for model, n in sorted(models.items()))
        told = "%s: %d models answered under this name, from %s to %s: %s"
        logger.warning(told, name, len(models), days[0], days[-1], shares)
    return {"models": dict(sorted(models.items())), "days": [days[0], days[-1]]} if days else {}


class Chat:
    """A language model that answers one message under one instruction, at temperature 0.

    An answer with a fault is asked for once more, unless it was too long; the second is kept, with the usage of both.

    Args:
        model: its name at the server.
        answers: where answers are kept; None asks anew.
        settings: more fields of the request's body, such as ``{"max_tokens": 8}``, or others in place of
            ``temperature``.
        at_once: requests that are under way together.

    Example:
        >>> from patent_mteb.endpoints.chat import Chat
        >>> from patent_mteb.endpoints.client import Endpoint
        >>> Chat(Endpoint("http://localhost:8000/v1"), "my-model").identity
        {'server': 'http://localhost:8000/v1', 'model': 'my-model', 'settings': {'temperature': 0}}
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        answers: Answers | None = None,
        meter: Meter | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        at_once: int = 8,
    ) -> None:
        if reserved := {"model", "messages", "stream", "n"} & set(settings or {}):
            raise EndpointError(
                f"the settings of a request cannot hold {', '.join(sorted(reserved))}. Remedy: leave that out"
            )
        if at_once < 1:
            raise EndpointError(f"{at_once} requests at once are none. Remedy: give a positive number")
        self.endpoint = endpoint
        self.model = model
        self.answers = answers
        self.meter = meter or Meter()
        self.settings = {"temperature": 0, **(settings or {})}
        self.at_once = at_once
        self._guard = threading.Lock()
        self._under_way: weakref.WeakValueDictionary[str, threading.Lock] = weakref.WeakValueDictionary()

    @property
    def identity(self) -> dict[str, Any]:
        """Everything but the question that an answer depends on."""
        return {"server": self.endpoint.url, "model": self.model, "settings": self.settings}

    def ask(self, instruction: str, message: str) -> Answer:
        """The answer, from disk if the same was asked before: threads that ask the same wait for each other.

        Raises:
            EndpointError: there is none, or it is no completion.
            BudgetError: it would have to be asked, and the budget is spent.
        """
        key = digest([self.identity, instruction, message], 64)
        with self._guard:
            lock = self._under_way.setdefault(key, threading.Lock())
        with lock:
            kept = None if self.answers is None else self.answers.get(key)
            if kept is not None and "finish" in kept:  # an older version did not write down how an answer ended
                return self._answer(kept, key, kept=True)
            said = self._asked(instruction, message)
            if self._answer(said, key).fault and said["finish"] not in _TOO_LONG:
                first, said = said, self._asked(instruction, message)
                said["usage"] = asdict(Usage(**first["usage"]) + Usage(**said["usage"]))
            if self.answers is not None:
                self.answers.put(key, said)
            return self._answer(said, key)

    def ask_now(self, instruction: str, message: str) -> Answer:
        """The answer of this moment, which is not kept."""
        return self._answer(self._asked(instruction, message), "")

    def _answer(self, said: Mapping[str, Any], key: str, *, kept: bool = False) -> Answer:
        text = spoken(said["text"])
        fault = fault_of(text, said["finish"])
        return Answer(well_formed(text or ""), Usage(**said["usage"]), said["model"], said["day"], key, kept, fault)

    def ask_all(self, questions: Iterable[tuple[str, str]]) -> Generator[Answer]:
        """The answers in the order of the questions, which are read as they are needed.

        The first error ends it, and so does closing it: what is under way then is finished and kept, nothing more is
        asked.
        """
        waiting: deque[Future[Answer]] = deque()
        with ThreadPoolExecutor(self.at_once) as pool:
            try:
                for question in questions:
                    if len(waiting) >= 2 * self.at_once:
                        yield waiting.popleft().result()
                    waiting.append(pool.submit(self.ask, *question))
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for one in waiting:
                    one.cancel()

    def _asked(self, instruction: str, message: str) -> dict[str, Any]:
        """What the server answers now, as it is kept."""
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
                f"{self.endpoint.url}{_PATH} answered no completion with a text:"
                f" {self.endpoint.without_key(str(document))[:300]}. Remedy: check that the address is an"
                " OpenAI-compatible one and that the model writes text"
            )
        model = document.get("model")
        return {
            "text": text,
            "finish": finish,
            "usage": asdict(usage),
            "model": well_formed(model) if model and isinstance(model, str) else self.model,
            "day": dt.datetime.now(dt.UTC).date().isoformat(),
        }
