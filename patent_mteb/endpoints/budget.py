"""What asking a server may cost, and what it has cost: calls, tokens, money."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from patent_mteb.endpoints.client import EndpointError

__all__ = ["Budget", "BudgetError", "Meter", "Prices", "Usage", "usage_of"]

_MILLION = 1_000_000


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
    """What answers took: their number, tokens and seconds.

    Example:
        >>> from patent_mteb.endpoints.budget import Prices, Usage
        >>> total = Usage(1, 900, 100, 2.0) + Usage(1, 1100, 100, 1.0)
        >>> total.calls, total.cost(Prices(input=2.0, output=10.0))
        (2, 0.006)
    """

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
    """One answer's tokens as its server counted them; None if it did not.

    Example:
        >>> from patent_mteb.endpoints.budget import usage_of
        >>> usage_of({"usage": {"prompt_tokens": 12, "completion_tokens": 3}})
        Usage(calls=1, input_tokens=12, output_tokens=3, seconds=0.0)
    """
    said = answer.get("usage")
    read, written = (said.get("prompt_tokens"), said.get("completion_tokens", 0)) if isinstance(said, dict) else (None, 0)
    if not isinstance(read, int) or not isinstance(written or 0, int):
        return None
    return Usage(1, read, written or 0, seconds)


class Meter:
    """Lets calls pass while the budget lasts, and counts them; several threads may share it.

    A call's tokens are known when it is answered: calls that are under way when tokens or cost run out are finished and counted.

    Example:
        >>> from patent_mteb.endpoints.budget import Budget, BudgetError, Meter
        >>> meter = Meter(Budget(calls=1))
        >>> meter.charged(lambda: {"usage": {"prompt_tokens": 12}})[1].input_tokens
        12
        >>> try:
        ...     meter.charged(lambda: {})
        ... except BudgetError as error:
        ...     print(str(error).partition(".")[0])
        the budget of 1 calls is spent (calls 1, tokens 12)
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
        """The answer of a call with what it took.

        Raises:
            BudgetError: there is no budget left for it; it was not made.
            EndpointError: a budget in tokens or money, and the server does not count tokens.
        """
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
