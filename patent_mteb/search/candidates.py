"""Candidates of a first stage in files, which replace its search in reranking.

A folder has the candidates of one system for any number of tasks: ``<Task>.<hash>.run``, ``<Task>.<hash>.whole.run``
with nothing hidden, where anything is hidden, and the manifest ``<Task>.json``, written last. Candidates of a task also
serve one on fewer queries or documents of it: those that it lacks are dropped, so a query may have fewer than k.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from datasets import Dataset
from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import DataError
from patent_mteb.files import file_hash, load_json, write_json
from patent_mteb.identity import compose_meta, digest, identity_of
from patent_mteb.search import trec
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.run import Results, Run

logger = logging.getLogger(__name__)
_FORMAT = 1  # of saved candidates
_SEEN, _WHOLE = "run", "whole_run"
_NAMES = {
    "revision": "another revision of the data",
    "queries": "other queries",
    "documents": "another corpus",
    "hidden": "other hidden documents",
    "gate": "another gate",
}


def data_of(queries: Sequence[str], documents: Sequence[str], context: SearchContext) -> dict[str, Any]:
    return {
        "revision": context.task_metadata.revision,
        "queries": {"n": len(queries), "digest": digest(sorted(queries), 32)},
        "documents": {"n": len(documents), "digest": digest(sorted(documents), 32)},
        "hidden": digest([[query, sorted(hidden)] for query, hidden in sorted(context.hidden.items()) if hidden], 32),
        "gate": context.gate.identity if context.gate else None,
    }


def system_of(meta: ModelMeta) -> dict[str, Any]:
    return dict(json.loads(json.dumps(identity_of(meta), default=str)))


def manifest_of(folder: Path, task: str) -> dict[str, Any] | None:
    path = folder / f"{task}.json"
    if not path.exists():
        return None
    found = load_json(path)
    if problem := _problem(found):
        remedy = "write them again, into an empty folder"
        raise DataError(f"not a manifest of candidates: {problem}", path=path, remedy=remedy)
    if found["format"] != _FORMAT:
        problem = f"candidates of format {found['format']}, not {_FORMAT}"
        raise DataError(problem, path=path, remedy="write the candidates again")
    return dict(found)


def _problem(found: Any) -> str:
    """What a manifest lacks, empty if it is valid."""
    if not isinstance(found, dict):
        return "it is not a JSON object"
    wanted = {"format": int, "task": str, "data": dict, "system": dict, "k": int, "files": dict}
    if wrong := [name for name, kind in wanted.items() if not isinstance(found.get(name), kind)]:
        return f"its '{wrong[0]}' is invalid"
    for entry in (found["files"].get(_SEEN), *found["files"].values()):
        if not isinstance(entry, dict) or not all(isinstance(entry.get(of), str) for of in ("name", "sha256")):
            return "its 'files' is invalid"
    system = found["system"]
    named = isinstance(system.get("name"), str) and system["name"] and "revision" in system
    kinds = {"revision": (str, type(None)), "embed_dim": (int, type(None))}
    if not named or not all(isinstance(system.get(name), kind) for name, kind in kinds.items()):
        return "its 'system' is invalid"
    return "" if isinstance(found.get("recall"), (int, float, type(None))) else "its 'recall' is invalid"


def write_candidates(
    folder: Path,
    task: str,
    system: ModelMeta,
    k: int,
    data: Mapping[str, Any],
    runs: tuple[Run, Run],
    facts: Mapping[str, Any],
) -> Path:
    """Write the candidates of a task, the manifest last, and return its path."""
    seen, unfiltered = runs
    before = manifest_of(folder, task)
    files = {_SEEN: _write(folder, task, "", seen)}
    if unfiltered is not seen:
        files[_WHOLE] = _write(folder, task, ".whole", unfiltered)
    path = folder / f"{task}.json"
    about = {"format": _FORMAT, "task": task, "data": dict(data), "system": system_of(system), "k": k, "files": files}
    write_json(path, {**about, **facts})
    names = {entry["name"] for entry in files.values()}
    for entry in before["files"].values() if before else ():
        if entry["name"] not in names:
            (folder / Path(entry["name"]).name).unlink(missing_ok=True)
    return path


def _write(folder: Path, task: str, what: str, run: Run) -> dict[str, str]:
    """Write a run under the hash of its content, so that older manifests stay valid."""
    ids = digest([run.query_ids, run.doc_ids], 64).encode()
    content = hashlib.sha256(ids + run.docs.tobytes() + run.scores.tobytes()).hexdigest()
    place = folder / f"{task}.{content[:12]}{what}.run"
    run.save(place, tag="candidates")
    return {"name": place.name, "sha256": file_hash(place)}


class Candidates(ArraySearch):
    """Candidates in a folder as a first stage: ``Reranked(Candidates(folder), ...)``."""

    hides = True
    cuts_documents = True
    answers_any_query = False

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        manifests = (manifest_of(self.folder, path.stem) for path in sorted(self.folder.glob("*.json")))
        found = [manifest for manifest in manifests if manifest]
        if not found:
            remedy = "write them: patent-mteb runs candidates -t TASK -m MODEL --out DIR"
            raise DataError("there are no candidates", path=self.folder, remedy=remedy)
        if len({digest([one["system"], one["k"], is_limited(one["task"])]) for one in found}) > 1:
            problem = f"the candidates of {found[0]['task']} and others are of several systems, depths or --limits"
            raise DataError(problem, path=self.folder, remedy="keep a folder for each")
        self.k, self.limited = int(found[0]["k"]), is_limited(found[0]["task"])
        self.tasks = [str(one["task"]) for one in found]
        system = dict(found[0]["system"])
        about = {name: system.pop(name, None) for name in ("name", "revision", "embed_dim")}
        part = ModelMeta.create_empty(overwrites={**about, "experiment_kwargs": system or None})
        settings = {"k": self.k, **({"limited": True} if self.limited else {})}
        self.mteb_model_meta = compose_meta("candidates", [part], settings, tag=str(self.k))

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        return self._read(_SEEN, queries["id"][:], top_k, context)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        """Both rankings as written: those of a fusion depend on the hidden documents."""
        run = self.rank(queries, top_k, context)
        return (run, self._read(_WHOLE, queries["id"][:], top_k, context)) if context.hidden else (run, run)

    def _read(self, which: str, query_ids: list[str], top_k: int, context: SearchContext) -> Run:
        task = context.task_metadata.name
        names = (task, *getattr(context.task_metadata, "whole", ()))
        manifest = next(filter(None, (manifest_of(self.folder, name) for name in names)), None)
        if manifest is None:
            name, limit, n = task.rpartition(".limit")
            remedy = "write them: patent-mteb runs candidates -t " + (f"{name} --limit {n}" if limit else task)
            raise DataError(f"there are no candidates of {task}", path=self.folder, remedy=remedy)
        path = self.folder / f"{manifest['task']}.json"
        if top_k > self.k and self.k < len(self.doc_ids):
            problem = f"the candidates are the best {self.k}, and {top_k} are requested"
            raise DataError(problem, path=path, remedy="write more of them")
        whole, now = manifest["task"] != task, data_of(query_ids, self.doc_ids, context)
        compared = ("revision", "gate") if whole else _NAMES
        if other := [_NAMES[name] for name in compared if manifest["data"].get(name) != now[name]]:
            problem = f"the candidates of {manifest['task']} are of {', '.join(other)}"
            raise DataError(problem, path=path, remedy="write them again, on these data")
        entry = manifest["files"].get(which) or manifest["files"][_SEEN]
        run = self.folder / Path(str(entry["name"])).name
        if not run.is_file() or file_hash(run) != entry["sha256"]:
            problem = f"{run.name} is not the file that the candidates' manifest names"
            raise DataError(problem, path=path, remedy="write the candidates again; do not edit files in their folder")
        read = trec.read_run(run, first=None if whole else top_k)
        found = {query: read.get(query, {}) for query in query_ids}
        if whole:
            if which == _SEEN and any(context.hidden.get(query, set()) & one.keys() for query, one in found.items()):
                problem = f"the candidates of {manifest['task']} are of {_NAMES['hidden']}"
                raise DataError(problem, path=path, remedy="write them again, on these data")
            found = self._restricted(found, task, path)
        return replace(Run.from_dict(found, query_ids, self.doc_ids).top(top_k), task=task)

    def _restricted(self, found: Results, task: str, path: Path) -> Results:
        """The candidates that are documents of a smaller task, with the number of those that are not."""
        known = set(self.doc_ids)
        kept = {query: {key: score for key, score in one.items() if key in known} for query, one in found.items()}
        if dropped := sum(map(len, found.values())) - sum(map(len, kept.values())):
            least, most = min(map(len, kept.values())), max(map(len, kept.values()))
            message = "%s: %d candidates that are not documents of %s are dropped; its queries have %d to %d of them"
            logger.warning(message, path, dropped, task, least, most)
        return kept


def is_limited(task: str) -> bool:
    return ".limit" in task
