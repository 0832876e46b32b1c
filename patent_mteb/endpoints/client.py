"""HTTP client for servers of the OpenAI protocol, with retries after temporary errors.

The key is read from an environment variable at each request. Messages show ``***`` in its place, also where the server
repeats it. Redirects are not followed, because they would send the key to another host. Time and size of an answer are
limited, even if the server sends it slowly.
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

from patent_mteb.endpoints import KEY_VARIABLE
from patent_mteb.errors import PatentMTEBError

logger = logging.getLogger(__name__)
_TEMPORARY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_LONGEST_PAUSE = 120.0  # seconds; servers that name a later time are asked again after this, a choice
_SHOWN = 300  # characters of an error that a message quotes: a few lines
_LARGEST = 64 << 20  # bytes, a choice: 1,000 vectors of 4,096 numbers as JSON are about as large
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}")


class EndpointError(PatentMTEBError):
    """A server is unreachable, refuses a request, or gives an unusable answer."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class _DeadlineStream(io.RawIOBase):
    """A socket stream with one deadline for all bytes: a socket's own timeout starts again with every read."""

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
        self.fp = io.BufferedReader(_DeadlineStream(self.fp.detach(), sock))


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
    def __init__(
        self,
        url: str,  # with the version, such as https://host/v1; without credentials, query and fragment
        *,
        key_variable: str = KEY_VARIABLE,  # environment variable that holds the key
        timeout: float = 120.0,  # seconds from the request to the last byte of its answer
        retries: int = 5,  # after a temporary error (too many requests, server errors, no connection)
        pause: float = 1.0,  # seconds before the first retry, doubled for each further one, unless the server names one
        largest: int = _LARGEST,  # maximum size of an answer in bytes
    ) -> None:
        try:
            parts = urllib.parse.urlsplit(url)
        except ValueError:  # a bracket that is not closed
            parts = urllib.parse.urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EndpointError(f"{url!r} is not a server address", remedy="write it like http://localhost:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise EndpointError(
                f"the address of {parts.hostname} has more than host and path, and it is written into results",
                remedy=f"put the key into the environment variable {key_variable}",
            )
        self.url, self.key_variable = url.rstrip("/"), key_variable
        self.timeout, self.retries, self.pause, self.largest = timeout, retries, pause, largest
        self._opener = urllib.request.build_opener(_NoRedirect, _HttpHandler, _HttpsHandler)
        if parts.scheme == "http" and self._key() and not _is_local(parts.hostname):
            logger.warning("%s is not encrypted and would expose the key in %s. Use https", self.url, key_variable)

    def post_json(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Post a JSON body to a path such as ``/embeddings``, and return the JSON object of the answer."""
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
                try:
                    beginning = error.read(_SHOWN * 4)
                except (OSError, http.client.HTTPException):  # the connection breaks
                    beginning = b""
                body_text = self.without_key(beginning.decode(errors="replace"))[:_SHOWN]
                if error.code not in _TEMPORARY or last:
                    raise EndpointError(
                        f"{url} answered {error.code}: {body_text}", remedy=self._remedy(error.code)
                    ) from None
                wait = _retry_after(error.headers.get("Retry-After"), wait)
                logger.info("%s answered %d, trying again in %.1f s", url, error.code, wait)
            except (OSError, http.client.HTTPException) as error:
                if last:
                    problem, remedy = f"{url} cannot be reached ({error})", "check that the server runs, then run again"
                    if isinstance(error, TimeoutError):
                        problem = f"{url} did not complete its answer in {self.timeout:g} seconds"
                        remedy = "raise the timeout, or send smaller requests, then run again"
                    raise EndpointError(problem, remedy=remedy) from None
                logger.info("%s cannot be reached (%s), trying again in %.1f s", url, error, wait)
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _key(self) -> str:
        return os.environ.get(self.key_variable, "").strip()

    def _request(self, url: str, data: bytes) -> urllib.request.Request:
        key = self._key()
        if not (key.isascii() and key.isprintable()):
            raise EndpointError(
                f"the key in {self.key_variable} has a line break or a character outside ASCII",
                remedy="set the key as it was issued",
            )
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        return urllib.request.Request(url, data=data, headers=headers)

    def without_key(self, text: str) -> str:
        """Mask the key in a text of the server, also in base64."""
        if not (key := self._key()):
            return text
        return _BASE64.sub(lambda match: "***" if key in _decoded(match[0]) else match[0], text).replace(key, "***")

    def _parsed(self, url: str, raw: bytes) -> dict[str, Any]:
        if len(raw) > self.largest:
            raise EndpointError(f"{url} answered more than {self.largest} bytes", remedy="send smaller requests")
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            shown = self.without_key(raw.decode(errors="replace"))[:_SHOWN]
            raise EndpointError(
                f"the answer of {url} is not a JSON object: {shown!r}",
                remedy="check the address; it usually ends with /v1",
            )
        return answer

    def _remedy(self, code: int) -> str:
        if code in (401, 403):
            return f"put a valid key into the environment variable {self.key_variable}"
        if code == 404:
            return "check the address and the name of the model; an address usually ends with /v1"
        if code in _TEMPORARY:
            return "wait, send fewer requests at once, then run again: earlier answers are cached"
        if 300 <= code < 400:
            return "give the address that it redirects to"
        return "read the server's message; shorten texts that are too long for the model"


def _retry_after(header: str | None, default: float) -> float:
    """Seconds of a ``Retry-After`` header (a number or a date), at most two minutes."""
    try:
        seconds = float(header or default)
    except ValueError:
        day = email.utils.parsedate_tz(header)
        try:
            seconds = default if day is None else email.utils.mktime_tz(day) - time.time()
        except (ValueError, OverflowError):  # a year out of range
            seconds = default
    return min(max(seconds, 0.0), _LONGEST_PAUSE) if seconds == seconds else default  # NaN


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _decoded(text: str) -> str:
    """Decode base64 with any padding; empty if it is invalid."""
    plain = text.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + "=" * (-len(plain) % 4)).decode("latin-1")
    except (binascii.Error, ValueError):
        return ""
