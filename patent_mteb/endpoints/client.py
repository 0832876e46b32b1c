"""One request to a server that speaks the OpenAI protocol, tried again where a refusal may pass.

The key, if the server wants one, is read from an environment variable at each request and goes nowhere else: errors show ``***`` in its
place, also where the server repeats it. A redirection is not followed, for it would carry the key to another host.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import logging
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from patent_mteb.errors import PatentMTEBError

logger = logging.getLogger(__name__)

__all__ = ["KEY_VARIABLE", "Endpoint", "EndpointError"]

KEY_VARIABLE = "OPENAI_API_KEY"
_PASSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_LONGEST_PAUSE = 120.0
_SHOWN = 300


class EndpointError(PatentMTEBError):
    """A server that cannot be reached, refuses, or answers what cannot be used."""


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class Endpoint:
    """A server by its address.

    Args:
        url: up to and including the version, such as ``https://host/v1``; without name, password and question mark.
        key_variable: environment variable that holds the key.
        timeout: seconds that one answer may take.
        retries: further attempts after a refusal that may pass (too many requests, server errors, no connection).
        pause: seconds before the first of them, doubled for each other; a server that says how long to wait (``Retry-After``) is obeyed,
            up to two minutes.

    Raises:
        EndpointError: the address is none.

    Example:
        >>> from patent_mteb.endpoints.client import Endpoint
        >>> Endpoint("http://localhost:8000/v1/").url
        'http://localhost:8000/v1'
    """

    def __init__(self, url: str, *, key_variable: str = KEY_VARIABLE, timeout: float = 120.0, retries: int = 5, pause: float = 1.0) -> None:
        try:
            parts = urllib.parse.urlsplit(url)
        except ValueError:  # a bracket that is not closed
            parts = urllib.parse.urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EndpointError(f"{url!r} is no address of a server. Remedy: write it like http://localhost:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise EndpointError(
                f"the address of {parts.hostname} holds more than host and path, and it is written into results. "
                f"Remedy: put the key into the environment variable {key_variable}"
            )
        self.url = url.rstrip("/")
        self.key_variable = key_variable
        self.timeout = timeout
        self.retries = retries
        self.pause = pause
        self._opener = urllib.request.build_opener(_Stay)

    def post_json(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object with which the server answers a JSON body.

        Args:
            path: below the address, such as ``/chat/completions`` or ``/embeddings``.

        Raises:
            EndpointError: no answer after all attempts, a refusal, an answer that is no JSON object, or a key that no request can hold.
        """
        url = self.url + path
        data = json.dumps(body).encode()
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            wait = min(self.pause * 2**attempt, _LONGEST_PAUSE)
            try:
                with self._opener.open(self._request(url, data), timeout=self.timeout) as response:
                    return self._parsed(url, response.read())
            except urllib.error.HTTPError as error:
                said = self.without_key(_body_of(error).decode(errors="replace"))[:_SHOWN]
                if error.code not in _PASSES or last:
                    raise EndpointError(f"{url} answered {error.code}: {said}. Remedy: {self._remedy(error.code)}") from None
                wait = _asked_to_wait(error.headers.get("Retry-After"), wait)
                logger.info("%s answered %d, trying again in %.1f s", url, error.code, wait)
            except (OSError, http.client.HTTPException) as error:
                if last:
                    raise EndpointError(f"{url} cannot be reached ({error}). Remedy: see that the server runs, then run again") from None
                logger.info("%s cannot be reached (%s), trying again in %.1f s", url, error, wait)
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _key(self) -> str:
        return os.environ.get(self.key_variable, "").strip()

    def _request(self, url: str, data: bytes) -> urllib.request.Request:
        key = self._key()
        if not (key.isascii() and key.isprintable()):
            problem = f"the key in {self.key_variable} has a line break or a sign that is no ASCII"
            raise EndpointError(f"{problem}. Remedy: put it there as it was issued")
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        return urllib.request.Request(url, data=data, headers=headers)

    def without_key(self, text: str) -> str:
        """A text of the server that may be shown."""
        return text.replace(key, "***") if (key := self._key()) else text

    def _parsed(self, url: str, raw: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(raw)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            said = self.without_key(raw.decode(errors="replace"))[:_SHOWN]
            raise EndpointError(f"{url} answered no JSON object: {said!r}. Remedy: check the address; it usually ends with /v1")
        return answer

    def _remedy(self, code: int) -> str:
        if code in (401, 403):
            return f"put a valid key into the environment variable {self.key_variable}"
        if code == 404:
            return "check address and name of the model; an address usually ends with /v1"
        if code in _PASSES:
            return "wait, ask less at once, then run again: what was answered is kept"
        if 300 <= code < 400:
            return "give the address that it redirects to"
        return "see what the server says; a text that is too long for the model can be cut"


def _body_of(refusal: urllib.error.HTTPError) -> bytes:
    """The beginning of what a server says to its refusal; nothing if the connection breaks off meanwhile."""
    try:
        return refusal.read(_SHOWN * 4)
    except (OSError, http.client.HTTPException):
        return b""


def _asked_to_wait(said: str | None, usual: float) -> float:
    """Seconds of a ``Retry-After`` header (a number, or a date), within reason."""
    try:
        seconds = float(said or usual)
    except ValueError:
        day = email.utils.parsedate_tz(said)
        seconds = usual if day is None else email.utils.mktime_tz(day) - time.time()
    return min(max(seconds, 0.0), _LONGEST_PAUSE) if seconds == seconds else usual
