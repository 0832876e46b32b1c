"""One request to a server that speaks the OpenAI protocol, tried again where a refusal may pass.

The key, if the server wants one, is read from an environment variable at each request and goes nowhere else: errors
show ``***`` in its place, also where the server repeats it. A redirection is not followed, for it would carry the key
to another host. An answer is read for a limited time and up to a limited size, however slowly the server sends it.
"""

from __future__ import annotations

import base64
import binascii
import email.utils
import http.client
import io
import ipaddress
import json
import logging
import os
import re
import socket
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
_LARGEST = 64 << 20
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}")


class EndpointError(PatentMTEBError):
    """A server that cannot be reached, refuses, or answers what cannot be used."""


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class _InTime(io.RawIOBase):
    """What a socket sends, until a deadline: the timeout of a socket alone starts again with each byte."""

    def __init__(self, stream: io.RawIOBase, sock: socket.socket) -> None:
        self._stream, self._sock = stream, sock
        self._seconds = sock.gettimeout()
        self._started = time.monotonic()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._seconds is not None:
            left = self._seconds - (time.monotonic() - self._started)
            if left <= 0:
                raise TimeoutError("timed out")
            self._sock.settimeout(left)
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_InTime(self.fp.detach(), sock))


class _Http(http.client.HTTPConnection):
    response_class = _Response


class _Https(http.client.HTTPSConnection):
    response_class = _Response


class _HttpHandler(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Http, request)


class _HttpsHandler(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Https, request)


class Endpoint:
    """A server by its address.

    Args:
        url: up to and including the version, such as ``https://host/v1``; without name, password and question mark.
        key_variable: environment variable that holds the key.
        timeout: seconds that one answer may take, from the request to its last byte.
        retries: further attempts after a refusal that may pass (too many requests, server errors, no connection).
        pause: seconds before the first of them, doubled for each other; a server that says how long to wait
            (``Retry-After``) is obeyed, up to two minutes.
        largest: bytes that one answer may have.

    Raises:
        EndpointError: the address is none.

    Example:
        >>> from patent_mteb.endpoints.client import Endpoint
        >>> Endpoint("http://localhost:8000/v1/").url
        'http://localhost:8000/v1'
    """

    def __init__(
        self,
        url: str,
        *,
        key_variable: str = KEY_VARIABLE,
        timeout: float = 120.0,
        retries: int = 5,
        pause: float = 1.0,
        largest: int = _LARGEST,
    ) -> None:
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
        self.largest = largest
        self._opener = urllib.request.build_opener(_Stay, _HttpHandler, _HttpsHandler)
        if parts.scheme == "http" and self._key() and not _is_local(parts.hostname):
            told = "%s is not encrypted: the key in %s can be read on its way. Use https"
            logger.warning(told, self.url, key_variable)

    def post_json(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object with which the server answers a JSON body.

        Args:
            path: below the address, such as ``/chat/completions`` or ``/embeddings``.

        Raises:
            EndpointError: no answer after all attempts, a refusal, an answer that is too large or not a JSON object, or
                a key that no request can hold.
        """
        url = self.url + path
        data = json.dumps(body).encode()
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            wait = min(self.pause * 2**attempt, _LONGEST_PAUSE)
            try:
                with self._opener.open(self._request(url, data), timeout=self.timeout) as response:
                    raw = response.read(self.largest + 1)
                    if response.length and len(raw) <= self.largest:
                        raise http.client.IncompleteRead(raw, response.length)
                    return self._parsed(url, raw)
            except urllib.error.HTTPError as error:
                said = self.without_key(_body_of(error).decode(errors="replace"))[:_SHOWN]
                if error.code not in _PASSES or last:
                    raise EndpointError(
                        f"{url} answered {error.code}: {said}. Remedy: {self._remedy(error.code)}"
                    ) from None
                wait = _asked_to_wait(error.headers.get("Retry-After"), wait)
                logger.info("%s answered %d, trying again in %.1f s", url, error.code, wait)
            except (OSError, http.client.HTTPException) as error:
                if last and isinstance(error, TimeoutError):
                    remedy = "give it more time, or ask less at once, then run again"
                    raise EndpointError(
                        f"{url} gave no whole answer in {self.timeout:g} seconds. Remedy: {remedy}",
                    ) from None
                if last:
                    raise EndpointError(
                        f"{url} cannot be reached ({error}). Remedy: see that the server runs, then run again"
                    ) from None
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
        """A text of the server that may be shown: the key is masked, in base64 too."""
        if not (key := self._key()):
            return text
        return _BASE64.sub(lambda found: "***" if key in _decoded(found[0]) else found[0], text).replace(key, "***")

    def _parsed(self, url: str, raw: bytes) -> dict[str, Any]:
        if len(raw) > self.largest:
            remedy = "see what the server sends; ask it for less"
            raise EndpointError(f"{url} answered more than {self.largest} bytes. Remedy: {remedy}")
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            said = self.without_key(raw.decode(errors="replace"))[:_SHOWN]
            raise EndpointError(
                f"{url} answered no JSON object: {said!r}. Remedy: check the address; it usually ends with /v1"
            )
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
        try:
            seconds = usual if day is None else email.utils.mktime_tz(day) - time.time()
        except (ValueError, OverflowError):  # a year that no calendar has
            seconds = usual
    return min(max(seconds, 0.0), _LONGEST_PAUSE) if seconds == seconds else usual


def _is_local(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _decoded(text: str) -> str:
    """A run of base64 as text, whatever its padding."""
    plain = text.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + "=" * (-len(plain) % 4)).decode("latin-1")
    except (binascii.Error, ValueError):
        return ""
