"""What must not change without a reason: scores, tables of recipes, help texts, a result file, a page.

    python tests/golden/golden.py --write             # all of them; or name some: scores tables help result page
    python tests/golden/golden.py                     # compare, print every difference, exit status 1 if there is one

``scores.json.gz`` holds every number of every task on the sample, for BM25 and a static model, with the name of the
scoring of its task. A number that differs needs another name (``PatentTask.scoring``), and so does no other.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import logging
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
TOLERANCE = {"bm25": 1.1e-5, "static": 2e-3}
"""By which a number may differ on another processor or with another numpy: one unit of the last of five decimals; a
static model's equal documents change places."""
FAST = (
    "PatentCitationRetrieval",
    "PatentDAPFAMTACToTACRetrieval",
    "PatenTEBRetrievalMIXED",
    "PatenTEBBloom",
    "SophiaTacdRetrieval",
    "PatentMapClmToAllRetrieval",
    "PatentMapIPCClassification",
)
"""Tasks that the quick tests compare."""
_UNSTEADY = (
    "date",
    "evaluation_time",
    "evaluation_phases",
    "kg_co2_emissions",
    "version",
    "seal",
    "cost",
    "libraries",
    "mteb_version",
)


def _isolated(cache: Path) -> None:
    own = {
        "PATENT_MTEB_SAMPLE": "1",
        "PATENT_MTEB_CACHE": str(cache),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    os.environ.update(own | {"PATENT_MTEB_QUERY_SCORES": str(cache / "queries"), "COLUMNS": "100"})
    for name in ("PATENT_MTEB_DATA", "PATENT_MTEB_RUNS", "PATENT_MTEB_STORE"):
        os.environ.pop(name, None)


def model_named(name: str, cache: Path) -> Any:
    """The systems whose scores are kept."""
    from patent_mteb.models import bm25, load, stored

    if name == "bm25":
        return bm25("dapfam")
    words = cache / "words"
    if not words.is_dir():
        subprocess.run([sys.executable, str(ROOT / "examples" / "static_model.py"), str(words)], check=True)
    return stored(load(str(words)), cache / "store")


def scores_of(system: str, cache: Path, only: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """Task -> scoring and every number of its entry."""
    import mteb

    import patent_mteb
    from patent_mteb.experiments.run import unable

    model, found = model_named(system, cache), {}
    for task in patent_mteb.get_tasks(sample=True):
        name = task.metadata.name.removesuffix(".sample")
        if unable(model, task) or (only and name not in only):
            continue
        result = mteb.evaluate(model, task, cache=None, co2_tracker=False, show_progress_bar=False)
        task.unload_data()
        found[name] = numbers_of(result.task_results[0].scores)
    return found


def numbers_of(scores: dict[str, Any]) -> dict[str, Any]:
    """The scoring of a result and every number of its one entry."""
    ((entry,),) = scores.values()
    numbers = {key: round(float(value), 5) for key, value in entry.items() if isinstance(value, (int, float))}
    return {
        "scoring": entry["evidence"]["scoring"],
        **{key: None if math.isnan(v) else v for key, v in numbers.items()},
    }


def tables() -> dict[str, str]:
    """Digest of the rows of every file that a recipe builds of the sample."""
    from patent_mteb import recipes
    from patent_mteb.data.loading import sample_root

    found = {}
    for recipe in recipes.RECIPES:
        root = sample_root(recipe)
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            found[f"{recipe}/{path.relative_to(root).as_posix()}"] = hashlib.sha256(_content(path)).hexdigest()[:16]
    return found


def _content(path: Path) -> bytes:
    """The rows of a table, whatever library wrote it; the bytes of any other file."""
    import pyarrow.parquet as pq

    if path.suffix != ".parquet":
        return path.read_bytes()
    table = pq.read_table(path)
    return json.dumps([table.schema.remove_metadata().to_string(), table.to_pylist()], default=str).encode()


def helps() -> Iterator[tuple[str, str]]:
    """Name and help text of every command."""
    from patent_mteb import cli
    from patent_mteb.cli import app

    for name in ("", *app.GROUPS, *cli.COMMANDS):
        yield name.replace(" ", "-") or "patent-mteb", app.help_text(name, width=100)


def result(cache: Path) -> Any:
    """A result file, without what changes from run to run."""
    import mteb

    from patent_mteb.experiments.run import run
    from patent_mteb.models import bm25

    with tempfile.TemporaryDirectory() as folder:
        run(bm25("dapfam"), [mteb.get_task("PatentMapAbsToAbsRetrieval.sample")], Path(folder), show_progress=False)
        (path,) = Path(folder).rglob("PatentMapAbsToAbsRetrieval.sample.json")
        return _steady(json.loads(path.read_text("utf-8")))


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _steady(item) for key, item in value.items() if key not in _UNSTEADY}
    if isinstance(value, list):
        return [_steady(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def page() -> Any:
    """What the page of a small folder of results shows, as its payload."""
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    from report_folders import payload_of, sample_world

    from patent_mteb.identity import version
    from patent_mteb.report import tables
    from patent_mteb.report.collect import collect
    from patent_mteb.report.page import page, payload
    from patent_mteb.report.statistics import statistics

    with tempfile.TemporaryDirectory() as folder:
        root = sample_world(Path(folder) / "results")
        collected = collect(root)
        compared = statistics(collected, "lex/bm25")
        shown = payload_of(page(payload(collected, compared, tables.build(collected, compared))))
    text = json.dumps(shown, sort_keys=True).replace(folder, "FOLDER").replace(version(), "VERSION")
    return json.loads(text, parse_float=lambda number: round(float(number), 12))  # sum() is more exact from Python 3.12


def _lines(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def made(what: str, cache: Path) -> dict[str, Any]:
    """File name -> content, of one kind."""
    if what == "scores":
        return {"scores.json.gz": {system: scores_of(system, cache) for system in TOLERANCE}}
    if what == "tables":
        return {"tables.json": tables()}
    if what == "help":
        return {f"help/{name}.txt": text for name, text in helps()}
    if what == "result":
        return {"result.json": result(cache)}
    return {"page.json": page()}


KINDS = ("scores", "tables", "help", "result", "page")


def stored(name: str) -> Any:
    """The content of a golden file."""
    path = FOLDER / name
    if path.suffix == ".gz":
        return json.loads(gzip.decompress(path.read_bytes()))
    return path.read_text("utf-8") if path.suffix == ".txt" else json.loads(path.read_text("utf-8"))


def write(name: str, content: Any) -> None:
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(json.dumps(content, sort_keys=True, separators=(",", ":")).encode(), mtime=0))
    else:
        path.write_text(content if isinstance(content, str) else _lines(content), "utf-8")


def score_differences(known: dict[str, Any], found: dict[str, Any], tolerance: float) -> list[str]:
    """One line for each number that differs, and for each scoring that has another name without need or lacks one."""
    lines = []
    for task in sorted(found):
        if task not in known:
            lines.append(f"{task}: new")
            continue
        ours, theirs = found[task], known[task]
        numbers = [
            f"{task} {name}: {theirs.get(name)} was kept, {ours.get(name)} found"
            for name in sorted((ours.keys() | theirs.keys()) - {"scoring"})
            if "nauc" not in name and not _near(ours.get(name, math.inf), theirs.get(name, math.inf), tolerance)
        ]
        if numbers and ours["scoring"] == theirs["scoring"]:
            lines += [*numbers, f"{task}: a number differs, so {ours['scoring']!r} needs another name"]
        if not numbers and ours["scoring"] != theirs["scoring"]:
            lines.append(f"{task}: no number differs, so the scoring is still {theirs['scoring']!r}")
    return lines


def _near(ours: float | None, theirs: float | None, tolerance: float) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return abs(ours - theirs) <= tolerance * max(1.0, abs(theirs))


def differences(what: str, cache: Path) -> list[str]:
    lines: list[str] = []
    for name, content in made(what, cache).items():
        if not (FOLDER / name).is_file():
            lines.append(f"{name}: new")
        elif what == "scores":
            known = stored(name)
            for system, tolerance in TOLERANCE.items():
                lines += [f"{system}: {line}" for line in score_differences(known[system], content[system], tolerance)]
        elif stored(name) != json.loads(json.dumps(content)):
            lines.append(f"{name} differs")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        _isolated(Path(folder))
        act: Callable[[str], list[str]] = lambda what: differences(what, Path(folder))  # noqa: E731
        for what in args.kinds:
            if args.write:
                for name, content in made(what, Path(folder)).items():
                    write(name, content)
            else:
                found = act(what)
                bad += len(found)
                print(f"{what}: {len(found)} differences")
                print("".join(f"  {line}\n" for line in found[:200]), end="")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
