"""Input files at an address (``https://``, ``s3://``, ``gs://``, …), which fsspec copies to the cache folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from patent_mteb.errors import DataError
from patent_mteb.files import cache_root, read_json, replacing, write_json
from patent_mteb.identity import digest

_STATE = ("size", "ETag", "etag", "LastModified", "last_modified", "updated", "mtime")
"""What file systems say of the state of a file."""


def local_files(address: str, show_progress: bool = False) -> Iterator[Path]:
    """Yield a path as it is, or the copies of the files at an address; stars match several, in the order of names.

    A file is copied again if its size, tag or date has changed, or if the server says neither tag nor date.
    """
    if "://" not in address:
        yield Path(address)
        return
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(address)
        paths = sorted(system.glob(path)) if "*" in path else [path]
        if not paths:
            raise FileNotFoundError(address)
        for one in paths:
            yield _copied(system, one, show_progress)
    except ImportError as error:
        raise DataError(f"{address} needs another package ({error})", remedy="pip install -e '.[remote]'") from error
    except FileNotFoundError as error:
        raise DataError(f"there is no file at {address}", remedy="correct the address") from error
    except Exception as error:  # each file system raises errors of its own
        reason = str(error) or type(error).__name__
        remedy = "check your access to it and try again, or download the file and name its path"
        raise DataError(f"{address} cannot be read ({reason})", remedy=remedy) from error


def _copied(system: Any, path: str, show_progress: bool) -> Path:
    from fsspec.callbacks import TqdmCallback

    address = system.unstrip_protocol(path)
    folder = cache_root() / "inputs" / digest(address, 16)
    copy, known = folder / (PurePosixPath(urlsplit(address).path).name or "file"), folder / ".state.json"
    found = system.info(path)
    state = {name: str(found[name]) for name in _STATE if found.get(name)}
    if copy.is_file() and len(state) > 1 and read_json(known) == state:
        return copy
    known.unlink(missing_ok=True)
    bar = {"desc": copy.name, "unit": "B", "unit_scale": True, "disable": not show_progress}
    with replacing(copy) as partial:
        system.get_file(path, str(partial), callback=TqdmCallback(tqdm_kwargs=bar))
        size = partial.stat().st_size
        if size != found.get("size", size):
            raise OSError(f"{size} of {found['size']} bytes arrived")
    write_json(known, state)
    return copy
