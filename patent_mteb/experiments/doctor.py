"""Checks of an installation, its caches, stores and results folders.

:func:`examine` returns findings, and repairs what it can. :func:`recompute` ranks a sample of the queries of every
result again. It detects results that were forged together with their evidence and per-query scores, which no digest
does.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.experiments.evaluate import task_of
from patent_mteb.experiments.results_folder import contradiction_in, flaw, quarantine
from patent_mteb.files import cache_root, is_idle, leftover_files, read_json
from patent_mteb.identity import META, cached_hash
from patent_mteb.metrics.measures import Judged
from patent_mteb.models.composition import in_store
from patent_mteb.models.loading import load
from patent_mteb.models.spec import ModelSpec
from patent_mteb.store import EmbeddingStore, default_path
from patent_mteb.tasks import perquery
from patent_mteb.tasks.evidence import model_record
from patent_mteb.tasks.retrieval import PatentRetrieval
from patent_mteb.tasks.verification import check_model, evidence_of, per_query_measure

_TOLERANCE = 1e-4  # difference up to which two scores of a query are equal
_TOLERATED_SHARE = 0.05
"""Share of queries whose scores may differ: on other hardware, documents of almost equal scores swap ranks."""

_SEED = 42  # mteb's and the suite's seed, so that the same queries are drawn again
_REMOVE = "run doctor --fix, which removes it"


@dataclass(frozen=True)
class Recomputed:
    """The recomputation of one result."""

    path: Path
    queries: int = 0  # ranked again
    total: int = 0
    differing: int = 0  # queries with another score
    largest: float = 0.0  # difference of the scores of a query
    problem: str = ""  # why the result cannot be correct
    reason: str = ""  # why nothing was ranked

    def __str__(self) -> str:
        if self.reason:
            return f"{self.path}: not recomputed: {self.reason}"
        done = f"{self.queries} of {self.total} queries ranked again"
        if self.problem:
            return f"{self.path}: {self.problem} ({done})"
        differences = f", {self.differing} differ by at most {self.largest:.4f}" if self.differing else ""
        return f"{self.path}: {done}: the scores are correct{differences}"


def recompute(
    folder: Path, share: float, *, models: Sequence[str] = (), store: Path | None = None
) -> Iterator[Recomputed]:
    """Rank a sample of the queries of every retrieval result below a folder again."""
    for described in sorted(folder.rglob(META)):
        paths = [path for path in sorted(described.parent.glob("*.json")) if path.name != META]
        meta = read_json(described) or {}
        try:
            model = _model_of(meta, models)
        except PatentMTEBError as error:
            yield from (Recomputed(path, reason=str(error)) for path in paths)
            continue
        system = in_store(model, store)
        for path in paths:
            try:
                yield _recomputed(path, system, share)
            except PatentMTEBError as error:
                yield Recomputed(path, reason=str(error))


def _model_of(meta: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Load the model that a ``model_meta.json`` describes."""
    settings = meta.get("experiment_kwargs") or {}
    wanted = (meta.get("name"), meta.get("revision"))
    for name in [*names, str(meta.get("name"))]:
        try:
            model = load(ModelSpec.stated(name, settings))
        except PatentMTEBError:
            continue
        found = model.mteb_model_meta
        if (found.name, found.revision) == wanted and (found.experiment_kwargs or {}) == settings:
            return model
    problem = f"the model {wanted[0]} at revision {wanted[1]} with its settings cannot be loaded by its name"
    own = "a composed model is recomputed by its own run with --overwrite-strategy always"
    raise DataError(problem, remedy=f"name a local checkpoint with -m; {own}")


def _recomputed(path: Path, model: Any, share: float) -> Recomputed:
    document = read_json(path) or {}
    task = task_of(path.stem)
    if not isinstance(task, PatentRetrieval):
        problem = f"{path.stem} is not a retrieval task, so it has no queries to sample"
        raise DataError(problem, remedy="run the task again")
    if task.metadata.revision != document.get("dataset_revision"):
        raise DataError(f"the data of {path.stem} are not available", remedy="name their directory with --data")
    entry = next(one for one in document["scores"][task.split] if one.get("hf_subset") == task.source.subset)
    if problem := check_model(evidence_of(entry), model_record(model)):
        return Recomputed(path, problem=problem)
    stored = _stored_scores(path, per_query_measure(task.metadata.main_score))
    queries = sorted(stored)
    n = max(1, min(len(queries), math.ceil(share * len(queries))))
    drawn = {queries[place] for place in np.random.default_rng(_SEED).choice(len(queries), n, replace=False)}
    fresh = _ranked(task, model, drawn)
    if unknown := drawn - fresh.keys():
        problem = f"the data have no query '{min(unknown)}': digests replace the ids of a published copy"
        raise DataError(problem, path=path, remedy="recompute the results that were copied")
    differences = np.array([abs(fresh[query] - stored[query]) for query in sorted(drawn)])
    differing, largest = int((differences > _TOLERANCE).sum()), float(differences.max())
    problem = f"{differing} of {n} queries have other scores, by up to {largest:.4f}"
    return Recomputed(path, n, len(queries), differing, largest, "" if differing <= _TOLERATED_SHARE * n else problem)


def _stored_scores(path: Path, measure: str) -> dict[str, float]:
    for root in (path.parent, perquery.folder() / Path(*path.parent.parts[-2:])):
        queries = root / f"{path.stem}.queries.parquet"
        if queries.is_file():
            table = pq.read_table(queries, columns=["query", measure])
            return dict(zip(table["query"].to_pylist(), table[measure].to_pylist(), strict=True))
    raise DataError(
        "there are no per-query scores next to the result", remedy="run the task again with patent-mteb run"
    )


def _ranked(task: PatentRetrieval, model: Any, chosen: set[str]) -> dict[str, float]:
    system, queries, context = task.searching(model)
    some = queries.select([place for place, query in enumerate(queries["id"]) if query in chosen])
    run = system.rank(some, max(task.k_values), context)
    measure = per_query_measure(task.metadata.main_score)
    qrels = {query: judged for query, judged in task.tables.qrels.items() if query in chosen}
    found = Judged(run.docs, qrels, run.query_ids, run.doc_ids).scores([measure])
    task.unload_data()
    return dict(zip(found.queries, found.scores[measure].tolist(), strict=True))


_TASK = "PatentMapAbsToAbsRetrieval"
_COMMANDS = {
    'python -c "import mteb"': ("-c", f"import mteb; mteb.get_benchmark('PatentMap'); print('{_TASK}')"),
    "python -m mteb": ("-m", "mteb", "available-tasks"),
}
_SAMPLE_LEFTOVER = re.compile(r".+\.[a-z0-9_]{8}")


@dataclass(frozen=True)
class Finding:
    """A problem with its place and remedy; ``fixed`` if it was repaired."""

    place: str
    problem: str
    remedy: str
    fixed: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}. " + ("Fixed" if self.fixed else f"Remedy: {self.remedy}")


def examine(results: Path | None = None, store: Path | None = None, *, fix: bool = False) -> list[Finding]:
    """Run all checks: registration, folders, results, cached hashes, leftovers, and the embedding store."""
    if results is not None and not results.is_dir():
        raise DataError(
            "there is no results folder", path=results, remedy="name the folder that --output-folder of the run named"
        )
    if results is None and Path("results").is_dir():
        results = Path("results")
    store = store or default_path()
    places = {"cache": cache_root(), "embedding store": store} | ({"results": results} if results else {})
    data = os.environ.get("PATENT_MTEB_DATA")
    roots = [cache_root(), *([results] if results else ()), *([Path(data)] if data else ())]
    return [
        *check_registration(),
        *check_folders(places),
        *(check_results(results, fix=fix) if results else ()),
        *check_hashes(fix=fix),
        *check_leftovers(roots, without=store, fix=fix),
        *check_store(store, fix=fix),
    ]


def check_registration(python: str = sys.executable, commands: Iterable[str] = tuple(_COMMANDS)) -> list[Finding]:
    """Check that mteb knows the suite in new Python processes."""
    findings = []
    for name in commands:
        try:
            # in an empty directory, because the working directory may contain a copy of the package
            with tempfile.TemporaryDirectory() as empty:
                command = [python, *_COMMANDS[name]]
                done = subprocess.run(
                    command, capture_output=True, text=True, errors="replace", check=False, cwd=empty, timeout=300
                )
            reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            known = done.returncode == 0 and _TASK in done.stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            known, reason = False, str(error)
        if not known:
            remedy = (
                "install the package again with pip (patent_mteb_autoload.pth and .py must be next to it), and start"
                " Python without -S"
            )
            if (off := os.environ.get("PATENT_MTEB_AUTOLOAD")) is not None:
                remedy = f"unset PATENT_MTEB_AUTOLOAD, which is {off!r}"
            findings.append(Finding(name, f"mteb does not know the suite ({reason})", remedy))
    return findings


def check_folders(places: dict[str, Path]) -> list[Finding]:
    """Check that each folder can be written, or created; nothing is created."""
    findings = []
    for what, place in places.items():
        existing = next(folder for folder in (place.absolute(), *place.absolute().parents) if folder.exists())
        if not existing.is_dir():
            itself = existing == place.absolute()
            problem = f"the {what} folder " + ("is a file" if itself else f"would be below the file {existing}")
            findings.append(Finding(str(place), problem, "name another folder"))
            continue
        try:
            with tempfile.TemporaryFile(dir=existing) as file:
                file.write(b"x" * 4096)
        except OSError as error:
            problem = f"the {what} folder cannot be written ({error.strerror or error})"
            remedy = "correct its permissions, free disk space, or name another folder"
            findings.append(Finding(str(place), problem, remedy))
    return findings


def check_results(folder: Path, *, fix: bool = False) -> list[Finding]:
    """Find unreadable files and results that fail verification in a results folder; ``fix`` quarantines them."""
    findings = []
    for path in sorted(path for pattern in ("*.json", "*.parquet") for path in folder.rglob(pattern) if path.is_file()):
        if path.name.startswith("."):
            continue
        if unreadable := flaw(path):
            problem = f"cannot be read ({unreadable})"
        else:
            problem = contradiction_in(path) if path.suffix == ".json" else ""
        if problem:
            if fix:
                quarantine(path)
            remedy = "run doctor --fix, which quarantines it, and the same run again, which computes it again"
            findings.append(Finding(str(path), problem, remedy, fixed=fix))
    return findings


def check_hashes(*, fix: bool = False) -> list[Finding]:
    """Find corrupt cached content hashes, which are never used; ``fix`` removes them."""
    folder = cache_root() / "hashes"
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    problem = "a cached content hash that is corrupt, or of an older version; it is not used"
    return [
        Finding(str(path), problem, _REMOVE, fixed=fix and _removed(path))
        for path in files
        if path.name[0] != "." and not cached_hash(path)
    ]


def check_leftovers(roots: Sequence[Path], *, without: Path | None = None, fix: bool = False) -> list[Finding]:
    """Find temporary files and incomplete samples of killed processes; ``fix`` removes them."""
    found = {path for root in roots for path in leftover_files(root)}
    samples = (path for path in cache_root().glob("sample/*/*.*") if _SAMPLE_LEFTOVER.fullmatch(path.name))
    found |= {path for path in samples if path.is_dir() and is_idle(path)}
    left = sorted(path for path in found if without is None or not path.is_relative_to(without))
    problem = "left by a process that was stopped"
    return [Finding(str(path), problem, _REMOVE, fixed=fix and _removed(path)) for path in left]


def check_store(path: Path, *, fix: bool = False) -> list[Finding]:
    """Find corrupt shards and leftovers in an embedding store; ``fix`` removes them and keeps the rest."""
    if not path.is_dir() or not any(path.iterdir()):
        return []
    try:
        store = EmbeddingStore(path, create=False)
        found = {damage.path: str(damage) for damage in store.verify().damages if damage.fatal}
        found |= {left: f"{left}: left by a process that was stopped" for left in store.leftovers()}
        remaining = set(found)
        if found and fix:
            store.prune(damaged=True)
            remaining = {damage.path for damage in store.verify().damages if damage.fatal} | set(store.leftovers())
    except DataError as error:
        return [Finding(str(path), error.problem, error.remedy)]
    remedy = (
        "run doctor --fix, or patent-mteb store prune --damaged, when no process uses it; lost texts are encoded again"
    )
    return [
        Finding("embedding store", line, remedy, fixed=path not in remaining) for path, line in sorted(found.items())
    ]


def _removed(path: Path) -> bool:
    try:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    except OSError:
        return False
    return True
