"""Requests to the Hugging Face hub: the commit of a revision, and the files of a commit.

A pin is a commit, a short hash (the one commit with this prefix), or a branch or tag (the commit that the hub names at
the first request of a process).

Files are fetched by commit only, so that all files of a data set are of one state. The commit of a branch is stored
where the hub's client stores it (``refs``), and read from there when the hub cannot be reached. Failures are cached for
the process, because many tasks share a data set, until token, endpoint or offline setting change, or :func:`forget`.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from patent_mteb.errors import AccessError
from patent_mteb.files import cache_root, write_text
from patent_mteb.identity import digest

logger = logging.getLogger(__name__)

_FULL_DISK = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
_commits: dict[tuple[object, ...], str] = {}
_failures: dict[tuple[object, ...], AccessError] = {}


def is_commit(revision: str) -> bool:
    """Whether a revision is the full hash of a commit."""
    return bool(re.fullmatch("[0-9a-f]{40}", revision))


def is_short(revision: str) -> bool:
    """Whether a revision is the beginning of a commit's hash."""
    return bool(re.fullmatch("[0-9a-f]{7,39}", revision))


def matches_pin(pinned: str, revision: str) -> bool:
    """Whether a pin allows a revision: the commit, a commit with this prefix, or any commit of a branch."""
    if is_commit(pinned):
        return revision == pinned
    if is_short(pinned):
        return revision == pinned or (is_commit(revision) and revision.startswith(pinned))
    return bool(pinned) and is_commit(revision)


def cached_commit(key: str, revision: str) -> str:
    """Return the commit that the client's cache has for a revision, empty for none, without a request."""
    if is_commit(revision):
        return revision
    folder = _cache_of(key)
    try:
        if is_short(revision):
            found = [path.name for path in (folder / "snapshots").glob(f"{revision}*") if is_commit(path.name)]
        else:
            found = [(folder / "refs" / revision).read_text("ascii").strip()]
    except (OSError, ValueError):
        return ""
    return found[0] if len(found) == 1 and is_commit(found[0]) else ""


def commit_of(key: str, revision: str, file: str, *, gated: bool = False) -> str:
    """Return the commit of a revision of a data set; a branch is requested once a process."""
    cached = cached_commit(key, revision)
    if is_commit(revision) or (cached and is_short(revision)):
        return cached
    known = (*_state(), key, revision)
    if known not in _commits:
        try:
            with _cached_failures(key, revision, file, gated):
                _commits[known] = _commit_on_hub(key, revision, file)
            if not is_short(revision):
                with suppress(OSError):  # a read-only cache
                    write_text(_cache_of(key) / "refs" / revision, _commits[known])
        except AccessError as error:
            if not cached:
                raise
            logger.warning("%s; commit %s of %s is taken from the hub client's cache", error.problem, cached[:12], key)
            _commits[known] = cached
    return _commits[known]


def fetch(key: str, commit: str, file: str, *, gated: bool = False) -> Path:
    """Return the local path of a file of a commit, from the client's cache or from the hub."""
    from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache

    cached = try_to_load_from_cache(key, file, revision=commit, repo_type="dataset")
    damaged = isinstance(cached, str) and not _intact(Path(cached))
    if isinstance(cached, str) and not damaged:
        return Path(cached)
    if damaged and constants.HF_HUB_OFFLINE:
        remedy = "connect to the network and unset HF_HUB_OFFLINE, so that it is downloaded again"
        raise AccessError("the cached file is damaged", path=str(cached), remedy=remedy)
    if damaged:
        logger.warning("%s: the cached file is damaged; it is downloaded again", cached)
    with _cached_failures(key, commit, file, gated):
        found = Path(hf_hub_download(key, file, repo_type="dataset", revision=commit, force_download=damaged))
    if not _intact(found):
        remedy = f"delete {found.resolve()} and run again; if it happens twice, look at proxy and network"
        raise AccessError("the download does not have the checksum that the hub states", path=found, remedy=remedy)
    return found


def _intact(path: Path) -> bool:
    """Whether a file of the client's cache has the content that its name states."""
    stored = path.resolve()
    # on a system without symbolic links, the name does not state it
    return stored.parent.name != "blobs" or matches_etag(stored, stored.name)


def matches_etag(path: Path, etag: str) -> bool:
    """Whether the bytes of a file are those of an etag of the hub: a SHA-256, or git's hash of a small file.

    A file that matches is hashed once, unless it changes.
    """
    status = path.stat()
    note = cache_root() / "downloads" / digest([str(path.resolve()), etag, status.st_size, status.st_mtime_ns], 32)
    if note.is_file():
        return True
    hashed = hashlib.sha256()
    if len(etag) != 64:
        hashed = hashlib.sha1(f"blob {status.st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        hashlib.file_digest(stream, lambda: hashed)
    if hashed.hexdigest() != etag:
        return False
    with suppress(OSError):  # a read-only cache costs time only
        write_text(note, "")
    return True


def forget() -> None:
    """Forget the commits of branches and the failed requests, so that they are requested again."""
    _commits.clear()
    _failures.clear()


def _cache_of(key: str) -> Path:
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    return Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=key, repo_type="dataset")


def _state() -> tuple[object, ...]:
    """Return the settings on which an answer of the hub depends."""
    from huggingface_hub import constants, get_token

    return constants.ENDPOINT, constants.HF_HUB_CACHE, constants.HF_HUB_OFFLINE, get_token()


def _commit_on_hub(key: str, revision: str, file: str) -> str:
    """Return the commit that the hub names in a file's header; a short hash is searched in the list of commits."""
    from huggingface_hub import HfApi, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import FileMetadataError, RemoteEntryNotFoundError, RevisionNotFoundError

    commit: str | None
    try:
        commit = get_hf_file_metadata(hf_hub_url(key, file, repo_type="dataset", revision=revision)).commit_hash
    except RemoteEntryNotFoundError as error:
        commit = error.response.headers.get("X-Repo-Commit")
        if commit is None:
            raise
    except RevisionNotFoundError:
        commits = HfApi().list_repo_commits(key, repo_type="dataset") if is_short(revision) else []
        found = [one.commit_id for one in commits if one.commit_id.startswith(revision)]
        if len(found) != 1:
            raise
        commit = found[0]
    if commit is None or not is_commit(commit):
        raise FileMetadataError("no commit was named")
    return commit


@contextmanager
def _cached_failures(key: str, revision: str, file: str, gated: bool) -> Iterator[None]:
    """Raise the errors of the hub's client as one message, which is cached."""
    from huggingface_hub.errors import (  # type: ignore[attr-defined]
        EntryNotFoundError,
        HTTPError,
        LocalEntryNotFoundError,
    )

    whole, part = (*_state(), key, revision), (*_state(), key, revision, file)
    if known := _failures.get(whole) or _failures.get(part):
        raise AccessError(known.problem, path=known.path, remedy=known.remedy)
    try:
        yield
    except (HTTPError, OSError, EntryNotFoundError) as error:
        cause: Exception = error
        if isinstance(error, LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
            cause = error.__cause__
        problem, remedy = _diagnosis(cause, key, revision, file, gated)
        failure = AccessError(problem, path=file, remedy=remedy)
        _failures[part if isinstance(cause, EntryNotFoundError) else whole] = failure
        raise failure from error


def _diagnosis(error: Exception, key: str, revision: str, file: str, gated: bool) -> tuple[str, str]:
    """Return the problem and its remedy."""
    from huggingface_hub import constants, errors

    consent = (
        f"accept its conditions at https://huggingface.co/datasets/{key} and log in with 'hf auth login' or set"
        " HF_TOKEN"
    )
    newer = "upgrade patent-mteb, the data set may have been published again"
    missing = f"the data set {key} at revision {revision[:12]} is not in the local cache"
    first = f"{consent}, " if gated else ""
    hidden = f"the hub has no data set {key}, or does not show it without a token that may see it"
    no_file = f"the data set {key} has no file {file} at revision {revision[:12]}"
    offline = f"{missing}, and the hub is not asked in offline mode"
    other = f"{constants.ENDPOINT} does not answer as the hub does ({error})"
    for kind, problem, remedy in (
        (errors.GatedRepoError, f"access to the data set {key} is not granted, it is gated", consent),
        (errors.RepositoryNotFoundError, hidden, f"{consent}; {newer}"),
        (errors.RevisionNotFoundError, f"the hub has no revision {revision} of the data set {key}", newer),
        (errors.RemoteEntryNotFoundError, no_file, newer),
        (errors.OfflineModeIsEnabled, offline, f"{first}connect to the network and unset HF_HUB_OFFLINE"),
        (errors.FileMetadataError, other, "correct or unset HF_ENDPOINT, look at proxy and firewall"),
    ):
        if isinstance(error, kind):
            return problem, remedy
    if isinstance(error, errors.HfHubHTTPError):
        return _refusal(error.response.status_code, key, consent)
    if isinstance(error, OSError) and error.errno in _FULL_DISK:
        problem = f"the data set {key} cannot be written to {constants.HF_HUB_CACHE} ({error.strerror})"
        return problem, "free space or permit writing there, or set HF_HOME to another folder"
    problem = f"{missing} and the hub at {constants.ENDPOINT} cannot be reached ({type(error).__name__})"
    return problem, f"{first}connect to the network, or look at proxy, firewall and HF_ENDPOINT"


def _refusal(status: int, key: str, consent: str) -> tuple[str, str]:
    if status in (401, 403):
        problem = f"the hub refuses access to the data set {key} (HTTP {status})"
        return problem, f"look at the token that HF_TOKEN holds; {consent}"
    if status == 429:
        problem = f"the hub has had too many requests for the data set {key} (HTTP 429)"
        return problem, "try again later, or log in with 'hf auth login'"
    return f"the hub failed at the data set {key} (HTTP {status})", "try again later"
