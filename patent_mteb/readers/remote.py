"""Input files at an address (``https://``, ``s3://``, ``gs://``, …), which fsspec copies to the cache folder.

The copies are private to the user (:func:`forget` removes them). No message and no file holds the user, the password
or the query of an address: a query may be a signature.
"""

from __future__ import annotations

import io
import logging
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from http.client import responses
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from patent_mteb.errors import DataError
from patent_mteb.files import Unpacked, cache_root, private_folder, read_json, replacing, write_json
from patent_mteb.identity import digest

logger = logging.getLogger(__name__)
_STATE = ("size", "ETag", "etag", "LastModified", "last_modified", "updated", "mtime")
"""What file systems say of the state of a file."""
_PATIENCE = 300.0
"""Seconds without a byte after which a download ends: aiohttp's default for a whole download."""
_ADDRESS = re.compile(r"(\w[\w+.-]*://)(\S*@)?([^\s?#;]*)([?#;]\S*)?")
_LONGEST_NAME = 150
"""Bytes of a copy's name. File systems allow 255, and a name in progress is longer."""
_DENIED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED)


def without_secrets(text: str) -> str:
    """Return a text without the users, passwords and queries of the addresses in it."""
    return _ADDRESS.sub(lambda found: f"{found[1]}{'…@' * bool(found[2])}{found[3]}{'?…' * bool(found[4])}", text)


def local_files(address: str, show_progress: bool = False) -> Iterator[Path]:
    """Yield a path as it is, or the copies of the files at an address; stars match several, in the order of names.

    A file is copied again if its size, tag or date has changed, or if the server says neither tag nor date. Files of
    this computer (``file://``) are not copied.
    """
    if "://" not in address:
        yield Path(address)
        return
    import fsspec

    try:
        protocol, mark, rest = address.partition("://")
        address = protocol.lower() + mark + rest
        answer = _Answer()
        system, path = fsspec.core.url_to_fs(address, **_options(address, answer))
        paths = sorted(system.glob(path)) if "*" in path else [path]
        if not paths:
            raise FileNotFoundError(address)
        is_local = "file" in system.protocol
        for one in paths:
            yield _existing(Path(one)) if is_local else _copied(system, one, answer, show_progress)
    except Exception as error:  # each file system raises errors of its own
        shown = without_secrets(re.sub(r"\s", "%20", address))
        raise _problem(shown, error) from None  # its context holds the address


@dataclass
class _Answer:
    """The encoding of the last answer of a server, which the session does not undo: aiohttp accepts a cut one."""

    encoding: str = ""

    async def look(self, response: Any) -> None:
        """Refuse an answer that is not the whole file, such as 206 or a redirect to nowhere; fsspec reports errors."""
        import aiohttp

        if "Range" in response.request_info.headers:
            return
        if HTTPStatus.OK < response.status < HTTPStatus.BAD_REQUEST and response.status not in _WHOLE:
            raise aiohttp.ClientResponseError(response.request_info, (), status=response.status)
        self.encoding = response.headers.get("Content-Encoding", "").strip().lower()


def _options(address: str, answer: _Answer) -> dict[str, Any]:
    """Let a download take as long as bytes arrive: aiohttp ends each after five minutes in total."""
    if not address.startswith(("http://", "https://")):
        return {}
    import aiohttp

    session = {
        "timeout": aiohttp.ClientTimeout(total=None, sock_connect=60, sock_read=_PATIENCE),
        "headers": {"Accept-Encoding": "identity"},
        "auto_decompress": False,
        "raise_for_status": answer.look,
    }
    return {"client_kwargs": session, "skip_instance_cache": True}


def _existing(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(path)
    return path


_WHOLE = (HTTPStatus.NON_AUTHORITATIVE_INFORMATION,)  # a proxy changed it
_CUT = ("ContentLengthError", "TransferEncodingError")  # of aiohttp, for an answer shorter than it states


def _problem(address: str, error: Exception) -> DataError:
    """Return the error of a file system in words, without secrets."""
    if isinstance(error, DataError):
        return error
    if isinstance(error, ImportError):
        return DataError(f"{address} needs another package ({error})", remedy="pip install -e '.[remote]'")
    missing = DataError(f"there is no file at {address}", remedy="correct the address")
    remedy = "check your access to it and try again, or download the file and name its path"
    causes = list(_causes(error))
    if any(type(cause).__name__ in _CUT for cause in causes):
        reason = "the answer ended early"
    elif any(type(cause).__module__ == "aiohttp.http_exceptions" for cause in causes):  # has a status of aiohttp's own
        reason = "the answer is not HTTP"
    elif status := next((cause.status for cause in causes if isinstance(getattr(cause, "status", None), int)), 0):
        if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            return missing
        reason = f"the server answers {status}, {responses.get(status, 'unknown')}"
        if status in _DENIED:
            remedy = f"the address needs a password, a token or a newer signature; {remedy}"
    else:  # fsspec raises FileNotFoundError where it does not reach a server, too
        failures = [
            cause for cause in causes if type(cause).__module__.startswith("aiohttp.") or isinstance(cause, ValueError)
        ]
        if isinstance(error, FileNotFoundError) and not failures:
            return missing
        reason = " ".join(without_secrets(str([*failures, error][0])).split()) or type(error).__name__
    return DataError(f"{address} cannot be read ({reason})", remedy=remedy)


def _causes(error: BaseException | None) -> Iterator[Any]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _copied(system: Any, path: str, answer: _Answer, show_progress: bool) -> Path:
    from fsspec.callbacks import TqdmCallback

    address = system.unstrip_protocol(path)
    folder = cache_root() / "inputs" / digest(address, 16)
    copy, known = folder / _name(address), folder / ".state.json"
    found = system.info(path)
    _say_redirect(address, str(found.get("url") or address))
    state = {name: str(found[name]) for name in _STATE if found.get(name)}
    if copy.is_file() and len(state) > 1 and read_json(known) == state:
        return copy
    for private in (folder.parent, folder):
        private_folder(private)
    known.unlink(missing_ok=True)
    bar = {"desc": copy.name, "unit": "B", "unit_scale": True, "disable": not show_progress}
    with replacing(copy) as partial:
        partial.touch(mode=0o600)
        system.get_file(path, str(partial), callback=TqdmCallback(tqdm_kwargs=bar))
        _decode(partial, answer.encoding)
        size, expected = partial.stat().st_size, found.get("size")
        if expected and size != expected:  # some servers state 0 before the file itself
            raise OSError(f"{size} of {expected} bytes arrived")
    write_json(known, state)
    return copy


def _decode(path: Path, encoding: str) -> None:
    """Replace an encoded answer by the file; one that ends early or is damaged is an error."""
    if encoding in ("", "identity"):
        return
    if encoding not in ("gzip", "x-gzip"):
        raise OSError(f"the answer has the encoding '{encoding}'")
    if not path.stat().st_size:
        raise EOFError("the answer ended early")
    with replacing(path) as decoded:
        decoded.touch(mode=0o600)
        try:
            with io.BufferedReader(Unpacked(path)) as stream, decoded.open("wb") as out:
                shutil.copyfileobj(stream, out)
        except DataError as error:  # names a file that is removed
            raise OSError(error.problem) from None


def _name(address: str) -> str:
    """The name of a copy: that of the file, which a long name only begins."""
    name = PurePosixPath(urlsplit(address).path).name.lstrip(".") or "file"
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    return f"{digest(name, 16)}{''.join(PurePosixPath(name).suffixes[-2:])[-16:]}"


def _say_redirect(asked: str, answered: str) -> None:
    hosts = [urlsplit(one).hostname for one in (asked, answered)]
    if hosts[0] != hosts[1]:
        logger.warning("%s is answered by another server, %s", without_secrets(asked), hosts[1])
