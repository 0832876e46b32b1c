"""The files of a results folder, and messages on files that no report can use.

Results are stored as ``<organisation>__<model>/<revision>/[experiments/<settings>/]<Task>.json``. A message names each
file in another place, each unreadable file and each quarantined one, with the reason.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError, check_shape
from patent_mteb.experiments.results_folder import QUARANTINED
from patent_mteb.files import load_json, text_lines
from patent_mteb.identity import META, NO_REVISION, model_folder

NAMES = "names.json"  # of local checkpoints on a board
SETTINGS = "run_settings.jsonl"  # mteb's settings of runs: versions and encode arguments by task, splits and subsets
_AGAIN = "delete the file and run the task again"
_DEPTH = 8  # to which folders are searched for results in wrong places
_HEAD = 4096  # bytes that show what a file is
_NAMED = 3  # names in a message, a choice


@dataclass(frozen=True)
class Place:
    """A folder of results: a model at a revision with settings (empty for none), named as its folders."""

    folder: Path
    model: str
    revision: str
    experiment: str
    files: tuple[Path, ...]


@dataclass
class Survey:
    """The folders with results, and a sentence on each file or folder that cannot be reported."""

    places: list[Place] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)  # those of the messages on excluded files and results

    def exclude(self, path: Path | None, problem: str, remedy: str) -> str:
        return self.exclude_as(str(DataError(f"{problem}; left out", path=path, remedy=remedy)))

    def exclude_as(self, message: str) -> str:
        """Add a message of its own wording on something excluded, and return it."""
        self.messages.append(message)
        self.excluded.append(message)
        return message


def survey(folder: Path) -> Survey:
    if not _is_unicode(str(folder)):
        raise DataError("the name of the folder is not UTF-8", path=ascii(str(folder)), remedy="rename it")
    found = Survey()
    strays: dict[Path, list[str]] = defaultdict(list)
    root = folder / "results" if (folder / "results").is_dir() else folder
    _look(root, (), found, strays, frozenset())
    if root != folder:  # models next to "results", which mteb does not read either
        for child in _children(folder, found):
            if "__" in child.name and child.is_dir():
                _look(child, (child.name, "", "", "", ""), found, strays, frozenset())
    for place, names in strays.items():
        shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        found.exclude(
            place,
            f"{len(names)} result file{'s' * (len(names) > 1)} ({shown}) at a depth where no report looks, which is "
            "<organisation>__<model>/<revision>/[experiments/<settings>/]",
            "a model's name needs one slash and its revision none: move the files to such a folder, or run the tasks"
            " again",
        )
    return found


def _is_unicode(name: str) -> bool:
    return name == name.encode("utf-8", "ignore").decode("utf-8")


def _children(folder: Path, found: Survey) -> list[Path]:
    try:
        children = sorted(folder.iterdir())
    except OSError as error:
        found.exclude(folder, f"the folder cannot be read ({error.strerror})", "give yourself the right to read it")
        return []
    for child in children:
        if not _is_unicode(child.name):
            found.exclude(folder, f"the name {child.name!a} is not UTF-8", "rename it")
    return [child for child in children if _is_unicode(child.name)]


def _look(
    folder: Path, parts: tuple[str, ...], found: Survey, strays: dict[Path, list[str]], above: frozenset[Path]
) -> None:
    """Sort the files of a folder, ``parts`` below the root, and search its subfolders."""
    real = folder.resolve()
    if real in above:  # a link to a folder that contains it
        return
    is_place = len(parts) in (2, 4) and "__" in parts[0] and parts[2:3] in ((), ("experiments",))
    files: list[Path] = []
    folders: list[Path] = []
    for child in _children(folder, found):
        name = child.name
        if name.endswith(f".json{QUARANTINED}"):
            if not child.with_name(name.removesuffix(QUARANTINED)).exists():  # it was not run again
                found.exclude(child, "quarantined by a run, which could not read or trust it", "run the task again")
        elif not name.endswith(".json"):
            folders += [child] * child.is_dir()
        elif not child.is_file():
            found.exclude(child, "no regular file", _AGAIN)
        elif name != META and is_place:
            files.append(child)
        elif name != META and _may_be_result(child, parts):
            strays[folder].append(name)
    if files:
        found.places.append(Place(folder, parts[0], parts[1], parts[3] if len(parts) == 4 else "", tuple(files)))
    for child in folders:
        if len(parts) < _DEPTH and (is_place or not parts or not child.name.startswith(".")):
            _look(child, (*parts, child.name), found, strays, above | {real})


def _may_be_result(path: Path, parts: tuple[str, ...]) -> bool:
    """Whether a misplaced file is a result: any JSON file below a model, elsewhere by its first bytes."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError:
        return True
    below_model = bool(parts) and "__" in parts[0]
    return below_model or (b'"task_name"' in head and b'"dataset_revision"' in head)


def parse_document(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, with the errors of reading as they are."""
    if not path.is_file():
        raise ValueError("no regular file")
    return parse(path.read_bytes())


def parse(content: bytes) -> dict[str, Any]:
    text = content.decode("utf-8")
    try:
        document = json.loads(text)
        if "\\u" in text:
            json.dumps(document, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError(f"a JSON {type(document).__name__} where an object is expected")
    return document


def run_settings(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the settings of runs that mteb recorded in a folder: task, splits, subsets, versions and arguments."""
    for number, line in text_lines(path):
        if not line.strip():
            continue
        try:
            entry = parse(line.encode())
            check_shape(entry, {"task": str, "splits": [str]}, path, "")
            check_shape({"subsets": [], "version": {}} | entry, {"subsets": [str], "version": {}}, path, "")
        except (ValueError, DataError):
            remedy = "delete the line and run its task again"
            raise DataError("invalid line of run settings", path=path, row=number, remedy=remedy) from None
        yield entry


def board_names(folder: Path) -> dict[str, str]:
    """Return the names of local checkpoints on a board; empty in a folder without them."""
    path = folder / NAMES
    names = load_json(path) if path.exists() else {}
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        problem, remedy = "it is not a JSON object of names", "restore the file, or make the board again"
        raise DataError(problem, path=path, remedy=remedy)
    return names


def read_meta(path: Path, model: str, revision: str) -> dict[str, Any]:
    """Return the description of a model, checked against the names of its folders."""
    if not path.exists() and not path.is_symlink():
        problem = "the file is missing, so settings, size and prompts of the model are unknown"
        raise DataError(problem, path=path, remedy="restore the file")
    try:
        meta = parse_document(path)
    except (OSError, ValueError) as error:
        raise DataError(f"damaged ({error})", path=path, remedy=_AGAIN) from error
    check_meta(meta, path, model, revision)
    return meta


def check_meta(meta: dict[str, Any], path: Path, model: str, revision: str) -> None:
    """Check that a model's description is complete and matches the names of its folders."""
    if problem := _malformed(meta):
        raise DataError(f"damaged ({problem})", path=path, remedy=_AGAIN)
    name, stated = meta["name"], meta["revision"] or NO_REVISION
    if (model_folder(name), stated) != (model, revision):
        problem = f"it describes {name} at revision {stated}, but is stored with the results of {model} at {revision}"
        raise DataError(problem, path=path, remedy="restore the file")
    if bool(meta.get("experiment_kwargs")) != (path.parent.parent.name == "experiments"):
        problem = "its settings are not those of the folder: results with settings are in 'experiments', others are not"
        raise DataError(problem, path=path, remedy="restore the file")


def _malformed(meta: dict[str, Any]) -> str:
    if not isinstance(meta.get("name"), str):
        return "it has no name"
    if not isinstance(meta.get("revision", 0), str | None):
        return "it has no revision"
    for key in ("experiment_kwargs", "loader_kwargs"):
        if not isinstance(meta.get(key), dict | None):
            return f"{key} is a {type(meta[key]).__name__}"
    prompts = (meta.get("loader_kwargs") or {}).get("model_prompts")
    if not isinstance(prompts, dict | None):
        return f"model_prompts is a {type(prompts).__name__}"
    named = all(
        isinstance(part, dict) and isinstance(part.get("name"), str) for part in _parts(meta.get("experiment_kwargs"))
    )
    return "" if named else "a part of the model has no name"


def _parts(settings: Any) -> Iterator[Any]:
    """Yield the parts of a composed model, recursively."""
    parts = settings.get("parts") if isinstance(settings, dict) else None
    if parts is not None and not isinstance(parts, list):
        yield None
    for part in parts if isinstance(parts, list) else ():
        yield part
        yield from _parts(part)
