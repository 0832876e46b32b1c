"""The options of commands that ask a language model: budget, prices, kept answers, requests at once."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patent_mteb.cli import common
from patent_mteb.endpoints.client import KEY_VARIABLE
from patent_mteb.errors import DataError
from patent_mteb.files import cache_root

if TYPE_CHECKING:
    from patent_mteb.endpoints.chat import Chat


def add_asking(parser: argparse.ArgumentParser) -> None:
    """Everything but the address."""
    group = parser.add_argument_group(
        "language model", "a server that speaks the OpenAI protocol; what it answered is never asked again"
    )
    group.add_argument(
        "--key-variable", default=KEY_VARIABLE, metavar="NAME", help="environment variable that holds the key"
    )
    group.add_argument(
        "--answers",
        type=Path,
        metavar="FILE",
        help="where answers are kept; without it answers.sqlite in the user cache",
    )
    group.add_argument(
        "--at-once", type=common.positive, default=8, metavar="N", help="requests that are under way together"
    )
    group.add_argument(
        "--timeout", type=common.amount, default=120.0, metavar="S", help="seconds that an answer may take"
    )
    group.add_argument(
        "--request",
        metavar="JSON",
        help="more fields of each request, such as '{\"max_tokens\": 16}'; temperature is 0",
    )
    group.add_argument("--budget-calls", type=common.positive, metavar="N", help="stop before more calls than these")
    group.add_argument(
        "--budget-tokens", type=common.positive, metavar="N", help="stop when so many tokens are read and written"
    )
    group.add_argument(
        "--budget-cost", type=common.amount, metavar="C", help="stop when so much is spent, at these prices:"
    )
    group.add_argument(
        "--price-input", type=common.amount, default=0.0, metavar="P", help="of a million tokens that are read"
    )
    group.add_argument(
        "--price-output", type=common.amount, default=0.0, metavar="P", help="of a million tokens that are written"
    )


def chat_of(args: argparse.Namespace, url: str, model: str) -> Chat:
    """The model behind an address, with what the options say."""
    from patent_mteb.endpoints.chat import Answers, Budget, Chat, Meter, Prices
    from patent_mteb.endpoints.client import Endpoint

    budget = Budget(args.budget_calls, args.budget_tokens, args.budget_cost)
    meter = Meter(budget, Prices(args.price_input, args.price_output))
    endpoint = Endpoint(url, key_variable=args.key_variable, timeout=args.timeout)
    answers = Answers(args.answers or cache_root() / "answers.sqlite")
    return Chat(endpoint, model, answers, meter, settings=_settings(args.request), at_once=args.at_once)


def _settings(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise DataError(f"--request is no JSON ({error})", remedy="write it like '{\"max_tokens\": 16}'") from error
    if not isinstance(found, dict):
        raise DataError("--request is no JSON object", remedy="write it like '{\"max_tokens\": 16}'")
    return found
