"""Are all scores of the suite on the built-in sample those of another commit? A script, for changes that must not
change a score.

    python tests/compare_scores.py COMMIT              # evaluates both, both ways, and prints every difference
    python tests/compare_scores.py COMMIT --keep DIR   # keeps the result folders, and does not repeat what is finished

The exit status is 1 if there is a difference.

Every task runs with BM25 and with a static model (wordllama), the headline tasks also with mteb's own BM25, with a
hybrid and with passages; each with ``PATENT_MTEB_FAST`` 1 and 0. Compared are the result files as mteb stores them, all
digits.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADLINES = (
    "PatentCitationRetrieval",
    "PatentDAPFAMTACToTACRetrieval",
    "PatenTEBRetrievalMIXED",
    "SophiaTacdRetrieval",
    "PatentMapAbsToAbsRetrieval",
    "PatentMapClmToAllRetrieval",
)
SYSTEMS = ("bm25", "static", "foreign", "hybrid", "passages")


def system(name: str, words: str):
    """The model of one name; works in every commit, so it uses nothing but the public names of
    ``patent_mteb.models``.
    """
    import mteb

    from patent_mteb.models import Hybrid, Passages, bm25, load, stored

    dense = stored(load(words))
    return {
        "bm25": lambda: bm25("dapfam"),
        "static": lambda: dense,
        "foreign": lambda: mteb.get_model("mteb/baseline-bm25s"),
        "hybrid": lambda: Hybrid(bm25("dapfam"), dense, alpha=0.7),
        "passages": lambda: Passages(dense, 256, "avg_top3"),
    }[name]()


def record(name: str, words: str, out: Path) -> None:
    """Evaluate one system of the checkout that is on the path."""
    import mteb
    from mteb.cache import ResultCache

    import patent_mteb

    everything = patent_mteb.get_tasks(sample=True)
    retrieval = [task for task in everything if task.metadata.type == "Retrieval"]
    chosen = {"bm25": retrieval, "static": everything}.get(
        name, [task for task in everything if task.metadata.name.removesuffix(".sample") in HEADLINES]
    )
    model = system(name, words)
    cache = ResultCache(out)
    for task in chosen:
        try:
            mteb.evaluate(model, task, cache=cache, co2_tracker=False, show_progress_bar=False)
        finally:
            task.unload_data()


def results(folder: Path) -> dict[tuple[str, str], float]:
    """Every stored number: (model and task, score) -> value."""
    found = {}
    for path in sorted(folder.rglob("*.sample.json")):
        document = json.loads(path.read_text("utf-8"))
        (parts,) = document["scores"].values()
        for part in parts:
            for score, value in part.items():
                if isinstance(value, int | float):
                    found[f"{path.parents[1].name}/{path.stem}", score] = float(value)
    return found


def differences(ours: dict, theirs: dict) -> list[str]:
    lines = [f"only there: {where} {score}" for where, score in sorted(theirs.keys() - ours.keys())]
    lines += [f"only here: {where} {score}" for where, score in sorted(ours.keys() - theirs.keys())]
    for key in sorted(ours.keys() & theirs.keys()):
        here, there = ours[key], theirs[key]
        if here != there and not (math.isnan(here) and math.isnan(there)):
            lines.append(f"{key[0]} {key[1]}: here {here!r}, there {there!r}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--only", choices=("here", "there"), help="evaluate one side only")
    parser.add_argument("--record", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.record:
        name, words, out = args.record
        record(name, words, Path(out))
        return 0
    folder = args.keep or Path(tempfile.mkdtemp(prefix="compare_scores_"))
    folder.mkdir(parents=True, exist_ok=True)
    there = folder / "checkout"
    if not there.is_dir():
        subprocess.run(
            ["git", "-C", str(ROOT), "worktree", "add", "-f", "--detach", str(there), args.commit], check=True
        )
    words = folder / "words"
    if not words.is_dir():
        subprocess.run([sys.executable, str(ROOT / "examples" / "static_model.py"), str(words)], check=True)
    try:
        for side, checkout in (("there", there), ("here", ROOT)):
            for fast in "10":
                for name in args.systems:
                    out = folder / side / f"{name}-{fast}"
                    if (out / "finished").exists() or (args.only and args.only != side):
                        continue
                    print(f"{side}: {name}, PATENT_MTEB_FAST={fast}", flush=True)
                    own = {
                        "PYTHONPATH": str(checkout),
                        "PATENT_MTEB_FAST": fast,
                        "PATENT_MTEB_SAMPLE": "1",
                        "PATENT_MTEB_INSCOPE": "1",
                        "PATENT_MTEB_CACHE": str(folder / side / "cache"),
                        "HF_HUB_OFFLINE": "1",
                        "TOKENIZERS_PARALLELISM": "false",
                    }
                    script = [sys.executable, __file__, args.commit, "--record", name, str(words), str(out)]
                    done = subprocess.run(script, env={**os.environ, **own}, capture_output=True, text=True)
                    if done.returncode:
                        sys.exit(f"{script} failed:\n{done.stderr[-4000:]}")
                    (out / "finished").touch()
    finally:
        if not args.keep:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(there)], check=False)
    if args.only:
        return 0
    count = 0
    for name in args.systems:
        sides = {(side, fast): results(folder / side / f"{name}-{fast}") for side in ("here", "there") for fast in "10"}
        for title, ours, theirs in (
            ("here against there", sides["here", "1"], sides["there", "1"]),
            ("here against there, PATENT_MTEB_FAST=0", sides["here", "0"], sides["there", "0"]),
            ("here, both ways", sides["here", "1"], sides["here", "0"]),
        ):
            found = differences(ours, theirs)
            count += len(found)
            print(f"{name}, {title}: {len(ours)} numbers, {len(found)} differences")
            for line in found:
                print(f"  {line}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
