"""What may be wrong with an installation, its caches and a results folder: checks that return findings, and mend what they can."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.experiments import torn
from patent_mteb.files import cache_root
from patent_mteb.identity import remembered
from patent_mteb.store import EmbeddingStore, default_path
from patent_mteb.store.abandoned import abandoned, quiet

__all__ = ["Finding", "check_hook", "check_leftovers", "check_memos", "check_places", "check_results", "check_store", "examine"]

_TASK = "PatentCitationRetrieval"
_WAYS = {
    'python -c "import mteb"': ("-c", f"import mteb; mteb.get_benchmark('PatentMap'); print('{_TASK}')"),
    "python -m mteb": ("-m", "mteb", "available-tasks"),
}
_SAMPLE_LEFTOVER = re.compile(r".+\.[a-z0-9_]{8}")


@dataclass(frozen=True)
class Finding:
    """Something that is wrong: where, what, and what to do about it; ``fixed`` if it was mended."""

    place: str
    problem: str
    remedy: str
    fixed: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}. " + ("Mended" if self.fixed else f"Remedy: {self.remedy}")


def examine(results: Path | None = None, store: Path | None = None, *, fix: bool = False) -> list[Finding]:
    """All checks: the hook, places that must be writable, results, remembered hashes, leftovers, the embedding store.

    Args:
        results: a results folder. Default: ``results`` in the working directory, if it is there.
        store: the embedding store. Default: :func:`patent_mteb.store.default_path`.
        fix: mend what can be mended.

    Raises:
        DataError: the results folder is none.

    Example:
        >>> from unittest import mock
        >>> from pathlib import Path
        >>> from patent_mteb.experiments import doctor
        >>> with mock.patch.object(doctor, "check_hook", lambda: []), mock.patch.dict("os.environ", {"PATENT_MTEB_CACHE": "cache"}):
        ...     doctor.examine(store=Path("store"))
        []
    """
    if results is not None and not results.is_dir():
        raise DataError("there is no results folder", path=results, remedy="name the folder that --output-folder of the run named")
    results = results or (Path("results") if Path("results").is_dir() else None)
    store = store or default_path()
    roots = [cache_root(), *([results] if results else []), *map(Path, filter(None, [os.environ.get("PATENT_MTEB_DATA")]))]
    return [
        *check_hook(),
        *check_places({"cache": cache_root(), "embedding store": store, **({"results": results} if results else {})}),
        *(check_results(results, fix=fix) if results else ()),
        *check_memos(fix=fix),
        *check_leftovers(roots, without=store, fix=fix),
        *check_store(store, fix=fix),
    ]


def check_hook(python: str = sys.executable, ways: Iterable[str] = tuple(_WAYS)) -> list[Finding]:
    """Whether a fresh Python process that imports mteb, in both ways, knows the suite.

    Example:
        >>> from patent_mteb.experiments.doctor import check_hook
        >>> [finding.place for finding in check_hook("/no/such/python", ['python -c "import mteb"'])]
        ['python -c "import mteb"']
    """
    findings = []
    for way in ways:
        try:
            with tempfile.TemporaryDirectory() as elsewhere:  # what lies in the working directory is no installation
                command = [python, *_WAYS[way]]
                done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, cwd=elsewhere, timeout=300)
            said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            known = done.returncode == 0 and _TASK in done.stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            known, said = False, str(error)
        if not known:
            off = os.environ.get("PATENT_MTEB_AUTOLOAD")
            remedy = "install the package again with pip (patent_mteb_autoload.pth and .py must lie beside it), and start Python without -S"
            if off is not None:
                remedy = f"unset PATENT_MTEB_AUTOLOAD, which is {off!r}"
            findings.append(Finding(way, f"mteb does not know the suite ({said})", remedy))
    return findings


def check_places(places: dict[str, Path]) -> list[Finding]:
    """Whether each of the folders can be written, or made; nothing is made.

    Args:
        places: what the folder is for -> where it is.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.experiments.doctor import check_places
        >>> _ = Path("file").write_text("no folder")
        >>> [str(finding) for finding in check_places({"cache": Path("new/cache"), "results": Path("file")})]
        ['file: the results folder is a file. Remedy: name another folder']
    """
    findings = []
    for what, place in places.items():
        existing = next(folder for folder in (place.absolute(), *place.absolute().parents) if folder.exists())
        if not existing.is_dir():
            problem = (
                f"the {what} folder is a file" if existing == place.absolute() else f"the {what} folder would lie below the file {existing}"
            )
            findings.append(Finding(str(place), problem, "name another folder"))
            continue
        try:
            with tempfile.TemporaryFile(dir=existing) as file:
                file.write(b"x" * 4096)
        except OSError as error:
            problem = f"the {what} folder cannot be written ({error.strerror or error})"
            findings.append(Finding(str(place), problem, "correct its permissions, make room, or name another folder"))
    return findings


def check_results(folder: Path, *, fix: bool = False) -> list[Finding]:
    """Results, descriptions of models and per-query scores that cannot be read; with ``fix`` they are set aside as ``<name>.damaged``.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.experiments.doctor import check_results
        >>> _ = Path("model_meta.json").write_text("")
        >>> [finding.fixed for finding in check_results(Path("."), fix=True)], check_results(Path("."))
        ([True], [])
    """
    findings = []
    for path in sorted(path for pattern in ("*.json", "*.parquet") for path in folder.rglob(pattern) if path.is_file()):
        if not path.name.startswith(".") and (reason := torn.flaw(path)):
            if fix:
                torn.set_aside(path)
            remedy = "run doctor --fix, which sets it aside, and the same run again, which makes it anew"
            findings.append(Finding(str(path), f"cannot be read ({reason})", remedy, fixed=fix))
    return findings


def check_memos(*, fix: bool = False) -> list[Finding]:
    """Remembered content hashes of folders that are damaged; they are never believed, and ``fix`` removes them.

    Example:
        >>> import os
        >>> from patent_mteb.experiments.doctor import check_memos
        >>> os.environ["PATENT_MTEB_CACHE"] = "cache"
        >>> check_memos()
        []
    """
    folder = cache_root() / "hashes"
    damaged = [path for path in sorted(folder.iterdir()) if path.name[0] != "." and not remembered(path)] if folder.is_dir() else []
    problem, remedy = (
        "a remembered content hash that is damaged, or of an older version; it is not used",
        "run doctor --fix, which removes it",
    )
    return [Finding(str(path), problem, remedy, fixed=fix and _removed(path)) for path in damaged]


def check_leftovers(roots: Sequence[Path], *, without: Path | None = None, fix: bool = False) -> list[Finding]:
    """What killed processes were writing below some folders, samples that were being built too; ``fix`` removes it.

    Args:
        without: the embedding store, which :func:`check_store` looks after.

    Example:
        >>> import os
        >>> from pathlib import Path
        >>> from patent_mteb.experiments.doctor import check_leftovers
        >>> os.environ["PATENT_MTEB_CACHE"] = "cache"
        >>> _ = Path(".scores.json.4194305.partial").write_text("{")
        >>> os.utime(".scores.json.4194305.partial", (0, 0))
        >>> [finding.place for finding in check_leftovers([Path(".")])]
        ['.scores.json.4194305.partial']
    """
    found = {path for root in roots for path in abandoned(root)}
    samples = cache_root() / "sample"
    found |= {path for path in samples.glob("*/*.*") if path.is_dir() and _SAMPLE_LEFTOVER.fullmatch(path.name) and quiet(path)}
    left = sorted(path for path in found if without is None or not path.is_relative_to(without))
    remedy = "run doctor --fix, which removes it"
    return [Finding(str(path), "left by a process that was stopped", remedy, fixed=fix and _removed(path)) for path in left]


def check_store(path: Path, *, fix: bool = False) -> list[Finding]:
    """What is damaged or left over in an embedding store; ``fix`` removes it, keeping what is whole.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.experiments.doctor import check_store
        >>> check_store(Path("no store"))
        []
    """
    if not path.is_dir() or not any(path.iterdir()):
        return []
    try:
        store = EmbeddingStore(path, create=False)
        found = {damage.path: str(damage) for damage in store.verify().damages if damage.fatal}
        found |= {left: f"{left}: left by a process that was stopped" for left in store.leftovers()}
        still = set(found)
        if found and fix:
            store.prune(damaged=True)
            still = {damage.path for damage in store.verify().damages if damage.fatal} | set(store.leftovers())
    except DataError as error:
        return [Finding(str(path), error.problem, error.remedy)]
    remedy = "run doctor --fix, or patent-mteb store prune --damaged, when no process uses it; what is lost is encoded again"
    return [Finding("embedding store", line, remedy, fixed=where not in still) for where, line in sorted(found.items())]


def _removed(path: Path) -> bool:
    try:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    except OSError:
        return False
    return True
