"""Questions to a language model behind ``/chat/completions``: kept, metered, several at once, in order."""

from __future__ import annotations

import datetime as dt
import threading
import weakref
from collections import deque
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

from patent_mteb.endpoints.answers import Answers
from patent_mteb.endpoints.budget import Meter, Usage
from patent_mteb.endpoints.client import Endpoint, EndpointError
from patent_mteb.identity import digest

__all__ = ["Answer", "Chat"]

_PATH = "/chat/completions"


@dataclass(frozen=True)
class Answer:
    """What a model wrote, with what it took then.

    Attributes:
        model: as the server names it.
        day: on which it was written, ISO 8601.
        key: what was asked, as a digest.
        kept: whether it was on disk already.
    """

    text: str
    usage: Usage
    model: str
    day: str
    key: str = ""
    kept: bool = False


class Chat:
    """A language model that answers one message under one instruction, at temperature 0.

    Args:
        model: its name at the server.
        answers: where answers are kept; None asks anew.
        settings: more fields of the request's body, such as ``{"max_tokens": 8}``, or others in place of ``temperature``.
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
            raise EndpointError(f"the settings of a request cannot hold {', '.join(sorted(reserved))}. Remedy: leave that out")
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
            if self.answers is not None and (kept := self.answers.get(key)) is not None:
                return Answer(kept["text"], Usage(**kept["usage"]), kept["model"], kept["day"], key, kept=True)
            answer = replace(self._asked(instruction, message), key=key)
            if self.answers is not None:
                self.answers.put(key, {name: value for name, value in asdict(answer).items() if name not in ("key", "kept")})
            return answer

    def ask_all(self, questions: Iterable[tuple[str, str]]) -> Generator[Answer]:
        """The answers in the order of the questions, which are read as they are needed.

        The first error ends it, and so does closing it: what is under way then is finished and kept, nothing more is asked.
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

    def _asked(self, instruction: str, message: str) -> Answer:
        messages = [{"role": "system", "content": instruction}, {"role": "user", "content": message}]
        body = {"model": self.model, **self.settings, "messages": messages}
        document, usage = self.meter.charged(lambda: self.endpoint.post_json(_PATH, body))
        try:
            text = document["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            text = None
        if not isinstance(text, str):
            raise EndpointError(
                f"{self.endpoint.url}{_PATH} answered no completion with a text: {self.endpoint.without_key(str(document))[:300]}. "
                "Remedy: check that the address is an OpenAI-compatible one and that the model writes text"
            )
        return Answer(text, usage, str(document.get("model") or self.model), dt.datetime.now(dt.UTC).date().isoformat())
